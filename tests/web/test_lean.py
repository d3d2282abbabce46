"""The page's decoder of lean snapshots against the reference in numpy: bit-equal."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from tests.relay.stream.lean_cases import cases, random_bodies
from tests.web.in_node import run_in_node
from twixt.ipc.snapshot import BODY
from twixt.relay.stream.lean import LeanDecoder, LeanEncoder

CASES = cases()
# Decodes the blocks of one connection; each begins at byte 136 of its message.
SCRIPT = """
const {LeanDecoder} = await import(WEB + "wire.js");
answer(given.map((blocks) => {
  const decoder = new LeanDecoder();
  return blocks.map(([text, count]) => {
    const bytes = Buffer.from(text, "base64");
    const buffer = new ArrayBuffer(136 + bytes.length);
    new Uint8Array(buffer).set(bytes, 136);
    try {
      const {words, floats, end} = decoder.decode(buffer, 136, count);
      if (end !== buffer.byteLength || floats.buffer !== words.buffer) throw new Error("the end or the views");
      return Buffer.from(words.buffer).toString("base64");
    } catch (error) {
      return {error: error.message};
    }
  });
}));
"""


def decoded(connections: list[list[tuple[bytes, int]]]) -> list[list[Any]]:
    texts = [[(base64.b64encode(block).decode(), count) for block, count in blocks] for blocks in connections]
    answers = run_in_node(SCRIPT, texts)
    return [[base64.b64decode(each) if isinstance(each, str) else each for each in answer] for answer in answers]


@pytest.fixture(scope="module")
def streams() -> dict[str, tuple[list[bytes], list[bytes]]]:
    """For each case the reference's and the page's records of three snapshots, of which the second is not sent."""
    sent, expected = [], []
    for bodies in CASES.values():
        encoder, decoder = LeanEncoder(), LeanDecoder()
        blocks, records = [], []
        for step in range(3):
            now = bodies.copy()
            now["color"][::7] ^= np.uint8(step)
            now["epoch"][3::50] += np.uint32(step << 16)
            encoder.encode(now)
            if step != 1:
                block = encoder.block(0 if step == 0 else 1)
                blocks.append((block, len(now)))
                records.append(decoder.decode(block).tobytes())
        sent.append(blocks)
        expected.append(records)
    return dict(zip(CASES, zip(expected, decoded(sent), strict=True), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_the_page_decodes_the_same_bits(name: str, streams: dict[str, tuple[list[bytes], list[bytes]]]) -> None:
    for expected, page in zip(*streams[name], strict=True):
        assert isinstance(page, bytes), page
        differing = np.flatnonzero(np.frombuffer(expected, "<u4") != np.frombuffer(page, "<u4"))
        assert not len(differing), np.frombuffer(expected, BODY)[differing[0] // 16]


def test_the_page_refuses_what_the_reference_refuses() -> None:
    encoder = LeanEncoder()
    encoder.encode(random_bodies(300))
    block = encoder.block()
    encoder.encode(random_bodies(300))
    huge, one = (number.to_bytes(4, "little") for number in (4_000_000_000, 1))
    refused = [
        (block[:40], 300, "are needed"),
        (block[:8], 300, "a lean block of 8 bytes"),
        (block, 299, "a lean block of 300 bodies in a snapshot of 299"),
        (encoder.block(1), 300, "0 are known"),
        (huge + block[4:12] + huge + block[16:], 4_000_000_000, "are needed"),
        (block[:12] + huge + block[16:], 300, "4000000000 changed rows of 300"),
        (block[:8] + huge + block[12:], 300, "are needed"),
        (block[:8] + one + block[12:] + bytes(72), 300, "row "),
    ]
    answers = decoded([[(content, count)] for content, count, _ in refused])
    for (answer,), (_, _, says) in zip(answers, refused, strict=True):
        assert says in answer["error"]


def test_the_page_refuses_or_decodes_random_bytes() -> None:
    rng = np.random.default_rng(9)
    blocks = []
    for _ in range(100):
        head = rng.integers(0, 20, 4).astype("<u4")
        blocks.append([(head.tobytes() + rng.integers(0, 256, 2_000, np.uint8).tobytes(), int(head[0]))])
    answers = decoded(blocks)
    assert len(answers) == 100
