/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets the KUnit suites of the series build in a kernel without the series:
 * the same names, made of the calls that kernel has.
 */
#ifndef _LINUX_WRITEBACK_START_H
#define _LINUX_WRITEBACK_START_H

#include <linux/pagemap.h>
#include <linux/pagevec.h>

/**
 * folios_clear_dirty_for_io - Clear the dirty flag of folios, one by one.
 * @fbatch: The folios, all locked.
 *
 * Context: Process context.
 * Return: How many folios were dirty before the first that was not.
 */
static inline unsigned int folios_clear_dirty_for_io(struct folio_batch *fbatch)
{
	unsigned int i;

	for (i = 0; i < folio_batch_count(fbatch); i++) {
		if (!folio_clear_dirty_for_io(fbatch->folios[i]))
			break;
	}
	return i;
}

/**
 * folios_start_writeback - Start writeback of folios, one by one.
 * @fbatch: The folios, all locked.
 *
 * Context: Process context.
 */
static inline void folios_start_writeback(struct folio_batch *fbatch)
{
	unsigned int i;

	for (i = 0; i < folio_batch_count(fbatch); i++)
		folio_start_writeback(fbatch->folios[i]);
}

#endif /* _LINUX_WRITEBACK_START_H */
