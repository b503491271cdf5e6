#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The bench: bandwidth, cost and lock figures, base against patched kernel.

Six parts, one table:
  nvme       fio on XFS over RAID0 of four emulated NVMe drives, two vCPUs that take
             turns; time is instructions, or host time while all wait for drives;
             interleaved pairs, judged by the interval of their median ratio
  bandwidth  fio on RAID0 of four null_blk with latency, icount, deterministic
  queue      fio appending to XFS on null_blk with latency, few tags or little
             bandwidth, icount; only measured when asked for, and by full mode
  overwrite  fio overwriting a cached file while it is written back, on such a
             null_blk, icount; measured when queue is
  cost       the rows of cost.py
  locks      i_pages acquisitions, from kernels with lock statistics

Exit status: 0 no gate failed, 1 a gate failed, 2 nothing could be measured.
Rows that cannot be judged do not fail; the last line counts them.
"""

import argparse
import dataclasses
import json
import os
import re
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
NVME_TIMEOUT = 500                  # seconds; a busy host takes long
# Two vCPUs and the emulated drives share the host's CPUs and one lock of the
# emulator: a vCPU can stand still for many seconds without fault of the guest.
STALL_TIMEOUT = "rcupdate.rcu_cpu_stall_timeout=100"


@dataclass(frozen=True)
class Cell:
    """One combination of block size and jobs; size of a job in MiB."""
    bs: str
    jobs: int
    size: int

    def name(self):
        return f"{self.bs}-{self.jobs}"

    def section(self, number):
        """Name of the job file's section for one round."""
        return f"{self.name()}-{number}"


# Sizes are chosen so that a job takes a few tenths of a second of guest time.
NVME_CELLS = (Cell("4k", 1, 256), Cell("4k", 2, 128), Cell("4k", 4, 64),
              Cell("64k", 1, 768), Cell("64k", 2, 384), Cell("64k", 4, 192),
              Cell("1m", 1, 1152), Cell("1m", 2, 576), Cell("1m", 4, 288))
# The deterministic rows: {cell: rounds}.  fio counts in milliseconds of guest
# time, so that these jobs have to be long.  The order in which four jobs are
# throttled moves a result by up to 1 %, which takes more rounds.
BANDWIDTH_CELLS = {Cell("4k", 1, 256): 1, Cell("4k", 2, 128): 3,
                   Cell("4k", 4, 64): 3,
                   Cell("64k", 1, 1536): 1, Cell("64k", 2, 768): 5,
                   Cell("64k", 4, 384): 5,
                   Cell("1m", 1, 2048): 1, Cell("1m", 2, 1024): 5,
                   Cell("1m", 4, 512): 9}
# Appending to devices that limit the bandwidth: latency in ns and attributes of
# null_blk, and rounds of the cells of large folios.  Where requests wait for tags,
# who gets the next one moves a result by some percent: that takes more rounds.
QUEUES = {"20us": (("20000",), 3),
          "1ms": (("1000000",), 3),
          "1ms-4-tags": (("1000000", "hw_queue_depth=4"), 14),
          "400-MiB/s": (("20000", "mbps=100"), 3)}
# One job is larger than the background limit of a guest of QUEUE_MEM MiB, two
# reach its dirty limit.
QUEUE_CELLS = (Cell("4k", 1, 384), Cell("4k", 2, 384), Cell("4k", 4, 192),
               Cell("64k", 2, 384), Cell("1m", 2, 384))
QUEUE_MEM = 4096
# Overwriting at random: {size of the write() calls that made the file, in KiB, which
# is the size of its folios: rounds}.  Where the jobs write differs from round to
# round, and results with it: by some percent where many writers wait.
OVERWRITE_ROUNDS = {4: 10, 64: 40, 1024: 80}
OVERWRITE_CELLS = (Cell("4k", 1, 96), Cell("64k", 1, 768))
OVERWRITE_QUEUE = "1ms-4-tags"


