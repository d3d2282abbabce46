"""Draws opaque bodies that have a material, except meshes. Bodies with the same material and kind have one draw call.

This module also keeps the textures on the GPU, and sets the uniforms of a material. It detects images of checkers. The
shaders compute a checker instead of reading a texture.

Each body is drawn as a rectangle. The ray of each pixel is cast exactly, as for a large body without a material. A
sphere is drawn as an ellipsoid. A picture without such bodies costs only the check of the lists. Bodies with a smooth
material (`MaterialGroup.is_smooth`) are drawn by light/lit_pictures.py, like bodies without a material.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.scene.material import Material, Texture
from twixt.ipc.scene.scene import shape_list
from twixt.render.draw.bodies.body_draws import BodyDraws
from twixt.render.draw.bodies.body_programs import PASSES, STRETCHED, Membership
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.glsl.light import CHECKER_FINISH, CUBE_FINISH, IMAGE_FINISH, SMOOTH_FINISH


class MaterialDraws:
    """Draws bodies with materials. uniforms: the textures and the uniforms of the scene's materials."""

    def __init__(self, context: moderngl.Context, bodies: BodyDraws) -> None:
        self._context, self._bodies = context, bodies
        self.uniforms = MaterialUniforms(context, bodies.is_software)
        self._listed: Membership | None = None

    def begin(self) -> None:
        """Uploads the textures of a new scene. Call it before the first draw of each picture."""
        members = self._bodies.members
        if members is not self._listed:
            self._listed = members
            self.uniforms.keep(members.scene)

    def draw_planes(self, layers: Sequence[PlacedLayer]) -> None:
        """Draws the planes with materials in these layers."""
        self._draw(layers, are_planes=True)

    def draw(self, layers: Sequence[PlacedLayer]) -> None:
        """Draws the bodies with materials in these layers, except planes and bodies with a smooth material."""
        self._draw(layers, are_planes=False)

    def release(self) -> None:
        """Releases the GPU memory."""
        self.uniforms.release()
        self._listed = None

    def _draw(self, layers: Sequence[PlacedLayer], are_planes: bool) -> None:
        for layer in layers:
            for number, one in enumerate(self._bodies.members.material_groups(layer.group)):
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
    """Returns the name of the pass that draws bodies of this kind, whatever their size. is_stretched: True if spheres
    are drawn as ellipsoids."""
    if kind == "planes":
        return kind
    if kind == "spheres":
        return f"large {STRETCHED}" if is_stretched else "quads"
    return f"large {kind}"


# This code keeps textures on the GPU, and sets the uniforms of a material.
#
# Each image is a texture of its own size. The texture is bound for the draw call of its material. A texture array would
# require images of one size. An atlas cannot repeat an image, and its mipmaps have visible seams. A scene has few
# materials, so the extra draw calls cost little.
#
# Always: textures with equal pixels share memory. A texture stays on the GPU if the next scene also has it. If an image
# is too large for the GPU, only every second or third pixel is used, or even fewer pixels.


# Texture unit of a material's image. The overlay, and passes over the whole picture, use the first units.
IMAGE_UNIT = 7
# Number of samples in anisotropic filtering on a GPU. The samples lie along the longer axis of the area that a pixel
# covers. With this filtering, the squares of a floor are visible up to the horizon.
ANISOTROPY = 8.0
# With these factors, a material with specular 0.5 and roughness 0.5 has the same highlight as a surface without a
# material.
GLOSS, RIM, EXPONENT = 0.4, 0.2, 4.0

OnGpu = moderngl.Texture | moderngl.TextureCube


def finish_of(material: Material) -> int:
    """Returns the program variant that draws this material."""
    if material.texture is None:
        return SMOOTH_FINISH
    return CUBE_FINISH if material.texture.is_cube else IMAGE_FINISH


