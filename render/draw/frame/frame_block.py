"""Describes one picture of one frame: the view to draw, the framebuffer to draw into, and the uniform blocks for the
shaders.

There is one uniform block for the picture, with camera and light. There is one block for each layer, with the position
between two snapshots. Blocks have the std140 layout of OpenGL.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.scene.material import Texture
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.context import read_pixels
from twixt.render.draw.glsl.uniform_blocks import PoseVariant
from twixt.render.draw.quality import FULL, Level

# An area of the framebuffer: left, bottom, width and height in px.
Viewport = tuple[int, int, int, int]
# Points are drawn into a viewport that is larger than the picture by this many px on each side. The reason is in
# sphere_common.py.
GUARD_PX = 64
# An infinite ground is stored as a rectangle. This is half the length of its edges, in metres.
ENDLESS_M = 1e30
# A body casts no shadow on the ground if its lowest point is higher above the ground than this multiple of its radius.
# See `Floor`.
NEAR_FADE_RADII = 0.9

# std140 layout. The fields are in the order of FRAME_GLSL.
FRAME_BLOCK = np.dtype(
    [
        ("view", "<f4", (3, 4)),  # stored column by column, as GLSL reads it; each column is padded to four numbers
        ("view_turn", "<f4", 4),
        ("eye_high", "<f4", 4),
        ("eye_low", "<f4", 4),
        ("lens", "<f4", 4),
        ("picture", "<f4", 4),
        ("light_eye", "<f4", 4),
        ("up_eye", "<f4", 4),
        ("light_world", "<f4", 4),
        ("grid", "<f4", 4),
        ("guard", "<f4", 4),
        ("floor_at", "<f4", 4),
        ("floor_half", "<f4", 4),
    ]
)
FRAME_BINDING, LAYER_BINDING = 0, 1
# std140 layout: three vectors of four numbers each. They are in the order of `LayerUniforms` and LAYER_GLSL. In the
# format, `x` stands for padding.
LAYER_BLOCK = struct.Struct("<4f 4i 3i 4x")


class Floor(NamedTuple):
    """A level rectangle that receives soft shadows. middle: its middle in the world, in metres. along: direction of its
    x axis, (cosine, sine) in the world's x and y. half_m: half of its edges, in metres. fade_radii: limit on the height
    of a body's lowest point above the floor, as a multiple of the body's radius. Above this height, a body casts no
    shadow."""

    middle: tuple[float, float, float]
    along: tuple[float, float]
    half_m: tuple[float, float]
    fade_radii: float


class SceneView(NamedTuple):
    """A picture to draw: a scene, a camera, an area of the framebuffer and a quality level.

    is_wide: True if spheres are drawn as ellipses, see sphere_common.py. floor: the floor that receives soft shadows.
    If `floor` is None, only the scene's ground receives soft shadows, if there is a ground.
    """

    scene: Scene
    camera: CameraMatrices
    viewport: Viewport
    level: Level = FULL
    is_wide: bool = False
    floor: Floor | None = None

    @property
    def is_mapped(self) -> bool:
        """True if shadows are read from a shadow map. If a scene has plain colours, it has no shadows."""
        return self.level.mapped and self.scene.look == "lit"

    def variant_of(self, variant: PoseVariant, is_spheres: bool) -> PoseVariant:
        """Returns the variant of a program for this picture. is_spheres: True if the program draws spheres."""
        return variant._replace(
            wide=self.is_wide and is_spheres,
            parallel=self.camera.orthographic,
            outlined=self.scene.look == "flat",
            sampled=self.is_mapped and self.level.samples > 1 and not variant.transparent,
        )


class LayerUniforms(NamedTuple):
    """Contents of a layer's uniform block, in the order of LAYER_GLSL.

    share: position of the draw time between the two snapshots, 0..1. is_posed: see `Layer`. gap_s: simulated seconds
    from the older snapshot to the newer one. before_gap_s: simulated seconds to the older snapshot from the snapshot
    before it. older_count, newer_count, before_count: number of bodies that are read from each snapshot.
    has_transparent: True if transparent bodies are drawn separately, after all other bodies. method: interpolation
    method, as an index into METHODS. keeps_color, keeps_scale3: True if this field is not blended.
    """

    share: float
    is_posed: bool
    gap_s: float
    before_gap_s: float
    older_count: int
    newer_count: int
    before_count: int
    has_transparent: bool
    method: int
    keeps_color: bool
    keeps_scale3: bool

    def packed(self) -> bytes:
        """Returns the bytes of the block."""
        return LAYER_BLOCK.pack(*self)


class FrameTarget:
    """The framebuffer of one frame, and the size in px that the frame's pictures cover."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self.framebuffer: moderngl.Framebuffer = context.fbo
        self.size_px = (1, 1)
        self.is_begun = False
        self.is_clipped = False  # True if the last picture covers less than its viewport
        self._clip: Viewport = (0, 0, 1, 1)

    def begin(self) -> None:
        """Begins a frame without pictures, in the current framebuffer."""
        self.framebuffer, self.size_px, self.is_begun = self._context.fbo, (1, 1), True

    def cover(self, viewport: Viewport, clip: Viewport) -> None:
        """Adds a picture that covers the area `clip` of `viewport`. Sets the viewport and the scissor, so that nothing
        outside this area is drawn."""
        left_px, bottom_px, width_px, height_px = clip
        self.size_px = max(self.size_px[0], left_px + width_px), max(self.size_px[1], bottom_px + height_px)
        self.is_clipped, self._clip = clip != viewport, clip
        self.limit(viewport)

    def limit(self, viewport: Viewport) -> None:
        """Limits drawing to the pixels that are in this viewport and also in the picture that was added last."""
        self.framebuffer.viewport, self.framebuffer.scissor = viewport, self._clip

    def move(self, framebuffer: moderngl.Framebuffer, viewport: Viewport, clip: Viewport) -> None:
        """Makes all further draws go to this area of another framebuffer. The area is limited in the same way as by
        `cover`."""
        self.framebuffer, self._clip = framebuffer, clip
        framebuffer.use()
        self.limit(viewport)

    @contextmanager
    def diverted(self, framebuffer: moderngl.Framebuffer, viewport: Viewport) -> Iterator[None]:
        """Context manager: draws inside it go to this area of another framebuffer. After it, draws go to the previous
        area again."""
        before, area, clip = self.framebuffer, self.framebuffer.viewport, self.framebuffer.scissor
        self.framebuffer = framebuffer
        framebuffer.use()
        framebuffer.viewport = framebuffer.scissor = viewport
        try:
            yield
        finally:
            framebuffer.scissor = None  # type: ignore[assignment]  # stubs
            self.framebuffer = before
            before.use()
            before.viewport, before.scissor = area, clip

    def uncut(self) -> None:
        """Removes the scissor."""
        self.framebuffer.scissor = None  # type: ignore[assignment]  # stubs

    def read(self) -> NDArray[np.uint8]:
        """Returns the pixels of the area that the frame's pictures cover. They are RGB, of shape (height, width, 3),
        top row first."""
        width_px, height_px = self.size_px
        raw = read_pixels(self.framebuffer, (0, 0, width_px, height_px))
        return np.flipud(np.frombuffer(raw, np.uint8).reshape(height_px, width_px, 3)).copy()


