"""Scenes without a camera, whose bodies move in ways that are hard to keep in a picture.

Try one with `twixt run bench.view.scenes:OneBall`. `scene_world` has their base class.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bench.view.scene_world import Floats, SceneWorld, Shape, lattice
from twixt.ipc.scene import Box, Capsule, Cylinder, Sphere

GRAVITY_M_S2 = 9.81


class OneBall(SceneWorld):
    """A ball that bounces away over the ground at 2 m/s."""

    is_lone = True
    SPEED_M_S, RADIUS_M, BOUNCE_M, LENGTH_M = 2.0, 0.2, 1.0, 64.0

    def make(self) -> list[Shape]:
        return [Sphere(self.RADIUS_M)]

    def position_at(self, time_s: float) -> Floats:
        part = time_s / math.sqrt(8 * self.BOUNCE_M / GRAVITY_M_S2) % 1
        z = self.RADIUS_M + 4 * self.BOUNCE_M * part * (1 - part)
        return np.array([[self.SPEED_M_S * time_s, 0.0, z]])

    def marker_places(self) -> tuple[Floats, float]:
        return lattice((-4, self.LENGTH_M, 1.0), (-2, 2, 1.0)), 0.2


class Explosion(SceneWorld):
    """60 balls that fly apart from one point, and slow down to rest."""

    # By then no ball moves by more than 4 mm more.
    bounded_from_s = 12.0
    BALLS, DRAG_PER_S, SPEEDS_M_S = 60, 0.7, (1.0, 12.0)

    def make(self) -> list[Shape]:
        direction = self.random.normal(size=(self.BALLS, 3))
        direction[:, 2] = np.abs(direction[:, 2])
        speed = self.random.uniform(*self.SPEEDS_M_S, (self.BALLS, 1))
        self.velocity = speed * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        return [Sphere(0.2)] * self.BALLS

    def position_at(self, time_s: float) -> Floats:
        way = self.velocity * (1 - math.exp(-self.DRAG_PER_S * time_s)) / self.DRAG_PER_S
        return np.asarray(way + np.array((0.0, 0.0, 0.2)))

    def marker_places(self) -> tuple[Floats, float]:
        return lattice((-16, 16, 2.0), (-16, 16, 2.0)), 0.4


class Pile(SceneWorld):
    """100 balls that fall, bounce and come to rest in a pile."""

    bounded_from_s = 8.0
    RADIUS_M, RESTITUTION, BOUNCES = 0.2, 0.5, 12
    LAYERS = (7, 5, 4, 3, 1)  # balls along the edge of each layer of the pile

    def make(self) -> list[Shape]:
        self.rest = np.concatenate([self._layer(i, edge) for i, edge in enumerate(self.LAYERS)])
        self.fall_m = self.random.uniform(2.0, 6.0, len(self.rest))
        # Upper layers come later. A ball above another ball is never lower than this other ball.
        self.begin_s = 0.6 * np.repeat(np.arange(len(self.LAYERS)), [edge * edge for edge in self.LAYERS])
        self.begin_s += self.random.uniform(0.0, 0.5, len(self.rest))
        return [Sphere(self.RADIUS_M)] * len(self.rest)

    def _layer(self, number: int, edge: int) -> Floats:
        pitch = 2 * self.RADIUS_M
        along = (np.arange(edge) - (edge - 1) / 2) * pitch
        x, y = np.meshgrid(along, along)
        z = self.RADIUS_M + number * pitch
        return np.stack([x.ravel(), y.ravel(), np.full(edge * edge, z)], axis=1)

    def position_at(self, time_s: float) -> Floats:
        since_s = np.maximum(0.0, time_s - self.begin_s)
        fall_s = np.sqrt(2 * self.fall_m / GRAVITY_M_S2)
        above_m = np.where(since_s < fall_s, self.fall_m - GRAVITY_M_S2 * since_s**2 / 2, 0.0)
        begin_s, speed = fall_s, GRAVITY_M_S2 * fall_s
        for _ in range(self.BOUNCES):
            speed = speed * self.RESTITUTION
            end_s, part_s = begin_s + 2 * speed / GRAVITY_M_S2, since_s - begin_s
            flies = (since_s >= begin_s) & (since_s < end_s)
            above_m = np.where(flies, speed * part_s - GRAVITY_M_S2 * part_s**2 / 2, above_m)
            begin_s = end_s
        found = self.rest.copy()
        found[:, 2] += above_m
        return found

    def marker_places(self) -> tuple[Floats, float]:
        return lattice((-5, 5, 1.0), (-5, 5, 1.0)), 0.2


class Orbit(SceneWorld):
    """100 beads on a ring that turns once in 6.3 s."""

    bounded_from_s = 7.0
    BEADS, RADIUS_M = 100, 0.05

    def make(self) -> list[Shape]:
        self.phase = np.linspace(0, 2 * np.pi, self.BEADS, endpoint=False)
        return [Sphere(self.RADIUS_M)] * self.BEADS

    def position_at(self, time_s: float) -> Floats:
        phase = self.phase + time_s
        return np.stack([np.cos(phase), np.sin(phase), np.full(self.BEADS, self.RADIUS_M)], axis=1)

    def marker_places(self) -> tuple[Floats, float]:
        return lattice((-2, 2, 0.25), (-2, 2, 0.25)), 0.06


class Planet(SceneWorld):
    """A planet that orbits a sun in 8 s."""

    bounded_from_s = 9.0
    YEAR_S, ORBIT_M, HEIGHT_M = 8.0, 3.0, 1.0

    def make(self) -> list[Shape]:
        return [Sphere(0.5), Sphere(0.15)]

    def position_at(self, time_s: float) -> Floats:
        angle = 2 * math.pi * time_s / self.YEAR_S
        sun, planet = (0.0, 0.0), (self.ORBIT_M * math.cos(angle), self.ORBIT_M * math.sin(angle))
        return np.array([(*sun, self.HEIGHT_M), (*planet, self.HEIGHT_M)])

    def marker_places(self) -> tuple[Floats, float]:
        return lattice((-5, 5, 1.0), (-5, 5, 1.0)), 0.2


class Teleporter(SceneWorld):
    """A ball that jumps between the ends of a long room every 3 s. Two posts stand at each end."""

    bounded_from_s = 7.0
    jumps = True
    STAY_S, END_M, RADIUS_M = 3.0, 10.0, 0.4

    def make(self) -> list[Shape]:
        post = Box((0.3, 0.3, 1.0))
        return [Sphere(self.RADIUS_M), post, post, post, post]

    def position_at(self, time_s: float) -> Floats:
        side = 1 - 2 * (int(time_s / self.STAY_S) % 2)
        y = 0.5 * math.sin(2 * math.pi * time_s / self.STAY_S)
        posts = [(x, y, 0.5) for x in (-self.END_M, self.END_M) for y in (-1.5, 1.5)]
        return np.array([(side * (self.END_M - 1), y, self.RADIUS_M), *posts])

    def life_at(self, time_s: float) -> NDArray[np.int64]:
        return np.array([int(time_s / self.STAY_S), 0, 0, 0, 0])

    def marker_places(self) -> tuple[Floats, float]:
        return lattice((-12, 12, 1.0), (-3, 3, 1.0)), 0.2


class Swarm(SceneWorld):
    """Bodies that wander about, at first one and in the end 300. Later ones are farther from the middle."""

    MOST, GROWS_S, RADII_M, WANDERS_M, WAVES = 300, 25.0, (0.5, 6.0), 0.5, 4

    def make(self) -> list[Shape]:
        self.born_s = np.arange(self.MOST) * self.GROWS_S / (self.MOST - 1)
        direction = self.random.normal(size=(self.MOST, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        reach = np.linspace(*self.RADII_M, self.MOST) * self.random.uniform(0.3, 1.0, self.MOST)
        self.home = direction * reach[:, None] + (0.0, 0.0, self.RADII_M[1] + 1)
        shape = (self.WAVES, self.MOST, 3)
        self.rate = self.random.uniform(0.3, 2.0, shape)
        self.phase = self.random.uniform(0, 2 * np.pi, shape)
        return [Sphere(0.12)] * self.MOST

    def position_at(self, time_s: float) -> Floats:
        wander = np.sin(self.rate * time_s + self.phase).sum(axis=0) * self.WANDERS_M / self.WAVES
        return np.asarray(self.home + wander)

    def shown_at(self, time_s: float) -> NDArray[np.bool_]:
        return np.asarray(self.born_s <= time_s)

    def marker_places(self) -> tuple[Floats, float]:
        return lattice((-9, 9, 1.0), (-9, 9, 1.0)), 0.25


class Runner(SceneWorld):
    """A runner, 1.8 m tall, who runs round an oval track of 60 m x 30 m at 5 m/s."""

    is_lone = True
    SPEED_M_S, STRAIGHT_M, BEND_M, HEIGHT_M, THICK_M = 5.0, 30.0, 15.0, 1.8, 0.25
    MARKED_M = 2.5  # distance of markers along the track, in metres

    def make(self) -> list[Shape]:
        return [Capsule(self.THICK_M, self.HEIGHT_M - 2 * self.THICK_M)]

    def position_at(self, time_s: float) -> Floats:
        return self._along(np.array([self.SPEED_M_S * time_s]), 0.0) + np.array((0.0, 0.0, self.HEIGHT_M / 2))

    def _along(self, way_m: Floats, beside_m: float) -> Floats:
        """Points on the track after `way_m` metres, so many metres outside its middle, (n, 3)."""
        bend_m = math.pi * self.BEND_M
        half_m = self.STRAIGHT_M + bend_m
        in_half = way_m % half_m
        side = 1 - 2 * (way_m // half_m % 2)
        angle = np.maximum(0.0, in_half - self.STRAIGHT_M) / self.BEND_M
        radius = self.BEND_M + beside_m
        x = np.minimum(in_half, self.STRAIGHT_M) - self.STRAIGHT_M / 2 + radius * np.sin(angle)
        return np.stack([side * x, side * -radius * np.cos(angle), np.zeros(len(way_m))], axis=1)

    def marker_places(self) -> tuple[Floats, float]:
        way_m = np.arange(0.0, 2 * (self.STRAIGHT_M + math.pi * self.BEND_M) - 1, self.MARKED_M)
        return np.concatenate([self._along(way_m, beside_m) for beside_m in (-3.0, -1.0, 1.0, 3.0)]), 0.3


class Flat(SceneWorld):
    """60 discs in the plane z = 0 that spread for 20 s."""

    bounded_from_s = 22.0
    DISCS, PITCHES_M, SPREADS_S = 60, (0.25, 1.0), 20.0
    GOLDEN_RAD = math.pi * (3 - math.sqrt(5))

    def make(self) -> list[Shape]:
        number = np.arange(self.DISCS)
        self.place = np.sqrt(number)[:, None] * np.stack(
            [np.cos(number * self.GOLDEN_RAD), np.sin(number * self.GOLDEN_RAD), 0 * number], axis=1
        )
        return [Cylinder(0.1, 0.02)] * self.DISCS

    def position_at(self, time_s: float) -> Floats:
        near_m, far_m = self.PITCHES_M
        return np.asarray(self.place * (near_m + (far_m - near_m) * min(1.0, time_s / self.SPREADS_S)))

    def ground_z(self) -> float | None:
        return None

    def marker_places(self) -> tuple[Floats, float]:
        return lattice((-9, 9, 1.0), (-9, 9, 1.0), -0.05), 0.25


class TwoGroups(SceneWorld):
    """Two groups of 20 balls, 40 m apart, that move apart to 80 m and back in 30 s."""

    EACH, RADIUS_M, NEAR_M, FAR_M, PERIOD_S = 20, 3.0, 40.0, 80.0, 30.0

    def make(self) -> list[Shape]:
        self.place = self.random.uniform(-self.RADIUS_M, self.RADIUS_M, (2 * self.EACH, 3))
        self.place[:, 2] += self.RADIUS_M + 1
        self.phase = self.random.uniform(0, 2 * np.pi, (2 * self.EACH, 3))
        self.side = np.repeat([-1.0, 1.0], self.EACH)
        return [Sphere(0.5)] * (2 * self.EACH)

    def position_at(self, time_s: float) -> Floats:
        between_m = (1 - math.cos(2 * math.pi * time_s / self.PERIOD_S)) / 2 * (self.FAR_M - self.NEAR_M) + self.NEAR_M
        found = self.place + 0.3 * np.sin(time_s + self.phase)
        found[:, 0] += self.side * between_m / 2
        return np.asarray(found)

    def marker_places(self) -> tuple[Floats, float]:
        return lattice((-48, 48, 4.0), (-12, 12, 4.0)), 1.0


class Fountain(SceneWorld):
    """Drops that are born at a nozzle, 20 a second, fly, and die when they are below the ground."""

    # After the first 100 drops, each drop flies as one before it.
    bounded_from_s = 7.0
    DROPS, NOZZLE_M, PER_S = 100, 0.5, 20.0

    def make(self) -> list[Shape]:
        self.velocity = self.random.uniform((-1.5, -1.5, 6.0), (1.5, 1.5, 8.0), (self.DROPS, 3))
        up = self.velocity[:, 2]
        self.flight_s = (up + np.sqrt(up**2 + 2 * GRAVITY_M_S2 * self.NOZZLE_M)) / GRAVITY_M_S2
        self.round_s = self.DROPS / self.PER_S
        return [Sphere(0.08)] * self.DROPS

    def _rounds(self, time_s: float) -> Floats:
        """Rounds since the first birth of each drop, (n,). Each drop is born once a round."""
        return np.asarray((time_s - np.arange(self.DROPS) / self.PER_S) / self.round_s)

    def _age_s(self, time_s: float) -> Floats:
        rounds = self._rounds(time_s)
        return np.asarray((rounds - np.floor(rounds)) * self.round_s)

    def position_at(self, time_s: float) -> Floats:
        age = self._age_s(time_s)[:, None]
        found = self.velocity * age + (0.0, 0.0, self.NOZZLE_M)
        found[:, 2:] -= GRAVITY_M_S2 * age**2 / 2
        return np.asarray(found)

    def life_at(self, time_s: float) -> NDArray[np.int64]:
        return np.floor(self._rounds(time_s)).astype(np.int64)

    def shown_at(self, time_s: float) -> NDArray[np.bool_]:
        return np.asarray((self._rounds(time_s) >= 0) & (self._age_s(time_s) <= self.flight_s))

    def marker_places(self) -> tuple[Floats, float]:
        return lattice((-4, 4, 0.5), (-4, 4, 0.5)), 0.12


SCENES: dict[str, type[SceneWorld]] = {
    "one-ball": OneBall,
    "explosion": Explosion,
    "pile": Pile,
    "orbit": Orbit,
    "planet": Planet,
    "teleporter": Teleporter,
    "swarm": Swarm,
    "runner": Runner,
    "flat": Flat,
    "two-groups": TwoGroups,
    "fountain": Fountain,
}
