"""A writer as a chain of steps, written down while the real `RingWriter` runs.

The one idea: a writer loads only words that it alone stores, so what it does depends on nobody and is run once.
Bytes that it writes past the watched words (records, head) are found by comparing the memory at each watched event,
so their order among themselves is lost; whatever stands between them and a fence or a word is not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.ipc.model.memory_models import DONE, FENCE, STORE
from tests.ipc.model.watched import HANDED_OUT, Segment, Word, slots_of, watching
from tests.publishing import publish
from twixt.ipc.plan import Plan
from twixt.ipc.ring import writer as ring_writer
from twixt.ipc.ring.writer import RingWriter
from twixt.ipc.snapshot import MARK, Head, new_bodies

# What a snapshot holds beyond its number when it is begun again after an interruption.
AGAIN = 100


class Writing:
    """actions: what `script` did, as a thread of the model does it. memory: what it began with."""

    def __init__(self, slots: int, script: Callable[[Writing], None], segments: int = 1, marks: int = 0) -> None:
        self.segments = [Segment(index, slots, marks) for index in range(segments)]
        self.actions: list[tuple[Any, ...]] = []
        self._holding, self._until_interrupt = 0, -1
        self._before = [segment.values() for segment in self.segments]
        self.memory: dict[Word, Any] = {word: value for values in self._before for word, value in values.items()}
        self._kind = watching(self, RingWriter, lambda made: made.memory)
        with (
            slots_of(slots),
            patch.object(ring_writer, "RingWriter", self._kind),
            patch.object(ring_writer, "make_fence", lambda: self.fence),
        ):
            script(self)
        if segments > 1:
            self.memory[HANDED_OUT] = 0

    def node(self) -> Step:
        """Where the thread begins."""
        return Step(self.actions)

    def domain(self) -> dict[Word, list[int]]:
        """All values that each word ever has, in their order."""
        values: dict[Word, list[int]] = {word: [value] for word, value in self.memory.items()}
        for kind, *of in self.actions:
            if kind == STORE and of[1] not in values[of[0]]:
                values[of[0]].append(of[1])
        return values

    # For scripts.

    def writer(self) -> RingWriter:
        return self._kind(self.segments[0], self.segments[0].layout, now_ns=self._now)

    def publish(self, writer: RingWriter, holding: int) -> None:
        self._holding = holding
        bodies = new_bodies(1)
        bodies.view("<u8")[:] = holding
        marks = np.zeros(self.segments[0].marks, MARK)
        marks.view("<u8")[:] = holding
        publish(writer, Head(tick=holding), bodies, marks=marks)

    def publish_in_place(self, writer: RingWriter, holding: int) -> None:
        self._holding = holding
        with writer.begin(1) as slot:
            slot.records.view("<u8")[:] = holding
            slot.head = Head(tick=holding)

    def interrupt_after(self, events: int) -> None:
        """Ctrl-C, when so many more events were watched; -1: no more."""
        self._until_interrupt = events

    def grow(self, writer: RingWriter) -> RingWriter:
        """As the host does it: when the successor is whole the old one says so, and it can be asked for."""
        grown = RingWriter.grown(self.segments[1], self.segments[1].layout, writer)  # type: ignore[arg-type]
        writer.set_successor()
        self.fence()  # a message goes through the kernel
        self.actions.append((STORE, HANDED_OUT, 1))
        return grown

    # What the ring tells.

    def load(self, segment: Segment, index: int, words: Any) -> int:
        self._happened()
        return words[index]

    def stored(self) -> None:
        self._happened()

    def fence(self) -> None:
        self._happened((FENCE,))

    def _now(self) -> int:
        self._happened()
        return self._holding

    def _happened(self, *actions: tuple[Any, ...]) -> None:
        for place, segment in enumerate(self.segments):
            values, before = segment.values(), self._before[place]
            self.actions += [(STORE, word, value) for word, value in values.items() if before[word] != value]
            self._before[place] = values
        self.actions += actions
        self._until_interrupt -= 1
        if self._until_interrupt == 0:
            raise KeyboardInterrupt


class Step:
    """A place in a writer's chain."""

    def __init__(self, actions: list[tuple[Any, ...]]) -> None:
        self.action = actions[0] if actions else (DONE, None)
        self._next = Step(actions[1:]) if actions else self

    def then(self, answer: Any) -> Step:
        return self._next

    def ahead(self) -> frozenset[Word]:
        return frozenset()


def publishes(last: int, slots: int, in_place: bool = False, marks: int = 0) -> Writing:
    """Snapshots 1 to `last`, into a fresh segment, each with so many marks."""

    def script(writing: Writing) -> None:
        writer = writing.writer()
        for number in range(1, last + 1):
            (writing.publish_in_place if in_place else writing.publish)(writer, number)

    return Writing(slots, script, marks=marks)


def publishes_interrupted(events: int, last: int, slots: int) -> Writing:
    """The publish of the snapshot before `last` is interrupted after so many events; then on, with other contents."""

    def script(writing: Writing) -> None:
        writer = writing.writer()
        for number in range(1, last - 1):
            writing.publish(writer, number)
        writing.interrupt_after(events)
        with contextlib.suppress(KeyboardInterrupt):
            writing.publish(writer, last - 1)
        writing.interrupt_after(-1)
        while writer.latest < last:
            writing.publish(writer, writer.latest + 1 + AGAIN)

    return Writing(slots, script)


def publishes_and_grows(before: int, last: int, slots: int) -> Writing:
    """Snapshots 1 to `last`, in a second segment from `before` on."""

    def script(writing: Writing) -> None:
        writer = writing.writer()
        for number in range(1, before + 1):
            writing.publish(writer, number)
        writer = writing.grow(writer)
        for number in range(before + 1, last + 1):
            writing.publish(writer, number)

    return Writing(slots, script, segments=2)


def writes_plans(last: int, slots: int) -> Writing:
    """Plans 1 to `last`."""

    def script(writing: Writing) -> None:
        writer = writing.writer()
        for number in range(1, last + 1):
            writer.write_plan(Plan(number, number, number, number, float(number)))

    return Writing(slots, script)
