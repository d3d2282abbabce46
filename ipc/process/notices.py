"""This module prints all messages on standard error, both in the user's process and in twixt's own processes.

Always: a call raises no exception except KeyboardInterrupt. A call waits at most WAIT_MS for a slow reader. After a
wait has timed out, later calls do not wait at all. Calls wait again after the stream has accepted text. Text that
cannot be written is dropped. If the stream is Python's own, bytes are written directly to the stream's descriptor.
Python's buffer is not used. Otherwise text that does not fit on a full disk would stay in this buffer, and the flush
at exit would fail with exit code 120.
"""

from __future__ import annotations

import io
import os
import select
import sys

TYPE_CHECKING = False  # defined here, because an import of `typing` takes some ms
if TYPE_CHECKING:
    from typing import Any

# Longest wait for a full pipe or terminal, in ms. The wait blocks the caller's loop. Without the wait, the message
# about why a program ended could be lost.
WAIT_MS = 100
# Number of bytes that a pipe accepts without blocking if it is ready for writing.
PIPE_BYTES = getattr(select, "PIPE_BUF", 512)

_gave_up = False


def print_notice(text: str, traceback_text: str = "") -> None:
    """Prints `traceback_text` unchanged on standard error, and then `twixt: {text}`. `traceback_text` must consist of
    whole lines."""
    print_lines(f"{traceback_text}twixt: {text}\n")


def print_lines(text: str) -> None:
    """Prints whole lines on standard error, unchanged."""
    try:
        stream = sys.stderr
        if stream is None:
            return
        if stream is sys.__stderr__ and type(stream) is io.TextIOWrapper:
            _write_bytes(stream, text.encode(stream.encoding, "backslashreplace"))
        else:
            _write_text(stream, text)
    # The disk is full, the stream is closed, the interpreter ends, or a stream that replaces Python's own has an
    # error.
    except Exception:
        pass


def print_current_exception() -> None:
    """Passes the current exception to the user's `sys.excepthook`. Prints its traceback if there is no such hook, or
    if the hook raises."""
    hook = sys.excepthook
    if hook is not sys.__excepthook__:
        try:
            hook(*sys.exc_info())
            return
        except Exception:  # the traceback printed below shows both errors
            pass
    try:
        import traceback  # imported here, because the import takes 8 ms

        print_lines(traceback.format_exc())
    except Exception:  # when the interpreter ends, modules may be missing
        pass


def is_terminal() -> bool:
    """True if standard error is a terminal."""
    try:
        return sys.stderr.isatty()
    except Exception:  # there is no stream, the stream is closed, or the stream has no `isatty`
        return False


def _write_bytes(stream: io.TextIOWrapper, content: bytes) -> None:
    descriptor = stream.fileno()
    if not _is_ready(descriptor):
        return
    try:
        stream.flush()  # text that the program has already printed must appear before the new text
    except OSError:
        pass
    rest = memoryview(content)
    while rest and _is_ready(descriptor):
        rest = rest[os.write(descriptor, rest[:PIPE_BYTES]) :]


def _write_text(stream: Any, text: str) -> None:
    """Writes to a stream that replaces Python's own, such as Jupyter's or a log file."""
    try:
        descriptor = stream.fileno()
    except Exception:  # most of these streams have no descriptor
        descriptor = None
    size = len(text) if descriptor is None else PIPE_BYTES // 4  # a character has at most 4 bytes
    for start in range(0, len(text), size):
        if descriptor is not None and not _is_ready(descriptor):
            return
        piece = text[start : start + size]
        try:
            stream.write(piece)
        except UnicodeError:
            encoding = getattr(stream, "encoding", None) or "ascii"
            stream.write(piece.encode(encoding, "backslashreplace").decode(encoding))
        if hasattr(stream, "flush"):
            stream.flush()


def _is_ready(descriptor: int) -> bool:
    """True if a write to the descriptor will not block. False if the reader has closed the descriptor: a write could
    then end the process, because the program may have restored the default action of SIGPIPE."""
    global _gave_up
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLOUT)
        found = poller.poll(0 if _gave_up else WAIT_MS)
    # this system has no poll, or the stream has no real descriptor
    except (AttributeError, OSError, TypeError, ValueError):
        return True
    _gave_up = not found
    return bool(found) and not found[0][1] & (select.POLLERR | select.POLLHUP | select.POLLNVAL)
