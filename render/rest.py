"""When a viewer may stop making frames: each would be the one that is on the screen already.

The one idea: what stood still for a while, with nobody acting and nothing coming, stands until something stirs it: an
input, news from physics, a window that lost its picture. `Rest` says whether that while is over. `Waker` ends the
sleep that follows as soon as physics has something to say, as input does by itself.

Always: a picture that moves, by a change of method too, is not at rest. Deciding reads no clock.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twixt.ipc.link import Link

# From the last thing that stirred a picture that is paused: long enough for the overlay to be laid out and for
# physics to answer a key.
PAUSED_NS = 300_000_000
# The same for a world that is not paused, but publishes nothing: a stall that ends sooner is a rough stretch of a run,
# and its frames belong into the log.
SILENT_NS = 1_000_000_000
# Of physics' status the overlay does not show these, or takes them from snapshots.
SEEN_ELSEWHERE = ("tick", "step_ms", "lead_ms", "rate")


class Rest:
    """What one viewer's frames were like lately."""

    def __init__(self) -> None:
        self._stirred_ns = 0
        self._drawn_ns: int | None = None

    def stir(self, now_ns: int) -> None:
        """Something happened that a picture shows."""
        self._stirred_ns = now_ns

    def note(self, draw_time_ns: int, now_ns: int) -> None:
        """A frame was made. draw_time_ns: the simulated time that it shows."""
        if draw_time_ns != self._drawn_ns:
            self._drawn_ns = draw_time_ns
            self.stir(now_ns)

    def is_due(self, now_ns: int, is_paused: bool) -> bool:
        """Whether frames may stop until something stirs."""
        return now_ns - self._stirred_ns >= (PAUSED_NS if is_paused else SILENT_NS)


class Told:
    """What physics says of itself, as far as the overlay shows it."""

    def __init__(self) -> None:
        self._heard: object = None
        self._shown: tuple[object, ...] = ()

    def is_new(self, link: Link, is_shown: bool) -> bool:
        """Whether an overlay that is shown has to say something else than when this was last asked."""
        heard = link.status, link.ended
        if heard == self._heard:
            return False
        before, self._heard = self._shown, heard
        said = {name: value for name, value in link.status.items() if name not in SEEN_ELSEWHERE}
        self._shown = said, link.ended
        return is_shown and before != self._shown


class Waker:
    """Calls `wake`, from a thread of its own, when one of the descriptors becomes readable: once each time it is armed.

    The thread sleeps in the kernel. Whoever arms it takes in what has come first: else it is woken at once again.
    Close it before the descriptors are closed.
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
        """Wake once more."""
        self._armed.set()

    def close(self) -> None:
        """The thread ends."""
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
