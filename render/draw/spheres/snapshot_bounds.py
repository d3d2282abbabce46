"""Bounding box of the bodies of a snapshot, and a test that all bodies are small enough for points.

The box around all bodies is computed once for each snapshot. In most pictures the camera is outside all bodies and
none is near. Then it is enough to test the box. Without the box, each picture would have to test every body. A curve
between two snapshots stays within the hull of its four Bezier points. These points are the two ends of the curve, and
each end moved along its velocity for a third of the gap.

Always: a body that is too large for a point is never missed. The extent is None (unknown) if a number is not finite,
or if there are more than MOST bodies. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import BODY
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import GUARD_PX
from twixt.render.draw.spheres.sphere_common import is_wide

# With more bodies than this, computing the box for each snapshot costs more than it saves in the pictures. For 100,000
# bodies, which do not fit into the cache, the box takes 0.5 to 4 ms.
MOST = 1 << 15
# Number of records that are reduced side by side. Reducing records one by one takes ten times as long.
ABREAST = 64
WORDS = BODY.itemsize // 4
PLACE, VELOCITY = (
    slice(at, at + 3)
    for at in (BODY.fields["position"][1] // 4, BODY.fields["velocity"][1] // 4)  # type: ignore[index]
)
SIZE_BITS = 0x7FFF


class Extent(NamedTuple):
    """Bounding box of a snapshot. low, high: corners, metres, world. speed: largest component of a velocity, m/s.

    scale: largest magnitude of a scale.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    speed: float
    scale: float


def extent_of(records: NDArray[np.void]) -> Extent | None:
    """Extent of records (n,) of dtype `BODY`; None if unknown."""
    if not 0 < len(records) <= MOST:
        return None
    words = records.view(np.float32).reshape(-1, WORDS)
    with np.errstate(invalid="ignore"):  # records may contain any bits, also infinity and NaN
        lowest, highest = _ends(words, np.minimum), _ends(words, np.maximum)
        # The bits are compared as integers, which have the same order as the magnitudes. Comparing half floats takes
        # ten times as long.
        scale = float(np.uint16((records["scale"].view(np.uint16) & SIZE_BITS).max()).view(np.float16))
    low, high = lowest[PLACE], highest[PLACE]
    speeds = [*lowest[VELOCITY], *highest[VELOCITY]]
    if not all(map(math.isfinite, (*low, *high, *speeds, scale))):
        return None
    return Extent((low[0], low[1], low[2]), (high[0], high[1], high[2]), max(map(abs, speeds)), scale)


def _ends(words: NDArray[np.float32], end: np.ufunc) -> list[float]:
    """Least or largest value of each word of records (n, WORDS). NaN if one of the values is NaN."""
    whole = len(words) // ABREAST * ABREAST
    found = words[whole:]
    if whole:
        abreast = end.reduce(words[:whole].reshape(-1, ABREAST * WORDS), axis=0)
        found = np.concatenate((found, abreast.reshape(ABREAST, WORDS)))
    ends: list[float] = end.reduce(found, axis=0).tolist()
    return ends


def fits_points(
    extent: Extent, radius: float, gap_s: float, camera: CameraMatrices, size_px: tuple[int, int], largest_px: float
) -> bool:
    """True if spheres with up to `radius` (at scale 1, metres), anywhere in `extent`, are small enough for points of
    at most `largest_px`.

    gap_s: time from the older to the newer snapshot, during which spheres move on their curves.
    """
    radius, swing = radius * extent.scale, gap_s * extent.speed / 3
    ends = [
        (axis * (low - swing - at), axis * (high + swing - at))
        for axis, at, low, high in zip(camera.view[2, :3].tolist(), camera.eye, extent.low, extent.high, strict=True)
    ]
    nearest, farthest = -sum(map(max, ends)), -sum(map(min, ends))
    (across, _, _, _), (_, along, _, _), (_, _, depth, offset), _ = camera.projection.tolist()
    width_px, height_px = size_px
    guards = (0.999 * (1 + 2 * GUARD_PX / side_px) - 1 for side_px in size_px)
    if camera.orthographic:
        return (
            radius * along * height_px <= largest_px
            and all(abs(offset - depth * end) < 1 for end in (nearest, farthest))
            and all(radius * lens < guard for lens, guard in zip((across, along), guards, strict=True))
        )
    longer = 1.0
    if is_wide(camera):
        # Stretch of a ball in the corner of the guard, if its depth is twice its radius.
        sides = (1 + 2 * GUARD_PX / width_px) / across, (1 + 2 * GUARD_PX / height_px) / along
        longer = math.hypot(1, *sides) * 4 / 3
    return (
        nearest > 2 * radius
        and radius * along * height_px * longer <= largest_px * nearest
        and all(abs(offset - depth * end) < end for end in (nearest, farthest))
        and all(
            radius * math.hypot(1, lens) < nearest * guard for lens, guard in zip((across, along), guards, strict=True)
        )
    )


def grown(extent: Extent, arm_m: float) -> Extent:
    """Extent of parts whose distance from the positions of their bodies is up to `arm_m` metres (at scale 1)."""
    reach = arm_m * extent.scale
    (x, y, z), (right, top, front) = extent.low, extent.high
    low, high = (x - reach, y - reach, z - reach), (right + reach, top + reach, front + reach)
    return extent._replace(low=low, high=high)


def together(extents: Sequence[Extent | None]) -> Extent | None:
    """Extent around all of these extents; None if one of them is unknown, or if there are none."""
    known = [extent for extent in extents if extent is not None]
    if not known or len(known) < len(extents):
        return None
    lows, highs, speeds, scales = zip(*known, strict=True)
    (x, y, z), (high_x, high_y, high_z) = map(min, zip(*lows, strict=True)), map(max, zip(*highs, strict=True))
    return Extent((x, y, z), (high_x, high_y, high_z), max(speeds), max(scales))
