from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Plane, Scene, SceneError, Shape, Sphere
from twixt.ipc.scene.scene import packed_scene, shape_list, unpacked_scene
from twixt.ipc.scene.shape_list import MAX_DISTINCT_SHAPES, ShapeList

KINDS: list[Shape] = [Sphere(), Sphere(0.1), Box(), Plane(), Capsule(), Cylinder(), Ellipsoid()]


@given(st.lists(st.tuples(st.integers(0, len(KINDS) - 1), st.booleans(), st.integers(1, 6)), max_size=30))
def test_a_list_of_shapes_always_reads_as_it_was_written(runs: list[tuple[int, bool, int]]) -> None:
    """Runs of one object, or of equal objects, of any length."""
    written: list[Shape] = []
    for kind, is_same, length in runs:
        shape = KINDS[kind]
        written.extend(shape if is_same else dataclasses.replace(shape) for _ in range(length))
    shapes = ShapeList.of(written)
    assert list(shapes) == written
    assert shapes == written
    assert len(shapes) == len(written)
    assert shapes[1:] == written[1:]
    assert shapes.table == tuple(dict.fromkeys(written))
    assert unpacked_scene(packed_scene(Scene(shapes)).to_bytes()).shapes == written


def test_shapes_may_come_from_anywhere() -> None:
    assert ShapeList.of(Sphere(radius) for radius in (1.0, 2.0)) == [Sphere(1.0), Sphere(2.0)]
    assert ShapeList.of((Sphere(),)) == (Sphere(),)
    assert ShapeList.of([]) == []


def test_changing_a_list_afterwards_does_not_change_the_scene() -> None:
    listed: list[Shape] = [Sphere()]
    scene = Scene(listed)
    listed.append(Box())
    assert scene.shapes == [Sphere()]


def test_a_scene_that_is_replaced_does_not_look_at_its_shapes_again() -> None:
    scene = Scene([Sphere(), Box()])
    assert dataclasses.replace(scene, ground_z=None).shapes is scene.shapes


def test_shapes_are_not_the_same_as_others_or_shorter_ones() -> None:
    shapes = ShapeList.of([Sphere(), Box()])
    assert shapes != [Sphere(), Box((1, 1, 2))]
    assert shapes != [Sphere()]
    assert shapes != 5


def test_more_distinct_shapes_than_a_table_holds_are_refused_with_the_way_out() -> None:
    many = [Sphere(1 + number / 1000) for number in range(MAX_DISTINCT_SHAPES + 1)]
    assert len(shape_list(Scene(many[:-1])).table) == MAX_DISTINCT_SHAPES
    with pytest.raises(SceneError, match="at most 65535 distinct shapes; share shapes between bodies and vary"):
        Scene(many)


@pytest.mark.parametrize(
    "given",
    [Sphere(), Ellipsoid(), "balls", None, 3, Sphere],
    ids=["shape", "other shape", "text", "none", "3", "kind"],
)
def test_what_is_no_shape_per_body_is_refused_with_an_example(given: Any) -> None:
    with pytest.raises(SceneError) as refused:
        ShapeList.of(given)
    assert str(refused.value) == f"Scene.shapes must be one shape per body, such as [Sphere()] * 3, got {given!r}"


@pytest.mark.parametrize(
    ("given", "body"),
    [
        (["cube"], 0),
        ([Sphere(), "cube", "cube"], 1),
        ([Sphere(), Box()] * 4 + ["cube"], 8),
        ([Sphere()] * 9 + ["cube"] + [Sphere()] * 9, 9),
    ],
    ids=["first", "twice", "short runs", "long runs"],
)
def test_a_body_whose_shape_is_none_is_named(given: Any, body: int) -> None:
    with pytest.raises(SceneError) as refused:
        ShapeList.of(given)
    kinds = "Sphere, Box, Plane, Capsule, Cylinder, Ellipsoid, Mesh, Compound"
    assert str(refused.value) == f"Scene shapes must be one of {kinds}, got 'cube' for body {body}"


def test_equal_shapes_share_a_row_in_the_order_in_which_they_first_come() -> None:
    shapes = ShapeList.of([Box(), Sphere(), Sphere(), Box(), Sphere(color=(1, 0, 0))])
    assert shapes.table == (Box(), Sphere(), Sphere(color=(1, 0, 0)))
    assert shapes.rows.tolist() == [0, 1, 1, 0, 2]
    assert shapes.rows.dtype == np.uint16


def test_shapes_of_equal_numbers_but_another_kind_are_distinct() -> None:
    listed = [Box(), Ellipsoid(), Capsule(1, 2), Cylinder(1, 2)]
    assert ShapeList.of(listed).table == tuple(listed)


def test_many_bodies_of_one_shape_are_told_apart_run_by_run() -> None:
    one, other = Sphere(), Box()
    shapes = ShapeList.of([one] * 50 + [other] * 30 + [one] * 20)
    assert shapes.table == (Sphere(), Box())
    assert shapes.rows.tolist() == [0] * 50 + [1] * 30 + [0] * 20
    assert shapes.rows.dtype == np.uint16


def test_a_part_of_the_shapes_keeps_their_table() -> None:
    shapes = ShapeList.of([Sphere(), Box(), Plane()])
    assert shapes[::2] == [Sphere(), Plane()]
    assert shapes[::2].table is shapes.table
    assert shapes[-1] == Plane()
    with pytest.raises(IndexError):
        shapes[3]


def test_shapes_show_themselves_as_a_list_does() -> None:
    listed = [Sphere(), Sphere(), Box()]
    assert repr(ShapeList.of(listed)) == repr(listed)


def test_shapes_are_no_key_as_a_list_is_none() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(ShapeList.of([Sphere()]))
