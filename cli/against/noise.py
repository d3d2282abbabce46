"""Noise of the machine during runs in turns, and the runs that count in spite of it.

Noise is judged by figures that do not depend on the difference between A and B: the cores that other
programs used during a run, and the spread among the runs of A. A run that other programs disturbed is left out, so that
it can neither cause nor hide a difference. Where too few runs are left, or runs of A differ too much, there is no
verdict.

Pure: figures in, verdicts and notes out.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# A run is disturbed when other programs use more than this share of all cores, on average. A display server and a
# terminal use a tenth of a core; a busy loop uses one core of two.
MOST_TAKEN = 0.25
# A run is disturbed when the host of a virtual machine keeps more than this share of all cores.
MOST_STOLEN = 0.05
# A figure that a quiet machine repeats within a few percent; largest distance of its quartiles, as a share of the
# median.
STEADY_FIGURE, MOST_SPREAD = "frames.cpu_ms.p50", 0.3


@dataclass(frozen=True)
class MachineLoad:
    """Load of the machine during one run. cores: number of those that this process may use. others, stolen: mean number
    of cores that other programs used and that the host kept; None where unknown."""

    cores: int
    others: float | None
    stolen: float | None

    @property
    def disturbed(self) -> str:
        """Reason why the run is disturbed, else empty."""
        if self.stolen is not None and self.stolen > MOST_STOLEN * self.cores:
            return f"its host kept {self.stolen:.2f} of {self.cores} cores from it"
        if self.others is not None and self.others > MOST_TAKEN * self.cores:
            return f"other programs had {self.others:.2f} of {self.cores} cores"
        return ""


@dataclass(frozen=True)
class Noise:
    """Noise of a comparison. too_noisy: reason for no verdict, else empty. notes: notes on the noise, one line each."""

    too_noisy: str = ""
    notes: tuple[str, ...] = ()


def counting_runs(
    figures: Sequence[Mapping[str, float | None]], loads: Sequence[MachineLoad], sides: Sequence[str], needed: int
) -> tuple[list[int], Noise]:
    """Chooses the runs that count; returns their indices, and the noise of the machine. figures, loads, sides: one for
    each run; a side is "A" or "B". needed: runs of each side that must count; where fewer do, all are returned."""
    notes, too_noisy = [], ""
    counting = [at for at, load in enumerate(loads) if not load.disturbed]
    disturbed = [load.disturbed for load in loads if load.disturbed]
    if disturbed:
        text = f"{len(disturbed)} of {len(loads)} runs were disturbed: {_most_often(disturbed)}"
        if min(sum(sides[at] == side for at in counting) for side in "AB") >= needed:
            notes.append(f"{text}; they are left out")
        else:
            too_noisy, counting = text, list(range(len(loads)))
    usual = [figures[at].get(STEADY_FIGURE) for at in counting if sides[at] == "A"]
    steady = [value for value in usual if value is not None and math.isfinite(value)]
    if (apart := quartiles_apart(steady)) is not None:
        notes.append(
            f"A against A: {STEADY_FIGURE} {min(steady):.3g} to {max(steady):.3g}, quartiles {apart:.0%} apart"
        )
        if apart > MOST_SPREAD and not too_noisy:
            too_noisy = f"runs of A differ among themselves: {STEADY_FIGURE} {min(steady):.3g} to {max(steady):.3g}"
    notes += drift(steady)
    if loads and all(load.others is None for load in loads):
        notes.append(
            "what other programs had of the cores is not known here: runs that they disturbed count like others"
        )
    return counting, Noise(too_noisy, tuple(notes))


def quartiles_apart(values: Sequence[float]) -> float | None:
    """Distance of the quartiles as a share of the median; None for fewer than four values, or a median of 0 or less."""
    if len(values) < 4:
        return None
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle > 0 else None


def drift(values: Sequence[float]) -> list[str]:
    """Note on a drift, where all values of the first half are below or above those of the second. In turns A B B A a
    drift affects both sides alike and widens the intervals, so it does not prevent a verdict."""
    half = len(values) // 2
    first, second = values[:half], values[-half:] if half else []
    if half < 3 or not (max(first) < min(second) or min(first) > max(second)):
        return []
    return [f"A drifted: {STEADY_FIGURE} {statistics.median(first):.3g} before, {statistics.median(second):.3g} after"]


def _most_often(words: Sequence[str]) -> str:
    """The median of the texts in their sorted order: most differ by a figure only."""
    return sorted(words)[len(words) // 2]
