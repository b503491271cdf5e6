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
 * @max: Most folios that the next run may have, at least 1.
 * @max_pages: No folio is added to the next run once it has so many pages.
 * @stop_at_gap: Return a run without folios where the next one does not follow the
 *	last: what has been gathered can be submitted while no folio is locked.
 * @at_gap: For the iterator: that is where it is.
 */
struct writeback_run {
	struct folio_batch folios;
	pgoff_t first;
	pgoff_t next;
	unsigned int max;
	unsigned int max_pages;
	bool stop_at_gap;
	bool at_gap;
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
	run->max = PAGEVEC_SIZE;
	run->max_pages = PAGEVEC_SIZE;
	run->stop_at_gap = false;
	run->at_gap = false;
}

bool writeback_iter_run(struct address_space *mapping,
		struct writeback_control *wbc, struct writeback_run *run,
		int *error);

#endif /* _LINUX_WRITEBACK_ITER_H */
