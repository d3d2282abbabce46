"""The refresh behind returns that waited."""

from __future__ import annotations

import random

import pytest

from twixt.render.pacing.grid import MEASURED_FRAMES, MeasuredSwap, RefreshWatch, longest_common

MS = 1_000_000


@pytest.mark.parametrize("period_ms", [4.17, 6.94, 11.11, 16.67, 33.33])
def test_the_longest_length_that_divides_the_intervals_is_found(period_ms: float) -> None:
    chance = random.Random(1)
    intervals = [round(k * period_ms * MS) + chance.randrange(200_000) for k in (2, 3, 2, 2, 3, 4, 3, 2, 2, 3)]
    assert longest_common(intervals) == pytest.approx(period_ms * MS, rel=0.02)


def test_intervals_of_nothing_have_no_common_length() -> None:
    assert longest_common([]) is None
    assert longest_common([7 * MS, 7 * MS]) is None
    assert longest_common([0, -5, 3, 16 * MS]) is None


def swap_at(returned_ms: float, waited_ms: float = 5, hardly: bool = False) -> MeasuredSwap:
    return MeasuredSwap(round((returned_ms - waited_ms) * MS), round(returned_ms * MS), hardly)


def measured(watch: RefreshWatch, returns_ms: list[float]) -> int | None:
    found = None
    for at_ms in returns_ms:
        found = watch.returned(swap_at(at_ms), round(16.67 * MS), disagrees=True) or found
    return found


def test_returns_that_disagree_start_a_measurement_that_forgets_older_intervals() -> None:
    watch = RefreshWatch()
    old = [16.67 * k for k in range(20)]
    for at_ms in old:
        watch.returned(swap_at(at_ms), round(16.67 * MS), disagrees=False)
    assert not watch.measures
    new = [old[-1] + 11.11 * (k + 1) for k in range(MEASURED_FRAMES + 4)]
    assert measured(watch, new) == pytest.approx(11.11 * MS, rel=0.01)


def test_returns_that_were_held_up_are_no_other_refresh() -> None:
    for seed in range(40):
        chance = random.Random(seed)
        at_ms, returns_ms = 0.0, []
        for _ in range(MEASURED_FRAMES + 4):
            at_ms += 16.67
            returns_ms.append(at_ms + (chance.uniform(2, 14) if chance.random() < 0.15 else 0))
        found = measured(RefreshWatch(), returns_ms)
        assert found is None or found == pytest.approx(16.67 * MS, rel=0.05)


def test_one_frame_starts_at_once_every_two_seconds() -> None:
    watch = RefreshWatch()
    at_once = [watch.starts_at_once(k * 16_666_667) for k in range(600)]
    assert sum(at_once) == 5


def test_frames_that_take_about_as_long_as_each_other_are_no_slower_display() -> None:
    found = 0
    for seed in range(200):
        chance = random.Random(seed)
        found += longest_common([round(chance.uniform(42, 54) * MS) for _ in range(MEASURED_FRAMES)]) is not None
    assert found < 50


@pytest.mark.parametrize("display_keeps_time", [True, False])
def test_swaps_that_hardly_wait_show_a_refresh_if_they_return_more_regularly_than_they_are_called(
    display_keeps_time: bool,
) -> None:
    chance, watch, found = random.Random(3), RefreshWatch(), None
    for frame in range(MEASURED_FRAMES + 4):
        wobble_ms = chance.uniform(-0.4, 0.4)
        returned_ms = 16.67 * frame + (chance.uniform(0, 0.1) if display_keeps_time else wobble_ms)
        swap = swap_at(returned_ms, 0.6 + (wobble_ms if display_keeps_time else 0), hardly=True)
        found = watch.returned(swap, round(6.94 * MS), disagrees=True) or found
    assert found == (pytest.approx(16.67 * MS, rel=0.01) if display_keeps_time else None)
