"""The simulation's side keeps, for each attached viewer, its connection, its queued messages, a limit on received
messages, and the actions of its user.

Only the latest message of each kind is queued for a viewer. So a stopped or broken viewer, which never reads, costs a
limited amount of memory and no time.

Always: only `flush_all` waits. A message that is partly sent is completed before the next message. Wakes have their
own pipe, so the stepping thread can send a wake while another thread sends a message. Only the service thread uses
this module, with two exceptions: any thread may call `wake`, and other threads use `ReceivedActions`.
"""

from __future__ import annotations

import contextlib
import math
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from twixt.ipc.interaction.events import KEY, PRESS, RELEASE, Look, Pull, UserEvent
from twixt.ipc.interaction.keyboard import KeyStates
from twixt.ipc.process import fork
from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.ipc.process.notices import print_current_exception
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.scene.groups import ParentLog, to_field
from twixt.ipc.scene.scene import unpacked_scene
from twixt.ipc.session import wire
from twixt.ipc.session.screenshots import BY_A_WINDOW
from twixt.ipc.system import wakes
from twixt.ipc.system.interface import WakeSender

if TYPE_CHECKING:
    from twixt.ipc.interaction.plots import PlotRecorder
    from twixt.ipc.ring.segments import HostRing
    from twixt.ipc.scene.scene_message import PackedScene
    from twixt.ipc.session.screenshots import ScreenshotRequests


# Largest number of messages that are read from a viewer in one second. A viewer sends fewer messages: one wake and one
# lead per frame at 240 Hz, and its user's commands. Above the limit nothing more is read during that second, and the
# socket's buffer fills up.
MESSAGES_PER_S = 1000
# A command or a user event counts as this number of messages. So at most a hundred commands and events are read per
# second. Repeated keys and moving sliders make forty events per second. Reading a hundred events holds the
# interpreter's lock for 1 to 2 ms.
COMMAND_WEIGHT = 10
WEIGHTS = {"command": COMMAND_WEIGHT, "event": COMMAND_WEIGHT}
# Number of bytes that are read in one call. About forty commands have this size. The number is small, so that a flood
# is noticed early.
RECEIVE_BYTES = 4096
SECOND_NS = 1_000_000_000


class WrittenScene(NamedTuple):
    """The scene of a host, packed for sending. camera_version: version of the scene's camera. parents: parents of the
    bodies in the latest scenes."""

    version: int
    packed: PackedScene
    camera_version: int
    parents: ParentLog = ()

    def unpacked(self) -> Scene:
        """Returns an unpacked copy of the scene. The copy has the camera that the scene had when it was written."""
        return unpacked_scene(self.packed.to_bytes())


class KnownContents(NamedTuple):
    """Digests of the meshes and textures that a viewer has from the scene of this version. Version 0 means that the
    viewer has no meshes and textures."""

    version: int = 0
    digests: frozenset[bytes] = frozenset()


class WrittenCamera(NamedTuple):
    """The camera of a host. It is the scene's own camera, or a camera that was published later."""

    version: int
    camera: Camera | None


class WrittenOverlay(NamedTuple):
    """The images, the figures or the plots of a host, as message fields and bytes. Each change creates a new object."""

    fields: dict[str, Any]
    content: bytes


@dataclass
class SentState:
    """State of the host that was last sent to one viewer, or queued for it. report_number: number of the report that
    the viewer has requested and not received yet; None if there is no such request. overlays: the images and the
    figures, by kind. overlays_ns: instant at which each of them was queued, by kind, in ns."""

    scene_version: int = 0
    camera_version: int = 0
    report_number: int | None = None
    status: dict[str, Any] | None = None
    status_ns: int = -SECOND_NS
    overlays: dict[str, WrittenOverlay] = field(default_factory=dict)
    overlays_ns: dict[str, int] = field(default_factory=dict)


class HostRequests(Protocol):
    """Methods of the host that the service thread calls.

    describe_for_viewer returns the description of the simulation. report_for_viewer returns the report's blocks.
    share_events returns message fields for a viewer, and a descriptor of the ring buffer of events, which the caller owns.
    """

    scene: WrittenScene
    camera: WrittenCamera
    overlays: dict[str, WrittenOverlay]
    plots: PlotRecorder
    screenshots: ScreenshotRequests
    ring: HostRing

    def share_events(self) -> tuple[dict[str, Any], int]: ...
    def describe_for_viewer(self) -> dict[str, Any]: ...
    def report_for_viewer(self) -> dict[str, Any] | None: ...


