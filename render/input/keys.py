"""Defines the key bindings. Some keys change the settings of this viewer. Other keys send commands to the physics
process.

`BINDINGS` is the only table of keys. For each key, this table has the effect, the note about the effect, and the line
of help in the overlay. A command contains the instant and the draw time at which the user acted. Pure: this module
sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from twixt.ipc.commands import Command
from twixt.ipc.config.flags import CLOCKS, INTERPOLATIONS, PREFERENCES
from twixt.render.display.input import Key

# Work, in ms, that the S key adds to every step, unless a flag sets another value. At 60 steps a second, the
# simulation then runs at less than half of real time.
SLOW_PHYSICS_MS = 40.0
TIME_SCALES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 50.0, 100.0)


@dataclass(frozen=True)
class ViewerSettings:
    """Settings that the user changes with keys. Settings of the physics process follow its latest plan and status."""

    interpolation: str
    clock: str
    overlay: bool
    paused: bool = False
    time_scale: float = 1.0
    slow_physics: bool = False
    screenshot: bool = False
    frame_all: bool = False  # True if this was requested and is not yet done
    quit: bool = False
    prefer: str = PREFERENCES[0]
    split: bool = False
    trails: bool = False
    # True if the simulation is the user's own loop; then keys that send commands have no effect
    own_loop: bool = False
    # User's own interpolation method, as module:Class. It is offered in addition to the built-in methods.
    own_method: str | None = None
    # Shortest and longest work, in ms, that the S key adds to a step.
    slow_physics_ms: tuple[float, float] = (SLOW_PHYSICS_MS, SLOW_PHYSICS_MS)
    listens: bool = False  # True if the user's own loop receives events
    has_keys: bool = True  # False if all keys are for the user's program
    own_keys: frozenset[str] = frozenset()  # names in `KEY_NAMES` of the keys that belong to the user's program

    @property
    def methods(self) -> tuple[str, ...]:
        """Interpolation methods that the key I cycles through."""
        own = self.own_method
        return INTERPOLATIONS if own is None or own in INTERPOLATIONS else (*INTERPOLATIONS, own)

    @property
    def keys(self) -> dict[str, str]:
        """Keys that have an effect in the viewer, each with its line of help."""
        return {key: text for key, text in KEYS.items() if self.has_keys and not self.belongs_to_program(key)}

    def belongs_to_program(self, key: str) -> bool:
        """True if this key is for the user's program and not for the viewer: the program has asked for this key, or the
        key sends a command and the loop is the user's own. If the user's loop receives events, the R key is for the
        viewer, which then requests a reset."""
        if self.is_asked_for(key):
            return True
        return self.own_loop and BINDINGS[key].asks_physics and not (self.listens and key == "R")

    def is_asked_for(self, key: str) -> bool:
        """True if the user's program has asked for this key of `BINDINGS` by its name."""
        return bool(self.own_keys) and OTHER_NAMES.get(key, key.lower()) in self.own_keys


class Effect(NamedTuple):
    """Settings after a key press, and the command that the key sends. The command has a name and a value. Its name is
    "" if there is no command."""

    settings: ViewerSettings
    command: str = ""
    value: float | list[float] | None = None


class KeyBinding(NamedTuple):
    """Binding of one key. help: the key's effect in a few words, for the overlay. note: function that returns the note
    for the user. Its parameters are the settings before and after the key press.

    asks_physics: True if the key sends a command. If the simulation is a user's own loop (`twixt.show`), the user's
    program receives two kinds of keys: those that send commands, and those that the viewer does not use. If the
    program receives no events, a note says that the key does nothing.
    """

    help: str
    act: Callable[[ViewerSettings], Effect]
    note: Callable[[ViewerSettings, ViewerSettings], str]
    asks_physics: bool = False


def _with(now: ViewerSettings, field: str, value: Any) -> Effect:
    return Effect(replace(now, **{field: value}))


def _chosen(field: str, choices: Callable[[ViewerSettings], tuple[str, ...]], help: str = "") -> KeyBinding:
    """Binding of a key that cycles through the choices of a setting."""

    def act(now: ViewerSettings) -> Effect:
        options, chosen = choices(now), getattr(now, field)
        following = options[(options.index(chosen) + 1) % len(options)] if chosen in options else options[0]
        return _with(now, field, following)

    return KeyBinding(help or field, act, lambda _, after: f"{field}: {getattr(after, field)}")


def _switched(field: str, help: str) -> KeyBinding:
    """Binding of a key that switches a setting on and off."""
    return KeyBinding(
        help,
        lambda now: _with(now, field, not getattr(now, field)),
        lambda _, after: f"{help} {'on' if getattr(after, field) else 'off'}",
    )


def _scaled(help: str, faster: bool) -> KeyBinding:
    """Binding of a key that changes the time scale."""

    def act(now: ViewerSettings) -> Effect:
        scale = next_scale(now.time_scale, faster)
        return Effect(replace(now, time_scale=scale), "time_scale", scale)

    def note(before: ViewerSettings, after: ViewerSettings) -> str:
        end = "" if after.time_scale != before.time_scale else " (limit)"
        return f"time scale {after.time_scale:g}{end}"

    return KeyBinding(help, act, note, asks_physics=True)


