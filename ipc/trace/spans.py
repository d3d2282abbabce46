"""This module records timed spans of a process for `--profile`. The spans are in memory that survives the process.

A span is five numbers in a ring. Each process of a run has a ring. Both processes have mapped both rings, and the
process that ends last reads both. So the spans of a killed process are available up to its end.

Always: the newest `KEPT_SPANS` spans of a process are available. Only the thread that made a `Recorder` uses this
recorder. A span is visible only after it is complete. Instants are read from `time.perf_counter_ns`, the same clock in
all processes. Without `--profile` the recorder is the null object `NOT_RECORDED`, so callers need not test for it. In
a forked child the copy of a recorder records nothing. Not here: the format of the trace file (`trace_file`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import struct
import threading
import time
from typing import Any, NamedTuple

from twixt.ipc.errors import TwixtError
from twixt.ipc.process import fork

# The start of this process has phases, from the command to the first frame. The code below measures their durations.
#
# A phase begins when the previous phase ends, so the phases add up to the whole start.
#
# Always: if a phase ends several times, the first end counts. Recording an end takes a microsecond. For a phase that
# is also a span, call `Spans.end_phase`.


# Instant at which each phase ended, in ns. `time.perf_counter_ns` is the same clock in all processes.
_ended_ns: dict[str, int] = {}


def end_start_part(phase: str, at_ns: int | None = None) -> None:
    """Records that this phase of the start ended at `at_ns`, by default now. Phases may be recorded in any order."""
    _ended_ns.setdefault(phase, time.perf_counter_ns() if at_ns is None else at_ns)


def start_phases_ms(begin_ns: int) -> dict[str, float]:
    """Returns the duration in ms of each phase that ended after `begin_ns`, in the order of the ends."""
    ends = sorted((at_ns, phase) for phase, at_ns in _ended_ns.items() if at_ns >= begin_ns)
    begins = [begin_ns, *(at_ns for at_ns, _ in ends)]
    return {phase: (at_ns - before_ns) / 1e6 for before_ns, (at_ns, phase) in zip(begins, ends, strict=False)}


def start_part_has_ended(phase: str) -> bool:
    """True if that phase has ended."""
    return phase in _ended_ns


def forget_start() -> None:
    """Clears all phases, because a new run begins in this process."""
    _ended_ns.clear()


# Number of spans in the ring of a process. This is enough for six minutes of a viewer at 60 frames a second (12 spans
# per frame), and for two minutes of the physics process at 1000 steps a second. A span has 40 bytes, a ring has 10 MB.
# The kernel allocates each page at its first use.
KEPT_SPANS = 1 << 18
SPAN = struct.Struct("<5q")  # begin_ns, end_ns, a, b, kind
HEAD_BYTES = 64  # size of the head of the memory in bytes; each ring has a head of the same size
# Indices of words in the memory's head. One has the start of the time axis. The other has the id of the process that
# made the memory.
ORIGIN_WORD, MAKER_WORD = 0, 1
# indices of words in a ring's head: number of recorded spans, id of the recording process (or 0)
COUNT_WORD, PROCESS_WORD = 0, 1

PHYSICS, VIEWER = 0, 1
SIDES = ("physics", "viewer")


class Kind(NamedTuple):
    """Kind of a span. a, b: names of the span's two values; "" for an unused value. start_phase: the report's name of
    the phase of the start that the span measures. beside: True for work of another thread."""

    name: str
    a: str = ""
    b: str = ""
    start_phase: str = ""
    beside: bool = False


# All kinds of spans. The kind of a span is stored as an index into this list.
KINDS: list[Kind] = []


def _kind(name: str, a: str = "", b: str = "", start_phase: str = "", beside: bool = False) -> int:
    KINDS.append(Kind(name, a, b, start_phase, beside))
    return len(KINDS) - 1


START = _kind("start")
IMPORT_WORLD = _kind("import the world")
MAKE_WORLD = _kind("make the world", start_phase="physics_world")
FIRST_SNAPSHOT = _kind("first snapshot", start_phase="physics_first_snapshot")
AWAIT_VIEWER = _kind("wait for the viewer", start_phase="physics_viewer")
STEP = _kind("step", "tick", "multiple")
WORK = _kind("injected work")
STALL = _kind("injected stall")
PUBLISH = _kind("publish", "tick", "lateness_ns")
WAIT = _kind("wait")
COMMAND = _kind("command")
GARBAGE = _kind("garbage", "generation")
PACE = _kind("pace", "lead_ns", "rate_ppm")
WINDOW = _kind("window", start_phase="viewer_window")
IMPORTS = _kind("imports", start_phase="viewer_imports")
PROBE = _kind("probe the display", start_phase="viewer_probe")
ATTACH = _kind("attach", start_phase="viewer_attach")
PROGRAMS = _kind("programs", start_phase="viewer_scene")
LOAD = _kind("import the overlay", beside=True)
FRAME = _kind("frame", "frame", "drawn_tick")
EVENTS = _kind("events")
INTAKE = _kind("read and upload", "ticks")
DRAW = _kind("clock and draw", "offset_ns")
OVERLAY = _kind("overlay")
FINISH = _kind("finish (GPU)")
SLOW_RENDER = _kind("injected drawing work")
AWAIT_SWAP = _kind("wait for the swap")
SWAP = _kind("swap", "frame")
LOG = _kind("write the log")
ACCOUNT = _kind("account")
REST = _kind("rest")
AHEAD = _kind("ahead of the frame", "ticks")
USER_DRAW = _kind("user's drawing")
USER_EVENTS = _kind("user's on_event", "events")


class Span(NamedTuple):
    """One recorded span. kind: index into `KINDS`. `KINDS` also has the names of the values a and b."""

    begin_ns: int
    end_ns: int
    a: int
    b: int
    kind: int


class Recorded(NamedTuple):
    """The newest spans of one process, in the order in which they were recorded. overwritten: number of older spans
    that are lost."""

    side: int
    process_id: int
    spans: list[Span]
    overwritten: int


class Spans:
    """Interface of a recorder. The methods of this base class record nothing, so an instance of this class is a null
    object."""

    def add(self, kind: int, begin_ns: int, end_ns: int, a: int = 0, b: int = 0) -> None:
        """Records one span. This does not end the current lap."""

    def start(self, begin_ns: int) -> None:
        """Begins a lap at the instant `begin_ns`."""

    def lap(self, kind: int, a: int = 0, b: int = 0) -> None:
        """Records the current lap as a span that ends now, and begins the next lap."""

    def end_phase(self, kind: int) -> None:
        """Records the end of a phase of the start and, with `--profile`, a lap of this kind."""
        end_start_part(KINDS[kind].start_phase)
        self.lap(kind)


NOT_RECORDED = Spans()


class Recorder(Spans):
    """Records the spans of this process into its ring. `SpanMemory.recorder` makes a Recorder. Only the thread that
    made the recorder may use it. Garbage collections in this thread are recorded automatically."""

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
        """Stops recording garbage collections."""
        with contextlib.suppress(ValueError):
            gc.callbacks.remove(self._collected)

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. The ring belongs to the parent, so the child's spans go into private memory that
        nobody reads."""
        self.close()
        self._kept, self._count = 1, 0
        self._bytes = _private_memory()
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
    """The rings of both processes. They are in memory without a name. The kernel frees the memory when both processes
    have ended.

    path: path by which another process of this user can open the memory until `close` is called.
    """

    def __init__(self, descriptor: int, kept: int = KEPT_SPANS, path: str = "") -> None:
        self.path = path
        self._descriptor, self._kept = descriptor, kept
        from twixt.ipc import system  # imported here, because only --profile needs it

        self._view = memoryview(system.memory.map_shared(descriptor, _bytes_of(kept)))
        self._words = self._view[:HEAD_BYTES].cast("q")
        fork.guard(self)

    @classmethod
    def create(cls, origin_ns: int, kept: int = KEPT_SPANS) -> SpanMemory:
        """Makes new memory. The time axis begins at `origin_ns`. Raises TwixtError if the memory cannot be made."""
        from twixt.ipc import system

        try:
            descriptor, path = system.memory.make_openable(_bytes_of(kept), "trace")
            memory = cls(descriptor, kept, path)
        except OSError as error:
            needed = f"{_bytes_of(kept) >> 20} MB"
            raise TwixtError(f"--profile needs {needed} of memory: {error.strerror}; leave it out") from error
        memory._words[ORIGIN_WORD], memory._words[MAKER_WORD] = origin_ns, os.getpid()
        return memory

    @classmethod
    def open(cls, path: str, kept: int = KEPT_SPANS) -> SpanMemory:
        """Opens the span memory that another process made. path: `SpanMemory.path` of that process. Raises OSError if
        that process has ended."""
        memory = cls(os.open(path, os.O_RDWR), kept)
        memory.close()
        return memory

    @property
    def origin_ns(self) -> int:
        """Instant at which the time axis begins, from `time.perf_counter_ns`."""
        return int(self._words[ORIGIN_WORD])

    @property
    def maker_pid(self) -> int:
        """Id of the process that made the memory."""
        return int(self._words[MAKER_WORD])

    def recorder(self, side: int) -> Recorder:
        """Makes a recorder of this process. The recorder writes into the ring of `side`."""
        return Recorder(self._ring(side), self._kept)

    def recorded(self) -> list[Recorded]:
        """Returns the spans that were recorded so far, for each side that has made a recorder."""
        return [recorded for side in range(len(SIDES)) if (recorded := self._read(side)) is not None]

    def close(self) -> None:
        """Closes the descriptor. Other processes can no longer open the memory, but this process may still use it. A
        second call has no effect."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. Replaces the memory by empty private memory."""
        self._descriptor, self._kept = -1, 1
        self._view = _private_memory()
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
            # The oldest span is left out, because a killed process may have been overwriting it.
            spans = spans[count % kept + 1 :] + spans[: count % kept]
        return Recorded(side, process_id, spans, count - len(spans))


def _private_memory() -> memoryview:
    """Returns private memory for two rings of one span each."""
    return memoryview(bytearray(_bytes_of(1)))


def _bytes_of(kept: int) -> int:
    return HEAD_BYTES + len(SIDES) * (HEAD_BYTES + kept * SPAN.size)
