#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit test of the kernel log scanner: what it must and must not report."""

import sys
import unittest

sys.dont_write_bytecode = True
import kernel_log       # noqa: E402

BAD = """\
------------[ cut here ]------------
WARNING: CPU: 1 PID: 57 at mm/page-writeback.c:3140 __folio_end_writeback+0x1a/0x2b0
WARNING: possible recursive locking detected
WARNING: possible circular locking dependency detected
WARNING: inconsistent lock state
inconsistent {SOFTIRQ-ON-W} -> {IN-SOFTIRQ-W} usage.
WARNING: suspicious RCU usage
WARNING: bad unlock balance detected!
WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected
mm/filemap.c:1634 suspicious rcu_dereference_check() usage!
include/linux/xarray.h:1200 suspicious RCU dereference
BUG: kernel NULL pointer dereference, address: 0000000000000008
BUG: sleeping function called from invalid context at mm/util.c:1
BUG: Bad page state in process fio  pfn:1a2b3
BUG: KASAN: slab-use-after-free in folio_end_writeback+0x10/0x20
BUG: KCSAN: data-race in folio_wake_bit / folio_wait_bit
BUG: MAX_LOCKDEP_ENTRIES too low!
BUG kmalloc-64 (Not tainted): Redzone overwritten
kernel BUG at mm/filemap.c:1601!
Oops: Oops: 0002 [#1] PREEMPT SMP
Oops: general protection fault, probably for non-canonical address 0xdead000000000100
general protection fault, maybe for address 0x0: 0000 [#1]
divide error: 0000 [#1] SMP
unable to handle kernel paging request at ffff8880
INFO: possible recursive locking detected
INFO: trying to register non-static key.
turning off the locking correctness validator.
rcu: INFO: rcu_sched self-detected stall on CPU
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-.... }
rcu_sched self-detected stall on CPU
rcu: rcu_preempt kthread starved for 5250 jiffies! g33 f0x0
INFO: rcu_tasks detected stalls on tasks:
INFO: task kworker/u4:1:29 blocked for more than 122 seconds.
watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [fio:91]
soft lockup - CPU#1 stuck
watchdog: Watchdog detected hard LOCKUP on cpu 0
BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 33s!
workqueue lockup - pool
UBSAN: array-index-out-of-bounds in fs/iomap/buffered-io.c:99:3
KASAN: null-ptr-deref in range [0x0000000000000000-0x0000000000000007]
Kernel panic - not syncing: Fatal exception
Call Trace:
page dumped because: VM_BUG_ON_FOLIO(!folio_test_writeback(folio))
list_del corruption. prev->next should be ffff8880, but was dead000000000100
refcount_t: underflow; use-after-free.
ODEBUG: free active (active state 0) object type: timer_list
kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
fio: page allocation failure: order:4, mode:0xcc0
possible irq lock inversion dependency detected
BUG: scheduling while atomic: kworker/0:1/10/0x00000002
bad: scheduling while atomic
INFO: lockdep is turned off.
irq 11: nobody cared (try booting with the "irqpoll" option)
""".splitlines()

GOOD = """\
Linux version 6.12.117-base (gcc (Debian 12.2.0) 12.2.0) #1 SMP
kasan: KernelAddressSanitizer initialized
kfence: initialized - using 2097152 bytes for 255 objects
Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on
MDS: Vulnerable: Clear CPU buffers attempted, no microcode
rcu: Hierarchical RCU implementation.
rcu: \tRCU debug extended QS entry/exit.
Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
    ok 3 BUG_ON in the middle of a batch
    ok 4 page_BUG: WARNING: CPU: 1
    # folios_end: WARNING: CPU: 3 is only the name of a case
    not ok 5 Oops
    KTAP version 1
DEBUG: something
traps: fio[91] general protection fault ip:7f1 sp:7f2 error:0 in libc.so.6
printk: console [ttyS0] enabled
XFS (md0): Mounting V5 Filesystem 8c1c
clocksource: tsc-early: mask: 0xffffffffffffffff max_cycles: 0x1
Run /init as init process
RCU Tasks: Setting shift to 1 and lim to 1
NMI watchdog: Perf NMI watchdog permanently disabled
ACPI: Interpreter enabled
x86/fpu: x87 FPU will use FXSAVE
warning: `fio' uses 32-bit capabilities (legacy support in use)
""".splitlines()

STAMPS = ("", "[    1.234567] ", "[   12.000001][    T1] ")


class Scanner(unittest.TestCase):
    """Sample lines of real kernels, with every kind of timestamp."""

    def test_reports_are_found(self):
        for stamp in STAMPS:
            for line in BAD:
                with self.subTest(stamp=stamp, line=line):
                    self.assertTrue(kernel_log.scan(stamp + line))

    def test_ordinary_lines_are_not(self):
        for stamp in STAMPS:
            for line in GOOD:
                with self.subTest(stamp=stamp, line=line):
                    self.assertEqual(kernel_log.scan(stamp + line), [])

    def test_every_pattern_has_a_sample(self):
        for report in kernel_log.REPORTS:
            with self.subTest(pattern=report.pattern):
                self.assertTrue(any(report.search(line) for line in BAD))

    def test_report_behind_an_unfinished_script_line(self):
        text = "working...[    3.000001] BUG: Bad page state in process sh\n"
        self.assertEqual(kernel_log.scan(text),
                         [(1, "BUG: Bad page state in process sh")])

    def test_script_output_is_not_the_kernel(self):
        text = "[    3.000001] ok\nBUG: printed by a script\nCall Trace:\n"
        self.assertEqual(kernel_log.scan(text), [])

    def test_line_numbers_count_from_one(self):
        self.assertEqual(kernel_log.scan("fine\nBUG: x\n"), [(2, "BUG: x")])

    def test_panic(self):
        text = "[    1.000000] Kernel panic - not syncing: sysrq triggered crash"
        self.assertTrue(kernel_log.panicked(text))
        self.assertIsNone(kernel_log.panicked("[    1.000000] no panic"))


if __name__ == "__main__":
    unittest.main()
