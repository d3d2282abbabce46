"""This module tests the figures of two kinds of runs, A and B. It finds differences that are larger than the noise of
the machine.

The tests compare runs, not frames. The frames of one run depend on each other, so many frames of a run predict the
next run no better than one frame. A difference counts as seen if two tests agree:

- a permutation test over all figures together (Westfall and Young 1993). It assigns the runs to two sides in many ways
  (permutations), and uses the largest statistic of any figure in each permutation. So the figures may depend on each
  other. The test keeps the share of false alarms of the *whole table* below `FALSE_ALARMS`. It uses two statistics,
  each for half of this share. The first is Welch's t, which needs only five runs per side. The second is the distance
  of Kolmogorov and Smirnov. For each value, compare the share of A's runs below the value with the share of B's runs
  below it; the distance is the largest difference. One disturbed run affects this distance no more than any other run;
- the bootstrap interval of the difference of the medians (percentiles, widened for few runs: Hesterberg 2015). The
  level of the interval is divided by the number of figures. The interval must not contain 0.

Always: the same values give the same verdicts, because the random seed is fixed. A figure with too few runs gets no
verdict, and the reason is given. If the machine was too noisy (`Noise`), no figure gets a verdict. The functions are
pure.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# If A and B are equal, at most this fraction of all tables may show a difference in any figure. The fraction is below
# the documented 1 in 20, because the machine may change during the command.
FALSE_ALARMS = 0.03
# Smallest number of runs per side. With 4 runs per side there are only 35 distinct permutations. So the smallest
# possible p-value is 2/35 (the factor 2 is for the two statistics), which is above FALSE_ALARMS.
FEWEST_RUNS = 5
# Largest number of permutations that are used. With up to 8 runs per side, there are not more permutations than this,
# and all are used. With more runs, this number of random permutations is used.
MOST_PERMUTATIONS = 13_000
# Number of bootstrap samples.
RESAMPLES = 4_000
# For Welch's t and the bootstrap interval, values are clipped at this distance from the median. The unit of the
# distance is the median absolute deviation. Without clipping, a bootstrap sample that contains one bad run four times
# among eight runs would make the interval too wide for any verdict.
CLIPPED_AT = 4.0
# Largest difference that does not count, as a fraction of the figure. Two values with such a difference would be
# printed with the same digits.
LEAST_SHARE = 1e-3

NO_DIFFERENCE, HIGHER, LOWER, NO_VERDICT = "no difference seen", "B is higher", "B is lower", "no verdict"


@dataclass(frozen=True)
class Compared:
    """Comparison of one figure. a, b: medians of the figure over the runs of each side. low, high: ends of the
    interval of b - a. These four values are None if they are not known. verdict: NO_DIFFERENCE, HIGHER, LOWER or
    NO_VERDICT. why: reason for NO_VERDICT, else empty."""

    figure: str
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    # The p-value. It is the fraction of permutations in which at least one figure has as large a statistic as this
    # figure.
    chance: float | None
    verdict: str
    why: str = ""
    runs: tuple[int, int] = (0, 0)  # number of A's runs that have the figure, and number of B's runs that have it

    @property
    def is_seen(self) -> bool:
        return self.verdict in (HIGHER, LOWER)


def compare_runs(
    a: Sequence[Mapping[str, float | None]],
    b: Sequence[Mapping[str, float | None]],
    figures: Sequence[str],
    noise: Noise,
    seed: int = 0,
) -> list[Compared]:
    """Compares the figures and returns the results in the order of `figures`. a, b: for each run that counts, its
    figures by name. Values that are missing or not finite are ignored."""
    of_a, of_b = _table(a, figures), _table(b, figures)
    enough = _count(of_a, FEWEST_RUNS) & _count(of_b, FEWEST_RUNS)
    known = np.flatnonzero(enough)
    chances = dict(zip(known.tolist(), _p_values(of_a[:, known], of_b[:, known], seed), strict=True))
    level = FALSE_ALARMS * 2 / max(1, len(known))
    return [
        _compared(name, _finite(of_a[:, at]), _finite(of_b[:, at]), chances.get(at), level, noise, seed)
        for at, name in enumerate(figures)
    ]


def interval_of_difference(a: Floats, b: Floats, level: float, seed: int = 0) -> tuple[float, float]:
    """Returns the ends of the bootstrap interval of median(b) - median(a). The interval has the coverage 1 - `level`.
    Source: Hesterberg 2015."""
    random = np.random.default_rng(seed)
    sides = [_clipped(side) for side in (a, b)]
    drawn = [np.median(side[random.integers(0, len(side), (RESAMPLES, len(side)))], axis=1) for side in sides]
    low, high = np.quantile(drawn[1] - drawn[0], _widened(level, min(len(a), len(b))))
    return float(low), float(high)


def _compared(name: str, a: Floats, b: Floats, chance: float | None, level: float, noise: Noise, seed: int) -> Compared:
    runs = len(a), len(b)
    middle_a, middle_b = (float(np.median(side)) if len(side) else None for side in (a, b))
    if chance is None or middle_a is None or middle_b is None:
        why = f"A and B need at least {FEWEST_RUNS} runs each that have this figure, got {runs[0]} and {runs[1]}"
        why = why if sum(runs) else "not measured"
        return Compared(name, middle_a, middle_b, None, None, None, None, verdict=NO_VERDICT, why=why, runs=runs)
    low, high = interval_of_difference(a, b, level, seed)
    difference = middle_b - middle_a
    known = (name, middle_a, middle_b, difference, low, high, chance)
    if noise.too_noisy:
        return Compared(*known, NO_VERDICT, f"the machine was too noisy: {noise.too_noisy}", runs)
    is_seen = chance <= FALSE_ALARMS and (low > 0 or high < 0) and abs(difference) > LEAST_SHARE * abs(middle_a)
    verdict = (HIGHER if difference > 0 else LOWER) if is_seen else NO_DIFFERENCE
    return Compared(*known, verdict, "", runs)


def _p_values(of_a: Floats, of_b: Floats, seed: int) -> list[float]:
    """Returns the p-value of each figure. Each of the two statistics gives a fraction of the permutations: in these
    permutations, the statistic of at least one figure is as large as this figure's observed statistic. The p-value
    is twice the smaller of the two fractions."""
    together = np.concatenate((of_a, of_b))
    if not together.shape[1]:
        return []
    is_b = _permutations(len(of_a), len(of_b), seed)
    t = np.stack([_t(column, is_b) for column in together.T], axis=1)
    shares = np.stack([_shares_as_far(_distances(column, is_b)) for column in together.T], axis=1)
    return np.minimum(1.0, 2.0 * np.minimum(_among_largest(t), _among_largest(-shares))).tolist()


def _among_largest(surprises: Floats) -> Floats:
    """Returns a fraction of the permutations for each figure. In these permutations, the largest statistic of all
    figures is at least this figure's observed statistic.

    surprises: statistics of shape (permutations, figures). Row 0 has those of the observed assignment.
    """
    largest = np.sort(surprises.max(axis=1))
    return (len(largest) - np.searchsorted(largest, surprises[0], side="left")) / len(largest)


def _shares_as_far(distances: Floats) -> Floats:
    """Returns, for each permutation, the fraction of all permutations whose distance is at least as large."""
    ordered = np.sort(distances)
    return (len(ordered) - np.searchsorted(ordered, distances, side="left")) / len(ordered)


def _permutations(of_a: int, of_b: int, seed: int) -> Bools:
    """Returns assignments of the runs to two sides, an array of shape (permutations, runs). True stands for side B.
    Row 0 is the observed assignment. The other rows are all other assignments. If there are more than
    `MOST_PERMUTATIONS`, they are random assignments instead."""
    runs = of_a + of_b
    if math.comb(runs, of_b) <= MOST_PERMUTATIONS:
        chosen = np.array(list(combinations(reversed(range(runs)), of_b)))
        assigned = np.zeros((len(chosen), runs), bool)
        np.put_along_axis(assigned, chosen, True, axis=1)
        return assigned
    random = np.random.default_rng(seed)
    observed = np.arange(runs) >= of_a
    return np.concatenate((observed[None], random.permuted(np.tile(observed, (MOST_PERMUTATIONS - 1, 1)), axis=1)))


def _t(values: Floats, is_b: Bools) -> Floats:
    """Returns the absolute value of Welch's t of one figure, for each permutation. Runs without the figure are
    ignored."""
    known = np.isfinite(values)
    clipped = _clipped(values[known])
    clipped = clipped - np.median(clipped)
    means, errors = [], []
    for side in (is_b[:, known], ~is_b[:, known]):
        picks = side.astype(np.float64)
        count = np.maximum(picks.sum(axis=1), 1.0)
        mean = picks @ clipped / count
        spread = np.maximum(picks @ clipped**2 / count - mean**2, 0.0)
        means.append(mean)
        errors.append(spread / np.maximum(count - 1, 1))
    # If all values of a side were equal, t would be infinite. So a spread is added. This spread is too small to be
    # visible in the printed digits.
    least = (LEAST_SHARE * np.abs(values[known]).max() + 1e-12) ** 2
    return np.round(np.abs(means[0] - means[1]) / np.sqrt(errors[0] + errors[1] + least), 9)


def _distances(values: Floats, is_b: Bools) -> Floats:
    """Returns the Kolmogorov-Smirnov distance between the two sides in one figure, for each permutation. Runs without
    the figure are ignored."""
    order = np.argsort(values, kind="stable")[: np.isfinite(values).sum()]
    ordered, sides = values[order], is_b[:, order]
    of_b = np.maximum(sides.sum(axis=1, keepdims=True), 1)
    of_a = np.maximum(len(order) - sides.sum(axis=1, keepdims=True), 1)
    below = np.cumsum(sides / of_b - ~sides / of_a, axis=1)
    is_last = np.r_[ordered[1:] != ordered[:-1], True]
    return np.round(np.abs(below[:, is_last]).max(axis=1), 9)


def _clipped(values: Floats) -> Floats:
    """Returns the values, clipped at `CLIPPED_AT` median absolute deviations from the median."""
    middle = np.median(values)
    reach = CLIPPED_AT * np.median(np.abs(values - middle))
    return np.clip(values, middle - reach, middle + reach) if reach > 0 else values


def _widened(level: float, runs: int) -> tuple[float, float]:
    """Returns two quantiles of the bootstrap samples. They are the ends of an interval with the coverage 1 - `level`.
    For few runs the quantiles are moved outwards, to match Student's t. Source: Hesterberg 2015."""
    normal = _normal_quantile(1 - level / 2)
    degrees = max(runs - 1, 1)
    student = (
        normal
        + (normal**3 + normal) / (4 * degrees)
        + (5 * normal**5 + 16 * normal**3 + 3 * normal) / (96 * degrees**2)
    )  # formula: Abramowitz and Stegun 26.7.5
    tail = 0.5 * math.erfc(student * math.sqrt(runs / max(runs - 1, 1)) / math.sqrt(2))
    return tail, 1 - tail


