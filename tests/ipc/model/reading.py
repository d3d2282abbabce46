"""A reader as a tree of steps, found by running the real `RingReader` again for each row of values it loads.

The one idea: what a reader does is a function of the values its loads have returned. `Reading.run(loads)` starts it
anew, answers its loads with those, and from then on as a segment at rest would, so that it comes to its end.

Bytes that it reads past the watched words steer nothing; where they are read is found by filling every slot with a
mark of the event that came last, at each event: what is given out carries the marks. (The count of bodies in a head
does steer: it is 1 here, and that a head with a torn count is never used stands as a promise of its own.)

A reader begins attached to an empty ring, and tries once (`ATTEMPTS`): another try is a reader that began later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from tests.ipc.model.memory_models import AWAIT, BLOCK, DONE, FENCE, LOAD
from tests.ipc.model.watched import (
    BESIDE,
    HANDED_OUT,
    HEAD,
    LATEST,
    MARK,
    PLAN_VALUE,
    RECORDS,
    STAMP,
    Segment,
    Word,
    slots_of,
    watching,
)
from twixt.ipc.plan import Plan
from twixt.ipc.ring import mapped_segment as mapped
from twixt.ipc.ring import reader as ring_reader
from twixt.ipc.ring.mapped_segment import SnapshotView
from twixt.ipc.ring.reader import RingReader
from twixt.ipc.snapshot import Head

ALL_BYTES = 1 << 40
# A mark is event * A_RUN + segment * A_SEGMENT + slot.
A_RUN, A_SEGMENT = 1024, 512

Part = Callable[["Reading", Any], None]


class Taken(NamedTuple):
    """What the reader gave out: a snapshot, a view's head or a plan. blocks: (word, the event it was read after)."""

    what: str
    number: int
    blocks: tuple[tuple[Word, int], ...]


class Run(NamedTuple):
    """events: loads, fences and messages, in order. blocks: event -> the blocks of words read after it."""

    events: list[tuple[Any, ...]]
    blocks: dict[int, list[tuple[Word, ...]]]
    taken: tuple[Taken, ...]


class Outcome(NamedTuple):
    """loads: (word, value), in order. taken: (what, number, the value that all its blocks had, or what they had)."""

    loads: tuple[tuple[Word, int], ...]
    taken: tuple[tuple[str, int, Any], ...]


