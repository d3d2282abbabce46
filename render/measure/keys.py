"""Every key of the report, in one place: what a report has, what a limit may name, what unit a figure is in.

Standard library only, so that a limit can be checked at the door, before anything is opened.
"""

from __future__ import annotations

from typing import Any

SCHEMA = "twixt-report/2"
# Written before animation errors were in ms of display time: readable, but for figures of motion and causes.
OLDER_SCHEMAS = ("twixt-report/1",)

# What a key holds: one figure, or a distribution of a figure (in the unit its name ends with), or figures by name.
FIGURE, SPREAD, NAMES, PARTS, COUNTS = "figure", "spread", "names", "parts", "counts"
STATISTICS = ("mean", "p50", "p90", "p99", "max")

# "1 % low" means different things to different tools; each is printed under what it is. Fps, from frame intervals.
LOW_1_PERCENT = {
    "percentile": "1000 / the 99th percentile of the intervals",
    "mean_of_slowest_intervals": "1000 / the mean of the slowest 1 % of the intervals",
    "mean_of_lowest_fps": "the mean of the fps of the slowest 1 % of the intervals",
    "shortest_in_slowest_1_percent_of_time": "1000 / the shortest of the slowest intervals that fill 1 % of the time",
    "mean_over_slowest_1_percent_of_time": "the frames per second within the slowest 1 % of the time",
}

# What each process does until the first frame, in order, see `twixt.ipc.start`: the viewer's parts add up to
# first_frame_ms; physics does its own at the same time.
START_PARTS = {
    "viewer_spawn": "from the command until the viewer's process is started",
    "viewer_interpreter": "Python comes up in it",
    "viewer_config": "it is told what to show",
    "viewer_window": "the window opens; imports go on beside it",
    "viewer_imports": "what is left of them then",
    "viewer_probe": "whether swap waits for the display",
    "viewer_attach": "physics lets it in, as soon as it has its first snapshot",
    "viewer_scene": "the scene and what draws it",
    "viewer_first_frame": "reads the snapshot, makes programs, draws, swaps",
    "physics_command": "the command line is read",
    "physics_imports": "numpy, and all that steps and publishes",
    "physics_world": "the world is found and made",
    "physics_first_snapshot": "shared memory is made and the first snapshot lies in it",
    "physics_viewer": "it waits for the viewer",
}

# What a frame that is render late took its time with, see `twixt.render.frame_parts`; frames are counted.
RENDER_PARTS = {
    "draw": "drawing and waiting for it to be complete",
    "upload": "reading snapshots and bringing them to the GPU",
    "user": "the user's own drawing",
    "gc": "collecting garbage",
    "stolen": "others had the processor, or the process was stopped",
    "other": "events, log, and all between frames",
}

SECTIONS: dict[str, dict[str, str]] = {
    "display": dict.fromkeys(
        ("backend", "renderer", "refresh_reported_hz", "refresh_measured_hz", "swap_blocks", "present_source"), FIGURE
    ),
    "frames": {
        "count": FIGURE, "seconds": FIGURE, "mean_fps": FIGURE, "interval_ms": SPREAD, "deviation_ms": SPREAD,
        "missed_refreshes": FIGURE, "hitch_ms_per_s": FIGURE, "low_1_percent_fps": NAMES,
        "cpu_ms": SPREAD, "gpu_ms": SPREAD,
    },
    "motion": {
        "distinct_share": FIGURE, "held_share": FIGURE, "extrapolated_share": FIGURE, "reversals": FIGURE,
        "left_out": FIGURE, "animation_error_ms": SPREAD, "judder": SPREAD, "sample_age_ms": SPREAD,
        "group_age_ms": SPREAD, "offset_ms": SPREAD,
    },
    "physics": {
        "steps": FIGURE, "published": FIGURE, "dropped": FIGURE, "late": FIGURE, "rate": SPREAD, "step_ms": SPREAD,
        "publish_ms": SPREAD, "lead_ms": SPREAD,
    },
    "channel": dict.fromkeys(("pairs_read", "retries", "pairs_failed", "skipped", "bytes_per_snapshot"), FIGURE),
    "latency": {
        "first_frame_ms": FIGURE, "first_frame_parts_ms": PARTS, "sim_to_present_ms": SPREAD,
        "input_to_present_ms": SPREAD,
    },
    "pacer": {
        "policy": FIGURE, "quality": FIGURE, "interval_ms": SPREAD, "widened": FIGURE, "narrowed": FIGURE,
        "wake_error_us": SPREAD,
    },
    "causes": dict.fromkeys(("physics_late", "render_late", "display_late"), FIGURE) | {"render_late_parts": COUNTS},
}  # fmt: skip
# The names below a key.
BELOW = {SPREAD: STATISTICS, NAMES: tuple(LOW_1_PERCENT), PARTS: tuple(START_PARTS), COUNTS: tuple(RENDER_PARTS)}
HEAD = ("schema", "version", "command", "machine", "conditions")


def unmeasured(kind: str) -> Any:
    """What stands for a key of this kind when nothing was measured."""
    return dict.fromkeys(BELOW[kind]) if kind in BELOW else None


def section(name: str, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """A section with all its keys in their order; those in `known` filled in, further ones of `known` behind."""
    empty = {key: unmeasured(kind) for key, kind in SECTIONS[name].items()}
    return empty | {key: value for key, value in (known or {}).items() if value is not None or key not in empty}


def figure_paths() -> list[str]:
    """Every figure a limit may name, such as motion.animation_error_ms.p99."""
    paths = []
    for name, keys in SECTIONS.items():
        for key, kind in keys.items():
            paths += [f"{name}.{key}.{last}".rstrip(".") for last in BELOW.get(kind, ("",))]
    return paths
