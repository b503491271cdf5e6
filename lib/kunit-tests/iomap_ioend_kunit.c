// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite for the completion of iomap writeback.
 *
 * Folios are written through iomap_writepages() to a block device that keeps the
 * bios. The suite maps blocks from a table, so it decides which bytes share a
 * bio, and then completes the bios in any order and context with any status.
 * Folios, marks and counters are compared with an arithmetic model in which a
 * folio ends when the last of its bytes has been completed.
 */
#include <kunit/test.h>
#include <linux/blk_types.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/iomap.h>
#include <linux/pagemap.h>
#include <linux/sizes.h>
#include <linux/writeback.h>

#include "iomap_fixture.h"
#include "writeback_model.h"

#define IIE_EXTENTS	64
#define IIE_BIOS	256
#define IIE_SEEDS	4

/**
 * struct iie_extent - Where a part of the file is mapped to.
 * @length: In bytes; it begins where the extent before ends.
 * @addr: In bytes on the disk, or IOMAP_NULL_ADDR for a hole.
 * @error: What the mapping fails with.
 */
struct iie_extent {
	u64 length;
	u64 addr;
	int error;
};

/**
 * struct iie_file - A file that is written to a disk.
 * @io: The disk.
 * @test: The test.
 * @model: The folios, and what must be true of them.
 * @pending: Bytes of each folio that are not completed yet.
 * @extents: The mapping. What is behind the last extent maps to the same offset
 *	of the disk.
 * @nr_extents: Number of @extents.
 * @prepare_error: What preparing an ioend fails with.
 * @locked: Most pages that were locked when an ioend was submitted.
 */
struct iie_file {
	struct wbf_iomap io;
	struct kunit *test;
	struct wb_model *model;
	size_t pending[WB_MODEL_FOLIOS];
	struct iie_extent extents[IIE_EXTENTS];
	unsigned int nr_extents;
	int prepare_error;
	unsigned long locked;
};

static struct iie_file *iie_file(struct inode *inode)
{
	return container_of(inode->i_private, struct iie_file, io);
}

/* The file system below iomap */

/* What is mapped cannot change until it is written: all of it is locked. */
static void iie_check_locked(struct iie_file *file, struct inode *inode,
		loff_t offset, unsigned int len)
{
	struct folio *folio;
	loff_t pos = offset;

	while (pos < offset + len) {
		folio = filemap_get_folio(inode->i_mapping, pos >> PAGE_SHIFT);
		KUNIT_EXPECT_FALSE(file->test, IS_ERR(folio));
		if (IS_ERR(folio))
			return;
		KUNIT_EXPECT_TRUE(file->test, folio_test_locked(folio));
		pos = folio_pos(folio) + folio_size(folio);
		folio_put(folio);
	}
}

static int iie_map_blocks(struct iomap_writepage_ctx *wpc, struct inode *inode,
		loff_t offset, unsigned int len)
{
	struct iie_file *file = iie_file(inode);
	struct iie_extent all = { .length = WBF_IOMAP_SIZE };
	struct iie_extent *extent = &all;
	u64 start = 0;
	unsigned int i;

	iie_check_locked(file, inode, offset, len);
	for (i = 0; i < file->nr_extents; i++) {
		if (offset < start + file->extents[i].length) {
			extent = &file->extents[i];
			break;
		}
		start += file->extents[i].length;
	}
	if (extent == &all) {
		all.addr = start;
		all.length -= start;
	}

	wpc->iomap = (struct iomap) {
		.offset	= start,
		.length	= extent->length,
		.addr	= extent->addr,
		.type	= extent->addr == IOMAP_NULL_ADDR ? IOMAP_HOLE :
							    IOMAP_MAPPED,
		.bdev	= wbf_disk_bdev(file->io.disk),
	};
	return extent->error;
}

static unsigned long iie_locked_pages(struct address_space *mapping)
{
	struct folio_batch fbatch;
	unsigned long locked = 0;
	pgoff_t index = 0;
	unsigned int i;

	folio_batch_init(&fbatch);
	while (filemap_get_folios(mapping, &index, -1, &fbatch)) {
		for (i = 0; i < folio_batch_count(&fbatch); i++) {
			if (folio_test_locked(fbatch.folios[i]))
				locked += folio_nr_pages(fbatch.folios[i]);
		}
		folio_batch_release(&fbatch);
	}
	return locked;
}

static int iie_prepare_ioend(struct iomap_ioend *ioend, int status)
{
	struct iie_file *file = iie_file(ioend->io_inode);

	file->locked = max(file->locked,
			   iie_locked_pages(ioend->io_inode->i_mapping));
	wbf_iomap_prepare(ioend);
	return status ?: file->prepare_error;
}

static const struct iomap_writeback_ops iie_writeback_ops = {
	.map_blocks	= iie_map_blocks,
	.prepare_ioend	= iie_prepare_ioend,
};

