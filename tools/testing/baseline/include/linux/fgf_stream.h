/* SPDX-License-Identifier: GPL-2.0 */
/* Tells the KUnit suites of the series that a kernel has no streams. */
#ifndef _LINUX_FGF_STREAM_H
#define _LINUX_FGF_STREAM_H

#define FGF_STREAM_ABSENT

#endif /* _LINUX_FGF_STREAM_H */
