/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets the KUnit suites of the series build in a kernel without the series:
 * the same names, made of the calls that kernel has.
 */
#ifndef _LINUX_XARRAY_MARKS_H
#define _LINUX_XARRAY_MARKS_H

#include <linux/xarray.h>

/* Call @change for every entry from the index of @xas to @last. */
static inline void xas_each_mark(struct xa_state *xas, unsigned long last,
		xa_mark_t mark,
		void (*change)(const struct xa_state *xas, xa_mark_t mark))
{
	unsigned long index = xas->xa_index;

	do {
		xas_set(xas, index);
		if (xas_load(xas))
			change(xas, mark);
	} while (index++ < last);
}

/**
 * xas_clear_mark_range - Clear the mark on all entries of a range, one by one.
 * @xas: Operation state, set to the first index of the range.
 * @last: Last index of the range.
 * @mark: Mark number.
 *
 * Context: Any context. Expects xa_lock to be held on entry.
 */
static inline void xas_clear_mark_range(struct xa_state *xas,
		unsigned long last, xa_mark_t mark)
{
	xas_each_mark(xas, last, mark, xas_clear_mark);
}

/**
 * xas_set_mark_range - Set the mark on all entries of a range, one by one.
 * @xas: Operation state, set to the first index of the range.
 * @last: Last index of the range.
 * @mark: Mark number.
 *
 * Context: Any context. Expects xa_lock to be held on entry.
 */
static inline void xas_set_mark_range(struct xa_state *xas,
		unsigned long last, xa_mark_t mark)
{
	xas_each_mark(xas, last, mark, xas_set_mark);
}

/**
 * xas_copy_mark_range - Set a mark on all entries that have another mark.
 * @xas: Operation state, like the one of xas_find_marked().
 * @last: Last index of the range.
 * @from: Mark number: entries with this mark are changed.
 * @to: Mark number: they get this mark.
 * @limit: Stop when this many entries have been changed.
 *
 * Context: Any context. Expects xa_lock to be held on entry.
 * Return: The number of entries that have been changed.
 */
static inline unsigned int xas_copy_mark_range(struct xa_state *xas,
		unsigned long last, xa_mark_t from, xa_mark_t to,
		unsigned int limit)
{
	unsigned int nr = 0;

	while (nr < limit && xas_find_marked(xas, last, from)) {
		xas_set_mark(xas, to);
		nr++;
	}
	return nr;
}

#endif /* _LINUX_XARRAY_MARKS_H */
