"""Meshes in pictures, checked by their pixels, most of them against the other shapes."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, upload
from tests.render.draw.meshes.solids import cube, icosahedron, sphere
from tests.render.draw.test_scene_renderer import BLUE, GREEN, RED, WHITE, bodies_at, centroid_px, dark, lit_px
from twixt.ipc.scene import Box, Group, Scene, Sphere
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.meshes import mesh_drawing
from twixt.render.draw.meshes.mesh_programs import MESH_PROGRAMS
from twixt.render.draw.quality import LEVELS

CAMERA = OrbitCamera(distance_m=4.0)
WIDE = OrbitCamera(distance_m=1.2, fov_y_deg=100.0)
TURN = np.array((0.2, -0.3, 0.4, 0.84)) / np.linalg.norm((0.2, -0.3, 0.4, 0.84))
BOX, CUBE = Box((1, 1, 1), WHITE), Mesh(*cube(), color=WHITE)
by_level = pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)


@pytest.fixture
def hard_edges(monkeypatch):
    """Without soft silhouettes: a pixel is of a mesh if its middle is."""
    monkeypatch.setattr(mesh_drawing, "MOST_EDGES_SOFTWARE", 0)
    monkeypatch.setattr(mesh_drawing, "MOST_EDGES_GPU", 0)


def turned(*positions):
    bodies = bodies_at(*positions)
    bodies["orientation"] = TURN
    return bodies


def inner_and_outer(pixels):
    """Masks of the pixels that are wholly of a white body on black, and of those that it touches at all."""
    return pixels.min(axis=2) > 250, pixels.max(axis=2) > 0


def assert_same_outline(mesh, other):
    """Wherever the other shape covers a whole pixel so does the mesh, and it touches no pixel beyond the other's edge."""
    whole, touched = inner_and_outer(other)
    assert whole.any()
    assert (mesh[whole] > 250).all()
    assert not mesh[~grown(touched)].any()


def grown(mask):
    """A mask, larger by a pixel to each side."""
    larger = np.pad(mask, 1)
    height, width = mask.shape
    return np.any([larger[y : y + height, x : x + width] for y, x in itertools.product(range(3), repeat=2)], axis=0)


@pytest.mark.parametrize(
    "camera",
    [CAMERA, WIDE, OrbitCamera(distance_m=60.0), OrbitCamera(distance_m=4.0, orthographic=True)],
    ids=["near", "wide", "small", "orthographic"],
)
@pytest.mark.parametrize("normals", [None, "smooth"])
def test_a_cube_of_triangles_covers_what_a_box_does(studio, camera, normals):
    mesh = Mesh(*cube(), normals, WHITE)
    pixels, box = (studio.picture(dark([shape]), turned((0.1, 0.2, 0)), camera=camera) for shape in (mesh, BOX))
    assert_same_outline(pixels, box)


@by_level
def test_at_each_level_a_mesh_is_seen_from_inside_and_outside(studio, level):
    renderer = studio.renderer(dark([CUBE, Mesh(*cube(2.0), color=RED)]))
    renderer.level = level
    upload(renderer, 0, bodies_at((0, 0, 0), (0, 0, 0)))
    inside = studio.draw(
        renderer, Layer(0), camera=OrbitCamera(distance_m=1.95, fov_y_deg=90.0, azimuth_rad=0.2, elevation_rad=0.1)
    )
    assert (inside[..., 0] > 250).all()  # red to all sides, around the white one
    assert 0 < (inside[..., 1] > 250).sum() < inside[..., 1].size / 2


def test_light_on_a_flat_cube_is_that_on_a_box(studio):
    box, mesh = Box((1, 1, 1), (0.5, 0.6, 0.7)), Mesh(*cube(), color=(0.5, 0.6, 0.7))
    lit, expected = (
        studio.picture(Scene([shape], ground_z=None), turned((0, 0, 0)), camera=CAMERA) for shape in (mesh, box)
    )
    off = np.abs(lit.astype(int) - expected).max(axis=2)
    # The rims and shades of a box are its own: what differs are lines.
    assert np.mean(off[80:220, 130:270] > 12) < 0.35
    assert np.median(off[120:180, 170:230]) <= 6


