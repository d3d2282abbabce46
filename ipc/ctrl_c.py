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

_noting: NotedCtrlC | None = None


def is_unheard() -> bool:
    """Whether Ctrl-C came and ended nothing: Python drops a KeyboardInterrupt that is raised in a callback of its own,
    as there are in every import. To be asked once somebody else listens."""
    return _noting is not None and _noting.came


class NotedCtrlC:
    """Notes it from `with` on until the block ends."""

    def __enter__(self) -> NotedCtrlC:
        global _noting
        self._is_noting = threading.current_thread() is threading.main_thread()
        if self._is_noting:
            self._reading, self._writing = os.pipe()
            for end in (self._reading, self._writing):
                os.set_blocking(end, False)
            self._previous_fd = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
            _noting = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _noting
        if self._is_noting:
            _noting = None
            signal.set_wakeup_fd(self._previous_fd)
            os.close(self._reading)
            os.close(self._writing)

    @property
    def came(self) -> bool:
        """Whether it did since the last look."""
        if not self._is_noting:
            return False
        try:
            return signal.SIGINT in os.read(self._reading, 4096)
        except BlockingIOError:
            return False
