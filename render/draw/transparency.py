"""Draws transparent bodies and marks after all opaque bodies and marks. The transparent rows are sorted. Rows of one
kind that follow each other are drawn by one draw call.

Some programs draw bodies of any size (as rectangles, planes, or faces of meshes). These programs have a variant that
draws only transparent pixels. The usual variant leaves these pixels out. So the order of drawing is a list of row
numbers, and one draw call draws a run of rows of one kind and layer. Transparent bodies are tested against the depth
buffer but do not write to it.

If a picture has no transparent rows, the only cost is one check of each layer. Transparent bodies cast no shadow.
Closed meshes are back-face culled. Open meshes show both sides, and their faces are drawn in the mesh's own order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Shape
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.scene.surfaces import deforming
from twixt.ipc.snapshot import BODY, VISIBLE
from twixt.render.draw.bodies.body_draws import BodyDraws
from twixt.render.draw.bodies.body_programs import Membership, material_of
from twixt.render.draw.bodies.materials import MaterialUniforms, finish_of, pass_of_any_size
from twixt.render.draw.bodies.shape_rows import KIND_NAMES
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import FrameTarget, SceneView
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.snapshot_ring import NO_ROWS, TransparentRows
from twixt.render.draw.glsl.mesh_pose import MESH_POSE
from twixt.render.draw.marks.mark_drawing import MarkDrawing
from twixt.render.draw.marks.mark_solids import SOLIDS
from twixt.render.draw.meshes.mesh_drawing import MeshDrawing
from twixt.render.interpolation.quaternion import normalized, rotate

MESHES, PLANES, NOTHING = (KIND_NAMES.index(kind) for kind in ("meshes", "planes", "nothing"))
FIRST_ROOM = 64


class _SortedRows(NamedTuple):
    """Consecutive rows that one draw call draws. shape: the shape of the rows, set for meshes and for shapes with a
    material. row: number of the first row. If the mesh deforms, there is only this row."""

    layer: PlacedLayer
    kind: int
    shape: Shape | None
    first: int
    bodies: int
    row: int


class _MarkRun(NamedTuple):
    """Solids of marks that one draw call draws. The fields are the index of the solid in SOLIDS, the index of the first
    row among the solids of all marks, and the number of rows."""

    solid: int
    first: int
    number: int


class _Listed(NamedTuple):
    """Rows of all layers. The fields are the row number, the index of the layer, the kind, the shape, the position
    relative to the eye, and the normal. The shape is 0 for a shape without a material, except for meshes."""

    rows: NDArray[np.uint32]
    layers: NDArray[np.intp]
    kinds: NDArray[np.intp]
    shapes: NDArray[np.intp]
    place: NDArray[np.float64]
    normals: NDArray[np.float64]

    @property
    def keys(self) -> NDArray[np.intp]:
        """Keys of the rows, (n,). Two rows have equal keys if one draw call may draw both."""
        return (self.layers * len(KIND_NAMES) + self.kinds) * (1 << 32) + self.shapes


NO_INDICES, NO_PLACES = np.zeros(0, np.intp), np.zeros((0, 3))
NOTHING_LISTED = _Listed(NO_ROWS, NO_INDICES, NO_INDICES, NO_INDICES, NO_PLACES, NO_PLACES)


class TransparentDraws:
    """Draws transparent bodies and marks. Call `begin` before the other draws of a picture, and `draw` at the end of
    the picture."""

    def __init__(
        self,
        context: moderngl.Context,
        target: FrameTarget,
        bodies: BodyDraws,
        meshes: MeshDrawing,
        materials: MaterialUniforms,
        marks: MarkDrawing,
    ) -> None:
        self._context, self._target, self._bodies = context, target, bodies
        self._meshes, self._materials, self._marks = meshes, materials, marks
        self._order: moderngl.Buffer | None = None
        self._poses: moderngl.Buffer | None = None
        self._runs: list[_SortedRows | _MarkRun] = []

    def begin(self, camera: CameraMatrices, layers: Sequence[PlacedLayer]) -> None:
        """Sorts the rows of a picture together with the solids of the picture's marks, and computes the poses of
        meshes."""
        self._runs = []
        sorting = [layer for layer in layers if layer.uniforms.has_transparent]
        through = self._marks.transparent
        if not sorting and not len(through.rows):
            return
        found = [NOTHING_LISTED, *(self._listed(layer, camera) for layer in sorting)]
        listed = _Listed(*map(np.concatenate, zip(*found, strict=True)))
        bodies, planes = len(listed.rows), np.flatnonzero(listed.kinds == PLANES)
        place = np.concatenate([listed.place, through.rows["position"].astype(np.float64) - np.array(camera.eye)])
        to_eye = camera.view[2, :3].astype(np.float64) if camera.orthographic else None
        # The keys of marks are smaller than the keys of bodies.
        keys = np.concatenate([listed.keys, through.solids - len(SOLIDS)])
        order, begins = sorted_runs(
            back_to_front(place, to_eye, planes, listed.normals[planes]), keys, self._are_alone(listed, len(keys))
        )
        is_mark = order >= bodies
        self._make_runs(listed, sorting, order, begins)
        if bodies:
            rows = np.zeros(len(order), np.uint32)
            rows[~is_mark] = listed.rows[order[~is_mark]]
            self._make_room(len(order)).write(rows)
            self._pose_meshes()
        self._marks.upload_transparent(order[is_mark] - bodies)

    def draw(self, view: SceneView) -> None:
        """Draws the rows of the picture for which `begin` was called last."""
        for run in self._runs:
            if isinstance(run, _MarkRun):
                self._marks.draw_transparent(run.solid, run.first, run.number, view)
            else:
                self._draw_bodies(run)

    def release(self) -> None:
        """Releases the GPU memory."""
        self._runs = []
        self._release_buffers()

    def _release_buffers(self) -> None:
        for buffer in (self._order, self._poses):
            if buffer is not None:
                buffer.release()
        self._order = self._poses = None

    def _are_alone(self, listed: _Listed, count: int) -> NDArray[np.bool_]:
        """Returns a mask (count,). It is True for each row that is a deforming mesh and so needs its own draw call."""
        deform = [deforming(shape) is not None for shape in shape_list(self._bodies.members.scene).table]
        alone = np.zeros(count, bool)
        if any(deform):
            alone[: len(listed.rows)] = (listed.kinds == MESHES) & np.array([False, *deform])[listed.shapes]
        return alone

    def _make_runs(
        self, listed: _Listed, layers: Sequence[PlacedLayer], order: NDArray[np.intp], begins: NDArray[np.intp]
    ) -> None:
        """Lists the draw calls for the rows in this order. Row numbers beyond the rows of `listed` stand for marks."""
        table = (None, *shape_list(self._bodies.members.scene).table)
        drawn = {layer.number: layer._replace(variant=layer.variant._replace(transparent=True)) for layer in layers}
        solids, first_mark = self._marks.transparent.solids, 0
        for first, end in pairwise([*begins.tolist(), len(order)]):
            row = int(order[first])
            if row >= len(listed.rows):
                self._runs.append(_MarkRun(int(solids[row - len(listed.rows)]), first_mark, end - first))
                first_mark += end - first
                continue
            layer, shape = drawn[int(listed.layers[row])], table[listed.shapes[row]]
            if (material := None if shape is None else material_of(shape)) is not None:
                layer = layer._replace(variant=layer.variant._replace(finish=finish_of(material)))
            self._runs.append(
                _SortedRows(layer, int(listed.kinds[row]), shape, first, end - first, int(listed.rows[row]))
            )

    def _draw_bodies(self, run: _SortedRows) -> None:
        layer, kind, shape, first, count, row = run
        assert self._order is not None
        self._target.framebuffer.depth_mask = False
        if isinstance(shape, Mesh):
            surface = self._meshes.surface_of(row, layer) if shape.deforms else None
            if self._poses is not None and (surface is not None or not shape.deforms):
                self._meshes.draw_transparent(shape, self._poses, first, count, surface)
        else:
            material = None if shape is None else material_of(shape)
            name = pass_of_any_size(KIND_NAMES[kind], layer.variant.stretched or material is not None)
            array = self._bodies.array_of(name, layer, self._order, "back to front")
            if material is not None:
                self._materials.apply(array.program, material)
            self._context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND)
            array.render(moderngl.POINTS, count, first=first)
        self._target.framebuffer.depth_mask = True

    def _listed(self, layer: PlacedLayer, camera: CameraMatrices) -> _Listed:
        ring, members, parts = self._bodies.ring, self._bodies.members, self._bodies.parts
        older, newer, _ = layer.slots
        rows, records = _within(
            newest(ring.transparent(older), ring.transparent(newer) if layer.uniforms.newer_count else None),
            layer,
            members,
        )
        kinds = members.kinds[rows].astype(np.intp)
        turns = normalized(records["orientation"])
        normals = np.zeros((len(rows), 3))
        planes = np.flatnonzero(kinds == PLANES)
        if parts is not None:
            records = parts.placed(records, rows)
        if len(planes):
            local = np.tile((0.0, 0.0, 1.0), (len(planes), 1))
            local = local if parts is None else rotate(parts.poses[rows[planes], 3:].astype(np.float64), local)
            normals[planes] = rotate(turns[planes], local)
        shapes, index = np.zeros(len(rows), np.intp), shape_list(members.scene).rows
        if len(index) and members.needs_own_draw.any():
            shapes = index[np.minimum(rows, len(index) - 1)].astype(np.intp) + 1
            shapes[~members.needs_own_draw[shapes - 1]] = 0
        place = records["position"].astype(np.float64) - np.array(camera.eye)
        return _Listed(rows, np.full(len(rows), layer.number), kinds, shapes, place, normals)

    def _make_room(self, count: int) -> moderngl.Buffer:
        """Returns the buffer of row numbers. It has space for `count` numbers."""
        if self._order is None or self._order.size < 4 * count:
            room = max(FIRST_ROOM, 2 * count)
            # The vertex arrays of the old buffer are released, because they would still read from the old buffer.
            self._bodies.ring.forget_vertex_arrays()
            self._meshes.forget_transparent()
            self._release_buffers()
            self._order = self._context.buffer(reserve=4 * room, dynamic=True)
            self._poses = self._context.buffer(reserve=room * MESH_POSE.itemsize)
        return self._order

    def _pose_meshes(self) -> None:
        """Computes the poses of the meshes in all runs. Neighbouring runs of the same layer are computed together."""
        together: list[tuple[PlacedLayer, int, int]] = []
        for run in self._runs:
            if isinstance(run, _MarkRun) or run.kind != MESHES:
                continue
            layer, first, count = run.layer, run.first, run.bodies
            if together and together[-1][0].number == layer.number and sum(together[-1][1:]) == first:
                together[-1] = layer, together[-1][1], together[-1][2] + count
            else:
                together.append((layer, first, count))
        for layer, first, count in together:
            if self._order is not None and self._poses is not None:
                self._bodies.write_poses(layer, (self._order, self._poses), first, count)


def _within(found: TransparentRows, layer: PlacedLayer, members: Membership) -> TransparentRows:
    """Returns the transparent rows of this layer that are drawn and that are in the layer's older snapshot."""
    rows = found.rows
    kept = (rows < layer.bodies) & (members.kinds[np.minimum(rows, len(members.kinds) - 1)] != NOTHING)
    listed = members.of_layer(layer.group)
    if listed.indices is not None:
        at = np.searchsorted(listed.bodies, rows)
        kept &= (at < len(listed.bodies)) & (listed.bodies[np.minimum(at, len(listed.bodies) - 1)] == rows)
    return TransparentRows(rows[kept], found.records[kept])


