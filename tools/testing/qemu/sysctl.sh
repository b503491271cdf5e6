#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Guest test: the tunables take every value of their range and refuse everything
# else with EINVAL, keeping the old value.  Values are written with echo, whose write
# is not buffered: its error is that of the kernel.
#
# shellcheck disable=SC3037	# busybox's echo has options

fail() { echo "sysctl: $name: $*"; exit 1; }

# refused VALUE: EINVAL, and $old stays
refused() {
	# The shell's own message names the error; only that one is right.
	error=$( { echo -ne "$1" > "$f"; } 2>&1 )
	case $error in
	*"Invalid argument"*) ;;
	*) fail "'$1': ${error:-accepted}" ;;
	esac
	[ "$(cat "$f")" = "$old" ] || fail "'$1' changed the value to $(cat "$f")"
}

takes_its_range() { # DEFAULT MIN MAX
	[ -f "$f" ] || fail "$f is not there"
	[ "$(cat "$f")" = "$1" ] || fail "the default is $(cat "$f"), not $1"
	for value in "$2" $(($2 + 1)) $(($3 - 1)) "$3"; do
		echo "$value" > "$f" || fail "$value is refused"
		[ "$(cat "$f")" = "$value" ] || fail "$value is not kept"
	done
}

refuses_the_rest() { # MIN MAX STRICT
	old=7
	echo $old > "$f"
	for value in $(($1 - 1)) $(($2 + 1)) -1 -7 4294967295 4294967296 4294967303 \
		18446744073709551623 99999999999999999999 text 7x 9x \
		9.5 9,10 1e1 0x x9 '9\0x' '\0' '- 9' +9 --9; do
		refused "$value"
	done
	# Others take the first of several words.
	[ "$3" != strict ] || for value in '9 x' '9 10' '9\t10\n11' '9\nx' '9 \0'; do
		refused "$value"
	done
	# Nothing but space: refused or ignored, as other tunables do.
	for value in '' ' ' '\n' '\t \n'; do
		{ echo -ne "$value" > "$f"; } 2> /dev/null
		[ "$(cat "$f")" = $old ] || fail "an empty write changed the value"
	done
	# More than the kernel looks at.
	long=$(printf '%5000s' 9)
	refused "${long}x"
	# A number whose beginning is the last that the kernel looks at.
	[ "$3" != strict ] || refused "$(printf '%4094s' '')1234"
}

# Strings made at random of what a number is made of, and of what it is not.
survives_noise() { # MIN MAX
	awk 'BEGIN { srand(1); c = "0123456789999 -+x.\t,a"
		for (i = 0; i < 400; i++) {
			s = ""
			for (n = 1 + int(rand() * 7); n > 0; n--)
				s = s substr(c, 1 + int(rand() * length(c)), 1)
			print s } }' > /tmp/noise
	taken=0
	while IFS= read -r value; do
		before=$(cat "$f")
		if { echo -n "$value" > "$f"; } 2> /dev/null; then
			now=$(cat "$f")
			taken=$((taken + 1))
			if [ "$now" -lt "$1" ] || [ "$now" -gt "$2" ]; then
				fail "'$value' is taken as $now"
			fi
		else
			[ "$(cat "$f")" = "$before" ] ||
				fail "'$value' is refused, and changed the value"
		fi
	done < /tmp/noise
	case $taken in 0 | 400) fail "$taken of 400 were taken" ;; esac
}

# Writers that race with each other leave one of their values, never a mixture;
# what is refused at the same time leaves nothing.
stands_a_race() { # MAX
	echo 7 > "$f"
	for value in 3 19 $(($1 + 1)) x; do
		( i=0; while [ $i -lt 300 ]; do
			echo $value > "$f"; i=$((i + 1))
		done ) 2> /dev/null &
	done
	i=0
	while [ $i -lt 300 ]; do
		case $(cat "$f") in 3 | 19 | 7) ;; *) fail "torn value $(cat "$f")" ;; esac
		i=$((i + 1))
	done
	wait
}

# name, default, smallest and largest value, whether more than one word is refused
while read -r name default min max words; do
	f=/proc/sys/$name
	takes_its_range "$default" "$min" "$max"
	refuses_the_rest "$min" "$max" "$words"
	survives_noise "$min" "$max"
	stands_a_race "$max"
	echo "$default" > "$f"
	echo "ok: $name"
done << END
vm/writeback_batch_folios 31 1 31 first
fs/iomap/ioend_batch_folios 4096 1 524288 strict
fs/iomap/stream_folio_max_bytes 524288 0 2097152 strict
END
echo "sysctl: pass"
