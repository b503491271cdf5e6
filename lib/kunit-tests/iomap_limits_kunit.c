// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite for the size of iomap ioends, and for what bounds their completion.
 *
 * Folios are written through iomap_writepages() to a block device that keeps the
 * bios, so that the suite sees how many folios share an ioend. All of a file is one
 * extent. Where folios are of one page, neighbours in the file are neighbours in
 * memory, and share bvecs: else no ioend would have more than 256 of them.
 */
#include <kunit/test.h>
#include <linux/bio.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/iomap.h>
#include <linux/iomap_ioend.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>
#include <linux/writeback.h>

#include "iomap_fixture.h"

#define ILK_CHUNK_ORDER	9

/**
 * struct ilk_file - A file that is written to a disk.
 * @io: The disk.
 * @test: The test.
 * @inode: The file.
 * @type: Type of its only extent.
 * @flags: Flags of that.
 * @end: Page index behind the last folio.
 * @next_limit: Set the limit to this while the first ioend is built.
 */
struct ilk_file {
	struct wbf_iomap io;
	struct kunit *test;
	struct inode *inode;
	u16 type;
	u16 flags;
	pgoff_t end;
	unsigned int next_limit;
};

/* The file system below iomap */

static int ilk_map_blocks(struct iomap_writepage_ctx *wpc, struct inode *inode,
		loff_t offset, unsigned int len)
{
	struct ilk_file *file = container_of(inode->i_private, struct ilk_file,
					     io);

	if (file->next_limit && wpc->ioend)
		WRITE_ONCE(iomap_ioend_batch_folios, file->next_limit);
	wpc->iomap = (struct iomap) {
		.length	= WBF_IOMAP_SIZE,
		.type	= file->type,
		.flags	= file->flags,
		.bdev	= wbf_disk_bdev(file->io.disk),
	};
	return 0;
}

static int ilk_prepare_ioend(struct iomap_ioend *ioend, int status)
{
	wbf_iomap_prepare(ioend);
	return status;
}

static const struct iomap_writeback_ops ilk_writeback_ops = {
	.map_blocks	= ilk_map_blocks,
	.prepare_ioend	= ilk_prepare_ioend,
};

/* The file */

static struct ilk_file *ilk_create(struct kunit *test, u16 type, u16 flags)
{
	struct ilk_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, file);
	file->test = test;
	file->type = type;
	file->flags = flags;
	file->inode = wbf_inode_create(test, wbf_fs_create(test), NULL);
	wbf_iomap_init(test, &file->io, file->inode, PAGE_SHIFT,
		       &ilk_writeback_ops);
	return file;
}

/* Add some folios of one page that are one piece of memory. */
static void ilk_add_chunk(struct ilk_file *file, unsigned int nr)
{
	struct address_space *mapping = file->inode->i_mapping;
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO, ILK_CHUNK_ORDER);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(file->test, page);
	split_page(page, ILK_CHUNK_ORDER);
	for (i = 0; i < 1U << ILK_CHUNK_ORDER; i++) {
		struct folio *folio = page_folio(page + i);

		if (i < nr && !filemap_add_folio(mapping, folio, file->end,
						 GFP_KERNEL)) {
			folio_mark_uptodate(folio);
			folio_mark_dirty(folio);
			folio_unlock(folio);
			file->end++;
		}
		folio_put(folio);
	}
}

/* Add and dirty @nr folios, and make the file end behind the last of them. */
static void ilk_add_folios(struct ilk_file *file, unsigned int nr,
		unsigned int order)
{
	pgoff_t end = file->end + ((pgoff_t)nr << order);

	if (order) {
		for (; file->end < end; file->end += 1UL << order)
			wbf_folio_add_dirty(file->test, file->inode, file->end,
					    order);
	} else {
		for (; nr; nr -= min(nr, 1U << ILK_CHUNK_ORDER))
			ilk_add_chunk(file, nr);
	}
	KUNIT_ASSERT_EQ(file->test, end, file->end);
	i_size_write(file->inode, (loff_t)end << PAGE_SHIFT);
}

static void ilk_write(struct ilk_file *file)
{
	KUNIT_ASSERT_EQ(file->test, 0,
			filemap_fdatawrite(file->inode->i_mapping));
}

