#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest test: XFS on a RAID0 of four NVMe drives.  Data of many block sizes is
# written, verified from the device twice, files are truncated and punched
# beside their own writeback, and in the end every writeback counter must be
# back at its start value.
#
#   vm.py --userland full --smp 2 --nvme 4:512 --script smoke.sh ...
#
# SMOKE_BREAK=corrupt damages a block on the device between write and verify,
# SMOKE_BREAK=counter leaves dirty pages behind: each must make the test fail.

# shellcheck source=/dev/null
. /vm/guest-lib.sh

BREAK=${SMOKE_BREAK:-none}
GROUP=/sys/fs/cgroup/smoke
ROUNDS=8

make_raid() {
	must mdadm --quiet --build /dev/md0 --level=0 --raid-devices=4 --chunk=64 \
		/dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1
	must mkfs.xfs -q /dev/md0
	BDI=/sys/kernel/debug/bdi/$(cat /sys/block/md0/dev)/stats
	[ -r "$BDI" ] || fail "no $BDI"
}

mount_fs() {
	must mount -t xfs /dev/md0 /mnt
}

# Sectors read from the array so far.
sectors_read() {
	awk '{ print $3 }' /sys/block/md0/stat
}

# ---- counters ----------------------------------------------------------------

# Print every writeback counter as "name value tolerance".
snapshot() {
	fold_counters
	awk '/^nr_(dirty|writeback|writeback_temp|zone_write_pending) / {
		print "vmstat:" $1, $2, 0 }' /proc/vmstat
	awk '/^Node/ { zone = $4 } /nr_zone_write_pending/ {
		print "zoneinfo:" zone ":" $1, $2, 0 }' /proc/zoneinfo
	awk '/^(Dirty|Writeback|WritebackTmp):/ {
		print "meminfo:" $1, $2, 0 }' /proc/meminfo
	# of up to three wbs
	awk -v slack="$((3 * $(wb_stat_slack)))" '/^(BdiWriteback|BdiReclaimable):/ {
		print "bdi:" $1, $2, slack }' "$BDI"
	for name in file_dirty file_writeback; do
		echo "memcg:$name $(memstat "$GROUP" "$name") 0"
	done
}

# Print the counters that differ from the start values in /tmp/start.
differing() {
	snapshot > /tmp/now
	awk 'NR == FNR { start[$1] = $2; next }
		{ seen++; d = $2 - start[$1]; if (d < 0) d = -d }
		!($1 in start) || d > $3 {
			print $1 ": " start[$1] " at the start, now " $2 }
		END { if (seen < 12) print "only " seen " counters were found" }' \
		/tmp/start /tmp/now
}

counters_are_back() { # WHEN
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		differing > /tmp/differing
		[ -s /tmp/differing ] || break
		sleep 0.5
	done
	if [ -s /tmp/differing ]; then
		cat /tmp/differing
		fail "counters $1"
	fi
	ok "$(wc -l < /tmp/now) counters are back at their start values $1"
}

# A wrapped counter is larger than all of memory.
watch_for_wraps() {
	total=$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)
	while :; do
		snapshot | awk -v kib="$total" '$2 > 1024 * kib { print "wrapped:", $0 }'
		sleep 1
	done >> /tmp/wraps
}

# ---- data --------------------------------------------------------------------

job() { # BLOCK_SIZE SIZE RW
	printf '[bs%s]\nfilename=bs%s\nbs=%s\nsize=%s\nrw=%s\n' "$1" "$1" "$1" "$2" "$3"
}

all_jobs() { # DO_VERIFY
	cat <<- END
		[global]
		directory=/mnt
		ioengine=psync
		thread=1
		verify=crc32c
		verify_fatal=1
		do_verify=$1
	END
	job 512 1m write
	job 4000 4000000 write
	job 4k 16m randwrite
	job 12k 12m randwrite
	job 64k 24m randwrite
	job 1m 32m write
}

run_fio() { # ARGUMENTS...
	in_group "$GROUP" fio --output=/results/fio-$runs.txt "$@"
	status=$?
	runs=$((runs + 1))
	return "$status"
}

# Verify all data; the page cache is empty, so it must come from the device.
verify() { # WHEN
	before=$(sectors_read)
	all_jobs 1 > /tmp/verify.fio
	if ! run_fio --verify_only /tmp/verify.fio; then
		grep -h 'verify\|err=' "/results/fio-$((runs - 1)).txt" | head -n 5
		fail "verification $1"
	fi
	got=$((($(sectors_read) - before) / 2048))
	[ "$got" -ge 80 ] || fail "verification $1 read only $got MiB from the device"
	ok "data verified $1, $got MiB read from the device"
}

