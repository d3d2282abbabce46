"""The program's events in one viewer: received, delivered when they are due, passed to the user's function.

An event is delivered in the first frame whose draw time has reached its instant. If it was received after that frame,
it is delivered in the next one. In a split view the left picture decides. A frame shows what is drawn, so with the
interpolation method `latest` the newest snapshot's instant counts, and with `none` that of the snapshot that is shown.
While a picture stands still, no event becomes due. While the window is hidden, nothing is drawn, and the draw time of the
playback clock decides, once a second.

Always: an event is delivered at most once, in order, and never before its instant. Events that are not delivered are
counted: as lost if they were overwritten or too many, as reset if their world or their simulation was replaced.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.process.notices import print_notice
from twixt.ipc.ring.events import NO_EVENTS, EventReader
from twixt.ipc.ring.layout import LayoutError
from twixt.render.events.event_function import CalledFunction, load
from twixt.render.events.event_queue import EventQueue

# Largest lateness in ns. Draw time and rate come from shared memory. If it is damaged, they may be any number.
LATENESS_LIMIT_NS = 1 << 61


class ViewerEvents:
    """Events of one simulation. on_event: the text that was given to `--on-event`, or None. before: the events of the
    simulation that was drawn before in this window. Its function receives these events too. Raises TwixtError for a
    function that cannot be loaded.

    worlds_before: number that the intake adds to the world epochs of this simulation. due: events that the last frame
    was the first to reach, (k,) of dtype EVENT; none after `deliver`. late_ns: the largest lateness of these events, in
    ns of display time; 0 if there are none.
    """

    def __init__(self, reader: EventReader, on_event: str | None = None, before: ViewerEvents | None = None) -> None:
        self.worlds_before = 0
        self.due: NDArray[np.void] = NO_EVENTS
        self.late_ns = 0
        self._reader, self._queue = reader, EventQueue(reader.attached_at)
        self.attached_at, self.names = reader.attached_at, reader.names
        self.queues = [self._queue]  # all queues that get the events
        self._draw_time_ns, self._rate = 0, 1.0
        self._delivered = 0
        self._damage = ""  # why no events are read any more
        self._is_loss_printed = False
        self._function: CalledFunction | None = None
        self._earlier = {"delivered": 0, "lost": 0, "reset": 0, "pending": 0}  # counts of earlier simulations
        if before is not None:
            self._function, self._earlier = before._function, before.counts
            self._earlier["reset"] += self._earlier["pending"]
            self._earlier["pending"] = 0
        elif on_event is not None:
            self._function = load(on_event)

    def receive(self) -> bool:
        """Reads the events that are new. Call it after the snapshots of the frame were read. Returns True if there were
        some. If there are none, it loads only one word."""
        if not self._reader.has_unread or self._damage:
            return False
        try:
            batch = self._reader.unread()
            for queue in self.queues:
                queue.add(batch)
        except LayoutError as error:
            self._damage = str(error)
            print_notice(f"{error}; the viewer continues without events")
        if self.lost and not self._is_loss_printed:
            self._is_loss_printed = True
            print_notice(self._loss_text)
        return True

    def draw(self, draw_time_ns: int, world_epoch: int, rate: float) -> None:
        """Takes the events that are due in a frame. draw_time_ns: simulated time that the left picture shows.
        world_epoch: its world, with `worlds_before`. rate: simulated seconds per second, by the plan. In a pause it is
        0, and single steps are drawn at the rate before the pause."""
        if rate > 0:
            self._rate = rate
        self._draw_time_ns = draw_time_ns
        due = self.due = self._queue.due(draw_time_ns, world_epoch - self.worlds_before)
        if len(due):
            self.late_ns = self._late_ns(int(due["sim_time_ns"][0]))
            self._delivered += len(due)

    def deliver(self, now_ns: Callable[[], int]) -> bool:
        """Passes the events of the last frame to the user's function. Call it after the frame is shown. Returns True if
        the function was called. now_ns: function that reads the clock."""
        due, function = self.due, self._function
        if len(due):
            self.due, self.late_ns = NO_EVENTS, 0
        if function is None:
            return False
        function.add(due, self.names)
        if not function.waiting:
            return False
        function.call(self._late_ns, now_ns)
        return True

    @property
    def are_waiting(self) -> bool:
        """True if events wait for the user's function, because its calls took too long in the last frame."""
        return self._function is not None and self._function.waiting > 0

    @property
    def counts(self) -> dict[str, int]:
        """Number of events that were delivered, lost, not drawn before a reset, and not reached by a frame yet, in all
        simulations of this window."""
        queue = self._queue
        own = {"delivered": self._delivered, "lost": self.lost, "reset": queue.reset, "pending": len(queue)}
        return {name: count + self._earlier[name] for name, count in own.items()}

    @property
    def messages(self) -> tuple[str, ...]:
        """Messages for the user about the events."""
        found = () if self._function is None else self._function.messages
        return (*found, self._loss_text) if self.lost else found

    def close(self) -> None:
        """Reads the last events, so that `counts` is complete. Prints the number of events that the user's function did
        not receive, if there are any."""
        self.receive()
        if self._function is not None:
            self._function.close()

    @property
    def lost(self) -> int:
        """Number of events that this viewer could not read or hold in time."""
        return self._reader.lost + self._queue.lost

    @property
    def _loss_text(self) -> str:
        return f"{self.lost:,} events were lost, because this viewer could not read or store them in time"

    def _late_ns(self, instant_ns: int) -> int:
        """Display time from an instant to the draw time, in ns. After a reset, an event that waited for the user's
        function may have a later instant. Its lateness is 0."""
        return round(min(max(0, self._draw_time_ns - instant_ns) / self._rate, LATENESS_LIMIT_NS))
