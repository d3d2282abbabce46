"""Spheres in contact with each other and with the walls of a box, for ten thousand bodies in numpy.

One idea: contacts are solved many at once, in a few passes over groups that hardly share a body (`contact_list.py`),
and keep their impulses from substep to substep and from step to step, so that a resting pile is carried by
remembered impulses and stands still. Contacts solved at once share a body without overshooting: each sees the
body's mass divided by the number of its contacts in the group (mass splitting, Tonge, Benevolenski, Voroshilov 2012).
What overlaps is pushed apart, a little by velocity, mostly by place (as in Catto, "Solver2D", 2024).

Why numpy: a compiler (numba) makes imports and first starts wait, and lags behind new Pythons; an engine would be a
second world to explain. What a step costs is memory: single precision, few rows of contacts, and freed memory kept.

Always: momentum between two spheres is conserved; friction never exceeds `friction` times the normal impulse; same
state and same dt, same bytes on every processor (`exact.py`; no threads, no hash order). Arrays are components x bodies.
Knows nothing of worlds, snapshots or colours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.sim.worlds.contact_list import NO_IMPULSES, ContactList, cross
from twixt.sim.worlds.exact import decayed, dot

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.intp]

# Contacts are looked for this often at least, in seconds, and again when one body in ten may have gone so far (metres);
# in between, new ones are those that bodies' present speeds lead to.
FIND_S = 1 / 30
FIND_WAY_M = 0.1
FAST_SHARE = 0.1
# At the start of a step a ball looks for contacts this far around it, plus the way it will go in the
# step, but no further than the other (metres): one fast ball must not make all look far.
REACH_M = 0.004
REACH_MAX_M = 0.06
# The passes over all contacts in a substep, and which of them take friction and spin along: those cost more than twice
# as much, and go on from pushes that are about right. The quick ones are enough for balls of a few times each other's
# weight; one of fifteen times never rests on the small ones.
THOROUGH = (False, True, False, True)
QUICK = (False, False, True)
# Overlap that is left alone, so that resting contacts stay contacts (metres).
SLOP_M = 0.0004
# Overlap beyond the slop shrinks at this rate by velocity (1/s), so that a pile's weight is asked for and remembered;
# balls under a much heavier one hum if it is done fast. The rest goes by place, this share a substep, without a motion.
PART_BY_VELOCITY_HZ = 8.0
PART_BY_PLACE = 0.5
# ... and no faster than this (m/s), so that deep overlaps do not explode.
PART_MAX_M_S = 2.0
# Slower impacts than this do not bounce (m/s).
BOUNCE_MIN_M_S = 0.5
# A sphere resists torque at its surface with 2.5 times its mass on top of its mass (inertia 2/5 m r^2).
SURFACE_INVERSE_MASS = 3.5
SPIN_INVERSE_MASS = 2.5

# Keeps a quotient of two zeros at zero.
TINY = 1e-20
# glibc gives freed memory back, and a step of ten thousand balls then takes twice as long, in page faults; but it keeps
# twice the largest block that it saw come and go, up to 32 MiB (mallopt(3)). Other allocators do not mind.
KEPT_BLOCK_BYTES = 31 << 20


@dataclass
class Spheres:
    """The moving state. All arrays float32; n bodies.

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


class Ends(NamedTuple):
    """The two bodies of m contacts: their places in a raveled (3, n + 1), (2, 3, m); what a unit of impulse gives to
    the velocity of each, the first negative, and a unit of torque to the speed of its surface, (2, 1, m) 1/kg."""

    places: Ints
    yields: Floats
    turns: Floats


class Group(NamedTuple):
    """Contacts that are solved at once."""

    rows: slice
    ends: Ends


