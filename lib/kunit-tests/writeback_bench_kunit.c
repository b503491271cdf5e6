// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit micro-benchmark for the accounting of folio writeback.
 *
 * Prints nanoseconds: in an emulator whose clock counts instructions, that is
 * instructions, exactly. Each call is timed with interrupts off, and the cost of
 * reading the clock is taken off. A file under test keeps one more folio under
 * writeback in the same tree node, so that no sample pays for the last one;
 * "only" is the cost of a folio that is alone.
 *
 *   # writeback_bench: end single ns=N
 *   # writeback_bench: end only ns=N
 *   # writeback_bench: end folios=N ns=N per_folio=N
 *   # writeback_bench: all single ns=N
 *   # writeback_bench: all folios=N ns=N per_folio=N
 *   # writeback_bench: hold layout=NAME ns=N irqs_off_ns=N folios=N
 *   # writeback_bench: hold_max ns=N folios=N
 *
 * "end" is the end of writeback, "all" is clearing the dirty flag, starting and
 * ending writeback. All are medians, but for irqs_off_ns: that is the longest time
 * for which starting or ending a full batch keeps interrupts off, and hold_max is
 * the longest of these.
 * It contains the longest hold of the i_pages lock. A timer that expires during
 * the call finds it, by how late it runs: the call is repeated with the timer set
 * to each point of it, a step apart, so that at most a step can be missed, which
 * is added.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/sort.h>
#include <linux/timekeeping.h>
#include <linux/writeback.h>
#include <linux/writeback_batch.h>
#include <linux/writeback_start.h>

#include "writeback_fixture.h"

#define WBB_WARM_UP	4
#define WBB_ROUNDS	65
#define WBB_HOLD_ROUNDS	9

/* From one expiry of the timer to the next: nanoseconds, at least. */
#define WBB_STEP	200

/* Index of the folio that stays under writeback. */
#define WBB_SENTINEL	40

static u64 wbb_samples[WBB_ROUNDS];

static int wbb_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 wbb_median(u64 *samples, unsigned int nr)
{
	sort(samples, nr, sizeof(*samples), wbb_compare, NULL);
	return samples[nr / 2];
}

/* What a pair of clock readings costs by itself. */
static u64 wbb_clock_cost(void)
{
	unsigned int i;
	u64 start;

	for (i = 0; i < WBB_ROUNDS; i++) {
		local_irq_disable();
		start = ktime_get_mono_fast_ns();
		wbb_samples[i] = ktime_get_mono_fast_ns() - start;
		local_irq_enable();
	}
	return wbb_median(wbb_samples, WBB_ROUNDS);
}

static u64 wbb_less(u64 ns, u64 cost)
{
	return ns > cost ? ns - cost : 0;
}

static u64 wbb_time_single(struct folio *folio, u64 clock)
{
	u64 start, ns;

	local_irq_disable();
	start = ktime_get_mono_fast_ns();
	folio_end_writeback(folio);
	ns = ktime_get_mono_fast_ns() - start;
	local_irq_enable();
	return wbb_less(ns, clock);
}

static u64 wbb_time_batch(struct folio **folios, unsigned int nr, u64 clock)
{
	struct folio_batch fbatch;
	u64 start, ns;
	unsigned int i;

	folio_batch_init(&fbatch);
	for (i = 0; i < nr; i++)
		folio_batch_add(&fbatch, folios[i]);

	local_irq_disable();
	start = ktime_get_mono_fast_ns();
	folios_end_writeback(&fbatch);
	ns = ktime_get_mono_fast_ns() - start;
	local_irq_enable();
	return wbb_less(ns, clock);
}

static void wbb_restart(struct folio **folios, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		wbf_folio_dirty(folios[i]);
		wbf_folio_start(folios[i], false);
	}
}

/* A file with PAGEVEC_SIZE clean neighbours and perhaps a sentinel. */
static struct inode *wbb_file(struct kunit *test, struct folio **folios,
		bool sentinel)
{
	struct wbf_fs *fs = wbf_fs_create(test);
	struct inode *inode = wbf_inode_create(test, fs, NULL);
	unsigned int i;

	for (i = 0; i < PAGEVEC_SIZE; i++)
		folios[i] = wbf_folio_add(test, inode, i, 0, GFP_KERNEL);
	if (sentinel)
		wbf_folio_start(wbf_folio_add_dirty(test, inode, WBB_SENTINEL,
						    0), false);
	return inode;
}

