/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets the KUnit suites of the series build in a kernel without the series:
 * the same names, made of the calls that kernel has.
 */
#ifndef _LINUX_WRITEBACK_BATCH_H
#define _LINUX_WRITEBACK_BATCH_H

#include <linux/pagemap.h>
#include <linux/pagevec.h>

/* Nothing reads it here: without the series every hold ends one folio. */
static unsigned int writeback_batch_folios __maybe_unused = PAGEVEC_SIZE;

/**
 * folios_end_writeback - End writeback for the folios of a batch, one by one.
 * @fbatch: Folios under writeback; the batch is empty on return.
 *
 * Context: Any context. The caller need not hold references.
 */
static inline void folios_end_writeback(struct folio_batch *fbatch)
{
	unsigned int i;

	for (i = 0; i < folio_batch_count(fbatch); i++)
		folio_end_writeback(fbatch->folios[i]);
	folio_batch_reinit(fbatch);
}

#endif /* _LINUX_WRITEBACK_BATCH_H */
