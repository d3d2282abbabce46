"""Spheres that do not intersect are drawn in half the time, and look as they do with true depth."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import BODY, VISIBLE
from twixt.render.draw.bodies.body_programs import SPHERE_PASSES
from twixt.render.draw.bodies.shape_draws import LEAST, LOOK_AGAIN_PICTURES, LOOK_PICTURES, TOLERANCE, are_separate
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.quality import LEVELS

CAMERA = OrbitCamera(distance_m=9.0)
RADIUS = 0.25


def pile(count=120, seed=0, spacing=0.51):
    """Balls of many colours in three layers, none in another."""
    rng = np.random.default_rng(seed)
    bodies = np.zeros(count, BODY)
    side = int(np.ceil(np.sqrt(count / 3)))
    layer, row, column = np.unravel_index(np.arange(count), (3, side, side))
    bodies["position"] = np.stack((column - side / 2, row - side / 2, layer + 0.5), 1) * spacing
    bodies["orientation"] = rng.normal(size=(count, 4))
    bodies["color"] = rng.integers(60, 255, (count, 4))
    bodies["color"][:, 3] = 255
    bodies["scale"], bodies["flags"] = 1, VISIBLE
    return bodies


@pytest.fixture
def drawn(studio, monkeypatch):
    """The picture of bodies, and the programs that drew it."""

    def draw(bodies, pictures=1, **scene):
        renderer = studio.renderer(Scene([Sphere(RADIUS)] * len(bodies), **scene))
        renderer.upload(0, memoryview(bodies).cast("B"), len(bodies))
        names = []
        draw = renderer._bodies.draw

        def noted(name, *args, **options):
            names.extend([name] if name in SPHERE_PASSES else [])
            draw(name, *args, **options)

        monkeypatch.setattr(renderer._bodies, "draw", noted)
        for _ in range(pictures):
            pixels = studio.draw(renderer, Layer(0), camera=CAMERA)
        renderer.release()
        return pixels.astype(int), names

    return draw


def test_a_pile_looks_as_with_true_depth(drawn, monkeypatch):
    fast, names = drawn(pile())
    assert names == ["apart"]
    monkeypatch.setattr("twixt.render.draw.bodies.shape_draws.LEAST", 1000)
    true, names = drawn(pile())
    assert names != ["apart"]

    off = np.abs(fast - true)
    assert off.mean() <= 1.0
    assert (off.max(axis=2) > 60).mean() < 0.02  # edges alone


def test_where_balls_reach_into_each_other_pixels_keep_their_true_depth(drawn, monkeypatch):
    bodies = pile()
    bodies["position"][7] = bodies["position"][40] + [0.1, 0, 0]
    merged, names = drawn(bodies)
    assert "apart" not in names
    monkeypatch.setattr("twixt.render.draw.bodies.shape_draws.LEAST", 1000)

    np.testing.assert_array_equal(merged, drawn(bodies)[0])


@pytest.mark.parametrize("kind", ["points", "lines"])
def test_what_is_inside_balls_is_hidden(studio, kind):
    """Dots and lines between the middles of balls that touch are never seen."""
    bodies = pile(spacing=2 * RADIUS)
    renderer = studio.renderer(Scene([Sphere(RADIUS)] * len(bodies)))
    renderer.upload(0, memoryview(bodies).cast("B"), len(bodies))
    places, magenta = bodies["position"], (255, 0, 255, 255)
    marks = {"points": (places, magenta, 5.0), "lines": (places, places + 0.1, magenta)}[kind]
    pictures = []
    for shown in (marks, (places[:0], *marks[1:]) if kind == "points" else (places[:0], places[:0], magenta)):
        for _ in range(2):
            studio.framebuffer.use()
            renderer.draw([Layer(0)], CAMERA.matrices((400, 300)), (0, 0, 400, 300))
            getattr(renderer, kind)(*shown)
            renderer.finish()
        pictures.append(renderer.read_pixels().astype(int))
    renderer.release()

    off = np.abs(pictures[0] - pictures[1]).max(axis=2)
    assert (off > 100).sum() == 0


def test_few_balls_keep_their_whole_soft_edges(drawn):
    _, names = drawn(pile(LEAST - 1))

    assert "apart" not in names


def test_hidden_balls_are_in_nobodys_way(drawn):
    bodies = pile()
    bodies["position"][7] = bodies["position"][40]
    bodies["flags"][7] = 0

    assert drawn(bodies)[1] == ["apart"]


def test_it_is_looked_again_now_and_then(studio):
    renderer = studio.renderer(Scene([Sphere(RADIUS)] * 120))
    bodies = pile()
    merged = bodies.copy()
    merged["position"][7] = bodies["position"][40]
    separate, radii = renderer._solids.spheres._separate, np.full(120, RADIUS, np.float32)

    assert separate.are_separate("scene", bodies, radii)
    assert [separate.are_separate("scene", merged, radii) for _ in range(LOOK_PICTURES)][-1] is False
    again = [separate.are_separate("scene", bodies, radii) for _ in range(LOOK_AGAIN_PICTURES)]
    assert (again[0], again[-1]) == (False, True)
    assert not separate.are_separate("another", merged, radii)


@pytest.mark.parametrize(("gap", "expected"), [(2.0, True), (2 - 0.9 * TOLERANCE, True), (2 - 1.1 * TOLERANCE, False)])
def test_how_deep_one_may_be_in_another(gap, expected):
    far = np.array([1e6, -2e6, 3e6])
    place = np.array([[0, 0, 0], [gap, 0, 0], [10, 10, 10]]) + far

    assert are_separate(place, np.ones(3)) is expected


def test_the_smaller_of_two_counts():
    place = np.array([[0.0, 0, 0], [1.08, 0, 0], [np.nan, 0, 0]])
    radii = np.array([1.0, 0.1, 1.0])

    assert are_separate(place, radii)
    assert not are_separate(place * 0.9, radii)


def test_plain_balls_that_are_apart_look_as_with_true_depth(studio, monkeypatch):
    pictures, names = [], []
    for least in (LEAST, 1000):
        monkeypatch.setattr("twixt.render.draw.bodies.shape_draws.LEAST", least)
        bodies = pile(spacing=0.6)
        renderer = studio.renderer(Scene([Sphere(0.29)] * len(bodies)))
        renderer.level = LEVELS[2]
        renderer.upload(0, memoryview(bodies).cast("B"), len(bodies))
        draw = renderer._bodies.draw

        def noted(name, *how, draw=draw, **more):
            names.append(name)
            draw(name, *how, **more)

        monkeypatch.setattr(renderer._bodies, "draw", noted)
        pictures.append(studio.draw(renderer, Layer(0), camera=OrbitCamera(distance_m=6.0)).astype(int))
        renderer.release()
    assert [name for name in names if name in SPHERE_PASSES] == ["apart lod 4", "lod 4"]
    off = np.abs(pictures[0] - pictures[1]).max(axis=2)
    assert (off > 30).mean() < 0.01  # where two touch
