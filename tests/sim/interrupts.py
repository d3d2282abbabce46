"""Ctrl-C at a place of one's choice: KeyboardInterrupt, raised wherever Python itself looks for signals.

Always: it looks at the beginning of a function, after a call and at the end of a round of a loop, and nowhere else; so
between `with lock:` and its block no interruption comes, and none is raised there. In this project's code and in
`contextlib`; inside other libraries it is as at their return. One thread; once. Python raises it in the call itself, a
trace function in the operation after it: where another handler holds for that one, as on the way out of a `with` that
returns what it called, none is raised.
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
    """Raises KeyboardInterrupt at the `place`-th such place of what is done, if it comes so far."""

    def __init__(self, place: int) -> None:
        self._left = place
        self._before: dict[FrameType, int] = {}  # the operation before, by its place; BEGIN: there is none
        self.came = False

    def during(self, do: Callable[[], object]) -> None:
        """Does it; the interruption is caught, as by a notebook."""
        was_enabled, before = gc.isenabled(), sys.gettrace()
        gc.disable()  # an exception in a finalizer is nobody's
        sys._getframe().f_trace_opcodes = True  # Python 3.12 traces them where some frame asked before `settrace` alone
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
    """Traces all that is done here, and does nothing more. Python 3.13 traces the operations of a function from its second
    traced call in a row; others see all of them at once."""

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
    """A test, traced, on a thread that ends with it: from Python 3.12 on, a thread keeps the exception that was handled
    where a trace function raised, as the context of all that it raises later."""

    def traced_test(*arguments: Any, **named: Any) -> None:
        with traced():
            test(*arguments, **named)

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(traced_test, *arguments, **named).result()

    return run


class _Operations:
    """Of one code object."""

    def __init__(self, code: CodeType) -> None:
        self._names = {one.offset: one.opname for one in dis.get_instructions(code)}
        self._handlers = dis.Bytecode(code).exception_entries

    def looks_between(self, last: int, at: int) -> bool:
        """Whether Python looks for signals after the operation at `last`, and what it raises there meets the handlers of
        what a trace function raises before the one at `at`."""
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
