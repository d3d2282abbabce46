"""Manages the sliders in the overlay: their values, and the instants at which values are sent. Some sliders are for
troubles that the user injects, for example lost snapshots. Others are for the controls of the world.

A knob consists of the sliders of one command.

A knob shows the value from the status of the physics process. But while the user drags the knob, and for `ANSWER_NS`
after a command was sent, the knob shows the user's value.

Always: the last value of a drag is sent. During a drag, at most SENDS_PER_S values a second are sent. Pure: instants
are passed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from twixt.ipc.commands import CONTROL, Command
from twixt.ipc.interaction.controls import SECTION

SENDS_PER_S = 10
# Time in ns after a command in which a status message may still have the old value. The physics process sends its
# status five times a second.
ANSWER_NS = 600_000_000


class SliderRange(NamedTuple):
    """Range of one slider, from `low` to `high`. shown: format of the value, as for C's printf."""

    low: float
    high: float
    shown: str
    default: float = 0.0


class Knob(NamedTuple):
    """The sliders of one command. If the first `none_at` sliders are all 0, the command's value is None, and the
    trouble is off.

    none_at: number of these sliders, or 0 if the value is never None. kind: one of `controls.KINDS`. A switch or a
    button has one value. section: name of the section of the overlay that contains the knob.
    """

    name: str
    sliders: tuple[SliderRange, ...]
    none_at: int = 0
    kind: str = "slider"
    section: str = SECTION


# Knobs by the name of their command. These ranges are useful for changes by hand. Flags allow larger values.
TROUBLES: dict[str, Knob] = {
    "slow_physics": Knob("slow physics", (SliderRange(0, 200, "%.0f ms"), SliderRange(0, 200, "to %.0f ms")), 2),
    "stall": Knob("stall", (SliderRange(0, 2000, "%.0f ms"), SliderRange(0.5, 30, "every %.1f s", 5.0)), 1),
    "drop": Knob("drop", (SliderRange(0, 50, "%.1f %%"),), 0),
    "delay": Knob("delay", (SliderRange(0, 500, "%.0f ms"), SliderRange(0, 200, "+-%.0f ms")), 2),
}
# Buffer of the viewer's clock, in ms. If it is 0, the buffer is computed from measured jitter.
BUFFER = Knob("buffer", (SliderRange(0, 500, "%.0f ms"),), 0)
_KNOBS = {**TROUBLES, "buffer": BUFFER}


class Turn(NamedTuple):
    """A move of one slider by the user. released: True if this is the last value of a drag."""

    knob: str  # a key of TROUBLES, or "buffer", or a control's key (see `control_key`)
    figure: int
    value: float
    released: bool


class Turned(NamedTuple):
    """Effects of moved sliders that are due now. buffer_ms: new buffer of the clock in ms. It is 0 if the buffer is to
    be computed from measured jitter, and None if the buffer's slider was not moved."""

    commands: list[Command]
    buffer_ms: float | None = None


def control_key(index: int) -> str:
    """Name of the knob for the control number `index` of the world."""
    return f"{CONTROL} {index}"


