// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite for the iteration over the dirty folios of a file.
 *
 * Two files are filled alike at random. One is written with writeback_iter(), the
 * other with writeback_iter_run(). Both must write the same folios in the same
 * order, with the same errors, and leave the same behind.
 */
#include <kunit/test.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/prandom.h>
#include <linux/swap.h>
#include <linux/writeback.h>
#include <linux/writeback_batch.h>
#include <linux/writeback_iter.h>
#include <linux/writeback_start.h>

#include "writeback_fixture.h"

/* Each row of the comparison runs this many seeds. */
#define WBI_SEEDS	12

/* Folios in a file. */
#define WBI_FOLIOS	150

/* Further away than the folios of a run. */
#define WBI_FAR		40

/**
 * struct wbi_row - How files are filled and written.
 * @desc: Name.
 * @seed: First seed.
 * @max_order: Largest order of a folio.
 * @bound: Folios of a run.
 * @sync: For data integrity.
 * @tagged: Write only what was dirty when writing began.
 * @cyclic: Begin where writing last stopped.
 * @budget: Stop after about so many pages; 0 is no limit.
 * @errors: Writing one of so many folios fails; 0 is none.
 * @busy: One of so many folios is under writeback already; 0 is none.
 * @truncate: One of so many folios, when written, truncates one far behind.
 * @redirty: One of so many folios is dirty again once written.
 * @part: Write a part of the file.
 * @alone: One of so many folios is in no run with others; 0 is none.
 */
struct wbi_row {
	const char *desc;
	u32 seed;
	unsigned int max_order;
	unsigned int bound;
	bool sync;
	bool tagged;
	bool cyclic;
	unsigned int budget;
	unsigned int errors;
	unsigned int busy;
	unsigned int truncate;
	unsigned int redirty;
	bool part;
	unsigned int alone;
};

static const struct wbi_row wbi_rows[] = {
	{ .desc = "background", .seed = 100, .bound = 31 },
	{ .desc = "data integrity", .seed = 200, .bound = 31, .sync = true },
	{ .desc = "tagged", .seed = 300, .bound = 31, .tagged = true },
	{ .desc = "orders to 9", .seed = 400, .bound = 31, .max_order = 9 },
	{ .desc = "bound 1", .seed = 500, .bound = 1, .max_order = 2 },
	{ .desc = "bound 7", .seed = 600, .bound = 7, .max_order = 2 },
	{ .desc = "part of the file", .seed = 700, .bound = 31, .part = true },
	{ .desc = "cyclic with a budget", .seed = 800, .bound = 31,
	  .cyclic = true, .budget = 40, .max_order = 3 },
	{ .desc = "budget of one", .seed = 900, .bound = 31, .budget = 1 },
	{ .desc = "budget and data integrity", .seed = 1000, .bound = 31,
	  .sync = true, .budget = 20 },
	{ .desc = "errors", .seed = 1100, .bound = 31, .errors = 30,
	  .max_order = 2, .cyclic = true },
	{ .desc = "errors and data integrity", .seed = 1200, .bound = 31,
	  .errors = 9, .sync = true },
	{ .desc = "under writeback", .seed = 1300, .bound = 31, .busy = 6 },
	{ .desc = "truncated while found", .seed = 1400, .bound = 7,
	  .truncate = 5 },
	{ .desc = "truncated while tagged", .seed = 1500, .bound = 7,
	  .truncate = 5, .sync = true },
	{ .desc = "dirty again", .seed = 1600, .bound = 31, .redirty = 3,
	  .tagged = true },
	{ .desc = "folios that go alone", .seed = 1700, .bound = 31,
	  .alone = 9, .max_order = 2 },
};

KUNIT_ARRAY_PARAM_DESC(wbi_row, wbi_rows, desc);

/**
 * struct wbi_file - A file, and what happened when it was written.
 * @test: The test.
 * @row: How it is filled and written.
 * @seed: What all choices depend on.
 * @inode: The file.
 * @folios: Its folios; NULL for one that has been truncated.
 * @index: Their page indices.
 * @nr: Their number.
 * @written: Page indices in the order of writing.
 * @nr_written: Number of @written.
 * @next: Page index behind the folio written last.
 * @left: Of the budget.
 * @error: What the iteration ended with.
 * @first_error: The first error of writing a folio.
 * @several: Runs of more than one folio.
 * @wide: Those with more pages than a batch has folios.
 */
