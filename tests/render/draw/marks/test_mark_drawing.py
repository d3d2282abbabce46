"""Marks in pictures, checked by their pixels, most of them against bodies of the same shape."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, WHOLE, matrices, upload
from tests.render.draw.test_scene_renderer import BLUE, bodies_at, centroid_px, dark, projected_px
from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Plane, Scene, Sphere
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw import transparency
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.meshes import mesh_drawing
from twixt.render.draw.quality import LEVELS, LIT_LEVELS
from twixt.sim.world.marks import Marks

SIDE = OrbitCamera(distance_m=10, azimuth_rad=0, elevation_rad=0)  # x towards the eye, y to the right, z up
PARALLEL = OrbitCamera(distance_m=10, azimuth_rad=0, elevation_rad=0, orthographic=True)
NEAR = OrbitCamera(distance_m=5)
RED, GREEN = (1, 0, 0), (0, 1, 0)
# A kind, a size, the shape of a body that is the same.
SAME = [
    ("box", (0.9, 0.6, 1.2), Box((0.9, 0.6, 1.2))),
    ("capsule", (0.3, 0.8), Capsule(0.3, 0.8)),
    ("cylinder", (0.35, 1.0), Cylinder(0.35, 1.0)),
    ("ellipsoid", (1.3, 0.8, 0.5), Ellipsoid((1.3, 0.8, 0.5))),
    ("sphere", 0.4, Ellipsoid((0.8, 0.8, 0.8))),
]
by_shape = pytest.mark.parametrize(("kind", "size", "shape"), SAME, ids=[kind for kind, *_ in SAME])


def some(kind, position, **options):
    marks = Marks()
    marks.add(kind, position, **options)
    return marks.records


def drawn(studio, scene, bodies, marks=None, camera=SIDE, level=LEVELS[0]):
    """A picture of a scene; without marks for None."""
    renderer = studio.renderer(scene)
    upload(renderer, 0, bodies)
    renderer.level = level
    studio.framebuffer.use()
    renderer.draw([Layer(0)], matrices(camera), WHOLE, *(() if marks is None else (marks,)))
    renderer.finish()
    pixels = renderer.read_pixels()
    renderer.release()
    return pixels


def alone(studio, marks, camera=SIDE):
    """Marks in their plain colours on black."""
    return drawn(studio, dark([]), new_bodies(0), marks, camera)


def random_poses(count, seed=3):
    rng = np.random.default_rng(seed)
    bodies = new_bodies(count)
    bodies["position"] = rng.uniform((-2, -2, -1), (2, 2, 1.5), (count, 3))
    turns = rng.normal(size=(count, 4))
    bodies["orientation"] = turns / np.linalg.norm(turns, axis=1)[:, None]
    bodies["color"][:, :3] = rng.integers(40, 255, (count, 3))
    return bodies


@by_shape
@pytest.mark.parametrize("count", [20, 400], ids=["rectangles", "points"])
@pytest.mark.parametrize("level", [LEVELS[0], LEVELS[-1]], ids=lambda level: level.name)
@pytest.mark.parametrize("look", ["lit", "flat"])
def test_a_mark_looks_as_a_body_of_its_shape(studio, kind, size, shape, count, level, look):
    bodies = random_poses(count)
    camera = NEAR if count == 20 else OrbitCamera(distance_m=25)
    marks = some(
        kind, bodies["position"], size=size,
        orientation=None if kind == "sphere" else bodies["orientation"], color=bodies["color"],
    )  # fmt: skip
    options = {"ground_z": None, "look": look}
    white = [type(shape)(*_arguments(shape), (1.0, 1.0, 1.0))]
    as_bodies = drawn(studio, Scene(white * count, **options), bodies, None, camera, level).astype(int)
    as_marks = drawn(studio, Scene([], **options), new_bodies(0), marks, camera, level).astype(int)
    assert (as_bodies != as_bodies[0, 0]).any(axis=2).mean() > 0.02
    assert (np.abs(as_bodies - as_marks).max(axis=2) > 3).mean() < 0.001


def _arguments(shape):
    return (shape.size,) if isinstance(shape, Box | Ellipsoid) else (shape.radius, shape.length)


def cone_mesh(radius, length, sides=256):
    around = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    rim = np.stack((radius * np.cos(around), radius * np.sin(around), np.full(sides, -length / 2)), axis=1)
    vertices = np.vstack((rim, [(0, 0, length / 2), (0, 0, -length / 2)]))
    one, other = np.arange(sides), (np.arange(sides) + 1) % sides
    faces = [np.stack((one, other, np.full(sides, end)), axis=1) for end in (sides, sides + 1)]
    return Mesh(vertices, np.concatenate(faces), color=(1.0, 1.0, 1.0))


@pytest.mark.parametrize("camera", [NEAR, PARALLEL], ids=["perspective", "orthographic"])
def test_heads_of_arrows_have_the_outline_of_cones_from_all_sides(studio, monkeypatch, camera):
    """An arrow as long as its head is a cone alone."""
    monkeypatch.setattr(mesh_drawing, "MOST_EDGES_SOFTWARE", 0)  # they are outside of the outline
    monkeypatch.setattr(mesh_drawing, "MOST_EDGES_GPU", 0)
    mesh = cone_mesh(1.0, 2.4)
    for pose in random_poses(12, seed=1):
        body = pose.reshape(1).copy()
        body["color"], body["position"] = 255, body["position"] * 0.3
        as_body = drawn(studio, dark([mesh]), body, None, camera)[..., 0] / 255
        start = new_bodies(1)
        start["position"], start["orientation"] = body["position"], body["orientation"]
        x, y, z, w = body["orientation"][0]
        along = np.array((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)))
        arrow = some("arrow", body["position"] - 1.2 * along, to=body["position"] + 1.2 * along, size=0.4)
        as_mark = alone(studio, arrow, camera)[..., 0] / 255
        assert as_body.sum() > 300
        assert as_mark.sum() == pytest.approx(as_body.sum(), rel=0.01)
        assert (np.abs(as_mark - as_body) > 0.6).sum() <= 4, "but for pixels of the border"


def test_arrows_lines_and_axes_are_where_they_should_be_and_as_large(studio):
    px = (matrices(PARALLEL).projection[1, 1] * SIZE_PX[1] / 2) ** 2  # of a square metre
    arrow = alone(studio, some("arrow", (0, -1, 0.5), to=(0, 2, 0.5), size=0.1), PARALLEL)
    assert arrow[..., 0].sum() / 255 == pytest.approx(px * (0.2 * 2.4 + 0.25 * 0.6), rel=0.03)
    line = alone(studio, some("line", (0, -1, -0.5), to=(0, 2, 1), size=0.05), PARALLEL)
    assert line[..., 0].sum() / 255 == pytest.approx(px * 0.1 * math.hypot(3, 1.5), rel=0.03)
    assert centroid_px(line) == pytest.approx(projected_px((0, 0.5, 0.25), PARALLEL), abs=0.3)
    thin = alone(studio, some("line", (0, -1, -0.5), to=(0, 2, 1)), PARALLEL)
    length_px = math.dist(projected_px((0, -1, -0.5), PARALLEL), projected_px((0, 2, 1), PARALLEL))
    assert thin[..., 0].sum() / 255 == pytest.approx(length_px, rel=0.05)
    axes = alone(studio, some("axes", (0, -1, 0), size=2.0), PARALLEL)
    for end, channel in (((0, 0.9, 0), 1), ((0, -1, 1.9), 2)):
        x, y = (int(at) for at in projected_px(end, PARALLEL))
        assert axes[y, x].argmax() == channel
        assert axes[y, x].max() > 150


def test_marks_hide_and_are_hidden_by_their_depth(studio):
    scene, body = dark([Sphere(0.5, BLUE)]), bodies_at((0, 0, 0))
    middle = SIZE_PX[1] // 2, SIZE_PX[0] // 2
    for kind, size in (
        ("sphere", 0.2),
        ("box", 0.4),
        ("capsule", (0.2, 0.2)),
        ("cylinder", (0.2, 0.5)),
        ("line", (0, 0.1)),
    ):
        size = (size,) * 3 if kind == "box" else size
        for x, is_seen in ((2, True), (0, False), (-2, False)):
            pixels = drawn(studio, scene, body, some(kind, (x, 0, 0), size=size, color=RED))
            red = pixels[middle[0] - 8 : middle[0] + 9, middle[1] - 8 : middle[1] + 9, 0]
            assert (red.max() > 100) == is_seen, (kind, x)
    head = some("arrow", (2, 0, -0.25), to=(2, 0, 0.25), size=0.1, color=RED)
    assert drawn(studio, scene, body, head)[middle][0] > 200
    head["position"][:, 0] = -2
    assert drawn(studio, scene, body, head)[..., 0].max() == 0


def test_marks_that_intersect_share_the_picture_by_depth(studio):
    marks = Marks()
    marks.add("sphere", (0.3, -0.2, 0), size=0.5, color=RED)
    marks.add("box", (0.3, 0.2, 0), size=(1, 1, 1), color=GREEN)
    forth, back = alone(studio, marks.records), alone(studio, marks.records[::-1].copy())
    np.testing.assert_array_equal(forth, back)
    assert forth[..., 0].max() > 250
    assert forth[..., 1].max() > 250
    assert not ((forth[..., 0] > 150) & (forth[..., 1] > 150)).any()


def test_no_marks_are_no_change_and_pictures_forget_those_before(studio):
    scene, body = Scene([Sphere(0.5)]), bodies_at((0, 0, 0.5))
    renderer = studio.renderer(scene)
    upload(renderer, 0, body)

    def picture(*marks):
        studio.framebuffer.use()
        renderer.draw([Layer(0)], matrices(SIDE), WHOLE, *marks)
        renderer.finish()
        return renderer.read_pixels()

    without, many = picture(), random_poses(5000)["position"]
    for marks in (some("sphere", many, size=0.05), some("line", many, to=many + 0.1), some("axes", many[:3], size=0.2)):
        assert (picture(marks) != without).any()
        np.testing.assert_array_equal(picture(marks[:0]), without)
        np.testing.assert_array_equal(picture(), without)
    renderer.release()


def test_many_after_few_are_all_drawn(studio):
    renderer = studio.renderer(dark([]))
    rng = np.random.default_rng(0)
    for count in (3, 20_000, 5):
        places = np.column_stack([np.zeros(count), rng.uniform(-2.5, 2.5, (count, 2))])
        studio.framebuffer.use()
        renderer.draw([], matrices(SIDE), WHOLE, some("sphere", places, size=0.04))
        renderer.finish()
        pixels = renderer.read_pixels()
        x, y = np.transpose([projected_px(place, SIDE) for place in places[:500]]).astype(int)
        assert (pixels[y, x, 0] > 100).all()
    renderer.release()


def test_sizes_at_the_end_of_numbers_do_not_harm_other_marks(studio):
    good = some("sphere", (0, 1, 0), size=0.3, color=GREEN)
    for kind, size in (
        ("sphere", 1e29),
        ("box", (1e29, 1, 1e-29)),
        ("arrow", (1e-20, 1e29)),
        ("capsule", (1e20, 1e-20)),
    ):
        odd = some(kind, (0, -1e29, 0), size=size, color=RED)
        both = alone(studio, np.concatenate((odd, good)))
        assert (both[..., 1] > 200).sum() == (alone(studio, good)[..., 1] > 200).sum()


def test_programs_that_more_marks_or_a_cheaper_level_need_are_made_in_idle_time(studio):
    renderer = studio.renderer(dark([]))
    studio.framebuffer.use()
    renderer.draw([], matrices(SIDE), WHOLE, some("capsule", (0, 0, 0), size=(0.2, 0.4)))
    renderer.finish()
    before = renderer.read_pixels()
    upload(renderer, 0, bodies_at((0, 0, 99)))
    steps = 0
    while renderer.prepare():
        steps += 1
    assert steps >= 6, "two more of capsules, one of each other solid"
    np.testing.assert_array_equal(renderer.read_pixels(), before)
    renderer.release()


def test_marks_are_seen_through_by_their_alpha_from_back_to_front(studio):
    middle = SIZE_PX[1] // 2, SIZE_PX[0] // 2
    scene, body = dark([Sphere(0.5, BLUE)]), bodies_at((0, 0, 0))
    half = Marks()
    half.add("sphere", (2, 0, 0), size=0.3, color=np.uint8([255, 0, 0, 128]))
    half.add("box", (1, 0, 0), size=(0.4, 0.4, 0.4), color=np.uint8([0, 255, 0, 128]))
    half.add("sphere", (-2, 0, 0), size=0.3, color=np.uint8([255, 255, 255, 128]))
    for records in (half.records, half.records[::-1].copy()):
        seen = drawn(studio, scene, body, records)[middle].astype(int)
        assert seen == pytest.approx((128, 64, 64), abs=3)
    gone = some("capsule", (2, 0, 0), size=(0.3, 0.3), color=np.uint8([255, 0, 0, 0]))
    np.testing.assert_array_equal(drawn(studio, scene, body, gone), drawn(studio, scene, body))


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("box", (1, 1, 1)),
        ("capsule", (0.4, 0.4)),
        ("cylinder", (0.4, 1)),
        ("ellipsoid", (1, 1, 1)),
        ("arrow", (0.3, 1)),
    ],
)
def test_each_kind_is_seen_through(studio, kind, size):
    at = (0, 0, -0.5) if kind == "arrow" else (0, 0, 0)
    red = alone(studio, some(kind, at, size=size, color=RED))[..., 0].astype(int)
    through = alone(studio, some(kind, at, size=size, color=np.uint8([255, 0, 0, 51])))[..., 0].astype(int)
    assert red.max() == 255
    assert (np.abs(through - red / 5) > 6).mean() < 0.002


def test_many_of_all_kinds_are_seen_through(studio):
    places = random_poses(3000)["position"]
    marks = Marks()
    for at in range(0, 3000, 3):
        marks.add("sphere", places[at], size=0.1, color=np.uint8([255, 0, 0, 60]))
        marks.add("box", places[at + 1], size=(0.1, 0.1, 0.1), color=np.uint8([0, 255, 0, 60]))
        marks.add("arrow", places[at + 2], to=places[at + 2] + 0.3, size=0.02, color=np.uint8([0, 0, 255, 60]))
    pixels = alone(studio, marks.records)
    assert (pixels.max(axis=2) > 40).mean() > 0.02
    assert pixels.reshape(-1, 3).max(axis=0).min() > 60


@pytest.mark.parametrize("level", LIT_LEVELS[:2], ids=lambda level: level.name)
def test_where_shadows_are_mapped_they_fall_on_marks(studio, level):
    floor, roof = Box((6, 6, 0.2), color=(0.8, 0.8, 0.8)), Box((1.5, 1.5, 0.1))
    scene = Scene([floor, roof], ground_z=None, light=(0, 0, 1))
    above, aside = bodies_at((0, 0, -0.1), (0, 0, 2)), bodies_at((0, 0, -0.1), (2, 2, 2))
    mark = some("box", (0, 0, 0.5), size=(0.6, 0.6, 0.6), color=RED)
    camera = OrbitCamera(target=(0, 0, 0.5), distance_m=8, elevation_rad=0.5)
    x, y = (int(at) for at in projected_px((0, 0, 0.8), camera))
    shaded, lit = (drawn(studio, scene, bodies, mark, camera, level)[y, x, 0] for bodies in (above, aside))
    assert shaded < 0.85 * lit


@pytest.mark.parametrize("level", LIT_LEVELS[:2], ids=lambda level: level.name)
@pytest.mark.parametrize(
    ("kind", "size"), [("box", (0.6, 0.6, 0.6)), ("capsule", (0.3, 0.2)), ("ellipsoid", (0.6, 0.6, 0.6))]
)
def test_where_shadows_are_mapped_opaque_marks_cast_the_shadow_of_a_body(studio, level, kind, size):
    floor, shape = Box((6, 6, 0.2), color=(0.8, 0.8, 0.8)), {kind: shape for kind, _, shape in SAME}[kind]
    body = type(shape)(*((size,) if kind != "capsule" else size), (1.0, 0.0, 0.0))
    camera = OrbitCamera(target=(0, 0, 0.5), distance_m=16, elevation_rad=0.7)
    place, light = (-3.5, 0, 4.5), {"ground_z": None, "light": (-1, 0, 1)}  # farther off than the floor's shadows reach
    alone = Scene([floor], **light)
    without = drawn(studio, alone, bodies_at((0, 0, -0.1)), None, camera, level).astype(int)
    as_body = drawn(studio, Scene([floor, body], **light), bodies_at((0, 0, -0.1), place), None, camera, level)
    as_mark, through = (
        drawn(studio, alone, bodies_at((0, 0, -0.1)), some(kind, place, size=size, color=color), camera, level)
        for color in (RED, (1, 0, 0, 2 / 255))
    )
    x, y = (int(at) for at in projected_px((1.0, 0, 0), camera))  # where the light through its middle meets the floor
    assert (without[y, x] - as_mark[y, x]).max() > 40
    assert (np.abs(as_body.astype(int) - as_mark).max(axis=2) > 12).mean() < 0.002
    assert (np.abs(through - without).max(axis=2) > 12).mean() < 0.002


@pytest.mark.parametrize("solids", [1, 3], ids=["one run", "many runs"])
@pytest.mark.parametrize("body_at", [0, 1, 2])
def test_marks_and_bodies_that_are_seen_through_are_sorted_together(studio, monkeypatch, body_at, solids):
    """Three things in a row towards the eye, of which one is a body: each in its place, whichever it is."""
    middle = SIZE_PX[1] // 2, SIZE_PX[0] // 2
    kinds = [("sphere", 0.4), ("box", (0.6, 0.6, 0.6)), ("cylinder", (0.4, 0.6))]
    colors = [(255, 0, 0, 128), (0, 255, 0, 64), (0, 0, 255, 192)]
    seen = np.zeros(3)
    for color in colors:  # from the farthest
        seen = seen * (1 - color[3] / 255) + np.array(color[:3]) * (color[3] / 255)
    body = bodies_at((2 * body_at, 0, 0))
    paint = tuple(channel / 255 for channel in colors[body_at])
    marks = Marks()
    for at, color in enumerate(colors):
        if at != body_at:
            kind, size = kinds[at % solids]
            marks.add(kind, (2 * at, 0, 0), size=size, color=np.uint8(color))
    for shape in (Sphere(0.4, paint), Box((0.6, 0.6, 0.6), paint), Mesh(*cube(), color=paint)):
        pixels = drawn(studio, dark([shape]), body, marks.records)
        assert pixels[middle].astype(int) == pytest.approx(seen, abs=4), shape
    monkeypatch.setattr(transparency, "MOST_RUNS", 1)  # too many runs: each kind for itself, and all are drawn
    pixels = drawn(studio, dark([Sphere(0.4, paint)]), body, marks.records)
    assert pixels[middle].astype(int).min() > 5


def cube():
    corners = np.array([(x, y, z) for x in (-0.3, 0.3) for y in (-0.3, 0.3) for z in (-0.3, 0.3)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, [tri for a, b, c, d in sides for tri in ((a, b, c), (a, c, d))]


def test_a_floor_that_is_seen_through_parts_marks_above_it_from_those_below(studio):
    """The floor's middle is nearer than both marks."""
    camera = OrbitCamera(distance_m=10, elevation_rad=0.5, azimuth_rad=0)
    floor = Plane((40, 40), (0, 0, 1, 0.5))
    scene, body = Scene([floor], ground_z=None, background=(0, 0, 0), look="unlit"), bodies_at((6, 0, 0))
    marks = Marks()
    marks.add("sphere", (-2, 1, 0.5), size=0.4, color=np.uint8([255, 0, 0, 128]))
    marks.add("sphere", (-2, -1, -0.5), size=0.4, color=np.uint8([255, 0, 0, 128]))
    pixels = drawn(studio, scene, body, marks.records, camera).astype(int)
    for place, expected in (((-2, 1, 0.5), (128, 0, 64)), ((-2, -1, -0.5), (64, 0, 128))):
        x, y = (int(at) for at in projected_px(place, camera))
        assert pixels[y, x] == pytest.approx(expected, abs=4)


def test_in_the_flat_look_heads_of_arrows_have_their_plain_colour_within_an_outline(studio):
    scene = Scene([], ground_z=None, background=(1, 1, 1), look="flat")
    head = some("arrow", (0, 0, -1), to=(0, 0, 1), size=0.4, color=np.uint8([200, 100, 50, 255]))
    for camera in (SIDE, OrbitCamera(distance_m=10, elevation_rad=-0.9)):
        pixels = drawn(studio, scene, new_bodies(0), head, camera).astype(int)
        is_plain = (np.abs(pixels - (200, 100, 50)).max(axis=2) <= 2).sum()
        is_darker = (pixels[..., 0] < 140).sum()
        assert is_plain > 1000
        assert 50 < is_darker < 0.25 * is_plain