/* The median cost of ending the first folio with folio_end_writeback(). */
static u64 wbb_single(struct kunit *test, bool sentinel)
{
	struct folio *folios[PAGEVEC_SIZE];
	u64 clock = wbb_clock_cost();
	unsigned int i;

	wbb_file(test, folios, sentinel);
	for (i = 0; i < WBB_WARM_UP + WBB_ROUNDS; i++) {
		wbb_restart(folios, 1);
		wbb_samples[i < WBB_WARM_UP ? 0 : i - WBB_WARM_UP] =
			wbb_time_single(folios[0], clock);
		KUNIT_ASSERT_FALSE(test, folio_test_writeback(folios[0]));
	}
	return wbb_median(wbb_samples, WBB_ROUNDS);
}

static void folio_end_writeback_cost_of_one(struct kunit *test)
{
	u64 ns = wbb_single(test, true);

	KUNIT_EXPECT_GT(test, ns, 0);
	pr_info("# writeback_bench: end single ns=%llu\n", ns);
}

static void folio_end_writeback_cost_of_the_only_one(struct kunit *test)
{
	u64 ns = wbb_single(test, false);

	KUNIT_EXPECT_GT(test, ns, 0);
	pr_info("# writeback_bench: end only ns=%llu\n", ns);
}

struct wbb_size {
	const char *desc;
	unsigned int nr;
};

static const struct wbb_size wbb_sizes[] = {
	{ .desc = "1 folio", .nr = 1 },
	{ .desc = "2 folios", .nr = 2 },
	{ .desc = "7 folios", .nr = 7 },
	{ .desc = "15 folios", .nr = 15 },
	{ .desc = "31 folios", .nr = 31 },
};

KUNIT_ARRAY_PARAM_DESC(wbb_size, wbb_sizes, desc);

static void folios_end_writeback_cost_of_batch(struct kunit *test)
{
	const struct wbb_size *size = test->param_value;
	struct folio *folios[PAGEVEC_SIZE];
	u64 clock = wbb_clock_cost();
	unsigned int i;
	u64 ns;

	wbb_file(test, folios, true);
	for (i = 0; i < WBB_WARM_UP + WBB_ROUNDS; i++) {
		wbb_restart(folios, size->nr);
		wbb_samples[i < WBB_WARM_UP ? 0 : i - WBB_WARM_UP] =
			wbb_time_batch(folios, size->nr, clock);
		KUNIT_ASSERT_FALSE(test, folio_test_writeback(folios[0]));
	}
	ns = wbb_median(wbb_samples, WBB_ROUNDS);
	KUNIT_EXPECT_GT(test, ns, 0);
	pr_info("# writeback_bench: end folios=%u ns=%llu per_folio=%llu\n",
		size->nr, ns, div_u64(ns, size->nr));
}

/* Clear, start and end */

static u64 wbb_time_all_single(struct folio *folio, u64 clock)
{
	u64 start, ns;

	folio_lock(folio);
	local_irq_disable();
	start = ktime_get_mono_fast_ns();
	folio_clear_dirty_for_io(folio);
	folio_start_writeback(folio);
	folio_end_writeback(folio);
	ns = ktime_get_mono_fast_ns() - start;
	local_irq_enable();
	folio_unlock(folio);
	return wbb_less(ns, clock);
}

static u64 wbb_time_all(struct folio **folios, unsigned int nr, u64 clock)
{
	struct folio_batch fbatch;
	u64 start, ns;
	unsigned int i;

	folio_batch_init(&fbatch);
	for (i = 0; i < nr; i++) {
		folio_lock(folios[i]);
		folio_batch_add(&fbatch, folios[i]);
	}
	local_irq_disable();
	start = ktime_get_mono_fast_ns();
	folios_clear_dirty_for_io(&fbatch);
	folios_start_writeback(&fbatch);
	folios_end_writeback(&fbatch);
	ns = ktime_get_mono_fast_ns() - start;
	local_irq_enable();
	for (i = 0; i < nr; i++)
		folio_unlock(folios[i]);
	return wbb_less(ns, clock);
}

static void folio_writeback_cost_of_one(struct kunit *test)
{
	struct folio *folios[PAGEVEC_SIZE];
	u64 clock = wbb_clock_cost();
	unsigned int i;
	u64 ns;

	wbb_file(test, folios, true);
	for (i = 0; i < WBB_WARM_UP + WBB_ROUNDS; i++) {
		wbf_folio_dirty(folios[0]);
		wbb_samples[i < WBB_WARM_UP ? 0 : i - WBB_WARM_UP] =
			wbb_time_all_single(folios[0], clock);
		KUNIT_ASSERT_FALSE(test, folio_test_dirty(folios[0]));
	}
	ns = wbb_median(wbb_samples, WBB_ROUNDS);
	KUNIT_EXPECT_GT(test, ns, 0);
	pr_info("# writeback_bench: all single ns=%llu\n", ns);
}