struct wbi_file {
	struct kunit *test;
	const struct wbi_row *row;
	u32 seed;
	struct inode *inode;
	struct folio *folios[WBI_FOLIOS];
	pgoff_t index[WBI_FOLIOS];
	unsigned int nr;
	pgoff_t written[WBI_FOLIOS];
	unsigned int nr_written;
	pgoff_t next;
	long left;
	int error;
	int first_error;
	unsigned int several;
	unsigned int wide;
};

/* A decision about a page index that is the same for both files. */
static bool wbi_chosen(const struct wbi_file *file, pgoff_t index,
		unsigned int one_in, u32 what)
{
	struct rnd_state rnd;

	if (!one_in)
		return false;
	prandom_seed_state(&rnd, file->seed * 7919ULL + index * 31 + what);
	return prandom_u32_state(&rnd) % one_in == 0;
}

static void wbi_fill(struct wbi_file *file)
{
	const struct wbi_row *row = file->row;
	struct rnd_state rnd;
	pgoff_t index = 0;
	unsigned int order;

	prandom_seed_state(&rnd, file->seed);
	for (; file->nr < WBI_FOLIOS; file->nr++) {
		struct folio *folio;

		order = prandom_u32_state(&rnd) % (row->max_order + 1);
		order = min(order,
			    mapping_max_folio_order(file->inode->i_mapping));
		if (prandom_u32_state(&rnd) % 12 == 0)
			index += prandom_u32_state(&rnd) % 70;
		index = round_up(index, 1UL << order);
		folio = wbf_folio_add(file->test, file->inode, index, order,
				      GFP_KERNEL);
		file->folios[file->nr] = folio;
		file->index[file->nr] = index;
		/* Without the flag, nobody but the suite looks at it. */
		folio->private = file;
		if (prandom_u32_state(&rnd) % 9)
			wbf_folio_dirty(folio);
		if (folio_test_dirty(folio) &&
		    wbi_chosen(file, index, row->busy, 1)) {
			wbf_folio_start(folio, false);
			wbf_folio_dirty(folio);
		}
		index += 1UL << order;
	}
}

static struct wbi_file *wbi_create(struct kunit *test, struct wbf_fs *fs,
		const struct wbi_row *row, u32 seed)
{
	struct wbi_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, file);
	file->test = test;
	file->row = row;
	file->seed = seed;
	file->inode = wbf_inode_create(test, fs, NULL);
	wbi_fill(file);
	return file;
}

/*
 * Take a folio far behind @index out of the page cache: it may have been found.
 * Who has pinned it can dirty it even then.
 */
static void wbi_truncate_behind(struct wbi_file *file, pgoff_t index)
{
	loff_t pos = (loff_t)(index + WBI_FAR / 2) << PAGE_SHIFT;
	struct folio *folio = NULL;
	unsigned int i;

	for (i = 0; i < file->nr; i++) {
		if (file->index[i] == index + WBI_FAR / 2)
			break;
	}
	if (i < file->nr)
		folio = file->folios[i];
	if (!folio)
		return;
	folio_get(folio);
	truncate_inode_pages_range(file->inode->i_mapping, pos,
				   pos + PAGE_SIZE - 1);
	wbf_folio_dirty(folio);
	folio_put(folio);
	file->folios[i] = NULL;
}

/* Write one folio: it is locked and clean, and unlocked on return. */
static int wbi_write_folio(struct wbi_file *file, struct folio *folio)
{
	pgoff_t index = folio->index;

	if (!file->row->sync) {
		KUNIT_EXPECT_EQ(file->test, 0, file->first_error);
		KUNIT_EXPECT_GT(file->test, file->left, 0);
	}
	KUNIT_EXPECT_TRUE(file->test, folio_test_locked(folio));
	KUNIT_EXPECT_FALSE(file->test, folio_test_dirty(folio));
	KUNIT_EXPECT_FALSE(file->test, folio_test_writeback(folio));
	if (file->nr_written < WBI_FOLIOS)
		file->written[file->nr_written] = index;
	file->nr_written++;
	file->next = folio_next_index(folio);
	file->left -= folio_nr_pages(folio);

	folio_start_writeback(folio);
	folio_unlock(folio);
	folio_end_writeback(folio);
	if (wbi_chosen(file, index, file->row->redirty, 2))
		wbf_folio_dirty(folio);
	if (wbi_chosen(file, index, file->row->truncate, 3))
		wbi_truncate_behind(file, index);
	if (!wbi_chosen(file, index, file->row->errors, 4))
		return 0;
	if (!file->first_error)
		file->first_error = -1 - (int)(index % 100);
	return -1 - (int)(index % 100);
}

