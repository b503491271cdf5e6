/* SPDX-License-Identifier: GPL-2.0-only */
/* Statistics of folios whose writeback state changes together. */
#ifndef _MM_WRITEBACK_STAT_H
#define _MM_WRITEBACK_STAT_H

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>

/* Not 0 if the folios are of different memcgs, nodes or zones. */
static inline unsigned long folio_counters_differ(const struct folio *a,
		const struct folio *b)
{
	unsigned long differ;

	/* The flags change at any time, but the zone and node in them do not. */
	differ = READ_ONCE(a->flags) ^ READ_ONCE(b->flags);
	differ &= ZONEID_MASK << ZONEID_PGSHIFT;
#ifdef CONFIG_MEMCG
	differ |= a->memcg_data ^ b->memcg_data;
#endif
	return differ;
}

#ifdef CONFIG_MEMCG_V1
bool folios_memcg_trylock(struct folio **folios, unsigned int nr);
#else
/**
 * folios_memcg_trylock - Bind folios to their memcgs, if that takes no lock.
 * @folios: The folios.
 * @nr: Number of entries of @folios.
 *
 * What folio_memcg_lock() is for one folio: until folios_memcg_unlock(), the
 * flags of the folios and the counters of their memcgs may be changed as one.
 * Cgroup v1 can move the charge of a folio to another memcg; folio_memcg_lock()
 * then takes memcg->move_lock, whose place is outside the i_pages lock, and of
 * which only one can be held at a time.  So where an account is being moved,
 * this function fails, and the caller has to go folio by folio.
 *
 * Context: Any context.  Returns inside an RCU read-side critical section when
 * it succeeds: moving an account starts with a grace period, so that no move
 * starts before folios_memcg_unlock().
 * Return: true if the folios are bound, false if one of their memcgs is being
 * moved.
 */
static inline bool folios_memcg_trylock(struct folio **folios, unsigned int nr)
{
	rcu_read_lock();
	return true;
}
#endif

/**
 * folios_memcg_unlock - Release what folios_memcg_trylock() has bound.
 *
 * Context: Any context.
 */
static inline void folios_memcg_unlock(void)
{
	rcu_read_unlock();
}

void folio_account_written(struct folio *folio, long nr);
void folios_account(struct folio **folios, unsigned int nr,
		void (*account)(struct folio *folio, long nr));

/**
 * folios_account_sum - Count folios whose pages have been added up.
 * @folios: The folios, in any order.  The caller holds a reference on each.
 * @nr: Number of entries of @folios, at least 1.
 * @pages: Number of their pages.
 * @mixed: Not 0 if not all of them use the counters of the first.
 * @account: Counts pages of a folio, and of others that use the same counters.
 *
 * Where all use the same counters, this is one call of @account, a direct one.
 *
 * Context: Any context.  The folios are bound to their memcgs.
 */
static __always_inline void folios_account_sum(struct folio **folios,
		unsigned int nr, long pages, unsigned long mixed,
		void (*account)(struct folio *folio, long nr))
{
	if (nr == 1 || likely(!mixed))
		account(folios[0], pages);
	else
		folios_account(folios, nr, account);
}

#endif /* _MM_WRITEBACK_STAT_H */
