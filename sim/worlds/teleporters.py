"""Shows balls that jump: they are teleported, spawned, despawned and wrapped around. A correct viewer draws them only
on two rails.

The rails are the straight lines z = `RAILS_M[0]` and z = `RAILS_M[1]` in the plane y = 0, which faces the camera. A
picture of `width_px` x `height_px` shows the point (x, z) of this plane at

    x_px = width_px / 2 + x * height_px / VISIBLE_HEIGHT_M
    y_px = height_px / 2 - (z - MIDDLE_M) * height_px / VISIBLE_HEIGHT_M

The colour of a ball shows its kind:
    blue     a shuttle: moves back and forth, and changes rails at each end
    orange   a wrapper: moves to the right end, and continues at the left end of the other rail
    green    a blinker: is despawned for a while, and spawned somewhere on the other rail
    pink     a hopper: changes rails eight to ten times a second while it moves on

What to look for: nothing is ever drawn between the rails, even if physics is slow and snapshots are late or lost, as
with `--drop 20 --slow-physics 40`. A viewer that blends across a jump would draw balls between the rails.

Always: `states_at(t)` gives position, velocity and visibility of each ball at simulated time t. The speed of a ball
along a rail is constant. Only a hopper changes its direction, at the ends of the rails. The first step at or after the
time of a jump makes the jump.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Box, Camera, Scene, Sphere
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.settings import check_count
from twixt.sim.world.world import World

MOST = 10_000
# Memory for the record of one ball, for its current state, and for its state in the previous step, in bytes.
BALL_BYTES = 700
RAILS_M = (-1.6, 1.6)
RAIL_LENGTH_M = 8.0
RADIUS_M = 0.22
RAIL_THICK_M = 0.05
SHUTTLE, WRAPPER, BLINKER, HOPPER = range(4)
COLORS = ((0.38, 0.62, 0.95), (0.97, 0.62, 0.27), (0.48, 0.80, 0.47), (0.95, 0.50, 0.68))
RAIL_COLOR = (0.30, 0.32, 0.36)
BACKGROUND = (0.05, 0.06, 0.08)
# A leg of a ball is the time between two of its jumps. LEG_S has the shortest leg of each kind of ball, in seconds.
# Each ball has its own random leg, which is at most 1 + LEG_SPREAD times the shortest leg.
LEG_S = (2.3, 3.1, 1.7, 0.1)
LEG_SPREAD = 0.27
HOPPERS_CROSSING_S = 4.0  # Time in which a hopper moves from one end to the other, including its jumps, in seconds.
SHOWN_SHARE = 0.62  # Share of a leg in which a blinker is visible.
BLINKERS_WAY_M = 2.4
# A picture shows this height of the plane of the rails, in metres.
VISIBLE_HEIGHT_M = 6.6
# Height of the middle of the picture, in metres. With this height the overlay's panels are above the rails.
MIDDLE_M = 0.75
FOV_Y_DEG = 20.0
EYE_M = VISIBLE_HEIGHT_M / 2 / math.tan(math.radians(FOV_Y_DEG / 2))
# The fractional parts of the multiples of this number look random and never repeat. These fractional parts are used as
# positions of blinkers.
GOLDEN = (math.sqrt(5) - 1) / 2


class BallStates(NamedTuple):
    """States of all n balls at one simulated time. leg: for each ball the number of its jumps so far."""

    position: NDArray[np.float64]  # Positions of the balls, (n, 3), metres.
    velocity: NDArray[np.float64]  # Velocities of the balls, (n, 3), m/s.
    shown: NDArray[np.bool_]  # True for each ball that is visible, (n,).
    leg: NDArray[np.int64]  # Number of jumps of each ball so far, (n,).


class Teleporters(World):
    """Balls that jump between two rails. They must never be drawn between the rails."""

    dt = 1 / 60

    def __init__(self, count: int = 12, seed: int = 0) -> None:
        check_count(count, MOST, "balls", BALL_BYTES)
        self.count = count
        self.kind = np.arange(count) % len(COLORS)
        self.bodies = Bodies(count + 2)  # The first two bodies are the rails.
        self.bodies.position[:2, 2] = RAILS_M
        rail = Box((RAIL_LENGTH_M + 2 * RADIUS_M, RAIL_THICK_M, RAIL_THICK_M), RAIL_COLOR)
        self.scene = Scene(
            [rail, rail, Sphere(RADIUS_M, (1.0, 1.0, 1.0))],
            camera=Camera(eye=(0.0, -EYE_M, MIDDLE_M), target=(0.0, 0.0, MIDDLE_M), fov_y_deg=FOV_Y_DEG),
            ground_z=None,
            background=BACKGROUND,
            pattern=True,
        )
        self.bodies.velocity[:] = 0.0
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Sets simulated time to 0. The first position of each ball and the length of its legs depend on `seed`."""
        random = np.random.default_rng(seed)
        spread = 1 + LEG_SPREAD * random.random(self.count)
        self.leg_s = np.array(LEG_S)[self.kind] * spread
        self.begin_s = 100 * random.random(self.count)
        self.place = random.integers(0, 1 << 20, self.count)
        self.time_ns = 0
        self.jumps = 0
        self.states = self.states_at(0.0)
        while not self.bodies.visible.all():
            self.bodies.spawn()
        for i in range(len(self.bodies) - 1, 1, -1):
            self.bodies.despawn(i)
        # Of the freed indices, the one that was freed last is used first. So the balls get ascending indices.
        self.row = np.array([self._spawn(ball) for ball in range(self.count)])
        for ball in np.flatnonzero(~self.states.shown):
            self.bodies.despawn(int(self.row[ball]))

    def step(self, dt: float) -> None:
        """Advances the balls by `dt` seconds."""
        self.time_ns += round(dt * 1e9)
        before, now = self.states, self.states_at(self.time_ns / 1e9)
        self.states = now
        # A long step may skip the whole time in which a blinker is invisible. Even then, the blinker is despawned and
        # spawned again.
        ends = before.shown & (~now.shown | ((now.leg != before.leg) & (self.kind == BLINKER)))
        stays = np.flatnonzero(now.shown & before.shown & ~ends)
        for ball in np.flatnonzero(ends):
            self.bodies.despawn(int(self.row[ball]))
        for ball in np.flatnonzero(now.shown & (~before.shown | ends)):
            self.row[ball] = self._spawn(int(ball))
        self.bodies.position[self.row[stays]] = now.position[stays]
        self.bodies.velocity[self.row[stays]] = now.velocity[stays]
        jumped = stays[now.leg[stays] != before.leg[stays]]
        self.bodies.teleport(self.row[jumped], now.position[jumped])
        self.jumps += int(np.count_nonzero(now.leg != before.leg))

    def states_at(self, sim_time_s: float) -> BallStates:
        """Returns the exact states of all balls at a simulated time in seconds."""
        legs = (sim_time_s + self.begin_s) / self.leg_s
        leg = np.floor(legs).astype(np.int64)
        part = legs - leg
        span, half = RAIL_LENGTH_M, RAIL_LENGTH_M / 2
        direction = 1.0 - 2.0 * (leg % 2)  # Direction in which a shuttle moves, 1 or -1.
        crossings = (sim_time_s + self.begin_s) / HOPPERS_CROSSING_S
        back = np.floor(crossings).astype(np.int64) % 2 == 1
        forth = crossings - np.floor(crossings)
        begin = np.modf((self.place + leg) * GOLDEN)[0] * (span - BLINKERS_WAY_M) - half
        kinds = [self.kind == SHUTTLE, self.kind == WRAPPER, self.kind == BLINKER]
        x = np.select(
            kinds,
            [direction * (part * span - half), part * span - half, begin + part * BLINKERS_WAY_M],
            np.where(back, 1 - forth, forth) * span - half,
        )
        speed = np.select(
            kinds,
            [direction * span / self.leg_s, span / self.leg_s, BLINKERS_WAY_M / self.leg_s],
            np.where(back, -1.0, 1.0) * span / HOPPERS_CROSSING_S,
        )
        rail = np.array(RAILS_M)[(leg + self.place) % 2]
        nothing = np.zeros(self.count)
        shown = (self.kind != BLINKER) | (part < SHOWN_SHARE)
        return BallStates(np.stack((x, nothing, rail), axis=1), np.stack((speed, nothing, nothing), axis=1), shown, leg)

    def diagnostics(self) -> dict[str, float]:
        """Figures for the overlay: the number of jumps so far, and the number of balls that are visible."""
        return {"jumps": float(self.jumps), "balls": float(np.count_nonzero(self.states.shown))}

    def _spawn(self, ball: int) -> int:
        color, velocity = COLORS[self.kind[ball]], self.states.velocity[ball]
        return self.bodies.spawn(self.states.position[ball], velocity=velocity, color=color)
