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
# bandwidth.sh LATENCY_NS NAME:JOBS:SIZE_MIB:ROUNDS...: NAME-1 to NAME-ROUNDS are
# sections of jobs.fio

. /vm/raid.sh

# layout JOBS SIZE_MIB
layout() {
	job=0
	while [ "$job" -lt "$1" ]; do
		writer -s "$2m" -L 1m "/mnt/write.$job" || die "no layout"
		job=$((job + 1))
	done
}

# run_job SECTION
run_job() {
	sync
	echo 3 > /proc/sys/vm/drop_caches
	fio --output-format=json --output="/results/$1.json" --section="$1" \
		/vm/jobs.fio || die "fio failed: $1"
}

shift_start
null_raid 0 2 "$1"
shift
xfs_realtime 0 /mnt 2m
for word in "$@"; do
	IFS=: read -r name jobs size rounds << END
$word
END
	layout "$jobs" "$size"
	for round in $(seq "$rounds"); do
		run_job "$name-$round"
	done
	rm /mnt/write.*
done
