/* SPDX-License-Identifier: GPL-2.0 */
/* What include/linux/filemap_stream.h needs of the kernel, in user space. */
#ifndef _STREAM_LINUX_MINMAX_H
#define _STREAM_LINUX_MINMAX_H

#define min_t(type, a, b) \
	((type)(a) < (type)(b) ? (type)(a) : (type)(b))

#endif
