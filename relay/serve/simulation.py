"""The simulation that the server shows: a guest's link to it, its newest snapshot, and the wait for it while it does
not run.

The link's descriptors belong to the server's loop. At each wake the plan is read: a guest that does not read it is
woken again at once, until the simulation mutes it. The newest snapshot is only referred to. It is copied and encoded
once, when the first page may receive it, whatever the number of pages.

Always: versions of scenes and cameras, and world epochs, increase, even from one simulation to the next of its name.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.commands import Command
from twixt.ipc.config.rules import SCALE3
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.events import Look, UserAction, UserEvent
from twixt.ipc.plan import Plan
from twixt.ipc.ring.layout import BODY_ROWS, PART_ROWS, ColumnBlock
from twixt.ipc.ring.mapped_segment import SnapshotView
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.scene.groups import colors
from twixt.ipc.scene.scene import packed_scene
from twixt.ipc.session.attaching import LOOK_S, OWN_WORLD_S, Reconnection, wait_until_running
from twixt.ipc.session.link import Ended, Link, attach
from twixt.ipc.session.screenshots import BY_A_PAGE
from twixt.ipc.snapshot import BODY, CORRECTED_NS, CORRECTION, HAS_COLOR, visual
from twixt.relay.serve.encoded import EncodedScene, EncodedSnapshot
from twixt.relay.serve.pictures import PicturePage, Pictures
from twixt.relay.serve.waiting import in_thread
from twixt.relay.stream.lean import LeanEncoder, error_bound_m
from twixt.relay.stream.messages import (
    LEAN,
    Column,
    Payload,
    columns_payload,
    scene_payload,
    snapshot_payload,
)
from twixt.relay.stream.overlays import EncodedOverlays

# Shortest interval between two requests for a wake, in seconds. Simulations mute a guest that sends more than 1,000
# messages a second, and a loop may publish more often than that.
WAKE_S = 0.004
# A snapshot counts as the newest for so long after it was encoded. Without this, eight pages of a loop that never waits
# got 1,300 snapshots a second, each encoded anew. It is shorter than the interval at 240 Hz.
SHARED_S = 0.003
# The same interval while no page waits for a snapshot.
IDLE_WAKE_S = 0.1
# Longest wait of a snapshot for its scene, in ns. The scene comes by a socket, later than the snapshot.
SCENE_PATIENCE_NS = 250_000_000
# Largest number of snapshots that wait for their scenes. So many are in the ring at most.
MOST_WAITING = 16
# Largest error of a lean position, in m. If bodies are so far apart that it would be larger, they are sent in full.
MOST_ERROR_M = 0.001
# Largest number of attempts to copy the newest snapshot. An attempt fails if the writer overwrites it meanwhile.
ATTEMPTS = 3
# Columns that the page draws, and the owner of their rows.
DRAWN_COLUMNS = {SCALE3: BODY_ROWS, "color": PART_ROWS, "visible": PART_ROWS}
# The reason why no simulation is attached, before the first one.
NOT_STARTED = Ended("waiting", "")
# Part by which a new interval between two snapshots changes the mean.
INTERVAL_GAIN = 1 / 8


class Pages(Protocol):
    """What the simulation needs of the server. is_hungry: True if a page waits for a snapshot. lead_ns: largest lead
    that a page on the loopback needs. on_news: called when something new was received. picture_page: the page that
    draws screenshots."""

    @property
    def is_hungry(self) -> bool: ...
    @property
    def lead_ns(self) -> int: ...
    def on_news(self) -> None: ...
    def picture_page(self) -> PicturePage | None: ...


class Simulation:
    """The simulation `name`, whenever it runs.

    plan: the newest one; None before the first. end: why no simulation is attached, or None while one is. interval_ns:
    mean wall time between two snapshots; 0 if it is not known. is_owner: True if the simulation has started this
    process. pictures: screenshots that the program requests.
    """

    def __init__(self, name: str, origin_ns: int, is_owner: bool = False) -> None:
        self.name, self._is_owner = name, is_owner
        self.origin_ns = origin_ns
        self.link: Link | None = None
        self.plan: Plan | None = None
        self.end: Ended | None = NOT_STARTED
        self.interval_ns = 0
        self._worlds_before = self._newest_world = 0
        self._scenes_before = self._cameras_before = 0
        self._snapshots_before = self._number = 0
        self._view: SnapshotView | None = None
        self._waiting = deque[SnapshotView](maxlen=MOST_WAITING)  # snapshots whose scene has not arrived
        self._waiting_since_ns = 0
        self._encoded_scene: EncodedScene | None = None
        self._encoded: EncodedSnapshot | None = None
        self._encoded_s = 0.0  # instant of time.monotonic()
        self._layouts: dict[tuple[Column, ...], Payload] = {}
        self.overlays = EncodedOverlays()
        self._lean, self._lean_number = LeanEncoder(), 0
        self._lean_payloads: dict[int, Payload] = {}  # of the newest snapshot, by the version that a page has
        self._server: Pages | None = None
        self.pictures = Pictures(lambda: None if self._server is None else self._server.picture_page())
        self._timer: asyncio.TimerHandle | None = None
        self._requested_s, self._is_wake_requested = 0.0, False
        self._plan_read: Plan | None = None
        self._over = asyncio.Event()

    async def run(self, server: Pages) -> Ended:
        """Attaches whenever the simulation runs. Returns if it refuses this guest, or if it is the owner and ends."""
        self._server = server
        link: Link | None = await self._first()
        while True:
            assert link is not None
            ended, back = await self._follow(link), Reconnection(self.name, for_pages=True)
            if self._is_owner or not back.begin(ended):
                return ended
            while (link := back.link()) is None:
                await asyncio.sleep(LOOK_S)

    @property
    def camera(self) -> Camera | None:
        """The newest camera; None for a view of all bodies. Only while a simulation is attached."""
        assert self.link is not None
        return self.link.scene.camera

    @property
    def camera_version(self) -> int:
        """Version of the newest camera."""
        return 0 if self.link is None else self._cameras_before + self.link.received.camera_version

    @property
    def scene_version(self) -> int:
        """Version of the newest scene; 0 while no simulation is attached."""
        return 0 if self.link is None else self._scenes_before + self.link.scene_version

    @property
    def scene(self) -> EncodedScene:
        """The newest scene. Only while a simulation is attached."""
        assert self.link is not None
        if self._encoded_scene is None or self._encoded_scene.version != self.scene_version:
            packed = packed_scene(self.link.scene)
            payload = scene_payload(self.scene_version, self.camera_version, packed.tables)
            self._encoded_scene = EncodedScene(self.scene_version, self.camera_version, payload, packed.contents)
        return self._encoded_scene

    @property
    def newest_number(self) -> int:
        """Number of the newest snapshot that can be sent; it never decreases."""
        is_new = self._encoded is None or self._encoded.number != self._number
        is_due = is_new or time.monotonic() > self._encoded_s + SHARED_S
        if self.link is not None and self._server is not None and is_due:
            before = self._view
            self._look(self.link)
            if self._view is not before:
                self._server.on_news()  # perhaps no wake was requested
        if self._view is not None:
            self._number = self._snapshots_before + self._view.number
        return self._number

    def newest(self) -> EncodedSnapshot | None:
        """The newest snapshot at this instant. It is encoded at the first call, and kept until a newer one is. None if
        there is none yet, or if the writer has overwritten it, so that a newer one follows."""
        for _ in range(ATTEMPTS):
            number = self.newest_number
            if self._encoded is not None and self._encoded.number == number:
                return self._encoded
            if self._view is None:
                return None
            self._encoded, self._encoded_s = self._encode(self._view, number), time.monotonic()
        return self._encoded

    def as_sent(self, message: Command | UserAction) -> Command | UserAction:
        """The page's message with instants of the server's clock, and with the simulation's own version of a camera."""
        match message:
            case UserEvent(acted_ns=acted_ns):
                return replace(message, acted_ns=acted_ns + self.origin_ns)
            case Look(camera_version=version):
                return replace(message, camera_version=max(0, version - self._cameras_before))
        return message

    def lean_payload(self, since: int) -> tuple[Payload, int]:
        """Payload of the snapshot that `newest` returned, for a page that has the lean rows of the version `since`, and
        the version that it has then. The payload is full if lean positions would be too coarse, or larger."""
        snapshot = self._encoded
        assert snapshot is not None
        if self._lean_number != snapshot.number:
            self._lean_number = snapshot.number
            self._lean.encode(snapshot.bodies)
            self._lean_payloads.clear()
        if since not in self._lean_payloads:
            block = self._lean.block(since)
            is_lean = len(block) < snapshot.bodies.nbytes and error_bound_m(self._lean.boxes) <= MOST_ERROR_M
            self._lean_payloads[since] = snapshot.encode(block, LEAN) if is_lean else snapshot.full
        payload = self._lean_payloads[since]
        return payload, self._lean.version if payload.codec == LEAN else since

    def request_wake(self) -> None:
        """Asks the simulation for a wake at its next snapshot or plan, no more often than the pages need. Call this
        when a page becomes hungry."""
        if self.link is None or self._server is None or self._is_wake_requested:
            return
        loop = asyncio.get_running_loop()
        interval_s = WAKE_S if self._server.is_hungry else IDLE_WAKE_S
        due_s = max(self._requested_s + interval_s, self._encoded_s + SHARED_S)
        if self._timer is not None:
            if self._timer.when() <= due_s:
                return
            self._timer.cancel()
        self._timer = loop.call_at(due_s, self._request)

    async def _first(self) -> Link:
        """A link to the simulation, as soon as it runs. The owner runs already, and may still load its world."""
        if self._is_owner:
            return await in_thread(lambda: attach(self.name, OWN_WORLD_S, owned=True, pictures=BY_A_PAGE))
        attaching = await in_thread(lambda: wait_until_running(self.name, lambda: False, for_pages=True))
        assert attaching is not None
        return attaching.link

    async def _follow(self, link: Link) -> Ended:
        """Follows a simulation until it ends."""
        loop = asyncio.get_running_loop()
        self.link, self.end, self._over = link, None, asyncio.Event()
        descriptors = link.wake_filenos
        for descriptor in descriptors:
            loop.add_reader(descriptor, self._receive, link)
        try:
            self._receive(link)
            await self._over.wait()
            assert link.ended is not None
            return link.ended
        finally:
            for descriptor in descriptors:
                loop.remove_reader(descriptor)
            self._leave(link)

    def _receive(self, link: Link) -> None:
        """Receives everything new, tells the server, and asks for the next wake."""
        assert self._server is not None
        try:
            if link.wait(0):  # it does not wait, but drains the wakes
                self._is_wake_requested = False
            self.pictures.receive(link)
            link.report_lead(self._server.lead_ns)
            plan = link.plan()
            if plan != self._plan_read:
                self._plan_read = plan
                self.plan = plan._replace(world_epoch=plan.world_epoch + self._worlds_before)
                self._newest_world = max(self._newest_world, self.plan.world_epoch)
            self._look(link)
        except TwixtError as error:  # damaged memory
            link.ended = link.ended or Ended("refused", str(error))
        if link.ended is not None:
            self._over.set()
        self._server.on_news()
        self.request_wake()

    def _request(self) -> None:
        """Asks the simulation for a wake. If there is news already, receives it: a loop that never waits would spend
        2 to 8 % of its time on the wakes."""
        self._timer = None
        if (link := self.link) is None or link.ended is not None:
            return
        self._requested_s = asyncio.get_running_loop().time()
        if link.has_unread:
            self._receive(link)
        else:
            self._is_wake_requested = True
            link.wake_when_newer()

    def _look(self, link: Link) -> None:
        """Takes the newest snapshot whose scene is there."""
        now_ns, waiting = time.perf_counter_ns(), self._waiting
        if link.has_unread:
            before = waiting[-1] if waiting else self._view
            self._waiting_since_ns = self._waiting_since_ns if waiting else now_ns
            for view in link.unread(0):  # without a budget, only the newest is yielded
                self._newest_world = max(self._newest_world, view.head.world_epoch + self._worlds_before)
                if before is not None:
                    self._count_interval(before, view)
                waiting.append(view)
        while waiting and waiting[0].head.scene_version <= link.scene_version:
            self._view, self._waiting_since_ns = waiting.popleft(), now_ns
        if waiting and now_ns - self._waiting_since_ns > SCENE_PATIENCE_NS:
            self._view = waiting.pop()
            waiting.clear()

    def _count_interval(self, before: SnapshotView, view: SnapshotView) -> None:
        passed_ns = view.head.published_ns - before.head.published_ns
        interval_ns = max(0, passed_ns) // max(1, view.number - before.number)
        gain = INTERVAL_GAIN if self.interval_ns else 1
        self.interval_ns += round((interval_ns - self.interval_ns) * gain)

    def _encode(self, view: SnapshotView, number: int) -> EncodedSnapshot | None:
        """Encodes a snapshot. Returns None if the writer overwrote it meanwhile."""
        assert self.link is not None
        scene, drawn = self.link.scene, [one for one in view.layout.columns if DRAWN_COLUMNS.get(one.name) == one.per]
        bodies, marks = np.frombuffer(bytearray(view.bodies), BODY), bytes(view.marks)
        columns = [bytes((view.columns if one.per == BODY_ROWS else view.part_columns)[one.name]) for one in drawn]
        changing = {one.name: _array(view, one) for one in view.layout.columns if one.name in _changing(scene)}
        try:
            if not view.is_valid():
                return None
        except TwixtError:  # its segment is closed, because there is a larger one
            return None
        if CORRECTION in changing:
            rows, records = visual(bodies, changing, view.head.sim_time_ns)
            bodies[rows] = records
        if scene.color_by is not None and scene.color_by.column in changing:
            bodies["color"][:, :3] = colors(changing[scene.color_by.column], scene.color_by)
            bodies["flags"] |= np.uint16(HAS_COLOR)
        forms = tuple(Column(one.name, one.dtype, one.width, one.per) for one in drawn)
        if forms not in self._layouts:
            self._layouts[forms] = columns_payload(len(self._layouts) + 1, forms)
        described = self._layouts[forms]
        head = view.head._replace(
            world_epoch=view.head.world_epoch + self._worlds_before,
            scene_version=view.head.scene_version + self._scenes_before,
        )

        def encode(block: bytes | memoryview, codec: int) -> Payload:
            return snapshot_payload(head, block, marks, columns, described.layout, self.origin_ns, codec)

        return EncodedSnapshot(number, described, bodies, encode)

    def _leave(self, link: Link) -> None:
        """Forgets the simulation, but not what must increase."""
        if self._timer is not None:
            self._timer.cancel()
        self._scenes_before, self._cameras_before = self.scene_version, self.camera_version
        self._snapshots_before = self._number
        self._worlds_before = self._newest_world + 1
        self._view = self._encoded = self._encoded_scene = None
        self._waiting.clear()
        self.pictures.end()
        self.plan = self._plan_read = self._timer = None
        self._is_wake_requested = False
        self.interval_ns = 0
        self.end, self.link = link.ended or Ended("ended", ""), None
        link.close()
        assert self._server is not None
        self._server.on_news()


def _changing(scene: Scene) -> tuple[str, ...]:
    """Columns that change the records before they are drawn."""
    return (CORRECTION, CORRECTED_NS) + (() if scene.color_by is None else (scene.color_by.column,))


def _array(view: SnapshotView, column: ColumnBlock) -> NDArray[np.generic]:
    """A private copy of a column of the bodies, (n,) or (n, width)."""
    values = np.frombuffer(bytes(view.columns.get(column.name, b"")), column.dtype)
    return values if column.width == 1 else values.reshape(-1, column.width)
