#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the measuring drivers on known data, with runs that must fail."""

import argparse
import contextlib
import io
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True      # the source tree stays clean

import bench                        # noqa: E402
import cost                         # noqa: E402
import gates                        # noqa: E402
import guest                        # noqa: E402
import rows                         # noqa: E402
import stats                        # noqa: E402

GIGA = gates.GIGA


class Stats(unittest.TestCase):

    def test_interval_of_equal_values_is_a_point(self):
        self.assertEqual(stats.median_interval([[1.5] * 9]), (1.5, 1.5, 1.5))

    def test_interval_repeats_with_the_same_data(self):
        values = [1 + 0.01 * i for i in range(20)]
        self.assertEqual(stats.median_interval([values]),
                         stats.median_interval([values]))

    def test_interval_covers_the_true_median_about_as_often_as_it_says(self):
        rng = random.Random(1)
        covered = 0
        for _ in range(100):
            values = [rng.gauss(1, 0.2) for _ in range(30)]
            _, low, high = stats.median_interval([values], resamples=400)
            covered += low <= 1 <= high
        self.assertGreaterEqual(covered, 88)

    def test_interval_brackets_the_median(self):
        rng = random.Random(2)
        middle, low, high = stats.median_interval(
            [[rng.random() for _ in range(15)]])
        self.assertLess(low, middle)
        self.assertLess(middle, high)

    def test_boots_that_differ_widen_the_interval(self):
        rng = random.Random(4)
        groups = [[boot + rng.gauss(0, 0.01) for _ in range(8)]
                  for boot in (0.8, 0.9, 1.0, 1.1, 1.2)]
        _, low, high = stats.median_interval(groups)
        _, inner_low, inner_high = stats.median_interval([sum(groups, [])])
        self.assertGreater(high - low, 1.5 * (inner_high - inner_low))

    def test_few_values_give_no_interval(self):
        _, low, high = stats.median_interval([[1.0] * (stats.MIN_PAIRS - 1)])
        self.assertEqual((low, high), (0.0, math.inf))

    def test_no_values_are_an_error(self):
        with self.assertRaises(ValueError):
            stats.median_interval([])

    def test_pairs_needed_grows_with_the_square(self):
        # half-width 0.2, distance to the bound 0.05: sixteen times as many
        self.assertEqual(
            stats.pairs_needed(1.0, 0.8, 1.2, 0.95, pairs=10), 160)

    def test_pairs_needed_is_unknown_on_the_bound(self):
        self.assertIsNone(stats.pairs_needed(0.97, 0.8, 1.2, 0.97, 10))
        self.assertIsNone(stats.pairs_needed(1.0, 0.0, math.inf, 0.97, 5))

    def test_spread(self):
        self.assertAlmostEqual(stats.spread([100, 101, 100]), 0.01)
        self.assertEqual(stats.spread([0, 0]), 0.0)


