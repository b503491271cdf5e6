// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite for the end of folio writeback: state, waiters and lifetimes.
 *
 * State is compared with an arithmetic model, see writeback_model.h. The digests
 * that the model cases print depend on the seed alone: kernels that end
 * writeback in batches and folio by folio print the same ones.
 */
#include <kunit/test.h>
#include <linux/backing-dev.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/prandom.h>
#include <linux/swap.h>
#include <linux/wait.h>
#include <linux/writeback_batch.h>

#include "writeback_model.h"

/* Each row of a model case runs this many seeds. */
#define WBE_SEEDS	3

/* Bios in flight at a time. */
#define WBE_GROUPS	5

static void wbe_end_batch(void *fbatch)
{
	folios_end_writeback(fbatch);
}

/* Model */

struct wbe_row {
	const char *desc;
	u32 seed;
	unsigned int max_order;
	unsigned int bound;
	enum wbf_context context;
	bool untagged;
	bool unaccounted;
	bool unordered;
	bool moving;
};

static const struct wbe_row wbe_rows[] = {
	{ .desc = "order 0", .seed = 100, .bound = 31 },
	{ .desc = "orders 0 to 9", .seed = 200, .max_order = 9, .bound = 31 },
	{ .desc = "bound 1", .seed = 300, .max_order = 3, .bound = 1 },
	{ .desc = "bound 7", .seed = 400, .max_order = 3, .bound = 7 },
	{ .desc = "no writeback marks", .seed = 500, .max_order = 4,
	  .bound = 31, .untagged = true },
	{ .desc = "bdi without accounting", .seed = 600, .max_order = 4,
	  .bound = 31, .unaccounted = true },
	{ .desc = "any order of indices", .seed = 700, .max_order = 6,
	  .bound = 31, .unordered = true },
	{ .desc = "charges moving", .seed = 1100, .max_order = 4,
	  .bound = 31, .moving = true },
	{ .desc = "interrupts off", .seed = 800, .max_order = 2,
	  .bound = 31, .context = WBF_IRQS_OFF },
	{ .desc = "softirq", .seed = 900, .max_order = 2, .bound = 31,
	  .context = WBF_SOFTIRQ },
	{ .desc = "hardirq", .seed = 1000, .max_order = 2, .bound = 7,
	  .context = WBF_HARDIRQ },
};

KUNIT_ARRAY_PARAM_DESC(wbe_model, wbe_rows, desc);

/* Dirty most folios and start writeback of most of those, in several groups. */
static void wbe_start(struct wb_model *model)
{
	struct wb_model_slot *slot;
	unsigned int half = model->nr / 2;
	unsigned int group = 0;

	for (slot = model->slots; slot < model->slots + model->nr; slot++) {
		if (!wb_model_chance(model, 8))
			wb_model_dirty(model, slot);
	}
	wb_model_tag(model, wb_model_below(model, half),
		     half + wb_model_below(model, half));

	for (slot = model->slots; slot < model->slots + model->nr; slot++) {
		if (wb_model_chance(model, 12))
			group = wb_model_below(model, WBE_GROUPS);
		slot->group = group;
		if (!slot->dirty || wb_model_chance(model, 10))
			continue;
		wb_model_start(model, slot, wb_model_chance(model, 4));
		wb_model_decorate(model, slot);
	}
}

/* Some folios go round again while others are still in flight. */
static void wbe_start_again(struct wb_model *model)
{
	struct wb_model_slot *slot;

	for (slot = model->slots; slot < model->slots + model->nr; slot++) {
		if (!slot->ended || slot->writeback || slot->locked ||
		    !wb_model_chance(model, 3))
			continue;
		wb_model_dirty(model, slot);
		wb_model_start(model, slot, false);
	}
}

/* The slots of a group that are under writeback: all if there are at most @max */
static unsigned int wbe_gather(struct wb_model *model, unsigned int group,
		struct wb_model_slot **slots, unsigned int max)
{
	unsigned int i, nr = 0;

