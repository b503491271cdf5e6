#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script: how often the i_pages lock is taken while a file is dirtied with
# 4 KiB writes and while it is written back.  Needs CONFIG_LOCK_STAT.  Prints
# lines for each lock class that locks of an xarray have:
#
#	locks: phase=write|writeback bytes=B class=NAME count=N
#
# Only counts are of use: lockdep multiplies the time that a lock is held.

# shellcheck source=tools/testing/fio/raid.sh
. /vm/raid.sh

MIB=128
BYTES=$((MIB * 1048576))

# report PHASE: i_pages is one of the classes named after xa_lock
report() {
	awk -v head="locks: phase=$1 bytes=$BYTES" '
		$1 ~ /^&xa->xa_lock/ { sub(/:.*/, "", $1)
			print head, "class=" $1, "count=" $(NF - 4) }' \
		/proc/lock_stat
}

[ -e /proc/lock_stat ] || die "the kernel has no lock statistics"
shift_start
null_raid 0 0 0
xfs_realtime 0 /mnt 2m
largest_stream_folio 0 || die "streams cannot be switched off"
quiet_flusher
writer -s ${MIB}m -L 1m /mnt/large || die "cannot lay the file out"
echo 1 > /proc/sys/vm/drop_caches

echo 1 > /proc/sys/kernel/lock_stat
echo 0 > /proc/lock_stat
dd if=/dev/zero of=/mnt/large bs=4k count=$((MIB * 256)) conv=notrunc \
	2> /dev/null || die "dd failed"
report write
echo 0 > /proc/lock_stat
sync
report writeback
echo 0 > /proc/sys/kernel/lock_stat
