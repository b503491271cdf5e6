// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite for the start of folio writeback: clearing the dirty flag for I/O
 * and setting the writeback flag, for batches of folios.
 *
 * State is compared with an arithmetic model, see writeback_model.h. The digests
 * that the model cases print depend on the seed alone: kernels that do this in
 * batches and folio by folio print the same ones.
 */
#include <kunit/test.h>
#include <linux/backing-dev.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/prandom.h>
#include <linux/rcupdate.h>
#include <linux/writeback_batch.h>
#include <linux/writeback_start.h>

#include "writeback_model.h"

/* Each row of the model case runs this many seeds. */
#define WBS_SEEDS	2

/* Batches that are started for one seed. */
#define WBS_BATCHES	16

struct wbs_row {
	const char *desc;
	u32 seed;
	unsigned int max_order;
	unsigned int bound;
	bool untagged;
	bool unaccounted;
	bool unordered;
	bool moving;
};

static const struct wbs_row wbs_rows[] = {
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
	{ .desc = "charges moving", .seed = 800, .max_order = 4,
	  .bound = 31, .moving = true },
};

KUNIT_ARRAY_PARAM_DESC(wbs_model, wbs_rows, desc);

/* Dirty most folios and mark a part of them as to be written. */
static void wbs_dirty(struct wb_model *model)
{
	struct wb_model_slot *slot;
	unsigned int half = model->nr / 2;

	for (slot = model->slots; slot < model->slots + model->nr; slot++) {
		if (!slot->dirty && !wb_model_chance(model, 8))
			wb_model_dirty(model, slot);
	}
	wb_model_tag(model, wb_model_below(model, half),
		     half + wb_model_below(model, half));
}

/*
 * Choose up to a batch of folios that are not under writeback, from a random one
 * on; now and then one of them is not dirty.
 */
static unsigned int wbs_choose(struct wb_model *model,
		const struct wbs_row *row, struct wb_model_slot **slots)
{
	unsigned int i, nr = 0, first = wb_model_below(model, model->nr);
	unsigned int want = 1 + wb_model_below(model, PAGEVEC_SIZE);

	for (i = first; i < model->nr && nr < want; i++) {
		if (model->slots[i].writeback)
			continue;
		if (model->slots[i].dirty || wb_model_chance(model, 9))
			slots[nr++] = &model->slots[i];
	}
	if (!row->unordered)
		return nr;
	for (i = nr; i > 1; i--) {
		first = wb_model_below(model, i);
		swap(slots[first], slots[i - 1]);
	}
	return nr;
}

/* Clear the dirty flags of a batch. Returns how many there must have been. */
static unsigned int wbs_clean(struct wb_model *model,
		struct wb_model_slot **slots, unsigned int nr)
{
	struct folio_batch fbatch;
	unsigned int i, dirty;

	folio_batch_init(&fbatch);
	for (i = 0; i < nr; i++) {
		folio_lock(slots[i]->folio);
		folio_batch_add(&fbatch, slots[i]->folio);
	}
	for (dirty = 0; dirty < nr && slots[dirty]->dirty; dirty++)
		wb_model_cleaned(model, slots[dirty]);

	KUNIT_EXPECT_EQ(model->test, dirty, folios_clear_dirty_for_io(&fbatch));
	KUNIT_EXPECT_EQ(model->test, nr, folio_batch_count(&fbatch));
	for (i = dirty; i < nr; i++)
		folio_unlock(slots[i]->folio);
	if (wb_model_chance(model, 6))
		wb_model_check(model, "cleaned");
	return dirty;
}

