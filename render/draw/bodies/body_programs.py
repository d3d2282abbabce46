"""Makes the programs that draw bodies, one for each pass and variant, and the list of bodies for each program.

Linear motion and curved motion have separate programs, because software rendering executes both sides of every branch.
For a GPU, one program with a uniform would be enough. A program is compiled at its first use, or earlier in idle time.

The lists of bodies are made once for each scene. They are made again when a snapshot has more bodies than any snapshot
before. During a frame, the lists are only read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Compound, Scene, Shape
from twixt.ipc.scene.material import Material
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.scene import shape_list
from twixt.render.draw.bodies import shape_rows
from twixt.render.draw.bodies.shape_rows import KIND_NAMES, PartRows, shape_table
from twixt.render.draw.frame.frame_block import FRAME_BINDING, LAYER_BINDING
from twixt.render.draw.frame.layers import layer_bodies
from twixt.render.draw.frame.snapshot_ring import NO_ROWS, OPAQUE
from twixt.render.draw.glsl.mesh_pose import mesh_pose_program
from twixt.render.draw.glsl.uniform_blocks import PoseVariant
from twixt.render.draw.shapes.boxes import BOX
from twixt.render.draw.shapes.capsules import CAPSULE
from twixt.render.draw.shapes.cylinders import CYLINDER
from twixt.render.draw.shapes.ellipsoids import ELLIPSOID
from twixt.render.draw.shapes.planes import plane_program
from twixt.render.draw.shapes.ray_cast import CastShape, cast_beyond_program, cast_point_program, cast_quad_program
from twixt.render.draw.shapes.shadows import shadow_program
from twixt.render.draw.spheres import point_spheres
from twixt.render.draw.spheres.fine_spheres import apart_program, point_program, quad_program
from twixt.render.draw.spheres.sphere_common import beyond_program

ALL_KINDS = "all"
# If a scene has at most this many planes, their records are copied, and are compared in each picture.
MOST_STILL = 64
# Name of the ray cast passes for spheres whose scale differs along the three axes. These spheres are drawn as
# ellipsoids.
STRETCHED = "stretched spheres"


class Pass(NamedTuple):
    """Settings of one program's draw call.

    kind: the kind of bodies that the program draws, one of KIND_NAMES or ALL_KINDS. make: function that compiles the
    program. flags: moderngl's enable flags. writes_depth: True if the program writes depth. is_guarded: True if the
    program draws into the guarded viewport, which is larger than the picture. is_premultiplied: True if the program's
    colours are premultiplied by their alpha.
    """

    kind: str
    make: Callable[[moderngl.Context, PoseVariant], moderngl.Program]
    flags: int
    writes_depth: bool = True
    is_guarded: bool = False
    is_premultiplied: bool = False


PLAIN_POINTS = moderngl.DEPTH_TEST | moderngl.PROGRAM_POINT_SIZE
POINTS = moderngl.DEPTH_TEST | moderngl.BLEND | moderngl.PROGRAM_POINT_SIZE
QUADS = moderngl.DEPTH_TEST | moderngl.BLEND

CAST_SHAPES = {
    "boxes": BOX,
    "cylinders": CYLINDER,
    "capsules": CAPSULE,
    "ellipsoids": ELLIPSOID,
    STRETCHED: ELLIPSOID,
}
# Each kind of ray cast shapes has four passes, for example "boxes", "plain boxes", "beyond boxes" and "large boxes".
CAST_KINDS = tuple(CAST_SHAPES)


def _cast_passes(name: str, shape: CastShape) -> dict[str, Pass]:
    kind = "spheres" if name == STRETCHED else name
    points, plain = (partial(cast_point_program, shape=shape, points=one) for one in (shape.points, shape.plain_points))
    beyond, large = partial(cast_beyond_program, shape=shape), partial(cast_quad_program, shape=shape)
    return {
        name: Pass(kind, points, POINTS, is_guarded=True),
        f"plain {name}": Pass(kind, plain, PLAIN_POINTS, is_guarded=True),
        f"beyond {name}": Pass(kind, beyond, POINTS, writes_depth=False, is_guarded=True),
        f"large {name}": Pass(kind, large, QUADS),
    }


# For each picture, shape_draws.py chooses which of these passes are drawn and in which order.
_SPHERES = {
    "beyond": Pass("spheres", beyond_program, POINTS, writes_depth=False, is_guarded=True),
    **{
        f"lod {number}": Pass("spheres", make, PLAIN_POINTS, is_guarded=True)
        for number, make in enumerate(point_spheres.LOD_PROGRAMS)
    },
    "points": Pass("spheres", point_program, POINTS, is_guarded=True),
    "apart": Pass("spheres", apart_program, POINTS, is_guarded=True, is_premultiplied=True),
    "apart lod 4": Pass("spheres", point_spheres.apart_program, PLAIN_POINTS, is_guarded=True),
    "quads": Pass("spheres", quad_program, QUADS),
}
SPHERE_PASSES = tuple(_SPHERES)

# Name of the pass that writes the poses of meshes into a buffer (`BodyDraws.write_poses`). The modules in meshes/ draw
# the meshes from this buffer.
MESH_POSES = "mesh poses"

# All passes, in drawing order. Planes come first because they have no soft edges. Bodies with soft edges come after the
# planes. Shadows come last because they dim only ground that no body hides. shape_draws.py chooses among the passes of
# ray cast shapes.
PASSES = {
    "planes": Pass("planes", plane_program, moderngl.DEPTH_TEST),
    **{name: one for kind, shape in CAST_SHAPES.items() for name, one in _cast_passes(kind, shape).items()},
    **_SPHERES,
    "shadows": Pass(ALL_KINDS, shadow_program, QUADS, writes_depth=False, is_premultiplied=True),
    MESH_POSES: Pass("meshes", mesh_pose_program, moderngl.NOTHING),
}


class BodyPrograms:
    """Compiled programs. A program is found by its name (one of PASSES) and its variant."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._made: dict[tuple[str, PoseVariant], moderngl.Program] = {}

    def has(self, name: str, variant: PoseVariant) -> bool:
        """True if this program is already compiled."""
        return (name, variant) in self._made

    def get(self, name: str, variant: PoseVariant) -> moderngl.Program:
        """Returns the program with this name and variant. The first call compiles the program."""
        program = self._made.get((name, variant))
        if program is None:
            program = self._made[name, variant] = PASSES[name].make(self._context, variant)
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
            program["Layer"].binding = LAYER_BINDING  # type: ignore[union-attr]
        return program


