"""Compares the events that a world emitted with those that a viewer delivered.

The expected events of a viewer are those from its first drawn instant to its last one, and those that were emitted
after it attached and have an earlier instant: its first frame delivers them, and their lateness says how late. An event
belongs to the first frame whose draw time has reached it, or, if it was emitted later than that, to the first frame
that could read it.

Pure: reads files that are already loaded, and no clock.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.render.measure.frame_rows import FrameTable

Records = NDArray[np.void]
# Upper ends of the bars of the histogram of lateness, in ms of display time.
LATE_MS = (2, 4, 8, 12, 17, 25, 33, 50, 100, 250, 1000)
# Key of `Deliveries.late_frames` for events whose frame is not known.
UNKNOWN = -1_000_000


@dataclass(frozen=True)
class Deliveries:
    """Figures of one viewer.

    expected: number of events between the first and the last drawn instant. delivered: number of calls. missing:
    expected events that were not delivered. twice, unordered, foreign: calls for an event that came before, that
    belongs before the last one, or that was not expected. before: calls for events from before the first drawn instant.
    damaged: calls whose event differs from the emitted one.
    late_frames: number of events by the number of frames after the right one; key UNKNOWN if no frame is known.
    late_ms: number of events for each bar of `LATE_MS`, and above. late_p50_ms, late_p99_ms, late_max_ms: median, 99th
    percentile and largest lateness, in ms of display time. within_frame: share of the events that are not later than
    their frame's interval, in percent. jumped: events that are later than the interval because the draw time jumped
    over them, after a stall. emitted_late: events that were emitted after the picture had passed their instant.
    """

    expected: int
    delivered: int
    missing: int
    twice: int
    unordered: int
    foreign: int
    before: int
    damaged: int
    late_frames: dict[int, int]
    late_ms: list[int]
    late_p50_ms: float | None
    late_p99_ms: float | None
    late_max_ms: float | None
    within_frame: float | None
    jumped: int
    emitted_late: int

    @property
    def is_exact(self) -> bool:
        """True if each expected event was delivered once, in order, unchanged, and no other event was."""
        return not (self.missing or self.is_disordered)

    @property
    def is_disordered(self) -> bool:
        """True if an event was delivered twice, out of order or changed, or was not expected."""
        return bool(self.twice or self.unordered or self.foreign or self.damaged)

    @property
    def is_in_time(self) -> bool:
        """True if each event was delivered in its frame."""
        return set(self.late_frames) <= {0}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(emitted: Records, delivered: Records, log: FrameTable, begin_ns: int, is_split: bool = False) -> Deliveries:
    """Compares the events of one viewer. emitted: (n,) of dtype EMITTED, in the order of delivery. delivered: (k,) of
    dtype DELIVERED. log: the viewer's frame log. begin_ns: instant at which the viewer was started. is_split: True for
    a split view. Its log has the draw times of the right picture, so those of the left one, which decides, are computed
    from the lateness of the events."""
    drawn = log.packed[~log.is_text("mode", "none")]
    if is_split:
        drawn = _of_left_picture(drawn, delivered)
    place_of = np.full(int(emitted["number"].max(initial=-1)) + 1, -1)
    place_of[emitted["number"]] = np.arange(len(emitted))
    number = delivered["number"]
    known = (number >= 0) & (number < len(place_of))
    places = np.where(known, place_of[np.where(known, number, 0)], -1) if len(place_of) else np.full(len(number), -1)
    first, last = _drawn_places(emitted, drawn)
    drawn_first = first
    if len(places) and places[0] >= 0:
        # Events that came while the viewer started. Of the left picture, the first draw time is not known.
        first = int(places[0]) if is_split else min(first, int(places[0]))
    is_foreign = (places < first) | (places >= last) | (emitted["emitted_ns"][places] < begin_ns)
    intact = delivered["is_intact"] & (delivered["sim_time_ns"] == emitted["sim_time_ns"][places])
    unique = np.unique(places[~is_foreign])
    late_ms = delivered["late_ms"]
    p50, p99, most = np.percentile(late_ms, (50, 99, 100)).tolist() if len(late_ms) else (None, None, None)
    in_frames = _in_frames(emitted, places, late_ms, drawn)
    return Deliveries(
        last - first,
        len(delivered),
        (last - first) - len(unique),
        int((~is_foreign).sum()) - len(unique),
        int((np.diff(places) < 0).sum()),
        int(is_foreign.sum()),
        int((places < drawn_first).sum()),
        int((~intact).sum()),
        in_frames.late_frames,
        np.histogram(late_ms, (-np.inf, *np.nextafter(LATE_MS, np.inf), np.inf))[0].tolist(),
        p50,
        p99,
        most,
        in_frames.within_frame,
        in_frames.jumped,
        in_frames.emitted_late,
    )


@dataclass(frozen=True)
class _InFrames:
    late_frames: dict[int, int]
    within_frame: float | None
    jumped: int
    emitted_late: int


# Factor of the world epoch in the key of an instant: a simulated time is far below 13 days.
_EPOCH = 1 << 50


def _keys(rows: Records, time: str) -> NDArray[np.int64]:
    """Numbers that order instants by world epoch, then by simulated time."""
    keys: NDArray[np.int64] = rows["world_epoch"].astype(np.int64) * _EPOCH + rows[time]
    return keys


def _drawn_places(emitted: Records, drawn: Records) -> tuple[int, int]:
    """Places in `emitted` of the first expected event, and behind the last one."""
    if not len(drawn):
        return 0, 0
    events, frames = _keys(emitted, "sim_time_ns"), _keys(drawn, "draw_time_ns")
    return int(np.searchsorted(events, frames[0], "left")), int(np.searchsorted(events, frames.max(), "right"))


def _of_left_picture(drawn: Records, delivered: Records) -> Records:
    """The rows of the log from the first frame with events on, with the draw times of the left picture. A frame without
    events has that of the frame before."""
    counts = drawn["events"]
    frames = np.flatnonzero(counts)
    if not len(frames) or counts.sum() != len(delivered):
        return drawn[:0]
    begins = np.cumsum(counts[frames]) - counts[frames]
    first, second = delivered[begins], delivered[np.minimum(begins + 1, len(delivered) - 1)]
    rates = _rates(drawn["plan_rate"], frames, first, second)
    draw_ns = first["sim_time_ns"] + np.round(drawn["event_late_ns"][frames] * rates)
    rows = drawn[frames[0] :].copy()
    shown = np.maximum.accumulate(np.where(rows["events"] > 0, np.arange(len(rows)), 0))
    rows["draw_time_ns"][frames - frames[0]] = draw_ns
    rows["draw_time_ns"] = rows["draw_time_ns"][shown]
    return rows


def _rates(plan_rate: NDArray[Any], frames: NDArray[np.int64], first: Records, second: Records) -> NDArray[np.float64]:
    """Rate by which the lateness of the first event of each frame was computed. The log has the rate of the newest plan.
    The first two events of a frame show which of the plans' rates it was."""
    # in a pause, the rate before it
    running = np.maximum.accumulate(np.where(plan_rate > 0, np.arange(len(plan_rate)), 0))
    rates: NDArray[np.float64] = plan_rate[running][frames]
    known = np.unique(plan_rate[plan_rate > 0])
    if len(known):
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = (second["sim_time_ns"] - first["sim_time_ns"]) / ((first["late_ms"] - second["late_ms"]) * 1e6)
        off = np.abs(seen[:, None] / known - 1)
        rates = np.where(off.min(axis=1) < 0.01, known[np.argmin(np.nan_to_num(off, nan=np.inf), axis=1)], rates)
    return rates


