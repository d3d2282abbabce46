"""Screenshots: taken between drawing and swap, written by a thread, so that no frame waits for a PNG encoder."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# When a picture asked for without an instant is taken, in seconds after the first frame; in a shorter run at its end.
DEFAULT_AT_S = 2.0


class Shots:
    """path, at_s: the one picture asked for at the command line; the key makes more, named by the second.

    seconds: how long the run lasts, where that is known.
    """

    def __init__(self, path: str | None, at_s: float | None, seconds: float | None = None) -> None:
        self._path = path
        self._at_s = min(DEFAULT_AT_S, seconds or DEFAULT_AT_S) if at_s is None else at_s
        self._by_key = False
        self._named: set[str] = set()
        self._writer: ThreadPoolExecutor | None = None
        self._written: list[Future[None]] = []
        self._untold: dict[str, Future[None]] = {}  # asked for by key, by name
        if path is not None:
            folder = os.path.dirname(path) or "."
            if not os.path.isdir(folder):
                raise TwixtError(
                    f"--screenshot {path!r}: the folder {folder!r} does not exist; make it, or name another file"
                )

    def is_due(self, key_pressed: bool, first_present_ns: int) -> bool:
        """Whether this frame's picture is to be kept."""
        self._by_key = key_pressed
        waited = first_present_ns != 0 and time.perf_counter_ns() - first_present_ns >= self._at_s * 1e9
        return key_pressed or (self._path is not None and waited)

    def take(self, pixels: NDArray[np.uint8]) -> None:
        """Keeps a picture, shape (height, width, 3)."""
        if self._path is not None and not self._by_key:
            path, self._path = self._path, None
        else:
            path = self._free_name(time.strftime("twixt-%Y%m%d-%H%M%S"))
        if self._writer is None:
            from concurrent.futures import ThreadPoolExecutor  # late: it brings all of logging

            self._writer = ThreadPoolExecutor(1, "screenshots")
        self._written.append(self._writer.submit(save_png, path, pixels))
        if self._by_key:
            self._untold[path] = self._written[-1]

    @property
    def has_news(self) -> bool:
        """A picture asked for by key has been written, or could not be."""
        return any(written.done() for written in self._untold.values())

    def news(self) -> str:
        """How the last of those came out, once; empty where nothing is new."""
        said = ""
        for path in [path for path, written in self._untold.items() if written.done()]:
            error = self._untold.pop(path).exception()
            said = f"screenshot in {path}" if error is None else f"no screenshot: {error}"
        return said

    def close(self) -> None:
        """Waits for what is being written; says what could not be."""
        if self._writer is not None:
            self._writer.shutdown()
        for written in self._written:
            error = written.exception()
            if error is not None:
                print(f"twixt: no screenshot: {error}", file=sys.stderr)
        self._written.clear()
        if self._path is not None:
            print(
                f"twixt: no screenshot in {self._path}: the run ended before its instant, {self._at_s:g} s after the "
                "first frame; choose an earlier --at",
                file=sys.stderr,
            )
            self._path = None

    def _free_name(self, stem: str) -> str:
        """A second picture in the same second does not replace the first."""
        names = (f"{stem}.png", *(f"{stem}-{number}.png" for number in range(2, 1000)))
        name = next(name for name in names if name not in self._named and not os.path.exists(name))
        self._named.add(name)
        return name


def save_png(path: str, pixels: NDArray[np.uint8]) -> None:
    """Writes a picture, shape (height, width, 3). Raises TwixtError."""
    from PIL import Image

    packed = io.BytesIO()
    packed.name = path  # which says how it is packed
    try:
        Image.fromarray(pixels).save(packed)
        with open(path, "wb") as file:
            file.write(packed.getbuffer())
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and os.path.isfile(path):
            with contextlib.suppress(OSError):  # half a picture is none
                os.unlink(path)
        raise TwixtError(f"cannot write the screenshot {path!r}: {error}; make room, or name another file") from None
    print(f"twixt: screenshot in {path}", file=sys.stderr)
