"""Bodies whose own frame a scene moves: methods of numpy cut them there.

A scene may place all parts of a body anew while its record makes up for it, as where the origin of a body goes to its
centre of mass, or give it another size and the scale that makes up for that. What is drawn rests, but between the two
snapshots the body's pose leads from one frame to the other. So it stands where it was until the newer snapshot is drawn,
with the shapes of the older scene. (The shaders blend each part by itself: render/draw/bodies/part_changes.py.)

Always: a body of which only some parts move is not cut, nor one whose record does not make up for it. Pure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import CONTINUITY_MASK, Snapshot
from twixt.render.draw.bodies.part_changes import are_same, moved_parts, row_shapes
from twixt.render.draw.bodies.part_rows import part_rows
from twixt.render.interpolation.quaternion import normalized

# A record makes up for its scene where, as seen from the older frame, it moves less than this share of what it does.
MOST_LEFT = 0.5


class FrameJumps:
    """Counts how often each body's own frame has jumped."""

    def __init__(self) -> None:
        self._last: Snapshot | None = None
        self._own: Scene | None = None  # of the last snapshot
        self._counts = np.zeros(0, np.uint32)

    def marked(self, snapshot: Snapshot, own: Scene) -> Snapshot:
        """The snapshot, of the scene `own`, with an epoch of its own for bodies whose frame has jumped; changed in place."""
        last, before = self._last, self._own
        self._last, self._own = snapshot, own
        bodies = snapshot.bodies
        is_other = before is not None and before.shapes is not own.shapes and not are_same(before, own)
        if before is not None and is_other and last is not None and last.world_epoch == snapshot.world_epoch:
            jumped = jumped_bodies(last.bodies, before, bodies, own)
            if len(jumped):
                self._counts = np.pad(self._counts, (0, max(0, len(bodies) - len(self._counts))))
                self._counts[jumped] += np.uint32(1)
        if len(self._counts):
            counts = self._counts[: len(bodies)]
            epochs = bodies["epoch"][: len(counts)]
            bodies["epoch"][: len(counts)] = (epochs & ~np.uint32(CONTINUITY_MASK)) | (
                (epochs + counts) & np.uint32(CONTINUITY_MASK)
            )
        return snapshot


def jumped_bodies(older: NDArray[np.void], before: Scene, newer: NDArray[np.void], after: Scene) -> NDArray[np.intp]:
    """Bodies whose own frame jumps from the older to the newer records, (n,) and (m,) of dtype `BODY`, of these scenes, and
    their children, ascending."""
    count = min(len(older), len(newer))
    shapes, now = (row_shapes(scene, part_rows(scene, count), count) for scene in (before, after))
    moved = moved_parts(now, shapes)
    if moved is None:
        return np.zeros(0, np.intp)
    body_of = np.arange(count) if shapes.parts is None else shapes.parts.bodies
    rows = np.union1d(moved.rows, moved.sized)
    bodies = body_of[rows]
    kept = moved.kept_in_place(newer[body_of])[rows]
    own = _weights(older[bodies], newer[bodies], bodies, count)
    seen = _weights(older[bodies], kept, bodies, count)
    is_whole = np.bincount(bodies, minlength=count) == np.bincount(body_of, minlength=count)
    jumped = np.flatnonzero(is_whole & (seen < MOST_LEFT * own))
    places = set(jumped.tolist())
    children = [child for child, parent in after.parents.items() if parent in places and child < count]
    return np.union1d(jumped, np.array(children, np.intp)).astype(np.intp)


def _weights(
    older: NDArray[np.void], newer: NDArray[np.void], bodies: NDArray[np.intp], count: int
) -> NDArray[np.float64]:
    """By how much the records of each body differ: metres, radians and scales in one number, (count,)."""
    with np.errstate(all="ignore"):  # records may hold anything
        away = np.linalg.norm(newer["position"].astype(np.float64) - older["position"], axis=1)
        cosines = np.abs((normalized(newer["orientation"]) * normalized(older["orientation"])).sum(axis=1))
        turned = 2 * np.arccos(np.minimum(cosines, 1.0))
        scaled = np.abs(newer["scale"].astype(np.float64) - older["scale"])
        return np.bincount(bodies, away + turned + scaled, count).astype(np.float64)
