"""Draws trails. The trail of a body is a row of dots where the body was drawn during the last seconds, or ever since.

A ring buffer stores the drawn positions of the bodies of each frame. They are drawn as dots that fade with age. When
the buffer is full of frames that are still drawn, every second one is removed, and from then on only half as many are
stored: the dots are further apart, but the trail is as long. The newest frame is always stored.

If all positions are the same as in the previous frame, no dots are added and the trails do not age. So trails stay
visible during a pause. If a body gets a new epoch, because it was moved elsewhere, its dots are removed. No dots are
drawn for a body at rest. The caller passes times and positions. This module reads no clock.

Always: memory and the work of a frame are bounded, however long a trail is. A picture stores at most 32,768 positions
(0.75 MiB) and draws at most `MOST_DOTS` dots.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.snapshot import CONTINUITY_MASK
from twixt.render.draw.bodies.shape_rows import shape_table

if TYPE_CHECKING:
    from twixt.ipc.scene import Scene
    from twixt.render.draw.scene_renderer import SceneRenderer
    from twixt.render.scene.views import Picture

# Largest number of dots in a picture. It is enough for one second of MOST_DOTTED bodies at 120 Hz. With software OpenGL,
# some thousand dots take as long as the rest of a frame.
MOST_DOTS = 8192
# Largest number of frames whose positions are stored. It is used for up to 2 bodies. Of more bodies, fewer frames are
# stored: MOST_DOTS divided by the number of bodies whose dots are drawn.
MOST_FRAMES = 4096
# MOST_BODIES is the largest number of bodies whose positions are stored. They are chosen evenly from all bodies.
# MOST_DOTTED is the largest number of bodies whose dots are drawn. They are those that moved furthest.
MOST_BODIES = 256
MOST_DOTTED = 64
WHITE = (255, 255, 255, 255)
# Diameter of a dot in pixels.
DOT_PX = 5.0
WATCHER = "trails"  # name under which poses are watched: see Picture.watch


class TrailDots(NamedTuple):
    """Dots in the form that `SceneRenderer.points` takes."""

    positions: NDArray[np.float64]  # (m, 3), metres
    colors: NDArray[np.uint8]  # (m, 4), rgba


def trail_rows(count: int, most: int = MOST_BODIES) -> NDArray[np.int64]:
    """Indices of the bodies that leave trails: all, or every second, fourth, eighth ...; at most `most`.

    The indices are ascending, (k,). The choice changes only when the number of bodies exceeds `most`, twice `most`,
    four times `most`, and so on.
    """
    stride = 1
    while count > most * stride:
        stride *= 2
    return np.arange(0, max(0, count), stride)


def frame_capacity(bodies: int) -> int:
    """Number of frames whose positions are stored for this number of bodies."""
    return min(MOST_FRAMES, MOST_DOTS // max(1, min(bodies, MOST_DOTTED)))


class Trails:
    """Trails of the bodies `rows`. They show the last `seconds` seconds, or all if `seconds` is infinite. Times in
    which the picture stood still do not count.

    colors: colours of the bodies' dots, (k, 4), rgba, 0..255; they may be changed at any time.
    """

    def __init__(self, rows: NDArray[np.integer], seconds: float = 1.0, colors: ArrayLike = WHITE) -> None:
        self.rows = np.asarray(rows, np.int64)
        self._seconds = seconds
        count = len(self.rows)
        self.colors = np.zeros((count, 4))
        self.colors[:] = colors
        self._capacity = frame_capacity(count)
        self._positions = np.full((self._capacity, count, 3), np.nan)
        # For each stored frame: its instant, in a time that stops when the picture does, and its number.
        self._instants_ns, self._numbers = np.zeros((2, self._capacity), np.int64)
        self._oldest = self._held = 0
        self._stride = 1  # the frames whose numbers are multiples of it are stored, and the newest frame
        self._number = 0  # of the next frame that differs from the frame before
        self._drawn = np.full((count, 3), np.nan)  # positions in the last frame
        self._epochs: NDArray[np.uint32] | None = None
        self._present_ns: int | None = None
        self._now_ns = 0

    def of(self, rows: NDArray[np.integer]) -> Trails:
        """Returns trails of the bodies `rows`, which replace these. If a body already has a trail here, it keeps its
        dots."""
        other = Trails(rows, self._seconds)
        while self._held > other._capacity:
            self._thin()
        other._held, other._stride, other._number = self._held, self._stride, self._number
        other._present_ns, other._now_ns = self._present_ns, self._now_ns
        _, here, there = np.intersect1d(self.rows, other.rows, return_indices=True)
        frames, held = self._frames(), slice(self._held)
        other._instants_ns[held], other._numbers[held] = self._instants_ns[frames], self._numbers[frames]
        other._positions[held, there] = self._positions[np.ix_(frames, here)]
        other._drawn[there], other.colors[there] = self._drawn[here], self.colors[here]
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
        """Adds one drawn frame. positions: positions of bodies, (m, 3), metres. visible: mask of the visible bodies,
        (m,). epoch: epochs of the bodies, (m,). These arrays belong to the first m bodies of `rows`, in the same order.
        The other bodies do not exist yet."""
        passed_ns = 0 if self._present_ns is None else max(0, present_ns - self._present_ns)
        self._present_ns = present_ns
        known = len(positions)
        drawn = np.full((len(self.rows), 3), np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            drawn[:known] = positions
            holds = np.isfinite(drawn[:known].astype(np.float32)).all(axis=1)  # the GPU uses float32
            drawn[:known][~(np.asarray(visible, np.bool_) & holds)] = np.nan
        if self._epochs is None:
            self._epochs = np.zeros(len(self.rows), np.uint32)
        continuity = np.asarray(epoch).astype(np.uint32) & np.uint32(CONTINUITY_MASK)
        is_cut = continuity != self._epochs[:known]
        if is_cut.any():
            self._positions[:, :known][:, is_cut] = np.nan
            self._epochs[:known] = continuity
        if self._held and np.array_equal(self._drawn, drawn, equal_nan=True):
            return
        self._drawn = drawn
        self._now_ns += passed_ns
        at = self._next_frame()
        before = self._positions[at - 1]
        self._positions[at], self._instants_ns[at], self._numbers[at] = drawn, self._now_ns, self._number
        # If a body is drawn at the same position in successive frames, only one of these positions is stored: the
        # newest, or that of the older frame if the newer one will not be kept.
        at_rest = (before == drawn).all(axis=1)
        (self._positions[at] if self._number % self._stride else before)[at_rest] = np.nan
        self._number += 1

    def dots(self) -> TrailDots:
        """The dots that are drawn now. The alpha of a dot decreases linearly with its age."""
        frames = self._frames()
        left = 1.0 - (self._now_ns - self._instants_ns[frames]) / (self._seconds * 1e9)
        frames, left = frames[left > 0], left[left > 0]
        positions = self._positions[frames]
        bodies = _furthest(positions, self.colors[:, 3] > 0)
        positions = positions[:, bodies]
        shown = np.isfinite(positions[:, :, 0])
        colors = np.empty((*shown.shape, 4), np.uint8)
        colors[:, :, :3] = self.colors[bodies, :3]
        colors[:, :, 3] = left[:, None] * self.colors[bodies, 3]
        return TrailDots(positions[shown], colors[shown])

    def clear(self) -> None:
        """Removes all dots. This is called when another world begins."""
        self._positions[:] = self._drawn[:] = np.nan
        self._epochs = None
        self._oldest = self._held = self._number = 0
        self._stride = 1

    def _frames(self) -> NDArray[np.int64]:
        """Indices of the stored frames, the oldest first."""
        return (self._oldest + np.arange(self._held)) % self._capacity

    def _next_frame(self) -> int:
        """Index at which the newest frame is stored. The frame there before is removed: one that is not kept, or one
        that has faded away. If all stored frames are drawn and there is no room, every second one is removed."""
        newest = (self._oldest + self._held - 1) % self._capacity
        if self._held and self._numbers[newest] % self._stride:
            return newest
        if self._held == self._capacity:
            if self._now_ns - self._instants_ns[self._oldest] < self._seconds * 1e9:
                self._thin()
            else:
                self._oldest, self._held = (self._oldest + 1) % self._capacity, self._held - 1
        self._held += 1
        return int((self._oldest + self._held - 1) % self._capacity)

    def _thin(self) -> None:
        """Removes every second stored frame."""
        self._stride *= 2
        frames = self._frames()
        frames = frames[self._numbers[frames] % self._stride == 0]
        held = slice(len(frames))
        self._positions[held], self._instants_ns[held] = self._positions[frames], self._instants_ns[frames]
        self._numbers[held] = self._numbers[frames]
        self._positions[len(frames) :] = np.nan
        self._oldest, self._held = 0, len(frames)


class PictureTrails:
    """Trails of all pictures on the stage. They exist only if the user has switched trails on. seconds: length of the
    trails; infinite for all frames."""

    def __init__(self, seconds: float = 1.0) -> None:
        self.of_picture: dict[str, Trails] = {}  # trails of each picture; the key is the name of the picture
        self._seconds = seconds
        self._shape_colors: NDArray[np.float64] = np.zeros((0, 4))  # 0..1
        self._in_palette: NDArray[np.bool_] = np.zeros(0, np.bool_)  # True if the shape has no colour of its own
        self._world_epoch: int | None = None  # world epoch of the drawn snapshots

    def watch(self, pictures: Sequence[Picture], scene: Scene, count: int) -> None:
        """Starts to watch the bodies of these pictures. If a picture and a body already have a trail, it is kept.
        count: number of bodies."""
        rows = trail_rows(count)
        had, self.of_picture = self.of_picture, {}
        shapes = shape_table(scene, count).rows[rows]
        self._shape_colors, self._in_palette = shapes["color"] / 255, shapes["in_palette"] > 0
        for picture in pictures:
            trails = had.get(picture.name)
            if trails is None or not np.array_equal(trails.rows, rows):
                picture.watch(WATCHER, rows)
                trails = Trails(rows, self._seconds) if trails is None else trails.of(rows)
            self.of_picture[picture.name] = trails

    def unwatch(self, pictures: Sequence[Picture]) -> None:
        """Stops watching these pictures."""
        for picture in pictures:
            picture.unwatch(WATCHER)

    def begin_world(self, world_epoch: int) -> None:
        """Removes all trails if `world_epoch` differs from the world epoch of the last call."""
        if world_epoch != self._world_epoch:
            self._world_epoch = world_epoch
            for trails in self.of_picture.values():
                trails.clear()

    def draw(self, picture: Picture, present_ns: int, renderer: SceneRenderer) -> None:
        """Adds the poses that were drawn in this frame to the trails, and draws the dots."""
        trails, poses = self.of_picture[picture.name], picture.watched(WATCHER)
        if known := len(poses):
            trails.add(present_ns, poses.position, poses.visible, poses.epoch)
            is_white = (poses.has_color & self._in_palette[:known])[:, None] & (True, True, True, False)
            trails.colors[:known] = poses.color * np.where(is_white, 1.0, self._shape_colors[:known])
        renderer.points(*trails.dots(), DOT_PX)


def _furthest(positions: NDArray[np.float64], is_drawn: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Indices of the bodies that moved. If there are more than MOST_DOTTED, those that moved furthest.

    positions: positions of k bodies in f frames, (f, k, 3); NaN where there is none. is_drawn: mask of the bodies that
    may have dots, (k,). How far a body moved is measured by the longest side of the box around its positions.
    """
    if not len(positions):
        return np.zeros(0, np.intp)
    sides = np.fmax.reduce(positions, axis=0) - np.fmin.reduce(positions, axis=0)
    moved_m = np.where(is_drawn, np.nan_to_num(sides).max(axis=1), 0.0)
    furthest = np.flatnonzero(moved_m > 0)
    if len(furthest) > MOST_DOTTED:
        furthest = furthest[np.argpartition(moved_m[furthest], -MOST_DOTTED)[-MOST_DOTTED:]]
    return furthest
