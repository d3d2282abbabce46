"""Outside the rectangle of a picture no body and no shadow is seen, and pixels prove it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, upload
from twixt.ipc.scene import Box, Capsule, Compound, Mesh, Part, Plane, Scene, Sphere
from twixt.ipc.snapshot import BODY, HAS_VELOCITY, VISIBLE
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.software.picture_bounds import PictureBounds

LOW_LIGHT = (0.9, -0.3, 0.3)
CORNERS = ((0.2, 0, 0), (0.5, 0.1, 0), (0.2, 0.4, 0.1), (0.3, 0.2, 0.5))
TETRAHEDRON = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
SHAPES = {
    "boxes": Box((0.6, 0.3, 0.2)),
    "capsules": Capsule(0.1, 0.6),
    "meshes": Mesh(CORNERS, TETRAHEDRON),
    "parts": Compound([Part(Box((0.2, 0.2, 0.2)), (1.8, 0, 0.1)), Part(Sphere(0.1), (-1.5, 0.2, 0))]),
}


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


@pytest.fixture
def bounds(monkeypatch):
    """The rectangle of each picture that is drawn, the last one at the end; None: not known."""
    found, of_picture = [], PictureBounds.of_picture

    def noted(self, *how):
        found.append(of_picture(self, *how))
        return found[-1]

    monkeypatch.setattr(PictureBounds, "of_picture", noted)
    return found


def differs_outside(bounds, one, other):
    """True if a pixel outside differs between the pictures."""
    left, bottom, width, height = bounds
    differs = (one != other).any(axis=2)[::-1]
    differs[bottom : bottom + height, left : left + width] = False
    return bool(differs.any())


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("is_on_ground", [True, False])
def test_bodies_of_every_shape_change_no_pixel_outside(studio, bounds, kind, is_on_ground):
    """Two moving bodies, over a floor and a box that stand still."""
    floor = [Plane((8, 8)), Box((1, 1, 1))]
    scene = Scene([*floor, SHAPES[kind], SHAPES[kind]], ground_z=0.0 if is_on_ground else None)
    renderer = studio.renderer(scene)
    renderer._background.cache._is_faster = True  # whatever this machine finds
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
    camera = OrbitCamera(distance_m=30.0)
    empty = studio.draw(renderer, Layer(2), camera=camera)
    for alpha in (0.0, 0.4, 0.99):
        picture = studio.draw(renderer, Layer(0, 1, alpha=alpha, gap_s=0.1, method="hermite"), camera=camera)
        _, _, width, height = bounds[-1]
        assert 0 < width * height < 0.9 * SIZE_PX[0] * SIZE_PX[1]
        assert (picture != empty).any()
        assert not differs_outside(bounds[-1], picture, empty)
    renderer.release()


def test_balls_and_their_shadows_change_no_pixel_outside(studio, bounds):
    smaller = 0
    for seed in range(8):
        scene = Scene([Sphere(0.3)], ground_z=0.0, light=LOW_LIGHT if seed % 2 else (0.3, -0.4, 0.9))
        camera = OrbitCamera(distance_m=18.0 + seed, azimuth_rad=seed, elevation_rad=0.2 + 0.1 * seed)
        renderer = studio.renderer(scene)
        older = balls(6, seed)
        upload(renderer, 0, older)
        upload(renderer, 1, moved(older, 0.1))
        upload(renderer, 2, older[:0])
        empty = studio.draw(renderer, Layer(2), camera=camera)
        for alpha in (0.0, 0.3, 0.7, 0.99):
            picture = studio.draw(renderer, Layer(0, 1, alpha=alpha, gap_s=0.1, method="hermite"), camera=camera)
            _, _, width, height = bounds[-1]
            smaller += width * height < 0.8 * SIZE_PX[0] * SIZE_PX[1]
            assert (picture != empty).any()
            assert not differs_outside(bounds[-1], picture, empty), (seed, alpha)
        renderer.release()
    assert smaller > 8


def test_rounding_of_a_place_far_off_is_within_the_rectangle(studio, bounds):
    """A metre apart are the places that float32 knows at 1e7 m; poses made by the CPU bring the rest along."""
    far = (1e7, 0.0, 0.0)
    renderer = studio.renderer(Scene([Sphere(0.05)], ground_z=None))
    ball = balls(1, 0)
    ball["position"], ball["velocity"], ball["scale"] = far, (0.45, 0.0, 0.0), 1
    upload(renderer, 0, ball)
    upload(renderer, 1, ball[:0])
    camera = OrbitCamera(target=far, distance_m=4.0, azimuth_rad=-np.pi / 2, elevation_rad=0.0)
    empty = studio.draw(renderer, Layer(1), camera=camera)
    picture = studio.draw(renderer, Layer(0, is_posed=True), camera=camera)
    renderer.release()
    assert (picture != empty).any()
    assert not differs_outside(bounds[-1], picture, empty)


def test_there_is_no_rectangle_where_it_is_not_known_what_moves(studio, bounds):
    moving = balls(1, 0)
    broken = moving.copy()
    broken["position"] = np.nan
    surface = Mesh(CORNERS, TETRAHEDRON, deforms=True)
    for shape, bodies, is_known in (
        (Sphere(0.3), moving, True), (surface, moving, False), (Plane((4, 4)), moving, False), (Sphere(0.3), broken, False)
    ):  # fmt: skip
        renderer = studio.renderer(Scene([shape], ground_z=0.0))
        upload(renderer, 0, bodies)
        upload(renderer, 1, bodies)
        studio.draw(renderer, Layer(0, 1, alpha=0.5, gap_s=0.1))
        assert (bounds[-1] is not None) is is_known
        renderer.release()