# This code sorts transparent rows from back to front, and divides the sorted rows into runs. Each run is one draw call.
#
# Blending is correct only from back to front ("over", Porter and Duff 1984). Few bodies are transparent, so only these
# bodies are sorted, by the distance of their centres from the eye. Planes are not sorted. They divide the order: bodies
# behind a plane come before the plane, and bodies on the eye's side come after it (binary space partition: Fuchs,
# Kedem, Naylor 1980). So the order is correct for a floor or a pane of glass of any size.
#
# The alternative was weighted blending without an order (McGuire and Bavoil 2013). It needs two more framebuffers that
# share the window's depth, which a window does not allow. It also needs a pass over the whole picture, which takes 2 ms
# in software at 800x600. Where bodies overlap, weighted blending only approximates the colour of a pixel. Sorting gives
# the exact colour.
#
# A row is transparent if the colour of its record or of its shape has an alpha below 255. If two transparent bodies
# intersect, the body whose centre is farther is drawn first. If there are more than MOST_RUNS runs, rows are sorted
# only among rows with the same key. Pure.


# Largest number of planes that divide the order of rows. Each plane requires a pass over the rows.
MOST_PARTING = 32
# If a picture needs at most this many draw calls, rows with different keys are sorted together. Each draw call takes 20
# us.
MOST_RUNS = 512


