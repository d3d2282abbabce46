"""Messages between server and page: what is sent is exact, and what is not as the wire says is refused with its code."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.relay.page import decoded, hello
from twixt.ipc.interaction.overlay import OverlayText
from twixt.ipc.plan import Plan
from twixt.ipc.snapshot import MARK, Head, new_bodies
from twixt.relay.stream import messages
from twixt.relay.stream.messages import (
    CONTROL,
    INVALID,
    OTHER_PROTOCOL,
    STREAM,
    Acknowledgement,
    Column,
    Command,
    MessageError,
    Ping,
)  # fmt: skip

NONCE = "0123456789abcdef" * 2
# An instant of a clock that has run for years: not exact in a double.
LATE_NS = (1 << 53) + 12_345


def test_a_snapshot_arrives_as_it_was_with_instants_since_the_origin() -> None:
    bodies, marks = new_bodies(3), np.zeros(2, MARK)
    bodies["position"], marks["key"] = [(1, 2, 3), (4, 5, 6), (7, 8, 9)], (5, 6)
    stretch, seen = np.arange(9, dtype="<f4").reshape(3, 3), np.array([1, 0, 1, 1, 0], "|b1")
    columns = (Column("scale3", "<f4", 3, "body"), Column("visible", "|b1", 1, "part"))
    head = Head(tick=7, sim_time_ns=LATE_NS, due_ns=LATE_NS + 5, published_ns=LATE_NS - 4, count=3, marks=2, parts=5)
    payload = messages.snapshot_payload(
        head, bodies.tobytes(), marks.tobytes(), [stretch.tobytes(), seen.tobytes()], 2, LATE_NS
    )
    received = decoded(payload.numbered(9))
    assert received[:4] == (messages.SNAPSHOT, messages.FULL, 2, 9)
    assert {name: int(received.head[name]) for name in ("tick", "due_ns", "published_ns", "sim_time_ns")} == {
        "tick": 7, "due_ns": 5, "published_ns": -4, "sim_time_ns": LATE_NS,
    }  # fmt: skip
    assert received.bodies.tobytes() == bodies.tobytes()
    assert received.content[128 + 3 * 64 :][: 2 * 64] == marks.tobytes()
    values = received.values([one._asdict() for one in columns])
    assert np.array_equal(values["scale3"], stretch)
    assert np.array_equal(values["visible"][:, 0], seen)
    assert decoded(messages.columns_payload(2, columns).numbered(1)).columns == [one._asdict() for one in columns]


def test_a_plan_is_exact_in_a_double_however_long_the_clock_has_run() -> None:
    plan = json.loads(messages.plan_text(Plan(3, 1, LATE_NS + 7, LATE_NS, 0.5), LATE_NS))
    expected = {"number": 3, "world_epoch": 1, "wall_ns": 7, "sim_time_ns": str(LATE_NS), "rate": 0.5}
    assert plan == {"kind": "plan", **expected}


def test_a_status_without_finite_numbers_is_still_json() -> None:
    status = {"diagnostics": {"energy": float("nan"), "mass": 2.0}, "texts": (OverlayText("top", "hi", ""),)}
    sent = json.loads(messages.status_text(status), parse_constant=pytest.fail)["status"]
    assert sent["diagnostics"] == {"energy": None, "mass": 2.0}
    assert sent["texts"][0]["text"] == "hi"


def test_a_hello_is_read() -> None:
    read = messages.read_hello(hello(STREAM, "secret", NONCE, have=["ab" * 16]))
    assert (read.role, read.token, read.nonce) == (STREAM, "secret", NONCE)
    assert read.have == {bytes.fromhex("ab" * 16) + bytes(16)}
    assert messages.token_of(hello(CONTROL, "secret")) == "secret"
    assert messages.token_of("[1]") == messages.token_of('{"token": 5}') == ""


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"protocol": 2}, OTHER_PROTOCOL),
        ({"protocol": "1"}, OTHER_PROTOCOL),
        ({"kind": "hallo"}, INVALID),
        ({"token": None}, INVALID),
        ({"role": "both"}, INVALID),
        ({"role": ["stream"]}, INVALID),
        ({"nonce": NONCE[1:]}, INVALID),
        ({"nonce": NONCE.upper()}, INVALID),
        ({"nonce": 5}, INVALID),
        ({"have": "ab"}, INVALID),
        ({"have": ["a"]}, INVALID),
        ({"have": ["ab" * 33]}, INVALID),
        ({"have": [5]}, INVALID),
    ],
)
def test_a_wrong_hello_is_refused_with_its_code(changes: dict[str, Any], code: int) -> None:
    with pytest.raises(MessageError) as error:
        messages.read_hello(hello(STREAM, "secret", **{"nonce": NONCE, **changes}))
    assert error.value.code == code


def test_pings_acknowledgements_and_commands_are_read() -> None:
    assert messages.read_control('{"kind": "ping", "id": 5}') == Ping(5)
    assert messages.read_control('{"kind": "ping", "id": 6, "lead_ns": 18000000}') == Ping(6, 18_000_000)
    assert messages.read_control('{"kind": "ack", "number": 17}') == Acknowledgement(17)
    command = messages.read_control('{"kind": "command", "name": "control", "value": [2, 0.5]}')
    assert command == Command("control", [2, 0.5])


@pytest.mark.parametrize(
    "text",
    [
        b"bytes", "", "nonsense", "[1, 2]", "5", "{", "[" * 3000, '{"kind": ["ping"]}', '{"kind": "hello"}',
        '{"kind": "ping"}', '{"kind": "ping", "id": -1}', '{"kind": "ping", "id": 1.5}', '{"kind": "ping", "id": true}',
        '{"kind": "ping", "id": 9007199254740992}', '{"kind": "ack", "number": "1"}', '{"kind": "ack", "number": NaN}',
        '{"kind": "command"}', '{"kind": "command", "name": "quit"}', '{"kind": "command", "name": "stall"}',
        '{"kind": "command", "name": ["pause"]}', '{"kind": "command", "name": "pause", "value": true}',
        '{"kind": "command", "name": "time_scale", "value": Infinity}',
        '{"kind": "command", "name": "control", "value": [-1, 0]}',
        *(
            f'{{"kind": "action", "action": "present", "fields": {fields}}}'
            for fields in (
                "null", "{}", '{"begins": true}', '{"begins": 1, "at_ns": 0}', '{"begins": true, "at_ns": -1}',
                '{"begins": true, "at_ns": 1e9}', '{"begins": true, "at_ns": 0, "camera": 5}',
                '{"begins": true, "at_ns": 0, "camera": {"eye": [NaN, 0, 0]}}',
                '{"begins": true, "at_ns": 0, "camera": {"eye": [Infinity, 0, 0]}}',
                '{"begins": true, "at_ns": 0, "camera": {"eye": [1e16, 0, 0]}}',
                '{"begins": true, "at_ns": 0, "camera": {"orthographic_height": 1e300}}',
                '{"begins": true, "at_ns": 0, "camera": {"eye": [0, 0, 0]}}',
                '{"begins": true, "at_ns": 0, "camera": {"more": 1}}',
            )
        ),
    ],
)  # fmt: skip
def test_a_wrong_message_is_refused(text: str | bytes) -> None:
    with pytest.raises(MessageError) as error:
        messages.read_control(text)
    assert error.value.code == INVALID
