"""Messages between the server and the page, as docs/wire.md defines them: encodes those of the server, decodes and
checks those of the page.

Always: a message of the page that breaks a rule raises MessageError with the code that closes its connection. No
instant leaves the server except relative to an origin, so that it is exact in a double.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, NamedTuple

from twixt.ipc.commands import Command, CommandError
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.events import ActionError, Look, Pull, UserAction, UserEvent
from twixt.ipc.plan import Plan
from twixt.ipc.ring.layout import HEAD_PACKING
from twixt.ipc.scene import Camera
from twixt.ipc.snapshot import HEAD, Head

PROTOCOL = 1
STREAM, CONTROL = ROLES = ("stream", "control")
# Kinds of messages on the stream, and codecs of snapshots.
COLUMNS, SCENE, CONTENT, SNAPSHOT, OVERLAY = 1, 2, 3, 4, 5
FULL, LEAN = 0, 1
# Codes with which the server closes a WebSocket.
INVALID, WRONG_TOKEN, LATE_HELLO, OTHER_PROTOCOL, SERVER_ENDED, OTHER_CLOSED, USED_NONCE, TOO_MANY = (
    4400, 4401, 4408, 4409, 4410, 4411, 4413, 4429,
)  # fmt: skip

HEADER = struct.Struct("<BBHI")
VERSIONS = struct.Struct("<II")
PIECE = struct.Struct("<32sII")
OVERLAY_PIECE = struct.Struct("<II")
DIGEST_BYTES = 32
# Largest number of bytes of a content in one message. A larger message would hold up the snapshots behind it.
PIECE_BYTES = 256 << 10
# Largest message of a page, in bytes.
MOST_BYTES = 4096
# Bytes of a picture in one message of a page.
PICTURE_PIECE_BYTES = 4096
# Longest reason of a closed connection, in bytes (RFC 6455).
MOST_REASON = 123
# Largest whole number of a page. Above it, a double is not exact.
MOST_WHOLE = 1 << 53
# Largest coordinate or length of a presented camera, in m. A page zooms out to 1e13.
MOST_M = 1e15
# Blocks of a snapshot begin at multiples of this number of bytes.
ALIGNED = 8
# Commands that a page may send. It cannot end the simulation, and it cannot inject trouble.
PAGE_COMMANDS = ("pause", "resume", "step", "time_scale", "reset", "control")
# Actions of a page's user, by their kinds.
ACTIONS: dict[str, type[UserAction]] = {each.KIND: each for each in (UserEvent, Pull, Look)}
WHOLE = re.compile(r"-?[0-9]{1,19}")
NONCE = re.compile(r"[0-9a-f]{32}")
# Digests are bytes in hexadecimal digits.
DIGEST = re.compile(rf"(?:[0-9a-f]{{2}}){{1,{DIGEST_BYTES}}}")


class MessageError(TwixtError):
    """A message of a page breaks a rule. code: code with which the server closes the connection."""

    def __init__(self, message: str, code: int = INVALID) -> None:
        super().__init__(message)
        self.code = code


class Payload(NamedTuple):
    """A message of the stream without its number, which differs between connections. content: the bytes after the
    header."""

    kind: int
    content: bytes
    codec: int = 0
    layout: int = 0

    def numbered(self, number: int) -> bytes:
        """The message with this number."""
        return HEADER.pack(self.kind, self.codec, self.layout, number) + self.content


class Column(NamedTuple):
    """Form of a column. dtype: as numpy writes it, such as "<f4". per: "body", "part" or "world"."""

    name: str
    dtype: str
    width: int
    per: str


def columns_payload(layout: int, columns: Sequence[Column]) -> Payload:
    """Payload that describes the columns of snapshots with this layout."""
    return Payload(COLUMNS, _json({"columns": [one._asdict() for one in columns]}), layout=layout)


def scene_payload(version: int, camera_version: int, tables: bytes) -> Payload:
    """Payload of a scene. tables: `PackedScene.tables`."""
    return Payload(SCENE, VERSIONS.pack(version, camera_version) + tables)


def content_payload(digest: bytes, offset: int, size: int, piece: bytes) -> Payload:
    """Payload of a piece of a content. offset: place of the piece in the content. size: of the whole content. Both are
    in bytes."""
    return Payload(CONTENT, PIECE.pack(digest, offset, size) + piece)


def overlay_payload(sort: int, offset: int, size: int, piece: bytes) -> Payload:
    """Payload of a piece of an overlay. sort: 0 images, 1 figures, 2 plots. offset: place of the piece in the overlay.
    size: of the whole overlay. Both are in bytes."""
    return Payload(OVERLAY, OVERLAY_PIECE.pack(offset, size) + piece, sort)


def snapshot_payload(
    head: Head, bodies: bytes | memoryview, marks: bytes | memoryview, columns: Sequence[bytes | memoryview],
    layout: int, origin_ns: int, codec: int = FULL,
) -> Payload:  # fmt: skip
    """Payload of a snapshot. bodies: bytes of the records, or a block of the lean codec. marks: bytes of the records.
    columns: bytes of the columns in the order of their layout. origin_ns: instant of the server's clock from which its
    instants count."""
    blocks = [head_bytes(head, origin_ns), bodies, marks]
    for column in columns:
        blocks += column, bytes(-len(column) % ALIGNED)
    return Payload(SNAPSHOT, b"".join(blocks), codec, layout)


def head_bytes(head: Head, origin_ns: int) -> bytes:
    """The 128 bytes of `HEAD`, with instants since the origin."""
    head = head._replace(due_ns=head.due_ns - origin_ns, published_ns=head.published_ns - origin_ns)
    return HEAD_PACKING.pack(*head).ljust(HEAD.itemsize, b"\0")


def welcome_text(version: str, name: str, may_control: bool, origin_ns: int, options: Mapping[str, Any]) -> str:
    """The server's first message on each connection. options: settings with which the page begins."""
    return _text("welcome", protocol=PROTOCOL, version=version, name=name, may_control=may_control,
                 origin_ns=str(origin_ns), options=dict(options))  # fmt: skip


