"""CPU time of this process and of all others, as the system counts it; busy programs that count as own."""

from __future__ import annotations

import os

import pytest

from bench.processes import busy_loops, free_cores
from tests.end_to_end.processes import until
from twixt.cli.cpu_time import CoreTime, CpuTime, of_cores, usable_cores


def test_a_busy_program_is_no_other_program_and_ends_with_the_load() -> None:
    with busy_loops(1) as pids:
        begin = CpuTime.now(*pids)
        (pid,) = pids
        lost = CpuTime.now(*pids).lost_since(begin)
        assert lost is None or lost >= 0
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_busy_loops_use_a_core_each_and_have_gone_after() -> None:
    begin = CpuTime.now()
    with busy_loops(2) as pids:
        until(lambda: all(CpuTime.now(pid).own_s - CpuTime.now().own_s >= 0.05 for pid in pids), "both have run", 10)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert CpuTime.now().own_s - begin.own_s >= 0.1  # they count as own once they have ended


def test_free_cores_are_at_most_those_that_may_be_used() -> None:
    free = free_cores()
    assert free is None or 0 <= free <= usable_cores()


def test_only_the_cores_that_may_be_used_are_counted() -> None:
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    stat = "cpu 9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 70 80 4 5 6 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\ncpu12 10 0 0 0 0 0 0 1 0 0\nctxt 5\n"
    found = of_cores(stat, {0, 12})
    assert found == pytest.approx(CoreTime(25 * tick_s, 7 * tick_s))
    assert of_cores(stat, {3}) is None


def test_what_others_and_the_host_had_is_counted_without_the_own() -> None:
    begin = CpuTime(at_s=0.0, all_s=10.0, stolen_s=1.0, own_s=2.0)
    end = CpuTime(at_s=2.0, all_s=14.0, stolen_s=2.0, own_s=4.0)
    assert end.others_since(begin) == pytest.approx(1.0)
    assert end.lost_since(begin) == pytest.approx(1.5)
