"""A floor of the user's own at the height of the ground: shadows lie on it, whole, from wherever it is seen."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Box, Plane, Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.camera import OrbitCamera

GRAY, RED = (0.8, 0.8, 0.8), (0.9, 0.2, 0.2)
BALLS = 12


def floor_of(kind, size_m):
    """Shapes and places of bodies that make a floor whose upper side is at z = 0."""
    if kind == "plane":
        return [Plane((size_m, size_m), GRAY)], np.zeros((1, 3))
    if kind == "box":
        return [Box((size_m, size_m, 0.2), GRAY)], np.array([(0, 0, -0.1)])
    side = 40
    along = (np.arange(side) - (side - 1) / 2) * (size_m / side)
    tile = Box((size_m / side, size_m / side, 0.2), GRAY)
    return [tile] * side**2, np.array([(x, y, -0.1) for x in along for y in along])


def shade(studio, kind, size_m, camera, lowered_m):
    """What shadows leave of the picture's brightness, (height, width)."""
    shapes, places = floor_of(kind, size_m)
    bodies = new_bodies(len(shapes) + BALLS)
    rng = np.random.default_rng(0)
    bodies["position"][: len(shapes)] = places - (0, 0, lowered_m)
    bodies["position"][len(shapes) :] = rng.uniform((-2, -2, 0.3), (2, 2, 0.4), (BALLS, 3))
    shapes = shapes + [Sphere(0.3, RED)] * BALLS
    with_ground, without = (
        studio.picture(Scene(shapes, ground=ground), bodies, camera=camera).sum(axis=2, dtype=float)
        for ground in (0.0, None)
    )
    return with_ground / without


@pytest.mark.parametrize(("kind", "size_m"), [("plane", 12), ("plane", 1e4), ("box", 12), ("box", 1e3), ("tiles", 12)])
@pytest.mark.parametrize("distance_m", [2.0, 8.0, 25.0])
def test_shadows_are_whole_on_a_floor_at_the_grounds_height(studio, kind, size_m, distance_m):
    for elevation in (0.08, 0.4, 1.5):
        camera = OrbitCamera((0.1, 0.2, 0.3), distance_m, elevation_rad=elevation)
        # A floor that is two pixels lower leaves room for shadows above it.
        true = shade(studio, kind, size_m, camera, lowered_m=2e-3 * distance_m)
        dark = true < 0.9
        off = np.abs(shade(studio, kind, size_m, camera, 0.0) - true)
        assert dark.sum() > 30
        # Balls cover others' shadows to a pixel's change.
        assert (off[dark] > 0.15).mean() < 0.02


def test_a_floor_seen_from_below_has_no_shadows(studio):
    shapes, places = floor_of("plane", 6)
    bodies = new_bodies(4)
    bodies["position"] = [*places, (0, 0, 0.3), (1, 1, 0.3), (-1, 1, 0.3)]
    shapes = shapes + [Sphere(0.3)] * 3
    camera = OrbitCamera((0, 0, 0), 4, elevation_rad=-0.7)
    pictures = [studio.picture(Scene(shapes, ground=ground), bodies, camera=camera) for ground in (0.0, None)]
    covered = studio.picture(Scene(shapes, ground=None, unlit=True, background=(0, 0, 0)), bodies, camera=camera).any(
        axis=2
    )
    assert covered.sum() > 1000
    np.testing.assert_array_equal(pictures[0][covered], pictures[1][covered])


@pytest.mark.parametrize("distance_m", [5.0, 60.0])
def test_a_plate_that_lies_on_the_ground_has_no_shadow_on_top(studio, distance_m):
    bodies = new_bodies(1)
    bodies["position"] = (0, 0, 0.005)
    camera = OrbitCamera(distance_m=distance_m, elevation_rad=0.9)
    with_ground, without = (
        studio.picture(Scene([Box((4, 4, 0.01), GRAY)], ground=ground), bodies, camera=camera) for ground in (0.0, None)
    )
    plate = without.min(axis=2) > 120
    assert plate.sum() > 100
    assert with_ground[plate].min() > 110
