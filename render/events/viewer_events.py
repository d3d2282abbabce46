"""The program's events in one viewer: received, delivered when they are due, passed to the user's function.

Always: an event is delivered once, in the first frame whose draw time has reached it. In a split view the left picture
decides. What the user's function raises is reported once, and the viewer goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.user_code import user_crash
from twixt.ipc.ring.events import NO_EVENTS, EventReader, event_of
from twixt.render.events.event_queue import EventQueue
from twixt.render.interpolation.blending import find


class ViewerEvents:
    """Events of one simulation. function: the user's function, or None. name: the text that was given to `--on-event`.

    due: events that the last frame has reached, (k,) of dtype EVENT. late_ns: how long before the draw time of that
    frame the first of them was due, in ns of display time.
    """

    def __init__(self, reader: EventReader, function: Callable[[Any], object] | None = None, name: str = "") -> None:
        self.due: NDArray[np.void] = NO_EVENTS
        self.late_ns = 0
        self._reader, self._function, self._name = reader, function, name
        self.attached_at = reader.attached_at
        self._queue = EventQueue(reader.attached_at)
        self.queues = [self._queue]  # all queues that get the events
        self._draw_time_ns, self._rate = 0, 1.0

    def receive(self, worlds_before: int) -> None:
        """Reads the events that are new. Call it after the snapshots of the frame were read. worlds_before: number to
        add to each world epoch, as to those of the snapshots."""
        if self._reader.has_unread:
            batch = self._reader.unread()
            if worlds_before:
                batch.records["world_epoch"] += np.uint32(worlds_before)
            for queue in self.queues:
                queue.add(batch)

    def draw(self, draw_time_ns: int, world_epoch: int, rate: float) -> None:
        """Takes the events that are due in a frame. draw_time_ns: simulated time that the left picture draws. rate:
        simulated seconds per second, by the plan."""
        self.due = self._queue.due(draw_time_ns, world_epoch)
        self._draw_time_ns, self._rate = draw_time_ns, rate or 1.0
        self.late_ns = round((draw_time_ns - int(self.due["sim_time_ns"][0])) / self._rate) if len(self.due) else 0

    def deliver(self) -> None:
        """Passes the events of the last frame to the user's function. Call it after the frame is shown."""
        due, self.due = self.due, NO_EVENTS
        if self._function is None:
            return
        for record in due:
            late_ms = (self._draw_time_ns - int(record["sim_time_ns"])) / self._rate / 1e6
            try:
                self._function(event_of(record, self._reader.names[int(record["name"])], late_ms))
            except (Exception, SystemExit) as error:
                crash = user_crash(self._name, error)
                print_notice(f"{crash}; the viewer goes on", crash.traceback_text)


def load_function(reference: str) -> Callable[[Any], object]:
    """Loads the function that `--on-event module:function` names. Raises TwixtError if there is no such function, and
    UserCodeCrashed if the module raises an exception when it is imported."""
    found = find(reference, "--on-event", "my_events:on_event", "def {name}(event)")
    if not callable(found):
        raise TwixtError(f"--on-event: {reference} must be a function of one argument (the event), got {found!r}")
    return found  # type: ignore[no-any-return]
