/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets the KUnit suites of the series build in a kernel without the series, which
 * limits an ioend to 4096 folios and completes 8 times as many and one ioend more
 * before it schedules.
 */
#ifndef _LINUX_IOMAP_IOEND_H
#define _LINUX_IOMAP_IOEND_H

#include <linux/compiler.h>
#include <linux/iomap.h>

#define IOMAP_IOEND_FOLIOS_DEFAULT	4096U
#define IOMAP_IOEND_FOLIOS_ATOMIC	4096U
#define IOMAP_IOEND_FOLIOS_MAX		4096U
#define IOMAP_STRETCH_FOLIOS		(9 * 4096U)

/* For the suites: nothing that is tried here makes a difference. */
#define IOMAP_IOEND_FOLIOS_FIXED

/* Nothing reads it here. */
static unsigned int iomap_ioend_batch_folios __maybe_unused = 4096;

/**
 * iomap_ioend_max_folios - Most folios of an ioend.
 * @iomap: Not used.
 *
 * Context: Any context.
 * Return: The number of folios, whatever their size.
 */
static inline unsigned int iomap_ioend_max_folios(const struct iomap *iomap)
{
	return 4096;
}

#endif /* _LINUX_IOMAP_IOEND_H */