def _normal_quantile(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def _table(runs: Sequence[Mapping[str, float | None]], figures: Sequence[str]) -> Floats:
    """Returns the figures of the runs, an array of shape (runs, figures). NaN replaces values that are missing or not
    finite."""
    rows = [[float("nan") if run.get(name) is None else float(run[name] or 0.0) for name in figures] for run in runs]
    table = np.array(rows, np.float64).reshape(len(runs), len(figures))
    return np.where(np.isfinite(table), table, np.nan)


def _count(table: Floats, least: int) -> Bools:
    return np.isfinite(table).sum(axis=0) >= least


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]


# The code below measures the noise of the machine during runs in turns, and chooses the runs that count.
#
# Two figures measure the noise, because they do not depend on the difference between A and B: the cores that other
# programs used during a run, and the spread among the runs of A. A run that other programs disturbed is left out, so
# that it can neither cause nor hide a difference. If too few runs are left, or the runs of A differ too much, there is
# no verdict.

# A run counts as disturbed if other programs use more than this fraction of all cores on average. A display server and
# a terminal together use a tenth of a core. A busy loop uses a whole core. On a machine with two cores, this is one
# half of all cores.
MOST_TAKEN = 0.25
# A run counts as disturbed if the host of a virtual machine uses more than this fraction of all cores on average.
MOST_STOLEN = 0.05
# The figure STEADY_FIGURE varies by only a few percent on an idle machine. Its spread is the distance between its
# quartiles over the runs of A, divided by its median. The machine is too noisy if this spread is larger than
# MOST_SPREAD.
STEADY_FIGURE, MOST_SPREAD = "frames.cpu_ms.p50", 0.3


