"""What a viewer asks of physics: a name, perhaps a value, and the instant at which the user acted.

Always: a `Command` that exists is valid, whether a user's key made it or it came over the connection;
whoever receives one may use its value without a look at it. `CommandQueue` is bounded, whatever a viewer
sends, and neither side of it waits for the other. Nothing here does what a command asks.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import Any

from twixt.ipc.errors import TwixtError
from twixt.ipc.troubles import FIELDS as TROUBLES
from twixt.ipc.troubles import RULES, breaks_rule

NAMES = ("pause", "resume", "step", "time_scale", "reset", *TROUBLES, "quit")
# Instants must fit the 64 bits that both processes count in.
WHOLE_LIMIT = 1 << 63

# Commands of one sender that nobody has drained. A user's keys between two steps are fewer.
WAITING_LIMIT = 64


class CommandError(TwixtError):
    """A command that physics would not take: value, rule, way out."""


@dataclass(frozen=True)
class Command:
    """`time_scale` takes simulated seconds per wall second, > 0; each of `TROUBLES` figures as `ipc.troubles`
    rules them, pairs as lists, None for none of it; the others nothing. `acted_ns`: wall instant at which the user acted, and
    `draw_time_ns` what was drawn then; 0 where no user did.
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
                raise CommandError(f"{self.name} must be None or {RULES[self.name]}, got {str(self.value)[:40]!r}")
        elif self.value is not None:
            raise CommandError(f"{self.name} takes no value, got {str(self.value)[:40]!r}")

    def to_fields(self) -> dict[str, Any]:
        """The command as a message's fields."""
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
    return abs(value) < WHOLE_LIMIT  # neither infinite nor NaN is


class CommandQueue:
    """From the daemon thread that hears viewers to the loop that obeys them."""

    def __init__(self) -> None:
        self.refused = 0
        self._lock = threading.Lock()
        self._waiting: list[Command] = []
        self._waiting_of: dict[object, int] = {}
        self._something = threading.Event()
        self._ended = False

    def put(self, sender: object, command: Command) -> None:
        """Queue it; beyond the sender's limit it is refused and counted, but for one quit."""
        with self._lock:
            already = self._waiting_of.get(sender, 0)
            if already >= WAITING_LIMIT + (command.name == "quit"):
                self.refused += 1
                return
            self._waiting_of[sender] = already + 1
            self._waiting.append(command)
            self._something.set()

    def drain(self) -> list[Command]:
        """All that came since the last call, in order."""
        if not self._something.is_set():
            return []
        with self._lock:
            if not self._ended:
                self._something.clear()
            drained, self._waiting = self._waiting, []
            self._waiting_of.clear()
        return drained

    def wait(self, timeout_s: float) -> bool:
        """True as soon as there is something to drain, or the end has come."""
        return self._something.wait(timeout_s)

    def end(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self._ended = True
            self._something.set()
