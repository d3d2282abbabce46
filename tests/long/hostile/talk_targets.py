"""What the other process says: hostile viewers at a real host, a hostile simulation at a real link, commands at physics."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import sys
import tempfile
import threading
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.long.hostile.memory_targets import BODIES, COLUMNS, SCENES, use_scene
from tests.long.hostile.mutate import Mutator
from tests.long.hostile.target import Target
from tests.publishing import publish
from tests.sim.lab import Lab
from twixt.ipc import session
from twixt.ipc.commands import NAMES, Command
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction import overlay
from twixt.ipc.interaction.events import Look, Pull, UserAction, UserEvent
from twixt.ipc.plan import Plan
from twixt.ipc.ring import events, memory
from twixt.ipc.ring.events import EVENT, EventWriter, event_of
from twixt.ipc.ring.layout import Layout
from twixt.ipc.ring.writer import RingWriter
from twixt.ipc.scene import Camera
from twixt.ipc.scene.scene import packed_scene
from twixt.ipc.session import listener, service, viewers, wire
from twixt.ipc.snapshot import Head, new_bodies
from twixt.ipc.system import linux_names
from twixt.render.input.keys import ViewerSettings, reflect_slow_physics
from twixt.render.input.sliders import Knobs
from twixt.render.overlay.panel_state import messages, troubles_of
from twixt.render.viewer.idle import ShownStatus
from twixt.render.viewer.outcome import of_simulation

BOUND_S = 30.0
COMMANDS: list[dict[str, Any]] = [
    *({"name": name, "value": None, "acted_ns": 5, "draw_time_ns": 7} for name in NAMES if name != "time_scale"),
    {"name": "time_scale", "value": 0.25, "acted_ns": 5, "draw_time_ns": 7},
    {"name": "slow_physics", "value": [20.0, 120.0]},
    {"name": "stall", "value": [500.0, 5.0]},
    {"name": "drop", "value": 5.0},
    {"name": "delay", "value": [80.0, 20.0]},
    {"name": "control", "value": [1, 0.5]},
]
ACTIONS: list[UserAction] = [
    UserEvent("key", 65, "press", 3, acted_ns=5),
    UserEvent("key", 90, key_name="y", pointer_px=(3.5, 4.0), pointer=(1.0, 2.0, 3.0)),
    UserEvent("click", button="left", clicks=2, body=1, point=(1.0, 2.0, 3.0)),
    Pull(1, force=(1.0, 2.0, 3.0)),
    Pull(),
    Look(Camera(body=1), 1, (800, 600), True),
]
SAID_BY_VIEWERS: list[tuple[str, dict[str, Any]]] = [
    ("lead", {"lead_ns": 20_000_000}),
    ("wake", {"number": 3, "plan_number": 1}),
    ("segment", {}),
    ("report", {"number": 1}),
    ("screenshot", {"number": 1, "tick": 3, "error": "the disk is full"}),
    *(("command", fields) for fields in COMMANDS),
    *((action.KIND, action.to_fields()) for action in ACTIONS),
]
OVERLAYS = {
    "images": overlay.images_as_message([overlay.OverlayImage((1, 2, 4, 3), np.zeros((3, 4, 3), np.uint8))]),
    "figures": overlay.figures_as_message(
        [overlay.OverlayFigure((0, 0, 90, 60), [overlay.OverlayLine(np.ones((5, 2)), "angle")])]
    ),
    "plots": ({"plots": [["energy", [["kinetic", 3], ["potential", 2]]]]}, np.arange(10.0).tobytes()),
}
STATUS = {
    "world": "Balls", "step_ms": 1.5, "lead_ms": 20.0, "warning": "", "diagnostics": {"energy": 1.5}, "tick": 5,
    "controls": [["slider", "gravity", 9.81, 0.0, 20.0, "controls"], ["toggle", "light", 1.0, 0.0, 1.0, "show"]],
    "paused": False, "rate": 1.0, "time_scale": 1.0, "overloaded": False, "dt_ms": 8.0, "step_multiple": 1,
    "step_reason": "", "late": 0, "dropped": 0, "lost": 0, "slow_physics_ms": [20.0, 40.0],
    "listens": True, "own_keys": ["left", "space"], "draggable": [0, 3],
    "trouble": {"slow_physics_ms": [20.0, 40.0], "stall": None, "drop_percent": 0.0, "delay_ms": [80.0, 20.0]},
    "trouble_asked": {"slow_physics_ms": None, "stall": None, "drop_percent": 0.0, "delay_ms": None},
}  # fmt: skip


EVENT_SLOTS, EVENTS = 8, 12


def ring_of_events() -> tuple[memory.Memory, EventWriter]:
    """A small one, gone round once."""
    made = memory.create(events.memory_bytes(EVENT_SLOTS))
    writer = EventWriter(made, EVENT_SLOTS)
    writer.add_names(["hit", "über", "episode end"])
    records = np.zeros(EVENTS, EVENT)
    records["sim_time_ns"], records["name"] = np.arange(EVENTS) * 8_000_000, np.arange(EVENTS) % 3 + 1
    records["position"][::2] = records["values"][:, 2:] = np.nan
    records["strength"], records["text"], records["body"] = 1, b"floor", np.arange(EVENTS) - 1
    writer.append(records)
    return made, writer


class Talk(Target):
    """A folder of names of its own, and faults of other threads noticed."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        self._folder = tempfile.TemporaryDirectory()
        os.environ["XDG_RUNTIME_DIR"] = self._folder.name
        self.faults: list[BaseException] = []
        sys.excepthook = lambda _kind, error, _trace: self.faults.append(error)
        threading.excepthook = lambda told: self.faults.append(told.exc_value or told.exc_type())
        self._open_before = -1
        self.fed_count = 0

    def check(self) -> None:
        """Nothing that another thread should have caught; now and then, that no descriptor stays open."""
        if self.faults:
            raise self.faults.pop()
        self.fed_count += 1
        if self.fed_count % 500 == 0:
            opened = len(os.listdir("/proc/self/fd"))
            if self._open_before < 0:
                self._open_before = opened
            assert opened <= self._open_before + 8, f"{opened} descriptors are open, {self._open_before} were"

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