	for (i = 0; i < model->nr && nr < max; i++) {
		if (model->slots[i].group == group && model->slots[i].writeback)
			slots[nr++] = &model->slots[i];
	}
	return nr;
}

static void wbe_shuffle(struct wb_model *model, struct wb_model_slot **slots,
		unsigned int nr)
{
	unsigned int i;

	for (; nr > 1; nr--) {
		i = wb_model_below(model, nr);
		swap(slots[i], slots[nr - 1]);
	}
}

/* End some folios of a group with one call. Returns how many. */
static unsigned int wbe_end_some(struct wb_model *model,
		const struct wbe_row *row, unsigned int group)
{
	struct wb_model_slot *slots[PAGEVEC_SIZE];
	struct folio_batch fbatch;
	unsigned int i, nr;

	nr = wbe_gather(model, group, slots,
			1 + wb_model_below(model, PAGEVEC_SIZE));
	if (row->unordered)
		wbe_shuffle(model, slots, nr);

	if (nr && wb_model_chance(model, 6)) {
		folio_end_writeback(slots[0]->folio);
		nr = 1;
	} else {
		folio_batch_init(&fbatch);
		for (i = 0; i < nr; i++)
			folio_batch_add(&fbatch, slots[i]->folio);
		wbf_run(model->test, row->context, wbe_end_batch, &fbatch);
		KUNIT_EXPECT_EQ(model->test, 0, folio_batch_count(&fbatch));
	}

	for (i = 0; i < nr; i++)
		wb_model_ended(model, slots[i]);
	return nr;
}

/* End everything, with the groups taking turns at random. */
static void wbe_end_all(struct wb_model *model, const struct wbe_row *row)
{
	unsigned int group, idle = 0;

	while (idle < WBE_GROUPS) {
		group = wb_model_below(model, WBE_GROUPS);
		for (idle = 0; idle < WBE_GROUPS; idle++) {
			if (wbe_end_some(model, row, group))
				break;
			group = (group + 1) % WBE_GROUPS;
		}
		if (wb_model_chance(model, 8))
			wb_model_check(model, "some ended");
	}
}

static void wbe_run_seed(struct kunit *test, const struct wbe_row *row,
		u32 seed)
{
	struct wb_model *model = wb_model_create(test, seed, !row->untagged,
						 !row->unaccounted);

	wb_model_populate(model, row->max_order);
	wb_model_check(model, "clean");
	wbe_start(model);
	wb_model_check(model, "started");
	wbe_end_some(model, row, 0);
	wbe_end_some(model, row, 1);
	wb_model_check(model, "first batches ended");
	wbe_start_again(model);
	wb_model_check(model, "started again");
	wbe_end_all(model, row);
	wb_model_check(model, "all ended");
	pr_info("# writeback_end: seed=%u digest=%016llx\n", seed,
		model->digest);
	wb_model_destroy(model);
}

static void folios_end_writeback_matches_model(struct kunit *test)
{
	const struct wbe_row *row = test->param_value;
	u32 i;

	if (row->moving)
		wbf_move_charges(test);
	wbf_set_bound(test, row->bound);
	for (i = 0; i < WBE_SEEDS; i++)
		wbe_run_seed(test, row, row->seed + i);
}

/* Two threads end the folios of one file at the same time. */
struct wbe_half {
	struct folio_batch batches[8];
	unsigned int nr;
};

static void wbe_end_half(void *data)
{
	struct wbe_half *half = data;
	unsigned int i;

	for (i = 0; i < half->nr; i++)
		folios_end_writeback(&half->batches[i]);
}

static void wbe_fill_half(struct wb_model *model, struct wbe_half *half,
		unsigned int group)
{
	struct wb_model_slot *slots[PAGEVEC_SIZE];
	unsigned int i, nr;

	while ((nr = wbe_gather(model, group, slots, PAGEVEC_SIZE / 2))) {
		folio_batch_init(&half->batches[half->nr]);
		for (i = 0; i < nr; i++) {
			folio_batch_add(&half->batches[half->nr],
					slots[i]->folio);
			wb_model_ended(model, slots[i]);
		}
		half->nr++;
	}
}

