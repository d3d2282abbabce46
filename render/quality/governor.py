"""Which level is drawn: cheaper when usual work does not fit the display's interval, dearer again when it would.

The one idea: a step is taken by what is known of its cost. Down as far as usual work then fits; up when usual work,
divided by what the step once saved, leaves room. What each step saves is learned at every step taken.

- Too dear: the median of the last ten frames, or each of the last four, is longer than the interval has room for. A
  single late frame, or one in three, changes nothing.
- A cheaper level that brings nothing (the time goes elsewhere: to the user's own drawing, to stolen time) is given up
  again, and not tried for a while.
- Dearer: only after a wait in which nearly all frames had room for it. A step up that had to be taken back soon after
  doubles the wait, up to a minute.
- Cores are short: cheaper, step by step, as far as is hardly seen, whatever the work; not dearer while it lasts.

Always: `high` and `low` never change, and neither does `auto` where a graphics card draws. Pure: reads no clock; time
is the sum of the intervals.
"""

from __future__ import annotations

from collections import deque

from twixt.render.quality.levels import CHEAPEST, LEVELS, SPARING, Level
from twixt.render.recent import median

# Frames that are judged together, and those that decide alone when all of them are too long.
JUDGED, AT_ONCE = 10, 4
# Usual work fits when it takes no more than this share of the interval; a dearer level must leave more room.
FITS, FITS_DEARER = 0.92, 0.75
# Room for a dearer level is judged by what this share of the last ROOM_FRAMES frames stayed under.
ROOM_FRAMES, COVERED = 60, 0.9
# Before a dearer level is tried; a step back within RELAPSE_NS of it doubles the wait.
FIRST_WAIT_NS, LONGEST_WAIT_NS, RELAPSE_NS = 2_000_000_000, 60_000_000_000, 5_000_000_000
# A step that saves less than this share brings nothing.
WORTH = 0.04
# Of what a step saves, how much of a new measurement counts. A share stays within bounds that make sense.
LEARNS, LEAST_SHARE, MOST_SHARE = 0.5, 0.2, 0.99
# While cores are short, a step is taken after so many frames.
SHORT_FRAMES = 10


class Governor:
    """choice: auto, low or high. processor_draws: whether frames cost a processor's time."""

    def __init__(self, choice: str = "auto", processor_draws: bool = True) -> None:
        self.is_free = choice == "auto" and processor_draws
        self.said = ""  # why the level changed with the last frame; "" where it did not
        self._at = LEVELS.index(CHEAPEST) if choice == "low" else 0
        self._shares = [level.share for level in LEVELS]
        self._works: deque[int] = deque(maxlen=ROOM_FRAMES)  # of this level
        self._before: tuple[int, float] | None = None  # the level left last, and what a frame usually took there
        self._now_ns = self._changed_ns = self._dearer_since_ns = 0
        self._room_since_ns: int | None = None
        self._wait_ns = FIRST_WAIT_NS
        self._useless_until_ns = 0
        self._useless_wait_ns = FIRST_WAIT_NS

    @property
    def level(self) -> Level:
        """What is drawn."""
        return LEVELS[self._at]

    @property
    def is_sparing(self) -> bool:
        """Whether frames are drawn as cheaply as cores that are short ask for; nothing else is to be saved."""
        return not self.is_free or self._at >= SPARING

    def frame(self, work_ns: int, interval_ns: int, cores_are_short: bool = False) -> Level:
        """A frame of this level took so long, of a display that shows one each `interval_ns`; the next one's level."""
        self.said = ""
        if not self.is_free or interval_ns <= 0:
            return self.level
        self._now_ns += interval_ns
        self._works.append(max(0, work_ns))
        self._judge(interval_ns, cores_are_short)
        return self.level

    def forget(self) -> None:
        """Frames stopped, or became others: what they took says nothing of those to come."""
        self._works.clear()
        self._before = self._room_since_ns = None

    def _judge(self, interval_ns: int, cores_are_short: bool) -> None:
        works = list(self._works)
        if self._before is not None:  # a step was taken: it is judged before another
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
                self._go(self._at + 1, f"cores are short: drawing cheaper ({LEVELS[self._at + 1].left_out})")
        else:
            self._look_for_room(interval_ns, works)

    @staticmethod
    def _is_too_dear(works: list[int], room_ns: float) -> bool:
        if len(works) >= JUDGED and median(works[-JUDGED:]) > room_ns:
            return True
        return len(works) >= AT_ONCE and min(works[-AT_ONCE:]) > room_ns

    def _may_save(self) -> bool:
        return self._at < len(LEVELS) - 1 and self._now_ns >= self._useless_until_ns

    def _go_cheaper(self, interval_ns: int, usual_ns: float) -> None:
        """As many steps as it takes by what they are known to save."""
        to, expected_ns = self._at, usual_ns
        while to < len(LEVELS) - 1 and (to == self._at or expected_ns > FITS * interval_ns):
            to += 1
            expected_ns *= self._shares[to]
        is_relapse = self._dearer_since_ns and self._now_ns - self._dearer_since_ns < RELAPSE_NS
        self._wait_ns = min(2 * self._wait_ns, LONGEST_WAIT_NS) if is_relapse else FIRST_WAIT_NS
        left_out = ", ".join(level.left_out for level in LEVELS[self._at + 1 : to + 1])
        self._go(to, f"drawing cheaper ({left_out}): {usual_ns / 1e6:.1f} ms of {interval_ns / 1e6:.1f}", usual_ns)

    def _learn(self, usual_ns: float) -> None:
        """What the step to this level saved, once ten frames of it are known."""
        if self._before is None or self._before[1] <= 0 or usual_ns <= 0 or abs(self._before[0] - self._at) != 1:
            return
        cheaper = max(self._before[0], self._at)
        share = usual_ns / self._before[1] if cheaper == self._at else self._before[1] / usual_ns
        share = min(max(share, LEAST_SHARE), MOST_SHARE)
        self._shares[cheaper] += LEARNS * (share - self._shares[cheaper])

    def _brought_nothing(self, interval_ns: int, usual_ns: float) -> bool:
        """Whether the cheaper level was no cheaper, so that the one before is drawn again."""
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
        # What a step saved once may be true no more: after a long wait it is taken for usual again.
        is_known = self._now_ns - self._changed_ns < LONGEST_WAIT_NS
        share = self._shares[self._at] if is_known else LEVELS[self._at].share
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

    def _go(self, to: int, said: str, usual_ns: float = 0.0) -> None:
        self._before = (self._at, usual_ns) if usual_ns else None
        self._at, self.said = to, said
        self._works.clear()
        self._room_since_ns, self._changed_ns = None, self._now_ns
