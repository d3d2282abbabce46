"""Draws trails. The trail of a body is a row of dots where the body was drawn during the last second.

A ring buffer stores the drawn positions of the bodies of each frame. They are drawn as dots that fade with age.

If all positions are the same as in the previous frame, no dots are added and the trails do not age. So trails stay
visible during a pause. If a body gets a new epoch, because it was moved elsewhere, its dots are removed. No dots are
drawn for a body at rest. The caller passes times and positions. This module reads no clock.
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

# Number of frames whose positions are stored. It is enough for one second at 480 Hz. With MOST_DOTTED bodies, there are
# at most 32,768 dots.
MOST_FRAMES = 512
# MOST_BODIES is the largest number of bodies whose positions are stored. They are chosen evenly from all bodies.
# MOST_DOTTED is the largest number of bodies whose dots are drawn. They are those that moved furthest.
MOST_BODIES = 256
MOST_DOTTED = 64
WHITE = (255, 255, 255)
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


class Trails:
    """Trails of the bodies `rows`. They show the last `seconds` seconds; times in which the picture stood still do not
    count.

    colors: colours of the bodies' dots, (k, 3), 0..255; they may be changed at any time.
    """

    def __init__(self, rows: NDArray[np.integer], seconds: float = 1.0, colors: ArrayLike = WHITE) -> None:
        self.rows = np.asarray(rows, np.int64)
        self._length_ns = round(seconds * 1e9)
        count = len(self.rows)
        self.colors = np.zeros((count, 3))
        self.colors[:] = colors
        self._positions = np.full((MOST_FRAMES, count, 3), np.nan)
        self._instants_ns = np.zeros(MOST_FRAMES, np.int64)  # of frames, in a time that stops when the picture does
        self._epochs: NDArray[np.uint32] | None = None
        self._added = 0
        self._present_ns: int | None = None
        self._now_ns = 0

    def of(self, rows: NDArray[np.integer]) -> Trails:
        """Returns trails of the bodies `rows`. If a body already has a trail here, it keeps its dots."""
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
        self._positions[:, :known][:, continuity != self._epochs[:known]] = np.nan
        self._epochs[:known] = continuity
        before = self._positions[(self._added - 1) % MOST_FRAMES]
        if self._added and np.array_equal(before, drawn, equal_nan=True):
            return
        self._now_ns += passed_ns
        at = self._added % MOST_FRAMES
        # If a body is drawn at the same position in successive frames, only the newest of these positions is stored.
        before[(before == drawn).all(axis=1)] = np.nan
        self._positions[at] = drawn
        self._instants_ns[at] = self._now_ns
        self._added += 1

    def dots(self) -> TrailDots:
        """The dots that are drawn now. The alpha of a dot decreases linearly with its age."""
        held = min(self._added, MOST_FRAMES)
        left = 1.0 - (self._now_ns - self._instants_ns[:held]) / self._length_ns
        frames = np.flatnonzero(left > 0)
        positions = self._positions[frames]
        shown = np.isfinite(positions[:, :, 0])
        shown[:, ~_furthest(positions, shown)] = False
        colors = np.empty((*shown.shape, 4), np.uint8)
        colors[:, :, :3] = self.colors
        colors[:, :, 3] = (255 * left[frames])[:, None]
        return TrailDots(positions[shown], colors[shown])

    def clear(self) -> None:
        """Removes all dots. This is called when another world begins."""
        self._positions[:] = np.nan
        self._epochs = None
        self._added = 0


class PictureTrails:
    """Trails of all pictures on the stage. They exist only if the user has switched trails on."""

    def __init__(self) -> None:
        self.of_picture: dict[str, Trails] = {}  # trails of each picture; the key is the name of the picture
        self._shape_colors: NDArray[np.float64] = np.zeros((0, 3))  # 0..1
        self._in_palette: NDArray[np.bool_] = np.zeros(0, np.bool_)  # True if the shape has no colour of its own
        self._world_epoch: int | None = None  # world epoch of the drawn snapshots

    def watch(self, pictures: Sequence[Picture], scene: Scene, count: int) -> None:
        """Starts to watch the bodies of these pictures. If a picture and a body already have a trail, it is kept.
        count: number of bodies."""
        rows = trail_rows(count)
        had, self.of_picture = self.of_picture, {}
        shapes = shape_table(scene, count).rows[rows]
        self._shape_colors, self._in_palette = shapes["color"][:, :3] / 255, shapes["in_palette"] > 0
        for picture in pictures:
            trails = had.get(picture.name)
            if trails is None or not np.array_equal(trails.rows, rows):
                picture.watch(WATCHER, rows)
                trails = Trails(rows) if trails is None else trails.of(rows)
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
            is_white = (poses.has_color & self._in_palette[:known])[:, None]
            trails.colors[:known] = poses.color[:, :3] * np.where(is_white, 1.0, self._shape_colors[:known])
        renderer.points(*trails.dots(), DOT_PX)


def _furthest(positions: NDArray[np.float32], known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask (k,) of the bodies that moved. If more than MOST_DOTTED bodies moved, the mask selects those that moved
    furthest.

    positions: positions of k bodies in f frames, (f, k, 3). known: True where a position is known, (f, k). How far a
    body moved is measured by the longest side of the box around its positions.
    """
    if not len(positions):
        return np.zeros(positions.shape[1], np.bool_)
    low = np.where(known[:, :, None], positions, np.inf).min(axis=0)
    high = np.where(known[:, :, None], positions, -np.inf).max(axis=0)
    moved_m = (high - low).max(axis=1)
    furthest = moved_m > 0
    if len(moved_m) > MOST_DOTTED:
        furthest[np.argpartition(moved_m, -MOST_DOTTED)[:-MOST_DOTTED]] = False
    return furthest
