"""The display's word on frames already shown, brought to their rows and to the pacer."""

from __future__ import annotations

from tests.render.measure.runs import FRAME_NS, MS, START_NS, even
from twixt.ipc.plan import Plan
from twixt.ipc.snapshot import Head
from twixt.render.cores.thread_time import FrameCosts
from twixt.render.display.present_times import DISCARDED, Presented
from twixt.render.measure.frame_log import FrameLog
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.pacing.policy import FramePlan, FrameResult, FrameTimes
from twixt.render.playback import ClockState
from twixt.render.scene.groups import DrawnGroup
from twixt.render.scene.views import DrawnPicture
from twixt.render.snapshots.history import HeldSnapshot, Pair
from twixt.render.viewer.frame_record import (
    FIRST_REPORTS,
    LAG_MOVES_NS,
    LONGEST_AWAITED_NS,
    LONGEST_LAG_NS,
    MOST_AWAITED,
    WHOLE_REPORTS,
    Drawing,
    FrameFacts,
    FrameInputs,
    Lag,
    Pacing,
    Presents,
    ReportedRefresh,
    row_of,
)


class Window:
    """Counts from 100 on, as one whose first swaps were the probe's."""

    def __init__(self) -> None:
        self.swap_number = 100
        self.present_source = "swap"
        self.said: list[Presented] = []

    def drain_presents(self) -> list[Presented]:
        said, self.said = self.said, []
        return said


class Pacer:
    """Notes what it is told."""

    blocks = True

    def __init__(self) -> None:
        self.told: list[tuple[int, int | None]] = []

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
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
    presents.apply_reports()
    spoken = log.rows.row(8)
    assert (spoken.present_ns, spoken.present_flags, spoken.present_source) == (
        rows[8].present_ns + 9 * MS, "vsync", "display"
    )  # fmt: skip
    assert [log.rows.row(i) for i in (7, 9)] == [rows[7], rows[9]]
    assert pacer.told == [], "what lies between return and present is not known from one word"


def test_a_word_that_comes_eleven_frames_later_finds_its_row():
    window, log, _, _, presents = shown(12)
    window.said = [Presented(101, log.rows.row(11).present_ns, None, "")]
    presents.apply_reports()
    assert log.rows.row(0).present_source == "display"


def test_a_frame_that_was_discarded_is_marked_and_no_present():
    window, log, pacer, rows, presents = shown()
    window.said = [Presented(110, 0, None, DISCARDED)]
    presents.apply_reports()
    assert log.rows.row(9) == rows[9]._replace(present_flags=DISCARDED)
    assert pacer.told == []


def test_a_word_that_comes_too_late_changes_nothing():
    count = MOST_AWAITED + 2
    window, log, pacer, rows, presents = shown(count)
    window.said = [
        Presented(102, rows[1].present_ns, None, ""),
        Presented(100 + count, rows[-1].present_ns + LONGEST_AWAITED_NS, None, ""),
        Presented(7, rows[-1].present_ns, None, ""),
    ]
    presents.apply_reports()
    assert list(log.rows) == rows
    assert pacer.told == []


def test_the_lag_of_presents_behind_returns_is_the_median_at_once_and_moves_slowly_after():
    lag = Lag()
    for word in range(FIRST_REPORTS - 1):
        lag.observe(9 * MS + word)
        assert (lag.ns, lag.is_known) == (0, False)
    lag.observe(30 * MS)
    assert 9 * MS <= lag.ns < 9 * MS + FIRST_REPORTS
    before_ns = lag.ns
    for _ in range(200):
        lag.observe(11 * MS)
        assert 0 <= lag.ns - before_ns <= LAG_MOVES_NS
        before_ns = lag.ns
    assert lag.ns == 11 * MS


def test_a_lag_that_nobody_can_draw_for_is_none():
    lag = Lag()
    for _ in range(FIRST_REPORTS):
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
        presents.apply_reports()
    assert presents.lag_ns == 9 * MS
    plan = FramePlan(1, None, 100, 16 * MS, 1, "")
    assert presents.planned(plan) == plan._replace(present_ns=100 + 9 * MS)
    assert presents.seen(row).present_ns == row.present_ns + 9 * MS
    assert [at for at, _ in pacer.told] == [row.present_ns for row in even(40)[FIRST_REPORTS - 1 :]]
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
        told = ReportedRefresh()
        believed = [told.believed_ns(START_NS + i * FRAME_NS, told_ns) for i in range(2 * WHOLE_REPORTS)]
        assert believed[:WHOLE_REPORTS] == [None] * WHOLE_REPORTS
        assert set(believed[WHOLE_REPORTS:]) == {told_ns if is_true else None}


