/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Start of writeback of several folios of one file at a time.
 *
 * A header of its own, so that a change here does not rebuild all that includes
 * pagemap.h.
 */
#ifndef _LINUX_WRITEBACK_START_H
#define _LINUX_WRITEBACK_START_H

struct folio_batch;

unsigned int folios_clear_dirty_for_io(struct folio_batch *fbatch);
void folios_start_writeback(struct folio_batch *fbatch);

#endif /* _LINUX_WRITEBACK_START_H */
