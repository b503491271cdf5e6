#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script: fio bandwidth on RAID0 of four null_blk with latency.  Runs
# under icount with one vCPU, so that guest time, and with it the bandwidth,
# depends on executed instructions and programmed latencies only.
#
# Data go to an XFS realtime device and metadata to a ram disk, as in cost.sh: a
# null_blk that kept its data would add the price of copying them to both
# kernels and hide part of the difference.  Files are laid out beforehand.
#
# bandwidth.sh LATENCY_NS ROUNDS BS:JOBS:SIZE_MIB...

# shellcheck source=tools/testing/fio/raid.sh
. /vm/raid.sh

shift_start
null_raid 0 2 "$1"
rounds=$2
shift 2
xfs_realtime 0 /mnt 2m
export DIR=/mnt BS JOBS SIZE

run_cell() {
	IFS=: read -r BS JOBS size << END
$1
END
	SIZE=${size}m
	job=0
	while [ "$job" -lt "$JOBS" ]; do
		writer -s "$SIZE" -L 1m "/mnt/write.$job.0" || die "no layout"
		job=$((job + 1))
	done
	round=1
	while [ "$round" -le "$rounds" ]; do
		sync
		echo 3 > /proc/sys/vm/drop_caches
		fio --output-format=json /vm/write.fio \
			--output="/results/fio-$BS-$JOBS-$round.json" ||
			die "fio failed: $1"
		round=$((round + 1))
	done
	rm /mnt/write.*
}

for cell in "$@"; do
	run_cell "$cell"
done
