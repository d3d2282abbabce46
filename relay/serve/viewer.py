"""One page: its two connections, its credit, and what it was sent.

The stream's task chooses each message at the instant at which the credit allows it, so nothing queues. On the control
connection, only the newest plan, camera and status wait. So a page that does not read costs a limited amount of memory.

Always: a scene and the columns come before the first snapshot that needs them. A page that does not acknowledge is
not closed for it.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from twixt.ipc.commands import Command
from twixt.relay.serve.simulation import EncodedScene, EncodedSnapshot, Simulation
from twixt.relay.stream import messages
from twixt.relay.stream.contents import MissingContents
from twixt.relay.stream.credit import Credit
from twixt.relay.stream.messages import Acknowledgement, Hello, MessageError, Payload, Ping

# Shortest interval between two status messages, in ns.
STATUS_NS = 100_000_000


class Commands(Protocol):
    """Receiver of the page's commands."""

    def send(self, command: Command) -> None: ...


class Viewer:
    """A page whose two connections are there. commands: receiver of its commands, or None if it may not control."""

    def __init__(
        self, simulation: Simulation, stream: ServerConnection, control: ServerConnection, hello: Hello,
        commands: Commands | None,
    ) -> None:  # fmt: skip
        self._simulation, self._stream, self._control, self._commands = simulation, stream, control, commands
        self._credit = Credit()
        self._contents = MissingContents(hello.have)
        self._number = 0  # of the last message on the stream
        self._scene = self._snapshot = self._camera = 0  # versions and number of what was sent
        self._layouts: set[int] = set()
        self._plan: object = None
        self._status: object = {}
        self._end: object = None
        self._status_ns = 0
        self._is_sending = self._was_content = False
        self._stream_news, self._control_news = asyncio.Event(), asyncio.Event()

    @property
    def is_hungry(self) -> bool:
        """True if the page could be sent a snapshot now."""
        return not self._is_sending and self._credit.may_send(time.perf_counter_ns())

    def wake(self) -> None:
        """Sends what is new, as soon as the credit allows it."""
        self._stream_news.set()
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
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self, code: int, reason: str) -> None:
        """Closes both connections."""
        await asyncio.gather(*(one.close(code, reason) for one in (self._stream, self._control)))

    async def _send_stream(self) -> None:
        while True:
            await self._stream_news.wait()
            self._stream_news.clear()
            while self._credit.may_send(time.perf_counter_ns()) and (payload := self._next()) is not None:
                self._number += 1
                content = payload.numbered(self._number)
                self._credit.sent(self._number, len(content), time.perf_counter_ns())
                self._is_sending = True
                try:
                    await self._stream.send(content)
                finally:
                    self._is_sending = False
            self._simulation.request_wake()

    def _next(self) -> Payload | None:
        """The next message of the stream: first scenes and columns, then contents and snapshots in turns."""
        if self._simulation.link is None:
            return None
        if self._scene != self._simulation.scene_version:
            return self._next_scene(self._simulation.scene)
        if self._contents and not self._was_content:
            self._was_content = True
            return self._contents.next_piece()
        self._was_content = False
        snapshot = None
        if self._snapshot != self._simulation.newest_number:
            snapshot = self._simulation.newest()
        if snapshot is None:
            return self._contents.next_piece()
        return self._next_snapshot(snapshot)

    def _next_scene(self, scene: EncodedScene) -> Payload:
        self._scene = scene.version
        self._camera = max(self._camera, scene.camera_version)
        self._contents.need(scene.contents)
        return scene.payload

    def _next_snapshot(self, snapshot: EncodedSnapshot) -> Payload:
        layout = snapshot.payload.layout
        if layout not in self._layouts:
            self._layouts.add(layout)
            return snapshot.columns
        self._snapshot = snapshot.number
        return snapshot.payload

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
        if simulation.status is not self._status:
            now_ns = time.perf_counter_ns()
            if now_ns - self._status_ns >= STATUS_NS:
                self._status, self._status_ns = simulation.status, now_ns
                return messages.status_text(simulation.status)
            delay_s = (self._status_ns + STATUS_NS - now_ns) / 1e9
            asyncio.get_running_loop().call_later(delay_s, self._control_news.set)
        return None

    async def _receive_control(self) -> None:
        async for text in self._control:
            match messages.read_control(text):
                case Ping(number):
                    # A page that does not read waits here, so its pings do not pile up.
                    at_ns = time.perf_counter_ns() - self._simulation.origin_ns
                    await self._control.send(messages.pong_text(number, at_ns))
                case Acknowledgement(number):
                    self._acknowledge(number)
                case Command() as command:
                    if self._commands is None:
                        raise MessageError("this page may not control the simulation")
                    self._commands.send(command)

    def _acknowledge(self, number: int) -> None:
        try:
            self._credit.acknowledged(number, time.perf_counter_ns())
        except ValueError as error:
            raise MessageError(str(error)) from error
        self._stream_news.set()

    async def _refuse_stream(self) -> None:
        async for _ in self._stream:
            raise MessageError("after its hello, a page sends nothing on the stream")
