"""Valid inputs, spoilt: bytes, texts, JSON values and argument lists, each mutation drawn from one seed.

The one idea: what is nearly right goes deepest. Every mutation begins with a real input of its corpus and changes a
few places of it: bits, bytes, words, numbers at the ends of their types, pieces of another input, lengths.

Always: the same seed gives the same inputs in the same order. Knows nothing of what they are fed to.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

WHOLE = (
    0, 1, -1, 2, 7, 127, 128, 255, 256, 4095, 4096, 65535, 65536, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 32) - 1,
    1 << 53, (1 << 62), (1 << 63) - 1, 1 << 63, -(1 << 63), (1 << 64) - 1, 1 << 64, 10**30, 10**400, -(10**400),
)  # fmt: skip
FLOATS = (
    0.0, -0.0, 0.5, -1.0, 1e-300, 5e-324, 1e-9, 1e9, 1e30, 1e300, -1e300, 1.7976931348623157e308,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
TEXTS = (
    "", " ", "\0", "\n", "\r\n", "\t", ",", '"', "'", "\\", "%s", "{}", "..", "/", "-", "--", "=", "@", ":", "NA", "nan",
    "inf", "-inf", "1e999", "0x10", "1_000", "٣", "½", "²", "é", "e\u0301", "\u202e", "\ufeff", "\ud800", "\U0001f600", "ß",
    "I\u0307", "\x1b[31m", "\x7f", "\x85", "\u2028", "true", "None", "__class__", "[/x]", "[bold]", "a" * 5000, "9" * 5000, "1" + "0" * 400,
)  # fmt: skip
DEPTHS = (2, 30, 900, 5000)
# Most mutations are small, so that what they spoil is all that is wrong.
MOST_CHANGES = 4


class Mutator:
    """Draws mutations from `seed`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def bytes(self, corpus: Sequence[bytes], hot: Sequence[tuple[int, int]] = ()) -> bytes:
        """One of the corpus, spoilt. hot: (offset, length) where most changes should fall; its length then stays."""
        draw = self.random
        spoilt = bytearray(draw.choice(corpus))
        ways: tuple[Callable[..., None], ...] = (_flip_bit, _set_byte, _set_word, _set_word, _copy_within)
        if not hot:
            ways += (_truncate, _insert, _splice, _repeat)
        for _ in range(draw.randint(1, MOST_CHANGES)):
            if not spoilt:
                break
            start, length = draw.choice(hot) if hot and draw.random() < 0.9 else (0, len(spoilt))
            draw.choice(ways)(draw, spoilt, min(start + draw.randrange(max(1, length)), len(spoilt) - 1), corpus)
        return bytes(spoilt)

    def text(self, corpus: Sequence[str]) -> str:
        """One of the corpus with characters, numbers or pieces changed."""
        draw = self.random
        spoilt = draw.choice(corpus)
        for _ in range(draw.randint(1, MOST_CHANGES)):
            at = draw.randint(0, len(spoilt))
            end = min(len(spoilt), at + draw.choice((0, 1, 1, 2, 8)))
            new = draw.choice(
                (*TEXTS, str(draw.choice(WHOLE)), repr(draw.choice(FLOATS)), chr(draw.randrange(0x20, 0x250)))
            )
            way = draw.randrange(8)
            if way == 0:
                spoilt = spoilt[:at]
            elif way == 1:
                spoilt = new
            elif way == 2:
                other = draw.choice(corpus)
                spoilt = spoilt[:at] + other[draw.randint(0, len(other)) :]
            else:
                spoilt = spoilt[:at] + new + spoilt[end:]
        return spoilt

    def value(self) -> Any:
        """A JSON value that nobody asked for."""
        draw = self.random
        kind = draw.randrange(8)
        if kind == 0:
            return None
        if kind == 1:
            return draw.choice((True, False))
        if kind == 2:
            return draw.choice(WHOLE)
        if kind == 3:
            return draw.choice(FLOATS)
        if kind == 4:
            return draw.choice(TEXTS)
        if kind == 5:
            return [self.value() for _ in range(draw.choice((0, 1, 2, 3, 20)))] if draw.random() < 0.7 else [[]]
        if kind == 6:
            return {draw.choice(TEXTS): self.value() for _ in range(draw.randrange(3))}
        nested: Any = 0
        for _ in range(draw.choice(DEPTHS[:3])):
            nested = [nested] if draw.random() < 0.5 else {"a": nested}
        return nested

    def json(self, valid: Any) -> Any:
        """A copy of a JSON value with some places changed, removed, doubled or exchanged."""
        spoilt = json.loads(json.dumps(valid))
        for _ in range(self.random.randint(1, MOST_CHANGES)):
            spoilt = self._spoil(spoilt)
        return spoilt

    def _spoil(self, value: Any) -> Any:
        draw = self.random
        if not isinstance(value, list | dict) or not value or draw.random() < 0.1:
            return self.value() if draw.random() < 0.7 or not isinstance(value, str) else self.text([value])
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key, way = draw.choice(keys), draw.randrange(10)
        if way == 0:
            del value[key]
        elif way == 1 and isinstance(value, list):
            value.append(value[key])
        elif way == 1:
            value[draw.choice(TEXTS)] = self.value()
        elif way == 2:
            other = draw.choice(keys)
            value[key], value[other] = value[other], value[key]
        else:
            value[key] = self._spoil(value[key])
        return value

    def arguments(self, corpus: Sequence[Sequence[str]], words: Sequence[str]) -> list[str]:
        """One of the command lines of the corpus, spoilt. words: what may come anywhere. As the system passes them:
        no NUL, and no half of a character that is not some byte's."""
        draw = self.random
        spoilt = list(draw.choice(corpus))
        for _ in range(draw.randint(1, MOST_CHANGES)):
            at, way = draw.randint(0, len(spoilt)), draw.randrange(6)
            if way == 0 and spoilt:
                del spoilt[at - 1]
            elif way == 1:
                spoilt.insert(at, draw.choice(words))
            elif way == 2 and spoilt:
                spoilt.insert(at, draw.choice(spoilt))
            elif way == 3:
                spoilt.insert(at, draw.choice((*TEXTS, str(draw.choice(WHOLE)), repr(draw.choice(FLOATS)))))
            elif spoilt:
                spoilt[at - 1] = self.text([spoilt[at - 1], *words])
        return [_as_passed(word) for word in spoilt]