static void folios_end_writeback_on_two_cpus(struct kunit *test)
{
	struct wbe_half *halves = kzalloc(2 * sizeof(*halves), GFP_KERNEL);
	struct wb_model *model;
	struct wbf_thread *threads[2];
	unsigned int i;
	bool joined;

	KUNIT_ASSERT_NOT_NULL(test, halves);
	model = wb_model_create(test, 1, true, true);
	wb_model_populate(model, 2);
	for (i = 0; i < model->nr; i++) {
		model->slots[i].group = i & 1;
		wb_model_dirty(model, &model->slots[i]);
		wb_model_start(model, &model->slots[i], false);
	}
	wbe_fill_half(model, &halves[0], 0);
	wbe_fill_half(model, &halves[1], 1);

	for (i = 0; i < 2; i++)
		threads[i] = wbf_thread_start(test, wbe_end_half, &halves[i]);
	joined = wbf_thread_join(threads[0]);
	joined &= wbf_thread_join(threads[1]);
	KUNIT_ASSERT_TRUE(test, joined);
	kfree(halves);

	wb_model_check(model, "all ended");
	wb_model_destroy(model);
}

/* State that the model does not have */

struct wbe_file {
	struct wbf_fs *fs;
	struct inode *inode;
	struct folio *folios[PAGEVEC_SIZE];
	struct folio_batch fbatch;
};

/* Start writeback of the folios of a file, and gather them in a batch. */
static void wbe_file_start(struct kunit *test, struct wbe_file *file)
{
	unsigned int i;

	wbf_start_range(test, file->inode, 0, file->folios, PAGEVEC_SIZE);
	folio_batch_init(&file->fbatch);
	for (i = 0; i < PAGEVEC_SIZE; i++)
		folio_batch_add(&file->fbatch, file->folios[i]);
}

static struct wbe_file *wbe_file_create(struct kunit *test)
{
	struct wbe_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, file);
	file->fs = wbf_fs_create(test);
	file->inode = wbf_inode_create(test, file->fs, NULL);
	wbe_file_start(test, file);
	return file;
}

static void folios_end_writeback_with_empty_batch(struct kunit *test)
{
	struct folio_batch fbatch;

	folio_batch_init(&fbatch);
	folios_end_writeback(&fbatch);
	KUNIT_EXPECT_EQ(test, 0, folio_batch_count(&fbatch));
}

/* The share of the bdi in all completions follows WB_WRITTEN. */
static void folios_end_writeback_counts_completions(struct kunit *test)
{
	struct wbe_file *file = wbe_file_create(test);
	struct bdi_writeback *wb = &file->fs->sb->s_bdi->wb;

	KUNIT_EXPECT_EQ(test, 0, percpu_counter_sum(&wb->completions.events));
	folios_end_writeback(&file->fbatch);
	KUNIT_EXPECT_GT(test, percpu_counter_sum(&wb->completions.events), 0);
}

/* Tasks that reclaim has throttled wait for pages to be written. */
static void folios_end_writeback_with_throttled_reclaim(struct kunit *test)
{
	struct wbe_file *file = wbe_file_create(test);
	int nid = folio_nid(file->folios[0]);
	pg_data_t *pgdat = NODE_DATA(nid);
	long before = wbf_node_pages(nid, NR_THROTTLED_WRITTEN);

	atomic_inc(&pgdat->nr_writeback_throttled);
	folios_end_writeback(&file->fbatch);
	atomic_dec(&pgdat->nr_writeback_throttled);
	KUNIT_EXPECT_EQ(test, before + PAGEVEC_SIZE,
			wbf_node_pages(nid, NR_THROTTLED_WRITTEN));
}

