"""Made-up runs whose right figures are known by arithmetic: 60 frames a second, a snapshot every 10 ms."""

from __future__ import annotations

from collections.abc import Sequence

from twixt.render.measure.frame_rows import FrameRow

MS = 1_000_000
START_NS = 1_000_000 * MS  # a clock that has run for a while
FRAME_NS = round(1e9 / 60)
SNAPSHOT_NS = 10 * MS


def frame(number: int, present_ns: int, draw_time_ns: int, rate: float = 1.0, **other: object) -> FrameRow:
    """One frame of healthy timing: 4 ms of work, snapshots published 20 ms before they are due."""
    ahead = max(0, (present_ns - START_NS) // SNAPSHOT_NS + 2)
    usual: dict[str, object] = {
        "frame": number,
        "start_ns": present_ns - 6 * MS,
        "latch_ns": present_ns - 5 * MS,
        "work_end_ns": present_ns - 2 * MS,
        "swap_begin_ns": present_ns - MS,
        "present_ns": present_ns,
        "predicted_present_ns": present_ns,
        "deadline_ns": present_ns,
        "wake_error_ns": 2_000,
        "draw_time_ns": draw_time_ns,
        "mode": "interpolated",
        "clock_mode": "ahead",
        "rate": rate,
        "previous_tick": ahead - 3,
        "next_tick": ahead - 2,
        "newest_tick": ahead,
        "newest_sim_time_ns": round(ahead * SNAPSHOT_NS * rate),
        "newest_due_ns": START_NS + ahead * SNAPSHOT_NS,
        "newest_published_ns": START_NS + (ahead - 2) * SNAPSHOT_NS,
        "used_published_ns": present_ns - 8 * MS,
        "draw_due_ns": present_ns,
        "plan_rate": rate,
        "pacer_interval_ns": FRAME_NS,
    }
    return FrameRow(**(usual | other))  # type: ignore[arg-type]


def even(count: int = 120, interval_ns: int = FRAME_NS, **other: object) -> list[FrameRow]:
    """Frames that draw just what is due when they are presented."""
    presents = [START_NS + i * interval_ns for i in range(count)]
    return shown_at(presents, pacer_interval_ns=interval_ns, **other)


def shown_at(presents_ns: Sequence[int], rate: float = 1.0, **other: object) -> list[FrameRow]:
    """Frames presented at these instants, each drawing what is due at its own."""
    return [
        frame(i, present_ns, round((present_ns - START_NS) * rate), rate, **other)
        for i, present_ns in enumerate(presents_ns)
    ]
