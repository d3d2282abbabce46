"""Lists the contacts of one step, in groups. A contact is between two overlapping spheres, or between a sphere and a
wall. The solver solves the contacts of one group after those of the other.

If several contacts of a body are solved at the same time, each gets only a share of the body's mass. So the pairs of
spheres are divided into three groups, by the axis nearest to their normal. A body then has about two contacts in a
group instead of six. The contacts with walls are the fourth and last group. Each group uses the results of the groups
before it.

Always: the same state gives the same contacts in the same order. Within a group, the contacts are sorted by ascending
key. A list has m contacts. The first `pairs` of them are between two spheres. All walls together are body number n,
after the n spheres.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.sim.reproducible_math import dot

# Finds the pairs of overlapping spheres with a grid. In numpy this takes a few milliseconds for ten thousand spheres.
#
# The columns of the grid run along x. The width of a column in y and z is the diameter of the largest body. Each
# column is divided into bins along x. The bodies are sorted by column and bin. The place of a body in this order is
# its rank. So the bodies of neighbouring bins have a range of ranks without gaps. A table with the first rank of each
# bin gives these ranges. Each body is compared with the bodies after it in its own column, and with the bodies near
# its x in four of the eight neighbour columns. Each body in the other four columns is compared with this body in that
# body's own turn. The grid has at most `sqrt(n)` columns along y and z. Columns beyond this number wrap around to the
# first columns. So the table stays small, however far bodies fly.
#
# Always: the result has each pair that overlaps exactly once, in ascending order, and no other pair. It depends only
# on the arguments.


Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.intp]

# Factor by which distances are enlarged when columns or bins are chosen. It makes sure that rounding errors lose no
# pair.
SLACK = 1.001
# BINS_PER_WIDTH is the number of bins along x in a length equal to the width of a column. MOST_BINS is the largest
# number of bins in a column.
BINS_PER_WIDTH = 4
MOST_BINS = 256


class Pairs(NamedTuple):
    """Indices of the two bodies of each of m pairs, (m,) each, where `one` < `other`. The pairs are in ascending order
    of (one, other)."""

    one: Ints
    other: Ints


def pairs_within(position: Floats, radius: Floats) -> Pairs:
    """Returns all overlapping pairs of n spheres. position: (3, n), in metres. radius: (n,), in metres."""
    count = radius.size
    grid = _Grid(position, radius)
    first, last = grid.ranges()
    here, ahead = _expanded(first, last - first, count)
    x, y, z, size = grid.x, grid.y, grid.z, grid.size
    near = x.take(ahead)
    near -= x.take(here)
    near *= near
    for axis in (y, z):
        away = axis.take(ahead)
        away -= axis.take(here)
        away *= away
        near += away
    reach = size.take(ahead)
    reach += size.take(here)
    reach *= reach
    meets = np.flatnonzero(near < reach)
    one, other = grid.order.take(here.take(meets)), grid.order.take(ahead.take(meets))
    pairs = np.minimum(one, other)
    np.maximum(one, other, out=other)
    pairs *= count
    pairs += other
    pairs.sort()
    one = pairs // count
    return Pairs(one, pairs - one * count)


class _Grid:
    """The bodies, sorted by column and bin. x, y, z: coordinates in sorted order, (n,). size: radii in sorted order,
    (n,)."""

    def __init__(self, position: Floats, radius: Floats) -> None:
        count = radius.size
        self.widest = float(radius.max())
        width = 2 * self.widest * SLACK
        low = position.min(axis=1)
        extent = position.max(axis=1) - low
        most = max(3, math.isqrt(count))
        self.rows, self.layers = (max(3, int(min(extent[axis] / width, most - 1)) + 1) for axis in (1, 2))
        self.bin_m = width / BINS_PER_WIDTH
        self.bins = int(min(extent[0] / self.bin_m, MOST_BINS - 1)) + 1
        across = (position[0] - low[0]) / self.bin_m
        row = ((position[1] - low[1]) / width).astype(np.intp) % self.rows
        layer = ((position[2] - low[2]) / width).astype(np.intp) % self.layers
        place = (row * self.layers + layer) * self.bins
        place += np.minimum(across, self.bins - 1).astype(np.intp)
        self.start = np.zeros(self.rows * self.layers * self.bins + 1, np.intp)
        np.cumsum(np.bincount(place, minlength=self.start.size - 1), out=self.start[1:])
        # The index of the body is the last part of its key. So all keys are distinct, and their order is the same on
        # every machine.
        place *= count
        place += np.arange(count)
        place.sort()
        self.order = place % count
        self.x, self.y, self.z = position.take(self.order, axis=1)
        self.size = radius.take(self.order)
        self.across = across.take(self.order)
        self.row, self.layer = row.take(self.order), layer.take(self.order)

    def ranges(self) -> tuple[Ints, Ints]:
        """The ranges of ranks with which each body is compared in five columns. Returns the first rank and the end of
        each range, (5, n) each. The first of the five columns is the body's own."""
        span = (self.size + self.widest) * (SLACK / self.bin_m)
        begin = np.clip(self.across - span, 0, self.bins - 1).astype(np.intp)
        end = np.minimum(self.across + span, self.bins - 1).astype(np.intp)
        end += 1
        row, layer, layers = self.row, self.layer, self.layers
        above, below = layer + 1, layer - 1
        above[above == layers] = 0
        below[below < 0] = layers - 1
        ahead = row + 1
        ahead[ahead == self.rows] = 0
        ahead *= layers
        columns = np.stack((row * layers + layer, row * layers + above, ahead + below, ahead + layer, ahead + above))
        columns *= self.bins
        first = self.start.take(columns + begin)
        first[0] = np.arange(1, len(row) + 1)
        return first, self.start.take(columns + end)


