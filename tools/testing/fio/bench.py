#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The bench: bandwidth, cost and lock figures, base against patched kernel.

Four parts, one table:
  nvme       fio on XFS over RAID0 of four emulated NVMe drives, several vCPUs;
             interleaved pairs, judged by the interval of their median ratio
  bandwidth  fio on RAID0 of four null_blk with latency, icount, deterministic
  cost       the rows of cost.py
  locks      i_pages acquisitions, from kernels with lock statistics

Exit status: 0 no gate failed, 1 a gate failed, 2 nothing could be measured.
Rows that cannot be judged do not fail; the last line counts them.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from dataclasses import dataclass

sys.dont_write_bytecode = True      # the source tree stays clean

import cost                         # noqa: E402
import gates                        # noqa: E402
import guest                        # noqa: E402
import rows                         # noqa: E402

MIB_PER_S = "MiB/s"
LATENCY_NS = 20000


@dataclass(frozen=True)
class Cell:
    """One combination of block size and jobs; size of a job in MiB."""
    bs: str
    jobs: int
    size: int

    def word(self):
        return f"{self.bs}:{self.jobs}:{self.size}"


# Sizes are chosen so that a job takes a good half second under TCG.
NVME_CELLS = (Cell("4k", 1, 128), Cell("4k", 4, 32), Cell("64k", 1, 384),
              Cell("64k", 4, 96), Cell("1m", 1, 384), Cell("1m", 4, 96))
# fio counts in milliseconds of guest time, so that these jobs have to be long.
BANDWIDTH_CELLS = (Cell("4k", 1, 256), Cell("4k", 4, 64), Cell("64k", 1, 1536),
                   Cell("64k", 4, 384), Cell("1m", 1, 2048), Cell("1m", 4, 512))
BANDWIDTH_ROUNDS = 3


@dataclass(frozen=True)
class Mode:
    """How much to measure.  The number of pairs is fixed before the run."""
    boots: int          # boots of each kernel on NVMe
    rounds: int         # jobs of each cell in one boot
    cost_rows: tuple
    locks: bool
    nvme_seconds: int   # estimate for one NVMe boot
    note: str

    def pairs(self):
        return self.boots * self.rounds


MODES = {
    "quick": Mode(1, 6, cost.HEADLINE, False, 40,
                  "quick: 6 pairs from one boot of each kernel can only show "
                  "differences far larger than the scatter of single runs"),
    "default": Mode(5, 8, cost.ALL, True, 55, ""),
    "full": Mode(20, 10, cost.ALL, True, 65, ""),
}


# ---- fio ---------------------------------------------------------------------

def fio_mib_per_s(text, source):
    """Bandwidth of the only job group in fio's JSON output."""
    try:
        jobs = json.loads(text)["jobs"]
        value = jobs[0]["write"]["bw_bytes"] / (1 << 20)
        error = jobs[0].get("error", 0)
    except (ValueError, KeyError, IndexError) as err:
        raise guest.CannotRun(f"{source}: not the JSON of a fio job") from err
    if error or len(jobs) != 1 or value <= 0:
        raise guest.CannotRun(f"{source}: fio reports an error or no bytes")
    return value


def cell_values(boot, cell, rounds):
    """MiB/s of each round of a cell in one guest."""
    names = [f"results/fio-{cell.bs}-{cell.jobs}-{number}.json"
             for number in range(1, rounds + 1)]
    return [fio_mib_per_s(boot.read(name), os.path.join(boot.out, name))
            for name in names]


def fio_boot(label, kernel, script, out, args, options, timeout):
    files = [os.path.join(guest.HERE, name)
             for name in ("write.fio", "raid.sh")]
    options = ["--userland", "full"] + options
    for name in files:
        options += ["--file", name]
    return guest.Boot(label, kernel, script, out, args, options, timeout)


# ---- parts -------------------------------------------------------------------

class Progress:
    """Says what ended, and how long the rest should take."""

    def __init__(self, estimate):
        self.start = time.monotonic()
        self.estimate = estimate

    def say(self, text):
        spent = time.monotonic() - self.start
        left = max(0, self.estimate - spent)
        print(f"[{spent:4.0f} s, about {left:.0f} s left] {text}", flush=True)


def measure_nvme(kernels, mode, out, progress):
    """Alternate boots A B A B; the i-th jobs of two such boots are a pair."""
    values = {}
    for number in range(mode.boots):
        for label, kernel in kernels.items():
            boot = fio_boot(label, kernel, "nvme.sh",
                            os.path.join(out, f"nvme-{label}-{number}"),
                            [str(mode.rounds)] + [c.word() for c in NVME_CELLS],
                            ["--nvme", "4:1024", "--smp", "2", "--mem", "2048"],
                            mode.nvme_seconds * 6)
            guest.run(boot)
            for cell in NVME_CELLS:
                values.setdefault((label, cell), []).extend(
                    cell_values(boot, cell, mode.rounds))
            progress.say(f"nvme: {label}, boot {number + 1} of {mode.boots}")
    return [rows.paired_row("fio", cell.bs, cell.jobs, "raid0-nvme-xfs",
                            MIB_PER_S, list(zip(values["base", cell],
                                                values["patched", cell])))
            for cell in NVME_CELLS]


