"""Key bindings: keys that change the settings of this viewer, and keys that send commands to physics.

`KEYS` is the one list of keys: the overlay and the README show it, `act` obeys it.
A command carries the instant and the draw time at which the user acted. Pure: sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from twixt.ipc.commands import Command
from twixt.ipc.config.config import CLOCKS, INTERPOLATIONS, PREFERENCES
from twixt.render.display.input import Key

# Keys that send commands to physics. With a user's own loop (`twixt.show`) they go to that program, as all keys that
# the viewer does not use; if it takes no events, a note says that they do nothing.
ASK_PHYSICS = frozenset(("Space", ".", "[", "]", "S", "R"))
# Work added to every step by the S key unless a flag sets it, ms: under half of real time at 60 steps a second.
SLOW_PHYSICS_MS = 40.0
TIME_SCALES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 50.0, 100.0)

KEYS: dict[str, str] = {
    "I": "interpolation",
    "C": "clock",
    "P": "prefer",
    "V": "split view",
    "T": "trails",
    "F": "frame all",
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


def bound(key: Key) -> str:
    """Name in `KEYS` of a pressed key, by its character or its place; empty for other keys and with a modifier."""
    if key.modifiers:
        return ""
    return next((name for name in (key.name, key.place) if name in KEYS), "")


@dataclass(frozen=True)
class Controls:
    """Settings that the user changes by keys. Those of physics follow its latest plan and status."""

    interpolation: str
    clock: str
    overlay: bool
    paused: bool = False
    time_scale: float = 1.0
    slow_physics: bool = False
    screenshot: bool = False
    frame_all: bool = False  # asked for and not yet done
    quit: bool = False
    prefer: str = PREFERENCES[0]
    split: bool = False
    trails: bool = False
    own_loop: bool = False  # True: physics is the user's own loop, where ASK_PHYSICS have no effect
    own_method: str | None = None  # module:Class of the user's interpolation, a choice besides the built-in ones
    slow_physics_ms: tuple[float, float] = (SLOW_PHYSICS_MS, SLOW_PHYSICS_MS)  # that S switches on: shortest, longest
    listens: bool = False  # True: the user's own loop takes events
    has_keys: bool = True  # False: the keyboard is the user's program's

    @property
    def methods(self) -> tuple[str, ...]:
        """Interpolations that the key I cycles through."""
        own = self.own_method
        return INTERPOLATIONS if own is None or own in INTERPOLATIONS else (*INTERPOLATIONS, own)

    @property
    def keys(self) -> dict[str, str]:
        """Keys that have an effect, and their effects."""
        return {key: does for key, does in KEYS.items() if self.has_keys and not self.is_programs(key)}

    def is_programs(self, key: str) -> bool:
        """True if the viewer leaves this key to the user's own loop. R asks a loop that takes events for a reset."""
        return self.own_loop and key in ASK_PHYSICS and not (self.listens and key == "R")


def act(key: str, now: Controls, acted_ns: int, draw_time_ns: int) -> tuple[Controls, Command | None]:
    """Settings after `key`, and its command to physics, if any.

    acted_ns: the instant of the key, ns of perf_counter. draw_time_ns: simulated time that the user saw.
    """

    def command(name: str, value: float | list[float] | None = None) -> Command:
        return Command(name, value, acted_ns, draw_time_ns)

    if now.own_loop and key in ASK_PHYSICS:
        return now, None
    match key:
        case "I":
            return replace(now, interpolation=_after(now.methods, now.interpolation)), None
        case "C":
            return replace(now, clock=_after(CLOCKS, now.clock)), None
        case "P":
            return replace(now, prefer=_after(PREFERENCES, now.prefer)), None
        case "V":
            return replace(now, split=not now.split), None
        case "T":
            return replace(now, trails=not now.trails), None
        case "F":
            return replace(now, frame_all=True), None
        case "Space":
            return replace(now, paused=not now.paused), command("resume" if now.paused else "pause")
        case ".":
            return replace(now, paused=True), command("step")
        case "[" | "]":
            scale = next_scale(now.time_scale, faster=key == "]")
            return replace(now, time_scale=scale), command("time_scale", scale)
        case "S":
            added = None if now.slow_physics else list(now.slow_physics_ms)
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


def note_of(key: str, before: Controls, after: Controls) -> str:
    """Note for the user about the effect of a key. Empty for F12, reported once the file is written, and for Esc."""
    if before.is_programs(key):
        return "" if before.listens else f"{key} ({KEYS[key]}) does nothing here: the loop is your own program's"
    match key:
        case "I":
            return f"interpolation: {after.interpolation}"
        case "C":
            return f"clock: {after.clock}"
        case "P":
            return f"prefer: {after.prefer}"
        case "V":
            return f"split view {_switched(after.split)}"
        case "T":
            return f"trails {_switched(after.trails)}"
        case "F":
            return "all bodies framed"
        case "Space":
            return "paused" if after.paused else "goes on"
        case ".":
            return "one step"
        case "[" | "]":
            end = "" if after.time_scale != before.time_scale else ", and no further"
            return f"time scale {after.time_scale:g}{end}"
        case "S":
            least_ms, most_ms = after.slow_physics_ms
            more = f"{least_ms:g} ms" if least_ms == most_ms else f"{least_ms:g} to {most_ms:g} ms"
            return f"slow physics: {more} more a step" if after.slow_physics else "slow physics off"
        case "R":
            return "reset"
        case "H":
            return "overlay shown" if after.overlay else "overlay hidden: H shows it"
    return ""


def _switched(on: bool) -> str:
    return "on" if on else "off"


def reflect_slow_physics(now: Controls, status: Mapping[str, Any]) -> Controls:
    """Settings with slow physics as in `status`. When off, S will switch on the last value, else that of the flags."""
    slow = status.get("slow_physics_ms")
    asked = slow or (status.get("trouble_asked") or {}).get("slow_physics_ms")
    kept = now.slow_physics_ms if asked is None else (float(asked[0]), float(asked[1]))
    return replace(now, slow_physics=slow is not None, slow_physics_ms=kept)


def next_scale(scale: float, faster: bool) -> float:
    """The next of `TIME_SCALES` above or below `scale`; at an end, that end."""
    if faster:
        return next((step for step in TIME_SCALES if step > scale * 1.001), TIME_SCALES[-1])
    return next((step for step in reversed(TIME_SCALES) if step < scale * 0.999), TIME_SCALES[0])


def _after(choices: tuple[str, ...], chosen: str) -> str:
    """The next choice, after the last one the first; the first if `chosen` is not a choice."""
    return choices[(choices.index(chosen) + 1) % len(choices)] if chosen in choices else choices[0]
