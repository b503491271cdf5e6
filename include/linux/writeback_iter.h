/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Iteration over the dirty folios of a file, several neighbours at a time.
 *
 * A header of its own, so that a change here does not rebuild all that includes
 * writeback.h.
 */
#ifndef _LINUX_WRITEBACK_ITER_H
#define _LINUX_WRITEBACK_ITER_H

#include <linux/pagevec.h>
#include <linux/types.h>

struct address_space;
struct writeback_control;

/**
 * struct writeback_run - Folios to write that follow each other in a file.
 * @folios: The folios, in ascending order and without a gap: locked, no longer
 *	dirty, and not under writeback.  The iterator has a reference on each
 *	until it is called again.
 * @first: Page index of the first of them.
 * @next: Page index behind the last of them that has been dealt with: behind
 *	the last one, unless the file system lowers it because it stopped, with
 *	an error, before that.
 */
struct writeback_run {
	struct folio_batch folios;
	pgoff_t first;
	pgoff_t next;
};

/**
 * writeback_run_init - Prepare for the first call of writeback_iter_run().
 * @run: The run.
 *
 * Context: Any context.
 */
static inline void writeback_run_init(struct writeback_run *run)
{
	folio_batch_init(&run->folios);
	run->first = 0;
	run->next = 0;
}

bool writeback_iter_run(struct address_space *mapping,
		struct writeback_control *wbc, struct writeback_run *run,
		int *error);

#endif /* _LINUX_WRITEBACK_ITER_H */
