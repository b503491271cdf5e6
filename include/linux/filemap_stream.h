/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Large folios for writers that stream in small pieces.
 *
 * The order of a new folio comes from the length of one write().  Whether write()
 * after write() makes up a stream is seen in the page cache itself: what a stream has
 * written lies in front of the folio that it needs next, without a gap, dirty, and
 * not yet under writeback.  So there is no state to keep, to lock or to tear, each
 * of several streams into one file has its own, and to sync a file ends them all.
 *
 * What is here is arithmetic, which also runs in user space: see
 * tools/testing/stream/.  mm/filemap_stream.c looks at the page cache.
 */
#ifndef _LINUX_FILEMAP_STREAM_H
#define _LINUX_FILEMAP_STREAM_H

#include <linux/bitops.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>

/*
 * A folio is at most 1/8 of what its stream has written before it.  What a stream
 * holds beyond its end, or is charged for without having written it, is less than
 * that.
 */
#define FILEMAP_STREAM_SHARE_SHIFT	3

/*
 * How many folios of the stream are looked at: as many of one order as allow two
 * orders more.  Where memory has only small folios to give, neither looking nor
 * asking for larger ones takes longer then than it does to write.
 */
#define FILEMAP_STREAM_LOOK_FOLIOS	32

/*
 * By how many orders a folio has to be larger than what a write() asks for.  One order
 * more is hardly worth a look, and each look that finds no stream is a cost.
 */
#define FILEMAP_STREAM_MIN_ORDERS	2

/**
 * struct filemap_stream - What is known of the stream that needs a new folio.
 * @index: Where the folio is needed.
 * @first: First page of the stream that has been seen; @index if none.
 * @order: Largest order that may be used there, whatever the stream.
 * @looked: Folios that have been seen.
 */
struct filemap_stream {
	pgoff_t index;
	pgoff_t first;
	unsigned int order;
	unsigned int looked;
};

/**
 * filemap_stream_init - Begin to look for a stream in front of a folio.
 * @stream: What is known of it.
 * @index: Page of the file where a folio is needed.
 * @max_order: Largest order allowed; a folio also has to be aligned.
 *
 * Context: Any context.
 * Return: True if there is something to look for; the page in front of @index is
 * then the next to look at.
 */
static inline bool filemap_stream_init(struct filemap_stream *stream,
		pgoff_t index, unsigned int max_order)
{
	stream->index = index;
	stream->first = index;
	stream->looked = 0;
	/* Nothing is in front of the first page. */
	stream->order = index ? min_t(unsigned int, max_order, __ffs(index)) : 0;
	return stream->order;
}

/**
 * filemap_stream_pages - Pages that a stream has to have written.
 * @order: Order of the folio that it is to get.
 *
 * Context: Any context.
 * Return: Pages of dirty, neighbouring folios in front of the new one.
 */
static inline pgoff_t filemap_stream_pages(unsigned int order)
{
	return (pgoff_t)1 << (order + FILEMAP_STREAM_SHARE_SHIFT);
}

/**
 * filemap_stream_add - Note that one more folio belongs to the stream.
 * @stream: What is known of it.
 * @first: First page of the folio, which ends where the last one that was noted
 *	begins.
 *
 * Context: Any context.
 * Return: True if more are worth looking at: before page @first.
 */
static inline bool filemap_stream_add(struct filemap_stream *stream,
		pgoff_t first)
{
	stream->first = first;
	return first && ++stream->looked < FILEMAP_STREAM_LOOK_FOLIOS &&
		stream->index - first < filemap_stream_pages(stream->order);
}

/**
 * filemap_stream_order - Order of the folio that a stream is to get.
 * @stream: What is known of it.
 *
 * Context: Any context.
 * Return: The largest order that what has been seen of the stream allows; 0 if it
 * is not to get more than what it asks for.
 */
static inline unsigned int
filemap_stream_order(const struct filemap_stream *stream)
{
	pgoff_t share = (stream->index - stream->first) >>
		FILEMAP_STREAM_SHARE_SHIFT;

	return share ? min_t(unsigned int, stream->order, ilog2(share)) : 0;
}

/**
 * filemap_stream_fit - Let a folio end before what is cached behind it.
 * @stream: What is known of its stream.
 * @order: Order that the stream allows.
 * @next: First page behind @stream->index that is in the page cache, if it is
 *	nearer than the folio's end.
 *
 * Context: Any context.
 * Return: The largest order that fits.
 */
static inline unsigned int
filemap_stream_fit(const struct filemap_stream *stream, unsigned int order,
		pgoff_t next)
{
	return min_t(unsigned int, order, ilog2(next - stream->index));
}

#endif /* _LINUX_FILEMAP_STREAM_H */
