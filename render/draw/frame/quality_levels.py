"""Chooses the quality level: cheaper when frames take longer than the refresh interval, finer when they fit again.

The one idea: a level is a set of switches that drawing obeys, and the cost ratio of each step between levels is known.
Steps down are taken until the expected work fits. A step up is taken if the work, divided by the step's ratio, leaves
room. The ratios start as measured beforehand (`Level.share`); the governor corrects them by each single step it takes.

- Too slow: the median work of the last 10 frames, or each of the last 4, exceeds 92 % of the interval. A single late
  frame, or one in three, changes nothing.
- A cheaper level that does not fit and saves less than 4 % (the time is spent in the user's own drawing, or stolen by
  the host) is taken back, and no step down is tried for 2 s. Each repetition doubles that, up to a minute.
- Finer: only after a wait of 2 s in which 90 % of the frames left room for it. A step up that is taken back within 5 s
  doubles the wait, up to a minute.
- Cores are short: one step down every 10 frames, to level SPARING at most, whatever the work; no step up meanwhile.

Always: each level also leaves out what those before it leave out. Where the processor draws, LEVELS are chosen from;
where a GPU draws, LIT_LEVELS, whose first is BEST: shadows on every surface cost a processor fifty frames. The
choices `low`, `high` (the finest of those) and `best` (the finest there is) never change the level. Short cores do not change a GPU's. Pure: reads no clock; time is the sum
of the intervals.
"""

from __future__ import annotations

from collections import deque
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
    scale: float = 1.0  # of each side, for a picture that is enlarged afterwards; its lines are one of its pixels wide


FULL = Level("full")
FLAT = Level("flat", "no pattern, one depth a body", 0.77, shadows=False, fine=False, skin=False)
# Shares: CPU time of drawing the default world at 800x600 on llvmpipe, levels measured in turns. With 10,000 small
# bodies and more each step but the last saves less than 4 %: the cheapest programs draw them already. Half the size takes
# 0.3 to 0.9 of flat where pixels are costly: many bodies, meshes, a camera that moves over a floor. With few bodies before
# a camera that stands still it takes 0.8 to 1.4: up to 2 ms more at 1920x1080, for copies of the whole window.
LEVELS = (
    FULL,
    Level("no shadows", "no soft shadows", 0.82, shadows=False),
    Level("plain", "hard edges, no highlights", 0.80, shadows=False, fine=False),
    FLAT,
    Level("half the size", "pixels of twice the size", 0.82, shadows=False, fine=False, skin=False, scale=0.5),
)
# On a GPU. The shares are estimates by the pixels and samples that each step saves; the governor corrects them by what it
# measures, and `twixt bench looks` shows them.
BEST = Level("best", mapped=True, contact=True, samples=4)
LIT_LEVELS = (
    BEST,
    Level("mapped shadows", "no contact shading, no multisampling", 0.5, mapped=True),
    Level("round shadows", "shadows on the ground alone", 0.5),
)
# `--quality best` where the processor draws: four samples a pixel take twice as long as one.
BEST_BY_PROCESSOR = BEST._replace(samples=1)
CHEAPEST = FLAT  # of those drawn at full size: `--quality low`
# Coarsest level that is chosen only because cores are short; a coarser one is noticed at once.
SPARING = 2


# Frames whose median is judged, and frames that suffice if every one of them is too long.
JUDGED, AT_ONCE = 10, 4
# Work fits if it takes no more than this share of the interval; the expected work of a finer level must take less.
FITS, FITS_DEARER = 0.92, 0.75
# Room for a finer level is judged by this quantile of the last ROOM_FRAMES frames.
ROOM_FRAMES, COVERED = 60, 0.9
# Wait before a finer level is tried; a step back within RELAPSE_NS of it doubles the wait.
FIRST_WAIT_NS, LONGEST_WAIT_NS, RELAPSE_NS = 2_000_000_000, 60_000_000_000, 5_000_000_000
# A step that saves less than this share is useless.
WORTH = 0.04
# Weight of a new measurement of a step's share, and the bounds of a share.
LEARNS, LEAST_SHARE, MOST_SHARE = 0.5, 0.2, 0.99
# While cores are short, a step down is taken after this many frames of a level.
SHORT_FRAMES = 10