/* The file */

static struct iie_file *iie_create(struct kunit *test, u32 seed,
		unsigned int blkbits)
{
	struct iie_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, file);
	file->test = test;
	file->model = wb_model_create(test, seed, true, true);
	wbf_iomap_init(test, &file->io, file->model->inode, blkbits,
		       &iie_writeback_ops);
	return file;
}

/* Expect that nothing is left of the file. */
static void iie_destroy(struct iie_file *file)
{
	KUNIT_EXPECT_EQ(file->test, 0, wbf_disk_queued(file->io.disk));
	KUNIT_EXPECT_TRUE(file->test, list_empty(&file->io.ioends));
	wb_model_destroy(file->model);
	wbf_disk_destroy(file->test, file->io.disk);
}

/* Add and dirty @nr folios, and make the file end behind the last of them. */
static void iie_add_folios(struct iie_file *file, unsigned int nr,
		unsigned int order)
{
	struct wb_model *model = file->model;
	struct wb_model_slot *slot;

	while (nr--) {
		slot = wb_model_add(model, model->end, order, GFP_KERNEL);
		wb_model_dirty(model, slot);
		slot->private_refs = folio_test_private(slot->folio);
	}
	i_size_write(model->inode, (loff_t)model->end << PAGE_SHIFT);
}

static void iie_map(struct iie_file *file, u64 length, u64 addr)
{
	struct iie_extent *extent = &file->extents[file->nr_extents++];

	KUNIT_ASSERT_LE(file->test, file->nr_extents, IIE_EXTENTS);
	extent->length = length;
	extent->addr = addr;
}

/* The slot of a folio that a bio writes to. */
static unsigned int iie_slot(struct iie_file *file, struct folio *folio)
{
	unsigned int i;

	for (i = 0; i < file->model->nr - 1; i++) {
		if (file->model->slots[i].folio == folio)
			break;
	}
	return i;
}

/* Count the bytes that the table maps, not those that the bios have. */
static size_t iie_mapped_bytes(struct iie_file *file,
		const struct wb_model_slot *slot)
{
	u64 from = (u64)slot->index << PAGE_SHIFT;
	u64 to = from + (slot->pages << PAGE_SHIFT);
	u64 start = 0, bytes = to - from;
	unsigned int i;

	for (i = 0; i < file->nr_extents; i++) {
		u64 end = start + file->extents[i].length;

		if (file->extents[i].addr == IOMAP_NULL_ADDR &&
		    end > from && start < to)
			bytes -= min(end, to) - max(start, from);
		start = end;
	}
	return bytes;
}

/* Write slots @first to @last. What has no blocks ends at once. */
static int iie_write(struct iie_file *file, unsigned int first,
		unsigned int last)
{
	struct wb_model *model = file->model;
	struct wb_model_slot *slot = &model->slots[last];
	struct writeback_control wbc = {
		.sync_mode	= WB_SYNC_ALL,
		.nr_to_write	= LONG_MAX,
		.range_start	= model->slots[first].index << PAGE_SHIFT,
		.range_end	= ((slot->index + slot->pages) << PAGE_SHIFT) - 1,
	};
	unsigned int i;

	for (i = first; i <= last; i++) {
		slot = &model->slots[i];
		file->pending[i] = iie_mapped_bytes(file, slot);
		wb_model_cleaned(model, slot);
		wb_model_started(model, slot, false);
		if (!file->pending[i])
			wb_model_ended(model, slot);
	}
	return filemap_fdatawrite_wbc(model->inode->i_mapping, &wbc);
}

static void iie_write_all(struct iie_file *file)
{
	KUNIT_ASSERT_EQ(file->test, 0,
			iie_write(file, 0, file->model->nr - 1));
	wb_model_check(file->model, "submitted");
}

/* Note in the model what the completion of a bio leads to. */
static void iie_note_completed(struct iie_file *file, struct bio *bio)
{
	struct folio_iter fi;
	unsigned int i;

	bio_for_each_folio_all(fi, bio) {
		i = iie_slot(file, fi.folio);
		KUNIT_ASSERT_GE(file->test, file->pending[i], fi.length);
		file->pending[i] -= fi.length;
		if (!file->pending[i])
			wb_model_ended(file->model, &file->model->slots[i]);
	}
}

static void iie_endio(void *bio)
{
	bio_endio(bio);
}

static void iie_complete_in(struct iie_file *file, enum wbf_context context,
		unsigned int nth, blk_status_t status)
{
	struct bio *bio = wbf_disk_take(file->io.disk, nth);

	KUNIT_ASSERT_NOT_NULL(file->test, bio);
	iie_note_completed(file, bio);
	bio->bi_status = status;
	wbf_run(file->test, context, iie_endio, bio);
}