class ExactGates(unittest.TestCase):

    def verdict(self, base, patched, gate, **more):
        return rows.exact_row("x", "4k", "d", rows.PER_GIB, base, patched,
                              gate, **more).verdict

    def test_every_cost_gate_passes_at_its_bound_and_fails_above(self):
        for key, gate in gates.COST.items():
            base = gate.base
            best = min(base * gate.max_ratio,
                       gate.max_patched or math.inf) * 0.9999
            with self.subTest(key):
                self.assertEqual(self.verdict([base], [best], gate), rows.PASS)
                self.assertEqual(self.verdict([base], [best * 1.001], gate),
                                 rows.FAIL)

    def test_absolute_bound_fails_although_the_ratio_holds(self):
        gate = gates.COST["writeback", "4k"]
        self.assertEqual(self.verdict([0.62 * GIGA], [0.175 * GIGA], gate),
                         rows.FAIL)

    def test_slow_or_fast_base_fails(self):
        gate = gates.COST["write", "64k"]
        for factor in (0.94, 1.06):
            base = [gate.base * factor]
            self.assertEqual(self.verdict(base, base, gate), rows.FAIL)

    def test_guard_above_base_fails(self):
        self.assertEqual(self.verdict([100.0], [101.0], gates.GUARD), rows.PASS)
        self.assertEqual(self.verdict([100.0], [101.1], gates.GUARD), rows.FAIL)

    def test_repeats_that_differ_fail(self):
        self.assertEqual(self.verdict([100.0, 100.4], [99.0, 99.0],
                                      gates.GUARD), rows.PASS)
        self.assertEqual(self.verdict([100.0, 100.6], [99.0, 99.0],
                                      gates.GUARD), rows.FAIL)

    def test_bandwidth_below_base_fails(self):
        self.assertEqual(self.verdict([100.0], [99.1], gates.BANDWIDTH),
                         rows.PASS)
        self.assertEqual(self.verdict([100.0], [98.9], gates.BANDWIDTH),
                         rows.FAIL)

    def test_single_folio_and_hold_bounds(self):
        self.assertEqual(self.verdict([500], [511], gates.SINGLE_FOLIO),
                         rows.FAIL)
        self.assertEqual(self.verdict([9000], [10001], gates.HOLD), rows.FAIL)
        self.assertEqual(self.verdict([800], [9999], gates.HOLD), rows.PASS)

    def test_no_gate_is_no_verdict(self):
        self.assertEqual(self.verdict([1.0], [9.0], None), rows.INFO)


class PairedGates(unittest.TestCase):

    def row(self, ratio, scatter, count=40):
        rng = random.Random(3)
        pairs = [(300.0, 300.0 * ratio * (1 + rng.uniform(-scatter, scatter)))
                 for _ in range(count)]
        return rows.paired_row("fio", "4k", 1, "nvme", "MiB/s", [pairs])

    def test_interval_above_the_bound_passes(self):
        self.assertEqual(self.row(1.1, 0.05).verdict, rows.PASS)

    def test_interval_below_the_bound_fails(self):
        self.assertEqual(self.row(0.8, 0.05).verdict, rows.FAIL)

    def test_interval_across_the_bound_cannot_be_judged(self):
        row = self.row(0.99, 0.3)
        self.assertEqual(row.verdict, rows.UNJUDGED)
        self.assertRegex(row.note, r"would need about \d+ pairs")

    def test_too_few_pairs_cannot_be_judged(self):
        self.assertEqual(self.row(1.5, 0.0, count=3).verdict, rows.UNJUDGED)


COST_LINE = ("cost: name={} bs={} bytes=1073741824 write_ns={} "
             "writeback_ns={}\n")


def synthetic(scale=1.0, **slow):
    """A guest's log with the base's own figures, scaled; slow names rows.

    Larger writes gain less than those of 4 KiB, as they have large folios.
    """
    text = ""
    for bs, (write, writeback) in {4096: (1363, 612), 65536: (237, 96),
                                   1048576: (144, 51)}.items():
        part = scale if bs == 4096 else max(scale, 0.77)
        text += 3 * COST_LINE.format("write", bs, int(write * 1e6),
                                     int(writeback * 1e6 * part))
    for name in gates.GUARDS:
        part = slow.get(name.replace("-", "_"), 1.0)
        text += COST_LINE.format(name, 4096, 10 ** 9,
                                 int(6e8 * part))
    return text


