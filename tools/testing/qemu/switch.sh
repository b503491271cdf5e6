#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest test: inodes change to the wb of another cgroup while their folios are
# under writeback and more of it starts and ends.  The cgroup that owns the files
# is removed just then; its inodes move to the wb of its parent, which counts
# folios by the marks in the page cache.  What starts or ends in between must be
# counted for one of the two, so that the sum stays exact.
#
#   vm.py --userland full --smp 2 --script switch.sh ...
#
# SWITCH_BREAK=counter expects 64 pages too many: the test must fail.

# shellcheck source=/dev/null
. /vm/guest-lib.sh

export TERM=dumb		# xfs_io

BREAK=${SWITCH_BREAK:-none}
PARENT=/sys/fs/cgroup/switch-test
OWNER=$PARENT/owner
ROUNDS=${SWITCH_ROUNDS:-15}
FILES=4
PAGES=124			# of each file

make_device() {
	null_blk 0 memory_backed=1 size=512 irqmode=2 completion_nsec=3000000
	hold_device nullb0
	must mkfs.xfs -q /dev/mapper/held
	must mount -t xfs /dev/mapper/held /mnt
	WBS=/sys/kernel/debug/bdi/$(cat /sys/block/dm-0/dev)/wb_stats
	[ -r "$WBS" ] || fail "no $WBS"
}

# Commands of xfs_io that REPEAT times do COMMAND to each file.
for_files() { # REPEAT COMMAND...
	repeat=$1
	shift
	awk -v files="$FILES" -v repeat="$repeat" 'BEGIN {
		for (i = 1; i < ARGC; i++) command[i] = ARGV[i]
		for (f = 0; f < files; f++) print "open -f /mnt/f." f
		for (; repeat; repeat--) for (f = 0; f < files; f++) {
			print "file", f
			for (i = 1; i < ARGC; i++) print command[i]
		} }' "$@"
}

dirty_all() {
	must xfs_io < /tmp/dirty > /dev/null
}

# Only the flusher takes an inode off the dirty list of its wb, and only an
# inode that is on none is moved when its cgroup goes.  Waits for the device.
flush_all() {
	xfs_io -r -c syncfs /mnt
}

# Of the wb of a cgroup: KiB, or 0 if it has no wb.
wb_stat() { # CGROUP_INODE NAME
	awk -v ino="$1" -v name="$2:" '
		$1 == "WbCgIno:" { mine = $2 == ino }
		mine && $1 == name { found = $2 }
		END { print found + 0 }' "$WBS"
}

# With two CPUs, a full batch of folios is more than the slack.
expect_kib() { # CGROUP_INODE NAME KIB WHEN
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		got=$(wb_stat "$1" "$2")
		off=$((got > $3 ? got - $3 : $3 - got))
		[ "$off" -le "$(wb_stat_slack)" ] && return
		sleep 0.3
	done
	fail "$2 of the wb is $got KiB $4, should be $3"
}

# Files of a cgroup of their own: their inodes belong to its wb.
own_files() {
	must mkdir "$OWNER"
	must rm -f /mnt/f.*
	must flush_all
	in_group "$OWNER" xfs_io < /tmp/allocate > /dev/null || fail "allocating"
	must flush_all		# a device that is held cannot be read
	in_group "$OWNER" xfs_io < /tmp/dirty > /dev/null || fail "writing"
	owner=$(stat -c %i "$OWNER")
	[ "$(wb_stat "$owner" WbReclaimable)" -gt 0 ] || fail "the cgroup has no wb"
}

# A wb stays as long as an inode belongs to it.
owner_wbs() {
	grep -c "WbCgIno: *$owner\$" "$WBS"
}

# Writeback of each file starts and ends all the time, but for a moment in which the
# flusher finds all clean.  No syncfs() here: while it lasts, no inode changes its
# wb.
busy() {
	grep open /tmp/rewrite
	while [ ! -e /tmp/stop ]; do
		grep -v open /tmp/rewrite
		usleep 2000
	done
}

# Remove the owner of files that are dirtied and written all the time.  Inodes are
# chosen when some cgroup is removed while their wb has nothing on its dirty list.
# They are moved after a grace period of RCU.
switch_running() {
	own_files
	rm -f /tmp/stop
	must sh -c 'echo 1 > /proc/sys/vm/dirty_expire_centisecs'
	must sh -c 'echo 1 > /proc/sys/vm/dirty_writeback_centisecs'
	busy | xfs_io > /dev/null &
	must rmdir "$OWNER"
	tries=0
	while [ "$(owner_wbs)" -gt 0 ]; do
		tries=$((tries + 1))
		[ "$tries" -le 1000 ] || fail "the inodes stay with their old wb"
		must mkdir "$PARENT/other"
		must rmdir "$PARENT/other"
	done
	: > /tmp/stop
	wait
	no_periodic_writeback
}

# With the device held, the sums are known.
switch_held() {
	own_files
	must dmsetup suspend --nolockfs --noudevsync held
	flush_all &
	expect_kib "$owner" WbReclaimable 0 "once all is submitted"
	must rmdir "$OWNER"
	becomes 0 owner_wbs
	want=$((FILES * PAGES * 4))
	[ "$BREAK" = counter ] && want=$((want + 256))
	expect_kib "$parent" WbWriteback "$want" "with all in flight"
	dirty_all
	expect_kib "$parent" WbReclaimable "$want" "with all dirty again"
	must dmsetup resume --noudevsync held
	wait
	must flush_all
	expect_kib "$parent" WbReclaimable 0 "after syncfs"
	expect_kib "$parent" WbWriteback 0 "after syncfs"
}

enable_controllers /sys/fs/cgroup
must mkdir -p "$PARENT"
enable_controllers "$PARENT"
no_periodic_writeback
make_device
size=$((PAGES * 4096))
for_files 1 "falloc 0 $size" > /tmp/allocate
for_files 1 "pwrite -q -b 4k 0 $size" > /tmp/dirty
for_files 2 "pwrite -q -b 4k 0 $size" "sync_range -w 0 $size" > /tmp/rewrite

parent=$(stat -c %i "$PARENT")
switch_held
ok "$FILES inodes moved with $((FILES * PAGES)) pages in flight, counted exactly"
round=0
while [ "$round" -lt "$ROUNDS" ]; do
	switch_running
	round=$((round + 1))
done
ok "$((ROUNDS * FILES)) inodes moved while writeback started and ended"
switch_held
ok "the parent's counters are exact after that"
counters_at_zero
becomes 0 memstat "$PARENT" file_dirty
becomes 0 memstat "$PARENT" file_writeback
must umount /mnt
no_negative_counters
ok "switch test passed"
