"""Everything a run can be told, in one frozen object that both processes get whole.

The command line's flags are generated from these fields (name, unit, help, how the text is read), so a
flag, its default and its check stand in one place. A `Config` that exists is valid.
Standard library only: `--help` must not wait for numpy.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from twixt.ipc import config_rules as rules
from twixt.ipc.config_rules import ConfigError, check_file
from twixt.ipc.flag_texts import (
    Way,
    read_auto_ms,
    read_delay,
    read_range_ms,
    read_setting,
    read_size,
    read_split,
    read_stall,
)
from twixt.ipc.troubles import FIELDS, LONGEST_MS, PRESETS, Troubles, say_presets

BOTH, SIM, VIEW, MEASURE = "both", "sim", "view", "measure"
# Under which a flag stands in `--help`.
WORLD, TROUBLE, MOTION = "The world", "Trouble on purpose", "Motion"
WINDOW, ENDING = "The window", "Ending and reporting"

CLOCKS = ("auto", "ahead", "newest-two", "buffered")
PREFERENCES = ("latency", "balanced", "smooth")
INTERPOLATIONS = (
    "auto", "hermite", "linear", "none", "latest", "catmull", "quadratic", "extrapolate", "kalman", "chase",
)  # fmt: skip
PACINGS = ("auto", "vsync", "timer", "unlimited")
QUALITIES = ("auto", "low", "high")
SLOW_POLICIES = ("dilate", "widen")


def flag(
    default: Any,
    help: str,
    side: str = BOTH,
    heading: str = "",
    read: Callable[[str], Any] | None = None,
    metavar: str = "",
    choices: tuple[str, ...] = (),
    name: str = "",
) -> Any:
    """A field that is also a flag. read: text -> value, raising ValueError with the rule."""
    about = {"help": help, "side": side, "heading": heading, "read": read, "metavar": metavar}
    return field(default=default, metadata=about | {"choices": choices, "name": name})


@dataclass(frozen=True)
class Config:
    """One run. Units are in the names; None means "not set", and then the part itself decides."""

    # the physics process
    settings: tuple[tuple[str, str], ...] = flag(
        (),
        "a constructor argument of the world, such as count=500; may be repeated",
        SIM,
        WORLD,
        read_setting,
        "KEY=VALUE",
        name="--set",
    )
    seed: int = flag(0, "seed of the world and of injected trouble", SIM, WORLD, int, "N")
    physics_hz: float | None = flag(
        None, "steps per simulated second, instead of the world's own dt", SIM, WORLD, float, "HZ"
    )
    publish_hz: float = flag(120.0, "snapshots published per wall second, at most", SIM, WORLD, float, "HZ")
    time_scale: float = flag(1.0, "simulated seconds per wall second; 0.25 is slow motion", SIM, WORLD, float, "X")
    lead_ms: float | None = flag(
        None,
        "how far ahead of its due instant a snapshot is published; 0: at its due instant",
        SIM,
        WORLD,
        read_auto_ms,
        "auto|MS",
        name="--lead",
    )
    when_slow: str = flag(
        "dilate",
        "when physics cannot keep up: dilate, simulated time runs slower, evenly, and states stay reproducible; "
        "or widen, steps grow by whole multiples to stay in real time, and narrow back",
        SIM,
        WORLD,
        str,
        choices=SLOW_POLICIES,
    )
    max_step_ms: float | None = flag(
        None, "longest step, in simulated ms, that --when-slow widen makes [100]", SIM, WORLD, float, "MS"
    )
    dt_log: str | None = flag(
        None, "write how long each step was, for --dt-replay; states after widened steps need it", SIM, WORLD, str,
        "FILE",
    )  # fmt: skip
    dt_replay: str | None = flag(
        None, "make exactly the steps of a --dt-log, then end: the same states again", SIM, WORLD, str, "LOG"
    )
    name: str | None = flag(None, "the name under which viewers find this simulation", SIM, WORLD, str, "NAME")

    slow_physics_ms: tuple[float, float] | None = flag(
        None,
        "real work added to every step, in ms: 40, or 20-120 for uniform random; 0: none",
        SIM,
        TROUBLE,
        read_range_ms,
        "MS|MS-MS",
        name="--slow-physics",
    )
    stall: tuple[float, float] | None = flag(
        None, "physics waits so many ms every so many simulated seconds, such as 500@5; 0: never", SIM, TROUBLE,
        read_stall, "MS@S",
    )  # fmt: skip
    drop_percent: float | None = flag(
        None, "percent of snapshots that are never published", SIM, TROUBLE, float, "PERCENT", name="--drop"
    )
    delay_ms: tuple[float, float] | None = flag(
        None,
        "publish so many ms after the due instant, in order: 80, or 80+-20 for uniform random; 0: not late",
        SIM,
        TROUBLE,
        read_delay,
        "MS|MS+-MS",
        name="--delay",
    )
    trouble: str | None = flag(
        None, f"several at once, as known links and machines have them; flags win over it. {say_presets()}", SIM,
        TROUBLE, str, choices=tuple(PRESETS),
    )  # fmt: skip

    # the render process
    interpolation: str = flag(
        "auto",
        f"how the world is drawn between two snapshots: {', '.join(INTERPOLATIONS)}, or module:Class of your own",
        VIEW,
        MOTION,
        str,
        "METHOD",
    )
    chase_ms: float | None = flag(
        None,
        "how long --interpolation chase takes to reach a new state, unless that is due later [the usual gap]",
        VIEW,
        MOTION,
        float,
        "MS",
    )
    clock: str = flag(
        "auto",
        "which simulated time a frame draws: auto, as early as the next snapshot is there in time; ahead, what is due "
        "now; newest-two, an interval behind; buffered, a fixed time behind, as network games do",
        VIEW,
        MOTION,
        str,
        choices=CLOCKS,
    )
    prefer: str = flag(
        "latency",
        "after a stall: latency, catch up at once; balanced, brake and catch up gently; smooth, stay behind so that "
        "the next stall does not show",
        VIEW,
        MOTION,
        str,
        choices=PREFERENCES,
    )
    buffer_ms: float | None = flag(
        None, "how far behind --clock buffered stays [taken from the measured jitter]", VIEW, MOTION, read_auto_ms,
        "auto|MS",
    )  # fmt: skip
    split: tuple[Way, Way] | None = flag(
        None,
        "two pictures side by side, each METHOD, METHOD@CLOCK or @CLOCK: none,auto or @newest-two,@auto",
        VIEW,
        MOTION,
        read_split,
        "LEFT,RIGHT",
    )
    trails: bool = flag(
        False, "dots where the last second's frames drew each body: even dots, even motion", VIEW, MOTION
    )

    pacing: str = flag("auto", "what a frame waits for", VIEW, WINDOW, str, choices=PACINGS)
    fps: float | None = flag(
        None, "frames per second, at most; the display's own rate by default", VIEW, WINDOW, float, "N"
    )
    quality: str = flag(
        "auto",
        "how finely frames are drawn: high, in full; low, as cheaply as there is; auto, in full, and cheaper step by step "
        "where a processor draws and frames do not fit the display's interval. Steps, with what drawing the default "
        "world then takes: no shadows (82 %), plain: hard edges, no highlights (66 %), flat: no pattern (51 %)",
        VIEW,
        WINDOW,
        str,
        choices=QUALITIES,
    )
    size_px: tuple[int, int] = flag((800, 600), "size of the window", VIEW, WINDOW, read_size, "WxH", name="--size")
    overlay: bool = flag(True, "show the overlay of figures and keys (H toggles it)", VIEW, WINDOW)
    draw: str | None = flag(
        None, "a function of your own that draws into every frame, module:function", VIEW, WINDOW, str,
        "MODULE:FUNCTION",
    )  # fmt: skip
    slow_render_ms: float = flag(
        0.0, "real work that makes every frame take at least so many ms, and up to 5 of them more than without", VIEW, WINDOW, float, "MS",
        name="--slow-render",
    )  # fmt: skip
    viewer_nice: int = flag(
        0, "give way to other programs: nice value of the viewer, 0 to 19; one above 0 may starve", VIEW, WINDOW, int,
        "N",
    )  # fmt: skip
    offscreen: bool = flag(False, "draw without a window, through EGL", VIEW, WINDOW)

    # ending and reporting
    seconds: float | None = flag(
        None, "end after so many seconds, counted from the end of start-up", BOTH, ENDING, float, "S"
    )
    screenshot: str | None = flag(None, "save a picture (PNG) at the instant of --at", VIEW, ENDING, str, "FILE")
    at_s: float | None = flag(
        None, "when to take the screenshot, seconds after the first frame [2]", VIEW, ENDING, float, "S", name="--at"
    )
    log: str | None = flag(None, "write the frame log, one row per frame (CSV)", VIEW, ENDING, str, "FILE")
    profile: str | None = flag(
        None, "write a trace of both processes on one time axis; opens in Perfetto or chrome://tracing", BOTH, ENDING,
        str, "FILE",
    )  # fmt: skip
    json: str | None = flag(None, "write the report as JSON; - for standard output", MEASURE, ENDING, str, "FILE")
    plot: str | None = flag(None, "write the frame-pacing plot (PNG)", MEASURE, ENDING, str, "FILE")
    fail_if: tuple[str, ...] = flag(
        (),
        "exit with 1 when this holds, such as 'motion.animation_error_ms.p99>2'; may be repeated",
        MEASURE,
        ENDING,
        str,
        "LIMIT",
    )
    report: bool = field(default=False, metadata={})  # print the report at the end
    span_memory: str | None = field(default=None, metadata={})  # where a run's viewer records for --profile
    users_loop: bool = field(default=False, metadata={})  # of `twixt.show`: it goes on without its viewer
    world: str = field(default="balls", metadata={})
    command: str = field(default="", metadata={})  # as typed, for the report
    started_ns: int | None = field(default=None, metadata={})  # perf_counter instant of the command

    def __post_init__(self) -> None:
        rules.whole("--seed", self.seed, at_least=0)
        for name in ("physics_hz", "seconds", "time_scale", "max_step_ms"):
            rules.positive(flag_name(name), getattr(self, name))
        rules.positive("--chase-ms", self.chase_ms, LONGEST_MS)
        rules.rate("--fps", self.fps)
        rules.rate("--publish-hz", self.publish_hz)
        for name in ("at_s", "lead_ms"):
            rules.not_negative(flag_name(name), getattr(self, name))
        for name in ("slow_render_ms", "buffer_ms"):
            rules.not_negative(flag_name(name), getattr(self, name), most=LONGEST_MS)
        for kind, name in FIELDS.items():
            rules.trouble(flag_name(name), kind, getattr(self, name))
        rules.nice("--viewer-nice", self.viewer_nice)
        rules.size("--size", self.size_px)
        rules.one_of("--clock", self.clock, CLOCKS)
        rules.one_of("--prefer", self.prefer, PREFERENCES)
        rules.one_of("--pacing", self.pacing, PACINGS)
        rules.one_of("--quality", self.quality, QUALITIES)
        rules.one_of("--when-slow", self.when_slow, SLOW_POLICIES)
        if self.trouble is not None:
            rules.one_of("--trouble", self.trouble, tuple(PRESETS))
        rules.method("--interpolation", self.interpolation, INTERPOLATIONS)
        rules.ways("--split", self.split, INTERPOLATIONS, CLOCKS)
        if self.draw is not None:
            rules.reference("--draw", self.draw)
        if self.when_slow != "widen" and self.max_step_ms is not None:
            raise ConfigError(f"--max-step-ms {self.max_step_ms:g} is for --when-slow widen; add that, or leave it out")
        if self.when_slow == "widen" and self.dt_replay is not None:
            raise ConfigError("--dt-replay says how long each step is; leave --when-slow widen out")
        rules.plain_name("--name", self.name)

    @property
    def troubles(self) -> Troubles:
        """What `--trouble` asks for, but where a flag of its own says otherwise."""
        asked = {name: getattr(self, name) for name in FIELDS.values() if getattr(self, name) is not None}
        preset = PRESETS[self.trouble].troubles if self.trouble else Troubles()
        return replace(preset, **asked).tidy()

    def check_files(self) -> None:
        """Raises ConfigError where a file that is to be written has no folder: before a run, not after it."""
        for item in dataclasses.fields(self):
            path = getattr(self, item.name)
            if item.metadata.get("metavar") == "FILE" and path is not None:
                path = os.fspath(path) if isinstance(path, os.PathLike) else path
                check_file(flag_name(item.name), path, is_picture=item.name in ("screenshot", "plot"))

    def to_json(self) -> str:
        """The whole config as one line, for the other process."""
        return json.dumps(dataclasses.asdict(self), default=_plain)

    @staticmethod
    def from_json(text: str) -> Config:
        """The config of `to_json`."""
        values: dict[str, Any] = {name: _as_tuples(value) for name, value in json.loads(text).items()}
        return Config(**values)


def _plain(value: Any) -> Any:
    # What `show` may be given for a text or a number: a path, a number of numpy's.
    return value.item() if hasattr(value, "item") else os.fspath(value)


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, list) else value


def flag_name(field_name: str) -> str:
    """The flag of a field: its own name, or the field's with dashes."""
    by_name = {f.name: f for f in dataclasses.fields(Config)}
    return by_name[field_name].metadata.get("name") or "--" + field_name.replace("_", "-")