class CostRows(unittest.TestCase):

    def rows(self, base, patched):
        return cost.cost_rows([cost.figures(base)] * 2,
                              [cost.figures(patched)] * 2)

    def test_one_disturbed_round_does_not_count(self):
        text = "".join(COST_LINE.format("write", 4096, write, 50)
                       for write in (100, 300, 102))
        self.assertEqual(cost.figures(text)["write", "4k", "both"], (152, 652))

    def test_improved_kernel_passes(self):
        found = self.rows(synthetic(), synthetic(0.28))
        self.assertEqual(cost.summary(found)[1], 0, rows.table(found))

    def test_swapped_kernels_fail(self):
        line, status = cost.summary(self.rows(synthetic(0.74), synthetic()))
        self.assertEqual(status, 1)
        self.assertIn("writeback 4k", line)

    def test_equal_kernels_fail_the_headline_gates_only(self):
        line, status = cost.summary(self.rows(synthetic(), synthetic()))
        self.assertEqual(status, 1)
        self.assertIn("2 of", line)

    def test_each_slow_guard_fails(self):
        for name in gates.GUARDS:
            slow = synthetic(0.74, **{name.replace("-", "_"): 1.05})
            with self.subTest(name):
                line, status = cost.summary(self.rows(synthetic(), slow))
                self.assertEqual(status, 1)
                self.assertIn(name, line)

    def test_tiny_rows_cannot_be_gated(self):
        line = COST_LINE.format("ext4", 4096, 10 ** 7, 10 ** 7)
        found = self.rows(line, line)
        self.assertTrue(found)
        self.assertTrue(all(row.verdict == rows.FAIL for row in found))

    def test_nothing_measured_is_not_a_pass(self):
        self.assertEqual(cost.summary([])[1], 2)
        self.assertEqual(bench.summary([])[1], 2)


BENCH_LOG = """
[    0.341602] # writeback_bench: end single ns={0}
[    0.342112] # writeback_bench: end only ns=686
[    0.342629] # writeback_bench: end folios=1 ns={0} per_folio={0}
[    0.351133] # writeback_bench: end folios=31 ns=17986 per_folio=580
[    0.351602] # writeback_bench: all single ns={0}
[    0.351629] # writeback_bench: all folios=1 ns={0} per_folio={0}
[    0.351933] # writeback_bench: all folios=31 ns=6200 per_folio={2}
[    0.352462] # writeback_bench: hold layout=neighbours ns=18117 irqs_off_ns=840 folios=31
[    0.366955] # writeback_bench: hold_max ns={1} folios=31
"""


class BenchRows(unittest.TestCase):

    def verdicts(self, single, hold, full=200):
        base = cost.bench_figures(BENCH_LOG.format(567, 22491, 1100))
        patched = cost.bench_figures(BENCH_LOG.format(single, hold, full))
        cost.check_complete(patched, cost.BENCH_KEYS, "patched")
        return {row.name: row.verdict
                for row in cost.bench_rows([base] * 2, [patched] * 2)}

    def test_within_bounds(self):
        found = self.verdicts(570, 9999)
        self.assertNotIn(rows.FAIL, found.values())
        self.assertEqual(found["longest-hold"], rows.PASS)

    def test_dear_single_folio_fails(self):
        found = self.verdicts(600, 9999)
        self.assertEqual(found["end single"], rows.FAIL)
        self.assertEqual(found["end batch of 1"], rows.FAIL)
        self.assertEqual(found["end only"], rows.PASS)

    def test_long_hold_fails(self):
        self.assertEqual(self.verdicts(570, 10001)["longest-hold"], rows.FAIL)

    def test_dear_full_batch_fails(self):
        found = self.verdicts(570, 9999, full=221)
        self.assertEqual(found["all batch of 31"], rows.FAIL)

    def test_silent_benchmark_is_not_a_pass(self):
        with self.assertRaises(guest.CannotRun):
            cost.check_complete(cost.bench_figures(""), cost.BENCH_KEYS, "x")