/* Complete the @nth bio that is queued, and check all of the file. */
static void iie_complete(struct iie_file *file, unsigned int nth,
		blk_status_t status)
{
	iie_complete_in(file, WBF_TASK, nth, status);
	wb_model_check(file->model, "completed");
}

static bool iie_under_writeback(struct iie_file *file, unsigned int slot)
{
	return folio_test_writeback(file->model->slots[slot].folio);
}

/* Cases */

struct iie_context_row {
	const char *desc;
	enum wbf_context context;
};

static const struct iie_context_row iie_contexts[] = {
	{ .desc = "task", .context = WBF_TASK },
	{ .desc = "softirq", .context = WBF_SOFTIRQ },
	{ .desc = "hardirq", .context = WBF_HARDIRQ },
};

KUNIT_ARRAY_PARAM_DESC(iie_context, iie_contexts, desc);

/* More folios than a folio_batch has room for, fewer than a bio. */
static void iomap_finish_ioend_ends_all_folios(struct kunit *test)
{
	const struct iie_context_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, PAGE_SHIFT);

	iie_add_folios(file, 100, 0);
	iie_write_all(file);
	KUNIT_EXPECT_EQ(test, 1, wbf_disk_queued(file->io.disk));
	iie_complete_in(file, row->context, 0, BLK_STS_OK);
	wb_model_check(file->model, "completed");
	KUNIT_EXPECT_EQ(test, 0,
			filemap_check_errors(file->model->inode->i_mapping));
	iie_destroy(file);
}

static void iomap_finish_ioend_with_mixed_orders(struct kunit *test)
{
	static const u8 orders[] = { 0, 0, 9, 4, 1, 1, 0, 0, 2, 5 };
	struct iie_file *file = iie_create(test, 1, PAGE_SHIFT);
	pgoff_t index = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		index = round_up(index, 1UL << orders[i]);
		file->model->end = index;
		iie_add_folios(file, 1, orders[i]);
		index = file->model->end;
	}
	iie_write_all(file);
	while (wbf_disk_queued(file->io.disk))
		iie_complete(file, 0, BLK_STS_OK);
	iie_destroy(file);
}

struct iie_order_row {
	const char *desc;
	unsigned int first;
};

static const struct iie_order_row iie_orders[] = {
	{ .desc = "first bio first", .first = 0 },
	{ .desc = "last bio first", .first = 1 },
};

KUNIT_ARRAY_PARAM_DESC(iie_order, iie_orders, desc);

/* Two bios write half a folio each: it stays under writeback until the second. */
static void iomap_finish_ioend_with_half_a_folio(struct kunit *test)
{
	const struct iie_order_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, 10);

	iie_map(file, PAGE_SIZE / 2, SZ_1M);
	iie_add_folios(file, 1, 0);
	iie_write_all(file);
	KUNIT_ASSERT_EQ(test, 2, wbf_disk_queued(file->io.disk));

	iie_complete(file, row->first, BLK_STS_OK);
	KUNIT_EXPECT_TRUE(test, iie_under_writeback(file, 0));
	iie_complete(file, 0, BLK_STS_OK);
	KUNIT_EXPECT_FALSE(test, iie_under_writeback(file, 0));
	iie_destroy(file);
}

/* The folio in the middle belongs to two bios, its neighbours to one each. */
static void iomap_finish_ioend_keeps_partial_folio_out(struct kunit *test)
{
	const struct iie_order_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, 10);

	iie_map(file, 20 * PAGE_SIZE + PAGE_SIZE / 2, SZ_1M);
	iie_add_folios(file, 41, 0);
	iie_write_all(file);
	KUNIT_ASSERT_EQ(test, 2, wbf_disk_queued(file->io.disk));

	iie_complete(file, row->first, BLK_STS_OK);
	KUNIT_EXPECT_TRUE(test, iie_under_writeback(file, 20));
	KUNIT_EXPECT_EQ(test, row->first == 1, iie_under_writeback(file, 0));
	iie_complete(file, 0, BLK_STS_OK);
	iie_destroy(file);
}

/* A large folio in eight bios ends once, with the last, whichever that is. */
static void iomap_finish_ioend_with_folio_in_many_bios(struct kunit *test)
{
	struct iie_file *file = iie_create(test, 1, PAGE_SHIFT);
	struct wb_model *model = file->model;
	unsigned int i;

	iie_add_folios(file, 1, 9);
	for (i = 0; i < 8; i++)
		iie_map(file, (model->slots[0].pages / 8) << PAGE_SHIFT,
			(8 - i) * (u64)SZ_4M);
	iie_write_all(file);
	KUNIT_ASSERT_EQ(test, 8, wbf_disk_queued(file->io.disk));

	while (wbf_disk_queued(file->io.disk))
		iie_complete(file, wb_model_below(model,
						  wbf_disk_queued(file->io.disk)),
			     BLK_STS_OK);
	KUNIT_EXPECT_EQ(test, 1, model->slots[0].ended);
	iie_destroy(file);
}

