"""The texts of marks, as bytes in a snapshot.

The texts are in the same snapshot as the marks. So a viewer that skips snapshots or attaches late has all texts of the
marks that it draws, a text may change with each snapshot, and nothing is kept from one snapshot to the next.

Each different text is stored once: its length in two bytes, then the text in UTF-8. All texts together are packed into
records that follow the marks. Such a record has `TEXT_BYTES` bytes of texts, the kind `TEXT_RECORD`, and in `label` the
number of records with texts up to this one. A mark's `label` is `TEXT_LABEL` plus the place of its text in these bytes.
A smaller label is 1 plus the index of a text in `Scene.labels`, which the marks of an engine use.

Always: damaged bytes give a wrong text or none, and no error.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import MARK, RECORD

TEXT_RECORD, TEXT_LABEL = 255, 1 << 31
TEXT_BYTES = 52  # number of bytes of the fields of a mark before its kind
# Largest number of bytes of the texts in one snapshot.
MOST_TEXT_BYTES = 256 << 10
TEXT_LENGTH = struct.Struct("<H")
# Marks, (m,) of dtype `MARK`, and the bytes of their texts.
MarksAndTexts = tuple[NDArray[np.void], bytes]


def text_records(count: int) -> int:
    """Number of records that `count` bytes of texts need."""
    return -(-count // TEXT_BYTES)


def write_texts(records: NDArray[np.void], texts: bytes | bytearray) -> None:
    """Packs texts into `records`, dtype `MARK`, shape (`text_records(len(texts))`,)."""
    block = np.zeros((len(records), MARK.itemsize), np.uint8)
    payload = np.zeros(len(records) * TEXT_BYTES, np.uint8)
    payload[: len(texts)] = np.frombuffer(texts, np.uint8)
    block[:, :TEXT_BYTES] = payload.reshape(-1, TEXT_BYTES)
    records.view(RECORD)[...] = block.view(RECORD)[:, 0]
    records["kind"], records["label"] = TEXT_RECORD, np.arange(1, len(records) + 1)


def split_texts(records: NDArray[np.void]) -> MarksAndTexts:
    """Divides the records that follow the bodies, without vertices, into marks, (m,), and the bytes of their texts."""
    if not len(records) or records["kind"][-1] != TEXT_RECORD:
        return records, b""
    marks = max(0, len(records) - int(records["label"][-1]))
    block = np.ascontiguousarray(records[marks:]).view(np.uint8).reshape(-1, MARK.itemsize)
    return records[:marks], block[:, :TEXT_BYTES].tobytes()


def text_of_label(label: int, texts: bytes, of_scene: Sequence[str] = ()) -> str:
    """The text of a mark with this `label`; empty if there is none. texts: bytes from `split_texts`. of_scene: the
    texts of `Scene.labels`."""
    if label < TEXT_LABEL:
        return of_scene[label - 1] if 0 < label <= len(of_scene) else ""
    start = label - TEXT_LABEL + TEXT_LENGTH.size
    if start > len(texts):
        return ""
    (length,) = TEXT_LENGTH.unpack_from(texts, start - TEXT_LENGTH.size)
    return texts[start : start + length].decode(errors="replace")
