from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Plane, Scene, SceneError, Shape, Sphere
from twixt.ipc.shape_list import MAX_DISTINCT_SHAPES, ShapeList

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
    assert Scene.from_bytes(Scene(shapes).to_bytes()).shapes == written


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
    assert dataclasses.replace(scene, ground=None).shapes is scene.shapes


def test_shapes_are_not_the_same_as_others_or_shorter_ones() -> None:
    shapes = ShapeList.of([Sphere(), Box()])
    assert shapes != [Sphere(), Box((1, 1, 2))]
    assert shapes != [Sphere()]
    assert shapes != 5


def test_more_distinct_shapes_than_a_table_holds_are_refused_with_the_way_out() -> None:
    many = [Sphere(1 + number / 1000) for number in range(MAX_DISTINCT_SHAPES + 1)]
    assert len(Scene(many[:-1]).distinct_shapes) == MAX_DISTINCT_SHAPES
    with pytest.raises(SceneError, match="at most 65535 distinct shapes; share shapes between bodies and vary"):
        Scene(many)


@pytest.mark.parametrize(
    ("shape", "reach"),
    [
        (Sphere(2.0), 2.0),
        (Box((2, 4, 4)), 3.0),
        (Plane((6, 8)), 5.0),
        (Capsule(0.5, 3.0), 2.0),
        (Cylinder(3.0, 8.0), 5.0),
        (Ellipsoid((2, 6, 4)), 3.0),
    ],
)
def test_a_shape_reaches_as_far_as_its_farthest_point(shape: Shape, reach: float) -> None:
    assert shape.reach == reach
