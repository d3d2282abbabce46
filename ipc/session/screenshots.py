"""Pictures that a program requests from its viewer: the requests, their way to the viewer, and the answers.

Of the viewers with a window, the one that has been attached longest draws and writes them. Without a window, the
browser view does. Requests wait while no such viewer is attached yet.

Always: a request is answered once, with success or a reason. At most `MOST_REQUESTS` requests are unanswered; further
ones fail at once. Each reason is printed once, even if several requests fail for it. Drawing is in `render.viewer.screenshots`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from twixt.ipc.errors import InvalidValue, TwixtError, refusal, text_of
from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.ipc.process.notices import print_notice
from twixt.ipc.session import wire

# Largest number of requests without an answer. A viewer holds the pixels of each one that it is writing.
MOST_REQUESTS = 16
# Longest path, and longest reason of a failure, in characters. They fit into a message.
LONGEST_PATH, LONGEST_REASON = 4000, 400
# Number of reasons that are printed.
MOST_REASONS = 8
# How a viewer makes pictures: not at all, by a page of the browser view, or from its own window. Of the attached
# viewers, those with the largest value are asked.
NO_PICTURES, BY_A_PAGE, BY_A_WINDOW = range(3)


class Receiver(Protocol):
    """A viewer to which messages are sent."""

    def post(self, kind: str, content: bytes) -> None:
        """Queues a message. It replaces a queued message of the same kind."""


class Screenshot:
    """A picture that the program has requested. `View.screenshot` returns it.

    Attributes:
        path: Absolute path of the file.
        error: Reason why the file was not written. None if the file was written, or if this is not known yet.
        steps_late: Number of publishes between the requested state and the state in the picture. The number is above 0
            if the loop publishes faster than frames are drawn.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.error: str | None = None
        self.steps_late = 0
        self._ended = InterruptibleEvent()

    @property
    def is_done(self) -> bool:
        """True if the file is complete or could not be written."""
        return self._ended.is_set

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until the file is complete or could not be written.

        Args:
            timeout_s: Longest wait, in seconds. None for no limit.

        Returns:
            True if the file is complete.
        """
        return self._ended.wait(timeout_s) and self.error is None

    def _end(self, error: str | None) -> None:
        """Records the answer. error: None if the file is complete."""
        self.error = error
        self._ended.set()


class ScreenshotRequest(NamedTuple):
    """A request as the viewer receives it. tick: the first picture is written whose drawn state has this tick or a
    later one; -1 for any picture. has_panels: True to write the picture with the overlay's panels."""

    number: int
    path: str
    tick: int
    has_panels: bool

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> ScreenshotRequest:
        """The request in a message. Raises WireError for an invalid message."""
        path, has_panels = fields.get("path"), fields.get("has_panels")
        if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path or not isinstance(has_panels, bool):
            raise wire.WireError(f"the file of a screenshot must be an absolute path, got {text_of(path)[:60]}")
        return cls(wire.whole_number(fields, "number"), path, wire.whole_number(fields, "tick"), has_panels)


