#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What fs.iomap.ioend_batch_folios buys, and what it costs, as a table and a picture.

Guests under icount write 4 KiB folios with each value: to extents that are written
and to unwritten ones, in memory where neighbours of a file are neighbours and where
they are not.  See ioend.sh for what is measured; holdoff.sh completes a chain.
Writes report-ioend.csv and report-ioend.png.  Exit status: 0 done, 2 could not run.
"""

import argparse
import csv
import os
import shutil
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True      # the source tree stays clean

import bench                        # noqa: E402
import cost                         # noqa: E402
import guest                        # noqa: E402

LAYOUTS = ("contiguous", "scattered")
VALUES = (1, 64, 512, 4096, 32768, 524288)
KINDS = ("written", "unwritten")
# The only value of a kernel without the tunable, 4096; no guest of it is traced.
FIXED = "fixed"
# The chain of 512 Ki folios is for "make guest".
CHAIN_MIB = {1: 128}
CHAIN_MIB_DEFAULT = 1024
SECONDS = 420                       # on a quiet 2-core machine

FIELDS = ("kernel", "layout", "kind", "value", "cost", "mib_s", "ioends", "folios",
          "max_folios", "task_ns", "irq_ns", "irq_folio_ns", "chain_task_ns",
          "chain_waited_ns")


def boots(label, kernel, values, out):
    """The guests of one kernel, the long ones first; they are named LABEL-LAYOUT
    and LABEL-chain-VALUE."""
    found = [guest.Boot(f"{label}-{layout}", kernel, "ioend.sh",
                        os.path.join(out, f"{label}-{layout}"),
                        [layout, *map(str, values)],
                        guest.icount_options(3072, 0, cost.RAM_DISKS,
                                             ["raid.sh"])
                        + ["--userland", "full"], 900)
             for layout in LAYOUTS]
    for value in values:
        name = f"{label}-chain-{value}"
        words = [str(CHAIN_MIB.get(value, CHAIN_MIB_DEFAULT))]
        if value != FIXED:
            words.append(str(value))
        found.append(cost.holdoff_boot(name, kernel, os.path.join(out, name), 0,
                                       words, 3072))
    return found


def mib_per_s(boot, name):
    """What fio says of one kind and value: the median of its runs."""
    found = [bench.fio_mib_per_s(boot.read(f"results/{name}-{number}.json"),
                                 boot.out)[name] for number in (1, 2, 3)]
    return round(statistics.median(found), 1)


def collect(done, label, values):
    """Rows of the table from the guests of one kernel."""
    by_label = {boot.label: boot for boot in done}
    table = []
    for layout in LAYOUTS:
        boot = by_label[f"{label}-{layout}"]
        costs = cost.figures(boot.read("script.log"))
        traces = {(row["kind"], row["value"]): row for row in
                  guest.parse_figures(boot.read("script.log"), "ioend")}
        for kind in KINDS:
            for value in values:
                name = f"{kind}-{value}"
                row = dict.fromkeys(FIELDS, "")
                row.update(kernel=label, layout=layout, kind=kind, value=value,
                           cost=int(costs[name, "4k", "writeback"][0]),
                           mib_s=mib_per_s(boot, name))
                chain = by_label[f"{label}-chain-{value}"]
                if kind == "unwritten":
                    row["chain_waited_ns"] = guest.one_figure(
                        chain, "holdoff")["longest_ns"]
                if value != FIXED:
                    row.update(traces[kind, value])
                    if kind == "unwritten":
                        row["chain_task_ns"] = guest.one_figure(
                            chain, "chain")["stretch_ns"]
                table.append(row)
    return table


def text_table(table):
    """The table for people."""
    lines = ["kernel   layout      kind       value   Ginstr/GiB  MiB/s  ioends"
             "  mean folios  longest: task  interrupt  another task waited"]
    for row in table:
        mean = row["ioends"] and round(row["folios"] / row["ioends"])
        lines.append(f"{row['kernel']:8} {row['layout']:11} {row['kind']:9}"
                     f" {row['value']:>7}"
                     f"  {row['cost'] / 1e9:9.4f} {row['mib_s']:7.1f}"
                     f" {row['ioends'] or '-':>7} {mean or '-':>12}"
                     f" {row['task_ns'] or '-':>14} {row['irq_ns'] or '-':>10}"
                     f" {row['chain_waited_ns'] or '-':>20}")
    return "\n".join(lines)


def draw(out, csv_path, png_path):
    """The picture, by gnuplot."""
    script = os.path.join(guest.HERE, "ioend.gnuplot")
    done = subprocess.run(["gnuplot", "-e", f"data='{csv_path}'", "-e",
                           f"picture='{png_path}'", script], check=False,
                          capture_output=True, text=True, cwd=out)
    if done.returncode or not os.path.getsize(png_path):
        raise guest.CannotRun("gnuplot: " + (done.stderr.strip().splitlines()
                                             or ["no picture"])[-1])


def work(args):
    """Measure, write, draw; the exit status."""
    guest.check_kernel(args.base)
    guest.check_kernel(args.patched)
    guest.check_same_config(args.base, args.patched)
    guest.build_writer()
    if not shutil.which("gnuplot"):
        raise guest.CannotRun("gnuplot is missing: install gnuplot-nox")
    out = os.path.join(args.out, "report-ioend")
    os.makedirs(out, exist_ok=True)
    todo = (boots("patched", args.patched, VALUES, out)
            + boots("base", args.base, [FIXED], out))
    print(f"report-ioend: {len(todo)} guests, about {SECONDS} s", flush=True)
    done = []
    for boot in guest.run_all(todo):
        done.append(boot)
        print(f"  {len(done)}/{len(todo)} {boot.label}", flush=True)
    table = collect(done, "base", [FIXED]) + collect(done, "patched", VALUES)
    csv_path = os.path.join(args.out, "report-ioend.csv")
    with open(csv_path, "w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, FIELDS)
        writer.writeheader()
        writer.writerows(table)
    png_path = os.path.join(args.out, "report-ioend.png")
    draw(out, csv_path, png_path)
    print(f"\n{text_table(table)}\n\n{csv_path}\n{png_path}")
    return 0


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    for label, tree in (("base", "trace-0"), ("patched", "trace")):
        parser.add_argument(f"--{label}", metavar="BZIMAGE", default=os.path.join(
            guest.BUILD, tree, "arch/x86/boot/bzImage"))
    parser.add_argument("--out", metavar="DIR",
                        default=os.path.join(guest.BUILD, "results"))
    args = parser.parse_args(argv)
    return guest.main("report-ioend", lambda: work(args))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
