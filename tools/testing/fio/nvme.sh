#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guest script: short fio jobs on XFS over RAID0 of four NVMe drives.

. /vm/raid.sh

mdadm --quiet --build /dev/md0 --level=0 --raid-devices=4 --chunk=512 \
	/dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1 || die "mdadm failed"
append_jobs /dev/md0 400
