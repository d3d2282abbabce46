"""One way of placing frames, as `Pacer` sees it: the Protocol, and what all ways share.

A policy plans a frame, may hold back its swap, and is told how it went. It says which kind of display its outcomes show;
`Pacer` changes over. Always: a policy is given sane times (whole, growing); it reads no clock.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from twixt.render.pacing.frames import FrameTimes

# Kinds of display. FREE: swap waits for nothing. BLOCKING: swap comes back when its frame is seen. QUEUED: swap comes back
# before that, and the display keeps the pace: it blocks a later call, or the swap of a later frame.
FREE, BLOCKING, QUEUED = "free", "blocking", "queued"


class Planned(NamedTuple):
    """One frame's place."""

    start_ns: int
    swap_at_ns: int | None
    present_ns: int
    reason: str = ""


class Outcome(NamedTuple):
    """What became of it."""

    present_ns: int
    missed: int
    reason: str = ""
    display: str | None = None  # the kind of display that outcomes show lately, where that is another


class Policy(Protocol):
    """Fixed-interval timer grid, whole refreshes, or paced by the display."""

    @property
    def shown_ns(self) -> int | None:
        """The last present, or None where the next frame starts anew."""
        ...

    def plan(self, now_ns: int) -> Planned:
        """The next frame."""
        ...

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        """Its drawing is complete: when to swap, not before; None: at once."""
        ...

    def done(self, times: FrameTimes) -> Outcome:
        """It is handed over, or seen."""
        ...

    def display_said(self, presented_ns: int, refresh_ns: int | None) -> None:
        """The display's own word on an earlier frame."""
        ...

    def restart(self) -> None:
        """Frames stopped for a while."""
        ...
