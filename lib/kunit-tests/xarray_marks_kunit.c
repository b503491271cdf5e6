// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite for operations on the marks of a range of XArray entries.
 *
 * The expected marks are kept in a list beside the array and follow from it by
 * comparing indices. What is compared with them are the marks of the entries, the
 * marks of every node above an entry, and what a search for a mark finds.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/prandom.h>
#include <linux/xarray.h>
#include <linux/xarray_marks.h>

/* Entries in an array. */
#define XM_ENTRIES	160

/* Each row of the model case runs this many seeds. */
#define XM_SEEDS	4

/* Ranges that are changed in one array. */
#define XM_RANGES	24

#define XM_MARKS	3

static const xa_mark_t xm_marks[XM_MARKS] = { XA_MARK_0, XA_MARK_1, XA_MARK_2 };

/**
 * struct xm_entry - An entry of the array and what it must look like.
 * @first: Its first index.
 * @last: Its last index.
 * @marks: A bit for each mark that it must have.
 */
struct xm_entry {
	unsigned long first;
	unsigned long last;
	unsigned long marks;
};

/**
 * struct xm_model - An array and its entries.
 * @test: The test.
 * @xa: The array.
 * @rnd: Source of all choices; depends on the seed alone.
 * @seed: What @rnd was seeded with; messages name it.
 * @nr: Number of @entries in use.
 * @entries: The entries, in ascending order.
 */
struct xm_model {
	struct kunit *test;
	struct xarray xa;
	struct rnd_state rnd;
	u32 seed;
	unsigned int nr;
	struct xm_entry entries[XM_ENTRIES];
};

static void xm_destroy(void *xa)
{
	xa_destroy(xa);
}

static struct xm_model *xm_create(struct kunit *test, u32 seed)
{
	struct xm_model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, model);
	model->test = test;
	model->seed = seed;
	prandom_seed_state(&model->rnd, seed);
	/* The page cache's lock is taken with interrupts off. */
	xa_init_flags(&model->xa, XA_FLAGS_LOCK_IRQ);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, xm_destroy,
							   &model->xa));
	return model;
}

static void xm_empty(struct xm_model *model)
{
	xa_destroy(&model->xa);
	model->nr = 0;
}

static u32 xm_below(struct xm_model *model, u32 ceil)
{
	return prandom_u32_state(&model->rnd) % ceil;
}

/* Store an entry of 2^@order indices with @marks behind all others. */
static void xm_add(struct xm_model *model, unsigned long first,
		unsigned int order, unsigned long marks)
{
	XA_STATE_ORDER(xas, &model->xa, first, order);
	struct xm_entry *entry = &model->entries[model->nr];
	unsigned int i;

	KUNIT_ASSERT_LT(model->test, model->nr, XM_ENTRIES);
	do {
		xas_lock_irq(&xas);
		xas_store(&xas, xa_mk_value(model->nr + 1));
		for (i = 0; i < XM_MARKS && !xas_error(&xas); i++) {
			if (marks & BIT(i))
				xas_set_mark(&xas, xm_marks[i]);
		}
		xas_unlock_irq(&xas);
	} while (xas_nomem(&xas, GFP_KERNEL));
	KUNIT_ASSERT_EQ(model->test, 0, xas_error(&xas));

	*entry = (struct xm_entry){ .first = first, .marks = marks,
		.last = first + (1UL << order) - 1 };
	model->nr++;
}

/**
 * enum xm_op - What is done to the marks of a range.
 * @XM_CLEAR: Clear a mark.
 * @XM_SET: Set a mark.
 * @XM_COPY: Set the mark after it where the mark is set.
 */
enum xm_op { XM_CLEAR, XM_SET, XM_COPY };

/* The mark after another one. */
static unsigned int xm_after(unsigned int which)
{
	return (which + 1) % XM_MARKS;
}

/* Copy in several calls, with the lock dropped in between. Returns the sum. */
static unsigned int xm_copy(struct xm_model *model, unsigned long first,
		unsigned long last, unsigned int which, unsigned int limit)
{
	XA_STATE(xas, &model->xa, first);
	unsigned int nr, sum = 0;

	for (;;) {
		xas_lock_irq(&xas);
		nr = xas_copy_mark_range(&xas, last, xm_marks[which],
					 xm_marks[xm_after(which)], limit);
		xas_pause(&xas);
		xas_unlock_irq(&xas);
		KUNIT_EXPECT_LT(model->test, nr, limit + XA_CHUNK_SIZE);
		sum += nr;
		if (nr < limit)
			return sum;
	}
}

