# SPDX-License-Identifier: GPL-2.0
"""Find kernel warnings and reports in a console log."""

import re

# What the kernel prints when it complains.  Matched against the text after the
# timestamp, case-sensitively: boot lines such as "kasan: ... initialized" and
# subsystem prefixes such as "Spectre V2 : WARNING: ..." are no reports.
REPORTS = tuple(re.compile(pattern) for pattern in (
    r"-+\[ cut here \]-+",
    r"^WARNING: ",                      # WARN(), lockdep, RCU
    r"\bWARNING: CPU: ?\d",
    r"\bBUG: ",                         # oops, KASAN, KCSAN, soft lockup, ...
    r"^BUG \S+ \(",                     # SLUB: "BUG kmalloc-64 (Not tainted):"
    r"\bkernel BUG at ",
    r"\bOops\b",
    r"^(?!traps: ).*\bgeneral protection fault",
    r"\b(divide error|invalid opcode|double fault|stack segment): 0000 ",
    r"\bunable to handle (kernel|page)",
    r"\bINFO: (possible|trying to register|lockdep is turned off|suspicious)",
    r"\bpossible (recursive|circular|irq lock|reason: unannotated)",
    r"\binconsistent (lock|\{.*\}) ?(state|usage|->)",
    r"\bsuspicious (RCU|rcu_)",
    r"\bturning off the locking correctness validator",
    r"\brcu: INFO: rcu_\w+ .*stall",
    r"\brcu_\w+ (self-)?detected .*stall",
    r"\brcu_\w+ kthread (starved|timer wakeup)",
    r"\bINFO: task .* blocked for more than",
    r"\bINFO: rcu_tasks detected stalls",
    r"\bsoft lockup\b",
    r"\b(hard|HARD) LOCKUP\b",
    r"\bworkqueue lockup\b",
    r"\b(KASAN|KCSAN|KMSAN|KFENCE|UBSAN): ",
    r"\bKernel panic - not syncing",
    r"^Call Trace:",
    r"^page dumped because: ",
    r"\blist_(add|del) corruption",
    r"\brefcount_t: ",
    r"\bODEBUG: ",
    r"\birq \d+: nobody cared",
    r"\bkmemleak: \d+ new suspected",
    r"\bscheduling while atomic",
    r"\bpage allocation failure: order",
))
PANIC = re.compile(r"\bKernel panic - not syncing")

# printk.time=1; the optional part is CONFIG_PRINTK_CALLER
STAMP = re.compile(r"\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? ?")
# Names of KTAP cases are free text: "ok 3 page_BUG: ..." is no report.
KTAP = re.compile(r"^\s*((not )?ok \d|# |KTAP version|\d+\.\.\d+)")


def kernel_lines(text):
    """Yield (line number, kernel text) of @text.

    When the log has timestamps only what follows one counts, wherever it
    stands in the line: a script's unfinished line may come before it, and what
    a script prints is not the kernel's word.
    """
    stamped = STAMP.search(text) is not None
    for number, line in enumerate(text.splitlines(), 1):
        match = STAMP.search(line)
        if match:
            yield number, line[match.end():]
        elif not stamped:
            yield number, line


def scan(text):
    """Return [(line number, text)] of the kernel's reports in @text."""
    return [(number, line.strip()) for number, line in kernel_lines(text)
            if not KTAP.match(line)
            and any(report.search(line) for report in REPORTS)]


def panicked(text):
    """Return the first panic line of @text, or None."""
    for _, line in kernel_lines(text):
        if PANIC.search(line):
            return line.strip()
    return None
