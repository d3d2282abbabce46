"""Stops frames while the next one would equal the shown one, and continues as soon as something changes.

The one idea: a picture that has not changed for a while stays the same until there is input, news from physics or
damage to the window. `UnchangedPicture` decides when that while is over. `Waker` ends the sleep that follows as soon as
physics has news; input ends it by itself.

Always: a picture that moves, also by a change of method, is not idle. `UnchangedPicture` takes instants and reads no
clock.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from twixt.ipc.trace import spans as kinds
from twixt.render.display.input import Event

if TYPE_CHECKING:
    from twixt.ipc.session.client import Link
    from twixt.render.viewer.frame_loop import FrameLoop

# Time from the last change of a paused picture until frames stop: enough to lay out the overlay, and for physics to
# answer a key.
PAUSED_NS = 300_000_000
# The same for a world that is not paused but publishes nothing. The frames of a shorter stall belong in the log: the
# stall is part of the run.
SILENT_NS = 1_000_000_000
# Longest sleep while no frames are made. Signals and ends of simulations are checked between sleeps.
SLEEP_S = 0.1
# Spare time that is assumed for garbage collection when frames stop; a collection may take half of it.
GARBAGE_NS = 10_000_000
# Interval of frames while physics is silent and the overlay counts the seconds of that.
SECONDS_COUNT_NS = 1_000_000_000
# Interval in which a hidden window takes in snapshots, so that it is not far behind when it is shown again.
HIDDEN_TAKE_NS = 1_000_000_000
# Fields of physics' status that the overlay does not show or reads from snapshots.
SEEN_ELSEWHERE = ("tick", "step_ms", "lead_ms", "rate")


class Idle:
    """Idle time of one frame loop. since_ns: when frames stopped; 0 while they are made."""

    def __init__(self, loop: FrameLoop) -> None:
        self.since_ns = 0
        self.picture = UnchangedPicture()
        self.status = ShownStatus()
        self._loop, self._now_ns = loop, loop.timer.now_ns
        self._waker: Waker | None = None
        self._taken_ns = 0
        self._events: list[Event] = []  # input while no frames were made; the next frame obeys it

    @property
    def is_due(self) -> bool:
        """True if the next frame would equal the shown one: call `sleep` in its place."""
        loop, now_ns = self._loop, self._now_ns()
        is_paused, controls, last = loop.intake.plan.rate == 0, loop.controls, loop.record.last
        if loop.is_starting or self._events or not self.picture.is_idle(now_ns, is_paused):
            return False
        if controls.overlay and not is_paused and now_ns - last.present_ns >= SECONDS_COUNT_NS:
            return False
        screenshots = loop.record.screenshots
        if loop.input.note(now_ns) != loop.over.key_note or screenshots.has_news or loop.over.is_being_made:
            return False
        if not loop.quality.is_drawn_in_full(last.quality):
            return False
        return not screenshots.is_due(controls.screenshot, loop.record.first_present_ns, now_ns)

    def sleep(self) -> None:
        """Sleeps in place of a frame until something changes, `SLEEP_S` at most."""
        self.begin()
        loop, display = self._loop, self._loop.display
        link = loop.link
        link.wake_when_newer()
        if link.ended is None:
            if self._waker is None:
                self._waker = Waker(link.wake_filenos, display.wake)
            self._waker.arm()
        loop.spare.garbage.while_idle(self._now_ns() - self.since_ns)
        self._events = display.wait_events(SLEEP_S)
        now_ns = self._now_ns()
        loop.stage.pass_still(now_ns)
        link.poll()  # reads what ended the sleep; unread, it would end the next one too
        is_news = loop.intake.take().is_news or self.status.is_changed(link, loop.controls.overlay)
        if self._events or is_news or display.take_damage():
            self.picture.change(now_ns)

    def sleep_while_hidden(self) -> None:
        """Sleeps in place of a frame while the window is not shown; obeys input, and takes in snapshots every
        HIDDEN_TAKE_NS."""
        self.begin()
        loop = self._loop
        loop.obey(loop.display.wait_events(SLEEP_S))
        loop.spare.garbage.while_idle(self._now_ns() - self.since_ns)
        now_ns = self._now_ns()
        if now_ns - self._taken_ns >= HIDDEN_TAKE_NS:
            self._taken_ns = now_ns
            loop.intake.take()
        else:
            loop.link.poll()

    def begin(self) -> None:
        """Notes that frames stop, and does the work that this allows: log rows, garbage. May be called again."""
        if not self.since_ns:
            loop = self._loop
            self.since_ns = loop.record.last.present_ns or self._now_ns()
            loop.quality.forget()
            loop.core_sharing.rest()
            loop.record.log.write_some(loop.record.log.count)
            loop.spare.garbage.in_spare_time(GARBAGE_NS)

    def end(self, start_ns: int) -> int:
        """Ends idle time by a frame that began at `start_ns`; returns the ns without frames, 0 if there were none."""
        idle_ns = start_ns - self.since_ns if self.since_ns else 0
        self.since_ns = 0
        return idle_ns

    def prepend_pending(self, events: list[Event]) -> list[Event]:
        """Events that came while no frames were made, followed by these."""
        if self._events:
            events, self._events = [*self._events, *events], []
        return events

    def follow(self) -> None:
        """Ends the thread that waits for news of the simulation: another one is drawn from now on."""
        self.begin()  # the time since the last frame belongs to no frame
        if self._waker is not None:
            self._waker.close()
            self._waker = None

    def close(self) -> None:
        """Ends the thread that waits for news."""
        if self.since_ns:
            self._loop.timer.spans.add(kinds.REST, self.since_ns, self._now_ns())
        if self._waker is not None:
            self._waker.close()


class UnchangedPicture:
    """Detects that the frames of one viewer have not changed for a while."""

    def __init__(self) -> None:
        self._changed_ns = 0
        self._drawn_ns: int | None = None

    def change(self, now_ns: int) -> None:
        """Notes a change that a frame shows."""
        self._changed_ns = now_ns

    def drawn(self, draw_time_ns: int, now_ns: int) -> None:
        """Notes a frame. draw_time_ns: simulated time that it shows; a new value is a change."""
        if draw_time_ns != self._drawn_ns:
            self._drawn_ns = draw_time_ns
            self.change(now_ns)

    def is_idle(self, now_ns: int, is_paused: bool) -> bool:
        """True if frames may stop until the next change."""
        return now_ns - self._changed_ns >= (PAUSED_NS if is_paused else SILENT_NS)


class ShownStatus:
    """Last status of physics, as far as the overlay shows it."""

    def __init__(self) -> None:
        self._latest: object = None
        self._shown: tuple[object, ...] = ()
        self._programs: tuple[object, ...] = ()  # texts, images, figures, which are shown without the overlay, too

    def is_changed(self, link: Link, is_overlay_shown: bool) -> bool:
        """True if the overlay is shown and its status text differs from that at the last call."""
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
    """Calls `wake` on a thread of its own when one of the descriptors is readable, once after each `arm`.

    The thread sleeps in the kernel. Read the descriptors before `arm`: else `wake` is called at once. Close this object
    before the descriptors.
    """

    def __init__(self, descriptors: Iterable[int], wake: Callable[[], object]) -> None:
        self._wake = wake
        self._armed = threading.Event()
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
