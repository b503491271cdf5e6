// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start of writeback, for one folio or for a batch of folios of one file: the
 * dirty flag is cleared, then PG_writeback is set.
 *
 * The folio is locked from the one to the other.  In between it is neither dirty
 * nor under writeback: only its dirty mark, which stays until writeback starts,
 * lets a concurrent sync find it and wait for the folio lock.
 *
 * PG_writeback, PAGECACHE_TAG_WRITEBACK and WB_WRITEBACK change inside one hold
 * of the i_pages lock, see writeback_end.c.
 */
#include <linux/backing-dev.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/writeback.h>
#include <linux/writeback_batch.h>
#include <linux/writeback_start.h>
#include <linux/xarray_marks.h>
#include <trace/events/writeback.h>

#include "internal.h"
#include "writeback_batch.h"
#include "writeback_stat.h"

/* What folios add up to. */
struct writeback_sum {
	long pages;
	unsigned long mixed;	/* not 0: not all use the counters of the first */
};

/* Pages that are no longer dirty, and not yet under writeback. */
static void folio_account_clean(struct folio *folio, long nr)
{
	unsigned long flags;

	local_irq_save(flags);
	__lruvec_stat_mod_folio(folio, NR_FILE_DIRTY, -nr);
	__zone_stat_mod_folio(folio, NR_ZONE_WRITE_PENDING, -nr);
	local_irq_restore(flags);
}

/* Pages that are under writeback from now on. */
static void folio_account_started(struct folio *folio, long nr)
{
	unsigned long flags;

	local_irq_save(flags);
	__lruvec_stat_mod_folio(folio, NR_WRITEBACK, nr);
	__zone_stat_mod_folio(folio, NR_ZONE_WRITE_PENDING, nr);
	local_irq_restore(flags);
}

/*
 * Clear the dirty flag of folios, up to the first that does not have it.  The
 * folio lock binds each to its memcg.
 */
static __always_inline unsigned int clear_dirty(struct inode *inode,
		struct folio **folios, unsigned int nr)
{
	struct wb_lock_cookie cookie = {};
	struct writeback_sum sum = {};
	struct bdi_writeback *wb;
	unsigned int i;

	/*
	 * For as long as this lasts, the inode stays on its wb.  It may be a hold
	 * of the i_pages lock with interrupts off.
	 */
	wb = unlocked_inode_to_wb_begin(inode, &cookie);
	for (i = 0; i < nr; i++) {
		if (unlikely(!folio_test_clear_dirty(folios[i])))
			break;
		sum.pages += folio_nr_pages(folios[i]);
		if (nr > 1)
			sum.mixed |= folio_counters_differ(folios[0], folios[i]);
	}
	if (likely(i)) {
		folios_account_sum(folios, i, sum.pages, sum.mixed,
				folio_account_clean);
		wb_stat_mod(wb, WB_RECLAIMABLE, -sum.pages);
	}
	unlocked_inode_to_wb_end(inode, &cookie);
	return i;
}

/* The same for a mapping that does not count its dirty folios. */
static unsigned int clear_dirty_uncounted(struct folio **folios, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!folio_test_clear_dirty(folios[i]))
			break;
	}
	return i;
}

static __always_inline unsigned int clear_dirty_for_io(struct folio **folios,
		unsigned int nr)
{
	struct address_space *mapping = folio_mapping(folios[0]);
	unsigned int i;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folios[0]), folios[0]);

	if (!mapping || !mapping_can_writeback(mapping))
		return clear_dirty_uncounted(folios, nr);

	/* This sleeps, and takes the i_pages lock: for all before the flags. */
	for (i = 0; i < nr; i++) {
		if (folio_mapped(folios[i]))
			folio_collect_dirty_ptes(folios[i]);
	}
	return clear_dirty(mapping->host, folios, nr);
}

/**
 * folio_clear_dirty_for_io - Clear a folio's dirty flag before it is written.
 * @folio: The folio, locked.
 *
 * Cares for dirty accounting and for page table entries that are dirty.  The
 * mark in the page cache stays, so that a concurrent sync finds the folio; the
 * caller goes on with folio_start_writeback() or folio_mark_dirty(), which bring
 * the mark in line again, before it unlocks the folio.
 *
 * Context: Process context.  Sleeps if the folio is mapped.
 * Return: true if the folio was dirty.
 */
bool folio_clear_dirty_for_io(struct folio *folio)
{
	return clear_dirty_for_io(&folio, 1);
}
EXPORT_SYMBOL(folio_clear_dirty_for_io);

