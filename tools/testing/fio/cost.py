#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Cost gates: kernel instructions per GiB, base against patched kernel.

Both kernels run the same guest under "-icount shift=0" with one vCPU, where a
nanosecond of guest time is an executed instruction.  Exit status: 0 all gates
hold, 1 a gate failed, 2 nothing could be measured.
"""

import argparse
import os
import re
import statistics
import sys
import time

sys.dont_write_bytecode = True      # the source tree stays clean

import gates                        # noqa: E402
import guest                        # noqa: E402
import rows                         # noqa: E402

DEVICE = "raid0-null_blk"
GIB = 1 << 30
HEADLINE = ("4k", "64k", "1m")
# With large folios for streams of small writes; the rows above are without.
STREAM = tuple(f"stream-{bs}" for bs in HEADLINE + ("4000", "512"))
# Reported, not gated: write sizes that leave pages partly written.
EXTRA = ("4000", "512")
ALL = HEADLINE + EXTRA + STREAM + gates.GUARDS
REPEATS = 2
# How long a run takes on a quiet 2-core machine, for the announcement.
SECONDS_PER_REPEAT = 130

# Micro-benchmark: a folio that ends alone, in a file with and without others
# under writeback, and as a batch of one; "all" is clear dirty, start and end.
SINGLE = ("end single", "end only", "end batch of 1", "all single",
          "all batch of 1")
FULL = "all batch of 31"
HOLD = "longest-hold"
BENCH_KEYS = SINGLE + ("end batch of 31", FULL, HOLD)

# Of the chain of ioends whose completion is watched; base completes 9 * 16 MiB at a
# stretch.
CHAIN_MIB = 512

BLOCK_SIZES = {4096: "4k", 65536: "64k", 1048576: "1m"}


RAM_DISKS = "brd.rd_nr=3 brd.rd_size=327680"


def boot(label, kernel, out, shift, words):
    """The guest that measures the rows named by words."""
    return guest.Boot(
        label, kernel, "cost.sh", out, list(words),
        guest.icount_options(4096, shift, RAM_DISKS, ["raid.sh"]), 600)


def bench_boot(label, kernel, out, shift):
    """The guest that runs the KUnit micro-benchmark while it boots."""
    return guest.Boot(
        label, kernel, "nothing.sh", out, [],
        guest.icount_options(1024, shift, "kunit.enable=1 "
                             "kunit.filter_glob=writeback_bench"))


def holdoff_boot(label, kernel, out, shift, words=(str(CHAIN_MIB),), mem=2048):
    """The guest that watches the completion of a chain of ioends."""
    return guest.Boot(
        label, kernel, "holdoff.sh", out, list(words),
        guest.icount_options(mem, shift, RAM_DISKS, ["raid.sh"])
        + ["--userland", "full"], 300)


def figures(text):
    """Instructions per GiB of one guest: {(name, bs, phase): (value, total)}.

    value is the median of the rounds, as a kernel worker that happens to run
    disturbs one of them; total is the number of instructions of all rounds.
    phase is "write", "writeback" or "both".
    """
    rounds = {}
    for line in guest.parse_figures(text, "cost"):
        bs = BLOCK_SIZES.get(line["bs"], str(line["bs"]))
        write, writeback = line["write_ns"], line["writeback_ns"]
        for phase, value in (("both", write + writeback), ("write", write),
                             ("writeback", writeback)):
            rounds.setdefault((line["name"], bs, phase), []).append(
                (value * GIB / line["bytes"], value))
    return {key: (statistics.median(cost for cost, _ in values),
                  sum(value for _, value in values))
            for key, values in rounds.items()}


def bench_figures(console):
    """Figures of the micro-benchmark, in instructions, by the row's name."""
    found = {}
    for name, value in re.findall(r"writeback_bench: (end single|end only|"
                                  r"all single|hold_max) ns=(\d+)", console):
        found[HOLD if name == "hold_max" else name] = int(value)
    for what, folios, value in re.findall(
            r"writeback_bench: (end|all) folios=(\d+) ns=\d+ per_folio=(\d+)",
            console):
        found[f"{what} batch of {folios}"] = int(value)
    return found


