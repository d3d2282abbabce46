"""Messages over the session connection."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.session import wire

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
message = st.tuples(
    st.text(min_size=1),
    st.dictionaries(st.text().filter(lambda key: key != "kind"), plain, max_size=4),
    st.binary(max_size=100),
)


def inbox(raw_limit: int = 1000) -> wire.Inbox:
    return wire.Inbox(100_000, raw_limit, 2)


@given(st.lists(message, max_size=4), st.lists(st.integers(1, 40)))
def test_messages_always_arrive_as_sent_however_the_stream_is_cut(
    messages: list[tuple[str, dict[str, Any], bytes]], cuts: list[int]
) -> None:
    stream = b"".join(wire.encode(kind, fields, raw) for kind, fields, raw in messages)
    box, arrived = inbox(), []
    for length in [*cuts, len(stream)]:
        arrived += box.feed(stream[:length])
        stream = stream[length:]
    assert [(kind, fields, raw) for kind, fields, raw, _ in arrived] == messages


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_wire_error_and_nothing_else(noise: bytes) -> None:
    for piece in (noise, wire.HEADER.pack(wire.MAGIC, wire.FORMAT, 0, len(noise), 0) + noise):
        try:
            inbox().feed(piece)
        except wire.WireError:
            pass


@given(st.lists(message, min_size=1, max_size=2), st.integers(0), st.integers(1, 255))
def test_a_damaged_byte_is_a_message_or_a_wire_error_and_nothing_else(
    messages: list[tuple[str, dict[str, Any], bytes]], where: int, change: int
) -> None:
    stream = bytearray(b"".join(wire.encode(kind, fields, raw) for kind, fields, raw in messages))
    stream[where % len(stream)] ^= change
    try:
        inbox().feed(bytes(stream))
    except wire.WireError:
        pass


@pytest.mark.parametrize(
    ("json_bytes", "raw_bytes", "descriptors"), [(100_001, 0, 0), (2, 1001, 0), (2, 0, 3), (2**32 - 1, 0, 0)]
)
def test_a_message_over_a_limit_is_refused_by_its_header_alone(
    json_bytes: int, raw_bytes: int, descriptors: int
) -> None:
    header = wire.HEADER.pack(wire.MAGIC, wire.FORMAT, descriptors, json_bytes, raw_bytes)
    with pytest.raises(
        wire.WireError,
        match=rf"^a message of {json_bytes} \+ {raw_bytes} bytes with {descriptors} descriptors exceeds the limits",
    ):
        inbox().feed(header)


def test_another_format_is_named_before_anything_else_of_it_is_read() -> None:
    with pytest.raises(wire.FormatMismatch, match=rf"format 7, this side format {wire.FORMAT}.*same version"):
        inbox().feed(wire.MAGIC + (7).to_bytes(2, "little"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"[]", r"^a message must be a JSON object with a kind \(TypeError\)$"),
        (b"{}", r"must be a JSON object with a kind \(KeyError\)"),
        (b"7", r"must be a JSON object with a kind \(AttributeError\)"),
        (b'{"kind": 7}', "^a message's kind must be text, got 7$"),
        (b'{"kind": "a"', r"must be a JSON object with a kind \(JSONDecodeError\)"),
        (b"[" * 90_000, r"must be a JSON object with a kind \(RecursionError\)"),
        (b"\xff\xfe", r"must be a JSON object with a kind \("),
        (b'{"kind": "a"}}', r"must be a JSON object with a kind \(JSONDecodeError\)"),
    ],
)
def test_what_is_no_object_with_a_kind_is_refused(text: bytes, says: str) -> None:
    with pytest.raises(wire.WireError, match=says):
        inbox().feed(wire.HEADER.pack(wire.MAGIC, wire.FORMAT, 0, len(text), 0) + text)


def test_half_a_character_arrives_as_a_question_mark_and_a_whole_one_as_itself() -> None:
    (arrived,) = inbox().feed(wire.encode("x", {"half": "a\ud83db", "whole": "a\U0001f600b"}))
    assert arrived.fields == {"half": "a?b", "whole": "a\U0001f600b"}


def test_numpy_numbers_travel_as_plain_ones() -> None:
    fields = {"a": np.float32(0.5), "b": np.arange(3), "c": np.int64(4)}
    assert inbox().feed(wire.encode("x", fields))[0].fields == {"a": 0.5, "b": [0, 1, 2], "c": 4}


def test_what_json_has_no_word_for_travels_as_text() -> None:
    assert inbox().feed(wire.encode("x", {"path": Path("a/b")}))[0].fields == {"path": "a/b"}


def test_what_no_receiver_would_take_is_not_sent() -> None:
    whole = wire.HOST_JSON_LIMIT - len('{"a": "", "kind": "x"}')
    assert wire.encode("x", {"a": "b" * whole})
    with pytest.raises(
        wire.WireError, match="^a x message must have at most 1048576 JSON bytes and .*, got 1048577 and 0$"
    ):
        wire.encode("x", {"a": "b" * (whole + 1)})
    raw = bytes(wire.HOST_RAW_LIMIT + 1)
    assert len(wire.encode("x", raw=raw[1:])) > wire.HOST_RAW_LIMIT
    with pytest.raises(wire.WireError, match="and 67108864 raw bytes, got 13 and 67108865$"):
        wire.encode("x", raw=raw)
    endless: dict[str, Any] = {}
    endless["endless"] = endless
    with pytest.raises(wire.WireError, match="^a x message must contain only JSON values"):
        wire.encode("x", endless)


@pytest.mark.parametrize("value", [True, 1.5, "1", None, 1 << 63, -(1 << 63) - 1, [1]])
def test_a_whole_number_is_of_64_bits_and_no_bool(value: object) -> None:
    with pytest.raises(wire.WireError, match="^n must be a whole number of 64 bits, got "):
        wire.whole_number(json.loads(json.dumps({"n": value})), "n")


@pytest.mark.parametrize("value", [-(1 << 63), 0, (1 << 63) - 1])
def test_every_number_of_64_bits_is_one(value: int) -> None:
    assert wire.whole_number({"n": value}, "n") == value


def test_a_number_that_is_not_there_or_endless_is_said_shortly() -> None:
    with pytest.raises(wire.WireError, match="got 'None'$"):
        wire.whole_number({}, "n")
    with pytest.raises(wire.WireError, match=f"got '{'x' * 40}'$"):
        wire.whole_number({"n": "x" * 1000}, "n")


def test_descriptors_arrive_with_their_message_and_only_there(nothing_left: None) -> None:
    ours, theirs = socket.socketpair()
    box = inbox()
    with ours, theirs:
        for content in (b"first", b"second"):
            reading, writing = os.pipe()
            os.write(writing, content)
            os.close(writing)
            assert wire.Outgoing(wire.encode("take", {}, b"", 1), [reading]).send(ours)
            assert wire.Outgoing(wire.encode("plain")).send(ours)
        arrived = []
        while messages := wire.receive(theirs, box, 2):
            arrived += messages
        assert [(message.kind, len(message.descriptors)) for message in arrived] == [("take", 1), ("plain", 0)] * 2
        assert [os.read(arrived[index].descriptors[0], 9) for index in (0, 2)] == [b"first", b"second"]
        for message in arrived:
            wire.close_all(message.descriptors)


def test_descriptors_that_no_message_took_are_closed(nothing_left: None) -> None:
    ours, theirs = socket.socketpair()
    box = inbox()
    with ours, theirs:
        whole = wire.encode("take", {}, b"", 1)
        socket.send_fds(ours, [whole[:-1]], [0])
        assert wire.receive(theirs, box, 2) == []
    box.close()


def test_descriptors_that_nobody_announced_do_not_pile_up(nothing_left: None) -> None:
    ours, theirs = socket.socketpair()
    box = inbox()
    with ours, theirs:
        for _ in range(wire.PENDING_DESCRIPTORS_LIMIT):
            socket.send_fds(ours, [wire.encode("plain")], [0])
            assert wire.receive(theirs, box, 2)
        socket.send_fds(ours, [wire.encode("plain")], [0])
        with pytest.raises(wire.WireError, match="^9 descriptors arrived that belong to no message$"):
            wire.receive(theirs, box, 2)
    box.close()


def test_an_announced_descriptor_that_did_not_come_is_an_error() -> None:
    with pytest.raises(wire.WireError, match="message must have 1 descriptors, got 0"):
        inbox().feed(wire.encode("take", {}, b"", 1))


def test_a_message_larger_than_the_socket_leaves_piece_by_piece() -> None:
    ours, theirs = socket.socketpair()
    raw = os.urandom(3_000_000)
    box, arrived = inbox(len(raw)), []
    outgoing = wire.Outgoing(wire.encode("large", {}, raw))
    with ours, theirs:
        assert not outgoing.send(ours)
        while not arrived:
            arrived = wire.receive(theirs, box) or []
            outgoing.send(ours)
    assert arrived[0].raw == raw


def test_nothing_arrived_is_not_the_end_and_the_end_is() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        assert wire.receive(theirs, inbox()) == []
        ours.close()
        assert wire.receive(theirs, inbox()) is None
