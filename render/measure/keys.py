"""Every key of the report, in one place: what a report has, what a limit may name, what unit a figure is in.

Standard library only, so that a limit can be checked at the door, before anything is opened.
"""

from __future__ import annotations

from typing import Any

SCHEMA = "twixt-report/1"

# What a key holds: one figure, or a distribution of a figure (in the unit its name ends with).
FIGURE, SPREAD = "figure", "spread"
STATISTICS = ("mean", "p50", "p90", "p99", "max")

# "1 % low" means different things to different tools; each is printed under what it is. Fps, from frame intervals.
LOW_1_PERCENT = {
    "percentile": "1000 / the 99th percentile of the intervals",
    "mean_of_slowest_intervals": "1000 / the mean of the slowest 1 % of the intervals",
    "mean_of_lowest_fps": "the mean of the fps of the slowest 1 % of the intervals",
    "shortest_in_slowest_1_percent_of_time": "1000 / the shortest of the slowest intervals that fill 1 % of the time",
    "mean_over_slowest_1_percent_of_time": "the frames per second within the slowest 1 % of the time",
}

SECTIONS: dict[str, dict[str, str]] = {
    "display": dict.fromkeys(
        ("backend", "renderer", "refresh_reported_hz", "refresh_measured_hz", "swap_blocks"), FIGURE
    ),
    "frames": {
        "count": FIGURE, "seconds": FIGURE, "mean_fps": FIGURE, "interval_ms": SPREAD, "deviation_ms": SPREAD,
        "missed_refreshes": FIGURE, "hitch_ms_per_s": FIGURE, "low_1_percent_fps": "names",
        "cpu_ms": SPREAD, "gpu_ms": SPREAD,
    },
    "motion": {
        "distinct_share": FIGURE, "held_share": FIGURE, "extrapolated_share": FIGURE, "reversals": FIGURE,
        "animation_error_ms": SPREAD, "sample_age_ms": SPREAD,
        "group_age_ms": SPREAD, "offset_ms": SPREAD,
    },
    "physics": {
        "steps": FIGURE, "published": FIGURE, "dropped": FIGURE, "late": FIGURE, "rate": SPREAD, "step_ms": SPREAD,
        "publish_ms": SPREAD, "lead_ms": SPREAD,
    },
    "channel": dict.fromkeys(("pairs_read", "retries", "pairs_failed", "skipped", "bytes_per_snapshot"), FIGURE),
    "latency": {"first_frame_ms": FIGURE, "sim_to_present_ms": SPREAD, "input_to_present_ms": SPREAD},
    "pacer": {"policy": FIGURE, "interval_ms": SPREAD, "widened": FIGURE, "narrowed": FIGURE, "wake_error_us": SPREAD},
    "causes": dict.fromkeys(("physics_late", "render_late", "display_late"), FIGURE),
}  # fmt: skip
HEAD = ("schema", "version", "command", "machine", "conditions")


def unmeasured(kind: str) -> Any:
    """What stands for a key of this kind when nothing was measured."""
    if kind == SPREAD:
        return dict.fromkeys(STATISTICS)
    return dict.fromkeys(LOW_1_PERCENT) if kind == "names" else None


def section(name: str, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """A section with all its keys in their order; those in `known` filled in, further ones of `known` behind."""
    empty = {key: unmeasured(kind) for key, kind in SECTIONS[name].items()}
    return empty | {key: value for key, value in (known or {}).items() if value is not None or key not in empty}


def figure_paths() -> list[str]:
    """Every figure a limit may name, such as motion.animation_error_ms.p99."""
    paths = []
    for name, keys in SECTIONS.items():
        for key, kind in keys.items():
            below = {SPREAD: STATISTICS, "names": tuple(LOW_1_PERCENT)}.get(kind, ("",))
            paths += [f"{name}.{key}.{last}".rstrip(".") for last in below]
    return paths
