"""The ring buffer of events in one process: each record once, in order, whole, with its name; what was overwritten counted."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.interrupts import Interrupt, on_its_own_thread
from twixt.ipc.ring import events, memory
from twixt.ipc.ring.events import EVENT, EventReader, EventWriter, event_of
from twixt.ipc.ring.layout import CACHE_LINE, LayoutError

SLOTS = 8


class PlainMemory:
    """Bytes in place of a mapping."""

    def __init__(self, slots: int = SLOTS) -> None:
        self.size, self.closed = events.memory_bytes(slots), False
        self.view = memoryview(bytearray(self.size))

    def close(self) -> None:
        self.closed, self.view = True, memoryview(b"")


class Ring:
    """A writer and its reader."""

    def __init__(self, slots: int = SLOTS) -> None:
        self.memory: Any = PlainMemory(slots)
        self.writer = EventWriter(self.memory, slots)
        self.reader = EventReader(self.memory)
        self.appended = 0

    def append(self, count: int = 1, name: int = 1) -> None:
        self.writer.append(records_of(self.appended + 1, count, name))
        self.appended += count

    def word(self, index: int, value: int) -> None:
        self.memory.view.cast("Q")[index] = value


def records_of(first: int, count: int, name: Any = 1) -> Any:
    """Each has its number in its time, its text and its values."""
    made = np.zeros(count, EVENT)
    numbers = np.arange(first, first + count)
    made["sim_time_ns"], made["body"], made["name"] = numbers, numbers, name
    made["text"] = [str(number).encode() for number in numbers]
    made["values"][:] = numbers[:, None]
    return made


def numbers_of(batch: events.EventBatch) -> list[int]:
    """Numbers of the records, which hold what they were appended with."""
    assert batch.records.tobytes() == records_of(batch.first, len(batch.records), batch.records["name"]).tobytes()
    return list(range(batch.first, batch.first + len(batch.records)))


@pytest.fixture
def shared() -> Iterator[tuple[EventWriter, EventReader]]:
    """On real shared memory, which the reader has mapped read-only."""
    made = memory.create(events.memory_bytes(SLOTS))
    writer = EventWriter(made, SLOTS)
    reader = EventReader(memory.map_read_only(made.read_only_fd(), made.size))
    yield writer, reader
    reader.close()
    writer.close()


def test_each_record_is_returned_once_and_in_order(shared: tuple[EventWriter, EventReader]) -> None:
    writer, reader = shared
    writer.append(records_of(1, 3))
    assert reader.has_unread
    assert numbers_of(reader.unread()) == [1, 2, 3]
    assert not reader.has_unread
    assert numbers_of(reader.unread()) == []
    writer.append(records_of(4, 1))
    assert numbers_of(reader.unread()) == [4]
    assert reader.lost == 0


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3 * SLOTS)), max_size=30))
def test_delivered_and_lost_are_always_all_that_was_appended(acts: list[tuple[bool, int]]) -> None:
    ring, delivered, newest = Ring(), 0, 0
    for is_append, count in [*acts, (False, 0)]:
        if is_append:
            ring.append(count)
            continue
        numbers = numbers_of(ring.reader.unread())
        assert not numbers or numbers[0] > newest
        newest = max([newest, *numbers])
        delivered += len(numbers)
        assert delivered + ring.reader.lost == ring.appended


@pytest.mark.parametrize(("behind", "lost"), [(SLOTS - 1, 0), (SLOTS, 0), (SLOTS + 1, 1), (10 * SLOTS, 9 * SLOTS)])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_reader_that_fell_behind_gets_the_newest_and_counts_the_others(behind: int, lost: int, at_once: bool) -> None:
    ring = Ring()
    ring.append(3)
    ring.reader.unread()
    for count in [behind] if at_once else [1] * behind:
        ring.append(count)
    assert numbers_of(ring.reader.unread()) == list(range(3 + lost + 1, 3 + behind + 1))
    assert ring.reader.lost == lost


def test_a_reader_that_attaches_late_has_the_newest_and_counts_none_of_before_as_lost() -> None:
    ring = Ring()
    ring.append(3 * SLOTS)
    late = EventReader(ring.memory)
    assert late.attached_at == 3 * SLOTS
    assert numbers_of(late.unread()) == list(range(2 * SLOTS + 1, 3 * SLOTS + 1))
    assert late.lost == 0
    later = EventReader(ring.memory)
    ring.append(SLOTS + 2)
    later.unread()
    assert later.lost == 2


def test_a_name_is_there_with_its_first_record_and_stays() -> None:
    ring = Ring()
    names = ["hit", "über die Brücke", "x" * events.NAME_BYTES]
    for number in range(1, len(names) + 1):
        ring.writer.add_names(names[:number])
        ring.append(name=number)
        ring.reader.unread()
        assert ring.reader.names[number] == names[number - 1]
    assert ring.writer.names == names
    ring.memory.view[events.NAMES_OFFSET : events.RECORDS_OFFSET] = bytes(events.RECORDS_OFFSET - events.NAMES_OFFSET)
    ring.append(name=1)
    ring.reader.unread()
    assert ring.reader.names == dict(enumerate(names, start=1))


def test_as_many_names_as_a_record_can_number() -> None:
    ring = Ring(events.MOST_NAMES)
    names = [f"name {number}" for number in range(events.MOST_NAMES)]
    ring.writer.add_names(names)
    made = records_of(1, events.MOST_NAMES)
    made["name"] = np.arange(1, events.MOST_NAMES + 1)
    ring.writer.append(made)
    assert len(ring.reader.unread().records) == events.MOST_NAMES
    assert list(ring.reader.names.values()) == names


def test_what_is_returned_is_the_readers_own() -> None:
    ring = Ring()
    ring.append()
    batch = ring.reader.unread()
    ring.append(SLOTS)
    assert numbers_of(batch) == [1]
    batch.records["world_epoch"] += np.uint32(5)
    assert len(ring.reader.unread().records) == SLOTS


# Interruptions.


@on_its_own_thread
def test_an_append_interrupted_anywhere_is_made_again_and_nothing_is_torn_or_twice() -> None:
    place, came = 0, True
    while came:
        place += 1
        ring = Ring()
        ring.append(SLOTS - 2, name=0)
        ring.reader.unread()
        ring.reader.names.clear()
        interrupt = Interrupt(place)

        def act(ring: Ring = ring) -> None:
            ring.writer.add_names(["hit", "goal"])
            ring.writer.append(records_of(SLOTS - 1, 4))

        interrupt.during(act)
        came = interrupt.came
        first = numbers_of(ring.reader.unread())
        assert first in ([], list(range(SLOTS - 1, SLOTS + 3))), f"interrupted at place {place}"
        ring.appended += len(first)
        ring.writer.add_names(["hit", "goal", "end"])
        ring.append(3, name=1)
        batch = ring.reader.unread()
        assert numbers_of(batch) == list(range(ring.appended - 2, ring.appended + 1))
        for number in (2, 3):
            ring.append(name=number)
            ring.reader.unread()
        assert (ring.writer.names, ring.reader.names) == (["hit", "goal", "end"], {1: "hit", 2: "goal", 3: "end"})
        assert ring.reader.lost == 0
    assert place > 20


def test_after_an_interruption_slots_that_may_hold_anything_are_not_read() -> None:
    ring = Ring()
    ring.append(SLOTS)
    fences = iter((lambda: None, raise_ctrl_c))
    ring.writer._fence = lambda: next(fences)()
    with pytest.raises(KeyboardInterrupt):
        ring.writer.append(records_of(99, 3))
    ring.writer._fence = lambda: None
    assert numbers_of(ring.reader.unread()) == list(range(4, SLOTS + 1))
    assert ring.reader.lost == 3
    ring.append(1)
    assert numbers_of(ring.reader.unread()) == [SLOTS + 1]
    assert ring.reader.lost == 3


def raise_ctrl_c() -> None:
    raise KeyboardInterrupt


@on_its_own_thread
def test_a_writer_that_a_signal_handler_closes_in_the_midst_of_an_append_says_nothing() -> None:
    place, came = 0, True
    while came:
        place += 1
        ring = Ring()
        came = _closes_at(place, ring)
        ring.writer.append(records_of(1, 1))
        ring.writer.add_names(["late"])
    assert place > 20


def _closes_at(place: int, ring: Ring) -> bool:
    """Calls `close` at that place of an append; False if it has fewer."""
    left, came = place, False

    def trace(frame: Any, event: str, _argument: Any) -> Any:
        nonlocal left, came
        frame.f_trace_opcodes = True
        if frame.f_code.co_filename != events.__file__ or came:
            return None
        if event == "opcode":
            left -= 1
            if left == 0:
                came = True
                sys.settrace(None)
                ring.writer.close()
        return trace

    sys.settrace(trace)
    try:
        ring.writer.add_names(["hit", "goal"])
        ring.writer.append(records_of(1, 3))
    finally:
        sys.settrace(None)
    return came


# The end, and children.


def test_a_closed_ring_takes_nothing_and_says_so_to_its_reader(shared: tuple[EventWriter, EventReader]) -> None:
    writer, reader = shared
    writer.append(records_of(1, 2))
    writer.close()
    writer.add_names(["late"])
    writer.append(records_of(3, 2))
    assert numbers_of(reader.unread()) == [1, 2], "a reader's mapping outlives the writer"
    reader.close()
    for read in (reader.unread, lambda: reader.has_unread):
        with pytest.raises(LayoutError, match="this channel is closed"):
            read()
    reader.close()
    writer.close()


def test_no_mapping_is_left_after_close_though_records_are_still_held(
    shared: tuple[EventWriter, EventReader],
) -> None:
    writer, reader = shared
    writer.append(records_of(1, 2))
    batch = reader.unread()
    before = _mappings()
    reader.close()
    writer.close()
    assert _mappings() == before - 2
    assert numbers_of(batch) == [1, 2]


def _mappings() -> int:
    with open("/proc/self/maps") as maps:
        return maps.read().count("/memfd:twixt")


def test_a_forked_child_appends_nothing_and_reads_nothing(shared: tuple[EventWriter, EventReader]) -> None:
    writer, reader = shared
    child = os.fork()
    if child == 0:
        code = 1
        try:
            writer.add_names(["hit"])
            writer.append(records_of(1, 2))
            try:
                reader.unread()
            except LayoutError:
                code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not reader.has_unread
    writer.append(records_of(1, 1))
    assert numbers_of(reader.unread()) == [1]


# Memory that is no ring, or that changes as no writer would change it.


@pytest.mark.parametrize(
    ("word", "value"), [(0, 0), (0, 1 << 63), (1, 5), (1, (1 << 64) - 1), (2, 0), (2, SLOTS + 1), (2, (1 << 64) - 1)]
)
def test_memory_that_is_no_ring_of_events_is_refused(word: int, value: int) -> None:
    ring = Ring()
    ring.word(word, value)
    with pytest.raises(LayoutError, match="not a ring buffer of events of this version.*same version"):
        EventReader(ring.memory)


def test_memory_that_is_too_small_or_larger_than_any_ring_is_refused() -> None:
    small: Any = PlainMemory(0)
    small.size -= 1
    with pytest.raises(LayoutError, match=f"at least {events.RECORDS_OFFSET} bytes, got {small.size}"):
        EventReader(small)
    large: Any = PlainMemory(events.SLOTS + 1)
    EventWriter(large, events.SLOTS + 1)
    with pytest.raises(LayoutError, match="32769 slots"):
        EventReader(large)


def test_a_number_that_goes_back_is_refused() -> None:
    ring = Ring()
    ring.append(5)
    ring.reader.unread()
    ring.word(events.LATEST, 4)
    with pytest.raises(LayoutError, match=r"damaged: it has 4 events, but 5 were read; restart the simulation"):
        ring.reader.unread()


@pytest.mark.parametrize("latest", [6, SLOTS + 6, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("begun", [0, 5, SLOTS + 6, 1 << 63, (1 << 64) - 1])
def test_numbers_of_a_hostile_writer_are_bounded_work(latest: int, begun: int) -> None:
    ring = Ring()
    ring.append(5)
    ring.reader.unread()
    ring.word(events.LATEST, latest)
    ring.word(events.BEGUN, begun)
    batch = ring.reader.unread()
    assert len(batch.records) <= SLOTS
    assert len(batch.records) + ring.reader.lost == latest - 5
    assert len(ring.reader.unread().records) == 0


def test_names_of_any_bytes_are_text() -> None:
    ring = Ring()
    ring.memory.view[events.NAMES_OFFSET : events.RECORDS_OFFSET] = b"\xff" * (256 * CACHE_LINE)
    ring.append(name=7)
    ring.append(name=0)
    ring.reader.unread()
    assert ring.reader.names == {0: "\ufffd" * 40, 7: "\ufffd" * 40}
    nameless = Ring()
    nameless.append(name=9)
    nameless.reader.unread()
    assert nameless.reader.names == {9: "?"}


@given(st.binary(min_size=EVENT.itemsize, max_size=EVENT.itemsize))
def test_any_bytes_are_an_event(content: bytes) -> None:
    (record,) = np.frombuffer(content, EVENT)
    event = event_of(record, "hit", 2.0)
    assert (event.name, event.late_ms) == ("hit", 2.0)
    assert isinstance(event.sim_time, float)
    assert event.body is None or event.body >= 0
    assert event.position is None or np.isfinite(event.position).all()
    assert len(event.values) <= events.MOST_VALUES
    assert len(event.text) <= events.TEXT_BYTES
    assert not event.values or not np.isnan(event.values[-1])
    assert {type(value) for value in (*event.values, *(event.position or ()))} <= {float}


def test_an_event_has_what_its_record_has() -> None:
    record = np.zeros(1, EVENT)
    record["sim_time_ns"], record["body"], record["position"] = 1_500_000_000, 3, (1, 2, 3)
    record["strength"], record["values"], record["text"] = 0.5, (4, 5, np.nan, np.nan), "grün".encode()
    assert event_of(record[0], "hit", 1.0) == events.Event("hit", 1.5, 3, (1.0, 2.0, 3.0), 0.5, (4.0, 5.0), "grün", 1.0)
    record["body"], record["position"][0, 1], record["values"], record["text"] = events.NO_BODY, np.nan, np.nan, b""
    assert event_of(record[0], "hit") == events.Event("hit", 1.5, strength=0.5)
