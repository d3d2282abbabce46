"""A crash in the user's world, told as the user needs it: their traceback, without a frame of ours."""

from __future__ import annotations

from types import TracebackType

from twixt.ipc.errors import TwixtError, WorldCrashed
from twixt.ipc.users_code import say, users_traceback
from twixt.sim.watch import Terminated


# Named as it is read after `with`. A generator instead would cost each step three times as much.
class blamed_on_the_world:
    """Turns what the user's code raises inside into `WorldCrashed`.

    doing: what they did, such as `Orbit.step`. refusals: a `TwixtError` raised inside passes as it is, because
    it refuses a value that the user gave (a constructor's argument), which is no crash. exits: `sys.exit` is one too:
    a script that is imported as a module ends without a word. What asks the process to end passes.
    """

    __slots__ = ("_doing", "_exits", "_refusals")

    def __init__(self, doing: str, refusals: bool = False, exits: bool = False) -> None:
        self._doing, self._refusals, self._exits = doing, refusals, exits

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, WorldCrashed | KeyboardInterrupt | Terminated):
            return
        if (isinstance(error, SystemExit) and not self._exits) or (self._refusals and isinstance(error, TwixtError)):
            return
        raise WorldCrashed(f"{self._doing} raised {say(error)}", users_traceback(error)) from error
