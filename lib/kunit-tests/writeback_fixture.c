// SPDX-License-Identifier: GPL-2.0
/*
 * Fixture of the page cache writeback KUnit suites. See writeback_fixture.h.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/poison.h>
#include <linux/pseudo_fs.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/vmstat.h>
#include <linux/writeback.h>
#include <linux/writeback_batch.h>

#include "writeback_fixture.h"

#define WBF_MAGIC	0x77626678

/* File system */

static struct inode *wbf_alloc_inode(struct super_block *sb)
{
	struct inode *inode = kzalloc(sizeof(*inode), GFP_KERNEL);

	if (inode)
		inode_init_once(inode);
	return inode;
}

/*
 * Real file systems free an inode after an RCU grace period. Freeing it at once,
 * poisoned, leaves no such grace to whoever touches an inode or a mapping that
 * only writeback kept alive.
 */
static void wbf_destroy_inode(struct inode *inode)
{
	memset(inode, POISON_FREE, sizeof(*inode));
	kfree(inode);
}

static const struct super_operations wbf_super_ops = {
	.alloc_inode	= wbf_alloc_inode,
	.destroy_inode	= wbf_destroy_inode,
	.statfs		= simple_statfs,
};

static int wbf_init_fs_context(struct fs_context *fc)
{
	struct pseudo_fs_context *ctx = init_pseudo(fc, WBF_MAGIC);

	if (!ctx)
		return -ENOMEM;
	ctx->ops = &wbf_super_ops;
	return 0;
}

static struct file_system_type wbf_fs_type = {
	.name			= "writeback_kunit",
	.init_fs_context	= wbf_init_fs_context,
	.kill_sb		= kill_anon_super,
};

static void wbf_umount(void *data)
{
	struct wbf_fs *fs = data;

	if (fs->mnt)
		kern_unmount(fs->mnt);
	fs->mnt = NULL;
}

static void wbf_restore_bound(void *unused)
{
	WRITE_ONCE(writeback_batch_folios, PAGEVEC_SIZE);
}

/**
 * wbf_set_bound - Set the bound of a batch for the rest of the test.
 * @test: The test.
 * @bound: Folios, 1 to PAGEVEC_SIZE.
 *
 * Context: Process context.
 */
void wbf_set_bound(struct kunit *test, unsigned int bound)
{
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, wbf_restore_bound,
						  NULL));
	WRITE_ONCE(writeback_batch_folios, bound);
}

/**
 * wbf_fs_create - Mount a pseudo file system whose bdi accounts writeback.
 * @test: The test; fails if the file system cannot be mounted.
 *
 * Its inodes take part in cgroup writeback, so that lockdep checks the locks
 * around inode_to_wb().
 *
 * Context: Process context.
 * Return: The file system; unmounted when the test ends.
 */
struct wbf_fs *wbf_fs_create(struct kunit *test)
{
	struct wbf_fs *fs = kunit_kzalloc(test, sizeof(*fs), GFP_KERNEL);
	struct vfsmount *mnt;

	KUNIT_ASSERT_NOT_NULL(test, fs);
	mnt = kern_mount(&wbf_fs_type);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mnt);
	fs->mnt = mnt;
	fs->sb = mnt->mnt_sb;
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, wbf_umount, fs));

	KUNIT_ASSERT_EQ(test, 0, super_setup_bdi(fs->sb));
	fs->sb->s_iflags |= SB_I_CGROUPWB;
	return fs;
}

/**
 * wbf_fs_destroy - Unmount a file system before the test ends.
 * @test: The test that created it.
 * @fs: The file system, without inodes in use.
 *
 * Context: Process context.
 */
void wbf_fs_destroy(struct kunit *test, struct wbf_fs *fs)
{
	kunit_release_action(test, wbf_umount, fs);
}

/**
 * wbf_fs_disown - Take over a file system that the test's end would unmount.
 * @test: The test that created it.
 * @fs: The file system.
 *
 * Context: Process context.
 * Return: Its mount, for the caller to unmount with kern_unmount().
 */
