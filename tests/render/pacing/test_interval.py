"""When frames may take longer, and when they must again be short."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twixt.render.pacing.interval import MISSES_JUDGED_FRAMES, WARM_UP_FRAMES, IntervalPolicy

MS = 1_000_000


def warm(policy: IntervalPolicy) -> IntervalPolicy:
    for i in range(WARM_UP_FRAMES):
        policy.work_done(3 * MS, i)
        policy.frame_shown(3 * MS, False, i)
    return policy


def test_20_ms_of_work_on_16_ms_is_24_ms() -> None:
    policy = warm(IntervalPolicy(16 * MS))
    assert policy.work_done(20 * MS, 100 * MS) == "work 20.0 ms > 16.0 ms: widened to 24.0 ms"
    assert policy.interval_ns == 24 * MS


def test_work_that_just_fits_does_not_widen() -> None:
    policy = warm(IntervalPolicy(16 * MS))
    assert policy.work_done(16 * MS, 100 * MS) == ""


def test_where_swap_blocks_24_ms_are_two_refreshes() -> None:
    policy = warm(IntervalPolicy(16 * MS, refresh_ns=16 * MS))
    policy.work_done(20 * MS, 100 * MS)
    assert (policy.refreshes, policy.interval_ns) == (2, 32 * MS)


def test_a_refresh_measured_anew_changes_no_number_of_refreshes() -> None:
    policy = IntervalPolicy(17_200_000, refresh_ns=17_200_000)
    policy.refresh_ns = 16_100_000
    assert policy.refreshes == 1


def test_more_than_a_tenth_of_costly_frames_missed_widens_and_a_tenth_does_not() -> None:
    for missed_of_20, widens in ((2, False), (3, True)):
        policy = warm(IntervalPolicy(16 * MS))
        for i in range(MISSES_JUDGED_FRAMES):
            policy.work_done(15 * MS, (i + 1) * 16 * MS)
            policy.frame_shown(15 * MS, i < missed_of_20, (i + 1) * 16 * MS)
        assert (policy.interval_ns > 16 * MS) is widens


def test_cheap_frames_that_miss_do_not_widen() -> None:
    policy = warm(IntervalPolicy(16 * MS))
    for i in range(100):
        policy.work_done(3 * MS, (i + 1) * 16 * MS)
        assert policy.frame_shown(3 * MS, True, (i + 1) * 16 * MS) == ""


def played(policy: IntervalPolicy, works_ms: list[float], now_ns: int) -> int:
    """Frames of so much work, each shown in time; the instant after them."""
    for work_ms in works_ms:
        now_ns += max(policy.interval_ns, round(work_ms * MS))
        policy.work_done(round(work_ms * MS), now_ns)
        policy.frame_shown(round(work_ms * MS), False, now_ns)
    return now_ns


def test_one_long_frame_is_a_stall_also_while_the_interval_is_wide_for_a_load_that_is_over() -> None:
    policy = warm(IntervalPolicy(16 * MS))
    now_ns = played(policy, [5.0] * 15 + [35.0], 0)
    assert policy.interval_ns == 42 * MS
    now_ns = played(policy, [5.0, 5.0, 130.0], now_ns)
    assert policy.interval_ns == 42 * MS
    played(policy, [130.0], now_ns)
    assert policy.interval_ns == 156 * MS


def test_an_interval_much_wider_than_its_frames_need_is_narrow_within_a_second() -> None:
    policy = warm(IntervalPolicy(16 * MS))
    now_ns = played(policy, [130.0] * 2, 0)
    assert policy.interval_ns == 156 * MS
    ends_ns = now_ns + 1000 * MS
    while now_ns < ends_ns:
        now_ns = played(policy, [5.0], now_ns)
    assert policy.interval_ns == 16 * MS


@given(
    st.lists(st.tuples(st.integers(0, 90 * MS), st.booleans()), max_size=200), st.sampled_from([None, 7 * MS, 16 * MS])
)
def test_the_interval_is_never_under_the_shortest_wanted_and_every_change_has_a_reason(
    frames: list[tuple[int, bool]], refresh_ns: int | None
) -> None:
    policy, now_ns = IntervalPolicy(16 * MS, refresh_ns), 0
    for work_ns, missed in frames:
        before_ns = policy.interval_ns
        now_ns += max(work_ns, before_ns)
        reason = policy.work_done(work_ns, now_ns) + policy.frame_shown(work_ns, missed, now_ns)
        assert policy.interval_ns >= policy.base_ns >= (16 if refresh_ns is None else refresh_ns / MS) * MS
        assert (policy.interval_ns != before_ns) <= bool(reason)
