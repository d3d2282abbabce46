"""The camera of a scene has a position, a target and a projection. It may move with a body.

Always: a `Camera` that exists is valid; an invalid camera raises SceneError. `Scene.check_bodies` checks that the
camera's body exists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from twixt.ipc.errors import text_of
from twixt.ipc.scene.checks import SceneError, SceneTypeError, Vector, flag, lengths, number, set_field, vector
from twixt.ipc.scene.groups import body_index

# Smallest accepted angle between `up` and the line of sight.
LEAST_ANGLE_RAD = 1e-6
Z_UP: Vector = (0.0, 0.0, 1.0)
CENTRE = (0.0, 0.0)


@dataclass(frozen=True)
class Camera:
    """A camera at `eye` that looks at `target`. Positions are in metres, angles in degrees.

    orthographic: False for a perspective picture. A number is the height that an orthographic picture shows, in
    metres. True stands for the height that `fov_y_deg` shows at the target; the field is then set to this height. An
    orthographic picture also shows objects that are very near to the camera. The distance between `eye` and `target`
    has no effect on it.
    body: None, or the index of a body that the camera moves with. `eye` and `target` are then in that body's frame.
    turns: True if the camera also turns with that body, False if it only moves with the body.
    up: vector of any length that points up in the picture. If `body` is given, `up` is in that body's frame. It must
    not be parallel to the line of sight. Only the default `up` may be parallel to the line of sight. The camera then
    looks straight down; x points to the right and y points up, as on a map.
    principal_point: position of `target` in the picture, as two distances from the picture's middle: to the right and
    up. Each distance is a fraction of the picture's height, from -1 to 1. (0, 0) is the middle. `principal_point`
    changes neither the angle of view nor the height that the picture shows.
    """

    eye: Vector = (6.0, -8.0, 5.0)
    target: Vector = (0.0, 0.0, 0.0)
    fov_y_deg: float = 45.0
    body: int | None = None
    orthographic: bool | float = False
    turns: bool = True
    up: Vector = Z_UP
    principal_point: tuple[float, float] = CENTRE

    def __post_init__(self) -> None:
        for name in ("eye", "target"):
            set_field(self, name, vector(f"Camera.{name}", getattr(self, name)))
        set_field(self, "fov_y_deg", number("Camera.fov_y_deg", self.fov_y_deg))
        if math.dist(self.eye, self.target) == 0:
            raise SceneError(f"Camera.eye and Camera.target must differ, got {text_of(self.eye)} for both")
        if not 1 <= self.fov_y_deg <= 170:
            raise SceneError(f"Camera.fov_y_deg must be from 1 to 170, got {text_of(self.fov_y_deg)}")
        if self.body is not None:
            set_field(self, "body", body_index("Camera.body", self.body))
        # Defaults are not checked. This saves time, because a world may make a new camera in every step.
        if self.up is not Z_UP:
            set_field(self, "up", vector("Camera.up", self.up))
            self._require_up()
        if self.principal_point is not CENTRE:
            set_field(self, "principal_point", self._principal_point())
        set_field(self, "orthographic", self._height())
        set_field(self, "turns", flag("Camera.turns", self.turns))

    def _require_up(self) -> None:
        x, y, z = _unit(self.up)
        if not x and not y and z:
            return
        (to_x, to_y, to_z), (from_x, from_y, from_z) = self.target, self.eye
        across, along, deep = _unit((to_x - from_x, to_y - from_y, to_z - from_z))
        if math.hypot(y * deep - z * along, z * across - x * deep, x * along - y * across) <= LEAST_ANGLE_RAD:
            raise SceneError(
                f"Camera.up must not be 0 and not point along the line of sight, got {text_of(self.up)}; "
                "leave it out for z up"
            )

    def _principal_point(self) -> tuple[float, float]:
        given = self.principal_point
        try:
            x, y = (number("Camera.principal_point", value) for value in given)
            if max(abs(x), abs(y)) <= 1:
                return x, y
        except (TypeError, ValueError):
            pass
        raise SceneError(
            "Camera.principal_point must be two numbers from -1 to 1, shares of the picture's height from its middle, "
            f"got {text_of(given)}"
        )

    def _height(self) -> float | Literal[False]:
        """Height that an orthographic picture shows, in metres; False for a perspective picture."""
        given = self.orthographic
        if isinstance(given, bool | np.bool_):
            seen_m = 2 * math.dist(self.eye, self.target) * math.tan(math.radians(self.fov_y_deg) / 2)
            return seen_m if given else False
        try:
            return lengths("Camera.orthographic", given, 1)[0]
        except SceneError:
            raise SceneError(
                "Camera.orthographic must be the height of the picture in metres, > 0, or True for the height that "
                f"fov_y_deg sees at the target, or False for perspective, got {text_of(given)}"
            ) from None


def _unit(vector: Vector) -> Vector:
    """Returns the vector, scaled to length 1. The zero vector stays zero."""
    largest = max(map(abs, vector))
    if not largest:
        return vector
    # The vector is first divided by its largest component, because the squares of very small numbers would be 0.
    x, y, z = (value / largest for value in vector)
    length = math.hypot(x, y, z)
    return x / length, y / length, z / length


def check_camera(name: str, camera: Any) -> None:
    """Raises SceneError unless `camera` is a Camera or None."""
    if camera is not None and not isinstance(camera, Camera):
        raise SceneTypeError(f"{name} must be Camera(eye, target), or None for all bodies, got {text_of(camera)}")
