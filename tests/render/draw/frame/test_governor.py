"""Drawing gets cheaper before frames get rarer, and finer again when there is room: the governor, fed with lists."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.draw.quality import (
    BEST,
    BEST_SOFTWARE,
    BLOCK,
    BLOCKS,
    CHEAPEST,
    FITS,
    FULL,
    LEVELS,
    LIT_LEVELS,
    LONGEST_WAIT_NS,
    SETTLING,
    SPARING,
    FrameCost,
    Governor,
    tail,
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
    ("choice", "is_software", "is_held", "level"),
    [
        ("best", True, False, BEST_SOFTWARE),
        ("best", False, False, BEST),
        ("high", True, False, FULL),
        ("high", False, False, BEST),
        ("low", True, False, CHEAPEST),
        ("low", False, False, CHEAPEST),
        ("auto", True, True, FULL),
        ("auto", False, True, BEST),
    ],
)
def test_what_was_chosen_stays_whatever_frames_take(choice, is_software, is_held, level):
    governor = Governor(choice, is_software, is_held)

    assert set(driven(governor, [100] * 50 + [1] * 500, short=True)) == {level}


def test_after_a_load_that_came_and_went_the_first_finer_level_that_stands_ends_the_longer_waits():
    machine = Machine()
    for _ in range(60):
        machine.run(15, 40)
        machine.run(44, 5)
    assert machine.governor.level is not FULL
    drawn = machine.run(300, 4)
    begins = [drawn.index(at) / 60 for at in range(drawn[0] - 1, -1, -1)]
    assert begins[0] > 20, "the waits had grown"
    assert begins[-1] - begins[0] < 80


def test_a_gpu_draws_its_best_and_leaves_out_what_it_has_no_time_for():
    governor = Governor("auto", is_software=False)
    assert set(driven(governor, [9] * 200)) == {BEST}

    said = []
    for _ in range(4):
        governor.frame(20 * MS, INTERVAL_NS)
        said.append(governor.change_reason)

    assert governor.level == LIT_LEVELS[1]
    assert said[-1] == "lower quality without contact shading, multisampling: frames take 20.0 ms, interval 16.7 ms"
    assert driven(Governor("auto", is_software=False), [50] * 4)[-1] == LIT_LEVELS[-1]


def test_short_cores_change_nothing_where_a_gpu_draws():
    governor = Governor("auto", is_software=False)

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


def test_long_frames_that_no_level_shortens_cost_quality_only_while_they_last():
    """Every third frame takes 30 ms, whatever is drawn."""
    governor = Governor()

    levels = driven(governor, [9, 9, 30] * 1200)
    assert levels[-1] == CHEAPEST
    assert _changes(levels) <= 3
    assert _changes(levels[20 * 60 :]) == 0

    assert driven(governor, [6] * 60 * 40)[-1] == FULL


def test_a_sustained_load_is_drawn_cheaper_within_five_frames():
    governor = Governor()
    driven(governor, [8] * 60)

    levels = driven(governor, [20] * 5)

    assert levels[-1] != FULL


def test_it_says_what_is_left_out_with_figures():
    governor = Governor()
    said = []
    for _ in range(4):
        governor.frame(18 * MS, INTERVAL_NS)
        said.append(governor.change_reason)

    assert said == [
        "",
        "",
        "",
        "lower quality without shadows, smooth edges, highlights: frames take 18.0 ms, interval 16.7 ms",
    ]


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
    """A finer level seems to fit, and two seconds after each try it does not."""
    governor, tries = Governor(), [-200]
    for frame in range(60 * 1500):
        work = 2.4 if governor.level != FULL else 20 if frame - tries[-1] > 120 else 3
        before = governor.level
        governor.frame(round(work * MS), INTERVAL_NS)
        if governor.level == FULL and before != FULL:
            tries.append(frame)

    gaps = [b - a for a, b in itertools.pairwise(tries[2:])]
    assert len(gaps) >= 4
    assert all(after > 1.5 * before for before, after in itertools.pairwise(gaps)), gaps
    assert gaps[-1] * INTERVAL_NS <= 2 * LONGEST_WAIT_NS


def test_a_step_that_was_measured_is_not_tried_again_in_vain_for_ten_minutes():
    """The finest level does not fit, and the cheaper one seems to leave room for it."""
    governor = Governor()
    levels = [governor.frame(round((6.0 if governor.level != FULL else 16.5) * MS), INTERVAL_NS) for _ in range(36_000)]

    assert _changes(levels) <= 6
    assert _changes(levels[20 * 60 : 9 * 3600]) == 0


def test_a_cheaper_level_that_brings_nothing_is_given_up():
    """Work that is not drawing's: the picture would be worse for nothing."""
    governor = Governor()
    levels = driven(governor, [25] * 60 * 60)

    coarse = sum(level != FULL for level in levels) / len(levels)
    assert coarse < 0.2


