"""Draws the spheres of a picture: one draw call for nearly all of them, and more only if some are too large for it.

Always: every sphere that is seen is drawn by exactly one program, whatever `sphere_detail.py` chose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.draw.bodies.body_draws import BodyDraws, Finish
from twixt.render.draw.frame.frame_block import SceneView
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.snapshot_ring import sampled_rows
from twixt.render.draw.software.separate_spheres import ApartSpheres
from twixt.render.draw.spheres.snapshot_bounds import extent_of, fits_points, grown, together
from twixt.render.draw.spheres.sphere_common import LARGEST_POINT_PX
from twixt.render.draw.spheres.sphere_detail import (
    FINEST,
    all_radii,
    choose,
    largest_radius,
    sampled_radii,
    sizes_in,
)

# Up to this many bodies a draw of quads, most of them empty, is faster than a query whether any quad is needed. The
# query ends OpenGL's current batch, 0.3 ms, and takes 0.03 us a body; empty quads take 0.13 us a body.
FEW = 2500
# Pictures between two choices of program while the camera is still: bodies keep their sizes, and most their places.
CHOSEN_PICTURES = 8
# Programs of true depth, each with the program of one depth that replaces it where spheres do not intersect.
OF_ONE_DEPTH = {FINEST.name: "apart", "lod 4": "apart lod 4"}


class SphereDrawing:
    """Draws spheres; keeps the last choice of program. finish: of those of smooth materials, see `BodyDraws.draw`."""

    def __init__(self, context: moderngl.Context, bodies: BodyDraws, finish: Finish | None = None) -> None:
        self._bodies, self._finish = bodies, finish
        self._any_beyond = context.query(samples=True)
        self._apart = ApartSpheres(context)
        self._radii_of: Scene | None = None
        self._radii: NDArray[np.float32] = np.zeros(0, np.float32)
        self._lod = FINEST
        self._chosen_for: tuple[object, ...] = ()
        self._drawn = 0  # pictures since the last choice
        self._fit_for: tuple[object, ...] = ()
        self._fit = False

    def draw(self, view: SceneView, layers: Sequence[PlacedLayer], has_others: bool = False) -> None:
        """Draws the spheres of these layers. has_others: dots, lines or marks may be inside them."""
        if not (count := self._bodies.count("points", layers, self._finish)):
            return
        draw = partial(self._bodies.draw, finish=self._finish)
        self._choose(view, layers, count)
        name, largest_px = self._lod
        if self._all_fit(view, layers):
            if not has_others and (few := self._few_apart(view, layers)) is not None:
                order = self._apart.near_first(few, view.camera)
                draw(OF_ONE_DEPTH[name], layers, (0.0, largest_px), order=order)
            else:
                draw(name, layers, (0.0, largest_px))
            return
        if count <= FEW and largest_px == LARGEST_POINT_PX:
            draw(name, layers, (0.0, largest_px))
            draw("quads", layers, (0.0, largest_px))
            return
        is_any_larger = self._ask_beyond(layers, largest_px)
        draw(name, layers, (0.0, largest_px))
        if not is_any_larger():
            return
        if largest_px < LARGEST_POINT_PX:
            is_any_larger = self._ask_beyond(layers, LARGEST_POINT_PX)
            draw("lod 4", layers, (largest_px, LARGEST_POINT_PX))
            if not is_any_larger():
                return
        draw("quads", layers, (0.0, LARGEST_POINT_PX))

    def radii(self, scene: Scene, count: int) -> NDArray[np.float32]:
        """Radii at scale 1 of at least the first `count` bodies, metres; 0 for other shapes."""
        if self._radii_of is not scene or len(self._radii) < count:
            self._radii_of, self._radii = scene, all_radii(scene, count)
        return self._radii

    def _choose(self, view: SceneView, layers: Sequence[PlacedLayer], count: int) -> None:
        """Chooses the program for `count` spheres, by a sample of the layer with most bodies."""
        scene, camera, viewport, level, *_ = view
        # Shadows need the true depth of each pixel, whatever it costs.
        by_processor = self._bodies.is_software and not view.is_mapped
        parts = self._bodies.parts
        largest = max(layers, key=lambda layer: layer.bodies)
        sample = self._bodies.ring.sample(largest.slots.older)
        key = (scene, count, len(sample), camera.view.tobytes(), camera.projection.tobytes(), viewport[2:], level)
        self._drawn += 1
        if key != self._chosen_for or self._drawn >= CHOSEN_PICTURES:
            if parts is not None:
                sample = parts.placed(sample, sampled_rows(largest.bodies))
            sizes = sizes_in(sample, sampled_radii(scene, largest.bodies), count, camera, viewport[3])
            self._lod = choose(sizes, count, by_processor, self._lod, level)
            self._chosen_for, self._drawn = key, 0

    def _few_apart(self, view: SceneView, layers: Sequence[PlacedLayer]) -> NDArray[np.void] | None:
        """Records of a picture's bodies if they are few spheres that do not intersect (separate_spheres.py), else None.

        Not for pictures with dots, lines or marks: the part of a line inside a sphere is hidden only by the true depth.
        """
        bodies, scene, layer = self._bodies, view.scene, layers[0]
        if self._lod.name not in OF_ONE_DEPTH or not bodies.is_software or view.is_wide or view.is_mapped:
            return None
        if not bodies.members.are_spheres or len(layers) != 1 or layer.group is not None:
            return None
        if layer.uniforms.has_transparent:
            return None
        few = bodies.ring.few(layer.slots.older)
        if few is None or not self._apart.are((scene, len(few)), few, self.radii(scene, len(few))):
            return None
        return few

    def _all_fit(self, view: SceneView, layers: Sequence[PlacedLayer]) -> bool:
        """True if all spheres are known to fit points; computed again when an input has changed."""
        ring, lod = self._bodies.ring, self._lod
        extents = tuple([ring.attached(slot, extent_of) for layer in layers for slot in layer.slots[:2]])
        gap_s = max(layer.uniforms.gap_s for layer in layers)
        key = (lod, self._chosen_for, extents, gap_s)
        if key != self._fit_for:
            extent, parts = together(extents), self._bodies.parts
            if extent is not None and parts is not None:
                extent = grown(extent, parts.arm_m)
            self._fit_for = key
            self._fit = extent is not None and fits_points(
                extent, largest_radius(view.scene), gap_s, view.camera, view.viewport[2:], lod.largest_px
            )
        return self._fit

    def _ask_beyond(self, layers: Sequence[PlacedLayer], largest_px: float) -> Callable[[], bool]:
        """Starts the query whether a sphere is too large for points up to this width.

        The returned function reads the result. Call it after the next draw.
        """
        with self._any_beyond:
            self._bodies.draw("beyond", layers, (0.0, largest_px), finish=self._finish)
        return lambda: self._any_beyond.samples > 0
