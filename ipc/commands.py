"""Commands from a viewer to physics: a name, an optional value, and the instant at which the user acted.

Always: a `Command` is checked when it is made, so that its receiver may use the value without a check. `CommandQueue` is
bounded, whatever a viewer sends, and neither side of it waits for the other. Not here: the effect of a command.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import Any

from twixt.ipc.config.troubles import FIELDS as TROUBLES
from twixt.ipc.config.troubles import TROUBLE_RULES, breaks_rule
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.interrupts import InterruptibleEvent

# Changes a control of the world, see `interaction.controls`.
CONTROL = "control"
NAMES = ("pause", "resume", "step", "time_scale", "reset", *TROUBLES, CONTROL, "quit")
# Instants and values must be below this: both processes use 64 bits, signed.
WHOLE_LIMIT = 1 << 63

# Most commands of one sender in the queue. A user presses fewer keys between two steps.
WAITING_LIMIT = 64


class CommandError(TwixtError):
    """A command that breaks a rule."""


@dataclass(frozen=True)
class Command:
    """Command of a viewer to physics.

    value: for `time_scale` simulated seconds per wall second, > 0; for each of `TROUBLES` figures by the rules of
    `ipc.config.troubles`, pairs as lists, None to end it; for `control` the control's index and its value, a list; for
    the others None. acted_ns: wall instant at which the user acted. draw_time_ns: the draw time at that instant. Both are
    0 for a command that comes from no key.
    """

    name: str
    value: float | list[float] | None = None
    acted_ns: int = 0
    draw_time_ns: int = 0

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise CommandError(f"a command must be one of {', '.join(NAMES)}, got {str(self.name)[:40]!r}")
        for field_name in ("acted_ns", "draw_time_ns"):
            instant = getattr(self, field_name)
            if not isinstance(instant, int) or isinstance(instant, bool) or not -WHOLE_LIMIT <= instant < WHOLE_LIMIT:
                raise CommandError(f"{field_name} of a command must be a whole number of ns, got {str(instant)[:40]!r}")
        if self.name == "time_scale":
            if not (_is_number(self.value) and self.value > 0):  # type: ignore[operator]
                raise CommandError(f"time_scale must be a finite number > 0, got {str(self.value)[:40]!r}")
        elif self.name in TROUBLES:
            if breaks_rule(self.name, self.value):
                raise CommandError(
                    f"{self.name} must be None or {TROUBLE_RULES[self.name]}, got {str(self.value)[:40]!r}"
                )
        elif self.name == CONTROL:
            if not _is_control(self.value):
                raise CommandError(f"control must be [index, finite number], got {str(self.value)[:40]!r}")
        elif self.value is not None:
            raise CommandError(f"{self.name} takes no value, got {str(self.value)[:40]!r}")

    def to_fields(self) -> dict[str, Any]:
        """The fields of a message."""
        return asdict(self)

    @staticmethod
    def from_fields(fields: dict[str, Any]) -> Command:
        """The command of `to_fields`. Raises CommandError for anything else."""
        if unknown := fields.keys() - Command.__dataclass_fields__.keys():
            raise CommandError(f"a command has no field {sorted(unknown)[0][:40]!r}")
        if "name" not in fields:
            raise CommandError("a command came without its name")
        return Command(**fields)


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) < WHOLE_LIMIT  # False for infinity and NaN


def _is_control(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and type(value[0]) is int
        and value[0] >= 0
        and all(map(_is_number, value))
    )


class CommandQueue:
    """Bounded queue from the service thread to the physics loop. refused: number of commands beyond a sender's limit.
    has_new: set while there are commands, and after the end."""

    def __init__(self) -> None:
        self.refused = 0
        self._lock = threading.Lock()
        self._commands: list[Command] = []
        self._count_of_sender: dict[object, int] = {}
        self.has_new = InterruptibleEvent()
        self._ended = False

    def put(self, sender: object, command: Command) -> None:
        """Queues the command. Beyond the sender's limit it is refused and counted, except for one quit."""
        with self._lock:
            already = self._count_of_sender.get(sender, 0)
            if already >= WAITING_LIMIT + (command.name == "quit"):
                self.refused += 1
                return
            self._count_of_sender[sender] = already + 1
            self._commands.append(command)
            self.has_new.set()

    def drain(self) -> list[Command]:
        """Commands since the last call, in order."""
        if not self.has_new.is_set():
            return []
        with self._lock:
            if not self._ended:
                self.has_new.clear()
            drained, self._commands = self._commands, []
            self._count_of_sender.clear()
        return drained

    def wait(self, timeout_s: float) -> bool:
        """Waits until there are commands to drain, or `end` was called; False after `timeout_s`."""
        return self.has_new.wait(timeout_s)

    def end(self) -> None:
        """Ends every wait, now and later."""
        with self._lock:
            self._ended = True
            self.has_new.set()
