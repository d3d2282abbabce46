"""What a simulation says of itself is what a viewer may use without a look, or is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.hostile.talk_targets import STATUS
from twixt.ipc import told
from twixt.ipc.wire import WireError


def test_a_status_as_physics_says_it_is_passed_on() -> None:
    assert told.status(STATUS) == STATUS
    assert told.status({**STATUS, "more": ["of", "another"]})["more"] == ["of", "another"]
    assert told.status(None) == {}


def test_what_is_said_to_be_nothing_is_left_out() -> None:
    assert told.status({"trouble": None, "diagnostics": None, "trouble_asked": None}) == {}


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        "status",
        5,
        {"tick": "many"},
        {"tick": True},
        {"rate": None},
        {"rate": math.nan},
        {"rate": 10**400},
        {"time_scale": 0},
        {"time_scale": -1.0},
        {"warning": ["body 2"]},
        {"diagnostics": [1]},
        {"diagnostics": {"energy": "high"}},
        {"diagnostics": {"energy": 10**400}},
        {"trouble": []},
        {"trouble": {"drop_percent": 101}},
        {"trouble_asked": {"slow_physics_ms": [40]}},
        {"slow_physics_ms": [20, "40"]},
        {"delay_ms": [1]},
    ],
)
def test_what_no_physics_says_is_refused_in_words(wrong: Any) -> None:
    with pytest.raises(WireError, match=r"the simulation said .* which must be .*; restart it"):
        told.status(wrong)


def test_an_infinite_diagnostic_is_the_worlds_own_business() -> None:
    assert told.status({"diagnostics": {"energy": math.inf}}) == {"diagnostics": {"energy": math.inf}}


@pytest.mark.parametrize("wrong", [5, {"physics": 5}, {"physics": {"steps": [1]}}, {"physics": {"steps": {"p50": []}}}])
def test_blocks_that_hold_no_figures_are_refused(wrong: Any) -> None:
    with pytest.raises(WireError, match="must be"):
        told.blocks(wrong)


def test_blocks_of_figures_are_passed_on() -> None:
    blocks = {"physics": {"steps": 3, "rate": {"p50": 1.0, "max": None}}, "channel": {}}
    assert told.blocks(blocks) == blocks
    assert told.blocks(None) is None


def test_a_text_is_bounded_and_anything_else_is_none() -> None:
    assert len(told.text("x" * 10**6)) == told.LONGEST_TEXT
    assert told.text(["x"]) == ""
