/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules that writeback_iter() and writeback_iter_run() share: which folios are
 * written, in which order, and when writing stops.  Inline, because an fsync() of
 * one folio pays for each of these calls.
 */
#ifndef _MM_WRITEBACK_ITER_H
#define _MM_WRITEBACK_ITER_H

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/sched.h>
#include <linux/writeback.h>

/*
 * Is this locked folio to be written?  For data integrity, waits for the end of
 * writeback that is under way.
 */
static inline bool writeback_wants_folio(struct address_space *mapping,
		struct writeback_control *wbc, struct folio *folio)
{
	/*
	 * Folio truncated or invalidated. We can freely skip it then,
	 * even for data integrity operations: the folio has disappeared
	 * concurrently, so there could be no real expectation of this
	 * data integrity operation even if there is now a new, dirty
	 * folio at the same pagecache index.
	 */
	if (unlikely(folio->mapping != mapping))
		return false;

	/*
	 * Did somebody else write it for us?
	 */
	if (!folio_test_dirty(folio))
		return false;

	if (folio_test_writeback(folio)) {
		if (wbc->sync_mode == WB_SYNC_NONE)
			return false;
		folio_wait_writeback(folio);
	}
	VM_WARN_ON_ONCE_FOLIO(folio_test_writeback(folio), folio);

	return true;
}

static inline xa_mark_t wbc_to_tag(struct writeback_control *wbc)
{
	if (wbc->sync_mode == WB_SYNC_ALL || wbc->tagged_writepages)
		return PAGECACHE_TAG_TOWRITE;
	return PAGECACHE_TAG_DIRTY;
}

static inline pgoff_t wbc_end(struct writeback_control *wbc)
{
	if (wbc->range_cyclic)
		return -1;
	return wbc->range_end >> PAGE_SHIFT;
}

/* Begin to write back what @wbc describes. */
static inline void writeback_iter_begin(struct address_space *mapping,
		struct writeback_control *wbc)
{
	folio_batch_init(&wbc->fbatch);
	wbc->saved_err = 0;

	/*
	 * For range cyclic writeback we remember where we stopped so
	 * that we can continue where we stopped.
	 *
	 * For non-cyclic writeback we always start at the beginning of
	 * the passed in range.
	 */
	if (wbc->range_cyclic)
		wbc->index = mapping->writeback_index;
	else
		wbc->index = wbc->range_start >> PAGE_SHIFT;

	/*
	 * To avoid livelocks when other processes dirty new pages, we
	 * first tag pages which should be written back and only then
	 * start writing them.
	 *
	 * For data-integrity writeback we have to be careful so that we
	 * do not miss some pages (e.g., because some other process has
	 * cleared the TOWRITE tag we set).  The rule we follow is that
	 * TOWRITE tag can be cleared only by the process clearing the
	 * DIRTY tag (and submitting the page for I/O).
	 */
	if (wbc->sync_mode == WB_SYNC_ALL || wbc->tagged_writepages)
		tag_pages_for_writeback(mapping, wbc->index, wbc_end(wbc));
}

/*
 * Note that @nr pages up to index @next have been dealt with, with @error.
 * Returns false if writeback has to stop there.
 */
static inline bool writeback_iter_continue(struct address_space *mapping,
		struct writeback_control *wbc, long nr, pgoff_t next, int error)
{
	wbc->nr_to_write -= nr;

	WARN_ON_ONCE(error > 0);

	/*
	 * For integrity writeback we have to keep going until we have
	 * written all the folios we tagged for writeback above, even if
	 * we run past wbc->nr_to_write or encounter errors.
	 * We stash away the first error we encounter in wbc->saved_err
	 * so that it can be retrieved when we're done.  This is because
	 * the file system may still have state to clear for each folio.
	 *
	 * For background writeback we exit as soon as we run past
	 * wbc->nr_to_write or encounter the first error.
	 */
	if (wbc->sync_mode == WB_SYNC_ALL) {
		if (error && !wbc->saved_err)
			wbc->saved_err = error;
		return true;
	}
	if (!error && wbc->nr_to_write > 0)
		return true;

	if (wbc->range_cyclic)
		mapping->writeback_index = next;
	folio_batch_release(&wbc->fbatch);
	return false;
}

/* Nothing is left to write.  Returns the first error, if there was any. */
static inline int writeback_iter_end(struct address_space *mapping,
		struct writeback_control *wbc)
{
	/*
	 * To avoid deadlocks between range_cyclic writeback and callers
	 * that hold pages in PageWriteback to aggregate I/O until
	 * the writeback iteration finishes, we do not loop back to the
	 * start of the file.  Doing so causes a page lock/page
	 * writeback access order inversion - we should only ever lock
	 * multiple pages in ascending page->index order, and looping
	 * back to the start of the file violates that rule and causes
	 * deadlocks.
	 */
	if (wbc->range_cyclic)
		mapping->writeback_index = 0;

	return wbc->saved_err;
}

/*
 * The next folio that had the mark; wbc->fbatch has a reference on it.  Returns
 * NULL, and the first error, if there is none.
 */
static inline struct folio *writeback_find_folio(struct address_space *mapping,
		struct writeback_control *wbc, int *error)
{
	struct folio *folio = folio_batch_next(&wbc->fbatch);

	if (folio)
		return folio;

	folio_batch_release(&wbc->fbatch);
	/* If the last search has come to the end, there is no need for another. */
	if (wbc->index <= wbc_end(wbc) && wbc->index != (pgoff_t)-1) {
		cond_resched();
		filemap_get_folios_tag(mapping, &wbc->index, wbc_end(wbc),
				wbc_to_tag(wbc), &wbc->fbatch);
		folio = folio_batch_next(&wbc->fbatch);
	}
	if (!folio)
		*error = writeback_iter_end(mapping, wbc);
	return folio;
}

/*
 * The first folio, or the one behind the last @nr pages up to index @next, which
 * have been dealt with.  Not locked yet.
 */
static __always_inline struct folio *writeback_iter_next(struct address_space *mapping,
		struct writeback_control *wbc, long nr, pgoff_t next, int *error)
{
	if (!nr) {
		writeback_iter_begin(mapping, wbc);
		*error = 0;
	} else if (!writeback_iter_continue(mapping, wbc, nr, next, *error)) {
		return NULL;
	}
	return writeback_find_folio(mapping, wbc, error);
}

#endif /* _MM_WRITEBACK_ITER_H */
