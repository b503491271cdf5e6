#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script: short fio jobs on XFS over RAID0 of four NVMe drives.  All jobs
# are run by one fio, as starting it takes longer than a job.

die() {
	echo "$*" >&2
	exit 1
}

mdadm --quiet --build /dev/md0 --level=0 --raid-devices=4 --chunk=512 \
	/dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1 || die "mdadm failed"
mkfs.xfs -q -f -K /dev/md0 || die "mkfs.xfs failed"
mount -t xfs /dev/md0 /mnt || die "cannot mount XFS"
# The emulator translates code when it first runs.
dd if=/dev/zero of=/mnt/warmup bs=1M count=400 2> /dev/null
rm /mnt/warmup
sync
echo 3 > /proc/sys/vm/drop_caches

fio --output-format=json --output=/results/fio.json /vm/jobs.fio ||
	die "fio failed"
