"""Handles the pointer tool. With it, the user clicks on bodies, and drags them while Ctrl is held.

A click reports the body at the pixel. A double click selects that body. If Ctrl is held and a drag begins on a body,
the drag pulls the clicked point of the body towards the pointer, in the plane of the picture. If a body is selected, a
drag may begin anywhere, as in MuJoCo. The left button then turns the body, and the right button pulls it by the
selected point.

The program may name bodies that the user drags without Ctrl, with the left button. Such a drag always pulls, and a
press that does not move is a click as well.

This module also computes the force of a drag: the force of a damped spring between the body and the pointer.

Always: the tool uses the poses of the previous frame, because that is the frame that the user saw. A drag ends when
its button is released, and the end is reported at once. Events that the tool uses do not move the camera.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.interaction.events import CLICK, Pull, UserEvent
from twixt.ipc.scene import Box, Capsule, Compound, Cylinder, Ellipsoid, Sphere
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.scene.shapes import Shape
from twixt.render.display.input import Event, MouseButton, MouseMove
from twixt.render.input.picking import Hit, Ray, SeenBodies, first_hit, rotation_of

if TYPE_CHECKING:
    from twixt.ipc.session.link import Link
    from twixt.render.scene.stage import Stage


# A press and release within CLICK_PX pixels is a click. Two clicks within DOUBLE_NS are a double click. DOUBLE_NS is
# in ns.
CLICK_PX, DOUBLE_NS = 5.0, 400_000_000
# A pull is reported at most this many times a second.
PULLS_PER_S = 120
# Angle (radians) by which a drag across the whole height of the window turns a body.
TURN_PER_HEIGHT = math.pi
# The dot at the grabbed point is moved towards the eye by this share of the distance between dot and eye. Without
# this, the body's surface would hide the dot.
LIFTED = 0.02
LINE_RGBA, DOT_RGBA, DOT_PX = (255, 190, 60, 255), (255, 120, 40, 255), 8.0


class Grabbed(NamedTuple):
    """A point on a body. point: its position in metres, in the body's frame."""

    body: int
    point: Vector


class Drag(NamedTuple):
    """The current drag. depth_m: distance between the grabbed point and the eye, along the line of sight. button:
    button whose release ends the drag. orientation, from_px: the body's orientation and the pointer's position at
    the beginning of the drag.
    """

    grabbed: Grabbed
    button: str
    is_turn: bool
    depth_m: float
    orientation: Vector
    from_px: tuple[float, float]


