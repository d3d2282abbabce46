"""Commands from a viewer to physics: a name, an optional value, and the instant at which the user acted.

Always: a `Command` is checked when it is made, so that its receiver may use the value without a check. `CommandQueue`
has a limited length, whatever a viewer sends. The sender and the reader of the queue never wait for each other. Not
here: the effect of a command.
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
# Magnitudes of instants and values must be below this, because both processes use signed 64-bit numbers.
WHOLE_LIMIT = 1 << 63

# Most commands of one sender in the queue. No user presses a key this often between two steps.
WAITING_LIMIT = 64


class CommandError(TwixtError):
    """A command breaks a rule."""


@dataclass(frozen=True)
class Command:
    """A command that a viewer sends to physics.

    value: its meaning depends on the command's name. For `time_scale`: simulated seconds per wall second, > 0. For a
    name in `TROUBLES`: the figures of this injected trouble, which obey the rules in `ipc.config.troubles`. A pair is
    given as a list, and None ends the trouble. For `control`: a list of the control's index and value. For other
    names: None.

    acted_ns: wall instant at which the user acted. draw_time_ns: simulated time drawn at that instant. Both are 0 if
    the command does not come from a key.
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
        """The command as the fields of a message."""
        return asdict(self)

    @staticmethod
    def from_fields(fields: dict[str, Any]) -> Command:
        """The command with these fields, as made by `to_fields`. Raises CommandError for anything else."""
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
    """Queue of limited length from the service thread to the physics loop. refused: number of commands that were
    refused because their sender had reached its limit. has_new: event that is set while the queue has commands, and
    after `end`."""

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
        """Waits until the queue has commands or `end` is called. Returns False if `timeout_s` is over before."""
        return self.has_new.wait(timeout_s)

    def end(self) -> None:
        """Ends a current wait. Every later call of `wait` returns at once."""
        with self._lock:
            self._ended = True
            self.has_new.set()