class SortedRuns(NamedTuple):
    """Rows from back to front, (n,), and the positions in this order at which a new draw call begins, (r,)."""

    order: NDArray[np.intp]
    begins: NDArray[np.intp]


def newest(older: TransparentRows | None, newer: TransparentRows | None) -> TransparentRows:
    """Returns the rows of two snapshots, each row once. If both snapshots have the row, the newer record is used.
    Hidden rows are left out."""
    if older is not None:
        is_hidden = (older.records["flags"] & VISIBLE) == 0
        if is_hidden.any():
            hidden = older.rows[is_hidden]
            older = TransparentRows(older.rows[~is_hidden], older.records[~is_hidden])
            if newer is not None:
                seen = ~np.isin(newer.rows, hidden)
                newer = TransparentRows(newer.rows[seen], newer.records[seen])
    found = [one for one in (newer, older) if one is not None]
    if not found:
        return TransparentRows(NO_ROWS, np.zeros(0, BODY))
    if len(found) == 1 or np.array_equal(found[0].rows, found[1].rows):
        return found[0]
    rows, first = np.unique(np.concatenate([one.rows for one in found]), return_index=True)
    return TransparentRows(rows, np.concatenate([one.records for one in found])[first])


def sorted_runs(order: NDArray[np.intp], keys: NDArray[np.intp], alone: NDArray[np.bool_]) -> SortedRuns:
    """Divides rows into runs. The rows are given from back to front. One draw call draws a run.

    keys: (n,). Two keys are equal if one draw call may draw both rows. alone: (n,), True for rows that need their own
    draw call.
    """
    begins = _begins(keys[order], alone[order])
    if len(begins) > MOST_RUNS:
        order = order[np.argsort(keys[order], kind="stable")]
        begins = _begins(keys[order], alone[order])
    return SortedRuns(order, begins)


