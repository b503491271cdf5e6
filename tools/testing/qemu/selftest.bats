#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
#
# Must-fail self-tests of the boot harness: every verdict is provoked once.
# VM_TEST_KERNEL names the kernel to boot (default: build/base).

bats_require_minimum_version 1.5.0

setup() {
	HERE=$(cd "$BATS_TEST_DIRNAME" && pwd)
	KERNEL=${VM_TEST_KERNEL:-$HERE/../../../build/base/arch/x86/boot/bzImage}
	OUT=$BATS_TEST_TMPDIR/out
	# unique on the kernel command line, so that our QEMU can be told apart
	MARK=vmtest=$$.$BATS_TEST_NUMBER.$RANDOM
	[[ -r $KERNEL ]] || {
		echo "no kernel at $KERNEL: run make kernel"
		return 1
	}
}

teardown() {
	no_qemu_left
}

# guest LINES: boot the kernel with a script read from stdin
guest() {
	cat > "$BATS_TEST_TMPDIR/script.sh"
	run --separate-stderr "$HERE/vm.py" --kernel "$KERNEL" \
		--script "$BATS_TEST_TMPDIR/script.sh" --out "$OUT" \
		--append "$MARK" --timeout 120 "$@"
	echo "status $status"
	echo "$output"
	# shellcheck disable=SC2154 # set by run
	echo "$stderr"
}

qemu_pid() {
	pgrep -f "^[^ ]*qemu-system.* $MARK"
}

no_qemu_left() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		qemu_pid || return 0
		sleep 0.1
	done
	echo "QEMU is still running"
	return 1
}

last_line() {
	echo "${lines[${#lines[@]} - 1]}"
}

