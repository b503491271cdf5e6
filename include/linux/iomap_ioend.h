/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many folios the completion of writeback deals with at a time.
 *
 * A header of its own, so that a change here does not rebuild all that includes
 * iomap.h.
 */
#ifndef _LINUX_IOMAP_IOEND_H
#define _LINUX_IOMAP_IOEND_H

#include <linux/compiler.h>
#include <linux/iomap.h>
#include <linux/minmax.h>

/*
 * Three limits, from the shortest to the longest:
 *
 * A hold of the i_pages lock, with interrupts off: PAGEVEC_SIZE folios, or fewer as
 * vm.writeback_batch_folios says.  mm decides it, see folios_end_writeback(); iomap
 * only gathers what fits a hold.
 *
 * A stretch of completion by a task without a scheduling point:
 * IOMAP_STRETCH_FOLIOS folios and ioends, and at most one hold more.  It does not
 * depend on how ioends were built or merged.
 *
 * An ioend: fs.iomap.ioend_batch_folios folios.  An interrupt completes all of it
 * at a stretch, so that there it is IOMAP_IOEND_FOLIOS_ATOMIC at most.  Where a task
 * completes it, it can be longer than a stretch.
 *
 * To end a folio of one page takes about 100 instructions on x86-64, or 720 with a
 * hold for each, and 1000 more for an ioend that has no other.  2048 folios in an
 * interrupt are thus 0.2 to 1.5 million instructions, and a stretch 0.05 to 0.9
 * million.  The 10 ms that completion once was to stay below are some tens of them.
 */
#define IOMAP_STRETCH_FOLIOS		512U
#define IOMAP_IOEND_FOLIOS_ATOMIC	2048U

/*
 * 2 GiB of pages, half of what a bio can count: another ioend is begun there when
 * folios of one block are written, of which there can be the most in an ioend.
 */
#define IOMAP_IOEND_FOLIOS_MAX		(1U << (31 - PAGE_SHIFT))

#define IOMAP_IOEND_FOLIOS_DEFAULT	4096U

extern unsigned int iomap_ioend_batch_folios;

/**
 * iomap_ioend_max_folios - Most folios of an ioend that is about to be built.
 * @iomap: What it is going to be written to.
 *
 * Written extents that are not shared need nothing of the file system when they
 * are on disk, and bios of these complete in interrupts, mostly.  To convert an
 * unwritten or shared extent takes a transaction, and a task.
 *
 * Context: Any context.
 * Return: The number of folios, whatever their size; 1 to IOMAP_IOEND_FOLIOS_MAX.
 */
static inline unsigned int iomap_ioend_max_folios(const struct iomap *iomap)
{
	unsigned int max = READ_ONCE(iomap_ioend_batch_folios);

	if (iomap->type == IOMAP_UNWRITTEN || (iomap->flags & IOMAP_F_SHARED))
		return max;
	return min(max, IOMAP_IOEND_FOLIOS_ATOMIC);
}

#endif /* _LINUX_IOMAP_IOEND_H */
