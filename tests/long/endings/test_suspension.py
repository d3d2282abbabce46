"""The machine sleeps for five minutes between two steps: one new plan, one clean cut, nothing made up for.

The clock that all processes share does not jump in a test, so what decides is asked with instants that do.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from bench.clock.traces import MS, SECOND
from tests.render.playback.driven import Driven
from twixt.render.playback import MODES, PlaybackClock
from twixt.sim.schedule.schedule import Schedule

SLEPT_NS = 300 * SECOND
STEP_NS = 20 * MS
COST_NS = 1 * MS
LEAD_NS = 16 * MS


class Stepping:
    """A schedule of 50 steps a second in a loop that may be put to sleep."""

    def __init__(self) -> None:
        self.schedule = Schedule(STEP_NS / SECOND, 1.0, None, MS)
        self.schedule.start(0)
        self.now_ns = self.given_up_ns = 0
        self.unpaced = 0  # steps that began without waiting

    def steps(self, count: int, asleep: str = "") -> None:
        """So many; asleep: "waiting" or "stepping", where the machine sleeps in the first of them."""
        for number in range(count):
            start_ns = self.schedule.start_ns(LEAD_NS)
            assert start_ns is not None
            waits = start_ns > self.now_ns
            self.unpaced += not waits
            self.now_ns = max(self.now_ns, start_ns)
            if asleep == "waiting" and number == 0:
                self.now_ns += SLEPT_NS
            begun_ns = self.now_ns
            self.now_ns += COST_NS + SLEPT_NS * (asleep == "stepping" and number == 0)
            busy_ns, reach_ns = self.now_ns - begun_ns, self.now_ns - start_ns if waits else None
            self.given_up_ns += self.schedule.stepped(self.now_ns, busy_ns, reach_ns)
            self.schedule.published()


@pytest.mark.parametrize("asleep", ["waiting", "stepping"])
def test_physics_gives_the_five_minutes_up_counts_them_and_steps_on_as_before(asleep: str) -> None:
    loop = Stepping()
    loop.steps(200)
    plan, lead_ns, unpaced = loop.schedule.plan, loop.schedule.lead_ns(LEAD_NS), loop.unpaced
    loop.steps(1, asleep)
    assert loop.schedule.plan.number == plan.number + 1
    assert loop.schedule.plan.rate == plan.rate
    assert loop.schedule.plan.sim_time_ns == 201 * STEP_NS
    assert abs(loop.given_up_ns - SLEPT_NS) < lead_ns
    began_ns = loop.now_ns
    loop.steps(100)
    assert loop.schedule.plan.number == plan.number + 1
    assert loop.schedule.lead_ns(LEAD_NS) == lead_ns
    assert loop.schedule.rate == 1.0
    # Only what is to be ahead of the present again is made at once.
    assert loop.unpaced - unpaced <= lead_ns // STEP_NS + 1
    assert loop.now_ns - began_ns >= 100 * STEP_NS - lead_ns - STEP_NS


@pytest.mark.parametrize("early", [True, False], ids=["ahead", "at due"])
@pytest.mark.parametrize("mode", sorted(MODES))
def test_a_picture_goes_on_where_it_stood_with_one_cut(mode: str, early: bool) -> None:
    clock = PlaybackClock(mode)
    driven = Driven(clock, early)
    before = driven.run(4)[-1].draw_time_ns
    driven.now_ns += SLEPT_NS
    driven.replan(1.0, from_newest=True)
    after = driven.run(4)
    assert all(b.draw_time_ns >= a.draw_time_ns for a, b in pairwise(driven.shown))
    assert sum(speed > 2.01 for speed in driven.speeds(after)) <= 1
    assert 3.5 * SECOND < after[-1].draw_time_ns - before < 4.2 * SECOND
    assert abs(clock.state.offset_ns) < 100 * MS, "the sleep bought latency"
