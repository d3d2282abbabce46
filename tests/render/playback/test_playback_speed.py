"""Speeds of a clock that stops and starts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.playback.auto import GAIN_PER_NS, Brake

MS = 1_000_000
FRAME_NS = 16_666_667


def stop_from(left_ns: int, room_ns: int) -> list[float]:
    """Speeds, frame by frame, when nothing newer comes."""
    brake, speeds = Brake(), []
    for _ in range(40):
        advance = brake.before_end(FRAME_NS, left_ns, FRAME_NS, room_ns)
        advance = min(advance, left_ns)
        brake.played(advance, FRAME_NS)
        left_ns -= advance
        speeds.append(advance / FRAME_NS)
    return speeds


@given(st.integers(33 * MS, 50 * MS))
def test_with_room_speed_never_falls_by_more_than_about_four_tenths_a_frame(left_ns):
    speeds = [1.0, *stop_from(left_ns, 33 * MS)]
    assert max(before - now for before, now in pairwise(speeds)) <= 0.41
    assert sum(speeds[1:]) * FRAME_NS > 0.98 * left_ns, "what there is, is played"


def test_with_enough_left_nothing_is_braked():
    assert Brake().before_end(FRAME_NS, 40 * MS, FRAME_NS, 33 * MS) == FRAME_NS
    assert Brake().before_end(FRAME_NS, 17 * MS, FRAME_NS, 0) == FRAME_NS


def test_without_room_a_small_lack_costs_little_and_the_next_frame_still_moves():
    assert Brake().before_end(FRAME_NS, 16 * MS, FRAME_NS, 0) > 15.7 * MS
    first = Brake().before_end(FRAME_NS, 8 * MS, FRAME_NS, 0)
    assert 4 * MS < first < 6 * MS
    assert Brake().before_end(FRAME_NS, 100_000, FRAME_NS, 0) >= 100_000, "a stop is a stop"


def test_after_a_stop_speed_comes_back_over_frames_and_after_a_short_lack_at_once():
    brake = Brake()
    brake.played(0, FRAME_NS)
    assert brake.soft_start(FRAME_NS, FRAME_NS) == FRAME_NS
    brake.played(0, FRAME_NS)
    speeds = []
    for _ in range(6):
        advance = round(brake.soft_start(1.5 * FRAME_NS, FRAME_NS))
        brake.played(advance, FRAME_NS)
        speeds.append(advance / FRAME_NS)
    gain = GAIN_PER_NS * FRAME_NS
    assert speeds[0] <= gain * 1.001
    assert all(now - before <= gain * 1.001 for before, now in pairwise(speeds))
    assert speeds[-1] == pytest.approx(1.5)
