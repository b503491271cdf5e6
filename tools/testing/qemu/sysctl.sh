#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Guest test: vm.writeback_batch_folios takes 1 to 31 and refuses everything else
# with EINVAL, keeping the old value.

f=/proc/sys/vm/writeback_batch_folios
fail() { echo "sysctl: $*"; exit 1; }

[ -f $f ] || fail "$f is not there"
[ "$(cat $f)" = 31 ] || fail "the default is $(cat $f), not 31"

for value in 1 2 30 31; do
	echo $value > $f || fail "$value is refused"
	[ "$(cat $f)" = $value ] || fail "$value is not kept"
done

echo 7 > $f
for value in 0 32 -1 4294967296 4294967303 99999999999999999999 text 7x '' ' '; do
	# The shell's own message names the error; only that one is right.
	error=$( { echo "$value" > $f; } 2>&1 )
	case $value in
	'' | ' ') ;; # an empty write is no value, and no error
	*) case $error in
		*"Invalid argument"*) ;;
		*) fail "'$value': ${error:-accepted}" ;;
		esac ;;
	esac
	[ "$(cat $f)" = 7 ] || fail "'$value' changed the value to $(cat $f)"
done

# Writers that race with each other leave one of their values, never a mixture.
for value in 3 19; do
	( i=0; while [ $i -lt 300 ]; do echo $value > $f; i=$((i + 1)); done ) &
done
i=0
while [ $i -lt 300 ]; do
	case $(cat $f) in 3 | 19 | 7) ;; *) fail "torn value $(cat $f)" ;; esac
	i=$((i + 1))
done
wait
echo "sysctl: pass"
