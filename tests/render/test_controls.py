"""What each key changes here, and what it asks of physics."""

from __future__ import annotations

import pytest

from twixt.ipc.config import CLOCKS, INTERPOLATIONS
from twixt.render.controls import KEYS, TIME_SCALES, Controls, act, next_scale

NOW = Controls(interpolation="linear", clock="auto", overlay=True)
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


def test_interpolation_and_clock_go_round_all_their_choices() -> None:
    controls, seen = NOW, set()
    for _ in range(len(INTERPOLATIONS) * len(CLOCKS)):
        controls, _ = act("I", controls, 0, 0)
        controls, _ = act("C", controls, 0, 0)
        seen |= {controls.interpolation, controls.clock}
    assert seen == set(INTERPOLATIONS) | set(CLOCKS)


def test_space_pauses_and_goes_on() -> None:
    paused, command = act("Space", NOW, 0, 0)
    assert paused.paused
    assert command is not None
    assert command.name == "pause"
    running, command = act("Space", paused, 0, 0)
    assert not running.paused
    assert command is not None
    assert command.name == "resume"


def test_slow_physics_is_put_on_and_taken_off() -> None:
    slow, command = act("S", NOW, 0, 0)
    assert command is not None
    assert command.value == [40.0, 40.0]
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
