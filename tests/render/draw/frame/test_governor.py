"""Drawing gets cheaper before frames get rarer, and finer again when there is room: the governor, fed with lists."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.draw.frame.quality_levels import (
    BEST,
    BEST_BY_PROCESSOR,
    CHEAPEST,
    FULL,
    LEVELS,
    LIT_LEVELS,
    LONGEST_WAIT_NS,
    SPARING,
    Governor,
)

MS = 1_000_000
INTERVAL_NS = 16_666_667


def driven(governor, works_ms, interval_ns=INTERVAL_NS, short=False):
    """The levels after each frame."""
    return [governor.frame(round(work * MS), interval_ns, short) for work in works_ms]


class Machine:
    """Frames whose work is `load_ms` at full quality, and less by `shares` at cheaper levels."""

    def __init__(self, shares=(1.0, 0.85, 0.7, 0.8), noise=0.05, seed=0):
        self.shares, self.noise, self.random = shares, noise, random.Random(seed)
        self.governor = Governor("auto", True)

    def run(self, seconds, load_ms, fixed_ms=0.0):
        """The levels of each frame, by number."""
        drawn = []
        for _ in range(round(seconds * 60)):
            at = LEVELS.index(self.governor.level)
            work = load_ms * self.random.uniform(1 - self.noise, 1 + self.noise)
            for share in self.shares[1 : at + 1]:
                work *= share
            drawn.append(at)
            self.governor.frame(round((work + fixed_ms) * MS), INTERVAL_NS)
        return drawn


@pytest.mark.parametrize(
    ("choice", "processor_draws", "is_held", "level"),
    [
        ("best", True, False, BEST_BY_PROCESSOR),
        ("best", False, False, BEST),
        ("high", True, False, FULL),
        ("high", False, False, BEST),
        ("low", True, False, CHEAPEST),
        ("low", False, False, CHEAPEST),
        ("auto", True, True, FULL),
        ("auto", False, True, BEST),
    ],
)
def test_what_was_chosen_stays_whatever_frames_take(choice, processor_draws, is_held, level):
    governor = Governor(choice, processor_draws, is_held)

    assert set(driven(governor, [100] * 50 + [1] * 500, short=True)) == {level}


def test_a_gpu_draws_its_best_and_leaves_out_what_it_has_no_time_for():
    governor = Governor("auto", processor_draws=False)
    assert set(driven(governor, [9] * 200)) == {BEST}

    said = []
    for _ in range(4):
        governor.frame(20 * MS, INTERVAL_NS)
        said.append(governor.change_reason)

    assert governor.level == LIT_LEVELS[1]
    assert said[-1] == "drawing cheaper (no contact shading, no multisampling): 20.0 ms of 16.7"
    assert driven(Governor("auto", processor_draws=False), [50] * 4)[-1] == LIT_LEVELS[-1]


def test_short_cores_change_nothing_where_a_gpu_draws():
    governor = Governor("auto", processor_draws=False)

    assert governor.is_sparing
    assert set(driven(governor, [5] * 400, short=True)) == {BEST}


def test_each_level_leaves_out_what_those_before_it_leave_out():
    for levels in (LEVELS, LIT_LEVELS):
        for finer, cheaper in itertools.pairwise(levels):
            assert cheaper.left_out
            assert 0 < cheaper.share < 1
            assert all(after <= before for before, after in zip(finer[3:], cheaper[3:], strict=True))


def test_a_quiet_machine_draws_in_full():
    assert set(driven(Governor(), [8] * 600)) == {FULL}


def test_rare_spikes_change_nothing():
    works = ([9] * 29 + [25]) * 40

    assert set(driven(Governor(), works)) == {FULL}


def test_one_late_frame_in_three_changes_nothing():
    assert set(driven(Governor(), [9, 9, 30] * 100)) == {FULL}


def test_a_sustained_load_is_drawn_cheaper_within_five_frames():
    governor = Governor()
    driven(governor, [8] * 60)

    levels = driven(governor, [20] * 5)

    assert levels[-1] != FULL


def test_it_says_what_is_left_out_with_figures():
    governor = Governor()
    said = []
    for _ in range(4):
        governor.frame(17 * MS, INTERVAL_NS)
        said.append(governor.change_reason)

    assert said == ["", "", "", "drawing cheaper (no soft shadows): 17.0 ms of 16.7"]


def test_much_too_dear_goes_down_several_steps_at_once():
    governor = Governor()
    driven(governor, [30] * 4)

    assert LEVELS.index(governor.level) > 2


def test_the_cheapest_level_is_the_end():
    governor = Governor()

    assert driven(governor, [500] * 100)[-1] in LEVELS


def test_full_quality_comes_back_after_the_load():
    machine = Machine()
    loaded = machine.run(10, 22)
    after = machine.run(20, 9)

    assert loaded[-1] > 0
    assert after[-1] == 0


def test_a_constant_load_comes_to_rest_at_one_level():
    """Between two levels: the dearer one does not fit, the cheaper one leaves room that is not enough."""
    for load_ms in (14, 17, 19, 21, 24, 30, 40):
        machine = Machine(seed=load_ms)
        machine.run(20, load_ms)
        levels = machine.run(60, load_ms)

        changes = sum(a != b for a, b in itertools.pairwise(levels))
        assert changes <= 4, (load_ms, changes)


def test_each_relapse_makes_the_next_try_later():
    """A load that comes back two seconds after each try."""
    governor = Governor()
    tries = [-200]
    for frame in range(60 * 240):
        work = 6 if governor.level != FULL else 20 if frame - tries[-1] > 120 else 9
        before = governor.level
        governor.frame(work * MS, INTERVAL_NS)
        if governor.level == FULL and before != FULL:
            tries.append(frame)

    gaps = [b - a for a, b in itertools.pairwise(tries[1:])]
    assert 4 <= len(tries) <= 12
    assert all(after > 0.9 * before for before, after in itertools.pairwise(gaps)), gaps
    assert gaps[-1] * INTERVAL_NS <= 2 * LONGEST_WAIT_NS


def test_a_cheaper_level_that_brings_nothing_is_given_up():
    """Work that is not drawing's: the picture would be worse for nothing."""
    governor = Governor()
    levels = driven(governor, [25] * 60 * 60)

    coarse = sum(level != FULL for level in levels) / len(levels)
    assert coarse < 0.2


def test_short_cores_are_spared_but_not_so_that_it_is_seen_at_once():
    governor = Governor()
    levels = driven(governor, [5] * 400, short=True)

    assert levels[-1] == LEVELS[SPARING]
    assert driven(governor, [5] * 1200)[-1] == FULL


def test_a_slower_display_needs_nothing_left_out():
    governor = Governor()

    assert set(driven(governor, [22] * 100, interval_ns=33_333_333)) == {FULL}


def test_what_was_before_a_rest_is_forgotten():
    governor = Governor()
    driven(governor, [30] * 3)
    governor.forget()

    assert driven(governor, [30] * 3)[-1] == FULL


@given(
    st.lists(st.tuples(st.integers(-(10**9), 10**12), st.integers(-5, 10**9), st.booleans()), max_size=300),
    st.sampled_from(["auto", "low", "high", "best"]),
)
def test_always_one_of_the_levels_and_a_reason_for_each_change(frames, choice):
    governor = Governor(choice, True)
    for work_ns, interval_ns, short in frames:
        before = governor.level
        level = governor.frame(work_ns, interval_ns, short)
        assert level is governor.level
        assert level in (*LEVELS, BEST_BY_PROCESSOR)
        assert (level != before) == bool(governor.change_reason)