/* Writeback of a folio that no page cache holds touches node and zone only. */
static void folio_end_writeback_without_mapping(struct kunit *test)
{
	struct folio *folio = folio_alloc(GFP_KERNEL, 0);
	long before, started;
	int nid;

	KUNIT_ASSERT_NOT_NULL(test, folio);
	nid = folio_nid(folio);
	before = wbf_node_pages(nid, NR_WRITEBACK);
	folio_start_writeback(folio);
	started = wbf_node_pages(nid, NR_WRITEBACK);
	folio_end_writeback(folio);

	KUNIT_EXPECT_EQ(test, before + 1, started);
	KUNIT_EXPECT_EQ(test, before, wbf_node_pages(nid, NR_WRITEBACK));
	KUNIT_EXPECT_FALSE(test, folio_test_writeback(folio));
	KUNIT_EXPECT_EQ(test, 1, folio_ref_count(folio));
	folio_put(folio);
}

/* Waiters */

struct wbe_context_row {
	const char *desc;
	unsigned int bound;
	enum wbf_context context;
};

static const struct wbe_context_row wbe_contexts[] = {
	{ .desc = "task", .bound = 31, .context = WBF_TASK },
	{ .desc = "task, bound 1", .bound = 1, .context = WBF_TASK },
	{ .desc = "task, bound 7", .bound = 7, .context = WBF_TASK },
	{ .desc = "softirq", .bound = 31, .context = WBF_SOFTIRQ },
	{ .desc = "hardirq", .bound = 31, .context = WBF_HARDIRQ },
};

KUNIT_ARRAY_PARAM_DESC(wbe_context, wbe_contexts, desc);

static void wbe_wait_for_folio(void *data)
{
	struct folio *folio = data;

	folio_wait_writeback(folio);
	folio_put(folio);
}

/* A thread that waits for writeback of a folio, with a reference of its own. */
static struct wbf_thread *wbe_start_waiter(struct kunit *test,
		struct folio *folio)
{
	folio_get(folio);
	return wbf_thread_start(test, wbe_wait_for_folio, folio);
}

/* One waiter sleeps on each folio before the batch ends. */
static void folios_end_writeback_wakes_every_member(struct kunit *test)
{
	const struct wbe_context_row *row = test->param_value;
	struct wbf_thread *threads[PAGEVEC_SIZE];
	struct wbe_file *file = wbe_file_create(test);
	unsigned int i, lost = 0;

	wbf_set_bound(test, row->bound);
	for (i = 0; i < PAGEVEC_SIZE; i++)
		threads[i] = wbe_start_waiter(test, file->folios[i]);
	for (i = 0; i < PAGEVEC_SIZE; i++)
		KUNIT_EXPECT_TRUE(test, wbf_thread_blocked(threads[i]));

	wbf_run(test, row->context, wbe_end_batch, &file->fbatch);
	for (i = 0; i < PAGEVEC_SIZE && !lost; i++)
		lost += !wbf_thread_join(threads[i]);
	KUNIT_EXPECT_EQ_MSG(test, 0, lost, "waiter %u was not woken", i - 1);
}

/* Many waiters of one folio in the middle; all are woken, not only the first. */
static void folios_end_writeback_wakes_all_of_one_folio(struct kunit *test)
{
	struct wbe_file *file = wbe_file_create(test);
	struct wbf_thread *threads[4];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(threads); i++)
		threads[i] = wbe_start_waiter(test, file->folios[15]);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		KUNIT_EXPECT_TRUE(test, wbf_thread_blocked(threads[i]));

	folios_end_writeback(&file->fbatch);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		KUNIT_ASSERT_TRUE(test, wbf_thread_join(threads[i]));
}

