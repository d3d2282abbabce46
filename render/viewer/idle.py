"""Stops frames while the next frame would equal the shown frame. Frames continue as soon as something changes.

A picture that has not changed for some time stays the same until something happens: input, a message of the physics
process, or damage to the window. `RedrawRequests` decides when frames can stop. Then the viewer sleeps. `Waker` ends
this sleep as soon as the physics process sends a message. Input ends the sleep by itself.

Always: `RedrawRequests` takes instants and reads no clock.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.render.display.input import Event

if TYPE_CHECKING:
    from twixt.ipc.session.link import Link
    from twixt.render.display.display import Display

# Time in ns from the last change of a paused picture until frames stop. In this time the overlay is laid out, and the
# physics process can answer a key.
PAUSED_NS = 300_000_000
# Time in ns from the last change of the picture until frames stop, for a world that is not paused but publishes
# nothing. A shorter stall is part of the run, so its frames must be in the log.
SILENT_NS = 1_000_000_000
# Longest sleep in seconds while no frames are made. Between two sleeps, the viewer checks for signals and for the end
# of the simulation.
SLEEP_S = 0.1
# Spare time in ns that garbage collection is told when frames stop. A collection may use half of this time.
GARBAGE_NS = 10_000_000
# Interval of frames in ns while the physics process is silent. The overlay then counts the seconds since its last
# message.
SECONDS_COUNT_NS = 1_000_000_000
# Interval in ns at which a hidden window reads snapshots. So the window is not far behind when it is shown again.
HIDDEN_INTAKE_NS = 1_000_000_000
# Fields in the status of the physics process that cannot change the overlay. The overlay does not show them, or reads
# them from snapshots.
SEEN_ELSEWHERE = ("tick", "step_ms", "lead_ms", "rate")


class RedrawRequests:
    """Requests for frames of one viewer. Code that changes the picture makes these requests."""

    def __init__(self) -> None:
        self._changed_ns = 0
        self._drawn_ns: int | None = None
        self._due_ns: dict[str, int] = {}  # instant of each request in ns, by its reason

    def request(self, now_ns: int) -> None:
        """Requests frames, because something visible has changed."""
        self._changed_ns = now_ns

    def request_at(self, reason: str, due_ns: int) -> None:
        """Requests one frame at `due_ns`, and replaces an earlier request with the same reason."""
        self._due_ns[reason] = due_ns

    def withdraw(self, reason: str) -> None:
        """Withdraws the request with this reason, if there is such a request."""
        self._due_ns.pop(reason, None)

    def drawn(self, draw_time_ns: int, began_ns: int, now_ns: int) -> None:
        """Records a frame that began at `began_ns`. draw_time_ns: simulated time that the frame shows. A new simulated
        time counts as a change."""
        if draw_time_ns != self._drawn_ns:
            self._drawn_ns = draw_time_ns
            self._changed_ns = now_ns
        if self._due_ns:
            self._due_ns = {reason: due_ns for reason, due_ns in self._due_ns.items() if due_ns > began_ns}

    def is_idle(self, now_ns: int, is_paused: bool) -> bool:
        """True if frames may stop until the next change."""
        if now_ns - self._changed_ns < (PAUSED_NS if is_paused else SILENT_NS):
            return False
        return all(due_ns > now_ns for due_ns in self._due_ns.values())


class Idle:
    """Periods of one viewer without frames. since_ns: instant at which frames stopped, or 0 while frames are made.
    now_ns: function that reads the clock."""

    def __init__(self, display: Display, now_ns: Callable[[], int]) -> None:
        self.since_ns = 0
        self.status = ShownStatus()
        self._display, self._now_ns = display, now_ns
        self._waker: Waker | None = None
        self._intake_ns = 0
        self._events: list[Event] = []  # input that came while no frames were made, for the next frame

    def begin(self, last_present_ns: int) -> bool:
        """Records that frames stop. last_present_ns: instant at which the last frame was shown. Returns False if
        frames have already stopped."""
        if self.since_ns:
            return False
        self.since_ns = last_present_ns or self._now_ns()
        return True

    def end(self, start_ns: int) -> int:
        """Ends a period without frames, because a frame began at `start_ns`. Returns the length of the period in ns,
        or 0 if there was no such period."""
        idle_ns = start_ns - self.since_ns if self.since_ns else 0
        self.since_ns = 0
        return idle_ns

    @property
    def has_events(self) -> bool:
        """True if there is input that the next frame applies."""
        return bool(self._events)

    def sleep(self, link: Link) -> None:
        """Sleeps until there is input or a message of the simulation, for at most `SLEEP_S`."""
        link.wake_when_newer()
        if link.ended is None:
            if self._waker is None:
                self._waker = Waker(link.wake_filenos, self._display.wake)
            self._waker.arm()
        self._events = self._display.wait_events(SLEEP_S)

    def prepend_pending(self, events: list[Event]) -> list[Event]:
        """Events that came while no frames were made, followed by `events`."""
        if self._events:
            events, self._events = [*self._events, *events], []
        return events

    def is_hidden_intake_due(self, now_ns: int) -> bool:
        """True one time per HIDDEN_INTAKE_NS. Then the hidden window must read snapshots."""
        if now_ns - self._intake_ns < HIDDEN_INTAKE_NS:
            return False
        self._intake_ns = now_ns
        return True

    def close(self) -> None:
        """Ends the thread that waits for messages of the simulation. The next sleep starts another thread."""
        if self._waker is not None:
            self._waker.close()
            self._waker = None


class ShownStatus:
    """The part of the last status of the physics process that the overlay shows, and the plots."""

    def __init__(self) -> None:
        self._latest: object = None
        self._shown: tuple[object, ...] = ()
        # texts, images and figures of the user's program, which are shown even without the overlay
        self._programs: tuple[object, ...] = ()

    def is_changed(self, link: Link, is_overlay_shown: bool) -> bool:
        """True if texts, images or figures have changed after the last call. Also True if the overlay is shown and the
        status text or the plots have changed."""
        programs = link.status.get("texts"), link.received.images, link.received.figures
        latest = link.status, link.ended, programs, link.received.plots
        if latest == self._latest:
            return False
        before, self._latest = self._shown, latest
        programs_before, self._programs = self._programs, programs
        shown = {name: value for name, value in link.status.items() if name not in SEEN_ELSEWHERE}
        self._shown = shown, link.ended, link.received.plots
        return self._programs != programs_before or (is_overlay_shown and before != self._shown)


class Waker:
    """Waits on a thread of its own until a file descriptor is readable. After each `arm`, it calls `wake` one time, as
    soon as one of the descriptors is readable.

    The thread sleeps in the kernel. Read all data of the descriptors before you call `arm`. Else `wake` is called at
    once. Close this object before you close the descriptors.
    """

    def __init__(self, descriptors: Iterable[int], wake: Callable[[], object]) -> None:
        self._wake = wake
        self._armed = InterruptibleEvent()
        self._is_closing = False
        self._ends, self._end = os.pipe()
        self._poller = select.poll()
        for descriptor in (*descriptors, self._ends):
            self._poller.register(descriptor, select.POLLIN)
        self._thread = threading.Thread(target=self._watch, name="waker", daemon=True)
        self._thread.start()

    def arm(self) -> None:
        """Requests one more call of `wake`."""
        self._armed.set()

    def close(self) -> None:
        """Ends the thread."""
        self._is_closing = True
        os.write(self._end, b"x")
        self._armed.set()
        self._thread.join()
        os.close(self._ends)
        os.close(self._end)

    def _watch(self) -> None:
        while True:
            self._armed.wait()
            self._armed.clear()
            if not self._is_closing:
                self._poller.poll()
            if self._is_closing:
                return
            self._wake()
