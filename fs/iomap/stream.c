// SPDX-License-Identifier: GPL-2.0-only
/*
 * fs.iomap.stream_folio_max_bytes: how large the folios of streams of small writes may
 * be.  See include/linux/filemap_stream.h for what a stream is.
 */
#include <linux/init.h>
#include <linux/iomap_stream.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include "sysctl.h"

/* What iomap_stream_folio_max_bytes is for __filemap_get_folio(). */
fgf_t iomap_stream_flags __read_mostly;

static unsigned int iomap_stream_folio_max_bytes = IOMAP_STREAM_BYTES_DEFAULT;

static void iomap_stream_set_flags(void)
{
	/* Below the size of two pages, it is that of one. */
	unsigned int order = filemap_get_order(iomap_stream_folio_max_bytes | 1);

	WRITE_ONCE(iomap_stream_flags, fgf_set_stream_order(order));
}

#ifdef CONFIG_SYSCTL
static unsigned int iomap_stream_bytes_max __ro_after_init;
static DEFINE_MUTEX(iomap_stream_mutex);

/* The flags follow the value, whoever else writes it. */
static int iomap_stream_handler(const struct ctl_table *table, int write,
		void *buffer, size_t *lenp, loff_t *ppos)
{
	int error;

	mutex_lock(&iomap_stream_mutex);
	error = iomap_douintvec_minmax(table, write, buffer, lenp, ppos);
	if (write && !error)
		iomap_stream_set_flags();
	mutex_unlock(&iomap_stream_mutex);
	return error;
}

static struct ctl_table iomap_stream_sysctls[] = {
	{
		.procname	= "stream_folio_max_bytes",
		.data		= &iomap_stream_folio_max_bytes,
		.maxlen		= sizeof(iomap_stream_folio_max_bytes),
		.mode		= 0644,
		.proc_handler	= iomap_stream_handler,
		.extra1		= SYSCTL_ZERO,
		.extra2		= &iomap_stream_bytes_max,
	},
};

static void __init iomap_stream_register(void)
{
	iomap_stream_bytes_max = (unsigned int)PAGE_SIZE << MAX_PAGECACHE_ORDER;
	register_sysctl_init("fs/iomap", iomap_stream_sysctls);
}
#else
static inline void iomap_stream_register(void)
{
}
#endif

static int __init iomap_stream_init(void)
{
	iomap_stream_set_flags();
	iomap_stream_register();
	return 0;
}
fs_initcall(iomap_stream_init);
