"""Where a snapshot's bodies are, all of them, and whether any may be too large for a program of points: two boxes.

The one idea: the box around all bodies, worked out once a snapshot, answers for most pictures what else each picture
has to ask of every body: seen from outside, and none of them near. A curve between two snapshots stays within the
hull of its ends and of what a third of the time brings along each velocity (Bezier's points of a cubic of Hermite).

Always: no body that is too large, or drawn where a point cannot be, goes unnoticed; where numbers are not finite, or
there are very many bodies, nothing is known. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import BODY
from twixt.render.camera import CameraMatrices
from twixt.render.draw.frame_block import GUARD_PX
from twixt.render.draw.sphere_glsl import is_wide

# Of more bodies it takes longer, for each snapshot, than what it saves in each picture: 100,000 are in no cache, 0.5 to 4 ms.
MOST = 1 << 15
# Records side by side are compared with the next so many at once: one by one they take ten times as long.
ABREAST = 64
WORDS = BODY.itemsize // 4
PLACE, VELOCITY = (slice(at, at + 3) for at in (BODY.fields["position"][1] // 4, BODY.fields["velocity"][1] // 4))  # type: ignore[index]
SIZE_BITS = 0x7FFF


class Extent(NamedTuple):
    """low, high: corners of the box around all places, metres. speed: of velocities along any axis. scale: largest."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    speed: float
    scale: float


def extent_of(records: NDArray[np.void]) -> Extent | None:
    """Of records (n,) of dtype `BODY`; None where it is not known."""
    if not 0 < len(records) <= MOST:
        return None
    words = records.view(np.float32).reshape(-1, WORDS)
    with np.errstate(invalid="ignore"):  # records may hold anything
        lowest, highest = _ends(words, np.minimum), _ends(words, np.maximum)
        # As whole numbers, which order as sizes do: half floats take ten times as long.
        scale = float(np.uint16((records["scale"].view(np.uint16) & SIZE_BITS).max()).view(np.float16))
    low, high = lowest[PLACE], highest[PLACE]
    speeds = [*lowest[VELOCITY], *highest[VELOCITY]]
    if not all(map(math.isfinite, (*low, *high, *speeds, scale))):
        return None
    return Extent((low[0], low[1], low[2]), (high[0], high[1], high[2]), max(map(abs, speeds)), scale)


def _ends(words: NDArray[np.float32], end: np.ufunc) -> list[float]:
    """The least or the largest of each word of records (n, WORDS); not finite where one is none."""
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
    """Whether spheres up to `radius` (of scale 1) that move within `extent` fit points up to `largest_px`, wherever.

    gap_s: from the older to the newer snapshot.
    """
    radius, swing = radius * extent.scale, gap_s * extent.speed / 3
    ends = [
        (axis * (low - swing - at), axis * (high + swing - at))
        for axis, at, low, high in zip(camera.view[2, :3].tolist(), camera.eye, extent.low, extent.high, strict=True)
    ]
    nearest, farthest = -sum(map(max, ends)), -sum(map(min, ends))
    (across, _, _, _), (_, along, _, _), (_, _, depth, offset), _ = camera.projection.tolist()
    width_px, height_px = size_px
    longer = 1.0
    if is_wide(camera):
        # Of a ball twice its radius off, in the corner of the guard.
        sides = (1 + 2 * GUARD_PX / width_px) / across, (1 + 2 * GUARD_PX / height_px) / along
        longer = math.hypot(1, *sides) * 4 / 3
    return (
        nearest > 2 * radius
        and radius * along * height_px * longer <= largest_px * nearest
        and all(abs(offset - depth * end) < end for end in (nearest, farthest))
        and all(
            radius * math.hypot(1, lens) < nearest * (0.999 * (1 + 2 * GUARD_PX / side_px) - 1)
            for lens, side_px in ((across, width_px), (along, height_px))
        )
    )


def together(extents: Sequence[Extent | None]) -> Extent | None:
    """The extent of all of them; None where one is not known."""
    known = [extent for extent in extents if extent is not None]
    if not known or len(known) < len(extents):
        return None
    low, high = [extent.low for extent in known], [extent.high for extent in known]
    return Extent(
        (min(at[0] for at in low), min(at[1] for at in low), min(at[2] for at in low)),
        (max(at[0] for at in high), max(at[1] for at in high), max(at[2] for at in high)),
        max(extent.speed for extent in known),
        max(extent.scale for extent in known),
    )
