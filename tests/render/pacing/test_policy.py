"""How long before its refresh a frame must be handed over: learned from outcomes, not from returns that were held up."""

from __future__ import annotations

import random

from twixt.render.pacing.policy import FIRST_GUARD_NS, GROWS, LONGEST_SHARE, STEP_NS, HandOver, StartMargin

MS = 1_000_000
PERIOD_NS = round(1e9 / 75)


def learned(needed_ns: int, spares_ns: list[int], held_up: set[int]) -> HandOver:
    """Of frames with so much to spare on a display that needs so much; the returns of some were held up."""
    hand_over = HandOver()
    for frame, spare_ns in enumerate(spares_ns):
        hand_over.learn(spare_ns, spare_ns < needed_ns or frame in held_up, PERIOD_NS)
    return hand_over


def spares(low_ms: float, high_ms: float, count: int = 2000) -> list[int]:
    chance = random.Random(1)
    return [round(chance.uniform(low_ms, high_ms) * MS) for _ in range(count)]


def test_returns_that_are_held_up_are_no_reason_to_hand_over_earlier() -> None:
    chance = random.Random(2)
    held_up = {frame for frame in range(2000) if chance.random() < 1.5 / 60}
    assert learned(FIRST_GUARD_NS, spares(4.3, 5.2), held_up).guard_ns <= MS


def test_what_a_display_needs_is_learned_within_a_few_frames() -> None:
    assert learned(4 * MS, spares(2.2, 2.8, 12), set()).guard_ns > 2 * MS
    guard_ns = learned(4 * MS, spares(2.0, 6.0), set()).guard_ns
    assert 3.7 * MS <= guard_ns <= 4 * MS + STEP_NS


def test_it_is_learned_beside_returns_that_are_held_up() -> None:
    guard_ns = learned(4 * MS, spares(2.0, 6.0), set(range(0, 2000, 40))).guard_ns
    assert 3.6 * MS <= guard_ns <= 4.6 * MS


def test_no_more_is_asked_for_than_a_share_of_a_refresh() -> None:
    assert learned(PERIOD_NS, spares(1.0, 12.0), set()).guard_ns <= LONGEST_SHARE * PERIOD_NS + STEP_NS


def test_frames_start_earlier_after_a_miss_that_this_would_have_saved() -> None:
    margin = StartMargin(2 * MS)
    margin.learn(True, MS, 9 * MS, 16 * MS)
    assert margin.ns == 2 * MS + round(GROWS * 16 * MS)


def test_a_miss_that_no_earlier_start_could_have_saved_changes_no_start() -> None:
    margin = StartMargin(2 * MS)
    margin.learn(True, -4 * MS, 9 * MS, 16 * MS)  # drawn in time, woken late
    margin.learn(True, 9 * MS, 25 * MS, 16 * MS)  # longer than an interval
    assert margin.ns == 2 * MS


def test_a_margin_is_given_back_slowly_and_never_exceeds_an_interval() -> None:
    margin = StartMargin(2 * MS)
    for _ in range(20):
        margin.learn(True, 5 * MS, 9 * MS, 16 * MS)
    assert margin.ns == 16 * MS
    for _ in range(720):
        margin.learn(False, 0, 9 * MS, 16 * MS)
    assert 8 * MS < margin.ns < 10 * MS
