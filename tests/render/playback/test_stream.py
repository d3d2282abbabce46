"""The map of due instants to simulated time, and what plans make of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.ipc.plan import Plan
from twixt.render.playback.stream import FAR_NS, KEPT, Stream

MS = 1_000_000


def stream_of(*rows: tuple[int, int], plan: Plan | None = None) -> Stream:
    """From (sim, due) in ms, each arriving when due."""
    stream = Stream()
    if plan is not None:
        stream.replan(plan, None)
    for sim_ms, due_ms in rows:
        stream.observe(sim_ms * MS, due_ms * MS, due_ms * MS)
    return stream


def test_between_two_snapshots_the_map_is_straight_and_outside_it_stands_still():
    stream = stream_of((0, 100), (10, 120), (20, 130))
    assert [stream.sim_at(t * MS) / MS for t in (0, 100, 110, 125, 130, 999)] == [0, 0, 5, 15, 20, 20]
    assert [stream.due_of(t * MS) / MS for t in (0, 5, 15, 20)] == [100, 110, 125, 130]


def test_a_late_snapshot_bends_the_map_where_it_belongs():
    stream = stream_of((0, 100), (20, 130), (10, 120))
    assert stream.sim_at(120 * MS) == 10 * MS
    assert stream.newest_sim_ns == 20 * MS


def test_a_newer_snapshot_that_falls_due_earlier_pulls_the_older_ones_in():
    stream = stream_of((0, 100), (10, 400), (20, 150))
    assert stream.sim_at(149 * MS) < 20 * MS
    assert stream.sim_at(150 * MS) == 20 * MS


def test_a_new_scale_remaps_what_is_published_and_not_drawn():
    stream = stream_of((0, 0), (10, 10), (20, 20), (30, 30), plan=Plan(1, 0, 0, 0, 1.0))
    stream.replan(Plan(2, 0, 10 * MS, 10 * MS, 0.5), 10 * MS)
    assert [stream.sim_at(t * MS) / MS for t in (10, 20, 30, 50)] == [10, 15, 20, 30]


def test_a_clock_that_is_behind_plays_the_rest_at_the_new_scale_too():
    stream = stream_of((0, 0), (10, 100), (20, 200), (30, 300), plan=Plan(1, 0, 0, 0, 0.1))
    stream.replan(Plan(2, 0, 200 * MS, 20 * MS, 1.0), 10 * MS)
    assert [stream.due_of(t * MS) / MS for t in (10, 20, 30)] == [190, 200, 210]


@pytest.mark.parametrize(
    ("rate", "due_ms"),
    [(0.5, [0, 41, 82]), (0.1, [-118, -18, 82]), (2.0, [41, 61.5, 82])],
    ids=["held", "slower", "faster"],
)
def test_dilation_of_what_is_not_drawn_yet_survives_a_new_scale_unless_that_is_slower_still(rate, due_ms):
    stream = stream_of((0, 0), (10, 41), (20, 82), plan=Plan(1, 0, 0, 0, 1.0))
    stream.replan(Plan(2, 0, 82 * MS, 20 * MS, rate), 0)
    assert [stream.due_of(t * MS) / MS for t in (0, 10, 20)] == due_ms


@pytest.mark.parametrize("number", [1, None])
@pytest.mark.parametrize("rate", [0.1, 1.0, 10.0])
def test_snapshots_from_before_a_plan_fall_due_alike_whether_they_are_read_before_or_after_it(rate, number):
    plan = Plan(2, 0, 45 * MS, 45 * MS, rate)
    maps = []
    for read_before in (7, 3):
        stream = Stream()
        stream.replan(Plan(1, 0, 0, 0, 1.0), None)
        for k in range(read_before):
            stream.observe(k * 10 * MS, k * 10 * MS, min(k * 10, 44) * MS, number)
        stream.replan(plan, 15 * MS)
        for k in range(read_before, 7):
            stream.observe(k * 10 * MS, k * 10 * MS, min(k * 10, 44) * MS, number)
        stream.observe(70 * MS, plan.due_ns(70 * MS), plan.due_ns(70 * MS), 2)
        maps.append([stream.due_of(sim * MS) for sim in range(15, 71)])
    assert maps[1] == pytest.approx(maps[0], abs=10)


def test_pause_puts_off_what_is_not_due_and_resume_takes_it_up_again():
    stream = stream_of((0, 0), (10, 10), (20, 20), plan=Plan(1, 0, 0, 0, 1.0))
    stream.replan(Plan(2, 0, 15 * MS, 15 * MS, 0.0), 15 * MS)
    assert stream.paused
    assert stream.sim_at(10_000 * MS) == 15 * MS
    assert stream.newest_due_ns == FAR_NS
    stream.observe(30 * MS, 30 * MS, 30 * MS, plan_number=1)  # on its way when the pause came
    assert stream.sim_at(10_000 * MS) == 15 * MS
    stream.replan(Plan(3, 0, 1015 * MS, 15 * MS, 1.0), 15 * MS)
    assert [stream.due_of(t * MS) / MS for t in (15, 20, 30)] == [1015, 1020, 1030]


def test_snapshot_of_the_plan_itself_keeps_the_due_instant_it_was_given():
    stream = stream_of((0, 0), plan=Plan(1, 0, 0, 0, 1.0))
    stream.observe(10 * MS, 41 * MS, 41 * MS, plan_number=2)  # overloaded, and read before its plan
    stream.replan(Plan(2, 0, 0, 0, 1.0), 0)
    assert stream.due_of(10 * MS) == 41 * MS


def test_a_long_rest_without_simulated_time_is_a_flat_piece():
    stream = stream_of(*((k * 10, k * 10) for k in range(10)), (100, 5090))
    assert stream.sim_at(5000 * MS) == 90 * MS
    assert stream.sim_at(5085 * MS) == 95 * MS


def test_a_gap_with_as_much_simulated_time_is_no_rest():
    stream = stream_of(*((k * 10, k * 10) for k in range(10)), (5090, 5090))
    assert stream.sim_at(3000 * MS) == 3000 * MS


def test_interval_is_the_one_that_holds_now():
    stream = stream_of(*((k * 10, k * 10) for k in range(20)), *((200 + k * 10, 200 + k * 40) for k in range(6)))
    assert stream.rhythm.interval_ns == 40 * MS


def test_mean_rate_is_that_of_the_last_gap_where_gaps_are_longer_than_the_time_asked_for():
    stream = stream_of((0, 0), (1000, 1000), (2000, 3000))
    assert stream.mean_rate(10 * MS) == stream.mean_rate(1500 * MS) == 0.5
    assert stream.mean_rate(5000 * MS) == pytest.approx(2 / 3)
    assert stream_of((0, 0)).mean_rate(10 * MS) == 0


def test_memory_is_bounded_and_the_newest_stays():
    stream = stream_of(*((k, k) for k in range(3 * KEPT)))
    assert len(stream) <= KEPT
    assert stream.sim_at((3 * KEPT - 2) * MS) == (3 * KEPT - 2) * MS


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.integers(0, 300), st.integers(-100, 500)),
            st.tuples(st.sampled_from([0.0, 0.1, 1.0, 7.0]), st.integers(-100, 500), st.integers(0, 300)),
        ),
        max_size=40,
    ),
    st.lists(st.integers(-200, 700), min_size=2, max_size=6),
)
def test_the_map_never_falls_whatever_came_in(steps, instants):
    stream, number, drawn = Stream(), 0, None
    for step in steps:
        if len(step) == 2:
            stream.observe(step[0] * MS, step[1] * MS, step[1] * MS)
        else:
            number += 1
            stream.replan(Plan(number, 0, step[1] * MS, step[2] * MS, step[0]), drawn)
        if stream:
            drawn = max(drawn or 0, stream.sim_at(step[1] * MS))
    if stream:
        sims = [stream.sim_at(t * MS) for t in sorted(instants)]
        assert sims == sorted(sims)
        assert stream.oldest_sim_ns <= sims[0] <= sims[-1] <= stream.newest_sim_ns
        dues = [stream.due_of(t * MS) for t in sorted(instants)]
        assert dues == sorted(dues)


@pytest.mark.parametrize("origin_ns", [0, 1 << 60, -(1 << 60)])
def test_any_epoch_of_the_clock_gives_whole_nanoseconds(origin_ns):
    stream = Stream()
    stream.observe(0, origin_ns, origin_ns)
    stream.observe(1_000_003, origin_ns + 1_000_003, origin_ns)
    assert stream.sim_at(origin_ns + 7) == 7
