"""A floor of the user's own at the height of the ground: shadows lie on it, whole, from wherever it is seen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.draw.conftest import upload
from twixt.ipc.scene import Box, Camera, Compound, Part, Plane, Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.quality import FULL

NONE = FULL._replace(shadows=False)
GRAY, RED = (0.8, 0.8, 0.8), (0.9, 0.2, 0.2)
BALLS = 12
PLANE, BALL = Plane((6, 6), GRAY), Sphere(0.2, RED)
ABOVE = OrbitCamera((0, 0, 0), 4, elevation_rad=0.8)


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
    with_shadows, without = (
        picture_at(studio, level, Scene(shapes), bodies, camera).sum(axis=2, dtype=float) for level in (FULL, NONE)
    )
    return with_shadows / without


def picture_at(studio, level, scene, bodies, camera, newer=None):
    """The pixels of a picture at a quality level, in the middle between `bodies` and `newer`."""
    renderer = studio.renderer(scene)
    renderer.level = level
    upload(renderer, 0, bodies)
    if newer is not None:
        upload(renderer, 1, newer)
    layer = Layer(0) if newer is None else Layer(0, 1, alpha=0.5, gap_s=1.0)
    pixels = studio.draw(renderer, layer, camera=camera)
    renderer.release()
    return pixels


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
    pictures = [
        picture_at(studio, level, Scene(shapes, ground_z=ground), bodies, camera)
        for ground, level in ((0.0, FULL), (0.0, NONE), (None, FULL), (None, NONE))
    ]
    covered = studio.picture(
        Scene(shapes, ground_z=None, look="unlit", background=(0, 0, 0)), bodies, camera=camera
    ).any(axis=2)
    assert covered.sum() > 1000
    for shaded, bare in (pictures[:2], pictures[2:]):
        np.testing.assert_array_equal(shaded[covered], bare[covered])


@pytest.mark.parametrize("distance_m", [5.0, 60.0])
def test_a_plate_that_lies_on_the_ground_has_no_shadow_on_top(studio, distance_m):
    bodies = new_bodies(1)
    bodies["position"] = (0, 0, 0.005)
    camera = OrbitCamera(distance_m=distance_m, elevation_rad=0.9)
    with_ground, without = (
        studio.picture(Scene([Box((4, 4, 0.01), GRAY)], ground_z=ground), bodies, camera=camera)
        for ground in (0.0, None)
    )
    plate = without.min(axis=2) > 120
    assert plate.sum() > 100
    assert with_ground[plate].min() > 110


# -- a floor without the ground


LEVEL, LIGHT = (0.0, 0.0, 0.0, 1.0), (0, 0, 1)


def darkening(studio, bodies, plane, newer=None, camera=ABOVE, ball=BALL, level=FULL, **fields):
    """What shadows take away at each pixel of a picture of a ball above a plane, (height, width), 0..255."""
    scene = Scene([plane, ball], ground_z=None, light=LIGHT, **fields)
    shaded, bare = (
        picture_at(studio, one, scene, bodies, camera, newer).min(axis=2).astype(int) for one in (level, NONE)
    )
    return bare - shaded


def above(height_m=0.3, place=(0, 0, 0), orientation=LEVEL):
    """A plane at a place, and a body above its middle."""
    bodies = new_bodies(2)
    bodies["position"] = place, np.add(place, (0, 0, height_m))
    bodies["orientation"][0] = orientation
    return bodies


def test_a_body_above_a_level_plane_darkens_it_below_and_not_beside(studio):
    for place in ((0, 0, 0), (0.3, -0.2, 0.7), (0, 0, -1.5)):
        bodies = above(place=place)
        camera = OrbitCamera(place, 4, elevation_rad=0.8)
        dark = darkening(studio, bodies, PLANE, camera=camera)
        rows, columns = np.nonzero(dark > 12)
        assert len(rows) > 200
        # Around the picture's middle, to one and a half radii: 4 m are 300 px at most.
        assert np.hypot(rows - 150, columns - 200).max() < 60
        assert darkening(studio, bodies, PLANE, camera=camera, level=NONE).max() == 0


@pytest.mark.parametrize("turn", [(0.02, 0, 0, 1), (0, 0.7, 0, 0.7)])
def test_a_plane_that_leans_gets_no_shadow(studio, turn):
    assert darkening(studio, above(orientation=turn), PLANE).max() == 0


def test_a_plane_that_moves_gets_no_shadow(studio):
    still, moved, turning = above(), above(), above()
    assert darkening(studio, still, PLANE, newer=above(0.31)).max() > 12
    moved["position"][0] = (0, 0, 0.01)
    turning["angular_velocity"][0] = (0, 0, 1)
    for older, newer in ((still, moved), (turning, turning)):
        assert darkening(studio, older, PLANE, newer=newer).max() == 0


def test_a_plane_that_is_seen_through_or_hidden_gets_no_shadow(studio):
    assert darkening(studio, above(), Plane((6, 6), (*GRAY, 0.5))).max() == 0
    hidden = above()
    hidden["flags"][0] = 0
    assert darkening(studio, hidden, PLANE).max() == 0


def test_what_is_seen_through_or_below_or_a_plane_casts_no_shadow(studio):
    assert darkening(studio, above(), PLANE, ball=Sphere(0.2, (*RED, 0.4))).max() == 0
    assert darkening(studio, above(-0.3), PLANE).max() == 0
    assert darkening(studio, above(0.1), PLANE, ball=Plane((0.5, 0.5))).max() == 0


@pytest.mark.parametrize("angle_rad", [0.0, 0.6, 2.5])
def test_a_shadow_ends_at_the_floors_edge(studio, angle_rad):
    bodies = above(orientation=(0, 0, np.sin(angle_rad / 2), np.cos(angle_rad / 2)))
    strip = Plane((6, 0.3), GRAY)
    dark = darkening(studio, bodies, strip)
    floor = studio.picture(Scene([strip], ground_z=None, look="unlit", background=(0, 0, 0)), bodies[:1], camera=ABOVE)
    assert (dark > 12).sum() > 100
    assert not (dark[floor.max(axis=2) == 0] > 2).any()
    # Without the edge it would be wider.
    assert (darkening(studio, bodies, PLANE) > 12).sum() > 1.1 * (dark > 12).sum()


def test_the_largest_level_plane_that_stands_still_is_the_floor(studio):
    bodies = new_bodies(3)
    bodies["position"] = (0, 0, -1), (0, 0, 0), (0, 0, 0.3)
    for small, large, is_dark in ((0, 1, True), (1, 0, False)):
        planes = [PLANE, PLANE]
        planes[small] = Plane((2, 2), GRAY)
        scene = Scene([*planes, BALL], ground_z=None, light=LIGHT)
        shaded, bare = (picture_at(studio, one, scene, bodies, ABOVE).astype(int) for one in (FULL, NONE))
        assert ((bare - shaded).max() > 12) == is_dark, large


def test_a_floor_may_be_a_part_of_a_body_and_scaled_with_it(studio):
    wall = Part(Plane((2, 1), GRAY), (0, 1, 0), (0.5**0.5, 0, 0, 0.5**0.5))
    room = Compound([wall, Part(Plane((2, 2), GRAY), (0, 0, 0.1))])
    bodies = above(0.6)
    bodies["scale"][0] = 3  # the floor is 0.3 m high then, and 6 m wide
    bodies["position"][1, 0] = 1.5
    assert (darkening(studio, bodies, room) > 12).sum() > 200
    bodies["scale"][0] = 1
    assert (darkening(studio, bodies, room) > 12).sum() == 0


def test_at_levels_with_mapped_shadows_no_soft_spot_is_added(studio):
    bodies = above(1.0)
    camera = OrbitCamera((0, 0, 0), 5, elevation_rad=0.5)
    scene = Scene([PLANE, Sphere(0.6)], ground_z=None, light=(0, 5, 1))
    mapped, bare = (
        picture_at(studio, level, scene, bodies, camera).astype(int)
        for level in (FULL._replace(mapped=True), FULL._replace(mapped=True, shadows=False))
    )
    np.testing.assert_array_equal(mapped, bare)


def test_an_orthographic_camera_sees_shadows_on_a_floor(studio):
    camera = OrbitCamera.from_camera(Camera((0, -9, 9), (0, 0, 0), orthographic_height=4))
    assert (darkening(studio, above(), PLANE, camera=camera) > 12).sum() > 200
    below = OrbitCamera.from_camera(Camera((0, 0.1, -9), (0, 0, 0), orthographic_height=4))
    assert darkening(studio, above(), PLANE, camera=below).max() == 0
