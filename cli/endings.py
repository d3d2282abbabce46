"""A measuring in many processes that is asked to end by SIGTERM or SIGHUP ends as by Ctrl-C: what it started goes with
it.

Always: such a signal raises once, in the main thread, and the exit code names it. One that is ignored (nohup) or has a
handler already is left alone.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from typing import Any

SIGNALS = ("SIGTERM", "SIGHUP")


class AskedToEnd(KeyboardInterrupt):
    """Raised by such a signal. Unlike Ctrl-C, it has reached this process alone."""


def takes_its_own_along(does: Callable[..., int]) -> Callable[..., int]:
    """The same command, which such a signal interrupts."""

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
            code = 0
        finally:
            for number in taken:
                signal.signal(number, signal.SIG_DFL)
        return 128 + came[0] if came else code

    return ending
