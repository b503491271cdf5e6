#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest test: everything at once on one file.  Four kinds of pages take turns, so
# that a run of neighbours has members of each: written with pwrite() and fsync(),
# written through a mapping, partly written in pieces of 1 KiB, and written and
# punched out again.  Behind them the file is extended and truncated, in front of them it is
# mapped and written in pieces of 512 bytes at random: each write to a page after its
# writeback has begun has to make it dirty again.  The flusher, fsync(),
# sync_file_range() and syncfs() run beside all that.
#
# Each round writes other data, which is verified from the device.  After the last
# round the file system is shut down in the middle of everything, and what had been
# synced before has to be there.
#
#   vm.py --userland full --smp 2 --script storm.sh --arg xfs --arg 1k ...
#
# storm.sh FS BLOCK_SIZE.  STORM_BREAK=stale verifies against the data of another
# round, STORM_BREAK=unsynced leaves out the fsync() before the shutdown: each must
# make the test fail.

# shellcheck source=/dev/null
. /vm/guest-lib.sh

FS=$1
BLOCK=$2
BREAK=${STORM_BREAK:-none}
ROUNDS=${STORM_ROUNDS:-2}
BASE=$((512 << 10))
SIZE=$((BASE + (24 << 20)))
FILE=/mnt/storm

# 100 us: what is submitted stays under writeback for a while.
make_device() {
	null_blk 0 memory_backed=1 size=320 irqmode=2 completion_nsec=100000
	case $FS in
	xfs) must mkfs.xfs -q -f -b "size=$BLOCK" /dev/nullb0 ;;
	ext4) must mkfs.ext4 -q -F -b "${BLOCK%k}024" /dev/nullb0 ;;
	*) fail "no such file system: $FS" ;;
	esac
}

mount_fs() {
	must mount -t "$FS" /dev/nullb0 /mnt
}

# Writes back all the time, a little at a time.
busy_flusher() {
	must sh -c 'echo 5 > /proc/sys/vm/dirty_writeback_centisecs'
	must sh -c 'echo 1 > /proc/sys/vm/dirty_expire_centisecs'
	must sh -c 'echo 1048576 > /proc/sys/vm/dirty_background_bytes'
}

# job NAME ENGINE OFFSET BLOCK_SIZE OPTIONS...: a block in every 16 KiB behind BASE
job() {
	printf '[%s]\nioengine=%s\noffset=%s\nbs=%s\nrw=write:%s\n' \
		"$1" "$2" $((BASE + $3)) "$4" $((16384 - $4))
	printf 'size=%s\nio_size=%s\n' $((SIZE - BASE - $3)) \
		$(((SIZE - BASE) * $4 / 16384))
	shift 4
	printf '%s\n' "$@"
}

header() { # ROUND
	cat <<- END
		[global]
		filename=$FILE
		thread=1
		allow_file_create=0
		invalidate=0
		verify=pattern
		verify_fatal=1
		verify_pattern=$1
	END
}

# Jobs of their own, as only they are synced before the shutdown.
synced_jobs() { # ROUND OPTIONS...
	header "$1"
	shift
	printf '%s\n' '[scatter]' ioengine=mmap bs=512 rw=randwrite "size=$BASE" "$@"
	job write psync 0 4096 "$@"
}

other_jobs() { # ROUND OPTIONS...
	header "$1"
	shift
	job map mmap 4096 4096 "$@"
	job piece psync 8192 1024 sync_file_range=write:16 "$@"
	job third psync 10240 1024 "$@"
}

# The fourth kind: each page is dirtied and punched out, one in four with writeback
# of its neighbourhood begun in between.
hole_commands() {
	awk -v base="$BASE" -v size="$SIZE" 'BEGIN {
		for (at = base + 12288; at < size; at += 16384) {
			print "pwrite -q -S 0x64", at, 4096
			if (at % 65536 > 49152) print "sync_range -w", at - 12288, 32768
			print "fpunch", at, 4096
		}
	}'
}

punch_holes() {
	xfs_io "$FILE" < /tmp/holes > /dev/null
}

holes() {
	while :; do
		punch_holes || return
	done
}

