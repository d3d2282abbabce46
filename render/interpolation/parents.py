"""Bodies that live in the frame of another: their poses composed to world poses at the draw time.

The one idea: a child is blended in its parent's frame, where it may not move at all, and placed in the world only
with the parent's drawn pose. So a child keeps its distance however fast the parent turns.

Always: position and orientation are composed, scale is not inherited; a child of a hidden parent is drawn,
but hidden and counted if that parent cannot be drawn, since its numbers are not finite; generation by generation,
without a loop over bodies. A ring of parents, which a scene refuses, leaves its bodies where they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from twixt.render.interpolation.poses import FARTHEST, Poses
from twixt.render.interpolation.quaternion import multiply, normalized, rotate


def compose(poses: Poses, parent_rows: NDArray[np.integer]) -> Poses:
    """World poses of bodies whose poses are given in their parents' frames.

    parent_rows: (n,), the row of each body's parent, -1 for none; a row that `poses` has not counts as none, and
    so do bodies beyond `parent_rows`. Without any parent `poses` itself is returned.
    """
    parents = within(parent_rows, len(poses))
    if not (parents >= 0).any():
        return poses
    position = poses.position.copy()
    orientation = normalized(poses.orientation)
    drawable = poses.drawable.copy()
    for generation in generations(parents):
        parent = parents[generation]
        drawable[generation] &= drawable[parent]
        with np.errstate(over="ignore", invalid="ignore"):
            position[generation] = position[parent] + rotate(orientation[parent], position[generation])
        orientation[generation] = normalized(multiply(orientation[parent], orientation[generation]))
    placed = drawable & (np.abs(position) < FARTHEST).all(axis=1)
    return replace(
        poses,
        position=position,
        orientation=orientation.astype(np.float32),
        visible=poses.visible & placed,
        not_finite=poses.not_finite + int(np.count_nonzero(poses.visible & ~placed)),
        drawable=placed,
    )


def within(parent_rows: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    """Parents of `count` bodies, (count,); -1 for none, for one beyond them, and for bodies beyond `parent_rows`."""
    parents = np.full(count, -1, np.int64)
    parents[: len(parent_rows)] = parent_rows[:count]
    parents[(parents < 0) | (parents >= count)] = -1
    return parents


def generations(parents: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Rows of children of bodies without parents, then the children of those, and so on."""
    generations = []
    placed = parents < 0
    waiting = np.flatnonzero(~placed)
    while len(waiting):
        ready = placed[parents[waiting]]
        if not ready.any():
            break
        generations.append(waiting[ready])
        placed[waiting[ready]] = True
        waiting = waiting[~ready]
    return generations