def cost_row(name, bs, base, patched, gate, key):
    """One row of the table from the figures of all repeats."""
    row = rows.exact_row(name, bs, DEVICE, rows.PER_GIB,
                         [each[key][0] for each in base],
                         [each[key][0] for each in patched], gate)
    total = min(base[0][key][1], patched[0][key][1])
    if gate is not None and total < gates.MIN_INSTRUCTIONS:
        row.verdict = rows.FAIL
        row.note = "; ".join(filter(None, (row.note, "fewer than 1e8 "
                                           "instructions, too few to judge")))
    return row


def guard_rows(name, base, patched):
    """A guard is what a user pays in all, and the writeback part of it."""
    for _, bs, phase in [key for key in base[0] if key[0] == name]:
        if phase == "both":
            yield cost_row(name, bs, base, patched, gates.GUARD,
                           (name, bs, "both"))
        elif phase == "writeback" and name != "fsync":
            yield cost_row(f"{name} writeback", bs, base, patched,
                           gates.GUARD, (name, bs, phase))


def cost_rows(base, patched):
    """All rows per GiB, from the figures() of every repeat of both kernels."""
    found = []
    for phase in ("write", "writeback"):
        for bs in HEADLINE + EXTRA:
            key = ("write", bs, phase)
            if key in base[0]:
                found.append(cost_row(phase, bs, base, patched,
                                      gates.COST.get((phase, bs)), key))
    found += stream_rows(base, patched)
    for name in gates.GUARDS:
        found += guard_rows(name, base, patched)
    return found


def stream_rows(base, patched):
    """What streams of small writes gain, and how near they come to large ones."""
    for (bs, phase), gate in gates.STREAM.items():
        if ("stream", bs, phase) in base[0]:
            yield cost_row(f"stream {phase}", bs, base, patched, gate,
                           ("stream", bs, phase))
    small, large = ("stream", "4k", "writeback"), ("stream", "1m", "writeback")
    if small in patched[0] and large in patched[0]:
        yield rows.exact_row("stream writeback", "4k", DEVICE, rows.PER_GIB,
                             [each[large][0] for each in patched],
                             [each[small][0] for each in patched],
                             gates.STREAM_WRITEBACK,
                             note="1m and 4k, both patched")


def bench_rows(base, patched):
    """Rows of the micro-benchmark, from bench_figures() of every repeat."""
    found = []
    for name in base[0]:
        unit, gate, note = "instructions per folio", None, ""
        if name in SINGLE:
            gate = gates.SINGLE_FOLIO
        elif name == FULL:
            gate = gates.FULL_BATCH
        elif name == HOLD:
            unit, gate = "instructions", gates.HOLD
            note = "interrupts off at a stretch"
        found.append(rows.exact_row(
            name, "4k", "kunit", unit, [each[name] for each in base],
            [each[name] for each in patched], gate, note=note))
    return found


def check_complete(found, keys, label):
    missing = [key for key in keys if key not in found]
    if missing:
        raise guest.CannotRun(f"{label}: the guest did not report {missing[0]}")


def run_guests(kernels, repeats, out, make):
    """Boot every kernel repeats times; returns {label: [Boot, ...]}."""
    boots = [make(label, kernel, os.path.join(out, f"{label}-{i}"), i)
             for i in range(repeats) for label, kernel in kernels.items()]
    start = time.monotonic()
    for number, done in enumerate(guest.run_all(boots), 1):
        print(f"  {number}/{len(boots)} {os.path.basename(done.out)} "
              f"({time.monotonic() - start:.0f} s)", flush=True)
    return {label: [each for each in boots if each.label == label]
            for label in kernels}