struct vfsmount *wbf_fs_disown(struct kunit *test, struct wbf_fs *fs)
{
	kunit_remove_action(test, wbf_umount, fs);
	return fs->mnt;
}

/* Inodes and folios */

static const struct address_space_operations wbf_aops = {
	.dirty_folio	= filemap_dirty_folio,
};

/* What a failed test may have left: a locked folio, or one under writeback. */
static void wbf_rescue_folio(struct folio *folio)
{
	if (folio_test_writeback(folio))
		folio_end_writeback(folio);
	if (folio_test_locked(folio))
		folio_unlock(folio);
}

static void wbf_rescue_mapping(struct address_space *mapping)
{
	struct folio_batch fbatch;
	pgoff_t index = 0;
	unsigned int i;

	folio_batch_init(&fbatch);
	while (filemap_get_folios(mapping, &index, ULONG_MAX, &fbatch)) {
		for (i = 0; i < folio_batch_count(&fbatch); i++)
			wbf_rescue_folio(fbatch.folios[i]);
		folio_batch_release(&fbatch);
	}
}

static void wbf_put_inode(void *data)
{
	struct inode *inode = data;

	wbf_rescue_mapping(inode->i_mapping);
	iput(inode);
}

/**
 * wbf_inode_create - Create a regular file without a name.
 * @test: The test; fails if there is no memory.
 * @fs: The file system.
 * @aops: Operations of its mapping, or NULL for a mapping that just keeps folios.
 *
 * No flusher ever looks at the inode: it is not hashed.
 *
 * Context: Process context.
 * Return: The inode, with large folios enabled; released when the test ends.
 */
struct inode *wbf_inode_create(struct kunit *test, struct wbf_fs *fs,
		const struct address_space_operations *aops)
{
	struct inode *inode = new_inode(fs->sb);

	KUNIT_ASSERT_NOT_NULL(test, inode);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, wbf_put_inode,
							    inode));
	inode->i_mode = S_IFREG;
	inode->i_mapping->a_ops = aops ?: &wbf_aops;
	mapping_set_large_folios(inode->i_mapping);
	return inode;
}

/**
 * wbf_inode_release - Release an inode before the test ends.
 * @test: The test that created it.
 * @inode: The inode.
 *
 * Context: Process context. Evicts the inode, unless there are other references.
 */
void wbf_inode_release(struct kunit *test, struct inode *inode)
{
	kunit_release_action(test, wbf_put_inode, inode);
}

/**
 * wbf_inode_disown - Take over an inode that the test's end would release.
 * @test: The test that created it.
 * @inode: The inode, for the caller to release with iput().
 *
 * Context: Process context.
 */
void wbf_inode_disown(struct kunit *test, struct inode *inode)
{
	kunit_remove_action(test, wbf_put_inode, inode);
}

/**
 * wbf_folio_add - Add a clean folio to the page cache.
 * @test: The test; fails if there is no memory.
 * @inode: The file.
 * @index: Page index, aligned to the folio's size.
 * @order: Order of the folio; limited to what the mapping supports.
 * @gfp: Allocation flags; choose the zone.
 *
 * Context: Process context.
 * Return: The folio, unlocked, up to date, on the LRU list after the next
 * lru_add_drain_all(). Only the page cache has references.
 */
struct folio *wbf_folio_add(struct kunit *test, struct inode *inode,
		pgoff_t index, unsigned int order, gfp_t gfp)
{
	struct address_space *mapping = inode->i_mapping;
	struct folio *folio;
	int err;

	order = min(order, mapping_max_folio_order(mapping));
	folio = filemap_alloc_folio(gfp | __GFP_ZERO, order);
	KUNIT_ASSERT_NOT_NULL(test, folio);
	err = filemap_add_folio(mapping, folio, index, GFP_KERNEL);
	if (!err) {
		folio_mark_uptodate(folio);
		folio_unlock(folio);
	}
	folio_put(folio);
	KUNIT_ASSERT_EQ(test, 0, err);
	return folio;
}