def queue_cells(name):
    """{cell: rounds} of a device."""
    return {cell: 3 if cell.bs == "4k" else QUEUES[name][1]
            for cell in QUEUE_CELLS}


@dataclass(frozen=True)
class Mode:
    """How much to measure.  The number of pairs is fixed before the run."""
    boots: int          # boots of each kernel on NVMe; many short ones, as the
    rounds: int         # host drifts; rounds is jobs of each cell in one boot
    repeats: int        # boots of each kernel for deterministic bandwidth
    cost_rows: tuple
    parts: tuple
    note: str = ""
    cells: tuple = NVME_CELLS
    mem: int = 2048     # MiB of the guests with NVMe
    clock: str = "guest"    # of the guests with NVMe

    def pairs(self):
        return self.boots * self.rounds

    def estimate(self):
        """Seconds that a run takes on a quiet 2-core machine."""
        seconds = {
            "nvme": 2 * self.boots * (NVME_BOOT_SECONDS + self.rounds * sum(
                cell.jobs * cell.size / NVME_MIB_PER_S[cell.bs]
                for cell in self.cells)),
            "bandwidth": self.repeats * BANDWIDTH_SECONDS,
            "queue": self.repeats * QUEUE_SECONDS,
            "overwrite": self.repeats * OVERWRITE_SECONDS,
            "cost": 25 + (cost.REPEATS * cost.SECONDS_PER_REPEAT
                          * len(self.cost_rows) / len(cost.ALL)),
            "locks": LOCKS_SECONDS}
        return int(sum(seconds[part] for part in self.parts))


# On a quiet 2-core machine.
OVERWRITE_SECONDS = 500
NVME_BOOT_SECONDS, NVME_MIB_PER_S = 13, {"4k": 90, "64k": 400, "1m": 600}
BANDWIDTH_SECONDS, QUEUE_SECONDS, LOCKS_SECONDS = 90, 340, 60

PARTS = ("nvme", "bandwidth", "queue", "overwrite", "cost", "locks")
DEFAULT_PARTS = ("nvme", "bandwidth", "cost", "locks")
MODES = {
    "quick": Mode(2, 3, 1, cost.HEADLINE, ("nvme", "bandwidth", "cost"),
                  "quick mode: the 6 pairs of an NVMe row only show differences "
                  "far larger than the scatter of single runs"),
    "default": Mode(7, 2, 2, cost.ALL, DEFAULT_PARTS),
    "full": Mode(15, 4, 2, cost.ALL, PARTS),
}


# ---- fio ---------------------------------------------------------------------

def sections(base, cells, options):
    """Text of a job file that begins with the file base; cells is {cell: rounds}, and
    options gives the lines of a cell in a round.  Each round runs every cell once,
    so that a disturbance of the host hits all cells alike."""
    with open(os.path.join(guest.HERE, base), encoding="utf-8") as source:
        lines = [source.read()]
    for number in range(1, max(cells.values()) + 1):
        for cell in (each for each in cells if number <= cells[each]):
            lines += [f"[{cell.section(number)}]", "stonewall", f"bs={cell.bs}",
                      *options(cell, number), ""]
    return "\n".join(lines)


def job_file(cells, extra=()):
    """Text of a job file for new files."""
    return sections("write.fio", cells, lambda cell, _number: (
        f"size={cell.size}m", f"numjobs={cell.jobs}", *extra))


def fio_mib_per_s(text, source):
    """MiB/s of every job group in fio's JSON output, by section."""
    try:
        jobs = json.loads(text)["jobs"]
        found = {job["jobname"]: job["write"]["bw_bytes"] / (1 << 20)
                 for job in jobs}
    except (ValueError, KeyError, TypeError) as err:
        raise guest.CannotRun(f"{source}: not the JSON of fio") from err
    if (not found or min(found.values()) <= 0
            or any(job.get("error") for job in jobs)):
        raise guest.CannotRun(f"{source}: fio reports an error or no bytes")
    return found


