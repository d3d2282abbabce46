"""A clock played on a trace, and how what it drew would have looked.

Always: a frame sees only what arrived before it; the truth is the trace's own map of due to simulated time.
Figures leave out the first seconds, in which a clock learns. Pure: the display is a grid of instants.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from twixt.render.playback.traces import MS, SECOND, Row

# What a clock may take to settle, before anything counts.
SETTLING_NS = 3 * SECOND
# Half the window over which the true rate of physics at a frame is taken.
RATE_HALF_NS = SECOND // 2


class Clock(Protocol):
    """What is tried."""

    def observe(self, sim_time_ns: int, due_ns: int, arrival_ns: int) -> None: ...

    def draw_time_ns(self, present_ns: int) -> int: ...


class Frame(NamedTuple):
    """What was shown at one present instant."""

    present_ns: int
    drawn_ns: int
    newest_ns: int  # simulated time of the newest snapshot there was


@dataclass(frozen=True)
class Figures:
    """How it looked, after the settling time. Errors and ages in ms; shares 0..1; judder relative to the true rate."""

    error_p99_ms: float  # |drawn step - rate x frame interval|, simulated time
    error_mean_ms: float
    error_max_ms: float
    age_mean_ms: float  # present - due of the draw time
    age_last_ms: float  # the mean of the last second
    held_share: float  # drew the same instant while physics advanced
    distinct_share: float
    judder_p99: float  # |speed - speed of the frame before| / rate
    judder_max: float
    reversals: int
    beyond: int  # frames drawn past the newest snapshot


def presents(seed: int, first_ns: int, last_ns: int, fps: float = 60.0, missed: float = 0.0) -> Iterator[int]:
    """A grid of frames at a phase of the seed's choosing, a share of them `missed`."""
    generator = random.Random(seed + 1000)
    start = first_ns + round(generator.random() * SECOND / fps)
    k = 0
    while (at := start + round(k * SECOND / fps)) < last_ns:
        if not missed or generator.random() >= missed:
            yield at
        k += 1


def play(
    clock: Clock, rows: list[Row], seed: int = 0, fps: float = 60.0, latch_ns: int = 0, missed: float = 0.0
) -> list[Frame]:
    """Each frame sees, in the order of arrival, what has arrived `latch_ns` before it is shown."""
    arrivals = sorted(rows, key=lambda row: row.arrival_ns)
    taken, newest, frames = 0, arrivals[0].sim_ns, []
    for present in presents(seed, arrivals[0].arrival_ns + latch_ns, rows[-1].due_ns, fps, missed):
        while taken < len(arrivals) and arrivals[taken].arrival_ns <= present - latch_ns:
            row = arrivals[taken]
            clock.observe(row.sim_ns, row.due_ns, row.arrival_ns)
            newest = max(newest, row.sim_ns)
            taken += 1
        frames.append(Frame(present, clock.draw_time_ns(present), newest))
    return frames


def figures(frames: list[Frame], rows: list[Row], settling_ns: int = SETTLING_NS) -> Figures:
    """Measures `frames` against the trace they were played on."""
    ordered = sorted(rows)
    origin = ordered[0].due_ns
    due = np.array([row.due_ns - origin for row in ordered], float)
    sim = np.array([row.sim_ns for row in ordered], float)
    present = np.array([frame.present_ns - origin for frame in frames], float)
    drawn = np.array([frame.drawn_ns for frame in frames], float)
    rate = (np.interp(present + RATE_HALF_NS, due, sim) - np.interp(present - RATE_HALF_NS, due, sim)) / (
        2 * RATE_HALF_NS
    )
    step, passed = np.diff(drawn), np.diff(present)
    counted = (present[1:] >= present[0] + settling_ns) & (present[1:] <= due[-1] - RATE_HALF_NS)
    error_ms = np.abs(step - rate[1:] * passed)[counted] / MS
    age_ms = (present - np.interp(drawn, sim, due))[1:] / MS
    speed = step / passed
    judder = np.abs(np.diff(speed, prepend=speed[:1])) / np.maximum(rate[1:], 1e-9)
    last_second = counted & (present[1:] > present[1:][counted][-1] - SECOND)
    return Figures(
        error_p99_ms=float(np.percentile(error_ms, 99)),
        error_mean_ms=float(error_ms.mean()),
        error_max_ms=float(error_ms.max()),
        age_mean_ms=float(age_ms[counted].mean()),
        age_last_ms=float(age_ms[last_second].mean()),
        held_share=float(((step == 0) & (rate[1:] > 0))[counted].mean()),
        distinct_share=float((step != 0)[counted].mean()),
        judder_p99=float(np.percentile(judder[counted], 99)),
        judder_max=float(judder[counted].max()),
        reversals=int((step < 0).sum()),
        beyond=sum(frame.drawn_ns > frame.newest_ns for frame in frames),
    )
