"""Draws spheres, boxes, capsules, cylinders and ellipsoids.

This module also tests whether spheres intersect. If no spheres intersect, software rendering draws them at a lower
cost.

Always: every visible body is drawn by exactly one program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import VISIBLE
from twixt.render.draw.bodies.body_draws import BodyDraws, Finish
from twixt.render.draw.bodies.body_programs import STRETCHED
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import SceneView
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.snapshot_ring import FEW, sampled_rows
from twixt.render.draw.quality import FULL, Level
from twixt.render.draw.spheres.snapshot_bounds import extent_of, fits_points, grown, together
from twixt.render.draw.spheres.sphere_common import LARGEST_POINT_PX
from twixt.render.draw.spheres.sphere_detail import FINEST, all_radii, choose, largest_radius, sampled_radii, sizes_in

# If there are at most this many bodies, a quad is drawn for each body without an occlusion query. Most of these quads
# are empty, but drawing them is faster than a query that asks whether any quad is needed. The query ends OpenGL's
# current batch, which costs 0.3 ms. The query also takes 0.03 us for each body. An empty quad takes 0.13 us.
FEW_SPHERES = 2500
# While the camera stands still, the program for spheres is chosen only once in this many pictures. During so few
# pictures, the sizes of bodies and most of their positions stay the same.
CHOSEN_PICTURES = 8
# Each key is a program that writes the true depth of each pixel. If no spheres intersect, this program is replaced by
# the value of the key. The value is a program that gives each sphere a single depth.
OF_ONE_DEPTH = {FINEST.name: "apart", "lod 4": "apart lod 4"}


class SphereDrawing:
    """Draws spheres. It stores which program was chosen last. finish: draws spheres with a smooth material, see
    `BodyDraws.draw`."""

    def __init__(self, context: moderngl.Context, bodies: BodyDraws, finish: Finish | None = None) -> None:
        self._bodies, self._finish = bodies, finish
        self._any_beyond = context.query(samples=True)
        self._separate = SeparateSpheres(context)
        self._radii_of: Scene | None = None
        self._radii: NDArray[np.float32] = np.zeros(0, np.float32)
        self._lod = FINEST
        self._chosen_for: tuple[object, ...] = ()
        self._drawn = 0  # number of pictures since a program was chosen
        self._fit_for: tuple[object, ...] = ()
        self._fit = False

    def draw(self, view: SceneView, layers: Sequence[PlacedLayer], has_others: bool = False) -> None:
        """Draws the spheres of these layers. has_others: True if dots, lines or marks may be inside spheres."""
        if not (count := self._bodies.count("points", layers, self._finish)):
            return
        draw = partial(self._bodies.draw, finish=self._finish)
        self._choose(view, layers, count)
        name, largest_px = self._lod
        if self._all_fit(view, layers):
            if not has_others and (few := self._few_separate(view, layers)) is not None:
                order = self._separate.near_first(few, view.camera)
                draw(OF_ONE_DEPTH[name], layers, (0.0, largest_px), order=order)
            else:
                draw(name, layers, (0.0, largest_px))
            return
        if count <= FEW_SPHERES and largest_px == LARGEST_POINT_PX:
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
        """Returns the radii of at least the first `count` bodies at scale 1, in metres. The radius is 0 for other
        shapes than spheres."""
        if self._radii_of is not scene or len(self._radii) < count:
            self._radii_of, self._radii = scene, all_radii(scene, count)
        return self._radii

    def _choose(self, view: SceneView, layers: Sequence[PlacedLayer], count: int) -> None:
        """Chooses the program for `count` spheres. The choice is based on a sample of the bodies in the largest
        layer."""
        scene, camera, viewport, level, *_ = view
        # A shadow map needs the true depth of each pixel, so here the cost does not matter.
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

    def _few_separate(self, view: SceneView, layers: Sequence[PlacedLayer]) -> NDArray[np.void] | None:
        """Returns the records of a picture's bodies if there are at most FEW bodies, and if all of them are spheres
        that do not intersect. Otherwise returns None.

        Do not use the result for pictures with dots, lines or marks. If a line begins inside a sphere, only the true
        depth of each pixel hides the inner part of the line.
        """
        bodies, scene, layer = self._bodies, view.scene, layers[0]
        if self._lod.name not in OF_ONE_DEPTH or not bodies.is_software or view.is_wide or view.is_mapped:
            return None
        if not bodies.members.are_spheres or len(layers) != 1 or layer.group is not None:
            return None
        if layer.uniforms.has_transparent:
            return None
        few = bodies.ring.few_records(layer.slots.older)
        if few is None or not self._separate.are_separate((scene, len(few)), few, self.radii(scene, len(few))):
            return None
        return few

    def _all_fit(self, view: SceneView, layers: Sequence[PlacedLayer]) -> bool:
        """Returns True if all spheres are known to be small enough to be drawn as points. The result is computed again
        only when an input has changed."""
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
        """Starts an occlusion query. The query counts the spheres that are too large to be drawn as points with a width
        of `largest_px`.

        Returns a function that reads the result. The function returns True if there is such a sphere. Call the function
        after the next draw.
        """
        with self._any_beyond:
            self._bodies.draw("beyond", layers, (0.0, largest_px), finish=self._finish)
        return lambda: self._any_beyond.samples > 0


# If spheres do not intersect, each sphere is drawn with a single depth. Hidden pixels are then skipped early.
#
# Software rendering tests a pixel's depth before it computes the pixel's colour, but only if the shader does not write
# the depth. If two spheres do not intersect, the sphere with the nearer centre is in front wherever the two overlap in
# the picture. So each sphere can be drawn as the disc through its centre, and the disc has a single depth. If the
# nearest spheres are drawn first, hidden pixels are not computed. In a pile of spheres, two thirds of all pixels are
# hidden. The disadvantage is that only the outer half of the edge is antialiased.
#
# Spheres are drawn in this way only if the picture contains nothing but spheres. There must be at least LEAST and at
# most FEW spheres, and no sphere may be deeper in another sphere than TOLERANCE. Dots and lines are not allowed,
# because they may begin inside a sphere. In all other pictures, each pixel has its true depth.


# Least number of spheres that are drawn as discs. Fewer spheres hide little of each other, and their less smooth edges
# would be visible.
LEAST = 48
# Largest allowed overlap of two spheres, as a share of the radius of the smaller sphere. The picture then shows the
# seam between the two spheres in a wrong place. The error is half of the overlap. In piles of bouncing balls the
# overlap is up to a tenth of a radius.
TOLERANCE = 0.25
# Number of pictures until spheres are tested again. LOOK_PICTURES is used if no spheres intersected in the last test.
# LOOK_AGAIN_PICTURES is used if some spheres intersected. A test of 300 spheres takes 0.1 ms.
LOOK_PICTURES, LOOK_AGAIN_PICTURES = 8, 240


def are_separate(place: NDArray[np.floating], radius: NDArray[np.floating]) -> bool:
    """Returns True if no sphere is deeper in another sphere than TOLERANCE. place: centres of the spheres, (n, 3), in
    metres. radius: (n,), in metres. Spheres are ignored if their radius is 0, or if their centre is not finite."""
    with np.errstate(all="ignore"):  # records may contain any bits, for example infinity or NaN
        known = np.isfinite(place).all(axis=1) & (radius > 0)
        return _are_separate(place[known], _nearest_squares(radius[known]))


def _nearest_squares(radius: NDArray[np.floating]) -> NDArray[np.float32]:
    """Returns an (n, n) array. For each pair of spheres, it contains the square of the least distance of their centres
    at which the spheres count as separate, in square metres."""
    of = radius.astype(np.float32)
    least = np.asarray((of[:, None] + of) - TOLERANCE * np.minimum(of[:, None], of), np.float32)
    least *= least
    np.fill_diagonal(least, -np.inf)
    return least


def _are_separate(place: NDArray[np.floating], nearest_squares: NDArray[np.float32]) -> bool:
    """Like `are_separate`, but all places must be finite. nearest_squares: result of `_nearest_squares`."""
    if len(place) < 2:
        return True
    at = place.astype(np.float64)
    at -= at.mean(axis=0)
    # This is the squared distance of the centres of each pair, computed by one matrix product: |a|^2 - 2 a b + |b|^2.
    square, one = (at * at).sum(axis=1), np.ones(len(at))
    left, right = np.empty((len(at), 5), np.float32), np.empty((len(at), 5), np.float32)
    left[:, :3], left[:, 3], left[:, 4] = -2.0 * at, square, one
    right[:, :3], right[:, 3], right[:, 4] = at, one, square
    return not bool((left @ right.T < nearest_squares).any())


class SeparateSpheres:
    """Tests from time to time whether spheres intersect, and sorts the spheres from front to back."""

    def __init__(self, context: moderngl.Context) -> None:
        self._indices = context.buffer(reserve=4 * FEW, dynamic=True)
        self._separate = False
        self._pictures_until_test = 0  # number of pictures until spheres are tested again
        self._key: object = None
        # the radii for which `_nearest_squares` was computed; no radius is 0
        self._radius: NDArray[np.floating] = np.zeros(0)
        self._nearest_squares = np.zeros((0, 0), np.float32)

    def are_separate(self, key: object, records: NDArray[np.void] | None, radii: NDArray[np.float32]) -> bool:
        """Returns True if no spheres intersected in the last test. Returns False if `records` is None or has fewer than
        LEAST records. The records have dtype `BODY`.

        key: identifies the spheres. If the key has changed, the spheres are tested at once. radii: radii at scale 1, in
        metres. The radius is 0 for other shapes than spheres.
        """
        if records is None or len(records) < LEAST:
            return False
        self._pictures_until_test -= 1
        if key != self._key or self._pictures_until_test <= 0:
            seen = radii[: len(records)] * np.abs(records["scale"]) * ((records["flags"] & VISIBLE) != 0)
            self._separate = self._are_separate(records["position"], seen)
            self._key, self._pictures_until_test = key, LOOK_PICTURES if self._separate else LOOK_AGAIN_PICTURES
        return self._separate

    def _are_separate(self, place: NDArray[np.floating], radius: NDArray[np.floating]) -> bool:
        """Like `are_separate`. While the radii stay the same, this method uses the last `_nearest_squares` again."""
        if not (radius > 0).all() or not np.isfinite(place).all():
            return are_separate(place, radius)
        if not np.array_equal(radius, self._radius):
            self._radius, self._nearest_squares = radius, _nearest_squares(radius)
        return _are_separate(place, self._nearest_squares)

    def near_first(self, records: NDArray[np.void], camera: CameraMatrices) -> moderngl.Buffer:
        """Returns a buffer of body numbers. The first number is that of the body nearest to the camera. The distances
        are computed from the older snapshot. The order affects only the speed."""
        behind = records["position"] @ -camera.view[2, :3].astype(np.float32)
        self._indices.write(np.argsort(behind).astype(np.uint32))
        return self._indices


# This code draws the boxes, capsules, cylinders and ellipsoids of a picture. It draws them as fine points, as plain
# points or as rectangles.
#
# Rectangles look best, so if there are few bodies, all are drawn as rectangles. If there are more bodies, small bodies
# are drawn as points. If there are many bodies, software rendering uses plain points, which have hard edges and no
# highlight. If there are very many bodies, an occlusion query first asks whether any body needs a rectangle. The query
# costs less than a draw in which all rectangles are empty.
#
# Always: every visible body is drawn by exactly one program.


# If there are at most this many bodies, one program draws all of them as rectangles. In software rendering this takes 2
# ms for bodies with a width of 20 px.
FEW_RAY_CAST = 300
# If there are at least this many bodies, software rendering uses plain points. Fine points would take at least 1 ms
# longer.
MANY = 1500
# If there are at least this many bodies, the occlusion query is used. With fewer bodies, the query takes longer than
# drawing the rectangles.
ASKED = 4096
# The rays of a point are computed as parallel, so the drawn body has an error. To get the error in px, multiply the
# squared width of the point in px by the angle of a pixel in rad, and divide by four. OFF_PX is the largest allowed
# error of fine points in px, PLAIN_OFF_PX that of plain points.
OFF_PX, PLAIN_OFF_PX = 0.2, 0.45


def cast_passes(
    kind: str, count: int, is_software: bool, level: Level = FULL, is_outlined: bool = False
) -> tuple[str, ...]:
    """Returns the names of the passes that draw `count` bodies of this kind. There are three cases. The passes draw
    only rectangles; or they draw points and then rectangles; or an occlusion query decides, after the points, whether
    rectangles are drawn.

    is_outlined: True if the bodies have an outline. Plain points cannot show an outline, so they are then not used.
    """
    if count <= FEW_RAY_CAST and level.fine:
        return (f"large {kind}",)
    is_plain = not is_outlined and ((count >= MANY and is_software) or not level.fine)
    points = f"plain {kind}" if is_plain else kind
    return (points, f"large {kind}") if count < ASKED else (points, f"beyond {kind}", f"large {kind}")


def largest_point_px(camera: CameraMatrices, height_px: int, off_px: float) -> float:
    """Returns the width in px of the widest point whose error is at most `off_px`. A point has an error because its
    rays are computed as parallel."""
    if camera.orthographic:
        return float(LARGEST_POINT_PX)
    pixel = 2.0 / (float(camera.projection[1, 1]) * max(height_px, 1))
    return min(math.sqrt(4.0 * off_px / pixel), float(LARGEST_POINT_PX))


class CastDrawing:
    """Draws bodies of ray cast shapes. finish: draws bodies with a smooth material, see `BodyDraws.draw`."""

    def __init__(self, context: moderngl.Context, bodies: BodyDraws, finish: Finish | None = None) -> None:
        self._bodies, self._finish = bodies, finish
        self._any_beyond = context.query(samples=True)

    def draw(self, kind: str, view: SceneView, layers: Sequence[PlacedLayer]) -> None:
        """Draws the bodies of this kind (one of CAST_KINDS) in these layers."""
        bodies, finish = self._bodies, self._finish
        if kind == STRETCHED:
            layers = [layer for layer in layers if layer.variant.stretched]
        count = bodies.count(kind, layers, finish)
        if not count:
            return
        names = cast_passes(kind, count, bodies.is_software, view.level, view.scene.look == "flat")
        if len(names) == 1:
            bodies.draw(names[0], layers, (0.0, 0.0), finish=finish)
            return
        is_plain = names[0] != kind
        range_px = 0.0, largest_point_px(view.camera, view.viewport[3], PLAIN_OFF_PX if is_plain else OFF_PX)
        if len(names) == 3:
            with self._any_beyond:
                bodies.draw(names[1], layers, range_px, finish=finish)
            # without the flush, the result of the query comes only after the last pixel of the next draw
            bodies.flush()
        bodies.draw(names[0], layers, range_px, finish=finish)
        if len(names) == 2 or self._any_beyond.samples > 0:
            bodies.draw(names[-1], layers, range_px, finish=finish)
