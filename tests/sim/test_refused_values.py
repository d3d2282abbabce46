"""What arguments of public functions and classes raise: a TwixtError that is also Python's own error of its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import twixt

CALLS: dict[str, tuple[Callable[[], object], type[Exception]]] = {
    "a camera": (lambda: twixt.Camera((0, 0, 0), (0, 0, 0)), ValueError),
    "a camera's eye": (lambda: twixt.Camera(eye="up"), TypeError),  # type: ignore[arg-type]
    "a radius": (lambda: twixt.Sphere(radius=-1), ValueError),
    "a radius as text": (lambda: twixt.Sphere(radius="big"), TypeError),  # type: ignore[arg-type]
    "a colour": (lambda: twixt.Box(color=(2, 0, 0)), ValueError),
    "faces": (lambda: twixt.Mesh([(0, 0, 0)], [(0, 1, 2)]), ValueError),
    "vertices of text": (lambda: twixt.Mesh([("a", "b", "c")], [(0, 0, 0)]), TypeError),
    "a group": (lambda: twixt.Group([-1]), ValueError),
    "bodies of a group": (lambda: twixt.Group("all"), TypeError),  # type: ignore[arg-type]
    "a count of bodies": (lambda: twixt.Bodies(-1), ValueError),
    "a count as text": (lambda: twixt.Bodies("many"), TypeError),  # type: ignore[arg-type]
    "a column": (lambda: twixt.Column("f4", 0), ValueError),
    "a width as text": (lambda: twixt.Column("f4", "wide"), TypeError),  # type: ignore[arg-type]
    "columns": (lambda: twixt.Bodies(1, columns=["heat"]), TypeError),  # type: ignore[arg-type]
    "a slider": (lambda: twixt.Slider("speed", 3, 0, 1), ValueError),
    "a slider's value": (lambda: twixt.Slider("speed", "fast", 0, 1), TypeError),  # type: ignore[arg-type]
    "text": (lambda: twixt.OverlayText("middle"), ValueError),
    "words of a text": (lambda: twixt.OverlayText("top", 5), TypeError),  # type: ignore[arg-type]
    "an event": (lambda: twixt.UserEvent("shout"), ValueError),
    "a key": (lambda: twixt.UserEvent("key", key="A"), TypeError),  # type: ignore[arg-type]
    "a mark": (lambda: twixt.Marks().add("star", (0, 0, 0)), ValueError),
    "places of marks": (lambda: twixt.Marks().add("line", (0, 0)), ValueError),
    "surfaces": (lambda: twixt.Surfaces("cloth"), TypeError),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", CALLS)
def test_a_refused_value_is_a_value_error_and_a_wrong_type_a_type_error(what: str) -> None:
    call, kind = CALLS[what]
    with pytest.raises(kind) as refused:
        call()
    assert isinstance(refused.value, twixt.TwixtError)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("published", "kind"),
    [
        ({"position": np.zeros((2, 2))}, ValueError),
        ({"position": [["a", "b", "c"]]}, TypeError),
        ({"position": [[0, 0, 0]], "orientation": [(0, 0, 0, 5)]}, ValueError),
        ({"position": [[0, 0, 0]], "visible": [1.0]}, TypeError),
        ({"position": [[0, 0, 0]], "colour": [(1, 0, 0)]}, TypeError),
        ({"position": [[0, 0, 0]], "marks": "none"}, TypeError),
        ({"position": [[0, 0, 0]], "sim_time": "now"}, TypeError),
        ({"position": [[0, 0, 0]], "sim_time": float("inf")}, ValueError),
    ],
)
def test_what_publish_refuses_is_a_value_error_or_a_type_error(
    published: dict[str, Any], kind: type[Exception]
) -> None:
    with twixt.show(twixt.Scene(), viewer=False) as view, pytest.raises(kind) as refused:
        view.publish(**published)
    assert isinstance(refused.value, twixt.TwixtError)


def test_states_that_are_no_fault_of_a_value_are_neither() -> None:
    view = twixt.show(twixt.Scene(), viewer=False)
    view.close()
    with pytest.raises(twixt.TwixtError) as refused:
        view.reopen()
    assert not isinstance(refused.value, ValueError | TypeError)
