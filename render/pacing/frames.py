"""One frame, as planned, as it went, and what became of it. All instants on the clock of the process."""

from __future__ import annotations

from typing import NamedTuple


class FramePlan(NamedTuple):
    """One frame, planned."""

    start_ns: int  # when to wake and latch
    swap_at_ns: int | None  # when to swap, not before; None: as soon as it is drawn. `drawn` may move it
    present_ns: int  # when it is expected to be seen
    interval_ns: int
    planned_refreshes: int
    reason: str  # "" when nothing was out of the ordinary


class FrameTimes(NamedTuple):
    """One frame, as it went."""

    start_ns: int
    latch_ns: int
    work_end_ns: int
    swap_begin_ns: int
    swap_end_ns: int
    presented_ns: int | None = None  # when it was seen, where a fence on the next buffer said so


class FrameResult(NamedTuple):
    """What became of a frame."""

    present_ns: int  # when it was shown: the best known of fence, swap's return and the display's grid
    deadline_ns: int  # when it was to be shown
    missed_refreshes: int
    reason: str  # all reasons of this frame, joined