struct iie_block_row {
	const char *desc;
	unsigned int blkbits;
};

static const struct iie_block_row iie_blocks[] = {
	{ .desc = "several blocks in a folio", .blkbits = 10 },
	{ .desc = "one block in a folio", .blkbits = PAGE_SHIFT },
};

KUNIT_ARRAY_PARAM_DESC(iie_block, iie_blocks, desc);

/* Folios without blocks end without a bio, beside others that have one. */
static void iomap_writepages_with_hole(struct kunit *test)
{
	const struct iie_block_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, row->blkbits);
	bool part = row->blkbits < PAGE_SHIFT;

	iie_map(file, 3 * PAGE_SIZE, 0);
	iie_map(file, 2 * PAGE_SIZE + (part ? 1024 : 0), IOMAP_NULL_ADDR);
	iie_add_folios(file, 8, 0);
	iie_write_all(file);
	KUNIT_EXPECT_FALSE(test, iie_under_writeback(file, 4));
	KUNIT_EXPECT_TRUE(test, iie_under_writeback(file, 5));
	while (wbf_disk_queued(file->io.disk))
		iie_complete(file, 0, BLK_STS_OK);
	iie_destroy(file);
}

/*
 * Folios behind the end of the file are cleaned, but their writeback does not
 * start. The data of the one across it are written, and no more of it counts.
 */
static void iomap_writepages_beyond_eof(struct kunit *test)
{
	const struct iie_block_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, row->blkbits);
	struct wb_model *model = file->model;
	loff_t size = 5 * PAGE_SIZE + 100;
	struct writeback_control wbc = {
		.sync_mode	= WB_SYNC_NONE,
		.nr_to_write	= LONG_MAX,
		.range_end	= LLONG_MAX,
	};
	struct bio *bio;
	unsigned int i;
	int error;

	iie_add_folios(file, 12, 0);
	i_size_write(model->inode, size);
	error = filemap_fdatawrite_wbc(model->inode->i_mapping, &wbc);
	KUNIT_EXPECT_EQ(test, 0, error);
	KUNIT_EXPECT_EQ(test, LONG_MAX - 12, wbc.nr_to_write);
	for (i = 0; i < 12; i++) {
		wb_model_cleaned(model, &model->slots[i]);
		KUNIT_EXPECT_FALSE(test,
				   folio_test_locked(model->slots[i].folio));
		if (i > 5)
			continue;
		wb_model_started(model, &model->slots[i], false);
		file->pending[i] = i < 5 ? PAGE_SIZE : 1UL << row->blkbits;
	}
	wb_model_check(model, "submitted");

	KUNIT_ASSERT_EQ(test, 1, wbf_disk_queued(file->io.disk));
	bio = bio_list_peek(&file->io.disk->bios);
	KUNIT_EXPECT_EQ(test, size, iomap_ioend_from_bio(bio)->io_size);
	iie_complete(file, 0, BLK_STS_OK);
	iie_destroy(file);
}

struct iie_error_row {
	const char *desc;
	blk_status_t status[2];
	int wb_err;
	int check;
};

static const struct iie_error_row iie_errors[] = {
	{ .desc = "I/O error", .status = { BLK_STS_IOERR, BLK_STS_OK },
	  .wb_err = -EIO, .check = -EIO },
	{ .desc = "no space", .status = { BLK_STS_NOSPC, BLK_STS_OK },
	  .wb_err = -ENOSPC, .check = -ENOSPC },
	{ .desc = "timeout", .status = { BLK_STS_TIMEOUT, BLK_STS_OK },
	  .wb_err = -ETIMEDOUT, .check = -EIO },
	{ .desc = "second bio", .status = { BLK_STS_OK, BLK_STS_IOERR },
	  .wb_err = -EIO, .check = -EIO },
	{ .desc = "both, the last one counts",
	  .status = { BLK_STS_IOERR, BLK_STS_NOSPC },
	  .wb_err = -ENOSPC, .check = -EIO },
};

KUNIT_ARRAY_PARAM_DESC(iie_error, iie_errors, desc);

/* Folios end all the same, and the mapping keeps the error for fsync(). */
static void iomap_finish_ioend_with_error(struct kunit *test)
{
	const struct iie_error_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, 10);
	struct address_space *mapping = file->model->inode->i_mapping;
	errseq_t since = filemap_sample_wb_err(mapping);

	iie_map(file, 3 * PAGE_SIZE + PAGE_SIZE / 2, SZ_1M);
	iie_add_folios(file, 8, 0);
	iie_write_all(file);
	KUNIT_ASSERT_EQ(test, 2, wbf_disk_queued(file->io.disk));

	iie_complete(file, 0, row->status[0]);
	iie_complete(file, 0, row->status[1]);
	KUNIT_EXPECT_EQ(test, row->wb_err,
			filemap_check_wb_err(mapping, since));
	KUNIT_EXPECT_EQ(test, row->check, filemap_check_errors(mapping));
	iie_destroy(file);
}

