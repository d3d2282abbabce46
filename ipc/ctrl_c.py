"""Whether Ctrl-C came, whatever became of the KeyboardInterrupt.

The one idea: a library's C code that is interrupted while it is imported raises an error of its own instead. So the
signals' numbers are kept, in a pipe, and looked at once something has gone wrong.

Always: handlers stay as they are; where a thread other than the main one asks, nothing is noted.
"""

from __future__ import annotations

import os
import signal
import threading
from types import TracebackType

from twixt.ipc import fork

_noting: NotedCtrlC | None = None


def is_unheard() -> bool:
    """Whether Ctrl-C came and ended nothing: Python drops a KeyboardInterrupt that is raised in a callback of its own,
    as there are in every import. To be asked once somebody else listens."""
    return _noting is not None and _noting.came


class NotedCtrlC:
    """Notes it from `with` on until the block ends."""

    def __enter__(self) -> NotedCtrlC:
        global _noting
        self._is_noting, self._previous_fd = threading.current_thread() is threading.main_thread(), -1
        if self._is_noting:
            with fork.LOCK:
                self._reading, self._writing = os.pipe()
                fork.guard(self)
            for end in (self._reading, self._writing):
                os.set_blocking(end, False)
            self._previous_fd = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
            _noting = self
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

    def _end(self) -> None:
        global _noting
        if not self._is_noting:
            return
        with fork.LOCK:
            self._is_noting, _noting = False, None
            restore_wakeup_fd(self._writing, self._previous_fd)
            os.close(self._reading)
            os.close(self._writing)


def restore_wakeup_fd(ours: int, previous: int) -> None:
    """Signals wake whom they woke before, unless somebody else has taken them from us since."""
    now = signal.set_wakeup_fd(-1)
    try:
        signal.set_wakeup_fd(previous if now == ours else now)
    except (ValueError, OSError):  # it was closed meanwhile
        pass
