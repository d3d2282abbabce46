"""Keeps meshes on the GPU. Each distinct mesh has one set of buffers. For each mesh, a list contains the bodies that
share its buffers.

This module also handles deforming meshes, whose vertices are blended between two snapshots.

Always: meshes with equal arrays share buffers, even if their colours differ. Buffers stay on the GPU if the next scene
also has the mesh. Each layer has a list of its bodies. In this list, all bodies with the same mesh are adjacent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.scene.material import Material
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.scene.surfaces import NO_SURFACES, are_drawable, deforming, surface_rows
from twixt.ipc.snapshot import CONTINUITY_MASK
from twixt.render.draw.frame.layers import SurfacePair
from twixt.render.draw.glsl.mesh_pose import MESH_POSE
from twixt.render.draw.meshes.mesh_geometry import (
    VERTEX,
    Deformation,
    MeshBounds,
    mesh_bounds,
    mesh_geometry,
    silhouette_edges,
)

# Largest number of faces of a mesh with soft silhouettes. To find the silhouettes, the edges are sorted. For this
# number of faces, sorting takes 0.2 s, which delays the scene.
MOST_SOFT_FACES = 250_000


class MeshOnGpu(NamedTuple):
    """Buffers of one mesh. edges: see `silhouette_edges`; None if the mesh has more than MOST_SOFT_FACES faces.

    uv: image coordinates of each vertex; None if the mesh has no image coordinates.
    """

    vertices: moderngl.Buffer
    triangles: moderngl.Buffer
    edges: moderngl.Buffer | None
    edge_count: int
    is_flat: bool
    bounds: MeshBounds
    uv: moderngl.Buffer | None = None

    def release(self) -> None:
        """Releases the GPU memory."""
        for buffer in (self.vertices, self.triangles, self.edges, self.uv):
            if buffer is not None:
                buffer.release()


class MeshBuffers:
    """Stores the distinct meshes of a scene on the GPU. The key of a mesh is its digest."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._meshes: dict[bytes, MeshOnGpu] = {}

    def keep(self, meshes: Iterable[Mesh]) -> None:
        """Uploads each mesh of `meshes` that is not on the GPU yet. Releases all other meshes on the GPU."""
        wanted = {mesh.digest: mesh for mesh in meshes}
        for digest in self._meshes.keys() - wanted.keys():
            self._meshes.pop(digest).release()
        for digest, mesh in wanted.items():
            if digest not in self._meshes:
                self._meshes[digest] = self._uploaded(mesh)

    def __getitem__(self, digest: bytes) -> MeshOnGpu:
        return self._meshes[digest]

    def _uploaded(self, mesh: Mesh) -> MeshOnGpu:
        geometry, buffer = mesh_geometry(mesh), self._context.buffer
        has_edges = len(geometry.triangles) <= MOST_SOFT_FACES
        edges = silhouette_edges(geometry) if has_edges else np.zeros((0, 4), np.uint32)
        return MeshOnGpu(
            buffer(geometry.vertices),
            buffer(geometry.triangles),
            buffer(edges) if len(edges) else None,
            len(edges),
            geometry.is_flat,
            mesh_bounds(mesh),
            None if mesh.uv is None else buffer(mesh.uv[geometry.sources]),
        )


class MeshRun(NamedTuple):
    """Bodies of a layer that have the same mesh and material. bodies: indices of these bodies, ascending. end: the last
    of these indices plus one.

    first: place of the first of these bodies in the layer's list. surface: index of the body among the deforming
    bodies; -1 if the mesh does not deform.
    """

    digest: bytes
    material: Material | None
    bodies: NDArray[np.uint32]
    end: int
    first: int
    surface: int = -1

    def drawn(self, count: int) -> int:
        """Number of these bodies in a snapshot of `count` bodies."""
        return len(self.bodies) if self.end <= count else int(np.searchsorted(self.bodies, np.uint32(count)))


