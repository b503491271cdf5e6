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
import subprocess
import sys

sys.dont_write_bytecode = True      # the source tree stays clean

import guest                        # noqa: E402

LAYOUTS = ("contiguous", "scattered")
VALUES = (1, 64, 512, 4096, 32768, 524288)
# The chain of 512 Ki folios is for "make guest".
CHAIN_MIB = {1: 128}
CHAIN_MIB_DEFAULT = 1024
RAM_DISKS = "brd.rd_nr=3 brd.rd_size=327680"
SECONDS = 420                       # on a quiet 2-core machine

FIELDS = ("layout", "kind", "value", "cost", "mib_s", "ioends", "folios",
          "max_folios", "task_ns", "irq_ns", "irq_folio_ns", "chain_task_ns",
          "chain_waited_ns")


def icount_boot(label, kernel, script, out, args, mem):
    """A guest with all programs, whose time is instructions."""
    return guest.Boot(label, kernel, script, out, [str(arg) for arg in args],
                      guest.icount_options(mem, 0, RAM_DISKS, ["raid.sh"])
                      + ["--userland", "full"], 900)


def boots(kernel, out):
    """All guests, the long ones first."""
    found = [icount_boot(layout, kernel, "ioend.sh",
                         os.path.join(out, layout), [layout, *VALUES], 3072)
             for layout in LAYOUTS]
    for value in VALUES:
        mib = CHAIN_MIB.get(value, CHAIN_MIB_DEFAULT)
        found.append(icount_boot(f"chain-{value}", kernel, "holdoff.sh",
                                 os.path.join(out, f"chain-{value}"),
                                 [mib, value], 3072))
    return found


def collect(done):
    """Rows of the table from guests that have ended."""
    by_label = {boot.label: boot.read("script.log") for boot in done}
    chains = {}
    for value in VALUES:
        text = by_label[f"chain-{value}"]
        found = (guest.parse_figures(text, "chain")
                 + guest.parse_figures(text, "holdoff"))
        if len(found) != 2:
            raise guest.CannotRun(f"chain-{value}: no figures came back")
        chains[value] = (found[0]["stretch_ns"], found[1]["longest_ns"])
    table = []
    for layout in LAYOUTS:
        for row in guest.parse_figures(by_label[layout], "ioend"):
            chain = (chains[row["value"]] if row["kind"] == "unwritten"
                     else ("", ""))
            table.append({"layout": layout, **row, "chain_task_ns": chain[0],
                          "chain_waited_ns": chain[1]})
    if len(table) != len(LAYOUTS) * len(VALUES) * 2:
        raise guest.CannotRun("a guest did not measure every value")
    return table


def text_table(table):
    """The table for people."""
    lines = ["layout      kind       value   Ginstr/GiB  MiB/s  ioends  mean folios"
             "  longest: task  interrupt  chain"]
    for row in table:
        lines.append(f"{row['layout']:11} {row['kind']:9} {row['value']:7}"
                     f"  {row['cost'] / 1e9:9.4f} {float(row['mib_s']):7.1f}"
                     f" {row['ioends']:7} {row['folios'] / row['ioends']:12.0f}"
                     f" {row['task_ns']:14} {row['irq_ns']:10}"
                     f" {row['chain_task_ns'] or '-':>7}")
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
    guest.check_kernel(args.kernel)
    guest.build_writer()
    if not shutil.which("gnuplot"):
        raise guest.CannotRun("gnuplot is missing: install gnuplot-nox")
    out = os.path.join(args.out, "report-ioend")
    os.makedirs(out, exist_ok=True)
    todo = boots(args.kernel, out)
    print(f"report-ioend: {len(todo)} guests, about {SECONDS} s", flush=True)
    done = []
    for boot in guest.run_all(todo):
        done.append(boot)
        print(f"  {len(done)}/{len(todo)} {boot.label}", flush=True)
    table = collect(done)
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
    parser.add_argument("--kernel", metavar="BZIMAGE", default=os.path.join(
        guest.BUILD, "trace", "arch/x86/boot/bzImage"))
    parser.add_argument("--out", metavar="DIR",
                        default=os.path.join(guest.BUILD, "results"))
    args = parser.parse_args(argv)
    return guest.main("report-ioend", lambda: work(args))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