def _expanded(first: Ints, found: Ints, count: int) -> tuple[Ints, Ints]:
    """Pairs of ranks: the rank of each body, together with every rank in the ranges of this body. The function uses
    cumulative sums, because `np.repeat` is slow for short runs. first, found: start and length of each range. count:
    number of bodies."""
    some = np.flatnonzero(found)
    if not some.size:
        return some, some
    first, found, ranks = first.ravel().take(some), found.ravel().take(some), some % count
    ends = np.cumsum(found)
    here, ahead = np.zeros(ends[-1], np.intp), np.ones(ends[-1], np.intp)
    here[0], ahead[0] = ranks[0], first[0]
    here[ends[:-1]] = np.diff(ranks)
    ahead[ends[:-1]] = np.diff(first) - found[:-1] + 1
    return np.cumsum(here, out=here), np.cumsum(ahead, out=ahead)


# Normals of the walls, which point into the box, in this order: low x, low y, floor, high x, high y, ceiling.
WALL_NORMALS = np.concatenate((np.eye(3, dtype=np.float32), -np.eye(3, dtype=np.float32)), axis=1)
WALL_GROUP = 3
# A key that no contact has.
NO_KEY = np.iinfo(np.intp).max


class Impulses(NamedTuple):
    """Impulses of m contacts in a substep of `h` seconds, in ascending order of the contacts' keys. The last of the
    keys is `NO_KEY`.

    normal_impulse: (m,), N s. friction_impulse: (3, m), N s, tangential to the surfaces.
    """

    keys: Ints
    normal_impulse: Floats
    friction_impulse: Floats
    h: float


NO_IMPULSES = Impulses(np.array([NO_KEY], np.intp), np.zeros(1, np.float32), np.zeros((3, 1), np.float32), 1.0)


