"""Use of cores between two samples of the kernel's counts: given sums, no machine."""

from __future__ import annotations

import pytest

from twixt.render.cores.load import JUDGED, CoreLoad, CoreSample, CoreUse, use_between, usual_use

MS = 1_000_000


def test_the_thread_that_wants_a_core_most_is_physics() -> None:
    before = CoreSample(0, 0, 0, 0, {1: (0, 0), 2: (0, 0)})
    use = use_between(
        before, CoreSample(100 * MS, 6, 0, 0, {1: (5 * MS, 90 * MS), 2: (99 * MS, 1 * MS), 3: (0, 10**12)})
    )
    assert use is not None
    assert use.waits == pytest.approx(0.01)


def test_sums_that_run_back_and_looks_at_one_instant_are_left_out() -> None:
    sample = CoreSample(100 * MS, 60, 500 * MS, 0, {1: (100 * MS, 0)})
    for odd in (
        sample, sample._replace(now_ns=0), sample._replace(now_ns=150 * MS, frames=3), sample._replace(now_ns=150 * MS, cpu_ns=0)
    ):  # fmt: skip
        assert use_between(sample, odd) is None
    later = sample._replace(now_ns=200 * MS, waited_ns=-5, physics={1: (0, 0)})
    assert use_between(sample, later) == CoreUse(200 * MS, True, 0.0, 0.0, 0.0, 0.0, ())


def test_threads_that_never_rested_are_named_the_busiest_first() -> None:
    before = CoreSample(0, 0, 0, 0, {1: (0, 0), 2: (0, 0), 3: (0, 0)})
    use = use_between(
        before, before._replace(now_ns=100 * MS, physics={1: (85 * MS, 0), 2: (79 * MS, 0), 3: (99 * MS, 0)})
    )
    assert use is not None
    assert use.never_rested == (3, 1)


def test_as_many_differences_are_kept_as_are_judged_and_one_that_says_nothing_is_not() -> None:
    load = CoreLoad()
    assert load.add(CoreSample(0, 0, 0, 0, {})) is None
    for i in range(1, 9):
        assert load.add(CoreSample(100 * i * MS, i * i, 0, 0, {})) is not None
    assert load.add(CoreSample(9000 * MS, 100, 0, 0, {})) is None
    assert [round(use.fps / 10) for use in load.uses] == [7, 9, 11, 13, 15]
    assert len(load.uses) == JUDGED
    assert usual_use(load.uses).fps == pytest.approx(110)
