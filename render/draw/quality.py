"""Chooses the quality level: cheaper while frames do not fit into the refresh interval, finer when they fit again.

Motion becomes uneven because of the longest frames, not because of the usual ones. So a level is judged by the *tail*
of its frames' costs, p50 + 3 (p90 - p50). If costs vary, that is about the longest frame in 100. It ignores rare long
frames, which no cheaper level prevents. For each step between levels, the ratio of the costs was measured in advance
(`Level.share`). It is corrected after each step.

- Cheaper: the tail of each of three blocks of 40 frames exceeds 92 % of the interval. The step is made at once if the
  median of the last 10 frames, or each of the last 4, exceeds that limit. It skips levels whose expected cost does not
  fit. A smaller picture is a separate step, made only if even the median of three blocks does not fit.
- Reversal: a step is reversed if it saves less than 4 % and the usual frames still do not fit. If possible the
  cheapest level is tried first. Afterwards no cheaper level is tried until the cost has grown by half or ten minutes
  have passed.
- Finer: the tails of three blocks, divided by the step's ratio, stay below 75 % of the interval for 9 s, or below half
  of it for 2 s. If a cheaper level follows within a minute, both waits double, up to ten minutes. They are reset once
  a finer level has lasted a minute.
- Cores are short: one step down every 10 frames, at most to level SPARING, whatever the cost. No step up meanwhile.

Under a constant load the level settles within 20 s, after at most three changes (on recorded costs).

Each level also leaves out everything that finer levels leave out. Software rendering uses LEVELS; a GPU uses
LIT_LEVELS, which start with BEST. (Shadows on every surface make software rendering fifty times slower.) With `low`,
`high` (the finest of those levels) and `best` (the finest of all) the level never changes. A shortage of cores does
not change the level on a GPU. Pure: reads no clock; time is the sum of the intervals.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from twixt.ipc.quantiles import median


class Level(NamedTuple):
    """One quality level. left_out: text for the user, naming what the next finer level has and this one does not; ""
    for the finest level.

    share: its frame time divided by that of the next finer level.
    """

    name: str
    left_out: str = ""
    share: float = 1.0
    shadows: bool = True  # round shadows on the ground, if `mapped` is False
    fine: bool = True  # bodies with smooth edges, highlights and borders
    skin: bool = True  # bodies with a pattern, and exact depth in each pixel
    mapped: bool = False  # shadows of all bodies on every surface
    contact: bool = False  # contact shading
    samples: int = 1  # number of samples of each pixel
    scale: float = 1.0  # factor on each side; below 1 the picture is enlarged afterwards


FULL = Level("full")
FLAT = Level("flat", "no pattern, one depth a body", 0.78, shadows=False, fine=False, skin=False)
# Shares: ratios of the processor time of drawing the default world on llvmpipe, measured in alternation at 800x600 and
# 1280x800 (`python -m bench parts`). With 10,000 or more small bodies, each step but the first and the last saves less
# than 4 %, because the cheapest programs already draw them. Half the size takes 0.3 to 0.9 of the time of FLAT if
# pixels are costly: many bodies, meshes, a camera that moves over a floor. With few bodies and a still camera it takes
# 1.0 to 1.9 of that time, because copies of the whole window take some 2 ms more at 1920x1080.
LEVELS = (
    FULL,
    Level("no shadows", "no soft shadows", 0.73, shadows=False),
    Level("plain", "hard edges, no highlights", 0.85, shadows=False, fine=False),
    FLAT,
    Level("half the size", "pixels of twice the size", 0.9, shadows=False, fine=False, skin=False, scale=0.5),
)
# On a GPU. These shares are estimates from the number of pixels and samples that each step saves. The governor
# corrects them by measurement; `python -m bench looks` shows them.
BEST = Level("best", mapped=True, contact=True, samples=4)
LIT_LEVELS = (
    BEST,
    Level("mapped shadows", "no contact shading, no multisampling", 0.5, mapped=True),
    Level("round shadows", "shadows on the ground alone", 0.5),
)
# `--quality best` in software rendering has one sample per pixel, because four take twice as long.
BEST_SOFTWARE = BEST._replace(samples=1)
CHEAPEST = FLAT  # cheapest level drawn at full size: `--quality low`
# Index of the coarsest level that is chosen because cores are short. A coarser level would be noticed at once.
SPARING = 2


# Number of last frames whose median is judged, and number of last frames that suffice if each is too long.
JUDGED, AT_ONCE = 10, 4
# Frames in a block. Number of blocks whose tails must all be too long (cheaper) or short enough (finer).
BLOCK, BLOCKS = 40, 3
# The tail: p50 + TAIL (QUANTILE - p50). For an exponential distribution that is p99.7, for a normal one even higher.
TAIL, QUANTILE = 3, 0.9
# FITS: frames fit if they take at most this fraction of the interval. FITS_FINER: stricter limit for expected times.
FITS, FITS_FINER = 0.92, 0.75
# If the expected time is below this fraction, the load has probably ended and is not just low for a while. The wait is
# then shorter.
FITS_EASILY = 0.5
# Waits before a finer level is tried. A step back to a cheaper level within RELAPSE_NS doubles them.
FIRST_WAIT_NS, SHORT_WAIT_NS = 9_000_000_000, 2_000_000_000
LONGEST_WAIT_NS, RELAPSE_NS = 600_000_000_000, 60_000_000_000
# A step that saves less than this fraction is useless. A cheaper level is tried again when the cost has grown by this
# factor.
WORTH, GROWN = 0.04, 1.5
# Largest number of changes within CHANGES_NS. A smaller picture is tried only if a step to it and back stays within
# it.
MOST_CHANGES, CHANGES_NS = 3, 60_000_000_000
# Weight of a new measurement of a step's share, and the lower and upper limit of a share.
LEARNS, LEAST_SHARE, MOST_SHARE = 0.75, 0.2, 0.99
# While cores are short, the level is lowered after this many frames.
SHORT_FRAMES = 10
# Number of frames that are not judged after a pause or a change of the window's size. During these frames caches fill,
# and the overlay is laid out again.
SETTLING = 20


class FrameCost(NamedTuple):
    """Time of one frame, ns. work: from its start until its drawing is complete. swap: the swap without the wait for
    the display. user, gc, stolen: parts of `work`, see `FrameCosts`."""

    work_ns: int
    swap_ns: int = 0
    user_ns: int = 0
    gc_ns: int = 0
    stolen_ns: int = 0

    @property
    def judged_ns(self) -> int:
        """The part of the cost that a cheaper level could lower, ns. The user's own drawing and garbage collection are
        left out. Stolen time counts only up to the frame's own work. If another program always runs, a fair scheduler
        gives it that much time of each frame, and less if frames are cheaper. More stolen time is rare, whatever is
        drawn."""
        own_ns = max(0, self.work_ns - self.user_ns - self.gc_ns - self.stolen_ns) + max(0, self.swap_ns)
        return own_ns + min(max(0, self.stolen_ns), own_ns)


class Trial(NamedTuple):
    """A step that is not judged yet. from_level: index of the previous level. usual_ns, tail_ns: costs of the frames
    before the step; tail_ns is 0 if the tail was not the reason for the step. back_to: index of the level to return to
    if the step saves nothing."""

    from_level: int
    usual_ns: float
    tail_ns: float
    back_to: int


class Governor:
    """Chooses the level of each frame. choice: auto, low, high or best. is_software: True for software rendering.

    is_held: True while frames are measured; the level does not change then.
    """

    def __init__(self, choice: str = "auto", is_software: bool = True, is_held: bool = False) -> None:
        self.is_free = choice == "auto" and not is_held
        self.change_reason = ""  # why the level changed after the last frame; "" if it did not
        self._is_software = is_software
        self._levels = _levels_of(choice, is_software)
        self._last_of_full_size = max(number for number, level in enumerate(self._levels) if level.scale == 1.0)
        self._at = 0
        self._shares = [level.share for level in self._levels]
        self._costs: deque[int] = deque(maxlen=BLOCK * BLOCKS)  # costs of the frames at this level, ns
        self._count = 0  # number of frames at this level
        self._settling = 0  # number of frames that are still not judged
        self._trial: Trial | None = None
        self._changes_ns: deque[int] = deque(maxlen=MOST_CHANGES)  # instants of the last changes
        self._now_ns = self._finer_ns = 0
        self._room_since_ns = self._much_room_since_ns = 0
        self._relapses = 0  # number of relapses in a row
        self._useless_ns, self._useless_until_ns = 0.0, 0  # cost that no cheaper level lowered

    @property
    def level(self) -> Level:
        """Current quality level."""
        return self._levels[self._at]

    @property
    def finest(self) -> Level:
        """The finest level that can be chosen."""
        return self._levels[0]

    @property
    def is_sparing(self) -> bool:
        """True if a shortage of cores cannot lower the level further: it is SPARING or coarser, it is fixed, or it is
        a GPU's."""
        return not self.is_free or not self._is_software or self._at >= SPARING

    def frame(self, cost_ns: int, interval_ns: int, cores_are_short: bool = False) -> Level:
        """Records the cost of a frame at the current level (`FrameCost.judged_ns`); returns the level for the next
        frame.

        interval_ns: refresh interval of the display. cores_are_short: this process or physics has to wait for a core.
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
        """Discards the recorded frames. Call it when drawing stopped or changed, so that they do not predict the next
        frames."""
        self._restart()
        self._settling = SETTLING

    def _judge(self, room_ns: float, interval_ns: int, cores_are_short: bool) -> None:
        costs = list(self._costs)
        is_block = self._count % BLOCK == 0
        if self._trial is not None:  # this step is judged before the next one is made
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
        """The usual cost, and the tail if only the tail is too long, otherwise 0. Both are 0 if neither is too
        long."""
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
        # A smaller picture is noticed at once, so a long tail alone is not a reason for it.
        return len(self._costs) == BLOCK * BLOCKS and median(self._costs) > room_ns and self._may_try

    @property
    def _may_try(self) -> bool:
        """True if a step and its reversal keep the number of changes at MOST_CHANGES or less within CHANGES_NS."""
        recent = sum(self._now_ns - changed_ns < CHANGES_NS for changed_ns in self._changes_ns)
        return recent + 2 <= MOST_CHANGES

    def _go_cheaper(self, tried: Trial, interval_ns: int) -> None:
        """Steps down until the expected cost fits. A smaller picture is reached only from the level next to it,
        because for some scenes it saves nothing. After a relapse it makes a single step, back to a level that is known
        to fit."""
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
        """Text for the user: what the steps down to this level leave out."""
        return f"drawing cheaper ({', '.join(level.left_out for level in self._levels[self._at + 1 : to + 1])})"

    def _has_helped(self, costs: list[int], room_ns: float) -> bool:
        """Judges the last step and learns its ratio. False if the level was changed again because the step saved
        nothing."""
        tried, self._trial = self._trial, None
        assert tried is not None
        usual_ns = median(costs)
        self._learn(tried, usual_ns)
        if tried.from_level > self._at:
            return True
        # A tail does not show how much a step saved. If the machine's speed varies, that alone lengthens the tail as
        # much.
        if tried.tail_ns or usual_ns <= room_ns or usual_ns < (1 - WORTH) * tried.usual_ns:
            return True
        # This happens with many small bodies; only fewer pixels help.
        cheapest = len(self._levels) - 1
        if self._at < cheapest and self._may_try:
            further = Trial(self._at, usual_ns, 0.0, tried.back_to)
            self._go(cheapest, f"{self._cheaper_by(cheapest)}: {usual_ns / 1e6:.1f} ms, no less", further)
            return False
        self._useless_ns, self._useless_until_ns = tried.usual_ns, self._now_ns + LONGEST_WAIT_NS
        self._go(tried.back_to, f"drawing as before: cheaper brought nothing, {usual_ns / 1e6:.1f} ms")
        return False

    def _learn(self, tried: Trial, usual_ns: float) -> None:
        """Corrects the shares of the steps between the previous level and this one, all by the same factor."""
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
        # A learned share becomes outdated: LONGEST_WAIT_NS after the last step, `Level.share` is used instead.
        is_known = self._now_ns - changed_ns < LONGEST_WAIT_NS
        share = self._shares[self._at] if is_known else self._levels[self._at].share
        expected_ns = max(_tails(costs)) / share
        if expected_ns > FITS_FINER * interval_ns:
            self._room_since_ns = self._now_ns
        if expected_ns > FITS_EASILY * interval_ns:
            self._much_room_since_ns = self._now_ns
        if self._finer_ns == changed_ns and self._now_ns - self._finer_ns >= RELAPSE_NS:
            self._relapses = 0  # the last finer level has lasted long enough
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
    """p50 + TAIL (QUANTILE - p50) of one or more costs."""
    ordered = sorted(costs)
    usual, high = median(ordered), ordered[min(len(ordered) - 1, int(QUANTILE * len(ordered)))]
    return usual + TAIL * max(0.0, high - usual)


def _tails(costs: Sequence[int]) -> list[float]:
    """The tail of each block."""
    return [tail(costs[first : first + BLOCK]) for first in range(0, len(costs), BLOCK)]


def _levels_of(choice: str, is_software: bool) -> tuple[Level, ...]:
    """Levels that may be drawn, finest first."""
    if choice == "low":
        return (CHEAPEST,)
    if choice == "best":
        return (BEST_SOFTWARE if is_software else BEST,)
    levels = LEVELS if is_software else LIT_LEVELS
    return levels[:1] if choice == "high" else levels
