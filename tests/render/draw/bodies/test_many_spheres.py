"""The programs for many spheres, by their pixels: each must show what the finest shows, as far as its size allows."""

from __future__ import annotations

import math

import moderngl
import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, matrices, upload
from tests.render.draw.test_scene_renderer import (
    BLUE,
    GREEN,
    RED,
    WHITE,
    bodies_at,
    centroid_px,
    dark,
    lit_px,
    projected_px,
)
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Box, Scene, Sphere
from twixt.ipc.snapshot import HAS_VELOCITY, new_bodies
from twixt.render.draw.bodies import body_draws, shape_draws
from twixt.render.draw.bodies.body_draws import BodyDraws
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.frame.snapshot_ring import SnapshotRing
from twixt.render.draw.spheres.sphere_detail import SphereLod

SIDE = OrbitCamera(distance_m=10, azimuth_rad=0, elevation_rad=0)
PROGRAMS = [("lod 0", 2.4), ("lod 1", 6.0), ("lod 2", 14.0), ("lod 3", 22.0), ("lod 4", 60.0)]
NAMES = [name for name, _ in PROGRAMS]


@pytest.fixture
def drawn_by(monkeypatch):
    """Names the program that draws spheres from now on. few: so many are not asked whether they are too large."""

    def by(name, largest_px=128.0, few=0):
        monkeypatch.setattr(shape_draws, "FEW_SPHERES", few)
        monkeypatch.setattr(shape_draws, "choose", lambda *_: SphereLod(name, largest_px))

    return by


def width_px(radius, distance_m=10.0):
    return radius * float(matrices(SIDE).projection[1, 1]) * SIZE_PX[1] / distance_m


def radius_of(size_px):
    return size_px / width_px(1.0)


@pytest.mark.parametrize(("name", "size_px"), PROGRAMS)
def test_each_program_draws_a_sphere_where_it_is_and_as_large(studio, drawn_by, name, size_px):
    drawn_by(name)
    radius, areas = radius_of(size_px), []
    for y in np.linspace(-0.5, 0.5, 12) * 1.03:
        pixels = studio.picture(dark([Sphere(radius, WHITE)]), bodies_at((0, y, 0.3 * y)), camera=SIDE)
        areas.append(lit_px(pixels))
        assert centroid_px(pixels) == pytest.approx(projected_px((0, y, 0.3 * y), SIDE), abs=0.6)
    assert np.mean(areas) == pytest.approx(math.pi / 4 * size_px**2, rel=0.1)


@pytest.mark.parametrize(("name", "size_px"), PROGRAMS)
def test_light_is_that_of_the_finest(studio, drawn_by, name, size_px):
    bodies = bodies_at(*[(0, y, z) for y in (-2, -1, 0, 1, 2) for z in (-1, 0, 1)])
    turns = np.random.default_rng(0).normal(size=(15, 4))
    bodies["orientation"] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    scene = Scene([Sphere(radius_of(size_px), (0.5, 0.6, 0.7))], ground_z=None, background=(0, 0, 0))
    brightness = []
    for program in ("points", name):
        drawn_by(program)
        pixels = studio.picture(scene, bodies, camera=SIDE).astype(float)
        brightness.append(pixels.sum(axis=(0, 1)))
    np.testing.assert_allclose(brightness[1], brightness[0], rtol=0.2)


@pytest.mark.parametrize(("name", "size_px"), [*PROGRAMS[2:], ("lod 2", 10.0)])
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, 0.8)])
def test_spin_is_seen_where_a_sphere_has_pixels_for_it(studio, drawn_by, name, size_px, axis):
    drawn_by(name)
    still, turned = bodies_at((0, 0, 0)), bodies_at((0, 0, 0))
    still["orientation"] = (0.5, 0.1, 0.3, 0.8)
    turned["orientation"] = (*(math.sin(0.4) * np.array(axis)), math.cos(0.4))
    scene = Scene([Sphere(radius_of(size_px), WHITE)], ground_z=None, pattern=True)
    pictures = [studio.picture(scene, bodies, camera=SIDE).astype(int) for bodies in (still, turned)]
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 10).sum() > 0.05 * size_px**2


