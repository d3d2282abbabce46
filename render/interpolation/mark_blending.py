"""Marks at a draw time between two snapshots, in numpy.

The one idea: marks are matched by key, not by place. Both lists are sorted by key once, when they arrive; then two
binary searches match them, whatever came and went. Marks of equal keys are matched in their order.

A mark of both snapshots is blended: position, size and colour linearly, orientation by the shortest slerp (Shoemake
1985). Its kind, shape and label are the older one's until the newer snapshot's instant; so is its size where the kinds
differ. A mark of the older snapshot alone stays as it is until that instant, one of the newer alone appears at it.

Always: what is drawn has as many marks, in the order of their keys, as the older snapshot; all are finite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import MARK, MARK_KINDS, RECORD
from twixt.render.interpolation.quaternion import slerp

# 32-bit numbers of a record, and those of them that are floats: position, orientation, size.
NUMBERS, FLOATS = 16, slice(2, 12)
# A mark beyond this distance, or of this size, m, is not drawn: its square would overflow.
FARTHEST = 1e30


class Matched(NamedTuple):
    """Rows of the marks that both snapshots have, (k,) each: mark `older[i]` of the one is `newer[i]` of the other."""

    older: NDArray[np.intp]
    newer: NDArray[np.intp]


def drawable(marks: NDArray[np.void]) -> NDArray[np.void]:
    """The marks of a snapshot that can be drawn, sorted by key; those of equal keys stay in their order.

    marks: (m,) of dtype `MARK`, from another process: rows that are not finite or of an unknown kind are left out.
    """
    with np.errstate(all="ignore"):
        floats = np.abs(np.ascontiguousarray(marks).view(np.float32).reshape(-1, NUMBERS)[:, FLOATS])
        is_well = (floats < FARTHEST).all(axis=1) & (marks["kind"] < len(MARK_KINDS))
    kept = marks if is_well.all() else marks[is_well]
    keys = kept["key"]
    return kept if (keys[1:] >= keys[:-1]).all() else kept[np.argsort(keys, kind="stable")]


def matched(older: NDArray[np.uint64], newer: NDArray[np.uint64]) -> Matched:
    """The places of equal keys in two sorted arrays of keys; of equal ones in each, the i-th belongs to the i-th."""
    if not len(newer):
        nothing = np.zeros(0, np.intp)
        return Matched(nothing, nothing)
    nth = np.arange(len(older)) - np.searchsorted(older, older)
    places = np.searchsorted(newer, older) + nth
    there = np.minimum(places, len(newer) - 1)
    both = np.flatnonzero((places < len(newer)) & (newer[there] == older))
    return Matched(both, there[both])


def blended(older: NDArray[np.void], newer: NDArray[np.void], both: Matched, alpha: float) -> NDArray[np.void]:
    """The marks drawn at `alpha`, 0..1, between two snapshots of `drawable` marks; at 1 those of the newer one.

    An array of its own, or `older` or `newer` itself.
    """
    if alpha >= 1:
        return newer
    if not len(both.older) or alpha <= 0:
        return older
    before, after = _taken(older, both.older), _taken(newer, both.newer)
    drawn = _taken(older, np.arange(len(older)))
    for field in ("position", "size"):
        between = before[field] + (after[field].astype(np.float64) - before[field]) * alpha
        if field == "size":
            between = np.where((before["kind"] == after["kind"])[:, None], between, before[field])
        drawn[field][both.older] = between
    colors = before["color"] + (after["color"].astype(np.float64) - before["color"]) * alpha
    drawn["color"][both.older] = np.rint(colors)
    drawn["orientation"][both.older] = slerp(before["orientation"], after["orientation"], alpha)
    return drawn


def _taken(marks: NDArray[np.void], rows: NDArray[np.intp]) -> NDArray[np.void]:
    return np.ascontiguousarray(marks).view(RECORD)[rows].view(MARK)
