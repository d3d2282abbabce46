"""Whether frames that are too long are a load that stays, or spikes and noise. Pure.

Three of the last four frames clearly too long are a load, where frames before them were in time. Where long frames come
all the time, three of four come by chance, too: there a load is nine of ten, and the replay of the last seconds is left
to say whether a wider interval pays. Nine of ten a little too long are a load as well.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

# Clearly too long: by this share of what the interval holds.
CLEARLY = 1.05
# So many of one more are a load. After each relapse one more of one more is wanted, so that an interval that the replay
# takes back is not widened again by chance.
TOO_LONG_FRAMES, MOST_TOO_LONG_FRAMES = 3, 6
# So many more in a queue, which forgives a few: a load is still met within five frames.
QUEUED_FRAMES = 2
# So many of one more where long frames come all the time: this share of the frames of the last seconds.
CERTAIN_FRAMES, NOISE_SHARE = 9, 0.08
# Such frames are a load where the second longest takes at most so many times the second shortest: no one interval is
# right for others.
EVEN = 1.35
# Frames that tell of noise, without the last ones, and how old they may be.
HISTORY_FRAMES, HISTORY_NS, LATEST_FRAMES = 300, 6_000_000_000, 4


class TimedCycle(NamedTuple):
    """What a frame took, and when it was drawn."""

    end_ns: int
    cycle_ns: int


class Load:
    """Fed with each frame's cycle. `holds_ns` is the longest cycle that an interval holds."""

    def __init__(self) -> None:
        self._frames: deque[TimedCycle] = deque(maxlen=HISTORY_FRAMES)
        self._since_change = 0
        self._wanted = TOO_LONG_FRAMES

    def frame(self, cycle_ns: int, end_ns: int) -> None:
        """A frame is drawn."""
        self._frames.append(TimedCycle(end_ns, cycle_ns))
        self._since_change += 1

    def relapsed(self) -> None:
        self._wanted = min(self._wanted + 1, MOST_TOO_LONG_FRAMES)

    def grew_calm(self) -> bool:
        """After a while without a relapse. Whether nothing is left of it."""
        self._wanted = max(TOO_LONG_FRAMES, self._wanted - 1)
        return self._wanted == TOO_LONG_FRAMES

    def changed(self) -> None:
        """The interval did: frames before it are no load for the new one."""
        self._since_change = 0

    def forget(self) -> None:
        self._frames.clear()
        self._since_change, self._wanted = 0, TOO_LONG_FRAMES

    def long_ns(self, holds_ns: float, queues: bool = False) -> list[int]:
        """The cycles of the load, or an empty list. queues: a queue forgives a few."""
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
        return long if is_even else []

    def is_in(self, cycles: list[int], holds_ns: float) -> bool:
        """Whether these frames would have been a load for an interval that holds so much."""
        wanted = CERTAIN_FRAMES if self._is_noisy(holds_ns) else self._wanted
        long = [cycle > holds_ns for cycle in cycles]
        count = sum(long[: wanted + 1])
        for i in range(wanted + 1, len(long)):
            if count >= wanted:
                return True
            count += long[i] - long[i - wanted - 1]
        return count >= wanted

    def _is_noisy(self, holds_ns: float) -> bool:
        frames = list(self._frames)[: -LATEST_FRAMES - 1]
        if not frames:
            return False
        from_ns = self._frames[-1].end_ns - HISTORY_NS
        recent = [frame.cycle_ns > holds_ns for frame in frames if frame.end_ns >= from_ns]
        return sum(recent) > NOISE_SHARE * max(len(recent), HISTORY_FRAMES // 5)
