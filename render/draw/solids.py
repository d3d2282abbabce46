"""Draws the bodies of a picture, all shapes one after the other, into the framebuffer and the camera that are set.

The one idea: a picture from the eye and one from the light are drawn alike. Each has drawings of its own: they remember
which programs the last picture took.

Always: planes and meshes first, since the soft edges of the others blend with what is behind them.
"""

from __future__ import annotations

from collections.abc import Sequence

import moderngl

from twixt.render.draw.bodies.body_draws import KEEP_ALPHA, BodyDraws
from twixt.render.draw.bodies.body_programs import CAST_KINDS, PASSES
from twixt.render.draw.bodies.ray_cast_draws import CastDrawing
from twixt.render.draw.bodies.sphere_draws import SphereDrawing
from twixt.render.draw.frame.frame_block import SceneView
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.materials.material_draws import MaterialDraws
from twixt.render.draw.meshes.mesh_drawing import MeshDrawing


class Solids:
    """Draws bodies of every shape. Poses of meshes must have been computed for the same camera."""

    def __init__(
        self, context: moderngl.Context, bodies: BodyDraws, meshes: MeshDrawing, materials: MaterialDraws
    ) -> None:
        self._context, self._bodies, self._meshes, self._materials = context, bodies, meshes, materials
        self._casts = CastDrawing(context, bodies)
        self.spheres = SphereDrawing(context, bodies)
        self._smooth_casts = CastDrawing(context, bodies, materials.uniforms.apply)
        self._smooth_spheres = SphereDrawing(context, bodies, materials.uniforms.apply)

    def draw_planes(self, layers: Sequence[PlacedLayer]) -> None:
        """Draws the planes of these layers that are opaque."""
        self._context.depth_func = "<"
        self._bodies.draw("planes", layers)
        self._materials.draw_planes(layers)

    def draw(
        self, view: SceneView, layers: Sequence[PlacedLayer], has_others: bool = False, has_planes: bool = False
    ) -> None:
        """Draws the bodies of these layers.

        has_others: dots, lines or marks may be inside spheres. has_planes: the planes are drawn already.
        """
        self._context.depth_func = "<"
        # The framebuffer's alpha stays 1: through a lower one some compositors would show the desktop.
        self._context.blend_func = KEEP_ALPHA  # type: ignore[assignment]
        if not has_planes and "planes" in self._bodies.members.present:
            self.draw_planes(layers)
        self._meshes.draw(view.level)
        kinds = [kind for kind in CAST_KINDS if PASSES[kind].kind in self._bodies.members.present]
        for kind in kinds:
            self._casts.draw(kind, view, layers)
        self._materials.draw(layers)
        whole = [layer for layer in layers if not layer.variant.stretched]
        if self._bodies.members.has_smooth:
            for kind in kinds:
                self._smooth_casts.draw(kind, view, layers)
            self._smooth_spheres.draw(view, whole, has_others)
        self.spheres.draw(view, whole, has_others)
