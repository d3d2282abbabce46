"""Evidence that another frame interval serves better: a sustained load, or a replay of the last seconds of work. Pure.

A sustained load, not spikes or noise: three of the last four frames were clearly too long, and frames before them were
in time. Where long frames are frequent, three of four occur by chance. There a load is nine of ten, and otherwise the
replay decides if a wider interval is better. Nine of ten frames that are a little too long are a load as well. It has
ended when more frames in a row fit than chance explains.

A replay computes the cost of the last seconds of work at another interval: hitch ms a second (by how much frames were
seen later than they were drawn for) + 16.7 for each frame a second fewer than the display's own interval would show.
Every frame is assumed to start as soon as the one before was shown. It takes 0.4 us a frame and candidate, so its
caller spreads the candidates over frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

# -- sustained load

# A frame is clearly too long if its cycle exceeds the longest that the interval holds by this factor.
CLEARLY = 1.05
# A load is n clearly too long frames of the last n + 1: n is TOO_LONG_FRAMES at first, and one more after each relapse,
# so that an interval that the replay narrowed is not widened again by chance.
TOO_LONG_FRAMES, MOST_TOO_LONG_FRAMES = 3, 6
# More frames needed with a queue, in which a few long frames do no harm. A load is still found within five frames.
QUEUED_FRAMES = 2
# Long frames are frequent (noise) above this share of the frames of the last seconds. Then a load is CERTAIN_FRAMES of
# one more, of which the second longest takes at most EVEN times the second shortest: for less even ones no interval is
# right.
CERTAIN_FRAMES, NOISE_SHARE = 9, 0.08
EVEN = 1.35
# A load has ended when at least FITTING_FRAMES in a row fit, if the probability of that is at most BY_CHANCE, given the
# share of long ones among the CERTAIN_FRAMES + 1 frames before them.
FITTING_FRAMES, BY_CHANCE = 8, 0.001
# Frames from which noise is found: their largest number and age, and how many of the latest are left out.
HISTORY_FRAMES, HISTORY_NS, LATEST_FRAMES = 300, 6_000_000_000, 4

# -- replay

# Cost of one frame a second fewer, in hitch ms a second: one refresh at 60 Hz.
LOST_FRAME_MS = 16.7
# Frames meant for several refreshes are swapped this share of a refresh before their own.
HOLD_SHARE = 0.6


class TimedCycle(NamedTuple):
    """Cycle of a frame and the instant of its end."""

    end_ns: int
    cycle_ns: int


class SustainedLoad:
    """Sustained load in the cycles of the last frames. holds_ns: the longest cycle that an interval holds.

    catches_up: frames after a late one catch up, as on a timer. There, uneven frames that fit on average are no load.
    """

    def __init__(self) -> None:
        self.catches_up = False
        self._frames: deque[TimedCycle] = deque(maxlen=HISTORY_FRAMES)
        self._since_change = 0
        self._wanted = TOO_LONG_FRAMES

    def frame(self, cycle_ns: int, end_ns: int) -> None:
        """Records a completed frame."""
        self._frames.append(TimedCycle(end_ns, cycle_ns))
        self._since_change += 1

    def relapsed(self) -> None:
        """Records a relapse, after which more frames are needed for a load."""
        self._wanted = min(self._wanted + 1, MOST_TOO_LONG_FRAMES)

    def grew_calm(self) -> bool:
        """Records time without a relapse: fewer frames are needed. True if as few as before the first relapse."""
        self._wanted = max(TOO_LONG_FRAMES, self._wanted - 1)
        return self._wanted == TOO_LONG_FRAMES

    def changed(self) -> None:
        """Records a change of the interval: earlier frames are no load for the new one."""
        self._since_change = 0

    def forget_frames(self) -> None:
        """Clears all frames: they do not predict the next ones."""
        self._frames.clear()
        self._since_change = 0

    def forget(self) -> None:
        self.forget_frames()
        self._wanted = TOO_LONG_FRAMES

    def long_ns(self, holds_ns: float, queues: bool = False) -> list[int]:
        """The cycles of the load; an empty list if there is none. queues: in a queue a few long frames are no load."""
        wanted = self._wanted + QUEUED_FRAMES if queues else self._wanted
        count = min(self._since_change, CERTAIN_FRAMES + 1)
        if not count:
            return []
        frames = self._frames
        last = [frames[i].cycle_ns for i in range(-count, 0)]
        clearly = [cycle for cycle in last[-wanted - 1 :] if cycle > CLEARLY * holds_ns]
        if len(clearly) >= wanted and not self._is_noisy(holds_ns):
            return clearly
        long = sorted(cycle for cycle in last if cycle > holds_ns)
        is_even = len(long) >= CERTAIN_FRAMES and long[-2] <= EVEN * long[1]
        return long if is_even and not (self.catches_up and self._fits(holds_ns)) else []

    def fitting_ns(self, holds_ns: float) -> list[int]:
        """Cycles since the last one longer than `holds_ns`, if the load has ended; else an empty list."""
        last = [frame.cycle_ns for frame in reversed(self._frames)]
        count = next((number for number, cycle in enumerate(last) if cycle > holds_ns), len(last))
        before = last[count : count + CERTAIN_FRAMES + 1]
        long_share = (sum(cycle > holds_ns for cycle in before) + 1) / (len(before) + 2)
        has_ended = count >= FITTING_FRAMES and (1 - long_share) ** count <= BY_CHANCE
        return last[:count] if has_ended else []

    def is_in(self, cycles: list[int], holds_ns: float) -> bool:
        """True if these frames would have been a load for an interval that holds `holds_ns`."""
        wanted = CERTAIN_FRAMES if self._is_noisy(holds_ns) else self._wanted
        long = [cycle > holds_ns for cycle in cycles]
        count = sum(long[: wanted + 1])
        for i in range(wanted + 1, len(long)):
            if count >= wanted:
                return True
            count += long[i] - long[i - wanted - 1]
        return count >= wanted

    def _fits(self, holds_ns: float) -> bool:
        """True if the mean cycle of the last frames, twice as many as make a load, is at most `holds_ns`."""
        last = list(self._frames)[-2 * (CERTAIN_FRAMES + 1) :]
        return sum(frame.cycle_ns for frame in last) <= len(last) * holds_ns

    def _is_noisy(self, holds_ns: float) -> bool:
        frames = list(self._frames)[: -LATEST_FRAMES - 1]
        if not frames:
            return False
        from_ns = self._frames[-1].end_ns - HISTORY_NS
        recent = [frame.cycle_ns > holds_ns for frame in frames if frame.end_ns >= from_ns]
        return sum(recent) > NOISE_SHARE * max(len(recent), HISTORY_FRAMES // 5)


def usual_before(cycles: Sequence[int]) -> list[int]:
    """For each frame the median of the three before it."""
    usual = []
    a = b = c = sorted(cycles)[len(cycles) // 2] if cycles else 0
    for cycle in cycles:
        usual.append(max(min(a, b), min(max(a, b), c)))
        a, b, c = b, c, cycle
    return usual


def cost_on_timer(cycles: Sequence[int], usual: Sequence[int], interval_ns: int, base_ns: int) -> float:
    """Cost of frames on a timer's grid, of any interval."""
    now = point = hitch = 0
    for cycle, expected in zip(cycles, usual, strict=True):
        point += interval_ns
        point += max(0, (now - point) // interval_ns) * interval_ns
        planned = max(point, now + expected)
        now += cycle
        if now < planned:
            now = planned
        else:
            hitch += now - planned
    return _cost(hitch, now, len(cycles), base_ns)


def cost_on_refreshes(
    cycles: Sequence[int], usual: Sequence[int], refreshes: int, period_ns: int, guard_ns: int, base: int = 1
) -> float:
    """Cost of frames that each take `refreshes` or more whole refreshes. base: refreshes wanted at least."""
    shown = hitch = 0
    for cycle, expected in zip(cycles, usual, strict=True):
        planned = max(refreshes, (expected + guard_ns - 1) // period_ns + 1)
        needed = (cycle + guard_ns - 1) // period_ns + 1
        if needed > planned:
            hitch += needed - planned
            planned = needed
        shown += planned
    return _cost(hitch * period_ns, shown * period_ns, len(cycles), base * period_ns)


def cost_on_queue(cycles: Sequence[int], usual: Sequence[int], refreshes: int, period_ns: int, base: int = 1) -> float:
    """Cost of frames of which one may wait to be shown while the next is drawn, so that a long one followed by short
    ones costs nothing.

    A hitch is an interval that is longer than the one before it, also if it was planned.
    """
    done = before = shown = hitch = 0
    last_ns = refreshes * period_ns
    held_ns = round(HOLD_SHARE * period_ns)
    for cycle, expected in zip(cycles, usual, strict=True):
        start = max(done, before)
        done = start + cycle
        if refreshes > 1:
            done = max(done, max(shown + refreshes * period_ns, start + expected) - held_ns)
        seen = max(-(-done // period_ns), shown // period_ns + 1) * period_ns
        hitch += max(0, seen - shown - last_ns)
        last_ns = max(period_ns, seen - shown)
        before, shown = shown, seen
    return _cost(hitch, shown, len(cycles), base * period_ns)


def queue_holds_ns(refreshes: int, period_ns: int) -> int:
    """The longest cycle for which frames of `refreshes` refreshes cost no more than frames of one more. Work that is
    longer than these refreshes drains the queue, and every few frames take one refresh more."""
    return (refreshes + 1) ** 2 * period_ns // (refreshes + 2)


def _cost(hitch_ns: int, span_ns: int, frames: int, base_ns: int) -> float:
    if span_ns <= 0:
        return 0.0
    seconds = span_ns / 1e9
    return hitch_ns / 1e6 / seconds + LOST_FRAME_MS * max(0.0, 1e9 / base_ns - frames / seconds)
