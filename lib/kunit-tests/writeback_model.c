// SPDX-License-Identifier: GPL-2.0
/*
 * Arithmetic model of the writeback state of one file. See writeback_model.h.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/backing-dev.h>
#include <linux/fs.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/swap.h>
#include <linux/writeback.h>
#include <linux/xarray.h>

#include "writeback_model.h"

/* Largest order taken from the small DMA zone. */
#define DMA_ORDER	2

/**
 * wb_model_below - A random number.
 * @model: The model.
 * @ceil: Number of choices, at least 1.
 *
 * Return: 0 to @ceil - 1.
 */
u32 wb_model_below(struct wb_model *model, u32 ceil)
{
	return prandom_u32_state(&model->rnd) % ceil;
}

/**
 * wb_model_chance - A random decision.
 * @model: The model.
 * @one_in: How rare it is.
 *
 * Return: true once in @one_in calls on average.
 */
bool wb_model_chance(struct wb_model *model, u32 one_in)
{
	return wb_model_below(model, one_in) == 0;
}

static void wb_model_release(void *data)
{
	struct wb_model *model = data;
	struct wb_model_slot *slot;

	for (slot = model->slots; slot < model->slots + model->nr; slot++) {
		if (slot->locked)
			folio_unlock(slot->folio);
		slot->locked = false;
		while (slot->extra_refs) {
			folio_put(slot->folio);
			slot->extra_refs--;
		}
	}
}

/**
 * wb_model_create - An empty file on a file system of its own.
 * @test: The test; fails if there is no memory.
 * @seed: All layouts and choices follow from it.
 * @tags: The mapping is to keep writeback marks.
 * @acct: The bdi is to account writeback.
 *
 * Context: Process context.
 * Return: The model; everything in it is released when the test ends.
 */
struct wb_model *wb_model_create(struct kunit *test, u32 seed, bool tags,
		bool acct)
{
	struct wb_model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, model);
	model->test = test;
	model->tags = tags;
	model->acct = acct;
	model->seed = seed;
	model->digest = WBF_DIGEST;
	prandom_seed_state(&model->rnd, seed);

	model->fs = wbf_fs_create(test);
	if (!acct)
		model->fs->sb->s_bdi->capabilities &= ~BDI_CAP_WRITEBACK_ACCT;
	model->inode = wbf_inode_create(test, model->fs, NULL);
	if (!tags)
		mapping_set_no_writeback_tags(model->inode->i_mapping);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test,
							   wb_model_release,
							   model));
	wbf_counters_read(model->fs, &model->start);
	return model;
}

/**
 * wb_model_destroy - Truncate the file and expect nothing to be left.
 * @model: The model, without folios under writeback.
 *
 * Context: Process context.
 */
void wb_model_destroy(struct wb_model *model)
{
	struct kunit *test = model->test;
	unsigned int i;

	/* Truncation would wait for ever. */
	for (i = 0; i < model->nr; i++)
		KUNIT_ASSERT_FALSE(test,
				   folio_test_writeback(model->slots[i].folio));

	kunit_release_action(test, wb_model_release, model);
	truncate_inode_pages(model->inode->i_mapping, 0);
	KUNIT_EXPECT_EQ(test, 0, model->inode->i_mapping->nrpages);

	/* What has been written and rotated stays. */
	memcpy(model->want.node_dirty, model->start.node_dirty,
	       sizeof(model->want.node_dirty));
	memcpy(model->want.memcg_dirty, model->start.memcg_dirty,
	       sizeof(model->want.memcg_dirty));
	model->want.dirty = model->start.dirty;
	model->want.wb_reclaimable = model->start.wb_reclaimable;
	memcpy(model->want.zone_pending, model->start.zone_pending,
	       sizeof(model->want.zone_pending));
	model->want.pending = model->start.pending;
	wbf_counters_read(model->fs, &model->seen);
	wbf_counters_expect(test, &model->want, &model->seen, "truncated");

	wbf_inode_release(test, model->inode);
	wbf_fs_destroy(test, model->fs);
	kunit_kfree(test, model);
}

/**
 * wb_model_add - Add a clean folio behind those there are.
 * @model: The model.
 * @index: Page index, aligned to the folio's size.
 * @order: Order of the folio; limited to what the mapping supports.
 * @gfp: Allocation flags.
 *
 * Context: Process context.
 * Return: Its slot.
 */