/**
 * folios_clear_dirty_for_io - Clear the dirty flag of folios to be written.
 * @fbatch: The folios, all of one mapping and all locked.
 *
 * Does what folio_clear_dirty_for_io() does for each of the folios, in their
 * order, with the counters that they share updated once, up to the first that
 * turns out not to be dirty.  That one and those behind it are left as they are.
 *
 * Context: Process context.  Sleeps if a folio is mapped.
 * Return: How many folios were dirty before the first that was not.
 */
unsigned int folios_clear_dirty_for_io(struct folio_batch *fbatch)
{
	unsigned int nr = folio_batch_count(fbatch);

	if (nr == 1)
		return clear_dirty_for_io(fbatch->folios, 1);
	return nr ? clear_dirty_for_io(fbatch->folios, nr) : 0;
}
EXPORT_SYMBOL_GPL(folios_clear_dirty_for_io);

/* Start writeback */

/* The counterpart of mapping_account_written(), with what was before the hold. */
static __always_inline
void mapping_account_started(struct address_space *mapping, long pages,
		bool tagged)
{
	struct inode *inode = mapping->host;

	lockdep_assert_held(&mapping->i_pages.xa_lock);

	if (inode_to_bdi(inode)->capabilities & BDI_CAP_WRITEBACK_ACCT) {
		struct bdi_writeback *wb = inode_to_wb(inode);

		wb_stat_mod(wb, WB_WRITEBACK, pages);
		if (!tagged)
			wb_inode_writeback_start(wb);
	}
	/* Swapped out anonymous folios have no inode to track for sync. */
	if (inode && !tagged)
		sb_mark_inode_writeback(inode);
}

/*
 * Marks of a folio, or of the folios from index @first to @last; @clean: none was
 * dirtied again.  Going from one tree node to the next, so that one walk does for
 * all marks.
 */
static __always_inline void start_writeback_marks(struct xa_state *xas,
		pgoff_t first, pgoff_t last, bool one, bool clean, bool keep_write)
{
	pgoff_t stop;

	if (one) {
		xas_set(xas, first);
		xas_load(xas);
		xas_set_mark(xas, PAGECACHE_TAG_WRITEBACK);
		if (clean)
			xas_clear_mark(xas, PAGECACHE_TAG_DIRTY);
		if (!keep_write)
			xas_clear_mark(xas, PAGECACHE_TAG_TOWRITE);
		return;
	}

	for (; first <= last; first = stop + 1) {
		stop = min(first | XA_CHUNK_MASK, last);
		xas_set(xas, first);
		xas_set_mark_range(xas, stop, PAGECACHE_TAG_WRITEBACK);
		if (clean)
			xas_clear_mark_range(xas, stop, PAGECACHE_TAG_DIRTY);
		if (!keep_write)
			xas_clear_mark_range(xas, stop, PAGECACHE_TAG_TOWRITE);
	}
}

/*
 * Set flags and marks of the folios from @i on that get the same marks.  A folio
 * can be dirtied without the folio lock, but its mark is set under the i_pages
 * lock: either the flag is seen here, or the mark follows after this hold.
 * Returns the number of folios done so far.
 */
static __always_inline unsigned int start_writeback_run(struct xa_state *xas,
		struct folio **folios, unsigned int i, unsigned int nr,
		bool keep_write, struct writeback_sum *sum)
{
	struct folio *folio = folios[i], *head = folios[0];
	pgoff_t first = folio->index, next = first;
	bool dirty = folio_test_dirty(folio);
	long pages = folio_nr_pages(folio), before;
	unsigned int start = i;

	VM_WARN_ON_ONCE_FOLIO(xa_load(xas->xa, first) != folio, folio);
	for (;;) {
		VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
		folio_test_set_writeback(folio);
		next += pages;
		if (++i == nr)
			break;
		folio = folios[i];
		VM_WARN_ON_ONCE_FOLIO(folio->index != next, folio);
		sum->mixed |= folio_counters_differ(head, folio);
		/* A folio that fills a node is done by itself. */
		before = pages;
		pages = folio_nr_pages(folio);
		if (folio_test_dirty(folio) != dirty ||
		    max(before, pages) >= XA_CHUNK_SIZE)
			break;
	}
	sum->pages += next - first;
	start_writeback_marks(xas, first, next - 1, i - start == 1, !dirty,
			keep_write);
	return i;
}