class ContactSolver:
    """Advances `Spheres` in a box; between steps it keeps the impulses of the contacts, nothing else.

    low, high: corners of the box, (3,) metres. A wall is at rest and infinitely heavy; body n stands for all six.
    substep_s: the longest substep. 1/120 for little overlap; twice that where bodies are many. passes: see `THOROUGH`.
    """

    def __init__(
        self,
        balls: Spheres,
        low: Floats,
        high: Floats,
        material: Material,
        substep_s: float = 1 / 120,
        passes: tuple[bool, ...] = THOROUGH,
    ) -> None:
        self.balls, self.material, self.substep_s, self.passes = balls, material, substep_s, passes
        self.low, self.high = low.astype(np.float32)[:, None], high.astype(np.float32)[:, None]
        self.inverse_mass = np.append(1.0 / balls.mass, 0.0).astype(np.float32)
        self.push = np.zeros(0, np.float32)
        self._known = NO_IMPULSES
        self._contacts = self._find(0.0)
        np.empty(KEPT_BLOCK_BYTES, np.uint8)

    def step(self, dt: float, gravity: Floats) -> None:
        """Advance by `dt` seconds under `gravity` (3,), m/s^2."""
        finds = max(dt / FIND_S, min(self._fast() * dt / FIND_WAY_M, dt / self.substep_s))
        parts = max(1, math.ceil(finds - 1e-6))
        for _ in range(parts):
            self._advance(dt / parts, gravity)

    def overlap(self) -> float:
        """The deepest overlap at the end of the last step, as a share of the smaller ball's radius."""
        contacts = self._contacts
        contacts.measure(self.balls.position, self._wall_gaps())
        radius = np.append(self.balls.radius, np.float32(np.inf))
        smaller = np.minimum(radius.take(contacts.one), radius.take(contacts.other))
        return float(np.max(-contacts.gap / smaller, initial=0.0))

    def _advance(self, dt: float, gravity: Floats) -> None:
        balls, count = self.balls, self.balls.radius.size
        substeps = max(1, math.ceil(dt / self.substep_s - 1e-6))
        h = dt / substeps
        velocity, surface = np.zeros((2, 3, count + 1), np.float32)
        velocity[:, :count] = balls.velocity
        np.multiply(balls.spin, balls.radius, out=surface[:, :count])
        contacts = self._contacts = self._find(dt)
        self.push, self.grip = contacts.recall(self._known, h)
        groups = [Group(rows, self._ends(rows)) for rows in contacts.groups]
        fall = (gravity * h).astype(np.float32)[:, None]
        most_push = np.zeros_like(self.push)
        impact = most_push
        for substep in range(substeps):
            velocity[:, :count] += fall
            contacts.measure(balls.position, self._wall_gaps())
            self.grip -= contacts.normal * dot(self.grip, contacts.normal)
            closing = self._closing(velocity)
            impact = impact if substep else closing
            self._share(closing, h)
            self._begin(velocity, surface)
            allowed = np.minimum(contacts.gap + SLOP_M, 0)
            allowed *= PART_BY_VELOCITY_HZ
            np.maximum(allowed, -PART_MAX_M_S, out=allowed)
            np.copyto(allowed, contacts.gap / h, where=contacts.gap > 0)
            for has_friction in self.passes:
                for group in groups:
                    self._solve(velocity, surface, group, allowed[group.rows], has_friction)
            balls.position += velocity[:, :count] * h
            self._part(h)
            np.maximum(most_push, self.push, out=most_push)
        self._bounce(velocity, impact, most_push)

        lost = np.float32(decayed(self.material.rolling_loss_hz, dt))
        surface[:, :count] *= np.where(self.touches[:count], lost, np.float32(1))
        balls.velocity[:] = velocity[:, :count]
        np.divide(surface[:, :count], balls.radius, out=balls.spin)
        self._known = contacts.remembered(self.push, self.grip, h)

    def _fast(self) -> float:
        """The speed that one body in ten exceeds, m/s."""
        velocity = self.balls.velocity
        squares = dot(velocity, velocity)
        slower = int((1 - FAST_SHARE) * squares.size)
        return math.sqrt(np.partition(squares, slower)[slower])

    def _find(self, dt: float) -> ContactList:
        balls = self.balls
        reach = np.sqrt(dot(balls.velocity, balls.velocity)) * dt
        reach += REACH_M
        np.minimum(reach, REACH_MAX_M, out=reach)
        way = balls.velocity * np.float32(dt)
        return ContactList(balls.position, balls.radius, reach, way, self._wall_gaps(), REACH_M)

    def _wall_gaps(self) -> Floats:
        """Distance of every ball to every wall, in the order of `WALL_NORMALS`, (6 n,)."""
        balls = self.balls
        gaps = np.concatenate((balls.position - self.low, self.high - balls.position))
        gaps -= balls.radius
        return gaps.ravel()

    def _closing(self, velocity: Floats) -> Floats:
        """How fast bodies part along the normal of each contact, (m,) m/s."""
        contacts = self._contacts
        relative = velocity.take(contacts.other, axis=1)
        relative -= velocity.take(contacts.one, axis=1)
        return dot(relative, contacts.normal)

    def _ends(self, which: slice | Ints) -> Ends:
        """The two ends of the contacts `which`."""
        contacts, bodies = self._contacts, self.inverse_mass.size
        both = np.stack((contacts.one[which], contacts.other[which]))
        yields = self.inverse_mass.take(both)[:, None]
        turns = -SPIN_INVERSE_MASS * yields
        yields[0] *= -1
        return Ends(both[:, None] + (bodies * np.arange(3))[:, None], yields, turns)

    def _share(self, closing: Floats, h: float) -> None:
        """Divide each body's mass among the contacts of a group that will act in this substep."""
        contacts = self._contacts
        acts = closing * h < SLOP_M - contacts.gap
        acts |= self.push > 0
        sharers = contacts.count_in_groups(np.flatnonzero(acts))
        self.touches = np.asarray(sharers.any(axis=0))
        ease = (np.maximum(sharers, 1).astype(np.float32) * self.inverse_mass).ravel()
        both = ease.take(contacts.one_in_group)
        both += ease.take(contacts.other_in_group)
        self.effective_mass = 1 / both
        self.grip_mass = self.effective_mass / SURFACE_INVERSE_MASS

    def _begin(self, velocity: Floats, surface: Floats) -> None:
        """Give what the contacts remember."""
        at = np.flatnonzero(self.push)
        around, grip, ends = self._contacts.around.take(at, axis=1), self.grip.take(at, axis=1), self._ends(at)
        _turn(surface, around, grip, ends)
        grip += around[:3] * self.push.take(at)
        _push(velocity, grip, ends)

    def _solve(self, velocity: Floats, surface: Floats, group: Group, allowed: Floats, has_friction: bool) -> None:
        """Bring the closing speed of a group's contacts towards `allowed` (m/s, (m,)), their sliding towards 0."""
        rows, ends = group
        around, old_push = self._contacts.around[:, rows], self.push[rows]
        normal = around[:3]
        one, relative = velocity.ravel().take(ends.places)
        relative -= one
        along = dot(relative, normal)
        push = along + allowed
        push *= self.effective_mass[rows]
        np.subtract(old_push, push, out=push)
        np.maximum(push, 0, out=push)
        change = normal * (push - old_push)
        self.push[rows] = push
        if has_friction:
            one, turning = surface.ravel().take(ends.places)
            turning += one
            relative += cross(around, turning)
            relative -= normal * along
            relative *= self.grip_mass[rows]
            old_grip = self.grip[:, rows]
            grip = np.subtract(old_grip, relative, out=relative)
            limit = push * self.material.friction
            limit /= np.maximum(np.sqrt(dot(grip, grip)), limit + TINY)
            grip *= limit
            more = grip - old_grip
            self.grip[:, rows] = grip
            _turn(surface, around, more, ends)
            change += more
        _push(velocity, change, ends)

    def _part(self, h: float) -> None:
        """Move overlapping balls apart, without a word to their velocities."""
        contacts = self._contacts
        depth = -SLOP_M - contacts.gap
        at = np.flatnonzero(depth > 0)
        move = np.minimum(depth.take(at) * PART_BY_PLACE, PART_MAX_M_S * h) * self.effective_mass.take(at)
        moved = np.zeros((3, self.inverse_mass.size), np.float32)
        _push(moved, contacts.normal.take(at, axis=1) * move, self._ends(at))
        self.balls.position += moved[:, :-1]

    def _bounce(self, velocity: Floats, impact: Floats, most_push: Floats) -> None:
        contacts = self._contacts
        at = np.flatnonzero((impact < -BOUNCE_MIN_M_S) & (most_push > 0))
        if not at.size:
            return
        wanted = self._closing(velocity).take(at) + self.material.restitution * impact.take(at)
        impulse = np.maximum(-self.effective_mass.take(at) * wanted, 0)
        _push(velocity, contacts.normal.take(at, axis=1) * impulse, self._ends(at))


def _push(velocity: Floats, impulse: Floats, ends: Ends) -> None:
    """Give `impulse` (3, m) to `other`, and its opposite to `one`."""
    np.add.at(velocity.ravel(), ends.places.ravel(), (impulse * ends.yields).ravel())


def _turn(surface: Floats, around: Floats, grip: Floats, ends: Ends) -> None:
    """Give to both the torque of `grip` (3, m), which acts on their surfaces."""
    np.add.at(surface.ravel(), ends.places.ravel(), (cross(around, grip) * ends.turns).ravel())
