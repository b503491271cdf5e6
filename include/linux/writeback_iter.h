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
struct folio;
struct writeback_control;

/*
 * Most pages of a run of several folios.  All of it stays locked until its parts are
 * prepared for submission.  A full run of folios of 64 KiB is not shortened.
 */
#define WRITEBACK_RUN_PAGES	512U

/**
 * struct writeback_run - Folios to write that follow each other in a file.
 * @folios: The folios, in ascending order and without a gap: locked, no longer
 *	dirty, and not under writeback.  The iterator has a reference on each
 *	until it is called again.
 * @first: Page index of the first of them.
 * @next: Page index behind the last of them that has been dealt with: behind
 *	the last one, unless the file system lowers it because it stopped, with
 *	an error, before that.
 * @max_pages: Most pages of a run that follows this one, if it is more than one
 *	folio; PAGEVEC_SIZE at first.  Where a run does not follow the one before, it
 *	is PAGEVEC_SIZE in any case: what was gathered before is submitted when the run
 *	is locked.  Submission may wait for a request, and writers to any of the
 *	folios wait with it, so that only small folios should be many.  While it
 *	expects to submit nothing during the next run, the file system may set it to up
 *	to WRITEBACK_RUN_PAGES; it has to set it back.
 * @joins: Whether a folio whose private data is not NULL can be in a run with others;
 *	called with the folio locked and dirty, must not sleep.  In a run of several
 *	folios, each that has private data was asked for, and can.  NULL if there is
 *	nothing to ask.
 */
struct writeback_run {
	struct folio_batch folios;
	pgoff_t first;
	pgoff_t next;
	unsigned int max_pages;
	bool (*joins)(struct folio *folio);
};

/**
 * writeback_run_init - Prepare for the first call of writeback_iter_run().
 * @run: The run.
 * @joins: See struct writeback_run, or NULL.
 *
 * Context: Any context.
 */
static inline void writeback_run_init(struct writeback_run *run,
		bool (*joins)(struct folio *folio))
{
	folio_batch_init(&run->folios);
	run->first = 0;
	run->next = 0;
	run->max_pages = PAGEVEC_SIZE;
	run->joins = joins;
}

bool writeback_iter_run(struct address_space *mapping,
		struct writeback_control *wbc, struct writeback_run *run,
		int *error);

#endif /* _LINUX_WRITEBACK_ITER_H */
