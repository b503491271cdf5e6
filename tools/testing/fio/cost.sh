#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script of "make cost": what write() and writeback cost, in instructions.
# Runs under icount with one vCPU.  Arguments: the names of the rows to measure,
# 4k first if at all: the rows change the state of the memory.  Figures are the
# "cost:" lines that writer prints.

# shellcheck source=tools/testing/fio/raid.sh
. /vm/raid.sh

GIB=1073741824

# headline BS SIZE ROUNDS: a large file, laid out in one piece, is overwritten
headline() {
	writer -t write -b "$1" -s "$2" -r "$3" /mnt/large
}

# single_folios COMMAND...: with streams off, for the rows that show what batches save
single_folios() {
	largest_stream_folio 0 && "$@" && largest_stream_folio "$default_folio"
}

# stream BS SIZE ROUNDS: as headline, with what a stream of small writes gets
stream() {
	writer -t stream -b "$1" -s "$2" -r "$3" /mnt/large
}

random() { # random|random-cached [OPTION]
	writer -t "$1" -b 4k -s 256m -r 3 -R ${2:+"$2"} /mnt/large
}

# What the 4 KiB rows would be if no page had a free neighbour.
scattered_memory() {
	scatter_memory rest 320 &&
		writer -t scattered-memory -s 256m -b 4k -r 3 /mnt/large
}

small_files() {
	mkdir /mnt/small || return
	writer -s 16k -n 4096 -L 16k /mnt/small/f &&
		writer -t small-files -s 16k -n 4096 -b 4k -r 3 /mnt/small/f
}

fsync_each() {
	writer -t fsync -s 16m -b 4k -y -r 9 /mnt/large
}

third_page() {
	writer -t third-page -s 256m -b 4k -p 3 -r 3 /mnt/large
}

two_memcgs() {
	echo +memory > /sys/fs/cgroup/cgroup.subtree_control || return
	mkdir /sys/fs/cgroup/a /sys/fs/cgroup/b || return
	writer -t two-memcgs -s 256m -b 4k -r 3 \
		-g /sys/fs/cgroup/a/cgroup.procs,/sys/fs/cgroup/b/cgroup.procs \
		/mnt/large
}

# Extents of 16 KiB need realtime extents of one block.  Allocating them takes
# time that grows with the device, so that is hardly larger than the file.
fragmented() {
	null_raid 2 0 0 96
	xfs_realtime 2 /fragmented 4096
	writer -s 128m -L 16k -F /fragmented/f &&
		writer -t fragmented -s 128m -b 4k -r 3 /fragmented/f
}

# ext4 keeps metadata and data on one device: its first part, where mkfs is made
# to put all metadata, is on a ram disk.  Files of at most 256 MiB keep their
# extents in the inode, so none of their metadata are outside that part.
ext4() {
	head=$((64 * 2048))
	null_raid 1 0 0
	{
		echo "0 $head linear /dev/ram1 0"
		echo "$head $((4 * GIB / 512)) linear /dev/md1 $head"
	} | dmsetup create ext4 || return
	mkfs.ext4 -q -F -b 4096 -G 4096 -N 1024 -O ^has_journal,^resize_inode \
		-E lazy_itable_init=0,nodiscard /dev/mapper/ext4 || return
	mkdir /ext4 && mount -t ext4 /dev/mapper/ext4 /ext4 || return
	writer -s 256m -L 1m /ext4/f &&
		writer -t ext4 -s 128m -b 4k -r 3 /ext4/f
}

raw_device() {
	null_raid 3 0 0
	writer -t raw-device -s 128m -b 4k -r 3 /dev/md3
}

measure() {
	case $1 in
	4k) single_folios headline 4k 384m 3 ;;
	64k) single_folios headline 64k 512m 3 ;;
	1m) single_folios headline 1m 512m 5 ;;
	4000) single_folios headline 4000 128m 3 ;;
	512) single_folios headline 512 64m 1 ;;
	stream-4k) stream 4k 512m 5 ;;
	stream-64k) stream 64k 512m 5 ;;
	stream-1m) stream 1m 512m 5 ;;
	stream-4000) stream 4000 128m 3 ;;
	stream-512) stream 512 64m 2 ;;
	random) random random ;;
	random-cached) random random-cached -c ;;
	small-files) small_files ;;
	fsync) fsync_each ;;
	third-page) third_page ;;
	two-memcgs) two_memcgs ;;
	fragmented) fragmented ;;
	ext4) ext4 ;;
	raw-device) raw_device ;;
	scattered-memory) single_folios scattered_memory ;;
	*) die "no such row: $1" ;;
	esac
}

shift_start
null_raid 0 0 0
xfs_realtime 0 /mnt 2m
quiet_flusher
default_folio=$(largest_stream_folio)
writer -s 512m -L 1m /mnt/large || die "cannot lay the file out"
if [ "$1" = 4k ]; then
	measure 4k || die "row 4k failed"
	shift
fi
# The state that the other rows begin with: most of the free pages are scattered.
scatter_memory part 696 || die "cannot scatter the memory"
for row in "$@"; do
	measure "$row" || die "row $row failed"
done
