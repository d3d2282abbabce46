"""Draws the bodies whose shape is a mesh. First the pose of each body is computed. Then one instanced draw call draws
all bodies that share a mesh.

Poses are computed before anything else is drawn in a picture. Otherwise the driver would have to interrupt the other
draw calls.

Always: if a scene has no meshes, this code only makes one comparison. Faces have hard edges. Soft silhouettes are drawn
at the end, over all bodies. They are left out if the picture has too many edges, or if the framebuffer has more than
one sample per pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import moderngl
import numpy as np

from twixt.ipc.scene.material import Material
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.scene import shape_list
from twixt.render.draw.bodies.body_draws import KEEP_ALPHA, PREMULTIPLIED, BodyDraws
from twixt.render.draw.bodies.body_programs import MESH_POSES, Membership
from twixt.render.draw.bodies.materials import MaterialUniforms, finish_of
from twixt.render.draw.frame.frame_block import FRAME_BINDING, FrameTarget
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.snapshot_ring import vertex_array
from twixt.render.draw.glsl.mesh_pose import MESH_POSE, POSE_INPUTS, POSE_OUTPUTS
from twixt.render.draw.meshes.mesh_buffers import LayerMeshes, MeshBuffers, MeshOnGpu, MeshRun, SurfaceBlending
from twixt.render.draw.meshes.mesh_geometry import is_closed, mesh_geometry
from twixt.render.draw.meshes.mesh_programs import MESH_PROGRAMS, SHADOWS
from twixt.render.draw.quality import FULL, LEVELS, Level

# Largest number of edges in a picture with soft silhouettes: one limit for software rendering, one for a GPU.
MOST_EDGES_SOFTWARE, MOST_EDGES_GPU = 20_000, 4_000_000
ALL = -1  # used as a key in place of the number of a run; stands for all runs
# Least half extent of a mesh, in metres, by which its image coordinates are divided.
SMALLEST_M = 1e-9


class _Drawn(NamedTuple):
    """Bodies of a picture that share a mesh. number: index of the bodies' run in `layer.runs`. bodies: how many
    bodies."""

    layer: LayerMeshes
    number: int
    run: MeshRun
    mesh: MeshOnGpu
    bodies: int


class MeshDrawing:
    """Draws meshes. Call `pose` at the start of a picture. Call the other methods later, when their turn comes in the
    picture."""

    def __init__(
        self, context: moderngl.Context, target: FrameTarget, bodies: BodyDraws, materials: MaterialUniforms
    ) -> None:
        self._context, self._target, self._bodies, self._materials = context, target, bodies, materials
        self._programs: dict[str, moderngl.Program] = {}
        self._buffers = MeshBuffers(context)
        self.surfaces = SurfaceBlending(context)
        self._layers: dict[str | None, LayerMeshes] = {}
        self._listed: Membership | None = None  # the lists of bodies from which `_layers` were made
        self._drawn: list[_Drawn] = []  # the bodies that are drawn in this picture
        # Vertex arrays, each with a flag that is True if the mesh is closed. The key is the name of the program, the
        # digest of the mesh and the OpenGL name of the vertex buffer.
        self._transparent: dict[tuple[str, bytes, int], tuple[moderngl.VertexArray, bool]] = {}

    def pose(self, layers: Sequence[PlacedLayer]) -> None:
        """Computes the poses of all meshes of a picture."""
        self._drawn = []
        self._list()
        for layer in layers if self._layers else ():
            listed = self._layers.get(layer.group)
            if listed is None:
                continue
            for first, count in listed.spans(layer.bodies):
                self._bodies.write_poses(layer, (listed.bodies, listed.poses), first, count)
            for number, run in enumerate(listed.runs):
                mesh = self._as_drawn(run, layer) if (count := run.drawn(layer.bodies)) else None
                if mesh is not None:
                    self._drawn.append(_Drawn(listed, number, run, mesh, count))

    def draw(self, level: Level) -> None:
        """Draws the faces."""
        if self._drawn:
            self._context.enable_only(moderngl.DEPTH_TEST)
        for drawn in self._drawn:
            material = drawn.run.material
            name = _faces(drawn.mesh, level) if material is None else _surfaces(drawn.mesh, material)
            array = self._instances(name, drawn, drawn.mesh.triangles)
            if material is not None:
                self._apply(array.program, material, drawn.mesh)
            array.render(moderngl.TRIANGLES, instances=drawn.bodies)

    def draw_shadows(self) -> None:
        """Draws the shadows of meshes on the ground. Each shadow is a soft spot that is as large as the box around the
        mesh. Plates (meshes that are thin along one axis) have no shadow."""
        casting = [drawn for drawn in self._drawn if not drawn.mesh.bounds.is_plate]
        if not casting:
            return
        self._context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND)
        self._context.blend_func = PREMULTIPLIED
        self._target.framebuffer.depth_mask = False
        program = self._program(SHADOWS)
        for layer, _, run, mesh, count in casting:
            program["middle"] = tuple(mesh.bounds.middle.tolist())
            program["half_size"] = tuple(mesh.bounds.half_size.tolist())
            self._rows(layer, program).render(moderngl.POINTS, vertices=count, first=run.first)
        self._target.framebuffer.depth_mask = True
        self._context.blend_func = KEEP_ALPHA  # type: ignore[assignment]

    def draw_silhouettes(self, level: Level) -> None:
        """Draws the soft silhouettes, over all bodies of the picture."""
        edges = sum(drawn.mesh.edge_count * drawn.bodies for drawn in self._drawn)
        most = MOST_EDGES_SOFTWARE if self._bodies.is_software else MOST_EDGES_GPU
        if not 0 < edges <= most or not level.fine or self._target.framebuffer.samples:
            return
        self._context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND)
        self._target.framebuffer.depth_mask = False
        for drawn in self._drawn:
            if drawn.mesh.edges is not None and drawn.run.material is None:
                array = self._instances(_silhouettes(drawn.mesh), drawn, drawn.mesh.edges)
                array.render(moderngl.LINES_ADJACENCY, instances=drawn.bodies)
        self._target.framebuffer.depth_mask = True

    def surface_of(self, row: int, layer: PlacedLayer) -> moderngl.Buffer | None:
        """Vertices of a deforming body, blended between this layer's snapshots; None if the body is not drawn."""
        self._list()
        place = self.surfaces.place_of(row)
        drawn = self.surfaces.blended(place, layer.surfaces) if place >= 0 else None
        return None if drawn is None else drawn.vertices

    def draw_transparent(
        self, mesh: Mesh, poses: moderngl.Buffer, first: int, count: int, surface: moderngl.Buffer | None = None
    ) -> None:
        """Draws the faces of `count` transparent bodies with the same mesh. poses: rows of MESH_POSE, read from row
        `first` on. surface: vertices that replace the mesh's own vertices.

        A closed mesh is drawn with back-face culling. The caller sets the depth mask.
        """
        self._list()
        on_gpu, material = self._buffers[mesh.digest], mesh.material
        if surface is not None:
            on_gpu = on_gpu._replace(vertices=surface)
        name = f"transparent {_faces(on_gpu, FULL)}" if material is None else _surfaces(on_gpu, material)
        key = name, mesh.digest, on_gpu.vertices.glo
        if (found := self._transparent.get(key)) is None:
            array = self._array(name, on_gpu, on_gpu.triangles)
            found = self._transparent[key] = array, is_closed(mesh_geometry(mesh))
        array, closed = found
        if material is not None:
            self._apply(array.program, material, on_gpu)
        _bind_poses(array, poses, first)
        culled = moderngl.CULL_FACE if closed else moderngl.NOTHING
        self._context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND | culled)
        array.render(moderngl.TRIANGLES, instances=count)

    def forget_transparent(self) -> None:
        """Releases the vertex arrays of `draw_transparent`. Call this when buffers have changed."""
        for array, _ in self._transparent.values():
            array.release()
        self._transparent.clear()

    def prepare(self) -> bool:
        """Compiles one program that a cheaper quality level will need, by drawing one body with it. Returns False if
        all such programs are compiled."""
        for drawn in self._drawn if self._bodies.is_software else ():
            for level in LEVELS:
                if (name := _faces(drawn.mesh, level)) not in self._programs:
                    self._instances(name, drawn, drawn.mesh.triangles).render(moderngl.TRIANGLES, instances=1)
                    return True
        return False

    def prepare_poses(self, layer: PlacedLayer) -> None:
        """Compiles the program that computes the poses of this layer, by computing the pose of one body with it."""
        self._list()
        if (listed := self._layers.get(layer.group)) is not None:
            self._bodies.write_poses(layer, (listed.bodies, listed.poses), 0, 1)

    def release(self) -> None:
        """Releases the meshes' GPU memory."""
        self._drawn, self._listed = [], None
        self._buffers.keep([])
        self._forget_layers()
        self.surfaces.release()

    def _list(self) -> None:
        """Uploads the meshes and lists the bodies of each layer, if the scene or the largest number of bodies has
        changed."""
        members = self._bodies.members
        if members is self._listed:
            return
        self._listed, self._drawn = members, []
        self._forget_layers()
        self._buffers.keep(shape for shape in shape_list(members.scene).table if isinstance(shape, Mesh))
        for group in members.layers:
            if len(bodies := members.of(group, MESH_POSES).bodies):
                self._layers[group] = LayerMeshes(self._context, members.scene, bodies)
        last = max((run.end for layer in self._layers.values() for run in layer.runs if run.surface >= 0), default=0)
        self.surfaces.set_scene(members.scene, last)

    def _as_drawn(self, run: MeshRun, layer: PlacedLayer) -> MeshOnGpu | None:
        """Returns the mesh of a run, as it is on the GPU. If the body deforms, its vertices are blended between this
        layer's snapshots. Returns None if the body is not drawn."""
        mesh = self._buffers[run.digest]
        if run.surface < 0:
            return mesh
        drawn = self.surfaces.blended(run.surface, layer.surfaces)
        return None if drawn is None else mesh._replace(vertices=drawn.vertices, bounds=drawn.bounds)

    def _forget_layers(self) -> None:
        for layer in self._layers.values():
            layer.release()
        self._layers.clear()
        self.forget_transparent()

    def _program(self, name: str) -> moderngl.Program:
        program = self._programs.get(name)
        if program is None:
            program = self._programs[name] = MESH_PROGRAMS[name](self._context)
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
        return program

    def _instances(self, name: str, drawn: _Drawn, indices: moderngl.Buffer) -> moderngl.VertexArray:
        """Returns a vertex array for this program. It has the vertices of a mesh, and one pose for each instance
        (body)."""
        layer, number, run, mesh, _ = drawn
        array = layer.arrays.get((name, number))
        if array is None:
            array = self._array(name, mesh, indices)
            _bind_poses(array, layer.poses, run.first)
            layer.arrays[name, number] = array
        return array

    def _array(self, name: str, mesh: MeshOnGpu, indices: moderngl.Buffer) -> moderngl.VertexArray:
        content: list[tuple[object, ...]] = [(mesh.vertices, "3f 3f", "place", "normal")]
        if mesh.uv is not None:
            content.append((mesh.uv, "2f", "uv"))
        return vertex_array(self._context, self._program(name), content, index_buffer=indices)

    def _apply(self, program: moderngl.Program, material: Material, mesh: MeshOnGpu) -> None:
        self._materials.apply(program, material, is_by_uv=mesh.uv is not None)
        if isinstance(uniform := program.get("half_size", None), moderngl.Uniform):
            uniform.value = tuple(np.maximum(mesh.bounds.half_size, SMALLEST_M).tolist())

    def _rows(self, layer: LayerMeshes, program: moderngl.Program) -> moderngl.VertexArray:
        """Returns a vertex array for a program that draws one point for each pose."""
        array = layer.arrays.get((SHADOWS, ALL))
        if array is None:
            form = " ".join(form for form, _ in POSE_INPUTS.values())
            array = layer.arrays[SHADOWS, ALL] = vertex_array(
                self._context, program, [(layer.poses, form, *POSE_OUTPUTS)]
            )
        return array


def _faces(mesh: MeshOnGpu, level: Level) -> str:
    """Name of the program that draws a mesh's faces at this level."""
    return f"{'' if level.fine else 'plain '}{'flat' if mesh.is_flat else 'smooth'} faces"


def _bind_poses(array: moderngl.VertexArray, poses: moderngl.Buffer, first: int) -> None:
    """Makes the vertex array read one pose for each instance, starting at row `first` of `poses`."""
    for attribute, (form, offset) in POSE_INPUTS.items():
        location = array.program[attribute].location  # type: ignore[union-attr]
        array.bind(location, "f", poses, form, first * MESH_POSE.itemsize + offset, MESH_POSE.itemsize, 1)


def _surfaces(mesh: MeshOnGpu, material: Material) -> str:
    """Name of the program that draws a mesh's faces with a material."""
    return f"{'flat' if mesh.is_flat else 'smooth'} surfaces {finish_of(material)}"


def _silhouettes(mesh: MeshOnGpu) -> str:
    return f"{'flat' if mesh.is_flat else 'smooth'} silhouettes"
