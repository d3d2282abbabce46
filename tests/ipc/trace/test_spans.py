"""The recorder's ring: bounded, in order, readable by whoever is left."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ipc.ring.test_memory import in_forked_child
from twixt.ipc.errors import TwixtError
from twixt.ipc.trace import spans
from twixt.ipc.trace.spans import (
    ATTACH,
    FRAME,
    GARBAGE,
    NOT_RECORDED,
    PHYSICS,
    PUBLISH,
    STEP,
    SWAP,
    VIEWER,
    WINDOW,
    SpanMemory,
)

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
    assert memory.maker_pid == os.getpid()


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
    assert one.overwritten == count - len(numbers)
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


def test_the_first_lap_begins_where_the_recorder_was_made() -> None:
    memory = SpanMemory.create(0, KEPT)
    before_ns = time.perf_counter_ns()
    recorder = memory.recorder(PHYSICS)
    recorder.close()
    after_ns = time.perf_counter_ns()
    recorder.lap(STEP)
    assert before_ns <= memory.recorded()[0].spans[0].begin_ns <= after_ns


def test_a_part_of_the_start_ends_as_a_lap_and_as_a_startup_time_which_is_there_without_a_recorder_too() -> None:
    memory = SpanMemory.create(0, KEPT)
    recorder = memory.recorder(VIEWER)
    recorder.close()
    spans.forget_start()
    recorder.start(5)
    recorder.end_phase(WINDOW)
    NOT_RECORDED.end_phase(ATTACH)
    assert list(spans.start_phases_ms(0)) == ["viewer_window", "viewer_attach"]
    spans.forget_start()
    (span,) = memory.recorded()[0].spans
    assert (span.begin_ns, span.kind) == (5, WINDOW)


def test_numbers_that_are_not_given_are_zero_and_those_given_keep_their_places() -> None:
    memory = SpanMemory.create(0, KEPT)
    recorder = memory.recorder(PHYSICS)
    recorder.close()
    recorder.add(STEP, 1, 2)
    recorder.add(STEP, 1, 2, 3, 4)
    recorder.lap(STEP)
    recorder.lap(STEP, 3, 4)
    assert [span[2:] for span in memory.recorded()[0].spans] == [(0, 0, STEP), (3, 4, STEP)] * 2


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


def test_a_collection_that_had_begun_before_the_recorder_is_not_recorded() -> None:
    memory = SpanMemory.create(0, KEPT)

    class Late:
        """Garbage that records from the moment in which it is found."""

        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            recorders.append(memory.recorder(PHYSICS))

    recorders: list[Any] = []
    gc.disable()
    Late()
    gc.collect()
    recorders[0].close()
    gc.enable()
    assert [one.spans for one in memory.recorded()] == [[]]


def test_memory_opened_by_its_path_is_the_same_memory() -> None:
    memory = SpanMemory.create(100, KEPT)
    other = SpanMemory.open(memory.path, KEPT)
    recorder = other.recorder(VIEWER)
    recorder.close()
    recorder.add(SWAP, 1, 2, 3)
    assert told(memory, VIEWER) == told(other, VIEWER) == [(1, 2, 3, 0, SWAP)]
    assert (other.origin_ns, other.maker_pid) == (100, os.getpid())


def test_closed_memory_is_opened_by_nobody_and_used_as_before() -> None:
    memory = SpanMemory.create(0, KEPT)
    memory.close()
    with pytest.raises(OSError):  # noqa: PT011 (which one, the system says)
        SpanMemory.open(memory.path, KEPT)
    memory.close()  # nothing else of this process is closed with it
    assert os.fstat(1)
    memory.recorder(VIEWER).close()
    assert told(memory, VIEWER) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_memory_is_closed_also_where_it_took_the_place_of_the_standard_input() -> None:
    def verdict() -> str:
        os.close(0)
        memory = SpanMemory.create(0, KEPT)
        assert os.fstat(0)
        memory.close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(0)
        return "closed"

    assert in_forked_child(verdict) == "closed"


def test_memory_that_is_not_to_be_had_is_told_with_how_much_it_was() -> None:
    kept = 1 << 50
    with pytest.raises(TwixtError) as caught:
        SpanMemory.create(0, kept)
    # 40 bytes a span, two processes.
    assert re.fullmatch(rf"--profile needs {kept * 80 >> 20} MB of memory: \w[\w ]+; leave it out", str(caught.value))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux seals memory")
def test_nobody_can_take_memory_away_from_under_who_reads_it() -> None:
    import fcntl

    memory = SpanMemory.create(0, KEPT)
    assert "/memfd:twixt-trace " in os.readlink(memory.path)  # as the list of what a process has open calls it
    with open(memory.path, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        for other in (0, size - 1, size + 1):
            with pytest.raises(PermissionError):
                os.ftruncate(file.fileno(), other)
        with pytest.raises(PermissionError):
            fcntl.fcntl(file.fileno(), fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)


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