static void wbi_prepare(struct wbi_file *file, struct writeback_control *wbc)
{
	const struct wbi_row *row = file->row;

	file->first_error = 0;
	file->error = 0;
	file->left = row->budget ? row->budget : LONG_MAX;

	wbc->sync_mode = row->sync ? WB_SYNC_ALL : WB_SYNC_NONE;
	wbc->tagged_writepages = row->tagged;
	wbc->range_cyclic = row->cyclic;
	wbc->nr_to_write = row->budget ? row->budget : LONG_MAX;
	wbc->range_end = LLONG_MAX;
	if (row->part) {
		wbc->range_start = 5 << PAGE_SHIFT;
		wbc->range_end = ((loff_t)file->index[WBI_FOLIOS / 2]
				  << PAGE_SHIFT) - 1;
	}
}

/* What holds for either iteration, whatever it was made of. */
static void wbi_check_end(struct wbi_file *file, struct writeback_control *wbc)
{
	bool stopped = file->first_error || file->left <= 0;

	KUNIT_EXPECT_EQ(file->test, file->first_error, file->error);
	KUNIT_EXPECT_EQ(file->test, file->left, wbc->nr_to_write);
	if (file->row->cyclic)
		KUNIT_EXPECT_EQ(file->test, stopped ? file->next : 0,
				file->inode->i_mapping->writeback_index);
}

static void wbi_write_single(struct wbi_file *file)
{
	struct address_space *mapping = file->inode->i_mapping;
	struct writeback_control wbc = {};
	struct folio *folio = NULL;

	wbi_prepare(file, &wbc);
	while ((folio = writeback_iter(mapping, &wbc, folio, &file->error)))
		file->error = wbi_write_folio(file, folio);
	wbi_check_end(file, &wbc);
}

/* Write a run the way a file system has to. Returns the first error. */
static int wbi_write_run(struct wbi_file *file, struct writeback_control *wbc,
		struct writeback_run *run)
{
	unsigned int i, nr = folio_batch_count(&run->folios);
	struct folio *folio;
	int error, first = 0;

	for (i = 0; i < nr; i++) {
		folio = run->folios.folios[i];
		if (first && wbc->sync_mode == WB_SYNC_NONE) {
			run->next = min(run->next, folio->index);
			folio_redirty_for_writepage(wbc, folio);
			folio_unlock(folio);
			continue;
		}
		error = wbi_write_folio(file, folio);
		if (!first)
			first = error;
	}
	return first;
}

static bool wbi_alone(struct wbi_file *file, struct folio *folio)
{
	return wbi_chosen(file, folio->index, file->row->alone, 5);
}

static bool wbi_joins(struct folio *folio)
{
	struct wbi_file *file = folio->private;

	KUNIT_EXPECT_TRUE(file->test, folio_test_locked(folio));
	KUNIT_EXPECT_TRUE(file->test, folio_test_dirty(folio));
	return !wbi_alone(file, folio);
}

/* A file system does not know everything: it may ask for any length. */
static unsigned int wbi_choose_pages(struct wbi_file *file, pgoff_t index)
{
	if (wbi_chosen(file, index, 3, 6))
		return WRITEBACK_RUN_PAGES;
	return wbi_chosen(file, index, 2, 7) ? PAGEVEC_SIZE : 3;
}

/* The members of a run follow each other and are not more than allowed. */
static void wbi_check_run(struct wbi_file *file, struct writeback_run *run,
		unsigned int max_pages)
{
	unsigned int i, nr = folio_batch_count(&run->folios);
	pgoff_t index = run->first;

	KUNIT_EXPECT_GT(file->test, nr, 0);
	KUNIT_EXPECT_LE(file->test, nr, file->row->bound);
	if (nr > 1) {
		KUNIT_EXPECT_LE(file->test, run->next - run->first, max_pages);
		file->several++;
		file->wide += run->next - run->first > PAGEVEC_SIZE;
	}
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(file->test, index, run->folios.folios[i]->index);
		index = folio_next_index(run->folios.folios[i]);
		if (nr > 1)
			KUNIT_EXPECT_FALSE(file->test,
				wbi_alone(file, run->folios.folios[i]));
	}
	KUNIT_EXPECT_EQ(file->test, index, run->next);
}