def _begins(keys: NDArray[np.intp], alone: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Returns the indices of the rows that begin a run. A run begins where the key changes, and at each row that needs
    its own draw call."""
    is_first = alone.copy()
    is_first[:1] = True
    is_first[1:] |= keys[1:] != keys[:-1]
    return np.flatnonzero(is_first)


def back_to_front(
    place: NDArray[np.float64],
    to_eye: NDArray[np.float64] | None,
    planes: NDArray[np.intp],
    normals: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Returns the order in which transparent bodies are drawn. The farthest body is first.

    place: (n, 3), centres relative to the eye, in metres. to_eye: direction to the eye of an orthographic camera; None
    for a perspective camera. planes: (p,), rows of the planes. normals: (p, 3), normals of these planes.
    """
    with np.errstate(all="ignore"):  # records may contain any bits, but rows that are not finite are not drawn
        nearness = -(place * place).sum(axis=1) if to_eye is None else place @ to_eye
        order = np.argsort(nearness, kind="stable")
        parting = dict(zip(planes[:MOST_PARTING].tolist(), normals, strict=False))
        return _parted(order, place, to_eye, parting)


def _parted(
    order: NDArray[np.intp],
    place: NDArray[np.float64],
    to_eye: NDArray[np.float64] | None,
    parting: dict[int, NDArray[np.float64]],
) -> NDArray[np.intp]:
    """Changes the order of the rows. Bodies behind a dividing plane come before the plane, and all other bodies come
    after it."""
    if not parting or len(order) < 2:
        return order
    plane = next((row for row in parting if (order == row).any()), None)
    if plane is None:
        return order
    left = {row: normal for row, normal in parting.items() if row != plane}
    normal, others = parting[plane], order[order != plane]
    if (normal @ (-place[plane] if to_eye is None else to_eye)) < 0:
        normal = -normal
    is_beyond = (place[others] - place[plane]) @ normal < 0
    beyond, before = (_parted(others[side], place, to_eye, left) for side in (is_beyond, ~is_beyond))
    return np.concatenate([beyond, [plane], before])
