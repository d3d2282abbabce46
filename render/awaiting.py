"""A viewer that waits for its simulation: for one that is not there yet, or to come back under its name.

The one idea: what comes back is a simulation of its own, with another process, another memory and maybe another world;
so the viewer attaches to it as to any other, and its frames go on there as after a reset.

Always: nothing here holds a frame up: a thread of its own looks for the name, and hands the link over once there is
something to draw.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from twixt.ipc import door
from twixt.ipc.errors import TwixtError
from twixt.render.link_to_be import LinkToBe

if TYPE_CHECKING:
    from twixt.ipc.link import Ended, Link

# How often a name is looked for, and a new simulation's first snapshot. Nobody tells when a file appears.
LOOK_S = 0.1
# The same once a simulation let nobody in: it would do so again.
RETRY_S = 1.0
# How a simulation ends that may come back. One that refused this viewer would do so again.
MAY_RETURN = ("ended", "crashed", "interrupted", "lost")


class Awaiting(LinkToBe):
    """Attaches to the simulation `name` (None: whichever is there alone) as soon as there is one."""

    def __init__(self, name: str | None) -> None:
        self._name = name
        self._given_up = threading.Event()
        super().__init__("await")

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        self._given_up.set()

    def _search(self) -> Link | None:
        said = ""
        while not self._given_up.is_set():
            try:
                if self._is_there():
                    return self._attached()
            except TwixtError as error:
                if self._name is None and len(door.running()) > 1:
                    raise
                if str(error) != said:
                    said = str(error)
                    print(f"twixt: {said}; waiting on", file=sys.stderr, flush=True)
            self._given_up.wait(RETRY_S if said else LOOK_S)
        return None

    def _is_there(self) -> bool:
        return bool(door.running()) if self._name is None else door.is_running(self._name)

    def _attached(self) -> Link:
        """With a snapshot to draw. Raises TwixtError."""
        from twixt.ipc.link import LinkError, attach

        link = attach(self._name)
        while not (link.has_unread or self._given_up.wait(LOOK_S)):
            link.poll()
            if link.ended is not None:
                link.close()
                raise LinkError(f'the simulation "{link.name}" ended before there was anything to see')
        return link


def await_first(name: str | None, is_asked_to_stop: Callable[[], bool]) -> Awaiting | None:
    """The simulation, once it is there; says so while it is not. None: asked to stop before."""
    awaiting = Awaiting(name)
    if not awaiting.wait(LOOK_S):
        whom = "a simulation" if name is None else f'the simulation "{name}"'
        print(f"twixt: waiting for {whom}; Ctrl-C ends this", file=sys.stderr, flush=True)
    while not awaiting.wait(LOOK_S):
        if is_asked_to_stop():
            awaiting.give_up()
            return None
    return awaiting


class Return:
    """Of the simulations of one name, one after the other. Asked between frames."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._awaiting: Awaiting | None = None
        self.notice = ""  # for the user, while it is awaited

    def begin(self, ended: Ended) -> bool:
        """Whether the one that ended is awaited from now on; says so once."""
        if self._awaiting is None and ended.kind in MAY_RETURN:
            self._awaiting = Awaiting(self._name)
            self.notice = f'waiting for "{self._name}" to come back'
            because = f" ({ended.message})" if ended.message else ""
            print(f"twixt: the simulation {_HOW[ended.kind]}{because}; {self.notice}", file=sys.stderr, flush=True)
        return self._awaiting is not None

    def link(self) -> Link | None:
        """That of the one that came back; None while there is none. Raises what ended the wait."""
        if self._awaiting is None or not self._awaiting.wait(0):
            return None
        link, self._awaiting, self.notice = self._awaiting.link, None, ""
        print(f'twixt: "{self._name}" is back', file=sys.stderr, flush=True)
        return link

    def close(self) -> None:
        """It is not awaited any more."""
        if self._awaiting is not None:
            self._awaiting.give_up()


_HOW = {"ended": "ended", "crashed": "crashed", "interrupted": "was interrupted", "lost": "has gone"}