@pytest.mark.parametrize("inside_out", [False, True])
def test_light_on_a_fine_smooth_sphere_is_that_on_a_sphere(studio, inside_out):
    places, faces = sphere(4)
    faces = faces[:, ::-1] if inside_out else faces  # either way its normals point outwards
    mesh, ball = (
        Scene([shape], ground_z=None, background=(0, 0, 0))
        for shape in (Mesh(places / 2, faces, places, (0.4, 0.5, 0.6)), Sphere(0.5, (0.4, 0.5, 0.6)))
    )
    lit = studio.picture(mesh, bodies_at((0, 0, 0)), camera=CAMERA).astype(int)
    # The brightest of some orientations: the dark half of the pattern of spheres is somewhere else in another.
    balls = []
    for orientation in np.vstack([np.eye(4), TURN, TURN[::-1]]):
        body = bodies_at((0, 0, 0))
        body["orientation"] = orientation
        balls.append(studio.picture(ball, body, camera=CAMERA).astype(int))
    expected = np.max(balls, axis=0)
    inside = expected.max(axis=2) > 60
    off = np.abs(lit - expected)[inside]
    assert np.median(off) <= 12
    assert lit[inside].min() > 40


def test_an_open_surface_is_lit_from_the_side_that_is_seen(studio):
    triangle = [(-1, -1, 0), (1, -1, 0), (0, 1, 0)]
    scene = Scene([Mesh(triangle, [(0, 1, 2)], color=WHITE)], ground_z=None, background=(0, 0, 0), light=(0, 0, 1))
    above, below = (
        studio.picture(scene, bodies_at((0, 0, 0)), camera=OrbitCamera(distance_m=4, elevation_rad=side))
        for side in (1.2, -1.2)
    )
    assert above.any(axis=2).sum() == pytest.approx(below.any(axis=2).sum(), rel=0.02)
    assert np.median(above[above.max(axis=2) > 0]) > 1.5 * np.median(below[below.max(axis=2) > 0])


@pytest.mark.parametrize("alpha", [0.0, 0.35, 1.0])
@pytest.mark.parametrize("method", ["none", "linear", "hermite", "auto"])
def test_between_two_snapshots_a_mesh_is_where_a_box_is(studio, method, alpha):
    older, newer = turned((-1, 0, 0)), bodies_at((0.8, 0.6, 0.2))
    for bodies, velocity, spin in ((older, (0, 3, 0), (0, 0, 9)), (newer, (2, -3, 1), (4, 0, 0))):
        bodies["flags"] = VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY
        bodies["velocity"], bodies["angular_velocity"] = velocity, spin
    pixels, box = (
        studio.picture(dark([shape]), older, newer, alpha, OrbitCamera(distance_m=6), method) for shape in (CUBE, BOX)
    )
    assert_same_outline(pixels, box)


@pytest.mark.parametrize("change", ["hidden", "not finite", "reborn", "gone"])
def test_a_mesh_obeys_flags_and_epochs_as_a_box_does(studio, change):
    older, newer = bodies_at((-1, 0, 0), (1, 0, 0)), bodies_at((-1, 1, 0), (1, 1, 0))
    if change == "hidden":
        older["flags"][0] = 0
    elif change == "not finite":
        older["position"][0] = np.nan
    elif change == "reborn":
        newer["epoch"][0] = 1
    else:
        newer = newer[:1].copy()
    pixels, box = (studio.picture(dark([shape]), older, newer, 0.5, OrbitCamera(distance_m=6)) for shape in (CUBE, BOX))
    assert_same_outline(pixels, box)
    assert (lit_px(pixels[:, :200]) > 0) == (change not in ("hidden", "not finite"))


def test_two_meshes_among_other_shapes_are_each_at_their_bodies(studio):
    red, green = Mesh(*cube(0.2), color=RED), Mesh(*icosahedron(), color=GREEN)
    shapes = [red, green, Sphere(0.2, BLUE), Mesh(*cube(0.2), color=GREEN)] * 6
    bodies = bodies_at(*((x, y, 0) for x, y in itertools.product(np.linspace(-2.5, 2.5, 6), np.linspace(-1.5, 1.5, 4))))
    bodies["scale"][1::4] = 0.2
    camera = OrbitCamera(distance_m=8, elevation_rad=np.pi / 2, azimuth_rad=-np.pi / 2)
    pixels = studio.picture(dark(shapes), bodies, camera=camera)
    expected = studio.picture(dark([Sphere(0.1, shape.color) for shape in shapes]), bodies, camera=camera)
    middles = expected.max(axis=2) > 250
    np.testing.assert_array_equal(pixels[middles] > 250, expected[middles] > 250)
    assert lit_px(pixels) > 1.5 * lit_px(expected)


