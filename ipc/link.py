"""A viewer's side of the channel: attach to a simulation, read its snapshots, send it commands.

The one idea: the connection is the liveness. While it stands, physics lives; the kernel ends it within a
millisecond of physics' death, whatever killed it. What is read meanwhile lies in shared memory and stays
readable after the end.

Always: after `attach` a scene and a segment are there; `poll` never waits and costs microseconds when
nothing arrived; whatever arrives, the answer is a TwixtError or an `Ended`, never a hang. One thread
uses a link. Not here: which snapshot to draw.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc import door, memory, told, wire
from twixt.ipc.commands import Command
from twixt.ipc.errors import TwixtError
from twixt.ipc.line import Line
from twixt.ipc.plan import Plan
from twixt.ipc.ring_reader import Counters, RingReader
from twixt.ipc.scene import Scene
from twixt.ipc.segment import Claim
from twixt.ipc.snapshot import Snapshot, new_bodies

# For the simulation to answer: it may still be importing its world.
ATTACH_PATIENCE_S = 20.0
# A lead is told again when it changed by this much; physics runs ahead by milliseconds.
LEAD_STEP_NS = 1_000_000
# Pieces of 64 KiB taken in at once, so that a simulation that never stops talking stops no frame.
PIECES_AT_ONCE = 4


class LinkError(TwixtError):
    """No simulation to attach to, or one that cannot be understood."""


class Ended(NamedTuple):
    """How the simulation ended. kind: "ended", "crashed", "interrupted", "refused" (it let go of this
    viewer alone) or "lost" (it went without a word)."""

    kind: str
    message: str


LOST = Ended("lost", "physics ended without a word (killed?)")


def attach(name: str | None = None, timeout_s: float = ATTACH_PATIENCE_S, owned: bool = False) -> Link:
    """Attach to the simulation of that name (None: the only one that is running). Raises TwixtError.

    owned: this viewer belongs to the simulation: its end ends the run, and it removes a killed one's socket.
    """
    link = Link(name or _only_one(), owned)
    try:
        link._attach(timeout_s)
    except BaseException:
        link.close()
        raise
    return link


class Link:
    """An attached viewer. Made by `attach`.

    scene, scene_version: the latest, taken in by `poll`. status: the latest dict of the simulation's.
    description: what it said of itself. ended: None while it lives.
    """

    scene: Scene

    def __init__(self, name: str, owned: bool = False) -> None:
        self.name = name
        self.scene_version = 0
        self.status: dict[str, Any] = {}
        self.description: dict[str, Any] = {}
        self.ended: Ended | None = None
        self._owned = owned
        self._line = Line()
        self._reader: RingReader | None = None
        self._counters = Counters()
        self._segment_asked = False
        self._wake_asked = False
        self._number_seen = self._plan_seen = 0
        self._lead_told_ns = self._looked_ns = 0
        self._report_number = 0
        self._report: tuple[int, dict[str, Any] | None] = 0, None

    def poll(self, patience_ns: int = 0) -> None:
        """Take in what has arrived: scene, larger segment, status, the end. Never waits; call it once a frame.

        patience_ns: the kernel is asked no more often than that, unless shared memory says that something is coming.
        """
        if self.ended is not None:
            return
        ring = self._ring
        now_ns = time.perf_counter_ns()
        if now_ns - self._looked_ns >= patience_ns or ring.scene_version != self.scene_version or self._segment_asked:
            self._looked_ns = now_ns
            if self._line.has_news():
                self._take_in()
        if not self._segment_asked and ring.has_successor and not ring.is_full:
            self._segment_asked = self._say("segment")

    def plan(self) -> Plan:
        """The plan now in force; before the first one number 0, rate 1."""
        plan = self._ring.plan()
        self._plan_seen = plan.number
        return plan

    @property
    def has_unread(self) -> bool:
        """Whether `unread` would give something: a look at shared memory, far cheaper than asking it in vain."""
        return self._ring.has_unread

    def unread(self, byte_budget: int) -> Iterator[Claim]:
        """The snapshots not read yet, oldest first, within the budget; the newest whatever its size.

        Use a claim's bodies and columns, then ask `is_valid()`; False: discard what was made of it.
        """
        for claim in self._ring.unread(byte_budget):
            self._number_seen = claim.number
            yield claim

    def latest_pair(self) -> tuple[Snapshot, ...]:
        """Private copies of the two newest snapshots, older first; fewer while there are fewer."""
        return self._ring.pair()

    def newest_bodies(self) -> NDArray[np.void]:
        """A private copy of the newest snapshot's bodies, dtype `BODY`; empty while there is none."""
        newest = self._ring.newest()
        return new_bodies(0) if newest is None else newest.bodies

    @property
    def counters(self) -> dict[str, int]:
        """pairs_read, retries, pairs_failed, skipped, bytes_per_snapshot: of this link, since it attached."""
        return dataclasses.asdict(self._counters)

    def send(self, command: Command) -> bool:
        """Send without waiting. False when physics has gone, or has not listened for hundreds of messages."""
        return self._say("command", command.to_fields())

    def report_lead(self, lead_ns: int) -> None:
        """Tell how far into the future frames are shown; said when it changed by a millisecond."""
        if abs(lead_ns - self._lead_told_ns) >= LEAD_STEP_NS and self._say("lead", {"lead_ns": lead_ns}):
            self._lead_told_ns = lead_ns

    def wake_when_newer(self) -> None:
        """Ask for one wake: at a newer snapshot than the last that `unread` gave, or a newer plan than `plan` did."""
        if self._line.woken():
            self._wake_asked = False
        if not self._wake_asked:
            self._wake_asked = self._say("wake", {"number": self._number_seen, "plan_number": self._plan_seen})

    def wait(self, timeout_s: float) -> bool:
        """True as soon as the wake has come, the scene has changed or the simulation has ended; may be true once
        too often. False when the time is over.
        """
        deadline_ns = _instant_ns(timeout_s)
        scene_version = self.scene_version
        while True:
            self.poll()
            if self._line.woken():
                self._wake_asked = False
                return True
            if self.ended is not None or self.scene_version != scene_version:
                return True
            if not self._line.sleep_until(deadline_ns):
                return False

    def ask_report(self, timeout_s: float) -> dict[str, Any] | None:
        """The report's blocks of the simulation's, or None where it has gone or does not answer in time."""
        deadline_ns = _instant_ns(timeout_s)
        self._report_number += 1
        self._say("report", {"number": self._report_number})
        while self._report[0] != self._report_number:
            if self.ended is not None or not self._line.sleep_until(deadline_ns):
                return None
            self.poll()
        return self._report[1]

    @property
    def physics_pid(self) -> int | None:
        """The simulation's process; None where the system does not say."""
        return self._line.peer_pid

    def fileno(self) -> int:
        """Readable when `poll` has something to do."""
        return self._line.fileno()

    @property
    def wake_filenos(self) -> tuple[int, ...]:
        """Readable when `poll` or a wait for a wake has something to do; of this link until it is closed."""
        wake = self._line.wake_fileno
        return (self._line.fileno(),) if wake is None else (self._line.fileno(), wake)

    def close(self) -> None:
        """Leave. The simulation goes on, unless this viewer was its own. `counters` stay."""
        if self._owned and self.ended == LOST:
            door.tidy(self.name)
        self.ended = self.ended or Ended("ended", "this viewer was closed")
        self._line.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None  # its views would keep the memory mapped

    @property
    def _ring(self) -> RingReader:
        if self._reader is None:
            raise LinkError("this link is not attached (any more); use attach()")
        return self._reader

    def _attach(self, timeout_s: float) -> None:
        deadline_ns = _instant_ns(timeout_s)
        self._line.connect(self.name, timeout_s)
        self._say("attach", {"owned": self._owned})
        while True:
            self._take_in()
            if self._reader is not None and self.scene_version:
                return  # also where the end came with the scene: there is something to show, and what to say
            if self.ended is not None:
                raise LinkError(f'the simulation "{self.name}" let nobody in: {self.ended.message}')
            if not self._line.sleep_until(deadline_ns):
                raise LinkError(
                    f'the simulation "{self.name}" has not answered for {timeout_s:g} s; '
                    "it is stopped, or still loading its world: try again, or end it"
                )

    def _say(self, kind: str, fields: dict[str, Any] | None = None) -> bool:
        return self.ended is None and self._line.say(kind, fields)

    def _take_in(self) -> None:
        try:
            for _ in range(PIECES_AT_ONCE):
                messages = self._line.hear()
                if not messages:
                    break
                self._understand_all(messages)
            if messages is None and self.ended is None:
                self.ended = LOST
        except (TwixtError, OSError) as error:
            self.ended = self.ended or Ended("refused", str(error))
        if self.ended == LOST and self._owned:
            door.tidy(self.name)

    def _understand_all(self, messages: list[wire.Message]) -> None:
        try:
            for message in messages:
                self._understand(message)
        finally:
            for message in messages:
                wire.close_all(message.descriptors)

    def _understand(self, message: wire.Message) -> None:
        fields = message.fields
        match message.kind, message.descriptors:
            case "welcome", [descriptor]:
                self.description = told.description(fields.get("description"))
                self._line.take_wake(descriptor)
            case "segment", [descriptor]:
                self._take_segment(descriptor, wire.whole_number(fields, "size"))
            case "scene", ():
                self.scene = Scene.from_bytes(message.raw)
                self.scene_version = wire.whole_number(fields, "version")
            case "status", ():
                self.status = told.status(fields.get("status"))
            case "report", ():
                self._report = wire.whole_number(fields, "number"), told.blocks(fields.get("blocks"))
            case "ended", ():
                self.ended = Ended(told.text(fields.get("ending")), told.text(fields.get("message")))
            case "refused", ():
                self.ended = Ended("refused", told.text(fields.get("message")))
            case kind, descriptors:
                raise wire.WireError(
                    f"the simulation said {kind[:40]!r} with {len(descriptors)} descriptors, "
                    "which means nothing here; restart it"
                )

    def _take_segment(self, descriptor: int, size: int) -> None:
        """Read on in this segment once the one before is read out."""
        if self._reader is not None and not self._segment_asked:
            raise wire.WireError("the simulation handed out memory that nobody asked for; restart it")
        taken = memory.map_read_only(descriptor, size)
        if self._reader is None:
            self._reader = RingReader(taken)
            self._counters = self._reader.counters
        else:
            self._reader.follow(taken)
        self._segment_asked = False


def _instant_ns(seconds_from_now: float) -> int:
    return time.perf_counter_ns() + round(seconds_from_now * 1e9)


def _only_one() -> str:
    names = door.running()
    if not names:
        raise LinkError("no simulation is running; start one with: twixt sim")
    if len(names) > 1:
        raise LinkError(f"several simulations are running, name one of them: {', '.join(names)}")
    return names[0]
