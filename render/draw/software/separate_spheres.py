"""Finds spheres that do not intersect: each is drawn with one depth, so that hidden pixels are skipped early.

Software drawing tests a pixel's depth before its colour only if the shader does not write the depth. Of
two spheres that do not intersect, the one whose centre is nearer is in front wherever both are seen, so each is drawn
as the disc through its centre, of one depth. If the nearest is drawn first, hidden pixels are not computed: two thirds
of all pixels in a pile. Cost: only the outer half of the edge is antialiased.

Always: used only if a picture holds nothing but spheres, without dots and lines (which may begin inside them), from
LEAST to FEW of them, none deeper in another than TOLERANCE; otherwise pixels have their true depth.
"""

from __future__ import annotations

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import VISIBLE
from twixt.render.draw.camera import CameraMatrices
from twixt.render.draw.frame.snapshot_ring import FEW

# Fewer spheres hide little of each other, and their edges are noticed.
LEAST = 48
# Largest overlap of two spheres, in radii of the smaller: their seam is off by half of that. In piles of bouncing balls
# the overlap is up to a tenth.
TOLERANCE = 0.25
# Pictures between two tests, 0.1 ms each for 300 spheres: if no spheres intersected in the last test, and if some did.
LOOK_PICTURES, LOOK_AGAIN_PICTURES = 8, 240


def are_apart(place: NDArray[np.floating], radius: NDArray[np.floating]) -> bool:
    """True if no sphere is deeper in another than TOLERANCE. place: (n, 3), radius: (n,), metres; spheres whose radius
    is 0, and those whose place is not finite, are left out."""
    with np.errstate(all="ignore"):  # records may hold anything
        known = np.isfinite(place).all(axis=1) & (radius > 0)
        return _are_apart(place[known], _nearest_squares(radius[known]))


def _nearest_squares(radius: NDArray[np.floating]) -> NDArray[np.float32]:
    """Square of the least distance of each pair of spheres that are apart, (n, n), square metres."""
    of = radius.astype(np.float32)
    least = np.asarray((of[:, None] + of) - TOLERANCE * np.minimum(of[:, None], of), np.float32)
    least *= least
    np.fill_diagonal(least, -np.inf)
    return least


def _are_apart(place: NDArray[np.floating], nearest_squares: NDArray[np.float32]) -> bool:
    """As `are_apart`, for finite places, from `_nearest_squares`."""
    if len(place) < 2:
        return True
    at = place.astype(np.float64)
    at -= at.mean(axis=0)
    # Squared distances of all pairs by one matrix product: |a|^2 - 2 a b + |b|^2.
    square, one = (at * at).sum(axis=1), np.ones(len(at))
    left, right = np.empty((len(at), 5), np.float32), np.empty((len(at), 5), np.float32)
    left[:, :3], left[:, 3], left[:, 4] = -2.0 * at, square, one
    right[:, :3], right[:, 3], right[:, 4] = at, one, square
    return not bool((left @ right.T < nearest_squares).any())


class ApartSpheres:
    """Repeated test that no spheres intersect, and their order from front to back."""

    def __init__(self, context: moderngl.Context) -> None:
        self._indices = context.buffer(reserve=4 * FEW, dynamic=True)
        self._apart = False
        self._looks_in = 0  # pictures until the next test
        self._key: object = None
        self._radius: NDArray[np.floating] = np.zeros(0)  # of `_nearest_squares`, none of them 0
        self._nearest_squares = np.zeros((0, 0), np.float32)

    def are(self, key: object, records: NDArray[np.void] | None, radii: NDArray[np.float32]) -> bool:
        """True if no spheres intersected in the last test. records: dtype `BODY`; with None or few, False.

        key: identity of the spheres; another key is tested at once. radii: at scale 1, metres; 0 for other shapes.
        """
        if records is None or len(records) < LEAST:
            return False
        self._looks_in -= 1
        if key != self._key or self._looks_in <= 0:
            seen = radii[: len(records)] * np.abs(records["scale"]) * ((records["flags"] & VISIBLE) != 0)
            self._apart = self._are_apart(records["position"], seen)
            self._key, self._looks_in = key, LOOK_PICTURES if self._apart else LOOK_AGAIN_PICTURES
        return self._apart

    def _are_apart(self, place: NDArray[np.floating], radius: NDArray[np.floating]) -> bool:
        """As `are_apart`; reuses `_nearest_squares` while radii stay the same."""
        if not (radius > 0).all() or not np.isfinite(place).all():
            return are_apart(place, radius)
        if not np.array_equal(radius, self._radius):
            self._radius, self._nearest_squares = radius, _nearest_squares(radius)
        return _are_apart(place, self._nearest_squares)

    def near_first(self, records: NDArray[np.void], camera: CameraMatrices) -> moderngl.Buffer:
        """Body numbers as indices, the nearest first. By the older snapshot's positions: the order only saves time."""
        behind = records["position"] @ -camera.view[2, :3].astype(np.float32)
        self._indices.write(np.argsort(behind).astype(np.uint32))
        return self._indices
