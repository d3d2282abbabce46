"""Whether Ctrl-C came, whatever became of the KeyboardInterrupt.

The one idea: a library's C code that is interrupted while it is imported raises an error of its own instead. So the
signals' numbers are kept, in a pipe, and looked at once something has gone wrong.

Always: handlers stay as they are, but for the milliseconds for which Ctrl-C is held back; where a thread other than
the main one asks, nothing is noted, and nothing where somebody else is woken by signals.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType

from twixt.ipc import fork

_noting: NotedCtrlC | None = None


def is_unheard() -> bool:
    """Whether Ctrl-C came and ended nothing: Python drops a KeyboardInterrupt that is raised in a callback of its own,
    as there are in every import. To be asked once somebody else listens."""
    return _noting is not None and _noting.came


@contextlib.contextmanager
def not_dropped() -> Iterator[None]:
    """Imports of ours in a process of the user's own: a Ctrl-C that Python dropped in one of them is raised at the end.

    Not where the user has given Ctrl-C another meaning, or where somebody else notes signals already.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    with NotedCtrlC() as ctrl_c:
        try:
            yield
        except ImportError as error:  # what numpy makes of a KeyboardInterrupt
            if ctrl_c.came:
                raise KeyboardInterrupt from error
            raise
        if ctrl_c.came:
            raise KeyboardInterrupt


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C waits for the end of what must be done whole, milliseconds. Elsewhere than in the main thread none comes."""
    theirs = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(theirs):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    owner_pid = os.getpid()

    def hold(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner_pid:  # a child that another thread forked meanwhile
            theirs(number, frame)
        came.append((number, frame))

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, theirs)
        if came:
            theirs(*came[0])


class NotedCtrlC:
    """Notes it from `with` on until the block ends."""

    def __enter__(self) -> NotedCtrlC:
        global _noting
        self._is_noting = threading.current_thread() is threading.main_thread()
        if not self._is_noting:
            return self
        with fork.LOCK:
            self._reading, self._writing = os.pipe()
            fork.guard(self)
        for end in (self._reading, self._writing):
            os.set_blocking(end, False)
        theirs = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        if theirs == -1:
            _noting = self
        else:
            self._end(theirs)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def came(self) -> bool:
        """Whether it did since the last look."""
        if not self._is_noting:
            return False
        try:
            return signal.SIGINT in os.read(self._reading, 4096)
        except BlockingIOError:
            return False

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`: what comes to a child is none of its parent's."""
        self._end()

    def _end(self, wakeup_fd: int = -1) -> None:
        global _noting
        if not self._is_noting:
            return
        with fork.LOCK:
            self._is_noting = False
            _noting = None if _noting is self else _noting
            restore_wakeup_fd(self._writing, wakeup_fd)
            os.close(self._reading)
            os.close(self._writing)


def restore_wakeup_fd(ours: int, previous: int) -> None:
    """Signals wake whom they woke before, unless somebody else has taken them from us since."""
    now = signal.set_wakeup_fd(-1)
    try:
        signal.set_wakeup_fd(previous if now == ours else now)
    except (ValueError, OSError):  # it was closed meanwhile
        pass