static void wbi_write_runs(struct wbi_file *file)
{
	struct address_space *mapping = file->inode->i_mapping;
	struct writeback_control wbc = {};
	struct writeback_run run;
	unsigned int max_pages;
	pgoff_t next = 0;

	wbi_prepare(file, &wbc);
	writeback_run_init(&run, wbi_joins);
	max_pages = run.max_pages;
	while (writeback_iter_run(mapping, &wbc, &run, &file->error)) {
		if (run.first != next)
			max_pages = PAGEVEC_SIZE;
		wbi_check_run(file, &run, max_pages);
		file->error = wbi_write_run(file, &wbc, &run);
		next = run.next;
		max_pages = wbi_choose_pages(file, next);
		run.max_pages = max_pages;
	}
	wbi_check_end(file, &wbc);
}

static bool wbi_marked(struct wbi_file *file, pgoff_t index, xa_mark_t mark)
{
	return xa_get_mark(&file->inode->i_mapping->i_pages, index, mark);
}

static void wbi_compare_folio(struct wbi_file *a, struct wbi_file *b,
		unsigned int i)
{
	struct kunit *test = a->test;
	pgoff_t index = a->index[i];
	xa_mark_t mark = PAGECACHE_TAG_DIRTY;

	KUNIT_EXPECT_EQ(test, !a->folios[i], !b->folios[i]);
	if (!a->folios[i] || !b->folios[i])
		return;
	KUNIT_EXPECT_EQ_MSG(test, folio_test_dirty(a->folios[i]),
		folio_test_dirty(b->folios[i]),
		"seed %u: dirty at index %lu", a->seed, index);
	KUNIT_EXPECT_FALSE(test, folio_test_locked(b->folios[i]));
	KUNIT_EXPECT_EQ_MSG(test, folio_ref_count(a->folios[i]),
		folio_ref_count(b->folios[i]),
		"seed %u: references at index %lu", a->seed, index);
	KUNIT_EXPECT_EQ_MSG(test, wbi_marked(a, index, mark),
		wbi_marked(b, index, mark), "seed %u: dirty mark at index %lu",
		a->seed, index);
	mark = PAGECACHE_TAG_TOWRITE;
	KUNIT_EXPECT_EQ_MSG(test, wbi_marked(a, index, mark),
		wbi_marked(b, index, mark),
		"seed %u: towrite mark at index %lu", a->seed, index);
}

static void wbi_compare(struct wbi_file *a, struct wbi_file *b)
{
	struct kunit *test = a->test;
	unsigned int i;

	/* The caches of the LRU lists have references. */
	lru_add_drain_all();
	KUNIT_EXPECT_EQ_MSG(test, a->nr_written, b->nr_written,
			    "seed %u: folios written", a->seed);
	for (i = 0; i < min3(a->nr_written, b->nr_written, WBI_FOLIOS + 0U); i++)
		KUNIT_EXPECT_EQ_MSG(test, a->written[i], b->written[i],
				    "seed %u: folio %u", a->seed, i);
	KUNIT_EXPECT_EQ(test, a->left, b->left);
	KUNIT_EXPECT_EQ(test, a->error, b->error);
	KUNIT_EXPECT_EQ(test, a->inode->i_mapping->writeback_index,
			b->inode->i_mapping->writeback_index);
	for (i = 0; i < a->nr; i++)
		wbi_compare_folio(a, b, i);
}

/*
 * What has been written and what is left. Kernels that share code between the two
 * iterations, and that do not, print the same digests.
 */
static u64 wbi_digest(struct wbi_file *file, u64 digest)
{
	unsigned int i;

	digest = wbf_digest(digest, file->nr_written);
	digest = wbf_digest(digest, file->left);
	digest = wbf_digest(digest, file->error);
	digest = wbf_digest(digest, file->inode->i_mapping->writeback_index);
	for (i = 0; i < min(file->nr_written, WBI_FOLIOS + 0U); i++)
		digest = wbf_digest(digest, file->written[i]);
	for (i = 0; i < file->nr; i++) {
		pgoff_t index = file->index[i];

		digest = wbf_digest(digest, file->folios[i] &&
				    folio_test_dirty(file->folios[i]));
		digest = wbf_digest(digest, wbi_marked(file, index,
						       PAGECACHE_TAG_DIRTY));
		digest = wbf_digest(digest, wbi_marked(file, index,
						       PAGECACHE_TAG_TOWRITE));
	}
	return digest;
}

