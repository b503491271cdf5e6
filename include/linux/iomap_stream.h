/* SPDX-License-Identifier: GPL-2.0-only */
/* Large folios for streams of small writes through iomap. */
#ifndef _LINUX_IOMAP_STREAM_H
#define _LINUX_IOMAP_STREAM_H

#include <linux/fgf_stream.h>
#include <linux/iomap.h>

/*
 * A stream of 64 KiB writes needs folios of 512 KiB to gain much: 1.33 times fewer
 * instructions with 256 KiB.  More saves little, but is zeroed behind the end of the
 * file, charged as dirtied and waited for, each time that the last folio is synced.
 */
#define IOMAP_STREAM_BYTES_DEFAULT	(512U << 10)

extern fgf_t iomap_stream_flags;

/**
 * iomap_stream_fgf - Flags for the folio of a write that may belong to a stream.
 * @iter: The write.
 *
 * Context: Any context.
 * Return: Flags for __filemap_get_folio(), see fgf_set_stream_order().
 */
static inline fgf_t iomap_stream_fgf(const struct iomap_iter *iter)
{
	/* Zeroing and unsharing do not stream, and do not need more than they ask for. */
	if (iter->flags & (IOMAP_ZERO | IOMAP_UNSHARE))
		return 0;
	return READ_ONCE(iomap_stream_flags);
}

#endif /* _LINUX_IOMAP_STREAM_H */
