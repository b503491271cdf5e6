# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# Shared by the guest scripts that measure; sourced, runs under busybox ash.
# Kernel parameters needed: brd.rd_nr=3 brd.rd_size=327680.

# shift_start: guests differ in nothing but SHIFT, see guest.py
shift_start() {
	usleep $((${SHIFT:-0} * 1301))
}

# shellcheck source=/dev/null
. /vm/guest-lib.sh

die() {
	echo "$*" >&2
	exit 1
}

# null_raid N IRQMODE COMPLETION_NS [MIB [ATTRIBUTE=VALUE...]]: /dev/mdN, RAID0 over
# four null_blk that keep no data unless memory_backed=1 is among the attributes.
# Mode 0 completes inside submission, mode 2 after COMPLETION_NS of guest time; MIB
# is the size of one disk.  The chunk is mdadm --create's default: with the
# 64 KiB that --build would take, half of the cost of large writes is splitting
# bios.
null_raid() {
	number=$1 irqmode=$2 latency=$3 mib=${4:-16384}
	shift $(($# < 4 ? $# : 4))
	disks=
	for i in 0 1 2 3; do
		null_blk $((number * 4 + i)) "size=$mib" blocksize=512 queue_mode=2 \
			submit_queues=1 "irqmode=$irqmode" \
			"completion_nsec=$latency" "$@"
		disks="$disks /dev/nullb$((number * 4 + i))"
	done
	# shellcheck disable=SC2086 # a list
	mdadm --quiet --build "/dev/md$number" --level=0 --raid-devices=4 \
		--chunk=512 $disks || die "mdadm failed"
}

# xfs_realtime N DIR EXTENT: XFS on DIR whose data are on /dev/mdN, which forgets
# them, and whose metadata are on the ram disk /dev/ramN, which does not.  Realtime
# extents larger than a block, 2m as mkfs.xfs takes for this array, send
# every write() through another mapping path than extents of one block.
xfs_realtime() {
	mkdir -p "$2"
	mkfs.xfs -q -f -d rtinherit=1 -r "rtdev=/dev/md$1,extsize=$3" \
		"/dev/ram$1" || die "mkfs.xfs failed"
	mount -t xfs -o "rtdev=/dev/md$1" "/dev/ram$1" "$2" ||
		die "cannot mount XFS"
}

new_xfs() { # DEVICE: a new file system on /mnt
	mkfs.xfs -q -f -K "$1" || die "mkfs.xfs failed"
	mount -t xfs "$1" /mnt || die "cannot mount XFS"
}

# One fio runs all jobs of jobs.fio, as starting it takes longer than a job.
run_jobs() {
	fio --output-format=json --output=/results/fio.json /vm/jobs.fio ||
		die "fio failed"
}

# append_jobs DEVICE MIB: the jobs of jobs.fio on new files of a new XFS, of which so
# much was written before: memory of drives is allocated, and code translated, at
# first use.
append_jobs() {
	new_xfs "$1"
	dd if=/dev/zero of=/mnt/warmup bs=1M count="$2" 2> /dev/null
	rm /mnt/warmup
	sync
	echo 3 > /proc/sys/vm/drop_caches
	run_jobs
}

# Free memory after boot lies in physical order, so that neighbouring pages of a
# file share a segment of a bio.  After a long uptime few pages have a neighbour that
# is free too: that is the row scattered-memory.  What comes in between depends on
# what ran before, to the tick, and repeats too badly to be gated.
#
# scatter_memory NAME MIB: free every other page of twice that much memory
scatter_memory() {
	mkdir "/scatter-$1" && mount -t tmpfs -o size=2g "$1" "/scatter-$1" &&
		writer -s "$2m" -L 4k -F "/scatter-$1/free" &&
		rm "/scatter-$1/free"
}

# trace_ioends MIB: prepare to record the ioends of so much, one for each folio at
# worst.  Fails on kernels without the event.
trace_ioends() {
	tracing=/sys/kernel/tracing
	[ -d $tracing ] || return 1
	mount -t tracefs tracefs $tracing || die "cannot mount tracefs"
	[ -d $tracing/events/iomap/iomap_ioend_complete ] || return 1
	echo $(($1 * 128)) > $tracing/buffer_size_kb || die "no memory for a trace"
	echo mono > $tracing/trace_clock || die "no such clock"
}

# recording 0|1: whether completions are recorded
recording() {
	echo "$1" > "$tracing/events/iomap/iomap_ioend_complete/enable" ||
		die "no tracepoint of ioends"
}

# recorded_ioends: a line for each completion, in their order, of position in bytes,
# bytes, folios, context, busy_ns and stretch_ns.  Words of the event are names, each
# followed by its value.
recorded_ioends() {
	awk '/entries-in-buffer/ { split($3, n, "/"); if (n[1] != n[2]) exit 1 }
		/iomap_ioend_complete:/ {
			for (i = 1; i < NF; i++) v[$i] = $(i + 1)
			print v["pos"], v["bytes"], v["folios"], v["context"],
				v["busy_ns"], v["stretch_ns"]
		}' "$tracing/trace" > /tmp/ioends || die "events were lost"
	cat /tmp/ioends
}

# largest_stream_folio [BYTES]: set or print it; 0 to have a folio for each page that is
# written, where a guest is about these.  Kernels without streams have nothing else.
largest_stream_folio() {
	[ -e /proc/sys/fs/iomap ] || return 0
	if [ $# = 0 ]; then
		cat /proc/sys/fs/iomap/stream_folio_max_bytes
	else
		echo "$1" > /proc/sys/fs/iomap/stream_folio_max_bytes
	fi
}

# Nothing is written back unless somebody asks for it: no dirty limit is ever
# reached and the periodic flusher is off.
quiet_flusher() {
	sysctl -q -w vm.dirty_bytes=17179869184 \
		vm.dirty_background_bytes=8589934592 \
		vm.dirty_writeback_centisecs=0 \
		vm.dirty_expire_centisecs=360000 || die "sysctl failed"
}
