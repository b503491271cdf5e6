#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script: many short fio jobs on XFS over RAID0 of four NVMe drives.  Each
# round runs every cell once, so that a disturbance of the host hits all cells.
#
# nvme.sh ROUNDS BS:JOBS:SIZE_MIB...

die() {
	echo "$*" >&2
	exit 1
}

rounds=$1
shift
mdadm --quiet --build /dev/md0 --level=0 --raid-devices=4 --chunk=512 \
	/dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1 || die "mdadm failed"
mkfs.xfs -q -f -K /dev/md0 || die "mkfs.xfs failed"
mount -t xfs /dev/md0 /mnt || die "cannot mount XFS"
export DIR=/mnt BS JOBS SIZE

# run_cell BS:JOBS:SIZE_MIB ROUND: new files, as fio makes them by default
run_cell() {
	IFS=: read -r BS JOBS size << END
$1
END
	SIZE=${size}m
	fio --output-format=json --output="/results/fio-$BS-$JOBS-$2.json" \
		/vm/write.fio || die "fio failed: $1"
	rm -f /mnt/write.*
	sync
	echo 1 > /proc/sys/vm/drop_caches
}

# The first job warms up the host's memory behind the drives; it is not kept.
run_cell "1m:4:64" warmup
rm -f /results/fio-1m-4-warmup.json

round=1
while [ "$round" -le "$rounds" ]; do
	for cell in "$@"; do
		run_cell "$cell" "$round"
	done
	round=$((round + 1))
done
