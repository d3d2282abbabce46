"""The camera of a scene has a position, a target and a projection. It may move with a body.

Always: a `Camera` that exists is valid; an invalid camera raises SceneError. `Scene.check_bodies` checks that the
camera's body exists.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twixt.ipc.errors import named_arguments, text_of
from twixt.ipc.process.renamed import FormerArgument, FormerAttribute, former_arguments, former_attributes
from twixt.ipc.scene.checks import SceneError, SceneTypeError, Vector, flag, lengths, number, set_field, vector
from twixt.ipc.scene.groups import body_index

# Smallest accepted angle between `up` and the line of sight.
LEAST_ANGLE_RAD = 1e-6
Z_UP: Vector = (0.0, 0.0, 1.0)
CENTRE = (0.0, 0.0)


def height_at_target(eye: Any, target: Any, fov_y_deg: Any) -> float:
    """Height in metres that a perspective camera shows at its target. Raises SceneError for invalid arguments."""
    distance_m = math.dist(vector("Camera.eye", eye), vector("Camera.target", target))
    return 2 * distance_m * math.tan(math.radians(number("Camera.fov_y_deg", fov_y_deg)) / 2)


def _height_of(orthographic: Any, others: Mapping[str, Any]) -> Any:
    """The value of `orthographic_height` that the former argument `orthographic` stood for."""
    if not isinstance(orthographic, bool | np.bool_):
        return orthographic
    return height_at_target(others["eye"], others["target"], others["fov_y_deg"]) if orthographic else None


@former_attributes(
    {
        "turns": "rotates_with_body",
        "orthographic": FormerAttribute(
            "Camera.orthographic_height", lambda camera: camera.orthographic_height or False
        ),
    }
)
@former_arguments(
    {
        "turns": "rotates_with_body",
        "orthographic": FormerArgument("orthographic_height", "orthographic_height=", _height_of),
    }
)
@named_arguments
@dataclass(frozen=True)
class Camera:
    """A camera at `eye` that looks at `target`.

    Args:
        eye: Position of the camera, (x, y, z) in metres.
        target: Point that the camera looks at, (x, y, z) in metres. `target` must differ from `eye`.
        fov_y_deg: Vertical angle of view, in degrees, from 1 to 170.
        body: None, or the index of a body with which the camera moves. `eye` and `target` are then in that body's
            frame.
        orthographic_height: None for a perspective picture. For an orthographic picture, the height that it shows, in
            metres. In an orthographic picture, `fov_y_deg` and the distance between `eye` and `target` have no effect,
            and objects that are very near to the camera are drawn. An orthographic camera that looks straight down or
            up, and that no body turns, gives a 2D view: dragging the mouse only pans.
        rotates_with_body: True if the camera also turns with `body`. False if it only moves with the body.
        up: Vector of any length that points up in the picture. If `body` is given, `up` is in that body's frame. `up`
            must not be parallel to the line of sight. The z direction is an exception: a camera that looks straight
            down then shows x to the right and y up, as on a map.
        principal_point: Position of `target` in the picture, as two distances from the picture's middle: to the right
            and up. Each distance is a fraction of the picture's height, from -1 to 1. (0, 0) is the middle. The
            principal point changes neither the angle of view nor the height that the picture shows.
        locked: True if the user cannot move the camera: drags, the mouse wheel and the key F leave the view as it is.
            Clicks and pulls on bodies still work. The program can still publish another camera.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError.

    Examples:
        ```python
        from twixt import Camera, Scene, Sphere

        scene = Scene([Sphere()], camera=Camera(eye=(6, 4, 3), target=(0, 0, 0.5), fov_y_deg=40))
        map_view = Camera((0, 0, 10), (0, 0, 0), orthographic_height=8.0)
        ```
    """

    eye: Vector = (6.0, -8.0, 5.0)
    target: Vector = (0.0, 0.0, 0.0)
    fov_y_deg: float = 45.0
    body: int | None = None
    orthographic_height: float | None = None
    rotates_with_body: bool = True
    up: Vector = Z_UP
    principal_point: tuple[float, float] = CENTRE
    locked: bool = False

    def __init__(
        self,
        eye: ArrayLike = (6.0, -8.0, 5.0),
        target: ArrayLike = (0.0, 0.0, 0.0),
        fov_y_deg: float = 45.0,
        body: int | None = None,
        orthographic_height: float | None = None,
        rotates_with_body: bool = True,
        up: ArrayLike = Z_UP,
        principal_point: ArrayLike = CENTRE,
        locked: bool = False,
    ) -> None:
        set_field(self, "eye", vector("Camera.eye", eye))
        set_field(self, "target", vector("Camera.target", target))
        set_field(self, "fov_y_deg", number("Camera.fov_y_deg", fov_y_deg))
        if math.dist(self.eye, self.target) == 0:
            raise SceneError(f"Camera.eye and Camera.target must differ, got {text_of(self.eye)} for both")
        if not 1 <= self.fov_y_deg <= 170:
            raise SceneError(f"Camera.fov_y_deg must be from 1 to 170, got {text_of(self.fov_y_deg)}")
        set_field(self, "body", None if body is None else body_index("Camera.body", body))
        # Defaults are not checked. This saves time, because a world may make a new camera in every step.
        set_field(self, "up", Z_UP if up is Z_UP else vector("Camera.up", up))
        if up is not Z_UP:
            self._require_up()
        is_centred = principal_point is CENTRE
        set_field(self, "principal_point", CENTRE if is_centred else _principal_point(principal_point))
        set_field(self, "orthographic_height", None if orthographic_height is None else _height(orthographic_height))
        set_field(self, "rotates_with_body", flag("Camera.rotates_with_body", rotates_with_body))
        set_field(self, "locked", flag("Camera.locked", locked))

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


def _principal_point(given: Any) -> tuple[float, float]:
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


def _height(given: Any) -> float:
    try:
        if not isinstance(given, bool | np.bool_):
            return lengths("Camera.orthographic_height", given, 1)[0]
    except SceneError:
        pass
    raise SceneError(
        "Camera.orthographic_height must be the height of the picture in metres, > 0, or None for perspective, "
        f"got {text_of(given)}"
    )


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
