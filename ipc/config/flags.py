"""The configuration of a run is one frozen object, a `Config`. Each process receives the whole object.

The flags of the command line are generated from the fields of `Config`. So each flag's name, unit, default, help and
check are defined here.

Always: a `Config` that exists is valid, except for its result files, which `check_files` checks. This module imports
only the standard library, because `--help` must not wait for the import of numpy.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from twixt.ipc.config import rules
from twixt.ipc.config.files import check_file
from twixt.ipc.config.rules import (
    ConfigError,
    ConfigTypeError,
    SplitSide,
    read_auto_ms,
    read_delay,
    read_range_ms,
    read_setting,
    read_size,
    read_split,
    read_stall,
    read_trails,
)
from twixt.ipc.config.troubles import FIELDS, LONGEST_MS, PRESETS, Troubles

BOTH, SIM, VIEW, MEASURE = "both", "sim", "view", "measure"
# Headings in the text of `--help`.
WORLD, TROUBLE, MOTION = "The world", "Injected trouble", "Motion"
WINDOW, ENDING = "The window", "Ending and reporting"

CLOCKS = ("auto", "ahead", "newest-two", "buffered")
PREFERENCES = ("latency", "balanced", "smooth")
INTERPOLATIONS = (
    "auto", "hermite", "linear", "none", "latest", "catmull", "quadratic", "extrapolate", "kalman", "chase",
)  # fmt: skip
PACINGS = ("auto", "vsync", "timer", "unlimited")
QUALITIES = ("auto", "low", "high", "best")
CAMERAS = ("auto", "still")
SLOW_POLICIES = ("dilate", "widen")


def flag(
    default: Any,
    help: str,
    read: Callable[[str], Any] | None = None,
    metavar: str = "",
    *,
    side: str = BOTH,
    heading: str = "",
    choices: tuple[str, ...] = (),
    name: str = "",
    bare: str = "",
    stores: str = "",
) -> Any:
    """Makes a field of `Config` that is also a flag. read: function that converts the flag's text to a value. For an
    invalid text this function raises ValueError with the broken rule. side: the processes that use the field. name:
    the flag's name; by default the flag has the field's name with dashes. bare: text that stands for the flag's value if
    the user leaves the value out; "" if the value is required. stores: value that a flag without a value sets; "" for
    other flags."""
    about = {"help": help, "side": side, "heading": heading, "read": read, "metavar": metavar}
    names = {"choices": choices, "name": name, "bare": bare, "stores": stores}
    return field(default=default, metadata=about | names)


world_flag, trouble_flag = partial(flag, side=SIM, heading=WORLD), partial(flag, side=SIM, heading=TROUBLE)
motion_flag, window_flag = partial(flag, side=VIEW, heading=MOTION), partial(flag, side=VIEW, heading=WINDOW)
ending_flag = partial(flag, heading=ENDING)


@dataclass(frozen=True)
class Config:
    """Configuration of one run. The name of a field that has a unit ends with that unit. A field that is not set is
    None. The code that uses the field then chooses a value. Raises ConfigError for a value that breaks a rule."""

    # The next fields are flags of the physics process.
    settings: tuple[tuple[str, str], ...] = world_flag(
        (),
        "set an argument of the world's constructor, such as count=500; you may repeat this flag",
        read_setting,
        "KEY=VALUE",
        name="--set",
    )
    seed: int = world_flag(0, "seed of the random numbers of world and injected trouble, a whole number >= 0", int, "N")
    physics_hz: float | None = world_flag(
        None, "physics steps per simulated second [default: 1 / the world's dt]", float, "HZ"
    )
    publish_hz: float = world_flag(120.0, "largest number of snapshots that are published per wall second", float, "HZ")
    time_scale: float = world_flag(
        1.0, "simulated seconds per wall second, from 0.001 to 1000; 0.25 is slow motion", float, "X"
    )
    lead_ms: float | None = world_flag(
        None,
        "ms from publishing a snapshot until the snapshot is due, from 0 to 10000; auto: as long as the viewers need "
        "[default: auto]",
        read_auto_ms,
        "auto|MS",
        name="--lead",
    )
    when_slow: str = world_flag(
        "dilate",
        "if physics is too slow, dilate slows simulated time down, and widen computes several steps as one long step",
        str,
        choices=SLOW_POLICIES,
    )
    max_step_ms: float | None = world_flag(
        None, "longest step of --when-slow widen, in ms of simulated time [default: 100]", float, "MS"
    )
    dt_log: str | None = world_flag(None, "write the length of each step to FILE; --dt-replay can read it", str, "FILE")
    dt_replay: str | None = world_flag(
        None, "repeat the steps of the run whose --dt-log wrote the file LOG, then end", str, "LOG"
    )
    name: str | None = world_flag(
        None, "name by which viewers find the simulation: at most 64 letters, digits, - and _", str, "NAME"
    )

    slow_physics_ms: tuple[float, float] | None = trouble_flag(
        None,
        "add MS ms of work to each step, such as 40, or 20-120 for uniform random times; 0 adds no work",
        read_range_ms,
        "MS|MS-MS",
        name="--slow-physics",
    )
    stall: tuple[float, float] | None = trouble_flag(
        None, "stop physics for MS ms every S simulated seconds, such as 500@5; 0 adds no stops", read_stall, "MS@S"
    )
    drop_percent: float | None = trouble_flag(
        None, "percentage of snapshots that are not published, from 0 to 100", float, "PERCENT", name="--drop"
    )
    delay_ms: tuple[float, float] | None = trouble_flag(
        None,
        "publish each snapshot MS ms late, such as 80, or 80+-20 for uniform random delays; 0 adds no delay",
        read_delay,
        "MS|MS+-MS",
        name="--delay",
    )
    trouble: str | None = trouble_flag(
        None,
        "preset of several kinds of trouble; --slow-physics, --stall, --drop and --delay override values of the preset",
        str,
        choices=tuple(PRESETS),
    )

    # The next fields are flags of the render process.
    interpolation: str = motion_flag(
        "auto",
        f"method that moves bodies between two snapshots: {', '.join(INTERPOLATIONS)}, or your own module:Class",
        str,
        "METHOD",
    )
    chase_ms: float | None = motion_flag(
        None,
        "time that --interpolation chase takes to reach a new snapshot, in ms [default: the publish interval]",
        float,
        "MS",
    )
    clock: str = motion_flag(
        "auto",
        "simulated time of a frame. auto: the newest time for which the next snapshot arrives in time; ahead: the "
        "time that is due now; newest-two: one publish interval behind the newest snapshot; buffered: a fixed delay",
        str,
        choices=CLOCKS,
    )
    prefer: str = motion_flag(
        "latency",
        "what --clock auto does after a stall: latency catches up at once, balanced catches up gently, smooth keeps the delay",
        str,
        choices=PREFERENCES,
    )
    buffer_ms: float | None = motion_flag(
        None,
        "delay of --clock buffered, in ms; auto computes the delay from the measured jitter [default: auto]",
        read_auto_ms,
        "auto|MS",
    )
    split: tuple[SplitSide, SplitSide] | None = motion_flag(
        None,
        "draw two pictures side by side; LEFT and RIGHT are METHOD, METHOD@CLOCK or @CLOCK, such as none,auto or "
        "@newest-two,@auto",
        read_split,
        "LEFT,RIGHT",
    )
    trails: bool | float | str | None = motion_flag(
        None,
        "draw a dot at each place where a frame drew a body in the last SECONDS [default: 1], or since the start (all)",
        read_trails,
        "[SECONDS|all]",
        bare="1",
    )

    pacing: str = window_flag(
        "auto",
        "what a frame waits for. vsync: the display; timer: a timer; unlimited: nothing; auto: the display if this is "
        "possible, else a timer",
        str,
        choices=PACINGS,
    )
    fps: float | None = window_flag(
        None, "largest number of frames per second [default: the display's refresh rate]", float, "N"
    )
    quality: str = window_flag(
        "auto",
        "drawing quality. auto: high, or lower while frames take too long; best: shadows on every surface, which is "
        "slow in software rendering",
        str,
        choices=QUALITIES,
    )
    size_px: tuple[int, int] = window_flag(
        (800, 600), "width and height of the window, in pixels [default: 800x600]", read_size, "WxH", name="--size"
    )
    camera: str = window_flag(
        "auto",
        "keep the first view; by default, the view follows the bodies if the scene has no camera",
        name="--still-view",
        stores="still",
    )
    overlay: bool = window_flag(True, "show the overlay at the start; the key H hides or shows it")
    keys: bool = window_flag(True, "let the viewer act on its keys; --no-keys passes every key to your program")
    draw: str | None = window_flag(
        None, "your function (module:function) that draws into every frame", str, "MODULE:FUNCTION"
    )
    events: bool = window_flag(True, "draw a fading ring at each event of the program")
    on_event: str | None = window_flag(
        None,
        "your function (module:function), which the viewer calls with each event after the event's frame is shown",
        str,
        "MODULE:FUNCTION",
    )
    slow_render_ms: float = window_flag(
        0.0,
        "add work to each frame, so that every frame takes at least MS ms",
        float,
        "MS",
        name="--slow-render",
    )
    viewer_nice: int = window_flag(
        0, "nice value of the viewer, from 0 to 19; if N is above 0, other programs run first", int, "N"
    )
    offscreen: bool = window_flag(False, "draw without a window, through EGL")

    # The next fields are flags for the end of the run and for its report.
    seconds: float | None = ending_flag(
        None,
        "end S seconds after the end of start-up",
        float,
        "S",
    )
    screenshot: str | None = ending_flag(None, "save a picture (PNG) at the time of --at", str, "FILE", side=VIEW)
    at_s: float | None = ending_flag(
        None,
        "time of the screenshot, in seconds after the first frame [default: 2]",
        float,
        "S",
        side=VIEW,
        name="--at",
    )
    log: str | None = ending_flag(None, "write the frame log (CSV) with one row per frame", str, "FILE", side=VIEW)
    profile: str | None = ending_flag(
        None, "write a trace of both processes that Perfetto and chrome://tracing can show", str, "FILE"
    )
    json: str | None = ending_flag(
        None, "write the report to FILE, as JSON; - means standard output", str, "FILE", side=MEASURE
    )
    plot: str | None = ending_flag(None, "write the frame-pacing plot (PNG)", str, "FILE", side=MEASURE)
    fail_if: tuple[str, ...] = ending_flag(
        (),
        "exit with code 1 if LIMIT is true, such as 'motion.animation_error_ms.p99>2'; you may repeat this flag",
        str,
        "LIMIT",
        side=MEASURE,
    )
    report: bool = field(default=False, metadata={})  # True to print the report at the end of the run
    full: bool = field(default=False, metadata={})  # True to print all figures of the report and its conditions
    # Path of the memory into which the viewer records its spans. A span is a measured piece of work, for --profile.
    span_memory: str | None = field(default=None, metadata={})
    # True if the viewer is a page in a browser, and this process' viewer is the server of this page.
    web: bool = field(default=False, metadata={})
    # True for `twixt.show`: the user's loop continues when its viewer ends.
    users_loop: bool = field(default=False, metadata={})
    world: str = field(default="balls", metadata={})
    command: str = field(default="", metadata={})  # the command line as the user typed it, for the report
    # instant at which the command started, as read from perf_counter_ns
    started_ns: int | None = field(default=None, metadata={})

    def __post_init__(self) -> None:
        rules.one_of("camera", self.camera, CAMERAS)  # only a program can set a wrong value, and its name is `camera`
        self._check_defaults()
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
        rules.trails("--trails", self.trails)
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
        rules.split("--split", self.split, INTERPOLATIONS, CLOCKS)
        if self.draw is not None:
            rules.reference("--draw", self.draw)
        if self.on_event is not None:
            rules.reference("--on-event", self.on_event)
        if self.when_slow != "widen" and self.max_step_ms is not None:
            raise ConfigError(
                f"--max-step-ms {float(self.max_step_ms):g} needs --when-slow widen; add that, or leave out --max-step-ms"
            )
        if self.when_slow == "widen" and self.dt_replay is not None:
            raise ConfigError(
                "--dt-replay cannot be combined with --when-slow widen, because the log sets each step's length; leave one out"
            )
        rules.plain_name("--name", self.name)

    def _check_defaults(self) -> None:
        """Raises ConfigError if a field is None although its default is not None, or if a switch is not a bool."""
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if value is None and item.default is not None:
                raise ConfigTypeError(f"{flag_name(item.name)} must not be None; leave it out for {item.default!r}")
            if isinstance(item.default, bool):
                rules.flag(flag_name(item.name), value)

    @property
    def troubles(self) -> Troubles:
        """Returns the injected trouble. The preset of `--trouble` is the basis. If a flag sets the figures of one kind
        of trouble, these figures replace the figures in the preset."""
        asked = {name: getattr(self, name) for name in FIELDS.values() if getattr(self, name) is not None}
        preset = PRESETS[self.trouble] if self.trouble else Troubles()
        return replace(preset, **asked).tidy()

    @property
    def trail_seconds(self) -> float:
        """Returns the length of trails, in seconds; infinite for "all". It is 1 if `trails` gives no length."""
        if isinstance(self.trails, str):
            return math.inf
        return 1.0 if self.trails is None or rules.is_switch(self.trails) else float(self.trails)

    def check_files(self) -> None:
        """Raises ConfigError for a result file that cannot be written. Call this before the run. Otherwise the run
        would fail only at its end."""
        for item in dataclasses.fields(self):
            path = getattr(self, item.name)
            if item.metadata.get("metavar") == "FILE" and path is not None:
                path = os.fspath(path) if isinstance(path, os.PathLike) else path
                check_file(flag_name(item.name), path, is_picture=item.name in ("screenshot", "plot"))

    def to_json(self) -> str:
        """Returns the whole config as one line of JSON, for the other process."""
        return json.dumps(dataclasses.asdict(self), default=_plain)

    @staticmethod
    def from_json(text: str) -> Config:
        """Returns the config that `to_json` wrote."""
        values: dict[str, Any] = {name: _as_tuples(value) for name, value in json.loads(text).items()}
        return Config(**values)


def _plain(value: Any) -> Any:
    # Values given to `show` may be path objects and numpy's numbers.
    return value.item() if hasattr(value, "item") else os.fspath(value)


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, list) else value


def flag_name(field_name: str) -> str:
    """Returns the name of a field's flag, with the leading dashes."""
    by_name = {f.name: f for f in dataclasses.fields(Config)}
    return by_name[field_name].metadata.get("name") or "--" + field_name.replace("_", "-")