/* Nothing can be written: all folios end, without a bio, and the error is kept. */
static void iie_fail_all(struct iie_file *file)
{
	struct wb_model *model = file->model;
	unsigned int i;

	KUNIT_EXPECT_EQ(file->test, -EIO, iie_write(file, 0, model->nr - 1));
	KUNIT_EXPECT_EQ(file->test, 0, wbf_disk_queued(file->io.disk));
	for (i = 0; i < model->nr; i++)
		wb_model_ended(model, &model->slots[i]);
	wb_model_check(model, "failed");
	KUNIT_EXPECT_EQ(file->test, -EIO,
			filemap_check_errors(model->inode->i_mapping));
	iie_destroy(file);
}

/* The file system cannot prepare the ioend: it completes without being sent. */
static void iomap_writepages_with_prepare_error(struct kunit *test)
{
	struct iie_file *file = iie_create(test, 1, 10);

	file->prepare_error = -EIO;
	iie_add_folios(file, 40, 0);
	iie_fail_all(file);
}

static int iie_iomap_begin(struct inode *inode, loff_t pos, loff_t length,
		unsigned int flags, struct iomap *iomap, struct iomap *srcmap)
{
	struct iie_file *file = iie_file(inode);

	iomap->type = IOMAP_MAPPED;
	iomap->length = WBF_IOMAP_SIZE;
	iomap->bdev = wbf_disk_bdev(file->io.disk);
	return 0;
}

static const struct iomap_ops iie_iomap_ops = {
	.iomap_begin	= iie_iomap_begin,
};

struct iie_submit_row {
	const char *desc;
	unsigned int order;
	unsigned int nr;
	unsigned int gap;
	unsigned int part;
	unsigned int extent;
	bool scattered;
	unsigned int bios;
};

static const struct iie_submit_row iie_submits[] = {
	{ .desc = "full", .order = 2, .nr = 600, .scattered = true, .bios = 3 },
	{ .desc = "in front of a gap", .order = 2, .nr = 120, .gap = 40,
	  .bios = 3 },
	{ .desc = "in front of a gap, larger folios", .order = 4, .nr = 90,
	  .gap = 30, .bios = 3 },
	{ .desc = "part of a folio is clean", .order = 4, .nr = 90, .part = 30,
	  .bios = 4 },
	{ .desc = "behind an extent", .order = 4, .nr = 90, .extent = 30,
	  .bios = 3 },
};

KUNIT_ARRAY_PARAM_DESC(iie_submit, iie_submits, desc);

/*
 * Submission can wait for a request. Writers to folios behind wait with it only if
 * these are few: as many pages as a batch has folios, or one folio.
 */
static void iomap_writepages_submits_with_little_locked(struct kunit *test)
{
	const struct iie_submit_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, 10);
	struct inode *inode = file->model->inode;
	unsigned long pages = 1UL << row->order;
	struct folio *folio;
	pgoff_t index = 0;
	unsigned int i;
	gfp_t gfp;

	if (row->scattered && !IS_ENABLED(CONFIG_ZONE_DMA))
		kunit_skip(test, "needs two zones");
	for (i = 0; i < row->nr; i++) {
		/* Neighbours in different zones: each takes a bvec. */
		gfp = row->scattered && (i & 1) ? GFP_KERNEL | __GFP_DMA :
						  GFP_KERNEL;
		if (i && row->gap && i % row->gap == 0)
			index += pages;
		if (row->extent && i % row->extent == 0)
			iie_map(file, row->extent * pages << PAGE_SHIFT,
				(row->nr - i) * pages << PAGE_SHIFT);
		folio = wbf_folio_add(test, inode, index, row->order, gfp);
		KUNIT_ASSERT_EQ(test, row->order, folio_order(folio));
		if (row->part && i % row->part == row->part / 2)
			KUNIT_ASSERT_EQ(test, 0,
				iomap_zero_range(inode, folio_pos(folio) + 1024,
						 1024, NULL, &iie_iomap_ops));
		else
			wbf_folio_dirty(folio);
		index += pages;
	}
	i_size_write(inode, (loff_t)index << PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, 0, filemap_fdatawrite(inode->i_mapping));
	KUNIT_EXPECT_LE(test, row->bios, wbf_disk_queued(file->io.disk));
	KUNIT_EXPECT_LE(test, file->locked, PAGEVEC_SIZE + 0UL);
	KUNIT_EXPECT_GE(test, file->locked, pages);
	while (wbf_disk_queued(file->io.disk))
		bio_endio(wbf_disk_take(file->io.disk, 0));
	KUNIT_EXPECT_FALSE(test, mapping_tagged(inode->i_mapping,
						PAGECACHE_TAG_WRITEBACK));
	/* The model knows nothing of these folios: left to the clean-up. */
}