static void ilk_complete_all(struct ilk_file *file, blk_status_t status)
{
	struct bio *bio;

	while ((bio = wbf_disk_take(file->io.disk, 0))) {
		bio->bi_status = status;
		bio_endio(bio);
	}
}

static void ilk_expect_ended(struct ilk_file *file)
{
	KUNIT_EXPECT_FALSE(file->test,
			   mapping_tagged(file->inode->i_mapping,
					  PAGECACHE_TAG_WRITEBACK));
}

/* The tunable */

static void ilk_restore_limit(void *unused)
{
	WRITE_ONCE(iomap_ioend_batch_folios, IOMAP_IOEND_FOLIOS_DEFAULT);
}

/* Set the tunable for the rest of the test, which is skipped without it. */
static void ilk_set_limit(struct kunit *test, unsigned int folios)
{
#ifdef IOMAP_IOEND_FOLIOS_FIXED
	if (folios != IOMAP_IOEND_FOLIOS_DEFAULT)
		kunit_skip(test, "this kernel has no such limit");
#endif
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action(test, ilk_restore_limit, NULL));
	WRITE_ONCE(iomap_ioend_batch_folios, folios);
}

struct ilk_kind_row {
	const char *desc;
	u16 type;
	u16 flags;
	unsigned int value;
	unsigned int want;
};

static const struct ilk_kind_row ilk_kinds[] = {
	{ .desc = "written", .type = IOMAP_MAPPED, .value = 100, .want = 100 },
	{ .desc = "written, above what an interrupt may do",
	  .type = IOMAP_MAPPED, .value = 32768,
	  .want = IOMAP_IOEND_FOLIOS_ATOMIC },
	{ .desc = "written, most", .type = IOMAP_MAPPED,
	  .value = IOMAP_IOEND_FOLIOS_MAX, .want = IOMAP_IOEND_FOLIOS_ATOMIC },
	{ .desc = "written, other flags", .type = IOMAP_MAPPED,
	  .flags = IOMAP_F_DIRTY | IOMAP_F_NEW, .value = 32768,
	  .want = IOMAP_IOEND_FOLIOS_ATOMIC },
	{ .desc = "shared", .type = IOMAP_MAPPED, .flags = IOMAP_F_SHARED,
	  .value = 32768, .want = 32768 },
	{ .desc = "unwritten", .type = IOMAP_UNWRITTEN, .value = 32768,
	  .want = 32768 },
	{ .desc = "unwritten, one", .type = IOMAP_UNWRITTEN, .value = 1,
	  .want = 1 },
	{ .desc = "unwritten, most", .type = IOMAP_UNWRITTEN,
	  .value = IOMAP_IOEND_FOLIOS_MAX, .want = IOMAP_IOEND_FOLIOS_MAX },
};

KUNIT_ARRAY_PARAM_DESC(ilk_kind, ilk_kinds, desc);

static void iomap_ioend_max_folios_of_an_extent(struct kunit *test)
{
	const struct ilk_kind_row *row = test->param_value;
	const struct iomap iomap = { .type = row->type, .flags = row->flags };

	ilk_set_limit(test, row->value);
	KUNIT_EXPECT_EQ(test, row->want, iomap_ioend_max_folios(&iomap));
}

/* Where ioends are split */

struct ilk_split_row {
	const char *desc;
	u16 type;
	unsigned int value;
	unsigned int order;
	unsigned int nr;
};

#define ILK_SPLIT(_type, _value, _order, _nr) {				\
	.desc = #_type " " #_value " order " #_order,			\
	.type = IOMAP_ ## _type, .value = _value, .order = _order,	\
	.nr = _nr							\
}

