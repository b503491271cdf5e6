// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/sys/fs/iomap
 */
#include <linux/ctype.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/iomap_ioend.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include "sysctl.h"

static const unsigned int iomap_ioend_folios_max = IOMAP_IOEND_FOLIOS_MAX;

/**
 * iomap_douintvec_minmax - proc_douintvec_minmax() that takes no more than a number.
 * @table: The tunable.
 * @write: True if a value is written.
 * @buffer: Text.
 * @lenp: Its length in bytes.
 * @ppos: Position in the file.
 *
 * proc_douintvec_minmax() takes the number that a text begins with.  A slip should
 * not become a setting: refuse what more there is.
 *
 * Context: Process context.
 * Return: 0, or -EINVAL, which leaves the old value.
 */
int iomap_douintvec_minmax(const struct ctl_table *table, int write,
		void *buffer, size_t *lenp, loff_t *ppos)
{
	const char *p = buffer, *end = p + *lenp;

	if (write) {
		/* The number has to be within what is looked at. */
		if (*lenp >= PAGE_SIZE)
			return -EINVAL;
		p = skip_spaces(p);
		while (p < end && !isspace(*p))
			p++;
		if (skip_spaces(p) != end)
			return -EINVAL;
	}
	return proc_douintvec_minmax(table, write, buffer, lenp, ppos);
}

static struct ctl_table iomap_sysctls[] = {
	{
		.procname	= "ioend_batch_folios",
		.data		= &iomap_ioend_batch_folios,
		.maxlen		= sizeof(iomap_ioend_batch_folios),
		.mode		= 0644,
		.proc_handler	= iomap_douintvec_minmax,
		.extra1		= SYSCTL_ONE,
		.extra2		= (void *)&iomap_ioend_folios_max,
	},
};

static int __init iomap_sysctl_init(void)
{
	register_sysctl_init("fs/iomap", iomap_sysctls);
	return 0;
}
fs_initcall(iomap_sysctl_init);
