// SPDX-License-Identifier: GPL-2.0-only
/*
 * End of writeback, for one folio or for a batch of folios of one file.
 *
 * PG_writeback, PAGECACHE_TAG_WRITEBACK and WB_WRITEBACK change inside one hold
 * of the i_pages lock: switching an inode to the wb of another cgroup counts
 * pages by tag under that lock.  The hold is with interrupts off, so it is
 * bounded by writeback_batch_folios.
 *
 * Writeback pins neither the inode nor the mapping, except through the folios
 * that are still under writeback: whoever takes a folio out of the page cache
 * waits for PG_writeback, and needs the i_pages lock.  So the mapping is not
 * touched once the hold is over that ends the last of the folios, and a folio
 * is touched after its own end only because of the reference taken before.
 */
#include <linux/backing-dev.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/writeback.h>
#include <linux/writeback_batch.h>
#include <linux/xarray_marks.h>
#include <trace/events/writeback.h>

#include "internal.h"
#include "writeback_batch.h"
#include "writeback_stat.h"

unsigned int writeback_batch_folios __read_mostly = PAGEVEC_SIZE;

/* What the folios of a hold add up to. */
struct writeback_sum {
	long pages;
	unsigned long mixed;	/* not 0: not all use the counters of the first */
	unsigned long waiters;	/* a bit for each: tasks wait for its writeback */
	unsigned long rotate;	/* a bit for each: reclaim wants it right away */
};

static_assert(PAGEVEC_SIZE <= BITS_PER_LONG);

/*
 * What is done once for all the folios of a hold.  Only the folio that ends
 * last finds the mapping without a mark, so the tests for "last" come after
 * all the marks of the hold are cleared.
 */
static void mapping_account_written(struct address_space *mapping, long pages)
{
	struct inode *inode = mapping->host;
	bool last = !mapping_tagged(mapping, PAGECACHE_TAG_WRITEBACK);

	lockdep_assert_held(&mapping->i_pages.xa_lock);

	if (inode_to_bdi(inode)->capabilities & BDI_CAP_WRITEBACK_ACCT) {
		struct bdi_writeback *wb = inode_to_wb(inode);

		wb_stat_mod(wb, WB_WRITEBACK, -pages);
		__wb_writeout_add(wb, pages);
		if (last)
			wb_inode_writeback_end(wb);
	}
	if (last && inode)
		sb_clear_inode_writeback(inode);
}

/*
 * Clear the flags and the marks of the folios from @i on, as far as they follow
 * each other in the file.  A folio under writeback is neither split nor replaced,
 * so it is where its index says.  Returns the number of folios done so far.
 */
static __always_inline unsigned long end_writeback_run(struct xa_state *xas,
		struct folio **folios, unsigned long i, unsigned long nr,
		struct writeback_sum *sum)
{
	struct folio *folio = folios[i], *head = folios[0];
	pgoff_t first = folio->index, next = first;

	VM_WARN_ON_ONCE_FOLIO(xa_load(xas->xa, first) != folio, folio);
	xas_set(xas, first);
	for (;;) {
		next += folio_nr_pages(folio);
		if (folio_xor_flags_has_waiters(folio, 1 << PG_writeback))
			sum->waiters |= 1UL << i;
		if (++i == nr)
			break;
		folio = folios[i];
		sum->mixed |= folio_counters_differ(head, folio);
		if (folio->index != next)
			break;
	}
	sum->pages += next - first;

	/* One folio is the common case of what is not contiguous. */
	if (next - first == 1) {
		xas_load(xas);
		xas_clear_mark(xas, PAGECACHE_TAG_WRITEBACK);
	} else {
		xas_clear_mark_range(xas, next - 1, PAGECACHE_TAG_WRITEBACK);
	}
	return i;
}

/*
 * End writeback of @nr folios of @mapping in one hold of its i_pages lock.
 * @mapping may be gone when this returns.
 */
static __always_inline void end_writeback_tagged(struct address_space *mapping,
		struct folio **folios, unsigned long nr, struct writeback_sum *sum)
{
	XA_STATE(xas, &mapping->i_pages, 0);
	unsigned long flags;
	unsigned long i = 0;

	xas_lock_irqsave(&xas, flags);
	do {
		i = end_writeback_run(&xas, folios, i, nr, sum);
	} while (i < nr);
	mapping_account_written(mapping, sum->pages);
	xas_unlock_irqrestore(&xas, flags);
}

/*
 * End writeback of folios whose mapping keeps no writeback marks, which is the
 * swap cache.  A folio without a mapping ends here as well.
 */
static __always_inline void end_writeback_untagged(struct folio **folios,
		unsigned int nr, struct writeback_sum *sum)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		sum->pages += folio_nr_pages(folios[i]);
		sum->mixed |= folio_counters_differ(folios[0], folios[i]);
		if (folio_xor_flags_has_waiters(folios[i], 1 << PG_writeback))
			sum->waiters |= 1UL << i;
	}
}

/* Flags, marks and counters of folios that are bound to their memcgs. */
static __always_inline void end_writeback_bound(struct folio **folios,
		unsigned int nr, struct writeback_sum *sum)
{
	struct address_space *mapping = folio_mapping(folios[0]);

	/* Until the first has ended, the mapping is there. */
	trace_folios_end_writeback(mapping, folios, nr);

	if (mapping && mapping_use_writeback_tags(mapping))
		end_writeback_tagged(mapping, folios, nr, sum);
	else
		end_writeback_untagged(folios, nr, sum);

	folios_account_sum(folios, nr, sum->pages, sum->mixed,
			folio_account_written);
}

