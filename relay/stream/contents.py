"""Contents of a scene (pixels of textures, arrays of meshes) that one page does not have yet, in pieces.

Always: a content is sent once on a connection, its pieces in order. If a later scene does not need it, the rest of it
is dropped. Pure: no socket.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.relay.stream.messages import PIECE_BYTES, Payload, content_payload, padded


class _Content(NamedTuple):
    digest: bytes  # padded
    arrays: Sequence[NDArray[Any]]

    @property
    def size(self) -> int:
        """Number of bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays)

    def piece(self, offset: int) -> bytes:
        """At most PIECE_BYTES bytes from this offset."""
        parts, left = list[bytes](), PIECE_BYTES
        for array in self.arrays:
            if offset < array.nbytes:
                block = np.ascontiguousarray(array).reshape(-1).view(np.uint8)[offset : offset + left].tobytes()
                parts.append(block)
                left -= len(block)
            offset = max(0, offset - array.nbytes)
            if not left:
                break
        return b"".join(parts)


class MissingContents:
    """Contents that one page still needs. have: padded digests of those that the page has already."""

    def __init__(self, have: Iterable[bytes] = ()) -> None:
        self._sent = set(have)
        self._waiting: list[_Content] = []
        self._offset = 0  # in the first of `_waiting`

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def need(self, contents: Mapping[bytes, Sequence[NDArray[Any]]]) -> None:
        """Sets the contents of the newest scene, by digest. One that is partly sent is continued first."""
        needed = {padded(digest): arrays for digest, arrays in contents.items()}
        begun = [one for one in self._waiting[:1] if self._offset and one.digest in needed]
        if not begun:
            self._offset = 0
        self._waiting = begun + [
            _Content(digest, arrays) for digest, arrays in needed.items() if not self._is_there(digest, begun)
        ]

    def next_piece(self) -> Payload | None:
        """The next piece to send, or None if the page has everything."""
        if not self._waiting:
            return None
        first = self._waiting[0]
        size = first.size
        piece = first.piece(self._offset)
        payload = content_payload(first.digest, self._offset, size, piece)
        self._offset += len(piece)
        if self._offset >= size:
            self._sent.add(first.digest)
            self._waiting, self._offset = self._waiting[1:], 0
        return payload

    def _is_there(self, digest: bytes, begun: Collection[_Content]) -> bool:
        return digest in self._sent or any(one.digest == digest for one in begun)
