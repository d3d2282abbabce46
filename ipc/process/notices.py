"""Lines on standard error: the one place that prints them. Never raises: no message of twixt ends the user's loop."""

from __future__ import annotations

import sys


def print_notice(text: str, traceback_text: str = "") -> None:
    """Prints `twixt: {text}` on standard error, after `traceback_text` (whole lines, printed as they are)."""
    stream = sys.stderr
    if stream is None:
        return
    try:
        stream.write(f"{traceback_text}twixt: {text}\n")
        stream.flush()
    except (OSError, ValueError):  # a full disk, a pipe that nobody reads, a closed stream
        pass