class PointerTool:
    """Pointer tool of one viewer. stage: stage (scene and snapshots) that is drawn. link: connection through which
    clicks and pulls are sent to the program. before: tool of the simulation that was drawn before; the pointer is still
    where it was. draggable: bodies that the user drags without Ctrl."""

    def __init__(self, stage: Stage, link: Link, before: PointerTool | None = None) -> None:
        self._seen, self._renderer, self._link = SeenBodies(stage, link), stage.renderer, link
        self._at_px: tuple[float, float] | None = None if before is None else before._at_px
        self.draggable: frozenset[int] = frozenset()
        self._pressed: MouseButton | None = None
        self._pressed_px = (0.0, 0.0)
        self._clicked_ns = -DOUBLE_NS
        self._selected: Grabbed | None = None
        self._drag: Drag | None = None
        self._sent = Pull()
        self._sent_ns = 0
        # from the last report: draw time, position of the point, orientation
        self._before: tuple[int, Vector, Vector] | None = None

    def apply_events(
        self, events: list[Event], size_px: tuple[int, int], draw_time_ns: int, covers: Callable[[float, float], bool]
    ) -> list[Event]:
        """Applies mouse events. Returns the events that the camera may use. covers: function that returns True if a
        panel covers a pixel."""
        left: list[Event] = []
        for event in events:
            if isinstance(event, MouseMove):
                self._at_px = event.x_px, event.y_px
            elif isinstance(event, MouseButton) and self._button(event, size_px, draw_time_ns, covers):
                continue
            if not (isinstance(event, MouseMove) and self._drag is not None):
                left.append(event)
        return left

    def report(self, size_px: tuple[int, int], draw_time_ns: int, now_ns: int) -> None:
        """Reports the pull to the program if it has changed. Call it after a frame that was drawn at
        `draw_time_ns`."""
        if self._grabbed is None and self._sent.body is None:  # there is no pull, and the program already knows this
            return
        pull = self._pull(size_px, draw_time_ns)
        is_over = pull.body is None or not pull.is_held
        if pull == self._sent or (not is_over and now_ns - self._sent_ns < 1e9 / PULLS_PER_S):
            return
        if self._link.send_action(pull):
            self._sent, self._sent_ns = pull, now_ns

    def draw(self, size_px: tuple[int, int]) -> None:
        """Draws the grabbed point over the last picture. During a pull, also draws the line from that point to the
        pointer."""
        grabbed = self._grabbed
        if grabbed is None or (place := self._place(grabbed)) is None:
            return
        renderer = self._renderer
        shown = place[2] + LIFTED * (self._seen.eye - place[2])
        renderer.points(shown[None], DOT_RGBA, DOT_PX)
        if (
            self._drag is not None
            and not self._drag.is_turn
            and (target := self._target(self._drag, size_px)) is not None
        ):
            renderer.lines(shown[None], target[None], LINE_RGBA)

    def point_at(self, x_px: float, y_px: float, size_px: tuple[int, int]) -> tuple[float, float, float] | None:
        """Returns the point at a pixel, in the plane that faces the camera and contains the camera's target. None if
        the pixel is outside the picture or there is no camera. In metres, in world coordinates."""
        ray = self._seen.ray(x_px, y_px, size_px)
        if ray is None:
            return None
        forward = -self._seen.axes[2]
        distance_m = (self._seen.target - ray.origin) @ forward / (ray.direction @ forward)
        return _xyz(ray.origin + distance_m * ray.direction)

    @property
    def is_held(self) -> bool:
        """True while the user drags a body."""
        return self._drag is not None

    @property
    def _grabbed(self) -> Grabbed | None:
        return self._selected if self._drag is None else self._drag.grabbed

    def _button(
        self, event: MouseButton, size_px: tuple[int, int], draw_time_ns: int, covers: Callable[[float, float], bool]
    ) -> bool:
        """Applies a button event. Returns True if the event must not reach the camera."""
        if not event.pressed:
            if self._drag is not None and event.button == self._drag.button:
                self._drag = None
                self._click(event, size_px, draw_time_ns)
                self._watch()
                return True
            self._click(event, size_px, draw_time_ns)
            return False
        if self._at_px is None or covers(*self._at_px):
            self._pressed = None
            return False
        self._pressed, self._pressed_px = event, self._at_px
        if self._drag is not None:
            return False
        if "Ctrl" in event.modifiers:
            return self._begin(event, size_px)
        return bool(self.draggable) and event.button == "left" and self._begin(event, size_px, self.draggable)

    def _begin(self, event: MouseButton, size_px: tuple[int, int], only: frozenset[int] | None = None) -> bool:
        """Begins a drag if a body is selected or under the pointer. Returns True if a drag began. only: if given, the
        bodies that may be dragged; then only the body under the pointer counts, and the press may be a click as
        well."""
        assert self._at_px is not None
        ray = self._ray(size_px)
        grabbed, is_turn = self._selected, event.button == "left"
        if grabbed is None or only is not None:
            is_turn, hit = False, self._hit(ray)
            grabbed = None if hit is None or not (only is None or hit.body in only) else self._grabbed_of(hit)
        place = None if grabbed is None or ray is None else self._place(grabbed)
        if grabbed is None or place is None or ray is None:
            self._watch()
            return False
        if only is None:
            self._pressed = None
        depth_m = float((place[2] - ray.origin) @ -self._seen.axes[2])
        self._drag = Drag(grabbed, event.button, is_turn, depth_m, place[1], self._at_px)
        self._watch()
        return True

    def _click(self, event: MouseButton, size_px: tuple[int, int], draw_time_ns: int) -> None:
        pressed, self._pressed = self._pressed, None
        at_px = self._at_px
        if pressed is None or at_px is None or pressed.button != event.button:
            return
        if math.dist(at_px, self._pressed_px) > CLICK_PX or not self._seen.has_camera:
            return
        hit = self._hit(self._ray(size_px))
        is_double = event.button == "left" and pressed.acted_ns - self._clicked_ns < DOUBLE_NS
        self._clicked_ns = -DOUBLE_NS if is_double else pressed.acted_ns
        if is_double:
            self._selected = None if hit is None else self._grabbed_of(hit)
        self._watch()
        where = None if hit is None else (float(hit.point[0]), float(hit.point[1]), float(hit.point[2]))
        self._link.send_action(
            UserEvent(
                CLICK,
                button=event.button,
                clicks=1 + is_double,
                body=None if hit is None else hit.body,
                point=where,
                acted_ns=event.acted_ns,
                draw_time_ns=draw_time_ns,
                pointer_px=at_px,
                pointer=self.point_at(*at_px, size_px),
            )
        )

    def _pull(self, size_px: tuple[int, int], draw_time_ns: int) -> Pull:
        drag, grabbed = self._drag, self._grabbed
        if grabbed is None:
            self._before = None
            return Pull()
        point = _xyz(grabbed.point)
        place = self._place(grabbed)
        if drag is None or place is None or (target := self._target(drag, size_px)) is None:
            self._before = None
            return Pull(grabbed.body, point, is_held=False)
        middle, orientation, at = place
        position = _xyz(middle)
        moved, rate = self._motion(draw_time_ns, at, orientation)
        shape = self._shape(grabbed.body)
        mass = mass_of(shape)
        if not drag.is_turn:
            spring = pulled(mass, at, target, moved, middle)
            force, torque = _xyz(spring.force), _xyz(spring.torque)
            return Pull(grabbed.body, point, _xyz(at), _xyz(target), force=force, torque=torque, position=position)
        turn = self._turn(drag, size_px)
        spring = turned(mass, shape.reach, turn - rotation_between(drag.orientation, orientation), rate)
        torque = _xyz(spring.torque)
        return Pull(grabbed.body, point, _xyz(at), _xyz(at), True, _xyz(turn), torque=torque, position=position)

    def _motion(self, draw_time_ns: int, at: Vector, orientation: Vector) -> tuple[Vector, Vector]:
        """Velocity of the point (m/s) and angular velocity of the body (rad/s) between the last report and now."""
        before, self._before = self._before, (draw_time_ns, at, orientation)
        if before is None or draw_time_ns <= before[0]:
            return np.zeros(3), np.zeros(3)
        passed_s = (draw_time_ns - before[0]) / 1e9
        return (at - before[1]) / passed_s, rotation_between(before[2], orientation) / passed_s

    def _target(self, drag: Drag, size_px: tuple[int, int]) -> Vector | None:
        """Point under the pointer, at the depth of the grabbed point. It is None if the pointer's position is
        unknown."""
        ray = self._ray(size_px)
        if ray is None:
            return None
        along = float(ray.direction @ -self._seen.axes[2])
        return ray.origin + ray.direction * (drag.depth_m / along)  # type: ignore[no-any-return]

    def _turn(self, drag: Drag, size_px: tuple[int, int]) -> Vector:
        assert self._at_px is not None
        right, up = self._seen.axes[:2]
        across, down = (now - then for now, then in zip(self._at_px, drag.from_px, strict=True))
        return (across * up + down * right) * (TURN_PER_HEIGHT / max(size_px[1], 1))  # type: ignore[no-any-return]

    def _hit(self, ray: Ray | None) -> Hit | None:
        if ray is None:
            return None
        poses = self._seen.all()
        return first_hit(ray, self._seen.scene, poses)

    def _grabbed_of(self, hit: Hit) -> Grabbed:
        poses = self._seen.all()
        turn = rotation_of(poses.orientation[hit.body])
        return Grabbed(hit.body, turn.T @ (hit.point - poses.position[hit.body]))

    def _place(self, grabbed: Grabbed) -> tuple[Vector, Vector, Vector] | None:
        """Position and orientation of the body, and position of the grabbed point, as drawn. It is None if the body is
        not drawn."""
        poses = self._seen.one(grabbed.body)
        if not len(poses) or not np.isfinite(poses.position[0]).all():
            return None
        middle, orientation = poses.position[0].astype(np.float64), poses.orientation[0].astype(np.float64)
        return middle, orientation, middle + rotation_of(orientation) @ grabbed.point

    def _watch(self) -> None:
        """Stops watching bodies if no body is grabbed."""
        if self._grabbed is None:
            self._seen.forget()

    def _ray(self, size_px: tuple[int, int]) -> Ray | None:
        return None if self._at_px is None else self._seen.ray(*self._at_px, size_px)

    def _shape(self, body: int) -> Shape:
        scene = self._seen.scene
        return shape_list(scene).table[int(shape_list(scene).rows_for(body + 1)[body])]


