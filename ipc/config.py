"""Everything a run can be told, in one frozen object that both processes get whole.

The command line's flags are generated from these fields (name, unit, help, how the text is read), so a
flag, its default and its check stand in one place. A `Config` that exists is valid.
Standard library only: `--help` must not wait for numpy.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from twixt.ipc.errors import TwixtError

BOTH, SIM, VIEW, MEASURE = "both", "sim", "view", "measure"

CLOCKS = ("auto", "ahead", "newest-two")
INTERPOLATIONS = ("linear", "none")
PACINGS = ("auto", "vsync", "timer", "unlimited")
SLOW_POLICIES = ("dilate",)


class ConfigError(TwixtError):
    """A flag's value that breaks its rule."""


def flag(
    default: Any,
    help: str,
    side: str = BOTH,
    read: Callable[[str], Any] | None = None,
    metavar: str = "",
    choices: tuple[str, ...] = (),
    name: str = "",
) -> Any:
    """A field that is also a flag. read: text -> value, raising ValueError with the rule."""
    return field(
        default=default,
        metadata={"help": help, "side": side, "read": read, "metavar": metavar, "choices": choices, "name": name},
    )


def read_range_ms(text: str) -> tuple[float, float]:
    """`40` or `20-120`: the shortest and the longest time in ms."""
    low_text, dash, high_text = text.partition("-")
    low = float(low_text)
    high = float(high_text) if dash else low
    return low, high


def read_size(text: str) -> tuple[int, int]:
    """`800x600`."""
    width, _, height = text.lower().partition("x")
    return int(width), int(height)


def read_lead(text: str) -> float | None:
    """`auto` (None) or milliseconds."""
    return None if text == "auto" else float(text)


def read_setting(text: str) -> tuple[str, str]:
    """`count=500`."""
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise ValueError("write it as name=value, such as count=500")
    return key, value


