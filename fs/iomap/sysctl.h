/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/sys/fs/iomap: what the files with a tunable share. */
#ifndef _IOMAP_SYSCTL_H
#define _IOMAP_SYSCTL_H

#include <linux/sysctl.h>

int iomap_douintvec_minmax(const struct ctl_table *table, int write,
		void *buffer, size_t *lenp, loff_t *ppos);

#endif /* _IOMAP_SYSCTL_H */
