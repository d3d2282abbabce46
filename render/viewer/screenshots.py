"""Makes screenshots. The pixels are read after drawing and before the swap. A thread encodes and writes them.

Always: a file appears when it is complete. A screenshot that fails leaves no file, and an older file of that name
stays.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_notice
from twixt.ipc.session.screenshots import ScreenshotRequest, not_written, replace_file

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from twixt.ipc.session.link import Link
    from twixt.render.scene.views import DrawnPicture

# Default time of the requested screenshot, in seconds after the first frame. A run that ends earlier makes the
# screenshot at its end.
DEFAULT_AT_S = 2.0


class Screenshots:
    """Screenshots of one viewer.

    path: file of the screenshot that was requested on the command line. at_s: time of this screenshot, in seconds
    after the first frame. seconds: length of the run, or None if the run has no limit. The screenshot key makes more
    screenshots, which are named by date and time. Raises TwixtError if the folder of `path` does not exist.
    """

    def __init__(self, path: str | None = None, at_s: float | None = None, seconds: float | None = None) -> None:
        self._path = path
        self._at_s = min(DEFAULT_AT_S, seconds or DEFAULT_AT_S) if at_s is None else at_s
        self._by_key = False
        self._named: set[str] = set()
        self._writer: ThreadPoolExecutor | None = None
        self._written: list[Future[None]] = []
        # screenshots requested by key whose result is not yet reported, by path
        self._unreported: dict[str, Future[None]] = {}
        if path is not None:
            folder = os.path.dirname(path) or "."
            if not os.path.isdir(folder):
                raise TwixtError(
                    f"--screenshot {path!r}: the folder {folder!r} does not exist; create it, or name another file"
                )

    def is_due(self, key_pressed: bool, first_present_ns: int, now_ns: int) -> bool:
        """True if the picture of this frame must be written. key_pressed: True if the user has requested a screenshot
        by key."""
        self._by_key = key_pressed
        waited = first_present_ns != 0 and now_ns - first_present_ns >= self._at_s * 1e9
        return key_pressed or (self._path is not None and waited)

    def due_ns(self, first_present_ns: int) -> int | None:
        """Instant of the screenshot that was requested on the command line, or None if there is no such request.
        first_present_ns: instant at which the first frame was shown."""
        return None if self._path is None else first_present_ns + round(self._at_s * 1e9)

    def write(self, pixels: NDArray[np.uint8]) -> None:
        """Writes a picture on a thread. pixels: RGB, shape (height, width, 3)."""
        if self._path is not None and not self._by_key:
            path, self._path = self._path, None
        else:
            path = self._free_name(time.strftime("twixt-%Y%m%d-%H%M%S"))
        self._written.append(self.submit(_save_and_print, path, pixels))
        if self._by_key:
            self._unreported[path] = self._written[-1]

    def submit(
        self, save: Callable[[str, NDArray[np.uint8]], None], path: str, pixels: NDArray[np.uint8]
    ) -> Future[None]:
        """Calls `save` on the thread that writes."""
        if self._writer is None:
            from concurrent.futures import ThreadPoolExecutor  # imported late, because it imports all of logging

            self._writer = ThreadPoolExecutor(1, "screenshots")
        return self._writer.submit(save, path, pixels)

    @property
    def has_news(self) -> bool:
        """True if a screenshot that was requested by key has been written, or could not be written."""
        return bool(self._unreported) and any(written.done() for written in self._unreported.values())

    def news(self) -> str:
        """Result of the last screenshot that was requested by key, or "" if there is none. Each result is returned
        only once."""
        news = ""
        for path in [path for path, written in self._unreported.items() if written.done()]:
            error = self._unreported.pop(path).exception()
            news = f"screenshot in {path}" if error is None else f"no screenshot: {error}"
        return news

    def close(self) -> None:
        """Waits until all screenshots are written. Prints which of them failed. Also prints a notice if the
        screenshot requested on the command line was never made."""
        if self._writer is not None:
            self._writer.shutdown()
        for written in self._written:
            error = written.exception()
            if error is not None:
                print_notice(f"no screenshot: {error}")
        self._written.clear()
        if self._path is not None:
            print_notice(
                f"no screenshot in {self._path}: the run ended before its time, {self._at_s:g} s after the "
                "first frame; choose an earlier --at"
            )
            self._path = None

    def _free_name(self, stem: str) -> str:
        """File name that is not in use. So a second picture in the same second does not replace the first picture."""
        names = (f"{stem}.png", *(f"{stem}-{number}.png" for number in range(2, 1000)))
        name = next(name for name in names if name not in self._named and not os.path.exists(name))
        self._named.add(name)
        return name


class RequestedScreenshots:
    """Screenshots that the simulation's program requests. A request is due in the first frame whose drawn state is the
    requested one or a later one. read_pixels: function that returns the pixels that are drawn so far.
    """

    def __init__(self, screenshots: Screenshots, read_pixels: Callable[[], NDArray[np.uint8]]) -> None:
        self._screenshots, self._read_pixels = screenshots, read_pixels
        self._link: Link | None = None
        self._due: list[ScreenshotRequest] = []
        self._written: list[tuple[Link, int, int, Future[None]]] = []  # with number and drawn tick of the request
        self._tick = -1  # tick of the drawn state of the due requests

    @property
    def are_written(self) -> bool:
        """True if no file is being written."""
        return not self._written

    def begin(self, link: Link, shown: DrawnPicture | None, are_panels_made: bool) -> None:
        """Takes the requests that are due in a frame with the picture `shown`, and answers those whose files are
        complete. are_panels_made: False if requests of a picture with the panels are not due yet."""
        self._answer()
        requests = link.received.screenshots
        if not requests or shown is None:
            return
        tick = shown.main.pair.previous.head.tick
        self._link, self._tick = link, tick
        self._due = [one for one in requests if one.tick <= tick and (are_panels_made or not one.has_panels)]
        requests[:] = [one for one in requests if one not in self._due]

    def write(self, has_panels: bool) -> None:
        """Writes the due requests of pictures with the panels, or those of pictures without them. has_panels: True for
        those with the panels."""
        wanted, link = [request for request in self._due if request.has_panels == has_panels], self._link
        if not wanted or link is None:
            return
        self._due = [request for request in self._due if request.has_panels != has_panels]
        pixels = self._read_pixels()
        for request in wanted:
            written = self._screenshots.submit(save_png, request.path, pixels)
            self._written.append((link, request.number, self._tick, written))

    def close(self) -> None:
        """Answers the last requests. Call this after `Screenshots.close`."""
        self._answer()

    def _answer(self) -> None:
        if not self._written:
            return
        for link, number, tick, written in self._written:
            if written.done():
                error = written.exception()
                link.answer_screenshot(number, tick, None if error is None else str(error))
        self._written = [one for one in self._written if not one[-1].done()]


def _save_and_print(path: str, pixels: NDArray[np.uint8]) -> None:
    save_png(path, pixels)
    print_notice(f"screenshot in {path}")


def save_png(path: str, pixels: NDArray[np.uint8]) -> None:
    """Writes a picture as a PNG file. pixels: RGB, shape (height, width, 3). Raises TwixtError if the picture cannot
    be encoded or written."""
    from PIL import Image

    packed = io.BytesIO()
    packed.name = path  # the extension of the name selects the format
    try:
        Image.fromarray(pixels).save(packed)
        replace_file(path, packed.getbuffer())
    except (OSError, ValueError) as error:
        raise not_written(path, error) from None
