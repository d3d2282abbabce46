"""Commands that a viewer sends to the physics process. A command has a name, an optional value, and the instant at
which the user acted.

Always: a `Command` is checked when it is made, so that its receiver may use the value without a check. `CommandQueue`
has a limited length, whatever a viewer sends. The sender and the reader of the queue never wait for each other. Not
here: what a command does.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import Any

from twixt.ipc.config.troubles import FIELDS as TROUBLES
from twixt.ipc.config.troubles import TROUBLE_RULES, breaks_rule
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.interrupts import InterruptibleEvent

# Name of the command that changes a control of the world, see `interaction.controls`.
CONTROL = "control"
NAMES = ("pause", "resume", "step", "time_scale", "reset", *TROUBLES, CONTROL, "quit")
# The magnitude of each instant and of each value must be below this limit. Both processes use signed 64-bit numbers.
WHOLE_LIMIT = 1 << 63

# Largest number of commands of one sender in the queue. No user presses a key this often between two steps.
WAITING_LIMIT = 64


class CommandError(TwixtError):
    """A command breaks a rule."""


@dataclass(frozen=True)
class Command:
    """A command that a viewer sends to the physics process.

    value: its meaning depends on the command's name. For `time_scale` the value is the number of simulated seconds per
    wall second, > 0. For a name in `TROUBLES` the value is the figures of this injected trouble. They obey the rules
    in `ipc.config.troubles`. A pair of figures is given as a list. None ends the trouble. For `control` the value is a
    list of the control's index and value. For all other names the value is None.

    acted_ns: wall instant at which the user acted, in ns. draw_time_ns: simulated time drawn at that instant, in ns.
    Both fields are 0 if the command does not come from a key.
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
        """Returns the command as the fields of a message."""
        return asdict(self)

    @staticmethod
    def from_fields(fields: dict[str, Any]) -> Command:
        """Returns the command with these fields, which `to_fields` made. Raises CommandError for any other fields."""
        if unknown := fields.keys() - Command.__dataclass_fields__.keys():
            raise CommandError(f"a command has no field {sorted(unknown)[0][:40]!r}")
        if "name" not in fields:
            raise CommandError("a command came without its name")
        return Command(**fields)


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) < WHOLE_LIMIT  # the comparison is False for infinity and for NaN


def _is_control(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and type(value[0]) is int
        and value[0] >= 0
        and all(map(_is_number, value))
    )


class CommandQueue:
    """Queue of limited length that carries commands from the service thread to the physics loop. refused: number of
    commands that were refused because their sender had reached its limit. has_new: event that is set while the
    queue has commands, and after `end`."""

    def __init__(self) -> None:
        self.refused = 0
        self._lock = threading.Lock()
        self._commands: list[Command] = []
        self._count_of_sender: dict[object, int] = {}
        self.has_new = InterruptibleEvent()
        self._ended = False

    def put(self, sender: object, command: Command) -> None:
        """Adds the command to the queue. If its sender already has `WAITING_LIMIT` commands there, the new command is
        refused and counted in `refused`. The exception is `quit`: one `quit` is accepted beyond the limit."""
        with self._lock:
            already = self._count_of_sender.get(sender, 0)
            if already >= WAITING_LIMIT + (command.name == "quit"):
                self.refused += 1
                return
            self._count_of_sender[sender] = already + 1
            self._commands.append(command)
            self.has_new.set()

    def drain(self) -> list[Command]:
        """Removes all commands from the queue and returns them in order."""
        if not self.has_new.is_set:
            return []
        with self._lock:
            if not self._ended:
                self.has_new.clear()
            drained, self._commands = self._commands, []
            self._count_of_sender.clear()
        return drained

    def wait(self, timeout_s: float) -> bool:
        """Waits until the queue has commands or `end` is called. Returns False if neither happens within
        `timeout_s`."""
        return self.has_new.wait(timeout_s)

    def end(self) -> None:
        """Ends a current wait. Every later call of `wait` returns immediately."""
        with self._lock:
            self._ended = True
            self.has_new.set()
