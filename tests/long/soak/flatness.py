"""What a soak measured, and whether it stayed flat: the first window after warm-up against the last.

Pure: samples and instants of frames in, figures and verdicts out. Instants in seconds since the soak began.

Descriptors and threads are counted where nobody visits, so the least of a window is what the process holds by itself.
Memory that is kept on purpose and bounded (the latest figures, for the report) is known to the byte and taken off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Windows are a sixth of the soak each: ten minutes of an hour. Before the first it warms up for a tenth, a minute at most.
WINDOW_SHARE, WARM_UP_SHARE, WARM_UP_S = 1 / 6, 1 / 10, 60.0
# Of memory: what allocators keep of visits, and of a world that grew in between, MiB. A viewer's caches fill for some
# minutes, and a shorter soak sees them fill.
GROWN_MIB, GROWN_SHORT_MIB, SHORT_S = 3.0, 16.0, 600.0
# Of frame intervals: that much longer is what other programs on the machine do to a p99; as a share and in ms.
SLOWER_SHARE, SLOWER_MS = 0.10, 0.5
MIB = 1 << 20


class Sample(NamedTuple):
    """One look at a process. kept_bytes: of those held, figures that it keeps for its report."""

    at_s: float
    held_bytes: int
    descriptors: int
    threads: int
    kept_bytes: int = 0


class Window(NamedTuple):
    """From when to when, s."""

    begin_s: float
    end_s: float

    def of(self, samples: list[Sample]) -> list[Sample]:
        return [sample for sample in samples if self.begin_s <= sample.at_s < self.end_s]


class Finding(NamedTuple):
    """One line of the table. grown: from the first to the last."""

    what: str
    first: float
    last: float
    grown: float
    allowed: float

    @property
    def is_flat(self) -> bool:
        return self.grown <= self.allowed


def windows(lasts_s: float) -> tuple[Window, Window]:
    """The first after warm-up, and the last."""
    warm_s, length_s = min(WARM_UP_S, lasts_s * WARM_UP_SHARE), lasts_s * WINDOW_SHARE
    return Window(warm_s, warm_s + length_s), Window(lasts_s - length_s, lasts_s + 1e9)


def findings_of(name: str, samples: list[Sample], lasts_s: float) -> list[Finding]:
    """Of one process."""
    first, last = (window.of(samples) for window in windows(lasts_s))
    if not (first and last):
        raise ValueError(f"no samples of {name} in the first or the last window of {lasts_s:g} s")
    memory = [float(np.median([s.held_bytes for s in part])) / MIB for part in (first, last)]
    kept = [float(np.median([s.kept_bytes for s in part])) / MIB for part in (first, last)]
    grown, allowed = memory[1] - memory[0] - (kept[1] - kept[0]), GROWN_SHORT_MIB if lasts_s < SHORT_S else GROWN_MIB
    found = [Finding(f"{name}: memory MiB", *memory, grown, allowed)]
    for what in ("descriptors", "threads"):
        least = [float(min(getattr(sample, what) for sample in part)) for part in (first, last)]
        found.append(Finding(f"{name}: {what}", *least, least[1] - least[0], 0.0))
    return found


def slope_mib_per_h(samples: list[Sample], lasts_s: float) -> float:
    """Of memory after warm-up, what is kept on purpose taken off."""
    begin_s = windows(lasts_s)[0].begin_s
    later = [sample for sample in samples if sample.at_s >= begin_s]
    at_h = [sample.at_s / 3600 for sample in later]
    held = [(sample.held_bytes - sample.kept_bytes) / MIB for sample in later]
    return float(np.polyfit(at_h, held, 1)[0]) if len(later) > 1 else 0.0


def pace_of(present_s: NDArray[np.float64], lasts_s: float) -> Finding:
    """Of the intervals of frames presented at these instants, their p99, in ms."""
    intervals_ms = np.diff(present_s) * 1e3
    p99 = [
        float(np.percentile(intervals_ms[(present_s[1:] >= one.begin_s) & (present_s[1:] < one.end_s)], 99))
        for one in windows(lasts_s)
    ]
    return Finding("frame interval p99, ms", *p99, p99[1] - p99[0], p99[0] * SLOWER_SHARE + SLOWER_MS)


def p99_by_bin(present_s: NDArray[np.float64], bin_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When, and the p99 of the frame intervals of each stretch of `bin_s`, ms."""
    intervals_ms, bins = np.diff(present_s) * 1e3, (present_s[1:] / bin_s).astype(int)
    numbers = np.unique(bins)
    return (numbers + 0.5) * bin_s, np.array([np.percentile(intervals_ms[bins == n], 99) for n in numbers])
