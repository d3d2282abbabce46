"""This module writes the spans of all processes on one time axis, for Perfetto and chrome://tracing (`--profile
FILE`).

The process that begins the run makes the span memory, and the viewer of the run records into the same memory. The
process that ends last writes the file from both rings of `spans`. If both processes are killed, no file is written.
Always: FILE is either complete or unchanged, because it is written under another name and then renamed. Only one
process writes the file.

The format is Chrome's Trace Event Format. The file has a complete event for each span, counters, and an arrow from
each publish to the first frame that draws the published snapshot. `ts` is in microseconds since the command's start.
`otherData.origin_ns` is the instant of the command's start on the frame log's clock.
Two libraries were considered and not used. viztracer is a 16 MB wheel, hooks every Python call, and loses the spans of
a killed process. perfetto's package needs protobuf; it only writes files and records nothing. For a dozen spans per
frame neither is necessary.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_notice
from twixt.ipc.trace import spans as kinds
from twixt.ipc.trace.spans import KINDS, NOT_RECORDED, PHYSICS, SIDES, VIEWER, Recorded, Span, SpanMemory, Spans

# Length of the time window over which the frame rate is averaged, in ns.
FPS_OVER_NS = 500_000_000
# Ids of a process' threads in the trace. MAIN is the thread that records; BESIDE stands for all other threads
# together.
MAIN, BESIDE = 1, 2
THREADS = {MAIN: ("steps", "frames"), BESIDE: ("beside", "beside")}


class Trace:
    """Records the spans of this process for the trace of a run, and writes the file. spans: the recorder of these
    spans."""

    def __init__(self, path: str, command: str, memory: SpanMemory, side: int) -> None:
        self.path, self.spans = path, memory.recorder(side)
        self.spans.start(memory.origin_ns)
        self._command, self._memory = command, memory
        self._is_open, self._process_id = True, os.getpid()

    def shared_with(self, config: Config) -> Config:
        """Returns the config of a viewer that records into this trace."""
        return replace(config, span_memory=self._memory.path)

    @property
    def is_orphaned(self) -> bool:
        """True if the process that should have written the file has ended."""
        return os.getppid() != self._memory.maker_pid

    def close(self) -> None:
        """Ends the recording without writing a file, because another process writes the file or the run was
        refused."""
        self.spans.close()
        self._memory.close()
        self._is_open = False

    def write(self) -> None:
        """Writes the file, and prints its path or the error. A second call has no effect. A call in a forked child has
        no effect."""
        if not self._is_open or os.getpid() != self._process_id:
            return
        self.close()
        recorded = self._memory.recorded()
        try:
            write_trace(self.path, recorded, self._memory.origin_ns, self._command)
        except OSError as error:
            line = f"no trace in {self.path}: {error.strerror}"
        else:
            lost = [
                f"the {one.overwritten} oldest spans of {SIDES[one.side]} were dropped"
                for one in recorded
                if one.overwritten
            ]
            line = "; ".join([f"wrote the trace {self.path}; open it at ui.perfetto.dev or chrome://tracing", *lost])
        print_notice(line)


def open_trace(config: Config, side: int) -> Trace | None:
    """Makes a new trace. Returns None if the run has no `--profile`."""
    if config.profile is None:
        return None
    origin_ns = time.perf_counter_ns() if config.started_ns is None else config.started_ns
    return Trace(os.fspath(config.profile), config.command, SpanMemory.create(origin_ns), side)


def shared_trace(config: Config) -> Trace | None:
    """Returns the trace of a viewer, in the span memory of the process that started the viewer. Returns None if that
    process makes no trace or has ended."""
    if config.profile is None or config.span_memory is None:
        return None
    try:
        memory = SpanMemory.open(config.span_memory)
    except OSError:  # the process that began the run has ended
        return None
    return Trace(config.profile, config.command, memory, VIEWER)


@contextlib.contextmanager
def written_at_the_end(trace: Trace | None) -> Iterator[None]:
    """Writes the trace's file at the end of the block, even after an error. No file is written after a TwixtError,
    because a TwixtError means that the run was refused."""
    try:
        yield
    except TwixtError:
        if trace is not None:
            trace.close()
        raise
    finally:
        if trace is not None:
            trace.write()


@contextlib.contextmanager
def tracing_viewer(config: Config, owned: bool) -> Iterator[Spans]:
    """Yields the recorder of a viewer. The viewer writes the file at the end of the block. If `owned` is True, the
    process that started the viewer writes the file instead. If that process ends before the viewer, the viewer
    writes the file. A viewer that is refused writes no file."""
    trace = shared_trace(config) if owned else open_trace(config, VIEWER)
    if trace is None:
        yield NOT_RECORDED
        return
    with written_at_the_end(trace):
        try:
            trace.spans.lap(kinds.START)
            yield trace.spans
        finally:
            if owned:
                if trace.is_orphaned:
                    trace.write()
                trace.close()


def write_trace(path: str, recorded: list[Recorded], origin_ns: int, command: str) -> None:
    """Writes the file at `path`, either completely or not at all. Raises OSError."""
    path = os.path.realpath(path)
    # A device such as /dev/null is opened directly, because a rename would replace the device by a file.
    written = path if os.path.exists(path) and not os.path.isfile(path) else f"{path}.{os.getpid()}.part"
    about = {"command": command, "origin_ns": origin_ns, "clock": "perf_counter_ns"}
    about |= {f"{SIDES[one.side]}_spans_let_go": one.overwritten for one in recorded}
    try:
        with open(written, "w", encoding="utf-8") as file:
            head = json.dumps({"displayTimeUnit": "ms", "otherData": about})
            file.write(head[:-1] + ', "traceEvents": [')
            before = "\n"
            for event in events(recorded, origin_ns):
                file.write(before + event)
                before = ",\n"
            file.write("\n]}\n")
        if written != path:
            os.replace(written, path)
    except BaseException:
        if written != path:
            with contextlib.suppress(OSError):
                os.unlink(written)
        raise


def events(recorded: list[Recorded], origin_ns: int) -> Iterator[str]:
    """All events of a trace, each as a JSON text."""
    for one in recorded:
        of = f'"pid":{one.process_id},"tid":{MAIN}'
        name, order = SIDES[one.side], one.side
        yield f'{{"ph":"M","name":"process_name",{of},"args":{{"name":"{name}"}}}}'
        yield f'{{"ph":"M","name":"process_sort_index",{of},"args":{{"sort_index":{order}}}}}'
        used = {MAIN} | {BESIDE for span in one.spans if 0 <= span.kind < len(KINDS) and KINDS[span.kind].beside}
        for thread, names in THREADS.items():
            if thread not in used:
                continue
            at = f'"pid":{one.process_id},"tid":{thread}'
            yield f'{{"ph":"M","name":"thread_name",{at},"args":{{"name":"{names[one.side]}"}}}}'
        for span in one.spans:
            if 0 <= span.kind < len(KINDS) and span.kind != kinds.PACE:
                yield _complete(span, one.process_id, origin_ns)
        yield from _counters(one, of, origin_ns)
    by_side = {one.side: one for one in recorded}
    if PHYSICS in by_side and VIEWER in by_side:
        yield from _arrows(by_side[PHYSICS], by_side[VIEWER], origin_ns)


def _complete(span: Span, process_id: int, origin_ns: int) -> str:
    kind = KINDS[span.kind]
    of = f'"pid":{process_id},"tid":{BESIDE if kind.beside else MAIN}'
    values = [f'"{name}":{value}' for name, value in ((kind.a, span.a), (kind.b, span.b)) if name]
    args = f',"args":{{{",".join(values)}}}' if values else ""
    at = f'"ts":{_us(span.begin_ns - origin_ns)},"dur":{_us(span.end_ns - span.begin_ns)}'
    return f'{{"ph":"X","cat":"twixt","name":"{kind.name}",{of},{at}{args}}}'


def _counters(one: Recorded, of: str, origin_ns: int) -> Iterator[str]:
    def count(name: str, at_ns: int, value: float) -> str:
        return f'{{"ph":"C","name":"{name}",{of},"ts":{_us(at_ns - origin_ns)},"args":{{"{name}":{value:.4g}}}}}'

    presents: deque[int] = deque()
    for span in one.spans:
        if span.kind == kinds.PUBLISH:
            yield count("lateness (ms)", span.end_ns, span.b / 1e6)
        elif span.kind == kinds.PACE:
            yield count("lead (ms)", span.end_ns, span.a / 1e6)
            yield count("rate", span.end_ns, span.b / 1e6)
        elif span.kind == kinds.DRAW:
            yield count("offset (ms)", span.end_ns, span.a / 1e6)
        elif span.kind == kinds.SWAP:
            presents.append(span.end_ns)
            while presents[0] < span.end_ns - FPS_OVER_NS:
                presents.popleft()
            if presents[-1] > presents[0]:
                yield count("fps", span.end_ns, (len(presents) - 1) * 1e9 / (presents[-1] - presents[0]))


def _arrows(physics: Recorded, viewer: Recorded, origin_ns: int) -> Iterator[str]:
    """Yields an arrow from each publish to the first frame that draws the published snapshot. Ticks start again at 0
    after a reset. So an arrow to a frame may begin only at a publish that came before the end of this frame."""
    published = deque(span for span in physics.spans if span.kind == kinds.PUBLISH)
    undrawn: dict[int, Span] = {}
    number = 0
    for frame in viewer.spans:
        if frame.kind != kinds.FRAME:
            continue
        while published and published[0].begin_ns < frame.end_ns:
            span = published.popleft()
            undrawn[span.a] = span
        found = undrawn.pop(frame.b, None)
        if found is None:
            continue
        number += 1
        of = f'"cat":"twixt","name":"snapshot","id":{number},"tid":{MAIN}'
        # If the frame began before the publish ended, the arrow ends later in the frame, at the end of the publish.
        drawn_ns = min(max(frame.begin_ns, found.end_ns), frame.end_ns)
        begin, end = _us(found.begin_ns - origin_ns), _us(drawn_ns - origin_ns)
        yield f'{{"ph":"s",{of},"pid":{physics.process_id},"ts":{begin}}}'
        yield f'{{"ph":"f","bp":"e",{of},"pid":{viewer.process_id},"ts":{end}}}'


def _us(ns: int) -> str:
    return f"{ns / 1000:.3f}"
