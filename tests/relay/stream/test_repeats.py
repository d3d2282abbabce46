"""Repeats of a stream, with a page that applies what comes first, on two connections that lose messages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twixt.relay.stream.repeats import LOSSY_NS, MOST_BYTES, Repeats

SMALL, LARGE = b"small", bytes(MOST_BYTES + 1)


def test_nothing_is_repeated_until_a_packet_was_lost_and_no_more_a_minute_after_it() -> None:
    repeats = Repeats()
    repeats.sent(1, SMALL)
    assert repeats.take(0, 0) == []
    repeats.sent(2, b"second")
    assert repeats.take(1, 10) == [SMALL, b"second"]
    assert repeats.take(1, 20) == []
    repeats.sent(3, SMALL)
    assert repeats.take(1, LOSSY_NS + 10) == [SMALL]
    repeats.sent(4, SMALL)
    assert repeats.take(1, LOSSY_NS + 11) == []
    assert repeats.take(2, LOSSY_NS + 12) == [SMALL]


def test_what_follows_a_large_message_is_repeated_only_after_that_is_acknowledged() -> None:
    repeats = Repeats()
    repeats.sent(1, LARGE)
    repeats.sent(2, SMALL)
    assert repeats.take(1, 0) == []
    repeats.acknowledged(1)
    assert repeats.take(1, 0) == [SMALL]
    repeats.sent(3, SMALL)
    repeats.acknowledged(3)
    assert repeats.take(1, 0) == []


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3), st.integers(0, 3))))
def test_a_message_that_is_applied_always_needs_nothing_that_is_missing(
    steps: list[tuple[bool, bool, int, int]],
) -> None:
    repeats, stream, other = Repeats(), list[int](), list[int]()
    applied = newest = 0
    for number, (is_large, is_lossy, by_stream, by_other) in enumerate(steps, 1):
        message = (LARGE if is_large else SMALL) + number.to_bytes(4, "little")
        stream.append(number)
        repeats.sent(number, message)
        other += [int.from_bytes(each[-4:], "little") for each in repeats.take(number * is_lossy, number * LOSSY_NS)]
        for way, count in ((stream, by_stream), (other, by_other)):
            arrived, way[:] = way[:count], way[count:]
            for each in arrived:
                if each > newest:
                    assert each == newest + 1
                    newest = each
        if newest > applied:
            applied = newest
            repeats.acknowledged(applied)