/* Take what is needed to touch a folio after its end. */
static __always_inline bool end_writeback_begin(struct folio *folio)
{
	bool rotate = false;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_writeback(folio), folio);

	/*
	 * folio_test_clear_reclaim() could be used here but it is an
	 * atomic operation and overkill in this particular case. Failing
	 * to shuffle a folio marked for immediate reclaim is too mild
	 * a gain to justify taking an atomic operation penalty at the
	 * end of every folio writeback.
	 */
	if (folio_test_reclaim(folio)) {
		folio_clear_reclaim(folio);
		rotate = true;
	}

	/*
	 * Writeback does not hold a folio reference of its own, relying
	 * on truncation to wait for the clearing of PG_writeback.
	 * But here we must make sure that the folio is not freed and
	 * reused before the folio_wake_bit().
	 */
	folio_get(folio);
	return rotate;
}

/**
 * folio_end_writeback - End writeback against a folio.
 * @folio: The folio.
 *
 * The folio must actually be under writeback.
 *
 * Context: May be called from process or interrupt context.
 */
void folio_end_writeback(struct folio *folio)
{
	struct writeback_sum sum = {};

	if (end_writeback_begin(folio))
		folio_rotate_reclaimable(folio);
	folio_memcg_lock(folio);
	end_writeback_bound(&folio, 1, &sum);
	folio_memcg_unlock(folio);
	if (sum.waiters)
		folio_wake_bit(folio, PG_writeback);
	acct_reclaim_writeback(folio);
	folio_put(folio);
}
EXPORT_SYMBOL(folio_end_writeback);

/*
 * What the folios of a hold have coming after it.  A reference is in the way of
 * who was woken and wants to split or migrate the folio, so it goes at once.
 */
static __always_inline void end_writeback_finish(struct folio **folios,
		unsigned int nr, struct writeback_sum *sum)
{
	unsigned long special = sum->waiters | sum->rotate;
	bool acct = sum->mixed ||
		atomic_read(&folio_pgdat(folios[0])->nr_writeback_throttled);
	unsigned long i;

	if (likely(!special && !acct)) {
		for (i = 0; i < nr; i++)
			folio_put(folios[i]);
		return;
	}

	for (i = 0; i < nr; i++) {
		struct folio *folio = folios[i];

		if (sum->rotate & (1UL << i))
			folio_rotate_reclaimable(folio);
		if (sum->waiters & (1UL << i))
			folio_wake_bit(folio, PG_writeback);
		if (acct)
			acct_reclaim_writeback(folio);
		folio_put(folio);
	}
}

/*
 * End writeback of at most writeback_batch_folios folios.  Where a folio may be
 * about to change its memcg, one by one: memcg->move_lock is taken outside the
 * i_pages lock, and for one folio only.
 */
static noinline void end_writeback(struct folio **folios, unsigned int nr)
{
	struct writeback_sum sum = {};
	unsigned int i;

	if (nr == 1 || !folios_memcg_trylock(folios, nr)) {
		for (i = 0; i < nr; i++)
			folio_end_writeback(folios[i]);
		return;
	}

	/*
	 * All references are taken before the first folio is ended.  None is
	 * rotated before its end: rotating this many fills the batches of the
	 * LRU, and reclaim would find folios under writeback at its tail.
	 */
	for (i = 0; i < nr; i++) {
		if (end_writeback_begin(folios[i]))
			sum.rotate |= 1UL << i;
	}
	end_writeback_bound(folios, nr, &sum);
	folios_memcg_unlock();
	end_writeback_finish(folios, nr, &sum);
}

/* End writeback in as many holds of the i_pages lock as the bound asks for. */
static noinline void end_writeback_holds(struct folio **folios, unsigned int nr)
{
	unsigned int bound = READ_ONCE(writeback_batch_folios);
	unsigned int done, step;

	for (done = 0; done < nr; done += step) {
		step = min(bound, nr - done);
		end_writeback(folios + done, step);
	}
}

/**
 * folios_end_writeback - End writeback against a batch of folios.
 * @fbatch: The folios, all of one mapping and all under writeback.  Ascending
 *	order of their indices is the fast one.
 *
 * Does what folio_end_writeback() does for each of the folios, in their order,
 * with the locks and counters that they share taken and updated once for up to
 * writeback_batch_folios of them.  A folio may be freed as soon as its writeback
 * has ended, and with the last of them the mapping and its inode: the caller may
 * touch only what it holds a reference on.  The batch is returned empty and
 * ready to be reused.
 *
 * Context: May be called from process or interrupt context.  Takes and releases
 * the i_pages lock of the mapping.
 */
void folios_end_writeback(struct folio_batch *fbatch)
{
	unsigned int nr = folio_batch_count(fbatch);

	if (nr == 1)
		folio_end_writeback(fbatch->folios[0]);
	else
		end_writeback_holds(fbatch->folios, nr);
	folio_batch_reinit(fbatch);
}
EXPORT_SYMBOL_GPL(folios_end_writeback);