@dataclass(frozen=True)
class Config:
    """One run. Units are in the names; None means "not set", and then the part itself decides."""

    # the physics process
    settings: tuple[tuple[str, str], ...] = flag(
        (),
        "a constructor argument of the world, such as count=500; may be repeated",
        SIM,
        read_setting,
        "KEY=VALUE",
        name="--set",
    )
    seed: int = flag(0, "seed of the world and of injected trouble", SIM, int, "N")
    physics_hz: float | None = flag(None, "steps per simulated second, instead of the world's own dt", SIM, float, "HZ")
    publish_hz: float = flag(120.0, "snapshots published per wall second, at most", SIM, float, "HZ")
    time_scale: float = flag(1.0, "simulated seconds per wall second; 0.25 is slow motion", SIM, float, "X")
    lead_ms: float | None = flag(
        None,
        "how far ahead of its due instant a snapshot is published; 0: at its due instant",
        SIM,
        read_lead,
        "auto|MS",
        name="--lead",
    )
    slow_physics_ms: tuple[float, float] | None = flag(
        None,
        "real work added to every step, in ms: 40, or 20-120 for uniform random",
        SIM,
        read_range_ms,
        "MS|MS-MS",
        name="--slow-physics",
    )
    when_slow: str = flag(
        "dilate", "when physics cannot keep up: let simulated time run slower, evenly", SIM, str, choices=SLOW_POLICIES
    )
    name: str | None = flag(None, "the name under which viewers find this simulation", SIM, str, "NAME")

    # the render process
    interpolation: str = flag(
        "linear", "how the world is drawn between two snapshots", VIEW, str, choices=INTERPOLATIONS
    )
    clock: str = flag("auto", "which simulated time a frame draws", VIEW, str, choices=CLOCKS)
    pacing: str = flag("auto", "what a frame waits for", VIEW, str, choices=PACINGS)
    fps: float | None = flag(None, "frames per second, at most; the display's own rate by default", VIEW, float, "N")
    size_px: tuple[int, int] = flag((800, 600), "size of the window", VIEW, read_size, "WxH", name="--size")
    overlay: bool = flag(True, "show the overlay of figures and keys (H toggles it)", VIEW)
    slow_render_ms: float = flag(
        0.0, "real work that makes every frame take at least so many ms", VIEW, float, "MS", name="--slow-render"
    )
    offscreen: bool = flag(False, "draw without a window, through EGL", VIEW)
    screenshot: str | None = flag(None, "save a picture (PNG) at the instant of --at", VIEW, str, "FILE")
    at_s: float | None = flag(
        None, "when to take the screenshot, seconds after the first frame [2]", VIEW, float, "S", name="--at"
    )
    log: str | None = flag(None, "write the frame log, one row per frame (CSV)", VIEW, str, "FILE")

    # ending and reporting
    seconds: float | None = flag(None, "end after this many seconds", BOTH, float, "S")
    json: str | None = flag(None, "write the report as JSON; - for standard output", MEASURE, str, "FILE")
    plot: str | None = flag(None, "write the frame-pacing plot (PNG)", MEASURE, str, "FILE")
    fail_if: tuple[str, ...] = flag(
        (),
        "exit with 1 when this holds, such as 'motion.animation_error_ms.p99>2'; may be repeated",
        MEASURE,
        str,
        "LIMIT",
    )
    report: bool = field(default=False, metadata={})  # print the report at the end
    world: str = field(default="balls", metadata={})
    command: str = field(default="", metadata={})  # as typed, for the report
    started_ns: int | None = field(default=None, metadata={})  # perf_counter instant of the command

    def __post_init__(self) -> None:
        _whole(self, "seed", at_least=0)
        for name in ("physics_hz", "publish_hz", "fps", "seconds", "time_scale"):
            _positive(self, name)
        for name in ("slow_render_ms", "at_s", "lead_ms"):
            _not_negative(self, name)
        if self.slow_physics_ms is not None:
            low, high = self.slow_physics_ms
            if not (math.isfinite(low) and math.isfinite(high) and 0 <= low <= high):
                raise ConfigError(
                    f"--slow-physics must be MS or SHORTEST-LONGEST with 0 <= shortest <= longest, got {low:g}-{high:g}"
                )
        width, height = self.size_px
        if not (16 <= width <= 16384 and 16 <= height <= 16384):
            raise ConfigError(f"--size must be from 16x16 to 16384x16384, got {width}x{height}")
        for name, allowed in (
            ("interpolation", INTERPOLATIONS),
            ("clock", CLOCKS),
            ("pacing", PACINGS),
            ("when_slow", SLOW_POLICIES),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise ConfigError(f"{flag_name(name)} must be one of {', '.join(allowed)}, got {value!r}")
        if self.name is not None and not (
            self.name.replace("-", "").replace("_", "").isalnum() and len(self.name) <= 64
        ):
            raise ConfigError(f"--name must be letters, digits, - and _, at most 64, got {self.name!r}")

    def check_files(self) -> None:
        """Raises ConfigError where a file that is to be written has no folder: before a run, not after it."""
        for item in dataclasses.fields(self):
            path = getattr(self, item.name)
            if item.metadata.get("metavar") == "FILE" and path not in (None, "-"):
                check_folder(flag_name(item.name), path)

    def to_json(self) -> str:
        """The whole config as one line, for the other process."""
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Config:
        """The config of `to_json`."""
        values: dict[str, Any] = {name: _as_tuples(value) for name, value in json.loads(text).items()}
        return Config(**values)


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, list) else value


def flag_name(field_name: str) -> str:
    """The flag of a field: its own name, or the field's with dashes."""
    by_name = {f.name: f for f in dataclasses.fields(Config)}
    return by_name[field_name].metadata.get("name") or "--" + field_name.replace("_", "-")


def check_folder(flag: str, path: str) -> None:
    """Raises ConfigError unless the folder of `path` can be written in."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise ConfigError(f"{flag} {path!r}: the folder {folder!r} does not exist; make it, or name another file")
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise ConfigError(f"{flag} {path!r} cannot be written; name another file")


def _positive(config: Config, name: str) -> None:
    value = getattr(config, name)
    if value is not None and not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{flag_name(name)} must be a finite number > 0, got {value!r}")


def _not_negative(config: Config, name: str) -> None:
    value = getattr(config, name)
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise ConfigError(f"{flag_name(name)} must be a finite number >= 0, got {value!r}")


def _whole(config: Config, name: str, at_least: int) -> None:
    value = getattr(config, name)
    if not isinstance(value, int) or value < at_least:
        raise ConfigError(f"{flag_name(name)} must be a whole number >= {at_least}, got {value!r}")
