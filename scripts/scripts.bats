#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
bats_require_minimum_version 1.5.0
# Bad input to the scripts: one clear line on standard error, exit code 2, and
# nothing half done.  Works on a copy of the repository with the extracted kernel.

setup() {
	TOP=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	copy=$(mktemp -d "$TOP/build/bats.XXXXXX")
	cp -r "$TOP"/{scripts,series,mm,fs,include,lib,Documentation} "$copy"
	mkdir -p "$copy/tools/testing" "$copy/build"
	cp -r "$TOP"/tools/testing/{baseline,configs,shared} "$copy/tools/testing"
	ln -s "$TOP/build/linux" "$copy/build/linux"
}

# a kernel tree with no more than the files that the series touches
small_tree() {
	"$copy/scripts/series.py" unpack "$copy/build/first"
	mkdir "$copy/build/tree"
	(cd "$copy/build/first" && git archive base) | tar -x -C "$copy/build/tree"
}

teardown() {
	rm -rf "$copy"
}

# refused TEXT: the last run could not run, and said why in one line
refused() {
	[ "$status" -eq 2 ] || { echo "exit $status: $output"; return 1; }
	[ "${#lines[@]}" -eq 1 ] || { echo "not one line: $output"; return 1; }
	[[ "$output" == *"$1"* ]] || { echo "$output"; return 1; }
}

@test "series: the entries apply" {
	run "$copy/scripts/series.py" check
	[ "$status" -eq 0 ]
}

@test "series: a patch that does not apply is named" {
	sed -i 's/^ #include <linux\/list_sort.h>/ #include <linux\/none.h>/' "$copy"/fs/iomap/0001*.patch
	run "$copy/scripts/series.py" check
	refused "fs/iomap/0001-end-writeback-of-an-ioend-in-batches.patch does not apply"
}

@test "series: a file that is missing is named" {
	rm "$copy/mm/writeback_end.c"
	run "$copy/scripts/series.py" check
	refused "mm/writeback_end.c"
}

@test "series: a file belongs to one commit" {
	echo "	mm/writeback_end.c" >>"$copy/series"
	run "$copy/scripts/series.py" check
	refused "more than once"
}

@test "series: assembling twice changes nothing, an older state takes it back" {
	small_tree
	ln "$copy/build/tree/mm/filemap.c" "$copy/linked"
	"$copy/scripts/series.py" assemble "$copy/build/tree"
	[ -f "$copy/build/tree/mm/writeback_end.c" ]
	run "$copy/scripts/series.py" assemble "$copy/build/tree"
	[ "$status" -eq 0 ] && [ -z "$output" ]
	"$copy/scripts/series.py" assemble "$copy/build/tree" --upto 0
	[ ! -e "$copy/build/tree/mm/writeback_end.c" ]
	cmp "$copy/build/linux/mm/filemap.c" "$copy/build/tree/mm/filemap.c"
	# trees share files by hard links: none was written through one
	[ ! "$copy/linked" -ef "$copy/build/tree/mm/filemap.c" ]
	cmp "$copy/linked" "$TOP/build/linux/mm/filemap.c"
}

@test "series: unpack and refresh give the same patches back" {
	git -C "$copy" init -q
	"$copy/scripts/series.py" unpack "$copy/build/edit"
	cp -r "$copy/mm" "$copy/before"
	"$copy/scripts/series.py" refresh "$copy/build/edit"
	for file in "$copy"/mm/*; do
		# only the abbreviated blob names may differ
		diff -I '^index ' "$copy/before/$(basename "$file")" "$file"
	done
}

@test "kernel: an unknown name" {
	run "$copy/scripts/kernel" nonsense
	refused "no such kernel: nonsense"
}

@test "kernel: no tarball" {
	rm "$copy/build/linux"
	TARBALL=/nonexistent.tar.xz run "$copy/scripts/kernel" base
	refused "linux-source-6.12"
}

@test "kernel: a disk without room" {
	rm "$copy/build/linux"
	sed -i 's/need_space 12/need_space 999999/' "$copy/scripts/kernel"
	run "$copy/scripts/kernel" base
	refused "999999 GiB of free disk are needed"
}

@test "kernel: a symbol that does not survive is named" {
	cp -al "$TOP/build/linux" "$copy/build/base"
	echo "CONFIG_NO_SUCH_SYMBOL=y" >>"$copy/tools/testing/configs/guest.config"
	run --separate-stderr "$copy/scripts/kernel" base
	[ "$status" -eq 2 ]
	echo "$stderr"
	[ "$stderr" = "kernel: base: CONFIG_NO_SUCH_SYMBOL=y of guest.config did not survive olddefconfig, it is n" ]
}

@test "packages: an unknown argument" {
	run "$copy/scripts/packages" --nonsense
	refused "unknown argument"
}

@test "check: an unknown part" {
	run "$copy/scripts/check" nonsense
	refused "no such part: nonsense"
}
