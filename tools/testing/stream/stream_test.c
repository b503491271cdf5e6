// SPDX-License-Identifier: GPL-2.0
/*
 * The arithmetic of include/linux/filemap_stream.h in user space: random sequences of
 * writes, jumps, syncs, reads and truncation on a model of a page cache, for which
 * the bounds are checked that the header promises.
 *
 * stream_test [SEQUENCES [SEED]].  Exit status: 0 all bounds hold, 1 one does not, and
 * the seed of the sequence is printed.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/filemap_stream.h>

#define PAGES		2048UL	/* of the file that is looked at */
#define MAX_ORDER	9U
#define STEPS		50	/* of one sequence */

enum state { ABSENT, CLEAN, DIRTY, WRITEBACK };

/**
 * struct page - A page of the model.
 * @state: Of its folio.
 * @first: First page of its folio, counted from the start of the model.
 * @written: The stream has written it, or somebody has read it.
 */
struct page {
	enum state state;
	uint16_t first;
	bool written;
};

/**
 * struct model - A page cache, and what is counted of it.
 * @base: Index of its first page, so that limits of the index are met.
 * @seed: Of the sequence.
 * @random: State of the generator.
 * @max_order: The tunable.
 */
struct model {
	struct page pages[PAGES];
	pgoff_t base;
	uint64_t seed;
	uint64_t random;
	unsigned int max_order;
};

static uint64_t below(struct model *m, uint64_t n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random % n;
}

static void fail(const struct model *m, const char *what, unsigned long page)
{
	fprintf(stderr, "stream_test: seed %" PRIu64 ": %s, page %lu\n", m->seed,
		what, page);
	exit(1);
}

/* Pages of the folio that begins at a page. */
static unsigned long folio_pages(const struct model *m, unsigned long first)
{
	unsigned long end = first;

	while (end < PAGES && m->pages[end].state != ABSENT &&
	       m->pages[end].first == first)
		end++;
	return end - first;
}

/* As mm/filemap_stream.c: dirty, not under writeback, and all of it uptodate. */
static bool of_stream(const struct model *m, unsigned long page)
{
	unsigned long first = m->pages[page].first, n, i;

	if (m->pages[page].state != DIRTY)
		return false;
	n = folio_pages(m, first);
	for (i = first; i < first + n; i++)
		if (!m->pages[i].written)
			return false;
	return true;
}

/* Dirty pages in front of one, in a row, which the writer may have written. */
static unsigned long run_before(const struct model *m, unsigned long page)
{
	unsigned long run = 0;

	while (run < page && m->pages[page - run - 1].state == DIRTY &&
	       m->pages[page - run - 1].written)
		run++;
	return run;
}

static unsigned int new_order(struct model *m, unsigned long page,
		unsigned int asked)
{
	struct filemap_stream stream;
	unsigned long at = page, next;
	unsigned int order, looked = 0;
	bool more;

	more = filemap_stream_init(&stream, m->base + page, m->max_order);
	while (more && at && of_stream(m, at - 1)) {
		at = m->pages[at - 1].first;
		more = filemap_stream_add(&stream, m->base + at);
		looked++;
	}
	if (looked > FILEMAP_STREAM_LOOK_FOLIOS)
		fail(m, "too many folios are looked at", page);
	order = filemap_stream_order(&stream);
	if (order > m->max_order)
		fail(m, "the folio is larger than the tunable", page);
	if (order && run_before(m, page) < 8UL << order)
		fail(m, "the folio is larger than its share", page);
	for (next = page; next < PAGES && m->pages[next].state == ABSENT; )
		next++;
	if (order && next < page + (1UL << order))
		order = filemap_stream_fit(&stream, order, m->base + next);
	if (order && next < page + (1UL << order) && next < PAGES)
		fail(m, "the folio does not fit", page);
	if (order && (m->base + page) & ((1UL << order) - 1))
		fail(m, "the folio is not aligned", page);
	return order > asked ? order : asked;
}

static void write_pages(struct model *m, unsigned long page, unsigned long n)
{
	for (; n && page < PAGES; page++, n--) {
		struct page *p = &m->pages[page];
		unsigned long i, end;

		if (p->state == ABSENT) {
			end = page + (1UL << new_order(m, page, 0));
			if (end > PAGES)
				end = PAGES;
			for (i = page; i < end; i++)
				m->pages[i] = (struct page){ CLEAN, page, false };
		}
		end = p->first + folio_pages(m, p->first);
		for (i = p->first; i < end; i++)
			m->pages[i].state = DIRTY;
		p->written = true;
	}
}

/* Do something to all folios that begin in a range. */
static void each_folio(struct model *m, unsigned long page, unsigned long n,
		enum state from, enum state to)
{
	unsigned long i, end, last = page + n < PAGES ? page + n : PAGES;

	for (i = page; i < last; i = end) {
		if (m->pages[i].state == ABSENT) {
			end = i + 1;
			continue;
		}
		end = m->pages[i].first + folio_pages(m, m->pages[i].first);
		if (m->pages[i].state != from)
			continue;
		for (i = m->pages[i].first; i < end; i++) {
			if (to == ABSENT)
				m->pages[i] = (struct page){ ABSENT, 0, false };
			else
				m->pages[i].state = to;
		}
	}
}

/* What is held beyond what was written: 1/8, in all that was dirtied in a row. */
static void check_waste(const struct model *m, unsigned long unwritten_before)
{
	unsigned long held = 0, written = 0, i;

	for (i = 0; i < PAGES; i++) {
		held += m->pages[i].state != ABSENT;
		written += m->pages[i].written;
	}
	if (held - written > written / 8 + unwritten_before)
		fail(m, "too much is held", held);
}

/* One writer that only goes on, jumps and syncs: nothing is dropped. */
static void run_sequence(struct model *m, bool drops)
{
	unsigned long at = below(m, PAGES), n;
	unsigned int step;

	for (step = 0; step < STEPS; step++) {
		n = 1 + below(m, below(m, 8) ? 8 : 600);
		switch (below(m, 16)) {
		case 0:
			at = below(m, PAGES);
			break;
		case 1:
			at += below(m, 64);
			break;
		case 2:
			each_folio(m, 0, PAGES, DIRTY, WRITEBACK);
			break;
		case 3:
			each_folio(m, 0, PAGES, WRITEBACK, CLEAN);
			break;
		case 4:
			if (drops)
				each_folio(m, below(m, PAGES), n, CLEAN, ABSENT);
			break;
		default:
			if (at >= PAGES)
				at = below(m, PAGES);
			write_pages(m, at, n);
			at += n;
		}
		if (!drops && step % 10 == 9)
			check_waste(m, 0);
	}
}

int main(int argc, char **argv)
{
	/* Index limits: the start, 2^63 bytes, and the end of the index space. */
	static const pgoff_t bases[] = { 0, 1UL << 20,
					 (1UL << 51) - PAGES, -PAGES };
	uint64_t sequences = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	static struct model m;
	uint64_t i;

	if (!sequences) {
		fputs("stream_test: no sequence is run\n", stderr);
		return 2;
	}
	for (i = 0; i < sequences; i++) {
		memset(&m, 0, sizeof(m));
		m.seed = seed + i;
		m.random = m.seed * 0x9e3779b97f4a7c15ULL | 1;
		m.base = bases[i % 4];
		m.max_order = below(&m, 8) ? MAX_ORDER : below(&m, MAX_ORDER);
		run_sequence(&m, i & 4);
	}
	printf("stream_test: %" PRIu64 " sequences of %d steps pass\n",
	       sequences, STEPS);
	return 0;
}