class LayerMeshes:
    """The bodies of a layer whose shape is a mesh, sorted by mesh. Bodies with the same mesh are one run. Each
    deforming body is a run of its own. bodies: buffer with the indices of these bodies.

    poses: buffer with a row of MESH_POSE for each body, in the same order. It is written for each picture.
    """

    def __init__(self, context: moderngl.Context, scene: Scene, bodies: NDArray[np.uint32]) -> None:
        kinds = [
            (shape.digest, shape.material) if isinstance(shape, Mesh) else (b"", None)
            for shape in shape_list(scene).table
        ]
        number_of = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        shapes = shape_list(scene).rows_for(int(bodies[-1]) + 1)[bodies]
        numbers = np.array([number_of[kind] for kind in kinds])[shapes]
        surfaces = _places_in(surface_rows(scene, int(bodies[-1]) + 1).bodies, bodies)
        order = np.lexsort((surfaces, numbers))
        listed, numbers, surfaces = bodies[order], numbers[order], surfaces[order]
        firsts = np.flatnonzero((np.diff(numbers, prepend=-1) != 0) | (np.diff(surfaces, prepend=-1) != 0))
        names = list(number_of)
        self.runs = [
            MeshRun(names[number][0], names[number][1], run, int(run[-1]) + 1, int(first), int(surfaces[first]))
            for first, number, run in zip(firsts, numbers[firsts], np.split(listed, firsts[1:]), strict=True)
        ]
        self.bodies = context.buffer(listed)
        self.poses = context.buffer(reserve=len(listed) * MESH_POSE.itemsize)
        # Vertex arrays. The key is the name of the program and the number of the run.
        self.arrays: dict[tuple[str, int], moderngl.VertexArray] = {}

    def spans(self, count: int) -> list[tuple[int, int]]:
        """The parts of the list whose bodies are in a snapshot of `count` bodies. Each part is given as (index of its
        first body, number of bodies). Adjacent parts are merged."""
        found: list[tuple[int, int]] = []
        for run in self.runs:
            if not (drawn := run.drawn(count)):
                continue
            if found and sum(found[-1]) == run.first:
                found[-1] = found[-1][0], found[-1][1] + drawn
            else:
                found.append((run.first, drawn))
        return found

    def release(self) -> None:
        """Releases the GPU memory."""
        for array in self.arrays.values():
            array.release()
        self.bodies.release()
        self.poses.release()


def _places_in(listed: NDArray[np.intp], bodies: NDArray[np.uint32]) -> NDArray[np.intp]:
    """For each body of `bodies`, its index in the ascending list `listed`; -1 if the body is not in this list."""
    if not len(listed):
        return np.full(len(bodies), -1)
    places = np.minimum(np.searchsorted(listed, bodies), len(listed) - 1)
    return np.where(listed[places] == bodies, places, -1)


# This section handles the vertices of deforming meshes. The GPU blends them between two snapshots and writes the result
# into the buffers that are drawn.
#
# A deforming body has its own vertex buffer, which the programs of meshes draw like the buffer of any other mesh. For
# each picture, a pass with transform feedback blends the vertices and normals of the older and the newer snapshot into
# this buffer. (A similar pass computes the poses of bodies, see glsl/mesh_pose.py.) So faces, silhouettes and shadows
# need no extra code for bodies that deform.
#
# The vertices of a snapshot stay in main memory until the snapshot is drawn for the first time. Only then are its
# normals computed, and vertices and normals uploaded. This saves time: if 120 snapshots arrive per second, a display of
# 60 Hz draws only half of them.
#
# Always: if the epoch of a body changed, or if its vertices are not finite in the newer snapshot, its older vertices
# are drawn until the time of the newer snapshot. If its vertices are not finite in the older snapshot, the body is not
# drawn. If a snapshot has no vertices, the rest shapes are drawn. The rows of vertices are in the same order as in
# `ipc/scene/surfaces.py`.


# Largest number of snapshots whose vertices and normals are on the GPU. Each half of a split view needs two snapshots.
# Each group of bodies with a delay needs two more.
MOST_FILLED = 8
FORMAT = "3f 3f"