def test_meshes_of_layers_are_drawn_between_the_snapshots_of_their_layers(studio):
    shapes = [Mesh(*cube(0.3), color=RED), Mesh(*cube(0.3), color=GREEN)]
    scene = dark(shapes, groups={"right": Group([1])})
    renderer = studio.renderer(scene)
    upload(renderer, 0, bodies_at((-1, 0, 0), (1, 0, 0)))
    upload(renderer, 1, bodies_at((-1, 0, 1), (1, 0, 1)))
    camera = OrbitCamera(distance_m=6, azimuth_rad=-np.pi / 2, elevation_rad=0)
    pixels = studio.draw(renderer, Layer(0), Layer(1, group="right"), camera=camera)
    red, green = (centroid_px(pixels * np.uint8(np.arange(3) == channel)) for channel in (0, 1))
    assert red == pytest.approx((200 - (green[0] - 200), 150), abs=1)
    assert green[1] < 110


def test_a_scene_that_is_replaced_keeps_nothing_of_the_old_meshes(studio):
    renderer = studio.renderer(dark([CUBE]))
    upload(renderer, 0, bodies_at((0, 0, 0)))
    white = studio.draw(renderer, Layer(0), camera=CAMERA)
    renderer.set_scene(dark([Mesh(*cube(), color=RED)]))  # the same vertices
    red = studio.draw(renderer, Layer(0), camera=CAMERA)
    np.testing.assert_array_equal(red[..., 0], white[..., 0])
    assert not red[..., 1].any()
    renderer.set_scene(dark([Mesh(*icosahedron(), color=WHITE)]))
    assert lit_px(studio.draw(renderer, Layer(0), camera=CAMERA)) > 1.5 * lit_px(white)
    renderer.set_scene(dark([Sphere(0.1, GREEN)]))
    assert not studio.draw(renderer, Layer(0), camera=CAMERA)[..., 0].any()


def test_more_bodies_than_before_have_the_last_shape_and_fewer_leave_nothing_behind(studio):
    renderer = studio.renderer(dark([Mesh(*icosahedron(), color=RED), Mesh(*cube(0.3), color=GREEN)]))
    camera = OrbitCamera(distance_m=9, elevation_rad=np.pi / 2, azimuth_rad=-np.pi / 2)
    for count in (1, 5, 2, 9, 1):
        bodies = bodies_at(*((at - 4, 0, 0) for at in range(count)))
        bodies["scale"][0] = 0.3
        upload(renderer, 0, bodies)
        pixels = studio.draw(renderer, Layer(0), camera=camera)
        seen = pixels[148:152].max(axis=0) > 127
        # From the left: the red one, then the green ones side by side.
        assert np.diff(seen[:, 0].astype(int), prepend=0).clip(0).sum() == 1
        assert np.diff(seen[:, 1].astype(int), prepend=0).clip(0).sum() == count - 1


def test_one_million_metres_out_a_mesh_is_where_a_box_is(studio):
    out = (1e6, -1e6, 1e5)
    older, newer = (turned(np.add(out, off)) for off in ((0, 0, 0), (0.5, 0.25, 0)))
    camera = dataclasses.replace(CAMERA, target=out)
    for alpha in (0.1, 0.7):
        pixels, box = (studio.picture(dark([shape]), older, newer, alpha, camera) for shape in (CUBE, BOX))
        assert_same_outline(pixels, box)


def test_scales_along_the_axes_stretch_a_mesh_and_its_normals_as_a_box(studio, hard_edges):
    lit = []
    for shape in (Mesh(*cube(), "smooth", WHITE), Mesh(*sphere(4), sphere(4)[0], WHITE), CUBE, BOX):
        renderer = studio.renderer(Scene([shape], ground_z=None, background=(0, 0, 0)))
        bodies = turned((0, 0, 0))
        bodies["scale"] = 0.5
        upload(renderer, 0, bodies)
        renderer.upload_scale3(0, np.array([(3.0, 0.5, 1.0)]))
        lit.append(studio.draw(renderer, Layer(0), camera=CAMERA).astype(int))
        renderer.release()
    for pixels in (lit[0], lit[2]):
        whole = lit[3].max(axis=2) > 60
        assert np.mean(pixels.max(axis=2)[whole] > 60) > 0.98
        assert lit_px(pixels) == pytest.approx(lit_px(lit[3]), rel=0.03)
    # Each side of the stretched cube has the light of the box's side, so its normal.
    assert np.median(np.abs(lit[2] - lit[3])[whole]) <= 6


def test_a_scale_of_zero_or_below_draws_nothing(studio):
    bodies = bodies_at((0, 0, 0), (0, 0, 0))
    bodies["scale"] = (0, -1)
    assert not studio.picture(dark([CUBE]), bodies, camera=CAMERA).any()


