"""Trails: where bodies were drawn in the last second, as dots. Even spacing is smoothness that one can see.

The one idea: a ring of drawn positions, one row of bodies a frame; dots are what is left of it, fading with age.
Always: a frame that drew the same instant again adds no dot, and while the picture stands the trails stand too,
so that a pause is there to look at them. A body that was cut (a new epoch) leaves no dot behind, one at rest has none.
Pure: present instants and positions come in, no clock is read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.snapshot import CONTINUITY_MASK

# Frames remembered: a second of 480 a second, so that dots stay within 32,768.
MOST_FRAMES = 512
# Bodies watched at most, evenly chosen; and of these, those whose dots are drawn: the ones that went furthest.
MOST_BODIES = 256
MOST_DOTTED = 64
WHITE = (255, 255, 255)


class Dots(NamedTuple):
    """What a renderer's `points` takes."""

    positions: NDArray[np.float64]  # (m, 3), metres
    colors: NDArray[np.uint8]  # (m, 4), rgba


def trail_rows(count: int, most: int = MOST_BODIES) -> NDArray[np.int64]:
    """Which of `count` bodies leave trails: all, or every second, fourth, eighth ... of them, `most` at most.

    Shape (k,), ascending. With more bodies others are chosen only once their number has doubled.
    """
    stride = 1
    while count > most * stride:
        stride *= 2
    return np.arange(0, max(0, count), stride)


class Trails:
    """The trails of the bodies `rows`, over `seconds` of a picture that moves.

    colors: of the dots, (k, 3), 0..255; may be changed at any time.
    """

    def __init__(self, rows: NDArray[np.integer], seconds: float = 1.0, colors: ArrayLike = WHITE) -> None:
        self.rows = np.asarray(rows, np.int64)
        self._length_ns = round(seconds * 1e9)
        count = len(self.rows)
        self.colors = np.zeros((count, 3))
        self.colors[:] = colors
        self._positions = np.full((MOST_FRAMES, count, 3), np.nan)
        self._instants_ns = np.zeros(MOST_FRAMES, np.int64)  # of the trails' own time, which stands with the picture
        self._epochs: NDArray[np.uint32] | None = None
        self._added = 0
        self._present_ns: int | None = None
        self._now_ns = 0

    def of(self, rows: NDArray[np.integer]) -> Trails:
        """The trails of other bodies: of those that are here too they go on."""
        other = Trails(rows)
        other._length_ns, other._instants_ns = self._length_ns, self._instants_ns
        other._added, other._present_ns, other._now_ns = self._added, self._present_ns, self._now_ns
        _, here, there = np.intersect1d(self.rows, other.rows, return_indices=True)
        other._positions[:, there], other.colors[there] = self._positions[:, here], self.colors[here]
        if self._epochs is not None:
            other._epochs = np.zeros(len(other.rows), np.uint32)
            other._epochs[there] = self._epochs[here]
        return other

    def add(
        self,
        present_ns: int,
        positions: NDArray[np.floating],
        visible: NDArray[np.bool_],
        epoch: NDArray[np.integer],
    ) -> None:
        """One frame as drawn. positions (m, 3), visible and epoch (m,): of the first m of the bodies `rows`, in that
        order; there are no others yet."""
        passed_ns = 0 if self._present_ns is None else max(0, present_ns - self._present_ns)
        self._present_ns = present_ns
        known = len(positions)
        drawn = np.full((len(self.rows), 3), np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            drawn[:known] = positions
            holds = np.isfinite(drawn[:known].astype(np.float32)).all(axis=1)  # the GPU
            drawn[:known][~(np.asarray(visible, np.bool_) & holds)] = np.nan
        if self._epochs is None:
            self._epochs = np.zeros(len(self.rows), np.uint32)
        continuity = np.asarray(epoch).astype(np.uint32) & np.uint32(CONTINUITY_MASK)
        self._positions[:, :known][:, continuity != self._epochs[:known]] = np.nan
        self._epochs[:known] = continuity
        before = self._positions[(self._added - 1) % MOST_FRAMES]
        if self._added and np.array_equal(before, drawn, equal_nan=True):
            return
        self._now_ns += passed_ns
        at = self._added % MOST_FRAMES
        # A body at rest keeps one dot, its newest.
        before[(before == drawn).all(axis=1)] = np.nan
        self._positions[at] = drawn
        self._instants_ns[at] = self._now_ns
        self._added += 1

    def dots(self) -> Dots:
        """What to draw now, faint where it is old."""
        held = min(self._added, MOST_FRAMES)
        left = 1.0 - (self._now_ns - self._instants_ns[:held]) / self._length_ns
        frames = np.flatnonzero(left > 0)
        positions = self._positions[frames]
        shown = np.isfinite(positions[:, :, 0])
        shown[:, ~_furthest(positions, shown)] = False
        colors = np.empty((*shown.shape, 4), np.uint8)
        colors[:, :, :3] = self.colors
        colors[:, :, 3] = (255 * left[frames])[:, None]
        return Dots(positions[shown], colors[shown])

    def clear(self) -> None:
        """Forget all: another world, or another way of drawing."""
        self._positions[:] = np.nan
        self._epochs = None
        self._added = 0


def _furthest(positions: NDArray[np.float32], known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which bodies moved, (k,); where many did, those whose way takes up most room. positions (f, k, 3)."""
    if not len(positions):
        return np.zeros(positions.shape[1], np.bool_)
    low = np.where(known[:, :, None], positions, np.inf).min(axis=0)
    high = np.where(known[:, :, None], positions, -np.inf).max(axis=0)
    room = (high - low).max(axis=1)
    least = 0.0 if len(room) <= MOST_DOTTED else np.partition(room, -MOST_DOTTED)[-MOST_DOTTED]
    return (room > 0) & (room >= least)