class Knobs:
    """All knobs of one viewer."""

    def __init__(self) -> None:
        self._knobs = dict(_KNOBS)
        self._figures = {name: [slider.default for slider in knob.sliders] for name, knob in _KNOBS.items()}
        self._turning: set[str] = set()
        self._unsent: set[str] = set()
        self._sent_ns: dict[str, int] = {}

    def figures(self, name: str) -> tuple[float, ...]:
        """Current values of a knob's sliders."""
        return tuple(self._figures[name])

    def offer(self, controls: Sequence[Sequence[Any]], now_ns: int) -> list[str]:
        """Updates the knobs of the world's controls. controls: the controls from the world's status, in the format of
        `controls.to_status`. Returns the names of their knobs."""
        keys = [control_key(index) for index in range(len(controls))]
        offered = {
            key: Knob(name, (SliderRange(low, high, "%.3g"),), kind=kind, section=section)
            for key, (kind, name, _, low, high, section) in zip(keys, controls, strict=True)
        }
        for key in [key for key in self._knobs if key.startswith(CONTROL) and self._knobs[key] != offered.get(key)]:
            del self._knobs[key], self._figures[key]
            self._turning.discard(key)
            self._unsent.discard(key)
        self._knobs |= offered
        for key in offered.keys() - self._figures.keys():
            self._figures[key] = [0.0]
            self._sent_ns.pop(key, None)
        self.reflect({key: control[2] for key, control in zip(keys, controls, strict=True)}, now_ns)
        return keys

    def knob(self, name: str) -> Knob:
        """Knob with this name."""
        return self._knobs[name]

    def reflect(self, values: Mapping[str, Any], now_ns: int) -> None:
        """Sets the knobs to values from the physics process or from the clock. values: value of each knob, by the name
        of its command.

        Some knobs are not changed: a knob that the user drags, a knob whose value is not sent yet, and a knob whose
        value was sent less than ANSWER_NS ago.
        """
        for name, value in values.items():
            is_waiting = name in self._sent_ns and now_ns - self._sent_ns[name] < ANSWER_NS
            if name in self._turning or name in self._unsent or is_waiting:
                continue
            figures = self._figures[name]
            if value is None:
                figures[: max(1, self._knobs[name].none_at)] = [0.0] * max(1, self._knobs[name].none_at)
            else:
                figures[:] = [float(figure) for figure in (value if isinstance(value, Sequence) else [value])]

    def turn(self, turn: Turn) -> None:
        """Sets the value of one slider. The value is limited to the slider's range."""
        if turn.knob not in self._knobs:  # the world has removed this control
            return
        figures, slider = self._figures[turn.knob], self._knobs[turn.knob].sliders[turn.figure]
        figures[turn.figure] = min(slider.high, max(slider.low, turn.value))
        if turn.knob == "slow_physics":  # keep shortest <= longest; if needed, move the other slider too
            other = 1 - turn.figure
            figures[other] = max(figures) if other else min(figures)
        elif turn.knob == "delay":  # keep jitter <= mean, because a delay must not be negative
            if turn.figure == 0:
                figures[1] = min(figures)
            else:
                figures[0] = max(figures)
        self._unsent.add(turn.knob)
        (self._turning.discard if turn.released else self._turning.add)(turn.knob)

    def all_off(self) -> None:
        """Switches all troubles off."""
        for name in TROUBLES:
            self.turn(Turn(name, 0, 0.0, True))
            if len(self._figures[name]) == 2 and TROUBLES[name].none_at == 2:
                self.turn(Turn(name, 1, 0.0, True))

    def due(self, now_ns: int, draw_time_ns: int) -> Turned:
        """Returns the effects of moved sliders that are due now. draw_time_ns: simulated time that the user saw."""
        sent = [name for name in self._knobs if name in self._unsent and self._may_go(name, now_ns)]
        for name in sent:
            self._unsent.discard(name)
            self._sent_ns[name] = now_ns
        commands = [
            Command(CONTROL, [int(name.removeprefix(CONTROL)), self._figures[name][0]], now_ns, draw_time_ns)
            if name.startswith(CONTROL)
            else Command(name, self._value(name), now_ns, draw_time_ns)
            for name in sent
            if name != "buffer"
        ]
        return Turned(commands, self._figures["buffer"][0] if "buffer" in sent else None)

    def _may_go(self, name: str, now_ns: int) -> bool:
        return name not in self._turning or now_ns - self._sent_ns.get(name, -(1 << 62)) >= 1e9 / SENDS_PER_S

    def _value(self, name: str) -> float | list[float] | None:
        figures, none_at = self._figures[name], self._knobs[name].none_at
        if none_at and not any(figures[:none_at]):
            return None
        return list(figures) if len(figures) > 1 else figures[0]
