"""Stops frames while the next one would equal the shown one, and continues as soon as something changes.

A picture that has not changed for some time stays the same until there is input, news from physics or damage to the
window. `RedrawRequests` decides when this time is over, so that frames can stop. `Waker` ends the sleep between frames
as soon as physics has news. Input ends that sleep by itself.

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

# Time from the last change of a paused picture until frames stop. It is enough to lay out the overlay, and for physics
# to answer a key.
PAUSED_NS = 300_000_000
# The same for a world that is not paused but publishes nothing. The frames of a shorter stall must be in the log,
# because the stall is part of the run.
SILENT_NS = 1_000_000_000
# Longest sleep while no frames are made. Between sleeps, signals and ends of simulations are checked.
SLEEP_S = 0.1
# Spare time that is assumed for garbage collection when frames stop. A collection may use half of it.
GARBAGE_NS = 10_000_000
# Interval of frames while physics is silent and the overlay counts the seconds since the last news.
SECONDS_COUNT_NS = 1_000_000_000
# Interval at which a hidden window reads snapshots, so that it is not far behind when it is shown again.
HIDDEN_INTAKE_NS = 1_000_000_000
# Fields of physics' status that the overlay does not show, or that it reads from snapshots.
SEEN_ELSEWHERE = ("tick", "step_ms", "lead_ms", "rate")


class RedrawRequests:
    """Requests for frames of one viewer. Code that changes the picture makes them."""

    def __init__(self) -> None:
        self._changed_ns = 0
        self._drawn_ns: int | None = None
        self._due_ns: dict[str, int] = {}  # by reason

    def request(self, now_ns: int) -> None:
        """Requests frames, because something visible has changed."""
        self._changed_ns = now_ns

    def request_at(self, reason: str, due_ns: int) -> None:
        """Requests one frame at `due_ns`, and replaces an earlier request with the same reason."""
        self._due_ns[reason] = due_ns

    def withdraw(self, reason: str) -> None:
        """Withdraws the request with this reason, if there is one."""
        self._due_ns.pop(reason, None)

    def drawn(self, draw_time_ns: int, began_ns: int, now_ns: int) -> None:
        """Records a frame that began at `began_ns`. draw_time_ns: simulated time that it shows; a new value counts as
        a change."""
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
    """Periods without frames of one viewer. since_ns: when frames stopped; 0 while frames are made. now_ns: the
    clock."""

    def __init__(self, display: Display, now_ns: Callable[[], int]) -> None:
        self.since_ns = 0
        self.status = ShownStatus()
        self._display, self._now_ns = display, now_ns
        self._waker: Waker | None = None
        self._intake_ns = 0
        self._events: list[Event] = []  # input while no frames were made; the next frame applies it

    def begin(self, last_present_ns: int) -> bool:
        """Records that frames stop after a frame shown at `last_present_ns`. Returns False if they have already
        stopped."""
        if self.since_ns:
            return False
        self.since_ns = last_present_ns or self._now_ns()
        return True

    def end(self, start_ns: int) -> int:
        """Ends a period without frames, because a frame began at `start_ns`. Returns its length in ns; 0 if there was
        none."""
        idle_ns = start_ns - self.since_ns if self.since_ns else 0
        self.since_ns = 0
        return idle_ns

    @property
    def has_events(self) -> bool:
        """True if there is input that the next frame applies."""
        return bool(self._events)

    def sleep(self, link: Link) -> None:
        """Sleeps until there is input or news of the simulation, at most `SLEEP_S`."""
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
        """True once in HIDDEN_INTAKE_NS. Then the hidden window must read snapshots."""
        if now_ns - self._intake_ns < HIDDEN_INTAKE_NS:
            return False
        self._intake_ns = now_ns
        return True

    def close(self) -> None:
        """Ends the thread that waits for news of the simulation; the next sleep starts another."""
        if self._waker is not None:
            self._waker.close()
            self._waker = None


class ShownStatus:
    """Last status of physics, as far as the overlay shows it."""

    def __init__(self) -> None:
        self._latest: object = None
        self._shown: tuple[object, ...] = ()
        self._programs: tuple[object, ...] = ()  # texts, images, figures; also shown without the overlay

    def is_changed(self, link: Link, is_overlay_shown: bool) -> bool:
        """True if, since the last call, texts, images or figures have changed, or the status text of a shown overlay
        has."""
        programs = link.status.get("texts"), link.received.images, link.received.figures
        latest = link.status, link.ended, programs
        if latest == self._latest:
            return False
        before, self._latest = self._shown, latest
        programs_before, self._programs = self._programs, programs
        shown = {name: value for name, value in link.status.items() if name not in SEEN_ELSEWHERE}
        self._shown = shown, link.ended
        return self._programs != programs_before or (is_overlay_shown and before != self._shown)


class Waker:
    """After each `arm`, calls `wake` once as soon as one of the descriptors is readable, on a thread of its own.

    The thread sleeps in the kernel. Read the descriptors before calling `arm`; else `wake` is called at once. Close
    this object before the descriptors.
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
