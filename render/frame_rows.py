"""The row of one frame: what was planned, what happened, and what was shown. Pure."""

from __future__ import annotations

from typing import NamedTuple

from twixt.ipc.plan import Plan
from twixt.ipc.snapshot import Head
from twixt.render.frame_parts import NO_PARTS, FrameParts
from twixt.render.measure.frames import FrameRow
from twixt.render.pacing.pacer import FramePlan, FrameResult, FrameTimes
from twixt.render.picture.part import AS_PUBLISHED
from twixt.render.picture.picture import Shown
from twixt.render.playback import ClockState

NO_HEAD = Head()


class FrameFacts(NamedTuple):
    """What the frame loop knows of a frame when it is on the screen."""

    frame: int
    planned: FramePlan
    times: FrameTimes
    paced: FrameResult
    pacer_interval_ns: int
    planned_refreshes: int
    clock: ClockState
    plan: Plan
    steps: int
    newest: Head  # of the snapshots known
    input_acted_ns: int
    gpu_ns: int | None
    probe: bool
    rested_ns: int
    present_source: str = ""
    quality: str = ""
    parts: FrameParts = NO_PARTS


def row_of(facts: FrameFacts, shown: Shown | None, last: FrameRow) -> FrameRow:
    """The frame's row. shown: None where nothing could be drawn yet. last: the row of the frame before."""
    planned, times, paced, clock, plan, newest = (
        facts.planned, facts.times, facts.paced, facts.clock, facts.plan, facts.newest
    )  # fmt: skip
    draw_time_ns, alpha, mode, method = 0, 0.0, "none", ""
    previous_tick = next_tick = -1
    used_published_ns = draw_due_ns = group_due_ns = 0
    if shown is not None:
        main = shown.main
        pair, draw_time_ns, method = main.pair, main.draw_time_ns, main.method
        previous = pair.previous.head
        following = previous if pair.next is None else pair.next.head
        is_blended = pair.next is not None and method not in AS_PUBLISHED and not main.is_beyond
        stands = draw_time_ns == last.draw_time_ns and last.mode != "none"
        alpha = pair.alpha if is_blended else 0.0
        mode = "extrapolated" if main.is_beyond else "held" if stands and not is_blended else "interpolated"
        previous_tick, next_tick = previous.tick, -1 if pair.next is None else following.tick
        used = newest if method == "latest" else following if is_blended else previous
        used_published_ns, draw_due_ns = used.published_ns, shown.due_ns
        group_due_ns = min(shown.group_due_ns.values(), default=0)
    # By place, in the order of the fields: naming each takes three times as long.
    return FrameRow(
        facts.frame, times.start_ns, times.latch_ns, times.work_end_ns, times.swap_begin_ns,
        times.presented_ns or times.swap_end_ns,
        planned.present_ns, paced.deadline_ns, times.start_ns - planned.start_ns,
        draw_time_ns, alpha, mode, method, clock.mode, clock.reason, clock.offset_ns, clock.room_ns, clock.rate,
        newest.rate, previous_tick, next_tick, newest.tick, newest.sim_time_ns, newest.due_ns, newest.published_ns,
        used_published_ns, facts.steps, draw_due_ns, group_due_ns, newest.world_epoch, plan.number, plan.rate,
        facts.pacer_interval_ns, facts.planned_refreshes, paced.reason, facts.gpu_ns, facts.input_acted_ns,
        facts.rested_ns, facts.probe, times.swap_end_ns, 0, "", facts.present_source, *facts.parts, facts.quality,
    )  # fmt: skip
