"""Work traces: costs by number, loads and stolen time by instant."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.pacing.works import ALL_WORKS, FILE, UNIT_NS, Load, Steal, Work, recordings
from tests.bench.pacing.recording import line_of
from twixt.render.measure.frame_log import FrameLog
from twixt.render.measure.frame_rows import FrameRow

MS = 1_000_000


def test_stolen_time_delays_what_runs_and_what_should_wake() -> None:
    work = Work([5 * MS], steals=[Steal(10 * MS, 20 * MS)])
    assert work.end_ns(0, 5 * MS) == 5 * MS
    assert work.end_ns(8 * MS, 5 * MS) == 33 * MS
    assert work.end_ns(15 * MS, 5 * MS) == 35 * MS
    assert work.awake(15 * MS) == 30 * MS
    assert work.awake(30 * MS) == 30 * MS


def test_two_thefts_in_one_frame_add_up() -> None:
    work = Work([5 * MS], steals=[Steal(2 * MS, 10 * MS), Steal(13 * MS, 10 * MS)])
    assert work.end_ns(0, 5 * MS) == 25 * MS


def test_a_load_replaces_the_costs_while_it_lasts() -> None:
    work = Work([1, 2], [Load(10, 20, 7)])
    assert [work.cost_ns(number, at_ns) for number, at_ns in ((0, 0), (1, 9), (2, 10), (3, 19), (4, 20))] == [
        1,
        2,
        7,
        7,
        1,
    ]


@pytest.mark.parametrize("name", ALL_WORKS)
def test_a_trace_is_the_same_for_every_contestant_and_another_for_each_seed(name: str) -> None:
    first, again, other = (ALL_WORKS[name](seed) for seed in (3, 3, 4))
    assert (first.costs_ns, first.loads, first.steals) == (again.costs_ns, again.loads, again.steals)
    assert first.costs_ns != other.costs_ns
    assert min(first.costs_ns) > 0
    ends = [sum(steal) for steal in first.steals]
    assert all(end <= steal.begin_ns for end, steal in zip(ends, first.steals[1:], strict=False))


def test_recordings_are_small_and_hold_a_noisy_machines_frames() -> None:
    assert FILE.stat().st_size < 60_000
    for costs, swaps in recordings().values():
        assert len(costs) == len(swaps) > 400
        assert max(costs) > 2 * sorted(costs)[len(costs) // 2]


def test_a_line_of_recorded_work_is_read_from_a_frame_log(tmp_path: Path) -> None:
    log = FrameLog(str(tmp_path / "log.csv"))
    for frame in range(4):
        begin_ns = frame * 800 * MS + 1
        log.add(
            FrameRow(
                frame,
                begin_ns,
                begin_ns,
                begin_ns + (frame + 3) * MS,
                begin_ns + 10 * MS,
                begin_ns + 11 * MS,
                probe=frame == 0,
            )
        )
    log.close()
    assert line_of("a log", str(tmp_path / "log.csv")) == "a log: 600/100"
    assert UNIT_NS * 600 == 6 * MS