class FrameUniforms:
    """A picture's uniform block on the GPU. The block is written again when its inputs have changed.

    key: all inputs of the block except the scene; empty before the first `write`.
    """

    def __init__(self, context: moderngl.Context) -> None:
        self._buffer = context.buffer(reserve=FRAME_BLOCK.itemsize, dynamic=True)
        self.key: tuple[object, ...] = ()

    def write(self, scene: Scene, camera: CameraMatrices, viewport: Viewport, floor: Floor | None = None) -> bool:
        """Binds the uniform block of this picture. Returns True if the block was written because its contents had
        changed. floor: see `SceneView`."""
        key = (camera.view.tobytes(), camera.projection.tobytes(), camera.eye, camera.target, viewport, floor)
        is_new = key != self.key
        if is_new:
            self.key = key
            self._buffer.write(frame_block(scene, camera, viewport, floor).tobytes())
        self.bind()
        return is_new

    def bind(self) -> None:
        """Binds the block for all later draws."""
        self._buffer.bind_to_uniform_block(FRAME_BINDING)

    def forget(self) -> None:
        """Makes the next `write` write the block, even if its inputs have not changed. Call it when the scene has
        changed."""
        self.key = ()


def frame_block(
    scene: Scene, camera: CameraMatrices, viewport: Viewport, floor: Floor | None = None
) -> NDArray[np.void]:
    """Returns the block of a picture in this area of the framebuffer. It is a single record of `FRAME_BLOCK`. floor:
    see `SceneView`."""
    floor = ground_of(scene) if floor is None else floor
    block = np.zeros((), FRAME_BLOCK)
    view, projection, eye = camera.view[:3, :3], camera.projection, np.array(camera.eye)
    light = np.asarray(scene.light, np.float32) / math.hypot(*scene.light)
    block["view"][:, :3] = view.T
    block["view_turn"] = quaternion_of(view)
    with np.errstate(over="ignore", invalid="ignore"):  # points beyond the range of float32 are not visible
        block["eye_high"][:3] = eye
        block["eye_low"][:3] = eye - block["eye_high"][:3]
    block["lens"] = projection[0, 0], projection[1, 1], projection[2, 2], projection[2, 3]
    width_px, height_px = viewport[2:]
    block["picture"] = width_px, height_px, 2.0 / (projection[1, 1] * height_px), float(camera.orthographic)
    block["light_eye"] = *(view @ light), float(scene.look != "lit")
    block["up_eye"] = *view[:, 2], floor.middle[2] - eye[2]
    block["floor_at"] = *(floor.middle - eye)[:2], *floor.along
    block["floor_half"][:3] = *floor.half_m, floor.fade_radii
    block["light_world"] = *light, faintest_shadow(scene)
    block["guard"] = (
        projection[0, 0] * width_px / (width_px + 2 * GUARD_PX),
        projection[1, 1] * height_px / (height_px + 2 * GUARD_PX),
        float(scene.pattern and scene.look == "lit"),
        body_brightness(scene),
    )
    block["grid"] = *(camera.target - eye)[:2], *viewport[:2]
    return block


