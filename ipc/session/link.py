"""A link is the viewer's side of the channel. It attaches to a simulation, reads snapshots and sends commands.

The physics process runs while the connection is open. When the process ends, for whatever reason, the kernel closes
the connection within a millisecond. Snapshots are read from shared memory, which stays readable after the end of the
physics process.

Always: after `attach` the link has a scene and a segment. `poll` never waits, and takes microseconds if nothing has
arrived. Invalid input raises a TwixtError or sets `Link.ended`, and never blocks. Only one thread may use a link. Not
here: the choice of the snapshot to draw.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.commands import Command
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.events import UserAction
from twixt.ipc.plan import Plan
from twixt.ipc.ring import memory
from twixt.ipc.ring.events import EventReader
from twixt.ipc.ring.mapped_segment import SampledBodies, SnapshotView
from twixt.ipc.ring.reader import Counters, RingReader
from twixt.ipc.scene import Scene
from twixt.ipc.session import listener, messages, wire
from twixt.ipc.session.messages import OVERLAYS, ReceivedScene
from twixt.ipc.session.screenshots import BY_A_WINDOW, LONGEST_REASON
from twixt.ipc.session.wire import Connection
from twixt.ipc.snapshot import Snapshot, new_bodies

# Longest wait for the simulation's answer, in seconds. The wait is long, because the simulation may still be importing
# its world.
ATTACH_PATIENCE_S = 20.0
# Upper limit of every wait, in seconds. The system's `poll` takes its timeout in ms as a signed 32-bit number.
LONGEST_WAIT_S = 2_000_000.0
# Smallest change of a viewer's lead that is reported to the physics process, in ns. A lead is a few milliseconds.
LEAD_STEP_NS = 1_000_000
# Largest number of pieces of 64 KiB that one poll receives. Because of this limit, a simulation that sends without
# pause delays no frame.
PIECES_AT_ONCE = 4


class LinkError(TwixtError):
    """The viewer could not attach, or a link that is not attached was used. Reasons for a failure to attach are: no
    simulation, several simulations, a refusal, or no answer."""


class Ended(NamedTuple):
    """The end of a link and the reason of this end. kind: "ended", "crashed" or "interrupted" if the simulation
    reported this end. "refused" if the simulation refused this viewer, or sent this viewer an invalid message.
    "lost" if the stream ended without a message."""

    kind: str
    message: str


LOST = Ended("lost", "physics ended unexpectedly")


def attach(
    name: str | None = None, timeout_s: float = ATTACH_PATIENCE_S, owned: bool = False, pictures: int = BY_A_WINDOW
) -> Link:
    """Attach to the simulation `name`. If `name` is None, attach to the only simulation that is running. Raises
    TwixtError if this is not possible.

    timeout_s: longest wait for the simulation's answer. owned: True if the simulation started this viewer. Such a
    viewer removes the simulation's socket if the simulation was killed. pictures: how the viewer makes screenshots, a
    constant of `ipc.session.screenshots`.
    """
    link = Link(name or _only_one(), owned)
    try:
        link._attach(timeout_s, pictures)
    except BaseException:
        link.close()
        raise
    return link


class Link:
    """A viewer's connection to a simulation. `attach` makes a Link.

    status: the latest status that `poll` received. description: the simulation's description, which the viewer
    received when it attached. received: scene, camera, requested screenshots, and the images, figures and plots over the
    picture. ended: None while the simulation runs and this link is open; later the reason of the end.
    """

    def __init__(self, name: str, owned: bool = False) -> None:
        self.name = name
        self.received = ReceivedScene()
        self.status: dict[str, Any] = {}
        self.description: dict[str, Any] = {}
        self.ended: Ended | None = None
        self._owned = owned
        self._connection = Connection()
        self._reader: RingReader | None = None
        self._events: EventReader | None = None
        self._counters = Counters()
        self._is_segment_requested = False
        self._is_wake_requested = False
        self._read_number = self._read_plan_number = 0
        self._reported_lead_ns = self._polled_ns = 0
        self._report_number = 0
        self._report: tuple[int, dict[str, Any] | None] = 0, None

    @property
    def scene(self) -> Scene:
        """The latest scene that `poll` received, with the latest camera."""
        return self.received.scene

    @property
    def scene_version(self) -> int:
        """Version of `scene`."""
        return self.received.version

    def poll(self, patience_ns: int = 0) -> None:
        """Receive all messages that have arrived. A message has a scene, a larger segment, a status, a report, or the
        end of the simulation. This method never waits. Call it one time per frame.

        patience_ns: shortest interval between two polls of the socket, in ns. The interval is ignored while a message
        is expected. A message is expected if shared memory has a newer scene version, or if a segment was requested.
        """
        if self.ended is not None:
            return
        ring = self._ring
        now_ns = time.perf_counter_ns()
        if (
            now_ns - self._polled_ns >= patience_ns
            or ring.scene_version != self.scene_version
            or self._is_segment_requested
        ):
            self._polled_ns = now_ns
            if self._connection.is_readable():
                self._receive_all()
        if not self._is_segment_requested and ring.has_successor and not ring.is_full:
            self._is_segment_requested = self._send_message("segment")

    def plan(self) -> Plan:
        """Return the current plan. Before the first plan, return a plan of number 0 and rate 1. Raises TwixtError for
        a damaged plan."""
        plan = self._ring.plan()
        self._read_plan_number = plan.number
        return plan

    @property
    def has_unread(self) -> bool:
        """True if `unread` has snapshots to yield or old segments to close. This test loads only one word of shared
        memory."""
        return self._ring.has_unread

    def unread(self, byte_budget: int) -> Iterator[SnapshotView]:
        """Yield the unread snapshots, the oldest first. If they need more bytes than `byte_budget`, the oldest
        snapshots are left out. The newest snapshot is always yielded.

        Use a view's bodies and columns, then call its `is_valid()`. If `is_valid()` returns False, the writer has
        overwritten the snapshot. Discard what you computed from this snapshot.
        """
        for view in self._ring.unread(byte_budget):
            self._read_number = view.number
            yield view

    def latest_pair(self) -> tuple[Snapshot, ...]:
        """Return private copies of the two newest snapshots, the older first. If there are fewer than two snapshots,
        return copies of all. Return an empty tuple if the writer overwrote a snapshot during each attempt to copy."""
        return self._ring.pair()

    def newest_bodies(self) -> NDArray[np.void]:
        """Return a private copy of the newest snapshot's bodies: an array of shape (n,) and dtype `BODY`. The shape is
        (0,) if there is no snapshot, or if no snapshot could be copied."""
        newest = self._ring.newest()
        return new_bodies(0) if newest is None else newest.bodies

    def sampled_bodies(self, most: int) -> SampledBodies | None:
        """Return private copies of at most `most` body records of the newest snapshot, evenly spread. Return None if
        there is no snapshot, or if no snapshot could be copied."""
        return self._ring.sampled(most)

    @property
    def events(self) -> EventReader:
        """Reader of the program's events. Read it after the snapshots of a frame: the events of a step are visible
        before its snapshot is."""
        if self._events is None:
            raise LinkError("this link is not attached; use attach()")
        return self._events

    @property
    def counters(self) -> dict[str, int]:
        """Return the counts since the link attached, as a dict of the fields of `Counters`. The counts stay available
        after `close`."""
        return dataclasses.asdict(self._counters)

    def send(self, command: Command) -> bool:
        """Send a command without waiting. Returns False if the command cannot be sent, because the link has ended or
        because 256 messages are queued already."""
        return self._send_message("command", command.to_fields())

    def send_action(self, action: UserAction) -> bool:
        """Send an action of the user to the program, without waiting. Returns False in the same cases as `send`."""
        return self._send_message(action.KIND, action.to_fields())

    def answer_screenshot(self, number: int, tick: int, error: str | None) -> bool:
        """Report that a requested screenshot is written, or why it is not. tick: tick of the state in the picture.
        Returns False in the same cases as `send`."""
        error = None if error is None else error[:LONGEST_REASON]
        return self._send_message("screenshot", {"number": number, "tick": tick, "error": error})

    def report_lead(self, lead_ns: int) -> None:
        """Report the lead of this viewer. The lead is the time from the drawing of a frame until the display shows
        this frame, in ns. A message is sent only if the lead has changed by `LEAD_STEP_NS` or more."""
        if abs(lead_ns - self._reported_lead_ns) >= LEAD_STEP_NS and self._send_message("lead", {"lead_ns": lead_ns}):
            self._reported_lead_ns = lead_ns

    def wake_when_newer(self) -> None:
        """Request one wake. The physics process sends the wake as soon as there is a newer snapshot or a newer plan.
        Newer means: newer than the last snapshot that `unread` yielded, or than the last plan that `plan` returned."""
        if self._connection.drain_wakes():
            self._is_wake_requested = False
        if not self._is_wake_requested:
            self._is_wake_requested = self._send_message(
                "wake", {"number": self._read_number, "plan_number": self._read_plan_number}
            )

    def wait(self, timeout_s: float) -> bool:
        """Wait until the requested wake arrives, the scene or the camera changes, or the simulation ends. Returns
        False if none of these events happens within `timeout_s`.

        A wake may be spurious: there may be no newer snapshot or plan.
        """
        deadline_ns = _deadline_ns(timeout_s)
        camera_version = self.received.camera_version  # a new scene increases the camera version as well
        while True:
            self.poll()
            if self._connection.drain_wakes():
                self._is_wake_requested = False
                return True
            if self.ended is not None or self.received.camera_version != camera_version:
                return True
            if not self._connection.wait_until(deadline_ns):
                return False

    def request_report(self, timeout_s: float) -> dict[str, Any] | None:
        """Request the simulation's blocks of the report, and wait for these blocks. Returns None if the simulation has
        ended, or does not answer within `timeout_s`."""
        deadline_ns = _deadline_ns(timeout_s)
        self._report_number += 1
        self._send_message("report", {"number": self._report_number})
        while self._report[0] != self._report_number:
            if self.ended is not None or not self._connection.wait_until(deadline_ns):
                return None
            self.poll()
        return self._report[1]

    @property
    def physics_pid(self) -> int | None:
        """Process id of the simulation; None where the system does not report it."""
        return self._connection.peer_pid

    def fileno(self) -> int:
        """Descriptor of the socket. It is readable when `poll` has messages to receive."""
        return self._connection.fileno()

    @property
    def wake_filenos(self) -> tuple[int, ...]:
        """Return descriptors that are readable when a message or a wake can be received. `close` closes these
        descriptors."""
        wake = self._connection.wake_fileno
        return (self._connection.fileno(),) if wake is None else (self._connection.fileno(), wake)

    def close(self) -> None:
        """Detach from the simulation, which continues. `counters` stay available."""
        if self._owned and self.ended == LOST:
            listener.tidy(self.name)
        self.ended = self.ended or Ended("ended", "this viewer was closed")
        self._connection.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None  # views of the reader's segments keep the memory mapped
        if self._events is not None:
            self._events.close()
            self._events = None

    @property
    def _ring(self) -> RingReader:
        if self._reader is None:
            raise LinkError("this link is not attached; use attach()")
        return self._reader

    def _attach(self, timeout_s: float, pictures: int) -> None:
        deadline_ns = _deadline_ns(timeout_s)
        self._connection.connect(self.name, min(LONGEST_WAIT_S, timeout_s))
        self._send_message("attach", {"pictures": pictures})
        while True:
            self._receive_all()
            if self._reader is not None and self._events is not None and self.scene_version:
                # No error is raised even if the simulation has ended: the viewer can draw the scene and show the
                # reason of the end.
                return
            if self.ended is not None:
                raise LinkError(f'cannot attach to the simulation "{self.name}": {self.ended.message}')
            if not self._connection.wait_until(deadline_ns):
                raise LinkError(
                    f'the simulation "{self.name}" has not answered for {timeout_s:g} s, because it is stopped or '
                    "still loads its world; try again, or end it"
                )

    def _send_message(self, kind: str, fields: dict[str, Any] | None = None) -> bool:
        return self.ended is None and self._connection.send(kind, fields)

    def _receive_all(self) -> None:
        try:
            for _ in range(PIECES_AT_ONCE):
                messages = self._connection.receive()
                if not messages:
                    break
                self._apply_all(messages)
            if messages is None and self.ended is None:
                self.ended = LOST
        except (TwixtError, OSError) as error:
            self.ended = self.ended or Ended("refused", str(error))
        if self.ended == LOST and self._owned:
            listener.tidy(self.name)

    def _apply_all(self, messages: list[wire.Message]) -> None:
        try:
            for message in messages:
                self._apply(message)
        finally:
            for message in messages:
                wire.close_all(message.descriptors)

    def _apply(self, message: wire.Message) -> None:
        fields = message.fields
        match message.kind, message.descriptors:
            case "welcome", [descriptor]:
                self.description = messages.description(fields.get("description"))
                self._connection.receive_wakes(descriptor)
            case "segment", [descriptor]:
                self._map_segment(descriptor, wire.whole_number(fields, "size"))
            case "events", [descriptor] if self._events is None:
                self._events = EventReader(memory.map_read_only(descriptor, wire.whole_number(fields, "size")))
            case "scene", ():
                self.received.apply_scene(fields, message.raw)
            case "camera", ():
                self.received.apply_camera(fields)
            case kind, _ if kind in OVERLAYS:
                self.received.apply_overlay(message)
            case "screenshot", ():
                self.received.apply_screenshot(fields)
            case "status", ():
                self.status = messages.status(fields.get("status"))
            case "report", ():
                self._report = wire.whole_number(fields, "number"), messages.blocks(fields.get("blocks"))
            case "ended", ():
                self.ended = Ended(messages.text(fields.get("ending")), messages.text(fields.get("message")))
            case "refused", ():
                self.ended = Ended("refused", messages.text(fields.get("message")))
            case kind, descriptors:
                raise wire.WireError(
                    f"unexpected message {kind[:40]!r} with {len(descriptors)} descriptors from the simulation; "
                    "restart it"
                )

    def _map_segment(self, descriptor: int, size: int) -> None:
        """Map a segment. The reader uses this segment after it has read all of the previous segment."""
        if self._reader is not None and not self._is_segment_requested:
            raise wire.WireError("the simulation sent memory that this viewer did not request; restart it")
        mapped = memory.map_read_only(descriptor, size)
        if self._reader is None:
            self._reader = RingReader(mapped)
            self._counters = self._reader.counters
        else:
            self._reader.follow(mapped)
        self._is_segment_requested = False


def _deadline_ns(seconds_from_now: float) -> int:
    return time.perf_counter_ns() + round(min(LONGEST_WAIT_S, seconds_from_now) * 1e9)


def _only_one() -> str:
    names = listener.running()
    if not names:
        raise LinkError("no simulation is running; start one with: twixt sim")
    if len(names) > 1:
        raise LinkError(f"several simulations are running; name one of them: {', '.join(names)}")
    return names[0]
