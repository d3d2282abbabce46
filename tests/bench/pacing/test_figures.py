"""Cost and errors against numbers worked out by hand."""

from __future__ import annotations

import pytest

from bench.pacing.displays import Blocking, steady
from bench.pacing.play import LOST_FRAME_MS, PlayedFrame, errors_ms, figures, hitches_ms

MS = 1_000_000
DISPLAY = Blocking(steady(100))


def shown(*visible_ms: float, drawn_ms: tuple[float, ...] = ()) -> list[PlayedFrame]:
    drawn_ms = drawn_ms or visible_ms
    return [PlayedFrame(0, round(d * MS), round(v * MS), 10 * MS) for d, v in zip(drawn_ms, visible_ms, strict=True)]


def test_a_frame_that_comes_a_refresh_late_is_a_hitch_of_one_refresh() -> None:
    assert hitches_ms([at * MS for at in (0, 10, 20, 40, 50, 60)], DISPLAY) == pytest.approx(10)


def test_an_even_slow_rate_has_a_hitch_only_where_it_begins() -> None:
    assert hitches_ms([at * MS for at in (0, 10, 30, 50, 70, 80)], DISPLAY) == pytest.approx(10)


def test_cost_is_hitches_and_lost_frames_in_a_second() -> None:
    # 100 ms: ten refreshes, nine frames; one interval of 20 ms
    of = figures(shown(0, 10, 20, 40, 50, 60, 70, 80, 90, 100), DISPLAY, begin_ns=0)
    assert of.hitch_ms_per_s == pytest.approx(100)
    assert of.lost_per_s == pytest.approx(10)
    assert of.cost == pytest.approx(100 + LOST_FRAME_MS * 10)
    assert of.fps == pytest.approx(90)


def test_an_error_is_what_was_drawn_less_what_was_seen() -> None:
    late = shown(10, 20, 40, 50, drawn_ms=(10, 20, 30, 50))
    assert errors_ms(late) == pytest.approx([0, -10, 10])
    assert figures(late, DISPLAY, begin_ns=0).off_share == pytest.approx(2 / 3)


def test_drawing_for_the_instant_that_is_seen_has_no_error_however_late() -> None:
    assert errors_ms(shown(10, 20, 40, 50)) == [0, 0, 0]