class Members(NamedTuple):
    """The bodies of one layer that one program draws. bodies: the body numbers in ascending order.

    indices: the same body numbers on the GPU. `indices` is None if the numbers are 0, 1, 2 and so on without a gap.
    """

    bodies: NDArray[np.uint32]
    end: int  # the last body number plus one
    indices: moderngl.Buffer | None

    def drawn(self, count: int) -> int:
        """Returns how many of the listed bodies are in a snapshot of `count` bodies."""
        if self.indices is None:
            return min(self.end, count)
        # `count` is converted to np.uint32, the type of the list. With a value of another type, numpy would first
        # convert the whole list.
        return len(self.bodies) if self.end <= count else int(np.searchsorted(self.bodies, np.uint32(count)))


NONE = Members(np.zeros(0, np.uint32), 0, None)


class MaterialGroup(NamedTuple):
    """The bodies of one layer that have the same kind (one of KIND_NAMES) and the same material."""

    kind: str
    material: Material
    members: Members

    @property
    def is_smooth(self) -> bool:
        """True if the only effect of the material is on the highlight. Bodies with a smooth material share programs
        with bodies without a material."""
        return self.kind != "planes" and self.material.texture is None and self.material.emission == 0


def material_of(shape: Shape) -> Material | None:
    """Returns the shape's material. Returns None if the shape has no material or is a compound."""
    return None if isinstance(shape, Compound) else shape.material


