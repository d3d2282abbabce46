"""Ctrl-C at a chosen place: a trace function raises KeyboardInterrupt where Python itself handles signals.

Python handles signals at the beginning of a function, after a call and at the end of an iteration of a loop, and
nowhere else. So none arrives between `with lock:` and its block, and none is raised there. Places are those in this
project's code and in `contextlib`; a signal inside another library acts as one at its return. It is raised once, on one
thread. Python raises it in the call itself, a trace function in the operation after it. If another exception handler
covers that operation, as at the end of a `with` that returns the result of a call, none is raised.
"""

from __future__ import annotations

import dis
import gc
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from types import CodeType, FrameType
from typing import Any

OURS = ("twixt", "tests", "contextlib")
LOOKS_AFTER = ("CALL", "RESUME", "JUMP_BACKWARD")
BEGIN = -1


class Interrupt:
    """KeyboardInterrupt at the `place`-th such place of a call (from 1), if it has so many. came: True if raised."""

    def __init__(self, place: int) -> None:
        self._left = place
        self._before: dict[FrameType, int] = {}  # offset of the operation before, by frame; BEGIN: none
        self.came = False

    def during(self, do: Callable[[], object]) -> None:
        """Calls `do`; catches the interruption, as a notebook does."""
        was_enabled, before = gc.isenabled(), sys.gettrace()
        gc.disable()  # an exception raised in a finalizer would not reach the caller
        sys._getframe().f_trace_opcodes = True  # Python 3.12 traces operations only if a frame asks before `settrace`
        sys.settrace(self._trace)
        try:
            do()
        except KeyboardInterrupt:
            assert self.came
        finally:
            sys.settrace(before)
            self._before.clear()
            if was_enabled:
                gc.enable()

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call":
            if frame.f_globals.get("__name__", "").partition(".")[0] not in OURS:
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            self._before[frame] = BEGIN
        elif event == "return":
            self._before.pop(frame, None)
        elif event == "opcode":
            last, self._before[frame] = self._before.get(frame), frame.f_lasti
            if last is not None and _operations(frame.f_code).looks_between(last, frame.f_lasti):
                self._left -= 1
                if self._left == 0:
                    self.came = True
                    raise KeyboardInterrupt
        return self._trace


@contextmanager
def traced() -> Iterator[None]:
    """Traces the block without an effect. Python 3.13 traces the operations of a function only from its second traced
    call in a row; other versions trace them from the first."""

    def look(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call":
            if frame.f_globals.get("__name__", "").partition(".")[0] not in OURS:
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return look

    before = sys.gettrace()
    if sys.version_info >= (3, 13):
        sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(before)


def on_its_own_thread(test: Callable[..., None]) -> Callable[..., None]:
    """Decorator: runs a test, traced, on a thread that ends with it.

    From Python 3.12 on, if a trace function raises while an exception is handled, the thread keeps that exception as
    the context of all later ones.
    """

    def traced_test(*arguments: Any, **named: Any) -> None:
        with traced():
            test(*arguments, **named)

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(traced_test, *arguments, **named).result()

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
