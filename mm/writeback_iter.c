// SPDX-License-Identifier: GPL-2.0-only
/*
 * Iteration over the dirty folios of a file, several neighbours at a time.
 *
 * The search of writeback_iter() already finds a batch of folios.  A run is the
 * part of that batch that can be locked and written together.  Only its first
 * folio is waited for, by its lock and, for data integrity, by the end of its
 * writeback: with that, folios are waited for one at a time and in ascending
 * order, as they are by writeback_iter(), and never while another folio is
 * locked here.
 */
#include <linux/backing-dev.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/writeback.h>
#include <linux/writeback_batch.h>
#include <linux/writeback_iter.h>
#include <linux/writeback_start.h>
#include <trace/events/writeback.h>

#include "writeback_iter.h"

/* What mostly is the answer of writeback_wants_folio(), which may wait. */
static __always_inline bool writeback_ready(struct address_space *mapping,
		struct folio *folio)
{
	return likely(folio->mapping == mapping && folio_test_dirty(folio) &&
		      !folio_test_writeback(folio));
}

/*
 * Can this folio, which is locked and dirty, be in a run with others?  Tasks that
 * unmap it may add to its private data just now; that can only mean that more of it
 * is dirty.
 */
static __always_inline bool writeback_sociable(struct writeback_run *run,
		struct folio *folio)
{
	return !folio_get_private(folio) || !run->joins || run->joins(folio);
}

/*
 * Does @folio go with the folios in front of it, to no more than @max_pages?  It is
 * locked then.  The reference of the search keeps it from being split.
 */
static __always_inline bool writeback_joins(struct address_space *mapping,
		struct writeback_run *run, struct folio *folio,
		unsigned long max_pages)
{
	if (folio->index != run->next ||
	    run->next - run->first + folio_nr_pages(folio) > max_pages ||
	    !folio_trylock(folio))
		return false;
	if (writeback_ready(mapping, folio) && writeback_sociable(run, folio))
		return true;
	folio_unlock(folio);
	return false;
}

/*
 * Lock the folios found behind the first of @run, as far as they follow each
 * other, the bounds allow, and there is something left to write.
 */
static void writeback_extend(struct address_space *mapping,
		struct writeback_control *wbc, struct writeback_run *run,
		unsigned long max_pages)
{
	struct folio_batch *found = &wbc->fbatch;
	unsigned int max = READ_ONCE(writeback_batch_folios);
	long left = LONG_MAX;
	unsigned int nr = 1;

	if (wbc->sync_mode == WB_SYNC_NONE)
		left = wbc->nr_to_write;
	if (!writeback_sociable(run, run->folios.folios[0]))
		max = 1;
	max = min(max, found->nr - found->i + 1U);
	while (nr < max && (long)(run->next - run->first) < left) {
		struct folio *folio = found->folios[found->i];

		if (!writeback_joins(mapping, run, folio, max_pages))
			break;
		run->folios.folios[nr++] = folio;
		run->next += folio_nr_pages(folio);
		found->i++;
	}
	run->folios.nr = nr;
}

/*
 * Unlock the folios of @run that are not among the first @nr: they have not been
 * cleaned.  They are the next ones found.
 */
static void writeback_give_back(struct writeback_control *wbc,
		struct writeback_run *run, unsigned int nr)
{
	while (run->folios.nr > nr) {
		struct folio *folio = run->folios.folios[--run->folios.nr];

		run->next = folio->index;
		folio_unlock(folio);
		wbc->fbatch.i--;
	}
}

static void writeback_trace_run(struct address_space *mapping,
		struct writeback_control *wbc, struct writeback_run *run)
{
	unsigned int i;

	if (!trace_wbc_writepage_enabled())
		return;
	for (i = 0; i < folio_batch_count(&run->folios); i++)
		trace_wbc_writepage(wbc, inode_to_bdi(mapping->host));
}

/*
 * Fill @run with @folio and those behind it.  Returns false if @folio is not to be
 * written.
 */
static bool writeback_make_run(struct address_space *mapping,
		struct writeback_control *wbc, struct writeback_run *run,
		struct folio *folio)
{
	unsigned long max_pages = run->max_pages;
	unsigned int nr;

	/* What is in front of the gap has to be submitted when this is locked. */
	if (folio->index != run->next)
		max_pages = PAGEVEC_SIZE;

	folio_lock(folio);
	if (!writeback_ready(mapping, folio) &&
	    !writeback_wants_folio(mapping, wbc, folio)) {
		folio_unlock(folio);
		return false;
	}

	run->folios.folios[0] = folio;
	run->first = folio->index;
	run->next = folio_next_index(folio);
	writeback_extend(mapping, wbc, run, max_pages);

	nr = folios_clear_dirty_for_io(&run->folios);
	if (unlikely(nr < run->folios.nr)) {
		writeback_give_back(wbc, run, max(nr, 1));
		if (!nr) {
			folio_unlock(folio);
			/* A gap. */
			run->next = run->first;
			return false;
		}
	}
	writeback_trace_run(mapping, wbc, run);
	return true;
}

/**
 * writeback_iter_run - Iterate over runs of folios of a mapping for writeback.
 * @mapping: Address space to write.
 * @wbc: Writeback context.
 * @run: The run of folios; writeback_run_init() makes it ready for the first call.
 * @error: In and out: the error of writing the last run; 0 or negative.
 *
 * Does what writeback_iter() does, for up to writeback_batch_folios folios and
 * @run->max_pages pages at a time, or one folio that is larger.  Like there, the
 * file system calls it until it returns false and does not leave the loop before,
 * and puts each folio under writeback, or decides not to, and unlocks it.
 *
 * Where writing stops with an error before the end of a run, and @wbc is not for
 * data integrity, the file system has to make the folios behind dirty again, unlock
 * them and set @run->next to the index of the first of them: writing stops there.
 *
 * Context: Process context.  Sleeps.  No folio of @mapping may be locked.
 * Return: true if @run holds folios to write, false if the loop is over; @error is
 * the first error then.
 */
bool writeback_iter_run(struct address_space *mapping,
		struct writeback_control *wbc, struct writeback_run *run,
		int *error)
{
	struct folio *folio = writeback_iter_next(mapping, wbc,
			run->next - run->first, run->next, error);

	while (folio && !writeback_make_run(mapping, wbc, run, folio))
		folio = writeback_find_folio(mapping, wbc, error);
	return folio;
}
EXPORT_SYMBOL_GPL(writeback_iter_run);
