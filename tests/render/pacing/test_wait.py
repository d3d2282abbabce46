"""Sleeping and spinning to an instant: on a clock of the test's own, and once on the real one."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from twixt.render.pacing.wait import FIRST_MARGIN_NS, LARGEST_MARGIN_NS, SMALLEST_MARGIN_NS, HybridWait, SpinMargin
from twixt.render.viewer.spare_time import PreFrameSchedule


class Machine:
    """A clock that only moves when read or slept on; sleeps end late by `oversleep_ns`."""

    def __init__(self, oversleep_ns: int = 100_000) -> None:
        self.now_ns = 0
        self.oversleep_ns = oversleep_ns
        self.slept: list[float] = []

    def clock(self) -> int:
        self.now_ns += 1_000
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_ns += round(seconds * 1e9) + self.oversleep_ns


def test_it_sleeps_until_the_margin_and_spins_the_rest() -> None:
    machine = Machine()
    woke_ns = HybridWait(machine.clock, machine.sleep).until(10_000_000)
    assert len(machine.slept) == 1
    assert abs(machine.slept[0] - (10_000_000 - FIRST_MARGIN_NS) / 1e9) < 2e-6
    assert 10_000_000 <= woke_ns <= 10_002_000


def test_an_instant_past_is_not_waited_for() -> None:
    machine = Machine()
    machine.now_ns = 5_000_000
    HybridWait(machine.clock, machine.sleep).until(1_000_000)
    assert machine.slept == []


def test_a_wait_within_the_margin_is_spun_alone() -> None:
    machine = Machine()
    HybridWait(machine.clock, machine.sleep).until(FIRST_MARGIN_NS // 2)
    assert machine.slept == []


def test_what_has_time_is_slept_to_and_not_spun() -> None:
    machine = Machine()
    wait = HybridWait(machine.clock, machine.sleep)
    woke_ns = wait.about(10_000_000)
    assert woke_ns - 10_000_000 < machine.oversleep_ns + 5_000
    assert len(machine.slept) == 1
    wait.about(10_000_000)
    assert len(machine.slept) == 1


def test_a_wait_in_two_parts_wakes_as_exactly_as_one() -> None:
    machine = Machine(oversleep_ns=300_000)
    wait, ahead = HybridWait(machine.clock, machine.sleep), PreFrameSchedule()
    late_ns = []
    for start_ns in range(20_000_000, 800_000_000, 10_000_000):
        due_ns = ahead.begin_ns(machine.clock(), start_ns)
        assert due_ns is not None
        wait.about(due_ns)
        machine.now_ns += 600_000  # of work
        ahead.done(due_ns, machine.clock())
        late_ns.append(wait.until(start_ns) - start_ns)
    assert max(late_ns) <= 2_000


def test_the_margin_learns_how_late_sleeps_end_here() -> None:
    machine = Machine(oversleep_ns=700_000)
    wait = HybridWait(machine.clock, machine.sleep)
    late = [wait.until(at_ns) - at_ns for at_ns in range(10_000_000, 600_000_000, 10_000_000)]
    assert wait.margin.margin_ns > 700_000
    assert max(late[10:]) <= 2_000


def test_one_hiccup_does_not_raise_the_margin() -> None:
    margin = SpinMargin()
    for oversleep_ns in [100_000] * 40 + [9_000_000]:
        margin.observe(oversleep_ns)
    assert margin.margin_ns <= 200_000


@given(st.lists(st.integers(0, 50_000_000), max_size=100))
def test_the_margin_always_stays_between_its_bounds(oversleeps: list[int]) -> None:
    margin = SpinMargin()
    for oversleep_ns in oversleeps:
        margin.observe(oversleep_ns)
        assert SMALLEST_MARGIN_NS <= margin.margin_ns <= LARGEST_MARGIN_NS


def test_on_the_real_clock_it_never_comes_back_early() -> None:
    wait = HybridWait()
    for _ in range(20):
        at_ns = time.perf_counter_ns() + 2_000_000
        assert wait.until(at_ns) >= at_ns
        assert time.perf_counter_ns() >= at_ns


def test_a_wait_that_does_not_spin_sleeps_to_the_end_and_is_never_early() -> None:
    slept: list[float] = []
    now = [0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += round(seconds * 1e9) + 300_000

    wait = HybridWait(lambda: now[0], sleep)
    wait.spins = False
    assert wait.until(10_000_000) == 10_300_000
    assert slept == [0.01]
