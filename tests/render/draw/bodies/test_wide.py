"""Spheres in a wide view: ellipses towards the corners of the picture, whichever program draws them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, matrices
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.bodies import shape_draws
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.spheres.snapshot_bounds import extent_of, fits_points
from twixt.render.draw.spheres.sphere_common import LARGEST_POINT_PX, is_wide
from twixt.render.draw.spheres.sphere_detail import FINEST, SphereLod, choose

WIDE = OrbitCamera(distance_m=10, azimuth_rad=0, elevation_rad=0, fov_y_deg=120.0)
# By program, the diameter that a sphere of this size would have in the middle of the picture.
PROGRAMS = [("lod 0", 2.4), ("lod 1", 5.0), ("lod 2", 10.0), ("lod 3", 14.0), ("lod 4", 30.0), ("points", 30.0)]
CORNERS = [(0.0, 0.0), (0.85, 0.0), (0.0, -0.85), (0.8, 0.8), (-0.7, 0.85)]
DEPTH_M = 10.0


def outline(center, radius):
    """Which pixels' rays meet the sphere: centre in eye space; (height, width)."""
    focal_px = float(matrices(WIDE).projection[1, 1]) * SIZE_PX[1] / 2
    y, x = np.mgrid[: SIZE_PX[1], : SIZE_PX[0]] + 0.5
    ray = np.stack(((x - SIZE_PX[0] / 2) / focal_px, (SIZE_PX[1] / 2 - y) / focal_px, np.full(x.shape, -1.0)), axis=2)
    ray /= np.linalg.norm(ray, axis=2)[..., None]
    along = ray @ center
    return (along > 0) & (center @ center - along**2 < radius**2)


def drawn_and_true(studio, monkeypatch, name, width_px, at):
    projection = matrices(WIDE).projection.astype(float)
    radius = width_px * DEPTH_M / (projection[1, 1] * SIZE_PX[1])
    center = np.array((at[0] * DEPTH_M / projection[0, 0], at[1] * DEPTH_M / projection[1, 1], -DEPTH_M))
    bodies = new_bodies(1)
    bodies["position"] = (0.0, center[0], center[1])  # the eye is at x = 10, looking along -x
    monkeypatch.setattr(shape_draws, "choose", lambda *_: SphereLod(name, LARGEST_POINT_PX))
    scene = Scene([Sphere(radius, (1, 1, 1))], ground_z=None, background=(0, 0, 0), look="unlit")
    return studio.picture(scene, bodies, camera=WIDE)[..., 0] / 255, outline(center, radius)


@pytest.mark.parametrize("at", CORNERS)
@pytest.mark.parametrize(("name", "width_px"), PROGRAMS)
def test_a_sphere_is_as_long_as_its_outline_wherever_it_is(studio, monkeypatch, name, width_px, at):
    pixels, true = drawn_and_true(studio, monkeypatch, name, width_px, at)
    if name == "lod 0":  # squares of the outline's area
        assert math.sqrt(pixels.sum() / max(true.sum(), 1)) == pytest.approx(1, abs=0.45)
        return
    both = np.minimum(pixels, true).sum()
    assert both > (0.93 if width_px > 8 else 0.75) * max(pixels.sum(), true.sum())


@pytest.mark.parametrize("width_px", [60.0, 100.0, 125.0])
@pytest.mark.parametrize("at", CORNERS)
def test_what_is_too_long_for_a_point_is_whole_all_the_same(studio, monkeypatch, width_px, at):
    for name in ("lod 4", "points"):
        pixels, true = drawn_and_true(studio, monkeypatch, name, width_px, at)
        assert np.abs(pixels - true).mean() < 0.004


def test_many_spheres_in_a_wide_view_are_each_as_long_as_their_outlines(studio, monkeypatch):
    """Chosen as it is chosen: of thousands, in software drawing, none is short of what the finest program covers."""
    rng = np.random.default_rng(5)
    bodies = new_bodies(4000)
    bodies["position"] = rng.uniform((0, -16, -12), (3, 16, 12), (4000, 3))
    scene = Scene([Sphere(0.12, (1, 1, 1))] * 4000, ground_z=None, background=(0, 0, 0), look="unlit")
    monkeypatch.setattr(
        shape_draws, "choose", lambda sizes, count, _software, last, _level: choose(sizes, count, True, last)
    )
    many = studio.picture(scene, bodies, camera=WIDE)[..., 0] / 255
    monkeypatch.setattr(shape_draws, "choose", lambda *_: FINEST)
    finest = studio.picture(scene, bodies, camera=WIDE)[..., 0] / 255
    for part in (np.s_[:75, :75], np.s_[:75, -75:], np.s_[-75:, :75], np.s_[100:200, 100:300]):
        assert many[part].sum() == pytest.approx(finest[part].sum(), rel=0.05)


@pytest.mark.parametrize("places", [((0, -17, 0), (0, 17, 0)), ((4, -1, -1), (6, 1, 1))])
def test_what_is_said_to_fit_points_does_in_a_wide_view(places):
    bodies = new_bodies(50)
    bodies["position"] = np.random.default_rng(0).uniform(*places, (50, 3))
    camera, extent = matrices(WIDE), extent_of(bodies)
    for width_px in (10, 40, 80, 127):
        radius = width_px * 4 / (float(camera.projection[1, 1]) * SIZE_PX[1])
        off = (bodies["position"] - np.array(camera.eye)) @ camera.view[:3, :3].T
        depth = -off[:, 2]
        distance2, room2 = (off**2).sum(axis=1), depth**2 - radius**2
        length_px = radius * np.sqrt(distance2 - radius**2) / room2 * float(camera.projection[1, 1]) * SIZE_PX[1]
        if fits_points(extent, radius, 0.0, camera, SIZE_PX, LARGEST_POINT_PX):
            assert (length_px <= LARGEST_POINT_PX).all()


def test_the_usual_lenses_are_not_wide():
    assert not is_wide(OrbitCamera(fov_y_deg=40).matrices((1920, 1080)))
    assert not is_wide(OrbitCamera(fov_y_deg=45).matrices((800, 600)))
    assert is_wide(OrbitCamera(fov_y_deg=60).matrices((800, 600)))
