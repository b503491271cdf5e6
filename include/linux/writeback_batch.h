/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writeback of several folios of one file at a time.
 *
 * A header of its own, so that a change here does not rebuild all that includes
 * pagemap.h.
 */
#ifndef _LINUX_WRITEBACK_BATCH_H
#define _LINUX_WRITEBACK_BATCH_H

struct folio_batch;

/*
 * The largest number of folios whose writeback state changes in one hold of
 * the i_pages lock: 1 to PAGEVEC_SIZE.
 */
extern unsigned int writeback_batch_folios;

void folios_end_writeback(struct folio_batch *fbatch);

#endif /* _LINUX_WRITEBACK_BATCH_H */
