"""The server: one port for the page and for the two WebSockets of each page.

Always: before the hello, a client costs a connection and at most `MOST_OPENING_BYTES` bytes. Of clients that have not
said hello yet, only the newest `MOST_OPENING` are kept. Nothing of a request is logged, because it may contain secrets.
"""

from __future__ import annotations

import asyncio
import http
import logging
import socket
import ssl
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from websockets.asyncio.server import Server as WebSocketServer
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers, MultipleValuesError
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

import twixt
from twixt.ipc.process.notices import print_current_exception
from twixt.relay.serve.access import Access
from twixt.relay.serve.connection import CountedListener, Opening, PageConnection, number_of
from twixt.relay.serve.controller import Controller
from twixt.relay.serve.pages import Answer, Pages, last_component
from twixt.relay.serve.simulation import Simulation
from twixt.relay.serve.viewer import Viewer
from twixt.relay.stream import messages
from twixt.relay.stream.messages import MOST_BYTES, ROLES, Hello, MessageError
from twixt.relay.stream.presentation import Presentation

# Largest number of pages.
MOST_VIEWERS = 32
# Number of nonces that are remembered.
MOST_NONCES = 4096
# Longest wait for the hello, and for the other connection of a pair, in seconds.
HELLO_S = 10.0
# Interval of WebSocket pings, and longest wait for their answer, in seconds.
PING_S = 20.0
# Longest wait for the end of a connection that the server closes, in seconds.
CLOSE_S = 2.0
SOCKET_NAME = "ws"
# Code of a connection that an error of the server ends (RFC 6455).
FAULT = 1011


class _Half(NamedTuple):
    """A connection that waits for the other one of its pair. done: set when the pair is over."""

    connection: PageConnection
    hello: Hello
    done: asyncio.Event


