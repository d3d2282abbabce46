"""The uniform blocks, as bytes: of a picture (camera, light), and of each layer (the place between two snapshots)."""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.camera import CameraMatrices

# A part of the framebuffer: left, bottom, width, height, px.
Viewport = tuple[int, int, int, int]
# Points are drawn into a viewport that reaches this far beyond the picture on each side: see sphere_glsl.py.
GUARD_PX = 64

# std140; the order is FRAME_GLSL's.
FRAME_BLOCK = np.dtype(
    [
        ("view", "<f4", (3, 4)),  # column after column, as GLSL reads it, each padded to four
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
    ]
)
# std140; the order is LAYER_GLSL's: shares, gaps, counts, methods. Packed for each layer in each frame.
LAYER_BLOCK = struct.Struct("<4f 4f 4i 4i")


def frame_block(scene: Scene, camera: CameraMatrices, viewport: Viewport) -> NDArray[np.void]:
    """The block of a picture in this part of the framebuffer, a single record of `FRAME_BLOCK`."""
    block = np.zeros((), FRAME_BLOCK)
    view, projection, eye = camera.view[:3, :3], camera.projection, np.array(camera.eye)
    light = np.asarray(scene.light, np.float32) / math.hypot(*scene.light)
    block["view"][:, :3] = view.T
    block["view_turn"] = quaternion_of(view)
    with np.errstate(over="ignore", invalid="ignore"):  # so far off that numbers end nothing is seen
        block["eye_high"][:3] = eye
        block["eye_low"][:3] = eye - block["eye_high"][:3]
    block["lens"] = projection[0, 0], projection[1, 1], projection[2, 2], projection[2, 3]
    width_px, height_px = viewport[2:]
    block["picture"][:3] = width_px, height_px, 2.0 / (projection[1, 1] * height_px)
    block["light_eye"] = *(view @ light), float(scene.unlit)
    block["up_eye"] = *view[:, 2], (scene.ground if scene.ground is not None else 0.0) - eye[2]
    block["light_world"] = *light, faintest_shadow(scene)
    block["guard"][:2] = (
        projection[0, 0] * width_px / (width_px + 2 * GUARD_PX),
        projection[1, 1] * height_px / (height_px + 2 * GUARD_PX),
    )
    block["grid"] = *(camera.target - eye)[:2], *viewport[:2]
    return block


def faintest_shadow(scene: Scene) -> float:
    """The share of black that nobody sees on this ground: one and a half of 255 steps of its brightness."""
    return 1.5 / 255 / max(*scene.background, 0.1)


def guarded(viewport: Viewport) -> Viewport:
    """The viewport into which points are drawn; what lies outside the picture is to be cut off."""
    left_px, bottom_px, width_px, height_px = viewport
    return left_px - GUARD_PX, bottom_px - GUARD_PX, width_px + 2 * GUARD_PX, height_px + 2 * GUARD_PX


def quaternion_of(rotation: NDArray[np.floating]) -> tuple[float, float, float, float]:
    """A rotation matrix (3, 3) as a unit quaternion xyzw, by the largest of its four components (Shepperd 1978)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
    # Four times the square of each component, less one.
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