static const struct ilk_split_row ilk_splits[] = {
	ILK_SPLIT(MAPPED, 1, 0, 40),
	ILK_SPLIT(MAPPED, 2, 0, 41),
	ILK_SPLIT(MAPPED, 5, 0, 100),
	ILK_SPLIT(MAPPED, 31, 0, 100),
	ILK_SPLIT(MAPPED, 64, 0, 500),
	ILK_SPLIT(MAPPED, 512, 0, 1500),
	ILK_SPLIT(MAPPED, 4096, 0, 9000),
	ILK_SPLIT(MAPPED, 9000, 0, 9500),
	ILK_SPLIT(UNWRITTEN, 1, 0, 40),
	ILK_SPLIT(UNWRITTEN, 64, 0, 500),
	ILK_SPLIT(UNWRITTEN, 4096, 0, 9000),
	ILK_SPLIT(UNWRITTEN, 5000, 0, 9000),
	ILK_SPLIT(UNWRITTEN, 524288, 0, 9000),
	ILK_SPLIT(MAPPED, 1, 2, 20),
	ILK_SPLIT(MAPPED, 7, 2, 100),
	ILK_SPLIT(MAPPED, 64, 2, 200),
	ILK_SPLIT(UNWRITTEN, 4096, 2, 600),
	ILK_SPLIT(MAPPED, 1, 5, 10),
	ILK_SPLIT(MAPPED, 64, 5, 200),
	ILK_SPLIT(UNWRITTEN, 7, 9, 20),
};

KUNIT_ARRAY_PARAM_DESC(ilk_split, ilk_splits, desc);

/*
 * Take a bio that is to have @limit folios, or the @left ones: fewer only if it
 * has no room for another. Returns how many it has.
 */
static unsigned int ilk_check_bio(struct ilk_file *file, unsigned int limit,
		unsigned int left)
{
	struct bio *bio = wbf_disk_take(file->io.disk, 0);
	struct folio_iter fi;
	unsigned int nr = 0;

	KUNIT_ASSERT_NOT_NULL(file->test, bio);
	bio_for_each_folio_all(fi, bio)
		nr++;
	KUNIT_EXPECT_LE(file->test, nr, limit);
	KUNIT_EXPECT_LE(file->test, nr, left);
	if (nr < min(limit, left))
		KUNIT_EXPECT_EQ(file->test, BIO_MAX_VECS, bio->bi_vcnt);
	bio_endio(bio);
	return nr;
}

static void iomap_writepages_splits_at_the_limit(struct kunit *test)
{
	const struct ilk_split_row *row = test->param_value;
	struct ilk_file *file = ilk_create(test, row->type, 0);
	unsigned int limit = row->value, left = row->nr;

	ilk_set_limit(test, row->value);
	if (row->type == IOMAP_MAPPED)
		limit = min(limit, IOMAP_IOEND_FOLIOS_ATOMIC);
	file->io.keep_ioends = row->type == IOMAP_UNWRITTEN;
	ilk_add_folios(file, row->nr, row->order);
	ilk_write(file);
	while (left && wbf_disk_queued(file->io.disk))
		left -= ilk_check_bio(file, limit, left);
	KUNIT_EXPECT_EQ(test, 0, left);
	KUNIT_EXPECT_EQ(test, 0, wbf_disk_queued(file->io.disk));
	KUNIT_EXPECT_EQ(test, file->io.keep_ioends ? 1 : 0,
			wbf_iomap_finish(&file->io));
	ilk_expect_ended(file);
}

/* A value that is set while an ioend is built counts from the next one on. */
static void iomap_writepages_takes_a_new_limit(struct kunit *test)
{
	static const unsigned int want[] = { 40, 20, 20, 20 };
	struct ilk_file *file = ilk_create(test, IOMAP_MAPPED, 0);
	unsigned int i, left = 100;

	ilk_set_limit(test, 40);
	file->next_limit = 20;
	ilk_add_folios(file, left, 0);
	ilk_write(file);
	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(want), wbf_disk_queued(file->io.disk));
	for (i = 0; i < ARRAY_SIZE(want); i++)
		left -= ilk_check_bio(file, want[i], left);
	KUNIT_EXPECT_EQ(test, 0, left);
	ilk_expect_ended(file);
}

/* Scheduling points */

/* Folios of the file, several times what may end between scheduling points. */
#define ILK_WATCHED	8192

/* From one look at the watched task to the next, in nanoseconds. */
#define ILK_PERIOD	(50 * NSEC_PER_USEC)

/**
 * struct ilk_watch - Looks how many folios a task ends until it schedules.
 * @timer: Looks. Runs on the CPU of the task.
 * @task: The task.
 * @folios: The folios in the order in which they end, with references.
 * @asked: How many had ended when the task was asked to schedule.
 * @waiting: It has been asked.
 * @looks: How often it was found to have ended some, but not all.
 * @longest: Most folios it has ended since it was asked.
 */
