#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Guest script of a kernel that ran its KUnit suites while it booted (kunit.enable=1):
# passes if suites ran and none failed.  Arguments: the suites that have to be among
# them.

log=/tmp/dmesg
dmesg -s 4000000 > $log
fail() { echo "kunit: $*"; exit 1; }

[ $# -gt 0 ] || set -- writeback_end
for suite in "$@"; do
	grep -Eq "(^|\] )ok [0-9]+ $suite\$" $log ||
		fail "suite $suite did not run to its end"
done
! grep -Eq "(^|\] ) *not ok [0-9]+ " $log || fail "a suite failed"
echo "kunit: pass"