class AttachedViewer:
    """One accepted connection. attached: True after a valid `attach` message. sent: state of the host that was last
    sent to this viewer. pictures: how it makes screenshots. muted_until_ns: instant before which no message is read,
    in ns. wake: function that sends one wake. Any thread may call `wake`; it never waits and raises no exception."""

    def __init__(self, connection: socket.socket, now_ns: int) -> None:
        connection.setblocking(False)
        self.connection = connection
        fork.guard(self)
        self.connected_ns = now_ns
        self.attached = False
        self.lead_ns = 0
        self.pictures = BY_A_WINDOW
        self.sent = SentState()
        self.muted_until_ns = 0
        self._second_began_ns = now_ns
        self._weight_this_second = 0
        self._inbox = wire.Inbox(wire.VIEWER_JSON_LIMIT)
        self._sending: wire.Outgoing | None = None
        self._unsent: dict[str, wire.Outgoing] = {}
        # Contents of the scene that was sent last, and contents of the queued scene. A later scene may replace the
        # queued scene.
        self._known = self._queued = KnownContents()
        self._wakes: WakeSender | None = None
        self.wake: Callable[[], None] = _wakes_not_open

    def post(self, kind: str, content: bytes, descriptors: Sequence[int] = ()) -> None:
        """Queue a message. The message replaces a queued message of the same kind. The queue then owns the
        descriptors."""
        if older := self._unsent.get(kind):
            older.close()
        self._unsent[kind] = wire.Outgoing(content, descriptors)

    def post_scene(self, scene: WrittenScene) -> None:
        """Queue a scene. Meshes and textures that the viewer has from the previous scene are left out."""
        fields = {
            "version": scene.version,
            "camera_version": scene.camera_version,
            "since": self._known.version,
            "parents_before": to_field(scene.parents),
        }
        self.post("scene", wire.encode("scene", fields, scene.packed.to_bytes(self._known.digests)))
        self._queued = KnownContents(scene.version, frozenset(scene.packed.contents))

    def has_unsent(self, kind: str) -> bool:
        """True if a message of that kind is queued and no byte of it has been sent."""
        return kind in self._unsent

    def flush(self) -> None:
        """Send as much as fits into the socket. Raises OSError if the viewer has disconnected."""
        while self._sending or self._unsent:
            if self._sending is None:
                kind = next(iter(self._unsent))
                self._sending = self._unsent.pop(kind)
                if kind == "scene":
                    self._known = self._queued
            if not self._sending.send(self.connection):
                return
            self._sending = None

    @property
    def has_more(self) -> bool:
        """True if a message waits for room in the socket."""
        return bool(self._sending or self._unsent)

    def receive(self, now_ns: int) -> list[wire.Message] | None:
        """Receive a piece of the stream without waiting. Returns the messages that the piece completes. Returns None
        if the viewer has disconnected or is muted. Raises WireError for an invalid message."""
        if self.muted_until_ns > now_ns:
            return None
        messages = wire.receive(self.connection, self._inbox, piece_bytes=RECEIVE_BYTES)
        if messages:
            if now_ns - self._second_began_ns >= SECOND_NS:
                self._second_began_ns, self._weight_this_second = now_ns, 0
            self._weight_this_second += sum(WEIGHTS.get(message.kind, 1) for message in messages)
            if self._weight_this_second > MESSAGES_PER_S:
                self.muted_until_ns = self._second_began_ns + SECOND_NS
        return messages

    def open_wakes(self) -> int:
        """Open the pipe through which `wake` sends. Returns a descriptor of the viewer's end of the pipe. The caller
        closes this descriptor."""
        self._wakes = wakes.sender()
        self.wake = self._wakes.wake
        return self._wakes.viewer_descriptor()

    def close(self) -> None:
        """Close the connection and the pipe for wakes, and drop queued messages."""
        if self._wakes is not None:
            self._wakes.close()
        self.close_in_child()

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. The pipe for wakes has its own fork hook."""
        fork.close(self.connection)
        self._inbox.close()
        for message in (*self._unsent.values(), *((self._sending,) if self._sending else ())):
            message.close()
        self._unsent.clear()
        self._sending = None


def _wakes_not_open() -> None:
    """Does nothing, because the viewer has not attached yet."""


def flush_all(viewers: Sequence[AttachedViewer], patience_ns: int) -> None:
    """Send all queued messages. Stop after `patience_ns`."""
    deadline_ns = time.perf_counter_ns() + patience_ns
    unfinished = list(viewers)
    while True:
        for viewer in list(unfinished):
            with contextlib.suppress(OSError):
                viewer.flush()
                if viewer.has_more:
                    continue
            unfinished.remove(viewer)
        left_ns = deadline_ns - time.perf_counter_ns()
        if not unfinished or left_ns <= 0:
            return
        poller = wakes.poller()
        for viewer in unfinished:
            poller.register(viewer.connection, wakes.WRITABLE)
        poller.poll(-(-left_ns // 1_000_000))


def encode_or_drop(kind: str, fields: dict[str, Any], theirs: str, descriptors: int = 0) -> bytes:
    """Encode a message. theirs: name of the field with the user's values. If the user's values cannot be encoded, the
    error is printed and the field is sent as None."""
    try:
        return wire.encode(kind, fields, descriptors=descriptors)
    except wire.WireError:
        print_current_exception()
        return wire.encode(kind, {**fields, theirs: None}, descriptors=descriptors)


def call_guarded(callback: Callable[[], Any] | None) -> Any:
    """Call a callback and return its result. If it raises, the error is printed and the result is None."""
    try:
        return callback() if callback is not None else None
    except Exception:
        print_current_exception()
        return None


# This class passes the actions of all viewers' users from the service thread to the program's loop.
#
# The service thread adds events, and the loop pops them one by one. The loop also reads the latest pulls and the
# latest view, which the service thread replaces as whole objects. Neither thread waits for the other.
#
# Always: only the newest `MOST_EVENTS` events are stored. When a viewer disconnects, its pull ends, and its keys are
# released. Keys on which the viewer itself acts are not among `keys`.

# Largest number of events that are stored for a loop that does not read events. Above this number each new event
# replaces the oldest event.
MOST_EVENTS = 256
KINDS = (UserEvent.KIND, Pull.KIND, Look.KIND)


class ReceivedActions:
    """User actions from the viewers of one simulation. pulls: one pull for each viewer whose user drags a body. look:
    the latest camera view that any viewer sent; None before the first view. moved: the latest camera view that a
    user had moved; None before the first such view. on_pulls: function that the service thread calls after `pulls`
    was replaced. keys: state of the keys. dragged: for each body that the program has entered, its position in metres;
    a user who drags the body replaces the position.
    """

    def __init__(self) -> None:
        self.pulls: tuple[Pull, ...] = ()
        self.on_pulls: Callable[[], object] = tuple
        self.look: Look | None = None
        self.moved: Look | None = None
        self.keys = KeyStates()
        self.dragged: dict[int, tuple[float, float, float]] = {}
        self._pull_of: dict[object, Pull] = {}
        self._events: deque[UserEvent] = deque(maxlen=MOST_EVENTS)
        self._wake = InterruptibleEvent()
        self._is_ended = False

    def receive(self, sender: object, message: wire.Message) -> None:
        """Stores the action in a message whose kind is one of `KINDS`. Raises ActionError for a damaged message."""
        if message.kind == UserEvent.KIND:
            self._add_event(sender, UserEvent.from_fields(message.fields))
        elif message.kind == Pull.KIND:
            pull = Pull.from_fields(message.fields)
            if pull.body is None:
                self._end_pull(sender)
            else:
                is_dragged = pull.body in self.dragged and pull.is_held and not pull.is_turn
                if is_dragged and all(map(math.isfinite, pull.dragged_to)):
                    self.dragged[pull.body] = pull.dragged_to
                self._pull_of[sender] = pull
                self._replace_pulls()
        else:
            self.look = Look.from_fields(message.fields)
            if self.look.is_moved:
                self.moved = self.look

    def drop(self, sender: object) -> None:
        """Ends the pull of a viewer that has disconnected, and releases its keys."""
        self._end_pull(sender)
        for code, name in self.keys.release_all(sender).items():
            now_ns = time.perf_counter_ns()
            self._add_event(sender, UserEvent(KEY, code, RELEASE, key_name=name, acted_ns=now_ns))

    def next_event(self) -> UserEvent | None:
        """Pops and returns the oldest event. Returns None if there is no event."""
        try:
            return self._events.popleft()
        except IndexError:
            return None

    def wait(self) -> bool:
        """Waits for events. Returns False after `end`. Call this method again after all events are popped."""
        if not self._events and not self._is_ended:
            self._wake.wait()
        self._wake.clear()
        return not self._is_ended

    def end(self) -> None:
        """Ends all pulls and the current `wait`, and releases all keys. Later calls of `wait` return immediately."""
        self._is_ended, self.pulls, self.keys = True, (), KeyStates()
        self._wake.set()

    def _add_event(self, sender: object, event: UserEvent) -> None:
        if event.name == KEY and event.key_name and not (event.is_viewers or self._is_ended):
            if event.action == PRESS:
                self.keys.press(sender, event.key, event.key_name)
            elif event.action == RELEASE:
                self.keys.release(sender, event.key)
        self._events.append(event)
        self._wake.set()

    def _end_pull(self, sender: object) -> None:
        if self._pull_of.pop(sender, None) is not None:
            self._replace_pulls()

    def _replace_pulls(self) -> None:
        self.pulls = tuple(self._pull_of.values())
        self.on_pulls()
