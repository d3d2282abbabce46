"""The spheres of a picture: one draw for nearly all of them, and more only if some are too large for it.

Always: every sphere that is seen is drawn by exactly one program, whatever `detail.py` chose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.camera import CameraMatrices
from twixt.render.draw.detail import FINEST, all_radii, choose, largest_radius, sampled_radii, sizes_in
from twixt.render.draw.extent import Extent, fits_points, together
from twixt.render.draw.layers import PlacedLayer
from twixt.render.draw.software.apart import ApartSpheres
from twixt.render.draw.sphere_glsl import LARGEST_POINT_PX
from twixt.render.quality.levels import FULL, Level

# So few bodies are drawn as quads, most of which are not there, sooner than it is asked whether any is: that ends what
# OpenGL was gathering, 0.3 ms, and takes 0.03 us a body; quads that are not there take 0.13 us a body.
FEW = 2500
# A choice holds for this many pictures of a camera that keeps still: bodies do not change their size, and seldom place.
CHOSEN_PICTURES = 8
Range = tuple[float, float]
FINEST_PX = 0.0, FINEST.largest_px
DrawBodies = Callable[..., None]  # program, layers, range_px; order: of the bodies


class SphereDrawing:
    """Draws with `draw_bodies(program, layers, range_px)`, and remembers how it drew last."""

    def __init__(self, context: moderngl.Context, is_software: bool, draw_bodies: DrawBodies) -> None:
        self._draw_bodies = draw_bodies
        self._is_software = is_software
        self._any_beyond = context.query(samples=True)
        self._apart = ApartSpheres(context)
        self._radii_of: Scene | None = None
        self._radii: NDArray[np.float32] = np.zeros(0, np.float32)
        self._detail = FINEST
        self._chosen_for: tuple[object, ...] = ()
        self._drawn = 0  # pictures since then
        self._fit_for: tuple[object, ...] = ()
        self._fit = False

    def draw(
        self, scene: Scene, layers: list[PlacedLayer], count: int, sample: NDArray[np.void],
        extents: Sequence[Extent | None], camera: CameraMatrices, size_px: tuple[int, int], level: Level = FULL,
        few: NDArray[np.void] | None = None,
    ) -> None:  # fmt: skip
        """Draws the `count` spheres of these layers. sample: records of the largest of them, as `SnapshotRing.sample`.

        extents: where the bodies of all their snapshots are. few: all bodies, where nothing but these spheres is drawn.
        """
        key = (scene, count, len(sample), camera.view.tobytes(), camera.projection.tobytes(), size_px, level)
        self._drawn += 1
        if key != self._chosen_for or self._drawn >= CHOSEN_PICTURES:
            radii = sampled_radii(scene, max(layer.bodies for layer in layers))
            sizes = sizes_in(sample, radii, count, camera, size_px[1])
            self._detail = choose(sizes, count, self._is_software, self._detail, level)
            self._chosen_for, self._drawn = key, 0
        name, largest_px = self._detail
        if self._all_fit(scene, layers, extents, camera, size_px):
            if few is not None and self._detail == FINEST and self._are_apart(scene, few):
                self._draw_apart(layers, few, camera)
                return
            self._draw_bodies(name, layers, (0.0, largest_px))
            return
        if count <= FEW and largest_px == LARGEST_POINT_PX:
            self._draw_bodies(name, layers, (0.0, largest_px))
            self._draw_bodies("quads", layers, (0.0, largest_px))
            return
        is_any_larger = self._ask_beyond(layers, largest_px)
        self._draw_bodies(name, layers, (0.0, largest_px))
        if not is_any_larger():
            return
        if largest_px < LARGEST_POINT_PX:
            is_any_larger = self._ask_beyond(layers, LARGEST_POINT_PX)
            self._draw_bodies("balls", layers, (largest_px, LARGEST_POINT_PX))
            if not is_any_larger():
                return
        self._draw_bodies("quads", layers, (0.0, LARGEST_POINT_PX))

    def radii(self, scene: Scene, count: int) -> NDArray[np.float32]:
        """Of the first `count` bodies at least, of scale 1; 0: no sphere."""
        if self._radii_of is not scene or len(self._radii) < count:
            self._radii_of, self._radii = scene, all_radii(scene, count)
        return self._radii

    def _are_apart(self, scene: Scene, few: NDArray[np.void]) -> bool:
        return self._is_software and self._apart.are((scene, len(few)), few, self.radii(scene, len(few)))

    def _draw_apart(self, layers: list[PlacedLayer], few: NDArray[np.void], camera: CameraMatrices) -> None:
        self._draw_bodies("apart", layers, FINEST_PX, order=self._apart.near_first(few, camera))

    def _all_fit(
        self, scene: Scene, layers: list[PlacedLayer], extents: Sequence[Extent | None], camera: CameraMatrices,
        size_px: tuple[int, int],
    ) -> bool:  # fmt: skip
        """Whether it is known that none is too large; worked out anew where anything has changed."""
        gap_s = max(layer.gap_s for layer in layers)
        key = (self._detail, self._chosen_for, tuple(extents), gap_s)
        if key != self._fit_for:
            extent = together(extents)
            largest_px = self._detail.largest_px
            self._fit_for, self._fit = (
                key,
                extent is not None and fits_points(extent, largest_radius(scene), gap_s, camera, size_px, largest_px),
            )
        return self._fit

    def _ask_beyond(self, layers: list[PlacedLayer], largest_px: float) -> Callable[[], bool]:
        """Whether a sphere is too large for points up to this width: to be asked after the draw that follows."""
        with self._any_beyond:
            self._draw_bodies("beyond", layers, (0.0, largest_px))
        return lambda: self._any_beyond.samples > 0
