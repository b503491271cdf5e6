#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Guest test: the completion of one merged chain of 512 Ki folios has scheduling points,
# however it was cut into ioends.  Time is instructions: the longest time without
# one is below 2 * 10^6 of them, as the tracepoint and as cyclictest see it.
#
# chain.sh IOEND_BATCH_FOLIOS: 1, with fewer folios as each needs a request; a number;
# or "most"

. /vm/guest-lib.sh

LIMIT=2000000
mib=2048
value=$1
case $value in
1) mib=128 ;;
most) value=524288 ;;
esac

# figure LINE NAME: from what holdoff.sh prints
figure() {
	sed -n "s/^$1: .*\\b$2=\\([0-9]*\\).*/\\1/p" /results/holdoff.log
}

sh /vm/holdoff.sh "$mib" "$value" > /results/holdoff.log 2>&1 ||
	fail "$(tail -n 1 /results/holdoff.log)"
cat /results/holdoff.log
folios=$((mib * 256))
[ "$(figure chain folios)" = $folios ] || fail "not all folios were completed"
[ "$(figure chain in_order)" = $folios ] || fail "the ioends were not one chain"
most=$(figure chain max_folios)
case $value in
1) [ "$most" = 1 ] || fail "folios share an ioend" ;;
524288) [ "$most" -gt 8192 ] || fail "no ioend has more than $most folios" ;;
*) [ "$most" = "$value" ] || fail "the largest ioend has $most folios" ;;
esac
[ "$(figure chain stretch_ns)" -lt $LIMIT ] ||
	fail "$(figure chain stretch_ns) instructions without a scheduling point"
[ "$(figure holdoff longest_ns)" -lt $LIMIT ] ||
	fail "another task has waited for $(figure holdoff longest_ns) instructions"
ok "a chain of $folios folios, ioends of up to $value"
