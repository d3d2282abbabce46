"""Spheres that do not reach into each other: which is in front is one number a sphere, and hidden pixels cost little.

The one idea: software drawing tests a pixel's depth before its colour only where the pixel does not choose its depth
itself. Of two spheres that are apart the one whose middle is nearer is in front wherever both are seen, so each may
stand as the disc through its middle, of one depth. Drawn the nearest first, what is hidden is not worked out: in a pile
two thirds of all pixels. The price is half of the soft edge, for what is behind is not there yet when it is blended.

Always: chosen only where a picture holds nothing but spheres, no dots and lines that may begin inside them, so many
that they hide each other, so few that each can be compared with each, none deeper in another than TOLERANCE; else
pixels have their true depth.
"""

from __future__ import annotations

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import VISIBLE
from twixt.render.camera import CameraMatrices
from twixt.render.draw.snapshot_ring import FEW

# Fewer hide little of each other, and their edges are looked at.
LEAST = 48
# How far one may be in another, in radii of the smaller: their seam is off by half of that. Piles of balls that bounce
# press each other by up to a tenth.
TOLERANCE = 0.25
# Of 300 it takes 0.2 ms: compared again after so many pictures; where some were not apart, only after so many.
LOOK_PICTURES, LOOK_AGAIN_PICTURES = 8, 240


def are_apart(place: NDArray[np.floating], radius: NDArray[np.floating]) -> bool:
    """Whether no sphere is deeper in another than TOLERANCE. place: (n, 3), radius: (n,), metres."""
    with np.errstate(all="ignore"):  # records may hold anything
        known = np.isfinite(place).all(axis=1) & (radius > 0)
        at = place[known].astype(np.float64)
        if len(at) < 2:
            return True
        at = (at - at.mean(axis=0)).astype(np.float32)
        of = radius[known].astype(np.float32)
        least = (of[:, None] + of) - np.float32(TOLERANCE) * np.minimum(of[:, None], of)
        square = (at * at).sum(axis=1)
        off2 = at @ (-2.0 * at.T)
        off2 += square[:, None]
        off2 += square
        np.fill_diagonal(off2, np.inf)
        return not bool((off2 < least * least).any())


class ApartSpheres:
    """Whether the spheres of a picture are apart, looked at now and then, and their order, made for each picture."""

    def __init__(self, context: moderngl.Context) -> None:
        self._indices = context.buffer(reserve=4 * FEW, dynamic=True)
        self._apart = False
        self._looks_in = 0  # pictures until it is looked again
        self._key: object = None

    def are(self, key: object, records: NDArray[np.void] | None, radii: NDArray[np.float32]) -> bool:
        """Whether these are. key: what they are of; another one is looked at at once. radii: of scale 1, 0: no sphere."""
        if records is None or len(records) < LEAST:
            return False
        self._looks_in -= 1
        if key != self._key or self._looks_in <= 0:
            seen = radii[: len(records)] * np.abs(records["scale"]) * ((records["flags"] & VISIBLE) != 0)
            self._apart = are_apart(records["position"], seen)
            self._key, self._looks_in = key, LOOK_PICTURES if self._apart else LOOK_AGAIN_PICTURES
        return self._apart

    def near_first(self, records: NDArray[np.void], camera: CameraMatrices) -> moderngl.Buffer:
        """Their numbers, the nearest first: where they were in the older snapshot is near enough to save time."""
        behind = records["position"] @ -camera.view[2, :3].astype(np.float32)
        self._indices.write(np.argsort(behind).astype(np.uint32))
        return self._indices