class ContactList:
    """The m contacts of one step between n spheres and the six walls.

    - position: positions of the spheres, (3, n), metres.
    - reach: distance from each sphere's surface within which other spheres are searched, (n,), metres.
    - travel: displacement of each sphere in the step at its current velocity, (3, n), metres.
    - margin: a distance in metres; pairs of spheres that stay further apart than this are left out.
    - wall_gaps: distance of each sphere's surface to each wall, (6 n,), metres, in the order of `WALL_NORMALS`.
    """

    def __init__(
        self, position: Floats, radius: Floats, reach: Floats, travel: Floats, wall_gaps: Floats, margin: float
    ) -> None:
        count = radius.size
        one, other = pairs_within(position, radius + reach)
        offset = position.take(other, axis=1)
        offset -= position.take(one, axis=1)
        distance = np.sqrt(dot(offset, offset))
        nearing = travel.take(other, axis=1)
        nearing -= travel.take(one, axis=1)
        gap = np.minimum(dot(nearing, offset) / distance, 0)
        gap += distance
        radii = radius.take(one)
        radii += radius.take(other)
        gap -= radii
        keep = np.flatnonzero(gap < margin)
        one, other, x, y, z = one.take(keep), other.take(keep), *np.abs(offset.take(keep, axis=1))
        group = np.where(z >= np.maximum(x, y), 2, y > x).astype(np.uint8)
        # Indices of the contacts of this list, sorted by the ascending keys of the contacts.
        order = np.argsort(group, kind="stable")

        self.pairs = keep.size
        wall_gaps = wall_gaps + np.minimum(np.concatenate((travel, -travel)), 0).ravel()
        self.wall_places = np.flatnonzero(wall_gaps < 2 * margin)
        wall, body = np.divmod(self.wall_places, count)
        self._sorted_keys = np.concatenate((one * count + other, self.wall_places + count * count))
        self._order = np.concatenate((order, np.arange(self.pairs, self._sorted_keys.size)))
        self.one = np.concatenate((one.take(order), body))
        self.other = np.concatenate((other.take(order), np.full(body.size, count)))
        self.radii = radii.take(keep).take(order)
        # The x, y, z, x and y components of the normals, one row each. A cross product reads rows 1 to 3 and 2 to 4.
        self.around = np.empty((5, self.one.size), np.float32)
        self.normal = self.around[:3]
        self.normal[:, self.pairs :] = -WALL_NORMALS.take(wall, axis=1)
        self.gap = np.empty(self.one.size, np.float32)

        sizes = np.append(np.bincount(group, minlength=WALL_GROUP), body.size)
        ends = np.cumsum(sizes)
        self.groups = [slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True) if size]
        # Indices into a table with one row per group and one column per body. In each cell, this table counts the
        # contacts of one body in one group.
        first = np.repeat(np.arange(len(sizes)) * (count + 1), sizes)
        self.one_in_group, self.other_in_group = first + self.one, first + self.other
        self.table_shape = len(sizes), count + 1

    def recall(self, known: Impulses, h: float) -> tuple[Floats, Floats]:
        """Returns the normal impulses (m,) and friction impulses (3, m) that these contacts had in the previous step.
        They are scaled to a substep of `h` seconds. The impulses of a new contact are 0."""
        place = np.searchsorted(known.keys, self._sorted_keys).take(self._order)
        is_old = known.keys.take(place) == self._sorted_keys.take(self._order)
        kept = is_old * np.float32(h / known.h)
        return known.normal_impulse.take(place) * kept, known.friction_impulse.take(place, axis=1) * kept

    def remembered(self, normal_impulse: Floats, friction_impulse: Floats, h: float) -> Impulses:
        """Returns the impulses of these contacts in the form that `recall` needs in the next step."""
        rank = np.empty_like(self._order)
        rank[self._order] = np.arange(rank.size)
        rank = rank[normal_impulse.take(rank) > 0]
        return Impulses(
            np.append(self._sorted_keys.take(self._order.take(rank)), NO_KEY),
            np.append(normal_impulse.take(rank), np.float32(0)),
            np.concatenate((friction_impulse.take(rank, axis=1), np.zeros((3, 1), np.float32)), axis=1),
            h,
        )

    def measure(self, position: Floats, wall_gaps: Floats) -> None:
        """Updates the normals, which point from body `one` to body `other`, and the gaps between the surfaces of the
        two bodies."""
        pairs = self.pairs
        offset = position.take(self.other[:pairs], axis=1)
        offset -= position.take(self.one[:pairs], axis=1)
        distance = np.sqrt(dot(offset, offset))
        np.divide(offset, distance, out=self.normal[:, :pairs])
        self.around[3:] = self.around[:2]
        np.subtract(distance, self.radii, out=self.gap[:pairs])
        self.gap[pairs:] = wall_gaps.take(self.wall_places)

    def count_in_groups(self, chosen: Ints) -> NDArray[np.intp]:
        """For each group and body: how many of the contacts `chosen` the body has in the group, (groups, n + 1)."""
        groups, bodies = self.table_shape
        found = np.bincount(self.one_in_group.take(chosen), minlength=groups * bodies)
        found += np.bincount(self.other_in_group.take(chosen), minlength=groups * bodies)
        return found.reshape(groups, bodies)


def cross(around: Floats, vectors: Floats) -> Floats:
    """Cross products of each vector in a first set of m vectors with the same vector of a second set. around: the x,
    y, z, x, y components of the first set, (5, m), as in a `ContactList`.

    vectors: the second set, (3, m). Returns the products, (3, m).
    """
    others = np.concatenate((vectors, vectors[:2]))
    out = around[1:4] * others[2:]
    out -= around[2:] * others[1:4]
    return out
