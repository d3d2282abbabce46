"""What a process did and when, kept in memory that outlives it: the recorder behind `--profile`.

The one idea: a span is five numbers in a ring that both processes of a run have mapped. Whoever is left at the end
reads both rings, so that a process killed in the middle of a frame has still told everything up to there.

Always: nothing grows, a process keeps its newest `KEPT_SPANS`; one thread of a process records, the one that made
its `Recorder`; a span counts once it is whole. Instants are `time.perf_counter_ns`, which processes share.
Off is no recorder at all: whoever records asks `if spans is not None`. A forked child has nothing to do with it: its
copy of a recorder records nothing. Not here: what a trace file looks like.
"""

from __future__ import annotations

import contextlib
import gc
import os
import struct
import sys
import threading
import time
from typing import Any, NamedTuple

from twixt.ipc import fork, mapping
from twixt.ipc.errors import TwixtError

# Spans each process keeps: six minutes of a viewer at 60 frames a second (12 a frame), two of physics at 1000 steps.
# 40 bytes each, 10 MB, which the system gives as they are touched.
KEPT_SPANS = 1 << 18
SPAN = struct.Struct("<5q")  # begin_ns, end_ns, a, b, kind
HEAD_BYTES = 64  # of the memory, then of each ring
ORIGIN_WORD, FRONT_WORD = 0, 1  # of the memory's head: instant 0 of the time axis, process id of who made it
COUNT_WORD, PROCESS_WORD = 0, 1  # of a ring's head: spans recorded so far, process id of who records; 0: nobody yet
WORDS_A_HEAD = HEAD_BYTES // 8

PHYSICS, VIEWER = 0, 1
SIDES = ("physics", "viewer")


class Kind(NamedTuple):
    """What a span is. a, b: what its two numbers are; "" where they say nothing. beside: it was another thread's."""

    name: str
    a: str = ""
    b: str = ""
    beside: bool = False


# A kind is its place in this table; the constants below name the places.
KINDS = (
    Kind("start"),
    Kind("import the world"),
    Kind("make the world"),
    Kind("first snapshot"),
    Kind("wait for the viewer"),
    Kind("step", "tick", "multiple"),
    Kind("injected work"),
    Kind("injected stall"),
    Kind("publish", "tick", "lateness_ns"),
    Kind("wait"),
    Kind("command"),
    Kind("garbage", "generation"),
    Kind("pace", "lead_ns", "rate_ppm"),
    Kind("window"),
    Kind("imports"),
    Kind("probe the display"),
    Kind("attach"),
    Kind("programs"),
    Kind("import the overlay", beside=True),
    Kind("frame", "frame", "drawn_tick"),
    Kind("events"),
    Kind("read and upload", "ticks"),
    Kind("clock and draw", "offset_ns"),
    Kind("overlay"),
    Kind("finish (GPU)"),
    Kind("injected drawing work"),
    Kind("wait for the swap"),
    Kind("swap", "frame"),
    Kind("write the log"),
    Kind("account"),
    Kind("rest"),
)
(
    START, IMPORT_WORLD, MAKE_WORLD, FIRST_SNAPSHOT, AWAIT_VIEWER, STEP, WORK, STALL, PUBLISH, WAIT, COMMAND, GARBAGE,
    PACE, WINDOW, IMPORTS, PROBE, ATTACH, PROGRAMS, LOAD, FRAME, EVENTS, INTAKE, DRAW, OVERLAY, FINISH, SLOW_RENDER,
    AWAIT_SWAP, SWAP, LOG, ACCOUNT, REST,
) = range(len(KINDS))  # fmt: skip


class Span(NamedTuple):
    """From `begin_ns` to `end_ns`; a and b as the kind says."""

    begin_ns: int
    end_ns: int
    a: int
    b: int
    kind: int


class Recorded(NamedTuple):
    """What one process told: its newest spans, in the order of their recording, and how many before them are gone."""

    side: int
    process_id: int
    spans: list[Span]
    let_go: int


class Spans:
    """Where a process says what it does, and how long it took. This one keeps nothing: nobody asked."""

    def add(self, kind: int, begin_ns: int, end_ns: int, a: int = 0, b: int = 0) -> None:
        """One span. Laps are not touched."""

    def start(self, begin_ns: int) -> None:
        """The next lap begins there."""

    def lap(self, kind: int, a: int = 0, b: int = 0) -> None:
        """A span from the end of the lap before until now."""


NOT_RECORDED = Spans()


