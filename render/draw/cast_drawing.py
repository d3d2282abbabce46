"""The boxes, capsules, cylinders and ellipsoids of a picture: which are points, in which quality, which rectangles.

The one idea: rectangles are finest, and all that a few bodies need. Of more bodies, the small ones are points. Where
the CPU draws many, points are plain: hard edges, no highlight. Of very many it is asked of the GPU first whether
there is any body for a rectangle, as spheres do: that costs a part of drawing rectangles that are not there.

Always: every body that is seen is drawn by exactly one program.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import moderngl

from twixt.render.camera import CameraMatrices
from twixt.render.draw.layers import PlacedLayer
from twixt.render.draw.sphere_drawing import DrawBodies
from twixt.render.draw.sphere_glsl import LARGEST_POINT_PX
from twixt.render.quality.levels import FULL, Level

# What has no passes of its own is drawn by those of its name: "boxes", "plain boxes", "beyond boxes", "large boxes".
STRETCHED = "stretched spheres"
CAST_KINDS = ("boxes", "cylinders", "capsules", "ellipsoids", STRETCHED)
# Up to so many bodies all are rectangles: one program, 2 ms if each is 20 px wide and the CPU draws them.
FEW = 300
# From so many on points are plain where the CPU draws: as fine ones, they would take another 1 ms and more.
MANY = 1500
# From so many on it is asked for rectangles. Below, the answer takes longer than they do.
ASKED = 4096
# Side by side rays are off by a fourth of the point's width, px, squared, times a pixel's angle. At most, px:
OFF_PX, PLAIN_OFF_PX = 0.2, 0.45


def cast_passes(kind: str, count: int, is_software: bool, level: Level = FULL) -> tuple[str, ...]:
    """The programs that may draw so many bodies of this kind."""
    if count <= FEW and level.fine:
        return (f"large {kind}",)
    points = f"plain {kind}" if (count >= MANY and is_software) or not level.fine else kind
    return (points, f"large {kind}") if count < ASKED else (points, f"beyond {kind}", f"large {kind}")


def largest_point_px(camera: CameraMatrices, height_px: int, off_px: float) -> float:
    """The widest point of which no ray is off by more."""
    pixel = 2.0 / (float(camera.projection[1, 1]) * max(height_px, 1))
    return min(math.sqrt(4.0 * off_px / pixel), float(LARGEST_POINT_PX))


class CastDrawing:
    """Draws with `draw_bodies(program, layers, range_px)`."""

    def __init__(
        self, context: moderngl.Context, is_software: bool, draw_bodies: DrawBodies, flush: Callable[[], object]
    ) -> None:
        self._draw_bodies = draw_bodies
        self._flush = flush
        self._is_software = is_software
        self._any_beyond = context.query(samples=True)

    def draw(
        self, kind: str, layers: list[PlacedLayer], count: int, camera: CameraMatrices, height_px: int,
        level: Level = FULL,
    ) -> None:  # fmt: skip
        """Draws the `count` bodies of one of CAST_KINDS in these layers."""
        names = cast_passes(kind, count, self._is_software, level)
        if len(names) == 1:
            self._draw_bodies(names[0], layers, (0.0, 0.0))
            return
        is_plain = names[0] != kind
        range_px = 0.0, largest_point_px(camera, height_px, PLAIN_OFF_PX if is_plain else OFF_PX)
        if len(names) == 3:
            with self._any_beyond:
                self._draw_bodies(names[1], layers, range_px)
            self._flush()  # else the answer comes with the last pixel of the draw that follows
        self._draw_bodies(names[0], layers, range_px)
        if len(names) == 2 or self._any_beyond.samples > 0:
            self._draw_bodies(names[-1], layers, range_px)