/* Waiters arrive while the batch ends: some before, some after, some in between. */
static void folios_end_writeback_races_with_waiters(struct kunit *test)
{
	const unsigned int rounds = 60;
	struct wbe_file *file = wbe_file_create(test);
	struct wbf_thread *threads[4];
	struct rnd_state rnd;
	unsigned int round, i;

	prandom_seed_state(&rnd, 2);
	for (round = 0; round < rounds; round++) {
		if (round)
			wbe_file_start(test, file);
		for (i = 0; i < ARRAY_SIZE(threads); i++)
			threads[i] = wbe_start_waiter(test,
				file->folios[prandom_u32_state(&rnd) %
					     PAGEVEC_SIZE]);
		udelay(prandom_u32_state(&rnd) % 200);
		folios_end_writeback(&file->fbatch);
		for (i = 0; i < ARRAY_SIZE(threads); i++)
			KUNIT_ASSERT_TRUE_MSG(test,
					      wbf_thread_join(threads[i]),
					      "round %u", round);
		truncate_inode_pages(file->inode->i_mapping, 0);
	}
}

/*
 * A wait queue entry that looks at all folios of the batch while one is woken.
 * What has ended and is still to be woken must not depend on the page cache's
 * references; what is beyond the bound must not have ended.
 */
struct wbe_observer {
	wait_queue_entry_t wait;
	struct folio *folio;
	struct wbe_observers *all;
	int min_refs;
	bool woken;
};

struct wbe_observers {
	struct address_space *mapping;
	struct wbe_observer each[PAGEVEC_SIZE];
	unsigned int bound;
	unsigned int next;
	bool woken_under_lock;
	bool woken_under_writeback;
	bool out_of_order;
	bool bound_exceeded;
};

static void wbe_observe_refs(struct wbe_observer *observer)
{
	if (observer->woken || folio_test_writeback(observer->folio))
		return;
	observer->min_refs = min(observer->min_refs,
				 folio_ref_count(observer->folio));
}

/* While folio @woken is woken, the hold that comes next has not ended any. */
static bool wbe_bound_exceeded(struct wbe_observers *all, unsigned int woken)
{
	unsigned int i;

	for (i = roundup(woken + 1, all->bound); i < PAGEVEC_SIZE; i++) {
		if (!folio_test_writeback(all->each[i].folio))
			return true;
	}
	return false;
}

static int wbe_observe(wait_queue_entry_t *wait, unsigned int mode, int sync,
		void *arg)
{
	struct wbe_observer *observer = container_of(wait, struct wbe_observer,
						     wait);
	struct wbe_observers *all = observer->all;
	struct wait_page_key *key = arg;
	unsigned int i;

	if (key->folio != observer->folio)
		return 0;
	key->page_match = 1;
	if (key->bit_nr != PG_writeback)
		return 0;

	for (i = 0; i < PAGEVEC_SIZE; i++)
		wbe_observe_refs(&all->each[i]);
	/* Negative: lockdep has been turned off and does not know. */
	if (IS_ENABLED(CONFIG_LOCKDEP) &&
	    lockdep_is_held(&all->mapping->i_pages.xa_lock) > 0)
		all->woken_under_lock = true;
	all->woken_under_writeback |= folio_test_writeback(observer->folio);
	all->bound_exceeded |= wbe_bound_exceeded(all, observer - all->each);
	all->out_of_order |= observer != &all->each[all->next++];
	observer->woken = true;
	list_del_init(&wait->entry);
	return 0;
}

/* Not from KUnit's memory: what is not woken stays in a wait queue for good. */
static struct wbe_observers *wbe_observers_create(struct kunit *test,
		struct wbe_file *file, unsigned int bound)
{
	struct wbe_observers *all = kzalloc(sizeof(*all), GFP_KERNEL);
	struct wbe_observer *observer;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, all);
	all->mapping = file->inode->i_mapping;
	all->bound = bound;
	for (i = 0; i < PAGEVEC_SIZE; i++) {
		observer = &all->each[i];
		init_waitqueue_func_entry(&observer->wait, wbe_observe);
		observer->folio = file->folios[i];
		observer->all = all;
		observer->min_refs = INT_MAX;
		folio_add_wait_queue(observer->folio, &observer->wait);
	}
	return all;
}

