"""What changed about the display while frames are made, so that what was learned of it holds no more.

The one idea: every sign of it is compared with what it was at the last look; a change is told once, in words.

Always: what is not known (None, 0) changes nothing. Pure: instants and names in, words out.
"""

from __future__ import annotations

from typing import NamedTuple

# A clock that counts the machine's sleep gains so much on one that does not: it slept.
SLEPT_NS = 100_000_000


class Signs(NamedTuple):
    """One look. monitor: names the one that shows the window; its mode by width, height and refresh as reported;
    monitors: how many there are; asleep_ns: by how much the clock that counts sleep is ahead."""

    monitor: int = 0
    mode: tuple[int, ...] = ()
    monitors: int = 0
    asleep_ns: int | None = None


class Changes:
    """The signs at the last look."""

    def __init__(self) -> None:
        self._last = Signs()

    def look(self, signs: Signs) -> list[str]:
        """What changed since the last look."""
        last, said = self._last, []
        self._last = Signs(
            signs.monitor or last.monitor, signs.mode or last.mode, signs.monitors or last.monitors, signs.asleep_ns
        )
        if last.monitor and signs.monitor and signs.monitor != last.monitor:
            said.append("the window is on another monitor")
        elif last.mode and signs.mode and signs.mode != last.mode:
            said.append(f"the monitor's mode changed to {_words(signs.mode)}")
        if last.monitors and signs.monitors and signs.monitors != last.monitors:
            said.append(f"there are {signs.monitors} monitors now")
        if last.asleep_ns is not None and signs.asleep_ns is not None:
            slept_ns = signs.asleep_ns - last.asleep_ns
            if slept_ns > SLEPT_NS:
                said.append(f"the machine slept for {slept_ns / 1e9:.1f} s")
        return said


def _words(mode: tuple[int, ...]) -> str:
    width, height, hz = mode
    return f"{width}x{height}, {hz} Hz as reported"