/* What an operation does to the marks of the entries in the list. */
static unsigned int xm_expect(struct xm_model *model, enum xm_op op,
		unsigned long first, unsigned long last, unsigned int which)
{
	unsigned int i, copied = 0;

	for (i = 0; i < model->nr; i++) {
		struct xm_entry *entry = &model->entries[i];

		if (entry->first > last || entry->last < first)
			continue;
		if (op == XM_CLEAR)
			entry->marks &= ~BIT(which);
		if (op == XM_SET)
			entry->marks |= BIT(which);
		if (op == XM_COPY && (entry->marks & BIT(which))) {
			entry->marks |= BIT(xm_after(which));
			copied++;
		}
	}
	return copied;
}

/* Change the @which-th mark from index @first to @last, in array and list. */
static void xm_change(struct xm_model *model, enum xm_op op,
		unsigned long first, unsigned long last, unsigned int which)
{
	unsigned int want = xm_expect(model, op, first, last, which);
	XA_STATE(xas, &model->xa, first);

	if (op == XM_COPY) {
		/* xas_pause() does not know an end of the index space. */
		unsigned int limit = last == ULONG_MAX ? INT_MAX :
				     1 + xm_below(model, 200);

		KUNIT_EXPECT_EQ(model->test, want,
				xm_copy(model, first, last, which, limit));
		return;
	}
	xas_lock_irq(&xas);
	if (op == XM_SET)
		xas_set_mark_range(&xas, last, xm_marks[which]);
	else
		xas_clear_mark_range(&xas, last, xm_marks[which]);
	xas_unlock_irq(&xas);
}

/* A slot with a node below has a mark if a slot of that node has it. */
static void xm_check_parents(struct xm_model *model, struct xa_state *xas,
		unsigned int which)
{
	struct xa_node *node = xas->xa_node, *parent;
	bool any;

	for (; node; node = parent) {
		parent = xa_parent_locked(&model->xa, node);
		any = !bitmap_empty(node->marks[which], XA_CHUNK_SIZE);
		if (!parent) {
			KUNIT_EXPECT_EQ_MSG(model->test, any,
				xa_marked(&model->xa, xm_marks[which]),
				"seed %u: mark %u of the array", model->seed,
				which);
			break;
		}
		KUNIT_EXPECT_EQ_MSG(model->test, any,
			test_bit(node->offset, parent->marks[which]),
			"seed %u: mark %u of a node of shift %u below index %lu",
			model->seed, which, node->shift, xas->xa_index);
	}
}

/* An entry of several slots has its marks in the first of them only. */
static void xm_check_sibling(struct xm_model *model, struct xa_state *xas,
		unsigned int which)
{
	struct xa_node *node = xas->xa_node;
	unsigned int offset;

	if (!node)
		return;
	offset = (xas->xa_index >> node->shift) & XA_CHUNK_MASK;
	if (offset == xas->xa_offset)
		return;
	KUNIT_EXPECT_FALSE_MSG(model->test,
		test_bit(offset, node->marks[which]),
		"seed %u: mark %u of a sibling slot at index %lu", model->seed,
		which, xas->xa_index);
}

/* Compare the marks of the @which-th kind with those that must be there. */
static void xm_check_mark(struct xm_model *model, unsigned int which)
{
	XA_STATE(search, &model->xa, 0);
	xa_mark_t mark = xm_marks[which];
	bool any = false;
	unsigned int i;

	for (i = 0; i < model->nr; i++) {
		struct xm_entry *entry = &model->entries[i];
		bool want = entry->marks & BIT(which);
		XA_STATE(xas, &model->xa, entry->last);

		KUNIT_EXPECT_PTR_EQ(model->test, xas_load(&xas),
				xa_mk_value(i + 1));
		KUNIT_EXPECT_EQ_MSG(model->test, want, xas_get_mark(&xas, mark),
			"seed %u: mark %u of the entry at index %lu",
			model->seed, which, entry->first);
		xm_check_sibling(model, &xas, which);
		xm_check_parents(model, &xas, which);
		any |= want;
		if (!want)
			continue;
		xas_set(&search, entry->first);
		KUNIT_EXPECT_PTR_EQ_MSG(model->test,
			xas_find_marked(&search, entry->first, mark),
			xa_mk_value(i + 1),
			"seed %u: searching mark %u at index %lu", model->seed,
			which, entry->first);
	}
	KUNIT_EXPECT_EQ_MSG(model->test, any, xa_marked(&model->xa, mark),
		"seed %u: mark %u of the array", model->seed, which);
}

