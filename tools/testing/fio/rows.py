# SPDX-License-Identifier: GPL-2.0
"""Result rows: one form for the tables people read and for the JSON files."""

import json
import math
import os
import statistics
from dataclasses import dataclass
from typing import Optional

import gates
import stats

PER_GIB = "instructions per GiB"
PASS, FAIL, UNJUDGED, INFO = "pass", "fail", "cannot judge", "not gated"


@dataclass
class Row:
    """One comparison of base and patched.

    low and high bracket the ratio: the 95 % interval of the median of noisy
    pairs, the extremes of all pairs where rows are deterministic.
    """
    name: str
    bs: str
    jobs: int
    device: str
    unit: str
    base: Optional[float]
    patched: float
    ratio: Optional[float]
    low: Optional[float]
    high: Optional[float]
    pairs: int
    verdict: str
    note: str = ""

    def as_json(self):
        fields = dict(self.__dict__)
        for key, value in fields.items():
            if isinstance(value, float) and not math.isfinite(value):
                fields[key] = None
        return fields


def exact_row(name, bs, device, unit, base, patched, gate=None, jobs=1,
              note=""):
    """A row from repeats of a deterministic measurement, base[i] with
    patched[i]; gate None only reports."""
    ratios = [p / b for b, p in zip(base, patched) if b]
    wide = max(stats.spread(base), stats.spread(patched))
    base_mid, patched_mid = statistics.median(base), statistics.median(patched)
    verdict = INFO
    if gate is not None:
        reasons = gates.judge(gate, base_mid, patched_mid, wide)
        verdict = FAIL if reasons else PASS
        note = "; ".join(reasons + ([note] if note else []))
    return Row(name, bs, jobs, device, unit, base_mid, patched_mid,
               patched_mid / base_mid if base_mid else None,
               min(ratios, default=None), max(ratios, default=None),
               len(ratios), verdict, note)


def paired_row(name, bs, jobs, device, unit, groups, bound=gates.NVME_BOUND):
    """A row from (base, patched) pairs of a measurement that scatters; the pairs of
    one group come from the same two boots.  bound is what the ratio must not
    be below."""
    middle, low, high = stats.median_interval(
        [[patched / base for base, patched in group] for group in groups])
    pairs = [pair for group in groups for pair in group]
    verdict, note = gates.judge_interval(middle, low, high, len(pairs),
                                         bound)
    return Row(name, bs, jobs, device, unit,
               statistics.median(base for base, _ in pairs),
               statistics.median(patched for _, patched in pairs),
               middle, low, high, len(pairs), verdict, note)


def _figure(row, value):
    if value is None:
        return "-"
    if row.unit == PER_GIB:
        return f"{value / gates.GIGA:.4f}e9"
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


def _ratio(value):
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.4f}"


HEADER = ("name", "bs", "jobs", "device", "base", "patched", "ratio",
          "interval", "pairs", "verdict")


def _cells(row):
    interval = f"{_ratio(row.low)}..{_ratio(row.high)}"
    verdict = row.verdict + (f" ({row.note})" if row.note else "")
    return (row.name, row.bs, str(row.jobs), row.device,
            _figure(row, row.base), _figure(row, row.patched),
            _ratio(row.ratio), interval, str(row.pairs), verdict)


def table(rows):
    """The rows as text, one table for each unit, in the order given."""
    out = []
    for unit in dict.fromkeys(row.unit for row in rows):
        lines = [HEADER] + [_cells(r) for r in rows if r.unit == unit]
        widths = [max(len(line[i]) for line in lines)
                  for i in range(len(HEADER))]
        out.append(f"{unit}:")
        out += ["  " + "  ".join(c.ljust(w) for c, w in zip(line, widths))
                .rstrip() for line in lines]
        out.append("")
    return "\n".join(out)


def write_json(path, rows):
    """Write the rows; the file is complete or absent, never half written."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as out:
        json.dump([row.as_json() for row in rows], out, indent=1)
        out.write("\n")
    os.replace(path + ".new", path)