def test_a_ball_has_the_depth_of_a_sphere(studio, drawn_by):
    scene = dark([Sphere(0.6, RED), Sphere(0.6, GREEN), Box((0.5, 4.0, 0.5), BLUE)])
    bodies = bodies_at((0, -0.3, 0), (0, 0.3, 0), (0.3, 0, 0))
    pictures = {}
    for name in ("points", "lod 4", "lod 3", "lod 2"):
        drawn_by(name)
        pictures[name] = studio.picture(scene, bodies, camera=SIDE).astype(int)
    assert all(lit_px(pictures["lod 4"][..., channel : channel + 1]) > 300 for channel in range(3))

    def off(name):
        return np.mean(np.abs(pictures[name] - pictures["points"]).max(axis=2) > 127)

    assert off("lod 4") < 0.2 * off("lod 2")
    assert off("lod 3") < 0.4 * off("lod 2")


@pytest.mark.parametrize(("name", "size_px"), PROGRAMS)
def test_of_spheres_apart_the_nearer_hides_the_farther_in_any_order(studio, drawn_by, name, size_px):
    drawn_by(name)
    radius = radius_of(size_px)
    near, far = (2.2 * radius, 0, 0), (-2.2 * radius, 0.4 * radius, 0)
    one = studio.picture(dark([Sphere(radius, RED), Sphere(radius, GREEN)]), bodies_at(near, far), camera=SIDE)
    other = studio.picture(dark([Sphere(radius, GREEN), Sphere(radius, RED)]), bodies_at(far, near), camera=SIDE)
    np.testing.assert_array_equal(one, other)
    assert lit_px(one[..., :1]) > 0.6 * size_px**2


@pytest.mark.parametrize("name", ["points", *NAMES])
def test_what_is_too_large_for_the_others_program_is_drawn_all_the_same(studio, drawn_by, name):
    rng = np.random.default_rng(0)
    places = rng.uniform(-2.5, -1, (400, 3)) * (1, 1, 0.5)
    large = [(0, 1.5, 0.5), (5.0, 1.2, -0.8), (0, 2.0, 1.8), (9.4, 0.2, 0.15)]
    radii = [radius_of(3.0), radius_of(40.0), radius_of(90.0), radius_of(25.0), 0.1]
    scene = dark([Sphere(radii[0], GREEN)] * 400 + [Sphere(radius, WHITE) for radius in radii[1:]])
    pictures = []
    for program, largest_px in (("points", 128.0), (name, 128.0 if name in ("points", "lod 4") else 4.0)):
        drawn_by(program, largest_px)
        pictures.append(studio.picture(scene, bodies_at(*places, *large), camera=SIDE).astype(int))
    assert lit_px(pictures[0][..., :1]) > 8000
    # Edges are hard where few spheres of many are large, and ellipses are circles.
    assert np.mean(np.abs(pictures[0] - pictures[1])[..., 0] > 127) < 0.006


@pytest.mark.parametrize(("name", "size_px"), PROGRAMS)
def test_half_a_sphere_is_seen_when_its_middle_is_beyond_the_border(studio, drawn_by, name, size_px):
    drawn_by(name)
    radius = radius_of(size_px)
    half_height_m = 10 / float(matrices(SIDE).projection[1, 1])
    for z in (-half_height_m, half_height_m):
        places = [(0, y, 1.0001 * z) for y in np.linspace(-4, 4, 5) * 1.01]
        picture = studio.picture(dark([Sphere(radius, WHITE)]), bodies_at(*places), camera=SIDE)
        assert lit_px(picture) / len(places) == pytest.approx(math.pi / 8 * size_px**2, rel=0.35)


@pytest.mark.parametrize("name", ["points", *NAMES])
def test_what_is_hidden_broken_or_without_size_leaves_no_pixel(studio, drawn_by, name):
    drawn_by(name)
    bodies = bodies_at(*[(0, 0, 0)] * 8)
    bodies["flags"][0] = 0
    bodies["position"][1, 2], bodies["position"][2, 0] = math.nan, math.inf
    bodies["scale"][3:6] = math.nan, 0, -1
    bodies["position"][6], bodies["position"][7] = (100, 0, 0), (0, 0, 50)
    assert studio.picture(dark([Sphere(0.3, WHITE)]), bodies, camera=SIDE).max() == 0


@pytest.mark.parametrize("name", ["points", *NAMES])
def test_in_batches_the_picture_is_the_same(studio, drawn_by, monkeypatch, name):
    drawn_by(name)
    rng = np.random.default_rng(1)
    bodies, scene = bodies_at(*rng.normal(0, 1, (100, 3))), Scene([Sphere(0.1), Box((0.1, 0.1, 0.1))] * 50)
    whole = studio.picture(scene, bodies)
    monkeypatch.setattr(body_draws, "UNDIVIDED", 0)
    monkeypatch.setattr(body_draws, "BATCH", 7)
    np.testing.assert_array_equal(studio.picture(scene, bodies), whole)