static void xm_check(struct xm_model *model)
{
	unsigned int i;

	xa_lock_irq(&model->xa);
	for (i = 0; i < XM_MARKS; i++)
		xm_check_mark(model, i);
	xa_unlock_irq(&model->xa);
}

/* Model */

struct xm_row {
	const char *desc;
	u32 seed;
	unsigned long start;
	unsigned int max_order;
	unsigned int max_hole;
	unsigned int entries;
};

static const struct xm_row xm_rows[] = {
	{ .desc = "no entry", .seed = 100 },
	{ .desc = "one entry at index 0", .seed = 200, .entries = 1 },
	{ .desc = "dense", .seed = 300, .entries = XM_ENTRIES },
	{ .desc = "holes", .seed = 400, .entries = XM_ENTRIES, .max_hole = 9 },
	{ .desc = "holes of whole nodes", .seed = 500, .entries = 60,
	  .max_hole = 300 },
	{ .desc = "several levels", .seed = 600, .entries = XM_ENTRIES,
	  .start = (1UL << 24) - 70, .max_hole = 3 },
	{ .desc = "orders to 5, below a node", .seed = 700, .max_order = 5,
	  .entries = XM_ENTRIES, .max_hole = 9 },
	{ .desc = "orders to 9, above a node", .seed = 800, .max_order = 9,
	  .entries = 60, .max_hole = 90 },
	{ .desc = "orders to 9 behind a node boundary", .seed = 900,
	  .start = (1UL << 18) - 100, .max_order = 9, .entries = 60 },
	{ .desc = "last index", .seed = 1000, .start = -(unsigned long)XM_ENTRIES,
	  .entries = XM_ENTRIES },
};

KUNIT_ARRAY_PARAM_DESC(xm_model, xm_rows, desc);

/* Fill the array as @row says, each entry with marks of its own. */
static void xm_populate(struct xm_model *model, const struct xm_row *row)
{
	unsigned long index = row->start;
	unsigned int i;

	for (i = 0; i < row->entries; i++) {
		unsigned int order = 0;

		if (IS_ENABLED(CONFIG_XARRAY_MULTI) && row->max_order)
			order = xm_below(model, row->max_order + 1);
		if (row->max_hole && !xm_below(model, 4))
			index += xm_below(model, row->max_hole) + 1;
		index = round_up(index, 1UL << order);
		xm_add(model, index, order, xm_below(model, 1 << XM_MARKS));
		index += 1UL << order;
	}
}

/* Change a range that begins and ends about anywhere, most of them short. */
static void xm_change_some(struct xm_model *model, enum xm_op op,
		const struct xm_row *row)
{
	unsigned long end = row->start, first, last;

	if (model->nr)
		end = model->entries[model->nr - 1].last;
	first = row->start + xm_below(model, end - row->start + 1);
	last = first + xm_below(model, xm_below(model, 3) ? 40 : 900);
	if (last < first)
		last = ULONG_MAX;
	xm_change(model, op, first, last, xm_below(model, XM_MARKS));
}

/* @op on many ranges; where it sets marks, others are cleared in between. */
static void xm_run_row(struct kunit *test, enum xm_op op)
{
	const struct xm_row *row = test->param_value;
	unsigned long all = row->start + 9999;
	struct xm_model *model;
	unsigned int i, seed;

	if (all < row->start)
		all = ULONG_MAX;
	for (seed = row->seed; seed < row->seed + XM_SEEDS; seed++) {
		model = xm_create(test, seed);
		xm_populate(model, row);
		xm_check(model);
		for (i = 0; i < XM_RANGES; i++) {
			if (op != XM_CLEAR && xm_below(model, 2))
				xm_change_some(model, XM_CLEAR, row);
			xm_change_some(model, op, row);
			xm_check(model);
		}
		xm_change(model, op, row->start, all, 0);
		xm_check(model);
	}
}

static void xas_clear_mark_range_matches_model(struct kunit *test)
{
	xm_run_row(test, XM_CLEAR);
}

static void xas_set_mark_range_matches_model(struct kunit *test)
{
	xm_run_row(test, XM_SET);
}

static void xas_copy_mark_range_matches_model(struct kunit *test)
{
	xm_run_row(test, XM_COPY);
}

/* Bounds */

/* Every entry has @marks before the first mark is changed from i to j. */
static void xm_run_bounds(struct kunit *test, enum xm_op op,
		unsigned long marks)
{
	static const unsigned int bounds[] = {
		0, 1, 31, 62, 63, 64, 65, 100, 126, 127, 128, 129, 158, 159,
	};
	struct xm_model *model = xm_create(test, 0);
	unsigned int i, j, k;

	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		for (j = i; j < ARRAY_SIZE(bounds); j++) {
			xm_empty(model);
			for (k = 0; k < XM_ENTRIES; k++)
				xm_add(model, k, 0, marks);
			xm_change(model, op, bounds[i], bounds[j], 0);
			xm_check(model);
		}
	}
}

