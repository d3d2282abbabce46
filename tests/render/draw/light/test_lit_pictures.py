"""Shadows on every surface, checked by pixels: where the light says, nowhere else, and they move with their bodies."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, matrices, upload
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Plane, Scene, Sphere
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.light.lit_pictures import LitTarget
from twixt.render.draw.quality import BEST, BEST_SOFTWARE, FULL, LEVELS, LIT_LEVELS

MAPPED = LIT_LEVELS[1]
PLAIN_FULL = FULL._replace(shadows=False)
ABOVE = OrbitCamera(distance_m=9.0, elevation_rad=math.radians(89.9), azimuth_rad=math.radians(-90))
GREY = (0.6, 0.6, 0.6)
CORNERS, FACES = [(1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def bodies_at(*positions):
    bodies = new_bodies(len(positions))
    bodies["position"] = positions
    return bodies


def picture(studio, scene, older, level, newer=None, alpha=0.0, camera=None):
    renderer = studio.renderer(scene)
    renderer.level = level
    upload(renderer, 0, older)
    if newer is not None:
        upload(renderer, 1, newer)
    pixels = studio.draw(renderer, Layer(0, None if newer is None else 1, alpha=alpha, gap_s=1.0), camera=camera)
    renderer.release()
    return pixels.astype(int)


def darkened(studio, scene, bodies, level=MAPPED, camera=None, **more):
    """Share of brightness that shadows and contact shading take from each pixel."""
    lit = picture(studio, scene, bodies, PLAIN_FULL, camera=camera, **more).sum(axis=2)
    return 1 - picture(studio, scene, bodies, level, camera=camera, **more).sum(axis=2) / np.maximum(lit, 1)


def px_of(place, camera=ABOVE):
    view, projection, *_ = matrices(camera)
    x, y, _, w = projection @ view @ np.array([*place, 1.0])
    return round((1 - y / w) / 2 * SIZE_PX[1]), round((x / w + 1) / 2 * SIZE_PX[0])


FLOORS = {
    "box": (Box((8, 6, 0.2), GREY), 0.1),
    "plane": (Plane((8, 6), GREY), 0.0),
    "mesh": (Mesh(np.array(CORNERS) * (6, 6, 0.1), FACES, color=GREY), 0.1),
}


@pytest.mark.parametrize("kind", FLOORS)
def test_a_box_above_a_floor_darkens_it_where_the_light_says(studio, kind):
    floor, top = FLOORS[kind]
    scene = Scene([floor, Box((0.6, 0.6, 0.6))], ground_z=None, light=(1.0, 0.0, 1.0))
    found = darkened(studio, scene, bodies_at((0, 0, 0), (0, 0, top + 1.5)), camera=ABOVE)
    if kind == "mesh":  # a thin tetrahedron, whose surface is not level everywhere
        assert found[px_of((-1.5, 0, 0))] > 0.15
    else:
        assert found[px_of((-1.5, 0, top))] == pytest.approx(0.25, abs=0.1)
    assert abs(found[px_of((1.5, 0, top))]) < 0.02
    assert abs(found[px_of((-1.5, 1.5, top))]) < 0.02


@pytest.mark.parametrize("shape", [Sphere(0.4), Box((0.7, 0.7, 0.7)), Capsule(0.3, 0.3), Cylinder(0.35, 0.6),
                                   Ellipsoid((0.4, 0.3, 0.35)), Mesh(np.array(CORNERS) * 0.35, FACES)])  # fmt: skip
def test_every_shape_casts_a_shadow_on_the_ground_and_on_a_ball(studio, shape):
    scene = Scene([shape, Sphere(0.8)], light=(1.0, 0.0, 1.0), background=(0.8, 0.8, 0.8))
    found = darkened(studio, scene, bodies_at((1.6, 1.5, 1.5), (-1.5, -1.0, 0.8)), camera=ABOVE)
    assert found[px_of((0.1, 1.5, 0.0))] == pytest.approx(0.3, abs=0.1)
    over_ball = bodies_at((-0.3, -1.0, 2.0), (-1.5, -1.0, 0.8))
    found = darkened(studio, scene, over_ball, camera=ABOVE)
    assert found[px_of((-1.5 + 0.8 * math.sin(math.pi / 4) * 0.6, -1.0, 0.8 + 0.6))] > 0.12


def test_a_ball_alone_has_no_dark_speckle(studio):
    """No part of a convex body shadows another one. At a box's edges single pixels may take the wrong face's normal."""
    for light in ((0.4, -0.5, 0.8), (1.0, 0.0, 0.05), (0.0, 0.0, 1.0)):
        for shape in (Sphere(1.0), Ellipsoid((1.0, 0.5, 0.7)), Capsule(0.5, 1.0), Box((1, 1, 1))):
            scene = Scene([shape], ground_z=None, light=light)
            found = darkened(studio, scene, bodies_at((0, 0, 0)), camera=OrbitCamera(distance_m=4.0))
            assert found.max() < (0.1 if isinstance(shape, Box) else 0.01), (light, shape)
            assert (found > 0.03).sum() < 40, (light, shape)


def test_many_balls_in_light_from_above_have_clean_tops(studio):
    places = [(x, y, 0.3) for x in range(-4, 5) for y in range(-3, 4)]
    scene = Scene([Sphere(0.3)] * len(places), light=(0.0, 0.0, 1.0))
    found = darkened(studio, scene, bodies_at(*places), camera=ABOVE)
    for place in places:
        row, column = px_of(place)
        assert abs(found[row - 3 : row + 4, column - 3 : column + 4]).max() < 0.02


def test_the_shadow_moves_with_its_body_between_snapshots(studio):
    scene = Scene([Sphere(0.4)], light=(1.0, 0.0, 1.0), background=(0.8, 0.8, 0.8))
    older, newer = bodies_at((1.5, -1.0, 1.5)), bodies_at((1.5, 1.0, 1.5))
    for alpha in (0.0, 0.25, 0.5, 0.9):
        found = darkened(studio, scene, older, newer=newer, alpha=alpha, camera=ABOVE)
        rows, columns = np.nonzero(found > 0.15)
        row, column = px_of((0.0, -1.0 + 2.0 * alpha, 0.0))
        assert (rows.mean(), columns.mean()) == pytest.approx((row, column), abs=1.5)


def test_no_edge_of_a_shadow_crawls_while_the_camera_turns(studio):
    """The map is the same from wherever the scene is seen."""
    scene = Scene([Sphere(0.4), Sphere(0.2)], light=(1.0, 0.0, 1.0), background=(0.8, 0.8, 0.8))
    bodies = bodies_at((1.5, 0.0, 1.5), (-1.0, 0.0, 0.2))
    renderer = studio.renderer(scene)
    renderer.level = MAPPED
    upload(renderer, 0, bodies)
    seen = set()
    for degrees in (0, 20, 40):
        studio.draw(renderer, Layer(0), camera=OrbitCamera(distance_m=9.0, azimuth_rad=math.radians(degrees)))
        assert renderer._lit.light_view is not None
        seen.add(renderer._lit.light_view.camera.view.tobytes())
    assert len(seen) == 1


@pytest.mark.parametrize("level", [*LIT_LEVELS, BEST_SOFTWARE], ids=lambda level: f"{level.name} {level.samples}")
@pytest.mark.parametrize("orthographic", [False, True])
def test_levels_change_the_light_and_no_outline(studio, level, orthographic):
    white = (1.0, 1.0, 1.0)
    mesh = Mesh(np.array(CORNERS) * 0.5, FACES, color=white)
    shapes = [Sphere(0.6, white), Box((0.8, 0.8, 0.8), white), Capsule(0.3, 0.6, white), mesh]
    scene = Scene(shapes, ground_z=None, background=(0, 0, 0))
    bodies = bodies_at((-2, 0, 0), (-0.7, 0, 0), (0.7, 0, 0), (2, 0, 0))
    camera = OrbitCamera(distance_m=7.0, orthographic=orthographic)
    before = picture(studio, scene, bodies, PLAIN_FULL, camera=camera).max(axis=2) > 40
    after = picture(studio, scene, bodies, level, camera=camera).max(axis=2) > 40
    assert before.sum() > 5000
    assert (before != after).sum() < 0.02 * before.sum()


@pytest.mark.parametrize("level", [MAPPED, BEST])
def test_dots_and_lines_over_the_picture_are_hidden_by_bodies(studio, level):
    scene = Scene([Sphere(1.0)], ground_z=None, background=(0, 0, 0))
    renderer = studio.renderer(scene)
    renderer.level = level
    upload(renderer, 0, bodies_at((0, 0, 0)))
    camera = OrbitCamera(distance_m=6.0, elevation_rad=0.0, azimuth_rad=math.radians(-90))
    studio.framebuffer.use()
    renderer.draw([Layer(0)], matrices(camera), (0, 0, *SIZE_PX))
    renderer.points([(0, 3, 0), (1.5, 0, 0), (0, -1.5, 0)], (0, 255, 0, 255), 9)
    renderer.finish()
    pixels = renderer.read_pixels()
    assert tuple(pixels[px_of((1.5, 0, 0), camera)]) == (0, 255, 0)
    assert tuple(pixels[px_of((0, -1.5, 0), camera)]) == (0, 255, 0)
    green = (pixels[..., 1] == 255) & (pixels[..., 0] == 0)
    assert green.sum() == pytest.approx(2 * math.pi * 4.5**2, rel=0.25)
    renderer.release()


def test_contact_shading_darkens_the_ground_beside_a_box_and_not_far_from_it(studio):
    scene = Scene([Box((1, 1, 1))], light=(0.0, 0.0, 1.0), background=(0.8, 0.8, 0.8))
    camera = OrbitCamera(distance_m=6.0, elevation_rad=math.radians(40), azimuth_rad=math.radians(-90))
    found = darkened(studio, scene, bodies_at((0, 0, 0.5)), level=BEST_SOFTWARE, camera=camera)
    row, column = px_of((0, -0.58, 0), camera)
    near = found[row - 1 : row + 2, column - 8 : column + 9].mean()
    row, column = px_of((0, -1.8, 0), camera)
    assert near > 0.04
    assert abs(found[row - 3 : row + 4, column - 8 : column + 9]).max() < 0.02


def test_four_samples_smooth_the_edges_of_a_plane(studio):
    scene = Scene([Plane((3, 3), (1, 1, 1))], ground_z=None, background=(0, 0, 0))
    one, four = (
        picture(studio, scene, bodies_at((0, 0, 0)), level) for level in (MAPPED, BEST._replace(contact=False))
    )
    between = [((found > 25) & (found < 90)).all(axis=2).sum() for found in (one, four)]
    assert between[1] > between[0] + 50


@pytest.mark.parametrize("level", [MAPPED, BEST])
def test_pictures_side_by_side_are_those_that_stand_alone(studio, level):
    scene = Scene([Sphere(0.5), Box((1, 1, 0.2))], background=(0.8, 0.8, 0.8))
    bodies, camera = bodies_at((0, 0, 1.5), (0, 0, 0.1)), OrbitCamera(distance_m=7.0)
    half_px = SIZE_PX[0] // 2, SIZE_PX[1]
    alone = []
    renderer = studio.renderer(scene)
    renderer.level = level
    upload(renderer, 0, bodies)
    seen = camera.matrices(half_px)
    for parts in ([0], [0, half_px[0]]):
        studio.framebuffer.use()
        for left_px in parts:
            renderer.draw([Layer(0)], seen, (left_px, 0, *half_px))
        renderer.finish()
        alone.append(renderer.read_pixels().astype(int))
    both, (whole,) = alone.pop(), alone
    assert abs(both[:, : half_px[0]] - whole).max() <= 1
    assert (abs(both[:, half_px[0] :] - whole).max(axis=2) > 8).mean() < 0.002
    renderer.release()


@pytest.mark.parametrize("samples", [1, 4])
def test_a_picture_larger_than_the_driver_can_is_refused_with_a_way_out(studio, samples):
    with pytest.raises(TwixtError, match=f"1000000x9 px with {samples} samples.*smaller --size, or --quality low"):
        LitTarget(studio.context).framebuffer((1_000_000, 9), samples)


def test_a_driver_without_such_textures_draws_one_sample(studio, monkeypatch):
    renderer = studio.renderer(Scene([Sphere(0.5)]))
    monkeypatch.setattr(renderer._lit, "_most_samples", 1)
    renderer.level = BEST
    upload(renderer, 0, bodies_at((0, 0, 1.0)))
    limited = studio.draw(renderer, Layer(0))
    renderer.level = BEST_SOFTWARE
    assert (limited == studio.draw(renderer, Layer(0))).all()
    renderer.release()


def test_plain_colours_and_empty_scenes_are_drawn_at_the_best_level_too(studio):
    flat = Scene([Sphere(0.5)], look="unlit", background=(0.1, 0.2, 0.3))
    bodies = bodies_at((0, 0, 1.0))
    assert (picture(studio, flat, bodies, BEST) == picture(studio, flat, bodies, FULL)).all()
    empty = Scene([], ground_z=None, background=(0.2, 0.4, 0.6))
    assert (picture(studio, empty, new_bodies(0), BEST) == (51, 102, 153)).all()


def test_going_to_a_cheaper_level_and_back_gives_the_same_pictures(studio):
    scene = Scene([Sphere(0.5), Box((1, 1, 0.2))])
    bodies = bodies_at((0, 0, 1.0), (0, 0, 0.1))
    renderer = studio.renderer(scene)
    upload(renderer, 0, bodies)
    seen = {}
    for level in (*LEVELS, *LIT_LEVELS, *LEVELS, *LIT_LEVELS):
        renderer.level = level
        pixels = studio.draw(renderer, Layer(0))
        assert (pixels == seen.setdefault(level, pixels)).all(), level.name
    renderer.release()


def test_four_samples_smooth_the_edge_between_two_balls_too(studio):
    """The one in front is drawn first: a blended edge has nothing behind it yet to blend with."""
    scene = Scene(
        [Sphere(0.7, (1, 1, 1)), Sphere(2.0, (0.02, 0.02, 0.02))],
        ground_z=None,
        background=(0, 0, 0),
        light=(0.0, -1.0, 0.3),
    )
    bodies, camera = bodies_at((0, -2.5, 0), (0, 0, 0)), OrbitCamera(distance_m=9.0, elevation_rad=0.0)
    camera.azimuth_rad = math.radians(-90)
    one, four = (picture(studio, scene, bodies, level, camera=camera)[..., 1] for level in (MAPPED, BEST))
    row = SIZE_PX[1] // 2
    hard, soft = ((found[row - 20 : row + 20] > 30) & (found[row - 20 : row + 20] < 90) for found in (one, four))
    assert soft.sum() > hard.sum() + 15
