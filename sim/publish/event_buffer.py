"""Events that a program has emitted and that are not published yet.

`emit` packs an event into a record. `flush`, once a step, fills in times and world epoch, checks the records, and
appends them to the ring of the host. So an event becomes visible before the snapshot of its step, and also if that
snapshot is not published.

Always: `emit` never waits. A wrong type is refused with an error; a value that data can produce (not finite, outside
the step, a body that does not exist) is corrected and reported once in a run. Any thread may emit. Published events are
in the order of their world epochs and times, also after a publish that was interrupted. Copies of the buffer, such as
in a copied world, and forked children emit nothing.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from math import inf, isfinite, nan
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.process import fork
from twixt.ipc.ring.events import EVENT, MOST_NAMES, NO_BODY
from twixt.ipc.session.host import Host
from twixt.sim.publish.event_arguments import (
    AT_STEP,
    NO_VALUES,
    PACKED,
    check_name,
    packed_events,
    text_bytes,
)

# Largest number of events of one step, half of the slots of the ring. Further events of the step are dropped, counted
# and reported once.
MOST_A_STEP = 16_384
OTHER = "other"  # name of the events whose name is one too many
SIZE = EVENT.itemsize
MOST_BYTES = MOST_A_STEP * SIZE
# Largest number of events that `flush` completes one by one. The array operations for one event take as long as this
# takes for 30 events.
FEW = 24
# First fields of a record: time, world epoch and body.
BEGINNING = struct.Struct("<qIi")
# The values that follow k given ones.
PADDING = tuple(NO_VALUES[given:] for given in range(len(NO_VALUES) + 1))


class _Publishing(NamedTuple):
    """A flush that has not ended. appended_before: number of events that the host had appended before it. size: number
    of pending bytes that the flush took. held: those of them that stay pending. number: number of published events.
    last: world epoch and time of the last one."""

    appended_before: int
    size: int
    held: bytes
    number: int
    last: tuple[int, int]


class EventBuffer:
    """Events of one program, until they are published on `host`. warn: function that is called with the text of each
    warning.

    pending: records that are not published yet, as bytes. emitted: number of events that were published. dropped: number
    of events that were too many for one step. holds_later: True to keep events from after the published state until a
    state with their time is published; otherwise they are put at the time of the published state. world: number of the
    world of the next events; increase it when simulated time goes back. Events of earlier worlds are not kept.
    """

    def __init__(self, host: Host, warn: Callable[[str], object]) -> None:
        self.emitted = self.dropped = 0
        self.holds_later, self.world = False, 0
        self._host, self._warn_user = host, warn
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._naming = threading.RLock()
        self.pending = bytearray()
        self._add = self.pending.extend  # one call of C, so that threads cannot mix their records
        self._room = MOST_BYTES
        self._warned: set[str] = set()
        self._too_many = 0
        self._last = (0, AT_STEP)  # world epoch and time of the last published event
        self._publishing: _Publishing | None = None
        fork.guard(self)

    def emit(
        self,
        name: str,
        body: Any,
        position: Any,
        strength: Any,
        values: Any,
        text: Any,
        at: Any,
    ) -> None:
        """Adds an event. The arguments are those of `World.emit`. Raises TwixtError for a wrong argument."""
        if len(self.pending) >= self._room:
            return self._leave_out(1)
        # The usual arguments. All others are checked below.
        try:
            if position is None:
                x = y = z = nan
                total = 0.0
            else:
                x, y, z = position.tolist() if position.__class__ is ndarray else position
                total = x + y + z
            v0 = v1 = v2 = v3 = nan
            if values is not None and (given := len(values)):
                v0, v1, v2, v3 = tuple(values) + PADDING[given]
                total += sum(values)
            if isfinite(total) and 0.0 <= strength < inf and (body is None or body >= 0):
                record = PACKED.pack(
                    AT_STEP if at is None else round(at * 1e9),
                    self.world,
                    NO_BODY if body is None else body,
                    x,
                    y,
                    z,
                    strength,
                    v0,
                    v1,
                    v2,
                    v3,
                    self._numbers[name],
                    b"" if text.__class__ is str and not text else text_bytes("emit", name, text, self._warn_once),
                )
                self._add(record)
                return
        except TwixtError:
            raise
        except Exception:  # The arguments may have any type.
            pass
        self._emit_checked("emit", name, body, position, strength, values, at, text)

    def emit_many(
        self,
        name: str,
        body: ArrayLike | None,
        position: ArrayLike | None,
        strength: ArrayLike,
        values: ArrayLike | None,
        at: ArrayLike | None,
        text: str,
    ) -> None:
        """Adds n events. The arguments are those of `World.emit_many`. Raises TwixtError for a wrong argument."""
        self._emit_checked("emit_many", name, body, position, strength, values, at, text)

    def flush(
        self, previous_ns: int, now_ns: int, world_epoch: int, bodies: int, rows: NDArray[np.int64] | None = None
    ) -> None:
        """Publishes the events of a step.

        previous_ns, now_ns: simulated times before and after the step; equal after a reset. world_epoch: world epoch of
        the state after the step. bodies: number of bodies after the step. rows: the record of each body, if the body of
        an event is an index of these rows; None if it is the number of a record.
        """
        if self._publishing is not None:  # the last flush was interrupted
            self._remove_published()
        if self._too_many:
            self._report_too_many()
        size = len(self.pending)
        if not size:
            return
        last_epoch, last_ns = self._last
        if last_epoch == world_epoch and last_ns > previous_ns:  # a publish after these events was interrupted
            previous_ns, now_ns = last_ns, max(now_ns, last_ns)
        taken = self.pending[:size]
        held = b""
        usual_bodies = 0 if rows is not None else bodies
        if size <= FEW * SIZE and _complete_few(taken, previous_ns, now_ns, world_epoch, usual_bodies):
            records = np.frombuffer(taken, EVENT)
        else:
            records = np.frombuffer(self.pending[:size], EVENT)
            if self.holds_later:
                records["sim_time_ns"][records["world_epoch"] < self.world] = AT_STEP
            # Times from before a reset are later than the present time, and are not held.
            is_same_world = previous_ns < now_ns or world_epoch == last_epoch
            if self.holds_later and is_same_world and (records["sim_time_ns"] > now_ns).any():
                is_later = records["sim_time_ns"] > now_ns
                held, records = records[is_later].tobytes(), records[~is_later]
            records = self._completed(records, previous_ns, now_ns, world_epoch, bodies, rows)
        if not len(records):
            return
        last = world_epoch, int(records["sim_time_ns"][-1])
        self._publishing = _Publishing(self._host.appended_events, size, held, len(records), last)
        self._host.append_events(records, self._names)
        self._remove_published()

    def report(self) -> dict[str, Any]:
        """The part of the report's block `events` that the program knows."""
        return {"emitted": self.emitted, "dropped": self.dropped}

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. The child emits nothing."""
        self._room, self._naming = 0, threading.RLock()
        self.pending.clear()

    def __reduce_ex__(self, protocol: object) -> Any:
        """A copy of a world, such as one that is used to plan ahead, emits nothing."""
        return type(None), ()

    def _remove_published(self) -> None:
        """Removes the events of the last flush if they are published. They are still pending if the flush was
        interrupted before they became visible, so an interrupted flush loses none and publishes none twice."""
        publishing = self._publishing
        assert publishing is not None
        if self._host.appended_events > publishing.appended_before or self._host.is_ended:
            # Between these statements no signal is handled, because none of them is a call.
            _, size, held, number, self._last = publishing
            self.emitted += number
            self.pending[:size] = held
        self._publishing = None

    def _emit_checked(
        self, call: str, name: str, body: Any, position: Any, strength: Any, values: Any, at: Any, text: Any
    ) -> None:
        if not self._room:
            return
        number, world = self._number_of(name), self.world
        content = text_bytes(call, name, text, self._warn_once)
        packed = packed_events(call, name, number, body, position, strength, values, at, content, self._warn_once)
        if world:
            np.frombuffer(packed, EVENT)["world_epoch"] = world
        room = max(0, self._room - len(self.pending))
        if len(packed) > room:
            self._leave_out((len(packed) - room) // SIZE)
            packed = packed[:room]
        self._add(packed)

    def _completed(
        self,
        records: NDArray[np.void],
        previous_ns: int,
        now_ns: int,
        world_epoch: int,
        bodies: int,
        rows: NDArray[np.int64] | None,
    ) -> NDArray[np.void]:
        """Fills in times, world epoch and bodies of records. Returns the records in the order of their times."""
        records["world_epoch"] = world_epoch
        if rows is not None or (len(records) and records["body"].max() >= bodies):
            records["body"] = self._bodies_of(records, bodies, rows)
        times = records["sim_time_ns"].copy()
        is_at_step = times == AT_STEP
        if is_at_step.all():
            records["sim_time_ns"] = now_ns
            return records
        times[is_at_step] = now_ns
        if times.min() < previous_ns or times.max() > now_ns:
            self._report_times(records, times, previous_ns, now_ns)
            np.clip(times, previous_ns, now_ns, out=times)
        records["sim_time_ns"] = times
        return records[np.argsort(times, kind="stable")] if (times[1:] < times[:-1]).any() else records

    def _bodies_of(self, records: NDArray[np.void], bodies: int, rows: NDArray[np.int64] | None) -> NDArray[Any]:
        """The record of the body of each event. An event whose body does not exist has none."""
        given = records["body"]
        count = bodies if rows is None else len(rows)
        is_missing = given >= count
        if is_missing.any():
            first = int(np.flatnonzero(is_missing)[0])
            self._warn_once(
                "body",
                f"event {self._name_of(records[first])!r} has body {given[first]}, but there are {count} bodies after "
                f"its step; the event is delivered without a body; give the index of a body that exists",
            )
        numbers = given if rows is None else rows[np.clip(given, 0, max(0, count - 1))] if count else given
        return np.where(is_missing | (given == NO_BODY), NO_BODY, numbers)

    def _report_times(self, records: NDArray[np.void], times: NDArray[np.int64], previous_ns: int, now_ns: int) -> None:
        """Reports a time that is more than one step outside its step. A smaller distance is rounding in the program's own
        sum of steps. A time from before a reset is not reported."""
        step_ns = now_ns - previous_ns
        is_far = (times < previous_ns - step_ns) | (times > now_ns + step_ns)
        if not step_ns or not is_far.any():
            return
        first = int(np.flatnonzero(is_far)[0])
        self._warn_once(
            "at",
            f"event {self._name_of(records[first])!r} has at={times[first] / 1e9:.9g} s, outside its step from "
            f"{previous_ns / 1e9:.9g} to {now_ns / 1e9:.9g} s; the nearest time in the step is used; give simulated time "
            "in the step, or leave out at",
        )

    def _name_of(self, record: np.void) -> str:
        return self._names[record["name"] - 1]

    def _number_of(self, name: Any) -> int:
        """Number of a name, which is new if it is not known. Raises TwixtError if it cannot be a name."""
        check_name(name)
        with self._naming:  # re-entrant, because a signal handler may emit
            number = self._numbers.get(name)
            if number is None and len(self._names) >= MOST_NAMES - 1 and name != OTHER:
                self._warn_once(
                    "name",
                    f"event {name!r} is called {OTHER!r}: a program may use {MOST_NAMES - 1} different names; put what "
                    "changes into text or values",
                )
                name = OTHER
                number = self._numbers.get(name)
            if number is None:
                self._names.append(name)
                # The first place, because a signal handler may add a name between these statements.
                self._numbers[name] = number = self._names.index(name) + 1
        return number

    def _leave_out(self, count: int) -> None:
        if self._room:
            self._too_many += count

    def _report_too_many(self) -> None:
        count, self._too_many = self._too_many, 0
        self.dropped += count
        self._warn_once(
            "many",
            f"{count:,} events were dropped: one step may emit {MOST_A_STEP:,}; emit fewer, such as only the strongest",
        )

    def _warn_once(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self._warn_user(f"{text} (reported once)")


def _complete_few(records: bytearray, previous_ns: int, now_ns: int, world_epoch: int, bodies: int) -> bool:
    """Fills in times and world epoch of a few records. False if a record needs more: its body does not exist, its time
    is outside the step, or it happened before the record that precedes it."""
    before_ns = previous_ns
    for start in range(0, len(records), SIZE):
        time_ns, _, body = BEGINNING.unpack_from(records, start)
        if time_ns == AT_STEP:
            time_ns = now_ns
        if not before_ns <= time_ns <= now_ns or body >= bodies:
            return False
        BEGINNING.pack_into(records, start, time_ns, world_epoch, body)
        before_ns = time_ns
    return True
