"""The recorder's ring: bounded, in order, readable by whoever is left."""

from __future__ import annotations

import gc
import os
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.spans import FRAME, GARBAGE, PHYSICS, PUBLISH, STEP, SWAP, VIEWER, SpanMemory

KEPT = 8


def told(memory: SpanMemory, side: int) -> list[tuple[int, ...]]:
    (one,) = [one for one in memory.recorded() if one.side == side]
    return [tuple(span) for span in one.spans if span.kind != GARBAGE]


def test_each_side_finds_its_own_spans_as_they_were_recorded() -> None:
    memory = SpanMemory.create(100, KEPT)
    physics, viewer = memory.recorder(PHYSICS), memory.recorder(VIEWER)
    physics.add(STEP, 110, 120, 7, -3)
    viewer.add(FRAME, 115, 130, 1)
    physics.add(PUBLISH, 121, 2**62, 7)
    physics.close()
    viewer.close()
    assert told(memory, PHYSICS) == [(110, 120, 7, -3, STEP), (121, 2**62, 7, 0, PUBLISH)]
    assert told(memory, VIEWER) == [(115, 130, 1, 0, FRAME)]
    assert memory.origin_ns == 100
    assert memory.front == os.getpid()


@given(st.integers(0, 5 * KEPT))
def test_the_newest_spans_are_always_there_and_those_let_go_are_counted(count: int) -> None:
    memory = SpanMemory.create(0, KEPT)
    gc.disable()  # garbage is none of this test's
    recorder = memory.recorder(VIEWER)
    recorder.close()
    gc.enable()
    for number in range(count):
        recorder.add(SWAP, number, number + 1, number)
    (one,) = memory.recorded()
    numbers = [span.a for span in one.spans]
    assert numbers == list(range(count - len(numbers), count))
    assert one.let_go == count - len(numbers)
    # The oldest of a full ring may be half overwritten.
    assert len(numbers) == (count if count <= KEPT else KEPT - 1)


def test_who_never_recorded_is_not_there() -> None:
    memory = SpanMemory.create(0, KEPT)
    memory.recorder(VIEWER).close()
    assert [one.side for one in memory.recorded()] == [VIEWER]


def test_laps_follow_each_other_without_a_gap() -> None:
    memory = SpanMemory.create(0, KEPT)
    recorder = memory.recorder(PHYSICS)
    recorder.close()
    recorder.start(5)
    recorder.lap(STEP, 1)
    recorder.add(PUBLISH, 1, 2)
    recorder.lap(STEP, 2)
    first, _, second = memory.recorded()[0].spans
    assert first.begin_ns == 5
    assert second.begin_ns == first.end_ns
    assert second.end_ns >= second.begin_ns


def test_collections_of_garbage_record_themselves_until_the_recorder_is_closed() -> None:
    memory = SpanMemory.create(0, 1 << 10)
    recorder = memory.recorder(PHYSICS)
    gc.collect()
    recorder.close()
    gc.collect()
    (one,) = memory.recorded()
    full = [span for span in one.spans if span.kind == GARBAGE and span.a == 2]
    assert len(full) == 1
    assert full[0].begin_ns < full[0].end_ns


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_what_a_killed_process_recorded_is_still_there() -> None:
    memory = SpanMemory.create(0, KEPT)
    child = os.fork()
    if not child:
        recorder = SpanMemory.open(memory.path, KEPT).recorder(VIEWER)
        recorder.add(SWAP, 1, 2, 3)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (one,) = memory.recorded()
    assert one.process_id == child
    assert told(memory, VIEWER) == [(1, 2, 3, 0, SWAP)]