def test_a_machine_that_becomes_slower_while_a_step_is_judged_does_not_take_it_back():
    """All frames take 1.3 times as long from the step on: the usual ones have room, the longest have not."""
    governor, frames = Governor(), ([7] * 6 + [11]) * 200
    for work in frames:
        slower = 1.3 if governor.level != FULL else 1.0
        share = 0.82 if governor.level != FULL else 1.0
        governor.frame(round(work * slower * share * MS), INTERVAL_NS)

    assert governor.level != FULL
    assert governor.level.scale == 1.0


def test_where_only_a_smaller_picture_saves_time_it_is_drawn():
    """As with a hundred thousand bodies: each is a few pixels."""
    governor = Governor()
    levels = [governor.frame((22 if governor.level.scale == 1.0 else 9) * MS, INTERVAL_NS) for _ in range(600)]

    assert levels[-1] == LEVELS[-1]
    assert _changes(levels) == 2


def test_a_smaller_picture_that_saves_nothing_is_not_drawn():
    """The levels before it save time, but not enough."""
    costs = {level.name: cost for level, cost in zip(LEVELS, (30, 26, 22, 18, 18.5), strict=True)}
    governor = Governor()
    levels = [governor.frame(round(costs[governor.level.name] * MS), INTERVAL_NS) for _ in range(600)]

    assert levels[-1] == LEVELS[-2]
    assert _changes(levels) <= 3


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

    assert driven(governor, [9] * SETTLING + [30] * 3)[-1] == FULL


def test_the_first_frames_after_a_rest_or_a_resize_are_not_judged():
    governor = Governor()
    for _ in range(10):
        driven(governor, [9] * 40)
        governor.forget()
        assert set(driven(governor, [40] * SETTLING)) == {FULL}

    assert driven(governor, [40] * 4)[-1] != FULL


def test_the_tail_is_about_the_longest_frame_in_a_hundred():
    choose = random.Random(0)
    costs = [round(6 * MS + choose.expovariate(1 / (1.5 * MS))) for _ in range(12_000)]
    percentiles = sorted(costs)

    assert percentiles[int(0.99 * len(costs))] <= tail(costs) <= percentiles[int(0.999 * len(costs))]
    assert tail([7]) == 7
    assert tail([5, 5, 5, 5, 5, 5, 5, 5, 5, 500]) > tail([5] * 19 + [500]) == 5


def test_long_frames_in_a_row_of_blocks_are_drawn_cheaper_though_the_usual_one_fits():
    """Every seventh frame takes half as long again."""
    governor = Governor()
    frames = ([7] * 6 + [11]) * 60

    levels = driven(governor, frames)

    assert [level != FULL for level in levels].index(True) == BLOCK * BLOCKS - 1


def test_two_blocks_with_long_frames_change_nothing():
    long, short = [7] * 34 + [15] * 6, [7] * 40

    assert set(driven(Governor(), (long * 2 + short) * 5)) == {FULL}


def test_time_of_others_is_judged_only_as_far_as_less_work_would_win_it_back():
    assert FrameCost(6 * MS, swap_ns=MS).judged_ns == 7 * MS
    assert FrameCost(46 * MS, stolen_ns=40 * MS).judged_ns == 12 * MS
    assert FrameCost(10 * MS, stolen_ns=4 * MS).judged_ns == 10 * MS
    assert FrameCost(20 * MS, user_ns=9 * MS, gc_ns=5 * MS).judged_ns == 6 * MS
    assert FrameCost(2 * MS, stolen_ns=3 * MS).judged_ns == 0