def _xyz(values: Vector) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])


# Computes the spring between a body and the pointer. The spring gives the force and torque on a body that the user
# drags.
#
# The spring is critically damped and has a fixed frequency, as in MuJoCo. Its stiffness is the body's mass times the
# square of `RATE_PER_S`. A viewer does not know the masses of bodies, so it assumes the density of water. An engine
# that knows the masses computes its own force from the same pull (`Pull.target`, `Pull.turn`).
#
# Always: force and torque are finite. They are zero if the grabbed point is at the pointer and at rest. Pure.


# Rate of the spring, per second. With this rate, the distance between body and pointer falls to 1 / e in 0.2 s. MuJoCo
# uses 10 per s. The rate is lower here because the force arrives some frames late. At twice this rate, or with a third
# of the assumed mass, the body would oscillate.
RATE_PER_S = 5.0
DENSITY_KG_M3 = 1000.0
# Share of its bounding sphere that a body is assumed to fill. It is used for shapes of unknown volume, for example
# meshes.
FILLED = 0.1
# Largest plausible speed of a point, in m/s. A larger speed means that the body jumped to another place. Then the
# speed counts as 0.
FASTEST_M_S = 100.0

Vector = NDArray[np.float64]


class ForceTorque(NamedTuple):
    """Force at a point, in N, and torque about the body's position, in N m. Both are in world coordinates."""

    force: Vector
    torque: Vector