static void wbi_release(struct wbi_file *file)
{
	unsigned int i;

	for (i = 0; i < file->nr; i++) {
		if (file->folios[i] && folio_test_writeback(file->folios[i]))
			folio_end_writeback(file->folios[i]);
	}
	wbf_inode_release(file->test, file->inode);
	kunit_kfree(file->test, file);
}

static void writeback_iter_run_does_what_writeback_iter_does(struct kunit *test)
{
	const struct wbi_row *row = test->param_value;
	struct wbf_fs *fs = wbf_fs_create(test);
	unsigned int written = 0, several = 0, wide = 0, round;
	struct wbi_file *a, *b;
	u64 digest;
	u32 seed;

	wbf_set_bound(test, row->bound);
	for (seed = row->seed; seed < row->seed + WBI_SEEDS; seed++) {
		a = wbi_create(test, fs, row, seed);
		b = wbi_create(test, fs, row, seed);
		digest = WBF_DIGEST;
		/* Cyclic writeback goes on where it stopped. */
		for (round = 0; round < 3; round++) {
			a->nr_written = 0;
			b->nr_written = 0;
			wbi_write_single(a);
			wbi_write_runs(b);
			wbi_compare(a, b);
			written += a->nr_written;
			digest = wbi_digest(b, wbi_digest(a, digest));
		}
		pr_info("# writeback_iter: seed=%u digest=%016llx\n", seed, digest);
		several += b->several;
		wide += b->wide;
		wbi_release(a);
		wbi_release(b);
	}
	KUNIT_EXPECT_GT(test, written, 0);
	if (WRITEBACK_RUN_PAGES == 1)
		return;
	/* Whatever is said of runs has been seen of some. */
	if (row->bound > 1 && row->budget != 1)
		KUNIT_EXPECT_GT(test, several, 0);
	if (row->bound == PAGEVEC_SIZE && row->max_order > 4)
		KUNIT_EXPECT_GT(test, wide, 0);
}

/* Waiting */

struct wbi_writer {
	struct wbi_file *file;
	bool done;
};

static void wbi_write_in_thread(void *data)
{
	struct wbi_writer *writer = data;

	wbi_write_runs(writer->file);
	WRITE_ONCE(writer->done, true);
}

static const struct wbi_row wbi_all_dirty = {
	.seed = 1, .bound = PAGEVEC_SIZE, .sync = true,
};

/* A file of dirty folios of one page, without a hole. */
static struct wbi_file *wbi_create_dense(struct kunit *test)
{
	struct wbi_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	struct wbf_fs *fs = wbf_fs_create(test);

	KUNIT_ASSERT_NOT_NULL(test, file);
	file->test = test;
	file->row = &wbi_all_dirty;
	file->inode = wbf_inode_create(test, fs, NULL);
	for (; file->nr < 20; file->nr++) {
		file->index[file->nr] = file->nr;
		file->folios[file->nr] = wbf_folio_add_dirty(test, file->inode,
							     file->nr, 0);
	}
	return file;
}

/* What is in front of a folio that another task has locked is not held up. */
static void writeback_iter_run_with_a_locked_folio(struct kunit *test)
{
	struct wbi_file *file = wbi_create_dense(test);
	struct wbi_writer writer = { .file = file };
	struct wbf_thread *thread;
	unsigned int i, written;
	bool joined;

	folio_lock(file->folios[7]);
	thread = wbf_thread_start(test, wbi_write_in_thread, &writer);
	KUNIT_EXPECT_TRUE(test, wbf_thread_blocked(thread));
	written = READ_ONCE(file->nr_written);
	KUNIT_EXPECT_EQ(test, 7, written);
	for (i = 8; i < file->nr; i++)
		KUNIT_EXPECT_FALSE(test, folio_test_locked(file->folios[i]));
	folio_unlock(file->folios[7]);

	joined = wbf_thread_join(thread);
	KUNIT_ASSERT_TRUE(test, joined);
	KUNIT_EXPECT_EQ(test, file->nr, file->nr_written);
	for (i = 0; i < file->nr; i++)
		KUNIT_EXPECT_EQ(test, i, file->written[i]);
}

