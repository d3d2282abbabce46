"""Layers are groups of bodies. Each layer is drawn between its own two snapshots, by its own interpolation method.

Each program draws all layers before the next program draws. So depth and blending are the same as with one layer. A
layer costs one small uniform block, and no additional pass over the picture. A scene without groups and parents has one
layer, `None`, which contains all bodies.

Always: each body is in exactly one layer. A body with a parent is in `CHILDREN`. A body with a group but without a
parent is in the layer of its group. Every other body is in `None`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene
from twixt.ipc.scene.groups import CHILDREN, rows_of_groups, rows_of_parents
from twixt.render.draw.frame.frame_block import LayerUniforms
from twixt.render.draw.frame.snapshot_ring import SnapshotRing
from twixt.render.draw.glsl.uniform_blocks import METHODS, PoseVariant


class Discrete(NamedTuple):
    """Fields that are not blended. They have the values of the older snapshot until the time of the newer snapshot."""

    color: bool = False
    scale3: bool = False


ALL_BLENDED = Discrete()


class SurfacePair(NamedTuple):
    """Two snapshots between which deforming surfaces are blended: their slots, and the weight of the newer snapshot,
    0..1."""

    older: int
    newer: int | None
    share: float


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of a picture.

    previous_slot, next_slot: GPU slots of the snapshots before and after the draw time. If next_slot is None, the
    previous snapshot is drawn without blending, for example if the CPU computed the poses. alpha: position of the draw
    time between the two snapshots, 0..1. before_slot: slot of the snapshot that came before the previous snapshot; None
    if it is unknown. gap_s: simulated seconds from the previous to the next snapshot. before_gap_s: simulated seconds
    from the `before_slot` snapshot to the previous one. method: interpolation method, one of none, linear, hermite,
    auto. group: name of the layer whose bodies are drawn. discrete: tells which fields are not blended. is_posed: True
    if the previous slot contains poses that the CPU computed. The velocity fields of such poses contain the float32
    rounding errors of the positions. surfaces: the snapshots between which deforming surfaces are blended, if the CPU
    computed the poses.
    """

    previous_slot: int
    next_slot: int | None = None
    before_slot: int | None = None
    alpha: float = 0.0
    gap_s: float = 0.0
    before_gap_s: float = 0.0
    method: str = "linear"
    group: str | None = None
    discrete: Discrete = ALL_BLENDED
    is_posed: bool = False
    surfaces: SurfacePair | None = None


class Slots(NamedTuple):
    """GPU slots that are bound to a layer's inputs. The layer's uniform block limits how many bodies are read from each
    slot."""

    older: int
    newer: int
    before: int


class PlacedLayer(NamedTuple):
    """A layer that is ready to be drawn. bodies: number of bodies in its older snapshot, in all groups together.
    number: index of the layer among the picture's layers. surfaces: the snapshots between which deforming surfaces are
    blended."""

    group: str | None
    slots: Slots
    bodies: int
    variant: PoseVariant
    uniforms: LayerUniforms
    surfaces: SurfacePair
    number: int = 0


def place(layer: Layer, ring: SnapshotRing) -> PlacedLayer:
    """Finds the slots, the program variant and the uniforms of a layer. Raises TwixtError if the interpolation method
    is unknown."""
    method = layer.method
    if method not in METHODS:
        raise TwixtError(f"drawing supports the methods {', '.join(METHODS)}, got {method!r}")
    alpha = min(max(float(layer.alpha), 0.0), 1.0)
    older = layer.next_slot if layer.next_slot is not None and alpha >= 1 else layer.previous_slot
    count = ring.count(older)
    newer = None if layer.next_slot == older or _unread(layer.next_slot, ring, count) else layer.next_slot
    before = layer.before_slot
    if newer is None or method != "auto" or _unread(before, ring, count):
        before = None
    uniforms = LayerUniforms(
        share=alpha if newer is not None and method != "none" else 0.0,
        is_posed=layer.is_posed,
        gap_s=layer.gap_s,
        before_gap_s=0.0 if before is None else layer.before_gap_s,
        older_count=count,
        newer_count=0 if newer is None else ring.count(newer),
        before_count=0 if before is None else ring.count(before),
        has_transparent=ring.transparent(older) is not None
        or (newer is not None and ring.transparent(newer) is not None),
        method=METHODS.index(method),
        keeps_color=layer.discrete.color,
        keeps_scale3=layer.discrete.scale3,
    )
    motion = "curved" if method in ("hermite", "auto") else "linear"
    variant = PoseVariant(motion, ring.is_stretched(older) and (newer is None or ring.is_stretched(newer)))
    slots = _all_slots(ring, count, older, newer, before)
    surfaces = SurfacePair(older, newer, uniforms.share) if layer.surfaces is None else layer.surfaces
    return PlacedLayer(layer.group, slots, count, variant, uniforms, surfaces)


def place_all(layers: Iterable[Layer], ring: SnapshotRing, groups: Collection[str | None]) -> list[PlacedLayer]:
    """Places the layers of a picture. Leaves out layers whose snapshot has no bodies.

    groups: names of the scene's layers. Raises TwixtError if the name of a layer is not in `groups`, or if an
    interpolation method is unknown.
    """
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
    """Returns the slots for all inputs of a layer. Inputs that are not used get distinct slots.

    If two inputs are in the same buffer, Mesa compiles the program again. At the first time, compiling takes 0.1 s or
    more. The first frame with a single snapshot must not wait for this.
    """
    spare = (slot for slot in ring.filled if slot not in (older, newer, before) and not ring.reads_beyond(slot, count))
    return Slots(older, *(next(spare, older) if slot is None else slot for slot in (newer, before)))


def layer_bodies(
    scene: Scene, count: int, rows: NDArray[np.intp] | None = None
) -> dict[str | None, NDArray[np.uint32]]:
    """Returns the numbers of the bodies in each layer, ascending. There are `count` bodies in all layers together.

    rows: the body of each row, if bodies have several parts (shape_rows.py). The result then contains row numbers.
    """
    names: list[str | None] = [None, *scene.groups]
    place_of = rows_of_groups(scene.groups, count) + 1
    if scene.parents:
        names.append(CHILDREN)
        place_of[rows_of_parents(scene.parents, count) >= 0] = len(names) - 1
    if rows is not None:
        place_of = place_of[rows]
    return {name: np.flatnonzero(place_of == number).astype(np.uint32) for number, name in enumerate(names)}