static void wbs_start(struct wb_model *model, struct wb_model_slot **slots,
		unsigned int nr)
{
	struct folio_batch fbatch;
	unsigned int i;

	folio_batch_init(&fbatch);
	for (i = 0; i < nr; i++) {
		/* As by a dirty page table entry, which needs no folio lock. */
		if (wb_model_chance(model, 7)) {
			folio_mark_dirty(slots[i]->folio);
			wb_model_dirtied(model, slots[i]);
		}
		folio_batch_add(&fbatch, slots[i]->folio);
		wb_model_started(model, slots[i], false);
	}
	folios_start_writeback(&fbatch);
	KUNIT_EXPECT_EQ(model->test, nr, folio_batch_count(&fbatch));
	for (i = 0; i < nr; i++)
		folio_unlock(slots[i]->folio);
}

/* End writeback of about half of the folios, or of all. */
static void wbs_end(struct wb_model *model, bool all)
{
	struct wb_model_slot *slot;

	for (slot = model->slots; slot < model->slots + model->nr; slot++) {
		if (!slot->writeback || (!all && wb_model_chance(model, 2)))
			continue;
		folio_end_writeback(slot->folio);
		wb_model_ended(model, slot);
	}
}

static void wbs_run_seed(struct kunit *test, const struct wbs_row *row,
		u32 seed)
{
	struct wb_model *model = wb_model_create(test, seed, !row->untagged,
						 !row->unaccounted);
	struct wb_model_slot *slots[PAGEVEC_SIZE];
	unsigned int i, nr;

	wb_model_populate(model, row->max_order);
	for (i = 0; i < WBS_BATCHES; i++) {
		if (i % 8 == 0)
			wbs_dirty(model);
		nr = wbs_choose(model, row, slots);
		nr = wbs_clean(model, slots, nr);
		wbs_start(model, slots, nr);
		if (i % 4 == 3)
			wb_model_check(model, "started");
		if (i % 8 == 7)
			wbs_end(model, false);
	}
	wbs_end(model, true);
	wb_model_check(model, "all ended");
	pr_info("# writeback_start: seed=%u digest=%016llx\n", seed,
		model->digest);
	wb_model_destroy(model);
}

static void folios_start_writeback_matches_model(struct kunit *test)
{
	const struct wbs_row *row = test->param_value;
	u32 i;

	if (row->moving)
		wbf_move_charges(test);
	wbf_set_bound(test, row->bound);
	for (i = 0; i < WBS_SEEDS; i++)
		wbs_run_seed(test, row, row->seed + i);
}

static void folios_clear_dirty_for_io_with_a_clean_folio(struct kunit *test)
{
	struct folio_batch fbatch;
	struct wbf_fs *fs = wbf_fs_create(test);
	struct inode *inode = wbf_inode_create(test, fs, NULL);
	struct folio *folio = wbf_folio_add(test, inode, 0, 0, GFP_KERNEL);

	folio_batch_init(&fbatch);
	folio_batch_add(&fbatch, folio);
	folio_lock(folio);
	KUNIT_EXPECT_EQ(test, 0, folios_clear_dirty_for_io(&fbatch));
	folio_unlock(folio);
}

static void folios_start_writeback_with_empty_batch(struct kunit *test)
{
	struct folio_batch fbatch;

	folio_batch_init(&fbatch);
	KUNIT_EXPECT_EQ(test, 0, folios_clear_dirty_for_io(&fbatch));
	folios_start_writeback(&fbatch);
}

/* Write as many folios as a batch has room for. Returns how many were dirty. */
static unsigned int wbs_write_batch(struct folio **folios)
{
	struct folio_batch fbatch;
	unsigned int i, dirty;

	folio_batch_init(&fbatch);
	for (i = 0; i < PAGEVEC_SIZE; i++) {
		folio_mark_dirty(folios[i]);
		folio_lock(folios[i]);
		folio_batch_add(&fbatch, folios[i]);
	}
	dirty = folios_clear_dirty_for_io(&fbatch);
	folios_start_writeback(&fbatch);
	for (i = 0; i < PAGEVEC_SIZE; i++)
		folio_unlock(folios[i]);
	folios_end_writeback(&fbatch);
	return dirty;
}

/* Two threads start and end writeback in one file, one of them with marks set. */
struct wbs_half {
	struct folio *folios[PAGEVEC_SIZE];
	unsigned int rounds;
};

