"""Solves the contacts of spheres in a box, in numpy, for ten thousand bodies and more.

Contacts are divided into groups, so that few contacts of a group share a body (`contact_list.py`). A pass solves the
groups one after the other. It solves all contacts of a group at the same time. Impulses are kept from substep to
substep and from step to step, so that a resting pile does not move. If several contacts of a group share a body, their
impulses would together be too large. So each of these contacts uses only a share of the body's mass: the mass divided
by the number of the body's contacts in the group (mass splitting, Tonge, Benevolenski, Voroshilov 2012). Overlaps are
corrected mostly by position, and a little by velocity (as in Catto, "Solver2D", 2024).

The solver uses numpy for two reasons. A compiler (numba) would slow imports and first starts, and it supports new
versions of Python late. A physics engine would be one more system to explain. Most of the cost of a step is memory
access. So the solver uses single precision, leaves out contacts that cannot act, and keeps freed memory.

Always: a contact between two spheres conserves momentum. Friction is at most `friction` times the normal impulse. The
same state and dt give the same bytes on every processor (`reproducible_math.py`; no threads, no hash order). Arrays
have one row per component and one column per body.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.sim.contacts.contact_list import NO_IMPULSES, ContactList, cross
from twixt.sim.reproducible_math import decayed, dot

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.intp]

# Longest interval between two searches for contacts, in seconds. The next search is earlier if fast bodies move
# further than FIND_TRAVEL_M, in metres. FAST_SHARE is the share of bodies that count as fast. A search also finds the
# contacts that will form if the bodies keep their current velocities.
FIND_S = 1 / 30
FIND_TRAVEL_M = 0.1
FAST_SHARE = 0.1
# Contacts of a ball are searched within REACH_M of its surface, plus the distance that the ball travels in the step.
# The sum is at most REACH_MAX_M. All are in metres. Because of this maximum, one fast ball does not make the search
# expensive.
REACH_M = 0.004
REACH_MAX_M = 0.06
# Passes over all contacts in a substep. True is a pass with friction and spin; False is a pass without them. A pass
# with friction takes more than twice as long as one without. It needs normal impulses that are almost right. The
# passes QUICK are enough if the heaviest ball weighs a few times as much as the lightest ball. With QUICK, a ball that
# weighs fifteen times as much as the small balls below it would never come to rest.
THOROUGH = (False, True, False, True)
QUICK = (False, False, True)
# Overlap in metres that is not corrected, so that balls at rest stay in contact.
SLOP_M = 0.0004
# Overlap beyond SLOP_M is corrected by velocity at the rate PART_BY_VELOCITY_HZ, in 1/s. This lets impulses grow until
# they carry the weight of a pile. At a higher rate, balls under a much heavier ball would vibrate. Each substep also
# corrects the share PART_BY_PLACE of this overlap by moving the balls, without changing their velocities.
PART_BY_VELOCITY_HZ = 8.0
PART_BY_PLACE = 0.5
# Largest speed at which each of the two corrections moves a ball, in m/s. Because of this limit, balls that overlap
# deeply do not fly apart.
PART_MAX_M_S = 2.0
# Smallest speed of an impact after which balls bounce, in m/s.
BOUNCE_MIN_M_S = 0.5
# A tangential impulse changes the velocity of a sphere's surface. This is that change, divided by the impulse and
# multiplied by the sphere's mass. The motion of the sphere's centre contributes 1. The sphere's spin contributes 2.5,
# because its inertia is 2/5 m r^2.
SURFACE_INVERSE_MASS = 3.5
SPIN_INVERSE_MASS = 2.5

# TINY is added to a divisor, so that 0 divided by 0 gives 0.
TINY = 1e-20
# glibc returns freed memory to the kernel. The page faults that follow double the time of a step of ten thousand
# balls. But if the largest block that was freed before has at most 32 MiB, glibc keeps freed memory of up to twice its
# size (mallopt(3)). So a block of this size is allocated and freed first. Other allocators are not affected.
KEPT_BLOCK_BYTES = 31 << 20


@dataclass
class MovingSpheres:
    """The state of n moving spheres. All arrays are float32.

    position: (3, n), metres. velocity: (3, n), m/s. spin: (3, n), rad/s. radius: (n,), metres. mass: (n,), kg.
    """

    position: Floats
    velocity: Floats
    spin: Floats
    radius: Floats
    mass: Floats


@dataclass(frozen=True)
class ContactMaterial:
    """Coulomb friction coefficient, restitution (0..1), and the rate in 1/s at which spin decays while balls touch."""

    friction: float = 0.4
    restitution: float = 0.35
    rolling_loss_hz: float = 1.0


class Ends(NamedTuple):
    """The two bodies of each of m contacts.

    places: (2, 3, m), indices into a raveled array (3, n + 1). mobility: change of a body's velocity per impulse;
    negative for the first body. turn_mobility: change of the surface velocity that comes from spin (spin x radius),
    per tangential impulse. `mobility` and `turn_mobility` have the shape (2, 1, m), 1/kg.
    """

    places: Ints
    mobility: Floats
    turn_mobility: Floats


class ContactGroup(NamedTuple):
    """Contacts that are solved at the same time. rows: slice of this group among all contacts."""

    rows: slice
    ends: Ends


class ContactSolver:
    """Advances `MovingSpheres` in a box. It keeps nothing from one step to the next but the impulses of the contacts.

    low, high: the two opposite corners of the box, (3,), metres. Walls are at rest and infinitely heavy. All six walls
    together are body n, after the n spheres. substep_s: length of the longest substep, in seconds. With 1/120 there is
    little overlap; 1/60 costs less if there are many bodies. passes: see `THOROUGH`.
    """

    def __init__(
        self,
        balls: MovingSpheres,
        low: Floats,
        high: Floats,
        material: ContactMaterial,
        substep_s: float = 1 / 120,
        passes: tuple[bool, ...] = THOROUGH,
    ) -> None:
        self.balls, self.material, self.substep_s, self.passes = balls, material, substep_s, passes
        self.low, self.high = low.astype(np.float32)[:, None], high.astype(np.float32)[:, None]
        self.inverse_mass = np.append(1.0 / balls.mass, 0.0).astype(np.float32)
        self.normal_impulse = np.zeros(0, np.float32)
        self._known = NO_IMPULSES
        self._contacts = self._find_contacts(0.0)
        np.empty(KEPT_BLOCK_BYTES, np.uint8)

    def step(self, dt: float, gravity: Floats) -> None:
        """Advances the spheres by `dt` seconds. gravity: (3,), m/s^2."""
        finds = max(dt / FIND_S, min(self._fast() * dt / FIND_TRAVEL_M, dt / self.substep_s))
        parts = max(1, math.ceil(finds - 1e-6))
        for _ in range(parts):
            self._advance(dt / parts, gravity)

    def overlap(self) -> float:
        """Deepest overlap of two balls, or of a ball and a wall, after the last step. It is a share of the radius of
        the smaller ball."""
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
        contacts = self._contacts = self._find_contacts(dt)
        self.normal_impulse, self.friction_impulse = contacts.recall(self._known, h)
        groups = [ContactGroup(rows, self._ends(rows)) for rows in contacts.groups]
        fall = (gravity * h).astype(np.float32)[:, None]
        most_impulse = np.zeros_like(self.normal_impulse)
        impact = most_impulse
        for substep in range(substeps):
            velocity[:, :count] += fall
            contacts.measure(balls.position, self._wall_gaps())
            self.friction_impulse -= contacts.normal * dot(self.friction_impulse, contacts.normal)
            closing = self._closing(velocity)
            impact = impact if substep else closing
            self._split_masses(closing, h)
            self._warm_start(velocity, surface)
            allowed = np.minimum(contacts.gap + SLOP_M, 0)
            allowed *= PART_BY_VELOCITY_HZ
            np.maximum(allowed, -PART_MAX_M_S, out=allowed)
            np.copyto(allowed, contacts.gap / h, where=contacts.gap > 0)
            for has_friction in self.passes:
                for group in groups:
                    self._solve(velocity, surface, group, allowed[group.rows], has_friction)
            balls.position += velocity[:, :count] * h
            self._separate(h)
            np.maximum(most_impulse, self.normal_impulse, out=most_impulse)
        self._bounce(velocity, impact, most_impulse)

        lost = np.float32(decayed(self.material.rolling_loss_hz, dt))
        surface[:, :count] *= np.where(self.touches[:count], lost, np.float32(1))
        balls.velocity[:] = velocity[:, :count]
        np.divide(surface[:, :count], balls.radius, out=balls.spin)
        self._known = contacts.remembered(self.normal_impulse, self.friction_impulse, h)

    def _fast(self) -> float:
        """The 90th percentile of the speeds of all bodies, m/s."""
        velocity = self.balls.velocity
        squares = dot(velocity, velocity)
        slower = int((1 - FAST_SHARE) * squares.size)
        return math.sqrt(np.partition(squares, slower)[slower])

    def _find_contacts(self, dt: float) -> ContactList:
        balls = self.balls
        reach = np.sqrt(dot(balls.velocity, balls.velocity)) * dt
        reach += REACH_M
        np.minimum(reach, REACH_MAX_M, out=reach)
        travel = balls.velocity * np.float32(dt)
        return ContactList(balls.position, balls.radius, reach, travel, self._wall_gaps(), REACH_M)

    def _wall_gaps(self) -> Floats:
        """Distance from the surface of every ball to every wall, in the order of `WALL_NORMALS`, (6 n,), metres."""
        balls = self.balls
        gaps = np.concatenate((balls.position - self.low, self.high - balls.position))
        gaps -= balls.radius
        return gaps.ravel()

    def _closing(self, velocity: Floats) -> Floats:
        """For each contact, the relative speed of its two bodies along its normal, (m,), m/s. It is negative if the
        bodies approach each other."""
        contacts = self._contacts
        relative = velocity.take(contacts.other, axis=1)
        relative -= velocity.take(contacts.one, axis=1)
        return dot(relative, contacts.normal)

    def _ends(self, which: slice | Ints) -> Ends:
        """Returns the two bodies of the contacts `which`."""
        contacts, bodies = self._contacts, self.inverse_mass.size
        both = np.stack((contacts.one[which], contacts.other[which]))
        mobility = self.inverse_mass.take(both)[:, None]
        turn_mobility = -SPIN_INVERSE_MASS * mobility
        mobility[0] *= -1
        return Ends(both[:, None] + (bodies * np.arange(3))[:, None], mobility, turn_mobility)

    def _split_masses(self, closing: Floats, h: float) -> None:
        """Splits the mass of each body among those of its contacts in a group that act in this substep. closing:
        result of `_closing`. h: duration of the substep, s."""
        contacts = self._contacts
        acts = closing * h < SLOP_M - contacts.gap
        acts |= self.normal_impulse > 0
        sharers = contacts.count_in_groups(np.flatnonzero(acts))
        self.touches = np.asarray(sharers.any(axis=0))
        ease = (np.maximum(sharers, 1).astype(np.float32) * self.inverse_mass).ravel()
        both = ease.take(contacts.one_in_group)
        both += ease.take(contacts.other_in_group)
        self.effective_mass = 1 / both
        self.grip_mass = self.effective_mass / SURFACE_INVERSE_MASS

    def _warm_start(self, velocity: Floats, surface: Floats) -> None:
        """Begins a substep with the impulses of the previous substep: applies them again."""
        at = np.flatnonzero(self.normal_impulse)
        around, friction_impulse, ends = (
            self._contacts.around.take(at, axis=1),
            self.friction_impulse.take(at, axis=1),
            self._ends(at),
        )
        _apply_angular_impulse(surface, around, friction_impulse, ends)
        friction_impulse += around[:3] * self.normal_impulse.take(at)
        _apply_impulse(velocity, friction_impulse, ends)

    def _solve(
        self, velocity: Floats, surface: Floats, group: ContactGroup, allowed: Floats, has_friction: bool
    ) -> None:
        """Solves a group: changes the closing speeds of its contacts towards `allowed`, (m,), m/s, and their sliding
        speeds towards 0."""
        rows, ends = group
        around, old_normal = self._contacts.around[:, rows], self.normal_impulse[rows]
        normal = around[:3]
        one, relative = velocity.ravel().take(ends.places)
        relative -= one
        along = dot(relative, normal)
        normal_impulse = along + allowed
        normal_impulse *= self.effective_mass[rows]
        np.subtract(old_normal, normal_impulse, out=normal_impulse)
        np.maximum(normal_impulse, 0, out=normal_impulse)
        change = normal * (normal_impulse - old_normal)
        self.normal_impulse[rows] = normal_impulse
        if has_friction:
            one, turning = surface.ravel().take(ends.places)
            turning += one
            relative += cross(around, turning)
            relative -= normal * along
            relative *= self.grip_mass[rows]
            old_friction = self.friction_impulse[:, rows]
            friction_impulse = np.subtract(old_friction, relative, out=relative)
            limit = normal_impulse * self.material.friction
            limit /= np.maximum(np.sqrt(dot(friction_impulse, friction_impulse)), limit + TINY)
            friction_impulse *= limit
            more = friction_impulse - old_friction
            self.friction_impulse[:, rows] = friction_impulse
            _apply_angular_impulse(surface, around, more, ends)
            change += more
        _apply_impulse(velocity, change, ends)

    def _separate(self, h: float) -> None:
        """Moves overlapping balls apart without changing their velocities."""
        contacts = self._contacts
        depth = -SLOP_M - contacts.gap
        at = np.flatnonzero(depth > 0)
        move = np.minimum(depth.take(at) * PART_BY_PLACE, PART_MAX_M_S * h) * self.effective_mass.take(at)
        moved = np.zeros((3, self.inverse_mass.size), np.float32)
        _apply_impulse(moved, contacts.normal.take(at, axis=1) * move, self._ends(at))
        self.balls.position += moved[:, :-1]

    def _bounce(self, velocity: Floats, impact: Floats, most_impulse: Floats) -> None:
        contacts = self._contacts
        at = np.flatnonzero((impact < -BOUNCE_MIN_M_S) & (most_impulse > 0))
        if not at.size:
            return
        wanted = self._closing(velocity).take(at) + self.material.restitution * impact.take(at)
        impulse = np.maximum(-self.effective_mass.take(at) * wanted, 0)
        _apply_impulse(velocity, contacts.normal.take(at, axis=1) * impulse, self._ends(at))


def _apply_impulse(velocity: Floats, impulse: Floats, ends: Ends) -> None:
    """Adds to `velocity` the change that `impulse`, (3, m), causes. The impulse acts on body `other`. Its opposite
    acts on body `one`."""
    np.add.at(velocity.ravel(), ends.places.ravel(), (impulse * ends.mobility).ravel())


def _apply_angular_impulse(surface: Floats, around: Floats, friction_impulse: Floats, ends: Ends) -> None:
    """Changes the surface velocities in `surface` of both bodies of each contact: `friction_impulse`, (3, m), changes
    their spin."""
    np.add.at(surface.ravel(), ends.places.ravel(), (cross(around, friction_impulse) * ends.turn_mobility).ravel())
