"""Evidence for another frame interval: either a sustained load, or a replay of the work of the last seconds. Pure.

A sustained load differs from a spike and from noise: three of the last four frames were clearly too long, and earlier
frames were in time. If long frames are frequent, three of four can be long by chance. Then a load requires nine of ten
long frames. With fewer, the replay decides whether a wider interval is better. Nine of ten frames that are too long
only by a little are also a load. A load has ended when the number of frames in a row that fit is larger than chance
explains.

A replay computes the cost of the work of the last seconds at another interval. The cost has two parts. The first part
is the hitch time in ms per second: the time by which frames are shown later than planned. The second part is 16.7
times the number of frames per second that are lost, compared with the display's own interval. The replay assumes that
every frame starts as soon as the previous frame was shown. A replay takes 0.4 us per frame and candidate, so the
caller tries the candidates in different frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

# -- sustained load

# A frame is clearly too long if its cycle exceeds this factor times the longest cycle that the interval holds.
CLEARLY = 1.05
# A load means that n of the last n + 1 frames are clearly too long. n is TOO_LONG_FRAMES at first. n grows by one
# after each relapse; otherwise an interval that the replay narrowed could be widened again by chance.
TOO_LONG_FRAMES, MOST_TOO_LONG_FRAMES = 3, 6
# A few long frames do no harm to a queue, so a load needs this many more frames. It is still found within five frames.
QUEUED_FRAMES = 2
# If the share of long frames among the frames of the last seconds is above NOISE_SHARE, long frames count as noise.
# Then a load means that CERTAIN_FRAMES of the last CERTAIN_FRAMES + 1 frames are too long and of similar length: the
# second longest takes at most EVEN times as long as the second shortest. If the durations vary more than this, no
# interval is right.
CERTAIN_FRAMES, NOISE_SHARE = 9, 0.08
EVEN = 1.35
# A load has ended when at least FITTING_FRAMES frames in a row fit, and the probability that this happens by chance is
# at most BY_CHANCE. The probability is computed from the share of long frames among the CERTAIN_FRAMES + 1 frames
# before the row.
FITTING_FRAMES, BY_CHANCE = 8, 0.001
# Noise is computed from at most HISTORY_FRAMES frames, which are at most HISTORY_NS old. The last LATEST_FRAMES + 1
# frames are left out.
HISTORY_FRAMES, HISTORY_NS, LATEST_FRAMES = 300, 6_000_000_000, 4

# -- replay

# Cost of a loss of one frame per second, in hitch ms per second: the length of one refresh at 60 Hz.
LOST_FRAME_MS = 16.7
# If a frame is planned for several refreshes, its swap is called this share of a refresh before the refresh that shows
# the frame.
HOLD_SHARE = 0.6


class TimedCycle(NamedTuple):
    """Cycle of a frame, and the instant at which the frame ended."""

    end_ns: int
    cycle_ns: int


class SustainedLoad:
    """Detects a sustained load in the cycles of the last frames. holds_ns: longest cycle that an interval holds.

    catches_up: after a late frame the next frames catch up, as with a timer. Then uneven frames are no load if they
    fit on average.
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
        """Records a relapse: a load needs one more frame from now on."""
        self._wanted = min(self._wanted + 1, MOST_TOO_LONG_FRAMES)

    def grew_calm(self) -> bool:
        """Records a time without a relapse: a load needs one frame fewer. Returns True if a load now needs as few
        frames as at the start."""
        self._wanted = max(TOO_LONG_FRAMES, self._wanted - 1)
        return self._wanted == TOO_LONG_FRAMES

    def changed(self) -> None:
        """Records a change of the interval: earlier frames are no evidence of a load at the new interval."""
        self._since_change = 0

    def forget_frames(self) -> None:
        """Clears all frames, because they do not predict the next frames."""
        self._frames.clear()
        self._since_change = 0

    def forget(self) -> None:
        self.forget_frames()
        self._wanted = TOO_LONG_FRAMES

    def long_ns(self, holds_ns: float, queues: bool = False) -> list[int]:
        """Cycles of the frames that are a load, ns; empty if there is no load. queues: with a queue, a few long frames
        are no load."""
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
        """If the load has ended, the cycles of the last frames in a row that are at most `holds_ns`; otherwise
        empty."""
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
        """True if the mean cycle of the last 2 * (CERTAIN_FRAMES + 1) frames is at most `holds_ns`."""
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
    """Expected cycle of each frame: the median of the three frames before it."""
    usual = []
    a = b = c = sorted(cycles)[len(cycles) // 2] if cycles else 0
    for cycle in cycles:
        usual.append(max(min(a, b), min(max(a, b), c)))
        a, b, c = b, c, cycle
    return usual


def cost_on_timer(cycles: Sequence[int], usual: Sequence[int], interval_ns: int, base_ns: int) -> float:
    """Cost of frames on a timer's grid with this interval. base_ns: the display's own interval."""
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
    """Cost of frames if each frame takes at least `refreshes` whole refreshes. base: least number of refreshes that
    the user wants."""
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
    """Cost of frames with a queue: one frame may wait to be shown while the next frame is drawn. So a long frame costs
    nothing if short frames follow.

    A hitch is an interval between shown frames that is longer than the previous one, even if the longer interval was
    planned.
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
    """Longest cycle for which an interval of `refreshes` refreshes is no more costly than an interval that is one
    refresh longer. A cycle longer than the interval drains the queue, so every few frames one frame takes an
    additional refresh."""
    return (refreshes + 1) ** 2 * period_ns // (refreshes + 2)


def _cost(hitch_ns: int, span_ns: int, frames: int, base_ns: int) -> float:
    if span_ns <= 0:
        return 0.0
    seconds = span_ns / 1e9
    return hitch_ns / 1e6 / seconds + LOST_FRAME_MS * max(0.0, 1e9 / base_ns - frames / seconds)