/* Blocks of one folio cannot be mapped: those before it end with the error. */
static void iomap_writepages_with_map_error(struct kunit *test)
{
	const struct iie_block_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, row->blkbits);

	iie_map(file, 5 * PAGE_SIZE, 0);
	iie_map(file, PAGE_SIZE, SZ_1M);
	file->extents[1].error = -EIO;
	iie_add_folios(file, 6, 0);
	iie_fail_all(file);
}

/* The same where there is no ioend that could end with the error. */
static void iomap_writepages_with_nothing_mapped(struct kunit *test)
{
	const struct iie_block_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, row->blkbits);

	iie_map(file, 3 * PAGE_SIZE, 0);
	file->extents[0].error = -EIO;
	iie_add_folios(file, 3, 0);
	iie_fail_all(file);
}

/* The same in the middle, for data integrity: those behind it are written. */
static void iomap_writepages_goes_on_after_map_error(struct kunit *test)
{
	const struct iie_block_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, row->blkbits);
	struct wb_model *model = file->model;
	unsigned int i;

	iie_map(file, 5 * PAGE_SIZE, 0);
	iie_map(file, PAGE_SIZE, SZ_1M);
	iie_map(file, 4 * PAGE_SIZE, SZ_2M);
	file->extents[1].error = -EIO;
	iie_add_folios(file, 20, 0);
	KUNIT_EXPECT_EQ(test, -EIO, iie_write(file, 0, 19));
	/* Two bios were sent; the last one was not, and ended with the error. */
	wb_model_ended(model, &model->slots[5]);
	for (i = 10; i < 20; i++)
		wb_model_ended(model, &model->slots[i]);
	wb_model_check(model, "failed");
	KUNIT_ASSERT_EQ(test, 2, wbf_disk_queued(file->io.disk));
	iie_complete(file, 0, BLK_STS_OK);
	iie_complete(file, 0, BLK_STS_OK);
	KUNIT_EXPECT_EQ(test, -EIO,
			filemap_check_errors(model->inode->i_mapping));
	iie_destroy(file);
}

/*
 * The same in the background: writing stops, and those behind are as they were,
 * with the mark that a concurrent fsync() has set.
 */
static void iomap_writepages_stops_at_map_error(struct kunit *test)
{
	const struct iie_block_row *row = test->param_value;
	struct iie_file *file = iie_create(test, 1, row->blkbits);
	struct wb_model *model = file->model;
	struct writeback_control wbc = {
		.sync_mode	= WB_SYNC_NONE,
		.nr_to_write	= LONG_MAX,
		.range_cyclic	= 1,
	};
	unsigned int i;
	int error;

	iie_map(file, 5 * PAGE_SIZE, 0);
	iie_map(file, PAGE_SIZE, SZ_1M);
	file->extents[1].error = -EIO;
	iie_add_folios(file, 20, 0);
	wb_model_tag(model, 0, 19);
	error = filemap_fdatawrite_wbc(model->inode->i_mapping, &wbc);
	KUNIT_EXPECT_EQ(test, -EIO, error);
	KUNIT_EXPECT_EQ(test, 0, wbf_disk_queued(file->io.disk));
	KUNIT_EXPECT_EQ(test, LONG_MAX - 6, wbc.nr_to_write);
	KUNIT_EXPECT_EQ(test, 6, model->inode->i_mapping->writeback_index);

	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_FALSE(test,
				   folio_test_locked(model->slots[i].folio));
		if (i >= 6)
			continue;
		wb_model_cleaned(model, &model->slots[i]);
		wb_model_started(model, &model->slots[i], false);
		wb_model_ended(model, &model->slots[i]);
	}
	wb_model_check(model, "failed");
	KUNIT_EXPECT_EQ(test, -EIO,
			filemap_check_errors(model->inode->i_mapping));
	iie_destroy(file);
}

/*
 * Three ioends that continue each other are ended as one. None of their folios
 * may end before, and then all do.
 */
static void iomap_finish_ioends_with_merged_chain(struct kunit *test)
{
	struct iie_file *file = iie_create(test, 1, 10);
	struct wb_model *model = file->model;
	struct bio *bio;
	unsigned int i;

	file->io.keep_ioends = true;
	iie_add_folios(file, 90, 0);
	for (i = 0; i < 90; i += 30)
		KUNIT_ASSERT_EQ(test, 0, iie_write(file, i, i + 29));
	KUNIT_ASSERT_EQ(test, 3, wbf_disk_queued(file->io.disk));
	while ((bio = wbf_disk_take(file->io.disk,
				    wbf_disk_queued(file->io.disk) / 2)))
		bio_endio(bio);
	wb_model_check(model, "gathered");

	KUNIT_EXPECT_EQ(test, 1, wbf_iomap_finish(&file->io));
	for (i = 0; i < 90; i++)
		wb_model_ended(model, &model->slots[i]);
	wb_model_check(model, "finished");
	iie_destroy(file);
}

