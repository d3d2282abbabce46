from __future__ import annotations

import numpy as np

from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Plane, Scene, Sphere
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.parts import PALETTE
from twixt.render.draw.bodies.body_programs import ALL_KINDS, PASSES
from twixt.render.draw.bodies.shape_rows import KIND_NAMES, KINDS, half_size, shape_table


def test_each_body_gets_the_size_and_colour_of_its_shape():
    table = shape_table(Scene([Sphere(0.5, (1, 0, 0)), Box((1, 2, 3), (0, 1, 0)), Plane((4, 6), (0, 0, 1))]), 3)
    np.testing.assert_allclose(table.rows["half_size"], [(0.5, 0.5, 0.5), (0.5, 1, 1.5), (2, 3, 0)])
    assert table.rows["color"].tolist() == [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]]


def test_round_shapes_have_half_their_lengths():
    table = shape_table(Scene([Capsule(0.2, 3.0), Cylinder(0.4, 5.0), Ellipsoid((1, 2, 3))]), 3)
    np.testing.assert_allclose(table.rows["half_size"], [(0.2, 0.2, 1.5), (0.4, 0.4, 2.5), (0.5, 1, 1.5)])


def test_every_body_is_of_the_kind_of_its_shape_and_every_kind_has_its_programs():
    rng = np.random.default_rng(0)
    mesh = Mesh(np.eye(3), [(0, 1, 2)])
    shapes = [Sphere(), Box(), Plane(), Sphere(2.0), Capsule(), Cylinder(), Ellipsoid(), mesh]
    picked = [shapes[i] for i in rng.integers(0, len(shapes), 100)]
    table = shape_table(Scene(picked), 150)
    told = [KINDS[type(shape)] for shape in picked]
    assert [KIND_NAMES[kind] for kind in table.kinds] == told + [told[-1]] * 50
    assert set(table.present) == set(told) == {one.kind for one in PASSES.values()} - {ALL_KINDS}


def test_only_kinds_that_bodies_have_are_present():
    assert shape_table(Scene([Box(), Sphere()]), 1).present == ("boxes",)


def test_bodies_without_a_colour_take_the_palettes_in_turn():
    table = shape_table(Scene([Sphere()] * 20), 20)
    np.testing.assert_array_equal(table.rows["color"][:, :3], PALETTE[np.arange(20) % len(PALETTE)])


def test_black_is_a_colour():
    assert shape_table(Scene([Sphere(color=(0, 0, 0))]), 1).rows["color"].tolist() == [[0, 0, 0, 255]]


def test_a_scene_without_shapes_draws_spheres():
    table = shape_table(Scene([]), 2)
    assert table.present == ("spheres",)
    assert tuple(table.rows["half_size"][1]) == half_size(Sphere())
