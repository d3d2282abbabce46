"""Ctrl-C at a chosen place: KeyboardInterrupt is raised where Python itself handles signals.

Python handles signals at the beginning of a function, after a call and at the end of an iteration of a loop, and
nowhere else. So none arrives between `with lock:` and its block, and none is raised there. Places are those in this
project's code and in `contextlib`; a signal inside another library acts as one at its return. It is raised once, on one
thread. Python raises it in the call itself, here it is raised before the operation after it. If another exception
handler covers that operation, as at the end of a `with` that returns the result of a call, none is raised.

Always: each operation is seen from the first call of a function on. `sys.settrace` ensures this on Python 3.11 alone:
3.12 traces no operation unless a frame asked for it before, 3.13 none in the first traced call of a function. From
3.12 on `sys.monitoring` sees them.
"""

from __future__ import annotations

import dis
import gc
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from types import CodeType, FrameType
from typing import Any

OURS = ("twixt", "tests", "contextlib")
LOOKS_AFTER = ("CALL", "RESUME", "JUMP_BACKWARD")
BEGIN = -1
TOOL = 3  # of the numbers that `sys.monitoring` leaves free


class Interrupt:
    """KeyboardInterrupt at the `place`-th such place of a call (from 1), if it has so many. came: True if raised."""

    def __init__(self, place: int) -> None:
        self._left = place
        self._before: dict[FrameType, int] = {}  # offset of the operation before, by frame; BEGIN: none
        self.came = False

    def during(self, do: Callable[[], object]) -> None:
        """Calls `do`; catches the interruption, as a notebook does."""
        was_enabled = gc.isenabled()
        gc.disable()  # an exception raised in a finalizer would not reach the caller
        stop = self._trace() if sys.version_info < (3, 12) else self._monitor()
        try:
            do()
        except KeyboardInterrupt:
            assert self.came
        finally:
            stop()
            self._before.clear()
            if was_enabled:
                gc.enable()

    def _operation(self, frame: FrameType, offset: int) -> None:
        last, self._before[frame] = self._before.get(frame), offset
        if last is not None and _operations(frame.f_code).looks_between(last, offset):
            self._left -= 1
            if self._left == 0:
                self.came = True
                raise KeyboardInterrupt

    def _trace(self) -> Callable[[], None]:
        before = sys.gettrace()
        sys.settrace(self._event)
        return lambda: sys.settrace(before)

    def _event(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call":
            if not _is_ours(frame):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            self._before[frame] = BEGIN
        elif event == "return":
            self._before.pop(frame, None)
        elif event == "opcode":
            self._operation(frame, frame.f_lasti)
        return self._event

    def _monitor(self) -> Callable[[], None]:
        """For the calling thread, although events come from all."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        events, thread = monitoring.events, threading.get_ident()

        def begins(code: CodeType, offset: int) -> object:
            frame = sys._getframe(1)
            if not _is_ours(frame):
                return monitoring.DISABLE
            if threading.get_ident() == thread:
                self._before[frame] = BEGIN
            return None

        def operation(code: CodeType, offset: int) -> object:
            frame = sys._getframe(1)
            if not _is_ours(frame):
                return monitoring.DISABLE
            if threading.get_ident() == thread:
                self._operation(frame, offset)
            return None

        def ends(code: CodeType, offset: int, argument: object) -> None:
            self._before.pop(sys._getframe(1), None)

        callbacks = {
            events.PY_START: begins, events.PY_RESUME: begins, events.INSTRUCTION: operation,
            events.PY_RETURN: ends, events.PY_YIELD: ends, events.PY_UNWIND: ends,
        }  # fmt: skip

        def stop() -> None:
            monitoring.set_events(TOOL, 0)
            for event in callbacks:
                monitoring.register_callback(TOOL, event, None)
            monitoring.free_tool_id(TOOL)

        monitoring.use_tool_id(TOOL, "interrupts")
        for event, callback in callbacks.items():
            monitoring.register_callback(TOOL, event, callback)
        monitoring.set_events(TOOL, sum(callbacks))
        return stop


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name != __name__ and name.partition(".")[0] in OURS


def on_its_own_thread(test: Callable[..., None]) -> Callable[..., None]:
    """Decorator: runs a test on a thread that ends with it.

    From Python 3.12 on, if a trace function raises while an exception is handled, the thread keeps that exception as
    the context of all later ones.
    """

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(test, *arguments, **named).result()

    return run


class _Operations:
    """Operations and exception handlers of one code object."""

    def __init__(self, code: CodeType) -> None:
        self._names = {one.offset: one.opname for one in dis.get_instructions(code)}
        self._handlers = dis.Bytecode(code).exception_entries

    def looks_between(self, last: int, at: int) -> bool:
        """True if Python handles signals after the operation at offset `last`, and the same exception handler covers it
        and the operation at `at`, before which a trace function raises."""
        if last == BEGIN:
            return True
        return self._names.get(last, "").startswith(LOOKS_AFTER) and self._handler(last) == self._handler(at)

    def _handler(self, at: int) -> int | None:
        return next((one.target for one in self._handlers if one.start <= at < one.end), None)


_known: dict[CodeType, _Operations] = {}


def _operations(code: CodeType) -> _Operations:
    found = _known.get(code)
    if found is None:
        found = _known[code] = _Operations(code)
    return found