class Parsing(unittest.TestCase):

    def test_fio_json(self):
        text = json.dumps({"jobs": [
            {"jobname": "4k-1-1", "error": 0, "write": {"bw_bytes": 314572800}},
            {"jobname": "4k-1-2", "error": 0, "write": {"bw_bytes": 1048576}}]})
        found = bench.fio_mib_per_s(text, "x")
        self.assertEqual(bench.cell_values(found, bench.Cell("4k", 1, 64), 2,
                                           "x"), [300.0, 1.0])
        with self.assertRaises(guest.CannotRun):
            bench.cell_values(found, bench.Cell("4k", 1, 64), 3, "x")

    def test_fio_errors_are_not_figures(self):
        job = '{{"jobs": [{{"jobname": "a", "error": {}, "write": {{{}}}}}]}}'
        for text in ("", "{}", '{"jobs": []}', '{"jobs": 1}',
                     job.format(5, '"bw_bytes": 1'),
                     job.format(0, '"bw_bytes": 0'), job.format(0, "")):
            with self.subTest(text), self.assertRaises(guest.CannotRun):
                bench.fio_mib_per_s(text, "x")

    def test_job_file_has_a_section_for_each_job(self):
        text = bench.job_file(dict.fromkeys(bench.NVME_CELLS, 3))
        self.assertEqual(text.count("\nstonewall"), 27)
        self.assertIn("\n[64k-4-3]\nstonewall\nbs=64k\n", text)
        self.assertIn("\nend_fsync=1\n", text)

    def test_overwriting_jobs_have_their_own_places(self):
        text = bench.overwrite_jobs(7)
        self.assertEqual(text.count("\nstonewall"),
                         7 * len(bench.OVERWRITE_CELLS))
        self.assertEqual(len(set(re.findall(r"\n(randseed=\d+)", text))), 7)
        self.assertIn("\n[64k-1-3]\nstonewall\nbs=64k\nio_size=768m\n", text)
        self.assertIn("\nrw=randwrite\n", text)

    def test_pairs_keep_rounds_and_boots_together(self):
        cell = bench.Cell("4k", 1, 8)
        found = {("x", boot, label): {cell.section(i): 10 * boot + i + bonus
                                      for i in (1, 2)}
                 for boot in (0, 1) for label, bonus in (("base", 0),
                                                         ("patched", 100))}
        self.assertEqual(bench.fio_pairs(found, ("base", "patched"), "x", 2,
                                         cell, 2),
                         [[(1, 101), (2, 102)], [(11, 111), (12, 112)]])

    def test_cells_of_the_command_line(self):
        mode = bench.chosen_mode(bench.parse_args(
            ["--part", "nvme", "--cells", "4k:2:384,1m:1:64", "--mem", "4096",
             "--rounds", "9"]))
        self.assertEqual(mode.parts, ("nvme",))
        self.assertEqual(mode.cells, (bench.Cell("4k", 2, 384),
                                      bench.Cell("1m", 1, 64)))
        self.assertEqual((mode.mem, mode.boots, mode.rounds), (4096, 7, 9))
        for text in ("", "4k", "4k:2", "4k:0:64", "4:2:64", "4k:2:64,4k:2:96",
                     "4k:2:64,", "4k:-2:64"):
            with self.subTest(text), self.assertRaises(
                    argparse.ArgumentTypeError):
                bench.cells_spec(text)

    def test_lock_counts_take_the_busiest_class(self):
        text = "".join(
            f"locks: phase={phase} bytes=536870912 class={name} count={count}\n"
            for phase in ("write", "writeback")
            for name, count in (("&xa->xa_lock#4", 1000), ("&xa->xa_lock", 7)))
        self.assertEqual(bench.lock_counts(text, "x"),
                         {"write": 2000.0, "writeback": 2000.0})
        with self.assertRaises(guest.CannotRun):
            bench.lock_counts("", "x")

    def test_json_rows_have_the_promised_fields(self):
        row = rows.paired_row("fio", "4k", 1, "nvme", "MiB/s", [[(1, 1)] * 3])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "new", "rows.json")
            rows.write_json(path, [row])
            with open(path, encoding="utf-8") as source:
                found = json.load(source)
        self.assertLessEqual(
            {"name", "bs", "jobs", "device", "unit", "base", "patched",
             "ratio", "low", "high", "pairs", "verdict"}, set(found[0]))
        self.assertIsNone(found[0]["high"])     # infinity is not JSON


