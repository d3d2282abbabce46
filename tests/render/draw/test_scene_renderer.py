"""Pictures, checked by their pixels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, matrices, upload
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Box, Plane, Scene, Sphere
from twixt.ipc.snapshot import VISIBLE, new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.context import is_software
from twixt.render.draw.frame.layers import Layer

WHITE, RED, GREEN, BLUE = (1.0, 1.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def dark(shapes, **options):
    """Only the shapes, in their plain colours on black."""
    return Scene(shapes, ground_z=None, background=(0, 0, 0), look="unlit", **options)


def bodies_at(*positions):
    bodies = new_bodies(len(positions))
    bodies["position"] = positions
    return bodies


def lit_px(pixels):
    return int((pixels.max(axis=2) > 127).sum())


def centroid_px(pixels):
    """Brightness-weighted, x to the right and y down, pixel centres at .5."""
    weight = pixels.sum(axis=2, dtype=np.float64)
    y, x = np.mgrid[: weight.shape[0], : weight.shape[1]] + 0.5
    return (x * weight).sum() / weight.sum(), (y * weight).sum() / weight.sum()


def projected_px(position, camera=None):
    view, projection, *_ = matrices(camera)
    x, y, _, w = projection @ view @ np.array([*position, 1.0])
    return (x / w + 1) / 2 * SIZE_PX[0], (1 - y / w) / 2 * SIZE_PX[1]


def outline_px(position, radius, camera=None):
    """Middle and area of the sphere's outline in the picture, from its outline's tangents seen in each direction."""
    view, projection, *_ = matrices(camera)
    center = (view @ np.array([*position, 1.0]))[:3].astype(np.float64)
    x, y = np.meshgrid(*((np.arange(n * 4) + 0.5) / 4 for n in SIZE_PX))
    across, up = x / SIZE_PX[0] * 2 - 1, 1 - y / SIZE_PX[1] * 2
    rays = np.stack([across / projection[0, 0], up / projection[1, 1], -np.ones_like(x)])
    along = np.tensordot(center, rays, 1) / (rays**2).sum(axis=0)
    inside = ((rays * along - center[:, None, None]) ** 2).sum(axis=0) < radius**2
    return x[inside].mean(), y[inside].mean(), inside.sum() / 16


def test_without_ground_the_background_is_exact_in_every_pixel(studio):
    pixels = studio.picture(Scene([], ground_z=None, background=(0.2, 0.4, 0.6)), new_bodies(0))
    assert (pixels == (51, 102, 153)).all()


def test_without_snapshot_the_scene_is_drawn_without_bodies(studio):
    renderer = studio.renderer(Scene([Sphere()], outline=((-1, -1, 0), (1, 1, 1))))
    assert len(np.unique(studio.draw(renderer).reshape(-1, 3), axis=0)) > 5


@pytest.mark.parametrize("far_m", [1e19, 1e30, 3e38])
def test_a_camera_so_far_off_that_numbers_end_sees_no_ground_and_goes_on(studio, far_m):
    bodies = bodies_at((far_m, far_m, far_m))
    scene = Scene([Sphere()], background=(0.2, 0.4, 0.6))
    camera = OrbitCamera.for_scene(scene, bodies)
    camera.target = (far_m, far_m, far_m)
    assert studio.picture(scene, bodies, camera=camera).shape == (*SIZE_PX[::-1], 3)


@pytest.mark.parametrize(
    ("position", "radius", "distance_m"),
    [
        ((0, 0, 0), 0.3, 10),  # a small point
        ((3.0, 2.0, 1.0), 0.4, 10),
        ((-3.3, -2.0, -0.5), 1.0, 10),
        ((0.5, 0.5, 0), 1.5, 8),  # a quad
        ((0, 0, 0), 2.0, 6.5),
    ],
)
def test_a_sphere_covers_its_true_outline(studio, position, radius, distance_m):
    camera = OrbitCamera(distance_m=distance_m)
    pixels = studio.picture(dark([Sphere(radius, WHITE)]), bodies_at(position), camera=camera)
    x_px, y_px, area_px = outline_px(position, radius, camera)
    assert centroid_px(pixels) == pytest.approx((x_px, y_px), abs=0.1)
    assert pixels[..., 0].sum() / 255 == pytest.approx(area_px, rel=0.01)


def test_a_small_unlit_sphere_moves_as_its_position_does_to_a_tenth_of_a_pixel(studio):
    for x in np.linspace(-1, 1, 17):
        pixels = studio.picture(dark([Sphere(0.15, WHITE)]), bodies_at((x, 0, 0)))
        assert centroid_px(pixels) == pytest.approx(projected_px((x, 0, 0)), abs=0.1)


def test_half_a_sphere_is_seen_when_its_centre_is_at_the_border_of_the_picture(studio):
    camera = OrbitCamera(distance_m=10, azimuth_rad=0, elevation_rad=0)
    half_width_m = 10 * math.tan(math.radians(camera.fov_y_deg) / 2) * SIZE_PX[0] / SIZE_PX[1]
    whole = studio.picture(dark([Sphere(0.5, WHITE)]), bodies_at((0, 0, 0)), camera=camera)
    for y in (-1.001 * half_width_m, -0.999 * half_width_m, 0.999 * half_width_m, 1.001 * half_width_m):
        part = studio.picture(dark([Sphere(0.5, WHITE)]), bodies_at((0, y, 0)), camera=camera)
        assert lit_px(part) == pytest.approx(lit_px(whole) / 2, rel=0.25)


def test_a_sphere_around_the_eye_or_behind_it_is_no_obstacle(studio):
    camera = OrbitCamera(distance_m=10)
    eye = np.array(camera.eye)
    behind = studio.picture(dark([Sphere(1.0, WHITE)]), bodies_at(tuple(1.5 * eye)), camera=camera)
    assert lit_px(behind) == 0
    before = studio.picture(dark([Sphere(1.0, WHITE)]), bodies_at(tuple(eye * (1 - 0.11))), camera=camera)
    assert lit_px(before) == SIZE_PX[0] * SIZE_PX[1]


def test_where_two_spheres_cut_each_the_nearer_surface_is_seen_in_any_order(studio):
    camera = OrbitCamera(distance_m=10, azimuth_rad=0, elevation_rad=0)
    left, right = (0.0, -0.3, 0.0), (0.0, 0.3, 0.0)
    scene = dark([Sphere(0.6, RED), Sphere(0.6, GREEN)])
    one = studio.picture(scene, bodies_at(left, right), camera=camera)
    other = studio.picture(dark([Sphere(0.6, GREEN), Sphere(0.6, RED)]), bodies_at(right, left), camera=camera)
    half = SIZE_PX[0] // 2
    assert one[..., 1][:, : half - 1].sum() < 255 * 20
    assert one[..., 0][:, half + 1 :].sum() < 255 * 20
    assert np.mean(np.abs(one.astype(int) - other).max(axis=2) > 60) < 0.002


def test_a_box_hides_the_sphere_behind_it_and_is_cut_by_one_reaching_through(studio):
    camera = OrbitCamera(distance_m=10, azimuth_rad=0, elevation_rad=0)
    scene = dark([Sphere(0.5, RED), Box((1.0, 2.0, 2.0), BLUE)])
    assert studio.picture(scene, bodies_at((-3, 0, 0), (0, 0, 0)), camera=camera)[..., 0].max() == 0
    assert lit_px(studio.picture(scene, bodies_at((0.3, 0, 0), (0, 0, 0)), camera=camera)[..., :1]) > 300


def test_any_mix_of_shapes_over_the_bodies_is_drawn_each_in_its_place(studio):
    camera = OrbitCamera(distance_m=20, azimuth_rad=-math.pi / 2, elevation_rad=0)
    kinds = [Sphere(0.4, RED), Box((0.8, 0.8, 0.8), GREEN), Sphere(0.3, BLUE), Plane((0.8, 0.8), WHITE)]
    rng = np.random.default_rng(0)
    shapes = [kinds[i] for i in rng.integers(0, len(kinds), 40)]
    bodies = bodies_at(*[((i % 8 - 3.5) * 1.2, 0, (i // 8 - 2) * 1.2) for i in range(40)])
    bodies["orientation"] = (math.sqrt(0.5), 0, 0, math.sqrt(0.5))  # planes face the camera
    pixels = studio.picture(dark(shapes), bodies, camera=camera)
    for shape, position in zip(shapes, bodies["position"], strict=True):
        x_px, y_px = projected_px(position, camera)
        assert pixels[int(y_px), int(x_px)] == pytest.approx(np.array(shape.color) * 255, abs=1)


def test_bodies_beyond_the_last_shape_use_it(studio):
    pixels = studio.picture(dark([Sphere(0.4, RED)]), bodies_at((-1, 0, 0), (1, 0, 0)))
    one = studio.picture(dark([Sphere(0.4, RED)]), bodies_at((-1, 0, 0)))
    assert lit_px(pixels) > 1.5 * lit_px(one)


def test_the_records_colour_multiplies_the_shapes(studio):
    bodies = bodies_at((0, 0, 0))
    bodies["color"] = (128, 255, 0, 255)
    pixels = studio.picture(dark([Sphere(1.0, (1.0, 0.5, 1.0))]), bodies)
    assert pixels[SIZE_PX[1] // 2, SIZE_PX[0] // 2] == pytest.approx((128, 128, 0), abs=1)


def test_scale_scales(studio):
    bodies = bodies_at((0, 0, 0))
    bodies["scale"] = 2.0
    scaled = studio.picture(dark([Sphere(0.3, WHITE)]), bodies)
    assert lit_px(scaled) == lit_px(studio.picture(dark([Sphere(0.6, WHITE)]), bodies_at((0, 0, 0))))


def test_alpha_moves_a_body_along_the_straight_line(studio):
    older, newer = bodies_at((-1, 0, 0)), bodies_at((1, 0.5, 0.2))
    for alpha in (0.0, 0.25, 0.7):
        pixels = studio.picture(dark([Sphere(0.15, WHITE)]), older, newer, alpha)
        place = older["position"][0] + alpha * (newer["position"][0] - older["position"][0])
        assert centroid_px(pixels) == pytest.approx(projected_px(place), abs=0.1)


def test_method_none_stays_at_the_older(studio):
    older, newer = bodies_at((-1, 0, 0)), bodies_at((1, 0, 0))
    pixels = studio.picture(dark([Sphere(0.15, WHITE)]), older, newer, 0.7, method="none")
    assert centroid_px(pixels) == pytest.approx(projected_px((-1, 0, 0)), abs=0.1)


def test_a_teleport_cuts_at_the_newers_instant(studio):
    older, newer = bodies_at((-1, 0, 0)), bodies_at((1, 0, 0))
    newer["epoch"] = 1
    for alpha, place in ((0.01, -1), (0.99, -1), (1.0, 1)):
        pixels = studio.picture(dark([Sphere(0.15, WHITE)]), older, newer, alpha)
        assert centroid_px(pixels) == pytest.approx(projected_px((place, 0, 0)), abs=0.1)


def test_a_correction_does_not_cut(studio):
    older, newer = bodies_at((-1, 0, 0)), bodies_at((1, 0, 0))
    newer["epoch"] = 0x1_0000
    pixels = studio.picture(dark([Sphere(0.15, WHITE)]), older, newer, 0.5)
    assert centroid_px(pixels) == pytest.approx(projected_px((0, 0, 0)), abs=0.1)


def test_a_spawned_body_appears_at_its_instant_and_not_before(studio):
    older, newer = bodies_at((9, 9, 9)), bodies_at((9, 9, 9), (0, 0, 0))
    assert lit_px(studio.picture(dark([Sphere(0.3, WHITE)]), older, newer, 0.9)) == 0
    assert lit_px(studio.picture(dark([Sphere(0.3, WHITE)]), older, newer, 1.0)) > 0


def test_a_body_that_only_the_older_has_stays_until_the_newers_instant(studio):
    older, newer = bodies_at((9, 9, 9), (0, 0, 0)), bodies_at((9, 9, 9))
    assert lit_px(studio.picture(dark([Sphere(0.3, WHITE)]), older, newer, 0.9)) > 0
    assert lit_px(studio.picture(dark([Sphere(0.3, WHITE)]), older, newer, 1.0)) == 0


@pytest.mark.parametrize("shape", [Sphere(0.5, WHITE), Box((1, 1, 1), WHITE), Plane((1, 1), WHITE)])
def test_hidden_and_broken_bodies_leave_no_pixel(studio, shape):
    bodies = bodies_at((0, 0, 0), (math.nan, 0, 0), (math.inf, 0, 0), (0, 0, 0))
    bodies["flags"][0] = 0
    bodies["scale"][3] = math.nan
    assert lit_px(studio.picture(dark([shape]), bodies)) == 0
    bodies["flags"][0] = VISIBLE
    assert lit_px(studio.picture(dark([shape]), bodies)) > 0


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, 0.8)])
def test_spin_about_any_axis_is_seen_on_a_sphere(studio, axis):
    still, turned = bodies_at((0, 0, 0)), bodies_at((0, 0, 0))
    turned["orientation"] = (*(math.sin(0.25) * np.array(axis)), math.cos(0.25))
    scene = Scene([Sphere(1.0)], ground_z=None, pattern=True)
    change = np.abs(studio.picture(scene, still).astype(int) - studio.picture(scene, turned)).max(axis=2)
    assert (change > 15).sum() > 100


def test_the_faces_of_a_box_differ_and_its_edges_are_lighter(studio):
    camera = OrbitCamera(distance_m=4)
    scene = Scene([Box((1.5, 1.5, 1.5), (0.5, 0.5, 0.5))], ground_z=None)
    pixels = studio.picture(scene, bodies_at((0, 0, 0)), camera=camera)
    face_px = [projected_px(place, camera) for place in ((0, 0, 0.75), (0.75, 0, 0), (0, -0.75, 0))]
    tones = sorted(int(pixels[int(y), int(x)].sum()) for x, y in face_px)
    assert min(np.diff(tones)) > 15
    x, y = projected_px((0.75, -0.75, 0), camera)
    assert pixels[int(y), int(x) - 2 : int(x) + 3].sum(axis=1).max() > tones[1]


def test_a_ball_on_the_ground_darkens_it_and_one_high_up_does_not(studio):
    camera = OrbitCamera(distance_m=10, elevation_rad=1.5)

    def ground_beside(height):
        pixels = studio.picture(Scene([Sphere(0.5)]), bodies_at((0.5, 0.5, height)), camera=camera)
        x, y = projected_px((0.5, 0.5, 0), camera)
        return int(pixels[int(y) - 25 : int(y) + 26, int(x) - 25 : int(x) + 26].min())

    assert ground_beside(0.5) < 0.75 * ground_beside(5.0)


def test_the_ground_has_lines_and_hides_no_body(studio):
    scene = Scene([Sphere(0.3, WHITE)], look="unlit")
    with_ground = studio.picture(scene, new_bodies(0))
    assert len(np.unique(with_ground[..., 0])) > 10
    assert lit_px(studio.picture(scene, bodies_at((0, 0, -1)))) > 300


def test_the_outline_is_hidden_by_what_stands_before_it(studio):
    camera = OrbitCamera(distance_m=10, azimuth_rad=0, elevation_rad=0)
    scene = dark([Sphere(0.5, RED)], outline=((-1, -1, -1), (-0.9, 1, 1)))
    x, y = (int(value) for value in projected_px((-1, 1, 0), camera))
    free = studio.picture(scene, bodies_at((0, 9, 0)), camera=camera)
    assert free[y, x - 3 : x + 4, 1].max() > 60
    hidden = studio.picture(scene, bodies_at((0, 1, 0)), camera=camera)
    assert hidden[y, x - 3 : x + 4, 1].max() == 0


def test_drawing_the_same_again_gives_the_same_pixels(studio):
    rng = np.random.default_rng(0)
    bodies = bodies_at(*rng.normal(0, 1.5, (60, 3)))
    renderer = studio.renderer(Scene([Sphere(0.3), Box()] * 30))
    upload(renderer, 0, bodies)
    upload(renderer, 1, bodies_at(*rng.normal(0, 1.5, (60, 3))))
    first = studio.draw(renderer, Layer(0, 1, alpha=0.4))
    studio.draw(renderer, Layer(0, 1, alpha=0.9))
    np.testing.assert_array_equal(studio.draw(renderer, Layer(0, 1, alpha=0.4)), first)


def test_growing_beyond_the_capacity_keeps_the_pair_that_is_drawn(studio):
    renderer = studio.renderer(dark([Sphere(0.3, WHITE)]), slots=3, capacity=2)
    upload(renderer, 0, bodies_at((0, 0, 0)))
    upload(renderer, 1, bodies_at((1, 0, 0)))
    before = studio.draw(renderer, Layer(0, 1, alpha=0.5))
    many = bodies_at(*np.random.default_rng(0).normal(0, 2, (100, 3)))
    upload(renderer, 2, many)
    np.testing.assert_array_equal(studio.draw(renderer, Layer(0, 1, alpha=0.5)), before)
    assert lit_px(studio.draw(renderer, Layer(1, 2, alpha=1.0))) > 5 * lit_px(before)


def test_an_older_snapshot_larger_than_the_newers_buffer_is_held(studio):
    renderer = studio.renderer(dark([Sphere(0.3, WHITE)]), slots=3, capacity=1)
    upload(renderer, 1, bodies_at((0, 0, 0)))
    upload(renderer, 0, bodies_at((-1, 0, 0), (1, 0, 0)))
    np.testing.assert_array_equal(studio.draw(renderer, Layer(0, 1, alpha=0.5)), studio.draw(renderer, Layer(0)))


def test_a_scene_published_anew_changes_shapes_and_keeps_snapshots(studio):
    renderer = studio.renderer(dark([Sphere(0.3, RED)]))
    upload(renderer, 0, bodies_at((0, 0, 0)))
    renderer.set_scene(dark([Box((1, 1, 1), GREEN)]))
    pixels = studio.draw(renderer, Layer(0))
    assert pixels[..., 0].max() == 0
    assert pixels[..., 1].max() == 255


def test_an_empty_world_is_drawn(studio):
    assert studio.picture(dark([]), new_bodies(0)).max() == 0


def test_gpu_time_is_unknown_before_the_first_frame_and_where_the_cpu_draws(studio):
    renderer = studio.renderer(dark([Sphere()]))
    assert renderer.gpu_ns is None
    upload(renderer, 0, bodies_at((0, 0, 0)))
    studio.draw(renderer, Layer(0))
    renderer_name = studio.context.info["GL_RENDERER"]
    assert renderer.gpu_ns is None if is_software(renderer_name) else renderer.gpu_ns > 0


def test_bad_requests_are_refused_with_the_way_out(studio):
    with pytest.raises(TwixtError, match="at least 3 slots"):
        studio.renderer(Scene([]), slots=2)
    renderer = studio.renderer(Scene([]))
    with pytest.raises(TwixtError, match="none, linear, hermite, auto"):
        studio.draw(renderer, Layer(0, method="cubic"))