def ground_of(scene: Scene) -> Floor:
    """Returns the scene's ground as an infinite floor. If the scene has no ground, this floor has the height 0."""
    return Floor(
        (0.0, 0.0, 0.0 if scene.ground_z is None else scene.ground_z),
        (1.0, 0.0),
        (ENDLESS_M, ENDLESS_M),
        NEAR_FADE_RADII,
    )


def faintest_shadow(scene: Scene) -> float:
    """Returns the largest opacity at which a black shadow is not visible. A shadow of this opacity darkens the surface
    below the bodies by 1.5 of 255 steps. If there is no ground, this surface is a floor, which may be white."""
    if scene.ground_z is None:
        return 1.5 / 255
    background = scene.background.mean_color if isinstance(scene.background, Texture) else scene.background
    return 1.5 / 255 / max(*background, 0.1)


def body_brightness(scene: Scene) -> float:
    """Returns a factor on the colours of bodies. The factor is 1 if the scene has plain colours."""
    return 1.0 if scene.look != "lit" else scene.brightness


def guarded(viewport: Viewport) -> Viewport:
    """Returns the viewport for points, which is larger by GUARD_PX on each side. The scissor removes pixels outside the
    picture."""
    left_px, bottom_px, width_px, height_px = viewport
    return left_px - GUARD_PX, bottom_px - GUARD_PX, width_px + 2 * GUARD_PX, height_px + 2 * GUARD_PX


def quaternion_of(rotation: NDArray[np.floating]) -> tuple[float, float, float, float]:
    """Converts a rotation matrix (3, 3) to a unit quaternion xyzw. The computation begins with the largest of the four
    components (Shepperd 1978)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
    # Each value is four times the square of a component, minus one.
    squares = (xx - yy - zz, yy - xx - zz, zz - xx - yy, xx + yy + zz)
    largest = squares.index(max(squares))
    if largest == 3:
        x, y, z, w = zy - yz, xz - zx, yx - xy, 1 + squares[3]
    elif largest == 0:
        x, y, z, w = 1 + squares[0], yx + xy, xz + zx, zy - yz
    elif largest == 1:
        x, y, z, w = yx + xy, 1 + squares[1], zy + yz, xz - zx
    else:
        x, y, z, w = xz + zx, zy + yz, 1 + squares[2], yx - xy
    length = math.hypot(x, y, z, w)
    return x / length, y / length, z / length, w / length
