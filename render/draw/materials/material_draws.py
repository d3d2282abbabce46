"""Draws the opaque bodies that have a material, except meshes: a draw call for each material and kind.

Always: a picture without such bodies costs one look at the lists. Each body is a rectangle whose pixels cast true rays,
as large ones without a material are; a sphere is drawn as an ellipsoid. Not here: bodies whose material has no image
(`Finished.is_smooth`), which are drawn as those without a material, by solids.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import moderngl

from twixt.render.draw.bodies.body_draws import BodyDraws
from twixt.render.draw.bodies.body_programs import PASSES, STRETCHED, Membership
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.materials.material_uniforms import MaterialUniforms


class MaterialDraws:
    """Draws bodies with materials; `uniforms` are those of the scene's materials."""

    def __init__(self, context: moderngl.Context, bodies: BodyDraws) -> None:
        self._context, self._bodies = context, bodies
        self.uniforms = MaterialUniforms(context, bodies.is_software)
        self._listed: Membership | None = None

    def begin(self) -> None:
        """Uploads the textures of a new scene. To be called before any draw of a picture."""
        members = self._bodies.members
        if members is not self._listed:
            self._listed = members
            self.uniforms.keep(members.scene)

    def draw_planes(self, layers: Sequence[PlacedLayer]) -> None:
        """Draws the planes with materials in these layers."""
        self._draw(layers, are_planes=True)

    def draw(self, layers: Sequence[PlacedLayer]) -> None:
        """Draws the other bodies with materials in these layers, except smooth ones."""
        self._draw(layers, are_planes=False)

    def release(self) -> None:
        """Gives the GPU memory back."""
        self.uniforms.release()
        self._listed = None

    def _draw(self, layers: Sequence[PlacedLayer], are_planes: bool) -> None:
        for layer in layers:
            for number, one in enumerate(self._bodies.members.finished(layer.group)):
                kind, material, members = one
                if one.is_smooth or (kind == "planes") != are_planes or not (count := members.drawn(layer.bodies)):
                    continue
                name = pass_of_any_size(kind, is_stretched=True)
                drawn = layer._replace(variant=layer.variant._replace(finish=self.uniforms.finish_of(material, kind)))
                array = self._bodies.array_of(name, drawn, members.indices, ("material", number))
                self._context.enable_only(PASSES[name].flags)
                self.uniforms.apply(array.program, material)
                array.render(moderngl.POINTS, count)


def pass_of_any_size(kind: str, is_stretched: bool) -> str:
    """The pass that draws bodies of a kind, whatever their size. is_stretched: spheres are drawn as ellipsoids."""
    if kind == "planes":
        return kind
    if kind == "spheres":
        return f"large {STRETCHED}" if is_stretched else "quads"
    return f"large {kind}"
