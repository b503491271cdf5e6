/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asking __filemap_get_folio() for large folios for streams.  A header of its own, so
 * that it does not rebuild all that includes pagemap.h.
 */
#ifndef _LINUX_FGF_STREAM_H
#define _LINUX_FGF_STREAM_H

#include <linux/pagemap.h>

/* The largest order for a stream, 6 bits of fgf_t below those of fgf_set_order(). */
#define FGF_STREAM_SHIFT		20
#define FGF_GET_STREAM_ORDER(fgf)	\
	(((__force unsigned int)(fgf) >> FGF_STREAM_SHIFT) & 0x3f)

/**
 * fgf_set_stream_order - Let a stream have larger folios than it asks for.
 * @order: Largest order to use; 0 for none.
 *
 * Context: Any context.
 * Return: Flags for __filemap_get_folio().
 */
static inline fgf_t fgf_set_stream_order(unsigned int order)
{
	return (__force fgf_t)(order << FGF_STREAM_SHIFT);
}

#endif /* _LINUX_FGF_STREAM_H */