class Reading:
    """A reader that does `parts`, one after the other. domain: all values that words may have."""

    def __init__(
        self, slots: int, parts: tuple[Part, ...], domain: dict[Word, list[int]], segments: int = 1, marks: int = 0
    ) -> None:
        self.slots, self.domain = slots, domain
        self._parts = parts
        self._segments = [Segment(index, slots, marks) for index in range(segments)]
        self._kinds = watching(self, mapped.Segment, lambda made: made.memory), views_told_to(self)
        self._runs: dict[tuple[int, ...], Run] = {}
        self._places: dict[tuple[Any, ...], Place] = {}

    def node(self) -> Place:
        """Where the thread begins."""
        return self.place((), 0, 0, ())

    def place(self, *where: Any) -> Place:
        """The one place of that description."""
        place = self._places.get(where)
        if place is None:
            place = self._places[where] = Place(self, *where)
        return place

    def run(self, loads: tuple[int, ...]) -> Run:
        """All that is done when the loads return these values, and from then on those of a segment at rest."""
        run = self._runs.get(loads)
        if run is None:
            run = self._runs[loads] = self._run(loads)
        return run

    def _run(self, loads: tuple[int, ...]) -> Run:
        self._answers = list(loads)
        self._events: list[tuple[Any, ...]] = []
        self._taken: list[Taken] = []
        self._found: dict[Word, int] = {}
        self._attached, self.latest = False, 0
        with self._reader() as reader:
            self._attached = True
            self._fill()
            for part in self._parts:
                part(self, reader)
        found: dict[tuple[int, Any], set[Word]] = {}
        for taken in self._taken:
            for word, event in taken.blocks:
                found.setdefault((event, self._block_of(word)), set()).add(word)
        blocks: dict[int, list[tuple[Word, ...]]] = {}
        for (event, _), words in found.items():
            blocks.setdefault(event, []).append(tuple(sorted(words)))
        return Run(self._events, blocks, tuple(self._taken))

    @contextlib.contextmanager
    def _reader(self) -> Iterator[Any]:
        """The real reader, attached to a ring in which nothing is yet."""
        with (
            slots_of(self.slots),
            patch.multiple(ring_reader, Segment=self._kinds[0], ATTEMPTS=1),
            patch.object(mapped, "SnapshotView", self._kinds[1]),
        ):
            yield RingReader(self._segments[0], self.fence)  # type: ignore[arg-type]

    def _block_of(self, word: Word) -> object:
        """What words that are read after one event share if they must all hold the same; here all of them do."""
        return None

    def is_at_home(self, what: str, number: int, word: Word) -> bool:
        """Whether the word is one of those in which `what` of that number lies."""
        return what == "plan" or word.place == number % self.slots

    # What the ring tells.

    def load(self, segment: Segment, index: int, words: Any) -> int:
        if not self._attached or (word := segment.names[index]).name == PLAN_VALUE:
            return words[index]
        value = self._answers.pop(0) if self._answers else self._at_rest(word)
        if word.name == LATEST:
            self.latest = value
            self._found.clear()
        self._found[word] = value
        self._happened(LOAD, word)
        return value

    def stored(self) -> None:
        raise AssertionError("a reader stored a word")

    def fence(self) -> None:
        if self._attached:
            self._happened(FENCE)

    # What the parts tell.

    def follow(self, reader: RingReader) -> None:
        """The successor, as a message brings it."""
        self._happened(AWAIT, HANDED_OUT, 1)
        reader.follow(self._segments[1])  # type: ignore[arg-type]

    def take(self, what: str, number: int, marks: dict[str, int]) -> None:
        """Snapshot `number` was given out; each of its blocks carries a mark."""
        blocks = []
        for name, mark in marks.items():
            event, place = divmod(mark, A_RUN)
            blocks.append((Word(place // A_SEGMENT, name, place % A_SEGMENT), event))
        self._taken.append(Taken(what, number, tuple(blocks)))

    def take_plan(self, number: int, plan: Plan) -> None:
        """A plan was given out; its sequence word said `number`."""
        blocks = tuple((Word(0, PLAN_VALUE, place), int(mark) // A_RUN) for place, mark in enumerate(plan))
        self._taken.append(Taken("plan", number, blocks))

    def _at_rest(self, word: Word) -> int:
        """What it was found to be since `latest` was, else as that says."""
        if word.name == LATEST:
            return max(self.domain[word])
        if word in self._found:
            return self._found[word]
        if word.name == MARK:
            return 2 * max(0, self.latest - (self.latest - word.place) % self.slots)
        return self.domain[word][-1]

    def _happened(self, *event: Any) -> None:
        self._events.append(event)
        self._fill()

    def _fill(self) -> None:
        for segment in self._segments:
            segment.fill(len(self._events) * A_RUN + segment.index * A_SEGMENT)


def views_told_to(reading: Reading) -> type:
    """Claims whose heads count as given out when they are made: their count is believed from then on."""

    class ToldView(SnapshotView):
        def __init__(self, segment: Any, number: int, head: Head) -> None:
            super().__init__(segment, number, head)
            reading.take("head", number, {HEAD: head.tick, STAMP: head.published_ns})

    return ToldView


class Place:
    """A place in a reader's tree: the values loaded, the next event, and what each block read was found to hold.

    The values of a block are one answer: which of them was which steers nothing."""

    def __init__(
        self,
        reading: Reading,
        loads: tuple[int, ...],
        event: int,
        blocks_read: int,
        found: tuple[tuple[int, tuple[Word, ...], Any], ...],
    ) -> None:
        self._reading, self._loads, self._event, self._found = reading, loads, event, found
        self._blocks_read = blocks_read
        self._ahead: frozenset[Word] | None = None
        run = reading.run(loads)
        if blocks_read < len(blocks := run.blocks.get(event, ())):
            self.action: tuple[Any, ...] = (BLOCK, blocks[blocks_read])
        elif event < len(run.events):
            self.action = run.events[event]
        else:
            self.action = (DONE, self._outcome(run))

    def then(self, answer: Any) -> Place:
        if self.action[0] == BLOCK:
            found = (*self._found, (self._event, self.action[1], answer))
            return self._reading.place(self._loads, self._event, self._blocks_read + 1, found)
        loads = (*self._loads, answer) if self.action[0] == LOAD else self._loads
        return self._reading.place(loads, self._event + 1, 0, self._found)

    def ahead(self) -> frozenset[Word]:
        """By going through all values that each load may return."""
        if self._ahead is None:
            kind = self.action[0]
            if kind == BLOCK:
                self._ahead = frozenset(self.action[1]) | self.then(None).ahead()
            elif kind == LOAD:
                word = self.action[1]
                after = (self.then(value).ahead() for value in self._reading.domain[word])
                self._ahead = frozenset((word,)).union(*after)
            else:
                self._ahead = frozenset()
        return self._ahead

    def _outcome(self, run: Run) -> Outcome:
        words = [event[1] for event in run.events if event[0] == LOAD]
        found = {(event, word): answer for event, words_read, answer in self._found for word in words_read}
        taken: list[tuple[str, int, Any]] = []
        for what, number, blocks in run.taken:
            values = {found[event, word] for word, event in blocks}
            if not all(self._reading.is_at_home(what, number, word) for word, _ in blocks):
                taken.append((what, number, "another slot"))
            else:
                taken.append((what, number, values.pop() if len(values) == 1 else " and ".join(map(str, values))))
        return Outcome(tuple(zip(words, self._loads, strict=True)), tuple(taken))


# Parts.


def the_pair(reading: Reading, reader: RingReader) -> None:
    """The two newest, copied."""
    pair = reader.pair()
    for number, snapshot in enumerate(pair, start=reading.latest - len(pair) + 1):
        marks = {RECORDS: first_word(snapshot.bodies), HEAD: snapshot.tick, STAMP: snapshot.published_ns}
        if len(snapshot.marks):
            marks[BESIDE] = first_word(snapshot.marks)
        reading.take("pair", number, marks)


def the_unread(reading: Reading, reader: RingReader) -> None:
    """Each snapshot not had yet, used where it lies; it counts if it proves valid then."""
    for view in reader.unread(ALL_BYTES):
        records = first_word(view.bodies)
        if view.is_valid():
            marks = {RECORDS: records, HEAD: view.head.tick, STAMP: view.head.published_ns}
            reading.take("unread", view.number, marks)


def the_plan(reading: Reading, reader: RingReader) -> None:
    plan = reader.plan()
    if plan is not ring_reader.NO_PLAN:
        reading.take_plan(reader._plan_state // 2, plan)


def the_successor(reading: Reading, reader: RingReader) -> None:
    """Followed, if there is one."""
    if reader.has_successor:
        reading.follow(reader)


def first_word(records: Any) -> int:
    return int(np.frombuffer(records, "<u8", 1)[0])
