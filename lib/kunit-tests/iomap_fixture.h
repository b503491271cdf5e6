/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the iomap KUnit suites share: a file that is written through
 * iomap_writepages() to a block device whose bios the test completes.
 */
#ifndef _IOMAP_FIXTURE_H
#define _IOMAP_FIXTURE_H

#include <linux/iomap.h>
#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "writeback_fixture.h"

/* Of the disk of a file, in bytes. */
#define WBF_IOMAP_SIZE	SZ_1G

/**
 * struct wbf_iomap - A file that is written to a disk. Embedded in a suite's own.
 * @disk: Keeps the bios.
 * @ops: How the suite maps blocks. Its prepare_ioend calls wbf_iomap_prepare().
 * @keep_ioends: Completed bios are gathered on @ioends instead of ended.
 * @ioends: Completed ioends, in the order of completion.
 */
struct wbf_iomap {
	struct wbf_disk *disk;
	const struct iomap_writeback_ops *ops;
	bool keep_ioends;
	struct list_head ioends;
};

void wbf_iomap_init(struct kunit *test, struct wbf_iomap *io,
		struct inode *inode, unsigned int blkbits,
		const struct iomap_writeback_ops *ops);
void wbf_iomap_prepare(struct iomap_ioend *ioend);
unsigned int wbf_iomap_finish(struct wbf_iomap *io);

#endif /* _IOMAP_FIXTURE_H */
