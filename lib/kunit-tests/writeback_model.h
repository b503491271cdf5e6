/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arithmetic model of the writeback state of one file, for KUnit suites.
 *
 * Each function does one thing to a real folio and notes in the model what it
 * must lead to. wb_model_check() then compares everything that can be observed
 * with what follows from the notes by addition alone.
 */
#ifndef _WRITEBACK_MODEL_H
#define _WRITEBACK_MODEL_H

#include <linux/prandom.h>

#include "writeback_fixture.h"

/* Folios in a model. */
#define WB_MODEL_FOLIOS	128

/**
 * struct wb_model_slot - One folio, and the state it must be in.
 * @folio: The folio.
 * @index: Its page index.
 * @pages: Its size in pages.
 * @group: For the test: which of several bios in flight it belongs to.
 * @ended: How often its writeback has ended.
 * @rotated: How often it has been moved to the end of the LRU list.
 * @extra_refs: References that the test holds.
 * @private_refs: References that the file system holds.
 * @dirty: PG_dirty.
 * @writeback: PG_writeback.
 * @reclaim: PG_reclaim.
 * @locked: PG_locked.
 * @mark_dirty: PAGECACHE_TAG_DIRTY.
 * @mark_towrite: PAGECACHE_TAG_TOWRITE.
 */
struct wb_model_slot {
	struct folio *folio;
	pgoff_t index;
	long pages;
	unsigned int group;
	unsigned int ended;
	unsigned int rotated;
	unsigned int extra_refs;
	unsigned int private_refs;
	bool dirty;
	bool writeback;
	bool reclaim;
	bool locked;
	bool mark_dirty;
	bool mark_towrite;
};

/**
 * struct wb_model - The folios of one file and the counters they add to.
 * @test: The test.
 * @fs: The file system.
 * @inode: The file.
 * @rnd: Source of all choices; depends on the seed alone.
 * @tags: The mapping keeps writeback marks.
 * @acct: The bdi accounts writeback.
 * @seed: What @rnd was seeded with; messages name it.
 * @nr: Number of @slots in use.
 * @end: Page index behind the last folio.
 * @slots: The folios, in ascending order.
 * @start: Counters before the first folio was dirtied.
 * @want: Counters that follow from @slots.
 * @seen: Counters as last read.
 * @digest: Of everything that wb_model_check() has observed. Neither addresses
 *	nor absolute counters enter, so that two kernels can be compared.
 */
struct wb_model {
	struct kunit *test;
	struct wbf_fs *fs;
	struct inode *inode;
	struct rnd_state rnd;
	bool tags;
	bool acct;
	u32 seed;
	unsigned int nr;
	pgoff_t end;
	struct wb_model_slot slots[WB_MODEL_FOLIOS];
	struct wbf_counters start;
	struct wbf_counters want;
	struct wbf_counters seen;
	u64 digest;
};

struct wb_model *wb_model_create(struct kunit *test, u32 seed, bool tags,
		bool acct);
void wb_model_destroy(struct wb_model *model);

u32 wb_model_below(struct wb_model *model, u32 ceil);
bool wb_model_chance(struct wb_model *model, u32 one_in);

struct wb_model_slot *wb_model_add(struct wb_model *model, pgoff_t index,
		unsigned int order, gfp_t gfp);
void wb_model_populate(struct wb_model *model, unsigned int max_order);
void wb_model_dirty(struct wb_model *model, struct wb_model_slot *slot);
void wb_model_dirtied(struct wb_model *model, struct wb_model_slot *slot);
void wb_model_tag(struct wb_model *model, unsigned int first,
		unsigned int last);
void wb_model_start(struct wb_model *model, struct wb_model_slot *slot,
		bool keepwrite);
void wb_model_cleaned(struct wb_model *model, struct wb_model_slot *slot);
void wb_model_started(struct wb_model *model, struct wb_model_slot *slot,
		bool keepwrite);
void wb_model_decorate(struct wb_model *model, struct wb_model_slot *slot);
void wb_model_ended(struct wb_model *model, struct wb_model_slot *slot);
void wb_model_check(struct wb_model *model, const char *when);

#endif /* _WRITEBACK_MODEL_H */
