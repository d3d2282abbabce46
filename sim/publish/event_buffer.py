"""Events that a program has emitted and that are not published yet.

`emit` packs an event into a record. `flush`, once a step, fills in times and world epoch, checks the records, and
appends them to the ring of the host. So an event becomes visible before the snapshot of its step, and also if that
snapshot is not published.

Always: `emit` never waits. A wrong type is refused with an error; a value that data can produce (not finite, out of
the step, a body that does not exist) is corrected and reported once. Any thread may emit.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import refusal, text_of
from twixt.ipc.ring.events import EVENT, MOST_NAMES, MOST_VALUES, NAME_BYTES, NO_BODY, TEXT_BYTES
from twixt.ipc.session.host import Host

# Largest number of events of one step, half of the slots of the ring. Further events of the step are dropped, counted
# and reported once.
MOST_A_STEP = 16_384
PACKED = struct.Struct(f"<qIi3ff{MOST_VALUES}fB{TEXT_BYTES}s")
# Time of an event that happened at the end of its step, and number for "not given" in an unpublished record.
AT_STEP, NOT_GIVEN = -(1 << 63), -math.inf
NOWHERE = (NOT_GIVEN,) * 3
NO_VALUES = (NOT_GIVEN,) * MOST_VALUES
OTHER = "other"  # name of the events whose name is one too many
MOST_BYTES = MOST_A_STEP * EVENT.itemsize


class EventBuffer:
    """Events of one program, until they are published on `host`. warn: function that is called with the text of each
    warning.

    emitted: number of events that were published. dropped: number of events that were too many for one step.
    """

    def __init__(self, host: Host, warn: Callable[[str], object]) -> None:
        self.emitted = self.dropped = 0
        self._host, self._warn_user = host, warn
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._pending = bytearray()
        self._add = self._pending.extend  # one call of C, so that threads cannot mix their records
        self._warned: set[str] = set()
        self._too_many = 0

    def emit(
        self,
        name: str,
        body: int | None,
        position: Sequence[float] | NDArray[Any] | None,
        strength: float,
        values: Sequence[float],
        text: str,
        at: float | None,
    ) -> None:
        """Adds an event. The arguments are those of `World.emit`. Raises TwixtError for a wrong argument."""
        if len(self._pending) >= MOST_BYTES:
            self._too_many += 1
            return
        try:
            number = self._numbers.get(name) or self._new_name(name)
            if body is None:
                body = NO_BODY
            elif body < 0:
                _refuse_body(body)
            x, y, z = NOWHERE if position is None else position
            v0, v1, v2, v3 = NO_VALUES if not len(values) else _four(values)
            self._add(
                PACKED.pack(
                    AT_STEP if at is None else round(at * 1e9),
                    0,
                    body,
                    x,
                    y,
                    z,
                    strength,
                    v0,
                    v1,
                    v2,
                    v3,
                    number,
                    text.encode() if text else b"",
                )
            )
        except (TypeError, ValueError, OverflowError, struct.error) as error:
            raise refusal(None)(str(error)) from error

    def flush(self, previous_ns: int, now_ns: int, world_epoch: int, bodies: int) -> None:
        """Publishes the events of a step. previous_ns, now_ns: simulated times before and after the step. world_epoch:
        world epoch of the state after the step. bodies: number of bodies after the step."""
        pending = self._pending
        if not pending:
            return
        size = len(pending)
        records = np.frombuffer(bytes(pending[:size]), EVENT).copy()
        del pending[:size]
        times = records["sim_time_ns"]
        at_step = times == AT_STEP
        times[at_step] = now_ns
        outside = (times < previous_ns) | (times > now_ns)
        if outside.any():
            self._warn_once("at", "an event's `at` lies outside its step")
            np.clip(times, previous_ns, now_ns, out=times)
        records["world_epoch"] = world_epoch
        position, values = records["position"], records["values"]
        position[~np.isfinite(position).all(axis=1)] = np.nan
        values[~np.isfinite(values)] = np.nan
        if len(records) > 1 and (np.diff(times) < 0).any():
            records = records[np.argsort(times, kind="stable")]
        self.emitted += len(records)
        self._host.append_events(records, self._names)

    def _new_name(self, name: str) -> int:
        if not isinstance(name, str) or not 0 < len(name.encode()) <= NAME_BYTES:
            raise refusal(name, str)(f"an event's name must be 1 to {NAME_BYTES} bytes, got {text_of(name)}")
        if len(self._names) == MOST_NAMES:
            return MOST_NAMES
        self._names.append(name)
        self._numbers[name] = len(self._names)
        return len(self._names)

    def _warn_once(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self._warn_user(text)


def _four(values: ArrayLike) -> tuple[float, ...]:
    given: tuple[float, ...] = tuple(values)  # type: ignore[arg-type]
    return (*given, *NO_VALUES[len(given) :])


def _refuse_body(body: Any) -> NoReturn:
    raise refusal(body, int)(f"an event's body must be the index of a body, from 0, got {text_of(body)}")
