"""The ring buffer of events under the model checker: the real `EventWriter` and `EventReader`, their stories and promises.

The one idea: a record is a word here, and so is a name: any two bytes of one are alike to the model. What a record
holds is its number. Every record has the name that is added with the first.

The promises. Of memory, at each instant: the records from `begun` - N + 1 to `latest` are complete. Of a reader: it is
given each record once, in order, whole and with its name; those that it is not given are counted as lost.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from tests.ipc.model import reading as read
from tests.ipc.model import writing as write
from tests.ipc.model.memory_models import Explorer, Violation
from tests.ipc.model.watched import LATEST, Piece, Word, watching, without
from twixt.ipc.ring import events as ring
from twixt.ipc.ring.events import EVENT, EventReader, EventWriter
from twixt.ipc.ring.layout import CACHE_LINE, WORD, LayoutError

BEGUN, RECORD, NAME = "begun", "record", "name"
NAMES = ["hit"]
NAMED = int.from_bytes(b"hit", "little")
SLOTS = (2, 3, 4)
# The events of an append of two records, with a wrap between them, that an interruption can come after.
EVENTS_OF_AN_APPEND = 8

FENCES = (
    Piece("W5", "fence()  # W5", "pass"),
    Piece("W6", "fence()  # W6", "pass"),
    Piece("R1 of events", "fence()  # R1", "pass"),
    Piece("R6", "fence()  # R6", "pass"),
)
LOOKS = (
    Piece("look at begun", "return words[begun]", "return 0"),
    Piece("begun never falls", "if words[begun] < last:", "if True:"),
)


class EventMemory:
    """Plain memory for a ring buffer of events, and what a `Memory` is to the ring."""

    def __init__(self, slots: int) -> None:
        self.index, self.slots, self.size, self.closed = 0, slots, ring.memory_bytes(slots), False
        self.view = memoryview(bytearray(self.size))
        self._words = self.view.cast("Q")
        self.names = {ring.LATEST: Word(0, LATEST), ring.BEGUN: Word(0, BEGUN)}
        for slot in range(slots):
            self.names[(ring.RECORDS_OFFSET + slot * EVENT.itemsize) // WORD] = Word(0, RECORD, slot)
        self.names[(ring.NAMES_OFFSET + CACHE_LINE) // WORD] = Word(0, NAME, 1)

    def values(self) -> dict[Word, int]:
        return {name: self._words[word] for word, name in self.names.items()}

    def fill(self, mark: int) -> None:
        """Every record holds `mark` plus its slot, and the name says `mark` + 1."""
        for slot in range(self.slots):
            record = np.zeros((), EVENT)
            record["sim_time_ns"], record["name"] = mark + slot, 1
            self.view[(start := ring.RECORDS_OFFSET + slot * EVENT.itemsize) : start + EVENT.itemsize] = (
                record.tobytes()
            )
        struct.pack_into(f"{ring.NAME_BYTES}s", self.view, ring.NAMES_OFFSET + CACHE_LINE, str(mark + 1).encode())

    def close(self) -> None:
        """Plain memory stays."""


class WatchedRecords:
    """The slots as the writer has them: each assignment is an event."""

    def __init__(self, watcher: write.Writing, records: Any) -> None:
        self._watcher, self._records = watcher, records

    def __setitem__(self, place: slice, content: Any) -> None:
        self._records[place] = content
        self._watcher.stored()


class EventWriting(write.Writing):
    """actions: what `script` did, as a thread of the model does it. memory: what it began with."""

    def __init__(self, slots: int, script: Callable[[EventWriting, EventWriter], None]) -> None:
        self.segments = [EventMemory(slots)]  # type: ignore[list-item]
        self.actions: list[tuple[Any, ...]] = []
        self._until_interrupt = -1
        self._before = [segment.values() for segment in self.segments]
        self.memory: dict[Word, Any] = dict(self._before[0])
        writer: Any = watching(self, EventWriter, lambda made: made.memory)(self.segments[0], slots, self.fence)
        writer._records = WatchedRecords(self, writer._records)
        script(self, writer)

    def append(self, writer: EventWriter, count: int, again: int = 0) -> None:
        """The next records. again: what they hold beyond their numbers."""
        first = int(self.segments[0].values()[Word(0, LATEST)]) + 1
        records = np.zeros(count, EVENT)
        records["sim_time_ns"], records["name"] = np.arange(first, first + count) + again, 1
        writer.add_names(NAMES)
        writer.append(records)


class EventReading(read.Reading):
    """A reader of events that does `parts`, one after the other."""

    def __init__(self, slots: int, parts: tuple[read.Part, ...], domain: dict[Word, list[int]]) -> None:
        super().__init__(slots, parts, domain, segments=0)
        self._segments = [EventMemory(slots)]  # type: ignore[list-item]

    @contextlib.contextmanager
    def _reader(self) -> Iterator[Any]:
        self._segments = [EventMemory(self.slots)]  # type: ignore[list-item]
        EventWriter(self._segments[0], self.slots)  # type: ignore[arg-type]
        kind = watching(self, EventReader, lambda made: made.memory)
        yield kind(self._segments[0], self.fence)

    def _block_of(self, word: Word) -> object:
        return word

    def _at_rest(self, word: Word) -> int:
        """`begun` is as low as it can be: then all records that were read are given out, so each is known."""
        return self.latest if word.name == BEGUN else super()._at_rest(word)

    def is_at_home(self, what: str, number: int, word: Word) -> bool:
        return word.place == ((number - 1) % self.slots if what == RECORD else number)


def the_events(reading: read.Reading, reader: EventReader) -> None:
    """Those that are new; and how many were lost so far."""
    try:
        first, records = reader.unread()
    except LayoutError:
        reading.take("damage", 0, {})
        return
    for number, mark in enumerate(records["sim_time_ns"].tolist(), start=first):
        reading.take(RECORD, number, {RECORD: mark})
    if len(records):
        reading.take(NAME, 1, {NAME: int(reader.names[1])})
    reading.take("lost", reader.lost, {})


class Story(NamedTuple):
    """A writer of events, and what each of its readers does."""

    slots: int
    writer: EventWriting
    readers: tuple[tuple[read.Part, ...], ...]


def one_at_a_time(slots: int) -> Story:
    """Until the ring has come round to every slot."""

    def script(writing: EventWriting, writer: EventWriter) -> None:
        for _ in range(slots + 2):
            writing.append(writer, 1)

    return Story(slots, EventWriting(slots, script), ((the_events,),))


def two_at_a_time(slots: int) -> Story:
    """With an append of which one record is in the last slot, the other in the first."""

    def script(writing: EventWriting, writer: EventWriter) -> None:
        writing.append(writer, 1 + slots % 2)
        for _ in range(slots // 2 + 1):
            writing.append(writer, 2)

    return Story(slots, EventWriting(slots, script), ((the_events,),))


def read_twice(slots: int) -> Story:
    return one_at_a_time(slots)._replace(readers=((the_events, the_events),))


def two_readers(slots: int) -> Story:
    return one_at_a_time(slots)._replace(readers=((the_events,), (the_events,)))


def more_than_slots(slots: int) -> Story:
    """More records in one append than the ring has slots."""

    def script(writing: EventWriting, writer: EventWriter) -> None:
        writing.append(writer, 1)
        writing.append(writer, slots + 1)
        writing.append(writer, 1)

    return Story(slots, EventWriting(slots, script), ((the_events, the_events),))


def interrupted(slots: int, events: int) -> Story:
    """A full ring, then an append of two records that is interrupted after so many events; then on, one record at a
    time and with other contents."""

    def script(writing: EventWriting, writer: EventWriter) -> None:
        writing.append(writer, slots - 1)
        writing.interrupt_after(events)
        with contextlib.suppress(KeyboardInterrupt):
            writing.append(writer, 2)
        writing.interrupt_after(-1)
        for _ in range(2):
            writing.append(writer, 1, write.AGAIN)

    return Story(slots, EventWriting(slots, script), ((the_events, the_events),))


def explore(story: Story, model: str) -> int:
    """All that can happen; the number of states. Raises Violation."""
    domain = story.writer.domain()
    readers = [EventReading(story.slots, parts, domain) for parts in story.readers]
    return Explorer(
        model,
        [story.writer.node(), *(reader.node() for reader in readers)],
        story.writer.memory,
        readers=range(1, len(readers) + 1),
        check_memory=lambda memory: wrong_in_memory(memory, story.slots),
        check_outcome=lambda outcome: outcome and wrong_for_a_reader(outcome),
    ).run()


def found_without(piece: Piece, model: str, slots: int) -> str | None:
    """What goes wrong first when the piece is removed; None: nothing, in all that is tried here."""
    with without(piece):
        stories = [one_at_a_time, two_at_a_time, read_twice]
        stories += [
            lambda slots, events=events: interrupted(slots, events) for events in range(1, EVENTS_OF_AN_APPEND + 1)
        ]
        for story in stories:
            try:
                explore(story(slots), model)
            except Violation as violation:
                return violation.what
    return None


def wrong_in_memory(memory: Mapping[Word, Any], slots: int) -> str | None:
    """Of every instant."""
    latest, begun = memory[Word(0, LATEST)], memory[Word(0, BEGUN)]
    if begun < latest:
        return f"`latest` is {latest}, `begun` {begun}"
    for number in range(max(1, begun - slots + 1), latest + 1):
        held = memory[Word(0, RECORD, (number - 1) % slots)]
        if held not in (number, number + write.AGAIN):
            content = f"event {held}" if held else "no event"
            return (
                f"`latest` is {latest} and `begun` is {begun}, so event {number} should be readable, "
                f"but its slot holds {content}"
            )
    return None


def wrong_for_a_reader(outcome: read.Outcome) -> str | None:
    """Of all that a reader loaded, and was given."""
    newest = delivered = read_up_to = 0
    latest = iter([value for word, value in outcome.loads if word.name == LATEST])
    for what, number, held in outcome.taken:
        if what == "damage":
            return "memory was found damaged"
        if what == NAME and held != NAMED:
            return f"the name of a record was read as {held}"
        if what == RECORD:
            if held not in (number, number + write.AGAIN):
                return f"torn: the reader gets the record of event {number}, but its content is {held}"
            if number <= newest:
                return f"record {number} came after {newest}"
            newest, delivered = number, delivered + 1
        if what == "lost":
            read_up_to = max(read_up_to, next(latest))
            if number + delivered != read_up_to:
                return f"of {read_up_to} records {delivered} were given out and {number} counted as lost"
    return None
