"""What goes wrong at a door, said so that the reader can act: value, rule, way out.

Every error a person or another process can cause is a `TwixtError`: the front door prints its message
as one line, without a traceback, and exits with its code.
"""

from __future__ import annotations

import errno


class TwixtError(Exception):
    """A refused input or a missing thing. The message names the value, the rule and the way out."""

    exit_code = 2


def say_exhausted(error: OSError) -> str:
    """What to do where the system has given all that it gives; empty for another fault."""
    if error.errno == errno.EMFILE:
        return f"this process may open no more files ({error.strerror}); allow more, for example with: ulimit -n 1024"
    if error.errno == errno.ENFILE:
        return f"this machine can open no more files ({error.strerror}); end other programs"
    return ""


class WorldCrashed(TwixtError):
    """The user's own world raised. `traceback_text` is theirs alone, without a frame of ours."""

    exit_code = 1

    def __init__(self, message: str, traceback_text: str) -> None:
        super().__init__(message)
        self.traceback_text = traceback_text
