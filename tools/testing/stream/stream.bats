#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# include/linux/filemap_stream.h in user space, with address and undefined behaviour
# sanitizers; and broken, which stream_test has to notice.

setup() {
	top=$BATS_TEST_DIRNAME/../../..
	mkdir -p "$BATS_TEST_TMPDIR/include/linux"
	cp "$top/include/linux/filemap_stream.h" "$BATS_TEST_TMPDIR/include/linux"
}

build() {
	gcc -O2 -Wall -Wextra -Werror -fsanitize=address,undefined \
		-fno-sanitize-recover=all -I"$BATS_TEST_DIRNAME" \
		-idirafter "$BATS_TEST_TMPDIR/include" \
		-o "$BATS_TEST_TMPDIR/stream_test" "$BATS_TEST_DIRNAME/stream_test.c"
}

# broken SED WHAT: with the header changed, stream_test says what is wrong
broken() {
	header=$BATS_TEST_TMPDIR/include/linux/filemap_stream.h
	cp "$header" "$BATS_TEST_TMPDIR/whole"
	sed -i "$1" "$header"
	run ! cmp -s "$header" "$BATS_TEST_TMPDIR/whole"
	build
	run -1 "$BATS_TEST_TMPDIR/stream_test" 2000
	[[ $output == *"$2"* ]]
}

bats_require_minimum_version 1.5.0

@test "all bounds hold for 20000 random sequences" {
	build
	"$BATS_TEST_TMPDIR/stream_test" 20000
}

@test "a larger share is noticed" {
	broken 's/^\(#define FILEMAP_STREAM_SHARE_SHIFT\).*/\1 2/' \
		'larger than its share'
}

@test "looking on for ever is noticed" {
	broken 's/++stream->looked < FILEMAP_STREAM_LOOK_FOLIOS/++stream->looked/' \
		'too many folios'
}

@test "an unaligned folio is noticed" {
	broken 's/min_t(unsigned int, max_order, __ffs(index)) : 0/max_order : 0/' \
		'is not aligned'
}

@test "a folio over another one is noticed" {
	broken 's/min_t(unsigned int, order, ilog2(next - stream->index))/order/' \
		'does not fit'
}

@test "what is beyond the tunable is noticed" {
	broken 's/min_t(unsigned int, max_order, __ffs(index))/__ffs(index)/' \
		'larger than the tunable'
}