NEWEST = Head(
    tick=31, sim_time_ns=32, due_ns=33, published_ns=34, rate=0.35, dt_ns=36, step_cost_ns=37, world_epoch=38, count=39
)
FACTS = FrameFacts(
    frame=1, planned=FramePlan(2, 3, 4, 5, 6, "planned"), times=FrameTimes(10, 11, 12, 13, 14),
    paced=FrameResult(15, 16, 17, "paced"), pacing=Pacing(18, 19, "swap"),
    inputs=FrameInputs(NEWEST, Plan(23, 38, 24, 25, 0.26), ClockState("ahead", 20, 21, 0.22, False, "because"), 27, 28),
    drawing=Drawing(None, "full", 29, FrameCosts(41, 42, 43, 44, 45, 46), 47, 48, 49), is_probe=True, rested_ns=30,
)  # fmt: skip
UNSEEN = FrameRow(
    frame=1, start_ns=10, latch_ns=11, work_end_ns=12, swap_begin_ns=13, present_ns=14, predicted_present_ns=4,
    deadline_ns=16, wake_error_ns=8, clock_mode="ahead", clock_reason="because", offset_ns=20, room_ns=21,
    play_rate=0.22, rate=0.35, newest_tick=31, newest_sim_time_ns=32, newest_due_ns=33, newest_published_ns=34, steps=27,
    world_epoch=38, plan_number=23, plan_rate=0.26, pacer_interval_ns=18, planned_refreshes=19, pacer_reason="paced",
    gpu_ns=29, input_acted_ns=28, rested_ns=30, probe=True, swap_end_ns=14,
    present_source="swap", draw_ns=41, upload_ns=42, user_ns=43, gc_ns=44, stolen_ns=45, other_ns=46, quality="full",
    ahead_ns=47, events=48, event_late_ns=49,
)  # fmt: skip
OLDER, NEWER = HeldSnapshot(0, Head(tick=5, published_ns=50)), HeldSnapshot(1, Head(tick=6, published_ns=60))


def drawn(pair: Pair, method: str = "linear", is_beyond: bool = False) -> DrawnPicture:
    main = DrawnGroup(None, None, pair, 70, method, is_beyond)
    return DrawnPicture(main, (main,), 71, {"late": 72, "later": 73})


def of(shown: DrawnPicture) -> FrameFacts:
    return FACTS._replace(drawing=FACTS.drawing._replace(shown=shown))


def test_a_frame_that_shows_nothing_has_the_facts_alone() -> None:
    assert row_of(FACTS, FrameRow()) == UNSEEN


def test_a_blended_frame_names_both_snapshots_and_uses_the_newer() -> None:
    row = row_of(of(drawn(Pair(OLDER, NEWER, 0.25, 70))), FrameRow())
    assert row == UNSEEN._replace(
        draw_time_ns=70, alpha=0.25, mode="interpolated", method="linear", previous_tick=5, next_tick=6,
        used_published_ns=60, draw_due_ns=71, group_due_ns=72,
    )  # fmt: skip


def test_a_frame_that_stands_where_the_one_before_stood_is_held() -> None:
    still = drawn(Pair(OLDER, None, 0.0, 70))
    before = FrameRow(draw_time_ns=70, mode="interpolated")
    assert row_of(of(still), before).mode == "held"
    assert row_of(of(still), before._replace(draw_time_ns=69)).mode == "interpolated"
    assert row_of(of(still), before._replace(mode="none")).mode == "interpolated", "the first that shows anything"
    assert row_of(of(still), before)[:3] == UNSEEN[:3]


def test_what_is_shown_as_published_is_not_blended() -> None:
    pair = Pair(OLDER, NEWER, 0.25, 70)
    none = row_of(of(drawn(pair, "none")), FrameRow())
    assert (none.alpha, none.used_published_ns) == (0.0, 50)
    assert row_of(of(drawn(pair, "latest")), FrameRow()).used_published_ns == NEWEST.published_ns
    assert row_of(of(drawn(pair, is_beyond=True)), FrameRow()).mode == "extrapolated"
