"""Rectangles of a picture are free only where no sphere and no shadow is seen, and pixels prove it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, WHOLE, matrices, upload
from twixt.ipc.scene import Box, Capsule, Compound, Mesh, Part, Plane, Scene, Sphere
from twixt.ipc.snapshot import BODY, HAS_VELOCITY, VISIBLE
from twixt.render.draw.camera import OrbitCamera
from twixt.render.draw.flat import panel_backdrop
from twixt.render.draw.flat.overlay_sheet import PIECE_PX, pieces_of, runs_of
from twixt.render.draw.flat.panel_backgrounds import Rectangle
from twixt.render.draw.frame.layers import Layer

TILES = tuple(
    Rectangle(x, y, min(x + 37, SIZE_PX[0]), min(y + 29, SIZE_PX[1]))
    for x in range(0, SIZE_PX[0], 37)
    for y in range(0, SIZE_PX[1], 29)
)
LOW_LIGHT = (0.9, -0.3, 0.3)


def balls(count, seed):
    random = np.random.default_rng(seed)
    bodies = np.zeros(count, BODY)
    bodies["position"] = random.uniform((-3, -3, 0.1), (3, 3, 1.5), (count, 3))
    bodies["velocity"] = random.normal(scale=1.5, size=(count, 3))
    bodies["orientation"], bodies["scale"] = (0, 0, 0, 1), random.uniform(0.5, 1.5, count)
    bodies["flags"], bodies["color"] = VISIBLE | HAS_VELOCITY, 255
    return bodies


def moved(bodies, gap_s):
    later = bodies.copy()
    later["position"] += bodies["velocity"] * gap_s
    later["velocity"] = -bodies["velocity"][::-1]
    return later


def differs(tile, one, other):
    left, top, right, bottom = tile
    return bool((one[top:bottom, left:right] != other[top:bottom, left:right]).any())


CORNERS = ((0.2, 0, 0), (0.5, 0.1, 0), (0.2, 0.4, 0.1), (0.3, 0.2, 0.5))
TETRAHEDRON = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))


def surface(deforms=True):
    return Mesh(CORNERS, TETRAHEDRON, deforms=deforms)


SHAPES = {
    "boxes": Box((0.6, 0.3, 0.2)),
    "capsules": Capsule(0.1, 0.6),
    "meshes": surface(deforms=False),
    "parts": Compound([Part(Box((0.2, 0.2, 0.2)), (1.8, 0, 0.1)), Part(Sphere(0.1), (-1.5, 0.2, 0))]),
}


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("is_on_ground", [True, False])
def test_where_a_rectangle_is_free_bodies_of_every_shape_change_no_pixel(studio, kind, is_on_ground):
    """Two moving bodies, over a floor and a box that stand still."""
    floor = [Plane((8, 8)), Box((1, 1, 1))]
    scene = Scene([*floor, SHAPES[kind], SHAPES[kind]], ground=0.0 if is_on_ground else None)
    renderer = studio.renderer(scene)
    older = balls(4, 5)
    older["position"][:2], older["velocity"][:2], older["scale"][:2] = [(0, 0, -0.01), (-1, 1, 0.5)], 0, 1
    older["position"][2:], older["scale"][2:] = [(1.5, -1.5, 0.3), (1, -2, 0.5)], 0.5
    if kind == "parts":
        older["position"][2:] = [(-2, 2, 0.3), (-1.5, 2.5, 0.5)]
    older["velocity"][2:] *= 0.3
    newer = moved(older, 0.1)
    newer["velocity"][:2] = 0
    newer["orientation"][2:] = 0.5
    upload(renderer, 0, older)
    upload(renderer, 1, newer)
    upload(renderer, 2, older[:2])
    camera = OrbitCamera(distance_m=14.0)
    empty = studio.draw(renderer, Layer(2), camera=camera)
    found = touched = 0
    for alpha in (0.0, 0.4, 0.99):
        picture = studio.draw(renderer, Layer(0, 1, alpha=alpha, gap_s=0.1, method="hermite"), camera=camera)
        free = renderer._panels.free(TILES, SIZE_PX)
        differing = [differs(tile, picture, empty) for tile in TILES]
        assert not any(is_free and differ for is_free, differ in zip(free, differing, strict=True))
        found, touched = found + sum(free), touched + sum(differing)
    renderer.release()
    assert touched > 0
    assert found > 0, "all is taken for touched"


def key_between(studio, renderer, older, newer):
    upload(renderer, 0, older)
    upload(renderer, 1, newer)
    studio.draw(renderer, Layer(0, 1, alpha=0.4, gap_s=0.1), camera=OrbitCamera(distance_m=12.0))
    return renderer._panels.free(TILES, SIZE_PX), renderer._panels.key


def test_still_bodies_are_part_of_the_key_and_a_moving_plane_is_everywhere(studio):
    renderer = studio.renderer(Scene([Plane((4, 4)), Box((0.1, 0.1, 0.1))], ground=None))
    older = balls(2, 1)
    older["velocity"] = 0
    free, key = key_between(studio, renderer, older, older)
    assert all(free)
    assert key_between(studio, renderer, older.copy(), older.copy()) == (free, key)
    changed = older.copy()
    changed["color"][1] = 9
    assert key_between(studio, renderer, changed, changed)[1] != key, "another colour"
    moving = older.copy()
    moving["position"][1] += 0.1
    assert any(key_between(studio, renderer, older, moving)[0])
    assert not all(key_between(studio, renderer, older, moving)[0])
    moving = older.copy()
    moving["position"][0, 0] += 0.1
    assert not any(key_between(studio, renderer, older, moving)[0])
    renderer.release()


@pytest.mark.parametrize("seed", range(8))
def test_where_a_rectangle_is_free_the_picture_is_that_without_bodies(studio, seed):
    scene = Scene([Sphere(0.3)], ground=0.0, light=LOW_LIGHT if seed % 2 else (0.3, -0.4, 0.9))
    camera = OrbitCamera(distance_m=12.0 + seed, azimuth_rad=seed, elevation_rad=0.2 + 0.1 * seed)
    renderer = studio.renderer(scene)
    older = balls(6, seed)
    upload(renderer, 0, older)
    upload(renderer, 1, moved(older, 0.1))
    upload(renderer, 2, older[:0])
    empty = studio.draw(renderer, Layer(2), camera=camera)
    found = 0
    for alpha in (0.0, 0.3, 0.7, 0.99):
        layer = Layer(0, 1, alpha=alpha, gap_s=0.1, method="hermite")
        picture = studio.draw(renderer, layer, camera=camera)
        free = renderer._panels.free(TILES, SIZE_PX)
        found += sum(free)
        assert not [
            tile for tile, is_free in zip(TILES, free, strict=True) if is_free and differs(tile, picture, empty)
        ]
    touched = sum(differs(tile, picture, empty) for tile in TILES)
    assert 0 < touched < len(TILES)
    assert found > 0, "all is taken for touched"
    renderer.release()


def free_after(studio, scene, bodies, then=lambda renderer: None, size_px=SIZE_PX):
    renderer = studio.renderer(scene)
    upload(renderer, 0, bodies)
    studio.framebuffer.use()
    renderer.draw([Layer(0)], matrices(), WHOLE)
    then(renderer)
    free = renderer._panels.free(TILES, size_px)
    renderer.finish()
    renderer.release()
    return any(free)


def test_nothing_is_free_where_it_is_not_known_what_moves(studio):
    spheres, none = Scene([Sphere(0.3)], ground=0.0), balls(1, 0)
    assert free_after(studio, spheres, none)
    assert not free_after(studio, replace(spheres, shapes=[surface()]), none)
    assert not free_after(studio, spheres, none, lambda renderer: renderer.lines([(0, 0, 0)], [(1, 0, 0)], (255,) * 4))
    assert not free_after(studio, spheres, none, lambda renderer: renderer.draw([Layer(0)], matrices(), (0, 0, 9, 9)))
    assert not free_after(studio, spheres, none, size_px=(401, 300))
    none["position"] = np.nan
    assert not free_after(studio, spheres, none)


def test_pieces_are_the_rectangles_and_runs_of_them_the_rectangles_again():
    rectangles = (Rectangle(3, 5, 3 + 4 * PIECE_PX - 7, 50), Rectangle(0, 60, 17, 70), Rectangle(20, 60, 37, 70))
    pieces = pieces_of(rectangles)
    assert len(pieces) == 6
    assert max(right - left for left, _, right, _ in pieces) <= PIECE_PX
    assert tuple(runs_of(pieces)) == rectangles


def test_what_float32_leaves_of_a_place_far_off_is_reckoned_with(studio):
    """A metre apart are the places that float32 knows at 1e7 m; poses made elsewhere bring the rest along."""
    scene, far = Scene([Sphere(0.05)], ground=None), (1e7, 0.0, 0.0)
    renderer = studio.renderer(scene)
    ball = balls(1, 0)
    ball["position"], ball["velocity"], ball["scale"] = far, (0.45, 0.0, 0.0), 1
    upload(renderer, 0, ball)
    upload(renderer, 1, ball[:0])
    camera = OrbitCamera(target=far, distance_m=4.0, azimuth_rad=-np.pi / 2, elevation_rad=0.0)
    empty = studio.draw(renderer, Layer(1), camera=camera)
    picture = studio.draw(renderer, Layer(0, is_posed=True), camera=camera)
    free = renderer._panels.free(TILES, SIZE_PX)
    touched = [differs(tile, picture, empty) for tile in TILES]
    renderer.release()
    assert any(touched)
    assert not any(is_free and is_touched for is_free, is_touched in zip(free, touched, strict=True))


@pytest.fixture
def told(monkeypatch):
    """How often it was worked out what is clear."""
    worked_out, are_clear = [], panel_backdrop.are_clear

    def counted(spheres, eye, sides):
        worked_out.append(are_clear(spheres, eye, sides))
        return worked_out[-1]

    monkeypatch.setattr(panel_backdrop, "are_clear", counted)
    return worked_out


@pytest.fixture
def three(studio):
    """A renderer with three snapshots of balls, of which it knows that copies are faster."""
    renderer = studio.renderer(Scene([Sphere(0.3)], ground=0.0))
    renderer._background.cache._is_faster = True
    older = balls(6, 3)
    for slot in range(3):
        upload(renderer, slot, older)
        older = moved(older, 0.1)
    yield renderer
    renderer.release()


def free_between(studio, renderer, older, newer, gap_s=0.1, camera=None):
    lens = camera or OrbitCamera(distance_m=12.0)
    studio.draw(renderer, Layer(older, newer, alpha=0.4, gap_s=gap_s, method="hermite"), camera=lens)
    return renderer._panels.free(TILES, SIZE_PX)


def test_what_was_told_ahead_is_not_worked_out_in_the_frame(studio, three, told):
    free_between(studio, three, 0, 1)
    assert len(told) == 1
    three.prepare_panels()  # of the last two
    assert len(told) == 2
    assert free_between(studio, three, 1, 2) == told[1]
    assert free_between(studio, three, 0, 1) == told[0]
    assert len(told) == 2
    assert any(told[1])
    assert not all(told[1])


def test_nothing_is_told_ahead_that_nobody_asks(studio, three, told):
    studio.draw(three, Layer(0, 1, alpha=0.4, gap_s=0.1), camera=OrbitCamera(distance_m=12.0))
    three.prepare_panels()
    assert not told


@pytest.mark.parametrize("what", ["gap", "camera", "snapshot", "scene"])
def test_what_was_told_of_something_else_is_not_believed(studio, three, told, what):
    free_between(studio, three, 1, 2)
    gap_s, camera = 0.1, OrbitCamera(distance_m=12.0)
    if what == "gap":
        gap_s = 0.2
    elif what == "camera":
        camera = OrbitCamera(distance_m=12.5)
    elif what == "snapshot":
        upload(three, 2, balls(6, 4))
    else:
        three.set_scene(Scene([Sphere(0.4)], ground=0.0))
    now = free_between(studio, three, 1, 2, gap_s, camera)
    assert len(told) == 2
    assert now == told[1]
