#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script of "make report-ioend": what fs.iomap.ioend_batch_folios buys.  Runs
# under icount with one vCPU.
#
# ioend.sh LAYOUT VALUE...: LAYOUT "contiguous" is memory as it is after boot, in
# "scattered" memory no page of a file has its neighbour for a neighbour.  VALUE
# "fixed" is that of a kernel without the tunable, of which nothing is traced.  KIND of
# the extents is "written" or "unwritten".  For each kind and value, three times:
#
#	cost: name=KIND-VALUE ...	of writer, on drives that complete at once
#	/results/KIND-VALUE-N.json	of fio, on drives that take 20 us
#
# and of the tracepoints of one more such run, on one line
#
#	ioend: kind=KIND value=N ioends=N folios=N max_folios=N task_ns=N irq_ns=N
#	       irq_folio_ns=N
#
# the number of ioends, the folios in all and in the largest, the longest time without a
# scheduling point in a task, the longest completion in an interrupt, and the most
# instructions for a folio of one of at least 64 in an interrupt.  Then the same of written
# extents, 4096 folios and a hold of the i_pages lock for each folio:
#
#	single: ioends=N ...

# shellcheck source=tools/testing/fio/raid.sh
. /vm/raid.sh

MIB=192

# fresh KIND DIR: an uncached file with extents of a kind
fresh() {
	rm -f "$2/f"
	case $1 in
	written) writer -s ${MIB}m -L 1m "$2/f" ;;
	unwritten) xfs_io -f -c "falloc 0 ${MIB}m" "$2/f" ;;
	esac || die "cannot make a file"
	sync
	echo 1 > /proc/sys/vm/drop_caches || die "cannot drop the page cache"
}

cost() { # KIND VALUE
	fresh "$1" /mnt
	writer -t "$1-$2" -s ${MIB}m -b 4k -r 1 /mnt/f || die "writer failed"
}

bandwidth() { # KIND VALUE N
	fresh "$1" /latency
	fio --output-format=json --output="/results/$1-$2-$3.json" --name="$1-$2" \
		--filename=/latency/f --rw=write --bs=4k --size=${MIB}m \
		--ioengine=psync --zero_buffers=1 --end_fsync=1 --overwrite=1 \
		--fallocate=none || die "fio failed"
}

traced() { # KIND
	fresh "$1" /latency
	echo > "$tracing/trace"
	recording 1
	writer -t "$1" -s ${MIB}m -b 4k -r 1 /latency/f > /dev/null ||
		die "writer failed"
	recording 0
	recorded_ioends > /results/ioends
	awk '{
		folios += $3
		if ($3 > most) most = $3
		if ($4 == "task") {
			if ($6 > task) task = $6
			next
		}
		if ($5 > irq) irq = $5
		if ($3 >= 64 && $5 / $3 > each) each = $5 / $3
	}
	END {
		printf "ioends=%d folios=%d max_folios=%d task_ns=%d irq_ns=%d irq_folio_ns=%d\n",
			NR, folios, most, task, irq, each
	}' /results/ioends > /results/figures
	grep -q " folios=$((MIB * 256)) " /results/figures ||
		die "not all folios were recorded"
	cat /results/figures
}

limit() { # VALUE
	[ "$1" != fixed ] || return 0
	echo "$1" > /proc/sys/fs/iomap/ioend_batch_folios || die "$1 is refused"
}

layout=$1
shift
[ "$1" = fixed ] || trace_ioends $MIB || die "no tracepoint of ioends"
shift_start
null_raid 0 0 0
xfs_realtime 0 /mnt 2m
null_raid 1 2 20000
xfs_realtime 1 /latency 2m
largest_stream_folio 0 || die "streams cannot be switched off"
quiet_flusher
[ "$layout" != scattered ] || scatter_memory part 640 || die "cannot scatter the memory"
for kind in written unwritten; do
	for value in "$@"; do
		limit "$value"
		for _ in 1 2 3; do
			cost $kind "$value"
		done
		[ "$value" != fixed ] || continue
		figures=$(traced $kind) || exit 1
		echo "ioend: kind=$kind value=$value $figures"
	done
done

# The longest that an interrupt can take: a hold of the i_pages lock for each folio.
if [ "$1" != fixed ]; then
	limit 4096
	echo 1 > /proc/sys/vm/writeback_batch_folios || die "cannot set the batch"
	figures=$(traced written) || exit 1
	echo "single: $figures"
	echo 31 > /proc/sys/vm/writeback_batch_folios || die "cannot set the batch"
fi

# Last, as fio leaves memory more scattered than it was.
for kind in written unwritten; do
	for value in "$@"; do
		limit "$value"
		for round in 1 2 3; do
			bandwidth $kind "$value" $round
		done
	done
done
