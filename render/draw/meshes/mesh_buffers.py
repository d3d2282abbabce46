"""Meshes on the GPU, one set of buffers for each distinct one, and the lists of bodies that share it.

Always: meshes of the same arrays share buffers, whatever their colours. Buffers are kept from one scene to the next
where both have the mesh. The rows of a layer are listed mesh by mesh, so those of a mesh are a run of the list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.scene.surface_records import surface_rows
from twixt.ipc.shapes.material import Material
from twixt.ipc.shapes.mesh import Mesh
from twixt.render.draw.glsl.mesh_pose import MESH_POSE
from twixt.render.draw.meshes.mesh_geometry import MeshBounds, mesh_bounds, mesh_geometry, silhouette_edges

# Meshes of more faces have no soft silhouettes: sorting their edges would hold up the scene, 0.2 s for these.
MOST_SOFT_FACES = 250_000


class MeshOnGpu(NamedTuple):
    """Buffers of one mesh. edges: see `silhouette_edges`; None for a mesh of more than MOST_SOFT_FACES faces.

    uv: places in an image, for each vertex; None without.
    """

    vertices: moderngl.Buffer
    triangles: moderngl.Buffer
    edges: moderngl.Buffer | None
    edge_count: int
    is_flat: bool
    bounds: MeshBounds
    uv: moderngl.Buffer | None = None

    def release(self) -> None:
        """Gives the GPU memory back."""
        for buffer in (self.vertices, self.triangles, self.edges, self.uv):
            if buffer is not None:
                buffer.release()


class MeshBuffers:
    """The distinct meshes of a scene on the GPU, by digest."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._meshes: dict[bytes, MeshOnGpu] = {}

    def keep(self, meshes: Iterable[Mesh]) -> None:
        """Uploads what is new, and gives back the memory of all others."""
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
    """Bodies of one mesh and material in a layer: their numbers, ascending, and the last one plus one.

    first: place of the first in the layer's list. surface: place among the deforming bodies; -1: it does not deform.
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
    """Bodies of a layer that are meshes, mesh by mesh, deforming ones one by one. bodies: their numbers, on the GPU.

    poses: rows of MESH_POSE in the same order, written for each picture.
    """

    def __init__(self, context: moderngl.Context, scene: Scene, bodies: NDArray[np.uint32]) -> None:
        kinds = [
            (shape.digest, shape.material) if isinstance(shape, Mesh) else (b"", None)
            for shape in scene.distinct_shapes
        ]
        number_of = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        shapes = scene.shape_rows(int(bodies[-1]) + 1)[bodies]
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
        self.arrays: dict[tuple[str, int], moderngl.VertexArray] = {}  # by program and number of the run

    def spans(self, count: int) -> list[tuple[int, int]]:
        """First and number of the listed bodies that are in a snapshot of `count` bodies, as few spans as there are."""
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
        """Gives the GPU memory back."""
        for array in self.arrays.values():
            array.release()
        self.bodies.release()
        self.poses.release()


def _places_in(listed: NDArray[np.intp], bodies: NDArray[np.uint32]) -> NDArray[np.intp]:
    """Place of each of `bodies` in an ascending list, -1 for one that is not in it."""
    if not len(listed):
        return np.full(len(bodies), -1)
    places = np.minimum(np.searchsorted(listed, bodies), len(listed) - 1)
    return np.where(listed[places] == bodies, places, -1)
