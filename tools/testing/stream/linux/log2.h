/* SPDX-License-Identifier: GPL-2.0 */
/* What include/linux/filemap_stream.h needs of the kernel, in user space. */
#ifndef _STREAM_LINUX_LOG2_H
#define _STREAM_LINUX_LOG2_H

#define ilog2(x)	((unsigned int)(63 - __builtin_clzl(x)))

#endif
