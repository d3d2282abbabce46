"""Boxes, capsules, cylinders and ellipsoids, against points along each pixel's ray that lie in them or not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, matrices, upload
from tests.render.draw.test_scene_renderer import GREEN, RED, WHITE, bodies_at, dark, lit_px
from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Scene, Sphere
from twixt.ipc.scene.scene import shape_list
from twixt.render.draw.bodies import shape_draws
from twixt.render.draw.bodies.shape_rows import half_size
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.frame_block import quaternion_of
from twixt.render.draw.frame.layers import Layer

SHAPES = [
    Box((0.9, 0.6, 1.2), WHITE),
    Capsule(0.3, 0.8, WHITE),
    Cylinder(0.35, 1.0, WHITE),
    Ellipsoid((1.3, 0.8, 0.5), WHITE),
]
# Few, many, and so many that it is asked for large ones.
QUALITIES = {"large": (10**9, 10**9, 10**9), "points": (0, 10**9, 10**9), "plain": (0, 0, 0)}
SAMPLES = 100
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
by_quality = pytest.mark.parametrize("quality", QUALITIES)


@pytest.fixture(scope="module")
def picture(studio):
    """Draws bodies, by one renderer for each scene: most of the time goes into making programs."""
    renderers = {}

    def draw(scene, bodies, camera):
        key = shape_list(scene).table, tuple(shape_list(scene).rows.tolist()), scene.look
        if key not in renderers:
            renderers[key] = studio.renderer(scene, capacity=8)
        upload(renderers[key], 0, bodies)
        return studio.draw(renderers[key], Layer(0), camera=camera)

    return draw


@pytest.fixture
def drawn_as(monkeypatch):
    """Chooses by which programs bodies are drawn, however many there are."""

    def choose(quality):
        for name, count in zip(("FEW_RAY_CAST", "MANY", "ASKED"), QUALITIES[quality], strict=True):
            monkeypatch.setattr(shape_draws, name, count)

    return choose


def is_inside(shape, points, grown=0.0):
    """Whether points (..., 3) in the body's frame are in the shape, or within `grown` metres of it, about."""
    x, y, z = half_size(shape)
    match shape:
        case Box():
            return (np.abs(points) <= np.add((x, y, z), grown)).all(axis=-1)
        case Capsule():
            beyond = np.maximum(np.abs(points[..., 2]) - z, 0.0)
            return np.hypot(np.linalg.norm(points[..., :2], axis=-1), beyond) <= x + grown
        case Cylinder():
            return (np.linalg.norm(points[..., :2], axis=-1) <= x + grown) & (np.abs(points[..., 2]) <= z + grown)
    return ((points / np.add((x, y, z), grown)) ** 2).sum(axis=-1) <= 1


def reference(shape, body, camera):
    """Where rays meet the shape, (height, width) metres along the view, infinite where they do not."""
    return references(shape, body, camera, [0.0])[0]


def references(shape, body, camera, grown):
    """The same of the shape and of what is within these lengths of it."""
    view, projection, *_ = matrices(camera)
    rotation = view[:3, :3].astype(np.float64) @ turned(body["orientation"])
    center = (view @ np.append(body["position"], 1.0))[:3].astype(np.float64)
    across = (np.arange(SIZE_PX[0]) + 0.5) / SIZE_PX[0] * 2 - 1
    up = 1 - (np.arange(SIZE_PX[1]) + 0.5) / SIZE_PX[1] * 2
    rays = np.stack(np.broadcast_arrays(across / projection[0, 0], up[:, None] / projection[1, 1], -1.0), axis=-1)
    reach = shape.reach + max(grown)
    nearest = rays @ center / (rays**2).sum(axis=-1)
    near_it = (np.linalg.norm(rays * nearest[..., None] - center, axis=-1) < reach) & (nearest > -reach)
    steps = np.linspace(-reach, reach, SAMPLES)
    depths = nearest[near_it, None] + steps / np.linalg.norm(rays[near_it], axis=-1)[:, None]
    in_body = (rays[near_it] @ rotation)[:, None] * depths[..., None] - center @ rotation
    found = np.full((len(grown), *near_it.shape), math.inf)
    for met, more in zip(found, grown, strict=True):
        inside = is_inside(shape, in_body, more) & (depths > camera.near_m)
        met[near_it] = np.where(inside.any(axis=1), depths[np.arange(len(depths)), inside.argmax(axis=1)], math.inf)
    return found


