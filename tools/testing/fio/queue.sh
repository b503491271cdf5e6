#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script: fio appends to new files on XFS over RAID0 of four null_blk, which keep
# their data in memory and have a latency, few tags or a limited bandwidth.  Runs
# under icount with one vCPU: what is measured is whether submission and completion
# overlap as well as without the series, to the instruction.
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
mkfs.xfs -q -f -K /dev/md0 || die "mkfs.xfs failed"
mount -t xfs /dev/md0 /mnt || die "cannot mount XFS"
# memory of the drives is allocated when it is first written
dd if=/dev/zero of=/mnt/fill bs=1M 2> /dev/null
rm /mnt/fill
sync
echo 3 > /proc/sys/vm/drop_caches
fio --output-format=json --output=/results/fio.json /vm/jobs.fio ||
	die "fio failed"
