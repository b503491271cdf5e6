// SPDX-License-Identifier: GPL-2.0
/*
 * What the iomap KUnit suites share, see iomap_fixture.h.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/iomap.h>
#include <linux/pagemap.h>
#include <linux/writeback.h>

#include "iomap_fixture.h"

static int wbf_iomap_writepages(struct address_space *mapping,
		struct writeback_control *wbc)
{
	struct wbf_iomap *io = mapping->host->i_private;
	struct iomap_writepage_ctx wpc = { };

	return iomap_writepages(mapping, wbc, &wpc, io->ops);
}

static const struct address_space_operations wbf_iomap_aops = {
	.writepages		= wbf_iomap_writepages,
	.dirty_folio		= iomap_dirty_folio,
	.release_folio		= iomap_release_folio,
	.invalidate_folio	= iomap_invalidate_folio,
};

/**
 * wbf_iomap_init - Let a file be written to a disk of its own, of WBF_IOMAP_SIZE.
 * @test: The test; fails if the disk cannot be added.
 * @io: What there is to know of it; the inode's i_private from now on.
 * @inode: The file, without folios.
 * @blkbits: Its block size.
 * @ops: How blocks are mapped.
 *
 * Context: Process context.
 */
void wbf_iomap_init(struct kunit *test, struct wbf_iomap *io,
		struct inode *inode, unsigned int blkbits,
		const struct iomap_writeback_ops *ops)
{
	io->ops = ops;
	INIT_LIST_HEAD(&io->ioends);
	inode->i_private = io;
	inode->i_blkbits = blkbits;
	inode->i_mapping->a_ops = &wbf_iomap_aops;
	io->disk = wbf_disk_create(test, WBF_IOMAP_SIZE >> SECTOR_SHIFT);
}

static void wbf_iomap_keep(struct bio *bio)
{
	struct iomap_ioend *ioend = iomap_ioend_from_bio(bio);
	struct wbf_iomap *io = ioend->io_inode->i_private;

	list_add_tail(&ioend->io_list, &io->ioends);
}

/**
 * wbf_iomap_prepare - What preparing an ioend has to do.
 * @ioend: The ioend; gathered when its bio completes, if the file asks for that.
 *
 * Context: Process context.
 */
void wbf_iomap_prepare(struct iomap_ioend *ioend)
{
	struct wbf_iomap *io = ioend->io_inode->i_private;

	if (io->keep_ioends)
		ioend->io_bio.bi_end_io = wbf_iomap_keep;
}

/**
 * wbf_iomap_finish - End the gathered ioends as a file system's worker does.
 * @io: The file.
 *
 * Context: Process context. May sleep.
 * Return: How many there were after merging.
 */
unsigned int wbf_iomap_finish(struct wbf_iomap *io)
{
	struct iomap_ioend *ioend;
	LIST_HEAD(ioends);
	unsigned int nr = 0;

	list_splice_init(&io->ioends, &ioends);
	iomap_sort_ioends(&ioends);
	while ((ioend = list_first_entry_or_null(&ioends, struct iomap_ioend,
						 io_list))) {
		list_del_init(&ioend->io_list);
		iomap_ioend_try_merge(ioend, &ioends);
		iomap_finish_ioends(ioend,
				    blk_status_to_errno(ioend->io_bio.bi_status));
		nr++;
	}
	return nr;
}