class ToHostTarget(Talk):
    """A hostile viewer: its stream spoilt anywhere, or whole messages of values that nobody asked for."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        service.ADMISSION_INTERVAL_NS, viewers.MESSAGES_PER_S = (
            0,
            1 << 30,
        )  # all callers are let in and heard
        self._host = session.Host(session.open_listener("host"), SCENES[1], 16, COLUMNS)
        self._bodies = new_bodies(4)
        self._publish(1)
        self._link = session.attach("host", BOUND_S)
        self._path = os.path.join(linux_names.runtime_folder(), "host" + linux_names.SUFFIX)

    def feed(self) -> None:
        draw = self.mutator.random
        said = draw.sample(SAID_BY_VIEWERS, draw.randint(0, 4))
        if draw.random() < 0.5:
            pieces = [wire.encode("attach"), *(wire.encode(kind, fields) for kind, fields in said)]
            at = draw.randrange(len(pieces))
            pieces[at] = self.mutator.bytes([pieces[at]])
        else:
            spoilt = [self.mutator.json({"kind": kind, **fields}) for kind, fields in [("attach", {}), *said]]
            whole = [framed(value) for value in spoilt]
            pieces = [wire.encode("attach"), *whole] if draw.random() < 0.8 else whole
        self.fed = stream = b"".join(pieces)
        with socket.socket(socket.AF_UNIX) as viewer:
            viewer.settimeout(BOUND_S)
            viewer.connect(self._path)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                viewer.sendall(stream)
                viewer.shutdown(socket.SHUT_WR)
                while viewer.recv(1 << 16):
                    pass
        for command in self._host.commands.drain():
            assert command == Command(command.name, command.value, command.acted_ns, command.draw_time_ns)
        if self.fed_count % 100 == 0:
            self._publish(self.fed_count)
            assert self._link.request_report(BOUND_S) is None
            assert self._link.ended is None, self._link.ended
            assert len(list(self._link.unread(1 << 30))) >= 1
        self.check()

    def _publish(self, tick: int) -> None:
        columns = {"heat": np.zeros(4, "f4"), "scale3": np.ones((4, 3), "f4")}
        publish(self._host.ring, Head(tick=tick, sim_time_ns=tick), self._bodies, columns)

    def __exit__(self, *_: object) -> None:
        self._link.close()
        self._host.end()
        super().__exit__()


class ToViewerTarget(Talk):
    """A hostile simulation: whatever it says, the viewer has something to show or a reason why not.

    spoils_all: True if any message of a stream may be changed."""

    spoils_all = True

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        layout = Layout.for_bodies(BODIES, COLUMNS)
        self._memory = memory.create(layout.segment_bytes)
        writer = RingWriter(self._memory, layout)
        writer.write_scene_version(1)
        writer.write_plan(Plan(1, 0, 5, 0, 1.0))
        publish(writer, Head(tick=1), new_bodies(1), {"heat": np.zeros(1, "f4"), "scale3": np.ones((1, 3), "f4")})
        self._writer, self._size = writer, layout.segment_bytes
        self._events, self._event_writer = ring_of_events()
        self._listener = listener.open_listener("host")
        self._listener.socket.setblocking(True)
        self._streams: queue.SimpleQueue[list[tuple[bytes, list[int]]] | None] = queue.SimpleQueue()
        self._server = threading.Thread(target=self._serve, daemon=True)
        self._server.start()

    def feed(self) -> None:
        try:
            with contextlib.ExitStack() as closing:
                opened = [*os.pipe(), os.memfd_create("overlay")]
                for descriptor in opened:
                    closing.callback(os.close, descriptor)
                stream = self._stream(opened[0], opened[2])
                self.fed = [piece for piece, _ in stream]
                self._streams.put(stream)
                closing.callback(self._await_served)
                link = session.attach("host", BOUND_S)
                closing.callback(link.close)
                use(link)
        finally:
            self.check()

    def _await_served(self) -> None:
        self._served.wait(BOUND_S)
        self._served.clear()

    def _stream(self, pipe: int, memory_file: int) -> list[tuple[bytes, list[int]]]:
        """What the simulation says to one viewer, and the descriptors that it sends with each piece."""
        draw = self.mutator.random
        segment = self._memory.read_only_fd()
        stream = [
            (self._message("welcome", {"name": "host", "description": {"world": "balls", "dt_ms": 8.0, "loop": "user", "code_folders": ["/x"]}}, 1), [pipe]),
            (self._message("segment", {"size": self._size}, 1), [segment]),
            (wire.encode("scene", {"version": 1, "camera_version": 1, "since": 0}, packed_scene(draw.choice(SCENES)).to_bytes()), []),
            (self._message("camera", {"version": 2, "camera": asdict(Camera(body=1, rotates_with_body=False))}), []),
            (self._message("status", {"status": STATUS}), []),
            (self._message("screenshot", {"number": 1, "path": "/x.png", "tick": 3, "has_panels": False}), []),
            (self._message("report", {"number": 1, "blocks": {"physics": {"steps": 3}, "channel": {}}}), []),
        ]  # fmt: skip
        if self.spoils_all and draw.random() < 0.3:
            stream.append((self._message("segment", {"size": self._size}, 1), [segment]))
        if draw.random() < 0.3:
            stream.append((self._message("ended", {"ending": "crashed", "message": "the world raised"}), []))
        place = self._place_of_events(stream)
        stream[place:place] = self._said_of_events([segment, pipe, memory_file])
        if self.spoils_all:
            if draw.random() < 0.5:
                stream.append(self._overlay(draw.choice(list(OVERLAYS)), memory_file))
            if draw.random() < 0.4:
                at = draw.randrange(len(stream))
                stream[at] = self.mutator.bytes([stream[at][0]]), stream[at][1]
            if draw.random() < 0.1:
                draw.shuffle(stream)
        return stream

    def _place_of_events(self, stream: list[tuple[bytes, list[int]]]) -> int:
        """Before which message of the stream the ring buffer of events comes."""
        return 1

    def _said_of_events(self, others: list[int]) -> list[tuple[bytes, list[int]]]:
        """Messages that bring the ring. others: descriptors of something else."""
        return [(self._message("events", {"size": self._events.size}, 1), [self._events.read_only_fd()])]

    def _message(self, kind: str, fields: dict[str, Any], descriptors: int = 0) -> bytes:
        if not self.spoils_all or self.mutator.random.random() < 0.7:
            return wire.encode(kind, fields, descriptors=descriptors)
        spoilt = {key: self.mutator.json(value) for key, value in fields.items()}
        return framed({"kind": kind, **spoilt}, descriptors)

    def _overlay(self, kind: str, memory_file: int) -> tuple[bytes, list[int]]:
        """Images, figures or plots: whole, with too few bytes, with spoilt ones, or without the memory that has them."""
        draw, (fields, content) = self.mutator.random, OVERLAYS[kind]
        size = len(content) if draw.random() < 0.8 else draw.choice((-1, 0, 1, 1 << 40))
        spoilt = self.mutator.bytes([content]) if draw.random() < 0.3 else content
        if draw.random() < 0.2:
            return self._message(kind, {**fields, "size": size}), []
        os.pwrite(memory_file, spoilt, 0)
        return self._message(kind, {**fields, "size": size}, 1), [memory_file]

    _served = threading.Event()

    def _serve(self) -> None:
        while (stream := self._streams.get()) is not None:
            connection, _ = self._listener.socket.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(BOUND_S)
                for piece, descriptors in stream:
                    if piece:
                        sent = socket.send_fds(connection, [piece], descriptors)
                        connection.sendall(piece[sent:])
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass
            self._served.set()

    def __exit__(self, *_: object) -> None:
        self._streams.put(None)
        self._server.join(BOUND_S)
        self._listener.close()
        self._writer.close()
        self._event_writer.close()
        super().__exit__()


def use(link: session.Link) -> None:
    """What a viewer asks of a link and of what it was told."""
    use_scene(link.scene, 3)
    settings, knobs, told = ViewerSettings("auto", "auto", True), Knobs(), ShownStatus()
    link.wake_when_newer()
    for _ in range(3):
        link.poll()
        for image in link.received.images:
            image.pixels.sum()
        for figure in link.received.figures:
            [line.points.shape for line in figure.lines]
        for plot in link.received.plots:
            [series.ys.sum() for series in plot.series]
        link.plan()
        for view in link.unread(1 << 30):
            view.copy()
        link.latest_pair()
        reader = link.events
        for record in reader.unread().records:
            event_of(record, reader.names[int(record["name"])])
        newest = Head(dt_ns=8_000_000)
        row = SimpleNamespace(present_ns=0)
        for line in messages(link, row, newest, settings):  # type: ignore[arg-type]
            line.encode()
        told.is_changed(link, True)
        settings = reflect_slow_physics(settings, link.status)
        knobs.reflect(troubles_of(link.status), 0)
        newest.dt_ns / 1e6 / link.status.get("time_scale", 1.0)
        for name, value in link.status.get("diagnostics", {}).items():
            f"{name} {value:.6g}".encode()
        link.description.get("loop")
    json.dumps(link.request_report(0.0))
    if link.ended is not None:
        of_simulation(link.ended, False).message.encode()


class QuickLab(Lab):
    """Added work takes no real time."""

    def _look(self) -> int:
        self.ns += 10**9
        return self.ns


class CommandTarget(Talk):
    """Commands of any name and value, as the daemon thread reads them, obeyed by physics in time of its own."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        self._host = session.Host(session.open_listener("host"), SCENES[0], 16)
        self._lab = QuickLab(self._host)

    def feed(self) -> None:
        draw, lab = self.mutator.random, self._lab
        if draw.random() < 0.5:
            fields = self.mutator.json(draw.choice(COMMANDS))
        else:
            fields = draw.choice(COMMANDS) | {
                draw.choice(("name", "value", "acted_ns", "draw_time_ns")): self.mutator.value()
            }
        self.fed = fields
        (message,) = wire.Inbox(1 << 20).feed(
            framed({"kind": "command", **fields} if isinstance(fields, dict) else fields)
        )
        lab.commands.append(Command.from_fields(message.fields))
        for _ in range(3):
            lab.physics.turn()
        assert lab.schedule.plan.is_sound
        lab.published.clear()
        lab.visible.clear()
        self.check()

    def __exit__(self, *_: object) -> None:
        self._host.end()
        super().__exit__()


def framed(value: Any, descriptors: int = 0) -> bytes:
    """Any JSON value as a message; what nothing frames stays a message that is refused."""
    with contextlib.suppress(RecursionError):
        text = json.dumps(value).encode()
        return wire.HEADER.pack(wire.MAGIC, wire.FORMAT, descriptors, len(text), 0) + text
    raise TwixtError("deeper than Python writes")
