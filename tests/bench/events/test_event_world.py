"""The world of numbered events: what it emits, and the list that it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.events.event_world import EMITTED, NAMES, EventWorld, emission
from twixt.sim.world.world_guard import check_world


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


class Seen(EventWorld):
    """Keeps the numbers and times of the events it emits."""

    seen: list[tuple[int, float, float]]

    def emit(self, name: str, /, **fields: Any) -> None:
        number = fields["values"][0]
        assert (name, fields["body"], fields["strength"], fields["text"]) == emission(number, False)
        self.seen.append((number, fields["at"], self.time_ns / 1e9))


def world(folder: Path, **settings: Any) -> Seen:
    made = Seen(str(folder / "emitted"), str(folder / "begin"), **settings)
    made.seen = []
    return made


def rows_of(made: Seen, folder: Path) -> np.ndarray:
    made.file.close()
    return np.fromfile(folder / "emitted", EMITTED)


def test_events_begin_when_the_file_is_there_and_end_after_their_time(folder: Path) -> None:
    made = world(folder, rate=1000, burst=100, burst_s=0.1, seconds=0.2)
    check_world(made)
    for _ in range(5):
        made.step(0.01)
    assert made.seen == []
    (folder / "begin").touch()
    for _ in range(40):
        made.step(0.01)
    assert [number for number, _, _ in made.seen] == list(range(400))
    assert all(now - 0.01 <= at <= now for _, at, now in made.seen)


def test_the_list_has_the_events_in_the_order_of_their_instants(folder: Path) -> None:
    (folder / "begin").touch()
    made = world(folder, rate=1000, burst=0, seconds=0.5)
    for _ in range(10):
        made.step(0.01)
    rows = rows_of(made, folder)
    order = sorted(made.seen, key=lambda event: round(event[1] * 1e9))
    assert rows["number"].tolist() == [number for number, _, _ in order]
    assert rows["number"].tolist() != sorted(rows["number"])
    assert rows["sim_time_ns"].tolist() == [round(at * 1e9) for _, at, _ in order]


def test_numbers_go_on_after_a_reset(folder: Path) -> None:
    (folder / "begin").touch()
    made = world(folder, rate=100, burst=0, seconds=1)
    made.step(0.01)
    made.reset()
    made.step(0.01)
    rows = rows_of(made, folder)
    assert rows[["number", "world_epoch"]].tolist() == [(0, 0), (1, 1)]
    assert (rows["sim_time_ns"] <= 10_000_000).all()


def test_some_events_have_a_text_a_body_or_a_long_name() -> None:
    events = [emission(number, False) for number in range(40)]
    assert {event.name for event in events} == set(NAMES)
    assert {event.text for event in events if event.text} == {f"no. {number}" for number in range(0, 40, 8)}
    assert {event.body is None for event in events} == {True, False}
    assert len(NAMES[-1].encode()) == 40
