"""Projects the small spheres of a cloud into the picture by array operations, with linear motion between snapshots.

The one idea: only position, visibility, scale and continuity of a record decide where a small sphere is drawn, and
mostly the last three are equal in all records. These columns are taken out of a snapshot's records when it is first
drawn; a picture then costs a few operations on each of three coordinates.

Always: a sphere is drawn or hidden as by the shaders (pose.py); positions are relative to the eye before they are
blended. Pure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import CONTINUITY_MASK, HAS_VELOCITY, VISIBLE
from twixt.render.draw.camera import CameraMatrices
from twixt.render.draw.glsl.pose import bits_of
from twixt.render.draw.software.splats import Discs
from twixt.render.draw.spheres.sphere_common import is_wide
from twixt.render.interpolation.trusted_range import FARTHEST

Records = NDArray[np.void]
Floats = NDArray[np.float32]
Numbers = NDArray[np.uint32]
Mask = NDArray[np.bool_]

WORDS = 16
PLACE, EPOCH, ORIENTATION, FLAGS, COLOR = slice(0, 3), 3, slice(4, 8), 11, 15
SIZE_BITS = np.uint32(0x7FFFFFFF)
# Bodies in one block: it stays in the cache, and numpy multiplies it without threads.
AT_ONCE = 1 << 14
# BULGE: largest distance of a cubic from the straight line, as a share of the gap times the difference of each velocity
# from the mean one. NEARLY_ALL: share of the bodies that must be straight.
BULGE, NEARLY_ALL = 4 / 27, 0.95


class SnapshotColumns(NamedTuple):
    """Columns of one snapshot. place: (3, n), metres, world. shown: mask of visible finite bodies; None: all.

    whole: mask of finite bodies; None: all. epoch: continuity. colors: rgba in one number. epoch, scale and colors have
    one element if it is the same for all bodies, else n.
    """

    place: Floats
    shown: Mask | None
    whole: Mask | None
    epoch: Numbers
    scale: Floats
    colors: Numbers


class ColumnPair(NamedTuple):
    """Two snapshots and the place between them, 0..1. newer: None if the older one is drawn still."""

    older: SnapshotColumns
    newer: SnapshotColumns | None
    share: float


class SphereCloud(NamedTuple):
    """Spheres in eye space. place: (3, n), radius: one or n, metres. shown: mask of visible finite ones; None: all."""

    place: Floats
    radius: Floats
    shown: Mask | None


class Projected(NamedTuple):
    """Result of `project`. discs: of visible small spheres; bodies: their numbers.

    large: numbers of bodies that may be visible and are too large to be drawn here.
    """

    discs: Discs
    bodies: NDArray[np.intp]
    large: NDArray[np.intp]


def columns_of(records: Records) -> SnapshotColumns:
    """Columns of records (n,), dtype `BODY`."""
    words = records.view(np.uint32).reshape(-1, WORDS)
    place = np.ascontiguousarray(words[:, PLACE].T)
    flags = np.ascontiguousarray(words[:, FLAGS])
    scale_bits = (flags >> np.uint32(16)).astype(np.uint16)
    scale = _alike(scale_bits).view(np.float16).astype(np.float32)
    farthest = np.uint32(bits_of(FARTHEST))
    turns = np.ascontiguousarray(words[:, ORIENTATION].T)
    visible: Mask = (flags & np.uint32(VISIBLE)).astype(bool)
    shown: Mask | None = None if visible.all() else visible
    parts = place, turns, scale.view(np.uint32)[None]
    whole: Mask | None = None
    if any((part & SIZE_BITS).max(initial=0) >= farthest for part in parts):
        finite = [(part & SIZE_BITS < farthest).all(axis=0) for part in parts]
        whole = np.logical_and.reduce(np.broadcast_arrays(*finite))
        shown = whole if shown is None else np.logical_and(shown, whole)
    epoch = _alike(words[:, EPOCH] & np.uint32(CONTINUITY_MASK))
    return SnapshotColumns(place.view(np.float32), shown, whole, epoch, scale, _alike(words[:, COLOR]))


def _alike(words: NDArray[Any]) -> NDArray[Any]:
    """The first element alone if all are equal, else all."""
    is_alike = len(words) and bool((words == words[0]).all())
    return np.ascontiguousarray(words[:1] if is_alike else words)


def cloud_of(pair: ColumnPair, shares: Floats | float, radii: Floats, camera: CameraMatrices) -> SphereCloud:
    """Spheres of a picture between two snapshots. shares: of the pair, see `shares_of`. radii: at scale 1, metres, of
    at least as many bodies."""
    older, newer, _ = pair
    view = np.ascontiguousarray(camera.view[:3, :3], np.float32)
    place = from_eye(older, newer, shares, view, np.array(camera.eye, np.float64))
    radius = radii[: place.shape[1]]
    radius = (radius[:1] if (radius == radius[0]).all() else radius) * scales_of(older, newer, shares)
    return SphereCloud(place, radius, older.shown)


def shares_of(pair: ColumnPair) -> Floats | float:
    """Place of each body between the two snapshots, 0..1, or one for all; 0 for a body that does not continue."""
    older, newer, share = pair
    count = older.place.shape[1]
    if newer is None or share <= 0:
        return 0.0
    fewer = newer.place.shape[1] < count
    if not fewer and newer.whole is None and len(older.epoch) == len(newer.epoch) == 1:
        return share if older.epoch[0] == newer.epoch[0] else 0.0
    goes_on = np.full(count, False)
    both = min(count, newer.place.shape[1])
    goes_on[:both] = _part(older.epoch, both) == _part(newer.epoch, both)
    if newer.whole is not None:
        goes_on[:both] &= newer.whole[:both]
    return np.where(goes_on, np.float32(share), np.float32(0))


def _part(values: NDArray[Any], count: int) -> NDArray[Any]:
    return values if len(values) == 1 else values[:count]


def from_eye(
    older: SnapshotColumns,
    newer: SnapshotColumns | None,
    shares: Floats | float,
    view: Floats,
    eye: NDArray[np.float64],
) -> Floats:
    """Positions in eye space, (3, n), metres. view: (3, 3), world to eye. eye: (3,), metres, world."""
    count = older.place.shape[1]
    high = eye.astype(np.float32)
    low = (eye - high).astype(np.float32)
    found = np.empty((3, count), np.float32)
    moves = newer is not None and (not np.isscalar(shares) or shares != 0)
    reached = min(count, newer.place.shape[1]) if newer is not None else 0
    for begin in range(0, count, AT_ONCE):
        end = min(begin + AT_ONCE, count)
        place = older.place[:, begin:end] - high[:, None]
        if low.any():
            place -= low[:, None]
        if moves and newer is not None and (until := min(end, reached)) > begin:
            way = newer.place[:, begin:until] - older.place[:, begin:until]
            share = shares if isinstance(shares, float) else shares[begin:until]
            way *= np.float32(share) if isinstance(share, float) else share
            if not isinstance(share, float):  # a newer place that is not finite has the share 0
                way[:, share == 0] = 0
            place[:, : until - begin] += way
        np.matmul(view, place, out=found[:, begin:end])
    return found


def scales_of(older: SnapshotColumns, newer: SnapshotColumns | None, shares: Floats | float) -> Floats:
    """Scales between two snapshots: one for all, or n. A scale does not change its sign."""
    if newer is None or (np.isscalar(shares) and shares == 0):
        return older.scale
    count, reached = older.place.shape[1], newer.place.shape[1]
    if len(older.scale) == len(newer.scale) == 1 and older.scale[0] == newer.scale[0]:
        return older.scale
    before = np.broadcast_to(older.scale, count)
    after = before.copy()
    both = min(count, reached)
    after[:both] = np.broadcast_to(newer.scale, reached)[:both]
    stays = (before * after < 0) | ~np.isfinite(after)
    return np.where(stays, before, before + (after - before) * np.asarray(shares, np.float32))


def project(
    cloud: SphereCloud, camera: CameraMatrices, size_px: tuple[int, int], largest_px: float, square_share: float | None
) -> Projected:
    """Projects spheres into a picture. largest_px: widest sphere that is drawn here.

    square_share: side of the square drawn for a disc, as a share of its diameter; None: discs.
    """
    place, radius, shown = cloud
    (across, _, _, _), (_, along, _, _), (_, _, z, offset), _ = camera.projection.tolist()
    width_px, height_px = size_px
    nearest, farthest = (offset / (z - 1), offset / (z + 1)) if z != -1 else (offset / (z - 1), np.inf)
    if camera.orthographic:
        nearest, farthest = (offset + 1) / z, (offset - 1) / z
    depth = -place[2]
    px, px_across = np.float32(along * height_px / 2), np.float32(across * width_px / 2)
    with np.errstate(all="ignore"):  # records may hold anything
        near = np.ones_like(depth) if camera.orthographic else 1 / depth
        reach = radius * near * px
        x, y = place[0] * near * px_across, place[1] * near * px
        lengths = reach
        if is_wide(camera):
            # Seen as a longer ellipse; a circle of the same area is drawn.
            longer = np.sqrt(1 + (x * x + y * y) / (px * px))
            lengths, reach = reach * longer, reach * np.sqrt(longer)
        seen = (np.abs(x) < reach + np.float32(width_px / 2)) & (np.abs(y) < reach + np.float32(height_px / 2))
        seen &= (depth > nearest) & (depth < farthest) & (radius > 0)
        small = (2 * lengths <= np.float32(largest_px)) & ((depth > 2 * radius) | camera.orthographic)
        if shown is not None:
            seen &= shown
        # A sphere whose centre is behind the near plane or beside the picture may reach into the view.
        beside = (np.abs(x) > 2 * lengths + np.float32(width_px)) | (np.abs(y) > 2 * lengths + np.float32(height_px))
        beside &= (depth > 2 * radius) | camera.orthographic
        large = ~small & ((depth > -radius) | camera.orthographic) & (radius > 0) & ~beside
        if shown is not None:
            large &= shown
    bodies = np.flatnonzero(seen & small)
    reach = reach.take(bodies)
    if square_share is not None:
        reach *= np.float32(square_share)
    np.maximum(reach, np.float32(0.5), out=reach)  # no point is smaller than a pixel
    x, y = x.take(bodies) + np.float32(width_px / 2), y.take(bodies) + np.float32(height_px / 2)
    return Projected(Discs(x, y, depth.take(bodies), reach), bodies, np.flatnonzero(large))


def is_straight(
    older: Records, newer: Records, gap_s: float, camera: CameraMatrices, height_px: int, most_px: float
) -> bool:
    """True if at least 95 % of these curves stay within `most_px` of a straight line.

    older, newer: the same bodies in two snapshots, dtype `BODY`. gap_s: from the older to the newer.
    """
    count = min(len(older), len(newer))
    older, newer = older[:count], newer[:count]
    with np.errstate(all="ignore"):
        known = (older["flags"] & newer["flags"] & HAS_VELOCITY) != 0
        way = newer["position"] - older["position"]
        bulge_m = sum(np.linalg.norm(gap_s * one["velocity"] - way, axis=1) for one in (older, newer)) * BULGE
        depth = (older["position"] - np.array(camera.eye)) @ -camera.view[2, :3]
        if camera.orthographic:
            depth = np.ones_like(depth)
        bulge_px = bulge_m / depth * (float(camera.projection[1, 1]) * height_px / 2)
        bent = known & (depth > 0) & (bulge_px > most_px)
    return int(bent.sum()) <= (1 - NEARLY_ALL) * count