class MaterialUniforms:
    """Textures of a scene on the GPU. The method `apply` sets a program's uniforms for a material."""

    def __init__(self, context: moderngl.Context, is_software: bool) -> None:
        self._context, self._is_software = context, is_software
        self._most_px = int(context.info["GL_MAX_TEXTURE_SIZE"])
        self._textures: dict[bytes, OnGpu] = {}
        self._checkers: dict[bytes, Checker | None] = {}

    def keep(self, scene: Scene) -> None:
        """Uploads new textures, and releases the textures that the scene does not use."""
        wanted = {one.digest: one for one in _textures_of(scene)}
        for digest in self._textures.keys() - wanted.keys():
            self._textures.pop(digest).release()
            del self._checkers[digest]
        for digest, texture in wanted.items():
            if digest not in self._textures:
                self._textures[digest], self._checkers[digest] = self._uploaded(texture), checker_of(texture)

    def finish_of(self, material: Material, kind: str) -> int:
        """Returns the program variant that draws bodies of this kind with this material."""
        if kind == "planes" and material.texture is not None and self._checkers[material.texture.digest] is not None:
            return CHECKER_FINISH
        return finish_of(material)

    def apply(self, program: moderngl.Program, material: Material, is_by_uv: bool = False) -> None:
        """Sets the uniforms for the next draws, and binds the image.

        is_by_uv: True if the vertices of the mesh have image coordinates.
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
        """Releases the GPU memory."""
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
    """Returns the textures of a scene's materials. The scene has one shape for each row."""
    for shape in shape_list(scene).table:
        material = getattr(shape, "material", None)
        if material is not None and material.texture is not None:
            yield material.texture


# This code finds images of checkers. The programs of planes compute a checker instead of reading a texture.
#
# The image of most floors consists of two squares along each axis, with or without a thin line along the border. The
# mean of this pattern over a pixel is the product of a term in x and a term in y. In software rendering, this product
# takes a twentieth of the time of a texture lookup with mipmaps. Besides, distant squares can still be told apart;
# mipmaps would show a uniform grey.
#
# Always: an image counts as a checker only if all of its pixels fit the pattern exactly. Pure.


# An image with fewer pixels than this on a side is not treated as a checker. If the number of pixels on a side is odd,
# one square is a pixel larger than the other. In a small image, a checker with equal squares would look different.
LEAST_SIDE_PX = 32
Color = tuple[float, float, float]


class Checker(NamedTuple):
    """A pattern of two squares along each axis. first: colour of the upper left and the lower right square, each
    component from 0 to 1. second: colour of the other two squares.

    line: colour of the border line. reach: width of the border line, as a share of the image's side; 0 if there is no
    line. pixel: width of a pixel, as a share of the image's side.
    """

    first: Color
    second: Color
    line: Color
    reach: float
    pixel: float


def checker_of(texture: Texture) -> Checker | None:
    """Returns the checker that the image shows. Returns None if the image shows anything else, or has alpha."""
    pixels = texture.pixels
    if texture.is_cube or texture.has_alpha or pixels.shape[0] != pixels.shape[1] or len(pixels) < LEAST_SIDE_PX:
        return None
    colors = pixels[..., :3]
    quarter, half = len(colors) // 4, len(colors) // 2
    first, second, line = colors[quarter, quarter], colors[quarter, -quarter], colors[0, 0]
    expected = np.empty_like(colors)
    expected[:half, :half] = expected[half:, half:] = first
    expected[:half, half:] = expected[half:, :half] = second
    reach = 0.0
    if not np.array_equal(colors[0], expected[0]):
        expected[0] = expected[-1] = expected[:, 0] = expected[:, -1] = line
        reach = 1.0 / len(colors)
    if not np.array_equal(colors, expected):
        return None
    return Checker(_color(first), _color(second), _color(line), reach, 1.0 / len(colors))


def _color(pixel: NDArray[np.uint8]) -> Color:
    red, green, blue = (pixel / 255.0).tolist()
    return red, green, blue
