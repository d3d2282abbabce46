"""Extents of the bodies in ten directions of a camera, now and AHEAD_S later.

The ten extents are a discrete oriented polytope (k-DOP; Klosowski et al. 1998). An extent is the largest position of
all bodies along its direction, with their radii added. The first six directions are those of the camera's box: right,
left, up, down, towards the camera, away from it. The other four are the outer normals of a wedge through the eye. The
sides of the wedge have the slopes `Directions.slopes` to the line of sight. With them, a perspective camera is placed
exactly.

Always: the extents of linearly blended bodies are at most the blended extents. So the extents of two snapshots, blended
or united, bound the bodies between these snapshots. A body does not count if it is hidden, not finite, or farther than
FARTHEST_FRAMED_M. Pure: takes and returns numbers.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.mapped_segment import SampledBodies
from twixt.ipc.snapshot import CONTINUITY_MASK, VISIBLE
from twixt.render.draw.frame.framing import FARTHEST_FRAMED_M, FramedView, corners_of

RIGHT, LEFT, UP, DOWN, NEAR, FAR = range(6)  # of the camera's box
SIDES = slice(0, 4)  # right, left, up and down
WEDGE = slice(6, 10)  # right, left, upper and lower side of the wedge
COUNT = 10
# A body has flown off if the picture would have to be FLOWN_FACTOR times as large as the others need. It is left out
# after FLOWN_OFF_S. At most FLOWN_SHARE of the bodies can be left out. One body can always be left out if LEAST_OTHERS
# remain.
FLOWN_FACTOR = 4.0
FLOWN_OFF_S = 3.0
FLOWN_SHARE = 0.1
LEAST_OTHERS = 2
# Largest number of bodies that are compared to find the size that the others need. Sorting all would take 1 ms.
MOST_COMPARED = 4096
# Time for which the bodies' motion is continued, in seconds. Each body keeps its velocity between the last two samples.
AHEAD_S = 0.5
# The curve between two snapshots may leave the straight line by up to this share of the time between them, times the
# largest speed: 4/27 of the speeds at both ends. Gaps of less than `LEAST_GAP_S` are left out: their curves are flat.
SWING = 8 / 27
LEAST_GAP_S = 0.05
# Longest time in which drawn extents are remembered; length of the intervals. Bodies have gone away from an extent if
# they were farther from it than AWAY times its tolerance.
MEMORY_S, BIN_S, AWAY = 60.0, 0.1, 1.25
# Largest number of samples that are kept. The draw time of a picture may be some seconds behind the newest sample.
MOST_SAMPLES = 512

Extents = NDArray[np.float64]  # (10,), metres, measured from `Directions.origin`; -inf: no body


class Directions:
    """The ten directions of a camera that does not turn. origin: point from which extents are measured, (3,), metres.
    share: share of the picture to whose borders the wedge belongs.

    slopes: tangents of the angles between the line of sight and the sides of the wedge: across, along.
    """

    def __init__(self, view: FramedView, origin: tuple[float, float, float], share: float) -> None:
        self.view = view
        self.origin = np.array(origin, np.float32).astype(np.float64)  # rounded, because positions are float32
        self.slopes = share * view.tangent * view.aspect, share * view.tangent
        right, up, near = view.right, view.up, view.backward
        across, along = self.slopes
        wedge = [right + across * near, across * near - right, up + along * near, along * near - up]
        self.normals = np.array([right, -right, up, -up, near, -near, *wedge], np.float32)
        slopes = (across, across, along, along)
        self.per_radius = np.array([1.0] * 6 + [math.hypot(1, slope) for slope in slopes], np.float32)

    def all_of(self, position: NDArray[np.float32], radius: NDArray[np.float32]) -> NDArray[np.float32]:
        """Extents of each body, (10, n). position: (3, n), metres. radius: (n,), metres."""
        with np.errstate(invalid="ignore", over="ignore"):  # records may contain any bits
            places = position - self.origin.astype(np.float32)[:, None]
            found: NDArray[np.float32] = self.normals @ places
            found += self.per_radius[:, None] * radius
        return found


class BodyShapes(NamedTuple):
    """Facts about the shapes of k bodies, each (k,). radius: of a ball around the body, metres. counts: False for
    bodies that do not count, such as floors. is_simple: True for a body of one part that is no mesh."""

    radius: NDArray[np.float32]
    counts: NDArray[np.bool_]
    is_simple: NDArray[np.bool_]


class Sample(NamedTuple):
    """Extents of the bodies of one snapshot. now: those of the snapshot. ahead: those after `ahead_ns` of simulated
    time, if each body keeps its velocity. alone_m: radius of a lone body of a simple shape, else 0. left_out: number of
    bodies that have flown off."""

    sim_time_ns: int
    now: Extents
    ahead: Extents
    ahead_ns: int
    alone_m: float
    left_out: int


class _Bodies(NamedTuple):
    """The bodies of the last sample, for their velocities."""

    sim_time_ns: int
    world_epoch: int
    stride: int
    extents: NDArray[np.float32]  # (10, n)
    epoch: NDArray[np.uint32]  # (n,)


class BodyBounds:
    """Extents of the bodies over simulated time, from samples of the newest snapshots. outline: two opposite corners of
    a box that counts as well, or None."""

    def __init__(self, directions: Directions, outline: Sequence[Sequence[float]] | None = None) -> None:
        self.directions = directions
        self._outline = np.full(COUNT, -math.inf)
        if outline is not None:
            corners = directions.all_of(corners_of(outline).astype(np.float32), np.zeros(8, np.float32))
            self._outline = corners.max(axis=1).astype(np.float64)
        self._samples: deque[Sample] = deque(maxlen=MOST_SAMPLES)
        self._last: _Bodies | None = None
        self._left_since_s = np.zeros(0)  # when each body flew off, in seconds of the wall clock; inf: it did not

    @property
    def newest(self) -> Sample | None:
        """The last sample that has bodies."""
        return self._samples[-1] if self._samples else None

    def add(self, sampled: SampledBodies, shapes: BodyShapes, rate: float) -> None:
        """Adds a sample of the newest snapshot. shapes: those of the sampled bodies. rate: simulated seconds per second
        of the wall clock."""
        head, bodies = sampled.head, sampled.bodies
        radius, _, is_simple = shapes
        # One row for each axis: numpy takes many times as long to reduce the axes of each record.
        position = np.ascontiguousarray(bodies["position"].T)
        counts = countable(bodies, position, shapes)
        extents = self.directions.all_of(position, radius)
        now = _Bodies(head.sim_time_ns, head.world_epoch, sampled.stride, extents, bodies["epoch"].copy())
        before, self._last = self._last, now
        if before is not None and (before.world_epoch != head.world_epoch or before.sim_time_ns > head.sim_time_ns):
            self._samples.clear()  # their times belong to another world
        flown_off = self._flown_off(extents, counts, head.published_ns / 1e9)
        left_out = int(flown_off.sum())
        counts &= ~flown_off
        if not counts.any():
            return
        ahead_ns = max(1, round(AHEAD_S * rate * 1e9))
        lone = int(np.argmax(counts)) if counts.sum() == 1 else None
        alone_m = float(radius[lone]) if lone is not None and is_simple[lone] else 0.0
        largest = np.maximum(_largest(extents, counts), self._outline)
        later = _later(before, now, ahead_ns)
        ahead = largest if later is None else np.maximum(largest, _largest(later, counts))
        self._samples.append(Sample(head.sim_time_ns, largest, ahead, ahead_ns, alone_m, left_out))

    def between(self, first_ns: int, last_ns: int, gap_s: float = 0.0) -> Extents | None:
        """Extents of all bodies that are drawn from `first_ns` to `last_ns` of simulated time; None if there is no
        sample. After the newest sample, bodies keep their velocities. gap_s: time between two snapshots, in seconds of
        simulated time. Forgets samples that are older than `first_ns`."""
        samples = self._samples
        if not samples:
            return None
        while len(samples) > 1 and samples[1].sim_time_ns <= first_ns:
            samples.popleft()
        newest = samples[-1]
        used = [sample.now for sample in samples if sample.sim_time_ns <= last_ns] or [samples[0].now]
        following = next((sample.now for sample in samples if sample.sim_time_ns > last_ns), None)
        if following is not None:
            used.append(following)
        share = min(1.0, max(0, last_ns - newest.sim_time_ns) / newest.ahead_ns)
        ahead_m = newest.ahead - newest.now
        if share:
            used.append(newest.now + share * ahead_m)
        found: Extents = np.maximum.reduce(used)
        if gap_s > LEAST_GAP_S:
            swing_m = SWING * gap_s * 1e9 / newest.ahead_ns * float(ahead_m[:6].max())
            found += swing_m * self.directions.per_radius
        return found

    def _flown_off(self, extents: NDArray[np.float32], counts: NDArray[np.bool_], now_s: float) -> NDArray[np.bool_]:
        """Mask of the bodies that have flown off alone for `FLOWN_OFF_S`, (n,)."""
        is_beyond = _beyond(extents, counts, self.directions)
        since_s = np.full(len(counts), math.inf)
        if is_beyond is None:
            self._left_since_s = since_s
            return np.zeros(len(counts), bool)
        known = min(len(since_s), len(self._left_since_s))
        since_s[:known] = self._left_since_s[:known]
        self._left_since_s = np.where(is_beyond, np.minimum(since_s, now_s), math.inf)
        return is_beyond & (now_s - self._left_since_s >= FLOWN_OFF_S)


def countable(bodies: NDArray[np.void], position: NDArray[np.float32], shapes: BodyShapes) -> NDArray[np.bool_]:
    """Mask of the bodies that count and can be drawn, (n,). position: their positions, (3, n), metres."""
    with np.errstate(invalid="ignore"):
        counts = shapes.counts & ((bodies["flags"] & VISIBLE) != 0) & np.isfinite(shapes.radius)
        for axis in position:
            counts &= np.abs(axis) < FARTHEST_FRAMED_M
    return counts


def _largest(extents: NDArray[np.float32], counts: NDArray[np.bool_]) -> Extents:
    if counts.all():
        return extents.max(axis=1).astype(np.float64)
    return extents[:, counts].max(axis=1).astype(np.float64)


def _later(before: _Bodies | None, now: _Bodies, ahead_ns: int) -> NDArray[np.float32] | None:
    """Extents of each body after `ahead_ns`, (10, n); those of now for a body that has just been spawned or teleported.
    None if no body's velocity is known."""
    if before is None or before.world_epoch != now.world_epoch or before.stride != now.stride:
        return None
    passed_ns = now.sim_time_ns - before.sim_time_ns
    if passed_ns <= 0:
        return None
    known, factor = min(len(now.epoch), len(before.epoch)), np.float32(ahead_ns / passed_ns)
    found = np.empty_like(now.extents)
    found[:, known:] = now.extents[:, known:]
    with np.errstate(invalid="ignore", over="ignore"):
        np.subtract(now.extents[:, :known], before.extents[:, :known], out=found[:, :known])
        found[:, :known] *= factor
        found[:, :known] += now.extents[:, :known]
        is_cut = ~np.isfinite(found[:, :known].sum(axis=0))
    is_cut |= ((now.epoch[:known] ^ before.epoch[:known]) & CONTINUITY_MASK) != 0
    if is_cut.any():
        found[:, :known][:, is_cut] = now.extents[:, :known][:, is_cut]
    return found


