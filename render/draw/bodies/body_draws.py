"""Draws bodies with one draw call for each program, in each layer that contains bodies of the program's kind.

In software rendering, large draws are split into batches. llvmpipe first processes all points of a draw, and then reads
the points back tile by tile to compute pixels. 100,000 points do not fit into the processor's cache, so each point is
fetched from memory a second time. If glFlush is called after each batch, the points stay in the cache. Drawing is then
1.2 times as fast for 100,000 points, and 1.45 times as fast for a million points. (Batches do not make two threads work
in parallel. In Mesa 22 and later, a flush waits until all pixels are complete.) On a GPU, batches are no faster, so
there a draw is never split.

This module also computes a key for planes that stand still. Software rendering caches the pixels of these planes with
the background.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.rules import SCALE3
from twixt.ipc.scene import Scene
from twixt.ipc.scene.material import Material
from twixt.ipc.snapshot import BODY, RECORD
from twixt.render.draw.bodies.body_programs import MESH_POSES, PASSES, SPHERE_PASSES, BodyPrograms, Members, Membership
from twixt.render.draw.bodies.part_changes import MovedParts, RowShapes, moved_parts, row_shapes
from twixt.render.draw.bodies.shape_rows import are_alike, moved_rows, part_rows
from twixt.render.draw.frame.context import gl_function
from twixt.render.draw.frame.frame_block import LAYER_BINDING, FrameTarget, SceneView, guarded
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.snapshot_ring import SnapshotRing
from twixt.render.draw.glsl.light import SMOOTH_FINISH
from twixt.render.draw.glsl.mesh_pose import MESH_POSE
from twixt.render.draw.glsl.uniform_blocks import PoseVariant
from twixt.render.draw.spheres.snapshot_bounds import extent_of
from twixt.render.draw.spheres.sphere_common import ALL_PX

POINTS = moderngl.POINTS
# Size of a layer's uniform block in bytes: the largest UNIFORM_BUFFER_OFFSET_ALIGNMENT that OpenGL permits
LAYER_STRIDE = 256
KEEP_ALPHA = (moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA, moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA)
# Blend function for premultiplied colours. The factors for colour and for alpha are the same, and the source colour is
# not multiplied. With this function, software rendering draws a pile of balls in 4 % less time.
PREMULTIPLIED = moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA
# Number of bodies in a batch. The flush after each batch costs about 0.03 ms, which is too much if the batch has fewer
# than 1,000 bodies. More than 4,000 bodies do not fit into the processor's cache.
BATCH = 2048
# A draw of at most this number of bodies is not split, because all its points fit into the processor's cache.
UNDIVIDED = 16_384
ALL_BODIES = 1 << 32

Range = tuple[float, float]  # range of widths of bodies in px: greater than the first number, at most the second
NO_POINTS: Range = (0.0, 0.0)  # with this range, no body is drawn as a point, because every body is too large


Finish = Callable[[moderngl.Program, Material], None]


class _Listed(NamedTuple):
    """The bodies of one draw call. list_key: see `BodyDraws.array_of`."""

    layer: PlacedLayer
    members: Members
    material: Material | None
    list_key: Hashable


class BodyDraws:
    """Draws a scene's bodies from the ring of snapshots. Call `begin` for a picture, then `draw` for each program.

    room: number of bodies for which the lists have room. parts: has one row for each part of these bodies. `parts` is
    given if the scene has compounds. The ring then contains one record for each row.
    """

    def __init__(
        self, context: moderngl.Context, target: FrameTarget, scene: Scene, ring: SnapshotRing, is_software: bool
    ) -> None:
        self.ring, self.is_software = ring, is_software
        self.programs = BodyPrograms(context)
        self.room = ring.capacity
        self.parts = part_rows(scene, self.room)
        self.members = Membership(context, scene, self.room, self.parts)
        ring.attach(extent_of)
        ring.transparent_shapes, ring.plane_rows = self.members.transparent, self.members.plane_rows
        self._scene = scene
        self._held = self._drawn  # the rows to which the records on the GPU belong
        self._own: Scene | None = None  # scene of the uploaded snapshots; None if it is the scene that is drawn
        # converts the records of uploaded snapshots to the drawn scene; None if records are uploaded unchanged
        self._to_held: MovedParts | None = None
        self._of_rows = np.zeros(0, BODY)  # buffer for the records of the rows, reused for each snapshot
        self._context, self._target = context, target
        self._layer_blocks = context.buffer(reserve=LAYER_STRIDE, dynamic=True)
        self._flush: Callable[[], object] | None = gl_function("glFlush") if is_software else None
        self._view: SceneView | None = None

    @property
    def scene(self) -> Scene:
        """The scene that is drawn. If bodies have several parts, this scene has one shape for each row, that is for
        each part."""
        return self._scene if self.parts is None else self.parts.scene

    def set_scene(self, scene: Scene) -> None:
        """Uploads the shapes of all bodies, and the list of bodies for each program."""
        before, self.parts, was = self.parts, part_rows(scene, self.room), self.members
        self._scene = scene
        self.ring.forget_vertex_arrays()
        self.members.release()
        self.members = Membership(self._context, scene, self.room, self.parts)
        self.ring.transparent_shapes, self.ring.plane_rows = self.members.transparent, self.members.plane_rows
        if not are_alike(before, self.parts):
            self._to_held = None
        is_colored_anew = was.part_colors is None and self.members.part_colors is not None
        if not are_alike(before, self.parts) or not self.members.is_as_opaque_as(was) or is_colored_anew:
            color = self.members.colored_records if is_colored_anew else None
            self.ring.rearrange(lambda held: moved_rows(before, self.parts, held), color)

    def begin_scene(self, own: Scene | None = None, slots: Container[int] | None = None) -> None:
        """Call this method before the first snapshot of another scene is uploaded. Also call it when the drawn scene
        changes but the scene of the snapshots does not. After the call, each part has the place and size from the scene
        of its snapshot. This does not hold for parts of bodies that are stretched along the bodies' axes. own: the
        scene of the snapshots that follow; if `own` is None, it is the drawn scene. slots: GPU slots that may be drawn
        again; if `slots` is None, all slots may be drawn again."""
        drawn = self._drawn
        if (moved := self._moved(self._held, drawn)) is not None:
            self.ring.rearrange(None, moved.kept_in_place, slots)
        self._held, self._own, self._to_held = drawn, own, None
        if own is not None:
            self._to_held = self._moved(row_shapes(own, part_rows(own, self.room), self.room), drawn)

    @property
    def is_uploaded_as_is(self) -> bool:
        """True if the records of snapshots are uploaded unchanged."""
        return self.parts is None and self.members.part_colors is None and self._to_held is None

    @property
    def _drawn(self) -> RowShapes:
        return row_shapes(self._scene, self.parts, self.room)

    def _moved(self, before: RowShapes, after: RowShapes) -> MovedParts | None:
        scene = self._scene
        if self.parts is not None and SCALE3 in scene.columns and SCALE3 not in scene.part_columns:
            return None
        return moved_parts(before, after)

    def make_room(self, count: int) -> None:
        """Enlarges the lists if they have room for fewer than `count` bodies each."""
        if count > self.room:
            while self.room < count:
                self.room *= 2
            self.set_scene(self._scene)
            if self._own is not None:
                self.begin_scene(self._own)

    def in_place(self, records: NDArray[np.void]) -> NDArray[np.void]:
        """Converts the records of a published snapshot to the shapes of the drawn scene. There is one record for each
        row."""
        return records if self._to_held is None else self._to_held.kept_in_place(records)

    def records_of_rows(self, bodies: memoryview | bytes, count: int) -> NDArray[np.void]:
        """Returns one record for each row. This is the record of the row's body. The snapshot has `count` bodies. The
        result is valid until the next call."""
        parts = self.parts
        room = self.room if parts is None else len(parts.bodies)
        if len(self._of_rows) < room:
            self._of_rows = np.empty(room, BODY)
        if parts is not None:
            return parts.gather(np.frombuffer(bodies, BODY, count), self._of_rows)
        self._of_rows[:count].view(RECORD)[:] = np.frombuffer(bodies, RECORD, count)
        return self._of_rows[:count]

    def variant_of(self, view: SceneView, name: str, variant: PoseVariant) -> PoseVariant:
        """Returns the variant of the program `name` (one of PASSES) for a layer and this view. variant: the variant
        that the layer needs."""
        return view.variant_of(variant, name in SPHERE_PASSES)._replace(
            placed=self.parts is not None, scaled_parts=self.parts is not None and SCALE3 in self._scene.part_columns
        )

    def count(self, name: str, layers: Sequence[PlacedLayer], finish: Finish | None = None) -> int:
        """Returns the number of bodies that this program draws in these layers. finish: see `draw`."""
        bodies = 0
        for one in self._listed(name, layers, finish):
            bodies += one.members.drawn(one.layer.bodies)
        return bodies

    def begin(self, view: SceneView, layers: Sequence[PlacedLayer]) -> None:
        """Writes the uniform blocks of a picture's layers, in the order of the layer numbers."""
        self._view = view
        if self._layer_blocks.size < len(layers) * LAYER_STRIDE:
            self._layer_blocks.release()
            self._layer_blocks = self._context.buffer(reserve=2 * len(layers) * LAYER_STRIDE, dynamic=True)
        self._layer_blocks.write(
            b"".join(layer.uniforms.packed().ljust(LAYER_STRIDE, b"\0") for layer in layers) or b"\0"
        )

    def draw(
        self,
        name: str,
        layers: Sequence[PlacedLayer],
        range_px: Range = ALL_PX,
        most: int = ALL_BODIES,
        order: moderngl.Buffer | None = None,
        finish: Finish | None = None,
    ) -> None:
        """Draws the bodies of the pass `name` (one of PASSES) in these layers.

        range_px: only bodies with a width in this range are drawn. most: largest number of bodies that are drawn in
        each layer. order: body numbers in drawing order, which replace the program's own list. finish: function that
        sets a program's uniforms for a material. If `finish` is given, only bodies with a smooth material are drawn.
        Otherwise only bodies without a material are drawn. At the end, the depth mask, the viewport and the blend
        function get back the values that pictures need.
        """
        listed = self._listed(name, layers, finish)
        counted = [(one, count) for one in listed if (count := one.members.drawn(one.layer.bodies))]
        if not counted:
            return
        view, target, settings = self._view, self._target.framebuffer, PASSES[name]
        assert view is not None
        self._context.enable_only(settings.flags)
        if settings.is_premultiplied:
            self._context.blend_func = PREMULTIPLIED
        target.depth_mask = settings.writes_depth
        for (layer, members, material, list_key), count in counted:
            indices, list_key = (members.indices, list_key) if order is None else (order, False)
            array = self.array_of(name, layer, indices, list_key, range_px)
            if finish is not None and material is not None:
                finish(array.program, material)
            if settings.is_guarded:
                target.viewport = guarded(view.viewport)
            self._render(array, min(count, most))
            target.viewport = view.viewport
        target.depth_mask = True
        self._context.blend_func = KEEP_ALPHA  # type: ignore[assignment]

    def write_poses(
        self, layer: PlacedLayer, bodies_and_poses: tuple[moderngl.Buffer, moderngl.Buffer], first: int, count: int
    ) -> None:
        """Writes the poses of `count` mesh bodies. In the list of body numbers, these are the entries from `first` on.

        bodies_and_poses: the list of body numbers, and a buffer with one row of MESH_POSE for each entry of the list.
        """
        listed, poses = bodies_and_poses
        array = self.array_of(MESH_POSES, layer, listed, True)
        array.transform(poses, POINTS, vertices=count, first=first, buffer_offset=first * MESH_POSE.itemsize)

    def array_of(
        self,
        name: str,
        layer: PlacedLayer,
        indices: moderngl.Buffer | None,
        list_key: Hashable,
        range_px: Range = NO_POINTS,
    ) -> moderngl.VertexArray:
        """Returns the vertex array of a pass, with the inputs of a layer. Also sets the pass's uniforms for the next
        draw.

        list_key: identifies the list `indices`. True stands for the pass's own list of this layer's bodies.
        """
        assert self._view is not None
        variant = self.variant_of(self._view, name, layer.variant)
        program, members = self.programs.get(name, variant), self.members
        array = self.ring.vertex_array(
            (name, layer.group, variant, list_key), program, members.shape_rows, indices, layer.slots,
            variant.stretched, members.places,
        )  # fmt: skip
        if isinstance(uniform := program.get("range_px", None), moderngl.Uniform):
            uniform.value = range_px
        self._layer_blocks.bind_to_uniform_block(LAYER_BINDING, layer.number * LAYER_STRIDE, LAYER_STRIDE)
        return array

    def flush(self) -> None:
        """In software rendering, calls glFlush. OpenGL then computes the pixels of all draws so far."""
        if self._flush is not None:
            self._flush()

    def release(self) -> None:
        """Releases the GPU memory of snapshots and shapes."""
        self.ring.release()
        self.members.release()

    def _listed(self, name: str, layers: Sequence[PlacedLayer], finish: Finish | None) -> list[_Listed]:
        """Returns the lists of the bodies that a pass draws in these layers."""
        if finish is None:
            return [_Listed(layer, self.members.of(layer.group, name), None, True) for layer in layers]
        return [
            _Listed(
                layer._replace(variant=layer.variant._replace(finish=SMOOTH_FINISH)),
                one.members,
                one.material,
                ("material", number),
            )
            for layer in layers
            for number, one in enumerate(self.members.material_groups(layer.group))
            if one.is_smooth and one.kind == PASSES[name].kind
        ]

    def _render(self, array: moderngl.VertexArray, count: int) -> None:
        """Draws the first `count` points of the array, in batches if that is faster."""
        draw, flush, last = array.render, self._flush, 0
        if flush is not None and count > UNDIVIDED:
            # This is the only Python loop in this module that takes more iterations if there are more bodies. It has
            # one iteration for each batch.
            last = (count - 1) // BATCH * BATCH
            for first in range(0, last, BATCH):
                draw(POINTS, BATCH, first=first)
                flush()
        draw(POINTS, count - last, first=last)


# This code computes a key of a picture's planes. There is a key only if no plane may move. The planes are then drawn
# with the background, which software rendering caches.
#
# A floor often covers most of the picture and never moves. Often all planes have the same records in both snapshots,
# and all velocities in these records are zero. Then the pixels of the planes depend only on the camera, the scene and
# these records.
#
# Always: the key is None if a plane may move or change between the two snapshots. This code draws nothing.


def still_key(ring: SnapshotRing, layers: Sequence[PlacedLayer], scene: Scene) -> Hashable | None:
    """Returns a key of all inputs that determine the planes' pixels, except the camera. Returns None if there are no
    planes, or if a plane may move.

    scene: has one shape for each row. The key compares scenes by identity, because every scene that is set is a new
    object.
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
    """Returns a mask that is True for each record whose body moves. records: dtype `BODY`."""
    return np.asarray(records["velocity"].any(axis=1) | records["angular_velocity"].any(axis=1))


class IdentityKey:
    """A key that equals another key only if both contain the same object. The key keeps the object alive."""

    def __init__(self, one: object) -> None:
        self.one = one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.one is self.one

    def __hash__(self) -> int:
        return id(self.one)
