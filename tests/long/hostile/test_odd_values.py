"""Values of odd types for every constructor of the front door: refused by a TwixtError of one short line, or taken."""

from __future__ import annotations

import decimal
import fractions
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import twixt
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import LONGEST_VALUE, TwixtError
from twixt.ipc.interaction.overlay import checked_texts

# Characters of a message that holds two refused values, at most.
LONGEST = 2 * LONGEST_VALUE + 200
NEEDED: dict[str, dict[str, Any]] = {
    "Scene": {"shapes": [twixt.Sphere()] * 3},
    "Camera": {"eye": (1, 2, 3), "target": (0, 0, 0)},
    "Sphere": {},
    "Box": {},
    "Plane": {},
    "Capsule": {},
    "Cylinder": {},
    "Ellipsoid": {},
    "Part": {"shape": twixt.Sphere()},
    "Compound": {"parts": [twixt.Part(twixt.Sphere())]},
    "Material": {},
    "Group": {"bodies": [1, 2]},
    "ColorBy": {"column": "heat"},
    "Column": {"dtype": "f4"},
    "Slider": {"name": "speed", "value": 1, "low": 0, "high": 2},
    "Toggle": {"name": "speed"},
    "Button": {"name": "speed"},
    "OverlayText": {},
}


class OfAnotherLibrary:
    """An array of another library, without a truth value."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones(3, dtype)

    def __bool__(self) -> bool:
        raise RuntimeError("an array has no truth value")


ODD = (
    None, True, "", "x", b"x", float("nan"), -1, 2, 1e308, 10**400, -(10**5000), 1 << 64, 1j, [None], [[]],
    [[1, 2], [3]], {1: 2}, {None: None}, {1, 2}, int, ..., "\ud800", "x" * 10_000, [0.0] * 10_000,
    fractions.Fraction(1, 3), decimal.Decimal("sNaN"), np.float32(3), np.bool_(True), np.str_("x"), np.array(5),
    np.array("x"), np.array(None), np.zeros((2, 2)), np.ones(1000), np.array([1j, 2]), np.array([None, 1]),
    np.zeros(2, [("a", "f4")]), np.ma.masked_array([1, 2], [0, 1]), memoryview(b"abc"), OfAnotherLibrary(),
)  # fmt: skip


def refusal(does: Callable[[], object]) -> str:
    """The message of the TwixtError that it raises; empty where it raises none."""
    try:
        does()
    except TwixtError as error:
        return str(error)
    return ""


def parameters(make: Callable[..., object]) -> list[str]:
    return [name for name in inspect.signature(make).parameters if name != "self"]


@pytest.mark.parametrize("kind", NEEDED)
def test_an_odd_value_is_refused_in_one_short_line_or_taken(kind: str) -> None:
    make = getattr(twixt, kind)
    refused = 0
    for name in parameters(make):
        for odd in ODD:
            said = refusal(lambda name=name, odd=odd: make(**{**NEEDED[kind], name: odd}))  # type: ignore[misc]
            refused += bool(said)
            assert len(said) < LONGEST, name
            assert len(said.splitlines()) < 2, name
    assert refused > len(ODD) // 2


def test_odd_marks_surfaces_and_publishes_are_refused_in_one_short_line_or_taken() -> None:
    scene = twixt.Scene([twixt.Mesh(np.eye(4, 3), [[0, 1, 2], [1, 2, 3]], deforms=True)])
    places = np.zeros((1, 3))
    calls: dict[str, Callable[..., Any]] = {"extend": twixt.Marks().extend, "count": partial(twixt.Surfaces, scene)}
    calls |= {
        name: partial(twixt.Marks().add, **({"kind": "arrow", "position": places, "to": places} | {name: None}))
        for name in parameters(twixt.Marks.add)
    }
    with twixt.show(scene, viewer=False) as view:
        calls |= {f"publish {name}": partial(view.publish, position=places) for name in ("columns", "marks", "cut")}
        for call, does in calls.items():
            name = {"extend": "records", "count": "count"}.get(call, call.removeprefix("publish "))
            said = [refusal(partial(does, **{name: odd})) for odd in ODD]
            assert len([each for each in said if each]) > len(ODD) // 2, call
            assert max(map(len, said)) < LONGEST, call


def test_an_odd_setting_is_refused_in_one_short_line_or_taken() -> None:
    refused = 0
    for name in parameters(Config):
        for odd in ODD:
            said = refusal(lambda name=name, odd=odd: Config(**{name: odd}).check_files())  # type: ignore[misc]
            refused += bool(said)
            assert len(said) < LONGEST, name
    assert refused > len(parameters(Config)) * len(ODD) // 2


def test_none_is_refused_where_a_setting_has_another_default() -> None:
    with pytest.raises(TwixtError, match=r"^--publish-hz must not be None; leave it out for 120\.0$"):
        Config(publish_hz=None)  # type: ignore[arg-type]
    with pytest.raises(TwixtError, match=r"^--offscreen must be True or False, got array\(\[0\.\]\)$"):
        Config(offscreen=np.zeros(1))  # type: ignore[arg-type]


def test_odd_texts_over_the_picture_are_refused() -> None:
    for odd in ODD:
        with pytest.raises(TwixtError, match="takes a list of OverlayText"):
            checked_texts("set_texts", odd)
