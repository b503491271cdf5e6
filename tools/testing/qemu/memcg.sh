#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest test: one file whose neighbouring folios belong to two memory cgroups.
# The counters of both must return to zero, data must be right, and a cgroup
# may be removed while its pages are under writeback.
#
#   vm.py --userland full --smp 2 --script memcg.sh ...
#
# MEMCG_BREAK=counter leaves dirty pages behind: the test must fail.

# shellcheck source=/dev/null
. /vm/guest-lib.sh

BREAK=${MEMCG_BREAK:-none}
PARENT=/sys/fs/cgroup/memcg-test
A=$PARENT/a
B=$PARENT/b
MIB=1048576

make_device() {
	null_blk 0 memory_backed=1 size=640
	hold_device nullb0
	must mkfs.xfs -q /dev/mapper/held
	must mount -t xfs /dev/mapper/held /mnt
}

make_groups() {
	must mkdir -p "$PARENT"
	must mkdir "$A" "$B"
}

# stripes ACTION FILE SIZE RUN_A RUN_B: alternately RUN_A bytes by the writer in
# A and RUN_B bytes by the writer in B.
stripes() {
	writer "$A" "$1" "$2" "$3" 0 "$4" "$5" &
	first=$!
	writer "$B" "$1" "$2" "$3" "$4" "$5" "$4" || return
	wait "$first"
}

# With rw=write:SKIP fio leaves out SKIP bytes after each block.
writer() { # CGROUP ACTION FILE SIZE OFFSET RUN SKIP
	report=/results/fio-$(basename "$1")-$(basename "$3")$2.txt
	in_group "$1" fio --name=stripe --filename="$3" --ioengine=psync --thread \
		--rw="write:$7" --bs="$6" --offset="$5" \
		--io_size=$(($4 * $6 / ($6 + $7))) --size=$(($4 - $5)) \
		--verify=crc32c --verify_fatal=1 "$2" --invalidate=0 --output="$report"
}

verify() { # WHEN FILE SIZE RUN_A RUN_B
	when=$1
	shift
	drop_caches
	stripes --verify_only "$@" || fail "verification $when"
}

# The cgroups really own the pages they wrote.
owned() { # CGROUP BYTES
	got=$(memstat "$1" file)
	[ "$got" -ge "$2" ] || fail "$1 owns only $got bytes of page cache, not $2"
}

both_at_zero() {
	for group in "$A" "$B"; do
		becomes 0 memstat "$group" file_dirty
		becomes 0 memstat "$group" file_writeback
	done
	counters_at_zero
}

sync_often() {
	while :; do
		xfs_io -r -c syncfs /mnt
		sleep 0.3
	done
}

# A folio belongs to who was the first to write to it.  Two that take turns in one file
# look like one stream, whose folios would span what both write.
if [ -e /proc/sys/fs/iomap/stream_folio_max_bytes ]; then
	echo 0 > /proc/sys/fs/iomap/stream_folio_max_bytes ||
		fail "streams cannot be switched off"
fi

# Write with syncfs running beside, then everything must be back at zero.
alternate() { # RUN_A RUN_B
	size=$((32 * MIB))
	file=/mnt/alternate-$1-$2
	make_groups
	# full length at once: fio would unlink and remake a shorter file
	must truncate -s "$size" "$file"
	sync_often &
	syncer=$!
	stripes --do_verify=0 "$file" "$size" "$1" "$2" || fail "writing $file"
	kill "$syncer"
	must xfs_io -r -c syncfs /mnt
	owned "$A" $((size * $1 / ($1 + $2)))
	owned "$B" $((size * $2 / ($1 + $2)))
	[ "$BREAK" = counter ] &&
		in_group "$A" xfs_io -f -c 'pwrite -q 0 1m' /mnt/left-dirty
	both_at_zero
	verify "after alternating writes" "$file" "$size" "$1" "$2"
	must rmdir "$A" "$B"
	must rm "$file"
	ok "alternating $1 and $2 bytes: counters zero, data right"
}

# Remove both cgroups while exactly known numbers of their pages are in flight.
remove_in_flight() { # RUN_A RUN_B
	size=$((16 * MIB))
	file=/mnt/removed
	make_groups
	# Full length at once: fio would unlink and remake a shorter file.  With its
	# blocks, as a device that is held cannot be read to find some.
	must xfs_io -f -c "falloc 0 $size" -c fsync "$file"
	stripes --do_verify=0 "$file" "$size" "$1" "$2" || fail "writing $file"
	dirty_a=$((size * $1 / ($1 + $2)))
	dirty_b=$((size * $2 / ($1 + $2)))
	becomes "$dirty_a" memstat "$A" file_dirty
	becomes "$dirty_b" memstat "$B" file_dirty
	must dmsetup suspend --nolockfs --noudevsync held
	must xfs_io -c "sync_range -w 0 $size" "$file"
	becomes "$dirty_a" memstat "$A" file_writeback
	becomes "$dirty_b" memstat "$B" file_writeback
	becomes 0 memstat "$PARENT" file_dirty
	must rmdir "$A" "$B"
	becomes $((dirty_a + dirty_b)) memstat "$PARENT" file_writeback
	must dmsetup resume --noudevsync held
	must xfs_io -r -c syncfs /mnt
	becomes 0 memstat "$PARENT" file_writeback
	becomes 0 memstat "$PARENT" file_dirty
	make_groups
	both_at_zero
	verify "after the cgroups were removed" "$file" "$size" "$1" "$2"
	must rmdir "$A" "$B"
	must rm "$file"
	ok "cgroups removed with $((dirty_a + dirty_b)) bytes in flight, $1 and $2 alternating"
}

enable_controllers /sys/fs/cgroup
must mkdir -p "$PARENT"
enable_controllers "$PARENT"
no_periodic_writeback
make_device
alternate 4096 4096
alternate 65536 65536
alternate 12288 20480
remove_in_flight 4096 4096
remove_in_flight 65536 65536
must umount /mnt
no_negative_counters
ok "memcg test passed"
