"""Computes where a camera was from the markers in a picture, and where it shows other points.

The camera is one that twixt places itself: in perspective, upright, with twixt's own angle of view. First the markers'
plane gives a linear solution, then a few Gauss-Newton steps reduce the distances in the picture.

Pure: takes and returns arrays. Places are in metres (n, 3), and in px from the top left corner of a picture (n, 2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.frame.camera import DEFAULT_FOV_Y_DEG

# Fewer markers do not determine a camera well.
LEAST_MARKERS = 6
# Largest median distance between the markers as seen and as the camera shows them, in px.
MOST_OFF_PX = 2.0
STEPS = 12
Floats = NDArray[np.float64]


class FittedCamera(NamedTuple):
    """A camera in the world. rotation: rows right, down and forward of the picture, (3, 3). eye: metres, (3,)."""

    rotation: Floats
    eye: Floats
    size_px: tuple[int, int]

    def shown(self, places: Floats) -> Floats:
        """Places in the picture, (n, 2). NaN for points that are not in front of the camera."""
        seen = (places - self.eye) @ self.rotation.T
        depth = np.where(seen[:, 2:] > 0, seen[:, 2:], np.nan)
        return np.asarray(np.array(self.size_px) / 2 + _focal_px(self.size_px) * seen[:, :2] / depth)


def fit_camera(places: Floats, seen_px: Floats, size_px: tuple[int, int]) -> FittedCamera | None:
    """The camera that shows `places` at `seen_px`. places: markers, all of one height. None if there is no such
    camera."""
    if len(places) < LEAST_MARKERS:
        return None
    rays = (seen_px - np.array(size_px) / 2) / _focal_px(size_px)
    middle, scale_m = places.mean(axis=0), max(float(places.std(axis=0).max()), 1e-9)
    flat = (places[:, :2] - middle[:2]) / scale_m
    start = _from_plane(flat, rays)
    if start is None:
        return None
    values = np.array([*start[:3], start[3], start[4]])
    points = np.column_stack([flat, np.zeros(len(flat))])
    for _ in range(STEPS):
        off = (_projected(values, points) - rays).ravel()
        slopes = np.empty((len(off), 5))
        for i in range(5):
            moved = values.copy()
            moved[i] += 1e-6
            slopes[:, i] = ((_projected(moved, points) - rays).ravel() - off) / 1e-6
        if not (np.isfinite(slopes).all() and np.isfinite(off).all()):
            return None
        values = values - np.linalg.lstsq(slopes, off, rcond=None)[0]
    found = FittedCamera(_rotation(values[3], values[4]), middle + scale_m * values[:3], size_px)
    off_px = np.linalg.norm(found.shown(places) - seen_px, axis=1)
    return found if np.median(off_px) <= MOST_OFF_PX else None


def _focal_px(size_px: tuple[int, int]) -> float:
    return size_px[1] / 2 / math.tan(math.radians(DEFAULT_FOV_Y_DEG) / 2)


def _rotation(azimuth_rad: float, elevation_rad: float) -> Floats:
    """Rows right, down and forward of an upright camera. The angles are those of the direction from target to eye."""
    cos_a, sin_a, cos_e, sin_e = (
        math.cos(azimuth_rad), math.sin(azimuth_rad), math.cos(elevation_rad), math.sin(elevation_rad)
    )  # fmt: skip
    right = (-sin_a, cos_a, 0.0)
    down = (sin_e * cos_a, sin_e * sin_a, -cos_e)
    return np.array([right, down, (-cos_e * cos_a, -cos_e * sin_a, -sin_e)])


def _projected(values: Floats, points: Floats) -> Floats:
    seen = (points - values[:3]) @ _rotation(values[3], values[4]).T
    return np.asarray(seen[:, :2] / seen[:, 2:])


def _from_plane(flat: Floats, rays: Floats) -> tuple[float, float, float, float, float] | None:
    """Eye, azimuth and elevation of a camera over the plane z = 0, from the homography between plane and rays."""
    x, y = flat.T
    u, v = rays.T
    zero, one = np.zeros(len(flat)), np.ones(len(flat))
    rows = np.concatenate([
        np.stack([x, y, one, zero, zero, zero, -u * x, -u * y, -u], axis=1),
        np.stack([zero, zero, zero, x, y, one, -v * x, -v * y, -v], axis=1),
    ])  # fmt: skip
    _, sizes, turned = np.linalg.svd(rows)
    if sizes[-2] < 1e-9 * sizes[0]:
        return None  # the markers are on one line
    h = turned[-1].reshape(3, 3)
    h = h / np.sqrt(np.linalg.norm(h[:, 0]) * np.linalg.norm(h[:, 1]))
    if (h[2] @ np.array([flat.mean(axis=0)[0], flat.mean(axis=0)[1], 1.0])) < 0:
        h = -h  # the points are in front of the camera
    right, up = h[:, 0], h[:, 1]
    rotation = np.stack([right, up, np.cross(right, up)], axis=1)
    left, _, last = np.linalg.svd(rotation)
    rotation = left @ last
    eye = -rotation.T @ h[:, 2]
    forward = rotation[2]
    return (*eye, math.atan2(-forward[1], -forward[0]), math.asin(max(-1.0, min(1.0, -forward[2]))))