def pong_text(ping_id: int, at_ns: int) -> str:
    """Answer to a ping. at_ns: instant of the answer, since the origin."""
    return _text("pong", id=ping_id, at_ns=at_ns)


def plan_text(plan: Plan, origin_ns: int) -> str:
    """Message of a plan."""
    fields = plan._asdict() | {"wall_ns": plan.wall_ns - origin_ns, "sim_time_ns": str(plan.sim_time_ns)}
    return _text("plan", **fields)


def camera_text(version: int, camera: Camera | None) -> str:
    """Message of a camera that the program has moved. None stands for a view of all bodies."""
    return _text("camera", version=version, camera=None if camera is None else asdict(camera))


def status_text(status: Mapping[str, Any]) -> str:
    """Message of the simulation's status. Numbers that are not finite become null, because JSON has none."""
    return _text("status", status=status)


def end_text(end: str, message: str) -> str:
    """Message of the simulation's end. end: a kind of `ipc.session.link.Ended`, or "waiting"."""
    return _text("end", end=end, message=message)


def refused_text(name: str, reason: str) -> str:
    """Message that a command of the page was not sent to the simulation."""
    return _text("refused", name=name, reason=reason)


def presented_text(camera: Camera | None, at_ns: int, begun: int) -> str:
    """Message of the camera that another page presents; None if no page does. at_ns: its instant, since the origin.
    begun: number of presentations that have begun so far."""
    return _text("presented", camera=None if camera is None else asdict(camera), at_ns=at_ns, begun=begun)


def picture_text(number: int, tick: int, has_panels: bool) -> str:
    """Request for a picture of the first state whose tick is not below `tick`."""
    return _text("picture", number=number, tick=tick, has_panels=has_panels)


def more_text(number: int, count: int) -> str:
    """Request for the next bytes of a picture."""
    return _text("more", number=number, count=count)


class Hello(NamedTuple):
    """First message of a connection. have: padded digests of the contents that the page has. takes_lean: True if the
    page decodes lean snapshots."""

    role: str
    token: str
    nonce: str
    have: frozenset[bytes]
    takes_lean: bool = False


class Ping(NamedTuple):
    """Request for a pong with the same id. lead_ns: lead that the page needs, in ns; 0 if it tells none."""

    id: int
    lead_ns: int = 0


class Acknowledgement(NamedTuple):
    """Acknowledges all messages of the stream up to this number."""

    number: int


class Shown(NamedTuple):
    """A camera that the page presents; None if it ends its presentation. at_ns: its instant, since the origin. begins:
    True for the first one of a presentation."""

    camera: Camera | None
    at_ns: int
    begins: bool


class Taken(NamedTuple):
    """Confirms all pieces of overlays up to this number."""

    number: int


class Picture(NamedTuple):
    """Answer to a request for a picture. tick: of the drawn state. size: of the PNG file, in bytes; 0 if the page could
    not make it, and `error` is the reason."""

    number: int
    tick: int
    size: int
    error: str


def read_hello(message: str | bytes) -> Hello:
    """Decodes and checks the first message of a connection. Raises MessageError."""
    fields = _fields(message)
    if fields.get("kind") != "hello" or not isinstance(fields.get("token"), str):
        raise MessageError("the first message of a connection must be a hello with a token")
    if fields.get("protocol") != PROTOCOL:
        raise MessageError(f"this server needs protocol {PROTOCOL}; load the page again", OTHER_PROTOCOL)
    role, nonce, have = fields.get("role"), fields.get("nonce"), fields.get("have", [])
    if role not in ROLES:
        raise MessageError(f"the role of a connection must be one of {', '.join(ROLES)}")
    if not (isinstance(nonce, str) and NONCE.fullmatch(nonce)):
        raise MessageError("a nonce must have 32 hexadecimal digits")
    if not (isinstance(have, list) and all(isinstance(one, str) and DIGEST.fullmatch(one) for one in have)):
        raise MessageError("the contents that a page has must be a list of digests")
    digests = frozenset(padded(bytes.fromhex(one)) for one in have)
    return Hello(role, fields["token"], nonce, digests, fields.get("lean") is True)


