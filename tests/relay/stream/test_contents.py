"""Contents of scenes in pieces: each once, complete, and none that the page has or no longer needs."""

from __future__ import annotations

import numpy as np

from tests.relay.page import decoded
from twixt.relay.stream.contents import MissingContents
from twixt.relay.stream.messages import PIECE_BYTES, padded

NUMBERS = np.random.default_rng(1)
LARGE = [NUMBERS.integers(0, 255, (PIECE_BYTES // 8, 3), np.uint8), NUMBERS.random((PIECE_BYTES // 8, 3), np.float32)]
SMALL = [np.arange(5, dtype=np.uint32)]
LARGE_DIGEST, SMALL_DIGEST = b"a" * 16, b"b" * 16


def sent(contents: MissingContents) -> dict[bytes, bytes]:
    """All that follows, by padded digest."""
    found: dict[bytes, bytes] = {}
    while contents:
        payload = contents.next_piece()
        assert payload is not None
        digest, offset, size, piece = decoded(payload.numbered(1)).piece
        assert len(found.setdefault(digest, b"")) == offset
        assert len(piece) == min(PIECE_BYTES, size - offset)
        found[digest] += piece
    return found


def bytes_of(arrays: list[np.ndarray]) -> bytes:
    return b"".join(array.tobytes() for array in arrays)


def test_pieces_make_up_the_contents() -> None:
    contents = MissingContents()
    contents.need({LARGE_DIGEST: LARGE, SMALL_DIGEST: SMALL})
    assert sent(contents) == {padded(LARGE_DIGEST): bytes_of(LARGE), padded(SMALL_DIGEST): bytes_of(SMALL)}
    assert contents.next_piece() is None


def test_what_the_page_has_or_was_sent_is_not_sent() -> None:
    contents = MissingContents([padded(LARGE_DIGEST)])
    contents.need({LARGE_DIGEST: LARGE, SMALL_DIGEST: SMALL})
    assert set(sent(contents)) == {padded(SMALL_DIGEST)}
    contents.need({SMALL_DIGEST: SMALL})
    assert not contents


def test_a_content_that_is_partly_sent_goes_on_in_the_next_scene() -> None:
    contents = MissingContents()
    contents.need({LARGE_DIGEST: LARGE})
    assert contents.next_piece() is not None
    contents.need({SMALL_DIGEST: SMALL, LARGE_DIGEST: LARGE})
    payload = contents.next_piece()
    assert payload is not None
    digest, offset, _, _ = decoded(payload.numbered(1)).piece
    assert (digest, offset) == (padded(LARGE_DIGEST), PIECE_BYTES)
    assert padded(SMALL_DIGEST) in sent(contents)


def test_the_rest_of_a_content_that_is_not_needed_any_more_is_dropped() -> None:
    contents = MissingContents()
    contents.need({LARGE_DIGEST: LARGE})
    contents.next_piece()
    contents.need({SMALL_DIGEST: SMALL})
    assert set(sent(contents)) == {padded(SMALL_DIGEST)}
    contents.need({LARGE_DIGEST: LARGE})
    assert sent(contents) == {padded(LARGE_DIGEST): bytes_of(LARGE)}