/**
 * wbf_folio_dirty - Dirty a folio as write() does.
 * @folio: A folio in the page cache.
 *
 * Context: Process context. Takes and releases the folio lock.
 */
void wbf_folio_dirty(struct folio *folio)
{
	folio_lock(folio);
	folio_mark_dirty(folio);
	folio_unlock(folio);
}

/**
 * wbf_folio_add_dirty - Add a dirty folio to the page cache.
 * @test: The test; fails if there is no memory.
 * @inode: The file.
 * @index: Page index, aligned to the folio's size.
 * @order: Order of the folio; limited to what the mapping supports.
 *
 * Context: Process context.
 * Return: The folio, as wbf_folio_add() does. The inode now has a wb.
 */
struct folio *wbf_folio_add_dirty(struct kunit *test, struct inode *inode,
		pgoff_t index, unsigned int order)
{
	struct folio *folio = wbf_folio_add(test, inode, index, order,
					    GFP_KERNEL);

	wbf_folio_dirty(folio);
	return folio;
}

/**
 * wbf_folio_start - Start writeback of a dirty folio.
 * @folio: The folio.
 * @keepwrite: Keep the mark that says it is still to be written.
 *
 * Context: Process context. Takes and releases the folio lock.
 */
void wbf_folio_start(struct folio *folio, bool keepwrite)
{
	folio_lock(folio);
	folio_clear_dirty_for_io(folio);
	if (keepwrite)
		folio_start_writeback_keepwrite(folio);
	else
		folio_start_writeback(folio);
	folio_unlock(folio);
}

/**
 * wbf_start_range - Add neighbouring folios of one page and start writeback.
 * @test: The test; fails if there is no memory.
 * @inode: The file.
 * @first: Page index of the first folio.
 * @folios: The folios, for the caller.
 * @nr: Number of folios.
 *
 * Context: Process context.
 */
void wbf_start_range(struct kunit *test, struct inode *inode, pgoff_t first,
		struct folio **folios, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		folios[i] = wbf_folio_add_dirty(test, inode, first + i, 0);
		wbf_folio_start(folios[i], false);
	}
}

/* Counters */

/**
 * wbf_on_wb_list - Is an inode on its super block's list of writeback?
 * @inode: The inode.
 *
 * Context: Process context. Takes and releases sb->s_inode_wblist_lock.
 * Return: true if a walk over the list finds the inode.
 */
bool wbf_on_wb_list(struct inode *inode)
{
	struct super_block *sb = inode->i_sb;
	struct inode *pos;
	bool found = false;

	spin_lock_irq(&sb->s_inode_wblist_lock);
	list_for_each_entry(pos, &sb->s_inodes_wb, i_wb_list)
		found |= pos == inode;
	spin_unlock_irq(&sb->s_inode_wblist_lock);
	return found;
}

/*
 * Node and zone counters are exact only with the differences that every CPU
 * still keeps. Adding those up from here would miss what a CPU is just folding
 * in, so let every CPU fold.
 */
static void wbf_fold_vmstat(void)
{
	size_t len = 0;
	loff_t pos = 0;

	vmstat_refresh(NULL, 1, NULL, &len, &pos);
}

/**
 * wbf_node_pages - Read a counter of a node, exactly.
 * @nid: The node.
 * @item: The counter, one that counts pages.
 *
 * Context: Process context.
 * Return: The value, in pages.
 */
long wbf_node_pages(int nid, enum node_stat_item item)
{
	wbf_fold_vmstat();
	return atomic_long_read(&NODE_DATA(nid)->vm_stat[item]);
}

#ifdef CONFIG_MEMCG
static long wbf_memcg_pages(int nid, enum node_stat_item item)
{
	if (mem_cgroup_disabled())
		return 0;
	cgroup_rstat_flush(root_mem_cgroup->css.cgroup);
	return lruvec_page_state(mem_cgroup_lruvec(root_mem_cgroup,
						   NODE_DATA(nid)),
				 item);
}
#else
static long wbf_memcg_pages(int nid, enum node_stat_item item)
{
	return 0;
}
#endif