def test_no_rectangle_is_drawn_where_none_is_needed(studio, monkeypatch):
    drawn = []
    original = BodyDraws.draw
    monkeypatch.setattr(
        BodyDraws, "draw", lambda self, name, *rest, **more: (drawn.append(name), original(self, name, *rest, **more))
    )
    monkeypatch.setattr(shape_draws, "FEW_SPHERES", 0)
    renderer = studio.renderer(dark([Sphere(0.3)]))
    for place, needed in (((0, 0, 0), False), ((9.5, 0, 0), True), ((0, 3.9, 0), False), ((0, 0, 0), False)):
        upload(renderer, 0, bodies_at((0, 0, 0), place))
        drawn.clear()
        studio.draw(renderer, Layer(0), camera=SIDE)
        assert ("quads" in drawn) == ("beyond" in drawn) == needed


@pytest.mark.parametrize("method", ["none", "linear", "hermite", "auto"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 0.9])
def test_a_sphere_that_is_large_on_its_way_only_is_never_missing(studio, drawn_by, method, alpha):
    gap_s = 1.0
    fast, torn = (25.0, 0, 0), (math.nan, 0, 0)
    moves = [  # from, to, velocities: past the eye on a curve; apart, not finite, or of another life in the newer
        ((3, 0, 0), (3, 0, 0), fast, (-25.0, 0, 0), 0),
        ((8.5, 0.2, 0), (0, 0.2, 0), torn, fast, 0),
        ((8.8, 0, 0.1), (0, 0, 0), (0, 0, 0), (0, 0, 0), 1),
        ((0, 0, 0), (8.9, 0, 0), (0, 0, 0), (0, 0, 0), 0),
    ]
    for start, end, leaving, arriving, cut in moves:
        snapshots = [bodies_at((0, 1, 0), start) for _ in range(3)]
        snapshots[2]["position"][1] = end
        snapshots[0]["velocity"][1] = snapshots[1]["velocity"][1] = leaving
        snapshots[2]["velocity"][1] = arriving
        snapshots[2]["epoch"][1] = cut
        for bodies in snapshots:
            bodies["flags"] |= HAS_VELOCITY
        pictures = []
        for program, largest_px, few in (("points", 128.0, 2), ("lod 0", 4.0, 0)):
            drawn_by(program, largest_px, few)
            renderer = studio.renderer(dark([Sphere(0.03, GREEN), Sphere(0.5, WHITE)]))
            for slot, bodies in enumerate(snapshots):
                upload(renderer, slot, bodies)
            layer = Layer(1, 2, 0, alpha, gap_s, gap_s, method)
            pictures.append(lit_px(studio.draw(renderer, layer, camera=SIDE)[..., :1]))
            renderer.release()
        assert pictures[1] == pytest.approx(pictures[0], rel=0.1, abs=4)


class NoRoom:
    """A context whose driver has no memory left."""

    def __init__(self, says_so):
        self._says_so = says_so
        self.error = "GL_NO_ERROR"

    def buffer(self, **_):
        if not self._says_so:
            raise moderngl.Error("cannot create buffer")
        self.error = "GL_OUT_OF_MEMORY"
        return object()


@pytest.mark.parametrize("says_so", [False, True])
def test_a_card_without_room_for_a_snapshot_is_told_of_with_the_way_out(says_so):
    ring = SnapshotRing(NoRoom(says_so), 3, 1_000_000)
    with pytest.raises(TwixtError, match=r"1,000,000 bodies: 61 MiB .* fewer bodies"):
        ring.upload(0, b"", 0)


def test_a_snapshot_of_many_is_sampled_from_its_first_to_its_last_part():
    bodies = new_bodies(100_000)
    bodies["position"][:, 0] = np.arange(100_000)

    class Buffer:
        size = 10**9

        def write(self, _):
            pass

    class Context:
        error = "GL_NO_ERROR"

        def buffer(self, **_):
            return Buffer()

    ring = SnapshotRing(Context(), 3, 100_000)
    ring.upload(0, memoryview(bodies).cast("B"), len(bodies))
    places = ring.sample(0)["position"][:, 0]
    assert places[0] == 0
    assert places[-1] > 99_000
    assert np.ptp(np.diff(places)) == 0
