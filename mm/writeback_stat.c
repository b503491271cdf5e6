// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics of folios whose writeback state changes together.
 *
 * A folio is counted for its memcg, its node and its zone.  Neighbours in a file
 * mostly share all three, so their pages are summed while they do, and each sum
 * goes to the counters once.
 */
#include <linux/mm.h>
#include <linux/vmstat.h>

#include "writeback_stat.h"

#ifdef CONFIG_MEMCG_V1
bool folios_memcg_trylock(struct folio **folios, unsigned int nr)
{
	struct mem_cgroup *memcg, *last = NULL;
	unsigned int i;

	rcu_read_lock();
	if (mem_cgroup_disabled())
		return true;

	for (i = 0; i < nr; i++) {
		memcg = folio_memcg(folios[i]);
		if (!memcg || memcg == last)
			continue;
		if (atomic_read(&memcg->moving_account) > 0) {
			rcu_read_unlock();
			return false;
		}
		last = memcg;
	}
	return true;
}
#endif

/**
 * folio_account_written - Count pages whose writeback has ended.
 * @folio: The folio whose counters the pages belong to.  The caller holds a
 *	reference.
 * @nr: Number of pages, of @folio and of others that use the same counters.
 *
 * Takes the pages out of NR_WRITEBACK and NR_ZONE_WRITE_PENDING and adds them to
 * NR_WRITTEN.
 *
 * Context: Any context.  @folio is bound to its memcg, by folio_memcg_lock() or
 * by folios_memcg_trylock().
 */
void folio_account_written(struct folio *folio, long nr)
{
	unsigned long flags;

	local_irq_save(flags);
	__lruvec_stat_mod_folio(folio, NR_WRITEBACK, -nr);
	__zone_stat_mod_folio(folio, NR_ZONE_WRITE_PENDING, -nr);
	__node_stat_mod_folio(folio, NR_WRITTEN, nr);
	local_irq_restore(flags);
}

/**
 * folios_account - Count folios whose writeback state has changed.
 * @folios: The folios, in any order.  The caller holds a reference on each.
 * @nr: Number of entries of @folios, at least 1.
 * @account: Counts pages of a folio, and of others that use the same counters.
 *
 * Calls @account once per run of folios that use the same counters.  Interrupts
 * are off for one run at a time, not for the batch.
 *
 * Context: Any context.  The folios are bound to their memcgs, by
 * folios_memcg_trylock().
 */
void folios_account(struct folio **folios, unsigned int nr,
		void (*account)(struct folio *folio, long nr))
{
	struct folio *first = folios[0];
	unsigned int i;
	long pages = 0;

	for (i = 0; i < nr; i++) {
		if (folio_counters_differ(first, folios[i])) {
			account(first, pages);
			first = folios[i];
			pages = 0;
		}
		pages += folio_nr_pages(folios[i]);
	}
	account(first, pages);
}
