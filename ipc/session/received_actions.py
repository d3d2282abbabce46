"""Actions of all viewers' users, from the service thread to the user's loop.

The one idea: the service thread puts them in; the loop takes events out one by one, and reads the latest pulls and view
as values that are replaced whole. Neither waits for the other.

Always: whatever viewers send, at most `MOST_EVENTS` are kept, the newest; a viewer that has gone pulls no more.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from twixt.ipc.interaction.user_actions import Look, Pull, UserEvent
from twixt.ipc.session import wire

# Most events kept for a loop that does not take them.
MOST_EVENTS = 256
KINDS = (UserEvent.KIND, Pull.KIND, Look.KIND)


class ReceivedActions:
    """Actions of one simulation's viewers. pulls: one for each viewer whose user drags a body. look: the view that was
    sent last; moved: the last one that its user had moved. None: none was sent. on_pulls: called, on the service thread,
    after `pulls` was replaced.
    """

    def __init__(self) -> None:
        self.pulls: tuple[Pull, ...] = ()
        self.on_pulls: Callable[[], object] = tuple
        self.look: Look | None = None
        self.moved: Look | None = None
        self._pull_of: dict[object, Pull] = {}
        self._events: deque[UserEvent] = deque(maxlen=MOST_EVENTS)
        self._wake = threading.Event()
        self._is_ended = False

    def take(self, sender: object, message: wire.Message) -> None:
        """Takes a message of one of `KINDS`. Raises ActionError for one that is damaged."""
        if message.kind == UserEvent.KIND:
            self._events.append(UserEvent.from_fields(message.fields))
            self._wake.set()
        elif message.kind == Pull.KIND:
            pull = Pull.from_fields(message.fields)
            if pull.body is None:
                self.drop(sender)
            else:
                self._pull_of[sender] = pull
                self._replace_pulls()
        else:
            self.look = Look.from_fields(message.fields)
            if self.look.is_moved:
                self.moved = self.look

    def drop(self, sender: object) -> None:
        """Ends the pull of a viewer."""
        if self._pull_of.pop(sender, None) is not None:
            self._replace_pulls()

    def next_event(self) -> UserEvent | None:
        """The oldest event that was not taken yet; None if there is none."""
        try:
            return self._events.popleft()
        except IndexError:
            return None

    def wait(self) -> bool:
        """Waits for events; False after `end`. To be called again after all events were taken."""
        if not self._events and not self._is_ended:
            self._wake.wait()
        self._wake.clear()
        return not self._is_ended

    def end(self) -> None:
        """Ends every wait, now and later, and all pulls."""
        self._is_ended, self.pulls = True, ()
        self._wake.set()

    def _replace_pulls(self) -> None:
        self.pulls = tuple(self._pull_of.values())
        self.on_pulls()