def _slow_physics_note(_: ViewerSettings, after: ViewerSettings) -> str:
    least_ms, most_ms = after.slow_physics_ms
    more = f"{least_ms:g} ms" if least_ms == most_ms else f"{least_ms:g} to {most_ms:g} ms"
    return f"slow physics: {more} extra per step" if after.slow_physics else "slow physics off"


def _no_note(_before: ViewerSettings, _after: ViewerSettings) -> str:
    return ""


BINDINGS: dict[str, KeyBinding] = {
    "I": _chosen("interpolation", lambda now: now.methods),
    "C": _chosen("clock", lambda _: CLOCKS),
    "P": _chosen("prefer", lambda _: PREFERENCES),
    "V": _switched("split", "split view"),
    "T": _switched("trails", "trails"),
    "F": KeyBinding("frame all", lambda now: Effect(replace(now, frame_all=True)), lambda *_: "all bodies framed"),
    "Space": KeyBinding(
        "pause / continue",
        lambda now: Effect(replace(now, paused=not now.paused), "resume" if now.paused else "pause"),
        lambda _, after: "paused" if after.paused else "continues",
        asks_physics=True,
    ),
    ".": KeyBinding(
        "one step", lambda now: Effect(replace(now, paused=True), "step"), lambda *_: "one step", asks_physics=True
    ),
    "[": _scaled("slower", faster=False),
    "]": _scaled("faster", faster=True),
    "S": KeyBinding(
        "slow physics",
        lambda now: Effect(
            replace(now, slow_physics=not now.slow_physics),
            "slow_physics",
            None if now.slow_physics else list(now.slow_physics_ms),
        ),
        _slow_physics_note,
        asks_physics=True,
    ),
    "R": KeyBinding("reset", lambda now: Effect(now, "reset"), lambda *_: "reset", asks_physics=True),
    "H": KeyBinding(
        "hide overlay",
        lambda now: Effect(replace(now, overlay=not now.overlay)),
        lambda _, after: "overlay shown" if after.overlay else "overlay hidden: H shows it",
    ),
    # The note about a screenshot is shown later, when the file is written.
    "F12": KeyBinding("screenshot", lambda now: Effect(replace(now, screenshot=True)), _no_note),
    "Esc": KeyBinding("quit", lambda now: Effect(replace(now, quit=True)), _no_note),
}
KEYS: dict[str, str] = {key: binding.help for key, binding in BINDINGS.items()}
# Names in `KEY_NAMES` of keys of `BINDINGS`. A key that is not here has the same name in lower case.
OTHER_NAMES = {"Esc": "escape"}


def bound(key: Key) -> str:
    """Name in `BINDINGS` of a pressed key. The key is found by its character or its position. The name is "" if
    `BINDINGS` does not contain the key, or if a modifier key is held."""
    if key.modifiers:
        return ""
    return next((name for name in (key.name, key.place) if name in BINDINGS), "")


def act(key: str, now: ViewerSettings, acted_ns: int, draw_time_ns: int) -> tuple[ViewerSettings, Command | None]:
    """Settings after a press of `key`, and the command that the key sends to the physics process. The command is None
    if the key sends none.

    acted_ns: instant of the key press (perf_counter_ns). draw_time_ns: simulated time that the user saw.
    """
    binding = BINDINGS.get(key)
    if binding is None or (now.own_loop and binding.asks_physics) or now.is_asked_for(key):
        return now, None
    settings, name, value = binding.act(now)
    return settings, Command(name, value, acted_ns, draw_time_ns) if name else None


def note_of(key: str, before: ViewerSettings, after: ViewerSettings) -> str:
    """Note for the user about the effect of a key of `BINDINGS`. The note is "" for Esc and for F12. The note about a
    screenshot (F12) is shown later, when its file is written."""
    if before.belongs_to_program(key):
        return "" if before.listens else f"{key} ({KEYS[key]}) has no effect: your own program runs the loop"
    return BINDINGS[key].note(before, after)


def reflect_slow_physics(now: ViewerSettings, status: Mapping[str, Any]) -> ViewerSettings:
    """Settings whose values for slow physics are taken from `status`. If slow physics is off in `status`, the S key
    will use the last value, or the value of the flags."""
    slow = status.get("slow_physics_ms")
    asked = slow or (status.get("trouble_asked") or {}).get("slow_physics_ms")
    kept = now.slow_physics_ms if asked is None else (float(asked[0]), float(asked[1]))
    return replace(now, slow_physics=slow is not None, slow_physics_ms=kept)


def next_scale(scale: float, faster: bool) -> float:
    """The value of `TIME_SCALES` that follows `scale` upwards if `faster` is True, else downwards. If there is no such
    value, returns the last or the first value of `TIME_SCALES`."""
    if faster:
        return next((step for step in TIME_SCALES if step > scale * 1.001), TIME_SCALES[-1])
    return next((step for step in reversed(TIME_SCALES) if step < scale * 0.999), TIME_SCALES[0])
