"""Every frame at once: nothing is placed, nothing is waited for. Pure."""

from __future__ import annotations

from twixt.render.pacing.frames import FrameTimes
from twixt.render.pacing.policy import Outcome, Planned
from twixt.render.pacing.work import Work


class Unlimited:
    """A frame is expected to be seen when its usual work and swap are over."""

    def __init__(self, work: Work) -> None:
        self.shown_ns: int | None = None
        self._work = work

    def plan(self, now_ns: int) -> Planned:
        return Planned(now_ns, None, now_ns + self._work.usual_ns + self._work.swap_ns)

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        self._work.drawn(work_end_ns - start_ns, work_end_ns - start_ns)
        return None

    def done(self, times: FrameTimes) -> Outcome:
        self._work.swapped(times.swap_end_ns - times.swap_begin_ns, times.swap_end_ns)
        return Outcome(times.presented_ns or times.swap_end_ns, 0)

    def display_said(self, presented_ns: int, refresh_ns: int | None) -> None:
        """Nothing follows it."""

    def restart(self) -> None:
        self.shown_ns = None