struct wb_model_slot *wb_model_add(struct wb_model *model, pgoff_t index,
		unsigned int order, gfp_t gfp)
{
	struct wb_model_slot *slot = &model->slots[model->nr];

	KUNIT_ASSERT_LT(model->test, model->nr, WB_MODEL_FOLIOS);
	slot->index = index;
	slot->folio = wbf_folio_add(model->test, model->inode, index, order,
				    gfp);
	slot->pages = folio_nr_pages(slot->folio);
	model->end = index + slot->pages;
	model->nr++;
	return slot;
}

/* Folios of two zones side by side must not be counted as one. */
static gfp_t wb_model_any_zone(struct wb_model *model, unsigned int order)
{
	if (order <= DMA_ORDER && wb_model_chance(model, 4))
		return GFP_KERNEL | __GFP_DMA;
	return GFP_KERNEL;
}

/**
 * wb_model_populate - Fill the file with clean folios at random.
 * @model: The model, still empty.
 * @max_order: Largest order of a folio.
 *
 * Runs of folios of one order, mostly small, with holes between some of them.
 *
 * Context: Process context.
 */
void wb_model_populate(struct wb_model *model, unsigned int max_order)
{
	static const u8 orders[] = { 0, 0, 0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9 };
	pgoff_t index = wb_model_below(model, 70);
	unsigned int order, run;

	max_order = min(max_order,
			mapping_max_folio_order(model->inode->i_mapping));
	while (model->nr < WB_MODEL_FOLIOS) {
		order = orders[wb_model_below(model, ARRAY_SIZE(orders))];
		order = min(order, max_order);
		run = 1 + wb_model_below(model, max(40U >> order, 1U));
		index = round_up(index, 1UL << order);
		while (run-- && model->nr < WB_MODEL_FOLIOS) {
			wb_model_add(model, index, order,
				     wb_model_any_zone(model, order));
			index = model->end;
		}
		if (wb_model_chance(model, 3))
			index += wb_model_below(model, 100);
	}
}

/**
 * wb_model_dirty - Dirty a folio.
 * @model: The model.
 * @slot: The folio; may be under writeback.
 *
 * Context: Process context.
 */
void wb_model_dirty(struct wb_model *model, struct wb_model_slot *slot)
{
	wbf_folio_dirty(slot->folio);
	wb_model_dirtied(model, slot);
}

/**
 * wb_model_dirtied - Note that a folio has been dirtied.
 * @model: The model.
 * @slot: The folio.
 *
 * Context: Any context.
 */
void wb_model_dirtied(struct wb_model *model, struct wb_model_slot *slot)
{
	slot->dirty = true;
	slot->mark_dirty = true;
	slot->reclaim = false;
}

/**
 * wb_model_tag - Mark the dirty folios of a range as to be written.
 * @model: The model.
 * @first: The first slot.
 * @last: The last slot.
 *
 * Context: Process context.
 */
void wb_model_tag(struct wb_model *model, unsigned int first,
		unsigned int last)
{
	struct wb_model_slot *slot = &model->slots[last];

	tag_pages_for_writeback(model->inode->i_mapping,
				model->slots[first].index,
				slot->index + slot->pages - 1);
	for (; first <= last; first++) {
		slot = &model->slots[first];
		slot->mark_towrite |= slot->mark_dirty;
	}
}

/**
 * wb_model_start - Start writeback of a folio.
 * @model: The model.
 * @slot: The folio, dirty.
 * @keepwrite: Keep the mark that says it is still to be written.
 *
 * Context: Process context.
 */
void wb_model_start(struct wb_model *model, struct wb_model_slot *slot,
		bool keepwrite)
{
	wbf_folio_start(slot->folio, keepwrite);
	wb_model_cleaned(model, slot);
	wb_model_started(model, slot, keepwrite);
}

/**
 * wb_model_cleaned - Note that the dirty flag of a folio was cleared for writing.
 * @model: The model.
 * @slot: The folio. Its dirty mark stays until writeback starts.
 *
 * Context: Any context.
 */
void wb_model_cleaned(struct wb_model *model, struct wb_model_slot *slot)
{
	slot->dirty = false;
}

/**
 * wb_model_started - Note that writeback of a folio has started.
 * @model: The model.
 * @slot: The folio; it may have been dirtied again since it was cleaned.
 * @keepwrite: The mark that says it is still to be written was kept.
 *
 * Context: Any context.
 */
