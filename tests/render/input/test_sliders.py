"""Knobs: the values they show, and when they send them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.config.troubles import FIELDS as KINDS
from twixt.render.input.sliders import ANSWER_NS, SENDS_PER_S, TROUBLES, Knobs, Turn

S = 1_000_000_000


def sent(knobs: Knobs, now_ns: int) -> list[tuple[str, object]]:
    return [(command.name, command.value) for command in knobs.due(now_ns, 0).commands]


def test_there_is_a_knob_for_every_kind_of_trouble() -> None:
    assert tuple(TROUBLES) == tuple(KINDS)


def test_a_knob_shows_what_physics_has() -> None:
    knobs = Knobs()
    knobs.reflect({"slow_physics": [20, 120], "stall": [500, 3], "drop": 5.0, "delay": [80, 20]}, 0)
    assert knobs.figures("slow_physics") == (20, 120)
    assert knobs.figures("stall") == (500, 3)
    assert knobs.figures("drop") == (5,)
    assert knobs.figures("delay") == (80, 20)
    knobs.reflect({"slow_physics": None, "stall": None, "drop": 0.0, "delay": None}, 0)
    assert knobs.figures("slow_physics") == (0, 0)
    assert knobs.figures("stall") == (0, 3), "how often stalls came is kept for the next ones"
    assert knobs.figures("drop") == (0,)
    assert knobs.figures("delay") == (0, 0)
    assert sent(knobs, S) == []


@pytest.mark.parametrize(
    ("turns", "command"),
    [
        ([("drop", 0, 5.0)], ("drop", 5.0)),
        ([("drop", 0, 0.0)], ("drop", 0.0)),
        ([("stall", 0, 500.0)], ("stall", [500, 5])),
        ([("stall", 0, 500.0), ("stall", 1, 2.0)], ("stall", [500, 2])),
        ([("stall", 0, 500.0), ("stall", 0, 0.0)], ("stall", None)),
        ([("slow_physics", 1, 40.0)], ("slow_physics", [0, 40])),
        ([("slow_physics", 0, 40.0)], ("slow_physics", [40, 40])),
        ([("slow_physics", 0, 40.0), ("slow_physics", 1, 10.0)], ("slow_physics", [10, 10])),
        ([("slow_physics", 1, 40.0), ("slow_physics", 1, 0.0)], ("slow_physics", None)),
        ([("delay", 0, 80.0), ("delay", 1, 20.0)], ("delay", [80, 20])),
        ([("delay", 1, 20.0)], ("delay", [20, 20])),
        ([("delay", 0, 80.0), ("delay", 1, 60.0), ("delay", 0, 30.0)], ("delay", [30, 30])),
        ([("delay", 1, 20.0), ("delay", 0, 0.0)], ("delay", None)),
    ],
)
def test_what_a_knob_was_turned_to_is_what_is_sent(
    turns: list[tuple[str, int, float]], command: tuple[str, object]
) -> None:
    knobs = Knobs()
    for turn in turns:
        knobs.turn(Turn(*turn, released=True))
    assert sent(knobs, S) == [command]
    assert sent(knobs, 2 * S) == []


def test_a_command_carries_when_the_user_acted_and_what_was_drawn_then() -> None:
    knobs = Knobs()
    knobs.turn(Turn("drop", 0, 5.0, True))
    [command] = knobs.due(7, 3).commands
    assert (command.acted_ns, command.draw_time_ns) == (7, 3)


def test_the_viewers_own_buffer_is_no_command() -> None:
    knobs = Knobs()
    assert knobs.due(0, 0).buffer_ms is None
    knobs.turn(Turn("buffer", 0, 120.0, True))
    turned = knobs.due(S, 0)
    assert turned.commands == []
    assert turned.buffer_ms == 120
    assert knobs.due(2 * S, 0).buffer_ms is None


def test_a_knob_in_the_hand_is_sent_at_most_so_often_and_its_last_value_at_once() -> None:
    knobs = Knobs()
    values = []
    for frame in range(120):
        knobs.turn(Turn("drop", 0, frame / 10, released=frame == 119))
        values += [value for _, value in sent(knobs, frame * S // 60)]
    assert values[-1] == pytest.approx(11.9)
    assert 2 * SENDS_PER_S - 2 <= len(values) <= 2 * SENDS_PER_S + 2


def test_a_knob_in_the_hand_stays_there_whatever_physics_says() -> None:
    knobs = Knobs()
    knobs.turn(Turn("drop", 0, 5.0, False))
    sent(knobs, 0)
    knobs.reflect({"drop": 0.0}, 10 * S)
    assert knobs.figures("drop") == (5,)


def test_physics_has_time_to_answer_before_a_knob_goes_back() -> None:
    knobs = Knobs()
    knobs.turn(Turn("drop", 0, 5.0, True))
    sent(knobs, S)
    knobs.reflect({"drop": 0.0}, S + ANSWER_NS // 2)
    assert knobs.figures("drop") == (5,)
    knobs.reflect({"drop": 2.0}, S + ANSWER_NS)
    assert knobs.figures("drop") == (2,)


def test_all_trouble_ends_at_once() -> None:
    knobs = Knobs()
    knobs.reflect({"slow_physics": [20, 120], "stall": [500, 3], "drop": 5.0, "delay": [80, 20]}, 0)
    knobs.all_off()
    assert sent(knobs, S) == [("slow_physics", None), ("stall", None), ("drop", 0), ("delay", None)]


turns = st.lists(
    st.tuples(
        st.sampled_from([(name, figure) for name, knob in TROUBLES.items() for figure in range(len(knob.sliders))]),
        st.floats(allow_nan=False),
        st.booleans(),
    ),
    max_size=30,
)


@given(turns)
def test_however_knobs_are_turned_commands_are_valid_and_the_last_value_is_sent(
    moved: list[tuple[tuple[str, int], float, bool]],
) -> None:
    knobs = Knobs()
    last: dict[str, object] = {}
    for number, ((name, figure), value, released) in enumerate(moved):
        knobs.turn(Turn(name, figure, value, released))
        last |= dict(sent(knobs, number * S // 60))
    for name in {name for (name, _), _, _ in moved}:
        knobs.turn(Turn(name, 0, knobs.figures(name)[0], True))
    last |= dict(sent(knobs, 100 * S))
    for name, value in last.items():
        figures = knobs.figures(name)
        assert value in (None, figures[0], list(figures))
        if value is None:
            assert not any(figures[: TROUBLES[name].none_at])


GRAVITY, LIGHT = ["slider", "gravity", 9.81, 0, 20, "controls"], ["toggle", "light", 1, 0, 1, "show"]


def test_controls_of_the_world_show_its_values_and_send_their_place_and_value() -> None:
    knobs = Knobs()
    gravity, light = knobs.offer([GRAVITY, LIGHT], 0)
    assert (knobs.knob(gravity).name, knobs.knob(light).kind) == ("gravity", "toggle")
    assert (knobs.knob(gravity).section, knobs.knob(light).section) == ("controls", "show")
    assert (knobs.figures(gravity), knobs.figures(light)) == ((9.81,), (1,))
    assert sent(knobs, 0) == []
    knobs.turn(Turn(gravity, 0, 25.0, True))
    knobs.turn(Turn(light, 0, 0.0, True))
    assert sent(knobs, S) == [("control", [0, 20]), ("control", [1, 0.0])]
    knobs.offer([GRAVITY, LIGHT], S + 1)
    assert knobs.figures(gravity) == (20,), "the user's value is shown until physics can have answered"
    knobs.offer([GRAVITY, LIGHT], S + ANSWER_NS)
    assert knobs.figures(gravity) == (9.81,)


def test_another_world_has_controls_of_its_own() -> None:
    knobs = Knobs()
    gravity, light = knobs.offer([GRAVITY, LIGHT], 0)
    knobs.turn(Turn(gravity, 0, 5.0, False))
    (wind,) = knobs.offer([["slider", "wind", 1.5, 0, 3, "controls"]], 1)
    assert (wind, knobs.figures(wind)) == (gravity, (1.5,))
    knobs.turn(Turn(light, 0, 0.0, True))
    assert sent(knobs, S) == []
