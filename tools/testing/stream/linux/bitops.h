/* SPDX-License-Identifier: GPL-2.0 */
/* What include/linux/filemap_stream.h needs of the kernel, in user space. */
#ifndef _STREAM_LINUX_BITOPS_H
#define _STREAM_LINUX_BITOPS_H

#define __ffs(x)	((unsigned int)__builtin_ctzl(x))

#endif
