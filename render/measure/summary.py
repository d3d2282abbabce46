"""The short text of a report: a sentence that says whether the motion was even, and a table of about ten lines.

Always: a line is left out if its figures were not measured. Pure: reads a report, prints nothing.
"""

from __future__ import annotations

from typing import Any

from twixt.render.measure.amounts import rate_text, time_text

# Largest share of bad frames in even motion. `run_figures.causes` defines a bad frame: it missed a refresh, held the
# picture while time ran, or moved by 2 ms more or less than even motion.
MOST_BAD_SHARE = 0.01
# A cause is named in the sentence if it has at least this share of the bad frames.
NAMED_SHARE = 0.25
# What each cause of bad frames is called in the sentence and in the table. `display_late` and `physics_late` are causes
# of their own; the others are the parts of `render_late`.
CAUSES = {
    "physics_late": ("physics was late", "physics late"),
    "display_late": ("the display was late", "display late"),
    "draw": ("drawing took too long", "drawing"),
    "upload": ("reading snapshots took too long", "reading"),
    "user": ("your draw or on_event function took too long", "your draw or on_event"),
    "gc": ("Python collected garbage", "garbage collection"),
    "stolen": ("other programs used the cores", "cores in use"),
    "other": ("other work of the viewer took too long", "other work"),
    "unknown": ("the viewer was late for an unknown reason", "unknown"),
}
IDLE = " Measure again when the machine is idle."
# Parts of the conditions that say why there are no figures of motion.
WITHOUT_MOTION = ("no motion", "no frame, motion", "no animation error")

Report = dict[str, Any]


def sentence(report: Report) -> str:
    """Says whether the motion was even, and if not, what the most frequent causes were."""
    frames, error_ms = report["frames"]["count"], report["motion"]["animation_error_ms"]["p99"]
    if frames is None or error_ms is None:
        reasons = (line for line in report["conditions"] if any(no in line for no in WITHOUT_MOTION))
        reason = next(reasons, "").partition(", so ")[0]
        what = "Nothing was measured" if frames is None else "Evenness was not measured"
        return f"{what}: {reason}." if reason else f"{what}."
    bad = _bad_frames(report)
    total = sum(bad.values())
    if total <= MOST_BAD_SHARE * frames:
        return f"Even: 99 % of frames within {time_text(error_ms)} of smooth motion."
    main = [cause for cause, count in bad.items() if count >= NAMED_SHARE * total][:2] or list(bad)[:1]
    named = ", ".join(f"{CAUSES[cause][0]} in {bad[cause]} of them" for cause in main)
    return f"Uneven: {total} of {frames} frames; {named}.{IDLE if 'stolen' in main else ''}"


def rows(report: Report) -> list[tuple[str, str]]:
    """Name and text of each line of the short table."""
    display, frames, motion = report["display"], report["frames"], report["motion"]
    physics, latency = report["physics"], report["latency"]
    found = [
        ("frames", _frames_text(frames)),
        ("new pictures", _share_text(motion["distinct_share"])),
        ("animation error", _spread_text(motion["animation_error_ms"])),
        ("frame interval", _spread_text(frames["interval_ms"])),
        ("bad frames", _bad_text(report)),
        ("added latency", _spread_text(motion["sample_age_ms"])),
        ("first picture", "" if latency["first_frame_ms"] is None else f"after {time_text(latency['first_frame_ms'])}"),
        ("events", _events_text(report.get("events") or {})),
        ("physics", _rate_of(physics["rate"])),
        ("physics step", _spread_text(physics["step_ms"])),
        ("publish interval", _spread_text(physics.get("publish_interval_ms") or {})),
        ("display", ", ".join(str(each) for each in (display["backend"], display["renderer"]) if each)),
        ("quality", report["pacer"]["quality"] or ""),
    ]
    return [(name, text) for name, text in found if text]


def _bad_frames(report: Report) -> dict[str, int]:
    """Number of bad frames of each cause in `CAUSES`, the most frequent first."""
    causes = report["causes"]
    parts = {name: count for name, count in (causes["render_late_parts"] or {}).items() if count}
    counts = {name: causes[name] or 0 for name in ("physics_late", "display_late")} | parts
    unknown = (causes["render_late"] or 0) - sum(parts.values())
    if unknown > 0:  # an older log does not have the parts
        counts["unknown"] = unknown
    return dict(sorted(((name, count) for name, count in counts.items() if count), key=lambda item: -item[1]))


def _bad_text(report: Report) -> str:
    causes = report["causes"]
    if causes["render_late"] is None:
        return ""
    bad = _bad_frames(report)
    named = ", ".join(f"{CAUSES[cause][1]} {count}" for cause, count in bad.items())
    return f"{sum(bad.values())}: {named}" if bad else "0"


def _frames_text(frames: Report) -> str:
    if frames["count"] is None:
        return ""
    text = f"{frames['count']}"
    if frames["mean_fps"] is not None:
        text += f" in {time_text(frames['seconds'] * 1e3)}, {frames['mean_fps']:.1f} fps"
    return text


def _spread_text(spread: dict[str, float | None]) -> str:
    """Mean, 99th percentile and maximum of times in ms. Empty if they were not measured."""
    mean, p99, most = (spread.get(name) for name in ("mean", "p99", "max"))
    if mean is None or p99 is None or most is None:
        return ""
    return f"{time_text(mean)} mean, 99 % within {time_text(p99)}, longest {time_text(most)}"


def _events_text(events: Report) -> str:
    """Counts of events that are not 0, and their lateness. Empty if there were no events."""
    counts = [
        f"{events[name]} {name}"
        for name in ("emitted", "dropped", "delivered", "lost", "reset", "pending")
        if events.get(name)
    ]
    late = _spread_text(events.get("late_ms") or {})
    return ", ".join(counts) + (f"; late by {late}" if late and counts else "")


def _rate_of(rate: dict[str, float | None]) -> str:
    return "" if rate["mean"] is None else rate_text(rate["mean"])


def _share_text(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.3g} % of the frames"