static void wbs_go_round(void *data)
{
	struct wbs_half *half = data;

	while (half->rounds--) {
		if (wbs_write_batch(half->folios) != PAGEVEC_SIZE)
			break;
	}
}

static void folios_start_writeback_on_two_cpus(struct kunit *test)
{
	struct wbs_half *halves = kunit_kcalloc(test, 2, sizeof(*halves),
						GFP_KERNEL);
	struct wb_model *model = wb_model_create(test, 1, true, true);
	struct wbf_thread *threads[2];
	struct wb_model_slot *slot;
	unsigned int i, j;
	bool joined;

	KUNIT_ASSERT_NOT_NULL(test, halves);
	for (i = 0; i < 2 * PAGEVEC_SIZE; i++) {
		slot = wb_model_add(model, i, 0, GFP_KERNEL);
		halves[i & 1].folios[i / 2] = slot->folio;
	}
	for (i = 0; i < 2; i++) {
		halves[i].rounds = 200;
		threads[i] = wbf_thread_start(test, wbs_go_round, &halves[i]);
	}
	joined = wbf_thread_join(threads[0]);
	joined &= wbf_thread_join(threads[1]);
	KUNIT_ASSERT_TRUE(test, joined);

	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, -1U, halves[i].rounds);
	for (i = 0; i < model->nr; i++) {
		for (j = 0; j < 200; j++)
			wb_model_ended(model, &model->slots[i]);
	}
	wb_model_check(model, "all ended");
	wb_model_destroy(model);
}

#ifdef CONFIG_CGROUP_WRITEBACK

/*
 * One thread changes the wb of an inode back and forth, the way it is done when
 * another cgroup takes an inode over: folios are counted by flag and mark in one hold of
 * the i_pages lock. The other dirties folios and starts and ends their writeback.
 * Folios counted for one wb must not be missed at the other.
 */
#define WBS_SWITCH_FOLIOS	(4 * PAGEVEC_SIZE)
#define WBS_SWITCHES		200

struct wbs_switch {
	struct inode *inode;
	struct bdi_writeback *wb[2];
	struct folio *folios[WBS_SWITCH_FOLIOS];
	unsigned long switches;
	bool stop;
};

static void wbs_move_stat(struct wbs_switch *work, xa_mark_t mark,
		enum wb_stat_item item)
{
	XA_STATE(xas, &work->inode->i_mapping->i_pages, 0);
	struct bdi_writeback *old = work->inode->i_wb;
	struct folio *folio;
	long pages = 0;

	xas_for_each_marked(&xas, folio, ULONG_MAX, mark) {
		if (mark == PAGECACHE_TAG_WRITEBACK || folio_test_dirty(folio))
			pages += folio_nr_pages(folio);
	}
	wb_stat_mod(old, item, -pages);
	wb_stat_mod(work->wb[old == work->wb[0]], item, pages);
}

/* What inode_do_switch_wbs() does to an inode that is on no list. */
static void wbs_switch_wb(struct wbs_switch *work)
{
	struct address_space *mapping = work->inode->i_mapping;
	struct inode *inode = work->inode;
	struct bdi_writeback *old, *new;

	spin_lock(&inode->i_lock);
	inode->i_state |= I_WB_SWITCH;
	spin_unlock(&inode->i_lock);
	synchronize_rcu_expedited();

	spin_lock(&inode->i_lock);
	xa_lock_irq(&mapping->i_pages);
	old = inode->i_wb;
	new = work->wb[old == work->wb[0]];
	wbs_move_stat(work, PAGECACHE_TAG_DIRTY, WB_RECLAIMABLE);
	wbs_move_stat(work, PAGECACHE_TAG_WRITEBACK, WB_WRITEBACK);
	if (mapping_tagged(mapping, PAGECACHE_TAG_WRITEBACK)) {
		atomic_dec(&old->writeback_inodes);
		atomic_inc(&new->writeback_inodes);
	}
	inode->i_wb = new;
	/* Pairs with unlocked_inode_to_wb_begin(), as the original does. */
	smp_store_release(&inode->i_state, inode->i_state & ~I_WB_SWITCH);
	xa_unlock_irq(&mapping->i_pages);
	spin_unlock(&inode->i_lock);
}

