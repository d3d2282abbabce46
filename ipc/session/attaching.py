"""Attaches a viewer to a simulation, on a background thread. The simulation already runs, or is awaited until it runs,
or comes back under its name after it has ended.

Frames never wait for a simulation. A thread searches for it, and the frame loop polls the result between frames. A
simulation that comes back is another process, with other memory and maybe another world. So the viewer attaches to it
as to any other simulation. Then frames continue as after a reset of the world.

Always: a search has one result, and the result does not change. It is either a link to the simulation, or the error
that ended the search.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.ipc.process.notices import print_notice
from twixt.ipc.session import listener
from twixt.ipc.session.screenshots import BY_A_PAGE, BY_A_WINDOW

if TYPE_CHECKING:
    from twixt.ipc.session.link import Ended, Link

# Longest wait, in seconds, for the world of a run. It holds for a viewer that the run itself has started. It is a day,
# in effect no limit. During the wait, the user can close the window. If the physics process dies, its connection
# closes at once, and the wait ends.
OWN_WORLD_S = 86_400.0
# Interval of two polls, in seconds. The viewer polls for the name of a simulation, because the system does not report
# a new name. It also polls for the first snapshot of a new simulation.
LOOK_S = 0.1
# Time from a failed attempt to attach until the next attempt, in seconds. This time is long because the next attempt
# is likely to fail too.
RETRY_S = 1.0
# Kinds of end after which a simulation may come back. The values are the words for the notice. A simulation that
# refused this viewer is not among them, because it would refuse this viewer again.
MAY_RETURN = {"ended": "ended", "crashed": "crashed", "interrupted": "was interrupted", "lost": "disconnected"}


class BackgroundAttach:
    """Search for a simulation, on a thread that starts at once.

    search: function that searches. Its parameter is an event that ends the search early. It returns the link, or None
    if that event was set.
    """

    def __init__(self, search: Callable[[InterruptibleEvent], Link | None]) -> None:
        self._search = search
        self._link: Link | None = None
        self._error: BaseException | None = None
        self._is_answered, self._is_given_up = InterruptibleEvent(), InterruptibleEvent()
        threading.Thread(target=self._run, name="attach", daemon=True).start()

    def wait(self, timeout_s: float) -> bool:
        """Waits for the result of the search. Returns True as soon as the result is known, or False after `timeout_s`
        seconds."""
        return self._is_answered.wait(timeout_s)

    @property
    def link(self) -> Link:
        """Link that the search found. Read this only after `wait` returned True. Raises the error that ended the
        search."""
        if self._error is not None:
            raise self._error
        assert self._link is not None
        return self._link

    def give_up(self) -> None:
        """Ends the search."""
        self._is_given_up.set()

    def _run(self) -> None:
        try:
            self._link = self._search(self._is_given_up)
        except BaseException as error:
            self._error = error
        self._is_answered.set()


def attach_now(name: str | None, owned: bool) -> BackgroundAttach:
    """Attaches to a simulation that already runs. The physics process answers after it has made its world."""

    def search(_is_given_up: InterruptibleEvent) -> Link:
        try:
            from twixt.ipc.session.link import ATTACH_PATIENCE_S, attach

            return attach(name, OWN_WORLD_S if owned else ATTACH_PATIENCE_S, owned)
        except BaseException:
            if owned and name is not None:
                listener.tidy(name)  # a killed physics process leaves its socket file
            raise

    return BackgroundAttach(search)


def attach_when_running(name: str | None, for_pages: bool = False) -> BackgroundAttach:
    """Attaches to the simulation `name` as soon as it runs and has published a snapshot. If `name` is None, attaches
    to the only simulation. for_pages: True for the browser view, which does not wait for a snapshot."""

    def search(is_given_up: InterruptibleEvent) -> Link | None:
        refusal = ""
        while not is_given_up.is_set:
            try:
                if bool(listener.running()) if name is None else listener.is_running(name):
                    return _attached(name, for_pages, is_given_up)
            except TwixtError as error:
                if name is None and len(listener.running()) > 1:
                    raise
                if str(error) != refusal:
                    refusal = str(error)
                    print_notice(f"{refusal}; still waiting")
            is_given_up.wait(RETRY_S if refusal else LOOK_S)
        return None

    return BackgroundAttach(search)


def _attached(name: str | None, for_pages: bool, is_given_up: InterruptibleEvent) -> Link:
    from twixt.ipc.session.link import LinkError, attach

    link = attach(name, pictures=BY_A_PAGE if for_pages else BY_A_WINDOW)
    while not for_pages and not (link.has_unread or is_given_up.wait(LOOK_S)):
        link.poll()
        if link.ended is not None:
            link.close()
            raise LinkError(f'the simulation "{link.name}" ended before it published a snapshot')
    return link


def wait_until_running(
    name: str | None, is_asked_to_stop: Callable[[], bool], for_pages: bool = False
) -> BackgroundAttach | None:
    """Waits until the search of `attach_when_running` has a result, and prints that it waits. Returns the search, or
    None if `is_asked_to_stop` returns True before the result is known."""
    attaching = attach_when_running(name, for_pages)
    if not attaching.wait(LOOK_S):
        whom = "a simulation" if name is None else f'the simulation "{name}"'
        print_notice(f"waiting for {whom}; Ctrl-C ends the wait")
    while not attaching.wait(LOOK_S):
        if is_asked_to_stop():
            attaching.give_up()
            return None
    return attaching


class Reconnection:
    """Attaches to a simulation each time that it comes back under its name, as `attach_when_running`. The methods never
    wait."""

    def __init__(self, name: str, for_pages: bool = False) -> None:
        self._name, self._for_pages = name, for_pages
        self._attaching: BackgroundAttach | None = None
        self.notice = ""  # text for the user while the simulation is awaited

    def begin(self, ended: Ended) -> bool:
        """Begins to wait for a simulation that ended, if it may come back. Prints one message about the wait. Returns
        True if the simulation is awaited."""
        if self._attaching is None and ended.kind in MAY_RETURN:
            self._attaching = attach_when_running(self._name, self._for_pages)
            self.notice = f'waiting until "{self._name}" runs again'
            because = f" ({ended.message})" if ended.message else ""
            end = MAY_RETURN[ended.kind]
            print_notice(f"the simulation {end}{because}; {self.notice}")
        return self._attaching is not None

    def link(self) -> Link | None:
        """Link to the simulation that has come back. Each link is returned only once. The result is None if there is
        no new link. Raises the error that ended the wait."""
        if self._attaching is None or not self._attaching.wait(0):
            return None
        link, self._attaching, self.notice = self._attaching.link, None, ""
        print_notice(f'"{self._name}" runs again')
        return link

    def close(self) -> None:
        """Ends the wait for the simulation."""
        if self._attaching is not None:
            self._attaching.give_up()
