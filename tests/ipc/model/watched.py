"""A segment of plain memory on which the real ring runs while its loads, stores and fences are watched.

The one idea: nothing of the order of publish and read is written down a second time. The real `RingWriter` and
`RingReader` are given a fence, and words that tell a thread of the model (`writing`, `reading`) of each load and store.

A slot is four words here: its sequence word, and one each for all records, for the packed head and for the instant
stamped into it; a fifth for the marks beside the bodies where there are any: any two bytes of a block are alike to the
model. What a snapshot holds is its number.
"""

from __future__ import annotations

import contextlib
import inspect
import struct
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol
from unittest.mock import patch

from twixt.ipc.plan import Plan
from twixt.ipc.ring import events, reader, sequence, writer
from twixt.ipc.ring import layout as at
from twixt.ipc.ring import mapped_segment as segment
from twixt.ipc.ring.layout import HEAD_PACKING, Layout
from twixt.ipc.snapshot import BODY, Head

LATEST, SUCCESSOR, MARK, RECORDS, HEAD, STAMP = "latest", "successor", "sequence", "records", "head", "stamp"
BESIDE = "beside"  # the records of marks, in the stories that have some
PLAN_MARK, PLAN_VALUE = "plan sequence", "plan"
PAYLOAD = (RECORDS, HEAD, STAMP, BESIDE)


class Word(NamedTuple):
    """One location: of a segment (0 the first, 1 its successor); and of a slot, a place in the plan, or neither (-1)."""

    segment: int
    name: str
    place: int = -1

    def __str__(self) -> str:
        return (f"{self.name}[{self.place}]" if self.place >= 0 else self.name) + "'" * self.segment


# The message that carries the successor's descriptor: 1 from when it can be asked for.
HANDED_OUT = Word(1, "handed out")


class Segment:
    """Plain memory in a segment's layout, and what a `Memory` is to the ring. marks: how many each snapshot has, 0 or
    1, beside its one body."""

    def __init__(self, index: int, slots: int, marks: int = 0) -> None:
        with slots_of(slots):
            self.layout = Layout.for_bodies(1 + marks)
        self.marks = marks
        self.index, self.size, self.closed = index, self.layout.segment_bytes, False
        self.view = memoryview(bytearray(self.size))
        self.view[: len(self.layout.header())] = self.layout.header()
        self._words = self.view.cast("Q")
        self._filled: dict[int, list[tuple[int, bytes]]] = {}  # by mark: places and contents, made once
        self.names = {at.LATEST: Word(index, LATEST), at.SUCCESSOR: Word(index, SUCCESSOR)}
        self.names[at.PLAN_SEQUENCE] = Word(index, PLAN_MARK)
        self.names |= {at.PLAN + place: Word(index, PLAN_VALUE, place) for place in range(len(Plan._fields))}
        for slot in range(slots):
            head = self.layout.head_offset(slot) // at.WORD
            self.names[self.layout.sequence_word(slot)] = Word(index, MARK, slot)
            self.names[self.layout.bodies_offset(slot) // at.WORD] = Word(index, RECORDS, slot)
            self.names[head] = Word(index, HEAD, slot)
            self.names[head + at.PUBLISHED_IN_HEAD] = Word(index, STAMP, slot)
            if marks:
                self.names[(self.layout.bodies_offset(slot) + BODY.itemsize) // at.WORD] = Word(index, BESIDE, slot)

    def values(self) -> dict[Word, int]:
        values = {name: self._words[word] for word, name in self.names.items()}
        (rate,) = struct.unpack_from("<d", self.view, (at.PLAN + 4) * at.WORD)
        return values | {Word(self.index, PLAN_VALUE, 4): int(rate)}

    def fill(self, mark: int) -> None:
        """Every slot and the plan look whole, and hold `mark` everywhere; slots, plus their index."""
        if mark not in self._filled:
            self._filled[mark] = list(self._contents(mark))
        for start, content in self._filled[mark]:
            self.view[start : start + len(content)] = content

    def _contents(self, mark: int) -> Iterator[tuple[int, bytes]]:
        yield at.PLAN * at.WORD, struct.pack("<4qd", mark, mark, mark, mark, float(mark))
        for slot in range(self.layout.slots):
            head = Head(tick=mark + slot, published_ns=mark + slot, count=1, marks=self.marks)
            yield self.layout.head_offset(slot), HEAD_PACKING.pack(*head)
            size = (1 + self.marks) * BODY.itemsize
            yield self.layout.bodies_offset(slot), struct.pack("<Q", mark + slot) * (size // at.WORD)

    def close(self) -> None:
        """Plain memory stays."""


@contextlib.contextmanager
def slots_of(slots: int) -> Iterator[None]:
    """Rings have so many slots."""
    with patch.object(at, "MIN_SLOTS", slots), patch.object(at, "MAX_SLOTS", slots):
        yield


class Watcher(Protocol):
    """Who is told of what a ring does with its words."""

    def load(self, segment: Segment, index: int, words: Any) -> int: ...
    def stored(self) -> None: ...


class Watched:
    """A segment's words as the ring has them."""

    def __init__(self, watcher: Watcher, words: Any, segment: Segment) -> None:
        self._watcher, self._words, self._segment = watcher, words, segment

    def __getitem__(self, index: int) -> int:
        return self._watcher.load(self._segment, index, self._words)

    def __setitem__(self, index: int, value: int) -> None:
        self._words[index] = value
        self._watcher.stored()


def watching(watcher: Watcher, kind: type, memory_of: Callable[[Any], Segment]) -> type:
    """`kind`, whose `_words` are watched from the first."""

    def get(self: Any) -> Any:
        return self.__dict__["watched"]

    def put(self: Any, words: Any) -> None:
        self.__dict__["watched"] = Watched(watcher, words, memory_of(self))

    return type(kind.__name__, (kind,), {"_words": property(get, put)})


class Piece(NamedTuple):
    """Something that `sequence` does, and the text that stands there instead when it is removed."""

    name: str
    text: str
    instead: str


@contextlib.contextmanager
def without(piece: Piece) -> Iterator[None]:
    """The ring runs on a copy of `sequence`, made now of its source, that lacks the piece."""
    source = inspect.getsource(sequence)
    if source.count(piece.text) != 1:
        raise AssertionError(f"{piece.text!r} stands {source.count(piece.text)} times in sequence.py, not once")
    copy = types.ModuleType(f"sequence_without_{piece.name}")
    exec(compile(source.replace(piece.text, piece.instead), copy.__name__, "exec"), copy.__dict__)
    with contextlib.ExitStack() as patched:
        for module in (reader, writer, segment, events):
            patched.enter_context(patch.object(module, "sequence", copy))
        yield
