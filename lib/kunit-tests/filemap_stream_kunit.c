// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite for large folios of streams of small writes: what a stream is, how
 * large its folios get, and what ends it.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/fgf_stream.h>
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/writeback.h>
#include "writeback_fixture.h"

#ifndef FGF_STREAM_ABSENT

#include <linux/filemap_stream.h>

/* Pages of a file, and the largest order that its streams may use. */
#define FSK_PAGES	8192U
#define FSK_ORDER	8U

/**
 * struct fsk_file - A file that is written in small pieces.
 * @test: The test.
 * @inode: Without a file system; its page cache is all there is.
 * @written: Pages that have been written.
 * @held: Pages that are in the page cache.
 * @count: Number of folios created, by their order.
 */
struct fsk_file {
	struct kunit *test;
	struct inode *inode;
	DECLARE_BITMAP(written, FSK_PAGES);
	DECLARE_BITMAP(held, FSK_PAGES);
	unsigned int count[FSK_ORDER + 1];
};

static const struct address_space_operations fsk_aops = {
	.dirty_folio	= filemap_dirty_folio,
};

static struct fsk_file *fsk_create(struct kunit *test)
{
	struct fsk_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, file);
	file->test = test;
	file->inode = wbf_inode_create(test, wbf_fs_create(test), &fsk_aops);
	mapping_set_large_folios(file->inode->i_mapping);
	return file;
}

/* What buffered writes do for one folio; returns how many pages it took. */
static unsigned int fsk_write_folio(struct fsk_file *file, pgoff_t index,
		unsigned int nr, unsigned int max_order)
{
	struct address_space *mapping = file->inode->i_mapping;
	pgoff_t first, last;
	struct folio *folio;
	bool created;

	created = !test_bit(index, file->held);
	folio = __filemap_get_folio(mapping, index, FGP_WRITEBEGIN |
			fgf_set_order((size_t)nr << PAGE_SHIFT) |
			fgf_set_stream_order(max_order), GFP_KERNEL);
	KUNIT_ASSERT_FALSE(file->test, IS_ERR(folio));
	first = folio->index;
	last = folio_next_index(folio);
	nr = min_t(pgoff_t, nr, last - index);
	if (created) {
		KUNIT_EXPECT_EQ(file->test, index, first);
		file->count[min(folio_order(folio), FSK_ORDER)]++;
		bitmap_set(file->held, first, last - first);
	}
	bitmap_set(file->written, index, nr);
	if (find_next_zero_bit(file->written, last, first) == last)
		folio_mark_uptodate(folio);
	filemap_dirty_folio(mapping, folio);
	folio_unlock(folio);
	folio_put(folio);
	return nr;
}

/* Write @nr pages from page @index on, @step pages with each write(). */
static void fsk_write(struct fsk_file *file, pgoff_t index, unsigned int nr,
		unsigned int step, unsigned int max_order)
{
	pgoff_t end = index + nr;
	unsigned int left;

	for (; index < end; index += step)
		for (left = step; left; )
			left -= fsk_write_folio(file, index + step - left,
						left, max_order);
}

/* Order of the folio that holds a page, which is cached. */
static unsigned int fsk_order(struct fsk_file *file, pgoff_t index)
{
	struct folio *folio = filemap_get_folio(file->inode->i_mapping, index);
	unsigned int order;

	KUNIT_ASSERT_FALSE(file->test, IS_ERR(folio));
	order = folio_order(folio);
	folio_put(folio);
	return order;
}

static void fsk_expect_order(struct fsk_file *file, pgoff_t index,
		unsigned int order)
{
	KUNIT_EXPECT_EQ_MSG(file->test, order, fsk_order(file, index),
			    "page %lu", index);
}

/* Start, and if @end also end, writeback of the folio that holds a page. */
static void fsk_writeback(struct fsk_file *file, pgoff_t index, bool end)
{
	struct folio *folio = filemap_lock_folio(file->inode->i_mapping, index);

	KUNIT_ASSERT_FALSE(file->test, IS_ERR(folio));
	if (!folio_test_writeback(folio)) {
		KUNIT_EXPECT_TRUE(file->test, folio_clear_dirty_for_io(folio));
		folio_start_writeback(folio);
	}
	folio_unlock(folio);
	if (end)
		folio_end_writeback(folio);
	folio_put(folio);
}

struct fsk_ramp_row {
	const char *desc;
	unsigned int start;
	unsigned int step;
	unsigned int max_order;
};

