"""Which of the programs draws a picture's spheres: how fine is seen, and can be afforded.

The one idea: a sample of the bodies, as many whatever their number, tells how large spheres are in this picture and
how many pixels they cover. A program is then chosen for all of them at once, since going twice over a million
bodies costs more than it saves; those few that are larger than its spheres may be have a draw of their own.

Always: what is chosen draws spheres up to `largest_px`, wider than nearly all of the sample. What was chosen last
is kept until the sample is clearly beyond it, so that nothing flickers as one zooms. Pure: numbers in, answer out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene, Shape, Sphere
from twixt.render.camera import CameraMatrices
from twixt.render.draw.sphere_glsl import LARGEST_POINT_PX, is_wide
from twixt.render.quality.levels import FULL, Level

# Bodies looked at. Their share of large ones is off by a few percent.
SAMPLED = 128
# This share of the sampled spheres in the picture is no wider than `Sizes.typical_px`.
NEARLY_ALL = 0.95
# The last choice is kept for sizes up to this times its own, and its spheres may be this times as wide.
KEPT, LARGER = 1.15, 1.3
# What the finest may cost where the CPU draws: pixels of its points and, for each body, as many as its start takes.
# 600,000 are about 5 ms; 300 balls that fill a picture of 800x600 are 450,000.
FINEST_PX, BODY_PX = 600_000, 500
# Fewer bodies than this keep their true depth down to this size: their seams are looked at one by one.
MANY_BODIES, FEWER_DISCS_PX = 4096, 9.0


class Detail(NamedTuple):
    """A program of points (one of body_programs.PASSES) and the widest spheres that it draws, px."""

    name: str
    largest_px: float


FINEST = Detail("points", LARGEST_POINT_PX)
# From the cheapest on, with the sizes for which it is chosen; what they look like: plain_spheres.py.
PLAIN = (("dots", 2.5), ("beads", 6.5), ("discs", 16.0), ("pearls", 24.0), ("balls", math.inf))
# Of one tone each: dots are squares, and from a few px on that is seen.
FLAT = (Detail("dots", 4.0), Detail("beads", math.inf))


class Sizes(NamedTuple):
    """Spheres in a picture. typical_px: diameter; infinite when none is known. covered_px: of all points together."""

    typical_px: float
    covered_px: float


def sampled_rows(count: int) -> slice:
    """At most twice SAMPLED of `count` bodies, evenly."""
    return slice(0, count, max(1, count // SAMPLED))


def sampled_radii(scene: Scene, count: int) -> NDArray[np.float32]:
    """Radii of those bodies, metres, of scale 1; 0 for what is no sphere."""
    sampled = sampled_rows(count)
    return _radii(scene, np.arange(sampled.start, sampled.stop, sampled.step))


def all_radii(scene: Scene, count: int) -> NDArray[np.float32]:
    """The same of all of them."""
    return _radii(scene, np.arange(count))


def _radii(scene: Scene, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    shapes = scene.distinct_shapes or (Sphere(),)
    radii = np.array([_radius(shape) for shape in shapes], np.float32)
    index = scene.shape_index
    return radii[index[np.minimum(rows, len(index) - 1)]] if len(index) else np.full(len(rows), radii[0])


def largest_radius(scene: Scene) -> float:
    """Of all spheres of scale 1, metres."""
    return max(map(_radius, scene.distinct_shapes or (Sphere(),)))


def _radius(shape: Shape) -> float:
    return shape.radius if isinstance(shape, Sphere) else 0.0


def sizes_in(
    sample: NDArray[np.void], radii: NDArray[np.float32], count: int, camera: CameraMatrices, height_px: int
) -> Sizes:
    """sample: records (m,) of dtype `BODY` out of `count`; radii (m,): `sampled_radii`."""
    projection = camera.projection
    with np.errstate(all="ignore"):  # records may hold anything
        radius = radii * sample["scale"]
        seen = (sample["position"] - np.array(camera.eye)) @ camera.view[:3, :3].T
        depth = np.maximum(-seen[:, 2], 2 * radius)
        beyond = np.abs(seen[:, :2]) * (projection[0, 0], projection[1, 1]) - depth[:, None]
        in_view = (radius > 0) & (seen[:, 2] < 0) & (beyond.max(axis=1) < radius * projection[1, 1])
        widths_px = radius * (float(projection[1, 1]) * height_px) / depth
        if is_wide(camera):
            widths_px *= np.sqrt(1 + (seen[:, :2] ** 2).sum(axis=1) / depth**2)
        widths_px = widths_px[in_view]
    if not len(widths_px):
        return Sizes(math.inf, 0.0)
    typical_px = float(np.partition(widths_px, place := int(NEARLY_ALL * (len(widths_px) - 1)))[place])
    widths_px = np.minimum(widths_px, LARGEST_POINT_PX)
    return Sizes(typical_px, float(widths_px @ widths_px) * count / len(sample))


def choose(sizes: Sizes, count: int, is_software: bool, last: Detail | None = None, level: Level = FULL) -> Detail:
    """How to draw `count` spheres. last: how they were drawn in the picture before."""
    affordable_px = FINEST_PX * (KEPT if last == FINEST else 1.0)
    if level.fine and (not is_software or sizes.covered_px + count * BODY_PX <= affordable_px):
        return FINEST
    for name, limit_px in _plain(count) if level.skin else FLAT:
        if sizes.typical_px <= limit_px * (KEPT if last is not None and last.name == name else 1.0):
            return Detail(name, min(limit_px * LARGER, LARGEST_POINT_PX))
    return Detail("balls", LARGEST_POINT_PX)


def _plain(count: int) -> list[Detail]:
    """Programs for so many where they cannot all be of the finest, from the cheapest on."""
    most_px = FEWER_DISCS_PX if count < MANY_BODIES else math.inf
    return [Detail(name, min(limit_px, most_px) if name == "discs" else limit_px) for name, limit_px in PLAIN]


def possible(count: int, is_software: bool) -> set[str]:
    """What `choose` may answer for so many spheres of about one size."""
    if not is_software:
        return {FINEST.name}
    names = {name for name, limit_px in _plain(count) if count * (BODY_PX + (KEPT * limit_px) ** 2) > FINEST_PX}
    return names | ({FINEST.name} if count * BODY_PX <= FINEST_PX * KEPT else set())