def _in_frames(emitted: Records, places: NDArray[Any], late_ms: NDArray[Any], drawn: Records) -> _InFrames:
    """Compares the frame of each call with the first frame that could have delivered the event."""
    ends = np.cumsum(drawn["events"])
    if not len(places):
        return _InFrames({}, None, 0, 0)
    if not len(ends) or ends[-1] != len(places):  # calls and log disagree, so that no frame is known
        return _InFrames({UNKNOWN: len(places)}, None, 0, 0)
    frame = np.searchsorted(ends, np.arange(len(places)), "right")
    events = emitted[places]
    reached = np.searchsorted(np.maximum.accumulate(_keys(drawn, "draw_time_ns")), _keys(events, "sim_time_ns"), "left")
    readable = np.searchsorted(drawn["latch_ns"], events["emitted_ns"], "right")
    late_frames = np.where(frame < reached, frame - reached, np.maximum(0, frame - np.maximum(reached, readable)))
    interval_ms = np.concatenate(([np.inf], np.diff(drawn["present_ns"]) / 1e6))[frame]
    is_within, is_emitted_late = late_ms <= interval_ms, readable > reached
    counts = dict(zip(*(values.tolist() for values in np.unique(late_frames, return_counts=True)), strict=True))
    return _InFrames(
        counts,
        100 * float(is_within.mean()),
        int((~is_within & ~is_emitted_late & (late_frames == 0)).sum()),
        int(is_emitted_late.sum()),
    )
