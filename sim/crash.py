"""A crash in the user's world, told as the user needs it: their traceback, without a frame of ours.

The built-in worlds count as a user's: their frames stay.
"""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import twixt
from twixt.ipc.errors import TwixtError, WorldCrashed

_HOUSE = os.path.realpath(twixt.__path__[0]) + os.sep
_OURS = tuple(_HOUSE + part for part in ("sim" + os.sep, "ipc" + os.sep, "render" + os.sep, "twixt.py", "__init__.py"))
_WORLDS = os.path.join(_HOUSE, "sim", "worlds") + os.sep


@contextmanager
def blamed_on_the_world(doing: str, refusals: bool = False) -> Iterator[None]:
    """Turns what the user's code raises inside into `WorldCrashed`.

    doing: what they did, such as `Orbit.step`. refusals: a `TwixtError` raised inside passes as it is, because
    it refuses a value that the user gave (a constructor's argument), which is no crash.
    """
    try:
        yield
    except WorldCrashed:
        raise
    except Exception as error:
        if refusals and isinstance(error, TwixtError):
            raise
        message = f"{doing} raised {type(error).__name__}: {error}".rstrip(": ")
        raise WorldCrashed(message, users_traceback(error)) from error


def users_traceback(error: BaseException) -> str:
    """The traceback of `error` and of what caused it, without our frames. All frames if none is the user's."""
    told = traceback.TracebackException.from_exception(error)
    whole = "".join(told.format())
    return "".join(told.format()) if _strip(told, set()) else whole


def _strip(told: traceback.TracebackException | None, seen: set[int]) -> bool:
    """Takes our frames out of an exception and of those it came from; True if a frame of the user's is left."""
    if told is None or id(told) in seen:
        return False
    seen.add(id(told))
    kept = [frame for frame in told.stack if not _is_ours(frame.filename)]
    told.stack = traceback.StackSummary.from_list(kept)
    # An exception that points at a line of its own (SyntaxError) needs no frame.
    left = bool(kept) or issubclass(told.exc_type or Exception, SyntaxError)
    for cause in (told.__cause__, told.__context__, *(told.exceptions or ())):
        left = _strip(cause, seen) or left
    return left


def _is_ours(filename: str) -> bool:
    if filename.startswith("<frozen importlib") or filename == importlib.__file__:
        return True
    path = os.path.realpath(filename)
    return path.startswith(_OURS) and not path.startswith(_WORLDS)