/* For data integrity, writeback under way is waited for, by nobody else. */
static void writeback_iter_run_with_a_folio_under_writeback(struct kunit *test)
{
	struct wbi_file *file = wbi_create_dense(test);
	struct wbi_writer writer = { .file = file };
	struct wbf_thread *thread;
	unsigned int i;
	bool joined;

	wbf_folio_start(file->folios[7], false);
	wbf_folio_dirty(file->folios[7]);
	thread = wbf_thread_start(test, wbi_write_in_thread, &writer);
	KUNIT_EXPECT_TRUE(test, wbf_thread_blocked(thread));
	KUNIT_EXPECT_EQ(test, 7, READ_ONCE(file->nr_written));
	for (i = 8; i < file->nr; i++)
		KUNIT_EXPECT_FALSE(test, folio_test_locked(file->folios[i]));
	folio_end_writeback(file->folios[7]);

	joined = wbf_thread_join(thread);
	KUNIT_ASSERT_TRUE(test, joined);
	KUNIT_EXPECT_EQ(test, file->nr, file->nr_written);
}

/* Races */

#define WBI_RACE_FOLIOS	80
#define WBI_RACE_SYNCS	150

/**
 * struct wbi_race - A file that is dirtied, written and synced at the same time.
 * @inode: The file.
 * @folios: Its folios.
 * @dirtied: How often each was dirtied; counted before it is marked dirty.
 * @marked: The value of @dirtied that each has been marked dirty with.
 * @written: The value of @dirtied that each was last written with.
 * @wrote: Folios written in the background.
 * @stop: It is over.
 */
struct wbi_race {
	struct inode *inode;
	struct folio *folios[WBI_RACE_FOLIOS];
	unsigned long dirtied[WBI_RACE_FOLIOS];
	unsigned long marked[WBI_RACE_FOLIOS];
	unsigned long written[WBI_RACE_FOLIOS];
	unsigned long wrote;
	bool stop;
};

static unsigned int wbi_race_write(struct wbi_race *race,
		struct writeback_control *wbc)
{
	unsigned long contents[PAGEVEC_SIZE];
	unsigned int i, nr, wrote = 0;
	struct folio_batch fbatch;
	struct writeback_run run;
	int error = 0;

	writeback_run_init(&run, NULL);
	while (writeback_iter_run(race->inode->i_mapping, wbc, &run, &error)) {
		folio_batch_init(&fbatch);
		nr = folio_batch_count(&run.folios);
		for (i = 0; i < nr; i++) {
			folio_batch_add(&fbatch, run.folios.folios[i]);
			contents[i] = READ_ONCE(race->dirtied[run.first + i]);
		}
		folios_start_writeback(&fbatch);
		for (i = 0; i < nr; i++)
			folio_unlock(fbatch.folios[i]);
		for (i = 0; i < nr; i++)
			WRITE_ONCE(race->written[run.first + i], contents[i]);
		folios_end_writeback(&fbatch);
		wrote += nr;
	}
	return wrote;
}

static unsigned int wbi_race_sync(struct wbi_race *race)
{
	struct writeback_control wbc = {
		.sync_mode = WB_SYNC_ALL,
		.nr_to_write = LONG_MAX,
		.range_end = LLONG_MAX,
	};

	unsigned int wrote = wbi_race_write(race, &wbc);

	filemap_fdatawait_range(race->inode->i_mapping, 0, LLONG_MAX);
	return wrote;
}

static void wbi_race_flusher(void *data)
{
	struct wbi_race *race = data;

	while (!READ_ONCE(race->stop)) {
		struct writeback_control wbc = {
			.sync_mode = WB_SYNC_NONE,
			.nr_to_write = 40,
			.range_cyclic = true,
		};

		WRITE_ONCE(race->wrote,
			   race->wrote + wbi_race_write(race, &wbc));
		cond_resched();
	}
}

/* Dirties folios, locks some for a moment, and marks some as another fsync() does. */
static void wbi_race_dirtier(void *data)
{
	struct wbi_race *race = data;
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 1);
	while (!READ_ONCE(race->stop)) {
		i = prandom_u32_state(&rnd) % WBI_RACE_FOLIOS;
		switch (prandom_u32_state(&rnd) % 8) {
		case 0:
			if (folio_trylock(race->folios[i]))
				folio_unlock(race->folios[i]);
			break;
		case 1:
			tag_pages_for_writeback(race->inode->i_mapping, i / 2, i);
			break;
		default:
			WRITE_ONCE(race->dirtied[i], race->dirtied[i] + 1);
			folio_mark_dirty(race->folios[i]);
			WRITE_ONCE(race->marked[i], race->dirtied[i]);
		}
		cond_resched();
	}
}

