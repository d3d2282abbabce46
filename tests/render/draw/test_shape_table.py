from __future__ import annotations

import numpy as np

from twixt.ipc.scene import Box, Plane, Scene, Sphere
from twixt.render.draw.shape_table import PALETTE, half_size, shape_table


def test_each_body_gets_the_size_and_colour_of_its_shape():
    table = shape_table(Scene([Sphere(0.5, (1, 0, 0)), Box((1, 2, 3), (0, 1, 0)), Plane((4, 6), (0, 0, 1))]), 3)
    np.testing.assert_allclose(table.rows["half_size"], [(0.5, 0.5, 0.5), (0.5, 1, 1.5), (2, 3, 0)])
    assert table.rows["color"].tolist() == [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]]


def test_every_body_is_drawn_by_exactly_one_program():
    rng = np.random.default_rng(0)
    kinds = [Sphere(), Box(), Plane(), Sphere(2.0)]
    table = shape_table(Scene([kinds[i] for i in rng.integers(0, 4, 100)]), 150)
    assert sorted([*table.spheres, *table.boxes]) == list(range(150))
    assert (np.diff(table.spheres.astype(int)) > 0).all()
    assert (np.diff(table.boxes.astype(int)) > 0).all()


def test_bodies_without_a_colour_take_the_palettes_in_turn():
    table = shape_table(Scene([Sphere()] * 20), 20)
    np.testing.assert_array_equal(table.rows["color"][:, :3], PALETTE[np.arange(20) % len(PALETTE)])


def test_black_is_a_colour():
    assert shape_table(Scene([Sphere(color=(0, 0, 0))]), 1).rows["color"].tolist() == [[0, 0, 0, 255]]


def test_a_scene_without_shapes_draws_spheres():
    table = shape_table(Scene([]), 2)
    assert table.spheres.tolist() == [0, 1]
    assert tuple(table.rows["half_size"][1]) == half_size(Sphere())