def cell_values(found, cell, rounds, label):
    """MiB/s of each round of a cell."""
    names = [cell.section(number) for number in range(1, rounds + 1)]
    missing = [name for name in names if name not in found]
    if missing:
        raise guest.CannotRun(f"{label}: fio did not report {missing[0]}")
    return [found[name] for name in names]


def fio_boot(label, kernel, script, out, args, options, timeout, jobs):
    """A guest with fio and a job file, which is kept with the results."""
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "jobs.fio")
    with open(path, "w", encoding="utf-8") as target:
        target.write(jobs)
    return guest.Boot(label, kernel, script, out, args,
                      ["--userland", "full", "--file", path, *options], timeout)


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


def nvme_boot(label, kernel, out, number, mode):
    """fio on emulated NVMe; the timeout allows for a busy machine.

    With the host's clock, the vCPUs run at the same time, each as fast as the host
    and its other tasks let it: jobs of one kernel then differ by half.
    """
    clock = ["--icount"] if mode.clock == "guest" else []
    return fio_boot(label, kernel, "nvme.sh",
                    os.path.join(out, f"nvme-{label}-{number}"), [],
                    ["--nvme", "4:384", "--smp", "2", "--mem", str(mode.mem),
                     "--append", STALL_TIMEOUT, *clock,
                     "--file", os.path.join(guest.HERE, "raid.sh")],
                    NVME_TIMEOUT,
                    job_file(dict.fromkeys(mode.cells, mode.rounds),
                             ["unlink=1"]))


def measure_nvme(kernels, mode, out, progress):
    """Alternate boots A B B A; the i-th jobs of two such boots are a pair."""
    values = {}
    for number in range(mode.boots):
        for label, kernel in list(kernels.items())[::-1 if number % 2 else 1]:
            boot = nvme_boot(label, kernel, out, number, mode)
            found = fio_mib_per_s(guest.run(boot).read("results/fio.json"),
                                  boot.out)
            for cell in mode.cells:
                values[label, number, cell] = cell_values(
                    found, cell, mode.rounds, boot.out)
            progress.say(f"nvme: {label}, boot {number + 1} of {mode.boots}")
    return [rows.paired_row("fio", cell.bs, cell.jobs, "raid0-nvme-xfs",
                            MIB_PER_S,
                            [list(zip(values["base", number, cell],
                                      values["patched", number, cell]))
                             for number in range(mode.boots)])
            for cell in mode.cells]


def bandwidth_boot(label, kernel, out, number):
    """fio on null_blk with latency, under icount."""
    words = [f"{cell.name()}:{cell.jobs}:{cell.size}:{rounds}"
             for cell, rounds in BANDWIDTH_CELLS.items()]
    return fio_boot(
        label, kernel, "bandwidth.sh",
        os.path.join(out, f"bandwidth-{label}-{number}"),
        [str(LATENCY_NS), *words],
        guest.icount_options(3072, number, cost.RAM_DISKS, ["raid.sh"]), 900,
        job_file(BANDWIDTH_CELLS))


def bandwidth_values(boot):
    """Median MiB/s of each cell in one guest."""
    found = {}
    for cell, rounds in BANDWIDTH_CELLS.items():
        for i in range(1, rounds + 1):
            name = f"results/{cell.section(i)}.json"
            found.update(fio_mib_per_s(boot.read(name), name))
    return {cell: statistics.median(cell_values(found, cell, rounds, boot.out))
            for cell, rounds in BANDWIDTH_CELLS.items()}


def measure_bandwidth(kernels, repeats, out, progress):
    """Deterministic bandwidth rows."""
    boots = [bandwidth_boot(label, kernel, out, number)
             for number in range(repeats) for label, kernel in kernels.items()]
    for boot in guest.run_all(boots):
        progress.say(f"bandwidth: {boot.label}")
    values = {label: [bandwidth_values(boot) for boot in boots
                      if boot.label == label] for label in kernels}
    return [rows.exact_row("fio", cell.bs, "raid0-null_blk-latency", MIB_PER_S,
                           [each[cell] for each in values["base"]],
                           [each[cell] for each in values["patched"]],
                           gates.BANDWIDTH, jobs=cell.jobs)
            for cell in BANDWIDTH_CELLS]


