"""What is done before a frame starts: only where there is time, and not where it is for nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from bisect import bisect
from collections.abc import Callable
from pathlib import Path

import pytest

from twixt.render.pacing.wait import FIRST_NS
from twixt.render.viewer.spare_time import (
    FRAMES_TO_RETRY,
    LAST_INTAKES,
    LEAST_SPARE_NS,
    LONGEST_LEAD_NS,
    PreFrameSchedule,
)

ROOT = Path(__file__).parents[3]
LIMIT_S = 60.0
SWAPS = 100  # fewer are of a machine that has no time for frames
FRAME_NS, START_NS = 16_666_667, 1_000_000_000


def after(took_ns: list[int]) -> PreFrameSchedule:
    ahead = PreFrameSchedule()
    for each in took_ns:
        ahead.done(START_NS, START_NS + each)
    return ahead


def test_it_begins_shortly_before_the_start() -> None:
    assert PreFrameSchedule().begin_ns(START_NS - FRAME_NS, START_NS) == START_NS - FIRST_NS


@pytest.mark.parametrize("spare_ns", [-1_000_000, 0, 100_000, FIRST_NS, FIRST_NS + LEAST_SPARE_NS - 1])
def test_without_time_to_spare_the_frame_does_it(spare_ns: int) -> None:
    assert PreFrameSchedule().begin_ns(START_NS - spare_ns, START_NS) is None


def test_it_is_over_before_the_start_though_it_takes_longer_at_times() -> None:
    took_ns = [500_000 if number % 3 else 900_000 for number in range(60)]
    begin_ns = after(took_ns).begin_ns(START_NS - FRAME_NS, START_NS)
    assert begin_ns is not None
    assert START_NS - 1_500_000 < begin_ns < START_NS - 900_000


def test_the_first_that_takes_long_is_remembered_at_once() -> None:
    begin_ns = after([3_000_000]).begin_ns(START_NS - FRAME_NS, START_NS)
    assert begin_ns is not None
    assert begin_ns < START_NS - 3_000_000


def test_what_takes_long_is_left_to_the_frame_and_tried_again() -> None:
    ahead = after([LONGEST_LEAD_NS + 1] * 20)
    tries = [ahead.begin_ns(START_NS - FRAME_NS, START_NS) for _ in range(FRAMES_TO_RETRY + 1)]
    assert tries[:-1] == [None] * FRAMES_TO_RETRY
    assert tries[-1] is not None


def test_what_took_long_in_a_busy_minute_is_tried_again_where_there_is_less_time() -> None:
    ahead = after([4_000_000] * 60)
    tries = [ahead.begin_ns(START_NS - 3_000_000, START_NS) for _ in range(FRAMES_TO_RETRY)]
    assert tries[0] is None
    assert tries[-1] is not None


def test_snapshots_are_not_uploaded_twice_a_frame_where_physics_never_rests() -> None:
    ahead = PreFrameSchedule()
    taken = []
    for _ in range(2 * FRAMES_TO_RETRY):
        taken.append(ahead.has_early_intake)
        ahead.record_intake(ahead.has_early_intake, True)
    assert sum(taken) <= 2 * LAST_INTAKES
    assert any(taken[FRAMES_TO_RETRY:])


def test_now_and_then_one_comes_in_between() -> None:
    ahead = PreFrameSchedule()
    for number in range(200):
        ahead.record_intake(True, number % 5 == 0)
        ahead.record_intake(False, True)
        assert ahead.has_early_intake


@pytest.mark.display
@pytest.mark.starvable
def test_on_wayland_the_panels_are_redrawn_and_snapshots_taken_in_while_the_display_is_waited_for(
    sway_display: Callable[[float], dict[str, str]], tmp_path: Path
) -> None:
    command = [sys.executable, str(ROOT / "twixt.py"), "run", "--seconds", "3", "--size", "640x480"]
    subprocess.run([*command, "--profile", "t.json"], cwd=tmp_path, env=sway_display(60), check=True, timeout=LIMIT_S)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    named = [(event["name"], event["ts"], event["ts"] + event["dur"]) for event in events if event["ph"] == "X"]
    swaps = sorted((begin, end) for name, begin, end in named if name == "swap")
    assert len(swaps) > SWAPS

    def in_swaps(wanted: str) -> int:
        found = 0
        for name, begin, end in named:
            at = bisect(swaps, (begin, float("inf"))) - 1
            found += name == wanted and at >= 0 and end <= swaps[at][1]
        return found

    assert in_swaps("overlay") > 2, "of some thirty redraws"
    assert in_swaps("ahead of the frame") > 2, "of some 180 frames"
