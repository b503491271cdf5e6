#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script of "make report-ioend": what fs.iomap.ioend_batch_folios buys.  Runs
# under icount with one vCPU on a kernel with tracepoints.
#
# ioend.sh LAYOUT VALUE...: "contiguous" is memory as it is after boot, in "scattered"
# memory no page of a file has its neighbour for a neighbour.  For each value, and for
# extents that are written and that are not, prints
#
#	ioend: kind=K value=N cost=N mib_s=N ioends=N folios=N max_folios=N
#	       task_ns=N irq_ns=N irq_folio_ns=N
#
# on one line: instructions of writeback per GiB, on drives that complete at once;
# MiB/s of fio, on drives that take 20 us; and from the tracepoints of such a run the
# number of ioends, the folios in all and in the largest, the longest time without a
# scheduling point in a task, the longest completion in an interrupt, and the most
# instructions for a folio of one of at least 64 in an interrupt.  At the end, the same
# of written extents, 4096 folios and a hold of the i_pages lock for each folio:
#
#	single: ioends=N ...

# shellcheck source=tools/testing/fio/raid.sh
. /vm/raid.sh

TRACING=/sys/kernel/tracing
MIB=192

# fresh KIND DIR: an uncached file with extents of a kind
fresh() {
	rm -f "$2/f"
	case $1 in
	written) writer -s ${MIB}m -L 1m "$2/f" ;;
	unwritten) xfs_io -f -c "falloc 0 ${MIB}m" "$2/f" ;;
	esac || die "cannot make a file"
	sync
	echo 1 > /proc/sys/vm/drop_caches
}

# cost KIND: writes what writer has to say
cost() {
	for _ in 1 2 3; do
		fresh "$1" /mnt
		writer -t "$1" -s ${MIB}m -b 4k -r 1 /mnt/f
	done | awk '{ for (i = 1; i <= NF; i++) { split($i, w, "="); v[w[1]] = w[2] }
		print int(v["writeback_ns"] * 1073741824 / v["bytes"]) }' |
		sort -n | sed -n 2p
}

bandwidth() { # KIND
	for _ in 1 2 3; do
		fresh "$1" /latency
		fio --output-format=json --name=f --filename=/latency/f --rw=write \
			--bs=4k --size=${MIB}m --ioengine=psync --zero_buffers=1 \
			--end_fsync=1 --overwrite=1 --fallocate=none > /tmp/fio.json ||
			die "fio failed"
		sed -n '/"write" *:/,/"bw"/s/.*"bw" : \([0-9]*\),.*/\1/p' /tmp/fio.json
	done | sort -n | sed -n 2p | awk '{ printf "%.1f", $1 / 1024 }'
}

traced() { # KIND
	fresh "$1" /latency
	echo > $TRACING/trace
	echo 1 > $TRACING/events/iomap/iomap_ioend_complete/enable
	writer -t "$1" -s ${MIB}m -b 4k -r 1 /latency/f > /dev/null
	echo 0 > $TRACING/events/iomap/iomap_ioend_complete/enable
	awk '/iomap_ioend_complete:/ {
		for (i = 1; i < NF; i++) v[$i] = $(i + 1)
		ioends++
		folios += v["folios"]
		if (v["folios"] > most) most = v["folios"]
		if (v["context"] == "task") {
			if (v["stretch_ns"] > task) task = v["stretch_ns"]
			next
		}
		if (v["busy_ns"] > irq) irq = v["busy_ns"]
		if (v["folios"] >= 64 && v["busy_ns"] / v["folios"] > each)
			each = v["busy_ns"] / v["folios"]
	}
	/entries-in-buffer/ { split($3, n, "/"); lost = n[1] != n[2] }
	END {
		if (lost) exit 1
		printf "ioends=%d folios=%d max_folios=%d task_ns=%d irq_ns=%d irq_folio_ns=%d\n",
			ioends, folios, most, task, irq, each
	}' $TRACING/trace || die "events were lost"
}

layout=$1
shift
mount -t tracefs tracefs $TRACING || die "cannot mount tracefs"
echo $((MIB * 128)) > $TRACING/buffer_size_kb
shift_start
null_raid 0 0 0
xfs_realtime 0 /mnt 2m
null_raid 1 2 20000
xfs_realtime 1 /latency 2m
quiet_flusher
[ "$layout" != scattered ] || scatter_memory part 640 || die "cannot scatter the memory"
for kind in written unwritten; do
	for value in "$@"; do
		echo "$value" > /proc/sys/fs/iomap/ioend_batch_folios ||
			die "$value is refused"
		echo "ioend: kind=$kind value=$value cost=$(cost $kind)" \
			"mib_s=$(bandwidth $kind) $(traced $kind)"
	done
done

# The longest that an interrupt can take: a hold of the i_pages lock for each folio.
echo 4096 > /proc/sys/fs/iomap/ioend_batch_folios
echo 1 > /proc/sys/vm/writeback_batch_folios
echo "single: $(traced written)"