_BLEND = """#version 330 core
in vec3 older_place, older_normal, newer_place, newer_normal;
uniform float share;
out vec3 place, normal;
void main() {
    place = older_place + (newer_place - older_place) * share;
    normal = older_normal + (newer_normal - older_normal) * share;
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""


class _Held(NamedTuple):
    """Vertices of a snapshot in main memory, (v, 3), and the epochs of its deforming bodies, (k,). number: number of
    the upload, counted from 1."""

    number: int
    vertices: NDArray[np.float32]
    epochs: NDArray[np.uint32]


class _Filled(NamedTuple):
    """Vertices of a snapshot on the GPU. rows: rows of VERTEX of all deforming bodies. number: number of the upload,
    see `_Held`; 0 if these are the rest shapes. bounds: for each body, the box around its vertices, or None if the body
    is not drawn."""

    number: int
    held: _Held | None
    rows: moderngl.Buffer
    bounds: list[MeshBounds | None]


class DrawnSurface(NamedTuple):
    """Buffer with the vertices of a body in the current picture, and the box around these vertices."""

    vertices: moderngl.Buffer
    bounds: MeshBounds


class SurfaceBlending:
    """Holds and blends the vertices of the deforming bodies of one scene. The key of a snapshot's vertices is the
    snapshot's slot."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._scene: Scene | None = None
        self._rows = NO_SURFACES
        # One Deformation for each deforming body. Bodies with the same mesh share one Deformation.
        self._deformations: list[Deformation] = []
        self._starts = np.zeros(1, np.intp)  # for each body, the index of its first row of vertices on the GPU
        self._held: dict[int, _Held] = {}
        self._filled: dict[int, _Filled] = {}  # in order of use; the last entry was used most recently
        self._drawn: list[moderngl.Buffer] = []  # for each deforming body, the buffer that is drawn
        # What each body's buffer contains: the numbers of the two uploads that were blended, and the share of the newer
        # upload.
        self._shown: dict[int, tuple[int, int, float]] = {}
        self._uploads = 0
        # vertex arrays; the key is the names of two buffers
        self._arrays: dict[tuple[int, int], moderngl.VertexArray] = {}
        self._program: moderngl.Program | None = None

    def upload(self, slot: int, vertices: NDArray[np.float32], epochs: NDArray[np.uint32]) -> None:
        """Sets the data of the snapshot in `slot`. vertices: (v, 3). epochs: epochs of its deforming bodies, (k,)."""
        if len(vertices):
            self._uploads += 1
            self._held[slot] = _Held(self._uploads, vertices, epochs)
        else:
            self._held.pop(slot, None)

    def set_scene(self, scene: Scene, count: int) -> None:
        """Makes buffers for the deforming bodies among the first `count` bodies. scene: a scene with one shape for each
        body."""
        self.release()
        self._scene, self._rows = scene, surface_rows(scene, count)
        made: dict[bytes, Deformation] = {}
        shapes = shape_list(scene).rows_for(count)
        for body in self._rows.bodies:
            mesh = deforming(shape_list(scene).table[shapes[body]])
            assert mesh is not None
            if mesh.digest not in made:
                made[mesh.digest] = Deformation(mesh)
            self._deformations.append(made[mesh.digest])
        lengths = [len(deformation.rest) for deformation in self._deformations]
        self._starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.intp)
        self._drawn = [self._context.buffer(deformation.rest) for deformation in self._deformations]

    def place_of(self, body: int) -> int:
        """Index of a body among the deforming bodies; -1 if the body does not deform."""
        place = int(np.searchsorted(self._rows.bodies, body))
        return place if place < len(self._rows.bodies) and self._rows.bodies[place] == body else -1

    def blended(self, place: int, pair: SurfacePair) -> DrawnSurface | None:
        """Vertices of the deforming body with index `place`, blended between these two snapshots; None if the body is
        not drawn."""
        older, newer = self._fill(pair.older), None
        bounds, share = older.bounds[place], pair.share
        if bounds is None:
            return None
        if pair.newer is not None and share > 0:
            newer = self._fill(pair.newer)
            if not _are_one(older.held, newer.held, place) or newer.bounds[place] is None:
                newer = None
        buffer = self._drawn[place]
        shown = (older.number, older.number, 0.0) if newer is None else (older.number, newer.number, share)
        if self._shown.get(place) != shown:
            self._shown[place] = shown
            self._write(place, older.rows, None if newer is None else newer.rows, share)
        return DrawnSurface(buffer, bounds)

    def release(self) -> None:
        """Releases the GPU memory. The vertices in main memory stay."""
        for array in self._arrays.values():
            array.release()
        for buffer in (*self._drawn, *(filled.rows for filled in self._filled.values())):
            buffer.release()
        self._arrays.clear()
        self._filled.clear()
        self._shown.clear()
        self._drawn, self._deformations, self._rows = [], [], NO_SURFACES

    def _write(self, place: int, older: moderngl.Buffer, newer: moderngl.Buffer | None, share: float) -> None:
        target, first = self._drawn[place], int(self._starts[place])
        count = int(self._starts[place + 1]) - first
        if newer is None:
            size = VERTEX.itemsize
            return self._context.copy_buffer(target, older, count * size, read_offset=first * size)
        array = self._array(older, newer)
        array.program["share"] = share
        array.transform(target, moderngl.POINTS, vertices=count, first=first)

    def _array(self, older: moderngl.Buffer, newer: moderngl.Buffer) -> moderngl.VertexArray:
        if self._program is None:
            self._program = blend_program(self._context)
        key = older.glo, newer.glo
        if key not in self._arrays:
            inputs = [(older, FORMAT, "older_place", "older_normal"), (newer, FORMAT, "newer_place", "newer_normal")]
            self._arrays[key] = self._context.vertex_array(self._program, inputs)
        return self._arrays[key]

    def _fill(self, slot: int) -> _Filled:
        """Returns the vertices that the snapshot in `slot` has on the GPU. If they are not on the GPU yet, writes them
        there."""
        held, filled = self._held.get(slot), self._filled.pop(slot, None)
        number = 0 if held is None else held.number
        if filled is None or filled.number != number:
            buffer = self._buffer() if filled is None else filled.rows
            rows, bounds = self._rows_of(held)
            buffer.write(rows)
            filled = _Filled(number, held, buffer, bounds)
        self._filled[slot] = filled
        return filled

    def _buffer(self) -> moderngl.Buffer:
        if len(self._filled) >= MOST_FILLED:
            return self._filled.pop(next(iter(self._filled))).rows
        return self._context.buffer(reserve=max(1, int(self._starts[-1])) * VERTEX.itemsize, dynamic=True)

    def _rows_of(self, held: _Held | None) -> tuple[NDArray[np.void], list[MeshBounds | None]]:
        rows, bounds = np.empty(int(self._starts[-1]), VERTEX), list[MeshBounds | None]()
        given = 0 if held is None else self._rows.first(len(held.vertices))
        for place, deformation in enumerate(self._deformations):
            into = rows[self._starts[place] : self._starts[place + 1]]
            if held is None or place >= given:
                into[...] = deformation.rest
                bounds.append(deformation.rest_bounds)
            elif are_drawable(vertices := held.vertices[self._rows.rows(place)]):
                bounds.append(deformation.write(vertices, into))
            else:
                bounds.append(None)
        return rows, bounds


def blend_program(context: moderngl.Context) -> moderngl.Program:
    """Program that blends the vertices and normals of two snapshots. Draw it with GL_POINTS and transform feedback."""
    return context.program(vertex_shader=_BLEND, varyings=("place", "normal"))


def _are_one(older: _Held | None, newer: _Held | None, place: int) -> bool:
    """True unless the epochs show that the body jumped between the two snapshots."""
    if older is None or newer is None:
        return True
    known = min(len(older.epochs), len(newer.epochs))
    return place >= known or not (int(older.epochs[place]) ^ int(newer.epochs[place])) & CONTINUITY_MASK
