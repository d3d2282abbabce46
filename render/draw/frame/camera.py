"""An orbit camera has a target, a distance and three angles. From these it computes the view and projection matrices.

Mouse movements change target, distance and angles. The matrices are then computed for the size of the picture. In the
plane through the target, an orthographic camera shows as much as a perspective camera at the same distance. So mouse
movements have the same effect on both.

Always: the target is at the principal point, by default the middle of the picture, and `near_m > 0`. When a rolled
camera orbits, it turns until the picture is upright, so that z points up. Pure: takes and returns numbers, without a
window. To follow a body, pass the body's drawn position in the same frame to `follow`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Camera, Scene
from twixt.render.draw.frame.framing import FramedView, bounds_of, framed_balls, place_for, small_size_of

# Largest elevation: the camera looks straight down. The least elevation is its negative: the camera looks straight up.
# Beyond these limits the picture would be upside down.
MAX_ELEVATION_RAD = math.pi / 2
# A camera looks straight down or up if the horizontal distance from eye to target is below this share of the whole
# distance. The world's x axis then points to the right in the picture, as on a map, unless the camera has an `up`.
VERTICAL_SHARE = 1e-6
MAP_AZIMUTH_RAD = math.radians(-90)
# A roll smaller than this angle is a rounding error.
LEAST_ROLL_RAD = 1e-9
# Angle by which the camera turns when the pointer is dragged over the whole height of the window.
ORBIT_RAD_PER_HEIGHT = math.pi
# Factor by which one notch of the mouse wheel changes the camera's distance.
ZOOM_PER_NOTCH = 0.9
MOST_NOTCHES = 300  # largest number of notches in one call; they change the distance by a factor of at most 5e13
# Limits of the camera's distance. Within them, the shaders can square a length without losing digits.
MIN_DISTANCE_M = 1e-7
MAX_DISTANCE_M = 1e13
# Distances of the near plane and of the far plane from the eye, as multiples of the camera's distance from its target.
# The near plane is so near that the camera can move into a pile of bodies. The distances of the two planes have a ratio
# of 1 : 10,000. With this ratio, a 24-bit depth buffer still orders bodies correctly at the far plane.
NEAR_SHARE = 1 / 200
FAR_SHARE = 50
# The target may be far away while the camera is among bodies. So the near plane is then at most a quarter of a small
# body's radius away from the eye. But the near plane is never nearer than LEAST_NEAR_SHARE of the distance to the
# farthest body. So depth steps at the farthest body stay below the width of a pixel.
LEAST_NEAR_SHARE = 1 / 20_000
# The far plane is behind the target by at least this many times the scene's radius.
FAR_REACHES = 8
# View of a scene that has no camera: the eye is to the right of the scene, in front of it and above it.
DEFAULT_AZIMUTH_RAD = math.radians(-60)
DEFAULT_ELEVATION_RAD = math.radians(24)
DEFAULT_FOV_Y_DEG = 40.0
CENTRE = (0.0, 0.0)

Matrix = NDArray[np.float32]
Viewport = tuple[int, int, int, int]  # left, bottom, width and height in px


class CameraMatrices(NamedTuple):
    """View and projection of one picture. The matrices multiply column vectors. The depth in clip space is OpenGL's
    (-1..1)."""

    view: Matrix  # (4, 4), converts from world to eye space
    projection: Matrix  # (4, 4), converts from eye space to clip space
    eye: tuple[float, float, float]  # position of the eye in the world, in metres
    target: tuple[float, float, float]  # position of the target in the world, in metres
    orthographic: bool = False


class Surroundings(NamedTuple):
    """A ball around all bodies, which is used to place the near plane.

    middle: centre of the ball in the world, in metres. None if a body carries the camera, because the camera may then
    be anywhere in the ball.
    """

    middle: tuple[float, float, float] | None
    radius_m: float
    small_size_m: float  # a quarter of a small body's radius, see `small_size_of`


@dataclass
class OrbitCamera:
    """A camera on a sphere around `target`. Angles are in radians, lengths in metres."""

    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    distance_m: float = 10.0
    azimuth_rad: float = DEFAULT_AZIMUTH_RAD  # direction from target to eye, as an angle from +x towards +y
    elevation_rad: float = DEFAULT_ELEVATION_RAD
    roll_rad: float = 0.0  # clockwise angle of the camera about its line of sight; the picture turns counter-clockwise
    fov_y_deg: float = DEFAULT_FOV_Y_DEG
    orthographic: bool = False
    principal_point: tuple[float, float] = CENTRE  # see `Camera`
    reach_m: float = 0.0  # radius of the whole scene, measured from the target; used to place the far plane
    # the ball around all bodies, used to place the near plane; None if it is not known
    among: Surroundings | None = None
    # True if the program's camera is orthographic and looks straight down or up, and no body turns it. Drags then pan.
    is_flat: bool = False
    locked: bool = False  # see `Camera`

    @staticmethod
    def from_camera(camera: Camera) -> OrbitCamera:
        """Returns an orbit camera with the same view as the scene's own camera."""
        offset = np.subtract(camera.eye, camera.target)
        distance_m, fov_y_deg = float(np.linalg.norm(offset)), camera.fov_y_deg
        elevation_rad = math.atan2(offset[2], math.hypot(offset[0], offset[1]))
        is_vertical = math.hypot(offset[0], offset[1]) < VERTICAL_SHARE * distance_m
        azimuth_rad = math.atan2(offset[1], offset[0])
        if is_vertical:  # the azimuth then stands for `up`, without a roll
            below, (x, y, _) = -math.copysign(1.0, offset[2]), camera.up
            azimuth_rad = math.atan2(below * y, below * x) if x or y else MAP_AZIMUTH_RAD
        if camera.orthographic_height:
            fov_y_deg = DEFAULT_FOV_Y_DEG
            distance_m = camera.orthographic_height / 2 / math.tan(math.radians(fov_y_deg) / 2)
            distance_m = min(max(distance_m, MIN_DISTANCE_M), MAX_DISTANCE_M)
        made = OrbitCamera(
            target=_xyz(camera.target),
            distance_m=distance_m,
            azimuth_rad=azimuth_rad,
            elevation_rad=elevation_rad,
            fov_y_deg=fov_y_deg,
            orthographic=bool(camera.orthographic_height),
            principal_point=camera.principal_point,
            locked=camera.locked,
        )
        if is_vertical:
            made.is_flat = made.orthographic and (camera.body is None or not camera.rotates_with_body)
        else:
            right, up, _ = made._axes()
            roll_rad = math.atan2(float(right @ camera.up), float(up @ camera.up))
            made.roll_rad = roll_rad if abs(roll_rad) > LEAST_ROLL_RAD else 0.0
        return made

    def as_camera(self, body: int | None = None, rotates_with_body: bool = True) -> Camera:
        """Returns a camera for a scene, with the same view as this camera. body, rotates_with_body: as in `Camera`."""
        height_m = 2 * self.distance_m * math.tan(math.radians(self.fov_y_deg) / 2)
        is_vertical = math.cos(self.elevation_rad) < VERTICAL_SHARE
        is_upright = not self.roll_rad and (not is_vertical or self.azimuth_rad == MAP_AZIMUTH_RAD)
        up = (0.0, 0.0, 1.0) if is_upright else _xyz(self._axes()[1])
        return Camera(
            self.eye,
            self.target,
            self.fov_y_deg,
            body,
            height_m if self.orthographic else None,
            rotates_with_body,
            up,
            self.principal_point,
            self.locked,
        )

    @staticmethod
    def for_scene(scene: Scene, bodies: NDArray[np.void], aspect: float = 4 / 3) -> OrbitCamera:
        """Returns the scene's own camera. If there is none, returns a camera that shows all bodies. bodies: dtype
        `BODY`, shape (n,)."""
        if scene.camera is None:
            camera = OrbitCamera()
            camera.frame(scene, bodies, aspect)
        else:
            camera = OrbitCamera.from_camera(scene.camera)
            camera.surround(scene, bodies)
        return camera

    def frame(self, scene: Scene, bodies: NDArray[np.void], aspect: float = 4 / 3) -> None:
        """Moves the camera so that it shows all bodies in the middle of the picture. The direction of view does not
        change.

        bodies: dtype `BODY`, shape (n,). aspect: width of the picture divided by its height.
        """
        self.principal_point = CENTRE
        self.target, distance_m = place_for(framed_balls(scene, bodies), self.framed_view(aspect))
        self.distance_m = min(max(distance_m, MIN_DISTANCE_M), MAX_DISTANCE_M)
        self.surround(scene, bodies)

    def framed_view(self, aspect: float) -> FramedView:
        """Lens and directions of the camera. aspect: width of the picture divided by its height."""
        tangent = math.tan(math.radians(self.fov_y_deg) / 2)
        return FramedView(*self._axes(), tangent, aspect, self.orthographic)

    def surround(self, scene: Scene, bodies: NDArray[np.void]) -> None:
        """Places the near and the far plane so that all bodies are between them. bodies: dtype `BODY`, shape (n,)."""
        bounds = bounds_of(scene, bodies)
        is_carried = scene.camera is not None and scene.camera.body is not None
        self.reach_m = bounds.radius_m + math.dist(bounds.middle, self.target)
        middle = None if is_carried else bounds.middle
        self.among = Surroundings(middle, bounds.radius_m, small_size_of(scene, bodies))

    def orbit(self, dx_px: float, dy_px: float, height_px: int) -> None:
        """Turns the camera when the pointer moves, so that the world follows the pointer. dy_px is positive downwards.
        If the camera is rolled, its roll is reduced by the same angle until the picture is upright."""
        turn = ORBIT_RAD_PER_HEIGHT / max(height_px, 1)
        if self.roll_rad:
            cosine, sine = math.cos(self.roll_rad), math.sin(self.roll_rad)
            upright_rad = math.hypot(dx_px, dy_px) * turn
            dx_px, dy_px = dx_px * cosine - dy_px * sine, dx_px * sine + dy_px * cosine
            self.roll_rad = math.copysign(max(0.0, abs(self.roll_rad) - upright_rad), self.roll_rad)
        self.azimuth_rad = math.remainder(self.azimuth_rad - dx_px * turn, math.tau)
        self.elevation_rad = max(-MAX_ELEVATION_RAD, min(MAX_ELEVATION_RAD, self.elevation_rad + dy_px * turn))

    def pan(self, dx_px: float, dy_px: float, height_px: float) -> None:
        """Moves the target sideways. A point at the same depth as the target then stays under the pointer.

        height_px: height of the picture; of one half of a window, times the result of `narrowed`.
        """
        metres_per_px = 2 * self.distance_m * math.tan(math.radians(self.fov_y_deg) / 2) / max(height_px, 1)
        right, up, _ = self._axes()
        self.target = _xyz(np.asarray(self.target) + (-dx_px * right + dy_px * up) * metres_per_px)

    def zoom(self, notches: float) -> None:
        """Moves the camera towards the target. Each notch multiplies the distance by ZOOM_PER_NOTCH. Negative notches
        move the camera away from the target."""
        notches = max(-MOST_NOTCHES, min(MOST_NOTCHES, notches))
        self.distance_m = max(MIN_DISTANCE_M, min(MAX_DISTANCE_M, self.distance_m * ZOOM_PER_NOTCH**notches))

    def follow(self, position: tuple[float, float, float]) -> None:
        """Moves the target to this point, for example to a body's drawn position in the same frame.

        Ignores a point that is not finite.
        """
        if all(math.isfinite(value) for value in position):
            self.target = _xyz(position)

    @property
    def eye(self) -> tuple[float, float, float]:
        """Position of the camera in the world, in metres."""
        return _xyz(np.asarray(self.target) + self.distance_m * self._axes()[2])

    @property
    def near_m(self) -> float:
        """Distance from the eye to the near plane, in metres."""
        near_m = self.distance_m * NEAR_SHARE
        if self.among is None:
            return near_m
        middle, radius_m, small_size_m = self.among
        away_m = radius_m if middle is None else math.dist(self.eye, middle)
        # If the camera is outside all bodies, the place of the near plane depends on the distance from the eye to a
        # ball. This ball has twice the radius of the ball around all bodies. The bodies may have moved apart after the
        # ball around them was computed. The near plane is at a tenth of the distance to the larger ball.
        return min(near_m, max(small_size_m, (away_m - 2 * radius_m) / 10, (away_m + radius_m) * LEAST_NEAR_SHARE))

    @property
    def far_m(self) -> float:
        """Distance from the eye to the far plane, in metres."""
        return max(self.distance_m * FAR_SHARE, self.distance_m + self.reach_m * FAR_REACHES)

    def around_axis(self, viewport: Viewport, window_px: tuple[int, int] | None = None) -> Viewport:
        """Returns the smallest viewport that contains `viewport` and has the principal point in its middle. The method
        `matrices` returns matrices for this larger viewport."""
        if self.principal_point == CENTRE:
            return viewport
        left_px, bottom_px, width_px, height_px = viewport
        height = height_px * narrowed((width_px, height_px), window_px)
        across_px, along_px = (round(share * height) for share in self.principal_point)
        return (
            left_px + min(0, 2 * across_px),
            bottom_px + min(0, 2 * along_px),
            width_px + 2 * abs(across_px),
            height_px + 2 * abs(along_px),
        )

    def matrices(self, size_px: tuple[int, int], window_px: tuple[int, int] | None = None) -> CameraMatrices:
        """Returns the view and the projection for a picture of this size. Draw the picture into the viewport
        `around_axis`.

        window_px: size of the window, given if the picture is one half of the window. The picture may have a smaller
        ratio of width to height than the window. It then still shows as much to the left and right as the whole window.
        """
        right, up, backward = self._axes()
        eye = np.asarray(self.eye)
        view = np.eye(4)
        view[:3, :3] = right, up, backward
        view[:3, 3] = -view[:3, :3] @ eye
        size_px = max(size_px[0], 1), max(size_px[1], 1)
        _, _, width_px, height_px = self.around_axis((0, 0, *size_px), window_px)
        focal = narrowed(size_px, window_px) / math.tan(math.radians(self.fov_y_deg) / 2) * size_px[1] / height_px
        projection = self._parallel(focal) if self.orthographic else self._perspective(focal)
        projection[0, 0] *= height_px / width_px
        with np.errstate(over="ignore"):  # points beyond the range of float32 are not visible
            return CameraMatrices(
                view.astype(np.float32), projection.astype(np.float32), _xyz(eye), self.target, self.orthographic
            )

    def _perspective(self, focal: float) -> NDArray[np.float64]:
        """Returns the projection for a square picture. focal: 1 / tangent of half the field of view."""
        near_m, far_m = self.near_m, self.far_m
        projection = np.diag([focal, focal, (near_m + far_m) / (near_m - far_m), 0.0])
        projection[2, 3] = 2 * near_m * far_m / (near_m - far_m)
        projection[3, 2] = -1.0
        return projection

    def _parallel(self, focal: float) -> NDArray[np.float64]:
        """Returns the orthographic projection for a square picture. At the target it shows the same height as
        `_perspective`.

        The visible depth is as large in front of the target as behind it, so it includes points behind the eye. This is
        possible because orthographic depth is linear and so loses no digits.
        """
        half_height_m, half_depth_m = self.distance_m / focal, self.far_m
        projection = np.diag([1 / half_height_m, 1 / half_height_m, -1 / half_depth_m, 1.0])
        projection[2, 3] = -self.distance_m / half_depth_m
        return projection

    def _axes(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Returns the camera's directions to the right, up and backward (from target to eye) as unit vectors of the
        world."""
        cos_a, sin_a = math.cos(self.azimuth_rad), math.sin(self.azimuth_rad)
        cos_e, sin_e = math.cos(self.elevation_rad), math.sin(self.elevation_rad)
        right = np.array([-sin_a, cos_a, 0.0])
        up = np.array([-sin_e * cos_a, -sin_e * sin_a, cos_e])
        if self.roll_rad:
            cosine, sine = math.cos(self.roll_rad), math.sin(self.roll_rad)
            right, up = cosine * right - sine * up, sine * right + cosine * up
        return right, up, np.array([cos_e * cos_a, cos_e * sin_a, sin_e])


def narrowed(size_px: tuple[int, int], window_px: tuple[int, int] | None) -> float:
    """Returns a factor on the focal length. It differs from 1 only if the picture has a smaller ratio of width to
    height than its window."""
    if window_px is None:
        return 1.0
    return min(1.0, max(size_px[0], 1) / max(size_px[1], 1) * max(window_px[1], 1) / max(window_px[0], 1))


def carried(camera: CameraMatrices, position: NDArray[np.floating], turn: NDArray[np.floating]) -> CameraMatrices:
    """Converts a camera that is given in a body's frame to the world frame.

    position: the body's drawn position (3,), in metres. turn: the body's orientation as a unit quaternion xyzw. If
    position or turn is not finite, `camera` is returned unchanged.
    """
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
        view=(camera.view.astype(np.float64) @ to_body).astype(np.float32), eye=_xyz(eye), target=_xyz(target)
    )


def shift_px(before: CameraMatrices, after: CameraMatrices, body: NDArray[np.floating], height_px: int) -> float:
    """Returns the largest distance in px by which points of the picture move from one carried camera to another. Both
    cameras have the same lens. The distance is computed at the depth of the target or of the body, whichever is nearer.

    body: drawn position of the body that carries the camera, (3,), in metres. height_px: height of the picture.
    """
    # for an orthographic camera, focal_px is the number of px per metre
    focal_px = abs(float(after.projection[1, 1])) * height_px / 2
    moved_m = max(math.dist(before.eye, after.eye), math.dist(before.target, after.target))
    turned = float(np.linalg.norm(after.view[:3, :3] - before.view[:3, :3]))
    if after.orthographic:
        return moved_m * focal_px + turned * height_px
    away_m = min(math.dist(after.eye, after.target), math.dist(after.eye, body))
    return (moved_m / away_m + turned) * focal_px if away_m > 0 else math.inf


def _xyz(values: object) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)  # type: ignore[attr-defined]
    return x, y, z
