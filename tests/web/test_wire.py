"""The decoder of the page against the messages that the server encodes, and against damaged ones."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np
import pytest

from tests.relay.stream.lean_cases import random_bodies
from tests.web.in_node import run_in_node
from twixt import Box, Camera, Scene, Sphere
from twixt.ipc.scene.scene import packed_scene
from twixt.ipc.snapshot import HEAD, MARK, Head, new_bodies
from twixt.relay.stream.lean import LeanDecoder, LeanEncoder
from twixt.relay.stream.messages import (
    HEADER,
    LEAN,
    Column,
    columns_payload,
    content_payload,
    padded,
    scene_payload,
    snapshot_payload,
)

# Beyond 2^53 ns, as the clock of a machine that runs for 200 days.
LATE_NS = 1 << 54
ORIGIN_NS = LATE_NS - 1000
COLUMNS = [
    {"name": "scale3", "dtype": "<f4", "width": 3, "per": "body"},
    {"name": "frame", "dtype": "<i2", "width": 1, "per": "part"},
    {"name": "score", "dtype": "<i8", "width": 1, "per": "world"},
]
SCRIPT = """
const {Decoder} = await import(WEB + "wire.js");
const plain = (value) =>
  value instanceof Map ? Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]))
  : ArrayBuffer.isView(value) ? Array.from(value, plain)
  : typeof value === "bigint" ? String(value)
  : typeof value === "number" && !Number.isFinite(value) ? String(value)
  : Array.isArray(value) ? value.map(plain)
  : value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]))
  : value;
