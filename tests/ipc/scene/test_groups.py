"""What groups, colours by a column and parents may be made of, and in which words the rest is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from twixt.ipc.config import flags
from twixt.ipc.scene import ColorBy, Group, SceneError
from twixt.ipc.scene.groups import LONGEST_DELAY_MS, RESERVED_NAMES, body_index, check_groups, check_parents

METHODS = ", ".join(flags.INTERPOLATIONS)


def test_a_group_of_nothing_but_bodies_is_drawn_as_the_run_is() -> None:
    group = Group(range(2, 5))
    assert (group.bodies, group.interpolation, group.delay_ms) == ((2, 3, 4), None, 0.0)


def test_a_group_may_have_no_bodies_yet() -> None:
    assert Group([]).bodies == ()


def test_a_group_keeps_pythons_own_numbers() -> None:
    group = Group(np.array([3, 1], np.uint8), delay_ms=np.int64(20))
    assert [type(body) for body in group.bodies] == [int, int]
    assert group.bodies == (3, 1)
    assert (type(group.delay_ms), group.delay_ms) == (float, 20.0)


@pytest.mark.parametrize("method", [None, *flags.INTERPOLATIONS, "my_blend:Ease", "my.blend:Ease"])
def test_a_group_takes_any_method_of_the_run_or_one_of_the_users(method: str | None) -> None:
    assert Group([0], method).interpolation == method


@pytest.mark.parametrize("delay_ms", [0, LONGEST_DELAY_MS])
def test_a_group_may_be_as_late_as_the_longest_delay(delay_ms: float) -> None:
    assert Group([0], delay_ms=delay_ms).delay_ms == delay_ms


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"bodies": 4}, "Group.bodies must be indices of bodies, such as [4, 5], got 4"),
        ({"bodies": "45"}, "Group.bodies must be indices of bodies, such as [4, 5], got '45'"),
        ({"bodies": [0, True]}, "Group.bodies must be indices of bodies, whole numbers >= 0, got True"),
        ({"bodies": [-1]}, "Group.bodies must be indices of bodies, whole numbers >= 0, got -1"),
        ({"bodies": [0, 1.0]}, "Group.bodies must be indices of bodies, whole numbers >= 0, got 1.0"),
        ({"bodies": [7, 4, 2, 4]}, "Group.bodies must name each body once, got 4 twice"),
        ({"delay_ms": "late"}, "Group.delay_ms must be a finite number, got 'late'"),
        ({"delay_ms": float("nan")}, "Group.delay_ms must be a finite number, got nan"),
        ({"delay_ms": -1}, "Group.delay_ms must be >= 0 and <= 10000, got -1"),
        ({"delay_ms": 10_000.5}, "Group.delay_ms must be >= 0 and <= 10000, got 10000.5"),
        *(
            (
                {"interpolation": method},
                f"Group.interpolation must be one of {METHODS}, module:Class for your own method, "
                f"or None for the method of the run, got {method!r}",
            )
            for method in ("smoothest", "a b:C", "", 3)
        ),
    ],
)
def test_a_group_that_cannot_be_drawn_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SceneError) as refused:
        Group(**{"bodies": [0]} | wrong)
    assert str(refused.value) == said


def test_colours_go_from_nought_to_one_and_from_blue_to_red_unless_said_otherwise() -> None:
    heat = ColorBy("heat")
    assert (heat.low, heat.high) == (0.0, 1.0)
    assert heat.low_color[2] == max(heat.low_color)
    assert heat.high_color[0] == max(heat.high_color)


def test_a_colour_by_a_column_keeps_pythons_own_numbers() -> None:
    heat = ColorBy("heat", np.float32(4), np.int32(-2), [0, 0, 1], np.ones(3))
    assert (heat.low, heat.high, heat.low_color, heat.high_color) == (4.0, -2.0, (0.0, 0.0, 1.0), (1.0, 1.0, 1.0))
    assert [type(number) for number in (heat.low, heat.high, *heat.low_color, *heat.high_color)] == [float] * 8


COLOR = "must be (red, green, blue), each from 0 to 1, or np.uint8(...) from 0 to 255"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"column": ""}, "ColorBy.column must be the name of a column, got ''"),
        ({"column": 3}, "ColorBy.column must be the name of a column, got 3"),
        ({"low": "cold"}, "ColorBy.low must be a finite number, got 'cold'"),
        ({"high": float("inf")}, "ColorBy.high must be a finite number, got inf"),
        ({"low": 1, "high": 1}, "ColorBy.low and high must differ, got 1 and 1"),
        ({"low_color": (0, 0, 2)}, f"ColorBy.low_color {COLOR}, got (0, 0, 2)"),
        ({"high_color": "red"}, f"ColorBy.high_color {COLOR}, got 'red'"),
        ({"low_color": None}, f"ColorBy.low_color {COLOR}, got None"),
        ({"high_color": None}, f"ColorBy.high_color {COLOR}, got None"),
    ],
)
def test_a_colour_by_a_column_that_cannot_be_drawn_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SceneError) as refused:
        ColorBy(**{"column": "heat"} | wrong)
    assert str(refused.value) == said


@pytest.mark.parametrize("value", [0, 7, np.uint8(7)], ids=repr)
def test_a_whole_number_is_the_index_of_a_body(value: Any) -> None:
    assert body_index("Camera.body", value) == value
    assert type(body_index("Camera.body", value)) is int


@pytest.mark.parametrize("value", [-1, 1.0, "cube", None, False], ids=repr)
def test_what_is_no_index_of_a_body_is_refused(value: Any) -> None:
    with pytest.raises(SceneError) as refused:
        body_index("Camera.body", value)
    assert str(refused.value) == f"Camera.body must be indices of bodies, whole numbers >= 0, got {value!r}"


def test_groups_keep_their_order_and_share_nothing_with_what_was_given() -> None:
    given = {"late": Group([3, 0]), "own": Group([1])}
    checked = check_groups(given)
    assert list(checked.items()) == list(given.items())
    given.clear()
    assert list(checked) == ["late", "own"]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([Group([1])], f'Scene.groups must map names to groups, such as {{"hand": Group([4, 5])}}, got {[Group([1])]}'),
        ({"": Group([1])}, "a group's name must be a text other than children, got ''"),
        ({3: Group([1])}, "a group's name must be a text other than children, got 3"),
        ({RESERVED_NAMES[0]: Group([1])}, "a group's name must be a text other than children, got 'children'"),
        ({"a": [1, 2]}, "Scene.groups must map names to Group(bodies, ...), got [1, 2] for 'a'"),
        (
            {"a": Group([1, 2]), "b": Group([3]), "c": Group([4, 2])},
            "a body can be in only one group, got 2 in 'a' and in 'c'",
        ),
    ],
    ids=["a list", "no name", "a number", "reserved", "no group", "shared"],
)
def test_groups_that_cannot_be_told_apart_are_refused(groups: Any, said: str) -> None:
    with pytest.raises(SceneError) as refused:
        check_groups(groups)
    assert str(refused.value) == said


def test_many_may_hang_on_one_and_one_on_many_in_a_row() -> None:
    parents = {4: 3, 3: 2, 2: 0, 1: 0, 5: 3, 9: 8}
    assert check_parents(parents) == parents
    assert check_parents({np.int32(1): np.int64(0)}) == {1: 0}
    assert check_parents({}) == {}


@pytest.mark.parametrize(
    ("parents", "said"),
    [
        ([0, 1], "Scene.parents must map a child to its parent, such as {1: 0}, got [0, 1]"),
        ({"cube": 0}, "Scene.parents must be indices of bodies, whole numbers >= 0, got 'cube'"),
        ({0: -1}, "Scene.parents must be indices of bodies, whole numbers >= 0, got -1"),
        (
            {3: 3},
            "Scene.parents must not form a cycle, got 3 -> 3; remove one of these parents",
        ),
        # The way to the circle is no part of it, and what ends elsewhere is no circle.
        (
            {8: 7, 5: 4, 4: 1, 1: 2, 2: 1},
            "Scene.parents must not form a cycle, got 1 -> 2 -> 1; remove one of these parents",
        ),
    ],
    ids=["a list", "a name", "negative", "itself", "a circle"],
)
def test_parents_that_lead_nowhere_are_refused(parents: Any, said: str) -> None:
    with pytest.raises(SceneError) as refused:
        check_parents(parents)
    assert str(refused.value) == said
