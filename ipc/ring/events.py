"""The ring buffer of events: records of 64 bytes in shared memory, beside the snapshots.

A program emits events (`World.emit`, `View.emit`). A viewer delivers each event once, in the first frame whose draw
time has reached the event's instant.

    0      identity: magic, format, number of slots       written once, before a reader maps it
    64     latest: number of the last complete record
    128    begun: number up to which slots may hold new bytes
    4096   table of names, one cache line each            each written once, before the first record that uses it
    20480  records; record n (1, 2, 3, ...) is in slot (n - 1) mod N

Always: the writer never waits for a reader. Records are appended in the order of their world epochs and simulated
times. A reader delivers each record at most once, in order, and counts the records that were overwritten before it
read them. After `close` and in a forked child nothing is appended, and reading raises LayoutError. Not here: the order
of stores and loads (`sequence`), when an event is due (`render/events`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring import sequence
from twixt.ipc.ring.layout import CACHE_LINE, FORMAT, WORD, LayoutError
from twixt.ipc.ring.memory import Memory
from twixt.ipc.ring.sequence import Fence, make_fence
from twixt.ipc.snapshot import RECORD

# Bytes of a name and of a text in UTF-8, and number of names in one run. Names are stored once, texts in each record.
NAME_BYTES, TEXT_BYTES, MOST_NAMES = 40, 15, 255
MOST_VALUES = 4
NO_BODY: Final = -1

# One event. position, values: NaN where not given. body: index of the body's record, or NO_BODY. name: number of the
# name, from 1. text: UTF-8.
EVENT = np.dtype(
    [
        ("sim_time_ns", "<i8"),
        ("world_epoch", "<u4"),
        ("body", "<i4"),
        ("position", "<f4", 3),
        ("strength", "<f4"),
        ("values", "<f4", MOST_VALUES),
        ("name", "u1"),
        ("text", f"S{TEXT_BYTES}"),
    ]
)
NO_EVENTS: Final = np.zeros(0, EVENT)
NO_EVENTS.flags.writeable = False

MAGIC = int.from_bytes(b"twixtevt", "little")
# Number of slots: 2 MiB. A viewer that was stopped for 10 s loses nothing while 3,000 events a second are emitted.
SLOTS = 32_768
# Indices of the words `latest` and `begun`, and offsets of names and records in bytes.
LATEST, BEGUN = CACHE_LINE // WORD, 2 * CACHE_LINE // WORD
NAMES_OFFSET = 4096
RECORDS_OFFSET = NAMES_OFFSET + (MOST_NAMES + 1) * CACHE_LINE


@dataclass(frozen=True)
class Event:
    """Something that happened in a step, as a viewer delivers it.

    A program emits it with `World.emit` or `View.emit`. The function of `on_event` receives it (see `EventFunction`).

    Attributes:
        name: Name of the event, such as "hit".
        sim_time: Simulated time at which the event happened, in seconds.
        body: Index of the body, or None.
        position: Point in the world, in metres, or None.
        strength: Strength of the event, >= 0, by default 1.
        values: Up to four numbers of the program. A number that was not finite is NaN, but NaN at the end is left out.
        text: Short text of the program.
        late_ms: Draw time of the event's frame minus the event's instant, in ms of display time.
    """

    name: str
    sim_time: float
    body: int | None = None
    position: tuple[float, float, float] | None = None
    strength: float = 1.0
    values: tuple[float, ...] = ()
    text: str = ""
    late_ms: float = 0.0


def event_of(record: np.void, name: str, late_ms: float = 0.0) -> Event:
    """The event in a record of dtype EVENT. name: its name. Any 64 bytes are an event: a position that is not finite
    and a body below 0 count as not given."""
    fields: Any = record.item()
    time_ns, _, body, position, strength, values, _, text = fields
    (x, y, z), numbers = position.tolist(), values.tolist()
    while numbers and math.isnan(numbers[-1]):
        numbers.pop()
    return Event(
        name,
        time_ns / 1e9,
        None if body < 0 else body,
        (x, y, z) if math.isfinite(x + y + z) else None,
        strength,
        tuple(numbers),
        text.decode("utf-8", "replace"),
        late_ms,
    )


def memory_bytes(slots: int = SLOTS) -> int:
    """Size of the memory of a ring buffer with `slots` slots, in bytes."""
    return RECORDS_OFFSET + slots * EVENT.itemsize


class EventWriter:
    """The only writer of a ring buffer of events. At most one thread may use it at a time. After an append that was
    interrupted (Ctrl-C), either all of its records are visible or none of them is; `latest` tells which. If none is, the
    next append replaces them.

    memory: memory with zeros, at least `memory_bytes(slots)` bytes long. names: the names so far; the number of a name
    is its place, counted from 1.
    """

    def __init__(self, memory: Memory, slots: int = SLOTS, fence: Fence | None = None) -> None:
        self.memory, self.slots = memory, slots
        self.names: list[str] = []
        self._fence = fence or make_fence()
        self._words: sequence.Words = memory.view[:NAMES_OFFSET].cast("Q")
        self._records = _records_of(memory, slots)
        for index, value in enumerate((MAGIC, FORMAT, slots)):
            self._words[index] = value

    @property
    def latest(self) -> int:
        """Number of the last appended record, or 0."""
        words = self._words
        return 0 if self.memory.closed else words[LATEST]

    def add_names(self, names: Sequence[str]) -> None:
        """Adds the names behind those that the ring buffer has. names: all names so far, at most MOST_NAMES, each of at most
        NAME_BYTES bytes in UTF-8."""
        for name in names[len(self.names) :]:
            start = NAMES_OFFSET + (len(self.names) + 1) * CACHE_LINE
            view = self.memory.view
            if not view:  # closed
                return
            view[start : start + NAME_BYTES] = name.encode().ljust(NAME_BYTES, b"\0")
            self.names.append(name)

    def append(self, records: NDArray[np.void]) -> None:
        """Appends records, (k,) of dtype EVENT. Of more records than slots, the last ones are appended, and readers
        count the others as lost."""
        ring, words, slots = self._records, self._words, self.slots
        if self.memory.closed:  # tested last, because a signal handler may close the memory at any instant
            return
        first = words[LATEST]
        last = first + len(records)
        sequence.begin_append(words, self._fence, BEGUN, last)
        first = max(first, last - slots)
        content = records[len(records) - (last - first) :].view(RECORD)
        place = first % slots
        whole = min(len(content), slots - place)
        ring[place : place + whole] = content[:whole]
        if whole < len(content):
            ring[: len(content) - whole] = content[whole:]
        sequence.end_append(words, self._fence, LATEST, last)

    def close(self) -> None:
        """Closes the memory. Viewers that have mapped the memory keep their mappings."""
        self._words, self._records = memoryview(b"").cast("Q"), NO_EVENTS.view(RECORD)
        self.memory.close()


class EventBatch(NamedTuple):
    """Consecutive records, (k,) of dtype EVENT, as a private copy. first: number of the first one."""

    first: int
    records: NDArray[np.void]


class EventReader:
    """A reader of a ring buffer of events. Only one thread may use it.

    attached_at: number of the newest record when the reader was made. lost: number of records that were overwritten
    before they were read, since then. names: the names by their numbers; records that `unread` has returned have
    theirs.
    """

    def __init__(self, memory: Memory, fence: Fence | None = None) -> None:
        self.memory = memory
        self.lost = 0
        self.names: dict[int, str] = {}
        self._fence = fence or make_fence()
        if memory.size < RECORDS_OFFSET:
            raise LayoutError(f"a ring buffer of events must have at least {RECORDS_OFFSET} bytes, got {memory.size}")
        self._words: sequence.Words = memory.view[:NAMES_OFFSET].cast("Q")
        magic, version, slots = (self._words[index] for index in range(3))
        room = min(SLOTS, (memory.size - RECORDS_OFFSET) // EVENT.itemsize)
        if magic != MAGIC or version != FORMAT or not 0 < slots <= room:
            raise LayoutError(
                f"this memory is not a ring buffer of events of this version: {magic:#x}, format {version}, {slots} slots in "
                f"{memory.size} bytes; use the same version of twixt for the simulation and the viewer"
            )
        self._slots = slots
        self._records = _records_of(memory, slots)
        self.attached_at = sequence.read_latest(self._words, self._fence, LATEST)
        self._read = 0  # number of the last record that was returned or counted as lost

    @property
    def has_unread(self) -> bool:
        """True if `unread` has records to return. Loads only one word."""
        return self._open_words[LATEST] != self._read

    def unread(self) -> EventBatch:
        """The records that were not returned before, the oldest first. Raises LayoutError if the number of the last
        record has decreased."""
        words, ring, slots = self._open_words, self._records, self._slots
        latest = sequence.read_latest(words, self._fence, LATEST)
        if latest < self._read:
            raise LayoutError(
                f"the ring buffer of events is damaged: it has {latest} events, but {self._read} were read; "
                "restart the simulation"
            )
        first = max(self._read, latest - slots)
        place, count = first % slots, latest - first
        whole = min(count, slots - place)
        copied = np.empty(count, RECORD)
        copied[:whole] = ring[place : place + whole]
        if whole < count:
            copied[whole:] = ring[: count - whole]
        begun = sequence.end_read_appended(words, self._fence, BEGUN)
        kept = min(max(first, begun - slots), latest)
        # Records from before the reader was made do not count as lost.
        self.lost += max(0, kept - max(self._read, self.attached_at))
        self._read = latest
        records = copied[kept - first :].view(EVENT)
        for number in np.flatnonzero(np.bincount(records["name"])).tolist():
            if number not in self.names:
                start = NAMES_OFFSET + number * CACHE_LINE
                content = bytes(self.memory.view[start : start + NAME_BYTES])
                self.names[number] = content.rstrip(b"\0").decode("utf-8", "replace") or "?"
        return EventBatch(kept + 1, records)

    def close(self) -> None:
        """Closes the memory."""
        self._words, self._records = memoryview(b"").cast("Q"), NO_EVENTS.view(RECORD)
        self.memory.close()

    @property
    def _open_words(self) -> sequence.Words:
        if self.memory.closed:  # also in a forked child, where an access would be a segmentation fault
            raise LayoutError(
                "this channel is closed, or belongs to the parent of this forked process; attach again in this process"
            )
        return self._words


def _records_of(memory: Memory, slots: int) -> NDArray[np.void]:
    return np.frombuffer(memory.view, RECORD, slots, RECORDS_OFFSET)