class Governor:
    """Chooses the level of each frame. choice: auto, low, high or best. processor_draws: True where the CPU draws.

    is_held: frames are measured, so that no level may change meanwhile.
    """

    def __init__(self, choice: str = "auto", processor_draws: bool = True, is_held: bool = False) -> None:
        self.is_free = choice == "auto" and not is_held
        self.change_reason = ""  # why the level changed with the last frame; "" where it did not
        self._processor_draws = processor_draws
        self._levels = _levels_of(choice, processor_draws)
        self._at = 0
        self._shares = [level.share for level in self._levels]
        self._works: deque[int] = deque(maxlen=ROOM_FRAMES)  # of the frames of this level, ns
        self._before: tuple[int, float] | None = None  # the level left last and its median work, until judged
        self._now_ns = self._changed_ns = self._dearer_since_ns = 0
        self._room_since_ns: int | None = None
        self._wait_ns = FIRST_WAIT_NS
        self._useless_until_ns = 0
        self._useless_wait_ns = FIRST_WAIT_NS

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
        return not self.is_free or not self._processor_draws or self._at >= SPARING

    def frame(self, work_ns: int, interval_ns: int, cores_are_short: bool = False) -> Level:
        """Records the work of a frame at this level; returns the next frame's level.

        interval_ns: refresh interval of the display. cores_are_short: this process or physics waits for a core.
        """
        self.change_reason = ""
        if not self.is_free or interval_ns <= 0:
            return self.level
        self._now_ns += interval_ns
        self._works.append(max(0, work_ns))
        self._judge(interval_ns, cores_are_short and self._processor_draws)
        return self.level

    def forget(self) -> None:
        """Discards the recorded frames: drawing stopped or changed, so that they do not predict the next ones."""
        self._works.clear()
        self._before = self._room_since_ns = None

    def _judge(self, interval_ns: int, cores_are_short: bool) -> None:
        works = list(self._works)
        if self._before is not None:  # a step was taken: it is judged before another one
            if len(works) < JUDGED:
                return
            self._learn(median(works))
            if self._brought_nothing(interval_ns, median(works)):
                return
        if self._is_too_dear(works, FITS * interval_ns) and self._may_save():
            self._go_cheaper(interval_ns, median(works[-AT_ONCE:]))
        elif cores_are_short:
            self._room_since_ns = None
            if self._at < SPARING and len(works) >= SHORT_FRAMES:
                self._go(self._at + 1, f"cores are short: drawing cheaper ({self._levels[self._at + 1].left_out})")
        else:
            self._look_for_room(interval_ns, works)

    @staticmethod
    def _is_too_dear(works: list[int], room_ns: float) -> bool:
        if len(works) >= JUDGED and median(works[-JUDGED:]) > room_ns:
            return True
        return len(works) >= AT_ONCE and min(works[-AT_ONCE:]) > room_ns

    def _may_save(self) -> bool:
        return self._at < len(self._levels) - 1 and self._now_ns >= self._useless_until_ns

    def _go_cheaper(self, interval_ns: int, usual_ns: float) -> None:
        """Steps down until the expected work fits."""
        to, expected_ns = self._at, usual_ns
        while to < len(self._levels) - 1 and (to == self._at or expected_ns > FITS * interval_ns):
            to += 1
            expected_ns *= self._shares[to]
        is_relapse = self._dearer_since_ns and self._now_ns - self._dearer_since_ns < RELAPSE_NS
        self._wait_ns = min(2 * self._wait_ns, LONGEST_WAIT_NS) if is_relapse else FIRST_WAIT_NS
        left_out = ", ".join(level.left_out for level in self._levels[self._at + 1 : to + 1])
        self._go(to, f"drawing cheaper ({left_out}): {usual_ns / 1e6:.1f} ms of {interval_ns / 1e6:.1f}", usual_ns)

    def _learn(self, usual_ns: float) -> None:
        """Corrects the share of the step to this level, if it was a single step."""
        if self._before is None or self._before[1] <= 0 or usual_ns <= 0 or abs(self._before[0] - self._at) != 1:
            return
        cheaper = max(self._before[0], self._at)
        share = usual_ns / self._before[1] if cheaper == self._at else self._before[1] / usual_ns
        share = min(max(share, LEAST_SHARE), MOST_SHARE)
        self._shares[cheaper] += LEARNS * (share - self._shares[cheaper])

    def _brought_nothing(self, interval_ns: int, usual_ns: float) -> bool:
        """Takes a step down back if it saved too little. Returns True if so."""
        before, self._before = self._before, None
        if before is None or before[0] > self._at or usual_ns <= FITS * interval_ns:
            return False
        if usual_ns < (1 - WORTH) * before[1]:
            return False
        self._useless_until_ns = self._now_ns + self._useless_wait_ns
        self._useless_wait_ns = min(2 * self._useless_wait_ns, LONGEST_WAIT_NS)
        self._go(before[0], f"drawing as before: cheaper brought nothing, {usual_ns / 1e6:.1f} ms")
        return True

    def _look_for_room(self, interval_ns: int, works: list[int]) -> None:
        if not self._at or len(works) < JUDGED:
            return
        nearly_all_ns = sorted(works)[min(len(works) - 1, round(COVERED * len(works)))]
        # A learned share may be outdated: LONGEST_WAIT_NS after the last step the share measured beforehand counts.
        is_known = self._now_ns - self._changed_ns < LONGEST_WAIT_NS
        share = self._shares[self._at] if is_known else self._levels[self._at].share
        if nearly_all_ns / share > FITS_DEARER * interval_ns:
            self._room_since_ns = None
            return
        if self._room_since_ns is None:
            self._room_since_ns = self._now_ns
        if self._now_ns - self._room_since_ns < self._wait_ns:
            return
        usual_ns = median(works[-JUDGED:])
        self._go(self._at - 1, f"drawing finer again: {usual_ns / 1e6:.1f} ms of {interval_ns / 1e6:.1f}", usual_ns)
        self._dearer_since_ns = self._now_ns

    def _go(self, to: int, reason: str, usual_ns: float = 0.0) -> None:
        self._before = (self._at, usual_ns) if usual_ns else None
        self._at, self.change_reason = to, reason
        self._works.clear()
        self._room_since_ns, self._changed_ns = None, self._now_ns


def _levels_of(choice: str, processor_draws: bool) -> tuple[Level, ...]:
    """Levels that may be drawn, the finest first."""
    if choice == "low":
        return (CHEAPEST,)
    if choice == "best":
        return (BEST_BY_PROCESSOR if processor_draws else BEST,)
    levels = LEVELS if processor_draws else LIT_LEVELS
    return levels[:1] if choice == "high" else levels
