"""Screenshots: taken between drawing and swap, written by a thread, so that no frame waits for a PNG encoder."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError

# When a picture asked for without an instant is taken, in seconds after the first frame.
DEFAULT_AT_S = 2.0


class Shots:
    """path, at_s: the one picture asked for at the command line; the key makes more, numbered by the second."""

    def __init__(self, path: str | None, at_s: float | None) -> None:
        self._path = path
        self._at_ns = round((DEFAULT_AT_S if at_s is None else at_s) * 1e9)
        self._by_key = False
        self._writer: ThreadPoolExecutor | None = None
        self._written: list[Future[None]] = []
        if path is not None:
            folder = os.path.dirname(path) or "."
            if not os.path.isdir(folder):
                raise TwixtError(
                    f"--screenshot {path!r}: the folder {folder!r} does not exist; make it, or name another file"
                )

    def is_due(self, key_pressed: bool, first_present_ns: int) -> bool:
        """Whether this frame's picture is to be kept."""
        self._by_key = key_pressed
        waited = first_present_ns != 0 and time.perf_counter_ns() - first_present_ns >= self._at_ns
        return key_pressed or (self._path is not None and waited)

    def take(self, pixels: NDArray[np.uint8]) -> None:
        """Keeps a picture, shape (height, width, 3)."""
        if self._path is not None and not self._by_key:
            path, self._path = self._path, None
        else:
            path = time.strftime("twixt-%Y%m%d-%H%M%S.png")
        self._writer = self._writer or ThreadPoolExecutor(1, "screenshots")
        self._written.append(self._writer.submit(save_png, path, pixels))

    def close(self) -> None:
        """Waits for what is being written; says what could not be."""
        if self._writer is not None:
            self._writer.shutdown()
        for written in self._written:
            error = written.exception()
            if error is not None:
                print(f"twixt: no screenshot: {error}", file=sys.stderr)
        self._written.clear()


def save_png(path: str, pixels: NDArray[np.uint8]) -> None:
    """Writes a picture, shape (height, width, 3). Raises TwixtError."""
    from PIL import Image

    try:
        Image.fromarray(pixels).save(path)
    except (OSError, ValueError) as error:
        raise TwixtError(f"cannot write the screenshot {path!r}: {error}") from None
    print(f"twixt: screenshot in {path}", file=sys.stderr)