# Overwrite one file system block where it lies on the array.
corrupt() { # FILE
	block=$(xfs_io -r -c 'fiemap -v' "$1" |
		awk '$1 == "0:" { split($3, at, "[.]"); print at[1] }')
	[ -n "$block" ] || fail "no extent of $1 found"
	must dd if=/dev/urandom of=/dev/md0 bs=512 seek="$((block + 16))" count=8 \
		conv=notrunc,fsync 2> /dev/null
}

# The same edits, applied to XFS and to tmpfs, must leave the same contents.
# sync_range starts writeback and does not wait for it.
edit() { # FILE NUMBER
	hole=$(($2 * 70000 + 1234))
	must xfs_io -f -c "pwrite -q -S 0x61 -b 64k 0 4m" -c "sync_range -w 0 4m" \
		-c "fpunch $hole 500000" -c "pwrite -q -S 0x62 -b 4k $hole 100000" \
		-c "sync_range -w 0 2m" -c "truncate $((4000000 - $2 * 333333))" \
		-c "sync_range -w 0 4m" -c "truncate 4m" \
		-c "pwrite -q -S 0x63 -b 512 3m 50000" "$1"
}

edit_beside_writeback() {
	in_group "$GROUP" fio --name=load --directory=/mnt --size=48m --thread \
		--rw=randwrite --bssplit=4k/60:64k/30:1m/10 --thinktime=1000 \
		--time_based --runtime=600 > /results/load.txt 2>&1 &
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		edit "/mnt/edit.$round" "$round"
		edit "/tmp/edit.$round" "$round"
		must xfs_io -r -c syncfs /mnt
		round=$((round + 1))
	done
	grep -q 'populated 1' "$GROUP/cgroup.events" || fail "the load ended early"
	must sh -c "echo 1 > $GROUP/cgroup.kill"
	becomes 'populated 0' grep populated "$GROUP/cgroup.events"
}

compare_edits() {
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		must cmp "/mnt/edit.$round" "/tmp/edit.$round"
		round=$((round + 1))
	done
	ok "$ROUNDS files truncated and punched beside writeback are right"
}

# ---- an exact look at counters in flight -------------------------------------

expect_pages() { # NAME PAGES
	got=$(vmstat "$1")
	[ "$got" -eq "$2" ] || fail "$1 is $got with exactly $2 such pages"
}

# Counters are clamped at zero when shown, so one that drifted below zero looks
# healthy at rest.  With exactly 1024 dirty pages, and then 1024 pages held in
# writeback by a suspended device, it does not.
held_writeback() {
	no_periodic_writeback
	hold_device md0
	must mount -t xfs /dev/mapper/held /mnt
	must xfs_io -f -c 'falloc 0 4m' -c fsync /mnt/held
	must xfs_io -c 'pwrite -q -b 4k 0 4m' /mnt/held
	fold_counters
	expect_pages nr_dirty 1024
	expect_pages nr_zone_write_pending 1024
	must dmsetup suspend --nolockfs --noudevsync held
	must xfs_io -c 'sync_range -w 0 4m' /mnt/held
	fold_counters
	expect_pages nr_dirty 0
	expect_pages nr_writeback 1024
	expect_pages nr_zone_write_pending 1024
	must dmsetup resume --noudevsync held
	must xfs_io -c fsync /mnt/held
	must umount /mnt
	must dmsetup remove --noudevsync held
	ok "1024 pages held dirty and in writeback are counted exactly"
}

# ---- the test ----------------------------------------------------------------

runs=0
make_raid
mount_fs
enable_controllers /sys/fs/cgroup
new_group "$GROUP"
sync
snapshot > /tmp/start
: > /tmp/wraps
watch_for_wraps &
watcher=$!

all_jobs 0 > /tmp/write.fio
run_fio /tmp/write.fio || fail "writing"
must xfs_io -r -c syncfs /mnt
ok "written"
[ "$BREAK" = corrupt ] && corrupt /mnt/bs64k
drop_caches
verify "after dropping the page cache"
must umount /mnt
mount_fs
verify "after a remount"

edit_beside_writeback
compare_edits
must xfs_io -r -c syncfs /mnt
drop_caches
compare_edits
kill "$watcher"
[ "$BREAK" = counter ] && no_periodic_writeback &&
	in_group "$GROUP" xfs_io -f -c 'pwrite -q 0 4m' /mnt/left-dirty
counters_are_back "after syncfs"
must umount /mnt
must xfs_repair -n /dev/md0 > /results/repair.txt 2>&1
counters_are_back "after umount"
held_writeback
[ -s /tmp/wraps ] && cat /tmp/wraps && fail "a counter wrapped"
no_negative_counters
ok "smoke test passed"