def run_fio(boots, progress):
    """Run guests, keyed by anything; what fio reported in each."""
    for boot in guest.run_all(boots.values()):
        progress.say(os.path.basename(boot.out))
    return {key: fio_mib_per_s(boot.read("results/fio.json"), boot.out)
            for key, boot in boots.items()}


def fio_pairs(found, kernels, name, repeats, cell, rounds):
    """(base, patched) of each round of a cell, in a group for each boot; found is
    of run_fio(), by name, number of the boot and kernel."""
    return [list(zip(*(cell_values(found[name, number, label], cell, rounds, label)
                       for label in kernels)))
            for number in range(repeats)]


def queue_boot(label, kernel, out, name, number):
    """fio on null_blk that queues, under icount."""
    return fio_boot(
        label, kernel, "queue.sh",
        os.path.join(out, f"queue-{label}-{name.replace('/', '-')}-{number}"),
        list(QUEUES[name][0]),
        guest.icount_options(QUEUE_MEM, number, files=["raid.sh"]),
        900, job_file(queue_cells(name), ["unlink=1"]))


def measure_queue(kernels, repeats, out, progress):
    """Rows of devices that limit the bandwidth: repeatable, but not smooth, as a
    request more or less in front of another changes all that follows."""
    boots = {(name, number, label): queue_boot(label, kernel, out, name, number)
             for name in QUEUES for number in range(repeats)
             for label, kernel in kernels.items()}
    found = run_fio(boots, progress)
    return [rows.paired_row("fio append", cell.bs, cell.jobs,
                            f"raid0-null_blk-{name}", MIB_PER_S,
                            fio_pairs(found, kernels, name, repeats, cell, rounds),
                            gates.QUEUE_BOUND)
            for name in QUEUES for cell, rounds in queue_cells(name).items()]


def overwrite_jobs(rounds):
    """Text of the job file: each round has its own places to write."""
    return sections("overwrite.fio", dict.fromkeys(OVERWRITE_CELLS, rounds),
                    lambda cell, number: (f"io_size={cell.size}m",
                                          f"randseed={number}"))


def overwrite_boot(label, kernel, out, kib, number):
    """fio overwriting a file with folios of one size, under icount."""
    return fio_boot(
        label, kernel, "overwrite.sh",
        os.path.join(out, f"overwrite-{label}-{kib}k-{number}"),
        [str(kib), *QUEUES[OVERWRITE_QUEUE][0]],
        guest.icount_options(2048, number, files=["raid.sh"]), 900,
        overwrite_jobs(OVERWRITE_ROUNDS[kib]))


def measure_overwrite(kernels, repeats, out, progress):
    """Rows of writers that meet the folio locks of writeback."""
    boots = {(kib, number, label): overwrite_boot(label, kernel, out, kib, number)
             for kib in OVERWRITE_ROUNDS for number in range(repeats)
             for label, kernel in kernels.items()}
    found = run_fio(boots, progress)
    return [rows.paired_row(f"fio overwrite {kib}k folios", cell.bs, 1,
                            f"raid0-null_blk-{OVERWRITE_QUEUE}", MIB_PER_S,
                            fio_pairs(found, kernels, kib, repeats, cell, rounds),
                            gates.QUEUE_BOUND)
            for kib, rounds in OVERWRITE_ROUNDS.items()
            for cell in OVERWRITE_CELLS]


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
                           [found["base"][phase]], [found["patched"][phase]],
                           gates.LOCKS if phase == "writeback" else None)
            for phase in ("write", "writeback")]


# ---- the run -----------------------------------------------------------------

def keep_config(label, kernel, out):
    """Keep the configuration of a kernel that was built in its tree."""
    config = guest.config_of(kernel)
    if os.path.isfile(config):
        shutil.copyfile(config, os.path.join(out, f"config-{label}"))


