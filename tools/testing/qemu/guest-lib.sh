# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What the guest tests share: verdict lines, counters, cgroups.
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

# Fold the per-CPU parts of the vm counters.  The kernel complains in its log
# ("vmstat_refresh: ...") about counters that turn out to be negative.
fold_counters() {
	must sh -c 'echo 1 > /proc/sys/vm/stat_refresh'
}

vmstat() { # NAME
	awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat
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