/* One of three ioends failed: it is not merged, and only its error is kept. */
static void iomap_finish_ioends_with_error_in_chain(struct kunit *test)
{
	struct iie_file *file = iie_create(test, 1, PAGE_SHIFT);
	struct wb_model *model = file->model;
	unsigned int i;

	file->io.keep_ioends = true;
	iie_add_folios(file, 6, 2);
	for (i = 0; i < 6; i += 2)
		KUNIT_ASSERT_EQ(test, 0, iie_write(file, i, i + 1));
	for (i = 0; i < 3; i++)
		iie_complete_in(file, WBF_TASK, 0,
				i == 1 ? BLK_STS_NOSPC : BLK_STS_OK);

	KUNIT_EXPECT_EQ(test, 3, wbf_iomap_finish(&file->io));
	wb_model_check(model, "finished");
	KUNIT_EXPECT_EQ(test, -ENOSPC,
			filemap_check_errors(model->inode->i_mapping));
	iie_destroy(file);
}

/* Bios of which two threads complete every other one. */
struct iie_half {
	struct bio *bios[IIE_BIOS];
	unsigned int nr;
};

static void iie_complete_half(void *data)
{
	struct iie_half *half = data;
	unsigned int i;

	for (i = 0; i < half->nr; i++)
		bio_endio(half->bios[i]);
}

/* Each folio is in two bios, which complete at the same time. */
static void iomap_finish_ioend_on_two_cpus(struct kunit *test)
{
	struct iie_half *halves = kzalloc(2 * sizeof(*halves), GFP_KERNEL);
	struct iie_file *file = iie_create(test, 1, 10);
	struct wbf_thread *threads[2];
	struct bio *bio;
	unsigned int i;
	bool joined;

	KUNIT_ASSERT_NOT_NULL(test, halves);
	for (i = 0; i < IIE_EXTENTS; i++)
		iie_map(file, PAGE_SIZE / 2, (IIE_EXTENTS - i) * (u64)SZ_1M);
	iie_add_folios(file, IIE_EXTENTS / 2, 0);
	iie_write_all(file);
	KUNIT_ASSERT_EQ(test, IIE_EXTENTS, wbf_disk_queued(file->io.disk));
	for (i = 0; (bio = wbf_disk_take(file->io.disk, 0)); i ^= 1) {
		iie_note_completed(file, bio);
		halves[i].bios[halves[i].nr++] = bio;
	}

	for (i = 0; i < 2; i++)
		threads[i] = wbf_thread_start(test, iie_complete_half,
					      &halves[i]);
	joined = wbf_thread_join(threads[0]);
	joined &= wbf_thread_join(threads[1]);
	KUNIT_ASSERT_TRUE(test, joined);
	kfree(halves);
	wb_model_check(file->model, "completed");
	iie_destroy(file);
}

static void iie_evict(void *inode)
{
	iput(inode);
}

/* The inode is freed, poisoned, right after the last folio of the bio. */
static void iomap_finish_ioend_races_with_eviction(struct kunit *test)
{
	const unsigned int rounds = 8;
	struct wbf_thread *thread;
	struct iie_file *file;
	unsigned int round;
	struct bio *bio;

	for (round = 0; round < rounds; round++) {
		file = iie_create(test, 1, 10);
		iie_add_folios(file, 40, 0);
		KUNIT_ASSERT_EQ(test, 0, iie_write(file, 0, 39));
		bio = wbf_disk_take(file->io.disk, 0);
		KUNIT_ASSERT_NOT_NULL(test, bio);
		KUNIT_ASSERT_EQ(test, 0, wbf_disk_queued(file->io.disk));

		wbf_inode_disown(test, file->model->inode);
		thread = wbf_thread_start(test, iie_evict, file->model->inode);
		if (round & 1)
			KUNIT_EXPECT_TRUE(test, wbf_thread_blocked(thread));
		bio_endio(bio);
		KUNIT_ASSERT_TRUE(test, wbf_thread_join(thread));
		wbf_disk_destroy(test, file->io.disk);
	}
}

/* Random layouts */

struct iie_row {
	const char *desc;
	u32 seed;
	unsigned int blkbits;
	unsigned int max_order;
};

