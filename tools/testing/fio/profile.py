#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Where the instructions of writeback or write() go, function by function.

Runs a row of the cost gates on the base and the patched kernel with a QEMU
plugin that counts every instruction from do_writepages(), or from XFS's part of
write(), to its return.  The figures are exact, per page of 4 KiB written, and
those of a function do not include what it calls.
"""

import argparse
import bisect
import collections
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True      # the source tree stays clean

import cost                         # noqa: E402
import guest                        # noqa: E402

PAGE = 4096
# Where counting starts, and the function that is called next after its return.
PHASES = {"writeback": ("do_writepages", "wbc_detach_inode"),
          "write": ("xfs_file_write_iter", "syscall_exit_to_user_mode")}


def build_plugin(out):
    """Compile the plugin; returns its path."""
    plugin = os.path.join(out, "profile.so")
    run = subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", plugin,
                          os.path.join(guest.HERE, "profile.c")],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        raise guest.CannotRun(f"profile.c does not build: {run.stderr.strip()}")
    return plugin


def symbols(tree):
    """Addresses and names of the functions of a kernel, sorted."""
    with open(os.path.join(tree, "System.map"), encoding="ascii") as source:
        rows = [line.split() for line in source]
    return sorted((int(address, 16), name) for address, kind, name in rows
                  if kind in "tTwW")


def wrapper(out, plugin, functions, counts, phase):
    """A program that is QEMU with the plugin."""
    address = {name: at for at, name in functions}
    on, off = (address[name] for name in PHASES[phase])
    path = os.path.join(out, "qemu.sh")
    with open(path, "w", encoding="ascii") as script:
        script.write(f'#!/bin/sh\nexec qemu-system-x86_64 "$@" -plugin '
                     f"'{plugin},on={on:x},off={off:x},"
                     f"out={counts}'\n")
    os.chmod(path, 0o755)
    return path


def count(name, row, phase, plugin, out):
    """Instructions per page of each function: {function: instructions}."""
    tree = os.path.join(guest.BUILD, name)
    kernel = os.path.join(tree, "arch/x86/boot/bzImage")
    guest.check_kernel(kernel)
    out = os.path.join(out, name)
    os.makedirs(out, exist_ok=True)
    functions = symbols(tree)
    counts = os.path.join(out, "counts.txt")
    boot = cost.boot(name, kernel, os.path.join(out, "guest"), 0, [row])
    env = dict(os.environ, VM_QEMU=wrapper(out, plugin, functions, counts, phase))
    print(f"profile: {phase}, {row} on {name}", flush=True)
    if subprocess.run(boot.command(), env=env, check=False).returncode:
        raise guest.CannotRun(f"{name}: the guest failed, see {boot.out}")
    written = sum(line["bytes"] for line in guest.parse_figures(
        boot.read("script.log"), "cost"))
    starts = [at for at, _ in functions]
    found = collections.Counter()
    with open(counts, encoding="ascii") as source:
        for line in source:
            at, instructions, executions = line.split()
            index = bisect.bisect_right(starts, int(at, 16)) - 1
            found[functions[index][1]] += int(instructions) * int(executions)
    return {name: value * PAGE / written for name, value in found.items()}


def table(base, patched, top):
    """Functions by what they cost in either kernel."""
    names = sorted(base.keys() | patched.keys(), reverse=True,
                   key=lambda name: max(base.get(name, 0), patched.get(name, 0)))
    yield f"{'base':>9} {'patched':>9}  instructions per page of 4 KiB"
    yield f"{sum(base.values()):9.1f} {sum(patched.values()):9.1f}  all"
    for name in names[:top]:
        label = re.sub(r"\.(isra|constprop|part|cold)\.?\d*", "", name)
        yield f"{base.get(name, 0):9.1f} {patched.get(name, 0):9.1f}  {label}"


def work(args):
    out = os.path.join(guest.BUILD, "results", "profile")
    os.makedirs(out, exist_ok=True)
    guest.build_writer()
    plugin = build_plugin(out)
    found = [count(name, args.row, args.phase, plugin, out) for name in ("base", "patched")]
    print("\n".join(table(*found, args.top)))
    return 0


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", default="4k", choices=cost.ALL)
    parser.add_argument("--phase", default="writeback", choices=PHASES,
                        help="write() itself, or writeback of what was written")
    parser.add_argument("--top", type=int, default=40)
    args = parser.parse_args(argv)
    return guest.main("profile", lambda: work(args))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