#ifdef CONFIG_MEMCG_V1
static void wbf_charges_moved(void *memcg)
{
	atomic_dec(&((struct mem_cgroup *)memcg)->moving_account);
}

static void wbf_charges_moving(struct kunit *test)
{
	int err = kunit_add_action(test, wbf_charges_moved, root_mem_cgroup);

	KUNIT_ASSERT_EQ(test, 0, err);
	atomic_inc(&root_mem_cgroup->moving_account);
	synchronize_rcu();
}
#else
static void wbf_charges_moving(struct kunit *test)
{
}
#endif

/**
 * wbf_move_charges - Pretend that charges of the root memory cgroup are moved.
 * @test: The test, until whose end that lasts. Skipped where charges cannot move.
 *
 * From then on memcg->move_lock protects the writeback flag of each folio.
 *
 * Context: Process context.
 */
void wbf_move_charges(struct kunit *test)
{
	/* The test goes on without it: kunit_skip() would make this noreturn. */
	if (!IS_ENABLED(CONFIG_MEMCG_V1) || mem_cgroup_disabled())
		kunit_mark_skipped(test, "needs CONFIG_MEMCG_V1");
	else
		wbf_charges_moving(test);
}

#ifdef CONFIG_VM_EVENT_COUNTERS
static long wbf_rotated(void)
{
	unsigned long *events = kcalloc(NR_VM_EVENT_ITEMS, sizeof(*events),
					GFP_KERNEL | __GFP_NOFAIL);
	long rotated;

	all_vm_events(events);
	rotated = events[PGROTATED];
	kfree(events);
	return rotated;
}
#else
static long wbf_rotated(void)
{
	return 0;
}
#endif

static void wbf_read_node(int nid, struct wbf_counters *counters)
{
	pg_data_t *pgdat = NODE_DATA(nid);
	unsigned int zid;

	counters->node_dirty[nid] =
		atomic_long_read(&pgdat->vm_stat[NR_FILE_DIRTY]);
	counters->node_writeback[nid] =
		atomic_long_read(&pgdat->vm_stat[NR_WRITEBACK]);
	counters->node_written[nid] =
		atomic_long_read(&pgdat->vm_stat[NR_WRITTEN]);
	counters->memcg_dirty[nid] = wbf_memcg_pages(nid, NR_FILE_DIRTY);
	counters->memcg_writeback[nid] = wbf_memcg_pages(nid, NR_WRITEBACK);

	for (zid = 0; zid < MAX_NR_ZONES; zid++)
		counters->zone_pending[nid][zid] =
			atomic_long_read(&pgdat->node_zones[zid]
						.vm_stat[NR_ZONE_WRITE_PENDING]);
}

/**
 * wbf_counters_read - Read all counters, exactly.
 * @fs: The file system.
 * @counters: Filled in.
 *
 * Drains the LRU caches first, so that reference counts and PGROTATED can be
 * compared as well. The wb counters are not clamped at zero.
 *
 * Context: Process context.
 */
void wbf_counters_read(struct wbf_fs *fs, struct wbf_counters *counters)
{
	struct bdi_writeback *wb = &fs->sb->s_bdi->wb;
	int nid;

	lru_add_drain_all();
	wbf_fold_vmstat();

	for_each_online_node(nid)
		wbf_read_node(nid, counters);

	counters->dirty = atomic_long_read(&vm_node_stat[NR_FILE_DIRTY]);
	counters->writeback = atomic_long_read(&vm_node_stat[NR_WRITEBACK]);
	counters->written = atomic_long_read(&vm_node_stat[NR_WRITTEN]);
	counters->pending =
		atomic_long_read(&vm_zone_stat[NR_ZONE_WRITE_PENDING]);
	counters->wb_reclaimable =
		percpu_counter_sum(&wb->stat[WB_RECLAIMABLE]);
	counters->wb_writeback = percpu_counter_sum(&wb->stat[WB_WRITEBACK]);
	counters->wb_written = percpu_counter_sum(&wb->stat[WB_WRITTEN]);
	counters->wb_inodes = atomic_read(&wb->writeback_inodes);
	counters->rotated = wbf_rotated();
}