def token_of(message: str | bytes) -> str:
    """Token of a first message; "" if it has none. It is compared before anything else is checked."""
    try:
        token = _fields(message).get("token")
    except MessageError:
        return ""
    return token if isinstance(token, str) else ""


def read_control(message: str) -> Ping | Acknowledgement | Taken | Picture | Command | UserAction | Shown:
    """Decodes and checks a later message on the control connection. Raises MessageError."""
    fields = _fields(message)
    match fields.pop("kind", None):
        case "ping":
            return Ping(_whole(fields, "id"), _whole(fields, "lead_ns") if "lead_ns" in fields else 0)
        case "ack":
            return Acknowledgement(_whole(fields, "number"))
        case "took":
            return Taken(_whole(fields, "number"))
        case "picture":
            error = fields.get("error", "")
            tick, size = _whole(fields, "tick"), _whole(fields, "size")
            return Picture(_whole(fields, "number"), tick, size, error if isinstance(error, str) else "")
        case "command":
            return _command(fields)
        case "action":
            return _shown(fields) if fields.get("action") == "present" else _action(fields)
    raise MessageError("a message must be a ping, an acknowledgement, a picture, a command or an action")


def reason_of(text: str) -> str:
    """The text, as it fits into the reason of a closed WebSocket."""
    return text.encode("ascii", "replace")[:MOST_REASON].decode()


def padded(digest: bytes) -> bytes:
    """A digest with the length that digests have on the wire."""
    return digest.ljust(DIGEST_BYTES, b"\0")


def _command(fields: dict[str, Any]) -> Command:
    name, value = fields.get("name"), fields.get("value")
    if name not in PAGE_COMMANDS:
        raise MessageError(f"a command of a page must be one of {', '.join(PAGE_COMMANDS)}")
    try:
        return Command(name, value)
    except CommandError as error:
        raise MessageError(str(error)) from error


def _action(fields: dict[str, Any]) -> UserAction:
    kind, values = fields.get("action"), fields.get("fields")
    if not isinstance(kind, str) or kind not in ACTIONS or not isinstance(values, dict):
        raise MessageError(f"an action of a page must be one of {', '.join(ACTIONS)}, present, with its fields")
    if "draw_time_ns" in values:
        if not (isinstance(values["draw_time_ns"], str) and WHOLE.fullmatch(values["draw_time_ns"])):
            raise MessageError("draw_time_ns must be a whole number, as text")
        values["draw_time_ns"] = int(values["draw_time_ns"])
    acted_ns = values.get("acted_ns", 0)
    if type(acted_ns) is not int or not -MOST_WHOLE < acted_ns < MOST_WHOLE:
        raise MessageError("acted_ns must be a whole number from -2^53 to 2^53")
    try:
        return ACTIONS[kind].from_fields(values)
    except ActionError as error:
        raise MessageError(str(error)) from error


def _shown(fields: dict[str, Any]) -> Shown:
    values = fields.get("fields")
    if not isinstance(values, dict) or not isinstance(values.get("begins"), bool):
        raise MessageError("a camera that is presented must have the field begins, which is true or false")
    given, at_ns = values.get("camera"), _whole(values, "at_ns")
    if given is None:
        return Shown(None, at_ns, values["begins"])
    try:
        camera = Camera(**given)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise MessageError(f"a camera that is presented is damaged ({str(error)[:200]})") from error
    if max(map(abs, (*camera.eye, *camera.target, *camera.up, camera.orthographic_height or 0.0))) > MOST_M:
        raise MessageError(f"the numbers of a camera that is presented must be at most {MOST_M:g}")
    return Shown(camera, at_ns, values["begins"])


def _fields(message: str | bytes) -> dict[str, Any]:
    if not isinstance(message, str):
        raise MessageError("messages of a page must be text")
    try:
        fields = json.loads(message)
    except (ValueError, RecursionError):
        raise MessageError("messages of a page must be JSON") from None
    if not isinstance(fields, dict):
        raise MessageError("messages of a page must be JSON objects")
    return fields


def _whole(fields: dict[str, Any], name: str) -> int:
    value = fields.get(name)
    if type(value) is not int or not 0 <= value < MOST_WHOLE:
        raise MessageError(f"{name} must be a whole number from 0 to 2^53")
    return value


def _text(kind: str, **fields: Any) -> str:
    return _json({"kind": kind, **fields}).decode()


def _json(fields: dict[str, Any]) -> bytes:
    try:
        return json.dumps(fields, allow_nan=False, default=_plain).encode()
    except ValueError:
        return json.dumps(_finite(fields), allow_nan=False).encode()


def _plain(value: Any) -> Any:
    """Value of an object that JSON does not have."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _finite(value: Any) -> Any:
    """The value with None in the place of numbers that are not finite."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return _finite(_plain(value)) if is_dataclass(value) else value