def test_a_mesh_hides_what_is_behind_it_and_is_hidden(studio):
    camera = OrbitCamera(distance_m=6, azimuth_rad=0, elevation_rad=0)
    shapes = [Mesh(*cube(), color=WHITE), Sphere(0.4, RED), Box((0.3, 0.3, 0.3), GREEN)]
    pixels = studio.picture(dark(shapes), bodies_at((0, 0, 0), (-2, 0, 0), (2, 0, 0)), camera=camera)
    assert not (pixels[..., 0] > pixels[..., 1]).any()  # the red one is behind the cube, wholly
    assert tuple(pixels[150, 200]) == (0, 255, 0)


def test_soft_silhouettes_reach_one_pixel_out_and_are_left_out_where_they_cost_too_much(studio, monkeypatch):
    soft = studio.picture(dark([CUBE]), turned((0, 0, 0)), camera=CAMERA)
    monkeypatch.setattr(mesh_drawing, "MOST_EDGES_SOFTWARE", 17)
    monkeypatch.setattr(mesh_drawing, "MOST_EDGES_GPU", 17)
    hard = studio.picture(dark([CUBE]), turned((0, 0, 0)), camera=CAMERA)
    assert set(np.unique(hard)) == {0, 255}
    np.testing.assert_array_equal(soft[hard > 0], 255)
    border = (soft > 0) & (hard == 0)
    assert len(np.unique(soft[border])) > 20  # of all shades
    assert not soft[~grown(grown(hard.max(axis=2) > 0))].any()


def test_the_shadow_of_a_mesh_is_below_its_bounds(studio):
    places, faces = cube(0.4)
    beside = Mesh(places + np.array([2, 0, 0]), faces, color=WHITE)  # beside its body
    scene = Scene([beside], light=(0, 0, 1), background=(0.5, 0.5, 0.5))
    camera = OrbitCamera(target=(2, 0, 0), distance_m=8, elevation_rad=0.9)
    bodies = bodies_at((0, 0, 0.45))
    drawn = studio.picture(scene, bodies, camera=camera).astype(int)
    bare = studio.picture(Scene([], background=(0.5, 0.5, 0.5)), new_bodies(0), camera=camera).astype(int)
    dimmed = (drawn < bare - 8).all(axis=2)
    x, y = (np.flatnonzero(dimmed.any(axis=axis)) for axis in (0, 1))
    assert abs((x[0] + x[-1]) / 2 - 200) < 3
    assert 140 < (y[0] + y[-1]) / 2 < 175
    flat = Scene([Mesh.height_field(np.zeros((2, 2)), (1, 1), WHITE)], light=(0, 0, 1), background=(0.5, 0.5, 0.5))
    above = studio.picture(flat, bodies_at((2, 0, 0.45)), camera=camera).astype(int)
    assert not (above < bare - 8).all(axis=2).any()


def test_programs_that_a_change_of_level_or_method_needs_are_made_ahead(studio):
    renderer = studio.renderer(Scene([CUBE, Mesh(*icosahedron(), "smooth")]))
    upload(renderer, 0, bodies_at((0, 0, 0), (1, 0, 0)))
    first = studio.draw(renderer, Layer(0), camera=CAMERA)
    for _ in range(200):
        if not renderer.prepare():
            break
    else:
        pytest.fail("there is always one more to prepare")
    opaque = {name for name in MESH_PROGRAMS if name.endswith("faces") and not name.startswith("transparent")}
    assert opaque <= renderer._meshes._programs.keys()
    np.testing.assert_array_equal(studio.draw(renderer, Layer(0), camera=CAMERA), first)


def test_the_same_picture_twice_has_the_same_pixels_and_two_views_side_by_side_each_their_own(studio):
    renderer = studio.renderer(Scene([Mesh(*icosahedron(), "smooth")]))
    upload(renderer, 0, bodies_at((0, 0, 0)))
    pictures = [studio.draw(renderer, Layer(0), camera=CAMERA) for _ in range(2)]
    np.testing.assert_array_equal(*pictures)
    width, height = SIZE_PX[0] // 2, SIZE_PX[1]
    studio.framebuffer.use()
    for left, distance_m in ((0, 4.0), (width, 8.0)):
        matrices = OrbitCamera(distance_m=distance_m).matrices((width, height))
        renderer.draw([Layer(0)], matrices, (left, 0, width, height))
    renderer.finish()
    both = renderer.read_pixels()
    assert (both[:, :width] != both[:, width:]).any()