void wb_model_started(struct wb_model *model, struct wb_model_slot *slot,
		bool keepwrite)
{
	slot->writeback = true;
	if (model->tags) {
		slot->mark_dirty = slot->dirty;
		slot->mark_towrite &= keepwrite;
	}
}

/**
 * wb_model_decorate - Do to a folio under writeback what others may do to it.
 * @model: The model.
 * @slot: The folio, under writeback.
 *
 * At random: dirties it again, marks it for reclaim, locks it, references it.
 *
 * Context: Process context.
 */
void wb_model_decorate(struct wb_model *model, struct wb_model_slot *slot)
{
	if (wb_model_chance(model, 5))
		wb_model_dirty(model, slot);
	if (wb_model_chance(model, 5)) {
		folio_set_reclaim(slot->folio);
		slot->reclaim = true;
	}
	if (!slot->locked && wb_model_chance(model, 8)) {
		folio_lock(slot->folio);
		slot->locked = true;
	}
	if (wb_model_chance(model, 3)) {
		folio_get(slot->folio);
		slot->extra_refs++;
	}
}

/**
 * wb_model_ended - Note that writeback of a folio has ended.
 * @model: The model.
 * @slot: The folio. The test has ended its writeback, or is about to.
 *
 * Context: Any context.
 */
void wb_model_ended(struct wb_model *model, struct wb_model_slot *slot)
{
	if (slot->reclaim && !slot->dirty && !slot->locked)
		slot->rotated++;
	slot->reclaim = false;
	slot->writeback = false;
	slot->ended++;
}

/* Comparison */

static void wb_model_digest(struct wb_model *model, u64 value)
{
	model->digest = wbf_digest(model->digest, value);
}

/* Expect a value, and take what was seen into the digest. */
static bool wb_model_same(struct wb_model *model, pgoff_t index,
		const char *what, u64 want, u64 seen, const char *when)
{
	wb_model_digest(model, seen);
	if (want == seen)
		return true;
	KUNIT_FAIL(model->test,
		   "seed %u, %s: %s at index %lu: %llu, must be %llu\n",
		   model->seed, when, what, index, seen, want);
	return false;
}

static bool wb_model_check_folio(struct wb_model *model,
		struct wb_model_slot *slot, const char *when)
{
	struct folio *folio = slot->folio;
	pgoff_t index = slot->index;

	return wb_model_same(model, index, "PG_writeback", slot->writeback,
			     folio_test_writeback(folio), when) &&
	       wb_model_same(model, index, "PG_dirty", slot->dirty,
			     folio_test_dirty(folio), when) &&
	       wb_model_same(model, index, "PG_reclaim", slot->reclaim,
			     folio_test_reclaim(folio), when) &&
	       wb_model_same(model, index, "reference count",
			     slot->pages + slot->extra_refs +
			     slot->private_refs,
			     folio_ref_count(folio), when);
}

/* A mark of a large folio is on the first slot it fills and on no other. */
static bool wb_model_sibling_marked(struct xa_state *xas, xa_mark_t mark)
{
	struct xa_node *node = xas->xa_node;
	unsigned int offset;

	if (!xas_is_node(xas))
		return false;
	offset = (xas->xa_index >> node->shift) & XA_CHUNK_MASK;
	return offset != xas->xa_offset &&
	       test_bit(offset, node->marks[(__force unsigned int)mark]);
}

static bool wb_model_check_mark(struct wb_model *model, pgoff_t index,
		xa_mark_t mark, bool want, const char *when)
{
	static const char * const names[] = {
		[(__force unsigned int)PAGECACHE_TAG_DIRTY] = "dirty mark",
		[(__force unsigned int)PAGECACHE_TAG_WRITEBACK] = "writeback mark",
		[(__force unsigned int)PAGECACHE_TAG_TOWRITE] = "towrite mark",
	};
	XA_STATE(xas, &model->inode->i_mapping->i_pages, index);
	bool seen, sibling;

	rcu_read_lock();
	xas_load(&xas);
	seen = xas_get_mark(&xas, mark);
	sibling = wb_model_sibling_marked(&xas, mark);
	rcu_read_unlock();

	return wb_model_same(model, index, names[(__force unsigned int)mark],
			     want, seen, when) &&
	       wb_model_same(model, index, "mark on a sibling slot", false,
			     sibling, when);
}

