"""Where the picture is seen from: a camera that orbits a target, and the two matrices drawing needs.

The one idea: a camera is a target, a distance and two angles; mouse movements change those four, and the
matrices are computed from them for the size of the picture at hand.

Always: z stays up, the target stays in the middle of the picture, `near_m > 0`, and every figure is finite.
Pure: numbers in, numbers out. It knows no window and no body; to follow a body, give `follow` its drawn
position of the same frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Camera, Scene
from twixt.ipc.snapshot import VISIBLE
from twixt.render.interpolation.trust import FARTHEST

# From straight below to straight above; beyond that the world would stand on its head.
MAX_ELEVATION_RAD = math.pi / 2
# Nearer to the vertical than this share of its distance, a camera looks straight down or up: with x to the right,
# as on a map.
VERTICAL_SHARE = 1e-6
MAP_AZIMUTH_RAD = math.radians(-90)
# A drag across the whole height of the window turns the camera by this much.
ORBIT_RAD_PER_HEIGHT = math.pi
# One notch of a mouse wheel changes the distance by this factor.
ZOOM_PER_NOTCH = 0.9
MOST_NOTCHES = 300  # at once; from one end of the distances to the other
# Within these, squares of lengths keep their digits in the shaders.
MIN_DISTANCE_M = 1e-7
MAX_DISTANCE_M = 1e13
# What is nearer than this share of the distance is cut off: near enough to fly into a pile of bodies, far
# enough that a 24-bit depth buffer still orders bodies at the far end (near : far <= 1 : 10,000).
NEAR_SHARE = 1 / 200
FAR_SHARE = 50
# But no more than a quarter of a small body is cut off where the camera stands among bodies: its target may be far
# away. Of the way to the farthest body at least this share is: else depth is too coarse there by a pixel's width.
LEAST_NEAR_SHARE = 1 / 20_000
# Farther than both from the middle body, one has flown off and is not framed: metres, and times as far as half of them.
FLOWN_OFF_M, FLOWN_OFF_SPREADS = 1e7, 1000
# However near the camera goes, everything within this many scene radii stays in sight.
FAR_REACHES = 8
# Room left around what is framed.
FRAMING_MARGIN = 1.08
# From where a scene without a camera is seen: from the right, the front, and above.
DEFAULT_AZIMUTH_RAD = math.radians(-60)
DEFAULT_ELEVATION_RAD = math.radians(24)
DEFAULT_FOV_Y_DEG = 40.0

Matrix = NDArray[np.float32]


class CameraMatrices(NamedTuple):
    """A camera, ready to draw with. Matrices multiply column vectors; the projection is OpenGL's (-1..1)."""

    view: Matrix  # (4, 4) world to eye
    projection: Matrix  # (4, 4) eye to clip
    eye: tuple[float, float, float]  # metres, world
    target: tuple[float, float, float]  # what it looks at