static void folios_end_writeback_while_waking(struct kunit *test)
{
	const struct wbe_context_row *row = test->param_value;
	struct wbe_file *file = wbe_file_create(test);
	struct wbe_observers *all;
	unsigned int i;

	wbf_set_bound(test, row->bound);
	lru_add_drain_all();
	all = wbe_observers_create(test, file, row->bound);
	wbf_run(test, row->context, wbe_end_batch, &file->fbatch);

	KUNIT_ASSERT_EQ(test, PAGEVEC_SIZE, all->next);
	KUNIT_EXPECT_FALSE(test, all->woken_under_lock);
	KUNIT_EXPECT_FALSE(test, all->woken_under_writeback);
	KUNIT_EXPECT_FALSE(test, all->out_of_order);
	KUNIT_EXPECT_FALSE(test, all->bound_exceeded);
	for (i = 0; i < PAGEVEC_SIZE; i++) {
		/* The page cache's and the one of whoever ends writeback. */
		KUNIT_EXPECT_EQ_MSG(test, 2, all->each[i].min_refs,
				    "folio %u", i);
		KUNIT_EXPECT_EQ(test, 1, folio_ref_count(file->folios[i]));
	}
	kfree(all);
}

/* Lifetime */

static void wbe_truncate(void *data)
{
	struct inode *inode = data;

	truncate_inode_pages(inode->i_mapping, 0);
}

/* The folios are freed the instant their writeback ends. */
static void folios_end_writeback_races_with_truncate(struct kunit *test)
{
	const struct wbe_context_row *row = test->param_value;
	struct wbe_file *file = wbe_file_create(test);
	const unsigned int rounds = 30;
	struct wbf_thread *thread;
	unsigned int round;

	wbf_set_bound(test, row->bound);
	for (round = 0; round < rounds; round++) {
		if (round)
			wbe_file_start(test, file);
		thread = wbf_thread_start(test, wbe_truncate, file->inode);
		/* Every other time it is sure to be waiting. */
		if (round & 1)
			KUNIT_EXPECT_TRUE(test, wbf_thread_blocked(thread));
		wbf_run(test, row->context, wbe_end_batch, &file->fbatch);
		KUNIT_ASSERT_TRUE(test, wbf_thread_join(thread));
		KUNIT_ASSERT_EQ(test, 0, file->inode->i_mapping->nrpages);
	}
}

static void wbe_evict(void *data)
{
	iput(data);
}

/* The inode is freed, poisoned, right after its last folio has ended. */
static void folios_end_writeback_races_with_eviction(struct kunit *test)
{
	const struct wbe_context_row *row = test->param_value;
	struct wbe_file *file = wbe_file_create(test);
	const unsigned int rounds = 30;
	struct wbf_thread *thread;
	unsigned int round;

	wbf_set_bound(test, row->bound);
	for (round = 0; round < rounds; round++) {
		if (round) {
			file->inode = wbf_inode_create(test, file->fs, NULL);
			wbe_file_start(test, file);
		}
		wbf_inode_disown(test, file->inode);
		thread = wbf_thread_start(test, wbe_evict, file->inode);
		if (round & 1)
			KUNIT_EXPECT_TRUE(test, wbf_thread_blocked(thread));
		wbf_run(test, row->context, wbe_end_batch, &file->fbatch);
		KUNIT_ASSERT_TRUE(test, wbf_thread_join(thread));
	}
	KUNIT_EXPECT_TRUE(test, list_empty(&file->fs->sb->s_inodes_wb));
}

struct wbe_mount {
	struct vfsmount *mnt;
	struct inode *inode;
};

static void wbe_evict_and_unmount(void *data)
{
	struct wbe_mount *mount = data;

	iput(mount->inode);
	kern_unmount(mount->mnt);
}