static void wbs_switch_often(void *data)
{
	struct wbs_switch *work = data;

	while (!READ_ONCE(work->stop) && work->switches < WBS_SWITCHES) {
		wbs_switch_wb(work);
		WRITE_ONCE(work->switches, work->switches + 1);
		cond_resched();
	}
}

static void wbs_expect_clean(struct kunit *test, struct bdi_writeback *wb,
		const char *which)
{
	KUNIT_EXPECT_EQ_MSG(test, 0, wb_stat_sum(wb, WB_RECLAIMABLE),
			    "reclaimable, %s", which);
	KUNIT_EXPECT_EQ_MSG(test, 0, wb_stat_sum(wb, WB_WRITEBACK),
			    "under writeback, %s", which);
	KUNIT_EXPECT_EQ_MSG(test, 0, atomic_read(&wb->writeback_inodes),
			    "inodes, %s", which);
}

static void folios_start_writeback_races_with_wb_switch(struct kunit *test)
{
	struct wbs_switch *work = kunit_kzalloc(test, sizeof(*work), GFP_KERNEL);
	struct wbf_fs *fs = wbf_fs_create(test), *other = wbf_fs_create(test);
	struct wbf_thread *thread;
	unsigned long end;
	unsigned int i;
	bool joined;

	KUNIT_ASSERT_NOT_NULL(test, work);
	work->inode = wbf_inode_create(test, fs, NULL);
	for (i = 0; i < WBS_SWITCH_FOLIOS; i++)
		work->folios[i] = wbf_folio_add_dirty(test, work->inode, i, 0);
	work->wb[0] = &fs->sb->s_bdi->wb;
	work->wb[1] = &other->sb->s_bdi->wb;
	KUNIT_ASSERT_PTR_EQ(test, work->wb[0], work->inode->i_wb);

	thread = wbf_thread_start(test, wbs_switch_often, work);
	end = jiffies + WBF_TIMEOUT;
	for (i = 0; READ_ONCE(work->switches) < WBS_SWITCHES &&
	     time_before(jiffies, end); i++) {
		wbs_write_batch(work->folios + i % 4 * PAGEVEC_SIZE);
		cond_resched();
	}
	WRITE_ONCE(work->stop, true);
	joined = wbf_thread_join(thread);
	KUNIT_ASSERT_TRUE(test, joined);
	KUNIT_EXPECT_EQ(test, WBS_SWITCHES, work->switches);

	for (i = 0; i < 4; i++)
		wbs_write_batch(work->folios + i * PAGEVEC_SIZE);
	if (work->inode->i_wb == work->wb[1])
		wbs_switch_wb(work);
	wbs_expect_clean(test, work->wb[0], "the inode's wb");
	wbs_expect_clean(test, work->wb[1], "the other wb");
}

#endif /* CONFIG_CGROUP_WRITEBACK */

static struct kunit_case writeback_start_cases[] = {
	KUNIT_CASE_PARAM(folios_start_writeback_matches_model,
			 wbs_model_gen_params),
	KUNIT_CASE(folios_clear_dirty_for_io_with_a_clean_folio),
	KUNIT_CASE(folios_start_writeback_with_empty_batch),
	KUNIT_CASE(folios_start_writeback_on_two_cpus),
#ifdef CONFIG_CGROUP_WRITEBACK
	KUNIT_CASE(folios_start_writeback_races_with_wb_switch),
#endif
	{}
};

static struct kunit_suite writeback_start_suite = {
	.name		= "writeback_start",
	.test_cases	= writeback_start_cases,
};

kunit_test_suite(writeback_start_suite);

MODULE_DESCRIPTION("KUnit suite for the start of folio writeback");
MODULE_LICENSE("GPL");