static void wbf_expect(struct kunit *test, long want, long seen,
		const char *when, const char *what)
{
	KUNIT_EXPECT_EQ_MSG(test, want, seen, "%s: %s", when, what);
}

static void wbf_expect_node(struct kunit *test, const struct wbf_counters *want,
		const struct wbf_counters *seen, const char *when, int nid)
{
	unsigned int zid;

	wbf_expect(test, want->node_dirty[nid], seen->node_dirty[nid], when,
		   "NR_FILE_DIRTY of a node");
	wbf_expect(test, want->memcg_dirty[nid], seen->memcg_dirty[nid], when,
		   "NR_FILE_DIRTY of the memcg");
	wbf_expect(test, want->node_writeback[nid], seen->node_writeback[nid],
		   when, "NR_WRITEBACK of a node");
	wbf_expect(test, want->node_written[nid], seen->node_written[nid],
		   when, "NR_WRITTEN of a node");
	wbf_expect(test, want->memcg_writeback[nid], seen->memcg_writeback[nid],
		   when, "NR_WRITEBACK of the memcg");
	for (zid = 0; zid < MAX_NR_ZONES; zid++)
		wbf_expect(test, want->zone_pending[nid][zid],
			   seen->zone_pending[nid][zid], when,
			   "NR_ZONE_WRITE_PENDING of a zone");
}

/**
 * wbf_counters_expect - Expect all counters to be equal.
 * @test: The test.
 * @want: Computed by the test.
 * @seen: Read by wbf_counters_read().
 * @when: What the test was doing, for the message.
 *
 * Context: Process context.
 */
void wbf_counters_expect(struct kunit *test, const struct wbf_counters *want,
		const struct wbf_counters *seen, const char *when)
{
	int nid;

	for_each_online_node(nid)
		wbf_expect_node(test, want, seen, when, nid);

	wbf_expect(test, want->dirty, seen->dirty, when, "NR_FILE_DIRTY");
	wbf_expect(test, want->writeback, seen->writeback, when,
		   "NR_WRITEBACK");
	wbf_expect(test, want->written, seen->written, when, "NR_WRITTEN");
	wbf_expect(test, want->pending, seen->pending, when,
		   "NR_ZONE_WRITE_PENDING");
	wbf_expect(test, want->wb_reclaimable, seen->wb_reclaimable, when,
		   "WB_RECLAIMABLE");
	wbf_expect(test, want->wb_writeback, seen->wb_writeback, when,
		   "WB_WRITEBACK");
	wbf_expect(test, want->wb_written, seen->wb_written, when,
		   "WB_WRITTEN");
	wbf_expect(test, want->wb_inodes, seen->wb_inodes, when,
		   "writeback_inodes");
	if (IS_ENABLED(CONFIG_VM_EVENT_COUNTERS))
		wbf_expect(test, want->rotated, seen->rotated, when,
			   "PGROTATED");
}

/* Contexts */

struct wbf_call {
	struct hrtimer timer;
	struct completion done;
	void (*fn)(void *data);
	void *data;
	bool in_context;
	bool irqs_changed;
	enum wbf_context context;
};

/* Interrupts are on or off afterwards as they were before. */
static void wbf_do_call(struct wbf_call *call)
{
	bool off = irqs_disabled();

	call->fn(call->data);
	call->irqs_changed = irqs_disabled() != off;
}

static enum hrtimer_restart wbf_timer(struct hrtimer *timer)
{
	struct wbf_call *call = container_of(timer, struct wbf_call, timer);

	call->in_context = call->context == WBF_HARDIRQ ? in_hardirq() :
							  in_serving_softirq();
	wbf_do_call(call);
	complete(&call->done);
	return HRTIMER_NORESTART;
}

