# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Shared by the scripts: places, messages, exit codes.  Source it.
#
# Exit: 0 pass, 1 fail, 2 could not run.

set -o errexit -o nounset -o pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build
# Kept out of the kernel images, so that ccache hits and images are reproducible.
export KBUILD_BUILD_TIMESTAMP=1970-01-01 KBUILD_BUILD_USER=build KBUILD_BUILD_HOST=localhost
export PYTHONDONTWRITEBYTECODE=1
JOBS=${JOBS:-$(nproc)}
# The kernel's make is not ours: no variables and no job server of the one that called.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL

say() { printf '%s\n' "== $*"; }

# One clear line, and the exit code for "could not run".
cannot() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 2
}

# need_space GIB: building needs room; say so before, not in the middle.
need_space() {
	local free

	mkdir -p "$BUILD" || cannot "cannot create $BUILD"
	free=$(df --output=avail -BG "$BUILD" | tail -n 1 | tr -dc 0-9)
	[ "$free" -ge "$1" ] || cannot "$1 GiB of free disk are needed under build/, $free GiB are left"
}