struct ilk_watch {
	struct hrtimer timer;
	struct task_struct *task;
	struct folio *folios[ILK_WATCHED];
	unsigned int asked;
	bool waiting;
	unsigned int looks;
	unsigned int longest;
};

static unsigned int ilk_ended(struct ilk_watch *watch)
{
	unsigned int low = 0, high = ILK_WATCHED, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (folio_test_writeback(watch->folios[mid]))
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static enum hrtimer_restart ilk_look(struct hrtimer *timer)
{
	struct ilk_watch *watch = container_of(timer, struct ilk_watch, timer);
	unsigned int ended;

	hrtimer_forward_now(timer, ns_to_ktime(ILK_PERIOD));
	if (current != watch->task)
		return HRTIMER_RESTART;

	ended = ilk_ended(watch);
	if (ended && ended < ILK_WATCHED)
		watch->looks++;
	if (watch->waiting && need_resched()) {
		watch->longest = max(watch->longest, ended - watch->asked);
		return HRTIMER_RESTART;
	}
	watch->waiting = true;
	watch->asked = ended;
	set_tsk_need_resched(current);
	set_preempt_need_resched();
	return HRTIMER_RESTART;
}

static void ilk_watch_free(void *data)
{
	struct ilk_watch *watch = data;
	unsigned int i;

	for (i = 0; i < ILK_WATCHED && watch->folios[i]; i++)
		folio_put(watch->folios[i]);
	kvfree(watch);
}

static struct ilk_watch *ilk_watch_create(struct ilk_file *file)
{
	struct ilk_watch *watch = kvzalloc(sizeof(*watch), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(file->test, watch);
	KUNIT_ASSERT_EQ(file->test, 0,
			kunit_add_action_or_reset(file->test, ilk_watch_free,
						  watch));
	for (i = 0; i < ILK_WATCHED; i++) {
		watch->folios[i] = filemap_get_folio(file->inode->i_mapping, i);
		KUNIT_ASSERT_FALSE(file->test, IS_ERR(watch->folios[i]));
	}
	return watch;
}

/* End all gathered ioends while the task is watched. */
static void ilk_finish_watched(struct ilk_file *file, struct ilk_watch *watch)
{
	migrate_disable();
	watch->task = current;
	hrtimer_init_on_stack(&watch->timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	watch->timer.function = ilk_look;
	hrtimer_start(&watch->timer, ns_to_ktime(ILK_PERIOD),
		      HRTIMER_MODE_REL_PINNED_HARD);
	KUNIT_EXPECT_EQ(file->test, 1, wbf_iomap_finish(&file->io));
	hrtimer_cancel(&watch->timer);
	destroy_hrtimer_on_stack(&watch->timer);
	migrate_enable();
}

struct ilk_chain_row {
	const char *desc;
	unsigned int limit;
};

static const struct ilk_chain_row ilk_chains[] = {
	{ .desc = "some ioends", .limit = IOMAP_IOEND_FOLIOS_DEFAULT },
	{ .desc = "one ioend", .limit = ILK_WATCHED },
	{ .desc = "an ioend for each folio", .limit = 1 },
};

KUNIT_ARRAY_PARAM_DESC(ilk_chain, ilk_chains, desc);

/*
 * However ioends were built and merged, few folios end after somebody else has
 * asked for the CPU. A tick between two looks can ask again, so that twice as many
 * are seen.
 */
static void iomap_finish_ioends_lets_others_run(struct kunit *test)
{
	const struct ilk_chain_row *row = test->param_value;
	struct ilk_file *file = ilk_create(test, IOMAP_UNWRITTEN, 0);
	struct ilk_watch *watch;

	ilk_set_limit(test, row->limit);
	file->io.keep_ioends = true;
	ilk_add_folios(file, ILK_WATCHED, 0);
	watch = ilk_watch_create(file);
	ilk_write(file);
	ilk_complete_all(file, BLK_STS_OK);
	ilk_finish_watched(file, watch);
	ilk_expect_ended(file);
	pr_info("# iomap_limits: %s: longest=%u looks=%u\n", row->desc,
		watch->longest, watch->looks);
	if (watch->looks < 8)
		kunit_skip(test, "timers are too coarse");
	KUNIT_EXPECT_LE(test, watch->longest,
			2 * (IOMAP_STRETCH_FOLIOS + PAGEVEC_SIZE));
}

/* Tracepoints */

#ifdef CONFIG_TRACEPOINTS

/**
 * struct ilk_events - What tracepoints have told of a file.
 * @file: The file.
 * @submitted: Folios and bytes of submitted ioends.
 * @completed: The same of completed ones.
 * @errors: Completed ioends with an error.
 * @wrong: What else cannot be true of a completed ioend.
 * @wait_ns: Time from submission to completion.
 * @started: Folios and pages of batches whose writeback has started.
 * @ended: The same of batches whose writeback has ended.
 * @longest: Most folios in a batch.
 */
struct ilk_events {
	struct ilk_file *file;
	u64 submitted[2];
	u64 completed[2];
	unsigned int errors;
	unsigned int wrong;
	u64 wait_ns;
	u64 started[2];
	u64 ended[2];
	unsigned int longest;
};

static void ilk_see_submit(void *data, const struct iomap_ioend *ioend,
		u32 folios, int error)
{
	struct ilk_events *events = data;

	if (ioend->io_inode != events->file->inode)
		return;
	events->submitted[0] += folios;
	events->submitted[1] += ioend->io_bio.bi_iter.bi_size;
}

static void ilk_see_complete(void *data, dev_t dev, u64 ino, loff_t pos,
		u64 bytes, u32 folios, int error, u64 wait_ns, u64 busy_ns,
		u64 stretch_ns)
{
	struct ilk_events *events = data;
	struct inode *inode = events->file->inode;

	if (inode->i_sb->s_dev != dev || inode->i_ino != ino)
		return;
	/* Each ioend begins where those before it end. */
	events->wrong += pos != events->completed[1];
	/* Without scheduling points, all of it is one stretch. */
	events->wrong += stretch_ns < busy_ns && !events->file->io.keep_ioends;
	events->wrong += !busy_ns || !stretch_ns;
	events->wait_ns += wait_ns;
	events->completed[0] += folios;
	events->completed[1] += bytes;
	events->errors += error == -EIO;
}

static void ilk_see_batch(struct ilk_events *events, u64 *sum,
		struct address_space *mapping, struct folio **folios,
		unsigned int nr)
{
	unsigned int i;

	if (mapping != events->file->inode->i_mapping)
		return;
	sum[0] += nr;
	for (i = 0; i < nr; i++)
		sum[1] += folio_nr_pages(folios[i]);
	events->longest = max(events->longest, nr);
}

static void ilk_see_start(void *data, struct address_space *mapping,
		struct folio **folios, unsigned int nr)
{
	struct ilk_events *events = data;

	ilk_see_batch(events, events->started, mapping, folios, nr);
}

static void ilk_see_end(void *data, struct address_space *mapping,
		struct folio **folios, unsigned int nr)
{
	struct ilk_events *events = data;

	ilk_see_batch(events, events->ended, mapping, folios, nr);
}

/**
 * struct ilk_probe - A tracepoint, and who listens.
 * @name: Its name.
 * @probe: The listener.
 * @point: The tracepoint; NULL if the kernel does not have it.
 */
struct ilk_probe {
	const char *name;
	void *probe;
	struct tracepoint *point;
};

static struct ilk_probe ilk_probes[] = {
	{ .name = "iomap_ioend_submit", .probe = ilk_see_submit },
	{ .name = "iomap_ioend_complete", .probe = ilk_see_complete },
	{ .name = "folios_start_writeback", .probe = ilk_see_start },
	{ .name = "folios_end_writeback", .probe = ilk_see_end },
};

static void ilk_find_point(struct tracepoint *point, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ilk_probes); i++) {
		if (!strcmp(point->name, ilk_probes[i].name))
			ilk_probes[i].point = point;
	}
}

static void ilk_stop_listening(void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ilk_probes); i++)
		tracepoint_probe_unregister(ilk_probes[i].point,
					    ilk_probes[i].probe, data);
	tracepoint_synchronize_unregister();
	kfree(data);
}