def _beyond(
    extents: NDArray[np.float32], counts: NDArray[np.bool_], directions: Directions
) -> NDArray[np.bool_] | None:
    """Mask of the bodies for which the picture would have to be FLOWN_FACTOR times as large as the others need, (n,).
    None if there are no such bodies, or more than FLOWN_SHARE allows."""
    total = int(counts.sum())
    most = max(1, int(total * FLOWN_SHARE))
    if total - most < LEAST_OTHERS:
        return None
    counted = (extents if total == len(counts) else extents[:, counts])[:, :: -(-total // MOST_COMPARED)]
    sides = SIDES if directions.view.orthographic else WEDGE
    middle, at = counted.shape[1] // 2, counted.shape[1] - 1 - max(1, int(counted.shape[1] * FLOWN_SHARE))
    away_m = (counted[sides] - np.partition(counted[sides], middle, axis=1)[:, middle, None]).max(axis=0)
    others = counted[:, away_m <= np.partition(away_m, at)[at]].max(axis=1).astype(np.float64)
    size_m = _fitting_distance_m(others, directions)
    if not size_m > 0:
        return None
    slopes = np.repeat(directions.slopes, 2)
    limits = others[sides] + 2 * (FLOWN_FACTOR - 1) * slopes * size_m
    with np.errstate(invalid="ignore"):
        is_beyond: NDArray[np.bool_] = counts & (extents[sides] > limits[:, None]).any(axis=0)
    return is_beyond if 0 < is_beyond.sum() <= most else None


def _fitting_distance_m(extents: Extents, directions: Directions) -> float:
    """Distance from a camera to the middle of the bodies at which they just fill the share of `directions`, in
    metres, measured on the longer side."""
    across, along = directions.slopes
    width_m, height_m = float(extents[RIGHT] + extents[LEFT]), float(extents[UP] + extents[DOWN])
    return max(width_m / (2 * across), height_m / (2 * along))


class BoundsMemory:
    """Extents that were drawn in the last MEMORY_S seconds of frames, in intervals of BIN_S. Its answers are up to BIN_S
    old."""

    def __init__(self) -> None:
        self._bins = np.full((round(MEMORY_S / BIN_S), COUNT), -math.inf)
        self._at = 0
        self._found: dict[tuple[int, int], Extents] = {}  # answers for the present interval

    def add(self, now_s: float, bounds: Extents) -> None:
        """Adds the bounds of the frame at `now_s`."""
        at = int(now_s / BIN_S)
        if at > self._at:
            for passed in range(max(self._at + 1, at - len(self._bins) + 1), at + 1):
                self._bins[passed % len(self._bins)] = -math.inf
            self._at = at
            self._found.clear()
        row = self._bins[self._at % len(self._bins)]
        np.maximum(row, bounds, out=row)

    def last(self, seconds: float) -> Extents:
        """Bounds of the last `seconds`; -inf where there were none."""
        return self._between(0, round(seconds / BIN_S))

    def before(self, seconds: float) -> Extents:
        """Bounds of the whole memory without the last `seconds`; -inf where there were none."""
        return self._between(round(seconds / BIN_S), len(self._bins))

    def return_s(self, direction: int, extent: float, tolerance_m: float) -> float | None:
        """Seconds since bodies were last as far in this direction, before they went away and came back. None: they were
        not, or did not go away. tolerance_m: of the extent."""
        extents = self._rows(0, len(self._bins))[:, direction]
        went_away = np.minimum.accumulate(extents) < extent - AWAY * tolerance_m
        found = np.flatnonzero(went_away & (extents >= extent - tolerance_m))
        return float(found[0]) * BIN_S if len(found) else None

    def _between(self, first: int, end: int) -> Extents:
        found = self._found.get((first, end))
        if found is None:
            found = self._found[first, end] = self._rows(first, end).max(axis=0)
        return found

    def _rows(self, first: int, end: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._bins[(self._at - np.arange(first, end)) % len(self._bins)]
        return found
