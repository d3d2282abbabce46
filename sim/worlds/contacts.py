"""Spheres in contact with each other and with the walls of a box, for a thousand bodies in numpy.

One idea: all contacts are solved at once, in a few small substeps. A contact keeps its impulse from substep
to substep and from step to step, so that a resting pile is carried by remembered impulses and stands still. A
substep solves velocities, moves, and solves them again for what moving changed (as in Catto, "Solver2D", 2024);
what still overlaps is moved apart. Contacts solved at once must share a body without overshooting: each sees the
body's mass divided by the number of its contacts (mass splitting, Tonge, Benevolenski, Voroshilov 2012).

Always: momentum between two spheres is conserved; friction never exceeds `friction` times the normal
impulse; same state and same dt, same bytes (no threads, no hash order). Arrays are components x bodies.
Knows nothing of worlds, snapshots or colours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Substeps are at most this long: a ball at 4 m/s then moves 1.7 cm, well under the smallest radius in use.
SUBSTEP_S = 1 / 240
# At the start of a step a ball looks for contacts this far around it, plus the way it will go in the
# step, but no further than the other (metres): one fast ball must not make all look far.
REACH_M = 0.015
REACH_MAX_M = 0.06
# Overlap that is left alone, so that resting contacts stay contacts (metres).
SLOP_M = 0.0004
# Overlap beyond the slop shrinks at these rates (1/s). By velocity, what a pile's weight asks for is remembered as
# impulses, but balls under a much heavier one hum if it is done fast (seen at 18). By place it makes no motion at
# all, and carries no weight: alone it needs seconds to lift a pile.
PART_BY_VELOCITY_HZ = 8.0
PART_BY_PLACE_HZ = 120.0
# ... and no faster than this (m/s), so that deep overlaps do not explode.
PART_MAX_M_S = 2.0
# Slower impacts than this do not bounce (m/s).
BOUNCE_MIN_M_S = 0.5
# A sphere resists torque at its surface with 2.5 times its mass on top of its mass (inertia 2/5 m r^2).
SURFACE_INVERSE_MASS = 3.5
SPIN_INVERSE_MASS = 2.5

# Keeps a quotient of two zeros at zero.
TINY = 1e-30
# Places along a column are counted in this (metres): whole numbers sort without rounding.
GRID_M = 2.0**-20

# Inward normals of the walls: low x, low y, floor, high x, high y, ceiling.
WALL_NORMALS = np.concatenate((np.eye(3), -np.eye(3)), axis=1)


@dataclass
class Spheres:
    """The moving state. All arrays float64; n bodies.

    position, velocity, spin: (3, n), metres, m/s, rad/s. radius: (n,) metres. mass: (n,) kg.
    """

    position: Floats
    velocity: Floats
    spin: Floats
    radius: Floats
    mass: Floats


@dataclass(frozen=True)
class Material:
    """Coulomb friction, bounce (0..1), and what slows rolling and spinning balls while they touch (1/s)."""

    friction: float = 0.4
    restitution: float = 0.35
    rolling_loss_hz: float = 1.0


def pairs_within(position: Floats, radius: Floats) -> tuple[Ints, Ints]:
    """All pairs i < j of spheres (3, n), (n,) that overlap, in ascending order of (i, j).

    Columns of cells as wide as the widest pair, bodies sorted along x in each. A body meets those ahead of
    it in its own column, and in four of the eight neighbours (the other four meet it) those around its x.
    Places are whole numbers of `GRID_M`, so that the order has no rounding in it.
    """
    count = radius.size
    widest = float(radius.max())
    width = 2.0 * widest
    unit = np.array([[GRID_M], [width], [width]])
    place = np.floor((position - position.min(axis=1, keepdims=True)) / unit).astype(np.int64)
    rows = int(place[2].max()) + 2
    column_length = int(place[0].max()) + 2 * math.ceil(width / GRID_M) + 2
    column_start = (place[1] * rows + place[2]) * column_length
    order = np.argsort(column_start + place[0], kind="stable")
    along, start = place[0][order], column_start[order]
    sorted_place = along + start
    span = np.ceil((radius[order] + widest) / GRID_M).astype(np.int64)

    ranks = np.arange(count)
    neighbours = np.array([1, rows - 1, rows, rows + 1])[:, None] * column_length + sorted_place
    first = np.concatenate((ranks + 1, np.searchsorted(sorted_place, (neighbours - span).ravel(), side="left")))
    ends = np.concatenate((sorted_place + span, (neighbours + span).ravel()))
    last = np.searchsorted(sorted_place, ends, side="right")
    found = last - first
    here = np.repeat(np.tile(ranks, 5), found)
    ahead = np.arange(here.size) + np.repeat(first - (np.cumsum(found) - found), found)
    x, y, z = position[:, order]
    size = radius[order]
    near = (x.take(ahead) - x.take(here)) ** 2
    near += (y.take(ahead) - y.take(here)) ** 2
    near += (z.take(ahead) - z.take(here)) ** 2
    meets = near < (size.take(ahead) + size.take(here)) ** 2
    one, other = order[here[meets]], order[ahead[meets]]
    pairs = np.minimum(one, other) * count + np.maximum(one, other)
    pairs.sort()
    return pairs // count, pairs % count


class ContactSolver:
    """Advances `Spheres` in a box; between steps it keeps the impulses of the contacts, nothing else.

    low, high: corners of the box, (3,) metres. A wall is at rest and infinitely heavy; body n stands for all six.
    """

    def __init__(self, balls: Spheres, low: Floats, high: Floats, material: Material) -> None:
        self.balls = balls
        self.low, self.high = low[:, None], high[:, None]
        self.material = material
        self.inverse_mass = np.append(1.0 / balls.mass, 0.0)
        self._remember(np.zeros(0, np.int64), np.zeros(0), np.zeros((3, 0)), SUBSTEP_S)
        self._find(0.0, SUBSTEP_S)

    def step(self, dt: float, gravity: Floats) -> None:
        """Advance by `dt` seconds under `gravity` (3,), m/s^2."""
        balls, count = self.balls, self.balls.radius.size
        velocity, surface = np.zeros((3, count + 1)), np.zeros((3, count + 1))
        velocity[:, :count] = balls.velocity
        surface[:, :count] = balls.spin * balls.radius
        substeps = max(1, math.ceil(dt / SUBSTEP_S - 1e-9))
        h = dt / substeps
        fall = gravity[:, None] * h

        self._find(dt, h)
        self._measure()
        impact = self._closing(velocity, surface)[0]
        most_push = np.zeros_like(self.push)
        for _ in range(substeps):
            velocity[:, :count] += fall
            self._measure()
            self._apply(velocity, surface, self.push * self.normal + self.grip)
            along, relative = self._closing(velocity, surface)
            self._share(along, h)
            self._solve(velocity, surface, along, relative, self._wanted_approach(h))
            balls.position += velocity[:, :count] * h
            along, relative = self._closing(velocity, surface)
            self._solve(velocity, surface, along, relative, np.maximum(self.gap / h + along, 0.0))
            self._part(h)
            np.maximum(most_push, self.push, out=most_push)
        self._bounce(velocity, surface, impact, most_push)

        touching = self.sharers[:count] > 0
        surface[:, :count][:, touching] *= math.exp(-self.material.rolling_loss_hz * dt)
        balls.velocity[:] = velocity[:, :count]
        balls.spin[:] = surface[:, :count] / balls.radius
        self._remember(self.keys, self.push, self.grip, h)

    def overlap(self) -> float:
        """The deepest overlap at the end of the last step, as a share of the smaller ball's radius."""
        self._measure()
        radius = np.append(self.balls.radius, np.inf)
        smaller = np.minimum(radius[self.one], radius[self.other])
        return float(np.max(-self.gap / smaller, initial=0.0))

    def _remember(self, keys: Ints, push: Floats, grip: Floats, h: float) -> None:
        """Keep the impulses for the next step, with a last row that no contact has."""
        self._known = np.append(keys, np.iinfo(np.int64).max)
        self._known_push = np.append(push, 0.0)
        self._known_grip = np.concatenate((grip, np.zeros((3, 1))), axis=1)
        self._known_h = h

    def _find(self, dt: float, h: float) -> None:
        """The contacts of this step, with the impulses they had before where they are old ones."""
        balls, count = self.balls, self.balls.radius.size
        reach = np.minimum(REACH_M + np.sqrt(_dot(balls.velocity, balls.velocity)) * dt, REACH_MAX_M)
        one, other = pairs_within(balls.position, balls.radius + reach)
        self.pairs = one.size
        self.wall_places = np.flatnonzero(self._wall_gaps() < np.tile(reach, 6))
        wall, body = np.divmod(self.wall_places, count)
        self.one = np.concatenate((one, body))
        self.other = np.concatenate((other, np.full(wall.size, count)))
        self.both = np.concatenate((self.one, self.other))
        # Pairs ascend by (one, other), wall contacts by (wall, body): the keys ascend as they stand.
        self.keys = np.concatenate((one * count + other, count * count + self.wall_places))
        self.normal = np.empty((3, self.keys.size))
        self.normal[:, self.pairs :] = -WALL_NORMALS[:, wall]
        self.reach = balls.radius[one] + balls.radius[other]

        place = np.searchsorted(self._known, self.keys)
        is_old = self._known[place] == self.keys
        kept = np.where(is_old, h / self._known_h, 0.0)
        self.push = self._known_push[place] * kept
        self.grip = self._known_grip[:, place] * kept

    def _wall_gaps(self) -> Floats:
        """Distance of every ball to every wall, in the order of `WALL_NORMALS`, (6 n,)."""
        balls = self.balls
        return (np.concatenate((balls.position - self.low, self.high - balls.position)) - balls.radius).ravel()

    def _measure(self) -> None:
        """Normals from `one` to `other`, gaps between the surfaces; remembered grips turn with the normals."""
        position = self.balls.position
        offset = position.take(self.other[: self.pairs], axis=1) - position.take(self.one[: self.pairs], axis=1)
        distance = np.sqrt(_dot(offset, offset))
        np.divide(offset, distance, out=self.normal[:, : self.pairs])
        self.gap = np.concatenate((distance - self.reach, self._wall_gaps()[self.wall_places]))
        self.grip -= self.normal * _dot(self.grip, self.normal)

    def _closing(self, velocity: Floats, surface: Floats) -> tuple[Floats, Floats]:
        """Relative velocity of the surfaces at each contact: along the normal (m,), and whole (3, m)."""
        turning = surface.take(self.one, axis=1) + surface.take(self.other, axis=1)
        relative = velocity.take(self.other, axis=1) - velocity.take(self.one, axis=1)
        along = _dot(relative, self.normal)
        relative += _cross(self.normal, turning)
        return along, relative

    def _share(self, along: Floats, h: float) -> None:
        """Divide each body's mass among the contacts that will act in this substep."""
        acts = (along * h < SLOP_M - self.gap) | (self.push > 0)
        self.sharers = np.bincount(self.both, np.concatenate((acts, acts)), self.inverse_mass.size)
        ease = self.inverse_mass * np.maximum(self.sharers, 1.0)
        self.effective_mass = 1.0 / (ease[self.one] + ease[self.other])
        self.grip_mass = self.effective_mass / SURFACE_INVERSE_MASS

    def _solve(self, velocity: Floats, surface: Floats, along: Floats, relative: Floats, allowed: Floats) -> None:
        """Bring the closing speed of every contact towards `allowed` (m/s, (m,)) and its sliding towards 0."""
        push = np.maximum(self.push - self.effective_mass * (along + allowed), 0.0)
        change = (push - self.push) * self.normal
        self.push = push

        grip = self.grip - self.grip_mass * (relative - along * self.normal)
        limit = self.material.friction * push
        grip *= limit / np.maximum(np.sqrt(_dot(grip, grip)), limit + TINY)
        change += grip
        change -= self.grip
        self.grip = grip
        self._apply(velocity, surface, change)

    def _wanted_approach(self, h: float) -> Floats:
        """How fast each contact may close until the end of the substep; negative where it is to open."""
        parting = np.maximum(PART_BY_VELOCITY_HZ * np.minimum(self.gap + SLOP_M, 0.0), -PART_MAX_M_S)
        return np.where(self.gap > 0, self.gap / h, parting)

    def _part(self, h: float) -> None:
        """Move overlapping balls apart, without a word to their velocities."""
        depth = np.minimum(np.maximum(-SLOP_M - self.gap, 0.0) * (PART_BY_PLACE_HZ * h), PART_MAX_M_S * h)
        move = (depth * self.effective_mass) * self.normal
        bodies = self.inverse_mass.size
        for axis in range(3):
            moves = np.concatenate((-move[axis], move[axis]))
            self.balls.position[axis] += (self.inverse_mass * np.bincount(self.both, moves, bodies))[:-1]

    def _bounce(self, velocity: Floats, surface: Floats, impact: Floats, most_push: Floats) -> None:
        bounces = (impact < -BOUNCE_MIN_M_S) & (most_push > 0)
        if not bounces.any():
            return
        along, _ = self._closing(velocity, surface)
        wanted = np.where(bounces, -self.effective_mass * (along + self.material.restitution * impact), 0.0)
        self._apply(velocity, surface, np.maximum(wanted, 0) * self.normal)

    def _apply(self, velocity: Floats, surface: Floats, impulse: Floats) -> None:
        """Give `impulse` (3, m) to `other` and its opposite to `one`, and to both the torque of it."""
        torque = _cross(self.normal, impulse)
        bodies = self.inverse_mass.size
        spin_gain = -SPIN_INVERSE_MASS * self.inverse_mass
        both_pushes = np.concatenate((-impulse, impulse), axis=1)
        both_turns = np.concatenate((torque, torque), axis=1)
        for axis in range(3):
            velocity[axis] += self.inverse_mass * np.bincount(self.both, both_pushes[axis], bodies)
            surface[axis] += spin_gain * np.bincount(self.both, both_turns[axis], bodies)


def _dot(one: Floats, other: Floats) -> Floats:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def _cross(one: Floats, other: Floats) -> Floats:
    out = np.empty_like(other)
    out[0] = one[1] * other[2] - one[2] * other[1]
    out[1] = one[2] * other[0] - one[0] * other[2]
    out[2] = one[0] * other[1] - one[1] * other[0]
    return out
