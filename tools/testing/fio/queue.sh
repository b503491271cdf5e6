#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script: fio appends to new files on XFS over RAID0 of four null_blk, which
# keep their data in memory and have a latency, few tags or a limited bandwidth.
# Runs under icount with one vCPU: what is measured is whether submission and
# completion overlap as well as without the series, to the instruction.
#
# Unlike in bandwidth.sh, blocks are allocated and the size of the file is
# updated, so that ioends complete in a workqueue.
#
# queue.sh LATENCY_NS ATTRIBUTE=VALUE...: attributes of null_blk

. /vm/raid.sh

shift_start
latency=$1
shift
null_raid 0 2 "$latency" 512 memory_backed=1 "$@"
append_jobs /dev/md0 2048		# more than there is: all of it
