"""Chooses the quality level: cheaper while frames do not fit the refresh interval, finer when they fit again.

The longest frames make motion uneven, not the usual ones. So a level is judged by the *tail* of its frames' costs,
p50 + 3 (p90 - p50): about the longest frame in 100 if costs vary. It ignores rare long frames, which no cheaper level
prevents. The cost ratio of each step between levels is measured beforehand (`Level.share`) and corrected by each step.

- Cheaper: the tail of each of three blocks of 40 frames exceeds 92 % of the interval. At once if the median of the last
  10 frames, or each of the last 4, exceeds it. It skips levels whose expected cost does not fit. A smaller picture is a
  separate step, made if even the median of three blocks does not fit.
- A step after which the usual frames still do not fit is reversed if it saves less than 4 % of them, if possible after
  a trial of the cheapest level. Another step is tried when the cost has grown by half, or after ten minutes.
- Finer: the tails of three blocks, divided by the step's ratio, stay below 75 % of the interval for 9 s, or below half
  of it for 2 s. If a cheaper level follows within a minute both waits double, up to ten minutes, until a finer level has
  stood for a minute.
- Cores are short: one step down every 10 frames, to level SPARING at most, whatever the cost; no step up meanwhile.

A constant load comes to rest at one level within 20 s, after at most three changes (on recorded costs).

Always: each level also leaves out what those before it leave out. With software OpenGL the choice is among LEVELS, on a
GPU among LIT_LEVELS, whose first is BEST: shadows on every surface take software rendering fifty times as long. `low`,
`high` (the finest of those levels) and `best` (the finest of all) never change the level. Short cores do not change a
GPU's. Pure: reads no clock; time is the sum of the intervals.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from twixt.ipc.quantiles import median


class Level(NamedTuple):
    """One quality level. left_out: text for the user, what it leaves out beyond the level before; "" for the finest.

    share: its frame time divided by that of the level before.
    """

    name: str
    left_out: str = ""
    share: float = 1.0
    shadows: bool = True  # round ones on the ground, where `mapped` is False
    fine: bool = True  # bodies with smooth edges, highlights and borders
    skin: bool = True  # bodies with a pattern, and a depth for each pixel
    mapped: bool = False  # shadows of all bodies on every surface
    contact: bool = False  # contact shading
    samples: int = 1  # of each pixel
    scale: float = 1.0  # of each side; below 1 the picture is enlarged afterwards


FULL = Level("full")
FLAT = Level("flat", "no pattern, one depth a body", 0.78, shadows=False, fine=False, skin=False)
# Shares: processor time of drawing the default world on llvmpipe, levels measured in turns at 800x600 and 1280x800
# (`python -m bench parts`). With 10,000 or more small bodies each step but the first and the last saves less than 4 %:
# the cheapest programs draw them already. Half the size takes 0.3 to 0.9 of flat where pixels are costly: many bodies,
# meshes, a camera that moves over a floor. With few bodies and a still camera it takes 1.0 to 1.9 of it: copies of the
# whole window cost some 2 ms more at 1920x1080.
LEVELS = (
    FULL,
    Level("no shadows", "no soft shadows", 0.73, shadows=False),
    Level("plain", "hard edges, no highlights", 0.85, shadows=False, fine=False),
    FLAT,
    Level("half the size", "pixels of twice the size", 0.9, shadows=False, fine=False, skin=False, scale=0.5),
)
# On a GPU. The shares are estimates by the pixels and samples that each step saves; the governor corrects them by what
# it measures, and `python -m bench looks` shows them.
BEST = Level("best", mapped=True, contact=True, samples=4)
LIT_LEVELS = (
    BEST,
    Level("mapped shadows", "no contact shading, no multisampling", 0.5, mapped=True),
    Level("round shadows", "shadows on the ground alone", 0.5),
)
# `--quality best` in software rendering: four samples a pixel take twice as long as one.
BEST_SOFTWARE = BEST._replace(samples=1)
CHEAPEST = FLAT  # of those drawn at full size: `--quality low`
# Number of the coarsest level that short cores alone choose; a coarser one is noticed at once.
SPARING = 2


# Last frames whose median is judged, and last frames that suffice if each of them is too long.
JUDGED, AT_ONCE = 10, 4
# Frames of a block, and blocks whose tails must all be too long (cheaper) or leave room (finer).
BLOCK, BLOCKS = 40, 3
# The tail: p50 + TAIL (QUANTILE - p50). Of an exponential tail that is p99.7, of a normal one more.
TAIL, QUANTILE = 3, 0.9
# Work fits if it takes no more than this share of the interval; the expected work of a finer level must take less.
FITS, FITS_FINER = 0.92, 0.75
# Expected work below this share means that the load has ended, and is not only calm for a while: the wait is shorter.
FITS_EASILY = 0.5
# Waits before a finer level is tried; a step back within RELAPSE_NS of it doubles them.
FIRST_WAIT_NS, SHORT_WAIT_NS = 9_000_000_000, 2_000_000_000
LONGEST_WAIT_NS, RELAPSE_NS = 600_000_000_000, 60_000_000_000
# A step that saves less than this share is useless. Another is tried when the cost has grown by this factor.
WORTH, GROWN = 0.04, 1.5
# A smaller picture is tried only if that step and its return make no more changes than this within this time.
MOST_CHANGES, CHANGES_NS = 3, 60_000_000_000
# Weight of a new measurement of a step's share, and the bounds of a share.
LEARNS, LEAST_SHARE, MOST_SHARE = 0.75, 0.2, 0.99
# While cores are short, a step down follows after this many frames of a level.
SHORT_FRAMES = 10
# Frames after a rest or a change of the window's size that are not judged: caches fill, and the overlay is laid out
# again.
SETTLING = 20


class FrameCost(NamedTuple):
    """Time of one frame, ns. work: from its start to its completed drawing; swap: the swap without waiting for the
    display. user, gc, stolen: parts of `work`, see `FrameCosts`."""

    work_ns: int
    swap_ns: int = 0
    user_ns: int = 0
    gc_ns: int = 0
    stolen_ns: int = 0

    @property
    def judged_ns(self) -> int:
        """The part of the cost that a cheaper level could lower, ns. The user's own drawing and garbage are left out.
        Stolen time counts up to the frame's own work: beside a program that always runs, a fair scheduler takes that
        much of each frame, and less from a cheaper one. Stolen time beyond it is rare, whatever is drawn."""
        own_ns = max(0, self.work_ns - self.user_ns - self.gc_ns - self.stolen_ns) + max(0, self.swap_ns)
        return own_ns + min(max(0, self.stolen_ns), own_ns)


class Trial(NamedTuple):
    """A step that is not judged yet. from_level: its index. usual_ns, tail_ns: of the frames before it; tail_ns 0: the
    tail was not the reason of the step. back_to: index of the level that is drawn again if the step saves nothing."""

    from_level: int
    usual_ns: float
    tail_ns: float
    back_to: int


class Governor:
    """Chooses the level of each frame. choice: auto, low, high or best. is_software: True for software rendering.

    is_held: frames are measured, so that no level may change meanwhile.
    """

    def __init__(self, choice: str = "auto", is_software: bool = True, is_held: bool = False) -> None:
        self.is_free = choice == "auto" and not is_held
        self.change_reason = ""  # why the level changed with the last frame; "" where it did not
        self._is_software = is_software
        self._levels = _levels_of(choice, is_software)
        self._last_of_full_size = max(number for number, level in enumerate(self._levels) if level.scale == 1.0)
        self._at = 0
        self._shares = [level.share for level in self._levels]
        self._costs: deque[int] = deque(maxlen=BLOCK * BLOCKS)  # of the frames of this level, ns
        self._count = 0  # frames of this level
        self._settling = 0  # frames that are not judged yet
        self._trial: Trial | None = None
        self._changes_ns: deque[int] = deque(maxlen=MOST_CHANGES)  # the last ones
        self._now_ns = self._finer_ns = 0
        self._room_since_ns = self._much_room_since_ns = 0
        self._relapses = 0  # in a row
        self._useless_ns, self._useless_until_ns = 0.0, 0  # the cost that a cheaper level did not lower

    @property
    def level(self) -> Level:
        """Current quality level."""
        return self._levels[self._at]

    @property
    def finest(self) -> Level:
        """The finest level that may be chosen."""
        return self._levels[0]

    @property
    def is_sparing(self) -> bool:
        """True if short cores cannot lower the level further: it is SPARING or coarser already, fixed, or a GPU's."""
        return not self.is_free or not self._is_software or self._at >= SPARING

    def frame(self, cost_ns: int, interval_ns: int, cores_are_short: bool = False) -> Level:
        """Records the cost of a frame at this level (`FrameCost.judged_ns`); returns the next frame's level.

        interval_ns: refresh interval of the display. cores_are_short: this process or physics waits for a core.
        """
        self.change_reason = ""
        if not self.is_free or interval_ns <= 0:
            return self.level
        self._now_ns += interval_ns
        if self._settling:
            self._settling -= 1
            return self.level
        self._costs.append(max(0, cost_ns))
        self._count += 1
        self._judge(FITS * interval_ns, interval_ns, cores_are_short and self._is_software)
        return self.level

    def forget(self) -> None:
        """Discards the recorded frames: drawing stopped or changed, so that they do not predict the next ones."""
        self._restart()
        self._settling = SETTLING

    def _judge(self, room_ns: float, interval_ns: int, cores_are_short: bool) -> None:
        costs = list(self._costs)
        is_block = self._count % BLOCK == 0
        if self._trial is not None:  # it is judged before the next step
            if self._count < (BLOCK * BLOCKS if self._trial.tail_ns else JUDGED):
                return
            if not self._has_helped(costs, room_ns):
                return
        usual_ns, tail_ns = self._too_long(costs, room_ns, is_block)
        if usual_ns and self._may_save(max(usual_ns, tail_ns), room_ns):
            self._go_cheaper(Trial(self._at, usual_ns, tail_ns, self._at), interval_ns)
        elif cores_are_short:
            self._room_since_ns = self._much_room_since_ns = self._now_ns
            if self._at < SPARING and self._count >= SHORT_FRAMES:
                self._go(self._at + 1, f"cores are short: {self._cheaper_by(self._at + 1)}")
        elif is_block:
            self._look_for_room(costs, interval_ns)

    @staticmethod
    def _too_long(costs: list[int], room_ns: float, is_block: bool) -> tuple[float, float]:
        """The usual cost, and the tail if only that is too long, else 0; both 0 if neither is too long."""
        latest, usual_ns = costs[-AT_ONCE:], median(costs[-JUDGED:])
        if len(latest) == AT_ONCE and min(latest) > room_ns:
            return median(latest), 0.0
        if len(costs) >= JUDGED and usual_ns > room_ns:
            return usual_ns, 0.0
        if is_block and len(costs) == BLOCK * BLOCKS and min(tails := _tails(costs)) > room_ns:
            return median(costs), median(tails)
        return 0.0, 0.0

    def _may_save(self, cost_ns: float, room_ns: float) -> bool:
        if self._at == len(self._levels) - 1 or (
            self._now_ns < self._useless_until_ns and cost_ns <= GROWN * self._useless_ns
        ):
            return False
        if self._levels[self._at + 1].scale == 1.0:
            return True
        # A smaller picture is noticed at once: it is not drawn because of a long tail alone.
        return len(self._costs) == BLOCK * BLOCKS and median(self._costs) > room_ns and self._may_try

    @property
    def _may_try(self) -> bool:
        """True if a step and its return make at most MOST_CHANGES changes within CHANGES_NS."""
        recent = sum(self._now_ns - changed_ns < CHANGES_NS for changed_ns in self._changes_ns)
        return recent + 2 <= MOST_CHANGES

    def _go_cheaper(self, tried: Trial, interval_ns: int) -> None:
        """Steps down until the expected cost fits. Goes to a smaller picture only from the level before it, since for
        some scenes it saves nothing. After a relapse it makes a single step, back to a level that is known to fit."""
        is_relapse = self._finer_ns > 0 and self._now_ns - self._finer_ns < RELAPSE_NS
        self._relapses = self._relapses + 1 if is_relapse else 0
        cost_ns, fits = (tried.tail_ns, FITS) if tried.tail_ns else (tried.usual_ns, FITS_FINER)
        to, expected_ns = self._at + 1, cost_ns * self._shares[self._at + 1]
        last = to if is_relapse else max(to, self._last_of_full_size)
        while expected_ns > fits * interval_ns and to < last:
            to += 1
            expected_ns *= self._shares[to]
        longest = "the longest frames " if tried.tail_ns else ""
        self._go(to, f"{self._cheaper_by(to)}: {longest}{cost_ns / 1e6:.1f} ms of {interval_ns / 1e6:.1f}", tried)

    def _cheaper_by(self, to: int) -> str:
        """For the user: what a step to this level leaves out."""
        return f"drawing cheaper ({', '.join(level.left_out for level in self._levels[self._at + 1 : to + 1])})"

    def _has_helped(self, costs: list[int], room_ns: float) -> bool:
        """Judges the last step and learns its ratio. False if another level was chosen because it saved nothing."""
        tried, self._trial = self._trial, None
        assert tried is not None
        usual_ns = median(costs)
        self._learn(tried, usual_ns)
        if tried.from_level > self._at:
            return True
        # A tail does not show how much a step saved: a machine whose speed changes makes it longer by as much.
        if tried.tail_ns or usual_ns <= room_ns or usual_ns < (1 - WORTH) * tried.usual_ns:
            return True
        # Many small bodies: only fewer pixels help.
        cheapest = len(self._levels) - 1
        if self._at < cheapest and self._may_try:
            further = Trial(self._at, usual_ns, 0.0, tried.back_to)
            self._go(cheapest, f"{self._cheaper_by(cheapest)}: {usual_ns / 1e6:.1f} ms, no less", further)
            return False
        self._useless_ns, self._useless_until_ns = tried.usual_ns, self._now_ns + LONGEST_WAIT_NS
        self._go(tried.back_to, f"drawing as before: cheaper brought nothing, {usual_ns / 1e6:.1f} ms")
        return False

    def _learn(self, tried: Trial, usual_ns: float) -> None:
        """Corrects the shares of the steps between the level before and this one, each by the same factor."""
        cheaper, finer = max(tried.from_level, self._at), min(tried.from_level, self._at)
        if tried.usual_ns <= 0 or usual_ns <= 0:
            return
        ratio = usual_ns / tried.usual_ns if cheaper == self._at else tried.usual_ns / usual_ns
        steps = range(finer + 1, cheaper + 1)
        factor = (ratio / math.prod(self._shares[step] for step in steps)) ** (1 / len(steps))
        for step in steps:
            share = min(max(self._shares[step] * factor, LEAST_SHARE), MOST_SHARE)
            self._shares[step] += LEARNS * (share - self._shares[step])

    def _look_for_room(self, costs: list[int], interval_ns: int) -> None:
        if not self._at or len(costs) < BLOCK * BLOCKS:
            return
        changed_ns = self._changes_ns[-1]
        # A learned share becomes outdated: LONGEST_WAIT_NS after the last step `Level.share` is used instead.
        is_known = self._now_ns - changed_ns < LONGEST_WAIT_NS
        share = self._shares[self._at] if is_known else self._levels[self._at].share
        expected_ns = max(_tails(costs)) / share
        if expected_ns > FITS_FINER * interval_ns:
            self._room_since_ns = self._now_ns
        if expected_ns > FITS_EASILY * interval_ns:
            self._much_room_since_ns = self._now_ns
        if self._finer_ns == changed_ns and self._now_ns - self._finer_ns >= RELAPSE_NS:
            self._relapses = 0  # the last finer level stands
        room_ns, much_room_ns = self._now_ns - self._room_since_ns, self._now_ns - self._much_room_since_ns
        if room_ns >= self._wait_ns(FIRST_WAIT_NS) or much_room_ns >= self._wait_ns(SHORT_WAIT_NS):
            reason = f"drawing finer again: then {expected_ns / 1e6:.1f} ms of {interval_ns / 1e6:.1f}"
            self._go(self._at - 1, reason, Trial(self._at, median(costs), 0.0, self._at))
            self._finer_ns = self._now_ns

    def _wait_ns(self, first_ns: int) -> int:
        return min(first_ns << min(self._relapses, 20), LONGEST_WAIT_NS)

    def _go(self, to: int, reason: str, tried: Trial | None = None) -> None:
        self._at, self.change_reason = to, reason
        self._restart()
        self._trial = tried
        self._changes_ns.append(self._now_ns)

    def _restart(self) -> None:
        self._costs.clear()
        self._count = 0
        self._trial = None
        self._room_since_ns = self._much_room_since_ns = self._now_ns


def tail(costs: Sequence[int]) -> float:
    """p50 + TAIL (QUANTILE - p50) of at least one cost."""
    ordered = sorted(costs)
    usual, high = median(ordered), ordered[min(len(ordered) - 1, int(QUANTILE * len(ordered)))]
    return usual + TAIL * max(0.0, high - usual)


def _tails(costs: Sequence[int]) -> list[float]:
    """The tail of each block."""
    return [tail(costs[first : first + BLOCK]) for first in range(0, len(costs), BLOCK)]


def _levels_of(choice: str, is_software: bool) -> tuple[Level, ...]:
    """Levels that may be drawn, the finest first."""
    if choice == "low":
        return (CHEAPEST,)
    if choice == "best":
        return (BEST_SOFTWARE if is_software else BEST,)
    levels = LEVELS if is_software else LIT_LEVELS
    return levels[:1] if choice == "high" else levels