static struct ilk_events *ilk_listen(struct ilk_file *file)
{
	struct ilk_events *events;
	unsigned int i;

	for_each_kernel_tracepoint(ilk_find_point, NULL);
	for (i = 0; i < ARRAY_SIZE(ilk_probes); i++) {
		if (!ilk_probes[i].point)
			kunit_skip(file->test, "no such tracepoint");
	}
	events = kzalloc(sizeof(*events), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(file->test, events);
	events->file = file;
	for (i = 0; i < ARRAY_SIZE(ilk_probes); i++)
		KUNIT_EXPECT_EQ(file->test, 0,
				tracepoint_probe_register(ilk_probes[i].point,
							  ilk_probes[i].probe,
							  events));
	KUNIT_ASSERT_EQ(file->test, 0,
			kunit_add_action_or_reset(file->test,
						  ilk_stop_listening, events));
	return events;
}

struct ilk_trace_row {
	const char *desc;
	unsigned int order;
	unsigned int nr;
	bool task;
	blk_status_t status;
	unsigned int errors;
};

static const struct ilk_trace_row ilk_traces[] = {
	{ .desc = "one folio", .nr = 1 },
	{ .desc = "some folios", .nr = 100 },
	{ .desc = "several ioends", .nr = 5000 },
	{ .desc = "several ioends in a worker", .nr = 5000, .task = true },
	{ .desc = "large folios", .order = 4, .nr = 40 },
	{ .desc = "an error", .nr = 100, .status = BLK_STS_IOERR, .errors = 1 },
};

KUNIT_ARRAY_PARAM_DESC(ilk_trace, ilk_traces, desc);

/* What tracepoints report adds up to what was written. */
static void iomap_tracepoints_report_all_folios(struct kunit *test)
{
	const struct ilk_trace_row *row = test->param_value;
	struct ilk_file *file = ilk_create(test, row->task ? IOMAP_UNWRITTEN :
					   IOMAP_MAPPED, 0);
	u64 pages = (u64)row->nr << row->order;
	struct ilk_events *events;

	file->io.keep_ioends = row->task;
	ilk_add_folios(file, row->nr, row->order);
	events = ilk_listen(file);
	ilk_write(file);
	/* At least one unit of the time that an ioend waits. */
	udelay(2);
	KUNIT_EXPECT_EQ(test, row->nr, events->submitted[0]);
	KUNIT_EXPECT_EQ(test, pages << PAGE_SHIFT, events->submitted[1]);
	KUNIT_EXPECT_EQ(test, row->nr, events->started[0]);
	KUNIT_EXPECT_EQ(test, pages, events->started[1]);
	KUNIT_EXPECT_EQ(test, 0, events->ended[0]);

	ilk_complete_all(file, row->status);
	wbf_iomap_finish(&file->io);
	ilk_expect_ended(file);
	KUNIT_EXPECT_EQ(test, row->nr, events->completed[0]);
	KUNIT_EXPECT_EQ(test, pages << PAGE_SHIFT, events->completed[1]);
	KUNIT_EXPECT_EQ(test, row->nr, events->ended[0]);
	KUNIT_EXPECT_EQ(test, pages, events->ended[1]);
	KUNIT_EXPECT_EQ(test, row->errors, events->errors);
	KUNIT_EXPECT_EQ(test, 0, events->wrong);
	KUNIT_EXPECT_GT(test, events->wait_ns, 0);
	KUNIT_EXPECT_EQ(test, min(row->nr, PAGEVEC_SIZE), events->longest);
}

#endif /* CONFIG_TRACEPOINTS */

static struct kunit_case iomap_limits_cases[] = {
	KUNIT_CASE_PARAM(iomap_ioend_max_folios_of_an_extent,
			 ilk_kind_gen_params),
	KUNIT_CASE_PARAM(iomap_writepages_splits_at_the_limit,
			 ilk_split_gen_params),
	KUNIT_CASE(iomap_writepages_takes_a_new_limit),
	KUNIT_CASE_PARAM(iomap_finish_ioends_lets_others_run,
			 ilk_chain_gen_params),
#ifdef CONFIG_TRACEPOINTS
	KUNIT_CASE_PARAM(iomap_tracepoints_report_all_folios,
			 ilk_trace_gen_params),
#endif
	{}
};

static struct kunit_suite iomap_limits_suite = {
	.name		= "iomap_limits",
	.test_cases	= iomap_limits_cases,
};

kunit_test_suite(iomap_limits_suite);

MODULE_DESCRIPTION("KUnit suite for the size of iomap ioends");
MODULE_LICENSE("GPL");
