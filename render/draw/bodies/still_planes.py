"""Finds pictures whose planes stand still: then they are part of the background, which a processor copies.

The one idea: a floor fills the picture and never moves. If the records of all planes are the same in both snapshots,
and say that nothing moves, every pixel of them depends on the camera, the scene and these records alone.

Always: None if a plane might move or change between the two snapshots. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.snapshot_ring import SnapshotRing


def still_key(ring: SnapshotRing, layers: Sequence[PlacedLayer], scene: Scene) -> Hashable | None:
    """What the planes of a picture depend on, except the camera; None if there are none, or some may move.

    scene: with one shape a row; another object for each scene that was set.
    """
    if len(layers) != 1 or layers[0].variant.stretched:
        return None
    layer, uniforms = layers[0], layers[0].uniforms
    older = ring.planes(layer.slots.older)
    if not len(older):
        return None
    if uniforms.newer_count:
        newer = ring.planes(layer.slots.newer)
        if older.tobytes() != newer.tobytes() or moves(older).any():
            return None
    return IdentityKey(scene), older.tobytes(), uniforms.has_transparent, layer.group


def moves(records: NDArray[np.void]) -> NDArray[np.bool_]:
    """For each of these records, dtype `BODY`: True if it says that its body moves."""
    return np.asarray(records["velocity"].any(axis=1) | records["angular_velocity"].any(axis=1))


class IdentityKey:
    """Compares by identity, and keeps its object alive."""

    def __init__(self, one: object) -> None:
        self.one = one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.one is self.one

    def __hash__(self) -> int:
        return id(self.one)
