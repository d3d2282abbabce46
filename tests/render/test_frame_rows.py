"""A frame's facts come out under their own names in its row."""

from __future__ import annotations

from twixt.ipc.plan import Plan
from twixt.ipc.snapshot import Head
from twixt.render.frame_rows import FrameFacts, row_of
from twixt.render.history import Entry, Pair
from twixt.render.measure.frames import FrameRow
from twixt.render.pacing.pacer import FramePlan, FrameResult, FrameTimes
from twixt.render.picture.part import Drawn
from twixt.render.picture.picture import Shown
from twixt.render.playback import ClockState

NEWEST = Head(
    tick=31, sim_time_ns=32, due_ns=33, published_ns=34, rate=0.35, dt_ns=36, step_cost_ns=37, world_epoch=38, count=39
)
FACTS = FrameFacts(
    frame=1, planned=FramePlan(2, 3, 4, 5, 6, "planned"), times=FrameTimes(10, 11, 12, 13, 14),
    paced=FrameResult(15, 16, 17, "paced"), pacer_interval_ns=18, planned_refreshes=19,
    clock=ClockState("ahead", 20, 21, 0.22, False, "because"), plan=Plan(23, 38, 24, 25, 0.26), steps=27, newest=NEWEST,
    input_acted_ns=28, gpu_ns=29, probe=True, rested_ns=30,
)  # fmt: skip
UNSEEN = FrameRow(
    frame=1, start_ns=10, latch_ns=11, work_end_ns=12, swap_begin_ns=13, present_ns=14, predicted_present_ns=4,
    deadline_ns=16, wake_error_ns=8, clock_mode="ahead", clock_reason="because", offset_ns=20, room_ns=21,
    play_rate=0.22, rate=0.35, newest_tick=31, newest_sim_time_ns=32, newest_due_ns=33, newest_published_ns=34, steps=27,
    world_epoch=38, plan_number=23, plan_rate=0.26, pacer_interval_ns=18, planned_refreshes=19, pacer_reason="paced",
    gpu_ns=29, input_acted_ns=28, rested_ns=30, probe=True, swap_end_ns=14,
)  # fmt: skip
OLDER, NEWER = Entry(0, Head(tick=5, published_ns=50)), Entry(1, Head(tick=6, published_ns=60))


def shown(pair: Pair, method: str = "linear", is_beyond: bool = False) -> Shown:
    main = Drawn(None, None, pair, 70, method, is_beyond)
    return Shown(main, (main,), 71, {"late": 72, "later": 73})


def test_a_frame_that_shows_nothing_has_the_facts_alone() -> None:
    assert row_of(FACTS, None, FrameRow()) == UNSEEN


def test_a_blended_frame_names_both_snapshots_and_uses_the_newer() -> None:
    row = row_of(FACTS, shown(Pair(OLDER, NEWER, 0.25, 70)), FrameRow())
    assert row == UNSEEN._replace(
        draw_time_ns=70, alpha=0.25, mode="interpolated", method="linear", previous_tick=5, next_tick=6,
        used_published_ns=60, draw_due_ns=71, group_due_ns=72,
    )  # fmt: skip


def test_a_frame_that_stands_where_the_one_before_stood_is_held() -> None:
    still = shown(Pair(OLDER, None, 0.0, 70))
    before = FrameRow(draw_time_ns=70, mode="interpolated")
    assert row_of(FACTS, still, before).mode == "held"
    assert row_of(FACTS, still, before._replace(draw_time_ns=69)).mode == "interpolated"
    assert row_of(FACTS, still, before._replace(mode="none")).mode == "interpolated", "the first that shows anything"
    assert row_of(FACTS, still, before)[:3] == UNSEEN[:3]


def test_what_is_shown_as_published_is_not_blended() -> None:
    pair = Pair(OLDER, NEWER, 0.25, 70)
    none = row_of(FACTS, shown(pair, "none"), FrameRow())
    assert (none.alpha, none.used_published_ns) == (0.0, 50)
    assert row_of(FACTS, shown(pair, "latest"), FrameRow()).used_published_ns == NEWEST.published_ns
    assert row_of(FACTS, shown(pair, is_beyond=True), FrameRow()).mode == "extrapolated"
