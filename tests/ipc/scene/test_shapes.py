"""What a shape keeps of what it was given, and in which words it refuses what cannot be drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from twixt.ipc.scene import (
    SHAPES,
    Box,
    Camera,
    Capsule,
    Cylinder,
    Ellipsoid,
    Plane,
    Scene,
    SceneError,
    Sphere,
)
from twixt.ipc.scene.checks import number, vector
from twixt.ipc.scene.groups import Group

INFINITE, NO_NUMBER = float("inf"), float("nan")

# What each shape may be made of besides its colour, and what it then is.
SIZES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "sphere": ({"radius": 2}, {"radius": 2.0}),
    "box": ({"size": [1, 2, 3]}, {"size": (1.0, 2.0, 3.0)}),
    "plane": ({"size": np.array([4, 5])}, {"size": (4.0, 5.0)}),
    "capsule": ({"radius": [0.25], "length": np.float32(2)}, {"radius": 0.25, "length": 2.0}),
    "cylinder": ({"radius": np.int32(3), "length": np.ones(1)}, {"radius": 3.0, "length": 1.0}),
    "ellipsoid": ({"size": (True, 2, 0.5)}, {"size": (1.0, 2.0, 0.5)}),
}


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("color", [None, [1, 0, np.float32(0.5)]], ids=["uncoloured", "coloured"])
def test_a_shape_keeps_what_it_was_given_as_pythons_own_numbers(kind: str, color: Any) -> None:
    given, kept = SIZES[kind]
    said = asdict(SHAPES[kind](**given, color=color))
    assert said == kept | {"color": None if color is None else (1.0, 0.0, 0.5), "material": None, "label": None}
    for value in said.values():
        for one in value if isinstance(value, tuple) else (value,):
            assert type(one) is float or one is None


@pytest.mark.parametrize("kind", SHAPES)
def test_a_shape_of_nothing_but_its_name_has_a_size_and_no_colour(kind: str) -> None:
    shape = SHAPES[kind]()
    assert shape.color is None
    assert shape.reach > 0


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
def test_a_shape_reaches_as_far_as_its_farthest_point(shape: Any, reach: float) -> None:
    assert shape.reach == reach


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize(
    "color",
    [
        "red",
        0.5,
        (1, 0),
        (1, 0, 0, 1, 1),
        (0, 0, 1.01),
        (0, -0.01, 0),
        (0, 0, NO_NUMBER),
        (0, 0, None),
        (255, 0, 0),
        (True, False, False),
        np.array([True, False, False]),
        (1j, 0, 0),
        np.uint8([[1, 2, 3]]),
        (np.uint8(200), 0, 0),
        np.int8([1, -1, 0]),
    ],
    ids=repr,
)
def test_a_colour_that_is_none_is_refused_by_the_name_of_the_shape(kind: str, color: Any) -> None:
    with pytest.raises(SceneError) as refused:
        SHAPES[kind](color=color)
    name = SHAPES[kind].__name__
    rule = "must be (red, green, blue), or (red, green, blue, alpha), each from 0 to 1, or np.uint8(...) from 0 to 255"
    assert str(refused.value) == f"{name}.color {rule}, got {color!r}"


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("color", [np.uint8([255, 0, 51]), [np.uint8(255), np.uint8(0), np.uint8(51)]], ids=repr)
def test_a_colour_of_uint8_counts_to_255(kind: str, color: Any) -> None:
    assert SHAPES[kind](color=color).color == (1.0, 0.0, 0.2)
    assert SHAPES[kind](color=np.uint8([1, 1, 1])).color == (1 / 255,) * 3


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("color", [(1, 0, 1), np.float16([1, 0, 1]), np.int64([1, 0, 1])], ids=repr)
def test_a_colour_of_any_other_number_counts_to_1(kind: str, color: Any) -> None:
    assert SHAPES[kind](color=color).color == (1.0, 0.0, 1.0)


@pytest.mark.parametrize("kind", SHAPES)
def test_a_colour_may_have_an_alpha_and_one_of_1_is_as_good_as_none(kind: str) -> None:
    assert SHAPES[kind](color=(1, 0, 0, 0.5)).color == (1.0, 0.0, 0.0, 0.5)
    assert SHAPES[kind](color=(1, 0, 0, 1)) == SHAPES[kind](color=(1, 0, 0))


@pytest.mark.parametrize("color", [(0, 0, 0), (1, 1, 1)])
def test_black_and_white_are_colours(color: Any) -> None:
    assert Sphere(color=color).color == color


@pytest.mark.parametrize(
    ("kind", "wrong", "said"),
    [
        (Sphere, {"radius": 0}, "Sphere.radius must be a finite length > 0 (metres), got 0"),
        (Sphere, {"radius": "big"}, "Sphere.radius must be a finite length > 0 (metres), got 'big'"),
        (
            Sphere,
            {"radius": 10**400},
            f"Sphere.radius must be a finite length > 0 (metres), got {str(10**400)[:197]}...",
        ),
        (Box, {"size": (1, None, 1)}, "Box.size must be 3 finite lengths > 0 (metres), got (1, None, 1)"),
        (Box, {"size": (1, 1)}, "Box.size must be 3 finite lengths > 0 (metres), got (1, 1)"),
        (Plane, {"size": 5}, "Plane.size must be 2 finite lengths > 0 (metres), got 5"),
        (Plane, {"size": (1, NO_NUMBER)}, "Plane.size must be 2 finite lengths > 0 (metres), got (1, nan)"),
        (Capsule, {"radius": -0.1}, "Capsule.radius must be a finite length > 0 (metres), got -0.1"),
        (Capsule, {"length": None}, "Capsule.length must be a finite length > 0 (metres), got None"),
        (Cylinder, {"radius": INFINITE}, "Cylinder.radius must be a finite length > 0 (metres), got inf"),
        (Cylinder, {"length": (1, 2)}, "Cylinder.length must be a finite length > 0 (metres), got (1, 2)"),
        (Ellipsoid, {"size": (1, 0, 1)}, "Ellipsoid.size must be 3 finite lengths > 0 (metres), got (1, 0, 1)"),
        (Ellipsoid, {"size": 2.0}, "Ellipsoid.size must be 3 finite lengths > 0 (metres), got 2.0"),
    ],
)
def test_a_length_that_is_none_is_refused_by_the_name_of_its_field(kind: Any, wrong: Any, said: str) -> None:
    with pytest.raises(SceneError) as refused:
        kind(**wrong)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("wide", "'wide'"),
        (None, "None"),
        ((1.0,), "(1.0,)"),
        (INFINITE, "inf"),
        (NO_NUMBER, "nan"),
        # Its digits would fill the screen, and Python refuses to print more than some thousands of them.
        (10**5000, "a larger whole number"),
    ],
    ids=["text", "none", "tuple", "infinite", "nan", "large"],
)
def test_what_is_no_number_is_refused_with_what_was_given(value: Any, got: str) -> None:
    with pytest.raises(SceneError) as refused:
        number("Scene.ground_z", value)
    assert str(refused.value) == f"Scene.ground_z must be a finite number, got {got}"


@pytest.mark.parametrize("value", [2, np.float32(2), np.int64(2)], ids=["int", "float32", "int64"])
def test_a_number_is_pythons_own_wherever_it_comes_from(value: Any) -> None:
    assert number("Scene.ground_z", value) == 2.0
    assert type(number("Scene.ground_z", value)) is float


@pytest.mark.parametrize("values", ["abc", None, 3, (1, 2), (1, 2, 3, 4), (1, 2, INFINITE), (1, "2", 3)], ids=repr)
def test_what_is_no_point_is_refused_with_what_was_given(values: Any) -> None:
    with pytest.raises(SceneError) as refused:
        vector("Camera.eye", values)
    assert str(refused.value) == f"Camera.eye must be three finite numbers, got {values!r}"


def test_a_point_is_three_numbers_in_their_order() -> None:
    assert vector("Camera.eye", np.array([1, -2, 3])) == (1.0, -2.0, 3.0)


HUGE = 10**5000


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sphere(-HUGE),
        lambda: Box((HUGE, 1, 1)),
        lambda: Sphere(color=(HUGE, 0, 0)),
        lambda: Camera((HUGE, 0, 0), (0, 0, 0)),
        lambda: Camera((1, 0, 0), (0, 0, 0), body=-HUGE),
        lambda: Scene([Sphere()], light=(HUGE, 0, 0)),
        lambda: Scene([Sphere()], groups={"hand": Group([HUGE])}).check_bodies(1),
        lambda: Scene([Sphere()], columns={HUGE: "linear"}),
    ],
)
def test_numbers_that_python_will_not_print_are_refused_like_others(make: Callable[[], object]) -> None:
    with pytest.raises(SceneError, match="got a larger whole number"):
        make()