def measure(args, mode, out):
    kernels = {"base": args.base, "patched": args.patched}
    lock_kernels = {"base": args.kunit_base, "patched": args.kunit}
    for label, kernel in [*kernels.items(),
                          *(lock_kernels.items() if "locks" in mode.parts
                            else ())]:
        guest.check_kernel(kernel)
    guest.check_same_config(args.base, args.patched)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    guest.build_writer()
    for label, kernel in kernels.items():
        keep_config(label, kernel, out)
    progress = Progress(mode.estimate())
    found = []
    if "nvme" in mode.parts:
        progress.say(f"fio on NVMe, {mode.pairs()} pairs of each row")
        found += measure_nvme(kernels, mode, out, progress)
    if "bandwidth" in mode.parts:
        progress.say("fio on null_blk with latency")
        found += measure_bandwidth(kernels, mode.repeats, out, progress)
    if "queue" in mode.parts:
        progress.say("fio on null_blk that queues")
        found += measure_queue(kernels, mode.repeats, out, progress)
    if "overwrite" in mode.parts:
        progress.say("fio overwriting while writeback runs")
        found += measure_overwrite(kernels, mode.repeats, out, progress)
    if "cost" in mode.parts:
        found += cost.measure(args.base, args.patched, os.path.join(out, "cost"),
                              wanted=mode.cost_rows)
    if "locks" in mode.parts:
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


def cells_spec(text):
    """Parse BS:JOBS:MIB[,BS:JOBS:MIB]..."""
    cells = []
    for word in text.split(","):
        match = re.fullmatch(r"([1-9][0-9]*[km]):([1-9]):([1-9][0-9]{0,3})", word)
        if not match:
            raise argparse.ArgumentTypeError(f"not BS:JOBS:MIB: '{word}'")
        cells.append(Cell(match[1], int(match[2]), int(match[3])))
    if len({cell.name() for cell in cells}) < len(cells):
        raise argparse.ArgumentTypeError("the same BS:JOBS twice")
    return tuple(cells)


def count_spec(text):
    """Parse a positive number."""
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(f"not a positive number: '{text}'")
    return int(text)


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("base", "patched", "kunit-base", "kunit"):
        parser.add_argument(f"--{name}", metavar="BZIMAGE",
                            default=os.path.join(guest.BUILD, name,
                                                 "arch/x86/boot/bzImage"))
    parser.add_argument("--mode", choices=MODES, default="default")
    parser.add_argument("--part", choices=PARTS, action="append",
                        help="measure only this; may be repeated")
    nvme = parser.add_argument_group("instead of what the mode says of NVMe")
    nvme.add_argument("--cells", type=cells_spec, metavar="BS:JOBS:MIB,...")
    nvme.add_argument("--mem", type=count_spec, metavar="MIB")
    nvme.add_argument("--clock", choices=("guest", "host"))
    nvme.add_argument("--boots", type=count_spec, metavar="N")
    nvme.add_argument("--rounds", type=count_spec, metavar="N")
    parser.add_argument("--out", metavar="DIR",
                        default=os.path.join(guest.BUILD, "results"))
    return parser.parse_args(argv)


def chosen_mode(args):
    """The mode, with what the command line says otherwise."""
    given = {name: getattr(args, name)
             for name in ("cells", "mem", "clock", "boots", "rounds")
             if getattr(args, name)}
    if args.part:
        given["parts"] = tuple(args.part)
    return dataclasses.replace(MODES[args.mode], **given)


def work(args):
    """Measure, report; the exit status."""
    mode = chosen_mode(args)
    start = time.monotonic()
    found = measure(args, mode, os.path.join(args.out, "bench"))
    rows.write_json(os.path.join(args.out, "bench.json"), found)
    print("\n" + rows.table(found))
    if mode.note:
        print(f"note: {mode.note}")
    line, status = summary(found)
    print(f"{line} ({time.monotonic() - start:.0f} s)")
    return status


def main(argv):
    args = parse_args(argv)
    return guest.main("bench", lambda: work(args))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
