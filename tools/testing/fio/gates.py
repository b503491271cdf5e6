# SPDX-License-Identifier: GPL-2.0
"""What cost and bandwidth rows are held to, and the verdict on a row.

The tables below are the gates; the code under them only compares.
"""

from dataclasses import dataclass
from typing import Optional

import stats

GIGA = 1e9

# Cost of the unpatched 6.12 kernel, in instructions per GiB, as measured when
# the gates were set.  A configuration that makes the base slower proves
# nothing, so the base has to come this close to its own figures.
BASE_TOLERANCE = 0.05

# "Not above base" for a deterministic row.
NOT_ABOVE = 1.01

# Runs of one kernel have to agree this well, or the row is not deterministic
# and no gate on it means anything.
REPEAT_SPREAD = 0.005

# A figure made of fewer instructions than this is too small to gate at 1 %.
MIN_INSTRUCTIONS = 1e8


@dataclass(frozen=True)
class Gate:
    """Bounds of a row; None is no bound."""
    max_ratio: Optional[float] = None
    min_ratio: Optional[float] = None
    max_patched: Optional[float] = None
    base: Optional[float] = None        # expected of the base kernel
    spread: float = REPEAT_SPREAD       # largest difference among repeats


# (name, bs): the headline rows of the cost table.
COST = {
    ("write", "4k"): Gate(NOT_ABOVE, base=1.363 * GIGA),
    ("write", "64k"): Gate(NOT_ABOVE, base=0.237 * GIGA),
    ("write", "1m"): Gate(NOT_ABOVE, base=0.144 * GIGA),
    ("writeback", "4k"): Gate(1 / 3.5, max_patched=0.174 * GIGA,
                              base=0.612 * GIGA),
    ("writeback", "64k"): Gate(0.78, base=0.096 * GIGA),
    ("writeback", "1m"): Gate(1.0, base=0.051 * GIGA),
}

# (bs, phase): streams of small writes, both phases or the write() calls alone.
STREAM = {
    ("4k", "write"): Gate(1 / 1.45),
    ("4k", "both"): Gate(1 / 2.0),
    ("64k", "both"): Gate(1 / 1.35),
    ("1m", "both"): Gate(NOT_ABOVE),
    ("4000", "both"): Gate(1 / 1.6),
    ("512", "write"): Gate(NOT_ABOVE),
    ("512", "both"): Gate(1.0),
}
# Writeback of a stream of 4 KiB writes, against one of 1 MiB on the same kernel.
STREAM_WRITEBACK = Gate(1.15)

# Every guard row, so that nothing is tuned to the headline.
GUARD = Gate(NOT_ABOVE)
GUARDS = ("small-files", "fsync", "third-page", "two-memcgs",
          "fragmented", "ext4", "raw-device", "random", "random-cached",
          "scattered-memory")

# Micro-benchmark of the KUnit suite: the price of ending a single folio.
SINGLE_FOLIO = Gate(max_ratio=1.02)
# Clear dirty, start and end of a full batch, per folio.
FULL_BATCH = Gate(max_ratio=0.2)
# Longest time for which starting or ending a batch keeps interrupts off at a stretch, which
# includes every hold of the i_pages lock; in instructions.
HOLD = Gate(max_patched=10000)
# Longest time for which the completion of a merged chain of ioends keeps the CPU from
# another task, in instructions.  A timer tells, and what interrupts it meets varies.
HOLDOFF = Gate(max_patched=2e6, spread=1.0)

# Acquisitions of i_pages locks per GiB of 4 KiB pages written back.
LOCKS = Gate(max_ratio=1 / 12)

# fio on null_blk with latency under icount.  Dirty throttling and the order in
# which several jobs run amplify small shifts, hence the wider spread.
BANDWIDTH = Gate(min_ratio=0.99, spread=0.01)
# fio on emulated NVMe: judged by the interval of the median ratio.
NVME_BOUND = 0.97
# fio on null_blk that queues: the same, but nothing of the host disturbs it.
QUEUE_BOUND = 0.99


def judge(gate, base, patched, spread=0.0):
    """Why a deterministic row fails its gate; an empty list if it passes."""
    ratio = patched / base if base else float("inf")
    reasons = []
    if spread > gate.spread:
        reasons.append(f"repeats differ by {spread:.2%}, "
                       f"more than {gate.spread:.1%}")
    if gate.max_ratio is not None and ratio > gate.max_ratio:
        reasons.append(f"ratio {ratio:.4f} above {gate.max_ratio}")
    if gate.min_ratio is not None and ratio < gate.min_ratio:
        reasons.append(f"ratio {ratio:.4f} below {gate.min_ratio}")
    if gate.max_patched is not None and patched > gate.max_patched:
        reasons.append(f"patched {patched:.4g} above {gate.max_patched:.4g}")
    if gate.base and abs(base / gate.base - 1) > BASE_TOLERANCE:
        reasons.append(f"base {base:.4g} is not within {BASE_TOLERANCE:.0%} "
                       f"of {gate.base:.4g}")
    return reasons


def judge_interval(middle, low, high, pairs, bound=NVME_BOUND):
    """Verdict on a row of noisy pairs: (verdict, note)."""
    if low > bound:
        return "pass", ""
    if high < bound:
        return "fail", f"interval lies below {bound}"
    needed = stats.pairs_needed(middle, low, high, bound, pairs)
    if needed is None:
        return "cannot judge", "too few pairs for an interval"
    return "cannot judge", f"would need about {needed} pairs"