def turned(q):
    x, y, z, w = (float(value) for value in q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def body_at(position, seed=0):
    body = bodies_at(position)
    q = np.random.default_rng(seed).normal(size=4)
    body["orientation"] = q / np.linalg.norm(q)
    return body


def assert_covers(pixels, shape, body, camera, off_px=0.6):
    """White where the shape is, black where it is not, but for pixels that its outline is nearer to than `off_px`."""
    view, projection, *_ = matrices(camera)
    distance = float(np.linalg.norm((view @ np.append(body["position"], 1.0))[:3]))
    margin = off_px * distance * 2 / (projection[1, 1] * SIZE_PX[1])
    within, beyond = np.isfinite(references(shape, body, camera, [-margin, margin]))
    assert within.sum() > 10
    assert (pixels[within].min(axis=1) > 127).all()
    assert (pixels[~beyond].max(axis=1) < 128).all()


@by_quality
@by_shape
@pytest.mark.parametrize("seed", [1])
def test_a_shape_covers_the_pixels_whose_rays_meet_it(picture, drawn_as, quality, shape, seed):
    drawn_as(quality)
    camera = OrbitCamera(distance_m=26 if quality != "large" else 13)
    body = body_at((1.5 * seed, -0.5, 0.7), seed)
    assert_covers(picture(dark([shape]), body, camera), shape, body[0], camera)


@by_shape
def test_along_its_axes_a_shape_is_seen_as_well(picture, drawn_as, shape):
    for quality, distance_m in (("large", 13), ("points", 26), ("plain", 26)):
        drawn_as(quality)
        for azimuth, elevation in ((0.0, 0.0), (0.3, math.radians(89.5))):
            camera = OrbitCamera(distance_m=distance_m, azimuth_rad=azimuth, elevation_rad=elevation)
            body = bodies_at((0, 0, 0))
            assert_covers(picture(dark([shape]), body, camera), shape, body[0], camera)


@by_quality
@by_shape
def test_every_size_is_drawn_once_from_a_pixel_to_the_whole_picture(picture, drawn_as, quality, shape):
    drawn_as(quality)
    scene = Scene([shape], ground_z=None, background=(0, 0, 0), look="unlit")
    body = body_at((0, 0, 0), 5)
    areas = []
    for distance_m in np.geomspace(60, 2.2, 40):
        areas.append(picture(scene, body, OrbitCamera(distance_m=distance_m))[..., 0].sum() / 255)
    # As large as the square of how near it is, and a bit more where perspective brings its front nearer.
    areas = np.array(areas)
    near = areas * np.geomspace(60, 2.2, 40) ** 2
    assert (np.abs(np.diff(near) / near[:-1]) < 0.05 + 2.5 / np.sqrt(areas[:-1])).all()
    assert areas[0] > 3


@by_quality
@by_shape
def test_a_wall_cuts_a_shape_where_its_surface_is(picture, drawn_as, quality, shape):
    camera = OrbitCamera(distance_m=26 if quality != "large" else 13, azimuth_rad=0, elevation_rad=0)
    colored = type(shape)(**{**{f: getattr(shape, f) for f in shape.__dataclass_fields__}, "color": RED})
    body = body_at((0, 0.7, 0.3), 2)
    depth, inner = references(shape, body[0], camera, [0.0, -0.06 if quality == "large" else -0.12])
    # A box with its front in the plane that goes through the middle of the shape's near side.
    wall_depth = float(np.median(depth[np.isfinite(depth)]))
    bodies = np.concatenate([body, bodies_at((camera.distance_m - wall_depth - 2.0, 0, 0))])
    drawn_as(quality)
    scene = dark([colored, Box((4.0, 30.0, 30.0), GREEN)])
    pixels = picture(scene, bodies, camera)
    margin = 0.03 if quality == "large" else 0.1
    before, behind = depth < wall_depth - margin, (depth > wall_depth + margin) & np.isfinite(depth)
    assert before.sum() > 5
    assert behind.sum() > 5
    inner = np.isfinite(inner)
    assert (pixels[before & inner][:, 0] > 200).all()
    assert (pixels[behind & inner][:, 1] > 200).all()


@by_quality
@by_shape
def test_a_shape_at_the_border_of_the_picture_is_cut_off_there(picture, drawn_as, quality, shape):
    drawn_as(quality)
    camera = OrbitCamera(distance_m=26 if quality != "large" else 13, azimuth_rad=0, elevation_rad=0)
    half_m = camera.distance_m * math.tan(math.radians(camera.fov_y_deg) / 2)
    for y, z in ((half_m * 4 / 3, 0.0), (-half_m * 4 / 3 - 0.1, 0.1), (0.0, half_m - 0.1), (0.3, -half_m - 0.1)):
        body = body_at((0, y, z), 3)
        pixels = picture(dark([shape]), body, camera)
        inside = np.isfinite(reference(shape, body[0], camera))
        assert lit_px(pixels) == pytest.approx(inside.sum(), abs=8 + 0.05 * inside.sum())


@by_quality
@by_shape
def test_around_the_eye_or_behind_it_a_shape_is_no_obstacle_and_right_before_it_fills_the_picture(
    picture, drawn_as, quality, shape
):
    drawn_as(quality)
    camera = OrbitCamera(distance_m=3)
    eye, toward = np.array(camera.eye), -np.array(camera.eye) / 3
    for away, filled in ((0.0, 0.0), (-1.5, 0.0), (0.02 + min(half_size(shape)), 1.0)):
        body = bodies_at(tuple(eye + toward * away))
        # The shortest way through it along the view.
        body["orientation"] = quaternion_of(_facing(toward, int(np.argmin(half_size(shape)))))
        pixels = picture(dark([shape]), body, camera)
        assert lit_px(pixels) / (SIZE_PX[0] * SIZE_PX[1]) == pytest.approx(filled, abs=0.001)


def _facing(toward, axis):
    """A rotation that turns the body's axis of this number to look that way."""
    first = toward / np.linalg.norm(toward)
    second = np.cross(first, (0.0, 0.0, 1.0))
    second /= np.linalg.norm(second)
    columns = [first, second, np.cross(first, second)]
    return np.stack([columns[(place - axis) % 3] for place in range(3)], axis=1)


@by_quality
@by_shape
def test_hidden_and_broken_bodies_leave_no_pixel(picture, drawn_as, quality, shape):
    drawn_as(quality)
    bodies = bodies_at((0, 0, 0), (math.nan, 0, 0), (math.inf, 0, 0), (0, 0, 0), (0, 0, 0))
    bodies["flags"][0] = 0
    bodies["scale"][3:] = math.nan, 0.0
    assert lit_px(picture(dark([shape]), bodies, None)) == 0


@by_quality
@by_shape
def test_scale_scales_and_the_records_colour_multiplies_the_shapes(picture, drawn_as, quality, shape):
    drawn_as(quality)
    camera = OrbitCamera(distance_m=26 if quality != "large" else 13)
    body = body_at((0, 0, 0), 1)
    body["scale"], body["color"] = 0.5, (255, 128, 0, 255)
    pixels = picture(dark([shape]), body, camera)
    x, y, z = (2 * value for value in half_size(shape))
    halved = {
        Box: lambda: Box((x / 2, y / 2, z / 2), WHITE),
        Capsule: lambda: Capsule(x / 4, z / 2, WHITE),
        Cylinder: lambda: Cylinder(x / 4, z / 2, WHITE),
        Ellipsoid: lambda: Ellipsoid((x / 2, y / 2, z / 2), WHITE),
    }[type(shape)]()
    same = body_at((0, 0, 0), 1)
    np.testing.assert_allclose(pixels[..., 0], picture(dark([halved]), same, camera)[..., 0], atol=1)
    assert pixels.reshape(-1, 3).max(axis=0) == pytest.approx((255, 128, 0), abs=1)


@by_quality
def test_a_capsule_that_is_hardly_long_and_a_ball_like_ellipsoid_look_like_a_sphere(picture, drawn_as, quality):
    drawn_as(quality)
    camera = OrbitCamera(distance_m=5 if quality == "large" else 20)
    body = body_at((0.4, 0.2, 0.1), 4)
    ball = picture(Scene([Sphere(0.6, RED)], ground_z=None), body, camera).astype(int)
    most = {"large": 12, "points": 40, "plain": 70}[quality]
    for shape in (Capsule(0.6, 1e-4, RED), Ellipsoid((1.2, 1.2, 1.2), RED)):
        pixels = picture(Scene([shape], ground_z=None), body, camera)
        assert np.mean(np.abs(pixels - ball).max(axis=2) > most) < 0.0015


@by_shape
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_spin_about_any_axis_is_seen(picture, shape, axis):
    still, spun = body_at((0, 0, 0), 6), body_at((0, 0, 0), 6)
    rotation = turned((*(math.sin(0.25) * np.array(axis)), math.cos(0.25)))
    spun["orientation"] = quaternion_of(turned(still["orientation"][0]) @ rotation)
    scene = Scene([shape], ground_z=None, pattern=True)
    camera = OrbitCamera(distance_m=5)
    change = np.abs(picture(scene, still, camera).astype(int) - picture(scene, spun, camera))
    assert (change.max(axis=2) > 15).sum() > 100


@by_quality
def test_of_many_bodies_the_large_ones_are_there_as_well(picture, drawn_as, quality):
    drawn_as(quality)
    camera = OrbitCamera(distance_m=12, azimuth_rad=0, elevation_rad=0)
    places = [(0.0, -2.0, 0.0), (0.0, 2.0, 0.0)]
    alone = [picture(dark([Box((size,) * 3, WHITE)]), bodies_at(place), camera)
             for size, place in zip((0.3, 2.5), places, strict=True)]  # fmt: skip
    both = dark([Box((0.3,) * 3, WHITE), Box((2.5,) * 3, WHITE)])
    np.testing.assert_array_equal(picture(both, bodies_at(*places), camera), np.maximum(*alone))


def test_only_as_many_programs_are_made_as_bodies_need(studio, drawn_as):
    renderer = studio.renderer(dark([Capsule(0.3, 0.5, WHITE)] * 4))
    upload(renderer, 0, bodies_at(*[(0, y, 0) for y in range(4)]))
    studio.draw(renderer, Layer(0))
    assert {name for name, _ in renderer._bodies.programs._made} == {"large capsules"}
    drawn_as("plain")
    studio.draw(renderer, Layer(0), camera=OrbitCamera(distance_m=40))
    assert {name for name, _ in renderer._bodies.programs._made} == {
        "large capsules",
        "plain capsules",
        "beyond capsules",
    }
