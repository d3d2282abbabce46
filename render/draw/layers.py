"""Layers: bodies that are drawn alike, each layer between two snapshots of its own, by a method of its own.

The one idea: all layers of a picture are drawn program by program, so that depth and blending come out as if
they were one; a layer costs a small uniform block, not a pass of its own. A scene without groups and parents has
one layer, `None`, with all bodies in it.

Always: each body is in exactly one layer: in `CHILDREN` if it has a parent, else in its group, else in `None`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.groups import CHILDREN
from twixt.ipc.scene import Scene
from twixt.render.draw.frame_block import LAYER_BLOCK
from twixt.render.draw.pose import METHODS, PoseVariant
from twixt.render.draw.snapshot_ring import SnapshotRing


class Discrete(NamedTuple):
    """What stays as in the older snapshot until the newer one's instant."""

    color: bool = False
    scale3: bool = False


ALL_BLENDED = Discrete()


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of a picture.

    previous_slot, next_slot: the snapshots around the draw time, alpha (0..1) the place between them; next_slot
    None: the previous is drawn still, also where it holds poses made elsewhere. before_slot: what came before the
    previous, None where that is not known. gap_s, before_gap_s: simulated seconds from previous to next, and from
    before to previous. method: one of none, linear, hermite, auto. other_method: one of them too, drawn by as much
    as `mix` says (0: by `method` alone, 1: by the other alone). group: which bodies. discrete: what of them is never
    blended. is_posed: the previous holds poses made elsewhere, where velocities are what float32 leaves of positions.
    """

    previous_slot: int
    next_slot: int | None = None
    before_slot: int | None = None
    alpha: float = 0.0
    gap_s: float = 0.0
    before_gap_s: float = 0.0
    method: str = "linear"
    other_method: str = ""
    mix: float = 0.0
    group: str | None = None
    discrete: Discrete = ALL_BLENDED
    is_posed: bool = False


class Slots(NamedTuple):
    """What a layer is bound to; the counts in its block say what of it is read."""

    older: int
    newer: int
    before: int


class PlacedLayer(NamedTuple):
    """A layer ready to draw. block: a packed `LAYER_BLOCK`. number: its place among the picture's layers.

    gap_s: from the older to the newer.
    """

    group: str | None
    slots: Slots
    bodies: int
    variant: PoseVariant
    block: bytes
    gap_s: float = 0.0
    number: int = 0


def place(layer: Layer, ring: SnapshotRing) -> PlacedLayer:
    """Which slots, program and numbers draw this layer. Raises TwixtError."""
    for method in (layer.method, *([layer.other_method] if layer.mix > 0 else [])):
        if method not in METHODS:
            raise TwixtError(f"drawing knows the methods {', '.join(METHODS)}, got {method!r}")
    alpha = min(max(float(layer.alpha), 0.0), 1.0)
    older = layer.next_slot if layer.next_slot is not None and alpha >= 1 else layer.previous_slot
    count = ring.count(older)
    newer = None if layer.next_slot == older or _unread(layer.next_slot, ring, count) else layer.next_slot
    method, other, mix = layer.method, layer.other_method, min(max(float(layer.mix), 0.0), 1.0)
    if mix >= 1:
        method, mix = other, 0.0
    if mix == 0 or newer is None:
        other, mix = method, 0.0
    before = layer.before_slot
    if newer is None or "auto" not in (method, other) or _unread(before, ring, count):
        before = None
    shares = (alpha if newer is not None and name != "none" else 0.0 for name in (method, other))
    block = LAYER_BLOCK.pack(
        *shares, mix, float(layer.is_posed),
        layer.gap_s, 0.0 if before is None else layer.before_gap_s, 0.0, 0.0,
        count, 0 if newer is None else ring.count(newer), 0 if before is None else ring.count(before), 0,
        METHODS.index(method), METHODS.index(other), *layer.discrete,
    )  # fmt: skip
    way = "mixed" if mix > 0 else "curved" if method in ("hermite", "auto") else "linear"
    variant = PoseVariant(way, ring.is_stretched(older) and (newer is None or ring.is_stretched(newer)))
    slots = _all_slots(ring, count, older, newer, before)
    return PlacedLayer(layer.group, slots, count, variant, block, layer.gap_s)


def place_all(layers: Iterable[Layer], ring: SnapshotRing, groups: Collection[str | None]) -> list[PlacedLayer]:
    """Those of a picture that have bodies. groups: which there are. Raises TwixtError."""
    placed: list[PlacedLayer] = []
    for layer in layers:
        if layer.group not in groups:
            known = ", ".join(sorted(repr(name) for name in groups))
            raise TwixtError(f"this scene has the layers {known}, got {layer.group!r}")
        one = place(layer, ring)
        if one.bodies:
            placed.append(one._replace(number=len(placed)))
    return placed


def _unread(slot: int | None, ring: SnapshotRing, count: int) -> bool:
    return slot is None or ring.reads_beyond(slot, count)


def _all_slots(ring: SnapshotRing, count: int, older: int, newer: int | None, before: int | None) -> Slots:
    """What is not read is bound to slots of its own all the same.

    Mesa makes a program anew (0.1 s and more, unless it ever did before) for inputs of which two are of one buffer:
    the first frame that holds still must not wait for that.
    """
    spare = (slot for slot in ring.filled if slot not in (older, newer, before) and not ring.reads_beyond(slot, count))
    return Slots(older, *(next(spare, older) if slot is None else slot for slot in (newer, before)))


def layer_bodies(scene: Scene, count: int) -> dict[str | None, NDArray[np.uint32]]:
    """The bodies of each layer, ascending, of `count` bodies in all."""
    names: list[str | None] = [None, *scene.groups]
    place_of = scene.group_rows(count) + 1
    if scene.parents:
        names.append(CHILDREN)
        place_of[scene.parent_rows(count) >= 0] = len(names) - 1
    return {name: np.flatnonzero(place_of == number).astype(np.uint32) for number, name in enumerate(names)}
