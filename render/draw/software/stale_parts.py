"""Parts of a framebuffer that no longer show the cached background, and a test whether a swap keeps its pixels.

Where the last frame drew only the background, this frame need not copy it again if the framebuffer still has the last
frame's pixels. OpenGL does not guarantee that after a swap, but Mesa's software drivers draw all frames of a window into
the same memory. `KeepingTrial` tests it: a few pixels are read before and after some swaps.

Always: parts are (left, bottom, width, height), px. Pure: pixels come from the caller's `read`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from twixt.render.draw.frame.frame_block import Viewport

# Samples of changed pixels that must be found again after the swap before a framebuffer is relied on.
TRIED = 8
# Side of the part that is read, px.
SAMPLE_PX = 16
# Margin on each side of a part that is filled before the bodies' next places are known, px.
ROOM_PX = 24


def around(one: Viewport, other: Viewport) -> Viewport:
    """Smallest part that contains both; a part without pixels is ignored."""
    if not (one[2] and one[3]) or not (other[2] and other[3]):
        return one if one[2] and one[3] else other
    left, bottom = min(one[0], other[0]), min(one[1], other[1])
    right, top = max(one[0] + one[2], other[0] + other[2]), max(one[1] + one[3], other[1] + other[3])
    return left, bottom, right - left, top - bottom


def grown(part: Viewport, within: Viewport) -> Viewport:
    """The part with ROOM_PX added on each side, clipped to `within`."""
    left, bottom = max(part[0] - ROOM_PX, within[0]), max(part[1] - ROOM_PX, within[1])
    right = min(part[0] + part[2] + ROOM_PX, within[0] + within[2])
    top = min(part[1] + part[3] + ROOM_PX, within[1] + within[3])
    return left, bottom, right - left, top - bottom


def contains(one: Viewport, other: Viewport) -> bool:
    """True if no pixel of `other` is outside `one`."""
    return around(one, other) == one


def meet(one: Viewport, other: Viewport) -> bool:
    """True if a pixel is in both."""
    return (
        one[0] < other[0] + other[2] and other[0] < one[0] + one[2]
        and one[1] < other[1] + other[3] and other[1] < one[1] + one[3]
    )  # fmt: skip


def apart(parts: Iterable[Viewport]) -> tuple[Viewport, ...]:
    """Disjoint parts with the same pixels. The first part stays whole."""
    found: list[Viewport] = []
    for part in parts:
        rest = [part]
        for taken in tuple(found):
            rest = [piece for one in rest for piece in _without(one, taken)]
        found += rest
    return tuple(found)


def _without(part: Viewport, taken: Viewport) -> list[Viewport]:
    """The part without the pixels of `taken`, in up to four pieces."""
    if not meet(part, taken):
        return [part]
    left, bottom, right, top = part[0], part[1], part[0] + part[2], part[1] + part[3]
    low, high = max(bottom, taken[1]), min(top, taken[1] + taken[3])
    pieces = [
        (left, bottom, right - left, low - bottom),
        (left, high, right - left, top - high),
        (left, low, taken[0] - left, high - low),
        (taken[0] + taken[2], low, right - taken[0] - taken[2], high - low),
    ]
    return [piece for piece in pieces if piece[2] > 0 and piece[3] > 0]


class KeepingTrial:
    """Tests whether a framebuffer has the same pixels after a swap as before it."""

    def __init__(self) -> None:
        self.keeps: bool | None = None  # None: not known yet
        self._sampled: Viewport | None = None
        self._before = b""  # pixels of the sampled part at the end of the last frame
        self._older = b""  # and of the frame before that
        self._found = 0

    def frame_ended(self, part: Viewport, over: Sequence[Viewport], read: Callable[[Viewport], bytes]) -> None:
        """Samples the middle of a part in which bodies move. read: pixels of a part of the framebuffer. over: parts that
        are still changed until the swap, as panels are: where one is in the middle, nothing is sampled."""
        if self.keeps is not None:
            return
        left, bottom, width, height = part
        side = min(SAMPLE_PX, width, height)
        sampled = left + (width - side) // 2, bottom + (height - side) // 2, side, side
        if any(meet(sampled, one) for one in over):
            return
        self._sampled = sampled
        self._older, self._before = self._before, read(sampled)

    def frame_begins(self, read: Callable[[Viewport], bytes]) -> None:
        """Compares the sample. Call it before the next frame draws anything."""
        if self.keeps is not None or self._sampled is None:
            return
        if read(self._sampled) != self._before:
            self.keeps = False
        elif self._before != self._older:  # else a buffer with the older pixels would look the same
            self._found += 1
            self.keeps = True if self._found >= TRIED else None
        self._sampled = None
