/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of batched writeback share inside mm/.  The functions that
 * file systems call are in <linux/writeback_batch.h>.
 */
#ifndef _MM_WRITEBACK_BATCH_H
#define _MM_WRITEBACK_BATCH_H

struct bdi_writeback;
struct folio;

/**
 * wb_inode_writeback_start - An inode of this wb has its first folio under
 *	writeback.
 * @wb: The writeback structure that the inode is attached to.
 *
 * Context: Any context.  The caller holds the i_pages lock of the inode's
 * mapping, which keeps the inode on @wb.
 */
void wb_inode_writeback_start(struct bdi_writeback *wb);

/**
 * wb_inode_writeback_end - An inode of this wb has no folio under writeback.
 * @wb: The writeback structure that the inode is attached to.
 *
 * Schedules the update of the bandwidth estimate.
 *
 * Context: Any context, interrupts disabled.  The caller holds the i_pages
 * lock of the inode's mapping, which keeps the inode on @wb.  Takes and
 * releases wb->work_lock.
 */
void wb_inode_writeback_end(struct bdi_writeback *wb);

/**
 * __wb_writeout_add - Count pages whose writeback has completed.
 * @wb: The writeback structure that the pages were accounted to.
 * @nr: Number of pages of PAGE_SIZE bytes.
 *
 * Adds to WB_WRITTEN and to the global and the memcg's completion proportions.
 *
 * Context: Any context, interrupts disabled.
 */
void __wb_writeout_add(struct bdi_writeback *wb, long nr);

/**
 * folio_wake_bit - Wake the tasks that wait for a bit of a folio's flags.
 * @folio: The folio.  The caller holds a reference.
 * @bit_nr: The flag, for example PG_writeback, which the caller has cleared.
 *
 * Context: Any context.  Takes and releases the lock of the wait queue.
 */
void folio_wake_bit(struct folio *folio, int bit_nr);

#endif /* _MM_WRITEBACK_BATCH_H */
