"""Snapshots that come while simulated time stands: the clock takes them for that, and goes on afterwards."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bench.clock.traces import MS, START_NS
from twixt.render.playback import MODES, PlaybackClock
from twixt.render.playback.stream import Stream

STEP_NS = 16 * MS


class Publisher:
    """A loop that publishes what is due now every 16 ms, and the frames that show it, at another phase."""

    def __init__(self, clock: PlaybackClock) -> None:
        self.clock, self.now_ns, self.sim_ns = clock, START_NS, 0
        self.drawn: list[int] = []

    def publish(self, count: int, steps: bool) -> list[int]:
        first = len(self.drawn)
        for _ in range(count):
            self.sim_ns += STEP_NS * steps
            self.clock.observe(self.sim_ns, self.now_ns, self.now_ns + MS)
            self.drawn.append(self.clock.draw_time_ns(self.now_ns + 11 * MS))
            self.now_ns += STEP_NS
        return self.drawn[first:]


@pytest.mark.parametrize("reach_ms", [0, 250])
@pytest.mark.parametrize("stands", [9, 60, 600])
@pytest.mark.parametrize("mode", MODES)
def test_while_time_stands_the_newest_is_drawn_and_then_time_goes_on_as_before(mode, stands, reach_ms):
    clock = PlaybackClock(mode)
    clock.reach_ns = reach_ms * MS
    publisher = Publisher(clock)
    before = publisher.publish(300, steps=True)
    lag_ns = publisher.sim_ns - before[-1]
    standing = publisher.publish(stands, steps=False)
    assert 0 <= standing[-1] - publisher.sim_ns <= reach_ms * MS
    assert standing[-1] == standing[8], "whatever may be drawn beyond the newest"
    after = publisher.publish(300, steps=True)
    speeds = [(b - a) / STEP_NS for a, b in pairwise(after)]
    assert min(speeds[4:]) > 0.9, "no crawl"
    assert max(speeds) < 1.6, "no rush"
    assert publisher.sim_ns - after[-1] == pytest.approx(lag_ns, abs=3 * MS), "the rest bought no latency"


def test_the_map_is_flat_where_time_stands_and_duplicates_change_nothing():
    stream = Stream()
    stream.observe(0, START_NS, START_NS)
    stream.observe(STEP_NS, START_NS + STEP_NS, START_NS + STEP_NS)
    for due_ms in (100, 50, 100, 150):
        stream.observe(STEP_NS, START_NS + due_ms * MS, START_NS + due_ms * MS)
    stream.observe(2 * STEP_NS, START_NS + 150 * MS + STEP_NS, START_NS + 150 * MS + STEP_NS)
    assert [stream.sim_at(START_NS + ms * MS) for ms in (16, 60, 150, 158)] == [STEP_NS, STEP_NS, STEP_NS, 24 * MS]
    assert stream.due_of(STEP_NS) == START_NS + 150 * MS
    assert stream.rhythm.interval_ns == STEP_NS
