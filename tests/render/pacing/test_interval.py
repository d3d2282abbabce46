"""When frames may take longer, and when they must again be short."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.pacing.interval import WARM_UP_FRAMES, IntervalChoice
from twixt.render.pacing.interval_evidence import FITTING_FRAMES

MS = 1_000_000


def warm(choice: IntervalChoice) -> IntervalChoice:
    for i in range(WARM_UP_FRAMES):
        choice.frame(3 * MS, i)
    return choice


def played(choice: IntervalChoice, works_ms: list[float], now_ns: int = 0) -> int:
    """Frames of so much work; the instant after them."""
    for work_ms in works_ms:
        now_ns += max(choice.interval_ns, round(work_ms * MS))
        choice.frame(round(work_ms * MS), now_ns)
    return now_ns


@pytest.mark.parametrize("works_ms", [[20], [56], [20, 3, 20], [3, 20, 20, 3, 3, 20, 20]])
def test_fewer_than_three_of_four_long_frames_change_nothing(works_ms: list[float]) -> None:
    choice = warm(IntervalChoice(16 * MS))
    played(choice, [10.0] * 8 + works_ms + [10.0] * 8)
    assert (choice.interval_ns, choice.widened) == (16 * MS, 0)


@pytest.mark.parametrize("works_ms", [[20, 20, 20], [20, 20, 3, 20], [20, 3, 20, 20]])
def test_three_of_four_long_frames_widen_to_hold_them(works_ms: list[float]) -> None:
    choice = warm(IntervalChoice(16 * MS))
    played(choice, [10.0] * 8 + works_ms)
    assert 20 * MS <= choice.interval_ns <= 21 * MS


def test_after_frames_were_forgotten_a_replay_widens_as_soon_as_at_the_start() -> None:
    mixed = [24.0, 5.0] * 300

    def frames_until_widened(choice: IntervalChoice) -> int:
        now_ns, count = 0, 0
        while not choice.widened and count < len(mixed):
            now_ns = played(choice, [mixed[count]], now_ns)
            count += 1
        return count

    fresh = frames_until_widened(warm(IntervalChoice(16 * MS)))
    assert fresh < len(mixed), "only a replay widens for these"
    choice = warm(IntervalChoice(16 * MS))
    played(choice, ([17.0] + [5.0] * 20) * 80)
    choice.forget()
    assert frames_until_widened(warm(choice)) <= fresh + 3


def test_a_change_says_why() -> None:
    choice = warm(IntervalChoice(16 * MS))
    reasons = [choice.frame(20 * MS, i * 20 * MS) for i in range(1, 4)]
    assert reasons == ["", "", "3 of the last frames took 20.0 ms: interval widened to 20.2 ms"]


def test_where_swap_blocks_20_ms_are_two_refreshes() -> None:
    choice = warm(IntervalChoice(0, refresh_ns=16 * MS))
    played(choice, [20.0] * 4)
    assert (choice.refreshes, choice.interval_ns) == (2, 32 * MS)


def test_the_time_before_a_refresh_that_a_display_needs_is_no_time_for_work() -> None:
    for guard_ns, refreshes in ((0, 1), (1 * MS, 2)):
        choice = warm(IntervalChoice(0, refresh_ns=16 * MS))
        choice.guard_ns = guard_ns
        played(choice, [15.5] * 12)
        assert choice.refreshes == refreshes


def test_a_refresh_measured_anew_changes_no_number_of_refreshes() -> None:
    choice = IntervalChoice(0, refresh_ns=17_200_000)
    choice.set_refresh(16_100_000)
    assert choice.refreshes == 1


def test_a_wish_for_30_frames_is_as_many_refreshes_as_another_display_needs_for_it() -> None:
    choice = IntervalChoice(0, refresh_ns=16_666_667, wanted_ns=33_333_333)
    assert choice.refreshes == 2
    choice.set_refresh(6_944_444, is_new=True)
    assert choice.refreshes == 5


def test_uneven_work_widens_by_replay_where_that_is_clearly_cheaper() -> None:
    chance = random.Random(1)
    choice = warm(IntervalChoice(0, refresh_ns=16_666_667))
    reasons, now_ns = [], 0
    for i in range(600):
        work_ns = 18 * MS if i % 2 else 15 * MS + chance.randrange(MS)
        now_ns += max(choice.interval_ns, work_ns)
        reasons.append(choice.frame(work_ns, now_ns))
    assert choice.refreshes == 2
    assert any(" frames, cost" in reason for reason in reasons)
    assert 200 < next(i for i, reason in enumerate(reasons) if reason) < 400, "by some 5 s of work"


def test_a_few_spikes_a_second_do_not_widen() -> None:
    for refresh_ns in (None, 16_666_667):
        choice = warm(IntervalChoice(16_666_667, refresh_ns))
        played(choice, [25 if i % 15 == 7 else 10 for i in range(1200)])
        assert choice.widened == 0


def test_a_load_that_ended_is_forgotten_soon_and_within_3_s_however_often_it_came_back() -> None:
    choice, now_ns = warm(IntervalChoice(16 * MS)), 0
    spans_ms = []
    for _ in range(6):
        now_ns = ended_ns = played(choice, [25.0] * 12, now_ns)
        while choice.interval_ns > 16 * MS:
            now_ns = played(choice, [5.0], now_ns)
        spans_ms.append((now_ns - ended_ns) / MS)
    assert FITTING_FRAMES * 16 < spans_ms[0] < 500
    assert all(span <= 3000 for span in spans_ms)
    assert spans_ms[-1] > 2 * spans_ms[0]


@pytest.mark.parametrize("refresh_ns", [None, 16_666_667])
def test_where_long_frames_are_frequent_more_short_ones_are_needed_for_the_end_of_a_load(
    refresh_ns: int | None,
) -> None:
    def light_frames(mixed: list[float]) -> int:
        choice = warm(IntervalChoice(16_666_667, refresh_ns))
        now_ns = played(choice, [20.0] * 12 + mixed)
        for count in range(40):
            if choice.interval_ns <= 16_666_667:
                return count
            now_ns = played(choice, [8.0], now_ns)
        return 40

    assert light_frames([]) == FITTING_FRAMES
    assert light_frames([8.0, 8.0, 20.0] * 4) > FITTING_FRAMES


def test_a_load_that_falls_slowly_is_followed_in_small_steps() -> None:
    choice = warm(IntervalChoice(16 * MS))
    works_ms = [30 - 0.08 * frame for frame in range(180)]
    now_ns, widest = played(choice, [30.0] * 12), 0.0
    for work_ms in works_ms[20:]:
        now_ns = played(choice, [work_ms], now_ns)
        widest = max(widest, choice.interval_ns / MS / max(16, work_ms))
    assert widest < 1.12
    assert choice.narrowed >= 5


def test_on_a_timer_uneven_frames_that_fit_on_average_are_no_load() -> None:
    mixed, chance = [], random.Random(4)
    while len(mixed) < 1200:
        mixed += [18.0] * 10 + [9.0] * chance.randrange(8, 16)
    choice = warm(IntervalChoice(16_666_667))
    played(choice, mixed)
    assert choice.widened <= 1


def test_no_load_widens_beyond_100_ms() -> None:
    for refresh_ns in (None, 16_666_667):
        choice = warm(IntervalChoice(16_666_667, refresh_ns))
        played(choice, [300.0] * 50)
        assert 80 * MS < choice.interval_ns <= 100 * MS


def test_a_bound_on_the_rate_holds_and_leaves_at_once() -> None:
    choice = warm(IntervalChoice(16 * MS))
    choice.at_most(30)
    assert choice.interval_ns == 33_333_333
    choice.at_most(None)
    assert choice.interval_ns == 16 * MS


@given(st.lists(st.integers(0, 90 * MS), max_size=300), st.sampled_from([None, 7 * MS, 16 * MS]), st.integers(0, 3))
def test_the_interval_is_always_between_its_bounds_and_every_change_has_a_reason(
    works_ns: list[int], refresh_ns: int | None, guard_ms: int
) -> None:
    choice, now_ns = IntervalChoice(16 * MS, refresh_ns), 0
    choice.guard_ns = guard_ms * MS
    for work_ns in works_ns:
        before_ns = choice.interval_ns
        now_ns += max(work_ns, before_ns)
        reason = choice.frame(work_ns, now_ns)
        assert choice.base_ns <= choice.interval_ns <= 100 * MS
        assert (choice.interval_ns != before_ns) == bool(reason)


@given(st.floats(1, 60), st.sampled_from([None, 7 * MS, 16 * MS]))
def test_constant_work_never_changes_the_interval_twice(work_ms: float, refresh_ns: int | None) -> None:
    choice = warm(IntervalChoice(16 * MS, refresh_ns))
    intervals = []
    now_ns = 0
    for _ in range(400):
        now_ns = played(choice, [work_ms], now_ns)
        intervals.append(choice.interval_ns)
    assert sum(a != b for a, b in pairwise(intervals)) <= 1
