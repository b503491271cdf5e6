// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large folios for writers that stream in small pieces.  What a stream is, and how
 * large its folios may be, is said in include/linux/filemap_stream.h.
 */
#include <linux/fgf_stream.h>
#include <linux/filemap_stream.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/page-flags.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>
#include <trace/events/filemap.h>

#include "filemap_stream.h"

/*
 * Does this entry belong to a stream?  A folio whose blocks were not all written is
 * not up to date, unless somebody has read it: a writer that leaves gaps does not get
 * larger folios for them.  No reference is held, so the folio may be gone by now;
 * nothing but the size of another folio depends on it.
 */
static bool filemap_stream_has(struct xa_state *xas, void *entry)
{
	if (!entry || xa_is_value(entry) || xa_is_internal(entry))
		return false;
	if (!xas_get_mark(xas, PAGECACHE_TAG_DIRTY) ||
	    xas_get_mark(xas, PAGECACHE_TAG_WRITEBACK))
		return false;
	return folio_test_uptodate((struct folio *)entry);
}

/* The first index of the entry that @xas is at. */
static pgoff_t filemap_stream_entry_index(const struct xa_state *xas)
{
	const struct xa_node *node = xas->xa_node;
	pgoff_t mask;

	if (!node)		/* the only entry of the tree */
		return 0;
	mask = ((pgoff_t)XA_CHUNK_MASK << node->shift) |
		(((pgoff_t)1 << node->shift) - 1);
	return (xas->xa_index & ~mask) |
		((pgoff_t)xas->xa_offset << node->shift);
}

/* The entry in front of the one that @xas is at, which begins at @first. */
static void *filemap_stream_prev(struct xa_state *xas, pgoff_t first)
{
	void *entry;

	xas->xa_index = first;
	entry = xas_prev(xas);
	if (xa_is_sibling(entry)) {
		xas_reset(xas);
		entry = xas_load(xas);
	}
	return entry;
}

/* How large a folio may the stream have that ends in front of @index? */
static unsigned int filemap_stream_look(struct address_space *mapping,
		struct filemap_stream *stream)
{
	XA_STATE(xas, &mapping->i_pages, stream->index - 1);
	pgoff_t first, last;
	unsigned int order;
	void *entry;

	rcu_read_lock();
	entry = xas_load(&xas);
	while (filemap_stream_has(&xas, entry)) {
		first = filemap_stream_entry_index(&xas);
		if (!filemap_stream_add(stream, first))
			break;
		entry = filemap_stream_prev(&xas, first);
	}

	order = filemap_stream_order(stream);
	if (order) {
		last = stream->index + ((pgoff_t)1 << order) - 1;
		xas_set(&xas, stream->index);
		do {
			entry = xas_find(&xas, last);
		} while (entry && (xa_is_value(entry) || xas_retry(&xas, entry)));
		if (entry && xas.xa_index > stream->index)
			order = filemap_stream_fit(stream, order, xas.xa_index);
		else if (entry)
			order = 0;
	}
	rcu_read_unlock();
	return order;
}

/**
 * filemap_stream_add_folio - Add a folio for a stream, if there is one.
 * @mapping: The file.
 * @index: Page of the file that is written and has no folio.
 * @fgp_flags: Flags of __filemap_get_folio(), with the largest order to use.
 * @gfp: How to allocate a folio of order @asked.
 * @asked: Order of the folio that the write() asks for.
 *
 * Folios larger than @asked are only taken where they cost no more than what was
 * asked for: without reclaim, without compaction, without a wakeup of those who do
 * these, and within the limits of the memory cgroup.
 *
 * Context: May sleep.  Takes and releases the i_pages lock.
 * Return: The folio, locked and with a reference; NULL if there is no stream, or
 * nothing larger than @asked for it.
 */
struct folio *filemap_stream_add_folio(struct address_space *mapping,
		pgoff_t index, fgf_t fgp_flags, gfp_t gfp, unsigned int asked)
{
	unsigned int max_order = min_t(unsigned int,
			FGF_GET_STREAM_ORDER(fgp_flags),
			mapping_max_folio_order(mapping));
	struct filemap_stream stream;
	unsigned int order, allowed;
	struct folio *folio = NULL;
	int err;

	if (!filemap_stream_init(&stream, index, max_order))
		return NULL;
	allowed = filemap_stream_look(mapping, &stream);

	gfp &= ~__GFP_RECLAIM;
	gfp |= __GFP_NORETRY | __GFP_NOWARN | __GFP_NOMEMALLOC;
	for (order = allowed; order > asked; order--) {
		folio = filemap_alloc_folio(gfp, order);
		if (!folio)
			continue;
		/* Init accessed so avoid atomic mark_page_accessed later */
		if (fgp_flags & FGP_ACCESSED)
			__folio_set_referenced(folio);
		err = filemap_add_folio(mapping, folio, index, gfp);
		if (!err)
			break;
		folio_put(folio);
		folio = NULL;
		if (err == -EEXIST)	/* the caller looks again */
			break;
	}

	trace_mm_filemap_stream(mapping, &stream, asked, allowed, folio);
	return folio;
}
