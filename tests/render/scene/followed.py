"""Bodies that a camera follows, without a window: worlds as functions of time, and what each frame shows of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.mapped_segment import SampledBodies
from twixt.ipc.scene import Scene, Shape, Sphere
from twixt.ipc.snapshot import VISIBLE, Head, Snapshot, new_bodies
from twixt.render.draw.frame.camera import CameraMatrices, OrbitCamera
from twixt.render.interpolation import create
from twixt.render.interpolation.poses import Poses, poses_of
from twixt.render.scene.followed_view import DrawnTimes, FollowedView

START_NS = 10**12
SIZE_PX = (800, 600)
G = 9.81
ROUNDED = 1e-4  # positions are float32

Bodies = NDArray[np.void]
Motion = Callable[[float], Bodies]  # takes a simulated time in seconds


class World(NamedTuple):
    """shapes: one for each body, or one for all. bodies: the bodies at a simulated time."""

    shapes: list[Shape]
    bodies: Motion

    def scaled(self, factor: float, offset_m: tuple[float, float, float] = (0, 0, 0)) -> World:
        """The same world at another size and place."""

        def bodies(at_s: float) -> Bodies:
            found = self.bodies(at_s).copy()
            found["position"] = found["position"].astype(float) * factor + offset_m
            found["velocity"] *= factor
            return found

        return World([Sphere(shape.reach * factor) for shape in self.shapes], bodies)


def balls(position: object, visible: object = True, epoch: object = 0) -> Bodies:
    """Bodies at these positions, (n, 3)."""
    position = np.asarray(position, float)
    bodies = new_bodies(len(position))
    bodies["position"], bodies["epoch"] = position, epoch
    bodies["flags"] = np.where(visible, VISIBLE, 0)
    return bodies


def sampled(bodies: Bodies, at_s: float = 0.0, most: int = 1 << 30, world_epoch: int = 0) -> SampledBodies:
    """A sample as a reader makes it. at_s: simulated time, at which it is published, too."""
    stride = max(1, -(-len(bodies) // most))
    at_ns = round(at_s * 1e9)
    head = Head(sim_time_ns=at_ns, published_ns=START_NS + at_ns, count=len(bodies), world_epoch=world_epoch)
    return SampledBodies(head, stride, bodies[::stride].copy(), None)


class Shown(NamedTuple):
    """A frame. at_s: wall time. is_whole: all visible bodies are whole in the picture. share: of the picture that they
    take, on the side on which they take more. is_between: all are between the near and the far plane. place: target and
    distance of the camera. is_still: the picture of the last frame has the same matrices."""

    at_s: float
    is_whole: bool
    share: float
    is_between: bool
    place: tuple[float, float, float, float]
    is_still: bool
    is_moving: bool


class Followed:
    """A world that a camera follows: `physics_hz` snapshots a simulated second, `lead` of them ahead of the frame.

    orbit: lens and direction of the camera. rate: simulated seconds per second. lag_s: the left half of a split view is
    drawn so much earlier. gap_ns and method are those of the drawn poses."""

    def __init__(
        self, world: World, hz: float = 60.0, physics_hz: float = 60.0, size_px: tuple[int, int] = SIZE_PX,
        lead: int = 1, rate: float = 1.0, lag_s: float = 0.0, orbit: OrbitCamera | None = None,
        method: str = "linear", parents: dict[int, int] | None = None,
    ) -> None:  # fmt: skip
        self.world, self.hz, self.physics_hz, self.size_px = world, hz, physics_hz, size_px
        self.lead, self.rate, self.lag_s, self.is_held = lead, rate, lag_s, False
        self.at_s = self.sim_s = 0.0
        self._world_epoch, self._published = 0, -1
        self._method = create(method)
        self._newest = Snapshot(0, world.bodies(0))
        first = world.bodies(0)
        count = max(len(first), 1)
        shapes = world.shapes * count if len(world.shapes) == 1 else world.shapes
        self.scene = Scene(shapes, parents=parents or {})
        self._reach = np.array([shape.reach for shape in shapes])
        self.orbit = replace(orbit) if orbit is not None else OrbitCamera()
        self.orbit.frame(self.scene, first, size_px[0] / size_px[1])
        self._publish()
        is_empty = not (first["flags"] & VISIBLE).any()
        self.view = FollowedView(self.orbit, self.scene, self._sample, size_px, is_empty)
        self._last: tuple[bytes, bytes] | None = None

    def frame(self, seconds: float | None = None) -> Shown:
        """The next frame. seconds: time since the last one."""
        passed_s = 1 / self.hz if seconds is None else seconds
        self.at_s += passed_s
        self.sim_s += passed_s * self.rate
        self._publish()
        sim_ns = round(self.sim_s * 1e9)
        drawn = DrawnTimes(
            sim_ns - round(self.lag_s * 1e9), sim_ns, 1 / self.physics_hz, (self._world_epoch, self._published),
            self.rate,
        )  # fmt: skip
        self.view.advance(START_NS + round(self.at_s * 1e9), drawn, self.size_px, self.is_held)
        return self._shown(self.orbit.matrices(self.size_px), self._method.sample(sim_ns))

    def run(self, seconds: float) -> list[Shown]:
        """The frames of so many seconds."""
        return [self.frame() for _ in range(round(seconds * self.hz))]

    def until_rest(self, seconds: float = 3.0) -> list[Shown]:
        """Frames until the camera rests. It must do so within this time."""
        found = [self.frame()]
        while found[-1].is_moving:
            found.append(self.frame())
            assert len(found) < seconds * self.hz, "the camera does not come to rest"
        return found

    def set_shapes(self, shapes: list[Shape]) -> None:
        """Publishes a scene with other shapes."""
        self.scene = replace(self.scene, shapes=shapes)
        self._reach = np.array([shape.reach for shape in shapes])
        self.view.set_scene(self.scene)

    def shows(self, bodies: Bodies) -> bool:
        """True if these bodies would be whole in the last picture."""
        return self._shown(self.orbit.matrices(self.size_px), poses_of(0, bodies)).is_whole

    def reset(self) -> None:
        """Begins another world epoch."""
        self._world_epoch += 1
        self.sim_s, self._published = 0.0, -1

    def _publish(self) -> None:
        upto = math.floor(self.sim_s * self.physics_hz + 1e-6) + self.lead
        for tick in range(max(self._published + 1, upto - 64), upto + 1):
            at_s = tick / self.physics_hz
            self._published = tick
            self._newest = Snapshot(
                round(at_s * 1e9), self.world.bodies(at_s), {}, tick=tick, world_epoch=self._world_epoch
            )
            self._method.add(self._newest)

    def _sample(self, most: int) -> SampledBodies:
        newest = self._newest
        found = sampled(newest.bodies, most=most, world_epoch=newest.world_epoch)
        head = found.head._replace(sim_time_ns=newest.sim_time_ns, published_ns=START_NS + round(self.at_s * 1e9))
        return found._replace(head=head)

    def _shown(self, matrices: CameraMatrices, poses: Poses) -> Shown:
        now = matrices.view.tobytes(), matrices.projection.tobytes()
        is_still, self._last = now == self._last, now
        place = (*self.orbit.target, self.orbit.distance_m)
        seen = poses.visible & (np.abs(poses.position) < 1e12).all(axis=1)
        if not seen.any():
            return Shown(self.at_s, True, 0.0, True, place, is_still, self.view.is_moving)
        position = poses.position.copy()
        for child, parent in self.scene.parents.items():  # of parents that do not turn
            position[child] += position[parent]
        rows = np.minimum(np.arange(len(poses)), len(self._reach) - 1)
        radius = (self._reach[rows] * np.abs(poses.scale))[seen]
        x, y, backward = np.array(self.orbit._axes()) @ (position[seen] - matrices.eye).T
        across, along = float(matrices.projection[0, 0]), float(matrices.projection[1, 1])
        depth, sides = -backward, ((x, across), (y, along))
        if matrices.orthographic:
            is_whole = all(bool(((np.abs(at) + radius) * focal <= 1 + ROUNDED).all()) for at, focal in sides)
            nearest, farthest, one = -self.orbit.far_m, self.orbit.far_m, 1.0
            depth = depth - self.orbit.distance_m
        else:
            room = depth * (1 + ROUNDED)
            is_whole = bool((depth > 0).all()) and all(
                bool((np.abs(at) * focal + radius * math.hypot(1, focal) <= room).all()) for at, focal in sides
            )
            nearest, farthest, one = self.orbit.near_m, self.orbit.far_m, depth
        share = max(
            float(np.ptp([(at - radius) * focal / one, (at + radius) * focal / one])) / 2 for at, focal in sides
        )
        is_between = bool((depth - radius >= nearest).all() and (depth + radius <= farthest).all())
        return Shown(self.at_s, is_whole, share, is_between, place, is_still, self.view.is_moving)


def whole_share(frames: list[Shown]) -> float:
    """Share of the frames in which all bodies are whole in the picture."""
    return sum(shown.is_whole for shown in frames) / len(frames)


def still_share(frames: list[Shown]) -> float:
    """Share of the frames whose camera stands where it stood in the frame before."""
    return sum(shown.is_still for shown in frames) / len(frames)


# -- worlds


def line(speed_m_s: float) -> World:
    """A ball that flies straight on."""
    return World([Sphere(0.2)], lambda t: balls([[speed_m_s * t, 0, 1]]))


def hopping() -> World:
    """A ball that hops over the ground at 2 m/s."""
    half_s = math.sqrt(2 / G)

    def bodies(t: float) -> Bodies:
        passed_s = (t + half_s) % (2 * half_s)
        return balls([[2 * t, 0, 0.2 + G * half_s * passed_s - G / 2 * passed_s**2]])

    return World([Sphere(0.2)], bodies)


def explosion() -> World:
    """Balls that fly apart and slow down."""
    way = np.random.default_rng(1).normal(size=(60, 3))
    way *= (np.random.default_rng(2).uniform(1, 10, 60) / np.linalg.norm(way, axis=1))[:, None]
    return World([Sphere(0.2)], lambda t: balls(way * (2 - 2 * math.exp(-t / 2))))


def height_of(first_m: float, t: float, kept: float) -> float:
    """Height of a ball that is dropped, and that bounces with this share of its speed."""
    speed_m_s = math.sqrt(2 * G * first_m)
    if t < speed_m_s / G:
        return first_m - G / 2 * t * t
    t -= speed_m_s / G
    while (speed_m_s := speed_m_s * kept) > 0.2:
        if t < 2 * speed_m_s / G:
            return speed_m_s * t - G / 2 * t * t
        t -= 2 * speed_m_s / G
    return 0.0


def pile() -> World:
    """Balls that fall on the ground."""
    rng = np.random.default_rng(3)
    place, first_m = rng.uniform(-2, 2, (100, 2)), rng.uniform(3, 8, 100)
    return World([Sphere(0.15)], lambda t: balls(np.c_[place, [height_of(each, t, 0.5) + 0.15 for each in first_m]]))


def bouncing(kept: float = 0.8) -> World:
    """A ball that bounces in place."""
    return World([Sphere(0.2)], lambda t: balls([[0, 0, height_of(3, t, kept) + 0.2]]))


def ring(turn_rad_s: float = 1.0) -> World:
    """A ring of balls that turns in place."""
    phase = np.linspace(0, math.tau, 100, endpoint=False)

    def bodies(t: float) -> Bodies:
        angle = phase + turn_rad_s * t
        return balls(np.c_[np.cos(angle), np.sin(angle), 0 * angle])

    return World([Sphere(0.1)], bodies)


def orbiter(period_s: float, radius_m: float = 5.0) -> World:
    """A lone ball on a circle."""

    def bodies(t: float) -> Bodies:
        angle = math.tau * t / period_s
        return balls([[radius_m * math.cos(angle), radius_m * math.sin(angle), 1]])

    return World([Sphere(0.3)], bodies)


def teleporter(every_s: float = 3.0) -> World:
    """A ball that appears on two sides in turn."""
    return World([Sphere(0.5)], lambda t: balls([[5 if int(t / every_s) % 2 else -5, 0, 1]], epoch=int(t / every_s)))


def runner() -> World:
    """A capsule on a track of 154 m, at 5 m/s: two straights of 30 m and two half circles."""
    track_m = 60 + math.tau * 15

    def bodies(t: float) -> Bodies:
        half, way_m = divmod(5 * t % track_m, track_m / 2)
        angle = max(way_m - 30, 0) / 15 - math.pi / 2
        x, y = min(way_m, 30) - 15 + 15 * math.cos(angle), 15 * math.sin(angle)
        return balls([[-x, -y, 0.9] if half else [x, y, 0.9]])

    return World([Sphere(0.9)], bodies)


def groups() -> World:
    """Two groups that move apart and together, 40 to 80 m from each other."""
    place = np.random.default_rng(4).uniform(-2, 2, (40, 3))
    side = np.where(np.arange(40) < 20, -1, 1)

    def bodies(t: float) -> Bodies:
        return balls(place + np.c_[side * (30 - 10 * math.cos(math.tau * t / 30)), np.zeros((40, 2))])

    return World([Sphere(0.3)], bodies)


def fountain() -> World:
    """Balls that are spawned one after the other, fly 2 s and vanish below the ground."""
    number, life_s = np.arange(200), 2.0

    def bodies(t: float) -> Bodies:
        turn, age_s = np.divmod(t - number * life_s / 200, life_s)
        angle, up = number * 2.399 + turn * 1.7, 9 + np.sin(number * 1.3 + turn)
        speed = 1 + 0.3 * np.sin(turn + number)
        z = up * age_s - G / 2 * age_s**2
        way = np.c_[speed * np.cos(angle) * age_s, speed * np.sin(angle) * age_s, np.maximum(z, 0)]
        return balls(way, (turn >= 0) & (z >= 0), (turn + 1).astype(np.uint32))

    return World([Sphere(0.1)], bodies)


def swarm() -> World:
    """Balls that wander; ten more each second."""
    way = np.cumsum(np.random.default_rng(5).normal(size=(1200, 300, 3)) * 0.025, axis=0)
    return World([Sphere(0.1)], lambda t: balls(way[min(1199, int(t * 60)), : min(300, 1 + int(t * 10))]))


WORLDS: dict[str, Callable[[], World]] = {
    "hopping": hopping, "explosion": explosion, "pile": pile, "bouncing": bouncing, "ring": ring,
    "orbiter": lambda: orbiter(6.0), "teleporter": teleporter, "runner": runner, "groups": groups,
    "fountain": fountain, "swarm": swarm,
}  # fmt: skip