static const struct fsk_ramp_row fsk_ramps[] = {
	{ .desc = "4 KiB writes", .step = 1, .max_order = 8 },
	{ .desc = "from page 1", .start = 1, .step = 1, .max_order = 8 },
	{ .desc = "from page 1023", .start = 1023, .step = 1, .max_order = 8 },
	{ .desc = "64 KiB writes", .step = 16, .max_order = 8 },
	{ .desc = "12 KiB writes", .step = 3, .max_order = 8 },
	{ .desc = "20 KiB writes from page 7", .start = 7, .step = 5,
	  .max_order = 8 },
	{ .desc = "1 MiB writes", .step = 256, .max_order = 8 },
	{ .desc = "at most 64 KiB", .step = 1, .max_order = 4 },
	{ .desc = "at most 16 KiB", .step = 1, .max_order = 2 },
	{ .desc = "at most 8 KiB", .step = 1, .max_order = 1 },
	{ .desc = "off", .step = 1, .max_order = 0 },
	{ .desc = "off, 64 KiB writes", .step = 16, .max_order = 0 },
};

KUNIT_ARRAY_PARAM_DESC(fsk_ramp, fsk_ramps, desc);

/* What a write() of @left pages gets at @index without being part of a stream. */
static unsigned int fsk_asked(pgoff_t index, unsigned int left)
{
	unsigned int order = ilog2(left);

	return index & ((1UL << order) - 1) ? __ffs(index) : order;
}

/*
 * A stream's folios grow to the largest order, are never larger than 1/8 of what it
 * has written unless asked for, and at its end no more than that is unused.
 */
static void filemap_stream_ramps_up(struct kunit *test)
{
	const struct fsk_ramp_row *row = test->param_value;
	struct fsk_file *file = fsk_create(test);
	unsigned int nr = round_down(FSK_PAGES - row->start, row->step);
	unsigned int done, order, asked, large = 0;
	pgoff_t index;

	fsk_write(file, row->start, nr, row->step, row->max_order);
	for (done = 0; done < nr; done += 1 << order) {
		index = row->start + done;
		order = fsk_order(file, index);
		asked = fsk_asked(index, row->step - done % row->step);
		if (order > asked) {
			large++;
			KUNIT_EXPECT_LE(test, order, row->max_order);
			KUNIT_EXPECT_LE_MSG(test, 8U << order, done,
					    "page %lu", index);
		}
	}
	KUNIT_EXPECT_LE(test, bitmap_weight(file->held, FSK_PAGES), nr + nr / 8);
	/* Two orders more than asked for, or none. */
	if (row->max_order >= ilog2(row->step) + FILEMAP_STREAM_MIN_ORDERS) {
		KUNIT_EXPECT_GT(test, large, 0);
		KUNIT_EXPECT_EQ(test, row->max_order,
				fsk_order(file, row->start + nr - 1));
	} else {
		KUNIT_EXPECT_EQ(test, 0, large);
	}
}

/* Few folios of each order: not many more than the share demands. */
static void filemap_stream_grows_as_fast_as_it_may(struct kunit *test)
{
	struct fsk_file *file = fsk_create(test);
	unsigned int order;

	fsk_write(file, 0, FSK_PAGES, 1, FSK_ORDER);
	KUNIT_EXPECT_EQ(test, 32, file->count[0]);
	KUNIT_EXPECT_EQ(test, 0, file->count[1]);
	for (order = 2; order < FSK_ORDER; order++) {
		/* 8 if it grew at once; and as it can see no further than this. */
		KUNIT_EXPECT_GE(test, file->count[order], 8);
		KUNIT_EXPECT_LE(test, file->count[order], 12);
	}
	KUNIT_EXPECT_EQ(test, (FSK_PAGES - 2304) >> FSK_ORDER,
			file->count[FSK_ORDER]);
}

/* Where a stream jumps to, it begins anew; where it was, it can go on. */
static void filemap_stream_ends_at_a_jump(struct kunit *test)
{
	struct fsk_file *file = fsk_create(test);

	fsk_write(file, 0, 3072, 1, FSK_ORDER);
	fsk_write(file, 6144, 128, 1, FSK_ORDER);
	fsk_expect_order(file, 6144, 0);
	fsk_expect_order(file, 6144 + 31, 0);
	fsk_expect_order(file, 6144 + 32, 2);
	fsk_write(file, 3072, 256, 1, FSK_ORDER);
	fsk_expect_order(file, 3072, FSK_ORDER);
}

struct fsk_sync_row {
	const char *desc;
	bool all;
	bool end;
};

static const struct fsk_sync_row fsk_syncs[] = {
	{ .desc = "the last folio under writeback" },
	{ .desc = "the last folio clean", .end = true },
	{ .desc = "all under writeback", .all = true },
	{ .desc = "all clean", .all = true, .end = true },
};

