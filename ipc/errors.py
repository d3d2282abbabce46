"""What goes wrong at a door, said so that the reader can act: value, rule, way out.

Every error a person or another process can cause is a `TwixtError`: the front door prints its message
as one line, without a traceback, and exits with its code.
"""

from __future__ import annotations

import errno
import os
import sys

DISPLAY_VARIABLES: tuple[str, ...] = ("DISPLAY", "WAYLAND_DISPLAY") if sys.platform == "linux" else ()
NO_DISPLAY = f"no display ({' and '.join(DISPLAY_VARIABLES)} are not set)"


class TwixtError(Exception):
    """A refused input or a missing thing. The message names the value, the rule and the way out."""

    exit_code = 2


class NoDisplay(TwixtError):
    """A window that was to be opened where there is no display, and nothing to be drawn without one."""

    exit_code = 3


def say_exhausted(error: Exception) -> str:
    """What to do where the system has given all that it gives; empty for another fault."""
    if not isinstance(error, OSError | ImportError):
        return ""
    # The machine's words begin as the process' do: asked for first.
    if _is(error, errno.ENFILE):
        return f"this machine can open no more files ({os.strerror(errno.ENFILE)}); end other programs"
    if _is(error, errno.EMFILE):
        return f"this process may open no more files ({os.strerror(errno.EMFILE)}); allow more, such as: ulimit -n 1024"
    if _is(error, errno.ENOSPC):
        return (
            f"there is no room for what is to be written ({os.strerror(errno.ENOSPC)}); make room, or write elsewhere"
        )
    return ""


def say_damaged(error: Exception) -> str:
    """What to do where Python has kept half of a compiled module, as it does on a full disk; empty for another fault."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_name != "_compile_bytecode":
        return ""
    path = trace.tb_frame.f_locals.get("bytecode_path")
    return f"Python finds its compiled module {path!r} damaged ({error}), as a full disk leaves it; delete it"


def _is(error: OSError | ImportError, number: int) -> bool:
    """An import of compiled code gives the system's words alone."""
    return os.strerror(number) in str(error) if isinstance(error, ImportError) else error.errno == number


class WorldCrashed(TwixtError):
    """The user's own world raised. `traceback_text` is theirs alone, without a frame of ours."""

    exit_code = 1

    def __init__(self, message: str, traceback_text: str) -> None:
        super().__init__(message)
        self.traceback_text = traceback_text
