"""Keys: the settings they change, and the commands they send to physics."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from twixt.ipc.config.flags import CLOCKS, INTERPOLATIONS, PREFERENCES, Config
from twixt.ipc.interaction.keyboard import KEY_NAMES
from twixt.render.input.keys import (
    KEYS,
    OTHER_NAMES,
    TIME_SCALES,
    ViewerSettings,
    act,
    next_scale,
    note_of,
    reflect_slow_physics,
)
from twixt.render.input.user_input import first_settings

NOW = ViewerSettings(interpolation="linear", clock="auto", overlay=True)
ACTED_NS, DRAWN_NS = 5_000, 7_000


@pytest.mark.parametrize("key", KEYS)
def test_every_listed_key_does_something(key: str) -> None:
    after, command = act(key, NOW, ACTED_NS, DRAWN_NS)
    assert after != NOW or command is not None


@pytest.mark.parametrize("key", ["Q", "F1", "Enter", "é", ""])
def test_other_keys_do_nothing(key: str) -> None:
    assert act(key, NOW, ACTED_NS, DRAWN_NS) == (NOW, None)


@pytest.mark.parametrize("key", ["Space", ".", "[", "]", "S", "R"])
def test_a_command_carries_when_the_user_acted_and_what_was_drawn_then(key: str) -> None:
    _, command = act(key, NOW, ACTED_NS, DRAWN_NS)
    assert command is not None
    assert (command.acted_ns, command.draw_time_ns) == (ACTED_NS, DRAWN_NS)


def pressed(key: str, settings: ViewerSettings, times: int) -> list[ViewerSettings]:
    seen = []
    for _ in range(times):
        settings, _ = act(key, settings, 0, 0)
        seen.append(settings)
    return seen


@pytest.mark.parametrize(
    ("key", "field", "choices"),
    [("I", "interpolation", INTERPOLATIONS), ("C", "clock", CLOCKS), ("P", "prefer", PREFERENCES)],
)
def test_a_choice_goes_round_in_its_order(key: str, field: str, choices: tuple[str, ...]) -> None:
    first = replace(NOW, **{field: choices[0]})
    seen = [getattr(settings, field) for settings in pressed(key, first, len(choices))]
    assert seen == [*choices[1:], choices[0]]


def test_a_method_of_the_users_own_is_a_choice_beside_the_others() -> None:
    own = replace(NOW, interpolation="my_module:Mine", own_method="my_module:Mine")
    seen = [settings.interpolation for settings in pressed("I", own, len(INTERPOLATIONS) + 1)]
    assert seen == [*INTERPOLATIONS, "my_module:Mine"]


@pytest.mark.parametrize(("key", "field"), [("V", "split"), ("T", "trails"), ("H", "overlay")])
def test_a_switch_is_put_on_and_off_and_asks_nothing_of_physics(key: str, field: str) -> None:
    once, command = act(key, NOW, 0, 0)
    assert command is None
    assert getattr(once, field) != getattr(NOW, field)
    assert act(key, once, 0, 0) == (NOW, None)


@pytest.mark.parametrize(
    ("trails", "at_first"), [(None, False), (False, False), (True, True), (5.0, True), ("all", True)]
)
def test_trails_are_on_at_first_if_the_flag_is_given_and_the_key_switches_them(trails: Any, at_first: bool) -> None:
    first = first_settings(Config(trails=trails))
    assert first.trails is at_first
    assert act("T", first, 0, 0)[0].trails is not at_first


def test_space_pauses_and_goes_on() -> None:
    paused, command = act("Space", NOW, 0, 0)
    assert paused.paused
    assert command is not None
    assert command.name == "pause"
    running, command = act("Space", paused, 0, 0)
    assert not running.paused
    assert command is not None
    assert command.name == "resume"


OWN_LOOP = replace(NOW, own_loop=True)


@pytest.mark.parametrize("key", KEYS)
def test_where_the_loop_is_the_users_own_a_key_does_what_it_says_or_says_that_it_cannot(key: str) -> None:
    after, command = act(key, OWN_LOOP, ACTED_NS, DRAWN_NS)
    assert command is None
    hint = f"{key} ({KEYS[key]}) has no effect: your own program runs the loop"
    asks_physics = act(key, NOW, 0, 0)[1] is not None
    assert (key in OWN_LOOP.keys) == (after != OWN_LOOP) == (not asks_physics)
    assert (note_of(key, OWN_LOOP, after) == hint) == asks_physics


@pytest.mark.parametrize("own_loop", [False, True])
@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_the_program_has_asked_for_does_nothing_in_the_viewer(key: str, own_loop: bool) -> None:
    name = {"Esc": "escape"}.get(key, key.lower())
    now = replace(NOW, own_loop=own_loop, listens=True, own_keys=frozenset([name]))
    assert now.belongs_to_program(key)
    assert key not in now.keys
    assert act(key, now, ACTED_NS, DRAWN_NS) == (now, None)
    assert note_of(key, now, now) == ""
    others = replace(now, own_keys=frozenset(["left", "q"]))
    assert others.belongs_to_program(key) == replace(others, own_keys=frozenset()).belongs_to_program(key)


def test_every_key_of_the_viewer_can_be_asked_for_by_its_name() -> None:
    names = {OTHER_NAMES.get(key, key.lower()) for key in KEYS}
    assert names <= set(KEY_NAMES.values())


# Keys without a note: a screenshot is reported once it is written, and the end is visible.
SILENT = {"F12", "Esc"}


@pytest.mark.parametrize("key", [key for key in KEYS if key not in SILENT])
def test_every_key_says_what_it_did(key: str) -> None:
    after, _ = act(key, NOW, 0, 0)
    assert note_of(key, NOW, after)


@pytest.mark.parametrize(
    ("key", "before", "note"),
    [
        ("P", NOW, f"prefer: {PREFERENCES[1]}"),
        ("[", replace(NOW, time_scale=1.0), "time scale 0.5"),
        ("[", replace(NOW, time_scale=TIME_SCALES[0]), f"time scale {TIME_SCALES[0]:g} (limit)"),
        ("Space", replace(NOW, paused=True), "continues"),
        ("S", replace(NOW, slow_physics_ms=(20.0, 120.0)), "slow physics: 20 to 120 ms extra per step"),
        ("S", replace(NOW, slow_physics=True), "slow physics off"),
        ("T", replace(NOW, trails=True), "trails off"),
        ("H", replace(NOW, overlay=False), "overlay shown"),
    ],
)
def test_a_note_says_what_holds_now(key: str, before: ViewerSettings, note: str) -> None:
    assert note_of(key, before, act(key, before, 0, 0)[0]) == note


def test_physics_of_ours_answers_all_keys() -> None:
    assert NOW.keys == KEYS


def test_slow_physics_is_put_on_and_taken_off() -> None:
    slow, command = act("S", NOW, 0, 0)
    assert command is not None
    assert command.value == [40.0, 40.0]
    _, command = act("S", slow, 0, 0)
    assert command is not None
    assert command.value is None


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ([{"slow_physics_ms": [20, 120]}, {"slow_physics_ms": None}], [20, 120]),
        ([{"slow_physics_ms": [20, 120]}, {"slow_physics_ms": [7, 7]}, {"slow_physics_ms": None}], [7, 7]),
        ([{"slow_physics_ms": None, "trouble_asked": {"slow_physics_ms": [20, 120]}}], [20, 120]),
        ([{"slow_physics_ms": None, "trouble_asked": {"slow_physics_ms": None}}], [40, 40]),
        ([{"slow_physics_ms": None, "trouble_asked": None}], [40, 40]),
        ([{}], [40, 40]),
    ],
)
def test_slow_physics_comes_back_as_it_was_asked_for(said: list[dict[str, object]], kept: list[float]) -> None:
    settings = NOW
    for status in said:
        settings = reflect_slow_physics(settings, status)
    assert not settings.slow_physics
    slow, command = act("S", settings, 0, 0)
    assert slow.slow_physics
    assert command is not None
    assert command.value == kept


def test_slow_physics_that_is_on_is_taken_off_first() -> None:
    slow = reflect_slow_physics(NOW, {"slow_physics_ms": [20, 120]})
    assert slow.slow_physics
    _, command = act("S", slow, 0, 0)
    assert command is not None
    assert command.value is None


def test_time_scales_have_ends() -> None:
    assert next_scale(TIME_SCALES[0], faster=False) == TIME_SCALES[0]
    assert next_scale(TIME_SCALES[-1], faster=True) == TIME_SCALES[-1]


@pytest.mark.parametrize("scale", TIME_SCALES[1:-1])
def test_slower_then_faster_comes_back(scale: float) -> None:
    assert next_scale(next_scale(scale, faster=False), faster=True) == scale


def test_a_scale_between_two_steps_goes_to_the_next_one() -> None:
    assert next_scale(0.3, faster=True) == 0.5
    assert next_scale(0.3, faster=False) == 0.25


def test_the_guide_says_of_every_key_what_it_does() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "keys.md").read_text()
    block = guide.partition("## Keys of the viewer\n")[2].partition("\n## ")[0]
    named = {key for row in re.findall(r"^\| (`.*?) \|", block, re.MULTILINE) for key in re.findall(r"`(.+?)`", row)}
    assert named == set(KEYS)
    told = {key: row for row in block.splitlines() for key in KEYS if row.startswith("|") and f"`{key}`" in row}
    for key, choices in (("I", INTERPOLATIONS), ("C", CLOCKS), ("P", PREFERENCES)):
        assert ", ".join(choices) in told[key]
