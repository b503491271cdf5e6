/* SPDX-License-Identifier: GPL-2.0+ */
/*
 * Operations on the marks of several entries of an XArray at once.
 *
 * A header of its own, so that a change here does not rebuild all that includes
 * xarray.h.
 */
#ifndef _LINUX_XARRAY_MARKS_H
#define _LINUX_XARRAY_MARKS_H

#include <linux/xarray.h>

void xas_set_mark_range(struct xa_state *xas, unsigned long last,
		xa_mark_t mark);
unsigned int xas_copy_mark_range(struct xa_state *xas, unsigned long last,
		xa_mark_t from, xa_mark_t to, unsigned int limit);
void xas_clear_mark_range(struct xa_state *xas, unsigned long last,
		xa_mark_t mark);

#endif /* _LINUX_XARRAY_MARKS_H */
