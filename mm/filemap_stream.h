/* SPDX-License-Identifier: GPL-2.0-only */
/* Large folios for writers that stream in small pieces: inside mm. */
#ifndef _MM_FILEMAP_STREAM_H
#define _MM_FILEMAP_STREAM_H

#include <linux/fgf_stream.h>
#include <linux/filemap_stream.h>
#include <linux/fs.h>
#include <linux/pagemap.h>

/*
 * May a stream need a folio at @index that is larger than @asked?  Inline, as writers
 * that are not streams pay for nothing else, mostly.
 */
static inline bool filemap_stream_possible(struct address_space *mapping,
		pgoff_t index, fgf_t fgp_flags, unsigned int asked)
{
	unsigned int order = asked + FILEMAP_STREAM_MIN_ORDERS;

	return FGF_GET_STREAM_ORDER(fgp_flags) >= order &&
		index >= filemap_stream_pages(order) &&
		!(index & (((pgoff_t)1 << order) - 1)) &&
		mapping_tagged(mapping, PAGECACHE_TAG_DIRTY);
}

struct folio *filemap_stream_add_folio(struct address_space *mapping,
		pgoff_t index, fgf_t fgp_flags, gfp_t gfp, unsigned int asked);

#endif /* _MM_FILEMAP_STREAM_H */
