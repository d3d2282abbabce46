"""Chooses the quality level: a cheaper level while frames do not fit into the refresh interval, and a finer level when
they fit again.

The longest frames make motion uneven, not the usual frames. So a level is judged by the *tail* of the costs of its
frames, which is p50 + 3 (p90 - p50). (p50 is the median cost. 90 % of the costs are at most p90.) If costs vary, the
tail is about the longest frame in 100. The tail ignores rare long frames, because no cheaper level prevents them. For
each step between levels, the ratio of costs was measured in advance (`Level.share`). The ratio is corrected after each
step.

- Cheaper: a step down is made if the tail of each of three blocks of 40 frames exceeds 92 % of the interval. It is made
  at once if the median of the last 10 frames, or each of the last 4, exceeds this limit. The step skips levels whose
  expected cost does not fit. The step to a smaller picture is separate. It is made only if even the median of three
  blocks does not fit.
- Reversal: a step is reversed if it saves less than 4 % and the usual frames still do not fit. Before the reversal, the
  cheapest level is tried if possible. After the reversal, no cheaper level is tried until the cost has grown by half or
  ten minutes have passed.
- Finer: the tails of three blocks are divided by the step's ratio. A step up is made if the results stay below 75 % of
  the interval for 9 s, or below 50 % for 2 s. If a step down follows within a minute, both times double, up to ten
  minutes. The times are reset when a finer level has lasted a minute.
- Shortage of cores: one step down is made every 10 frames, at most to level SPARING, whatever the cost. During the
  shortage there is no step up.

Under a constant load, the level stops changing within 20 s, after at most three changes. (This was tested on recorded
costs.)

Each level also leaves out everything that the finer levels leave out. Software rendering uses LEVELS. A GPU uses
LIT_LEVELS, which start with BEST. (Shadows on every surface make software rendering fifty times slower.) With the
choices `low`, `high` (the finest of LEVELS) and `best` (the finest level of all) the level never changes. A shortage of
cores does not change the level on a GPU. Pure: reads no clock. Time is the sum of the frame intervals.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from twixt.ipc.quantiles import median


class Level(NamedTuple):
    """One quality level. left_out: text for the user. It names what the next finer level has and this level does not
    have. It is "" for the finest level.

    share: frame time of this level divided by the frame time of the next finer level.
    """

    name: str
    left_out: str = ""
    share: float = 1.0
    shadows: bool = True  # True if bodies have round shadows on the ground; used if `mapped` is False
    fine: bool = True  # True if bodies have smooth edges, highlights and borders
    skin: bool = True  # True if bodies have a pattern, and exact depth in each pixel
    mapped: bool = False  # True if all bodies cast shadows on every surface
    contact: bool = False  # True if nearby surfaces darken each other
    samples: int = 1  # number of samples per pixel
    scale: float = 1.0  # factor on each side of the picture; a picture with a factor below 1 is enlarged after drawing


FULL = Level("full")
FLAT = Level("flat", "pattern, exact depth", 0.78, shadows=False, fine=False, skin=False)
# The shares are ratios of processor times for drawing the default world on llvmpipe. They were measured in alternation
# at 800x600 and 1280x800 (`python -m bench parts`). With 10,000 or more small bodies, each step except the first and
# the last saves less than 4 %, because the cheapest programs already draw them. The last level draws at half size. If
# pixels are costly, this level takes 0.3 to 0.9 of the time of FLAT. Pixels are costly if there are many bodies or
# meshes, or if the camera moves over a floor. With few bodies and a camera that stands still, this level takes 1.0 to
# 1.9 of the time of FLAT. The reason is that copies of the whole window take about 2 ms more at 1920x1080.
LEVELS = (
    FULL,
    Level("no shadows", "shadows", 0.73, shadows=False),
    Level("plain", "smooth edges, highlights", 0.85, shadows=False, fine=False),
    FLAT,
    Level("half the size", "full resolution", 0.9, shadows=False, fine=False, skin=False, scale=0.5),
)
# Levels for a GPU. Their shares are estimated from the number of pixels and samples that each step saves. The governor
# measures the costs and corrects the shares. `python -m bench looks` shows them.
BEST = Level("best", mapped=True, contact=True, samples=4)
LIT_LEVELS = (
    BEST,
    Level("mapped shadows", "contact shading, multisampling", 0.5, mapped=True),
    Level("round shadows", "shadows except on the ground", 0.5),
)
# In software rendering, `--quality best` has one sample per pixel. Four samples take twice as long.
BEST_SOFTWARE = BEST._replace(samples=1)
CHEAPEST = FLAT  # the cheapest level that is drawn at full size, used for `--quality low`
# Index of the coarsest level to which a shortage of cores may lead. The user would notice a coarser level at once.
SPARING = 2


# The cost of a frame is too high if it exceeds a limit. JUDGED: number of frames; the median cost of the last JUDGED
# frames is compared with the limit. AT_ONCE: the level is also lowered if each of the last AT_ONCE frames costs too much.
JUDGED, AT_ONCE = 10, 4
# BLOCK: number of frames in a block. BLOCKS: number of blocks that are judged together. If the tails of all these
# blocks are too long, a cheaper level is chosen. If all are short enough, a finer level is chosen.
BLOCK, BLOCKS = 40, 3
# The tail of the costs is p50 + TAIL (QUANTILE - p50). p50 is the median, and QUANTILE stands for the cost at this
# quantile. For an exponential distribution this is p99.7. For a normal distribution it is an even higher quantile.
TAIL, QUANTILE = 3, 0.9
# FITS: frames fit if they take at most this share of the interval. FITS_FINER: a stricter limit on the times that are
# expected at a finer level.
FITS, FITS_FINER = 0.92, 0.75
# If the times that are expected at a finer level are below this share of the interval, the high load has probably
# ended, and not only paused. So a finer level is tried earlier.
FITS_EASILY = 0.5
# A finer level is tried when frames have fitted for a certain time. FIRST_WAIT_NS is the usual time. SHORT_WAIT_NS is
# the time if frames fit easily. If a step back to a cheaper level follows within RELAPSE_NS, both times double.
FIRST_WAIT_NS, SHORT_WAIT_NS = 9_000_000_000, 2_000_000_000
LONGEST_WAIT_NS, RELAPSE_NS = 600_000_000_000, 60_000_000_000
# WORTH: a step that saves less than this share of the cost is useless. GROWN: after a useless step, a cheaper level is
# tried again when the cost has grown by this factor.
WORTH, GROWN = 0.04, 1.5
# Largest number of changes of the level within CHANGES_NS. The smaller picture is tried only if this number allows two
# more changes: the step to the smaller picture and the step back.
MOST_CHANGES, CHANGES_NS = 3, 60_000_000_000
# LEARNS: weight of a new measurement of a step's share. LEAST_SHARE, MOST_SHARE: lower and upper limit of a share.
LEARNS, LEAST_SHARE, MOST_SHARE = 0.75, 0.2, 0.99
# During a shortage of cores, the level is lowered by one step whenever this many frames have passed.
SHORT_FRAMES = 10
# Number of frames that are not judged after a pause or after a change of the window's size. In this time caches fill,
# and the overlay is laid out again.
SETTLING = 20


class FrameCost(NamedTuple):
    """The time of one frame, in ns. work: time from the frame's start until its drawing is complete. swap: time of the
    swap, without the wait for the display. user, gc, stolen: three times that are contained in `work`, see
    `FrameCosts`."""

    work_ns: int
    swap_ns: int = 0
    user_ns: int = 0
    gc_ns: int = 0
    stolen_ns: int = 0

    @property
    def judged_ns(self) -> int:
        """The share of the cost that a cheaper level may lower, in ns. The user's own drawing and garbage collection
        are not included. Stolen time is included, but at most as much as the frame's own work takes. If another program
        runs all the time, a fair scheduler gives the other program as much time in each frame as this process. So a
        cheaper frame loses less time. More stolen time than this is rare, and does not depend on the drawing."""
        own_ns = max(0, self.work_ns - self.user_ns - self.gc_ns - self.stolen_ns) + max(0, self.swap_ns)
        return own_ns + min(max(0, self.stolen_ns), own_ns)


class Trial(NamedTuple):
    """A step between levels that is not judged yet. from_level: index of the previous level. usual_ns, tail_ns: costs
    of the frames before the step. tail_ns is 0 if the tail was not the reason for the step. back_to: index of the level
    that is chosen again if the step saves nothing."""

    from_level: int
    usual_ns: float
    tail_ns: float
    back_to: int


class Governor:
    """Chooses the level of each frame. choice: auto, low, high or best. is_software: True for software rendering.

    is_held: True if frames are being measured. The level then does not change.
    """

    def __init__(self, choice: str = "auto", is_software: bool = True, is_held: bool = False) -> None:
        self.is_free = choice == "auto" and not is_held
        self.change_reason = ""  # why the level changed after the last frame; "" if it did not change
        self._is_software = is_software
        self._levels = _levels_of(choice, is_software)
        self._last_of_full_size = max(number for number, level in enumerate(self._levels) if level.scale == 1.0)
        self._at = 0
        self._shares = [level.share for level in self._levels]
        self._costs: deque[int] = deque(maxlen=BLOCK * BLOCKS)  # costs of the frames at this level, in ns
        self._count = 0  # number of frames that were drawn at this level
        self._settling = 0  # how many of the next frames will not be judged
        self._trial: Trial | None = None
        self._changes_ns: deque[int] = deque(maxlen=MOST_CHANGES)  # times of the last changes of the level
        self._now_ns = self._finer_ns = 0
        self._room_since_ns = self._much_room_since_ns = 0
        self._relapses = 0  # number of relapses in a row; a relapse is a step down soon after a step up
        # _useless_ns: a cost that no cheaper level lowered. _useless_until_ns: no cheaper level is tried before this
        # time.
        self._useless_ns, self._useless_until_ns = 0.0, 0

    @property
    def level(self) -> Level:
        """The current quality level."""
        return self._levels[self._at]

    @property
    def finest(self) -> Level:
        """The finest level that can be chosen."""
        return self._levels[0]

    @property
    def is_sparing(self) -> bool:
        """True if a shortage of cores cannot lower the level further. There are three such cases: the level is SPARING
        or coarser, the level is fixed, or a GPU draws."""
        return not self.is_free or not self._is_software or self._at >= SPARING

    def frame(self, cost_ns: int, interval_ns: int, cores_are_short: bool = False) -> Level:
        """Records the cost of a frame at the current level (`FrameCost.judged_ns`). Returns the level for the next
        frame.

        interval_ns: refresh interval of the display. cores_are_short: True if this process or the physics process has
        to wait for a core.
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
        """Discards the recorded frames. Call it when drawing has stopped or has changed. The recorded frames then do
        not predict the cost of the next frames."""
        self._restart()
        self._settling = SETTLING

    def _judge(self, room_ns: float, interval_ns: int, cores_are_short: bool) -> None:
        costs = list(self._costs)
        is_block = self._count % BLOCK == 0
        if self._trial is not None:  # the last step is judged before the next step is made
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
                self._go(self._at + 1, f"too few free cores: {self._cheaper_by(self._at + 1)}")
        elif is_block:
            self._look_for_room(costs, interval_ns)

    @staticmethod
    def _too_long(costs: list[int], room_ns: float, is_block: bool) -> tuple[float, float]:
        """Returns the usual cost and the tail. The tail is 0 if the usual cost is already too long. Both numbers are 0
        if neither of them is too long."""
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
        # The user sees a smaller picture at once, so a long tail alone is not a sufficient reason for it.
        return len(self._costs) == BLOCK * BLOCKS and median(self._costs) > room_ns and self._may_try

    @property
    def _may_try(self) -> bool:
        """Returns True if a step and its reversal do not lead to more than MOST_CHANGES changes within CHANGES_NS."""
        recent = sum(self._now_ns - changed_ns < CHANGES_NS for changed_ns in self._changes_ns)
        return recent + 2 <= MOST_CHANGES

    def _go_cheaper(self, tried: Trial, interval_ns: int) -> None:
        """Chooses cheaper levels, step by step, until the expected cost fits. The level with the smaller picture is
        reached only from the level next to it, because a smaller picture saves nothing in some scenes. After a relapse,
        this method makes a single step, back to a level that is known to fit."""
        is_relapse = self._finer_ns > 0 and self._now_ns - self._finer_ns < RELAPSE_NS
        self._relapses = self._relapses + 1 if is_relapse else 0
        cost_ns, fits = (tried.tail_ns, FITS) if tried.tail_ns else (tried.usual_ns, FITS_FINER)
        to, expected_ns = self._at + 1, cost_ns * self._shares[self._at + 1]
        last = to if is_relapse else max(to, self._last_of_full_size)
        while expected_ns > fits * interval_ns and to < last:
            to += 1
            expected_ns *= self._shares[to]
        frames = "the longest frames take" if tried.tail_ns else "frames take"
        self._go(
            to, f"{self._cheaper_by(to)}: {frames} {cost_ns / 1e6:.1f} ms, interval {interval_ns / 1e6:.1f} ms", tried
        )

    def _cheaper_by(self, to: int) -> str:
        """Returns a text for the user. It says what is left out by the steps down to this level."""
        return f"lower quality without {', '.join(level.left_out for level in self._levels[self._at + 1 : to + 1])}"

    def _has_helped(self, costs: list[int], room_ns: float) -> bool:
        """Judges the last step and learns its ratio of costs. Returns False if the step saved nothing and the level was
        therefore changed again."""
        tried, self._trial = self._trial, None
        assert tried is not None
        usual_ns = median(costs)
        self._learn(tried, usual_ns)
        if tried.from_level > self._at:
            return True
        # The tail does not show how much a step saved. If the machine's speed varies, this variation alone can make the
        # tail longer by the same amount.
        if tried.tail_ns or usual_ns <= room_ns or usual_ns < (1 - WORTH) * tried.usual_ns:
            return True
        # With many small bodies, a step often saves nothing. Then only a smaller number of pixels helps.
        cheapest = len(self._levels) - 1
        if self._at < cheapest and self._may_try:
            further = Trial(self._at, usual_ns, 0.0, tried.back_to)
            self._go(cheapest, f"{self._cheaper_by(cheapest)}: {usual_ns / 1e6:.1f} ms as before", further)
            return False
        self._useless_ns, self._useless_until_ns = tried.usual_ns, self._now_ns + LONGEST_WAIT_NS
        self._go(tried.back_to, f"former quality: lower quality saved no time, {usual_ns / 1e6:.1f} ms")
        return False

    def _learn(self, tried: Trial, usual_ns: float) -> None:
        """Corrects the shares of the steps between the previous level and this level. All these shares are changed by
        the same factor."""
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
        # A learned share becomes outdated. If the last step was more than LONGEST_WAIT_NS ago, `Level.share` is used
        # instead.
        is_known = self._now_ns - changed_ns < LONGEST_WAIT_NS
        share = self._shares[self._at] if is_known else self._levels[self._at].share
        expected_ns = max(_tails(costs)) / share
        if expected_ns > FITS_FINER * interval_ns:
            self._room_since_ns = self._now_ns
        if expected_ns > FITS_EASILY * interval_ns:
            self._much_room_since_ns = self._now_ns
        if self._finer_ns == changed_ns and self._now_ns - self._finer_ns >= RELAPSE_NS:
            self._relapses = 0  # the finer level has lasted long enough, so relapses are counted anew
        room_ns, much_room_ns = self._now_ns - self._room_since_ns, self._now_ns - self._much_room_since_ns
        if room_ns >= self._wait_ns(FIRST_WAIT_NS) or much_room_ns >= self._wait_ns(SHORT_WAIT_NS):
            reason = f"higher quality: expected {expected_ns / 1e6:.1f} ms, interval {interval_ns / 1e6:.1f} ms"
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
    """Returns p50 + TAIL (QUANTILE - p50) of the costs. There must be at least one cost."""
    ordered = sorted(costs)
    usual, high = median(ordered), ordered[min(len(ordered) - 1, int(QUANTILE * len(ordered)))]
    return usual + TAIL * max(0.0, high - usual)


def _tails(costs: Sequence[int]) -> list[float]:
    return [tail(costs[first : first + BLOCK]) for first in range(0, len(costs), BLOCK)]


def _levels_of(choice: str, is_software: bool) -> tuple[Level, ...]:
    """Returns the levels that may be drawn. The finest level is first."""
    if choice == "low":
        return (CHEAPEST,)
    if choice == "best":
        return (BEST_SOFTWARE if is_software else BEST,)
    levels = LEVELS if is_software else LIT_LEVELS
    return levels[:1] if choice == "high" else levels