/* The super block and the bdi go as well. */
static void folios_end_writeback_races_with_unmount(struct kunit *test)
{
	const unsigned int rounds = 8;
	struct wbf_thread *thread;
	struct wbe_mount *mount;
	struct wbe_file *file;
	unsigned int round;

	for (round = 0; round < rounds; round++) {
		file = wbe_file_create(test);
		mount = kzalloc(sizeof(*mount), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, mount);
		wbf_inode_disown(test, file->inode);
		mount->inode = file->inode;
		mount->mnt = wbf_fs_disown(test, file->fs);

		thread = wbf_thread_start(test, wbe_evict_and_unmount, mount);
		if (round & 1)
			KUNIT_EXPECT_TRUE(test, wbf_thread_blocked(thread));
		folios_end_writeback(&file->fbatch);
		KUNIT_ASSERT_TRUE(test, wbf_thread_join(thread));
		kfree(mount);
	}
}

#ifdef CONFIG_MEMCG_V1

struct wbe_mover {
	struct wbe_file *file;
	bool started;
	bool go;
	bool done;
};

static void wbe_end_when_told(void *data)
{
	struct wbe_mover *mover = data;

	/* Not letting go of its CPU, so that the test is on another. */
	WRITE_ONCE(mover->started, true);
	while (!READ_ONCE(mover->go))
		cpu_relax();
	folios_end_writeback(&mover->file->fbatch);
	WRITE_ONCE(mover->done, true);
}

/* While charges are moved, their lock protects the writeback flag. */
static void folios_end_writeback_waits_for_moving_charges(struct kunit *test)
{
	struct wbe_mover mover = { .file = wbe_file_create(test) };
	struct wbf_thread *thread;
	unsigned long flags;
	bool ended, done;
	unsigned int i;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	wbf_move_charges(test);
	thread = wbf_thread_start(test, wbe_end_when_told, &mover);
	while (!READ_ONCE(mover.started))
		cond_resched();

	spin_lock_irqsave(&root_mem_cgroup->move_lock, flags);
	WRITE_ONCE(mover.go, true);
	mdelay(100);
	for (ended = false, i = 0; i < PAGEVEC_SIZE; i++)
		ended |= !folio_test_writeback(mover.file->folios[i]);
	done = READ_ONCE(mover.done);
	spin_unlock_irqrestore(&root_mem_cgroup->move_lock, flags);

	KUNIT_ASSERT_TRUE(test, wbf_thread_join(thread));
	KUNIT_EXPECT_FALSE(test, ended);
	KUNIT_EXPECT_FALSE(test, done);
	KUNIT_EXPECT_FALSE(test, folio_test_writeback(mover.file->folios[0]));
}

#endif /* CONFIG_MEMCG_V1 */

static struct kunit_case writeback_end_cases[] = {
	KUNIT_CASE_PARAM(folios_end_writeback_matches_model,
			 wbe_model_gen_params),
	KUNIT_CASE(folios_end_writeback_on_two_cpus),
	KUNIT_CASE(folios_end_writeback_with_empty_batch),
	KUNIT_CASE(folios_end_writeback_counts_completions),
	KUNIT_CASE(folios_end_writeback_with_throttled_reclaim),
	KUNIT_CASE(folio_end_writeback_without_mapping),
	KUNIT_CASE_PARAM(folios_end_writeback_wakes_every_member,
			 wbe_context_gen_params),
	KUNIT_CASE(folios_end_writeback_wakes_all_of_one_folio),
	KUNIT_CASE(folios_end_writeback_races_with_waiters),
	KUNIT_CASE_PARAM(folios_end_writeback_while_waking,
			 wbe_context_gen_params),
	KUNIT_CASE_PARAM(folios_end_writeback_races_with_truncate,
			 wbe_context_gen_params),
	KUNIT_CASE_PARAM(folios_end_writeback_races_with_eviction,
			 wbe_context_gen_params),
	KUNIT_CASE(folios_end_writeback_races_with_unmount),
#ifdef CONFIG_MEMCG_V1
	KUNIT_CASE(folios_end_writeback_waits_for_moving_charges),
#endif
	{}
};

static struct kunit_suite writeback_end_suite = {
	.name		= "writeback_end",
	.test_cases	= writeback_end_cases,
};

kunit_test_suite(writeback_end_suite);

MODULE_DESCRIPTION("KUnit suite for the end of folio writeback");
MODULE_LICENSE("GPL");