static void folios_writeback_cost_of_batch(struct kunit *test)
{
	const struct wbb_size *size = test->param_value;
	struct folio *folios[PAGEVEC_SIZE];
	u64 clock = wbb_clock_cost();
	unsigned int i, j;
	u64 ns;

	wbb_file(test, folios, true);
	for (i = 0; i < WBB_WARM_UP + WBB_ROUNDS; i++) {
		for (j = 0; j < size->nr; j++)
			wbf_folio_dirty(folios[j]);
		wbb_samples[i < WBB_WARM_UP ? 0 : i - WBB_WARM_UP] =
			wbb_time_all(folios, size->nr, clock);
		KUNIT_ASSERT_FALSE(test, folio_test_dirty(folios[0]));
	}
	ns = wbb_median(wbb_samples, WBB_ROUNDS);
	KUNIT_EXPECT_GT(test, ns, 0);
	pr_info("# writeback_bench: all folios=%u ns=%llu per_folio=%llu\n",
		size->nr, ns, div_u64(ns, size->nr));
}

/* Longest time with interrupts off */

/**
 * struct wbb_layout - Where the folios of a batch are.
 * @name: One word.
 * @stride: Page indices from one folio to the next.
 * @order: Of each folio.
 * @two_zones: Every other folio is of the DMA zone, so that no two neighbours
 *	share their zone counters.
 */
struct wbb_layout {
	const char *name;
	pgoff_t stride;
	unsigned int order;
	bool two_zones;
};

/*
 * A step of 64 pages puts each folio into a tree node of its own, so that each
 * mark is cleared up to the parent; larger steps do so on more levels.
 */
static const struct wbb_layout wbb_layouts[] = {
	{ .name = "neighbours", .stride = 1 },
	{ .name = "two-zones", .stride = 1, .two_zones = true },
	{ .name = "leaf-each", .stride = 1 << 6 },
	{ .name = "leaf-each-two-zones", .stride = 1 << 6, .two_zones = true },
	{ .name = "two-levels-each", .stride = 1 << 12 },
	{ .name = "three-levels-each", .stride = 1 << 18 },
	{ .name = "three-levels-each-two-zones", .stride = 1 << 18,
	  .two_zones = true },
	{ .name = "large", .stride = 1 << 9, .order = 9 },
};

/* Returns false where the guest has only one zone for a layout with two. */
static bool wbb_lay_out(struct kunit *test, struct inode *inode,
		const struct wbb_layout *layout, struct folio **folios)
{
	unsigned int i;
	gfp_t gfp;

	for (i = 0; i < PAGEVEC_SIZE; i++) {
		gfp = GFP_KERNEL;
		if (layout->two_zones && (i & 1))
			gfp |= __GFP_DMA;
		folios[i] = wbf_folio_add(test, inode, i * layout->stride,
					  layout->order, gfp);
	}
	return !layout->two_zones ||
	       folio_zonenum(folios[0]) != folio_zonenum(folios[1]);
}

/**
 * struct wbb_alarm - A timer that notes how late it runs.
 * @timer: The timer.
 * @late: Nanoseconds from its expiry to its function.
 * @done: The function has run.
 */
struct wbb_alarm {
	struct hrtimer timer;
	s64 late;
	bool done;
};

static enum hrtimer_restart wbb_ring(struct hrtimer *timer)
{
	struct wbb_alarm *alarm = container_of(timer, struct wbb_alarm, timer);

	alarm->late = ktime_get_mono_fast_ns() -
		      ktime_to_ns(hrtimer_get_expires(timer));
	WRITE_ONCE(alarm->done, true);
	return HRTIMER_NORESTART;
}

static void wbb_nothing(struct folio_batch *fbatch)
{
}

/* How late a timer is that expires @delay after now, during a call of @fn. */
static s64 wbb_late(struct wbb_alarm *alarm, struct folio_batch *fbatch,
		void (*fn)(struct folio_batch *fbatch), u64 delay)
{
	s64 late;

	preempt_disable();
	WRITE_ONCE(alarm->done, false);
	hrtimer_start(&alarm->timer,
		      ns_to_ktime(ktime_get_mono_fast_ns() + delay),
		      HRTIMER_MODE_ABS_PINNED_HARD);
	fn(fbatch);
	while (!READ_ONCE(alarm->done))
		cpu_relax();
	late = alarm->late;
	preempt_enable();
	return late;
}

