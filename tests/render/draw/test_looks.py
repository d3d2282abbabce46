"""The looks of a scene: lit or flat with outlines, and the pattern that shows rotation."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Plane, Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.bodies import shape_draws
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.spheres.sphere_common import LARGEST_POINT_PX
from twixt.render.draw.spheres.sphere_detail import SphereLod

COLOR = (0.2, 0.6, 1.0)
SEEN = np.array([51, 153, 255])
FRONT = OrbitCamera(distance_m=10.0, azimuth_rad=-np.pi / 2, elevation_rad=0.3)
SHAPES = [Box((2.0, 1.5, 1.2), COLOR), Capsule(0.7, 1.2, COLOR), Cylinder(0.9, 1.4, COLOR), Ellipsoid((2.4, 1.6, 2.0), COLOR)]  # fmt: skip
QUALITIES = {"large": (10**9, 10**9, 10**9), "points": (0, 10**9, 10**9), "plain": (0, 0, 0)}
PROGRAMS = ["lod 2", "lod 3", "lod 4", "points"]


def one(turn=(0.1, 0.2, 0.3, 0.927), position=(0.0, 0.0, 1.0)):
    bodies = new_bodies(1)
    bodies["orientation"], bodies["position"] = turn, position
    return bodies


def drawn_as(monkeypatch, way):
    """Chooses the program: a quality of ray cast shapes, or a program of spheres."""
    if way in QUALITIES:
        for name, count in zip(("FEW_RAY_CAST", "MANY", "ASKED"), QUALITIES[way], strict=True):
            monkeypatch.setattr(shape_draws, name, count)
    else:
        monkeypatch.setattr(shape_draws, "choose", lambda *_: SphereLod(way, LARGEST_POINT_PX))


WAYS = [(shape, way) for shape in SHAPES for way in QUALITIES] + [(Sphere(0.6, COLOR), way) for way in PROGRAMS]
by_way = pytest.mark.parametrize(
    ("shape", "way"), [*WAYS, (Sphere(1.4, COLOR), "points"), (Plane((2.0, 2.0), COLOR), "large")],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)  # fmt: skip


@by_way
@pytest.mark.parametrize("orthographic", [False, True])
def test_a_flat_body_has_its_own_colour_and_a_darker_outline(studio, monkeypatch, shape, way, orthographic):
    drawn_as(monkeypatch, way)
    camera = OrbitCamera(distance_m=10.0, azimuth_rad=-1.2, elevation_rad=0.6, orthographic=orthographic)
    pixels = studio.picture(
        Scene([shape], ground_z=None, background=(0, 0, 0), look="flat"), one(position=(0, 0, 0)), camera=camera
    ).astype(int)
    covered = pixels[..., 2] > 60
    assert covered.sum() > 800
    plain = np.abs(pixels - SEEN).max(axis=2) <= 2
    assert plain.sum() > 0.6 * covered.sum()
    for row in range(0, 300, 3):  # along every row: first the outline, then the colour
        across = np.flatnonzero(covered[row])
        if len(across) > 16:
            for edge in (pixels[row, across[:3]], pixels[row, across[-3:]]):
                assert edge.min(axis=0)[2] < 200
                assert (edge[:, 0] <= 0.35 * edge[:, 2]).all(), "a shade of the same colour"


def test_small_flat_bodies_are_seen_in_their_colour(studio):
    pixels = studio.picture(Scene([Sphere(0.06, COLOR)], ground_z=None, look="flat"), one(), camera=FRONT).astype(int)
    assert (np.abs(pixels - SEEN).max(axis=2) <= 2).any()


def test_flat_bodies_have_neither_shadow_nor_shades(studio):
    pixels = studio.picture(Scene([Sphere(0.5, COLOR)], look="flat"), one(position=(0, 0, 0.6)), camera=FRONT)
    bare = studio.picture(Scene([Sphere(0.5, COLOR)], look="flat"), one(position=(0, 0, 1e6)), camera=FRONT)
    changed = np.abs(pixels.astype(int) - bare).max(axis=2) > 1
    _, x = np.nonzero(changed)
    assert np.ptp(x) + 1 <= 2 * 0.5 / (10 * 0.728 / 300) + 4, "only the ball itself"
    lit = studio.picture(Scene([Sphere(0.5, COLOR)]), one(position=(0, 0, 0.6)), camera=FRONT)
    assert (np.abs(lit.astype(int) - bare).max(axis=2) > 1).sum() > 1.3 * changed.sum()


def test_an_unlit_body_has_its_own_colour_and_no_outline(studio):
    flat, unlit = (
        studio.picture(Scene([Sphere(0.5, COLOR)], ground_z=None, background=(1, 1, 1), look=look), one(), camera=FRONT)
        for look in ("flat", "unlit")
    )
    assert (unlit.min(axis=(0, 1)) >= SEEN - 1).all()
    assert (flat.min(axis=(0, 1)) < SEEN - 20).any()


QUARTER = (0.0, 0.0, 0.38268343, 0.92387953)  # about z


@pytest.mark.parametrize(
    ("shape", "way"),
    [(Capsule(0.7, 1.2), way) for way in QUALITIES] + [(Cylinder(0.9, 1.4), way) for way in QUALITIES]
    + [(Ellipsoid((1.8, 1.8, 1.8)), way) for way in QUALITIES] + [(Sphere(0.6), way) for way in PROGRAMS],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)  # fmt: skip
def test_rotation_is_seen_by_the_pattern_alone(studio, monkeypatch, shape, way):
    drawn_as(monkeypatch, way)
    for pattern in (False, True):
        scene = Scene([shape], ground_z=None, pattern=pattern)
        still, turned = (studio.picture(scene, one(turn), camera=FRONT).astype(int) for turn in ((0, 0, 0, 1), QUARTER))
        changed = (np.abs(still - turned).max(axis=2) > 12).sum()
        assert changed > 300 if pattern else changed < 12
