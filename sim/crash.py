"""A crash in the user's world, told as the user needs it: their traceback, without a frame of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from twixt.ipc.errors import TwixtError, WorldCrashed
from twixt.ipc.users_code import say, users_traceback


@contextmanager
def blamed_on_the_world(doing: str, refusals: bool = False, exits: bool = False) -> Iterator[None]:
    """Turns what the user's code raises inside into `WorldCrashed`.

    doing: what they did, such as `Orbit.step`. refusals: a `TwixtError` raised inside passes as it is, because
    it refuses a value that the user gave (a constructor's argument), which is no crash. exits: `sys.exit` is one too:
    a script that is imported as a module ends without a word.
    """
    try:
        yield
    except WorldCrashed:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, SystemExit) and not exits:
            raise
        if refusals and isinstance(error, TwixtError):
            raise
        raise WorldCrashed(f"{doing} raised {say(error)}", users_traceback(error)) from error
