"""A page in Python: opens the pair of connections, and decodes what the server sends, as docs/wire.md defines it."""

from __future__ import annotations

import json
import secrets
import struct
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from twixt.ipc.session.messages import OVERLAYS
from twixt.ipc.snapshot import BODY, HEAD
from twixt.relay.stream.messages import COLUMNS, CONTENT, CONTROL, OVERLAY, PROTOCOL, SCENE, SNAPSHOT, STREAM

# What takes longer than this hangs.
PATIENCE_S = 30.0
# A page that leaves with unread messages waits this long for the end of the connection.
CLOSE_S = 0.2


class Received(NamedTuple):
    """A message of the stream, decoded."""

    kind: int
    codec: int
    layout: int
    number: int
    content: bytes

    @property
    def columns(self) -> list[dict[str, Any]]:
        assert self.kind == COLUMNS
        return json.loads(self.content)["columns"]

    @property
    def versions(self) -> tuple[int, int]:
        assert self.kind == SCENE
        return struct.unpack_from("<II", self.content)

    @property
    def tables(self) -> bytes:
        assert self.kind == SCENE
        return self.content[8:]

    @property
    def piece(self) -> tuple[bytes, int, int, bytes]:
        """Digest, offset, size of the whole content, bytes."""
        assert self.kind == CONTENT
        return *struct.unpack_from("<32sII", self.content), self.content[40:]

    @property
    def head(self) -> np.void:
        assert self.kind == SNAPSHOT
        return np.frombuffer(self.content, HEAD, 1)[0]

    @property
    def bodies(self) -> np.ndarray:
        return np.frombuffer(self.content, BODY, int(self.head["count"]), HEAD.itemsize)

    def values(self, columns: list[dict[str, Any]]) -> dict[str, np.ndarray]:
        """The columns of a snapshot."""
        head, found = self.head, {}
        offset = HEAD.itemsize + 64 * int(head["count"] + head["marks"])
        for column in columns:
            rows = {"body": head["count"], "part": head["parts"], "world": 1}[column["per"]]
            values = np.frombuffer(self.content, column["dtype"], int(rows) * column["width"], offset)
            found[column["name"]] = values.reshape(rows, -1)
            offset += -(-values.nbytes // 8) * 8
        assert offset == len(self.content)
        return found


class OverlayReader:
    """Joins pieces of overlays. images, figures, plots: the newest complete ones."""

    def __init__(self) -> None:
        self._contents = [b"", b"", b""]
        self.images: tuple[Any, ...] = ()
        self.figures: tuple[Any, ...] = ()
        self.plots: tuple[Any, ...] = ()

    def add(self, received: Received) -> str | None:
        """The sort of the overlay that this piece completes; None if it completes none."""
        assert received.kind == OVERLAY
        offset, size = struct.unpack_from("<II", received.content)
        content = self._contents[received.codec]
        assert offset == len(content)
        content = self._contents[received.codec] = content + received.content[8:]
        if len(content) < size:
            return None
        text, _, raw = content.partition(b"\n")
        self._contents[received.codec], fields = b"", json.loads(text)
        (sort,) = fields
        setattr(self, sort, OVERLAYS[sort](fields, raw))
        return sort


def decoded(message: str | bytes) -> Received:
    assert isinstance(message, bytes)
    return Received(*struct.unpack_from("<BBHI", message), message[8:])


def hello(role: str, token: str, nonce: str = "", /, **changes: Any) -> str:
    """The first message of a connection."""
    fields = {"kind": "hello", "protocol": PROTOCOL, "role": role, "token": token, "nonce": nonce, "have": []}
    return json.dumps(fields | changes)


def opened(link: str, **how: Any) -> connect:
    """A WebSocket to the server of this link."""
    address = link.partition("#")[0].replace("http", "ws", 1)
    return connect(
        f"{address}ws", compression=None, max_size=None, open_timeout=PATIENCE_S, close_timeout=CLOSE_S, **how
    )


def closed_with(connection: ClientConnection) -> int:
    """The code with which the server closes a connection."""
    while True:
        try:
            connection.recv(PATIENCE_S)
        except ConnectionClosed as closed:
            return 0 if closed.rcvd is None else closed.rcvd.code


class Page:
    """Both connections of a page. welcome: the server's first message. Changes to the hello are for both."""

    def __init__(self, link: str, how: dict[str, Any] | None = None, **changes: Any) -> None:
        token, self.nonce = link.partition("#")[2], changes.pop("nonce", None) or secrets.token_hex(16)
        self._opened = ExitStack()
        self.stream, self.control = (self._opened.enter_context(opened(link, **(how or {}))) for _ in range(2))
        self.stream.send(hello(STREAM, token, self.nonce, **changes))
        self.control.send(hello(CONTROL, token, self.nonce))
        self.welcome = json.loads(self.stream.recv(PATIENCE_S))
        assert json.loads(self.control.recv(PATIENCE_S)) == self.welcome
        self.columns: dict[int, list[dict[str, Any]]] = {}

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._opened.close()

    def receive(self, acknowledge: bool = True) -> Received:
        """The next message of the stream."""
        received = decoded(self.stream.recv(PATIENCE_S))
        if received.kind == COLUMNS:
            self.columns[received.layout] = received.columns
        if acknowledge:
            self.tell(kind="took" if received.kind == OVERLAY else "ack", number=received.number)
        return received

    def until(self, is_it: Callable[[Received], bool]) -> Received:
        """The first message of the stream of which this is true."""
        while not is_it(received := self.receive()):
            pass
        return received

    def snapshot(self) -> Received:
        return self.until(lambda received: received.kind == SNAPSHOT)

    def acknowledge(self, number: int) -> None:
        self.tell(kind="ack", number=number)

    def tell(self, **fields: Any) -> None:
        self.control.send(json.dumps(fields))

    def heard(self, kind: str, is_it: Callable[[dict[str, Any]], bool] = lambda fields: True) -> dict[str, Any]:
        """The next message of a kind on the control connection. Messages of the stream that are repeated there, because
        TCP has sent a packet again, are ignored."""
        while True:
            message = self.control.recv(PATIENCE_S)
            if isinstance(message, bytes):
                continue
            fields = json.loads(message)
            if fields["kind"] == kind and is_it(fields):
                return fields
