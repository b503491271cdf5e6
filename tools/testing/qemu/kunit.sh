#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Guest script of a kernel that ran its KUnit suites while it booted (kunit.enable=1):
# passes if suites ran and none failed.  $1: the suite that has to be among them.

log=/tmp/dmesg
dmesg -s 4000000 > $log
fail() { echo "kunit: $*"; exit 1; }

suite=${1:-writeback_end}
grep -Eq "(^|\] )ok [0-9]+ $suite\$" $log || fail "suite $suite did not run to its end"
! grep -Eq "(^|\] ) *not ok [0-9]+ " $log || fail "a suite failed"
echo "kunit: pass"
