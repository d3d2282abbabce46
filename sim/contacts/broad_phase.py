"""Pairs of overlapping spheres, found with a grid: a few milliseconds of numpy for ten thousand spheres.

The grid has columns along x, as wide in y and z as the widest pair, each divided into bins along x. Bodies are sorted
by column and bin. So the bodies of neighbouring bins are a range of ranks, read from a table of the bins' first ranks.
A body is compared with those ahead of it in its own column, and with those around its x in four of the eight neighbour
columns (the other four compare with it). Columns beyond `sqrt(n)` a side wrap around: the table stays small however
far bodies fly.

Always: exactly the pairs that overlap, each once, in ascending order. Reads nothing but its arguments.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.intp]

# Allowance for rounding in a distance counted in columns or bins.
SLACK = 1.001
# Bins in the width of a column, and most bins of a column.
BINS_PER_WIDTH = 4
MOST_BINS = 256


class Pairs(NamedTuple):
    """one < other, ascending by (one, other): (m,) each."""

    one: Ints
    other: Ints


def pairs_within(position: Floats, radius: Floats) -> Pairs:
    """All overlapping pairs of n spheres, position (3, n), radius (n,)."""
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
    """The bodies in the order of their columns and bins. x, y, z, size: (n,) in that order."""

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
        # The body's index as the last digits makes keys distinct: the order is the same on every machine.
        place *= count
        place += np.arange(count)
        place.sort()
        self.order = place % count
        self.x, self.y, self.z = position.take(self.order, axis=1)
        self.size = radius.take(self.order)
        self.across = across.take(self.order)
        self.row, self.layer = row.take(self.order), layer.take(self.order)

    def ranges(self) -> tuple[Ints, Ints]:
        """Ranges of ranks to compare each body with: first ranks and ends, (5, n) each, the body's own column first."""
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
    """Each rank paired with every rank of its ranges, by sums of differences: `np.repeat` of short runs is slow."""
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
