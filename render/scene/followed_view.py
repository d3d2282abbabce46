"""Follows bodies with an orbit camera: samples the newest bodies, and applies the rule of `automatic_camera`.

A frame that finds a newer snapshot samples the bodies, at most SAMPLES_PER_S times a second. A sample has at most
MOST_BODIES bodies, evenly spread. Samples of many bodies are taken less often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.mapped_segment import SampledBodies
from twixt.ipc.scene import Compound, Mesh, Scene
from twixt.ipc.scene.groups import rows_of_parents
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.snapshot import VISIBLE
from twixt.render.draw.frame.camera import MAX_DISTANCE_M, MIN_DISTANCE_M, OrbitCamera, Surroundings
from twixt.render.draw.frame.framing import are_floors, is_thin
from twixt.render.interpolation.poses import in_frames_of
from twixt.render.scene.automatic_camera import (
    ALONE_SHARE,
    DISTANCE,
    REST_SHARE,
    AutomaticCamera,
    Pose,
    ball_distance_m,
)
from twixt.render.scene.body_bounds import (
    AHEAD_S,
    DOWN,
    FAR,
    LEFT,
    NEAR,
    RIGHT,
    UP,
    BodyBounds,
    BodyShapes,
    Directions,
    Extents,
)

if TYPE_CHECKING:
    from twixt.ipc.scene.groups import Group
    from twixt.render.scene.views import Picture
    from twixt.render.snapshots.history import History

# Interpolation methods that draw newer states than the one at the draw time. A user's method may do so as well.
LIVE_METHODS = ("latest", "chase")
SAMPLES_PER_S = 30
FIRST_SAMPLES = 30  # the first samples are taken as fast as one a frame: the bodies' motion is not known yet
MOST_BODIES = 1 << 15
# A sample of more bodies takes more than a millisecond. Such samples are taken so much less often as they are larger.
OFTEN_BODIES = 1 << 13

Sampler = Callable[[int], SampledBodies | None]  # takes the largest number of bodies


class DrawnTimes(NamedTuple):
    """Draw times of a frame. first_ns, last_ns: the earliest and the latest one of all pictures and groups. gap_s: time
    between the two newest snapshots, in simulated seconds. newest: any object that changes with the newest snapshot.
    rate: simulated seconds per second."""

    first_ns: int
    last_ns: int
    gap_s: float
    newest: object
    rate: float

    @staticmethod
    def of(
        draw_times_ns: Sequence[int], pictures: Sequence[Picture], history: History, groups: Collection[Group],
        rate: float,
    ) -> DrawnTimes:  # fmt: skip
        """draw_times_ns: those of the pictures. history: the held snapshots. groups: those of the scene."""
        last = history.entries[-2:]
        gap_ns = last[-1].head.sim_time_ns - last[0].head.sim_time_ns if last else 0
        delay_ns = round(1e6 * max((group.delay_ms for group in groups), default=0.0))
        last_ns = max(draw_times_ns)
        methods = [picture.method for picture in pictures] + [group.interpolation for group in groups]
        if last and any(method in LIVE_METHODS or ":" in (method or "") for method in methods):
            last_ns = max(last_ns, last[-1].head.sim_time_ns)
        return DrawnTimes(min(draw_times_ns) - delay_ns, last_ns, gap_ns / 1e9, history.newest, rate)


class PlacedBodies(NamedTuple):
    """Some of the newest bodies. sampled: their records, converted to the world's frame if all bodies are sampled.
    shapes: their shapes."""

    sampled: SampledBodies
    shapes: BodyShapes


class ShapeFacts:
    """Radii of the bodies of a scene, and which of them count. Floors and walls do not count, see `are_floors`."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        table = shape_list(scene).table
        self._reach = np.array([shape.reach for shape in table] or [0.5], np.float32)
        self._thin = np.array([is_thin(shape) for shape in table] or [False])
        self._simple = np.array([not isinstance(shape, Compound | Mesh) for shape in table] or [True])
        self._rows: NDArray[np.uint16] = np.zeros(0, np.uint16)
        self._rows_key = (-1, 0)

    def of(self, sampled: SampledBodies) -> BodyShapes:
        """The shapes of the sampled bodies."""
        bodies, key = sampled.bodies, (sampled.head.count, sampled.stride)
        if key != self._rows_key:
            self._rows_key, self._rows = key, shape_list(self.scene).rows_for(key[0])[:: key[1]]
        rows = self._rows
        with np.errstate(over="ignore", invalid="ignore"):  # records may contain any bits
            radius = self._reach[rows] * np.abs(bodies["scale"].astype(np.float32))
            if sampled.scale3 is not None:
                radius *= np.abs(sampled.scale3).max(axis=1)
        counts = np.ones(len(rows), bool)
        if self._thin.any():
            is_seen = ((bodies["flags"] & VISIBLE) != 0) & np.isfinite(bodies["position"]).all(axis=1)
            floors, others = is_seen & self._thin[rows], is_seen & ~self._thin[rows]
            if floors.any() and others.any():
                place, room = bodies["position"][others].astype(np.float64), radius[others, None]
                size_m = (place + room).max(axis=0) - (place - room).min(axis=0)
                others_m = float(np.linalg.norm(size_m)) / 2
                if are_floors(int(floors.sum()), int(others.sum()), float(radius[floors].max()), others_m):
                    counts = ~self._thin[rows]
        return BodyShapes(radius, counts, self._simple[rows])

    def placed(self, sample: Sampler, most: int) -> PlacedBodies | None:
        """Samples at most `most` bodies. Returns None if there are no bodies."""
        sampled = sample(most)
        if sampled is None or not len(sampled.bodies):
            return None
        shapes, parents = self.of(sampled), self.scene.parents
        if parents and sampled.stride == 1:
            rows = rows_of_parents(parents, len(sampled.bodies))
            sampled = sampled._replace(bodies=in_frames_of(sampled.bodies, rows, np.full(len(rows), -1)))
        return PlacedBodies(sampled, shapes)


