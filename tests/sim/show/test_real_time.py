"""The pace of a user's loop: instants from lists of times, and waits in virtual time."""

from __future__ import annotations

import math
import os
import signal
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.sim.watched import Watched
from twixt.ipc.errors import TwixtError
from twixt.sim.show.real_time import LONGEST_LATENESS_NS, LONGEST_WAIT_S, RealTime, checked_dt_s, paced

MS = 1_000_000
START_NS = 5 * 10**9


class VirtualLoop:
    """The session of a loop whose iterations take `work_ms`, in virtual time. began_ms: instant of each iteration since
    the first. Each wait ends late by `oversleep_ns`."""

    def __init__(self, oversleep_ns: int = 70_000) -> None:
        self.now_ns, self.began_ms, self.times = START_NS, [], []  # type: int, list[float], list[float]
        self.waits_s: list[float] = []
        self.is_over, self._oversleep_ns = False, oversleep_ns
        self.host = SimpleNamespace(commands=SimpleNamespace(wait=self._wait))

    def _wait(self, timeout_s: float) -> None:
        self.waits_s.append(timeout_s)
        self.now_ns += round(timeout_s * 1e9) + self._oversleep_ns

    def run(self, dt_s: float, works_ms: list[float]) -> VirtualLoop:
        """One iteration for each of `works_ms`, the time that it takes."""
        works = iter(works_ms)
        for t in paced(self, dt_s, lambda: self.now_ns):  # type: ignore[arg-type]
            self.times.append(t)
            self.began_ms.append((self.now_ns - START_NS) / MS)
            self.now_ns += round(next(works) * MS)
            self.is_over = len(self.times) == len(works_ms)
        return self


def test_iteration_k_begins_at_start_plus_k_dt_although_every_wait_ends_late() -> None:
    loop = VirtualLoop().run(0.01, [3] * 500)
    assert loop.began_ms == pytest.approx(np.arange(500) * 10, abs=0.08)
    assert loop.times == pytest.approx(np.arange(500) * 0.01)


def test_a_dt_that_is_no_whole_number_of_ns_does_not_drift() -> None:
    times = RealTime(1 / 3, START_NS)
    due_ns = [times.next_ns(START_NS) for _ in range(30_000)]
    assert due_ns[-1] == START_NS + 10_000 * 10**9


def test_a_late_iteration_is_followed_by_unpaced_ones_until_it_is_made_good() -> None:
    loop = VirtualLoop(0).run(0.01, [1, 35, 1, 1, 1, 1, 1, 1])
    assert loop.began_ms == pytest.approx([0, 10, 45, 46, 47, 50, 60, 70])


def test_a_longer_stall_is_given_up_and_the_loop_goes_on_from_now_at_the_same_pace() -> None:
    stall_ms = LONGEST_LATENESS_NS / MS + 11
    loop = VirtualLoop(0).run(0.01, [1, stall_ms, 1, 1, 1])
    again_ms = 10 + stall_ms
    assert loop.began_ms == pytest.approx([0, 10, again_ms, again_ms + 10, again_ms + 20])
    assert loop.times == pytest.approx([0, 0.01, 0.02, 0.03, 0.04])


def test_no_more_iterations_are_unpaced_than_stated() -> None:
    loop = VirtualLoop(0).run(0.01, [0, LONGEST_LATENESS_NS / MS + 10, *[0] * 30])
    unpaced = np.diff(loop.began_ms)[2:] < 0.01
    assert unpaced.sum() == LONGEST_LATENESS_NS / MS / 10
    assert not unpaced[int(unpaced.sum()) :].any()


def test_a_loop_that_is_always_too_slow_never_waits_and_never_races_later() -> None:
    loop = VirtualLoop(0).run(0.01, [15] * 200 + [1] * 40)
    assert loop.began_ms[:200] == pytest.approx(np.arange(200) * 15)
    assert np.diff(loop.began_ms)[-20:] == pytest.approx([10] * 20)


def test_a_long_dt_is_made_good_by_two_iterations() -> None:
    loop = VirtualLoop(0).run(1.0, [10, 2900, 10, 10, 10])
    assert loop.began_ms == pytest.approx([0, 1000, 3900, 3910, 4000])


def test_a_long_wait_looks_now_and_then_whether_the_view_is_open() -> None:
    loop = VirtualLoop(0).run(3.0, [0, 0])
    assert max(loop.waits_s) <= LONGEST_WAIT_S
    assert sum(loop.waits_s) == pytest.approx(3)


@pytest.mark.parametrize("dt", [0, -1, math.nan, math.inf, "fast", "0.1", True, 1e-12, [0.1]])
def test_a_dt_that_is_no_time_is_refused_at_the_call(dt: Any) -> None:
    both = Watched()
    with pytest.raises(TwixtError, match="must be seconds from one iteration to the next, >= 1e-9, got"):
        both.view.real_time(dt)
    both.link.close()
    both.view.close()


@pytest.mark.parametrize("dt", [1, 0.5, np.float32(0.5), np.int64(2)])
def test_numbers_of_any_kind_are_a_dt(dt: Any) -> None:
    assert checked_dt_s(dt) == float(dt)


def test_without_a_dt_it_is_the_views_own_and_the_loop_ends_when_the_view_is_closed() -> None:
    both = Watched(dt=0.003)
    times = []
    for t in both.view.real_time():
        times.append(t)
        both.view.publish(position=[(t, 0, 0)])
        if len(times) == 4:
            both.view.close()
    assert times == pytest.approx([0, 0.003, 0.006, 0.009])
    assert list(both.view.real_time()) == []
    both.link.close()


def test_a_view_that_is_closed_on_another_thread_ends_the_wait() -> None:
    both = Watched()
    closing = threading.Thread(target=both.view.close)
    for _ in both.view.real_time(1e6):
        closing.start()
    closing.join()
    both.link.close()


def test_ctrl_c_ends_the_wait_and_the_view_stays_open() -> None:
    both = Watched()
    killing = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        for _ in both.view.real_time(1e6):
            killing.start()
    killing.join()
    assert both.view.is_open
    both.link.close()
    both.view.close()
