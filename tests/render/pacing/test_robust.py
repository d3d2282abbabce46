"""The pacer under times that cannot be: it never raises, never stalls, and predicted presents always grow."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.render.pacing import FrameTimes, Pacer, Refresh

MS = 1_000_000
instants = st.one_of(
    st.integers(-(10**10), 10**11), st.sampled_from([0, -1, 2**62, -(2**62), 10**30, 1]), st.integers(0, 10**9)
)
steps = st.one_of(
    st.integers(0, 40 * MS), st.integers(-50 * MS, 50 * MS), st.sampled_from([0, -(10**12), 10**12, 10**18])
)
lengths = st.one_of(
    st.none(), st.floats(allow_nan=True, allow_infinity=True), st.integers(-(10**9), 10**12),
    st.sampled_from([0, 1_000_000, 16_666_667]),
)  # fmt: skip
policies = st.sampled_from(["auto", "vsync", "timer", "unlimited"])
MOST_WAIT_NS = 3 * 110 * MS


@settings(max_examples=120, deadline=None)
@given(policies, lengths, st.booleans(), lengths, st.lists(st.lists(steps, min_size=7, max_size=7), max_size=40))
def test_no_times_make_it_raise_stall_or_go_back(
    policy: str, period_ns: float | None, blocks: bool, fps: float | None, frames: list[list[int]]
) -> None:
    wanted_fps = None if fps is None or not math.isfinite(fps) else max(10.0, abs(float(fps)) % 300)
    pacer = Pacer(policy, wanted_fps, Refresh(blocks, period_ns, "made up"))  # type: ignore[arg-type]
    now_ns, before_ns = 0, None
    for to_now, to_start, to_end, to_swap, swap, said, fence in frames:
        now_ns += to_now
        plan = pacer.next_frame(now_ns)
        assert 0 <= plan.start_ns - now_ns <= MOST_WAIT_NS
        if plan.swap_at_ns is not None:
            assert plan.swap_at_ns - now_ns <= MOST_WAIT_NS
        if before_ns is not None:
            assert plan.present_ns > before_ns
        before_ns = plan.present_ns
        start_ns = plan.start_ns + to_start
        work_end_ns = start_ns + to_end
        swap_at_ns = pacer.drawn(start_ns, work_end_ns)
        if swap_at_ns is not None and 0 <= to_end < 10**9 and 0 <= to_start < 10**9:
            assert swap_at_ns - work_end_ns <= MOST_WAIT_NS
        begin_ns = work_end_ns + to_swap
        presented_ns = None if fence % 3 else begin_ns + fence
        pacer.frame_done(FrameTimes(start_ns, start_ns, work_end_ns, begin_ns, begin_ns + swap, presented_ns))
        pacer.display_reported(now_ns + said, None if said % 2 else abs(said))
        now_ns = begin_ns + swap


@settings(max_examples=120, deadline=None)
@given(policies, st.booleans(), st.lists(st.tuples(instants, instants, instants, lengths), max_size=30))
def test_instants_from_nowhere_do_not_make_it_raise_or_go_back(
    policy: str, blocks: bool, frames: list[tuple[int, int, int, float | None]]
) -> None:
    pacer = Pacer(policy, None, Refresh(blocks, 16_666_667, "made up"))
    for now_ns, one_ns, other_ns, refresh_ns in frames:
        plan = pacer.next_frame(now_ns)
        assert 0 <= plan.start_ns - now_ns <= MOST_WAIT_NS
        pacer.drawn(one_ns, other_ns)
        pacer.frame_done(FrameTimes(one_ns, other_ns, one_ns, now_ns, other_ns, one_ns))
        pacer.display_reported(other_ns, refresh_ns)  # type: ignore[arg-type]
        pacer.at_most(refresh_ns)


def test_a_clock_that_goes_back_by_a_minute_stops_nothing() -> None:
    pacer = Pacer("auto", None, Refresh(True, 16_666_667, "made up"))
    now_ns = before_ns = 10**12
    for frame in range(60):
        if frame == 30:
            now_ns -= 60 * 10**9
        plan = pacer.next_frame(now_ns)
        if frame != 30:
            assert plan.present_ns > before_ns or frame == 0
        before_ns = plan.present_ns
        assert plan.start_ns - now_ns <= MOST_WAIT_NS
        end_ns = plan.start_ns + 3 * MS
        pacer.drawn(plan.start_ns, end_ns)
        now_ns = end_ns + 5 * MS
        pacer.frame_done(FrameTimes(plan.start_ns, plan.start_ns, end_ns, end_ns, now_ns))
