"""How noisy the machine was while two kinds of runs took turns, and which runs count.

The one idea: noise is judged by what bears on neither side: by what other programs took of the cores meanwhile, and by
how far runs of A are from other runs of A. A run that other programs disturbed is left out; so it cannot make a
difference, and not hide one. Where too few are left, or runs of A differ by themselves, there is no verdict.

Pure: what was measured in, words out.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Other programs that have more of the machine than this, on average over a run, disturb it. A display's server and a
# terminal have a tenth of a core; a busy loop has one core of two.
MOST_TAKEN = 0.25
# The machine's own machine: time that a host kept from it, as a share of all cores.
MOST_STOLEN = 0.05
# The figure that a quiet machine repeats within a few percent, and how far its quartiles may be apart.
STEADY_FIGURE, MOST_SPREAD = "frames.cpu_ms.p50", 0.3


@dataclass(frozen=True)
class Load:
    """The machine during one run. Cores, on average; None where the system does not say."""

    cores: int
    others: float | None
    stolen: float | None

    @property
    def disturbed(self) -> str:
        """What disturbed the run; empty: nothing that was seen."""
        if self.stolen is not None and self.stolen > MOST_STOLEN * self.cores:
            return f"its host kept {self.stolen:.2f} of {self.cores} cores from it"
        if self.others is not None and self.others > MOST_TAKEN * self.cores:
            return f"other programs had {self.others:.2f} of {self.cores} cores"
        return ""


@dataclass(frozen=True)
class Noise:
    """too_noisy: why there is no verdict; empty: there is one. said: what to know about the noise, a line each."""

    too_noisy: str = ""
    said: tuple[str, ...] = ()


def judge(
    figures: Sequence[Mapping[str, float | None]], loads: Sequence[Load], sides: Sequence[str], needed: int
) -> tuple[list[int], Noise]:
    """Which runs count, by their place, and how noisy the machine was. One figures, load and side ("A" or "B") a run;
    needed: runs of each side that must count."""
    said, too_noisy = [], ""
    counting = [at for at, load in enumerate(loads) if not load.disturbed]
    disturbed = [load.disturbed for load in loads if load.disturbed]
    if disturbed:
        text = f"{len(disturbed)} of {len(loads)} runs were disturbed: {_most_often(disturbed)}"
        if min(sum(sides[at] == side for at in counting) for side in "AB") >= needed:
            said.append(f"{text}; they are left out")
        else:
            too_noisy, counting = text, list(range(len(loads)))
    usual = [figures[at].get(STEADY_FIGURE) for at in counting if sides[at] == "A"]
    steady = [value for value in usual if value is not None and math.isfinite(value)]
    if (apart := quartiles_apart(steady)) is not None:
        said.append(f"A against A: {STEADY_FIGURE} {min(steady):.3g} to {max(steady):.3g}, quartiles {apart:.0%} apart")
        if apart > MOST_SPREAD and not too_noisy:
            too_noisy = f"runs of A differ among themselves: {STEADY_FIGURE} {min(steady):.3g} to {max(steady):.3g}"
    said += drift(steady)
    return counting, Noise(too_noisy, tuple(said))


def quartiles_apart(values: Sequence[float]) -> float | None:
    """Their distance as a share of the median; None for fewer than four."""
    if len(values) < 4:
        return None
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle > 0 else None


def drift(values: Sequence[float]) -> list[str]:
    """A line where the first half lies wholly on one side of the second. In turns like A B B A it bears on both sides
    alike; it is said, and widens the intervals by itself."""
    half = len(values) // 2
    first, second = values[:half], values[-half:] if half else []
    if half < 3 or not (max(first) < min(second) or min(first) > max(second)):
        return []
    return [f"A drifted: {STEADY_FIGURE} {statistics.median(first):.3g} before, {statistics.median(second):.3g} after"]


def _most_often(words: Sequence[str]) -> str:
    """The median one, where they differ by a figure."""
    return sorted(words)[len(words) // 2]
