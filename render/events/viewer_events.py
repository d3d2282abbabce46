"""The program's events in one viewer: received, delivered when they are due, passed to the user's function.

Always: an event is delivered once, in the first frame whose draw time has reached its instant, among the frames that
are drawn after it was received. In a split view the left picture decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.events import NO_EVENTS, EventReader, event_of
from twixt.render.events.event_function import CalledFunction, load
from twixt.render.events.event_queue import EventQueue

# Largest lateness in ns. A draw time or a rate of damaged memory may give any number.
MOST_LATE_NS = 1 << 61


class ViewerEvents:
    """Events of one simulation. on_event: the text that was given to `--on-event`, or None. before: the events of the
    simulation that was drawn before in this window, whose function is called further on. Raises TwixtError for a
    function that cannot be loaded.

    worlds_before: number that the intake adds to the world epochs of this simulation. due: events that the last frame
    was the first to reach, (k,) of dtype EVENT. late_ns: the largest lateness of these events, in ns of display time;
    0 if there are none.
    """

    def __init__(self, reader: EventReader, on_event: str | None = None, before: ViewerEvents | None = None) -> None:
        self.worlds_before = 0
        self.due: NDArray[np.void] = NO_EVENTS
        self.late_ns = 0
        self._reader = reader
        self.attached_at, self.names = reader.attached_at, reader.names
        self._queue = EventQueue(reader.attached_at)
        self.queues = [self._queue]  # all queues that get the events
        self._draw_time_ns, self._rate = 0, 1.0
        self._function: CalledFunction | None = None
        if before is not None:
            self._function = before._function
        elif on_event is not None:
            self._function = load(on_event)

    def receive(self) -> None:
        """Reads the events that are new. Call it after the snapshots of the frame were read."""
        if self._reader.has_unread:
            batch = self._reader.unread()
            for queue in self.queues:
                queue.add(batch)

    def draw(self, draw_time_ns: int, world_epoch: int, rate: float) -> None:
        """Takes the events that are due in a frame. draw_time_ns: simulated time that the left picture shows. rate:
        simulated seconds per second, by the plan. In a pause it is 0, and single steps are drawn at the rate before."""
        if rate > 0:
            self._rate = rate
        self.due = self._queue.due(draw_time_ns, world_epoch - self.worlds_before)
        if len(self.due):
            self._draw_time_ns = draw_time_ns
            self.late_ns = self._late_ns(int(self.due["sim_time_ns"][0]))

    def deliver(self) -> bool:
        """Passes the events of the last frame to the user's function. Call it after the frame is shown. Returns True if
        the function was called."""
        due, self.due, self.late_ns = self.due, NO_EVENTS, 0
        if self._function is None or not len(due):
            return False
        for record in due:
            late_ms = self._late_ns(int(record["sim_time_ns"])) / 1e6
            self._function(event_of(record, self.names.get(int(record["name"]), "?"), late_ms))
        return True

    @property
    def lost(self) -> int:
        """Number of events that were lost."""
        return self._reader.lost + self._queue.lost

    @property
    def messages(self) -> tuple[str, ...]:
        """Messages for the user about the events."""
        message = "" if self._function is None else self._function.message
        return (message,) if message else ()

    def _late_ns(self, instant_ns: int) -> int:
        return round(min((self._draw_time_ns - instant_ns) / self._rate, MOST_LATE_NS))
