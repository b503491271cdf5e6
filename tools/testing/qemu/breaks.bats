#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
#
# Must-fail self-tests of the guest tests: each is given a reason to fail, and has to
# say so.  VM_TEST_KERNEL names the kernel to boot (default: build/base).

setup() {
	HERE=$(cd "$BATS_TEST_DIRNAME" && pwd)
	KERNEL=${VM_TEST_KERNEL:-$HERE/../../../build/base/arch/x86/boot/bzImage}
	[[ -r $KERNEL ]] || {
		echo "no kernel at $KERNEL: run make kernel"
		return 1
	}
}

# fails MESSAGE SCRIPT VARIABLE=VALUE [OPTION OF vm.py]...: the test says FAIL: MESSAGE
fails() {
	local message=$1 script=$2 variable=$3
	shift 3
	run "$HERE/vm.py" --kernel "$KERNEL" --script "$HERE/$script" --env "$variable" \
		--out "$BATS_TEST_TMPDIR/out" --smp 2 --mem 2048 --userland full \
		--timeout 300 "$@"
	echo "$output"
	[[ $status == 1 ]]
	grep -q "^FAIL: $message" "$BATS_TEST_TMPDIR/out/script.log"
}

@test "smoke: a damaged block is noticed" {
	fails verification smoke.sh SMOKE_BREAK=corrupt --nvme 4:512
}

@test "smoke: dirty pages left behind are noticed" {
	fails counters smoke.sh SMOKE_BREAK=counter --nvme 4:512
}

@test "memcg: dirty pages left behind are noticed" {
	fails memstat memcg.sh MEMCG_BREAK=counter
}

@test "switch: pages too many are noticed" {
	fails WbWriteback switch.sh SWITCH_BREAK=counter
}

@test "storm: the data of another round is noticed" {
	fails verification storm.sh STORM_BREAK=stale --env STORM_ROUNDS=1 --arg xfs --arg 4k
}

@test "storm: a missing fsync() before the shutdown is noticed" {
	fails 'what had been synced' storm.sh STORM_BREAK=unsynced --env STORM_ROUNDS=1 \
		--arg xfs --arg 4k
}