static void xas_clear_mark_range_keeps_what_is_outside(struct kunit *test)
{
	xm_run_bounds(test, XM_CLEAR, BIT(0) | BIT(1));
}

static void xas_set_mark_range_keeps_what_is_outside(struct kunit *test)
{
	xm_run_bounds(test, XM_SET, 0);
}

/* Where every entry has some mark, slots need not be looked at. */
static void xas_set_mark_range_beside_another_mark(struct kunit *test)
{
	xm_run_bounds(test, XM_SET, BIT(1));
}

static void xas_copy_mark_range_keeps_what_is_outside(struct kunit *test)
{
	xm_run_bounds(test, XM_COPY, BIT(0));
}

/* The last mark below a node takes the mark of each node above it along. */
static void xas_clear_mark_range_clears_parents(struct kunit *test)
{
	struct xm_model *model = xm_create(test, 0);
	unsigned long far = 1UL << 20;

	xm_add(model, 3, 0, BIT(0) | BIT(2));
	xm_add(model, far, 0, BIT(0));
	xm_add(model, far + 1, 0, BIT(0) | BIT(1));
	xm_change(model, XM_CLEAR, far, far, 0);
	xm_check(model);
	xm_change(model, XM_CLEAR, far + 1, far + 63, 0);
	xm_check(model);
	KUNIT_EXPECT_TRUE(test, xa_marked(&model->xa, XA_MARK_0));
	xm_change(model, XM_CLEAR, 0, 63, 0);
	xm_check(model);
	KUNIT_EXPECT_FALSE(test, xa_marked(&model->xa, XA_MARK_0));
}

/* Large entries, below a node and above it, between two of one index. */
static void xm_run_large(struct kunit *test, enum xm_op op, unsigned long marks)
{
	struct xm_model *model = xm_create(test, 0);

	if (!IS_ENABLED(CONFIG_XARRAY_MULTI))
		kunit_skip(test, "needs multi-index entries");
	xm_add(model, 15, 0, marks);
	xm_add(model, 16, 4, marks);
	xm_add(model, 32, 0, marks);
	xm_add(model, 512, 9, marks);
	xm_add(model, 1024, 0, marks);
	xm_change(model, op, 20, 21, 0);
	xm_check(model);
	xm_change(model, op, 600, 700, 0);
	xm_check(model);
	xm_change(model, op, 0, 63, 0);
	xm_check(model);
	xm_change(model, op, 0, 2000, 0);
	xm_check(model);
}

static void xas_clear_mark_range_takes_part_of_a_large_entry(struct kunit *test)
{
	xm_run_large(test, XM_CLEAR, BIT(0));
}

static void xas_set_mark_range_takes_part_of_a_large_entry(struct kunit *test)
{
	xm_run_large(test, XM_SET, 0);
}

static void xas_copy_mark_range_takes_part_of_a_large_entry(struct kunit *test)
{
	xm_run_large(test, XM_COPY, BIT(0));
}

static struct kunit_case xarray_marks_cases[] = {
	KUNIT_CASE_PARAM(xas_clear_mark_range_matches_model,
			 xm_model_gen_params),
	KUNIT_CASE(xas_clear_mark_range_keeps_what_is_outside),
	KUNIT_CASE(xas_clear_mark_range_clears_parents),
	KUNIT_CASE(xas_clear_mark_range_takes_part_of_a_large_entry),
	KUNIT_CASE_PARAM(xas_set_mark_range_matches_model,
			 xm_model_gen_params),
	KUNIT_CASE(xas_set_mark_range_keeps_what_is_outside),
	KUNIT_CASE(xas_set_mark_range_beside_another_mark),
	KUNIT_CASE(xas_set_mark_range_takes_part_of_a_large_entry),
	KUNIT_CASE_PARAM(xas_copy_mark_range_matches_model,
			 xm_model_gen_params),
	KUNIT_CASE(xas_copy_mark_range_keeps_what_is_outside),
	KUNIT_CASE(xas_copy_mark_range_takes_part_of_a_large_entry),
	{}
};

static struct kunit_suite xarray_marks_suite = {
	.name = "xarray_marks",
	.test_cases = xarray_marks_cases,
};

kunit_test_suite(xarray_marks_suite);

MODULE_DESCRIPTION("KUnit suite for the marks of a range of XArray entries");
MODULE_LICENSE("GPL");
