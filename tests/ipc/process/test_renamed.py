"""Former names still work and give one line; an attribute that does not exist is refused with the most similar one."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Mapping
from typing import Any

import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.process import renamed
from twixt.ipc.process.renamed import (
    FormerArgument,
    FormerAttribute,
    closed_attributes,
    former_arguments,
    former_attributes,
    say_renamed,
)


@pytest.fixture(autouse=True)
def no_name_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renamed, "_said", set())


def doubled(value: int, others: Mapping[str, Any]) -> int:
    return value * 2 + others["offset"]


@former_arguments({"width": "size", "half": FormerArgument("size", "size=2 * half", doubled)})
def area(size: int, offset: int = 0) -> tuple[int, int]:
    return size, offset


@closed_attributes({"colour": "color", "paint_it": "paint"})
@former_arguments({"colour": "color"})
class Wall:
    color: str

    def __init__(self, color: str = "white") -> None:
        self.color = color
        self._coats = 0

    def paint(self, color: str) -> str:
        self.color, self._coats = color, self._coats + 1
        return f"{self._coats} {color}"


@former_attributes({"is_far": FormerAttribute("Place.distance > 9", lambda place: place.distance > 9)})
class Place:
    distance = 10


def test_a_former_argument_works_and_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert (area(width=3), area(width=4, offset=1), area(5)) == ((3, 0), (4, 1), (5, 0))
    assert capsys.readouterr().err == "twixt: area(width=) is now called area(size=)\n"


def test_a_former_argument_with_other_values_is_converted_beside_the_other_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (area(half=3), area(half=3, offset=1)) == ((6, 0), (7, 1))
    assert capsys.readouterr().err == "twixt: area(half=) is now called area(size=2 * half)\n"


@pytest.mark.parametrize("call", [lambda: area(3, width=3), lambda: area(size=3, width=3)])
def test_both_names_of_an_argument_are_refused(call: Any) -> None:
    with pytest.raises(TwixtError, match="^area accepts size= or its former name width=, got both; leave out width=$"):
        call()


def test_an_argument_that_never_was_is_refused_as_python_does() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'height'"):
        area(width=3, height=3)  # type: ignore[call-arg]


def test_signatures_and_dir_have_only_the_new_names() -> None:
    assert list(inspect.signature(area).parameters) == ["size", "offset"]
    assert list(inspect.signature(Wall).parameters) == ["color"]
    assert not {"colour", "paint_it"} & {*dir(Wall())}


def test_a_former_attribute_is_read_called_and_assigned(capsys: pytest.CaptureFixture[str]) -> None:
    wall = Wall(colour="red")  # type: ignore[call-arg]
    assert wall.colour == wall.color == "red"  # type: ignore[attr-defined]
    wall.colour = "blue"
    assert (wall.color, wall.paint_it("green"), wall.color) == ("blue", "1 green", "green")  # type: ignore[attr-defined]
    assert capsys.readouterr().err.splitlines() == [
        "twixt: Wall(colour=) is now called Wall(color=)",
        "twixt: Wall.colour is now called Wall.color",
        "twixt: Wall.paint_it is now called Wall.paint",
    ]


def test_an_attribute_that_became_an_expression_has_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert Place().is_far is True  # type: ignore[attr-defined]
    assert capsys.readouterr().err == "twixt: Place.is_far is now called Place.distance > 9\n"


def test_an_attribute_that_does_not_exist_is_refused_with_the_most_similar_one() -> None:
    wall, said = Wall(), '^Wall has no attribute "colr"; did you mean "color"\\?$'
    with pytest.raises(AttributeError, match=said):
        wall.colr = "red"
    with pytest.raises(AttributeError, match="colr"):
        wall.colr  # noqa: B018
    with pytest.raises(AttributeError, match='^Wall has no attribute "zzz"; keep your own values in other variables$'):
        wall.zzz = 1
    assert not hasattr(wall, "_repr_html_")


def test_names_with_an_underscore_and_subclasses_are_open() -> None:
    class Own(Wall):
        pass

    wall, own = Wall(), Own()
    wall._mine = own.mine = 3  # type: ignore[attr-defined]
    assert (wall._mine, own.mine) == (3, 3)  # type: ignore[attr-defined]


def test_copies_and_pickles_work() -> None:
    for other in (copy.copy(Wall("red")), copy.deepcopy(Wall("red")), pickle.loads(pickle.dumps(Wall("red")))):
        assert other.color == "red"


def test_each_name_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        say_renamed("a", "b")
        say_renamed("c", "d")
    assert capsys.readouterr().err == "twixt: a is now called b\ntwixt: c is now called d\n"


def test_reading_is_as_fast_as_in_any_class() -> None:
    """CPython does not specialise reads of attributes in classes with `__getattr__`."""
    assert not any(hasattr(kind, "__getattr__") for kind in (Wall, Place))
