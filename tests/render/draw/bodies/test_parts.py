"""Bodies of several parts: the picture is that of separate bodies, wherever the parts are and whatever draws them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.render.draw.conftest import upload
from tests.render.draw.parts_apart import TOY, TWO, apart, assert_alike, tumbling
from tests.render.draw.test_agreement import angles_between, moving_bodies, shader_poses, unit
from twixt.ipc.scene import Box, Capsule, Compound, Part, Scene, Sphere
from twixt.ipc.scene.parts import PALETTE
from twixt.ipc.snapshot import Snapshot, new_bodies
from twixt.render import interpolation
from twixt.render.draw.bodies import shape_draws
from twixt.render.draw.bodies.shape_rows import part_rows, shape_table
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.interpolation.poses import records_of
from twixt.render.interpolation.quaternion import multiply, rotate

GAP_NS = 1_000_000_000
CAMERA = OrbitCamera(distance_m=11.0)
TOYS = Scene([TOY, Sphere(0.4), TWO, TOY, Box((0.5, 0.5, 0.5)), TOY])
COUNT = 9  # more than the scene has shapes


def drawn_apart(studio, scene, bodies, camera=CAMERA):
    return studio.picture(*apart(scene, bodies), camera=camera)


# -- rows


def test_a_scene_of_simple_shapes_has_no_rows():
    assert part_rows(Scene([Sphere()] * 3), 3) is None
    assert part_rows(Scene(), 3) is None


def test_each_part_is_a_row_and_bodies_beyond_the_last_shape_have_its_parts():
    rows = part_rows(Scene([Sphere(), TWO, Compound([]), TWO]), 6)
    assert rows.bodies.tolist() == [0, 1, 1, 2, 3, 3, 4, 4, 5, 5]
    assert rows.first.tolist() == [0, 1, 3, 4, 6, 8]
    two = [part.shape for part in TWO.parts]
    assert list(rows.scene.shapes) == [Sphere(), *two, Compound([]), *two, *two, *two]
    assert rows.poses[2].tolist() == np.float32([0, 0, 0.6, 0, 0, 0, 1]).tolist()
    assert rows.arm_m == pytest.approx(0.6)
    for bodies, count in ((0, 0), (1, 1), (2, 3), (3, 4), (6, 10), (7, 10)):
        assert rows.rows_of(bodies) == count
    assert [rows.bodies_of(count) for count in (0, 1, 3, 4, 10)] == [0, 1, 2, 3, 6]


def test_parts_without_a_colour_share_their_bodys_colour_of_the_palette():
    scene = Scene([TWO] * 10)
    rows = part_rows(scene, 10)
    colors = shape_table(rows.scene, 20, rows.bodies).rows["color"][:, :3]
    assert colors.tolist() == PALETTE[np.repeat(np.arange(10) % len(PALETTE), 2)].tolist()
    of_bodies = shape_table(Scene([TWO, TOY]), 2).rows["color"][:, :3]
    assert of_bodies.tolist() == [PALETTE[0].tolist(), [230, 76, 51]]


def test_parts_may_have_more_distinct_shapes_than_bodies_may():
    heap = Compound([Part(Sphere(0.1 + 1e-5 * at)) for at in range(66_000)])
    rows = part_rows(Scene([heap]), 1)
    assert rows.scene.shapes[65_999] == heap.parts[-1].shape


# -- poses in the shader


def places(count, rng):
    return np.hstack((rng.normal(0, 2, (count, 3)), unit(rng.normal(size=(count, 4))))).astype(np.float32)


@pytest.mark.parametrize("method", ["none", "linear", "hermite", "auto"])
def test_the_shader_places_a_part_on_the_pose_that_its_body_has_without(studio, method):
    rng = np.random.default_rng(0)
    before, older, newer = moving_bodies(rng)
    at = places(len(older), rng)
    body = shader_poses(studio, older, newer, 0.3, method, before)
    part = shader_poses(studio, older, newer, 0.3, method, before, places=at)
    turn = body["orientation"].astype(np.float64)
    wanted = body["position"] + rotate(turn, at[:, :3] * body["scale"])
    size = np.linalg.norm(wanted, axis=1) + np.linalg.norm(body["position"], axis=1) + 1
    assert (np.linalg.norm(part["position"] - wanted, axis=1) < 1e-5 * size).all()
    assert angles_between(part["orientation"], multiply(turn, at[:, 3:].astype(np.float64))).max() < 1e-4
    for field in ("scale", "color", "visible"):
        np.testing.assert_array_equal(part[field], body[field])


def test_every_half_float_is_the_same_scale_with_parts(studio):
    older = new_bodies(1 << 16)
    older["scale"] = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    at = np.zeros((len(older), 7), np.float32)
    at[:, 6] = 1
    body, part = (shader_poses(studio, older, older, 0.0, places=places) for places in (None, at))
    np.testing.assert_array_equal(part["visible"], body["visible"])
    seen = body["visible"] > 0.5
    assert seen.sum() > 60_000
    np.testing.assert_array_equal(part["scale"][seen], body["scale"][seen])


def stretched(studio, turns, scale3):
    bodies = new_bodies(len(turns))
    bodies["scale"] = 2
    at = np.hstack((np.ones((len(turns), 3)), turns)).astype(np.float32)
    rows = np.tile(np.float32(scale3), (len(turns), 1))
    return shader_poses(studio, bodies, bodies, 0.0, scale3=(rows, rows), places=at)


def test_scales_along_the_axes_of_a_body_are_exact_for_parts_turned_by_right_angles(studio):
    half = math.sqrt(0.5)
    turns = [(0, 0, 0, 1), (half, 0, 0, half), (0, half, 0, half), (0, 0, half, half), (0.5, 0.5, 0.5, 0.5)]
    poses = stretched(studio, turns, (1, 2, 3))
    np.testing.assert_allclose(poses["position"], np.tile((2, 4, 6), (5, 1)), rtol=1e-6)
    wanted = [(2, 4, 6), (2, 6, 4), (6, 4, 2), (4, 2, 6), (4, 6, 2)]
    np.testing.assert_allclose(poses["scale"], wanted, rtol=1e-5)


def test_any_other_part_has_along_its_axes_what_these_directions_have_in_the_body(studio):
    turns = unit(np.random.default_rng(1).normal(size=(100, 4)))
    scale = stretched(studio, turns, (1, 2, 3))["scale"]
    for axis in range(3):
        along = rotate(turns, np.tile(np.eye(3)[axis], (100, 1)))
        np.testing.assert_allclose(scale[:, axis], np.linalg.norm(along * (2, 4, 6), axis=1), rtol=1e-4)


def test_a_part_farther_than_numbers_reach_is_hidden(studio):
    bodies, at = new_bodies(2), np.float32([[np.inf, 0, 0, 0, 0, 0, 1], [1e20, 0, 0, 0, 0, 0, 1]])
    assert shader_poses(studio, bodies, bodies, 0.0, places=at)["visible"].tolist() == [0, 1]


# -- pictures


@pytest.mark.parametrize("method", ["none", "linear", "hermite", "auto"])
def test_parts_move_with_their_body_between_two_snapshots(studio, method):
    before, older, newer = (tumbling(COUNT, k) for k in (-1, 0, 1))
    renderer = studio.renderer(TOYS)
    for slot, bodies in enumerate((before, older, newer)):
        upload(renderer, slot, bodies)
    layer = Layer(1, 2, 0, alpha=0.4, gap_s=1.0, before_gap_s=1.0, method=method)
    picture = studio.draw(renderer, layer, camera=CAMERA)
    renderer.release()
    sampler = interpolation.create(method)
    for k, bodies in enumerate((before, older, newer)):
        sampler.add(Snapshot((k - 1) * GAP_NS, bodies))
    poses = sampler.sample(round(0.4 * GAP_NS))
    assert_alike(picture, drawn_apart(studio, TOYS, records_of(poses)))


@pytest.mark.parametrize("count", [60, 500, 1500])  # rectangles, points, plain points and queries
def test_many_parts_are_drawn_as_many_bodies(studio, count, monkeypatch):
    monkeypatch.setattr(shape_draws, "FEW_SPHERES", 300)
    monkeypatch.setattr(shape_draws, "ASKED", 1000)
    scene = Scene([TOY, TWO] * (count // 2))
    bodies = tumbling(count, 0)
    bodies["position"] *= 2
    bodies["position"][:4] = np.array(CAMERA.eye) * [[0.8], [0.9], [1.0], [1.02]]  # around the eye, too
    picture = studio.picture(scene, bodies, camera=CAMERA)
    assert_alike(picture, drawn_apart(studio, scene, bodies), edges=0.02 if count > 60 else 0.01)


def test_a_world_of_parts_as_one_body_at_the_origin_is_drawn_as_separate_bodies(studio):
    """Sizes and places of spheres are those of the parts: their body is where the eye is."""
    rng = np.random.default_rng(5)
    camera = OrbitCamera(distance_m=1.0)
    spots = unit(rng.normal(size=(3000, 3))) * rng.uniform(2, 30, (3000, 1))
    sizes = rng.uniform(0.02, 0.4, 3000)
    around = [
        Part(Sphere(size, (0.9, 0.5, 0.2)), spot) for size, spot in zip(sizes.tolist(), spots.tolist(), strict=True)
    ]
    scene = Scene([Compound(around), Sphere(0.2)], ground_z=None)
    bodies = new_bodies(2)
    bodies["position"][0] = camera.eye
    picture = studio.picture(scene, bodies, camera=camera)
    assert_alike(picture, drawn_apart(studio, scene, bodies, camera))


def test_a_body_without_parts_is_not_drawn_and_the_others_are(studio):
    scene = Scene([Compound([]), TOY])
    bodies = tumbling(2, 0)
    assert_alike(studio.picture(scene, bodies, camera=CAMERA), drawn_apart(studio, scene, bodies), edges=0.001)
    empty = Scene([Compound([])])
    nothing = studio.picture(empty, bodies[:0], camera=CAMERA)
    np.testing.assert_array_equal(studio.picture(empty, bodies, camera=CAMERA), nothing)


def test_more_bodies_come_and_go_between_snapshots(studio):
    bodies = tumbling(40, 0)
    for older, newer in ((3, 40), (40, 3)):
        picture = studio.picture(TOYS, bodies[:older], bodies[:newer], 0.5, CAMERA)
        assert_alike(picture, drawn_apart(studio, TOYS, bodies[:older]))


def test_snapshots_that_are_held_are_drawn_by_each_scene_that_comes(studio):
    bodies = tumbling(COUNT, 0)
    plain, none = Scene([Sphere(0.3), Box((0.4, 0.5, 0.6))]), Scene([Compound([])])
    renderer = studio.renderer(plain)
    upload(renderer, 0, bodies[:2])
    upload(renderer, 1, bodies)
    for scene in (plain, TOYS, Scene([TWO]), none, TOYS, plain):
        renderer.set_scene(scene)
        for slot, count in ((0, 2), (1, COUNT)):
            fresh = studio.picture(scene, bodies[:count], camera=CAMERA)
            np.testing.assert_array_equal(studio.draw(renderer, Layer(slot), camera=CAMERA), fresh)
    renderer.release()


def test_scales_along_each_axis_stay_with_their_bodies_when_the_scene_changes(studio):
    bodies, scale3 = tumbling(COUNT, 0), np.random.default_rng(2).uniform(0.5, 1.5, (COUNT, 3))
    scenes = Scene([Sphere(0.5), Box()]), TOYS
    for first, second in (scenes, scenes[::-1]):
        pictures = []
        for begin in (first, second):
            renderer = studio.renderer(begin)
            upload(renderer, 0, bodies)
            renderer.upload_scale3(0, scale3)
            renderer.set_scene(second)
            pictures.append(studio.draw(renderer, Layer(0), camera=CAMERA))
            renderer.release()
        np.testing.assert_array_equal(*pictures)


def test_a_compound_stretched_along_its_axes_is_as_large_as_its_parts_would_be(studio):
    half = math.sqrt(0.5)
    parts = [Part(Box((1, 0.4, 0.2), (1, 0, 0)), (0, 0.8, 0)), Part(Capsule(0.2, 0.5, (0, 1, 0)), (0, -0.8, 0), (half, 0, 0, half))]  # fmt: skip
    bodies = new_bodies(1)
    renderer = studio.renderer(Scene([Compound(parts)]))
    upload(renderer, 0, bodies)
    renderer.upload_scale3(0, np.array([[1.5, 2.0, 0.5]]))
    picture = studio.draw(renderer, Layer(0), camera=CAMERA)
    renderer.release()
    # The capsule's z lies along the body's y.
    shapes = [Part(Box((1.5, 0.8, 0.1), (1, 0, 0)), (0, 1.6, 0)), Part(Capsule(0.2, 1.0, (0, 1, 0)), (0, -1.6, 0), (half, 0, 0, half))]  # fmt: skip
    wanted = drawn_apart(studio, Scene([Compound(shapes)]), bodies)
    assert_alike(picture, wanted)


def test_spheres_of_one_body_cut_each_other_as_true_spheres_do(studio):
    """None is drawn as a disc of one depth: that is for bodies at their own positions."""
    rng = np.random.default_rng(6)
    parts = [Part(Sphere(0.5), tuple(rng.uniform(-2, 2, 3))) for _ in range(60)]
    scene = Scene([Compound(parts)])
    bodies = new_bodies(1)
    assert_alike(studio.picture(scene, bodies, camera=CAMERA), drawn_apart(studio, scene, bodies))


def test_programs_made_ahead_are_those_of_parts(studio):
    renderer = studio.renderer(TOYS)
    upload(renderer, 0, tumbling(COUNT, 0))
    first = studio.draw(renderer, Layer(0), camera=CAMERA)
    while renderer.prepare():
        pass
    made = dict(renderer._bodies.programs._made)
    assert all(variant.placed for _, variant in made)
    np.testing.assert_array_equal(studio.draw(renderer, Layer(0), camera=CAMERA), first)
    assert set(renderer._bodies.programs._made) == set(made)
    renderer.release()
