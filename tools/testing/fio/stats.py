# SPDX-License-Identifier: GPL-2.0
"""Statistics of the bench: medians of pairs and how sure one can be of them."""

import math
import random
import statistics

# The seed is fixed so that the same raw data always give the same interval.
SEED = 6
RESAMPLES = 4000
CONFIDENCE = 0.95
# Fewer pairs than this cannot bracket a median with CONFIDENCE: even the
# smallest and the largest of n values miss it with probability 2 * 0.5 ** n.
MIN_PAIRS = 6


def _resample(rng, groups):
    """A bootstrap sample: groups with replacement, then values inside each."""
    sample = []
    for group in rng.choices(groups, k=len(groups)):
        sample += rng.choices(group, k=len(group))
    return sample


def median_interval(groups, resamples=RESAMPLES, seed=SEED):
    """The median of all values and its bootstrap interval: (median, low, high).

    Values of one group (pairs of the same two boots) resemble each other more
    than those of different groups, so that groups are resampled as well; to
    treat all values as independent would make the interval too narrow.
    With fewer than MIN_PAIRS values the interval is (0, inf): nothing is known.
    """
    values = [value for group in groups for value in group]
    if not values:
        raise ValueError("no values")
    middle = statistics.median(values)
    if len(values) < MIN_PAIRS:
        return middle, 0.0, math.inf
    rng = random.Random(seed)
    medians = sorted(statistics.median(_resample(rng, groups))
                     for _ in range(resamples))
    tail = (1 - CONFIDENCE) / 2
    low = medians[int(tail * resamples)]
    high = medians[min(resamples - 1, math.ceil((1 - tail) * resamples) - 1)]
    return middle, low, high


def pairs_needed(middle, low, high, bound, pairs):
    """How many pairs it would take to tell middle from bound.

    An interval shrinks with the square root of the number of pairs.  None when
    the estimate would be meaningless: no interval, or a median on the bound.
    """
    distance = abs(middle - bound)
    half = (middle - low) if middle > bound else (high - middle)
    if math.isinf(high) or distance < 1e-9:
        return None
    return max(pairs + 1, MIN_PAIRS, math.ceil(pairs * (half / distance) ** 2))


def spread(values):
    """Largest difference among values, as a share of their median."""
    middle = statistics.median(values)
    if not middle:
        return 0.0 if max(values) == min(values) else math.inf
    return (max(values) - min(values)) / middle