static bool wb_model_check_index(struct wb_model *model, pgoff_t index,
		const struct wb_model_slot *slot, const char *when)
{
	bool writeback = slot && slot->writeback && model->tags;

	return wb_model_check_mark(model, index, PAGECACHE_TAG_WRITEBACK,
				   writeback, when) &&
	       wb_model_check_mark(model, index, PAGECACHE_TAG_DIRTY,
				   slot && slot->mark_dirty, when) &&
	       wb_model_check_mark(model, index, PAGECACHE_TAG_TOWRITE,
				   slot && slot->mark_towrite, when);
}

static bool wb_model_check_marks(struct wb_model *model, const char *when)
{
	const struct wb_model_slot *slot = model->slots;
	const struct wb_model_slot *end = slot + model->nr;
	pgoff_t index;
	bool hole;

	/* One index more than there is, to look behind the last folio. */
	for (index = 0; index <= model->end; index++) {
		if (slot < end && index == slot->index + slot->pages)
			slot++;
		hole = slot == end || index < slot->index;
		if (!wb_model_check_index(model, index, hole ? NULL : slot,
					  when))
			return false;
	}
	return true;
}

/* Add what one folio contributes to the counters. */
static void wb_model_count(struct wb_model *model,
		const struct wb_model_slot *slot)
{
	struct wbf_counters *want = &model->want;
	int nid = folio_nid(slot->folio);
	long writeback = slot->writeback ? slot->pages : 0;
	long dirty = slot->dirty ? slot->pages : 0;
	long pending = writeback + dirty;
	long written = slot->pages * slot->ended;

	want->node_dirty[nid] += dirty;
	want->node_writeback[nid] += writeback;
	if (IS_ENABLED(CONFIG_MEMCG) && !mem_cgroup_disabled()) {
		want->memcg_dirty[nid] += dirty;
		want->memcg_writeback[nid] += writeback;
	}
	want->dirty += dirty;
	want->wb_reclaimable += dirty;
	want->writeback += writeback;
	want->zone_pending[nid][folio_zonenum(slot->folio)] += pending;
	want->pending += pending;
	want->node_written[nid] += written;
	want->written += written;
	want->rotated += slot->pages * slot->rotated;
	if (model->tags && model->acct) {
		want->wb_writeback += writeback;
		want->wb_written += written;
	}
}

static void wb_model_digest_counters(struct wb_model *model)
{
	const struct wbf_counters *start = &model->start;
	const struct wbf_counters *seen = &model->seen;

	wb_model_digest(model, seen->dirty - start->dirty);
	wb_model_digest(model, seen->wb_reclaimable - start->wb_reclaimable);
	wb_model_digest(model, seen->writeback - start->writeback);
	wb_model_digest(model, seen->written - start->written);
	wb_model_digest(model, seen->pending - start->pending);
	wb_model_digest(model, seen->wb_writeback - start->wb_writeback);
	wb_model_digest(model, seen->wb_written - start->wb_written);
	wb_model_digest(model, seen->wb_inodes - start->wb_inodes);
	wb_model_digest(model, seen->rotated - start->rotated);
}

static void wb_model_check_counters(struct wb_model *model, const char *when)
{
	bool under_writeback = false;
	unsigned int i;

	model->want = model->start;
	for (i = 0; i < model->nr; i++) {
		wb_model_count(model, &model->slots[i]);
		under_writeback |= model->slots[i].writeback;
	}
	under_writeback &= model->tags;
	if (model->acct)
		model->want.wb_inodes += under_writeback;

	wbf_counters_expect(model->test, &model->want, &model->seen, when);
	wb_model_digest_counters(model);
	wb_model_same(model, 0, "inode on the writeback list",
		      under_writeback, wbf_on_wb_list(model->inode), when);
	wb_model_same(model, 0, "mapping tagged for writeback",
		      under_writeback,
		      mapping_tagged(model->inode->i_mapping,
				     PAGECACHE_TAG_WRITEBACK), when);
}

/**
 * wb_model_check - Compare everything observable with the model.
 * @model: The model. Nothing may be in progress on its folios.
 * @when: What the test has just done, for messages.
 *
 * Flags and reference count of every folio, all marks of every page index, every
 * counter, and the super block's list. Reports the first folio and the first
 * index that differ.
 *
 * Context: Process context.
 */
void wb_model_check(struct wb_model *model, const char *when)
{
	unsigned int i;

	wbf_counters_read(model->fs, &model->seen);
	for (i = 0; i < model->nr; i++) {
		if (!wb_model_check_folio(model, &model->slots[i], when))
			break;
	}
	wb_model_check_marks(model, when);
	wb_model_check_counters(model, when);
}
