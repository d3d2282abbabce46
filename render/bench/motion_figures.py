"""What a viewer would have drawn of a recorded world, held against what the world did.

`show` plays a trace: at each present instant of a display the snapshots that have arrived go to a playback clock and
a method, and what they answer is kept. `figures` compares that with the recording.

Always: a frame sees only what arrived before it. A body that ever moves counts while it is seen and lives one life between the two
snapshots around the frame; where it is spawned, despawned or moved elsewhere in between, what counts is how far off
both its paths it is drawn. Pure.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import CONTINUITY_MASK, Snapshot
from twixt.render.bench.motion_truth import Flags, Places, Times, Truth
from twixt.render.interpolation import Method, Poses
from twixt.render.interpolation.parents import compose
from twixt.render.playback import PlaybackClock
from twixt.render.playback.traces import MS, Row
from twixt.render.playback.trial import SETTLING_NS, presents

# The methods with a memory of what they drew are asked this long before frames count.
BEFORE_NS = 250_000_000
# Drawn at once, whatever the clock says: what it should have drawn is the present.
OF_THE_PRESENT = "latest"

Floats = NDArray[np.float64]


class Shown(NamedTuple):
    """f frames, as they were drawn. All times of snapshots and draw times are simulated."""

    present_ns: Times
    asked_ns: Times  # what was to be drawn: the clock's draw time
    drawn_ns: Times  # what was drawn
    previous_ns: Times  # the newest snapshot that had come, at or before asked_ns
    next_ns: Times  # the oldest that had come after it; asked_ns where there was none
    places: Places


@dataclass(frozen=True)
class Figures:
    """How far what was drawn is off. mm, degrees and ms; see docs/motion.md for the words."""

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
    compared: int  # poses


def show(
    truth: Truth,
    states: Sequence[Snapshot],
    rows: Sequence[Row],
    method: Method,
    clock: PlaybackClock,
    of_the_present: bool = False,
    as_published: bool = False,
    parent_rows: NDArray[np.int32] | None = None,
    seed: int = 0,
    fps: float = 60.0,
) -> Shown:
    """Plays the trace `rows`, whose snapshots are the states of those simulated times.

    of_the_present: what should be drawn is what is due at present, whatever the clock says. as_published: what is
    drawn is the newest snapshot at or before that. Frames before the clock has settled are left out.
    """
    arrivals = sorted(rows, key=lambda row: row.arrival_ns)
    due_ns, sim_ns = _map_of(rows)
    by_time = {state.sim_time_ns: state for state in states}
    first_ns, taken = arrivals[0].arrival_ns, 0
    known: list[int] = []
    frames: list[tuple[int, int, int, int, int]] = []
    drawn: list[Poses] = []
    for present_ns in presents(seed, first_ns, int(due_ns[-1]), fps):
        while taken < len(arrivals) and arrivals[taken].arrival_ns <= present_ns:
            row = arrivals[taken]
            clock.observe(*row)
            method.add(by_time[row.sim_ns])
            insort(known, row.sim_ns)
            taken += 1
        clock.reach_ns = method.reach_ns
        asked_ns = clock.draw_time_ns(present_ns)
        if present_ns < first_ns + SETTLING_NS - BEFORE_NS:
            continue
        poses = method.sample(asked_ns)
        if parent_rows is not None:
            poses = compose(poses, parent_rows)
        if present_ns < first_ns + SETTLING_NS:
            continue
        drawn_ns = poses.draw_time_ns
        if of_the_present:
            asked_ns = int(np.interp(present_ns - due_ns[0], due_ns - due_ns[0], sim_ns))
        after = bisect_right(known, asked_ns)
        previous_ns = known[after - 1] if after else asked_ns
        next_ns = known[after] if after < len(known) else asked_ns
        if as_published:
            drawn_ns = known[-1] if of_the_present else previous_ns
        frames.append((present_ns, asked_ns, drawn_ns, previous_ns, next_ns))
        drawn.append(poses)
    present, asked, shown, previous, following = np.array(frames, np.int64).reshape(-1, 5).T
    return Shown(present, asked, shown, previous, following, _stacked(drawn, truth.count))


def figures(truth: Truth, shown: Shown, rows: Sequence[Row]) -> Figures:
    """Holds `shown` against the truth; rows: the trace that it was played from."""
    drawn, there = shown.places, truth.at(shown.asked_ns)
    passed = _passed(truth, shown)
    counts = _comparable(drawn, there) & passed.one_life & truth.moves
    error = np.where(counts[:, :, None], drawn.position - there.position, 0.0)
    angle = _angles(drawn.orientation, there.orientation)
    steady = counts[1:] & counts[:-1] & (drawn.life[1:] == drawn.life[:-1])
    due_ns, sim_ns = _map_of(rows)
    origin = due_ns[0]
    now = truth.at(np.interp(shown.present_ns - origin, due_ns - origin, sim_ns).astype(np.int64))
    off_now = _lengths(drawn.position - now.position)[_comparable(drawn, now) & truth.moves]
    age_ms = (shown.present_ns - origin - np.interp(shown.drawn_ns, sim_ns, due_ns - origin)) / MS
    out_of_box = np.maximum(passed.low - drawn.position, drawn.position - passed.high).max(axis=2)
    off, jumps, turned = _lengths(error)[counts], _lengths(np.diff(error, axis=0))[steady], angle[counts]
    overshoot = np.maximum(out_of_box[counts], 0.0)
    return Figures(
        position_p50_mm=_at(off, 50) * 1e3,
        position_p99_mm=_at(off, 99) * 1e3,
        position_max_mm=_at(off, 100) * 1e3,
        rotation_p99_deg=float(np.degrees(_at(turned, 99))),
        rotation_max_deg=float(np.degrees(_at(turned, 100))),
        overshoot_p99_mm=_at(overshoot, 99) * 1e3,
        overshoot_max_mm=_at(overshoot, 100) * 1e3,
        off_path_max_mm=_at(_off_path(truth, shown, passed), 100) * 1e3,
        jump_p99_mm=_at(jumps, 99) * 1e3,
        jump_max_mm=_at(jumps, 100) * 1e3,
        now_p50_mm=_at(off_now, 50) * 1e3,
        age_mean_ms=float(age_ms.mean()),
        age_p99_ms=_at(age_ms, 99),
        compared=int(np.count_nonzero(counts)),
    )


class Passed(NamedTuple):
    """What truth did between the two snapshots around each frame: the box of its places, and whether one life."""

    low: NDArray[np.floating]  # (f, n, 3)
    high: NDArray[np.floating]  # (f, n, 3)
    one_life: Flags  # (f, n)


def _passed(truth: Truth, shown: Shown) -> Passed:
    seen: dict[tuple[int, int], tuple[Any, ...]] = {}
    for key in _between(shown):
        if key not in seen:
            part = truth.during(*key)
            way, lives = truth.states.position[part], truth.states.life[part]
            seen[key] = way.min(axis=0), way.max(axis=0), (lives == lives[0]).all(axis=0)
    low, high, one_life = zip(*(seen[key] for key in _between(shown)), strict=True)
    return Passed(np.array(low), np.array(high), np.array(one_life))


def _off_path(truth: Truth, shown: Shown, passed: Passed) -> Floats:
    """Metres from what was drawn to the nearest place of truth, for bodies whose life changed meanwhile."""
    off = [np.zeros(0)]
    for frame, key in enumerate(_between(shown)):
        cut = np.flatnonzero(~passed.one_life[frame] & shown.places.visible[frame])
        if len(cut):
            way = truth.states.position[truth.during(*key)][:, cut]
            off.append(_lengths(way - shown.places.position[frame, cut]).min(axis=0))
    return np.concatenate(off)


def _between(shown: Shown) -> list[tuple[int, int]]:
    return list(zip(shown.previous_ns.tolist(), shown.next_ns.tolist(), strict=True))


def _comparable(drawn: Places, true: Places) -> Flags:
    return drawn.visible & true.visible & (drawn.life == true.life)


def _stacked(poses: Sequence[Poses], count: int) -> Places:
    """Over time, (f, count): bodies that were not there yet are hidden."""
    position = np.zeros((len(poses), count, 3), np.float32)
    orientation = np.zeros((len(poses), count, 4), np.float32)
    orientation[:, :, 3] = 1.0
    life = np.zeros((len(poses), count), np.uint32)
    visible = np.zeros((len(poses), count), bool)
    for frame, one in enumerate(poses):
        known = len(one)
        position[frame, :known], orientation[frame, :known] = one.position, one.orientation
        life[frame, :known], visible[frame, :known] = one.epoch & CONTINUITY_MASK, one.visible
    return Places(position, orientation, life, visible)


def _map_of(rows: Sequence[Row]) -> tuple[Times, Times]:
    """due -> sim, both rising."""
    ordered = sorted(rows)
    return np.array([row.due_ns for row in ordered]), np.array([row.sim_ns for row in ordered])


def _angles(a: NDArray[np.floating], b: NDArray[np.floating]) -> Floats:
    """The angles between orientations, radians; 4 atan is exact for small ones, where arccos is not."""
    b = np.where((a * b).sum(axis=-1, keepdims=True) < 0, -b, b)
    return 4.0 * np.arctan2(_lengths(a - b), _lengths(a + b))


def _lengths(vectors: NDArray[np.floating]) -> Floats:
    return np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=-1))


def _at(values: Floats, percent: float) -> float:
    return float(np.percentile(values, percent)) if len(values) else float("nan")
