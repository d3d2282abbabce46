"""Materials as programs get them: textures on the GPU, and the uniforms of a material.

The one idea: the image of a material is bound for its draw call, in its own size. An array of images would need all of
one size, and an atlas cannot be repeated or have smaller copies without seams; a scene has few materials.

Always: textures of the same pixels share memory, and are kept from one scene to the next where both have them. Images
larger than the GPU takes are shown with every second pixel, or fewer.
"""

from __future__ import annotations

from collections.abc import Iterable

import moderngl
import numpy as np

from twixt.ipc.scene import Scene
from twixt.ipc.shapes.material import Material, Texture
from twixt.render.draw.glsl.light import CHECKER_FINISH, CUBE_FINISH, IMAGE_FINISH, SMOOTH_FINISH
from twixt.render.draw.materials.checkers import Checker, checker_of

# Texture unit of the image: the overlay and passes over the picture use the first ones.
IMAGE_UNIT = 7
# Samples along the longer axis of a pixel's footprint, on a GPU: a floor keeps its squares to the horizon.
ANISOTROPY = 8.0
# A material of specular 0.5 and roughness 0.5 shines as a surface without a material.
GLOSS, RIM, EXPONENT = 0.4, 0.2, 4.0

OnGpu = moderngl.Texture | moderngl.TextureCube


def finish_of(material: Material) -> int:
    """Variant of programs that draws this material."""
    if material.texture is None:
        return SMOOTH_FINISH
    return CUBE_FINISH if material.texture.is_cube else IMAGE_FINISH


class MaterialUniforms:
    """Textures of a scene on the GPU; `apply` sets the uniforms of a program for a material."""

    def __init__(self, context: moderngl.Context, is_software: bool) -> None:
        self._context, self._is_software = context, is_software
        self._most_px = int(context.info["GL_MAX_TEXTURE_SIZE"])
        self._textures: dict[bytes, OnGpu] = {}
        self._checkers: dict[bytes, Checker | None] = {}

    def keep(self, scene: Scene) -> None:
        """Uploads the textures that are new, and gives back the memory of those that the scene has not."""
        wanted = {one.digest: one for one in _textures_of(scene)}
        for digest in self._textures.keys() - wanted.keys():
            self._textures.pop(digest).release()
            del self._checkers[digest]
        for digest, texture in wanted.items():
            if digest not in self._textures:
                self._textures[digest], self._checkers[digest] = self._uploaded(texture), checker_of(texture)

    def finish_of(self, material: Material, kind: str) -> int:
        """Variant of programs that draws bodies of a kind with this material."""
        if kind == "planes" and material.texture is not None and self._checkers[material.texture.digest] is not None:
            return CHECKER_FINISH
        return finish_of(material)

    def apply(self, program: moderngl.Program, material: Material, is_by_uv: bool = False) -> None:
        """Sets the uniforms for the draws that follow, and binds the image.

        is_by_uv: the mesh says where in the image its vertices are.
        """
        strength = GLOSS * material.specular
        finish = strength, EXPONENT / material.roughness**2, material.emission, RIM * material.specular
        mapping = *material.repeat, float(material.per_metre), float(is_by_uv)
        for name, value in (("finish", finish), ("mapping", mapping), ("image", IMAGE_UNIT)):
            if isinstance(uniform := program.get(name, None), moderngl.Uniform):
                uniform.value = value
        if material.texture is None:
            return
        if "squares" in program and (checker := self._checkers[material.texture.digest]) is not None:
            program["squares"], program["lines"] = checker[:3], checker[3:]
        else:
            self._textures[material.texture.digest].use(IMAGE_UNIT)

    def release(self) -> None:
        """Gives the GPU memory back."""
        for texture in self._textures.values():
            texture.release()
        self._textures.clear()
        self._checkers.clear()

    def _uploaded(self, texture: Texture) -> OnGpu:
        pixels = texture.pixels
        height, width, channels = pixels.shape[-3:]
        if (every := -(-max(height, width) // self._most_px)) > 1:
            pixels = pixels[..., ::every, ::every, :]
            height, width = pixels.shape[-3:-1]
        data = np.ascontiguousarray(pixels)
        made: OnGpu
        if texture.is_cube:
            made = self._context.texture_cube((width, height), channels, data, alignment=1)
        else:
            made = self._context.texture((width, height), channels, data, alignment=1)
            made.repeat_x = made.repeat_y = True
        made.build_mipmaps()
        made.filter = moderngl.LINEAR_MIPMAP_LINEAR, moderngl.LINEAR
        if not self._is_software:
            made.anisotropy = ANISOTROPY
        return made


def _textures_of(scene: Scene) -> Iterable[Texture]:
    """Textures of a scene with one shape a row."""
    for shape in scene.distinct_shapes:
        material = getattr(shape, "material", None)
        if material is not None and material.texture is not None:
            yield material.texture
