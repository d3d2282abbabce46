"""Controls of a world: their rules, and how they travel."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.controls import MOST_CONTROLS, Button, Slider, Toggle, checked_controls, is_status, to_status


def test_a_viewers_value_is_kept_to_the_rule_of_its_control() -> None:
    gravity, light, kick = Slider("gravity", 9.81, 0, 20), Toggle("light", True), Button("kick")
    gravity._set(25)
    assert gravity.value == 20
    gravity._set(-1)
    assert gravity.value == 0
    light._set(0.0)
    assert light.value is False
    assert not kick.pressed()
    kick._set(1.0)
    kick._set(1.0)
    assert kick.pressed()
    assert not kick.pressed()


def test_what_the_program_assigns_is_checked_and_told_to_the_loop_that_offers_it() -> None:
    gravity, light = Slider("gravity", 9.81, 0, 20), Toggle("light", True)
    told: list[str] = []
    gravity.on_change = lambda: told.append("gravity")
    light.on_change = lambda: told.append("light")
    gravity.value, light.value = 3, False
    assert (gravity.value, light.value, told) == (3.0, False, ["gravity", "light"])
    with pytest.raises(TwixtError, match="Slider 'gravity': value must be from 0 to 20, got 25"):
        gravity.value = 25
    with pytest.raises(TwixtError, match="value must be True or False"):
        light.value = "dark"  # type: ignore[assignment]
    gravity._set(5)
    assert (gravity.value, light.value, told) == (5.0, False, ["gravity", "light"])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Slider("g", 1, 5, 5), "low must be below high"),
        (lambda: Slider("g", 6, 0, 5), "value must be from 0 to 5"),
        (lambda: Slider("g", math.nan, 0, 5), "value must be a finite number"),
        (lambda: Slider("g", 1, 0, math.inf), "high must be a finite number"),
        (lambda: Slider("g", "much", 0, 5), "value must be a finite number, got 'much'"),
        (lambda: Slider("g", 10**400, 0, 5), "value must be a finite number, got 1000"),
        (lambda: Slider("", 1, 0, 5), "name must be a text of 1 to 60 characters"),
        (lambda: Toggle(5), "name must be a text"),  # type: ignore[arg-type]
        (lambda: Button("x" * 61), "name must be a text"),
        (lambda: checked_controls([Button("a"), "b"], "Mine.controls"), "Mine.controls must be a list of Slider"),
        (lambda: checked_controls(5, "Mine.controls"), "Mine.controls must be a list"),
        (lambda: checked_controls([Button("a")] * (MOST_CONTROLS + 1), "M.controls"), "may have 192 controls at most"),
    ],
)
def test_what_is_no_control_is_refused_in_words(make: Any, words: str) -> None:
    with pytest.raises(TwixtError, match=words):
        make()


def test_what_a_world_offers_arrives_as_it_is() -> None:
    controls = checked_controls(
        [Slider("gravity", 9.81, 0, 20), Toggle("light", section="show"), Button("kick")], "World.controls"
    )
    arrived = json.loads(json.dumps(to_status(controls)))
    assert is_status(arrived)
    assert arrived == [
        ["slider", "gravity", 9.81, 0, 20, "controls"],
        ["toggle", "light", 0, 0, 1, "show"],
        ["button", "kick", 0, 0, 1, "controls"],
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        None, {}, "controls", [5], [[]], [["slider", "g", 1, 0, "c"]], [["lever", "g", 1, 0, 5, "c"]],
        [["slider", 5, 1, 0, 5, "c"]], [["slider", "g", "1", 0, 5, "c"]], [["slider", "g", math.nan, 0, 5, "c"]],
        [["slider", "g", 1, 5, 0, "c"]], [["slider", "x" * 100, 1, 0, 5, "c"]], [["slider", "g", True, 0, 5, "c"]],
        [["button", "b", 0, 0, 1, "c"]] * 200, [["slider", "g", 1, 0, 5]], [["slider", "g", 1, 0, 5, ""]],
        [["slider", "g", 1, 0, 5, None]], [["slider", "g", 1, 0, 5, "c" * 100]],
    ],
)  # fmt: skip
def test_what_no_world_offers_is_refused(wrong: Any) -> None:
    assert not is_status(wrong)
