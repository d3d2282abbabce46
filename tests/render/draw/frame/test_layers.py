"""Layers: who is in which, and that they are drawn as if they were one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.draw.conftest import upload
from tests.render.draw.test_scene_renderer import BLUE, GREEN, RED, WHITE, bodies_at, centroid_px, dark, projected_px
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Group, Plane, Scene, Sphere
from twixt.ipc.scene.groups import CHILDREN
from twixt.ipc.snapshot import HAS_VELOCITY, new_bodies
from twixt.render.draw.bodies.body_draws import BodyDraws
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer, layer_bodies

SIDE = OrbitCamera(distance_m=10, azimuth_rad=0, elevation_rad=0)


@given(st.lists(st.sampled_from([None, "a", "b"]), min_size=1, max_size=12), st.data(), st.integers(0, 14))
def test_each_body_is_always_in_exactly_one_layer(names, data, count):
    child = data.draw(st.integers(0, len(names) - 1))
    parents = {} if len(names) < 2 else {child: (child + 1) % len(names)}
    groups = {name: Group([body for body, own in enumerate(names) if own == name]) for name in ("a", "b")}
    layers = layer_bodies(Scene([Sphere()] * len(names), groups=groups, parents=parents), count)
    assert sorted(body for bodies in layers.values() for body in bodies) == list(range(count))
    for name, bodies in layers.items():
        assert (np.diff(bodies.astype(int)) > 0).all()
        for body in bodies:
            is_child = body in parents and parents[body] < count
            assert name == (CHILDREN if is_child else names[body] if body < len(names) else None)


def test_each_layer_is_drawn_between_its_own_snapshots_at_its_own_place(studio):
    scene = dark(
        [Sphere(0.15, RED), Sphere(0.15, GREEN), Sphere(0.15, BLUE)], groups={"late": Group([1])}, parents={2: 0}
    )
    renderer = studio.renderer(scene, slots=4)
    for slot, z in enumerate((-1.0, 0.0, 1.0)):
        upload(renderer, slot, bodies_at((0, -2, z), (0, 0, z), (0, 0, 9)))
    renderer.upload_records(7, bodies_at((9, 9, 9), (9, 9, 9), (0, 2, 0.6)))
    pixels = studio.draw(
        renderer, Layer(1, 2, alpha=0.5), Layer(0, 1, alpha=0.25, group="late"), Layer(7, group=CHILDREN), camera=SIDE
    )
    for channel, place in enumerate(((0, -2, 0.5), (0, 0, -0.75), (0, 2, 0.6))):
        only = np.zeros_like(pixels)
        only[..., channel] = pixels[..., channel]
        assert centroid_px(only) == pytest.approx(projected_px(place, SIDE), abs=0.1)


def test_bodies_of_many_layers_are_drawn_as_if_they_were_one(studio):
    rng = np.random.default_rng(0)
    shapes = [Sphere(0.4), Box((0.6, 0.6, 0.6))] * 30
    groups = {"a": Group(range(0, 40, 3)), "b": Group(range(1, 40, 3))}
    older, newer = bodies_at(*rng.normal(0, 1.2, (60, 3))), bodies_at(*rng.normal(0, 1.2, (60, 3)))
    one = studio.picture(Scene(shapes), older, newer, 0.3)
    renderer = studio.renderer(Scene(shapes, groups=groups))
    upload(renderer, 0, older)
    upload(renderer, 1, newer)
    many = studio.draw(renderer, *(Layer(0, 1, alpha=0.3, group=name) for name in ("b", None, "a")))
    # Where soft edges and shadows lie over each other the order of layers is seen a little.
    assert np.mean(np.abs(one.astype(int) - many).max(axis=2) > 24) < 0.005


def test_draw_calls_are_bounded_by_programs_and_layers_and_without_groups_are_one_a_program(studio, monkeypatch):
    calls = []
    original = BodyDraws.draw

    def counted(self, name, layers, *rest, **named):
        calls.extend(name for layer in layers if self.members.of(layer.group, name).drawn(layer.bodies))
        original(self, name, layers, *rest, **named)

    monkeypatch.setattr(BodyDraws, "draw", counted)
    shapes = [Sphere(), Box()] * 8
    studio.picture(Scene(shapes), new_bodies(16))
    assert sorted(calls) == ["large boxes", "points", "shadows"]
    calls.clear()
    renderer = studio.renderer(Scene(shapes, groups={"a": Group([0, 1]), "balls": Group([2, 4])}))
    upload(renderer, 0, new_bodies(16))
    studio.draw(renderer, *(Layer(0, group=name) for name in (None, "a", "balls")))
    assert len(calls) == 3 + 3 + 2


def test_layers_that_are_not_asked_for_are_not_drawn(studio):
    renderer = studio.renderer(dark([Sphere(0.5, RED), Sphere(0.5, GREEN)], groups={"a": Group([1])}))
    upload(renderer, 0, bodies_at((0, -1, 0), (0, 1, 0)))
    assert renderer.layers == {None, "a"}
    assert studio.draw(renderer, Layer(0), camera=SIDE).max(axis=(0, 1)).tolist() == [255, 0, 0]
    assert studio.draw(renderer, Layer(0, group="a"), camera=SIDE).max(axis=(0, 1)).tolist() == [0, 255, 0]


def test_bodies_of_a_group_that_are_not_there_yet_are_no_obstacle(studio):
    renderer = studio.renderer(dark([Sphere(0.5, WHITE)] * 9, groups={"a": Group([1, 8])}), capacity=2)
    upload(renderer, 0, bodies_at((0, 0, 0), (0, 1, 0)))
    two = studio.draw(renderer, Layer(0), Layer(0, group="a"), camera=SIDE)
    upload(renderer, 0, bodies_at(*[(0, 0, 0)] * 8, (0, -2, 0)))
    x, y = (int(value) for value in projected_px((0, -2, 0), SIDE))
    assert two[y, x].max() == 0
    assert studio.draw(renderer, Layer(0, group="a"), camera=SIDE)[y, x].min() == 255


def test_a_curve_is_drawn_where_velocities_tell_of_one(studio):
    gap_s, gravity = 0.5, np.array([0, 0, -9.8])
    renderer = studio.renderer(dark([Sphere(0.15, WHITE)]))
    for slot, t in enumerate((-gap_s, 0.0, gap_s)):
        bodies = new_bodies(1)
        bodies["position"] = np.array([0, 0, 2.0]) + np.array([0, 2.0, 0]) * t + gravity * t * t / 2
        bodies["velocity"] = np.array([0, 2.0, 0]) + gravity * t
        bodies["flags"] |= HAS_VELOCITY
        upload(renderer, slot, bodies)
    for method, before, height in (
        ("hermite", None, 2 - 9.8 * 0.25**2 / 2),
        ("auto", 0, 2 - 9.8 * 0.25**2 / 2),
        ("auto", None, 2 - 9.8 * 0.5**2 / 4),
        ("linear", 0, 2 - 9.8 * 0.5**2 / 4),
        ("none", 0, 2.0),
    ):
        pixels = studio.draw(renderer, Layer(1, 2, before, 0.5, gap_s, gap_s, method), camera=SIDE)
        place = (0, 0.0 if method == "none" else 0.5, height)
        assert centroid_px(pixels) == pytest.approx(projected_px(place, SIDE), abs=0.1), method


def test_poses_in_an_extra_slot_may_be_more_or_fewer_than_the_snapshots(studio):
    renderer = studio.renderer(dark([Sphere(0.3, WHITE)]), slots=3, capacity=2)
    upload(renderer, 0, bodies_at((0, 0, 0), (0, 1, 0)))
    renderer.upload_records(3, bodies_at((0, -1, 0)))
    assert centroid_px(studio.draw(renderer, Layer(3), camera=SIDE)) == pytest.approx(
        projected_px((0, -1, 0), SIDE), abs=0.1
    )
    renderer.upload_records(40, bodies_at(*[(0, -2, 0)] * 20))
    assert centroid_px(studio.draw(renderer, Layer(40), camera=SIDE)) == pytest.approx(
        projected_px((0, -2, 0), SIDE), abs=0.1
    )
    renderer.upload_records(3, new_bodies(0))
    assert studio.draw(renderer, Layer(3)).max() == 0


def test_a_scale_along_each_axis_stretches_each_shape_and_makes_an_ellipsoid_of_a_sphere(studio):
    stretch = np.array([[1.5, 0.5, 2.0]], np.float32)
    bodies = bodies_at((0.3, 0.2, 0))
    bodies["orientation"] = (math.sin(0.3), 0, 0, math.cos(0.3))
    bodies["scale"] = 0.5
    for shape, same in (
        (Box((1.0, 1.2, 0.8)), Box((1.5, 0.6, 1.6))),
        (Sphere(0.5), Ellipsoid((1.5, 0.5, 2.0))),
        (Ellipsoid((1.0, 1.2, 0.8)), Ellipsoid((1.5, 0.6, 1.6))),
        (Capsule(0.5, 0.7), Capsule(0.5, 1.4)),  # of x and y the mean, so that it stays round
        (Cylinder(0.5, 0.7), Cylinder(0.5, 1.4)),
        (Plane((1.0, 1.2)), Plane((1.5, 0.6))),
    ):
        renderer = studio.renderer(Scene([shape]))
        upload(renderer, 0, bodies)
        renderer.upload_scale3(0, stretch)
        expected = studio.picture(Scene([same]), bodies)
        assert np.mean(np.abs(studio.draw(renderer, Layer(0)).astype(int) - expected).max(axis=2) > 2) < 0.001
        upload(renderer, 0, bodies)  # a snapshot without that column
        np.testing.assert_array_equal(studio.draw(renderer, Layer(0)), studio.picture(Scene([shape]), bodies))


def test_scales_along_axes_are_blended_and_a_slot_without_them_is_drawn_by_its_own_scale(studio):
    scene = dark([Box((1, 1, 1), WHITE)])
    renderer = studio.renderer(scene)
    for slot, height in enumerate((1.0, 3.0)):
        upload(renderer, slot, bodies_at((0, 0, 0)))
        renderer.upload_scale3(slot, np.array([[1, 1, height]]))
    upload(renderer, 2, bodies_at((0, 0, 0)))
    plain = studio.draw(renderer, Layer(2), camera=SIDE)
    np.testing.assert_array_equal(studio.draw(renderer, Layer(0, 2, alpha=0.5), camera=SIDE), plain)
    taller = studio.draw(renderer, Layer(0, 1, alpha=0.5), camera=SIDE)
    same = studio.picture(dark([Box((1, 1, 2), WHITE)]), bodies_at((0, 0, 0)), camera=SIDE)
    np.testing.assert_array_equal(taller, same)
    held = studio.draw(renderer, Layer(1), camera=SIDE)
    same = studio.picture(dark([Box((1, 1, 3), WHITE)]), bodies_at((0, 0, 0)), camera=SIDE)
    np.testing.assert_array_equal(held, same)


def test_a_slot_that_gets_its_scales_after_it_was_bound_is_drawn_by_them(studio):
    renderer = studio.renderer(dark([Box((1, 1, 1), WHITE)]))
    for slot in (0, 1):
        upload(renderer, slot, bodies_at((0, 0, 0)))
        renderer.upload_scale3(slot, np.ones((1, 3)))
    upload(renderer, 1, bodies_at((0, 0, 0)))
    studio.draw(renderer, Layer(0))
    renderer.upload_scale3(1, np.array([[1, 1, 3]]))
    same = studio.picture(dark([Box((1, 1, 2), WHITE)]), bodies_at((0, 0, 0)), camera=SIDE)
    np.testing.assert_array_equal(studio.draw(renderer, Layer(0, 1, alpha=0.5), camera=SIDE), same)


def test_programs_made_ahead_leave_no_trace_and_none_to_make(studio):
    renderer = studio.renderer(Scene([Sphere(0.4), Box()] * 2))
    assert not renderer.prepare()
    for slot in range(3):
        upload(renderer, slot, bodies_at((-1, 0, 0), (1, 0, 0), (0, 1, 0), (0, -1, 0)))
    before = studio.draw(renderer, Layer(0, 1, alpha=0.5))
    made = 0
    while renderer.prepare():
        made += 1
    # Programs for all that is drawn and all that large and many spheres need, for two kinds of motion, but what is made;
    # and spheres of a cheaper picture, for the motion that is drawn; and the programs of rings and of
    # enlarging small pictures.
    assert made == 6 * 2 - 3 + 4 + 2
    np.testing.assert_array_equal(renderer.read_pixels(), before)
    programs = dict(renderer._bodies.programs._made)
    for method in ("none", "auto", "hermite", "linear"):
        studio.draw(renderer, Layer(0, 1, 2, 0.5, 1.0, 1.0, method))
    assert renderer._bodies.programs._made == programs
    np.testing.assert_array_equal(studio.draw(renderer, Layer(0, 1, alpha=0.5)), before)


def test_a_layer_that_the_scene_does_not_have_is_refused(studio):
    renderer = studio.renderer(Scene([Sphere()]))
    with pytest.raises(TwixtError, match=r"has the layers None, got 'wheels'"):
        studio.draw(renderer, Layer(0, group="wheels"))
    with pytest.raises(TwixtError, match="none, linear, hermite, auto, got 'cubic'"):
        studio.draw(renderer, Layer(0, method="cubic"))
    with pytest.raises(TwixtError, match=r"shape \(n, 3\), got \(4,\)"):
        renderer.upload_scale3(0, np.ones(4))


def test_the_shapes_of_a_group_are_its_bodies_own(studio):
    shapes = [Sphere(0.2, RED), Box((0.4, 0.4, 0.4), GREEN)] * 3
    scene = dark(shapes, groups={"a": Group([5, 2, 1])})
    bodies = bodies_at(*[(0, body - 2.5, 0) for body in range(6)])
    renderer = studio.renderer(scene)
    upload(renderer, 0, bodies)
    pixels = studio.draw(renderer, Layer(0, group="a"), camera=SIDE)
    for body, place in enumerate(bodies["position"]):
        x, y = (int(value) for value in projected_px(place, SIDE))
        expected = np.array(shapes[body].color) * 255 if body in (1, 2, 5) else (0, 0, 0)
        assert pixels[y, x] == pytest.approx(expected, abs=1)