static void wbf_run_timer(struct kunit *test, struct wbf_call *call,
		enum hrtimer_mode mode)
{
	unsigned long left;

	hrtimer_init_on_stack(&call->timer, CLOCK_MONOTONIC, mode);
	call->timer.function = wbf_timer;
	hrtimer_start(&call->timer, 0, mode);
	left = wait_for_completion_timeout(&call->done, WBF_TIMEOUT);
	hrtimer_cancel(&call->timer);
	destroy_hrtimer_on_stack(&call->timer);

	KUNIT_ASSERT_NE_MSG(test, left, 0, "the timer did not fire");
	KUNIT_ASSERT_TRUE(test, call->in_context);
}

/**
 * wbf_run - Call a function in a given context, and wait for it.
 * @test: The test; fails if the context cannot be reached.
 * @context: The context.
 * @fn: The function. Must not use @test.
 * @data: Its argument.
 *
 * Context: Process context.
 */
void wbf_run(struct kunit *test, enum wbf_context context,
		void (*fn)(void *data), void *data)
{
	struct wbf_call call = {
		.fn		= fn,
		.data		= data,
		.context	= context,
	};

	init_completion(&call.done);
	switch (context) {
	case WBF_TASK:
		wbf_do_call(&call);
		break;
	case WBF_IRQS_OFF:
		local_irq_disable();
		wbf_do_call(&call);
		local_irq_enable();
		break;
	case WBF_SOFTIRQ:
		wbf_run_timer(test, &call, HRTIMER_MODE_REL_SOFT);
		break;
	case WBF_HARDIRQ:
		wbf_run_timer(test, &call, HRTIMER_MODE_REL_HARD);
		break;
	}
	KUNIT_EXPECT_FALSE(test, call.irqs_changed);
}

struct wbf_thread {
	struct task_struct *task;
	struct completion done;
	void (*fn)(void *data);
	void *data;
};

static int wbf_thread(void *data)
{
	struct wbf_thread *thread = data;

	thread->fn(thread->data);
	complete(&thread->done);
	return 0;
}

/**
 * wbf_thread_start - Call a function in another thread.
 * @test: The test; fails if the thread cannot be created.
 * @fn: The function. Must not use @test.
 * @data: Its argument. Leave it alone if wbf_thread_join() fails.
 *
 * Context: Process context.
 * Return: The thread, for wbf_thread_join().
 */
struct wbf_thread *wbf_thread_start(struct kunit *test,
		void (*fn)(void *data), void *data)
{
	struct wbf_thread *thread = kzalloc(sizeof(*thread), GFP_KERNEL);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, thread);
	init_completion(&thread->done);
	thread->fn = fn;
	thread->data = data;
	task = kthread_create(wbf_thread, thread, "wbf_thread");
	if (IS_ERR(task))
		kfree(thread);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	thread->task = get_task_struct(task);
	wake_up_process(task);
	return thread;
}

/**
 * wbf_thread_blocked - Wait until a thread sleeps uninterruptibly.
 * @thread: The thread.
 *
 * Context: Process context.
 * Return: false if it does not within WBF_TIMEOUT.
 */
bool wbf_thread_blocked(struct wbf_thread *thread)
{
	unsigned long deadline = jiffies + WBF_TIMEOUT;

	while (!wait_task_inactive(thread->task, TASK_UNINTERRUPTIBLE)) {
		if (time_after(jiffies, deadline))
			return false;
		schedule_timeout_uninterruptible(1);
	}
	return true;
}

/**
 * wbf_thread_join - Wait until the function has returned.
 * @thread: The thread; freed if its function has returned.
 *
 * A thread that does not return within WBF_TIMEOUT is abandoned, with all that
 * it uses: there is no way to stop one that waits for a lost wake-up.
 *
 * Context: Process context.
 * Return: true if the function has returned.
 */
bool wbf_thread_join(struct wbf_thread *thread)
{
	if (!wait_for_completion_timeout(&thread->done, WBF_TIMEOUT))
		return false;
	put_task_struct(thread->task);
	kfree(thread);
	return true;
}

