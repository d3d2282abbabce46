"""One page: its two connections, its credit, and what it was sent.

The stream's task chooses each message at the instant at which the credit allows it, so nothing queues. On the control
connection, only the newest plan, cameras and status wait. So a page that does not read costs a limited amount of
memory.

Always: a scene and the columns come before the first snapshot that needs them. A page that does not acknowledge is
not closed for it.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque

from websockets.exceptions import ConnectionClosed

from twixt.ipc.commands import Command
from twixt.ipc.interaction.events import UserAction
from twixt.ipc.session.screenshots import ScreenshotRequest
from twixt.relay.serve import tcp
from twixt.relay.serve.access import is_loopback
from twixt.relay.serve.connection import PageConnection
from twixt.relay.serve.controller import Controller
from twixt.relay.serve.simulation import Simulation
from twixt.relay.stream import messages
from twixt.relay.stream.contents import MissingContents
from twixt.relay.stream.credit import Credit
from twixt.relay.stream.messages import (
    PICTURE_PIECE_BYTES,
    Acknowledgement,
    Hello,
    MessageError,
    Payload,
    Picture,
    Ping,
    Shown,
    Taken,
)
from twixt.relay.stream.overlays import MissingOverlays, PieceSize, newest_of
from twixt.relay.stream.presentation import Presentation
from twixt.relay.stream.repeats import Repeats

# Shortest intervals between two status messages and between two presented cameras, in ns.
STATUS_NS, PRESENTED_NS = 100_000_000, 33_000_000
# Largest number of messages that are read from a page in a second. Above it, the page waits. A page that draws 240
# frames a second acknowledges as often.
MESSAGES_PER_S = 500
# A visible page sends four pings a second.
SILENCE_S = 2.0
# Largest number of pieces of overlays on the way.
MOST_PIECES = 2


class Viewer:
    """A page whose two connections are there. hello: of the stream. controllers: those that have a link; None if pages
    may not control the simulation. presentation: what a page presents to the others."""

    def __init__(
        self, simulation: Simulation, stream: PageConnection, control: PageConnection, hello: Hello,
        controllers: set[Controller] | None, presentation: Presentation,
    ) -> None:  # fmt: skip
        self._presentation = presentation
        # number and instant of the last presented camera that was sent
        self._presented = -1 if presentation.presenter is not None else presentation.number
        self._presented_ns = 0
        self._simulation, self._stream, self._control = simulation, stream, control
        self._controller = None if controllers is None else Controller(simulation.name, self.refuse, controllers)
        self._credit, self._repeats = Credit(), Repeats()
        self._contents, self._overlays = MissingContents(hello.have), MissingOverlays()
        self._piece_size = PieceSize()
        self._pieces = deque[tuple[int, int]]()  # (number, instant) of the pieces of overlays on the way
        self._number = 0  # of the last message on the stream
        self._scene = self._snapshot = self._camera = 0  # versions and number of what was sent
        self._layouts: set[int] = set()
        # version of the lean rows that the page has; None if it wants full snapshots
        self._lean = 0 if hello.takes_lean else None
        self._plan: object = None
        self._status: object = {}
        self._end: object = None
        self._status_ns = 0
        self._is_waiting = self._was_content = False
        self._refused: tuple[str, str] | None = None
        self._question: tuple[str, int] | None = None  # about a picture, to be sent; the bytes that it asks for
        self._owed = 0  # bytes of a picture that were asked for
        self._heard_s = -math.inf  # instant of the page's last message
        self._messages_since_s = self._messages = 0.0
        # Only for a page on the loopback: else physics would run ahead by the delay of a far page's link, for all.
        self._is_near = is_loopback(str((control.remote_address or ("",))[0]))
        self._lead_ns = 0
        self._stream_news, self._control_news = asyncio.Event(), asyncio.Event()

    @property
    def is_hungry(self) -> bool:
        """True if the page was sent everything and waits for news."""
        return self._is_waiting

    @property
    def lead_ns(self) -> int:
        """Lead that this page needs, in ns; 0 if it is not on the loopback, or not visible."""
        return self._lead_ns if self.is_visible else 0

    @property
    def is_visible(self) -> bool:
        """True if the page has sent a message of late: hidden ones send none."""
        return time.monotonic() - self._heard_s < SILENCE_S

    @property
    def is_controlling(self) -> bool:
        """True if the page's user has sent commands or actions of late."""
        return self._controller is not None and self._controller.is_linked

    def ask_for_picture(self, number: int, request: ScreenshotRequest) -> None:
        """Asks the page for a picture of the first state that has the tick of the request or a later one."""
        self._question = messages.picture_text(number, request.tick, request.has_panels), 0
        self._control_news.set()

    def ask_for_bytes(self, number: int, count: int) -> None:
        """Asks the page for the next `count` bytes of its picture."""
        self._question = messages.more_text(number, count), count
        self._control_news.set()

    def wake(self) -> None:
        """Sends what is new, as soon as the credit allows it."""
        self._stream_news.set()
        self._control_news.set()

    def wake_control(self) -> None:
        """Sends what is new on the control connection."""
        self._control_news.set()

    async def run(self) -> None:
        """Serves the page until one of its connections closes. Then closes the other."""
        self.wake()
        tasks = [
            asyncio.ensure_future(work) for work in (self._send_stream(), self._send_control(), self._refuse_stream())
        ]
        tasks.append(asyncio.ensure_future(self._receive_control()))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            code, reason = messages.OTHER_CLOSED, "the other connection of the pair has closed"
            for task in done:
                error = task.exception()
                if isinstance(error, MessageError):
                    code, reason = error.code, str(error)
                elif error is not None and not isinstance(error, ConnectionClosed):
                    raise error
            await self.close(code, reason)
        finally:
            self._heard_s = -math.inf
            self._simulation.pictures.leave(self)
            if self._controller is not None:
                self._controller.close()
            self._presentation.end(self)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def refuse(self, name: str, reason: str) -> None:
        """Tells the page why a command was not sent."""
        self._refused = name, reason
        self._control_news.set()

    async def close(self, code: int, reason: str) -> None:
        """Closes both connections."""
        await asyncio.gather(*(one.close(code, messages.reason_of(reason)) for one in (self._stream, self._control)))

    async def _send_stream(self) -> None:
        while True:
            await self._stream_news.wait()
            self._stream_news.clear()
            self._credit.publish_interval(self._simulation.interval_ns)
            while together := self._allowed() or self._overlay_piece():
                for payload in together:
                    self._number += 1
                    content, now_ns = payload.numbered(self._number), time.perf_counter_ns()
                    if payload.kind == messages.OVERLAY:
                        self._credit.sent_beside(self._number)
                        self._pieces.append((self._number, now_ns))
                    else:
                        self._credit.sent(self._number, now_ns)
                    self._repeats.sent(self._number, content)
                    await self._stream.send(content)
                    for repeated in self._repeats.take(self._retransmissions, now_ns):
                        await self._control.send(repeated)
            self._simulation.request_wake()

    @property
    def _retransmissions(self) -> int:
        """Number of packets that TCP has sent again so far, on both connections."""
        return sum(tcp.retransmissions(one.transport) for one in (self._stream, self._control))

    @property
    def _has_news(self) -> bool:
        """True if there is a message for the stream."""
        simulation = self._simulation
        return simulation.link is not None and (
            self._scene != simulation.scene_version or bool(self._contents) or self._snapshot < simulation.newest_number
        )

    def _allowed(self) -> list[Payload]:
        """The next messages that the credit allows."""
        if not self._has_news:
            self._is_waiting = True
            return []
        together = self._next() if self._credit.may_send(time.perf_counter_ns()) else None
        self._is_waiting = together == []
        return together or []

    def _overlay_piece(self) -> list[Payload]:
        """The next piece of an overlay, beside the credit: however many images there are, no snapshot is left out."""
        simulation = self._simulation
        if simulation.link is None or len(self._pieces) >= MOST_PIECES:
            return []
        newest = newest_of(simulation.link.received)
        piece = self._overlays.next_piece(newest, simulation.overlays.content, self._piece_size.bytes)
        return [] if piece is None else [piece]

    def _next(self) -> list[Payload]:
        """The next messages of the stream: contents and snapshots in turns. A scene and columns go together with a
        snapshot that needs them, so that the first picture takes one round trip, and so that a program that replaces
        its scene at each step is seen. Empty if the newest snapshot was overwritten, so that a newer one follows."""
        simulation, together = self._simulation, list[Payload]()
        if self._scene != simulation.scene_version:
            scene = simulation.scene
            self._scene, self._camera = scene.version, max(self._camera, scene.camera_version)
            self._contents.need(scene.contents)
            together.append(scene.payload)
        elif self._contents and not self._was_content:
            self._was_content = True
            return self._piece()
        snapshot = simulation.newest() if self._snapshot < simulation.newest_number else None
        self._was_content = snapshot is None
        if snapshot is not None:
            if snapshot.columns.layout not in self._layouts:
                self._layouts.add(snapshot.columns.layout)
                together.append(snapshot.columns)
            self._snapshot = snapshot.number
            if self._lean is None:
                together.append(snapshot.full)
            else:
                payload, self._lean = simulation.lean_payload(self._lean)
                together.append(payload)
        return together or self._piece()

    def _piece(self) -> list[Payload]:
        piece = self._contents.next_piece()
        return [] if piece is None else [piece]

    async def _send_control(self) -> None:
        while True:
            await self._control_news.wait()
            self._control_news.clear()
            while (text := self._next_text()) is not None:
                await self._control.send(text)

    def _next_text(self) -> str | None:
        """The next message on the control connection, or None if the page knows everything."""
        simulation = self._simulation
        if simulation.end is not self._end:
            self._end = simulation.end
            if simulation.end is not None:
                return messages.end_text(*simulation.end)
        if simulation.plan is not None and simulation.plan is not self._plan:
            self._plan = simulation.plan
            return messages.plan_text(simulation.plan, simulation.origin_ns)
        if self._scene and simulation.camera_version > self._camera:
            self._camera = simulation.camera_version
            return messages.camera_text(self._camera, simulation.camera)
        if self._refused is not None:
            (name, reason), self._refused = self._refused, None
            return messages.refused_text(name, reason)
        if self._question is not None:
            (question, count), self._question = self._question, None
            self._owed += count
            self._control.allow(2 * count)  # with the heads of the messages
            return question
        now_ns, presentation = time.perf_counter_ns(), self._presentation
        if presentation.number != self._presented and self._is_due(self._presented_ns + PRESENTED_NS, now_ns):
            self._presented, self._presented_ns = presentation.number, now_ns
            if presentation.presenter is not self:
                return presentation.text
        status = None if simulation.link is None else simulation.link.status
        if status not in (None, self._status) and self._is_due(self._status_ns + STATUS_NS, now_ns):
            self._status, self._status_ns = status, now_ns
            return messages.status_text(status)
        return None

    def _is_due(self, due_ns: int, now_ns: int) -> bool:
        """True if this instant has come; else the control connection is looked at then."""
        if now_ns < due_ns:
            asyncio.get_running_loop().call_later((due_ns - now_ns) / 1e9, self._control_news.set)
        return now_ns >= due_ns

    async def _receive_control(self) -> None:
        async for text in self._control:
            self._heard_s = time.monotonic()
            if isinstance(text, bytes):
                self._take_piece(text)
                continue
            if self._controller is not None:
                self._controller.hear()
            match messages.read_control(text):
                case Ping(number, lead_ns):
                    self._lead_ns = lead_ns if self._is_near else 0
                    # A page that does not read waits here, so its pings do not pile up.
                    at_ns = time.perf_counter_ns() - self._simulation.origin_ns
                    await self._control.send(messages.pong_text(number, at_ns))
                case Acknowledgement(number):
                    self._acknowledge(number)
                case Taken(number):
                    self._confirm(number)
                case Picture() as answer:
                    self._simulation.pictures.take_answer(self, answer)
                case Command() | UserAction() | Shown() as message:
                    if self._controller is None:
                        name = message.name if isinstance(message, Command) else getattr(message, "KIND", "present")
                        self.refuse(name, "this link may not control the simulation")
                    elif isinstance(message, Shown):
                        self._presentation.show(self, message, time.perf_counter_ns() - self._simulation.origin_ns)
                    else:
                        await self._controller.send(self._simulation.as_sent(message))
            await self._limit_messages()

    def _take_piece(self, piece: bytes) -> None:
        """Takes bytes of a picture. They come in pieces of one size, so their number needs no limit."""
        if len(piece) != min(self._owed, PICTURE_PIECE_BYTES) or not piece:
            raise MessageError(f"{len(piece)} bytes of a picture that were not asked for")
        self._owed -= len(piece)
        self._simulation.pictures.take_bytes(self, piece)

    async def _limit_messages(self) -> None:
        """Waits if the page has sent too many messages in the present second."""
        self._messages += 1
        left_s = self._messages_since_s + 1 - time.monotonic()
        if left_s <= 0:
            self._messages_since_s, self._messages = time.monotonic(), 0
        elif self._messages >= MESSAGES_PER_S:
            await asyncio.sleep(left_s)

    def _acknowledge(self, number: int) -> None:
        try:
            self._credit.acknowledged(number, time.perf_counter_ns())
        except ValueError as error:
            raise MessageError(str(error)) from error
        self._repeats.acknowledged(number)
        self._stream_news.set()

    def _confirm(self, number: int) -> None:
        """The page has taken the pieces of overlays up to this number."""
        if number > self._number:
            raise MessageError(f"took message {number}, but the last message sent is {self._number}")
        self._repeats.acknowledged(number)  # what was sent before a piece has arrived before it
        while self._pieces and self._pieces[0][0] <= number:
            _, sent_ns = self._pieces.popleft()
            self._piece_size.acknowledged(self._credit.queued_ns(time.perf_counter_ns() - sent_ns))
        self._stream_news.set()

    async def _refuse_stream(self) -> None:
        async for _ in self._stream:
            raise MessageError("after its hello, a page sends nothing on the stream")