const decoder = new Decoder();
answer(given.map((text) => {
  const bytes = Buffer.from(text, "base64");
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  try {
    const message = decoder.decode(buffer);
    if (message.snapshot) message.isView = message.snapshot.words.buffer === buffer;
    return plain(message);
  } catch (error) {
    return {error: error.message};
  }
}));
"""


def decoded(messages: list[bytes]) -> list[Any]:
    return run_in_node(SCRIPT, [base64.b64encode(message).decode() for message in messages])


def prefix(kind: int, number: int, codec: int = 0, layout: int = 0) -> bytes:
    return HEADER.pack(kind, codec, layout, number)


def columns_message(number: int, layout: int, columns: list[dict[str, Any]]) -> bytes:
    return columns_payload(layout, [Column(**column) for column in columns]).numbered(number)


def snapshot(number: int, bodies: np.ndarray, layout: int = 0, *blocks: bytes, **head: Any) -> bytes:
    marks, *columns = blocks or [b""]
    payload = snapshot_payload(Head(count=len(bodies), **head), bodies.tobytes(), marks, columns, layout, ORIGIN_NS)
    return payload.numbered(number)


def test_a_snapshot_has_the_fields_records_and_columns_that_were_sent() -> None:
    bodies = new_bodies(3)
    bodies["position"] = np.arange(9).reshape(3, 3)
    bodies["epoch"] = 0x1_0002
    marks = np.zeros(2, MARK)
    marks["key"] = 7
    scale3, frame, score = np.arange(9, dtype="<f4"), np.array([-1, 2, 3, 4, -5], "<i2"), np.array([-(1 << 60)])
    fields: dict[str, Any] = dict(
        tick=5, sim_time_ns=LATE_NS + 1, due_ns=LATE_NS - 1003, published_ns=LATE_NS + 1, rate=0.25, dt_ns=10, step_cost_ns=11,
        world_epoch=2, scene_version=4, plan_number=6, marks=2, parts=5,
    )  # fmt: skip
    blocks = [array.tobytes() for array in (marks, scale3, frame, score)]
    first, answer, later = decoded([
        columns_message(1, 9, COLUMNS),
        snapshot(2, bodies, 9, *blocks, **fields),
        snapshot(3, bodies, 9, *blocks, **(fields | {"sim_time_ns": LATE_NS + 5})),
    ])  # fmt: skip
    assert first == {"kind": "columns", "number": 1, "layout": 9, "columns": COLUMNS}
    assert (answer["kind"], answer["number"], answer["isView"]) == ("snapshot", 2, True)
    got = answer["snapshot"]
    expected = dict(
        tick=5, simNs=0, dueNs=-3, publishedNs=1001, rate=0.25, dtNs=10, stepCostNs=11, worldEpoch=2,
        count=3, sceneVersion=4, planNumber=6, marks=2, vertices=0, parts=5,
    )  # fmt: skip
    assert {name: got[name] for name in expected} == expected
    assert later["snapshot"]["simNs"] == 4
    assert got["words"] == bodies.view("<u4").tolist()
    assert got["floats"][:3] == [0, 1, 2]
    assert got["floats"][16:19] == [3, 4, 5]
    assert got["markWords"] == marks.view("<u4").tolist()
    assert got["columns"] == {
        "scale3": {"per": "body", "dtype": "<f4", "width": 3, "values": scale3.tolist()},
        "frame": {"per": "part", "dtype": "<i2", "width": 1, "values": frame.tolist()},
        "score": {"per": "world", "dtype": "<i8", "width": 1, "values": [str(-(1 << 60))]},
    }


def test_lean_snapshots_have_the_records_of_the_reference_and_their_columns() -> None:
    encoder, reference = LeanEncoder(), LeanDecoder()
    bodies = random_bodies(300)
    marks, score = np.zeros(1, MARK), np.array([7], "<i8")
    messages, expected, known = [columns_message(1, 9, COLUMNS[2:])], [], 0
    for number in range(2, 5):
        bodies["position"] += np.float32(0.1)
        bodies["color"][number] = number
        encoder.encode(bodies)
        if number != 3:  # the server may leave out any snapshot
            block = encoder.block(known)
            known = encoder.version
            head = Head(count=300, marks=1)
            columns = [score.tobytes()]
            messages.append(snapshot_payload(head, block, marks.tobytes(), columns, 9, 0, LEAN).numbered(number))
            expected.append(reference.decode(block).view("<u4").tolist())
    answers = decoded([*messages, snapshot_payload(Head(count=299), block, b"", [], 9, 0, LEAN).numbered(5)])
    for answer, words in zip(answers[1:3], expected, strict=True):
        assert answer["snapshot"]["words"] == words
        assert answer["snapshot"]["columns"]["score"]["values"] == ["7"]
    assert "a lean block of 300 bodies" in answers[3]["error"]


def test_a_scene_has_its_tables_and_indices_and_a_content_its_piece() -> None:
    scene = Scene([Sphere(0.1), Box((1, 1, 1)), Sphere(0.1)], camera=Camera(eye=(3, 2, 1)), parents={2: 0})
    tables = packed_scene(scene).tables
    digest = bytes(range(16))
    answer, content = decoded([
        scene_payload(3, 4, tables).numbered(1),
        content_payload(padded(digest), 10, 16, b"abcdef").numbered(2),
    ])  # fmt: skip
    assert (answer["kind"], answer["version"], answer["cameraVersion"]) == ("scene", 3, 4)
    assert answer["head"] == json.loads(tables.partition(b"\n")[0])
    assert answer["shapeIndex"] == [0, 1, 0]
    assert answer["indices"] == [2, 0]
    assert content == {
        "kind": "content", "number": 2, "digest": digest.hex(), "offset": 10, "size": 16, "bytes": list(b"abcdef"),
    }  # fmt: skip


@pytest.fixture(scope="module")
def answers_to_damage() -> dict[str, str]:
    whole = snapshot(1, new_bodies(2), 1)
    torn = np.zeros(1, HEAD)
    torn["count"] = -1
    negative = prefix(4, 1, layout=1) + torn.tobytes()
    messages = {
        "empty": b"",
        "short": whole[:7],
        "head cut off": whole[:100],
        "bodies cut off": whole[:-8],
        "too long": whole + bytes(8),
        "unknown layout": snapshot(1, new_bodies(2), 2),
        "unknown codec": prefix(4, 1, codec=9, layout=1) + whole[8:],
        "unknown kind": prefix(77, 1),
        "negative count": negative,
        "huge marks": snapshot(1, new_bodies(2), 1, marks=1 << 40),
        "vertices without records": snapshot(1, new_bodies(2), 1, vertices=3),
        "rate is NaN": snapshot(1, new_bodies(2), 1, rate=np.nan),
        "columns are no JSON": prefix(1, 1, layout=3) + b"{",
        "columns are null": prefix(1, 1, layout=3) + b"null",
        "column of an unknown dtype": columns_message(1, 3, [COLUMNS[0] | {"dtype": "<c8"}]),
        "column is null": prefix(1, 1, layout=3) + b'{"columns": [null]}',
        "scene without tables": prefix(2, 1) + bytes(8),
        "scene without lengths": prefix(2, 1) + bytes(8) + b"{}\n",
        "scene of too many bodies": prefix(2, 1) + bytes(8) + b'{"bodies": 1e9, "parents": 0, "members": []}\n',
        "content cut off": prefix(3, 1) + bytes(20),
        "content beyond its size": prefix(3, 1) + bytes(32) + struct.pack("<II", 5, 6) + b"ab",
    }
    known, *answers = decoded([columns_message(1, 1, []), *messages.values()])
    assert known["columns"] == []
    return {name: answer.get("error", "none") for name, answer in zip(messages, answers, strict=True)}


def test_damaged_messages_raise_an_error_that_says_so(answers_to_damage: dict[str, str]) -> None:
    assert [name for name, error in answers_to_damage.items() if "is damaged" not in error] == []