static const struct iie_row iie_rows[] = {
	{ .desc = "4k blocks, order 0", .seed = 100, .blkbits = 12 },
	{ .desc = "1k blocks, order 0", .seed = 200, .blkbits = 10 },
	{ .desc = "512 byte blocks, orders 0 to 3", .seed = 300, .blkbits = 9,
	  .max_order = 3 },
	{ .desc = "4k blocks, orders 0 to 6", .seed = 400, .blkbits = 12,
	  .max_order = 6 },
};

KUNIT_ARRAY_PARAM_DESC(iie_layout, iie_rows, desc);

/* Extents of random length, about one in six a hole, none next to another. */
static void iie_map_at_random(struct iie_file *file, unsigned int blkbits)
{
	struct wb_model *model = file->model;
	u64 left = (u64)model->end << PAGE_SHIFT;
	u64 addr = SZ_1M, length;

	while (left && file->nr_extents < IIE_EXTENTS) {
		length = (1 + wb_model_below(model, 40)) << blkbits;
		length = min(length, left);
		left -= length;
		if (wb_model_chance(model, 6)) {
			iie_map(file, length, IOMAP_NULL_ADDR);
			continue;
		}
		iie_map(file, length, addr);
		addr += length + SZ_64K;
	}
}

static void iie_run_seed(struct kunit *test, const struct iie_row *row,
		u32 seed)
{
	static const blk_status_t status[] = {
		BLK_STS_OK, BLK_STS_OK, BLK_STS_OK, BLK_STS_IOERR,
	};
	struct iie_file *file = iie_create(test, seed, row->blkbits);
	struct wb_model *model = file->model;
	unsigned int order, i;

	for (i = 0; i < 40; i++) {
		order = wb_model_below(model, row->max_order + 1);
		model->end = round_up(model->end, 1UL << order);
		iie_add_folios(file, 1, order);
	}
	iie_map_at_random(file, row->blkbits);
	iie_write_all(file);
	while ((i = wbf_disk_queued(file->io.disk))) {
		iie_complete_in(file, WBF_TASK, wb_model_below(model, i),
				status[wb_model_below(model,
						      ARRAY_SIZE(status))]);
		if (wb_model_chance(model, 3))
			wb_model_check(model, "some completed");
	}
	wb_model_check(model, "all completed");
	pr_info("# iomap_ioend: seed=%u digest=%016llx\n", seed,
		model->digest);
	iie_destroy(file);
}

static void iomap_finish_ioend_matches_model(struct kunit *test)
{
	const struct iie_row *row = test->param_value;
	u32 i;

	for (i = 0; i < IIE_SEEDS; i++)
		iie_run_seed(test, row, row->seed + i);
}

static struct kunit_case iomap_ioend_cases[] = {
	KUNIT_CASE_PARAM(iomap_finish_ioend_ends_all_folios,
			 iie_context_gen_params),
	KUNIT_CASE(iomap_finish_ioend_with_mixed_orders),
	KUNIT_CASE_PARAM(iomap_finish_ioend_with_half_a_folio,
			 iie_order_gen_params),
	KUNIT_CASE_PARAM(iomap_finish_ioend_keeps_partial_folio_out,
			 iie_order_gen_params),
	KUNIT_CASE(iomap_finish_ioend_with_folio_in_many_bios),
	KUNIT_CASE_PARAM(iomap_writepages_with_hole, iie_block_gen_params),
	KUNIT_CASE_PARAM(iomap_writepages_beyond_eof, iie_block_gen_params),
	KUNIT_CASE_PARAM(iomap_finish_ioend_with_error, iie_error_gen_params),
	KUNIT_CASE(iomap_writepages_with_prepare_error),
	KUNIT_CASE_PARAM(iomap_writepages_submits_with_little_locked,
			 iie_submit_gen_params),
	KUNIT_CASE_PARAM(iomap_writepages_with_map_error, iie_block_gen_params),
	KUNIT_CASE_PARAM(iomap_writepages_with_nothing_mapped,
			 iie_block_gen_params),
	KUNIT_CASE_PARAM(iomap_writepages_goes_on_after_map_error,
			 iie_block_gen_params),
	KUNIT_CASE_PARAM(iomap_writepages_stops_at_map_error,
			 iie_block_gen_params),
	KUNIT_CASE(iomap_finish_ioends_with_merged_chain),
	KUNIT_CASE(iomap_finish_ioends_with_error_in_chain),
	KUNIT_CASE(iomap_finish_ioend_on_two_cpus),
	KUNIT_CASE(iomap_finish_ioend_races_with_eviction),
	KUNIT_CASE_PARAM(iomap_finish_ioend_matches_model,
			 iie_layout_gen_params),
	{}
};

static struct kunit_suite iomap_ioend_suite = {
	.name		= "iomap_ioend",
	.test_cases	= iomap_ioend_cases,
};

kunit_test_suite(iomap_ioend_suite);

MODULE_DESCRIPTION("KUnit suite for the completion of iomap writeback");
MODULE_LICENSE("GPL");
