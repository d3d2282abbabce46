"""The figures of one run: the cost, the frames, the errors.

    hitch ms a second   by how much each interval between presents exceeds the longer of the one before and the refresh:
                        a picture that stands longer than the last one did. An even slow rate has no hitches
    lost a second       refreshes of the display less frames shown
    cost                hitch + 16.7 * lost: what is seen as a jerk and what is missing, in ms a second
    error               drawn instant less that of the frame before, less the same of the true presents: ms of display time

All are of the display's true presents: what a pacer believes of itself does not count. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from twixt.cli.bench.pacing.displays import Display
from twixt.cli.bench.pacing.play import Seen

LOST_FRAME_MS = 16.7
# Errors beyond this are seen: share of frames.
VISIBLE_ERROR_MS = 2.0
# Programs compile, the pacer learns: frames of the first second do not count.
SETTLING_NS = 1_000_000_000


class Figures(NamedTuple):
    """Of one run, or the mean of several."""

    cost: float
    hitch_ms_per_s: float
    lost_per_s: float
    fps: float
    error_p99_ms: float
    off_share: float  # of frames with an error over VISIBLE_ERROR_MS
    latency_ms: float  # start of a frame to its present, mean


def figures(seen: Sequence[Seen], display: Display, begin_ns: int = SETTLING_NS) -> Figures:
    """Of the frames that were seen from begin_ns on. At least three of them."""
    frames = [frame for frame in seen if frame.visible_ns >= begin_ns]
    first_ns, last_ns = frames[0].visible_ns, frames[-1].visible_ns
    seconds = (last_ns - first_ns) / 1e9
    hitch = hitches_ms([frame.visible_ns for frame in frames], display) / seconds
    lost = max(0.0, display.refreshes_between(first_ns, last_ns) - (len(frames) - 1)) / seconds
    errors = sorted(map(abs, errors_ms(frames)))
    return Figures(
        cost=hitch + LOST_FRAME_MS * lost,
        hitch_ms_per_s=hitch,
        lost_per_s=lost,
        fps=(len(frames) - 1) / seconds,
        error_p99_ms=errors[min(len(errors) - 1, int(0.99 * len(errors)))],
        off_share=sum(error > VISIBLE_ERROR_MS for error in errors) / len(errors),
        latency_ms=sum(frame.visible_ns - frame.start_ns for frame in frames) / len(frames) / 1e6,
    )


def hitches_ms(visible_ns: Sequence[int], display: Display) -> float:
    """All of them together."""
    intervals = [later - earlier for earlier, later in pairwise(visible_ns)]
    return (
        sum(
            max(0, interval_ns - max(before_ns, display.mode_at(at_ns).period_ns))
            for before_ns, interval_ns, at_ns in zip(intervals, intervals[1:], visible_ns[2:], strict=False)
        )
        / 1e6
    )


def errors_ms(seen: Sequence[Seen]) -> list[float]:
    """Of each frame after the first."""
    return [
        (later.drawn_ns - earlier.drawn_ns - later.visible_ns + earlier.visible_ns) / 1e6
        for earlier, later in pairwise(seen)
    ]


def mean(of: Sequence[Figures]) -> Figures:
    """Of several runs."""
    return Figures._make(sum(column) / len(of) for column in zip(*of, strict=True))
