# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What the guest tests share: verdict lines, devices, counters, cgroups.
# vm.py puts it into every guest as /vm/guest-lib.sh.

fail() { # MESSAGE...
	echo "FAIL: $*"
	exit 1
}

ok() { # MESSAGE...
	echo "ok: $*"
}

# must COMMAND...: the test cannot go on without it
must() {
	"$@" || fail "status $? of: $*"
}

# null_blk NUMBER ATTRIBUTE=VALUE...: make /dev/nullbNUMBER
null_blk() {
	nullb=/sys/kernel/config/nullb/nullb$1
	shift
	must mkdir "$nullb"
	for attribute in "$@" power=1; do
		echo "${attribute#*=}" > "$nullb/${attribute%%=*}" ||
			fail "null_blk does not take $attribute"
	done
}

# hold_device DISK: make /dev/mapper/held of it, which can be suspended: writeback
# that is started then stays in flight until it is resumed.
hold_device() {
	must dmsetup create --noudevsync held \
		--table "0 $(cat "/sys/block/$1/size") linear /dev/$1 0"
}

# Fold the per-CPU parts of the vm counters.  The kernel complains in its log
# ("vmstat_refresh: ...") about counters that turn out to be negative.
fold_counters() {
	must sh -c 'echo 1 > /proc/sys/vm/stat_refresh'
}

vmstat() { # NAME
	awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat
}

counters_at_zero() {
	fold_counters
	becomes 0 vmstat nr_dirty
	becomes 0 vmstat nr_writeback
	becomes 0 vmstat nr_zone_write_pending
}

# Counters of a wb are per-CPU, and debugfs shows them without their per-CPU parts,
# which are below WB_STAT_BATCH: KiB by which one may be off.
wb_stat_slack() {
	awk -v cpus="$(nproc)" 'BEGIN {
		bits = 1		# 1 + ilog2(cpus)
		for (n = cpus; n > 1; n = int(n / 2)) bits++
		print cpus * (8 * bits - 1) * 4 }'
}

# Reading cpu.stat flushes all statistics of the cgroup and its descendants;
# memory.stat alone may leave out the last 64 updates of each CPU.
memstat() { # CGROUP NAME
	cat "$1/cpu.stat" > /dev/null
	awk -v name="$2" '$1 == name { print $2 }' "$1/memory.stat"
}

new_group() { # CGROUP
	must mkdir -p "$1"
}

enable_controllers() { # CGROUP: for its children
	must sh -c "echo '+memory +io' > $1/cgroup.subtree_control"
}

in_group() { # CGROUP COMMAND...
	group=$1
	shift
	(echo 0 > "$group/cgroup.procs" && exec "$@")
}

# becomes VALUE COMMAND...: poll until the command prints VALUE
becomes() {
	want=$1
	shift
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		got=$("$@")
		[ "$got" = "$want" ] && return
		sleep 0.5
	done
	fail "$*: is $got, should be $want"
}

# Dirty pages stay dirty until somebody asks.  An hour, not 0 ("never"): 0 makes
# the flusher look at once at each newly dirty inode, and a device without
# history is over its background threshold with any dirty page.
no_periodic_writeback() {
	must sh -c 'echo 360000 > /proc/sys/vm/dirty_writeback_centisecs'
	must sh -c 'echo 360000 > /proc/sys/vm/dirty_expire_centisecs'
}

drop_caches() {
	sync
	must sh -c 'echo 3 > /proc/sys/vm/drop_caches'
}

# no_negative_counters: what fold_counters complained about, if anything
no_negative_counters() {
	fold_counters
	dmesg | grep 'vmstat_refresh: ' && fail "a vm counter is negative"
	ok "no vm counter is negative"
}
