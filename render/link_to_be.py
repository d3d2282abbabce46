"""A link that a thread of its own is after, so that nobody who wants it stands still.

Always: there is one answer, a link or what ended the search, and it stays.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twixt.ipc.link import Link


class LinkToBe:
    """Begins to search at once. Subclasses say how, and are set up before this is."""

    def __init__(self, thread_name: str) -> None:
        self._link: Link | None = None
        self._error: BaseException | None = None
        self._done = threading.Event()
        threading.Thread(target=self._find, name=thread_name, daemon=True).start()

    def wait(self, timeout_s: float) -> bool:
        """Whether there is an answer, as soon as there is one, or when the time is over."""
        return self._done.wait(timeout_s)

    @property
    def link(self) -> Link:
        """Once there is an answer. Raises what ended the search."""
        if self._error is not None:
            raise self._error
        assert self._link is not None
        return self._link

    def _search(self) -> Link | None:
        """None: given up."""
        raise NotImplementedError

    def _find(self) -> None:
        try:
            self._link = self._search()
        except BaseException as error:
            self._error = error
        self._done.set()
