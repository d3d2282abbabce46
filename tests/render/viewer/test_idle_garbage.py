"""When the viewer's garbage is looked for: Python's own collector, real objects."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from itertools import chain, count, repeat
from typing import Any

import pytest

from twixt.render.viewer.spare_time import FEW, LONG_IDLE_NS, MANY, NEGLIGIBLE_NS, Garbage

LONG_NS = 1_000_000_000


@pytest.fixture(autouse=True)
def collector_is_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()


@pytest.fixture
def looks() -> Iterator[list[int]]:
    """Generations that were looked through."""
    found: list[int] = []

    def seen(phase: str, told: dict[str, Any]) -> None:
        if phase == "start":
            found.append(told["generation"])

    gc.callbacks.append(seen)
    yield found
    gc.callbacks.remove(seen)


class Ring:
    """Garbage of the kind that only the collector finds."""

    alive = 0

    def __init__(self) -> None:
        self.me = self
        Ring.alive += 1

    def __del__(self) -> None:
        Ring.alive -= 1


def test_rings_are_found_in_spare_time(looks):
    garbage, before = Garbage(), Ring.alive
    for _ in range(FEW + 10):
        Ring()
    assert Ring.alive > before
    garbage.in_spare_time(LONG_NS)
    assert Ring.alive == before
    assert looks == [1]


def test_for_a_few_objects_nobody_looks(looks):
    kept = [[] for _ in range(FEW // 2)]
    Garbage().in_spare_time(LONG_NS)
    assert looks == []
    assert kept


def test_a_large_structure_is_never_looked_through_between_frames(looks):
    garbage = Garbage()
    kept = [[] for _ in range(20 * MANY)]
    for _ in range(100):
        garbage.in_spare_time(4_000_000)
    assert looks == []
    assert gc.get_freeze_count() > len(kept), "it is set aside"


def test_what_was_set_aside_is_looked_through_once_frames_rest(looks):
    garbage, before = Garbage(), Ring.alive
    for _ in range(2 * MANY):
        Ring()
    garbage.in_spare_time(0)
    garbage.while_idle(LONG_IDLE_NS - 1)
    assert Ring.alive > before
    garbage.while_idle(LONG_IDLE_NS)
    assert Ring.alive == before
    assert looks == [2]
    garbage.while_idle(LONG_IDLE_NS + 1)
    assert looks == [2], "once"


def test_where_no_frame_leaves_spare_time_little_by_little_is_looked_through(looks):
    instants_ns = count(step=100_000)  # each look takes a tenth of a millisecond
    garbage, before = Garbage(lambda: next(instants_ns)), Ring.alive
    for _ in range(1000):
        for _ in range(10):
            Ring()
        garbage.in_spare_time(-1)
    assert len(looks) > 3
    assert Ring.alive < before + MANY


def test_time_that_other_programs_take_during_a_look_is_not_its_cost(looks):
    def stolen(phase: str, told: dict[str, Any]) -> None:
        time.sleep(0.05)

    garbage, before = Garbage(), Ring.alive
    gc.callbacks.append(stolen)
    try:
        for _ in range(5):
            frames, alive = 0, Ring.alive
            for _ in range(FEW):
                Ring()
            while Ring.alive > alive:
                garbage.in_spare_time(-1)
                frames += 1
                assert frames < 100
    finally:
        gc.callbacks.remove(stolen)
    assert Ring.alive == before


@pytest.mark.parametrize("rings_a_frame", [10, 3 * FEW])
def test_memory_stays_bounded_without_spare_time_however_long_a_look_took(looks, rings_a_frame):
    instants_ns = chain((0, LONG_NS), repeat(0))  # a second for the first look
    garbage, before = Garbage(lambda: next(instants_ns)), Ring.alive
    for _ in range(20 * MANY // rings_a_frame):
        for _ in range(rings_a_frame):
            Ring()
        garbage.in_spare_time(-1)
        assert Ring.alive - before < MANY + rings_a_frame
    assert len(looks) > 3


@pytest.mark.parametrize("rings_a_frame", [20, 38, 45, 200])
def test_garbage_that_frames_add_to_faster_than_patience_grows_is_found(looks, rings_a_frame):
    cost_ns = 250
    instants_ns = (each for _ in count() for each in (0, cost_ns * gc.get_count()[0]))
    garbage, before = Garbage(lambda: next(instants_ns)), Ring.alive
    for _ in range(4 * FEW):
        Ring()
    for _ in range(1000):
        for _ in range(rings_a_frame):
            Ring()
        garbage.in_spare_time(-1)
        if looks:
            break
    assert Ring.alive == before


def test_structures_are_set_aside_while_each_is_larger_than_all_before(looks):
    garbage, kept = Garbage(), []
    for size in (MANY, 2 * MANY, 4 * MANY):
        kept.append([[] for _ in range(size)])
        garbage.in_spare_time(-1)
    assert looks == []
    kept.append([[] for _ in range(2 * MANY)])
    garbage.in_spare_time(-1)
    assert looks == [1]


def test_a_look_that_would_not_fit_waits_for_one_that_does(looks):
    garbage = Garbage()
    kept = [[] for _ in range(8 * NEGLIGIBLE_NS // 250)]
    garbage.in_spare_time(1_000_000)
    assert looks == []
    garbage.in_spare_time(LONG_NS)
    assert looks == [1]
    assert kept
