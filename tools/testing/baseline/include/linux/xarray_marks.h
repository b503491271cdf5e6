/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets the KUnit suites of the series build in a kernel without the series:
 * the same names, made of the calls that kernel has.
 */
#ifndef _LINUX_XARRAY_MARKS_H
#define _LINUX_XARRAY_MARKS_H

#include <linux/xarray.h>

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
	unsigned long index = xas->xa_index;

	do {
		xas_set(xas, index);
		if (xas_load(xas))
			xas_clear_mark(xas, mark);
	} while (index++ < last);
}

#endif /* _LINUX_XARRAY_MARKS_H */