class Membership:
    """Lists of the bodies to draw, one for each layer and program. The lists contain only the first `count` bodies of
    one scene.

    parts: has one row for each part of these bodies. `parts` is given if the scene has compounds. The lists then
    contain rows instead of bodies. places: poses of the parts, on the GPU. are_spheres: True if each body is one sphere
    at the body's position, without a material. kinds: for each row an index into KIND_NAMES, u1. present: names of the
    kinds that occur. transparent: the rows whose shape is transparent. plane_rows: the rows whose shape is a plane,
    ascending; empty if there are more than MOST_STILL planes. needs_own_draw: a mask that is True for each distinct
    shape that needs its own draw call. part_colors: see `shape_rows.base_colors`.
    """

    def __init__(self, context: moderngl.Context, scene: Scene, count: int, parts: PartRows | None = None) -> None:
        rows = None if parts is None else parts.bodies
        by_layer = layer_bodies(scene, count, rows)
        self.places: moderngl.Buffer | None = None
        if parts is not None:
            scene, count, self.places = parts.scene, len(parts.bodies), context.buffer(parts.poses)
        table = shape_table(scene, count, rows)
        # These colours of parts are written into the records of a snapshot that has no part colours.
        self.part_colors = shape_rows.base_colors(scene, table)
        self.scene = scene  # this scene has one shape for each row
        self.shape_rows = context.buffer(shape_rows.shape_rows(scene, table))
        self.kinds, self.present = table.kinds, table.present
        self.transparent = np.flatnonzero(table.rows["color"][:, 3] < OPAQUE).astype(np.uint32)
        planes = np.flatnonzero(table.kinds == KIND_NAMES.index("planes")).astype(np.uint32)
        self.plane_rows = planes if len(planes) <= MOST_STILL else NO_ROWS
        self._context = context
        self.layers = frozenset(by_layer)
        materials = [one for one in map(material_of, shape_list(scene).table) if one is not None]
        # This mask is True for each distinct shape that needs its own draw call. Meshes and shapes with a material need
        # their own draw call.
        self.needs_own_draw = np.array(
            [isinstance(shape, Mesh) or material_of(shape) is not None for shape in shape_list(scene).table], np.bool_
        )
        self.are_spheres = parts is None and table.present == ("spheres",) and not materials
        self._material_groups: dict[str | None, list[MaterialGroup]] = {}
        self._members: dict[tuple[str | None, str], Members] = {}
        for layer, bodies in by_layer.items():
            kinds = table.kinds if len(bodies) == count else table.kinds[bodies]
            self._members[layer, ALL_KINDS] = self._members_of(bodies)
            for kind in table.present:
                is_all = len(table.present) == 1 and not materials
                chosen = bodies if is_all else bodies[kinds == KIND_NAMES.index(kind)]
                if materials and kind != "meshes":
                    chosen = self._without_material(layer, kind, chosen, materials)
                self._members[layer, kind] = self._members[layer, ALL_KINDS] if is_all else self._members_of(chosen)

    def of(self, layer: str | None, program: str) -> Members:
        """Returns the bodies of this layer that this program draws."""
        return self._members.get((layer, PASSES[program].kind), NONE)

    def material_groups(self, layer: str | None) -> Sequence[MaterialGroup]:
        """Returns the groups of this layer's bodies that have a material. Meshes are left out. Transparent bodies are
        included."""
        return self._material_groups.get(layer, ())

    def colored_records(self, records: NDArray[np.void]) -> NDArray[np.void]:
        """Writes the colours of the parts into the records of the first n rows, shape (n,). Returns the records."""
        shape_rows.apply(records, {}, self.part_colors)
        return records

    @property
    def has_smooth(self) -> bool:
        """True if any body has a smooth material, see `MaterialGroup.is_smooth`."""
        return any(one.is_smooth for listed in self._material_groups.values() for one in listed)

    def is_as_opaque_as(self, other: Membership) -> bool:
        """Compares the rows that are in both lists. Returns True if the same rows have a transparent shape in both."""
        end = np.uint32(min(len(self.kinds), len(other.kinds)))
        mine, theirs = (rows[: np.searchsorted(rows, end)] for rows in (self.transparent, other.transparent))
        return np.array_equal(mine, theirs)

    def of_layer(self, layer: str | None) -> Members:
        """Returns all bodies of this layer."""
        return self._members.get((layer, ALL_KINDS), NONE)

    def release(self) -> None:
        """Releases the GPU memory."""
        self.shape_rows.release()
        if self.places is not None:
            self.places.release()
        for members in (
            *self._members.values(),
            *(one.members for own in self._material_groups.values() for one in own),
        ):
            if members.indices is not None:
                members.indices.release()

    def _without_material(
        self, layer: str | None, kind: str, bodies: NDArray[np.uint32], materials: Sequence[Material]
    ) -> NDArray[np.uint32]:
        """Returns the bodies of a kind that have no material. Adds the other bodies to `_material_groups`."""
        number = {material: at for at, material in enumerate(dict.fromkeys(materials))}
        of_shape = [
            -1 if (one := material_of(shape)) is None else number[one] for shape in shape_list(self.scene).table
        ]
        found = (
            np.array(of_shape)[shape_list(self.scene).rows_for(int(bodies[-1]) + 1)[bodies]] if len(bodies) else bodies
        )
        for material, at in number.items():
            if len(chosen := bodies[found == at]):
                self._material_groups.setdefault(layer, []).append(
                    MaterialGroup(kind, material, self._members_of(chosen))
                )
        return bodies[found < 0] if len(bodies) else bodies

    def _members_of(self, bodies: NDArray[np.uint32]) -> Members:
        end = int(bodies[-1]) + 1 if len(bodies) else 0
        return Members(bodies, end, None if end == len(bodies) else self._context.buffer(bodies))