/*
 * What was dirtied before an fsync() is written when it returns. Returns how many
 * folios were not. @syncs counts those that found something to write.
 */
static unsigned int wbi_race_lost(struct wbi_race *race, unsigned int *syncs)
{
	unsigned long marked[WBI_RACE_FOLIOS];
	unsigned int i, lost = 0;

	for (i = 0; i < WBI_RACE_FOLIOS; i++)
		marked[i] = READ_ONCE(race->marked[i]);
	*syncs += wbi_race_sync(race) > 0;
	for (i = 0; i < WBI_RACE_FOLIOS; i++)
		lost += READ_ONCE(race->written[i]) < marked[i];
	return lost;
}

static void writeback_iter_run_races_with_dirtying(struct kunit *test)
{
	struct wbi_race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	struct wbf_fs *fs = wbf_fs_create(test);
	struct wbf_thread *flusher, *dirtier;
	struct wbf_counters before, after;
	unsigned int i, lost = 0, syncs = 0;
	unsigned long end;
	bool joined;

	KUNIT_ASSERT_NOT_NULL(test, race);
	race->inode = wbf_inode_create(test, fs, NULL);
	for (i = 0; i < WBI_RACE_FOLIOS; i++)
		race->folios[i] = wbf_folio_add(test, race->inode, i, 0,
						GFP_KERNEL);
	wbf_counters_read(fs, &before);
	flusher = wbf_thread_start(test, wbi_race_flusher, race);
	dirtier = wbf_thread_start(test, wbi_race_dirtier, race);
	/* The other threads may take a while to begin. */
	end = jiffies + WBF_TIMEOUT;
	while ((syncs < WBI_RACE_SYNCS || !READ_ONCE(race->wrote)) &&
	       time_before(jiffies, end)) {
		lost += wbi_race_lost(race, &syncs);
		cond_resched();
	}
	WRITE_ONCE(race->stop, true);
	joined = wbf_thread_join(flusher);
	joined &= wbf_thread_join(dirtier);
	KUNIT_ASSERT_TRUE(test, joined);
	wbi_race_sync(race);

	KUNIT_EXPECT_EQ_MSG(test, 0, lost, "folios not written by an fsync()");
	KUNIT_EXPECT_GE(test, syncs, WBI_RACE_SYNCS);
	KUNIT_EXPECT_GT(test, race->wrote, 0);
	for (i = 0; i < WBI_RACE_FOLIOS; i++)
		KUNIT_EXPECT_EQ(test, race->dirtied[i], race->written[i]);
	KUNIT_EXPECT_FALSE(test, mapping_tagged(race->inode->i_mapping,
						PAGECACHE_TAG_DIRTY));
	KUNIT_EXPECT_FALSE(test, mapping_tagged(race->inode->i_mapping,
						PAGECACHE_TAG_WRITEBACK));
	wbf_counters_read(fs, &after);
	KUNIT_EXPECT_EQ(test, before.wb_reclaimable, after.wb_reclaimable);
	KUNIT_EXPECT_EQ(test, before.wb_writeback, after.wb_writeback);
	KUNIT_EXPECT_EQ(test, before.dirty, after.dirty);
	KUNIT_EXPECT_EQ(test, before.writeback, after.writeback);
	KUNIT_EXPECT_EQ(test, before.pending, after.pending);
}

static struct kunit_case writeback_iter_cases[] = {
	KUNIT_CASE_PARAM(writeback_iter_run_does_what_writeback_iter_does,
			 wbi_row_gen_params),
	KUNIT_CASE(writeback_iter_run_with_a_locked_folio),
	KUNIT_CASE(writeback_iter_run_with_a_folio_under_writeback),
	KUNIT_CASE(writeback_iter_run_races_with_dirtying),
	{}
};

static struct kunit_suite writeback_iter_suite = {
	.name		= "writeback_iter",
	.test_cases	= writeback_iter_cases,
};

kunit_test_suite(writeback_iter_suite);

MODULE_DESCRIPTION("KUnit suite for the iteration over dirty folios");
MODULE_LICENSE("GPL");