# could_not_run PATTERN: exit code 2 and exactly one line on stderr
could_not_run() {
	[[ $status == 2 && -z $output ]]
	# shellcheck disable=SC2154 # set by run
	[[ ${#stderr_lines[@]} == 1 && $stderr == "vm: could not run: "*$1* ]]
}

@test "kernel log scanner: unit test" {
	python3 -B "$HERE/kernel_log_test.py"
}

@test "--scan: 0 for a clean log, 6 and the lines for a bad one" {
	echo '[    1.000000] all is well' > "$BATS_TEST_TMPDIR/good"
	echo '[    1.000000] BUG: Bad page state in process x' > "$BATS_TEST_TMPDIR/bad"
	run -0 "$HERE/vm.py" --scan "$BATS_TEST_TMPDIR/good"
	[[ -z $output ]]
	run -6 "$HERE/vm.py" --scan "$BATS_TEST_TMPDIR/bad"
	[[ $output == *bad:1:*'Bad page state'* ]]
}

@test "pass: arguments, environment, files, mounts, results and logs" {
	head -c 300000 /dev/urandom > "$BATS_TEST_TMPDIR/random"
	guest --arg 'two words' --arg "it's" --env 'A=x y' --smp 2 \
		--file "$BATS_TEST_TMPDIR/random" \
		--file "$BATS_TEST_TMPDIR/random:/tmp.d/copy" <<- 'END'
		set -e
		[ "$#" = 2 ] && [ "$1" = 'two words' ] && [ "$2" = "it's" ]
		[ "$A" = 'x y' ] && [ "$HOME" = / ] && [ "$PWD" = / ]
		[ "$(nproc)" = 2 ]
		cmp /vm/random /tmp.d/copy
		for fs in proc sysfs devtmpfs tmpfs debugfs configfs cgroup2; do
			grep -q " $fs " /proc/mounts
		done
		mkdir -p /results/sub/empty
		cp /vm/random /results/sub/
		echo to stdout
		echo to stderr >&2
		echo 'BUG: Call Trace: only a script says so'
	END
	[[ $status == 0 && $(last_line) == "vm: pass ("*" s)" ]]
	[[ ${#lines[@]} == 1 && -z $stderr ]]
	# how long a boot takes here and now, for the timeout test
	[[ $output =~ \(([0-9]+) ]]
	echo "${BASH_REMATCH[1]}" > "$BATS_FILE_TMPDIR/boot-seconds"
	cmp "$BATS_TEST_TMPDIR/random" "$OUT/results/sub/random"
	[[ -d $OUT/results/sub/empty ]]
	grep -qx 'to stdout' "$OUT/script.log"
	grep -qx 'to stderr' "$OUT/script.log"
	grep -qx 'to stdout' "$OUT/console.log"
	grep -q 'Linux version' "$OUT/dmesg.log"
	grep -q "qemu-system.* -kernel .*$MARK" "$OUT/command"
}

@test "fail: the script's exit status; old results are gone" {
	mkdir -p "$OUT/results"
	touch "$OUT/results/stale"
	guest <<- 'END'
		echo reason > /results/why
		exit 3
	END
	[[ $status == 1 && $(last_line) == "vm: fail: "*" 3, see "* ]]
	[[ $(< "$OUT/results/why") == reason && ! -e $OUT/results/stale ]]
}

@test "skipped: exit status 4, the script's last line is the reason" {
	guest <<< 'echo no such device; exit 4'
	[[ $status == 4 && $(last_line) == "vm: skipped: no such device ("* ]]
}

@test "guest panic" {
	guest <<< 'echo before the end; sync; echo c > /proc/sysrq-trigger; sleep 9'
	[[ $status == 5 && $(last_line) == "vm: guest panic: Kernel panic"* ]]
	grep -q 'before the end' "$OUT/script.log"
}

@test "a guest that stops before its script ends does not pass" {
	guest <<< 'poweroff -f; sleep 9'
	[[ $status == 5 && $(last_line) == *"stopped before its script ended"* ]]
}

@test "kernel report: a warning, and a stack trace of the kernel, beat a pass" {
	guest <<- 'END'
		echo 'WARNING: CPU: 0 PID: 1 at selftest' > /dev/kmsg
		echo l > /proc/sysrq-trigger
	END
	[[ $status == 6 && $(last_line) == "vm: kernel report: "*"WARNING: CPU: 0 PID: 1"* ]]
	[[ $output == *"console.log:"*": WARNING: CPU: 0"* ]]
	[[ $output == *"console.log:"*": Call Trace:"* ]]
}

@test "timeout: shows the console's last lines, kills QEMU" {
	local boot=15
	[[ ! -e $BATS_FILE_TMPDIR/boot-seconds ]] || boot=$(< "$BATS_FILE_TMPDIR/boot-seconds")
	guest --timeout $((boot * 2)) <<< 'echo now it hangs; sleep 1000'
	[[ $status == 7 && $output == *"| now it hangs"* ]]
	[[ $(last_line) == "vm: timeout: "* ]]
	grep -q 'now it hangs' "$OUT/script.log"
}

@test "did not boot: no init" {
	guest --append "rdinit=/nonexistent $MARK" <<< 'exit 0'
	[[ $status == 8 && $(last_line) == "vm: did not boot: "* ]]
}

@test "did not boot: corrupt kernel image" {
	cp "$KERNEL" "$BATS_TEST_TMPDIR/bzImage"
	dd if=/dev/zero of="$BATS_TEST_TMPDIR/bzImage" bs=1k seek=64 count=512 \
		conv=notrunc status=none
	guest --kernel "$BATS_TEST_TMPDIR/bzImage" --timeout 6 <<< 'exit 0'
	[[ $status == 8 && $(last_line) == "vm: did not boot: init never ran"* ]]
}

@test "could not run: kernel, script or file missing" {
	guest --kernel "$BATS_TEST_TMPDIR/absent" <<< 'exit 0'
	could_not_run 'no such kernel'
	guest --script "$BATS_TEST_TMPDIR/absent" <<< 'exit 0'
	could_not_run 'no such script'
	guest --file "$BATS_TEST_TMPDIR/absent" <<< 'exit 0'
	could_not_run 'no such file'
	guest --nonsense <<< 'exit 0'
	could_not_run 'unrecognized arguments: --nonsense'
}

@test "runner: unit test (bad options, damaged archives, verdicts)" {
	python3 -B "$HERE/vm_test.py"
}

@test "could not run: a file that is no kernel" {
	echo 'not a kernel' > "$BATS_TEST_TMPDIR/bzImage"
	guest --kernel "$BATS_TEST_TMPDIR/bzImage" <<< 'exit 0'
	could_not_run 'qemu'
}

@test "could not run: a missing package is named" {
	VM_QEMU=qemu-system-absent guest <<< 'exit 0'
	could_not_run 'apt-get install qemu-system-x86'
	run -1 python3 -B -c "import sys; sys.path.insert(0, '$HERE')
import mkinitramfs
mkinitramfs.find_program('mkfs.absent', 'xfsprogs')"
	[[ $output == *'apt-get install xfsprogs'* ]]
}

@test "could not run: output directory cannot be made" {
	touch "$OUT"
	guest <<< 'exit 0'
	could_not_run "$OUT"
}

@test "could not run: output directory is full" {
	[[ $(id -u) == 0 ]] || skip "mounting a small tmpfs needs root"
	mkdir -p "$OUT"
	mount -t tmpfs -o size=16k tmpfs "$OUT" || skip "cannot mount a tmpfs here"
	guest <<< 'exit 0'
	umount "$OUT"
	could_not_run 'No space left on device'
}

@test "fail: results that do not come back whole" {
	guest <<< 'rm /dev/ttyS1; exit 0'
	[[ $status == 1 && $(last_line) == *"did not come back whole"* ]]
}

@test "large output arrives complete; a background process does not hang the run" {
	guest <<- 'END'
		sleep 1000 &
		seq 1 20000
		dd if=/dev/urandom of=/results/random bs=64k count=5 2> /dev/null
		sha256sum < /results/random > /results/sum
	END
	[[ $status == 0 ]]
	seq 1 20000 | cmp - "$OUT/script.log"
	grep -qx 20000 "$OUT/console.log"
	sha256sum < "$OUT/results/random" | cmp - "$OUT/results/sum"
}

# runner_of SIGNAL: start a guest that hangs; its runner will get the signal
runner_of() {
	"$HERE/vm.py" --kernel "$KERNEL" --script "$BATS_TEST_TMPDIR/script.sh" \
		--out "$OUT.$1" --append "$1 $MARK" --timeout 100 3>&- &
	runner[$1]=$!
}

# ended NAME STATUS: that runner ends with that exit status
ended() {
	local status=0
	wait "${runner[$1]}" || status=$?
	[[ $status == "$2" ]]
}

@test "no QEMU is left after SIGINT, SIGTERM or SIGKILL, nor when QEMU is killed" {
	declare -A runner
	local signal
	echo 'echo up and running; sleep 1000' > "$BATS_TEST_TMPDIR/script.sh"
	for signal in INT TERM KILL none; do
		runner_of $signal
	done
	for signal in INT TERM KILL none; do
		for _ in {1..500}; do
			grep -qs 'up and running' "$OUT.$signal/console.log" && break
			sleep 0.2
		done
		[[ $(pgrep -f "^[^ ]*qemu-system.* $signal $MARK") ]]
	done
	kill -INT "${runner[INT]}"
	kill -TERM "${runner[TERM]}"
	kill -KILL "${runner[KILL]}"
	kill -KILL "$(pgrep -f "^[^ ]*qemu-system.* none $MARK")"
	ended INT 130
	ended TERM 143
	ended KILL 137
	ended none 2
	no_qemu_left
}

@test "kvm: unusable is said; auto falls back to TCG, also when KVM hangs" {
	cat > "$BATS_TEST_TMPDIR/qemu" <<- 'END'
		#!/bin/sh
		case "$*" in *"-accel kvm"*) exec sleep 1000 ;; esac
		exec qemu-system-x86_64 "$@"
	END
	chmod +x "$BATS_TEST_TMPDIR/qemu"
	VM_KVM_NODE=/absent guest --accel kvm <<< 'exit 0'
	could_not_run '/absent'
	VM_KVM_NODE=/dev/null VM_KVM_SECONDS=3 VM_QEMU=$BATS_TEST_TMPDIR/qemu \
		guest --accel auto <<< 'exit 0'
	[[ $status == 0 ]]
	grep -q -- '-accel tcg' "$OUT/command"
}

@test "RAID0 of 4 emulated NVMe drives with XFS" {
	guest --smp 2 --nvme 4:256 <<- 'END'
		set -e
		mdadm --build /dev/md0 --level=0 --raid-devices=4 --chunk=64 \
			/dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1
		mkfs.xfs -q /dev/md0
		mount -t xfs /dev/md0 /mnt
		dd if=/dev/urandom of=/mnt/a bs=1M count=16
		sha256sum < /mnt/a > /tmp/sum
		umount /mnt
		mount -t xfs /dev/md0 /mnt
		sha256sum < /mnt/a | cmp - /tmp/sum
		umount /mnt
		mdadm --stop /dev/md0
	END
	[[ $status == 0 ]]
}

@test "icount: RAID0 of 4 null_blk with XFS; device mapper without udev" {
	guest --icount <<- 'END'
		set -e
		for n in 0 1 2 3; do
			dev=/sys/kernel/config/nullb/nullb$n
			mkdir $dev
			echo 1 > $dev/memory_backed
			echo 128 > $dev/size
			echo 1 > $dev/power
		done
		mdadm --build /dev/md0 --level=0 --raid-devices=4 --chunk=64 \
			/dev/nullb0 /dev/nullb1 /dev/nullb2 /dev/nullb3
		dmsetup create --noudevsync lin --table '0 1000000 linear /dev/md0 0'
		mkfs.xfs -q /dev/mapper/lin
		mount -t xfs /dev/mapper/lin /mnt
		dd if=/dev/urandom of=/mnt/a bs=1M count=4
		umount /mnt
		dmsetup remove --noudevsync lin
		mkfs.ext4 -q /dev/md0
	END
	[[ $status == 0 ]]
}
