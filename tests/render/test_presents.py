"""The display's word on frames already shown, brought to their rows and to the pacer."""

from __future__ import annotations

from tests.render.measure.runs import FRAME_NS, MS, START_NS, even
from twixt.render.display.presentation import DISCARDED, Presented
from twixt.render.measure.log import FrameLog
from twixt.render.pacing.pacer import FramePlan
from twixt.render.presents import (
    FIRST_WORDS,
    LAG_MOVES_NS,
    LONGEST_AWAITED_NS,
    LONGEST_LAG_NS,
    MOST_AWAITED,
    WHOLE_WORDS,
    Lag,
    Presents,
    ToldRefresh,
)


class Window:
    """Counts from 100 on, as one whose first swaps were the probe's."""

    def __init__(self) -> None:
        self.swap_number = 100
        self.present_source = "swap"
        self.said: list[Presented] = []

    def take_presents(self) -> list[Presented]:
        said, self.said = self.said, []
        return said


class Pacer:
    """Notes what it is told."""

    blocks = True

    def __init__(self) -> None:
        self.told: list[tuple[int, int | None]] = []

    def display_said(self, presented_ns: int, refresh_ns: int | None) -> None:
        self.told.append((presented_ns, refresh_ns))


def shown(count: int = 10):  # type: ignore[no-untyped-def]
    window, log, pacer, rows = Window(), FrameLog(), Pacer(), even(count)
    presents = Presents(window, log, pacer)  # type: ignore[arg-type]
    for row in rows:
        window.swap_number += 1
        log.add(row)
        presents.shown(row.frame, row.present_ns)
    return window, log, pacer, rows, presents


def test_a_word_finds_the_row_of_its_swap():
    window, log, pacer, rows, presents = shown()
    window.said = [Presented(109, rows[8].present_ns + 9 * MS, 16 * MS, "vsync")]
    presents.take()
    spoken = log.rows.row(8)
    assert (spoken.present_ns, spoken.present_flags, spoken.present_source) == (
        rows[8].present_ns + 9 * MS, "vsync", "display"
    )  # fmt: skip
    assert [log.rows.row(i) for i in (7, 9)] == [rows[7], rows[9]]
    assert pacer.told == [], "what lies between return and present is not known from one word"


def test_a_frame_that_was_discarded_is_marked_and_no_present():
    window, log, pacer, rows, presents = shown()
    window.said = [Presented(110, 0, None, DISCARDED)]
    presents.take()
    assert log.rows.row(9) == rows[9]._replace(present_flags=DISCARDED)
    assert pacer.told == []


def test_a_word_that_comes_too_late_changes_nothing():
    window, log, pacer, rows, presents = shown()
    old = 110 - MOST_AWAITED
    window.said = [
        Presented(old, rows[9 - MOST_AWAITED].present_ns, None, ""),
        Presented(110, rows[9].present_ns + LONGEST_AWAITED_NS, None, ""),
        Presented(7, rows[9].present_ns, None, ""),
    ]
    presents.take()
    assert list(log.rows) == rows
    assert pacer.told == []


def test_the_lag_of_presents_behind_returns_is_the_median_at_once_and_moves_slowly_after():
    lag = Lag()
    for word in range(FIRST_WORDS - 1):
        lag.observe(9 * MS + word)
        assert (lag.ns, lag.is_known) == (0, False)
    lag.observe(30 * MS)
    assert 9 * MS <= lag.ns < 9 * MS + FIRST_WORDS
    before_ns = lag.ns
    for _ in range(200):
        lag.observe(11 * MS)
        assert 0 <= lag.ns - before_ns <= LAG_MOVES_NS
        before_ns = lag.ns
    assert lag.ns == 11 * MS


def test_a_lag_that_nobody_can_draw_for_is_none():
    lag = Lag()
    for _ in range(FIRST_WORDS):
        lag.observe(LONGEST_LAG_NS + 1)
    assert (lag.is_known, lag.ns) == (True, 0)


def test_frames_are_drawn_for_when_they_are_seen_and_the_pacer_keeps_to_the_returns():
    window, log, pacer, _rows, presents = shown(0)
    window.present_source = "display"
    for row in even(40):
        window.swap_number += 1
        log.add(row)
        presents.shown(row.frame, row.present_ns)
        window.said = [Presented(window.swap_number, row.present_ns + 9 * MS, None, "")]
        presents.take()
    assert presents.lag_ns == 9 * MS
    plan = FramePlan(1, None, 100, 16 * MS, 1, "")
    assert presents.planned(plan) == plan._replace(present_ns=100 + 9 * MS)
    assert presents.seen(row).present_ns == row.present_ns + 9 * MS
    assert [at for at, _ in pacer.told] == [row.present_ns for row in even(40)[FIRST_WORDS - 1 :]]
    window.present_source = "swap"
    assert presents.planned(plan) is plan
    window.present_source = "display"
    presents.restart()
    assert presents.planned(plan) is plan


def test_a_refresh_that_the_display_tells_of_is_believed_where_its_presents_are_that_far_apart():
    for told_ns, is_true in (
        (FRAME_NS, True),
        (FRAME_NS // 2, False),
        (2 * FRAME_NS, False),
        (round(FRAME_NS * 0.85), False),
        (0, False),
    ):
        told = ToldRefresh()
        believed = [told.believed_ns(START_NS + i * FRAME_NS, told_ns) for i in range(2 * WHOLE_WORDS)]
        assert believed[:WHOLE_WORDS] == [None] * WHOLE_WORDS
        assert set(believed[WHOLE_WORDS:]) == {told_ns if is_true else None}
