"""docs/events.md states the limits of events with the numbers of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from twixt.ipc.ring import events
from twixt.render.events import event_function, event_queue, rings
from twixt.sim.publish import event_buffer

PAGE = (Path(__file__).parents[2] / "docs" / "events.md").read_text()
TEXT = re.sub(r"\s+", " ", PAGE)


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        (r"fades in (\S+) s", (rings.RING_NS / 1e9,)),
        (r"has at most (\S+) rings", (rings.MOST_RINGS,)),
        (r"may take (\S+) ms in a frame", (event_function.MOST_CALLING_NS / 1e6,)),
        (r"in shared memory, with (\S+) slots", (events.SLOTS,)),
        (r"behind by more than (\S+) events", (events.SLOTS,)),
        (r"name \| (\S+) bytes in UTF-8; (\S+) names", (events.NAME_BYTES, events.MOST_NAMES - 1)),
        (r"text \| (\S+) bytes", (events.TEXT_BYTES,)),
        (r"values \| (\S+) numbers", (events.MOST_VALUES,)),
        (r"one step \| (\S+) events", (event_buffer.MOST_A_STEP,)),
        (r"loss \| (\S+) events .* stops for (\S+) s, this is (\S+) events", (events.SLOTS, 10, events.SLOTS // 10)),
        (r"memory \| (\S+) MiB .* holds (\S+) events", (events.SLOTS * 64 / 2**20, event_queue.MOST_HELD)),
    ],
)
def test_the_page_states_the_numbers_of_the_code(sentence: str, values: tuple[float, ...]) -> None:
    found = re.search(sentence, TEXT)
    assert found is not None, sentence
    assert [float(number.replace(",", "")) for number in found.groups()] == pytest.approx(list(values))


def test_rings_are_drawn_for_events_of_the_last_second() -> None:
    assert "draws rings for the events of the last second" in TEXT
    assert rings.MOST_LATE_NS == 1_000_000_000
