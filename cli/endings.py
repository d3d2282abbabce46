"""Ends a measurement of many processes on SIGTERM and SIGHUP as on Ctrl-C, its children included.

Always: such a signal raises once, in the main thread, and the exit code names it. One that is ignored (nohup) or has a
handler already is left alone.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from typing import Any

from twixt.ipc.errors import FINISHED, exit_code_of

SIGNALS = ("SIGTERM", "SIGHUP")


class AskedToEnd(KeyboardInterrupt):
    """Raised by SIGTERM or SIGHUP. Unlike Ctrl-C, the signal has reached this process alone."""


def interrupted_by_signals(does: Callable[..., int]) -> Callable[..., int]:
    """Wraps a command so that SIGTERM and SIGHUP interrupt it; the exit code then names the signal."""

    @functools.wraps(does)
    def ending(*values: Any, **named: Any) -> int:
        came: list[int] = []

        def ask(number: int, _frame: object) -> None:
            came.append(number)
            if len(came) == 1:
                raise AskedToEnd

        if threading.current_thread() is not threading.main_thread():
            return does(*values, **named)
        numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
        taken = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
        try:
            for number in taken:
                signal.signal(number, ask)
            code = does(*values, **named)
        except AskedToEnd:
            code = FINISHED
        finally:
            for number in taken:
                signal.signal(number, signal.SIG_DFL)
        return exit_code_of(-came[0]) if came else code

    return ending
