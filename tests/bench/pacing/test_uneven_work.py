"""The pacer on the laboratory's displays where swap's return is no present, under work and seeds that no target is read from."""

from __future__ import annotations

import random

import pytest

from bench.pacing import cases
from bench.pacing.play import ContestantFactory, Figures, NeverWiden, figures, play, twixt_pacer
from bench.pacing.works import MS, Make, Work, constant, step

SECONDS = 8.0


def sliced(ms: float, share: float) -> Make:
    """A busy machine takes slices of 4 ms, each time anew."""

    def make(seed: int) -> Work:
        choose = random.Random(seed)
        costs = [ms * MS] * 1200
        for number in range(len(costs)):
            while choose.random() < share:
                costs[number] += 4 * MS
        return Work([round(cost) for cost in costs])

    return make


def of(display_name: str, make: Make, seed: int, make_contestant: ContestantFactory = twixt_pacer) -> Figures:
    display = cases.SHAPES[display_name].made(seed)
    return figures(play(make_contestant, display, make(seed), SECONDS, seed), display)


@pytest.mark.parametrize("seed", [301, 302])
@pytest.mark.parametrize("load_ms", [18, 20])
def test_a_queue_that_a_load_drains_is_no_timer(load_ms: float, seed: int) -> None:
    load = step(8, load_ms, 2, 3)
    found, fixed = of("queue of two", load, seed), of("queue of two", load, seed, NeverWiden)
    assert found.off_share < 0.03
    assert found.cost < 1.15 * fixed.cost + 10


@pytest.mark.parametrize("seed", [301, 302])
@pytest.mark.parametrize("make", [sliced(9, 0.4), sliced(13, 0.5)])
def test_uneven_work_in_a_queue_costs_little_more_than_a_fixed_interval(make: Make, seed: int) -> None:
    assert of("queue of two", make, seed).cost < 1.25 * of("queue of two", make, seed, NeverWiden).cost + 20


@pytest.mark.parametrize("seed", [301, 302, 303])
@pytest.mark.parametrize("work", ["metronome, busy loops", "balls, busy loops", "balls, bursts"])
def test_a_busy_machine_where_swap_returns_at_once_is_no_other_refresh(work: str, seed: int) -> None:
    make = cases.ALL_WORKS[work]
    assert of("returns at once", make, seed).cost < 1.3 * of("blocking", make, seed).cost + 20


def test_where_swap_returns_at_once_a_load_that_ended_is_forgotten() -> None:
    display = cases.SHAPES["returns at once"].made(7)
    seen = play(twixt_pacer, display, step(8, 20, 2, 2)(7), SECONDS, 7)
    assert max(frame.refreshes for frame in seen if frame.start_ns < 3.5e9) == 2
    assert {frame.refreshes for frame in seen if frame.start_ns > 7e9} == {1}


def test_even_work_in_a_queue_is_shown_each_refresh() -> None:
    assert of("queue of three", constant(12), 5).fps == pytest.approx(60, abs=0.3)