/* Start writeback of @nr folios of @mapping in one hold of its i_pages lock. */
static __always_inline void start_writeback_tagged(struct address_space *mapping,
		struct folio **folios, unsigned int nr, bool keep_write,
		struct writeback_sum *sum)
{
	XA_STATE(xas, &mapping->i_pages, 0);
	unsigned long flags;
	unsigned int i = 0;
	bool tagged;

	xas_lock_irqsave(&xas, flags);
	tagged = mapping_tagged(mapping, PAGECACHE_TAG_WRITEBACK);
	do {
		i = start_writeback_run(&xas, folios, i, nr, keep_write, sum);
	} while (i < nr);
	mapping_account_started(mapping, sum->pages, tagged);
	xas_unlock_irqrestore(&xas, flags);
}

/* The same where the mapping keeps no writeback marks, or there is none. */
static __always_inline void start_writeback_untagged(struct folio **folios,
		unsigned int nr, struct writeback_sum *sum)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		sum->pages += folio_nr_pages(folios[i]);
		sum->mixed |= folio_counters_differ(folios[0], folios[i]);
		folio_test_set_writeback(folios[i]);
	}
}

/* Flags, marks and counters of folios that are bound to their memcgs. */
static __always_inline void start_writeback_bound(struct folio **folios,
		unsigned int nr, bool keep_write)
{
	struct address_space *mapping = folio_mapping(folios[0]);
	struct writeback_sum sum = {};

	VM_WARN_ON_ONCE_FOLIO(folio_test_writeback(folios[0]), folios[0]);

	trace_folios_start_writeback(mapping, folios, nr);

	if (mapping && mapping_use_writeback_tags(mapping))
		start_writeback_tagged(mapping, folios, nr, keep_write, &sum);
	else
		start_writeback_untagged(folios, nr, &sum);
	folios_account_sum(folios, nr, sum.pages, sum.mixed,
			folio_account_started);
}

/*
 * If writeback has been triggered on a folio that cannot be made accessible, it
 * is too late to recover here.
 */
static __always_inline void start_writeback_access(struct folio *folio)
{
	int err = arch_make_folio_accessible(folio);

	VM_WARN_ON_ONCE_FOLIO(err, folio);
}

/*
 * Start writeback of a folio.  Called by folio_start_writeback() and by
 * folio_start_writeback_keepwrite().
 */
void __folio_start_writeback(struct folio *folio, bool keep_write)
{
	folio_memcg_lock(folio);
	start_writeback_bound(&folio, 1, keep_write);
	folio_memcg_unlock(folio);
	start_writeback_access(folio);
}
EXPORT_SYMBOL(__folio_start_writeback);

/*
 * Start writeback of at most writeback_batch_folios folios that follow each other
 * in the file.  Where a folio may be about to change its memcg, one by one, see
 * end_writeback().
 */
static noinline void start_writeback(struct folio **folios, unsigned int nr)
{
	unsigned int i;

	if (nr == 1 || !folios_memcg_trylock(folios, nr)) {
		for (i = 0; i < nr; i++)
			__folio_start_writeback(folios[i], false);
		return;
	}

	start_writeback_bound(folios, nr, false);
	folios_memcg_unlock();
	for (i = 0; i < nr; i++)
		start_writeback_access(folios[i]);
}

/* How many of the folios follow each other in the file. */
static unsigned int count_neighbours(struct folio **folios, unsigned int nr)
{
	pgoff_t next = folio_next_index(folios[0]);
	unsigned int i;

	for (i = 1; i < nr && folios[i]->index == next; i++)
		next += folio_nr_pages(folios[i]);
	return i;
}

/**
 * folios_start_writeback - Start writeback of a batch of folios.
 * @fbatch: The folios, all of one mapping, locked, and none under writeback.
 *
 * Does what folio_start_writeback() does for each of the folios, with the locks
 * and counters that they share taken and updated once for up to
 * writeback_batch_folios that follow each other in the file: where they do not,
 * up to three marks of each are changed on all levels of the tree, too much for
 * one hold of the i_pages lock.  The batch stays as it is.
 *
 * Context: Process context.  Takes and releases the i_pages lock of the mapping.
 */
void folios_start_writeback(struct folio_batch *fbatch)
{
	unsigned int bound = READ_ONCE(writeback_batch_folios);
	unsigned int nr = folio_batch_count(fbatch);
	struct folio **folios = fbatch->folios;
	unsigned int step;

	for (; nr; nr -= step, folios += step) {
		step = count_neighbours(folios, min(bound, nr));
		start_writeback(folios, step);
	}
}
EXPORT_SYMBOL_GPL(folios_start_writeback);
