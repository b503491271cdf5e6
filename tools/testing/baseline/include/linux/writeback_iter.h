/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets the KUnit suites of the series build in a kernel without the series:
 * the same names, made of the calls that kernel has.
 */
#ifndef _LINUX_WRITEBACK_ITER_H
#define _LINUX_WRITEBACK_ITER_H

#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/writeback.h>

#define WRITEBACK_RUN_PAGES	1U

/**
 * struct writeback_run - Folios to write, here one at a time.
 * @folios: The folio.
 * @first: Its page index.
 * @next: Page index behind it.
 * @max_pages: Not used.
 */
struct writeback_run {
	struct folio_batch folios;
	pgoff_t first;
	pgoff_t next;
	unsigned int max_pages;
};

/**
 * writeback_run_init - Prepare for the first call of writeback_iter_run().
 * @run: The run.
 * @joins: Not used.
 *
 * Context: Any context.
 */
static inline void writeback_run_init(struct writeback_run *run,
		bool (*joins)(struct folio *folio))
{
	folio_batch_init(&run->folios);
	run->first = 0;
	run->next = 0;
	run->max_pages = PAGEVEC_SIZE;
}

/**
 * writeback_iter_run - Iterate over the folios of a mapping for writeback.
 * @mapping: Address space to write.
 * @wbc: Writeback context.
 * @run: The folio.
 * @error: In and out: the error of writing the last one.
 *
 * Context: Process context. Sleeps.
 * Return: true if @run holds a folio to write.
 */
static inline bool writeback_iter_run(struct address_space *mapping,
		struct writeback_control *wbc, struct writeback_run *run,
		int *error)
{
	struct folio *folio = NULL;

	if (run->next)
		folio = run->folios.folios[0];
	folio = writeback_iter(mapping, wbc, folio, error);
	folio_batch_reinit(&run->folios);
	if (!folio)
		return false;
	folio_batch_add(&run->folios, folio);
	run->first = folio->index;
	run->next = folio_next_index(folio);
	return true;
}

#endif /* _LINUX_WRITEBACK_ITER_H */