KUNIT_ARRAY_PARAM_DESC(fsk_sync, fsk_syncs, desc);

/* A stream whose end has been given to the device begins anew. */
static void filemap_stream_ends_with_a_sync(struct kunit *test)
{
	const struct fsk_sync_row *row = test->param_value;
	struct fsk_file *file = fsk_create(test);
	pgoff_t index;

	fsk_write(file, 0, 2048, 1, FSK_ORDER);
	for (index = row->all ? 0 : 2047; index < 2048;
	     index += 1 << fsk_order(file, index))
		fsk_writeback(file, index, row->end);
	fsk_write(file, 2048, 64, 1, FSK_ORDER);
	fsk_expect_order(file, 2048, 0);
	fsk_expect_order(file, 2048 + 31, 0);
	fsk_expect_order(file, 2048 + 32, 2);
	for (index = row->all ? 0 : 2047; index < 2048 && !row->end;
	     index += 1 << fsk_order(file, index))
		fsk_writeback(file, index, true);
}

/* Each record of a log is synced: it never has a large folio. */
static void filemap_stream_leaves_logs_alone(struct kunit *test)
{
	struct fsk_file *file = fsk_create(test);
	pgoff_t index;

	for (index = 0; index < 1024; index++) {
		fsk_write(file, index, 1, 1, FSK_ORDER);
		fsk_writeback(file, index, true);
	}
	KUNIT_EXPECT_EQ(test, 1024, file->count[0]);
}

/* A writer that leaves gaps in its folios does not get more of these. */
static void filemap_stream_has_no_gaps(struct kunit *test)
{
	struct fsk_file *file = fsk_create(test);
	unsigned int order;
	pgoff_t index;

	fsk_write(file, 0, 3072, 1, FSK_ORDER);
	/* The first page of each folio. */
	for (index = 3072; index < FSK_PAGES; index += 1 << order) {
		fsk_write(file, index, 1, 1, FSK_ORDER);
		order = fsk_order(file, index);
	}
	KUNIT_EXPECT_EQ(test, FSK_ORDER, fsk_order(file, 3072));
	fsk_expect_order(file, 3072 + 256, 0);
	KUNIT_EXPECT_LE(test, bitmap_weight(file->held, FSK_PAGES),
			bitmap_weight(file->written, FSK_PAGES) * 9 / 8);
}

/* Every other page, then those between: nothing is larger than a page. */
static void filemap_stream_fits_between_folios(struct kunit *test)
{
	struct fsk_file *file = fsk_create(test);
	pgoff_t index;

	for (index = 1; index < 2048; index += 2)
		fsk_write(file, index, 1, 1, FSK_ORDER);
	for (index = 0; index < 2048; index += 2)
		fsk_write(file, index, 1, 1, FSK_ORDER);
	KUNIT_EXPECT_EQ(test, 2048, file->count[0]);

	/* A folio ends where the next one begins. */
	fsk_write(file, 2048 + 96, 1, 1, FSK_ORDER);
	fsk_write(file, 2048, 96, 1, FSK_ORDER);
	KUNIT_EXPECT_GT(test, fsk_order(file, 2048 + 95), 0);
	KUNIT_EXPECT_EQ(test, 2048 + 97, bitmap_weight(file->held, FSK_PAGES));
}

/**
 * struct fsk_writer - One of several that write into the same file.
 * @file: A view of the file of its own, which shares the inode.
 * @first: First page of its part.
 * @nr: Pages of its part.
 */
struct fsk_writer {
	struct fsk_file *file;
	pgoff_t first;
	unsigned int nr;
};

static void fsk_writer_run(void *data)
{
	struct fsk_writer *writer = data;

	fsk_write(writer->file, writer->first, writer->nr, 1, FSK_ORDER);
}

/* Writers of one file at the same time are streams of their own. */
static void filemap_stream_of_each_writer(struct kunit *test)
{
	struct fsk_writer writers[2];
	struct wbf_thread *threads[2];
	struct fsk_file *file = fsk_create(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(writers); i++) {
		writers[i].file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, writers[i].file);
		writers[i].file->test = test;
		writers[i].file->inode = file->inode;
		writers[i].nr = FSK_PAGES / ARRAY_SIZE(writers);
		writers[i].first = i * writers[i].nr;
	}
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		threads[i] = wbf_thread_start(test, fsk_writer_run, &writers[i]);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		KUNIT_ASSERT_TRUE(test, wbf_thread_join(threads[i]));
	for (i = 0; i < ARRAY_SIZE(writers); i++) {
		struct fsk_file *own = writers[i].file;

		KUNIT_EXPECT_EQ(test, writers[i].nr,
				bitmap_weight(own->held, FSK_PAGES));
		fsk_expect_order(own, writers[i].first + writers[i].nr - 1,
				 FSK_ORDER);
	}
}

