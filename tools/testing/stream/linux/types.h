/* SPDX-License-Identifier: GPL-2.0 */
/* What include/linux/filemap_stream.h needs of the kernel, in user space. */
#ifndef _STREAM_LINUX_TYPES_H
#define _STREAM_LINUX_TYPES_H

#include <stdbool.h>

typedef unsigned long pgoff_t;

#endif