class Recorder(Spans):
    """Records the spans of this process into its ring. Made by `SpanMemory.recorder`, used by the thread it was
    made in. Collections of garbage in that thread record themselves."""

    def __init__(self, ring: memoryview, kept: int) -> None:
        self._bytes = ring
        self._words = ring[:HEAD_BYTES].cast("q")
        self._words[PROCESS_WORD] = os.getpid()
        self._count, self._kept = self._words[COUNT_WORD], kept
        self._last_ns = time.perf_counter_ns()
        self._thread, self._garbage_ns = threading.get_ident(), 0
        gc.callbacks.append(self._collected)
        fork.guard(self)

    def add(self, kind: int, begin_ns: int, end_ns: int, a: int = 0, b: int = 0) -> None:
        count = self._count
        SPAN.pack_into(self._bytes, HEAD_BYTES + count % self._kept * SPAN.size, begin_ns, end_ns, a, b, kind)
        self._count = self._words[COUNT_WORD] = count + 1

    def start(self, begin_ns: int) -> None:
        self._last_ns = begin_ns

    def lap(self, kind: int, a: int = 0, b: int = 0) -> None:
        now_ns = time.perf_counter_ns()
        self.add(kind, self._last_ns, now_ns, a, b)
        self._last_ns = now_ns

    def close(self) -> None:
        """Records no more."""
        with contextlib.suppress(ValueError):
            gc.callbacks.remove(self._collected)

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`. The ring is its parent's; what is added here goes nowhere."""
        self.close()
        self._kept, self._count = 1, 0
        self._bytes = _nowhere()
        self._words = self._bytes[:HEAD_BYTES].cast("q")

    def _collected(self, phase: str, about: dict[str, Any]) -> None:
        if threading.get_ident() != self._thread:
            return
        now_ns = time.perf_counter_ns()
        if phase == "start":
            self._garbage_ns = now_ns
        elif self._garbage_ns:
            self.add(GARBAGE, self._garbage_ns, now_ns, about.get("generation", 0))


class SpanMemory:
    """The rings of both processes, in memory without a name: the kernel frees it with the last of them.

    path: by which another process of this user opens it, until `close`.
    """

    def __init__(self, descriptor: int, kept: int = KEPT_SPANS, path: str = "") -> None:
        self.path = path
        self._descriptor, self._kept = descriptor, kept
        self._view = memoryview(mapping.map_shared(descriptor, _bytes_of(kept)))
        self._words = self._view[:HEAD_BYTES].cast("q")
        fork.guard(self)

    @classmethod
    def create(cls, origin_ns: int, kept: int = KEPT_SPANS) -> SpanMemory:
        """New memory, whose time axis begins at `origin_ns`. Raises TwixtError where there is none to be had."""
        try:
            descriptor, path = _new_descriptor(_bytes_of(kept))
            memory = cls(descriptor, kept, path)
        except OSError as error:
            needed = f"{_bytes_of(kept) >> 20} MB"
            raise TwixtError(f"--profile needs {needed} of memory: {error.strerror}; leave it out") from error
        memory._words[ORIGIN_WORD], memory._words[FRONT_WORD] = origin_ns, os.getpid()
        return memory

    @classmethod
    def open(cls, path: str, kept: int = KEPT_SPANS) -> SpanMemory:
        """What another process created, by its `path`. Raises OSError where that has ended."""
        memory = cls(os.open(path, os.O_RDWR | os.O_CLOEXEC), kept)
        memory.close()
        return memory

    @property
    def origin_ns(self) -> int:
        """Instant 0 of the time axis."""
        return int(self._words[ORIGIN_WORD])

    @property
    def front(self) -> int:
        """The process id of who made it."""
        return int(self._words[FRONT_WORD])

    def recorder(self, side: int) -> Recorder:
        """This process records as that side from now on."""
        return Recorder(self._ring(side), self._kept)

    def recorded(self) -> list[Recorded]:
        """What was told so far, by each side that ever recorded."""
        return [told for side in range(len(SIDES)) if (told := self._read(side)) is not None]

    def close(self) -> None:
        """Nobody else opens it from now on; this object reads and writes as before. May be called again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            if self.path and not self.path.startswith("/proc/"):
                os.unlink(self.path)

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`. Nothing was recorded here."""
        self._descriptor, self._kept = -1, 1
        self._view = _nowhere()
        self._words = self._view[:HEAD_BYTES].cast("q")

    def _ring(self, side: int) -> memoryview:
        ring_bytes = HEAD_BYTES + self._kept * SPAN.size
        begin = HEAD_BYTES + side * ring_bytes
        return self._view[begin : begin + ring_bytes]

    def _read(self, side: int) -> Recorded | None:
        ring = self._ring(side)
        words = ring[:HEAD_BYTES].cast("q")
        count, process_id, kept = words[COUNT_WORD], words[PROCESS_WORD], self._kept
        if not process_id:
            return None
        spans = [Span(*each) for each in SPAN.iter_unpack(ring[HEAD_BYTES : HEAD_BYTES + min(count, kept) * SPAN.size])]
        if count > kept:
            # A process that was killed may have been writing over its oldest one.
            spans = spans[count % kept + 1 :] + spans[: count % kept]
        return Recorded(side, process_id, spans, count - len(spans))


def _nowhere() -> memoryview:
    """Memory of this process alone, for the shortest rings."""
    return memoryview(bytearray(_bytes_of(1)))


def _bytes_of(kept: int) -> int:
    return HEAD_BYTES + len(SIDES) * (HEAD_BYTES + kept * SPAN.size)


def _new_descriptor(size: int) -> tuple[int, str]:
    """Of new memory, and the path by which others open it."""
    if not hasattr(os, "memfd_create"):  # untested
        import tempfile

        descriptor, path = tempfile.mkstemp(prefix="twixt-trace-")
        os.ftruncate(descriptor, size)
        return descriptor, path
    descriptor = mapping.new_memory(size, f"{mapping.NAME}-trace")
    if sys.platform == "linux":
        import fcntl

        # Shorter memory would end whoever reads it.
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return descriptor, f"/proc/{os.getpid()}/fd/{descriptor}"
