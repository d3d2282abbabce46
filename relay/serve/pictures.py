"""Screenshots that the program requests: one page draws each of them, and the server writes the file.

Always: one request at a time is with a page. Bytes are taken only from the page that was asked, and only as many as
were asked for, so a page that was not asked cannot write a file. A request is answered once, with success or a reason.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from twixt.ipc.session.link import Link
from twixt.ipc.session.screenshots import ScreenshotRequest, not_written, replace_file
from twixt.relay.serve.waiting import in_thread
from twixt.relay.stream.messages import Picture

# Largest picture, in bytes: about that of 4K pixels of noise.
MOST_PICTURE_BYTES = 32 << 20
# Number of bytes that are asked for at once. Acknowledgements and pings of the page wait behind them.
ASKED_BYTES = 32 << 10
# Longest wait for the page, in seconds: until it has drawn, and later until the bytes that were asked for have come.
PATIENCE_S = 10.0
PNG = b"\x89PNG\r\n\x1a\n"
NO_PAGE = "no page shows the simulation now; open the printed link in a browser, or a window with: twixt view"
LATE = f"the page has not answered for {PATIENCE_S:g} s; bring it to the front, or open a window with: twixt view"


class PicturePage(Protocol):
    """What a page does for a picture."""

    def ask_for_picture(self, number: int, request: ScreenshotRequest) -> None: ...
    def ask_for_bytes(self, number: int, count: int) -> None: ...


class Pictures:
    """The requested screenshots of one simulation. page: function that returns the page to ask; None if there is no
    visible one."""

    def __init__(self, page: Callable[[], PicturePage | None]) -> None:
        self._choose = page
        self._waiting = deque[ScreenshotRequest]()
        self._number = 0  # of the last request to a page
        # the page that was asked; None if there is none, or while a file is written
        self._page: PicturePage | None = None
        self._size = self._tick = 0
        self._content = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._is_busy = False
        self._task: asyncio.Task[None] | None = None  # writes a file
        self._link: Link | None = None

    def receive(self, link: Link) -> None:
        """Takes the requests that have arrived on the link."""
        self._link = link
        self._waiting += link.received.screenshots
        link.received.screenshots.clear()
        self._begin()

    def end(self) -> None:
        """Forgets everything, because the simulation has ended."""
        self._waiting.clear()
        self._link = None
        self._finish()

    def leave(self, page: PicturePage) -> None:
        """A page has closed."""
        if page is self._page:
            self._fail("the page was closed before it sent the picture")

    def take_answer(self, page: PicturePage, answer: Picture) -> None:
        """The page has drawn, or says why not. Answers of other pages, and to earlier requests, are ignored."""
        if page is not self._page or answer.number != self._number or self._size:
            return
        if not 0 < answer.size <= MOST_PICTURE_BYTES:
            most = f"the picture has {answer.size:,} bytes, more than {MOST_PICTURE_BYTES:,}; make the page smaller"
            self._fail(most if answer.size else f"the page could not make the picture: {answer.error}")
            return
        self._size, self._tick = answer.size, answer.tick
        self._ask_for_bytes()

    def take_bytes(self, page: PicturePage, content: bytes) -> None:
        """Bytes that were asked for. Those of a request that was given up are ignored."""
        if page is not self._page or not self._size:
            return
        self._content += content
        if len(self._content) == self._size:
            self._stop_timer()
            self._page = None
            self._task = asyncio.get_running_loop().create_task(self._write(self._waiting[0], bytes(self._content)))
        elif len(self._content) % ASKED_BYTES == 0:
            self._ask_for_bytes()

    def _begin(self) -> None:
        while self._waiting and not self._is_busy:
            page = self._choose()
            if page is None:
                self._answer(NO_PAGE)
                continue
            self._number += 1
            self._page, self._is_busy = page, True
            self._wait()
            page.ask_for_picture(self._number, self._waiting[0])

    def _ask_for_bytes(self) -> None:
        assert self._page is not None
        self._wait()
        self._page.ask_for_bytes(self._number, min(ASKED_BYTES, self._size - len(self._content)))

    async def _write(self, request: ScreenshotRequest, content: bytes) -> None:
        def write() -> None:
            if not content.startswith(PNG):
                raise ValueError("the page sent something that is not a PNG file")
            replace_file(request.path, content)

        error = None
        try:
            await in_thread(write)
        except (OSError, ValueError) as reason:
            error = str(not_written(request.path, reason))
        if self._waiting and self._waiting[0] is request:
            self._answer(error)
            self._finish()
            self._begin()

    def _fail(self, reason: str) -> None:
        self._answer(reason)
        self._finish()
        self._begin()

    def _answer(self, error: str | None) -> None:
        request = self._waiting.popleft()
        if self._link is not None:
            self._link.answer_screenshot(request.number, self._tick if error is None else -1, error)

    def _finish(self) -> None:
        self._stop_timer()
        self._page, self._size, self._is_busy = None, 0, False
        self._content = bytearray()

    def _wait(self) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(PATIENCE_S, self._fail, LATE)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
