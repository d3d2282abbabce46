"""The camera that is computed from markers shows points where the true camera shows them."""

from __future__ import annotations

import numpy as np
import pytest

from bench.view.camera_fit import LEAST_MARKERS, FittedCamera, fit_camera
from bench.view.scene_world import lattice
from twixt.render.draw.frame.camera import OrbitCamera

SIZE_PX = (800, 600)
MARKERS = lattice((-4, 6, 1.0), (-3, 3, 1.0))


def shown(camera: OrbitCamera, places: np.ndarray) -> np.ndarray:
    """Places in the picture as twixt draws them."""
    matrices = camera.matrices(SIZE_PX)
    clip = np.column_stack([places, np.ones(len(places))]) @ (matrices.projection @ matrices.view).T.astype(float)
    at = clip[:, :2] / clip[:, 3:]
    return np.column_stack([(at[:, 0] + 1) / 2 * SIZE_PX[0], (1 - at[:, 1]) / 2 * SIZE_PX[1]])


def fitted(places: np.ndarray, seen_px: np.ndarray) -> FittedCamera:
    found = fit_camera(places, seen_px, SIZE_PX)
    assert found is not None
    return found


@pytest.mark.parametrize("azimuth_rad", [-1.0, 0.3, 3.0])
@pytest.mark.parametrize("elevation_rad", [0.15, 0.42, 1.2])
@pytest.mark.parametrize("distance_m", [12.0, 60.0])
def test_the_camera_is_found_and_shows_points_above_the_markers(
    azimuth_rad: float, elevation_rad: float, distance_m: float
) -> None:
    camera = OrbitCamera((1.0, 0.0, 0.5), distance_m, azimuth_rad, elevation_rad)
    noise_px = np.random.default_rng(0).uniform(-0.2, 0.2, (len(MARKERS), 2))
    found = fitted(MARKERS, shown(camera, MARKERS) + noise_px)
    above = MARKERS + np.array((0.3, 0.2, 2.0))
    np.testing.assert_allclose(found.shown(above), shown(camera, above), atol=2.0)


def test_points_behind_the_camera_are_nowhere() -> None:
    camera = OrbitCamera((1.0, 0.0, 0.5), 12.0)
    found = fitted(MARKERS, shown(camera, MARKERS))
    behind = found.eye - 3 * found.rotation[2]
    assert np.isnan(found.shown(behind[None])).all()


def test_few_markers_or_markers_that_fit_no_camera_give_none() -> None:
    seen_px = shown(OrbitCamera((1.0, 0.0, 0.5), 12.0), MARKERS)
    few = slice(LEAST_MARKERS - 1)
    assert fit_camera(MARKERS[few], seen_px[few], SIZE_PX) is None
    assert fit_camera(MARKERS[:7], np.tile(seen_px[:1], (7, 1)), SIZE_PX) is None
    shuffled = np.random.default_rng(1).permutation(seen_px)
    assert fit_camera(MARKERS, shuffled, SIZE_PX) is None