@dataclass(frozen=True)
class MachineLoad:
    """Load of the machine during one run. cores: number of cores that this process may use. others: mean number of
    cores that other programs used. stolen: mean number of cores that the host of a virtual machine used. A value
    that is not known is None."""

    cores: int
    others: float | None
    stolen: float | None

    @property
    def disturbed(self) -> str:
        """Reason why the run counts as disturbed; empty if it does not count as disturbed."""
        if self.stolen is not None and self.stolen > MOST_STOLEN * self.cores:
            return f"the host of this virtual machine used {self.stolen:.2f} of {self.cores} cores"
        if self.others is not None and self.others > MOST_TAKEN * self.cores:
            return f"other programs used {self.others:.2f} of {self.cores} cores"
        return ""


@dataclass(frozen=True)
class Noise:
    """Noise of a comparison. too_noisy: reason why the machine was too noisy for a verdict; empty if the machine was
    quiet enough. notes: notes on the noise for the reader, one line each."""

    too_noisy: str = ""
    notes: tuple[str, ...] = ()


def counting_runs(
    figures: Sequence[Mapping[str, float | None]], loads: Sequence[MachineLoad], sides: Sequence[str], needed: int
) -> tuple[list[int], Noise]:
    """Chooses the runs that count. Returns the indices of these runs, and the noise of the machine. figures, loads,
    sides: one item for each run; a side is "A" or "B". needed: smallest number of undisturbed runs of each side. If
    a side has fewer undisturbed runs, the indices of all runs are returned, and the noise contains the reason for
    no verdict."""
    notes, too_noisy = [], ""
    counting = [at for at, load in enumerate(loads) if not load.disturbed]
    disturbed = [load.disturbed for load in loads if load.disturbed]
    if disturbed:
        text = f"{len(disturbed)} of {len(loads)} runs were disturbed: {_most_often(disturbed)}"
        if min(sum(sides[at] == side for at in counting) for side in "AB") >= needed:
            notes.append(f"{text}; these runs do not count")
        else:
            too_noisy, counting = text, list(range(len(loads)))
    usual = [figures[at].get(STEADY_FIGURE) for at in counting if sides[at] == "A"]
    steady = [value for value in usual if value is not None and math.isfinite(value)]
    if (apart := relative_quartile_distance(steady)) is not None:
        notes.append(
            f"in the runs of A, {STEADY_FIGURE} is from {min(steady):.3g} to {max(steady):.3g}; the quartiles differ "
            f"by {apart:.0%} of the median"
        )
        if apart > MOST_SPREAD and not too_noisy:
            too_noisy = f"in the runs of A, {STEADY_FIGURE} varies from {min(steady):.3g} to {max(steady):.3g}"
    notes += drift(steady)
    if loads and all(load.others is None for load in loads):
        notes.append(
            "the CPU time of other programs cannot be measured on this system, so disturbed runs count as well"
        )
    return counting, Noise(too_noisy, tuple(notes))


def relative_quartile_distance(values: Sequence[float]) -> float | None:
    """Returns the distance between the quartiles, divided by the median. Returns None for fewer than four values, or
    if the median is not above 0."""
    if len(values) < 4:
        return None
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle > 0 else None


def drift(values: Sequence[float]) -> list[str]:
    """Returns a list with a note if the values drift, else an empty list. Values drift if all values of the first half
    are below all values of the second half, or if all are above. In the turns A B B A, a drift affects both sides
    alike and only widens the intervals. So a drift does not prevent a verdict."""
    half = len(values) // 2
    first, second = values[:half], values[-half:] if half else []
    if half < 3 or not (max(first) < min(second) or min(first) > max(second)):
        return []
    before, after = statistics.median(first), statistics.median(second)
    text = f"the runs of A drifted: the median of {STEADY_FIGURE} was {before:.3g} in the first half of these runs"
    return [f"{text}, and {after:.3g} in the second half"]


def _most_often(words: Sequence[str]) -> str:
    """Returns the text in the middle of the sorted texts. This text is a typical example, because the texts mostly
    differ only by a number."""
    return sorted(words)[len(words) // 2]
