"""Computes the bounding box of the bodies of a snapshot. Also tests whether all bodies are small enough to be drawn as
points.

The box around all bodies is computed once for each snapshot. In most pictures, no body is near the camera. Then it is
enough to test the box. Without the box, every body would have to be tested for each picture. The curve of a body
between two snapshots stays within the hull of the curve's four Bezier points. Two of these points are the ends of the
curve. The other two are found by moving each end along its velocity for a third of the time between the snapshots.

Always: a body that is too large for a point is never missed. The extent is None (unknown) if a number is not finite, or
if there are more than MOST bodies. The functions are pure.
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

# Largest number of bodies for which the box is computed. With more bodies, the box costs more time for each snapshot
# than it saves in the pictures. For 100,000 bodies, which do not fit into the processor's cache, the box takes 0.5 to 4
# ms.
MOST = 1 << 15
# Number of records whose least or largest values are computed side by side. To handle the records one by one takes ten
# times as long.
ABREAST = 64
WORDS = BODY.itemsize // 4
PLACE, VELOCITY = (
    slice(at, at + 3)
    for at in (BODY.fields["position"][1] // 4, BODY.fields["velocity"][1] // 4)  # type: ignore[index]
)
SIZE_BITS = 0x7FFF


class Extent(NamedTuple):
    """Bounding box of a snapshot. low, high: two opposite corners of the box in the world frame, metres. speed: largest
    component of any body's velocity, m/s.

    scale: largest magnitude of any body's scale.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    speed: float
    scale: float


def extent_of(records: NDArray[np.void]) -> Extent | None:
    """Bounding box of records, (n,) of dtype `BODY`; None if it is unknown."""
    if not 0 < len(records) <= MOST:
        return None
    words = records.view(np.float32).reshape(-1, WORDS)
    with np.errstate(invalid="ignore"):  # records may contain any bits, even infinity and NaN
        lowest, highest = _ends(words, np.minimum), _ends(words, np.maximum)
        # The bits of the half floats are compared as integers, which have the same order as the magnitudes. To compare
        # half floats takes ten times as long.
        scale = float(np.uint16((records["scale"].view(np.uint16) & SIZE_BITS).max()).view(np.float16))
    low, high = lowest[PLACE], highest[PLACE]
    speeds = [*lowest[VELOCITY], *highest[VELOCITY]]
    if not all(map(math.isfinite, (*low, *high, *speeds, scale))):
        return None
    return Extent((low[0], low[1], low[2]), (high[0], high[1], high[2]), max(map(abs, speeds)), scale)


def _ends(words: NDArray[np.float32], end: np.ufunc) -> list[float]:
    """For each word of the records, (n, WORDS), the least or the largest value over all records. NaN if one of the
    values is NaN."""
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
    """True if all spheres in the box `extent` are small enough for points of a width of `largest_px`. radius: largest
    radius of the spheres at scale 1, in metres.

    gap_s: time in seconds from the older to the newer snapshot. During this time, spheres move on their curves.
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
        # How much a ball in the corner of the guarded viewport is stretched, if its depth (its distance from the plane
        # of the eye) is twice its radius.
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
    """Enlarges the box so that it contains parts of bodies. arm_m: largest distance of a part from the position of its
    body, in metres at scale 1."""
    reach = arm_m * extent.scale
    (x, y, z), (right, top, front) = extent.low, extent.high
    low, high = (x - reach, y - reach, z - reach), (right + reach, top + reach, front + reach)
    return extent._replace(low=low, high=high)


def together(extents: Sequence[Extent | None]) -> Extent | None:
    """The box around all of these boxes; None if one of them is unknown, or if there are no boxes."""
    known = [extent for extent in extents if extent is not None]
    if not known or len(known) < len(extents):
        return None
    lows, highs, speeds, scales = zip(*known, strict=True)
    (x, y, z), (high_x, high_y, high_z) = map(min, zip(*lows, strict=True)), map(max, zip(*highs, strict=True))
    return Extent((x, y, z), (high_x, high_y, high_z), max(speeds), max(scales))
