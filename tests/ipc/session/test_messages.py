"""What a simulation says of itself is what a viewer may use without a look, or is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.long.hostile.talk_targets import STATUS
from twixt.ipc.session import messages
from twixt.ipc.session.wire import WireError


def test_a_status_as_physics_says_it_is_passed_on() -> None:
    assert messages.status(STATUS) == STATUS
    assert messages.status({**STATUS, "more": ["of", "another"]})["more"] == ["of", "another"]
    assert messages.status(None) == {}


def test_what_is_said_to_be_nothing_is_left_out() -> None:
    assert messages.status({"trouble": None, "diagnostics": None, "trouble_asked": None}) == {}


@pytest.mark.parametrize(
    ("wrong", "said", "rule"),
    [
        ([], "status as a list", "an object"),
        ("status", "status as 'status'", "an object"),
        (5, "status as 5", "an object"),
        ({"tick": "many"}, "status.tick as 'many'", "a finite number"),
        ({"tick": True}, "status.tick as True", "a finite number"),
        ({"rate": None}, "status.rate as None", "a finite number"),
        ({"rate": math.nan}, "status.rate as nan", "a finite number"),
        ({"rate": 10**400}, "status.rate as 1000", "a finite number"),
        ({"tick": 1 << 63}, "status.tick as 9223372036854775808", "a finite number"),
        ({"time_scale": 0}, "status.time_scale as 0", "> 0"),
        ({"time_scale": -1.0}, "status.time_scale as -1.0", "> 0"),
        ({"warning": ["body 2"]}, "status.warning as a list", "text"),
        ({"diagnostics": [1]}, "diagnostics as a list", "an object"),
        ({"diagnostics": {"energy": "high"}}, "the diagnostic 'energy' as 'high'", "a number"),
        ({"diagnostics": {"energy": 10**400}}, "the diagnostic 'energy' as 1000", "a number"),
        ({"trouble": []}, "trouble as a list", "an object"),
        ({"trouble": {"drop_percent": 101}}, "status.drop_percent as 101", "valid values of injected trouble"),
        (
            {"trouble_asked": {"slow_physics_ms": [40]}},
            "status.slow_physics_ms as a list",
            "valid values of injected trouble",
        ),
        ({"slow_physics_ms": [20, "40"]}, "status.slow_physics_ms as a list", "valid values of injected trouble"),
        (
            {"controls": [["slider", "g", 9, 5, 0, "controls"]]},
            "status.controls as a list",
            "a list of kind, name, value, low, high, section",
        ),
        ({"delay_ms": [1]}, "status.delay_ms as a list", "valid values of injected trouble"),
        ({"own_keys": "ab"}, "status.own_keys as 'ab'", "a list of key names"),
        ({"own_keys": ["a", 5]}, "status.own_keys as a list", "a list of key names"),
        ({"own_keys": ["a"] * 201}, "status.own_keys as a list", "a list of key names"),
        ({"draggable": [1, True]}, "status.draggable as a list", "a list of bodies"),
        ({"draggable": 1}, "status.draggable as 1", "a list of bodies"),
    ],
)
def test_what_no_physics_says_is_refused_in_words(wrong: Any, said: str, rule: str) -> None:
    with pytest.raises(WireError, match=rf"the simulation sent {said}.*, which must be {rule}; restart it"):
        messages.status(wrong)


def test_whatever_its_size_what_was_said_is_shown_in_a_few_words() -> None:
    name, name_shown, value, value_shown = "x" * 10**6, "x" * 40, "y" * 10**6, "'" + "y" * 39
    for tell, said, what in (
        (messages.status, {"diagnostics": {name: value}}, f"the diagnostic '{name_shown}' as {value_shown},"),
        (messages.blocks, {name: value}, f"the block {name_shown} as {value_shown},"),
        (messages.blocks, {"physics": {name: [value]}}, f"the figure '{name_shown}' as a list,"),
    ):
        with pytest.raises(WireError, match=f"^the simulation sent {what} which must be"):
            tell(said)


def test_a_description_is_values_by_name_or_empty() -> None:
    assert messages.description({"dt": 0.5, "more": [1]}) == {"dt": 0.5, "more": [1]}
    assert messages.description(None) == {}
    with pytest.raises(WireError, match="^the simulation sent description as 'x', which must be an object; "):
        messages.description("x")


def test_the_folders_of_its_code_are_absolute_paths() -> None:
    messages.description({"code_folders": ["/home/me", "/"]})
    for wrong in ("/", ["here"], [1], ["/" + chr(0)], ["/x"] * 65, {"/": 1}):
        with pytest.raises(WireError, match=r"sent description.code_folders as .*, which must be a list of at most 64"):
            messages.description({"code_folders": wrong})


def test_an_infinite_diagnostic_is_the_worlds_own_business() -> None:
    assert messages.status({"diagnostics": {"energy": math.inf}}) == {"diagnostics": {"energy": math.inf}}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (5, "report as 5, which must be an object"),
        ({"physics": 5}, "the block physics as 5, which must be an object"),
        ({"physics": {"steps": [1]}}, "the figure 'steps' as a list, which must be a number, text, null"),
        ({"physics": {"steps": {"p50": []}}}, "the figure 'steps' as a list, which must be a number, text, null"),
        ({"physics": {"steps": 1 << 63}}, "the figure 'steps' as 9223372036854775808, which must be a number"),
    ],
)
def test_blocks_that_hold_no_figures_are_refused(wrong: Any, said: str) -> None:
    with pytest.raises(WireError, match=f"the simulation sent {said}"):
        messages.blocks(wrong)


def test_blocks_of_figures_are_passed_on() -> None:
    blocks = {"physics": {"steps": 3, "rate": {"p50": 1.0, "max": None}}, "channel": {}}
    assert messages.blocks(blocks) == blocks
    assert messages.blocks(None) is None


def test_every_text_that_is_displayed_is_bounded() -> None:
    long, cut = "x" * 10**6, "x" * messages.LONGEST_TEXT
    status = {"world": long, "warning": long, "step_reason": long, "diagnostics": {long: 1.0}}
    assert messages.status(status) == {
        "world": cut, "warning": cut, "step_reason": cut, "diagnostics": {cut: 1.0}
    }  # fmt: skip
    assert messages.blocks({long: {long: long, "step_ms": {long: long}}}) == {cut: {cut: cut, "step_ms": {cut: cut}}}


def test_a_text_is_bounded_and_anything_else_is_none() -> None:
    assert len(messages.text("x" * 10**6)) == messages.LONGEST_TEXT
    assert messages.text("because") == "because"
    assert messages.text(["x"]) == ""
