"""Draws the boxes, capsules, cylinders and ellipsoids of a picture: as points of two qualities, or as rectangles.

The one idea: rectangles look best, and a few bodies are all drawn as rectangles. With more bodies, the small ones are
points. Where the CPU draws many, points are plain: hard edges, no highlight. With very many, an occlusion query asks
first whether any body needs a rectangle, as for spheres: it costs less than a draw of rectangles that are all empty.

Always: every body that is seen is drawn by exactly one program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import moderngl

from twixt.render.draw.bodies.body_draws import BodyDraws, Finish
from twixt.render.draw.bodies.body_programs import STRETCHED
from twixt.render.draw.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import SceneView
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.quality_levels import FULL, Level
from twixt.render.draw.spheres.sphere_common import LARGEST_POINT_PX

# Up to this many bodies all are rectangles: one program, 2 ms if each is 20 px wide and the CPU draws them.
FEW = 300
# From this many on points are plain where the CPU draws: fine ones would take at least 1 ms more.
MANY = 1500
# From this many on the query is used. With fewer bodies it takes longer than the rectangles.
ASKED = 4096
# Parallel rays are off by a quarter of the point's width (px) squared, times a pixel's angle (rad). Largest error, px:
OFF_PX, PLAIN_OFF_PX = 0.2, 0.45


def cast_passes(
    kind: str, count: int, is_software: bool, level: Level = FULL, is_outlined: bool = False
) -> tuple[str, ...]:
    """Passes for `count` bodies of this kind: rectangles alone; points and rectangles; or points, query, rectangles.

    is_outlined: bodies have an outline, which plain points lack.
    """
    if count <= FEW and level.fine:
        return (f"large {kind}",)
    is_plain = not is_outlined and ((count >= MANY and is_software) or not level.fine)
    points = f"plain {kind}" if is_plain else kind
    return (points, f"large {kind}") if count < ASKED else (points, f"beyond {kind}", f"large {kind}")


def largest_point_px(camera: CameraMatrices, height_px: int, off_px: float) -> float:
    """Width of the widest point, px, whose parallel rays are off by at most `off_px`."""
    if camera.orthographic:
        return float(LARGEST_POINT_PX)
    pixel = 2.0 / (float(camera.projection[1, 1]) * max(height_px, 1))
    return min(math.sqrt(4.0 * off_px / pixel), float(LARGEST_POINT_PX))


class CastDrawing:
    """Draws bodies of ray cast shapes. finish: of those of smooth materials, see `BodyDraws.draw`."""

    def __init__(self, context: moderngl.Context, bodies: BodyDraws, finish: Finish | None = None) -> None:
        self._bodies, self._finish = bodies, finish
        self._any_beyond = context.query(samples=True)

    def draw(self, kind: str, view: SceneView, layers: Sequence[PlacedLayer]) -> None:
        """Draws the bodies of one of CAST_KINDS in these layers."""
        bodies, finish = self._bodies, self._finish
        if kind == STRETCHED:
            layers = [layer for layer in layers if layer.variant.stretched]
        count = bodies.count(kind, layers, finish)
        if not count:
            return
        names = cast_passes(kind, count, bodies.is_software, view.level, view.scene.is_outlined)
        if len(names) == 1:
            bodies.draw(names[0], layers, (0.0, 0.0), finish=finish)
            return
        is_plain = names[0] != kind
        range_px = 0.0, largest_point_px(view.camera, view.viewport[3], PLAIN_OFF_PX if is_plain else OFF_PX)
        if len(names) == 3:
            with self._any_beyond:
                bodies.draw(names[1], layers, range_px, finish=finish)
            bodies.flush()  # otherwise the result comes only after the last pixel of the next draw
        bodies.draw(names[0], layers, range_px, finish=finish)
        if len(names) == 2 or self._any_beyond.samples > 0:
            bodies.draw(names[-1], layers, range_px, finish=finish)
