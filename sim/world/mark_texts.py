"""Checks the texts of marks, and stores each different text once for the snapshot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import InvalidType, InvalidValue, text_of
from twixt.ipc.scene.checks import items, label_text
from twixt.ipc.scene.mark_texts import MOST_TEXT_BYTES, TEXT_LABEL, TEXT_LENGTH

# Kind of marks that are texts alone.
TEXT = "text"
# Range of the size of a text, as a multiple of the usual size.
SMALLEST_TEXT, LARGEST_TEXT = 0.25, 8.0


class MarkTexts:
    """The different texts of marks. packed: all texts, as `twixt.ipc.scene.mark_texts.text_of_label` reads them."""

    def __init__(self) -> None:
        self.packed = bytearray()
        self._labels: dict[str, int] = {}

    def clear(self) -> None:
        """Removes all texts."""
        if self._labels:
            self.packed.clear()
            self._labels.clear()

    def labels(self, words: str | Sequence[str]) -> int | list[int]:
        """The labels of records with these texts, one label or (n,). New texts are added. Raises InvalidValue if the
        texts do not fit; then none is added."""
        known, size = self._labels, len(self.packed)
        each = (words,) if isinstance(words, str) else words
        try:
            for text in each:
                if text not in known:
                    self._append(text)
        except InvalidValue:
            self.packed = self.packed[:size]
            self._labels = {text: label for text, label in known.items() if label < TEXT_LABEL + size}
            raise
        return known[words] if isinstance(words, str) else [known[text] for text in words]

    def _append(self, text: str) -> None:
        if not text:
            self._labels[text] = 0
            return
        encoded = text.encode()
        if len(self.packed) + TEXT_LENGTH.size + len(encoded) > MOST_TEXT_BYTES:
            raise InvalidValue(
                f"the different texts of marks may have {MOST_TEXT_BYTES >> 10} KiB together, got more; give texts to "
                "fewer marks"
            )
        self._labels[text] = TEXT_LABEL + len(self.packed)
        self.packed += TEXT_LENGTH.pack(len(encoded)) + encoded


def checked_texts(kind: str, label: object, text: object, count: int) -> str | list[str] | None:
    """The text of all `count` marks of a kind, or one text for each. None if the marks have no texts. label, text: the
    arguments of `Marks.add`. Raises TwixtError for anything but texts."""
    name, words = ("text", text) if kind == TEXT else ("label", label)
    if (label if kind == TEXT else text) is not None:
        raise InvalidValue(f"Marks.add({kind!r}) takes {name}=, not {'label' if kind == TEXT else 'text'}=")
    if words is None:
        if kind == TEXT:
            raise InvalidValue('Marks.add("text") needs text=, such as text="score 3"')
        return None
    if isinstance(words, str):
        return label_text(f"Marks.add({name})", words)
    if isinstance(words, np.ndarray):
        words = words.tolist()
    listed = items(words)
    if listed is None:
        raise InvalidType(
            f'Marks.add({name}) takes a text, such as "goal", or n texts, got {text_of(words)[:40]}; '
            "give the text instead of a number"
        )
    if len(listed) != count:
        raise InvalidValue(f"Marks.add({name}) must be a text, or {count} texts, got {len(listed)}")
    return [label_text(f"Marks.add({name})", each) for each in listed]


def check_text_sizes(sizes: NDArray[np.float64]) -> None:
    """Raises InvalidValue unless all sizes of texts, (n, 1), are in range."""
    if not sizes.size or (sizes.min() >= SMALLEST_TEXT and sizes.max() <= LARGEST_TEXT):
        return
    wrong = sizes[~((sizes >= SMALLEST_TEXT) & (sizes <= LARGEST_TEXT))][0]
    raise InvalidValue(
        f'Marks.add("text", size) must be from {SMALLEST_TEXT:g} to {LARGEST_TEXT:g} times the usual size, '
        f"got {wrong:g}"
    )
