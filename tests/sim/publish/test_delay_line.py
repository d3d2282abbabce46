"""Snapshots released by the delay line, and when, with small numbers as instants."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.plan import Plan
from twixt.ipc.snapshot import BODY, MARK, Head, new_bodies
from twixt.sim.publish.delay_line import DelayLine


def add(line: DelayLine, tick: int, due_ns: int, delay_ns: int | None, count: int = 1) -> bool:
    head = Head(tick=tick, sim_time_ns=100 * tick, due_ns=due_ns)
    bodies = new_bodies(count)
    bodies["position"] = tick
    return line.add(head, bodies, {"heat": np.full(count, tick, "f4")}, delay_ns)


def ticks(line: DelayLine, now_ns: int) -> list[int]:
    return [one.head.tick for one in line.pop_due(now_ns)]


def test_each_leaves_at_its_due_instant_and_its_delay() -> None:
    line = DelayLine()
    add(line, 1, 100, 80)
    add(line, 2, 200, 60)
    assert line.next_release_ns == 180
    assert ticks(line, 179) == []
    assert ticks(line, 180) == [1]
    assert line.next_release_ns == 260
    assert ticks(line, 1000) == [2]
    assert line.next_release_ns is None
    assert not line


def test_none_overtakes_another() -> None:
    line = DelayLine()
    add(line, 1, 100, 100)
    add(line, 2, 110, 60)
    add(line, 3, 210, 0)
    assert ticks(line, 199) == []
    assert ticks(line, 200) == [1, 2]
    assert ticks(line, 210) == [3]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 100)), min_size=1, max_size=50), st.data())
def test_what_goes_in_always_comes_out_once_in_order_and_never_early(
    coming: list[tuple[int, int]], data: st.DataObject
) -> None:
    line, due_ns, now_ns, out = DelayLine(), 0, 0, []
    earliest = {}
    for tick, (gap_ns, delay_ns) in enumerate(coming):
        due_ns += gap_ns
        earliest[tick] = due_ns + delay_ns
        add(line, tick, due_ns, delay_ns)
        now_ns += data.draw(st.integers(0, 100))
        for one in line.pop_due(now_ns):
            assert now_ns >= earliest[one.head.tick]
            out.append(one.head.tick)
    out += [one.head.tick for one in line.pop_all()]
    assert out == list(range(len(coming)))
    assert line.next_release_ns is None


def test_what_is_under_way_is_a_copy() -> None:
    line, bodies, heat = DelayLine(), new_bodies(2), np.zeros(2, "f4")
    line.add(Head(), bodies, {"heat": heat}, 5)
    bodies["position"], heat[:] = 7, 7
    (one,) = line.pop_due(5)
    assert not one.bodies["position"].any()
    assert not one.columns["heat"].any()


def test_a_full_line_loses_the_newest_and_never_the_last_place() -> None:
    size = BODY.itemsize + 4
    line = DelayLine(most_bytes=2 * size)
    assert [add(line, tick, 0, 10) for tick in (1, 2, 3)] == [True, True, False]
    assert ticks(line, 10) == [1, 2]
    assert add(line, 4, 0, 10, count=100)  # larger than the limit; an empty line takes it nevertheless
    assert not add(line, 5, 0, 10)
    short = DelayLine(most=1)
    assert [add(short, tick, 0, 10) for tick in (1, 2)] == [True, False]


def test_a_faster_plan_lets_them_go_earlier_and_a_slower_one_or_a_pause_never_later() -> None:
    line = DelayLine()
    for tick in (1, 2, 3):
        add(line, tick, 1000 * tick, 50)
    for plan in (Plan(2, 0, 0, 0, 0.0), Plan(3, 0, 0, 0, 0.01)):
        line.replan(plan)
        assert line.next_release_ns == 1050
    line.replan(Plan(4, 0, 0, 0, 1.0))  # 100 of simulated time a tick
    assert [(one.head.tick, one.release_ns) for one in line.pop_all()] == [(1, 150), (2, 250), (3, 350)]


def test_one_without_a_delay_leaves_with_the_one_before_it() -> None:
    line = DelayLine()
    add(line, 1, 100, 80)
    add(line, 2, 1000, None)
    line.replan(Plan(2, 0, 0, 0, 0.0))
    assert ticks(line, 180) == [1, 2]


def test_marks_wait_with_their_snapshot_as_a_copy_and_count_as_its_bytes() -> None:
    line = DelayLine(most_bytes=2 * BODY.itemsize + MARK.itemsize)
    marks = np.zeros(1, MARK)
    marks["key"] = 5
    assert line.add(Head(tick=1), new_bodies(1), {}, 10, marks=marks)
    marks["key"] = 6
    assert not line.add(Head(tick=2), new_bodies(1), {}, 10, marks=marks)
    (one,) = line.pop_all()
    assert one.marks["key"].tolist() == [5]


def test_a_world_that_is_no_more_has_nothing_under_way() -> None:
    line = DelayLine(most_bytes=2 * (BODY.itemsize + 4))
    add(line, 1, 0, 10)
    add(line, 2, 0, 10)
    line.clear()
    assert ticks(line, 10**9) == []
    assert add(line, 3, 0, 10)