class ScreenshotRequests:
    """The requests of one host. Any thread may call `add`, `await_all` and `fail_all`. The service thread calls the
    other methods. notify: function that wakes the service thread."""

    def __init__(self, notify: Callable[[], object]) -> None:
        self._notify = notify
        self._numbers = itertools.count(1)
        self._waiting: deque[tuple[ScreenshotRequest, Screenshot]] = deque()
        # The viewer that has the request, the requested tick, and the request.
        self._sent: dict[int, tuple[object, int, Screenshot]] = {}
        self._reasons: set[str] = set()

    def add(self, path: str, tick: int, has_panels: bool) -> Screenshot:
        """Requests a picture. path: absolute path. tick, has_panels: as in `ScreenshotRequest`."""
        screenshot = Screenshot(path)
        if len(self._waiting) + len(self._sent) >= MOST_REQUESTS:
            self.fail(
                screenshot,
                f"{MOST_REQUESTS} screenshots are already waiting to be written; wait for them, or request fewer",
            )
        else:
            self._waiting.append((ScreenshotRequest(next(self._numbers), path, tick, has_panels), screenshot))
            self._notify()
        return screenshot

    def fail(self, screenshot: Screenshot, reason: str) -> None:
        """Ends a request without a picture. Prints the reason if it is new."""
        screenshot._end(reason)
        without_path = reason.replace(screenshot.path, "")
        if without_path not in self._reasons and len(self._reasons) < MOST_REASONS:
            self._reasons.add(without_path)
            print_notice(
                f"no screenshot: {reason}"
                if without_path != reason
                else f"no screenshot in {screenshot.path}: {reason}"
            )

    def fail_all(self, reason: str) -> None:
        """Ends all requests that have no answer."""
        while self._waiting:
            self.fail(self._waiting.popleft()[1], reason)
        for number in list(self._sent):
            self.fail(self._sent.pop(number)[-1], reason)

    def await_all(self, timeout_s: float) -> None:
        """Waits until all requests have an answer, for at most `timeout_s`."""
        ends_s = time.monotonic() + timeout_s
        unanswered = [screenshot for _, screenshot in self._waiting]
        for screenshot in unanswered + [screenshot for *_, screenshot in list(self._sent.values())]:
            screenshot.wait(ends_s - time.monotonic())

    @property
    def are_waiting(self) -> bool:
        """True if there are requests that no viewer has received."""
        return bool(self._waiting)

    def post_to(self, viewer: Receiver) -> None:
        """Queues all requests that no viewer has received, for this viewer."""
        while self._waiting:
            request, screenshot = self._waiting[0]
            # The request enters `_sent` before it leaves `_waiting`, so that `add` and `await_all` always count it.
            self._sent[request.number] = viewer, request.tick, screenshot
            self._waiting.popleft()
            viewer.post(f"screenshot {request.number}", wire.encode("screenshot", request._asdict()))

    def answer(self, viewer: object, fields: dict[str, Any]) -> None:
        """Receives the answer of a viewer. Raises WireError for an invalid message."""
        number, error = wire.whole_number(fields, "number"), fields.get("error")
        tick = wire.whole_number(fields, "tick")
        if not isinstance(error, str | None):
            raise wire.WireError(f"the error of a screenshot must be text, got {text_of(error)[:40]}")
        sent_to, wanted, screenshot = self._sent.get(number, (None, 0, None))
        if screenshot is None or sent_to is not viewer:
            return
        if error is None:
            screenshot.steps_late = max(0, tick - wanted)
            screenshot._end(None)
        else:
            printable = "".join(letter if letter.isprintable() else " " for letter in error[:LONGEST_REASON])
            self.fail(screenshot, printable)
        del self._sent[number]

    def viewer_gone(self, viewer: object, is_last: bool) -> None:
        """Ends the requests that a viewer had received when it disconnected. is_last: True if no other viewer makes
        pictures. Requests that no viewer has received then end as well."""
        while is_last and self._waiting:
            self.fail(self._waiting.popleft()[1], "the viewer was closed before it wrote the picture")
        for number, (sent_to, _, screenshot) in list(self._sent.items()):
            if sent_to is viewer:
                self.fail(screenshot, "the viewer was closed before it wrote the picture")
                del self._sent[number]


def screenshot_path(path: Any) -> str:
    """Returns the absolute path of a picture's file. `~` is the home folder. Raises TwixtError unless `path` is the
    name of a PNG file."""
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str) or os.path.splitext(name.lower())[1] != ".png":
        raise refusal(name, str)(
            f'screenshot writes a PNG file, got {text_of(path)[:80]}; use a name like view.screenshot("ep.png")'
        )
    name = os.path.abspath(os.path.expanduser(name))
    if "\0" in name or len(name) > LONGEST_PATH or not name.isprintable():
        raise InvalidValue(
            f"the file of a screenshot must be a path of at most {LONGEST_PATH} printable characters, got "
            f"{text_of(path)[:80]}"
        )
    return name


def not_written(path: str, error: Exception) -> TwixtError:
    """The error of a picture whose file could not be encoded or written."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return TwixtError(f"cannot write the screenshot {path!r}: {reason}; free disk space, or name another file")


def replace_file(path: str, content: bytes | bytearray | memoryview) -> None:
    """Writes a file under another name in the same folder, and renames it. Raises OSError, and removes that file."""
    if os.path.exists(path) and not os.path.isfile(path):  # such as a pipe, which cannot be replaced
        flags = os.O_WRONLY
        if sys.platform != "win32":
            flags |= os.O_NONBLOCK  # to open a pipe that nobody reads fails
        descriptor = os.open(path, flags)
        if sys.platform != "win32":
            os.set_blocking(descriptor, True)
        with open(descriptor, "wb") as file:
            file.write(content)
        return
    path = os.path.realpath(path)  # a link stays a link
    unfinished = os.path.join(os.path.dirname(path), f".twixt-{os.getpid()}-{time.perf_counter_ns()}.png")
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
        os.replace(unfinished, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