# -- recorded work


class Recording(NamedTuple):
    """Frames of the default world, of 300 balls, drawn by llvmpipe on two cores: work, swap, garbage collection and
    stolen time of each, in units of 10 us; at one level."""

    level: int
    frames: list[tuple[int, ...]]

    def cost_ns(self, number: int, level: int, load: float = 1.0) -> int:
        """Cost of a frame at another level, by the levels' shares; FIXED_NS of it is not drawing."""
        work, swap, gc, stolen = (10_000 * part for part in self.frames[number % len(self.frames)])
        own = max(0, work - gc - stolen)
        ratio = load
        for step in range(1, len(LEVELS)):
            ratio *= LEVELS[step].share if self.level < step <= level else 1.0
            ratio /= LEVELS[step].share if level < step <= self.level else 1.0
        drawn = min(own, FIXED_NS) + ratio * max(0, own - FIXED_NS)
        return FrameCost(round(drawn) + gc + stolen, swap, gc_ns=gc, stolen_ns=stolen).judged_ns


FIXED_NS = 2_000_000


def _recordings() -> dict[str, Recording]:
    found = {}
    for line in Path(__file__).with_name("recorded_costs.txt").read_text(encoding="ascii").splitlines():
        name, _, frames = line.partition(": ")
        level = [each.name for each in LEVELS].index(name.rpartition(", ")[2])
        found[name] = Recording(level, [tuple(map(int, frame.split("/"))) for frame in frames.split()])
    return found


RECORDED = _recordings()


def _replayed(recording: Recording, hz: float, seconds: float, governor: Governor, load: float = 1.0) -> list[int]:
    """The level of each frame, by number."""
    drawn = []
    for number in range(round(seconds * hz)):
        drawn.append(LEVELS.index(governor.level))
        governor.frame(recording.cost_ns(number, drawn[-1], load), round(1e9 / hz))
    return drawn


def _changes(levels) -> int:
    return sum(a != b for a, b in itertools.pairwise(levels))


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("hz", [60, 75, 90, 120, 144])
@pytest.mark.parametrize("load", [0.7, 1.0, 1.4])
def test_a_steady_load_comes_to_rest_within_twenty_seconds_after_few_changes(name, hz, load):
    levels = _replayed(RECORDED[name], hz, 180, Governor(), load)

    assert max(_changes(levels[first * hz : (first + 60) * hz]) for first in range(0, 120, 5)) <= 3
    assert _changes(levels[20 * hz :]) == 0


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("hz", [60, 90])
def test_where_a_level_fits_by_its_longest_frames_such_a_level_is_drawn(name, hz):
    recording, room_ns = RECORDED[name], FITS * 1e9 / hz
    tails = [tail([recording.cost_ns(n, level) for n in range(len(recording.frames))]) for level in range(len(LEVELS))]
    drawn = _replayed(recording, hz, 30, Governor())[-1]

    if min(tails) < 0.95 * room_ns:
        assert tails[drawn] < 1.05 * room_ns
    else:
        assert drawn >= LEVELS.index(CHEAPEST)


@pytest.mark.parametrize("name", RECORDED)
def test_full_quality_is_back_within_seconds_when_a_recorded_load_ends(name):
    governor = Governor()
    assert _replayed(RECORDED[name], 90, 20, governor)[-1] > 0

    levels = driven(governor, [3] * 90 * 10, interval_ns=11_111_111)

    assert levels[-1] == FULL
    assert _changes(levels) <= len(LEVELS) - 1


@given(
    st.lists(st.tuples(st.integers(-(10**9), 10**12), st.integers(-5, 10**9), st.booleans()), max_size=300),
    st.sampled_from(["auto", "low", "high", "best"]),
)
def test_always_one_of_the_levels_and_a_reason_for_each_change(frames, choice):
    governor = Governor(choice, True)
    for cost_ns, interval_ns, short in frames:
        before = governor.level
        level = governor.frame(cost_ns, interval_ns, short)
        assert level is governor.level
        assert level in (*LEVELS, BEST_SOFTWARE)
        assert (level != before) == bool(governor.change_reason)
