"""Chooses the level of detail (LOD) at which the spheres of a picture are drawn. The choice depends on the size of the
spheres on the screen, and on the cost.

The sizes of the spheres in the picture, and the number of pixels that they cover, are estimated from a sample of at
most 256 bodies. One program is then chosen for all spheres, because a second pass over a million bodies costs more than
it saves. The few spheres that are too large for this program are drawn separately.

Always: the chosen program draws spheres up to a width of `largest_px`. This width is larger than the width of nearly
all spheres in the sample, or it is LARGEST_POINT_PX. Each program has a limit for the typical size of spheres. The last
chosen program stays in use until the typical size exceeds this limit by 15 %. So nothing flickers during a zoom. The
functions are pure: they take numbers and return a choice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene, Shape, Sphere
from twixt.ipc.scene.scene import shape_list
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.snapshot_ring import sampled_rows
from twixt.render.draw.quality import FULL, Level
from twixt.render.draw.spheres.sphere_common import LARGEST_POINT_PX, is_wide

# This share of the sampled spheres in the picture is no wider than `Sizes.typical_px`.
NEARLY_ALL = 0.95
# Each program has a limit for the typical size of spheres. The last chosen program stays in use up to KEPT times its
# limit. A program draws single spheres up to LARGER times its limit.
KEPT, LARGER = 1.15, 1.3
# FINEST_PX is the largest cost at which software rendering uses the finest program. Each sphere is
# drawn as an OpenGL point. The cost is the number of pixels of all points, plus BODY_PX for the setup of each sphere. A cost of 600,000 takes about 5 ms. 300 balls that fill a picture
# of 800x600 have a cost of 450,000.
FINEST_PX, BODY_PX = 600_000, 500
# If there are fewer bodies than MANY_BODIES, LOD 2 is used only up to the typical size FEWER_LOD_2_PX. LOD 2 gives all
# pixels of a sphere the same depth. The seams between larger spheres would then look wrong.
MANY_BODIES, FEWER_LOD_2_PX = 4096, 9.0


class SphereLod(NamedTuple):
    """Level of detail of spheres: the name of its program (one of body_programs.PASSES), and the width in px of the
    widest spheres that this program draws."""

    name: str
    largest_px: float


FINEST = SphereLod("points", LARGEST_POINT_PX)
# The programs in the order of their cost, the cheapest first. The number after each name is the largest typical size in
# px for which the program is used. point_spheres.py describes the programs.
PLAIN = (("lod 0", 2.5), ("lod 1", 6.5), ("lod 2", 16.0), ("lod 3", 24.0), ("lod 4", math.inf))
# Programs for the quality levels at which spheres have no pattern. LOD 0 is used only up to 4 px, because larger
# squares would be noticed.
FLAT = (SphereLod("lod 0", 4.0), SphereLod("lod 1", 6.5), SphereLod("lod 1", math.inf))


class Sizes(NamedTuple):
    """Sizes of spheres in a picture. typical_px: diameter in px that 95 % of the sampled spheres do not exceed;
    infinite if there are no spheres.

    covered_px: number of pixels in the points of all spheres together.
    """

    typical_px: float
    covered_px: float


def sampled_radii(scene: Scene, count: int) -> NDArray[np.float32]:
    """Radii of the sampled bodies at scale 1, in metres. The radius is 0 if a body is not a sphere."""
    sampled = sampled_rows(count)
    return _radii(scene, np.arange(sampled.start, sampled.stop, sampled.step))


def all_radii(scene: Scene, count: int) -> NDArray[np.float32]:
    """Radii of the first `count` bodies at scale 1, in metres. The radius is 0 if a body is not a sphere."""
    return _radii(scene, np.arange(count))


def _radii(scene: Scene, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    shapes = shape_list(scene).table or (Sphere(),)
    radii = np.array([_radius(shape) for shape in shapes], np.float32)
    index = shape_list(scene).rows
    return radii[index[np.minimum(rows, len(index) - 1)]] if len(index) else np.full(len(rows), radii[0])


def largest_radius(scene: Scene) -> float:
    """Largest radius of the scene's spheres at scale 1, in metres; 0 if there are no spheres."""
    return max(map(_radius, shape_list(scene).table or (Sphere(),)))


def _radius(shape: Shape) -> float:
    return shape.radius if isinstance(shape, Sphere) else 0.0


def sizes_in(
    sample: NDArray[np.void], radii: NDArray[np.float32], count: int, camera: CameraMatrices, height_px: int
) -> Sizes:
    """Measures how large the spheres of a sample are in a picture. sample: records of some of the `count` bodies, (m,)
    of dtype `BODY`.

    radii: radii of these bodies, (m,), from `sampled_radii`. height_px: height of the picture.
    """
    projection = camera.projection
    with np.errstate(all="ignore"):  # records may contain any bits, even infinity and NaN
        radius = radii * sample["scale"]
        seen = (sample["position"] - np.array(camera.eye)) @ camera.view[:3, :3].T
        depth = np.ones(len(seen)) if camera.orthographic else np.maximum(-seen[:, 2], 2 * radius)
        beyond = np.abs(seen[:, :2]) * (projection[0, 0], projection[1, 1]) - depth[:, None]
        in_view = (
            (radius > 0) & ((seen[:, 2] < 0) | camera.orthographic) & (beyond.max(axis=1) < radius * projection[1, 1])
        )
        widths_px = radius * (float(projection[1, 1]) * height_px) / depth
        if is_wide(camera):
            widths_px *= np.sqrt(1 + (seen[:, :2] ** 2).sum(axis=1) / depth**2)
        widths_px = widths_px[in_view]
    if not len(widths_px):
        return Sizes(math.inf, 0.0)
    typical_px = float(np.partition(widths_px, place := int(NEARLY_ALL * (len(widths_px) - 1)))[place])
    widths_px = np.minimum(widths_px, LARGEST_POINT_PX)
    return Sizes(typical_px, float(widths_px @ widths_px) * count / len(sample))


def choose(
    sizes: Sizes, count: int, is_software: bool, last: SphereLod | None = None, level: Level = FULL
) -> SphereLod:
    """Chooses the program that draws `count` spheres. last: the choice for the previous picture."""
    affordable_px = FINEST_PX * (KEPT if last == FINEST else 1.0)
    if level.fine and (not is_software or sizes.covered_px + count * BODY_PX <= affordable_px):
        return FINEST
    for name, limit_px in _plain(count) if level.skin else FLAT:
        if sizes.typical_px <= limit_px * (KEPT if last is not None and last.name == name else 1.0):
            return SphereLod(name, min(limit_px * LARGER, LARGEST_POINT_PX))
    return SphereLod("lod 4", LARGEST_POINT_PX)


def _plain(count: int) -> list[SphereLod]:
    """Programs that may draw `count` spheres if the finest program costs too much. The cheapest program is first."""
    most_px = FEWER_LOD_2_PX if count < MANY_BODIES else math.inf
    return [SphereLod(name, min(limit_px, most_px) if name == "lod 2" else limit_px) for name, limit_px in PLAIN]


def possible(count: int, is_software: bool) -> set[str]:
    """Names of the programs that `choose` may return for `count` spheres of any size, at the quality level FULL."""
    if not is_software:
        return {FINEST.name}
    names = {name for name, limit_px in _plain(count) if count * (BODY_PX + (KEPT * limit_px) ** 2) > FINEST_PX}
    return names | ({FINEST.name} if count * BODY_PX <= FINEST_PX * KEPT else set())