/* Block device */

static void wbf_submit_bio(struct bio *bio)
{
	struct wbf_disk *disk = bio->bi_bdev->bd_disk->private_data;

	spin_lock_irq(&disk->lock);
	bio_list_add(&disk->bios, bio);
	spin_unlock_irq(&disk->lock);
}

static const struct block_device_operations wbf_disk_ops = {
	.submit_bio	= wbf_submit_bio,
};

static void wbf_disk_delete(void *data)
{
	struct wbf_disk *disk = data;
	struct bio *bio;

	while ((bio = wbf_disk_take(disk, 0)))
		bio_io_error(bio);
	del_gendisk(disk->gendisk);
	put_disk(disk->gendisk);
}

/**
 * wbf_disk_create - Create a block device that completes nothing by itself.
 * @test: The test; fails if the device cannot be added.
 * @sectors: Size in units of 512 bytes.
 *
 * Create it after the inodes that write to it: bios that a failed test left are
 * completed with an error before the inodes go away.
 *
 * Context: Process context.
 * Return: The device; deleted when the test ends.
 */
struct wbf_disk *wbf_disk_create(struct kunit *test, sector_t sectors)
{
	struct wbf_disk *disk = kunit_kzalloc(test, sizeof(*disk), GFP_KERNEL);
	struct gendisk *gendisk;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, disk);
	spin_lock_init(&disk->lock);
	bio_list_init(&disk->bios);
	gendisk = blk_alloc_disk(NULL, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, gendisk);
	disk->gendisk = gendisk;
	gendisk->fops = &wbf_disk_ops;
	gendisk->flags = GENHD_FL_NO_PART;
	gendisk->private_data = disk;
	strscpy(gendisk->disk_name, "wbkunit", sizeof(gendisk->disk_name));
	set_capacity(gendisk, sectors);

	err = add_disk(gendisk);
	if (err)
		put_disk(gendisk);
	KUNIT_ASSERT_EQ(test, 0, err);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test,
							   wbf_disk_delete,
							   disk));
	return disk;
}

/**
 * wbf_disk_destroy - Delete a block device before the test ends.
 * @test: The test that created it.
 * @disk: The disk. Bios it still has are completed with an error.
 *
 * Context: Process context.
 */
void wbf_disk_destroy(struct kunit *test, struct wbf_disk *disk)
{
	kunit_release_action(test, wbf_disk_delete, disk);
}

/**
 * wbf_disk_bdev - The block device to send bios to.
 * @disk: The disk.
 *
 * Context: Any context.
 * Return: The whole device.
 */
struct block_device *wbf_disk_bdev(struct wbf_disk *disk)
{
	return disk->gendisk->part0;
}

/**
 * wbf_disk_queued - Number of bios that wait for their completion.
 * @disk: The disk.
 *
 * Context: Process context.
 * Return: Number of bios.
 */
unsigned int wbf_disk_queued(struct wbf_disk *disk)
{
	unsigned int nr;

	spin_lock_irq(&disk->lock);
	nr = bio_list_size(&disk->bios);
	spin_unlock_irq(&disk->lock);
	return nr;
}

/**
 * wbf_disk_take - Take a bio away from the disk.
 * @disk: The disk.
 * @nth: Which one, counted from 0 in the order of submission.
 *
 * Context: Process context.
 * Return: The bio, for the caller to complete, or NULL if there are fewer.
 */
struct bio *wbf_disk_take(struct wbf_disk *disk, unsigned int nth)
{
	struct bio_list rest = BIO_EMPTY_LIST;
	struct bio *bio, *found = NULL;

	spin_lock_irq(&disk->lock);
	while ((bio = bio_list_pop(&disk->bios))) {
		if (nth-- == 0)
			found = bio;
		else
			bio_list_add(&rest, bio);
	}
	disk->bios = rest;
	spin_unlock_irq(&disk->lock);
	return found;
}
