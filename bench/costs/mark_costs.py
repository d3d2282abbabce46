"""Cost of a picture with marks, compared with a picture of as many bodies: blending, layout, upload and drawing.

In every frame numpy blends and lays out marks, while shaders do this for bodies. Five kinds of marks are also shapes
of bodies. A picture of marks of these five kinds takes turns with a picture of bodies that have the same positions and
sizes. A second row is for marks of all kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.costs.cloud import CAMERA, INTERVAL_S, Cloud, radius_m, records
from bench.rows import Row, rounds_of, row, times_us
from twixt.cli.progress import Say
from twixt.ipc.config.flags import Config
from twixt.ipc.scene import Scene
from twixt.ipc.scene.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from twixt.ipc.snapshot import MARK_KINDS
from twixt.render.display.display import open_display
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.interpolation.blending import blended, drawable, matched
from twixt.sim.world.marks import Marks

COUNT, ROUNDS, BUDGET_S = 1_000, 120, 2.5
RADIUS_M = radius_m(COUNT)
AS_BODIES = ("sphere", "box", "capsule", "cylinder", "ellipsoid")
# Sizes of marks, in multiples of RADIUS_M.
SIZES = {
    "sphere": (1.0,),
    "box": (1.4, 1.4, 1.4),
    "capsule": (0.6, 1.2),
    "cylinder": (0.7, 1.4),
    "ellipsoid": (2.0, 1.6, 1.2),
    "arrow": (0.2, 3.0),
    "line": (0.2, 3.0),
    "axes": (2.0,),
}
SHAPES = (Sphere, Box, Capsule, Cylinder, Ellipsoid)


class MarkCloud:
    """Marks of these kinds at the positions of a cloud, and bodies there for the kinds that are also shapes."""

    def __init__(self, window: Any, kinds: Sequence[str]) -> None:
        self._cloud = Cloud(window, COUNT)  # used for its camera and framebuffer
        self._older, self._newer = _marks(kinds, 1), _marks(kinds, 2)
        self._both = matched(self._older["key"], self._newer["key"])
        shapes = [_shape(kind) for kind in kinds if kind in AS_BODIES for _ in range(COUNT // len(kinds))]
        self._empty = SceneRenderer(window.context, Scene([], ground=None, camera=CAMERA), 3)
        self._bodies = SceneRenderer(window.context, Scene(shapes, ground=None, camera=CAMERA), 3, COUNT)
        for slot in (1, 2):
            self._bodies.upload_records(slot, records(COUNT, slot))

    def draw_marks(self) -> None:
        """Blends and draws the marks, and waits until the picture is complete."""
        self._cloud.use_screen()
        marks = blended(self._older, self._newer, self._both, 0.4)
        self._empty.draw([], self._cloud.camera, self._cloud.viewport, marks)
        self._empty.finish()

    def draw_bodies(self) -> None:
        """Draws the bodies, and waits until the picture is complete."""
        self._cloud.use_screen()
        layer = Layer(1, 2, alpha=0.4, gap_s=INTERVAL_S, method="linear")
        self._bodies.draw([layer], self._cloud.camera, self._cloud.viewport)
        self._bodies.finish()

    def release(self) -> None:
        """Releases the GPU memory."""
        for one in (self._empty, self._bodies, self._cloud):
            one.release()


def mark_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of pictures of marks. share: share of a whole run's rounds to measure."""
    window = open_display(Config(pacing="unlimited"))
    try:
        say(f"{COUNT:,} marks")
        same = MarkCloud(window, AS_BODIES)
        every = MarkCloud(window, tuple(MARK_KINDS))
        try:
            for name, cloud in ((f"{COUNT:,} marks of five kinds", same), (f"{COUNT:,} marks of all kinds", every)):
                for work in (cloud.draw_marks, same.draw_bodies) * 2:  # compiles programs, allocates memory
                    work()
                rounds = rounds_of(ROUNDS, share)
                times, limits = times_us(rounds, cloud.draw_marks, same.draw_bodies, budget_s=BUDGET_S)
                yield row(name, "us", times, "as many bodies of five kinds", limits)
        finally:
            same.release()
            every.release()
    finally:
        window.close()


def _marks(kinds: Sequence[str], number: int) -> NDArray[np.void]:
    marks, bodies, each = Marks(), records(COUNT, number), COUNT // len(kinds)
    for first, kind in enumerate(kinds):
        rows = slice(first * each, (first + 1) * each)
        size = np.multiply(SIZES[kind], RADIUS_M)
        marks.add(kind, bodies["position"][rows], orientation=bodies["orientation"][rows], size=size)
    return drawable(marks.records)


def _shape(kind: str) -> Sphere | Box | Capsule | Cylinder | Ellipsoid:
    size = [length * RADIUS_M for length in SIZES[kind]]
    made = SHAPES[AS_BODIES.index(kind)]
    return made(tuple(size)) if made in (Box, Ellipsoid) else made(*size)  # type: ignore[arg-type]
