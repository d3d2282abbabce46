"""The fixed buffer: its length, its three speeds, and a delay of the user's."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bench.clock.traces import MS, SECOND, START_NS, network, play, steady
from tests.render.playback.driven import FRAME_NS, Driven
from twixt.ipc.errors import TwixtError
from twixt.render.playback import PlaybackClock
from twixt.render.playback.modes import ArrivalJitter, buffer_ns


def test_buffer_is_an_interval_the_deviation_and_the_tolerance():
    assert buffer_ns(50 * MS, 4 * MS, tolerance=1.0) == pytest.approx(104 * MS)
    assert buffer_ns(100 * MS, 0, tolerance=0.5) == pytest.approx(150 * MS)


def test_deviation_is_that_of_arrival_gaps_and_a_stop_is_none():
    arrivals = ArrivalJitter()
    for k in range(400):
        arrivals.add(k * 50 * MS + (k % 2) * 5 * MS, 50 * MS)
    assert arrivals.deviation_ns == pytest.approx(5 * MS, rel=0.05)
    before = arrivals.deviation_ns
    arrivals.add(400 * 50 * MS + 60 * SECOND, 50 * MS)
    assert arrivals.deviation_ns == before


def test_from_measured_jitter_it_plays_two_and_a_half_intervals_behind():
    rows = steady(60)(0, 10)
    frames = play(PlaybackClock("buffered"), rows)
    ages = [(frame.present_ns - START_NS - frame.draw_time_ns) / MS for frame in frames[200:]]
    assert 30 < min(ages) <= max(ages) < 55


def test_its_speeds_are_two_percent_more_and_four_percent_less():
    """Lateness that falls by 200 ms half-way, and one that rises: speeds beside 1 are those two."""
    rows = [
        row._replace(arrival_ns=row.due_ns + (250 if k < 900 else 50) * MS) for k, row in enumerate(steady(60)(0, 30))
    ]
    frames = play(PlaybackClock("buffered"), rows)
    speeds = {
        round((b.draw_time_ns - a.draw_time_ns) / (b.present_ns - a.present_ns), 3) for a, b in pairwise(frames[60:])
    }
    assert 1.02 in speeds
    rows = [
        row._replace(arrival_ns=row.due_ns + (50 if k < 900 else 75) * MS) for k, row in enumerate(steady(60)(0, 30))
    ]
    frames = play(PlaybackClock("buffered"), rows)
    speeds = {
        round((b.draw_time_ns - a.draw_time_ns) / (b.present_ns - a.present_ns), 3) for a, b in pairwise(frames[60:])
    }
    assert 0.96 in speeds
    assert speeds <= {0.96, 1.0, 1.02}


@pytest.mark.parametrize("delay_ms", [40.0, 150.0])
def test_a_delay_of_the_users_is_met_exactly(delay_ms):
    clock = PlaybackClock("buffered", buffer_ms=delay_ms)
    Driven(clock).run(4)
    assert clock.state.offset_ns / MS == pytest.approx(delay_ms, abs=0.1)
    assert f"{delay_ms:.1f} ms behind" in clock.state.reason


def test_a_delay_changed_while_running_is_approached_without_a_jump():
    clock = PlaybackClock("buffered", buffer_ms=100)
    driven = Driven(clock)
    driven.run(3)
    for delay_ms in (300.0, 60.0, None):
        clock.buffer_ms = delay_ms
        frames = driven.run(6)
        assert all(0.7 < speed < 1.3 for speed in driven.speeds(frames))
        if delay_ms is not None:
            assert clock.state.offset_ns / MS == pytest.approx(delay_ms, abs=1)


def test_a_loss_is_not_seen_where_the_delay_covers_it():
    frames = play(PlaybackClock("buffered", buffer_ms=320), network(10)(3, 12), 3)
    speeds = [(b.draw_time_ns - a.draw_time_ns) / FRAME_NS for a, b in pairwise(frames[180:])]
    assert sum(abs(speed - 1) > 0.05 for speed in speeds) < 15


@pytest.mark.parametrize("buffer_ms", [-1, 1e9, "wide", True, float("nan")])
def test_a_delay_that_makes_no_sense_is_refused_and_the_old_one_kept(buffer_ms):
    clock = PlaybackClock("buffered", buffer_ms=50)
    with pytest.raises(TwixtError, match="buffer_ms must be 0 to 60000, or None"):
        clock.buffer_ms = buffer_ms
    assert clock.buffer_ms == 50