def written(value: Any, nan: bool = True) -> bytes:
    """As JSON on the wire. Python's own NaN and Infinity included."""
    return json.dumps(value, allow_nan=nan).encode()


def _as_passed(word: str) -> str:
    return word.replace("\0", "").encode("utf-8", "replace").decode("utf-8", "surrogateescape")


def _flip_bit(draw: random.Random, spoilt: bytearray, at: int, _corpus: Sequence[bytes]) -> None:
    spoilt[at] ^= 1 << draw.randrange(8)


def _set_byte(draw: random.Random, spoilt: bytearray, at: int, _corpus: Sequence[bytes]) -> None:
    spoilt[at] = draw.choice((0, 1, 0x0A, 0x20, 0x22, 0x2C, 0x30, 0x5B, 0x7F, 0x80, 0xFF, draw.randrange(256)))


def _set_word(draw: random.Random, spoilt: bytearray, at: int, _corpus: Sequence[bytes]) -> None:
    """A number at the end of its type, where such a number would lie."""
    size = draw.choice((2, 4, 8, 8))
    at -= at % size
    if size == 8 and draw.random() < 0.3:
        word = struct.pack("<d", draw.choice(FLOATS))
    else:
        word = (draw.choice(WHOLE) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    spoilt[at : at + size] = word[: len(spoilt) - at]


def _copy_within(draw: random.Random, spoilt: bytearray, at: int, _corpus: Sequence[bytes]) -> None:
    size = min(draw.choice((1, 8, 64, 128)), len(spoilt) - at)
    start = draw.randint(0, len(spoilt) - size)
    spoilt[at : at + size] = spoilt[start : start + size]


def _truncate(draw: random.Random, spoilt: bytearray, at: int, _corpus: Sequence[bytes]) -> None:
    del spoilt[at:]


def _insert(draw: random.Random, spoilt: bytearray, at: int, _corpus: Sequence[bytes]) -> None:
    depth = draw.choice(DEPTHS)
    noise = draw.choice((
        draw.randbytes(draw.choice((1, 2, 8, 100))), draw.choice(TEXTS).encode("utf-8", "surrogatepass"),
        str(draw.choice(WHOLE)).encode(), repr(draw.choice(FLOATS)).encode(), b"[" * depth, b'{"a":' * depth,
    ))  # fmt: skip
    spoilt[at : at + draw.choice((0, 0, 1, len(noise)))] = noise


def _splice(draw: random.Random, spoilt: bytearray, at: int, corpus: Sequence[bytes]) -> None:
    other = draw.choice(corpus)
    spoilt[at:] = other[draw.randint(0, len(other)) :]


def _repeat(draw: random.Random, spoilt: bytearray, at: int, _corpus: Sequence[bytes]) -> None:
    piece = bytes(spoilt[at : at + draw.choice((1, 8, 64))])
    spoilt[at:at] = piece * draw.choice((1, 2, 50))