/* How late it is at worst while writeback of a batch starts, and while it ends. */
static s64 wbb_latest(struct wbb_alarm *alarm, struct folio **folios, u64 delay)
{
	struct folio_batch fbatch;
	unsigned int i;
	s64 late;

	folio_batch_init(&fbatch);
	for (i = 0; i < PAGEVEC_SIZE; i++) {
		wbf_folio_dirty(folios[i]);
		folio_lock(folios[i]);
		folio_batch_add(&fbatch, folios[i]);
	}
	/* The most there is to do: three marks of each folio change. */
	tag_pages_for_writeback(folios[0]->mapping, 0, ULONG_MAX);
	folios_clear_dirty_for_io(&fbatch);
	late = wbb_late(alarm, &fbatch, folios_start_writeback, delay);
	for (i = 0; i < PAGEVEC_SIZE; i++)
		folio_unlock(folios[i]);
	return max(late, wbb_late(alarm, &fbatch, folios_end_writeback, delay));
}

/* How long calls that take up to @ns keep interrupts off at a stretch. */
static u64 wbb_irqs_off(struct folio **folios, u64 ns)
{
	struct wbb_alarm alarm;
	s64 idle = S64_MAX, longest = 0;
	u64 delay, step = max_t(u64, WBB_STEP, div_u64(ns, 100));
	unsigned int i;

	hrtimer_init_on_stack(&alarm.timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_ABS_PINNED_HARD);
	alarm.timer.function = wbb_ring;
	for (i = 0; i < WBB_HOLD_ROUNDS; i++)
		idle = min(idle, wbb_late(&alarm, NULL, wbb_nothing, 20 * step));

	/* Setting the timer takes a part of the delay. */
	for (delay = step; delay < 2 * ns + 20 * step; delay += step)
		longest = max(longest, wbb_latest(&alarm, folios, delay));
	hrtimer_cancel(&alarm.timer);
	destroy_hrtimer_on_stack(&alarm.timer);
	return max(longest - idle, 0) + step;
}

/* Print the figures of one layout. Returns the longest time without interrupts. */
static u64 wbb_hold(struct kunit *test, const struct wbb_layout *layout)
{
	struct wbf_fs *fs = wbf_fs_create(test);
	struct inode *inode = wbf_inode_create(test, fs, NULL);
	struct folio *folios[PAGEVEC_SIZE];
	u64 clock = wbb_clock_cost();
	u64 ns, irqs_off = 0;
	unsigned int i;

	if (!wbb_lay_out(test, inode, layout, folios)) {
		pr_info("# writeback_bench: hold layout=%s skipped: one zone\n",
			layout->name);
		goto out;
	}
	for (i = 0; i < WBB_HOLD_ROUNDS; i++) {
		wbb_restart(folios, PAGEVEC_SIZE);
		wbb_samples[i] = wbb_time_batch(folios, PAGEVEC_SIZE, clock);
	}
	ns = wbb_median(wbb_samples, WBB_HOLD_ROUNDS);
	irqs_off = wbb_irqs_off(folios, ns);
	pr_info("# writeback_bench: hold layout=%s ns=%llu irqs_off_ns=%llu folios=%u\n",
		layout->name, ns, irqs_off, PAGEVEC_SIZE);
out:
	wbf_inode_release(test, inode);
	return irqs_off;
}

/* Soon after boot, timers still expire with the tick. */
static void wbb_wait_for_timers(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 100 && hrtimer_resolution > 1; i++)
		msleep(20);
	if (hrtimer_resolution > 1)
		kunit_skip(test, "needs high resolution timers");
}

static void folios_writeback_longest_hold(struct kunit *test)
{
	u64 longest = 0;
	unsigned int i;

	wbb_wait_for_timers(test);
	for (i = 0; i < ARRAY_SIZE(wbb_layouts); i++)
		longest = max(longest, wbb_hold(test, &wbb_layouts[i]));
	KUNIT_EXPECT_GT(test, longest, 0);
	pr_info("# writeback_bench: hold_max ns=%llu folios=%u\n", longest,
		PAGEVEC_SIZE);
}

static struct kunit_case writeback_bench_cases[] = {
	KUNIT_CASE_SLOW(folio_end_writeback_cost_of_one),
	KUNIT_CASE_SLOW(folio_end_writeback_cost_of_the_only_one),
	KUNIT_CASE_PARAM_ATTR(folios_end_writeback_cost_of_batch,
			      wbb_size_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_SLOW(folio_writeback_cost_of_one),
	KUNIT_CASE_PARAM_ATTR(folios_writeback_cost_of_batch,
			      wbb_size_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_SLOW(folios_writeback_longest_hold),
	{}
};

static struct kunit_suite writeback_bench_suite = {
	.name		= "writeback_bench",
	.test_cases	= writeback_bench_cases,
};

kunit_test_suite(writeback_bench_suite);

MODULE_DESCRIPTION("KUnit micro-benchmark for the end of folio writeback");
MODULE_LICENSE("GPL");
