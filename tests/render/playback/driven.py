"""A physics process as a clock sees it: plans, steps ahead of their due instants or at them, stops and changes of scale.

Each frame of `Driven.run` lets physics publish what it would have by then, and asks the clock once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from bench.clock.traces import MS, SECOND, START_NS
from twixt.ipc.plan import Plan
from twixt.render.playback import PlaybackClock

FRAME_NS = SECOND // 60
STEP_NS = SECOND // 60
# A frame is chosen so long before it is shown.
LATCH_NS = 15 * MS


@dataclass
class Shown:
    """One frame."""

    at_s: float
    draw_time_ns: int
    newest_ns: int
    scale: float


class Driven:
    """Physics of 60 steps a second and one clock that follows it."""

    def __init__(self, clock: PlaybackClock, early: bool = True, scale: float = 1.0, start_ns: int = START_NS) -> None:
        self.clock, self._early, self.scale = clock, early, scale
        self.now_ns = self._start_ns = start_ns
        self._plan = Plan(1, 0, start_ns, 0, scale)
        self._steps = 0
        self.shown: list[Shown] = []
        clock.replan(self._plan)

    def run(self, seconds: float, stopped: bool = False) -> list[Shown]:
        """Frames for so long; stopped: physics makes no step meanwhile. Returns those frames."""
        first = len(self.shown)
        for _ in range(round(seconds * SECOND / FRAME_NS)):
            if not stopped:
                self._publish()
            drawn = self.clock.draw_time_ns(self.now_ns + (LATCH_NS if self._early else 0))
            at_s = (self.now_ns - self._start_ns) / SECOND
            self.shown.append(Shown(at_s, drawn, (self._steps - 1) * STEP_NS, self.scale))
            self.now_ns += FRAME_NS
        return self.shown[first:]

    def replan(self, scale: float, from_newest: bool = False, unseen: int = 0) -> None:
        """A pause (0), a change of scale, or, after a stop, a start anew where physics is: `unseen` steps beyond all
        that the clock was shown."""
        due_sim = self._plan.sim_time_at_ns(self.now_ns)
        newest = (self._steps - 1) * STEP_NS
        self.scale = scale
        sim_ns = newest + unseen * STEP_NS if from_newest else min(due_sim, newest)
        self._plan = Plan(self._plan.number + 1, 0, self.now_ns, sim_ns, scale)
        self.clock.replan(self._plan)

    def lose(self, count: int) -> None:
        """The next steps are made, but never seen."""
        self._steps += count

    def speeds(self, frames: list[Shown]) -> list[float]:
        """Relative to the scale of each frame."""
        return [(b.draw_time_ns - a.draw_time_ns) / FRAME_NS / b.scale for a, b in pairwise(frames)]

    def _publish(self) -> None:
        while self.scale > 0:
            due = self._plan.due_ns(self._steps * STEP_NS)
            assert due is not None
            lead = LATCH_NS + STEP_NS / self.scale + 2 * MS if self._early else 0
            if due - lead > self.now_ns:
                return
            arrival = self.now_ns if self._early else due
            self.clock.observe(self._steps * STEP_NS, due, arrival, plan_number=self._plan.number)
            self._steps += 1
