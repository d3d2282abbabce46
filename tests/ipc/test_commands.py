"""Commands, and the queue in which they wait."""

from __future__ import annotations

import json
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.commands import NAMES, WAITING_LIMIT, Command, CommandError, CommandQueue
from twixt.ipc.config.troubles import TROUBLE_RULES

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)


@pytest.mark.parametrize(
    "command",
    [
        *(Command(name) for name in NAMES if name not in ("time_scale", "control")),
        Command("control", [0, 1.5]),
        Command("time_scale", 0.25, acted_ns=5, draw_time_ns=-7),
        Command("time_scale", 2),
        Command("step", acted_ns=-(1 << 63), draw_time_ns=(1 << 63) - 1),
        Command("slow_physics", [20.0, 120.0]),
        Command("slow_physics", [0, 0]),
        Command("stall", [500.0, 5.0]),
        Command("drop", 5.0),
        Command("drop", 0),
        Command("delay", [80.0, 20.0]),
    ],
)
def test_a_command_arrives_as_it_was_sent(command: Command) -> None:
    assert Command.from_fields(json.loads(json.dumps(command.to_fields()))) == command


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"name": "explode"},
        {"name": None},
        {"name": ["quit"]},
        {"name": "quit", "more": 1},
        {"name": "pause", "value": 1.0},
        {"name": "time_scale"},
        {"name": "control"},
        {"name": "control", "value": 1.0},
        {"name": "control", "value": [1]},
        {"name": "control", "value": [-1, 1.0]},
        {"name": "control", "value": [0.5, 1.0]},
        {"name": "control", "value": [True, 1.0]},
        {"name": "control", "value": [0, math.nan]},
        {"name": "control", "value": [0, "1"]},
        {"name": "time_scale", "value": 0},
        {"name": "time_scale", "value": -1.0},
        {"name": "time_scale", "value": math.nan},
        {"name": "time_scale", "value": math.inf},
        {"name": "time_scale", "value": 10**400},
        {"name": "time_scale", "value": 1 << 63},
        {"name": "time_scale", "value": True},
        {"name": "slow_physics", "value": 40},
        {"name": "slow_physics", "value": [120, 20]},
        {"name": "slow_physics", "value": [-1, 20]},
        {"name": "slow_physics", "value": [1, math.nan]},
        {"name": "slow_physics", "value": [1, 2, 3]},
        {"name": "slow_physics", "value": [0, 10**400]},
        {"name": "stall", "value": 500},
        {"name": "stall", "value": [500, 0]},
        {"name": "stall", "value": [-1, 5]},
        {"name": "stall", "value": [10**6, 5]},
        {"name": "stall", "value": [500, math.inf]},
        {"name": "drop", "value": 101},
        {"name": "drop", "value": -1},
        {"name": "drop", "value": [5]},
        {"name": "drop", "value": True},
        {"name": "delay", "value": [20, 80]},
        {"name": "delay", "value": [80]},
        {"name": "delay", "value": [10**400, 0.5]},
        {"name": "delay", "value": [10**6, 0]},
        {"name": "delay", "value": ["80", "20"]},
        {"name": "step", "acted_ns": 1.5},
        {"name": "step", "draw_time_ns": 1 << 63},
    ],
)
def test_what_breaks_a_rule_is_no_command(fields: dict[str, Any]) -> None:
    with pytest.raises(CommandError):
        Command.from_fields(fields)


LONG, SHOWN = "x" * 1000, "x" * 40


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "a command came without its name"),
        ({"name": "quit", LONG: 1}, f"a command has no field '{SHOWN}'"),
        ({"name": LONG}, f"a command must be one of {', '.join(NAMES)}, got '{SHOWN}'"),
        ({"name": "step", "acted_ns": LONG}, f"acted_ns of a command must be a whole number of ns, got '{SHOWN}'"),
        ({"name": "time_scale", "value": LONG}, f"time_scale must be a finite number > 0, got '{SHOWN}'"),
        ({"name": "drop", "value": LONG}, f"drop must be None or {TROUBLE_RULES['drop']}, got '{SHOWN}'"),
        ({"name": "pause", "value": LONG}, f"pause takes no value, got '{SHOWN}'"),
    ],
)
def test_the_rule_that_was_broken_is_said_with_the_value_or_as_much_of_it_as_tells(
    fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(CommandError) as refused:
        Command.from_fields(fields)
    assert str(refused.value) == says


@given(
    st.dictionaries(
        st.sampled_from(["name", "value", "acted_ns", "draw_time_ns", "x"]), anything | st.sampled_from(NAMES)
    )
)
def test_whatever_arrives_is_a_valid_command_or_a_command_error(fields: dict[str, Any]) -> None:
    try:
        command = Command.from_fields(fields)
    except CommandError:
        return
    assert command.name in NAMES
    if command.name == "time_scale":
        assert isinstance(command.value, int | float)
        assert 0 < command.value < math.inf


def test_commands_are_drained_in_order_and_once() -> None:
    queue = CommandQueue()
    for name in ("pause", "step", "resume"):
        queue.put("viewer", Command(name))
    assert [command.name for command in queue.drain()] == ["pause", "step", "resume"]
    assert queue.drain() == []


def test_a_flood_is_bounded_and_neither_quit_nor_another_viewer_is_lost_in_it() -> None:
    queue = CommandQueue()
    for _ in range(10 * WAITING_LIMIT):
        queue.put("flood", Command("step"))
    for _ in range(10):
        queue.put("flood", Command("quit"))
    queue.put("other", Command("pause"))
    names = [command.name for command in queue.drain()]
    assert names == ["step"] * WAITING_LIMIT + ["quit", "pause"]
    assert queue.refused == 9 * WAITING_LIMIT + 9
    queue.put("flood", Command("step"))
    assert len(queue.drain()) == 1


def test_waiting_ends_at_a_command_and_at_the_end() -> None:
    queue = CommandQueue()
    assert not queue.wait(0)
    threading.Thread(target=queue.put, args=("viewer", Command("step"))).start()
    assert queue.wait(60)
    queue.drain()
    assert not queue.wait(0)
    queue.end()
    queue.drain()
    assert queue.wait(0)