def measure_bandwidth(kernels, out, progress, repeats=2):
    """fio on null_blk with latency, under icount."""
    words = [str(LATENCY_NS), str(BANDWIDTH_ROUNDS)] + [cell.word() for cell in BANDWIDTH_CELLS]
    boots = [fio_boot(label, kernel, "bandwidth.sh",
                      os.path.join(out, f"bandwidth-{label}-{number}"), words,
                      guest.icount_options(3072, number, cost.RAM_DISKS), 600)
             for number in range(repeats) for label, kernel in kernels.items()]
    for boot in guest.run_all(boots):
        progress.say(f"bandwidth: {boot.label}")
    found = []
    for cell in BANDWIDTH_CELLS:
        values = {label: [statistics.median(
            cell_values(boot, cell, BANDWIDTH_ROUNDS)) for boot in boots
                          if boot.label == label] for label in kernels}
        found.append(rows.exact_row("fio", cell.bs, "raid0-null_blk-latency",
                                    MIB_PER_S, values["base"],
                                    values["patched"], gates.BANDWIDTH,
                                    jobs=cell.jobs))
    return found


def lock_counts(text, label):
    """Acquisitions per GiB by phase, of the class that i_pages belongs to."""
    lines = guest.parse_figures(text, "locks")
    found = {}
    for phase in ("write", "writeback"):
        counts = [line["count"] * cost.GIB / line["bytes"]
                  for line in lines if line["phase"] == phase]
        if not counts:
            raise guest.CannotRun(f"{label}: no lock class named xa_lock")
        # Every page takes i_pages at least once in either phase; the other
        # xarrays of the kernel are hardly touched.
        found[phase] = max(counts)
    return found


def measure_locks(kernels, out, progress):
    boots = {label: guest.Boot(
        label, kernel, "locks.sh", os.path.join(out, f"locks-{label}"), [],
        guest.icount_options(2048, 0, cost.RAM_DISKS, ["raid.sh"]), 600)
        for label, kernel in kernels.items()}
    for boot in guest.run_all(boots.values()):
        progress.say(f"locks: {boot.label}")
    found = {label: lock_counts(boot.read("script.log"), label)
             for label, boot in boots.items()}
    return [rows.exact_row(f"i_pages {phase}", "4k", cost.DEVICE,
                           "lock acquisitions per GiB",
                           [found["base"][phase]], [found["patched"][phase]])
            for phase in ("write", "writeback")]


# ---- the run -----------------------------------------------------------------

def keep_config(label, kernel, out):
    """Keep the configuration of a kernel that was built in its tree."""
    tree = os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.dirname(os.path.abspath(kernel)))))
    config = os.path.join(tree, ".config")
    if os.path.isfile(config):
        shutil.copyfile(config, os.path.join(out, f"config-{label}"))


def estimate(mode):
    """Seconds that the whole run takes on a quiet 2-core machine."""
    cost_seconds = 2 * cost.SECONDS_PER_REPEAT * len(mode.cost_rows) / len(cost.ALL)
    return int(2 * mode.boots * mode.nvme_seconds + 60 + cost_seconds + 25
               + (60 if mode.locks else 0))


def measure(args, mode, out):
    kernels = {"base": args.base, "patched": args.patched}
    lock_kernels = {"base": args.kunit_base, "patched": args.kunit}
    for label, kernel in [*kernels.items(),
                          *(lock_kernels.items() if mode.locks else ())]:
        guest.check_kernel(kernel)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    guest.build_writer()
    for label, kernel in kernels.items():
        keep_config(label, kernel, out)
    progress = Progress(estimate(mode))
    progress.say(f"fio on NVMe, {mode.pairs()} pairs of each row")
    found = measure_nvme(kernels, mode, out, progress)
    progress.say("fio on null_blk with latency")
    found += measure_bandwidth(kernels, out, progress)
    found += cost.measure(args.base, args.patched, os.path.join(out, "cost"),
                          wanted=mode.cost_rows)
    if mode.locks:
        progress.say("lock statistics")
        for label, kernel in lock_kernels.items():
            keep_config(f"locks-{label}", kernel, out)
        found += measure_locks(lock_kernels, out, progress)
    return found


def summary(found):
    """The last line, and the exit status that goes with it."""
    count = {verdict: sum(row.verdict == verdict for row in found)
             for verdict in (rows.PASS, rows.FAIL, rows.UNJUDGED)}
    if not any(count.values()):
        return "bench: no gated row was measured", 2
    text = (f"{count[rows.PASS]} rows pass, {count[rows.FAIL]} fail, "
            f"{count[rows.UNJUDGED]} cannot be judged")
    if count[rows.FAIL]:
        return f"bench: FAIL: {text}", 1
    return f"bench: pass: {text}", 0


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("base", "patched", "kunit-base", "kunit"):
        parser.add_argument(f"--{name}", metavar="BZIMAGE",
                            default=os.path.join(guest.BUILD, name,
                                                 "arch/x86/boot/bzImage"))
    parser.add_argument("--mode", choices=MODES, default="default")
    parser.add_argument("--out", metavar="DIR",
                        default=os.path.join(guest.BUILD, "results"))
    return parser.parse_args(argv)


def main(argv):
    args = parse_args(argv)
    mode = MODES[args.mode]
    start = time.monotonic()
    try:
        found = measure(args, mode, os.path.join(args.out, "bench"))
    except guest.CannotRun as err:
        print(f"bench: could not run: {err}", file=sys.stderr)
        return 2
    rows.write_json(os.path.join(args.out, "bench.json"), found)
    print()
    print(rows.table(found))
    if mode.note:
        print(f"note: {mode.note}")
    line, status = summary(found)
    print(f"{line} ({time.monotonic() - start:.0f} s)")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