class Drivers(unittest.TestCase):
    """Bad input gets one line and exit status 2."""

    def refused(self, main, argv):
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            status = main(argv)
        self.assertEqual(status, 2)
        self.assertEqual(stderr.getvalue().count("\n"), 1)
        return stderr.getvalue()

    def test_missing_kernel(self):
        for main in (cost.main, bench.main):
            self.assertIn("no kernel image",
                          self.refused(main, ["--base", "/nonexistent"]))


class Configs(unittest.TestCase):

    def kernel(self, folder, name, config):
        boot = os.path.join(folder, name, "arch", "x86", "boot")
        os.makedirs(boot)
        with open(os.path.join(folder, name, ".config"), "w",
                  encoding="utf-8") as out:
            out.write(config)
        return os.path.join(boot, "bzImage")

    def test_different_settings_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            plain = self.kernel(folder, "a", "CONFIG_XFS_FS=y\n")
            named = self.kernel(folder, "b", "CONFIG_XFS_FS=y\n"
                                'CONFIG_LOCALVERSION="x"\nCONFIG_KERNEL_XZ=y\n')
            debug = self.kernel(folder, "c", "CONFIG_XFS_FS=y\n"
                                "CONFIG_DEBUG_VM=y\n")
            guest.check_same_config(plain, named)
            guest.check_same_config(plain, "/nonexistent/bzImage")
            with self.assertRaisesRegex(guest.CannotRun, "CONFIG_DEBUG_VM=y"):
                guest.check_same_config(plain, debug)


BASE = os.path.join(guest.BUILD, "base", "arch", "x86", "boot", "bzImage")


@unittest.skipUnless(os.path.exists(BASE), "build/base is not built")
class EndToEnd(unittest.TestCase):

    def driver(self, folder, *args):
        command = [sys.executable, os.path.join(guest.HERE, "cost.py"),
                   "--out", folder, "--base", BASE, "--patched", BASE,
                   "--no-micro", *args]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.STDOUT)

    def test_unpatched_kernel_fails_the_headline_gate(self):
        with tempfile.TemporaryDirectory() as folder:
            child = self.driver(folder, "--row", "4k")
            text, _ = child.communicate()
            self.assertEqual(child.returncode, 1, text)
            self.assertIn("writeback 4k", text.splitlines()[-1])
            with open(os.path.join(folder, "cost.json"),
                      encoding="utf-8") as source:
                verdicts = {row["name"]: row["verdict"]
                            for row in json.load(source)}
        self.assertEqual(verdicts, {"write": "pass", "writeback": "fail"})

    def test_signal_leaves_no_guest_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            child = self.driver(folder)
            time.sleep(5)
            child.terminate()
            text, _ = child.communicate(timeout=30)
            self.assertEqual(child.returncode, 130, text)
            running = subprocess.run(["pgrep", "-f", folder], check=False,
                                     capture_output=True, text=True)
            self.assertEqual(running.stdout, "")


class Writer(unittest.TestCase):

    def status(self, *args):
        done = subprocess.run([guest.build_writer(), *args],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.returncode

    def test_bad_arguments(self):
        for args in ([], ["-b", "2m", "f"], ["-b", "0", "f"], ["-s", "5x", "f"],
                     ["-s", "1k", "-b", "4k", "f"], ["-n", "2", "-g", "a", "f"],
                     ["-b"], ["-s", "5k", "-L", "4k", "f"]):
            with self.subTest(args):
                self.assertEqual(self.status(*args), 2)

    def test_missing_file(self):
        self.assertEqual(self.status("/nonexistent/file"), 1)


if __name__ == "__main__":
    unittest.main()