class Server:
    """Serves the simulation to pages. may_control: True if pages may control the simulation. options: settings with
    which a page begins."""

    def __init__(
        self, simulation: Simulation, access: Access, pages: Pages, may_control: bool,
        options: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self._options = options
        self._simulation, self._access, self._pages = simulation, access, pages
        self._controllers: set[Controller] | None = set() if may_control else None
        self._viewers: dict[Viewer, None] = {}  # the one that is open longest first
        self._presentation = Presentation(self._tell_presented)
        self._halves: dict[str, _Half] = {}
        self._nonces: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._opening: Opening = OrderedDict()

    @property
    def is_hungry(self) -> bool:
        """True if a page waits for a snapshot."""
        return any(viewer.is_hungry for viewer in self._viewers)

    @property
    def lead_ns(self) -> int:
        """Largest lead that a page on the loopback needs, in ns; 0 if there is none."""
        return max((viewer.lead_ns for viewer in self._viewers), default=0)

    def on_news(self) -> None:
        """Tells all pages that something new was received."""
        for viewer in self._viewers:
            viewer.wake()

    def _tell_presented(self) -> None:
        for viewer in self._viewers:
            viewer.wake_control()

    def picture_page(self) -> Viewer | None:
        """The page that makes screenshots: of the visible ones one that controls, else the one that is open longest."""
        visible = [viewer for viewer in self._viewers if viewer.is_visible]
        return max(visible, key=lambda viewer: viewer.is_controlling, default=None)

    async def listen(self, listening: socket.socket, tls: ssl.SSLContext | None) -> WebSocketServer:
        """Begins to serve on a listening socket, which the server closes."""
        opening, answer = self._opening, self._answer

        class Connection(PageConnection):
            OPENING = opening
            ANSWER = staticmethod(answer)

        return await serve(
            self._handle,
            sock=CountedListener(listening, opening),
            ssl=tls,
            compression=None,
            process_request=lambda _connection, request: answer(request),
            server_header=None,
            open_timeout=HELLO_S,
            ping_interval=PING_S,
            ping_timeout=PING_S,
            close_timeout=CLOSE_S,
            max_size=MOST_BYTES,
            max_queue=4,
            create_connection=Connection,
            logger=_silent_logger(),
        )

    async def close(self, code: int, reason: str) -> None:
        """Closes the connections of all pages."""
        await asyncio.gather(*(viewer.close(code, reason) for viewer in self._viewers))

    def _answer(self, request: Request) -> Response | None:
        """Answers a request for a file of the page; returns None for a WebSocket that may open."""
        try:
            host, origin = request.headers.get("Host"), request.headers.get("Origin")
        except MultipleValuesError:
            host = origin = None
        if not self._access.is_host(host):
            return _response(
                self._pages.refusal(
                    http.HTTPStatus.FORBIDDEN,
                    "this host name is not allowed; use the printed link, or start twixt serve with --allow-host NAME",
                )
            )
        if last_component(request.path) != SOCKET_NAME:
            headers = {name.lower(): value for name, value in request.headers.raw_items()}
            return _response(self._pages.answer(getattr(request, "method", "GET"), request.path, headers))
        assert host is not None
        if not self._access.is_origin(origin, host):
            return _response(
                self._pages.refusal(
                    http.HTTPStatus.FORBIDDEN,
                    "this origin is not allowed; start twixt serve with --allow-origin ORIGIN",
                )
            )
        return None

    async def _handle(self, connection: ServerConnection) -> None:
        assert isinstance(connection, PageConnection)
        try:
            try:
                hello = await self._hello(connection)
                await self._pair(connection, hello)
            except MessageError as error:
                await connection.close(error.code, messages.reason_of(str(error)))
        except ConnectionClosed:
            pass
        except Exception:
            print_current_exception()
            await connection.close(FAULT, "the server failed")

    async def _hello(self, connection: PageConnection) -> Hello:
        """Receives and checks the hello, and sends the welcome."""
        try:
            message = await asyncio.wait_for(connection.recv(), HELLO_S)
        except TimeoutError:
            raise MessageError(f"no hello within {HELLO_S:g} s", messages.LATE_HELLO) from None
        if not self._access.is_token(messages.token_of(message)):
            raise MessageError("the token is wrong; use the printed link", messages.WRONG_TOKEN)
        hello = messages.read_hello(message)
        key = (hello.role, hello.nonce)
        if key in self._nonces:
            raise MessageError("the nonce was used before", messages.USED_NONCE)
        self._nonces[key] = None
        if len(self._nonces) > MOST_NONCES:
            self._nonces.popitem(last=False)
        if hello.nonce not in self._halves and len(self._viewers) + len(self._halves) >= MOST_VIEWERS:
            raise MessageError(f"there are {MOST_VIEWERS} viewers already", messages.TOO_MANY)
        self._opening.pop(number_of(connection.transport), None)
        name, may_control = self._simulation.name, self._controllers is not None
        origin_ns = self._simulation.origin_ns
        await connection.send(messages.welcome_text(twixt.__version__, name, may_control, origin_ns, self._options))
        return hello

    async def _pair(self, connection: PageConnection, hello: Hello) -> None:
        """Waits for the other connection of the pair, then serves the page until the pair is over."""
        other = self._halves.pop(hello.nonce, None)
        if other is None:
            await self._wait_for_other(_Half(connection, hello, asyncio.Event()))
            return
        pair = {hello.role: _Half(connection, hello, other.done), other.hello.role: other}
        stream, control = (pair[role] for role in ROLES)
        viewer = Viewer(
            self._simulation, stream.connection, control.connection, stream.hello, self._controllers, self._presentation
        )
        self._viewers[viewer] = None
        try:
            await viewer.run()
        finally:
            del self._viewers[viewer]
            other.done.set()

    async def _wait_for_other(self, half: _Half) -> None:
        nonce = half.hello.nonce
        self._halves[nonce] = half
        closed = asyncio.ensure_future(half.connection.wait_closed())
        try:
            await asyncio.wait([closed], timeout=HELLO_S)
            if self._halves.get(nonce) is half and not closed.done():
                raise MessageError("the other connection did not come", messages.LATE_HELLO)
            if self._halves.get(nonce) is not half:
                await half.done.wait()
        finally:
            closed.cancel()
            if self._halves.get(nonce) is half:
                del self._halves[nonce]


def _response(answer: Answer) -> Response:
    return Response(answer.status.value, answer.status.phrase, Headers(answer.headers), answer.body)


def _silent_logger() -> logging.Logger:
    """A logger that drops everything. Messages of the library contain headers of requests."""
    logger = logging.Logger("twixt.serve")
    logger.addHandler(logging.NullHandler())
    logger.disabled = True
    return logger
