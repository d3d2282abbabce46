"""Compiles programs in idle time. These programs will be needed when the interpolation method, the level or the number
of bodies changes.

Drivers compile a program at its first draw. So each program draws one body once, with an empty scissor rectangle. The
draw changes no pixel. Each call compiles one program, so that idle time can end between two calls.
"""

from __future__ import annotations

from itertools import product

from twixt.render.draw.bodies.body_draws import BodyDraws
from twixt.render.draw.bodies.body_programs import CAST_KINDS, MESH_POSES, PASSES, SPHERE_PASSES, STRETCHED
from twixt.render.draw.bodies.shape_draws import LEAST, OF_ONE_DEPTH, cast_passes
from twixt.render.draw.flat.dots_and_lines import DotsAndLines
from twixt.render.draw.frame.frame_block import FrameTarget, FrameUniforms, SceneView
from twixt.render.draw.frame.layers import Layer, place
from twixt.render.draw.frame.snapshot_ring import FEW
from twixt.render.draw.glsl.uniform_blocks import POSE_VARIANTS, PoseVariant
from twixt.render.draw.light.lit_pictures import LitPictures
from twixt.render.draw.marks.mark_drawing import MarkDrawing
from twixt.render.draw.meshes.mesh_drawing import MeshDrawing
from twixt.render.draw.shapes.shadows import has_shadows
from twixt.render.draw.spheres.sphere_detail import FLAT, PLAIN, SphereLod, possible

# Names of the programs of spheres that a cheaper quality level may need.
CHEAPER = frozenset(lod.name for lod in (*map(SphereLod._make, PLAIN), *FLAT))
NOTHING = 0, 0, 0, 0  # an empty scissor rectangle


class ProgramPreparation:
    """Compiles the programs of bodies, meshes, marks and rings that the next pictures may need."""

    def __init__(
        self,
        target: FrameTarget,
        uniforms: FrameUniforms,
        bodies: BodyDraws,
        meshes: MeshDrawing,
        marks: MarkDrawing,
        lit: LitPictures,
        flat: DotsAndLines,
    ) -> None:
        self._target, self._uniforms = target, uniforms
        self._bodies, self._meshes, self._marks, self._lit = bodies, meshes, marks, lit
        self._flat = flat

    def prepare(self, view: SceneView, present_motion: str) -> bool:
        """Compiles one program. Returns False if all programs are compiled already. view: view of the last picture.
        present_motion: kind of motion of the last picture, one of POSE_VARIANTS."""
        bodies, target = self._bodies, self._target
        slot = next(bodies.ring.filled, None)
        if slot is None:
            return False
        stretched, count = bodies.ring.is_stretched(slot), bodies.ring.count(slot)
        views = self._views(view)
        for motion, seen, name, group in product(POSE_VARIANTS, views, PASSES, sorted(bodies.members.layers, key=str)):
            variant = bodies.variant_of(seen, name, PoseVariant(motion, stretched))
            is_cheaper = bodies.is_software and motion == present_motion and name in CHEAPER
            if bodies.programs.has(name, variant) or not (is_cheaper or self._may_draw(name, seen, count, stretched)):
                continue
            layer = place(Layer(slot, group=group), bodies.ring)._replace(variant=variant)
            if bodies.members.of(group, name).drawn(layer.bodies):
                # Drivers compile a program at its first draw. So one body is drawn, with an empty scissor rectangle.
                target.framebuffer.scissor = NOTHING
                self._uniforms.bind()
                bodies.begin(seen, [layer])
                if name == MESH_POSES:
                    self._meshes.prepare_poses(layer)
                else:
                    bodies.draw(name, [layer], most=1)
                target.uncut()
                return True
        return self._prepare_others(view)

    def _views(self, view: SceneView) -> list[SceneView]:
        """Returns this view, the view of its shadow map, and the view for draws that are not multisampled."""
        if not view.is_mapped or self._lit.light_view is None:
            return [view]
        return [view, view._replace(level=view.level._replace(samples=1)), self._lit.light_view]

    def _prepare_others(self, view: SceneView) -> bool:
        self._target.framebuffer.scissor = NOTHING
        self._uniforms.bind()
        is_more = self._meshes.prepare() or any(self._marks.prepare(seen) for seen in self._views(view))
        is_more = is_more or self._flat.prepare()
        self._target.uncut()
        return is_more

    def _may_draw(self, name: str, view: SceneView, count: int, stretched: bool) -> bool:
        """Returns True if a picture of `count` bodies may use this program."""
        by_processor, members = self._bodies.is_software, self._bodies.members
        if name in OF_ONE_DEPTH.values():
            return by_processor and not stretched and LEAST <= count <= FEW and members.are_spheres
        if name in SPHERE_PASSES:
            return not stretched and (name in ("beyond", "quads") or name in possible(count, by_processor))
        for kind in CAST_KINDS:
            if name.endswith(kind):
                of_kind = sum(members.of(layer, kind).drawn(count) for layer in members.layers)
                passes = cast_passes(kind, of_kind, by_processor, is_outlined=self._bodies.scene.look == "flat")
                return name in passes and (stretched or kind != STRETCHED)
        return name != "shadows" or has_shadows(self._bodies.scene, count, view.floor)
