"""Finds evidence that another frame interval is better. The evidence is a sustained load, or a replay of the work of
the last seconds. Pure.

A sustained load differs from a spike and from noise: three of the last four frames were clearly too long, and the
frames before them were in time. If long frames are frequent, three of four can be long by chance. In this case a load
requires that nine of ten frames are long. If fewer frames are long, the replay decides whether a wider interval is
better. Nine of ten frames that are only a little too long are also a load. A load has ended when so many frames in a
row fit the interval that chance does not explain it.

A replay computes what the work of the last seconds would cost at another interval. This cost is the sum of two parts.
The first part is the hitch time in ms per second: the time by which frames are shown later than planned. The second
part is 16.7 times the number of frames per second that are lost, compared with the display's own interval. The replay
assumes that every frame starts as soon as the previous frame has been shown. A replay takes 0.4 us per frame and per
interval that is tried, so the caller tries the intervals in different frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

# -- sustained load

# A frame is clearly too long if its cycle (the time for its work) exceeds the longest cycle that the interval allows,
# times this factor.
CLEARLY = 1.05
# A load means that n of the last n + 1 frames are clearly too long. At first n is TOO_LONG_FRAMES. n grows by one
# after each relapse. If n did not grow, an interval that the replay narrowed could be widened again by chance.
TOO_LONG_FRAMES, MOST_TOO_LONG_FRAMES = 3, 6
# If the display has a queue, a few long frames do no harm. So a load then needs this many more long frames. The load
# is still found within five frames.
QUEUED_FRAMES = 2
# Long frames count as noise if their share among the frames of the last seconds is above NOISE_SHARE. If there is
# noise, a load means that CERTAIN_FRAMES of the last CERTAIN_FRAMES + 1 frames are too long and of similar length.
# Similar length means: the second longest frame takes at most EVEN times as long as the second shortest. If the
# durations of frames vary more than this, no interval is right.
CERTAIN_FRAMES, NOISE_SHARE = 9, 0.08
EVEN = 1.35
# A load has ended when two conditions hold. At least FITTING_FRAMES frames in a row fit the interval, and the
# probability that this happens by chance is at most BY_CHANCE. This probability is computed from the share of long
# frames among the CERTAIN_FRAMES + 1 frames before the row.
FITTING_FRAMES, BY_CHANCE = 8, 0.001
# The share of long frames (noise) is computed from at most HISTORY_FRAMES frames, which are at most HISTORY_NS old.
# The last LATEST_FRAMES + 1 frames are left out.
HISTORY_FRAMES, HISTORY_NS, LATEST_FRAMES = 300, 6_000_000_000, 4

# -- replay

# Cost of one lost frame per second, in the unit of hitch time (ms per second). It is the length of one refresh at 60
# Hz.
LOST_FRAME_MS = 16.7
# If a frame is planned for several refreshes, its swap is called this share of a refresh before the refresh that shows
# the frame.
HOLD_SHARE = 0.6


class TimedCycle(NamedTuple):
    """Cycle of a frame (its time without waits), and the instant at which the frame ended."""

    end_ns: int
    cycle_ns: int


class SustainedLoad:
    """Detects a sustained load in the cycles (times for the work) of the last frames. holds_ns: longest cycle, in ns,
    for which an interval is long enough.

    catches_up: after a late frame the next frames make up for the lost time, as with a timer. Then uneven frames are
    no load if they fit the interval on average.
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
        """Records a relapse (the interval was widened soon after it narrowed): from now on a load needs one more long
        frame."""
        self._wanted = min(self._wanted + 1, MOST_TOO_LONG_FRAMES)

    def grew_calm(self) -> bool:
        """Records a time without a relapse: from now on a load needs one long frame fewer. Returns True if a load now
        needs as few long frames as at the start."""
        self._wanted = max(TOO_LONG_FRAMES, self._wanted - 1)
        return self._wanted == TOO_LONG_FRAMES

    def changed(self) -> None:
        """Records a change of the frame interval. Earlier frames are no evidence of a load at the new interval."""
        self._since_change = 0

    def forget_frames(self) -> None:
        """Clears all recorded frames, because they do not predict the next frames."""
        self._frames.clear()
        self._since_change = 0

    def forget(self) -> None:
        self.forget_frames()
        self._wanted = TOO_LONG_FRAMES

    def long_ns(self, holds_ns: float, queues: bool = False) -> list[int]:
        """Cycles (times for the work), in ns, of the frames that make up a load; empty if there is no load. queues:
        the display has a queue, so a few long frames are no load."""
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
        """If the load has ended, the cycles in ns of the last frames in a row that are at most `holds_ns`; otherwise
        empty."""
        last = [frame.cycle_ns for frame in reversed(self._frames)]
        count = next((number for number, cycle in enumerate(last) if cycle > holds_ns), len(last))
        before = last[count : count + CERTAIN_FRAMES + 1]
        long_share = (sum(cycle > holds_ns for cycle in before) + 1) / (len(before) + 2)
        has_ended = count >= FITTING_FRAMES and (1 - long_share) ** count <= BY_CHANCE
        return last[:count] if has_ended else []

    def is_in(self, cycles: list[int], holds_ns: float) -> bool:
        """True if frames with these cycles would have been a load at an interval that is long enough for `holds_ns`."""
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
    """Expected cycle (time for the work) of each frame: the median of the three frames before it."""
    usual = []
    a = b = c = sorted(cycles)[len(cycles) // 2] if cycles else 0
    for cycle in cycles:
        usual.append(max(min(a, b), min(max(a, b), c)))
        a, b, c = b, c, cycle
    return usual


def cost_on_timer(cycles: Sequence[int], usual: Sequence[int], interval_ns: int, base_ns: int) -> float:
    """Cost of frames on a timer's grid whose points are `interval_ns` apart. base_ns: the display's own interval, in
    ns."""
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
    """Cost of frames that each take at least `refreshes` whole refreshes. base: least number of refreshes that the
    user wants."""
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
    """Cost of frames on a display with a queue: one frame may wait to be shown while the next frame is drawn. So a
    long frame costs nothing if short frames follow.

    A hitch occurs when the interval between two shown frames is longer than the interval before it, even if this was
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
    """Longest cycle, in ns, for which `refreshes` refreshes per frame are no more costly than `refreshes + 1`. If a
    cycle is longer than the interval, it drains the queue. Then, every few frames, one frame takes an additional
    refresh."""
    return (refreshes + 1) ** 2 * period_ns // (refreshes + 2)


def _cost(hitch_ns: int, span_ns: int, frames: int, base_ns: int) -> float:
    if span_ns <= 0:
        return 0.0
    seconds = span_ns / 1e9
    return hitch_ns / 1e6 / seconds + LOST_FRAME_MS * max(0.0, 1e9 / base_ns - frames / seconds)