def mass_of(shape: Shape, scale: float = 1.0) -> float:
    """Assumed mass of a body, in kg."""
    return DENSITY_KG_M3 * _volume(shape) * abs(scale) ** 3


def pulled(mass: float, at: Vector, target: Vector, velocity: Vector, middle: Vector) -> ForceTorque:
    """Force and torque that pull the point `at` towards `target`. mass: mass of the body in kg. velocity: velocity of
    the point in m/s. middle: position of the body. All positions are in metres, in world coordinates."""
    force = mass * RATE_PER_S * (RATE_PER_S * (target - at) - 2 * _limited(velocity))
    return ForceTorque(force, np.cross(at - middle, force))


def turned(mass: float, reach_m: float, left: Vector, rate: Vector) -> ForceTorque:
    """Force and torque that turn a body by the rotation vector `left`. left: rotation that is still to be done, in
    radians, in world coordinates. rate: angular velocity of the body in rad/s. reach_m: bounding radius of the
    body. The assumed inertia is the inertia of a ball of half this radius."""
    inertia = 0.4 * mass * (reach_m / 2) ** 2
    return ForceTorque(np.zeros(3), inertia * RATE_PER_S * (RATE_PER_S * left - 2 * _limited(rate)))


def rotation_between(before: NDArray[np.floating], now: NDArray[np.floating]) -> Vector:
    """Rotation vector that turns orientation `before` into `now`, in radians, in world coordinates. Both orientations
    are unit quaternions, order xyzw."""
    (x, y, z, w), (a, b, c, d) = (np.asarray(turn, np.float64) for turn in (now, before))
    # vector part of now * conjugate(before)
    vector = np.array([-w * a + x * d - y * c + z * b, -w * b + y * d - z * a + x * c, -w * c + z * d - x * b + y * a])
    cosine = w * d + x * a + y * b + z * c
    sine = float(np.linalg.norm(vector))
    if sine == 0:
        return np.zeros(3)
    angle = 2 * math.atan2(sine, abs(cosine)) * (1 if cosine >= 0 else -1)
    return vector / sine * angle


def _limited(velocity: Vector) -> Vector:
    speed = float(np.linalg.norm(velocity))
    return velocity if speed <= FASTEST_M_S else np.zeros(3)


def _volume(shape: Shape) -> float:
    match shape:
        case Compound():
            return sum(_volume(part.shape) for part in shape.parts)
        case Sphere():
            return 4 / 3 * math.pi * shape.radius**3
        case Box():
            return math.prod(shape.size)
        case Ellipsoid():
            return math.pi / 6 * math.prod(shape.size)
        case Cylinder():
            return math.pi * shape.radius**2 * shape.length
        case Capsule():
            return math.pi * shape.radius**2 * (shape.length + 4 / 3 * shape.radius)
        case _:
            return FILLED * 4 / 3 * math.pi * shape.reach**3