def measure_cost(kernels, repeats, out, wanted):
    print(f"cost rows: {repeats} guests of each kernel, about "
          f"{repeats * SECONDS_PER_REPEAT} s", flush=True)
    boots = run_guests(kernels, repeats, out,
                       lambda *args: boot(*args, wanted))
    found = {label: [figures(each.read("script.log")) for each in each_kernel]
             for label, each_kernel in boots.items()}
    keys = [(name, "4k", "both") if name in gates.GUARDS
            else ("stream", name.removeprefix("stream-"), "both")
            if name in STREAM else ("write", name, "both") for name in wanted]
    for label, repeats_of in found.items():
        for each in repeats_of:
            check_complete(each, keys, label)
    return cost_rows(found["base"], found["patched"])


def measure_bench(kernels, repeats, out):
    print("micro-benchmark: KUnit suite writeback_bench, about 20 s",
          flush=True)
    boots = run_guests(kernels, repeats, os.path.join(out, "micro"),
                       bench_boot)
    found = {label: [bench_figures(each.read("dmesg.log")) for each in group]
             for label, group in boots.items()}
    for label, group in found.items():
        for each in group:
            check_complete(each, BENCH_KEYS, label)
    return bench_rows(found["base"], found["patched"])


def measure_holdoff(kernels, repeats, out):
    print("holdoff: completion of a chain of ioends, about 40 s", flush=True)
    boots = run_guests(kernels, repeats, os.path.join(out, "holdoff"),
                       holdoff_boot)
    found = {label: [guest.one_figure(each, "holdoff")["longest_ns"]
                     for each in group] for label, group in boots.items()}
    return [rows.exact_row("completion-holdoff", "4k", DEVICE, "instructions",
                           found["base"], found["patched"], gates.HOLDOFF,
                           note="without a scheduling point")]


def measure(base, patched, out, repeats=REPEATS, wanted=None, micro=True):
    """Measure everything that "make cost" gates; returns the rows."""
    kernels = {"base": base, "patched": patched}
    for kernel in kernels.values():
        guest.check_kernel(kernel)
    guest.check_same_config(base, patched)
    guest.build_writer()
    # 4k comes first: the other rows change the state of the memory
    wanted = sorted(wanted or ALL, key=lambda name: name != "4k")
    # the short part first: if something is missing, it shows at once
    short = (measure_bench(kernels, repeats, out)
             + measure_holdoff(kernels, repeats, out)) if micro else []
    return measure_cost(kernels, repeats, out, wanted) + short


def summary(found):
    """The last line, and the exit status that goes with it."""
    gated = [row for row in found if row.verdict != rows.INFO]
    failed = [row for row in gated if row.verdict == rows.FAIL]
    if not gated:
        return "cost: no gated row was measured", 2
    if failed:
        names = ", ".join(f"{row.name} {row.bs}" for row in failed)
        return f"cost: FAIL, {len(failed)} of {len(gated)} gates: {names}", 1
    return f"cost: pass, {len(gated)} gates hold", 0


def parse_args(argv):
    image = "arch/x86/boot/bzImage"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", metavar="BZIMAGE",
                        default=os.path.join(guest.BUILD, "base", image))
    parser.add_argument("--patched", metavar="BZIMAGE",
                        default=os.path.join(guest.BUILD, "patched", image))
    parser.add_argument("--out", metavar="DIR",
                        default=os.path.join(guest.BUILD, "results"))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--row", action="append", metavar="NAME",
                        choices=ALL,
                        help="measure this row only (may be repeated)")
    parser.add_argument("--no-micro", action="store_true",
                        help="leave the KUnit micro-benchmark and the "
                        "completion of a chain out")
    args = parser.parse_args(argv)
    if args.repeats < 2:
        parser.error("--repeats: two are needed to show that runs repeat")
    return args


def work(args):
    """Measure, report; the exit status."""
    start = time.monotonic()
    found = measure(args.base, args.patched, os.path.join(args.out, "cost"),
                    args.repeats, args.row, not args.no_micro)
    rows.write_json(os.path.join(args.out, "cost.json"), found)
    print("\n" + rows.table(found))
    line, status = summary(found)
    print(f"{line} ({time.monotonic() - start:.0f} s)")
    return status


def main(argv):
    args = parse_args(argv)
    return guest.main("cost", lambda: work(args))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
