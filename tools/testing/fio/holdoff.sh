#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script: how long the completion of one merged chain of ioends keeps other
# tasks from the CPU.  Runs under icount with one vCPU and 3.5 GiB of memory.
#
# holdoff.sh MIB [IOEND_BATCH_FOLIOS]: of so many MiB in folios of 4 KiB
#
# The file is preallocated, so that its ioends convert unwritten extents, which a
# worker does for all that it finds completed, merged.  It would find few at a time:
# a task of real-time priority keeps it from the CPU while the drives complete the
# requests.  cyclictest, of still higher priority, notes how late it gets the CPU when
# its timer expires.  Prints
#
#	holdoff: pages=N longest_ns=N
#
# and where the kernel has tracepoints, of the ioends of the file
#
#	chain: ioends=N folios=N in_order=N busy_ns=N stretch_ns=N
#
# in_order counts the folios up to the first ioend that does not continue the one
# before: all of them, if the worker found everything at once.  stretch_ns is the
# longest time without a scheduling point, as the tracepoint has it.

# shellcheck source=tools/testing/fio/raid.sh
. /vm/raid.sh

MIB=$1
# What all requests take, in nanoseconds of guest time: longer than it takes to
# submit them.
LATENCY=4000000000

# occupy CENTISECONDS: keep everything of normal priority from the CPU
occupy() {
	read -r now _ < /proc/uptime
	chrt -f 10 sh -c "while read -r now _ < /proc/uptime &&
		[ \"\${now%.*}\${now#*.}\" -lt $((${now%.*}${now#*.} + $1)) ]; do :; done"
}

report_chain() {
	recording 0
	recorded_ioends > /results/ioends
	awk '{
		folios += $3
		if ($3 > most) most = $3
		busy += $5
		if ($6 > stretch) stretch = $6
		if ($1 != sprintf("0x%x", next_pos)) jumped = 1
		if ($4 == "task" && !jumped) in_order += $3
		next_pos += $2
	}
	END {
		printf "chain: ioends=%d folios=%d max_folios=%d in_order=%d busy_ns=%d stretch_ns=%d\n",
			NR, folios, most, in_order, busy, stretch
	}' /results/ioends
}

[ -z "$2" ] || echo "$2" > /proc/sys/fs/iomap/ioend_batch_folios ||
	die "fs.iomap.ioend_batch_folios does not take $2"
# Else the scheduler lets normal tasks have a part of each second all the same.
echo 0 > /sys/kernel/debug/sched/fair_server/cpu0/runtime ||
	die "cannot keep normal tasks from the CPU"
# A CPU that is held for two seconds is a soft lockup, where there is a detector.
[ ! -e /proc/sys/kernel/watchdog_thresh ] ||
	echo 1 > /proc/sys/kernel/watchdog_thresh || die "no soft lockup detector"

shift_start
null_raid 0 2 "$LATENCY" 16384 hw_queue_depth=10240 max_sectors=2560
xfs_realtime 0 /mnt 2m
largest_stream_folio 0 || die "streams cannot be switched off"
quiet_flusher
no_periodic_writeback
xfs_io -f -c "falloc 0 ${MIB}m" /mnt/chain || die "cannot preallocate"
dd if=/dev/zero of=/mnt/chain bs=4k count=$((MIB * 256)) conv=notrunc \
	2> /dev/null || die "dd failed"
# Kernels without tracepoints are watched by cyclictest alone.
traced=
if trace_ioends "$MIB"; then
	traced=y
	recording 1
fi
xfs_io -c fdatasync /mnt/chain &
sync=$!
usleep 3600000
[ "$(awk '$1 == "Writeback:" { print $2 }' /proc/meminfo)" = $((MIB * 1024)) ] ||
	die "not all of the file is under writeback at once"
cyclictest -q -N -m -p 90 -i 200 -D 5 > /results/cyclictest.log 2>&1 &
usleep 100000
occupy 240 || die "cannot keep the CPU from other tasks"
wait "$sync" || die "fdatasync failed"
wait
longest=$(sed -n 's/.* Max: *\([0-9]*\)$/\1/p' /results/cyclictest.log)
[ -n "$longest" ] || die "cyclictest: $(tail -n 1 /results/cyclictest.log)"
echo "holdoff: pages=$((MIB * 256)) longest_ns=$longest"
[ -z "$traced" ] || report_chain
