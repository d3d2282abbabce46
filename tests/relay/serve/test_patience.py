"""Waits of the server, shortened: for a hello, for the other connection of a pair, for the answer to a ping."""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.relay.page import hello
from twixt.relay.serve import access, connection, server
from twixt.relay.serve.access import Access
from twixt.relay.serve.pages import Pages
from twixt.relay.serve.server import Server
from twixt.relay.serve.simulation import Simulation
from twixt.relay.stream.messages import CONTROL, LATE_HELLO, STREAM

UNANSWERED = 1011


def with_server(
    folder: Path, act: Callable[[Callable[..., connect]], Awaitable[None]], tls: ssl.SSLContext | None = None
) -> None:
    """Does something with a server in this process. It is given what opens a WebSocket."""

    async def run() -> None:
        simulation = Simulation("nobody", 0)
        with access.bound("127.0.0.1", None, 0, "nobody") as listening:
            port = listening.getsockname()[1]
            made = Server(simulation, Access("secret"), Pages(str(folder)), True, {})
            opened = await made.listen(listening, tls)
            try:
                await act(lambda **how: connect(f"ws://127.0.0.1:{port}/ws", ping_interval=None, **how))
            finally:
                opened.close()
                await opened.wait_closed()

    asyncio.run(run())


async def code_of(connection: ClientConnection) -> int | None:
    """The code with which the server closes it."""
    await connection.wait_closed()
    return connection.close_code


def test_a_client_that_says_nothing_and_half_a_pair_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HELLO_S", 0.05)

    async def act(opened: Callable[[], connect]) -> None:
        async with opened() as silent, opened() as half:
            await half.send(hello(STREAM, "secret", secrets.token_hex(16)))
            assert await code_of(silent) == await code_of(half) == LATE_HELLO

    with_server(tmp_path, act)


def test_a_page_that_answers_no_ping_is_closed_and_one_that_does_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PING_S", 0.05)

    async def act(opened: Callable[[], connect]) -> None:
        nonces = [secrets.token_hex(16) for _ in range(2)]
        async with opened() as stream, opened() as control, opened() as other_stream, opened() as other_control:
            for nonce, pair in zip(nonces, ((stream, control), (other_stream, other_control)), strict=True):
                for role, connection in zip((STREAM, CONTROL), pair, strict=True):
                    await connection.send(hello(role, "secret", nonce))
                    await connection.recv()
            stream.transport.pause_reading()
            await control.wait_closed()
            stream.transport.resume_reading()
            assert await code_of(stream) == UNANSWERED
            await other_control.send('{"kind": "ping", "id": 1}')
            while '"pong"' not in str(await other_control.recv()):
                pass

    with_server(tmp_path, act)


@pytest.mark.parametrize("tls", [None, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)], ids=["plain", "tls"])
def test_connections_count_from_their_first_packet_and_the_oldest_silent_one_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext | None
) -> None:
    monkeypatch.setattr(connection, "MOST_OPENING", 2)
    monkeypatch.setattr(server, "HELLO_S", 1000.0)

    async def act(opened: Callable[..., connect]) -> None:
        address = urlsplit(opened().uri)
        silent = [await asyncio.open_connection(address.hostname, address.port) for _ in range(3)]
        reads = [asyncio.ensure_future(reader.read()) for reader, _ in silent]
        assert await reads[0] == b""
        assert [read.done() for read in reads] == [True, False, False]
        for _, writer in silent:
            writer.close()

    with_server(tmp_path, act, tls)
