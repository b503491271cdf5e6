/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the page cache writeback KUnit suites share: a pseudo file system whose
 * bdi accounts writeback, folios in its page cache, exact counters, a choice of
 * contexts to run in, and a block device whose bios the test completes.
 *
 * Everything created here is undone by a KUnit action, also after a failed
 * assertion: writeback that a failed test left behind is ended, so that no
 * clean-up waits for it.
 */
#ifndef _WRITEBACK_FIXTURE_H
#define _WRITEBACK_FIXTURE_H

#include <linux/bio.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct gendisk;
struct kunit;
struct vfsmount;
struct wbf_thread;

/* How long to wait for another thread; long enough for a loaded emulator. */
#define WBF_TIMEOUT	(15 * HZ)

/**
 * struct wbf_fs - A mounted pseudo file system.
 * @mnt: Its mount; NULL once wbf_fs_destroy() has run.
 * @sb: Its super block, with a bdi of its own.
 */
struct wbf_fs {
	struct vfsmount *mnt;
	struct super_block *sb;
};

/**
 * struct wbf_counters - Everything that counts writeback, in pages.
 * @node_dirty: NR_FILE_DIRTY of each node.
 * @memcg_dirty: NR_FILE_DIRTY of the root memory cgroup on each node.
 * @node_writeback: NR_WRITEBACK of each node.
 * @node_written: NR_WRITTEN of each node.
 * @memcg_writeback: NR_WRITEBACK of the root memory cgroup on each node.
 * @zone_pending: NR_ZONE_WRITE_PENDING of each zone of each node.
 * @dirty: Global NR_FILE_DIRTY.
 * @writeback: Global NR_WRITEBACK.
 * @written: Global NR_WRITTEN.
 * @pending: Global NR_ZONE_WRITE_PENDING.
 * @wb_reclaimable: WB_RECLAIMABLE of the file system's bdi.
 * @wb_writeback: WB_WRITEBACK of the file system's bdi.
 * @wb_written: WB_WRITTEN of the file system's bdi.
 * @wb_inodes: Inodes under writeback on the file system's bdi.
 * @rotated: PGROTATED, pages moved to the end of the LRU list.
 *
 * Nothing but the test may be writing back while these are compared.
 */
struct wbf_counters {
	long node_dirty[MAX_NUMNODES];
	long memcg_dirty[MAX_NUMNODES];
	long node_writeback[MAX_NUMNODES];
	long node_written[MAX_NUMNODES];
	long memcg_writeback[MAX_NUMNODES];
	long zone_pending[MAX_NUMNODES][MAX_NR_ZONES];
	long dirty;
	long writeback;
	long written;
	long pending;
	long wb_reclaimable;
	long wb_writeback;
	long wb_written;
	long wb_inodes;
	long rotated;
};

/**
 * enum wbf_context - Where wbf_run() calls a function.
 * @WBF_TASK: In the test's thread.
 * @WBF_IRQS_OFF: In the test's thread with interrupts off.
 * @WBF_SOFTIRQ: In a soft interrupt.
 * @WBF_HARDIRQ: In a hard interrupt.
 */
enum wbf_context {
	WBF_TASK,
	WBF_IRQS_OFF,
	WBF_SOFTIRQ,
	WBF_HARDIRQ,
};

/**
 * struct wbf_disk - A block device that keeps every bio it is given.
 * @gendisk: The disk.
 * @lock: Not held while a bio is completed.
 * @bios: Bios not completed yet, in the order of their submission.
 */
struct wbf_disk {
	struct gendisk *gendisk;
	/* Protects @bios. */
	spinlock_t lock;
	struct bio_list bios;
};

/* What a digest begins with: FNV-1a. */
#define WBF_DIGEST	0xcbf29ce484222325ULL

/**
 * wbf_digest - Take a value into a digest of what a test has seen.
 * @digest: The digest so far, WBF_DIGEST at first.
 * @value: The value.
 *
 * Context: Any context.
 * Return: The digest.
 */
static inline u64 wbf_digest(u64 digest, u64 value)
{
	return (digest ^ value) * 0x100000001b3ULL;
}

void wbf_set_bound(struct kunit *test, unsigned int bound);

struct wbf_fs *wbf_fs_create(struct kunit *test);
void wbf_fs_destroy(struct kunit *test, struct wbf_fs *fs);
struct vfsmount *wbf_fs_disown(struct kunit *test, struct wbf_fs *fs);

struct inode *wbf_inode_create(struct kunit *test, struct wbf_fs *fs,
		const struct address_space_operations *aops);
void wbf_inode_release(struct kunit *test, struct inode *inode);
void wbf_inode_disown(struct kunit *test, struct inode *inode);

struct folio *wbf_folio_add(struct kunit *test, struct inode *inode,
		pgoff_t index, unsigned int order, gfp_t gfp);
struct folio *wbf_folio_add_dirty(struct kunit *test, struct inode *inode,
		pgoff_t index, unsigned int order);
void wbf_folio_dirty(struct folio *folio);
void wbf_folio_start(struct folio *folio, bool keepwrite);
void wbf_start_range(struct kunit *test, struct inode *inode, pgoff_t first,
		struct folio **folios, unsigned int nr);

long wbf_node_pages(int nid, enum node_stat_item item);
bool wbf_on_wb_list(struct inode *inode);
void wbf_counters_read(struct wbf_fs *fs, struct wbf_counters *counters);
void wbf_counters_expect(struct kunit *test, const struct wbf_counters *want,
		const struct wbf_counters *seen, const char *when);

void wbf_move_charges(struct kunit *test);
void wbf_run(struct kunit *test, enum wbf_context context,
		void (*fn)(void *data), void *data);
struct wbf_thread *wbf_thread_start(struct kunit *test,
		void (*fn)(void *data), void *data);
bool wbf_thread_blocked(struct wbf_thread *thread);
bool wbf_thread_join(struct wbf_thread *thread);

struct wbf_disk *wbf_disk_create(struct kunit *test, sector_t sectors);
void wbf_disk_destroy(struct kunit *test, struct wbf_disk *disk);
struct block_device *wbf_disk_bdev(struct wbf_disk *disk);
unsigned int wbf_disk_queued(struct wbf_disk *disk);
struct bio *wbf_disk_take(struct wbf_disk *disk, unsigned int nth);

#endif /* _WRITEBACK_FIXTURE_H */
