"""Replays a recorded world through a playback clock and an interpolation method, under each trouble. Computes the
errors of the drawn motion. A trouble is, for example, a stall or a slow network.

`MotionReplay.show` plays a trace. At each frame of a display, a playback clock and an interpolation method receive the
snapshots that have arrived. The poses that the method returns are stored. `motion_figures` compares these poses with
the recording. A trace replaces the network, and a grid of instants replaces the display. So the speed of the machine
changes no figure.

Always: a frame uses only snapshots that arrived before it. The same seed gives the same poses, bit for bit. Bodies
that never move do not count. A body counts in a frame if it is visible and lives on between the two snapshots around
the draw time. If it is spawned, despawned or teleported between these snapshots, its distance from its true paths
counts instead (`off_path`). This module runs no process and reads no clock.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.clock.traces import MS, SECOND, SETTLING_NS, TRACES, Arrival, Trace, arriving, presents, steady
from bench.motion.recordings import Flags, RecordedPoses, Recording, Times, Truth
from twixt.ipc.scene.groups import rows_of_parents
from twixt.ipc.snapshot import CONTINUITY_MASK
from twixt.render.interpolation import Method, Poses, create
from twixt.render.interpolation.poses import compose
from twixt.render.playback import PlaybackClock
from twixt.render.scene.groups import AS_PUBLISHED

# Length of the time, in ns, in which interpolation methods are sampled before the first counted frame. Some methods
# depend on their earlier poses.
BEFORE_NS = 250_000_000
# Name of the interpolation method that ignores the clock. Its poses are compared with the state that is due when the
# frame is visible.
OF_THE_PRESENT = "latest"

Floats = NDArray[np.float64]


class DrawnFrames(NamedTuple):
    """Drawn frames; their number is f. `present_ns` is in wall time. All other times are simulated times."""

    present_ns: Times
    asked_ns: Times  # draw time of the clock
    drawn_ns: Times  # time of the drawn state
    previous_ns: Times  # time of the newest arrived snapshot at or before asked_ns
    next_ns: Times  # time of the oldest arrived snapshot after asked_ns, or asked_ns if there was none
    places: RecordedPoses


@dataclass(frozen=True)
class MotionFigures:
    """Errors of drawn motion, in mm, degrees and ms. docs/motion.md defines each error."""

    position_p50_mm: float
    position_p99_mm: float
    position_max_mm: float
    rotation_p99_deg: float
    rotation_max_deg: float
    overshoot_p99_mm: float
    overshoot_max_mm: float
    off_path_max_mm: float
    jump_p99_mm: float
    jump_max_mm: float
    now_p50_mm: float
    age_mean_ms: float
    age_p99_ms: float
    compared: int  # number of compared poses


# Length of a trace in seconds. The clock settles in the first 3 s. A stall lasts from 4.5 s to 5.0 s. Then the clock
# catches up.
SECONDS = 5.6
FPS = 60.0


class TroubleTrace(NamedTuple):
    """Trace of snapshots under one trouble. about: description of the trouble."""

    about: str
    trace: Trace


ABOUT = {
    "20 Hz, 4 ms jitter": "20 snapshots a second, published when they are due or up to about 10 ms later",
    "steps 20-120 ms": "steps of 16.7 ms of simulated time; each step takes 20 to 120 ms to compute",
    "net 30 Hz": "30 snapshots a second; the network delays each snapshot by 60 to 100 ms and loses one snapshot in 20",
    "stall 500 ms every 5 s": "60 snapshots a second; every 5 s, no snapshot arrives for half a second",
}
TROUBLES = {
    "ahead 60 Hz": TroubleTrace(
        "60 snapshots a second; each snapshot arrives before it is due, as in a healthy run", TRACES["ahead 60 Hz"]
    ),
    "ahead 10 Hz": TroubleTrace(
        "10 snapshots a second; each snapshot arrives before it is due", steady(10, early_ns=SECOND // 10)
    ),
    **{name: TroubleTrace(about, TRACES[name]) for name, about in ABOUT.items()},
}


class MotionReplay:
    """Plays a recorded world to the clock and the interpolation methods of a viewer."""

    def __init__(self, recorded: Recording) -> None:
        self._states = recorded.states
        parents = rows_of_parents(recorded.scene.parents, max(len(state.bodies) for state in recorded.states))
        self._parents = parents if (parents >= 0).any() else None
        self.truth = Truth(recorded.states, self._parents)

    def rows(self, trace: Sequence[Arrival]) -> list[Arrival]:
        """The trace, in which each simulated time is replaced by the time of the nearest recorded state."""
        times = self.truth.times_ns
        nearest = np.searchsorted((times[1:] + times[:-1]) / 2, [row.sim_ns for row in trace])
        return [row._replace(sim_ns=int(times[index])) for row, index in zip(trace, nearest, strict=True)]

    def show(self, rows: Sequence[Arrival], method: str, seed: int) -> DrawnFrames:
        """Frames that a viewer draws with this interpolation method, on the default clock."""
        return self.play(rows, create(method), seed, method == OF_THE_PRESENT, method in AS_PUBLISHED)

    def play(
        self,
        rows: Sequence[Arrival],
        method: Method,
        seed: int = 0,
        of_the_present: bool = False,
        as_published: bool = False,
    ) -> DrawnFrames:
        """Plays the trace `rows`. Its simulated times must be times of recorded states.

        of_the_present: True if a frame is compared with the state that is due when the frame is visible. Else the
        frame is compared with the state at the draw time. as_published: True if the method draws a snapshot unchanged.
        With of_the_present, this is the newest snapshot. Else it is the newest snapshot at or before the draw time.
        Frames before the clock has settled are excluded.
        """
        clock = PlaybackClock()
        due_ns, sim_ns = _map_of(rows)
        by_time = {state.sim_time_ns: state for state in self._states}
        first_ns = min(row.arrival_ns for row in rows)
        known: list[int] = []
        frames: list[tuple[int, ...]] = []
        drawn: list[Poses] = []
        for present_ns, new in arriving(rows, presents(seed, first_ns, int(due_ns[-1]), FPS)):
            for row in new:
                clock.observe(*row)
                method.add(by_time[row.sim_ns])
                insort(known, row.sim_ns)
            clock.reach_ns = method.reach_ns
            asked_ns = clock.draw_time_ns(present_ns)
            if present_ns < first_ns + SETTLING_NS - BEFORE_NS:
                continue
            poses = method.sample(asked_ns)
            if self._parents is not None:
                poses = compose(poses, self._parents)
            if present_ns < first_ns + SETTLING_NS:
                continue
            if of_the_present:
                asked_ns = int(np.interp(present_ns - due_ns[0], due_ns - due_ns[0], sim_ns))
            after = bisect_right(known, asked_ns)
            previous_ns = known[after - 1] if after else asked_ns
            next_ns = known[after] if after < len(known) else asked_ns
            published_ns = known[-1] if of_the_present else previous_ns
            drawn_ns = published_ns if as_published else poses.draw_time_ns
            frames.append((present_ns, asked_ns, drawn_ns, previous_ns, next_ns))
            drawn.append(poses)
        times = np.array(frames, np.int64).reshape(-1, 5).T
        return DrawnFrames._make([*times, _stacked(drawn, self.truth.count)])


def motion_figures(truth: Truth, shown: DrawnFrames, rows: Sequence[Arrival]) -> MotionFigures:
    """Errors of the drawn frames `shown`, relative to true motion. rows: the trace that was played."""
    drawn, there = shown.places, truth.at(shown.asked_ns)
    passed = _passed(truth, shown)
    counts = _comparable(drawn, there) & passed.one_life & truth.moves
    error = np.where(counts[:, :, None], drawn.position - there.position, 0.0)
    angle = _angles(drawn.orientation, there.orientation)
    unbroken = counts[1:] & counts[:-1] & (drawn.life[1:] == drawn.life[:-1])
    due_ns, sim_ns = _map_of(rows)
    origin = due_ns[0]
    now = truth.at(np.interp(shown.present_ns - origin, due_ns - origin, sim_ns).astype(np.int64))
    off_now = _lengths(drawn.position - now.position)[_comparable(drawn, now) & truth.moves]
    age_ms = (shown.present_ns - origin - np.interp(shown.drawn_ns, sim_ns, due_ns - origin)) / MS
    out_of_box = np.maximum(passed.low - drawn.position, drawn.position - passed.high).max(axis=2)
    off, jumps, turned = _lengths(error)[counts], _lengths(np.diff(error, axis=0))[unbroken], np.degrees(angle[counts])
    overshoot, off_path = np.maximum(out_of_box[counts], 0.0), _off_path(truth, shown, passed)
    return MotionFigures(
        position_p50_mm=_at(off, 50) * 1e3,
        position_p99_mm=_at(off, 99) * 1e3,
        position_max_mm=_at(off, 100) * 1e3,
        rotation_p99_deg=_at(turned, 99),
        rotation_max_deg=_at(turned, 100),
        overshoot_p99_mm=_at(overshoot, 99) * 1e3,
        overshoot_max_mm=_at(overshoot, 100) * 1e3,
        off_path_max_mm=_at(off_path, 100) * 1e3,
        jump_p99_mm=_at(jumps, 99) * 1e3,
        jump_max_mm=_at(jumps, 100) * 1e3,
        now_p50_mm=_at(off_now, 50) * 1e3,
        age_mean_ms=float(age_ms.mean()),
        age_p99_ms=_at(age_ms, 99),
        compared=int(np.count_nonzero(counts)),
    )


class Passed(NamedTuple):
    """True motion between the two snapshots around each frame. low, high: corners of the bounding box of each body's
    true positions. one_life: True for each body that lives on, without spawn, despawn or teleport."""

    low: NDArray[np.floating]  # (f, n, 3)
    high: NDArray[np.floating]  # (f, n, 3)
    one_life: Flags  # (f, n)


def _passed(truth: Truth, shown: DrawnFrames) -> Passed:
    seen: dict[tuple[int, int], tuple[Any, ...]] = {}
    for key in _between(shown):
        if key not in seen:
            part = truth.during(*key)
            way, lives = truth.states.position[part], truth.states.life[part]
            seen[key] = way.min(axis=0), way.max(axis=0), (lives == lives[0]).all(axis=0)
    low, high, one_life = zip(*(seen[key] for key in _between(shown)), strict=True)
    return Passed(np.array(low), np.array(high), np.array(one_life))


def _off_path(truth: Truth, shown: DrawnFrames, passed: Passed) -> Floats:
    """Distance, in metres, from the drawn position of a body to its nearest true position. It is computed for bodies
    that were spawned, despawned or teleported between the two snapshots."""
    off = [np.zeros(0)]
    for frame, key in enumerate(_between(shown)):
        cut = np.flatnonzero(~passed.one_life[frame] & shown.places.visible[frame])
        if len(cut):
            way = truth.states.position[truth.during(*key)][:, cut]
            off.append(_lengths(way - shown.places.position[frame, cut]).min(axis=0))
    return np.concatenate(off)


def _between(shown: DrawnFrames) -> list[tuple[int, int]]:
    return list(zip(shown.previous_ns.tolist(), shown.next_ns.tolist(), strict=True))


def _comparable(drawn: RecordedPoses, true: RecordedPoses) -> Flags:
    return drawn.visible & true.visible & (drawn.life == true.life)


def _stacked(poses: Sequence[Poses], count: int) -> RecordedPoses:
    """Poses of all frames, shape (f, count). Bodies that do not exist yet are hidden in these poses."""
    position = np.zeros((len(poses), count, 3), np.float32)
    orientation = np.zeros((len(poses), count, 4), np.float32)
    orientation[:, :, 3] = 1.0
    life = np.zeros((len(poses), count), np.uint32)
    visible = np.zeros((len(poses), count), bool)
    for frame, one in enumerate(poses):
        known = len(one)
        position[frame, :known], orientation[frame, :known] = one.position, one.orientation
        life[frame, :known], visible[frame, :known] = one.epoch & CONTINUITY_MASK, one.visible
    return RecordedPoses(position, orientation, life, visible)


def _map_of(rows: Sequence[Arrival]) -> tuple[Times, Times]:
    """Due instants and simulated times of a trace, both in ns, in order of simulated time."""
    ordered = sorted(rows)
    return np.array([row.due_ns for row in ordered]), np.array([row.sim_ns for row in ordered])


def _angles(a: NDArray[np.floating], b: NDArray[np.floating]) -> Floats:
    """Angles between the orientations `a` and `b`, in radians. Each angle is 4 times an arctangent, which is exact for
    small angles. An arccosine is not exact for small angles."""
    b = np.where((a * b).sum(axis=-1, keepdims=True) < 0, -b, b)
    return 4.0 * np.arctan2(_lengths(a - b), _lengths(a + b))


def _lengths(vectors: NDArray[np.floating]) -> Floats:
    return np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=-1))


def _at(values: Floats, percent: float) -> float:
    return float(np.percentile(values, percent)) if len(values) else float("nan")