struct fsk_order_row {
	const char *desc;
	pgoff_t index;
	pgoff_t run;
	pgoff_t folio;
	unsigned int max_order;
	unsigned int want;
};

/* Where @run pages in front of @index are of folios of @folio pages. */
static const struct fsk_order_row fsk_orders[] = {
	{ .desc = "page 0", .max_order = 9, .want = 0 },
	{ .desc = "no run", .index = 1 << 9, .max_order = 9, .want = 0 },
	{ .desc = "7 pages", .index = 1 << 9, .run = 7, .folio = 1,
	  .max_order = 9, .want = 0 },
	{ .desc = "15 pages", .index = 1 << 9, .run = 15, .folio = 1,
	  .max_order = 9, .want = 0 },
	{ .desc = "16 pages", .index = 1 << 9, .run = 16, .folio = 1,
	  .max_order = 9, .want = 1 },
	{ .desc = "many pages", .index = 1 << 9, .run = 1 << 9, .folio = 1,
	  .max_order = 9, .want = 2 },
	{ .desc = "many folios of order 4", .index = 1 << 12, .run = 1 << 12,
	  .folio = 16, .max_order = 9, .want = 6 },
	{ .desc = "limited", .index = 1 << 12, .run = 1 << 12, .folio = 16,
	  .max_order = 5, .want = 5 },
	{ .desc = "not aligned", .index = 3 << 3, .run = 3 << 3, .folio = 1,
	  .max_order = 9, .want = 1 },
	{ .desc = "at the end of 2^63 bytes",
	  .index = (1ULL << (63 - PAGE_SHIFT)) - (1 << 9), .run = 1 << 12,
	  .folio = 1 << 9, .max_order = 9, .want = 9 },
	{ .desc = "at the end of the index space",
	  .index = ULONG_MAX - 511, .run = 1 << 12, .folio = 1 << 9,
	  .max_order = 9, .want = 9 },
};

KUNIT_ARRAY_PARAM_DESC(fsk_order, fsk_orders, desc);

/* The arithmetic, to its limits. */
static void filemap_stream_order_of_a_run(struct kunit *test)
{
	const struct fsk_order_row *row = test->param_value;
	struct filemap_stream stream;
	pgoff_t first = row->index;
	bool more;

	more = filemap_stream_init(&stream, row->index, row->max_order);
	while (more && row->index - first < row->run) {
		first -= row->folio;
		more = filemap_stream_add(&stream, first);
	}
	KUNIT_EXPECT_EQ(test, row->want, filemap_stream_order(&stream));
	KUNIT_EXPECT_LE(test, stream.looked, FILEMAP_STREAM_LOOK_FOLIOS);
	KUNIT_EXPECT_EQ(test, min(row->want, 1U),
			filemap_stream_fit(&stream, row->want, row->index + 3));
}

#else

static void filemap_stream_is_absent(struct kunit *test)
{
	kunit_skip(test, "this kernel has no streams");
}

#endif /* FGF_STREAM_ABSENT */

static struct kunit_case filemap_stream_cases[] = {
#ifndef FGF_STREAM_ABSENT
	KUNIT_CASE_PARAM(filemap_stream_order_of_a_run, fsk_order_gen_params),
	KUNIT_CASE_PARAM(filemap_stream_ramps_up, fsk_ramp_gen_params),
	KUNIT_CASE(filemap_stream_grows_as_fast_as_it_may),
	KUNIT_CASE(filemap_stream_ends_at_a_jump),
	KUNIT_CASE_PARAM(filemap_stream_ends_with_a_sync, fsk_sync_gen_params),
	KUNIT_CASE(filemap_stream_leaves_logs_alone),
	KUNIT_CASE(filemap_stream_has_no_gaps),
	KUNIT_CASE(filemap_stream_fits_between_folios),
	KUNIT_CASE(filemap_stream_of_each_writer),
#else
	KUNIT_CASE(filemap_stream_is_absent),
#endif
	{}
};

static struct kunit_suite filemap_stream_suite = {
	.name = "filemap_stream",
	.test_cases = filemap_stream_cases,
};

kunit_test_suite(filemap_stream_suite);

MODULE_DESCRIPTION("KUnit suite for large folios of streams of small writes");
MODULE_LICENSE("GPL");
