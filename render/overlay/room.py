"""What of a panel there is room for, and where a line of words breaks.

The one idea: a panel is a list of parts with known heights, each with a rank; where they do not all fit, those of the
highest rank are left out. So a small window shows less, and nothing over anything else.
Pure: lengths in, choices out; in units of text size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


class Part(NamedTuple):
    """Something in a panel, from its left border to its right. rank: the higher, the sooner it is left out."""

    rank: int
    height: float
    draw: Callable[[], None]


def fitting(parts: Sequence[Part], room: float) -> list[Part]:
    """Those parts for which there is room, in their order; of one rank the last is left out first."""
    kept = list(parts)
    while kept and sum(part.height for part in kept) > room:
        highest = max(part.rank for part in kept)
        kept.pop(max(at for at, part in enumerate(kept) if part.rank == highest))
    return kept


def breaks(widths: Iterable[float], gap: float, room: float) -> list[bool]:
    """For each word of these widths whether it begins a line, where a line has `room` and `gap` between its words."""
    begins: list[bool] = []
    line = 0.0
    for width in widths:
        begins.append(not begins or line + gap + width > room)
        line = width if begins[-1] else line + gap + width
    return begins


def shortened(text: str, room: float, width_of: Callable[[str], float]) -> str:
    """The text, or as much of its beginning as there is room for, with dots."""
    if width_of(text) <= room:
        return text
    length = len(text)
    while length and width_of(text[:length].rstrip() + "..") > room:
        length -= 1
    return text[:length].rstrip() + ".." if length else ""