# Leaves what the file of the same name in /tmp has.
tail_end() { # FILE
	must xfs_io -f -c "pwrite -q -S 0x65 -b 64k $SIZE 3000000" \
		-c "sync_range -w $SIZE 2m" -c "truncate $((SIZE + 777777))" \
		-c "pwrite -q -S 0x66 -b 4000 $((SIZE + 500000)) 900000" \
		-c "truncate $SIZE" -c "sync_range -w $((SIZE - 1048576)) 1m" \
		-c "pwrite -q -S 0x67 -b 8k $((SIZE + 8192)) 1234567" "$1"
}

tails() {
	while :; do
		tail_end "$FILE"
	done
}

syncs() {
	while :; do
		xfs_io -r -c syncfs /mnt && xfs_io -c fsync "$FILE" || return
		sleep 0.1
	done
}

start() { # FUNCTION
	"$1" &
	helpers="$helpers $!"
}

stop_helpers() {
	for helper in $helpers; do
		kill "$helper" 2> /dev/null
	done
	# an xfs_io that was running ends by itself
	wait
	helpers=
}

run_fio() { # NAME JOB_FILE OPTIONS...
	name=$1
	shift
	fio --output="/results/fio-$name.txt" "$@" || {
		grep -h 'verify\|err=' "/results/fio-$name.txt" | head -n 3
		return 1
	}
}

write_round() { # ROUND
	synced_jobs "$1" do_verify=0 loops=3 > /tmp/synced.fio
	echo fsync=64 >> /tmp/synced.fio	# of the last; fio maps no blocks of 512 then
	other_jobs "$1" do_verify=0 loops=3 > /tmp/other.fio
	start holes
	start tails
	start syncs
	run_fio "other-$1" /tmp/other.fio &
	other=$!
	run_fio "synced-$1" /tmp/synced.fio || fail "writing, round $1"
	wait "$other" || fail "writing, round $1"
	stop_helpers
}

# What the four kinds and the tail have to be; data are read from the device.
verify_round() { # ROUND
	must punch_holes
	tail_end "$FILE"
	tail_end /tmp/storm
	drop_caches
	synced_jobs "$1" > /tmp/synced.fio
	other_jobs "$1" > /tmp/other.fio
	run_fio "verify-$1" --verify_only /tmp/synced.fio ||
		fail "verification of what was synced, round $1"
	run_fio "verify-other-$1" --verify_only /tmp/other.fio ||
		fail "verification, round $1"
	{ header 0x00; job hole psync 12288 4096; job gap psync 9216 1024; } > /tmp/holes.fio
	run_fio "verify-holes-$1" --verify_only /tmp/holes.fio ||
		fail "verification of holes, round $1"
	must cmp "$FILE" /tmp/storm "$SIZE" "$SIZE"
}

# What has been synced survives, whatever was going on beside it.
shut_down() {
	round=$((ROUNDS + 1))
	sync=1
	if [ "$BREAK" = unsynced ]; then
		sync=0
		no_periodic_writeback	# or the flusher may be fast enough
		must sh -c 'echo 1073741824 > /proc/sys/vm/dirty_background_bytes'
	fi
	synced_jobs "$round" do_verify=0 end_fsync=$sync > /tmp/synced.fio
	other_jobs "$round" do_verify=0 time_based runtime=600 > /tmp/other.fio
	start holes
	start tails
	run_fio other-last /tmp/other.fio > /dev/null 2>&1 &
	other=$!
	run_fio synced-last /tmp/synced.fio || fail "writing before the shutdown"
	must xfs_io -x -c shutdown /mnt
	kill "$other" 2> /dev/null
	stop_helpers > /dev/null
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		umount /mnt && break
		sleep 1
	done
	mount_fs
	synced_jobs "$round" > /tmp/synced.fio
	run_fio verify-last --verify_only /tmp/synced.fio ||
		fail "what had been synced is not there after a shutdown"
}

make_device
mount_fs
busy_flusher
hole_commands > /tmp/holes
must truncate -s "$SIZE" "$FILE" /tmp/storm
helpers=
round=1
while [ "$round" -le "$ROUNDS" ]; do
	write_round "$round"
	verified=$round
	[ "$BREAK" = stale ] && verified=$((round + 1))
	verify_round "$verified"
	ok "round $round: all data verified from the device"
	round=$((round + 1))
done
shut_down
ok "synced data survived a shutdown of the file system"
must xfs_io -r -c syncfs /mnt
counters_at_zero
must umount /mnt
case $FS in
xfs) must xfs_repair -n /dev/nullb0 > /results/repair.txt 2>&1 ;;
esac
counters_at_zero
no_negative_counters
ok "storm test passed"