class Bounds(NamedTuple):
    """An axis-aligned box in the world, metres."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]


class Surroundings(NamedTuple):
    """What a camera may stand among. middle: None where the camera is carried, so that it may be anywhere."""

    middle: tuple[float, float, float] | None
    radius_m: float  # of the ball around all bodies
    grain_m: float  # a quarter of what small bodies reach


@dataclass
class OrbitCamera:
    """A camera on a sphere around `target`. Angles in radians, lengths in metres."""

    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    distance_m: float = 10.0
    azimuth_rad: float = DEFAULT_AZIMUTH_RAD  # of the eye, from +x towards +y
    elevation_rad: float = DEFAULT_ELEVATION_RAD
    fov_y_deg: float = DEFAULT_FOV_Y_DEG
    reach_m: float = 0.0  # radius of the whole scene, for the far plane
    among: Surroundings | None = None  # for the near plane

    @staticmethod
    def from_camera(camera: Camera) -> OrbitCamera:
        """The orbit camera that sees what the scene's own camera sees."""
        offset = np.subtract(camera.eye, camera.target)
        distance_m = float(np.linalg.norm(offset))
        elevation_rad = math.atan2(offset[2], math.hypot(offset[0], offset[1]))
        is_vertical = math.hypot(offset[0], offset[1]) < VERTICAL_SHARE * distance_m
        return OrbitCamera(
            target=_three(camera.target),
            distance_m=distance_m,
            azimuth_rad=MAP_AZIMUTH_RAD if is_vertical else math.atan2(offset[1], offset[0]),
            elevation_rad=elevation_rad,
            fov_y_deg=camera.fov_y_deg,
        )

    @staticmethod
    def framing(bounds: Bounds, aspect: float = 4 / 3) -> OrbitCamera:
        """A camera that sees the whole box `bounds` in a picture of this width / height, whatever the orbit."""
        center = np.add(bounds.low, bounds.high) / 2
        radius_m = float(np.linalg.norm(np.subtract(bounds.high, bounds.low))) / 2
        radius_m = max(radius_m, MIN_DISTANCE_M) if radius_m > 0 else 1.0
        half_fov_rad = math.radians(DEFAULT_FOV_Y_DEG) / 2
        half_fov_rad = min(half_fov_rad, math.atan(math.tan(half_fov_rad) * aspect))
        distance_m = FRAMING_MARGIN * radius_m / math.sin(half_fov_rad)
        return OrbitCamera(target=_three(center), distance_m=min(distance_m, MAX_DISTANCE_M), reach_m=radius_m)

    @staticmethod
    def for_scene(scene: Scene, bodies: NDArray[np.void], aspect: float = 4 / 3) -> OrbitCamera:
        """The scene's own camera, or one that frames all bodies. bodies: dtype `BODY`, shape (n,)."""
        framing = OrbitCamera.framing(bounds_of(scene, bodies), aspect)
        camera, middle = framing, framing.target
        if scene.camera is not None:
            camera = OrbitCamera.from_camera(scene.camera)
            camera.reach_m = framing.reach_m + math.dist(middle, camera.target)
        is_carried = scene.camera is not None and scene.camera.body is not None
        camera.among = Surroundings(None if is_carried else middle, framing.reach_m, grain_of(scene, bodies))
        return camera

    def orbit(self, dx_px: float, dy_px: float, height_px: int) -> None:
        """Turns with the mouse: the world follows the pointer. dy_px grows downwards."""
        turn = ORBIT_RAD_PER_HEIGHT / max(height_px, 1)
        self.azimuth_rad = math.remainder(self.azimuth_rad - dx_px * turn, math.tau)
        self.elevation_rad = max(-MAX_ELEVATION_RAD, min(MAX_ELEVATION_RAD, self.elevation_rad + dy_px * turn))

    def pan(self, dx_px: float, dy_px: float, height_px: int) -> None:
        """Moves sideways: what is under the pointer at the target's depth stays under it."""
        metres_per_px = 2 * self.distance_m * math.tan(math.radians(self.fov_y_deg) / 2) / max(height_px, 1)
        right, up, _ = self._axes()
        self.target = _three(np.asarray(self.target) + (-dx_px * right + dy_px * up) * metres_per_px)

    def zoom(self, notches: float) -> None:
        """Nearer by one wheel notch for each; negative: farther."""
        notches = max(-MOST_NOTCHES, min(MOST_NOTCHES, notches))
        self.distance_m = max(MIN_DISTANCE_M, min(MAX_DISTANCE_M, self.distance_m * ZOOM_PER_NOTCH**notches))

    def follow(self, position: tuple[float, float, float]) -> None:
        """Keeps this point, such as a body's drawn position of the same frame, in the middle. Ignores NaN."""
        if all(math.isfinite(value) for value in position):
            self.target = _three(position)

    @property
    def eye(self) -> tuple[float, float, float]:
        """Where the camera stands, metres, world."""
        return _three(np.asarray(self.target) + self.distance_m * self._axes()[2])

    @property
    def near_m(self) -> float:
        """What is nearer is not drawn."""
        near_m = self.distance_m * NEAR_SHARE
        if self.among is None:
            return near_m
        middle, radius_m, grain_m = self.among
        away_m = radius_m if middle is None else math.dist(self.eye, middle)
        # From outside nothing is near: a tenth of the way to the bodies, which may have spread meanwhile.
        return min(near_m, max(grain_m, (away_m - 2 * radius_m) / 10, (away_m + radius_m) * LEAST_NEAR_SHARE))

    @property
    def far_m(self) -> float:
        """What is farther is not drawn."""
        return max(self.distance_m * FAR_SHARE, self.distance_m + self.reach_m * FAR_REACHES)

    def matrices(self, size_px: tuple[int, int], window_px: tuple[int, int] | None = None) -> CameraMatrices:
        """View and projection for a picture of this size.

        window_px: the window that it is a part of, if so; a narrower part sees as much to the left and right.
        """
        right, up, backward = self._axes()
        eye = np.asarray(self.eye)
        view = np.eye(4)
        view[:3, :3] = right, up, backward
        view[:3, 3] = -view[:3, :3] @ eye
        width_px, height_px = max(size_px[0], 1), max(size_px[1], 1)
        focal = 1 / math.tan(math.radians(self.fov_y_deg) / 2)
        if window_px is not None:
            focal *= min(1.0, width_px / height_px * max(window_px[1], 1) / max(window_px[0], 1))
        near_m, far_m = self.near_m, self.far_m
        projection = np.zeros((4, 4))
        projection[0, 0] = focal * height_px / width_px
        projection[1, 1] = focal
        projection[2, 2] = (near_m + far_m) / (near_m - far_m)
        projection[2, 3] = 2 * near_m * far_m / (near_m - far_m)
        projection[3, 2] = -1.0
        with np.errstate(over="ignore"):  # so far off that numbers end nothing is seen
            return CameraMatrices(view.astype(np.float32), projection.astype(np.float32), _three(eye), self.target)

    def _axes(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Right, up and backward (target to eye) as unit vectors of the world."""
        cos_a, sin_a = math.cos(self.azimuth_rad), math.sin(self.azimuth_rad)
        cos_e, sin_e = math.cos(self.elevation_rad), math.sin(self.elevation_rad)
        right = np.array([-sin_a, cos_a, 0.0])
        up = np.array([-sin_e * cos_a, -sin_e * sin_a, cos_e])
        return right, up, np.array([cos_e * cos_a, cos_e * sin_a, sin_e])


def carried(camera: CameraMatrices, position: NDArray[np.floating], turn: NDArray[np.floating]) -> CameraMatrices:
    """A camera that stands in a body's frame, in the world: the body's drawn position (3,) and unit quaternion xyzw."""
    x, y, z, w = (float(value) for value in turn)
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    if not (np.isfinite(rotation).all() and np.isfinite(position).all()):
        return camera
    to_body = np.eye(4)
    to_body[:3, :3] = rotation.T
    to_body[:3, 3] = -rotation.T @ np.asarray(position, np.float64)
    eye, target = (rotation @ np.asarray(point) + position for point in (camera.eye, camera.target))
    return camera._replace(
        view=(camera.view.astype(np.float64) @ to_body).astype(np.float32), eye=_three(eye), target=_three(target)
    )


def bounds_of(scene: Scene, bodies: NDArray[np.void]) -> Bounds:
    """The box around all visible bodies and the scene's outline; a metre around the origin when there are none.

    Without bodies too far off to be drawn, or to be seen together with the others.
    """
    radius = _radii(scene, bodies)
    drawn = (bodies["flags"] & VISIBLE) != 0
    # One column after the other: a reduction along the records would walk 64-byte strides three times slower.
    columns = [np.ascontiguousarray(bodies["position"][:, axis]) for axis in range(3)]
    drawn &= np.isfinite(radius)
    for column in columns:
        drawn &= np.abs(column) < FARTHEST
    drawn = _within_sight(columns, drawn)
    corners: list[tuple[float, float]] = []
    for axis, column in enumerate(columns):
        ends = [float(np.min((column - radius)[drawn])), float(np.max((column + radius)[drawn]))] if drawn.any() else []
        if scene.outline is not None:
            ends += [scene.outline[0][axis], scene.outline[1][axis]]
        corners.append((min(ends), max(ends)) if ends else (-1.0, 1.0))
    return Bounds(_three([low for low, _ in corners]), _three([high for _, high in corners]))


def grain_of(scene: Scene, bodies: NDArray[np.void]) -> float:
    """A quarter of what bodies reach of which a quarter are smaller, metres; 0 of none."""
    radius = _radii(scene, bodies)
    radius = radius[((bodies["flags"] & VISIBLE) != 0) & np.isfinite(radius) & (radius > 0)]
    at = (len(radius) - 1) // 4
    return float(np.partition(radius, at)[at]) / 4 if len(radius) else 0.0


def _radii(scene: Scene, bodies: NDArray[np.void]) -> NDArray[np.float32]:
    reach = np.array([shape.reach for shape in scene.distinct_shapes] or [0.5], np.float32)
    return reach[scene.shape_rows(len(bodies))] * bodies["scale"].astype(np.float32)


def _within_sight(columns: list[NDArray[np.float32]], drawn: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which bodies a camera should have in one picture: all; where some have flown off, those around the middle one."""
    kept = [column[drawn].astype(np.float64) for column in columns]
    if not drawn.any() or max(np.ptp(column) for column in kept) <= FLOWN_OFF_M:
        return drawn
    half = (len(kept[0]) - 1) // 2
    middles = [np.partition(column, half)[half] for column in kept]
    off = [np.abs(column - middle) for column, middle in zip(kept, middles, strict=True)]
    spread_m = max(float(np.partition(distances, half)[half]) for distances in off)
    farthest_m = min(max(FLOWN_OFF_M, FLOWN_OFF_SPREADS * spread_m), MAX_DISTANCE_M)
    near = drawn.copy()
    for column, middle in zip(columns, middles, strict=True):
        near &= np.abs(column.astype(np.float64) - middle) <= farthest_m
    return near if near.any() else drawn


def _three(values: object) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)  # type: ignore[attr-defined]
    return x, y, z
