"""A texture behind everything: the sky of a picture.

The sky is infinitely far away, so a pixel's colour depends on the direction of its line of sight alone.
One triangle covers the picture; its corners have directions, which are linear over the picture, and each pixel reads
a cube in its own direction. An image is projected onto a cube first: one program draws both.

Always: depth is not written. An orthographic camera looks in one direction, and sees one colour.
"""

from __future__ import annotations

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.shapes.material import CUBE_SIDES, Texture
from twixt.render.draw.frame.frame_block import FRAME_BINDING
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL

# Texture unit of the sky: the overlay and passes over the picture use the first ones.
SKY_UNIT = 7
# Side of the cube that an image is projected onto, px: at most, and as a share of the image's height, which is 180 degrees.
MOST_CUBE_PX, HEIGHT_SHARE = 1024, 0.5

_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + """
out vec3 way;  // along the line of sight, world, of any length
void main() {
    vec2 corner = vec2((gl_VertexID & 1) * 4 - 1, (gl_VertexID >> 1) * 4 - 1);
    way = sight_to(vec3(corner / lens.xy, -1.0)) * view;
    gl_Position = vec4(corner, 0.0, 1.0);
}
"""
)
_FRAGMENT = """#version 330 core
uniform samplerCube sky;
in vec3 way;
out vec4 color;
void main() { color = vec4(texture(sky, way).rgb, 1.0); }
"""


class Sky:
    """Draws the texture of a background; keeps the last one on the GPU."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._kept: tuple[Texture, moderngl.TextureCube] | None = None
        self._program: moderngl.Program | None = None
        self._vertex_array: moderngl.VertexArray | None = None

    def draw(self, texture: Texture) -> None:
        """Fills the viewport of the framebuffer in use."""
        if self._kept is None or self._kept[0] != texture:
            self.release()
            self._kept = texture, self._uploaded(texture)
        if self._vertex_array is None:
            program = self._context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
            program["sky"] = SKY_UNIT
            self._vertex_array = self._context.vertex_array(program, [])
        self._kept[1].use(SKY_UNIT)
        self._context.enable_only(moderngl.NOTHING)
        self._vertex_array.render(moderngl.TRIANGLES, vertices=3)

    def release(self) -> None:
        """Gives the texture's memory back."""
        if self._kept is not None:
            self._kept[1].release()
            self._kept = None

    def _uploaded(self, texture: Texture) -> moderngl.TextureCube:
        pixels = np.ascontiguousarray((texture.pixels if texture.is_cube else on_cube(texture.pixels))[..., :3])
        made = self._context.texture_cube(pixels.shape[1:3], 3, pixels, alignment=1)
        made.filter = moderngl.LINEAR, moderngl.LINEAR
        return made


def on_cube(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """An image of all directions projected onto a cube: (h, w, c) to (6, s, s, c), sides as OpenGL has them.

    Rows of the image go from straight up to straight down, columns from -x by +y, +x and -y back to -x: equal angles.
    """
    height, width = image.shape[:2]
    side = min(max(int(height * HEIGHT_SHARE), 1), MOST_CUBE_PX)
    ways = cube_directions(side)
    up = np.arctan2(ways[..., 2], np.hypot(ways[..., 0], ways[..., 1]))
    around = np.arctan2(-ways[..., 1], ways[..., 0])
    row = np.clip((0.5 - up / np.pi) * height, 0, height - 1).astype(np.intp)
    column = np.clip((0.5 + around / (2 * np.pi)) * width, 0, width - 1).astype(np.intp)
    return image[row, column]


def cube_directions(side: int) -> NDArray[np.float64]:
    """Direction of each pixel of a cube's sides, (6, side, side, 3), as OpenGL lays them."""
    across = (np.arange(side) + 0.5) / side * 2 - 1
    right, down = np.meshgrid(across, across)
    one = np.ones_like(right)
    ways = [
        (one, -down, -right),
        (-one, -down, right),
        (right, one, down),
        (right, -one, -down),
        (right, -down, one),
        (-right, -down, -one),
    ]
    assert len(ways) == CUBE_SIDES
    return np.array([np.stack(way, axis=-1) for way in ways])
