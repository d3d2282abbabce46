"""The view from the light: an orthographic camera around the bodies, for the shadow map.

The one idea: the shadow map is a picture like any other, drawn by the same programs. So all that it needs is a camera
that looks along the light, and shows either all bodies or what the viewer's camera shows, whichever is smaller.

Always: the map's pixels stay at the same places of the world while the region keeps its size, so that edges of shadows
do not crawl: the middle moves by whole pixels, and the size by factors of SIZE_STEP. Pure: numbers in, numbers out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.draw.camera import CameraMatrices
from twixt.render.draw.framing import is_thin
from twixt.render.draw.spheres.snapshot_bounds import Extent

# Side of the shadow map, px: a body that fills a tenth of a picture of 1280x960 has edges as fine as the picture's.
MAP_PX = 2048
# Radius of the region around the camera's target, in half diagonals of what the camera shows there.
SEEN_REACH = 1.5
# The region's radius is a power of this, metres.
SIZE_STEP = math.sqrt(2)
# Half the depth of the region, in radii: bodies this far towards the light still cast shadows into it.
DEEP, DEEPEST = 4.0, 1000.0


class Region(NamedTuple):
    """Ball of which the shadow map is a picture. middle: metres, world. deep_m: casters this far along the light."""

    middle: tuple[float, float, float]
    radius_m: float
    deep_m: float


def casting_reach(scene: Scene) -> float:
    """Largest radius of a body around its position, metres at scale 1, floors and walls left out where there are others.

    A floor that reaches beyond the region casts its shadow all the same.
    """
    shapes = scene.distinct_shapes
    return max(
        (shape.reach for shape in shapes if not is_thin(shape)), default=max((s.reach for s in shapes), default=0.5)
    )


def region_of(extent: Extent | None, reach_m: float, camera: CameraMatrices) -> Region:
    """Region whose bodies cast shadows. extent: of their positions, None if unknown. reach_m: as of `casting_reach`."""
    away_m = 1.0 if camera.orthographic else math.dist(camera.eye, camera.target)
    half_sides = (away_m / float(camera.projection[axis, axis]) for axis in (0, 1))
    seen_m = SEEN_REACH * math.hypot(*half_sides)
    if extent is None:
        return Region(camera.target, seen_m, DEEP * DEEP * seen_m)
    low, high = np.array(extent.low, np.float64), np.array(extent.high, np.float64)
    middle, radius_m = (low + high) / 2, float(np.linalg.norm(high - low)) / 2 + reach_m * extent.scale
    if radius_m <= seen_m or not math.isfinite(seen_m):
        return Region(_three(middle), radius_m, radius_m)
    behind_m = float(np.linalg.norm(middle - camera.target)) + radius_m
    return Region(camera.target, seen_m, min(max(behind_m, DEEP * seen_m), DEEPEST * seen_m))


def light_camera(region: Region, light: Sequence[float], map_px: int = MAP_PX) -> CameraMatrices:
    """Camera that looks at a region from the light. light: direction towards it, world, of any length but 0.

    Its eye is the middle of the region, with as much seen behind it as before it.
    """
    backward = np.asarray(light, np.float64) / math.hypot(*light)
    right = np.cross((0.0, 0.0, 1.0), backward)
    length = float(np.linalg.norm(right))
    right = right / length if length > 1e-6 else np.array((1.0, 0.0, 0.0))
    axes = np.array([right, np.cross(backward, right), backward])
    # A pixel more on each side than asked for: the middle is moved by up to half of one.
    radius_m = SIZE_STEP ** math.ceil(math.log(max(region.radius_m, 1e-30) * (1 + 2 / map_px), SIZE_STEP) - 1e-9)
    pixel_m = 2 * radius_m / map_px
    at = axes @ np.asarray(region.middle, np.float64)
    at[:2] = np.floor(at[:2] / pixel_m + 0.5) * pixel_m
    eye = axes.T @ at
    view = np.eye(4)
    view[:3, :3] = axes
    view[:3, 3] = -at
    projection = np.diag([1 / radius_m, 1 / radius_m, -1 / max(region.deep_m * 1.1, radius_m), 1.0])
    with np.errstate(over="ignore"):  # beyond float32's range nothing is seen
        return CameraMatrices(
            view.astype(np.float32), projection.astype(np.float32), _three(eye), _three(eye), orthographic=True
        )


def to_map(camera: CameraMatrices, light: CameraMatrices) -> NDArray[np.float64]:
    """Matrix (4, 4) from the camera's eye space to coordinates in the shadow map, 0..1 each; for column vectors."""
    turn = light.view[:3, :3].astype(np.float64) @ camera.view[:3, :3].astype(np.float64).T
    moved = np.eye(4)
    moved[:3, :3] = turn
    moved[:3, 3] = light.view[:3, :3].astype(np.float64) @ (np.array(camera.eye) - np.array(light.eye))
    to_unit = np.diag([0.5, 0.5, 0.5, 1.0])
    to_unit[:3, 3] = 0.5
    found: NDArray[np.float64] = to_unit @ light.projection.astype(np.float64) @ moved
    return found


def _three(values: NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