class FollowedView:
    """Moves `orbit`, which shows the bodies of a scene at first, so that it follows them. sample: function that returns
    the newest bodies. is_empty: True if there were no bodies at first."""

    def __init__(
        self, orbit: OrbitCamera, scene: Scene, sample: Sampler, window_px: tuple[int, int], is_empty: bool
    ) -> None:
        self._orbit, self._sample = orbit, sample
        self._shapes = ShapeFacts(scene)
        self._size_px = window_px
        self._origin, self._first_reach_m = orbit.target, orbit.reach_m
        self._sampled: object = None  # newest snapshot at the last sample, see `DrawnTimes`
        self._sampled_ns = self._samples = 0
        self._interval_ns = 1e9 / SAMPLES_PER_S  # shortest time between two samples
        self._begin_bounds()
        directions = self._bounds.directions
        x, y, z = self._axes @ (np.array(orbit.target) - directions.origin)
        pose = np.array([x, y, z, orbit.distance_m])
        self._camera = AutomaticCamera(directions.view, pose, directions.slopes, window_px[1], is_empty)
        self._take(1.0)
        newest = self._bounds.newest
        if newest is not None and newest.alone_m:
            pose[DISTANCE] = max(pose[DISTANCE], ball_distance_m(newest.alone_m, ALONE_SHARE, directions.view))
            self._place(pose, newest.now)

    @property
    def _axes(self) -> NDArray[np.float64]:
        view = self._bounds.directions.view
        return np.array([view.right, view.up, view.backward])

    @property
    def is_moving(self) -> bool:
        """True if the next frame shows the bodies from another place."""
        return self._camera.is_moving

    @property
    def left_out(self) -> int:
        """Number of bodies that have flown off and are not followed."""
        return 0 if self._bounds.newest is None else self._bounds.newest.left_out

    def set_scene(self, scene: Scene) -> None:
        """Sets a newly published scene."""
        is_outlined_anew, self._shapes = scene.outline != self._shapes.scene.outline, ShapeFacts(scene)
        if is_outlined_anew:
            self._begin_bounds()

    def follow(self, sample: Sampler) -> None:
        """Follows the bodies of another simulation, which shows the same scene."""
        self._sample = sample
        self._begin_bounds()

    def advance(self, present_ns: int, drawn: DrawnTimes, window_px: tuple[int, int], is_held: bool) -> None:
        """Moves the camera for the frame that is shown at `present_ns`. is_held: True while a mouse button is held."""
        if window_px != self._size_px:
            self._size_px = window_px
            self._begin_bounds()
            self._camera.resize(self._bounds.directions.view, self._bounds.directions.slopes, window_px[1])
        if drawn.newest != self._sampled and (
            self._samples < FIRST_SAMPLES or abs(present_ns - self._sampled_ns) >= self._interval_ns
        ):
            self._sampled, self._sampled_ns, self._samples = drawn.newest, present_ns, self._samples + 1
            self._take(drawn.rate)
        bounds, newest = self._bounds, self._bounds.newest
        if newest is None:
            self._camera.advance(present_ns, None, None, 0.0, is_held)
            return
        now = bounds.between(drawn.first_ns, drawn.last_ns, drawn.gap_s)
        ahead = bounds.between(drawn.first_ns, drawn.last_ns + round(AHEAD_S * drawn.rate * 1e9), drawn.gap_s)
        standing = self._camera.pose
        pose = self._camera.advance(present_ns, now, ahead, newest.alone_m, is_held)
        if pose is not standing:
            assert now is not None
            self._place(pose, now)

    def _take(self, rate: float) -> None:
        """Samples the newest bodies. rate: simulated seconds per second."""
        placed = self._shapes.placed(self._sample, MOST_BODIES)
        if placed is not None:
            self._bounds.add(placed.sampled, placed.shapes, rate)
            self._interval_ns = 1e9 / SAMPLES_PER_S * max(1.0, len(placed.sampled.bodies) / OFTEN_BODIES)

    def _begin_bounds(self) -> None:
        """Begins new bounds, without samples."""
        width_px, height_px = self._size_px
        view = self._orbit.framed_view(max(width_px, 1) / max(height_px, 1))
        self._bounds = BodyBounds(Directions(view, self._origin, REST_SHARE), self._shapes.scene.outline)
        self._sampled, self._samples = None, 0

    def _place(self, pose: Pose, bounds: Extents) -> None:
        """Moves the orbit camera to this pose. bounds: the bodies, for the near and the far plane."""
        orbit, directions, axes = self._orbit, self._bounds.directions, self._axes
        x, y, z = (float(value) for value in directions.origin + pose[:3] @ axes)
        orbit.target = x, y, z
        orbit.distance_m = min(max(float(pose[DISTANCE]), MIN_DISTANCE_M), MAX_DISTANCE_M)
        middle = np.array([bounds[RIGHT] - bounds[LEFT], bounds[UP] - bounds[DOWN], bounds[NEAR] - bounds[FAR]]) / 2
        size = np.array([bounds[RIGHT] + bounds[LEFT], bounds[UP] + bounds[DOWN], bounds[NEAR] + bounds[FAR]])
        radius_m = float(np.linalg.norm(size)) / 2
        mx, my, mz = (float(value) for value in directions.origin + middle @ axes)
        moved_m = math.dist(self._origin, orbit.target)
        orbit.reach_m = max(self._first_reach_m + moved_m, math.dist((mx, my, mz), orbit.target) + radius_m)
        small_m = 0.0 if orbit.among is None else orbit.among.small_size_m
        orbit.among = Surroundings((mx, my, mz), radius_m, small_m)
