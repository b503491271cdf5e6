#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit test of the runner: everything that needs no guest."""

import contextlib
import gzip
import io
import os
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import vm               # noqa: E402

BOOTED = "vm-init: start\n"
ENDED = BOOTED + "vm-init: script ended with status 0\n"
STAMP = "[    1.000000] "


def archive(status="0", log="", extra=()):
    """Return what a guest sends."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, text in (("vm/script.log", log), *extra, ("vm/status", status)):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return gzip.compress(raw.getvalue())


def verdict(text, data=b"", in_time=True, exit_code=0):
    """Judge a made-up outcome."""
    outcome = vm.Outcome()
    outcome.console.extend(text.encode())
    outcome.in_time = in_time
    outcome.exit_code = exit_code
    return vm.judge(outcome, vm.unpack(data))


class Options(unittest.TestCase):
    """Bad options: exit code 2 and one line on stderr."""

    BAD = ("", "--nonsense", "--smp 0", "--smp two", "--mem -1", "--nvme 9",
           "--nvme 4:x", "--nvme 0", "--timeout soon", "--timeout 0",
           "--userland huge", "--accel xen", "--env 1=2", "--env NAME",
           "--icount --accel kvm", "--mem 99999999",
           "--file /nonexistent", "--file /proc/version:/vm/script",
           "--kernel /nonexistent", "--script /nonexistent", "--scan /nonexistent",
           "--kernel /", "--smp", "extra")

    def test_each_is_refused(self):
        for words in self.BAD:
            argv = words.split()
            for name in ("--kernel", "--script"):
                if words and name not in argv:
                    argv += [name, "/proc/version"]
            with self.subTest(argv=argv), tempfile.TemporaryDirectory() as out:
                err = io.StringIO()
                with contextlib.redirect_stderr(err):
                    self.assertEqual(vm.main([*argv, "--out", out]), vm.CANNOT)
                self.assertRegex(err.getvalue(), r"\Avm: could not run: .+\n\Z")

    def test_arguments_are_quoted(self):
        opts = vm.build_parser().parse_args(["--arg", "it's $x", "--env", "A=b c"])
        self.assertEqual(vm.run_text(opts), "export A='b c'\nexec setsid /bin/sh "
                         "/vm/script 'it'\"'\"'s $x'\n")

    def test_file_names(self):
        self.assertEqual(vm.split_file("/proc/version"),
                         ("/proc/version", "vm/version"))
        self.assertEqual(vm.split_file("/proc/version:/a/../b"),
                         ("/proc/version", "b"))


class Archive(unittest.TestCase):
    """Only a complete archive counts."""

    def test_every_truncation_is_noticed(self):
        data = archive(log="some text " * 50)
        self.assertIsNotNone(vm.unpack(data))
        for length in range(len(data)):
            self.assertIsNone(vm.unpack(data[:length]))

    def test_a_lost_byte_is_noticed(self):
        data = archive(log="some text " * 50)
        for place in range(len(data)):
            if place not in range(4, 10):       # time and flags of gzip's header
                self.assertIsNone(vm.unpack(data[:place] + data[place + 1:]))

    def test_names_stay_below_the_output_directory(self):
        found = vm.unpack(archive(extra=(("results/../../x", ""), ("/y", ""),
                                         ("results/good", "1"))))
        with tempfile.TemporaryDirectory() as out:
            vm.store(found, Path(out) / "a")
            names = [os.path.join(top, name)[len(out):]
                     for top, _, files in os.walk(out) for name in files]
        self.assertEqual(sorted(names), ["/a/results/good", "/a/script.log"])


class Verdicts(unittest.TestCase):
    """The worst thing that happened wins."""

    def test_table(self):
        panic = STAMP + "Kernel panic - not syncing: x\n"
        bug = STAMP + "BUG: x\n"
        for want, args, more in (
                (vm.PASS, (ENDED, archive()), {}),
                (vm.FAIL, (ENDED, archive("1")), {}),
                (vm.FAIL, (ENDED, archive("137")), {}),
                (vm.FAIL, (ENDED, archive()[:-9]), {}),
                (vm.SKIP, (ENDED, archive("4", "why\n")), {}),
                (vm.PANIC, (BOOTED + panic,), {}),
                (vm.PANIC, (BOOTED + panic,), {"in_time": False}),
                (vm.PANIC, (BOOTED,), {}),
                (vm.REPORT, (bug + ENDED, archive()), {}),
                (vm.REPORT, (ENDED + bug, archive("1")), {}),
                (vm.TIMEOUT, (BOOTED + bug,), {"in_time": False}),
                (vm.NOBOOT, (panic,), {}),
                (vm.NOBOOT, ("",), {"in_time": False, "exit_code": -9})):
            with self.subTest(want=want, args=args, more=more):
                self.assertEqual(verdict(*args, **more).code, want)

    def test_a_dead_emulator_is_no_verdict(self):
        for text, code in (("", 1), (BOOTED, -9), (ENDED, -11)):
            with self.assertRaises(vm.CannotRun):
                verdict(text, exit_code=code)

    def test_skip_names_its_reason(self):
        self.assertEqual(verdict(ENDED, archive("4", "a\nno disk\n\n")).reason,
                         "no disk")


if __name__ == "__main__":
    unittest.main()
