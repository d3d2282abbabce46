"""What the keys do: some change how this viewer draws, the rest are commands to physics.

`KEYS` is the one list of keys: the overlay shows it, the README prints it, `act` obeys it.
A command carries the instant and the draw time at which the user acted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from twixt.ipc.commands import Command
from twixt.ipc.config import CLOCKS, INTERPOLATIONS

# Added to every step by the S key, ms: physics at under half speed in a world of 60 steps a second.
SLOW_PHYSICS_MS = 40.0
TIME_SCALES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 50.0, 100.0)

KEYS: dict[str, str] = {
    "I": "interpolation",
    "C": "clock",
    "Space": "pause / go on",
    ".": "one step",
    "[": "slower",
    "]": "faster",
    "S": "slow physics",
    "R": "reset",
    "H": "hide this",
    "F12": "screenshot",
    "Esc": "quit",
}


@dataclass(frozen=True)
class Controls:
    """What the user has chosen. The keys of physics reflect what physics last said of itself."""

    interpolation: str
    clock: str
    overlay: bool
    paused: bool = False
    time_scale: float = 1.0
    slow_physics: bool = False
    screenshot: bool = False
    quit: bool = False


def act(key: str, now: Controls, acted_ns: int, draw_time_ns: int) -> tuple[Controls, Command | None]:
    """What `key` changes: the new choices, and the command for physics if it needs one."""

    def command(name: str, value: float | list[float] | None = None) -> Command:
        return Command(name, value, acted_ns, draw_time_ns)

    match key:
        case "I":
            return replace(now, interpolation=_after(INTERPOLATIONS, now.interpolation)), None
        case "C":
            return replace(now, clock=_after(CLOCKS, now.clock)), None
        case "Space":
            return replace(now, paused=not now.paused), command("resume" if now.paused else "pause")
        case ".":
            return replace(now, paused=True), command("step")
        case "[" | "]":
            scale = next_scale(now.time_scale, faster=key == "]")
            return replace(now, time_scale=scale), command("time_scale", scale)
        case "S":
            added = None if now.slow_physics else [SLOW_PHYSICS_MS, SLOW_PHYSICS_MS]
            return replace(now, slow_physics=not now.slow_physics), command("slow_physics", added)
        case "R":
            return now, command("reset")
        case "H":
            return replace(now, overlay=not now.overlay), None
        case "F12":
            return replace(now, screenshot=True), None
        case "Esc":
            return replace(now, quit=True), None
    return now, None


def next_scale(scale: float, faster: bool) -> float:
    """The next of `TIME_SCALES` in that direction; the ends stay."""
    if faster:
        return next((step for step in TIME_SCALES if step > scale * 1.001), TIME_SCALES[-1])
    return next((step for step in reversed(TIME_SCALES) if step < scale * 0.999), TIME_SCALES[0])


def _after(choices: tuple[str, ...], chosen: str) -> str:
    return choices[(choices.index(chosen) + 1) % len(choices)]
