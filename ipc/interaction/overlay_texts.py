"""Texts of a program over the picture of its viewers: at the corners and edges, in two columns.

They travel in the status of the program, the latest five times a second at most, and a late viewer has them too.
Always: an `OverlayText` is checked when it is made, from a program's call or from a message; what is longer than
`LONGEST_TEXT` is cut, and of more than `MOST_TEXTS` the first are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from twixt.ipc.errors import TwixtError, text_of
from twixt.ipc.shapes.shape_checks import items, set_field

# In the order of MuJoCo's mjtGridPos.
PLACES = ("top left", "top right", "bottom left", "bottom right", "top", "bottom", "left", "right")
LONGEST_TEXT, MOST_TEXTS = 1000, 32
SMALLEST, LARGEST = 0.25, 8.0


@dataclass(frozen=True)
class OverlayText:
    """Lines over the picture. place: one of `PLACES`. left, right: two columns, lines divided by newlines; either may
    be empty. size: of the letters, as a multiple of the overlay's. Raises TwixtError."""

    place: str = PLACES[0]
    left: str = ""
    right: str = ""
    size: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.place, str) or self.place not in PLACES:
            raise TwixtError(f"the place of a text must be one of {', '.join(PLACES)}, got {text_of(self.place)[:40]}")
        for name in ("left", "right"):
            text = getattr(self, name)
            if not isinstance(text, str):
                raise TwixtError(f"{name} of a text must be text, got {text_of(text)[:40]}")
            set_field(self, name, text[:LONGEST_TEXT])
        is_number = isinstance(self.size, int | float) and not isinstance(self.size, bool)
        if not is_number or not SMALLEST <= self.size <= LARGEST:
            raise TwixtError(f"size of a text must be from {SMALLEST:g} to {LARGEST:g}, got {text_of(self.size)[:40]}")


def checked_texts(name: str, texts: Any) -> list[OverlayText]:
    """The texts that a program gave as `name`. Raises TwixtError for anything else."""
    found = items(texts)
    for text in (texts,) if found is None else found:
        if not isinstance(text, OverlayText):
            raise TwixtError(f"{name} takes a list of OverlayText, got {text_of(text)[:40]}")
    return [texts] if found is None else list(found)


def as_message(texts: Iterable[OverlayText]) -> list[list[Any]]:
    """Texts as values that JSON can encode, for `from_message`."""
    return [[text.place, text.left, text.right, text.size] for text in texts][:MOST_TEXTS]


def from_message(values: Any) -> tuple[OverlayText, ...]:
    """The texts of `as_message`. Raises TwixtError for anything else."""
    if not isinstance(values, list) or len(values) > MOST_TEXTS:
        raise TwixtError(f"texts must be a list of at most {MOST_TEXTS}, got {type(values).__name__}")
    try:
        return tuple(OverlayText(*value) for value in values)
    except TypeError as error:
        raise TwixtError(f"a text must be a list of place, two texts and a size ({error})") from error
