#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script: fio overwrites a file in the page cache while the flusher writes it
# back, on XFS over RAID0 of four null_blk, which keep their data and let requests
# wait.  Runs under icount with one vCPU: a writer waits only for folios that
# somebody has locked who waits himself.
#
# overwrite.sh WRITE_KIB LATENCY_NS ATTRIBUTE=VALUE...: size of the write() calls
# that made the file, and with it of its folios; attributes of null_blk

. /vm/raid.sh

shift_start
kib=$1 latency=$2
shift 2
null_raid 0 2 "$latency" 512 memory_backed=1 "$@"
new_xfs /dev/md0
dd if=/dev/zero of=/mnt/file bs="${kib}k" count=$((128 * 1024 / kib)) 2> /dev/null ||
	die "cannot write"
sync
# the flusher never rests
sysctl -q -w vm.dirty_background_bytes=4194304 vm.dirty_writeback_centisecs=1 \
	vm.dirty_expire_centisecs=1 || die "sysctl failed"
run_jobs
