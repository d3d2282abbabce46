"""Images of a program over the picture of its viewers, each in a rectangle of the window.

They travel apart from snapshots and status, once a call: a viewer gets the newest, and a late viewer has them too.
Always: an `OverlayImage` is checked when it is made, from a program's call or from a message, and all images together
are at most `MOST_BYTES`, so that a viewer has them within a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.shapes.shape_checks import set_field, text_of

# Images at once, and bytes of all their pixels. A viewer reads 256 KiB in each frame.
MOST_IMAGES, MOST_BYTES = 32, 8 << 20
# Largest number in a rectangle, pixels.
LARGEST_PX = 1 << 20
CHANNELS = 3

Rect = tuple[int, int, int, int]  # left, bottom, width, height: pixels, from the lower left corner of the window


@dataclass(frozen=True, eq=False)
class OverlayImage:
    """An image over the picture. rect: left, bottom, width, height in pixels of the window, from its lower left corner;
    an image of another size is stretched. pixels: (rows, columns, 3) uint8, the upper row first; not copied. Raises
    TwixtError."""

    rect: Rect
    pixels: NDArray[np.uint8]

    def __init__(self, rect: Iterable[int], pixels: ArrayLike) -> None:
        set_field(self, "rect", checked_rect("rect of an image", rect))
        found = np.asarray(pixels)
        if found.dtype != np.uint8 or found.ndim != 3 or found.shape[2] != CHANNELS or 0 in found.shape:
            raise TwixtError(
                f"pixels of an image must be uint8 (rows, columns, 3), got {found.dtype} {found.shape}; "
                "for numbers from 0 to 1: (255 * pixels).astype('uint8')"
            )
        if found.nbytes > MOST_BYTES:
            raise TwixtError(f"an image may have {MOST_BYTES:,} bytes of pixels, got {found.nbytes:,}; make it smaller")
        set_field(self, "pixels", found)


def checked_rect(name: str, rect: Any) -> Rect:
    """`rect` as four whole numbers of pixels, width and height > 0. Raises TwixtError."""
    try:
        left, bottom, width, height = (int(length) if length == int(length) else None for length in rect)
    except (TypeError, ValueError, OverflowError):
        left = bottom = width = height = None
    if left is None or bottom is None or width is None or height is None or width <= 0 or height <= 0:
        raise TwixtError(f"{name} must be left, bottom, width, height in whole pixels, got {text_of(rect)[:60]}")
    if max(abs(left), abs(bottom), width, height) > LARGEST_PX:
        raise TwixtError(f"{name} must have numbers up to {LARGEST_PX}, got {text_of(rect)[:60]}")
    return left, bottom, width, height


def checked_images(name: str, images: Any) -> list[OverlayImage]:
    """The images that a program gave as `name`. Raises TwixtError for anything else, and for too many bytes."""
    found = list(images) if isinstance(images, Iterable) else [images]
    for image in found:
        if not isinstance(image, OverlayImage):
            raise TwixtError(f"{name} takes a list of OverlayImage, got {text_of(image)[:40]}")
    if len(found) > MOST_IMAGES or (size := sum(image.pixels.nbytes for image in found)) > MOST_BYTES:
        got = f"{len(found)} images" if len(found) > MOST_IMAGES else f"{size:,} bytes"
        raise TwixtError(f"{name} takes {MOST_IMAGES} images and {MOST_BYTES:,} bytes of pixels at most, got {got}")
    return found


def as_message(images: Iterable[OverlayImage]) -> tuple[dict[str, Any], bytes]:
    """Fields and raw bytes of a message with these images, for `from_message`."""
    shown = list(images)
    fields = {"images": [[*image.rect, *image.pixels.shape[:2]] for image in shown]}
    return fields, b"".join(image.pixels.tobytes() for image in shown)


def from_message(fields: dict[str, Any], raw: bytes) -> tuple[OverlayImage, ...]:
    """The images of `as_message`; their pixels are views of `raw`. Raises TwixtError for anything else."""
    rows = fields.get("images")
    if not isinstance(rows, list) or len(rows) > MOST_IMAGES:
        raise TwixtError(f"images must be a list of at most {MOST_IMAGES}, got {type(rows).__name__}")
    found, start = [], 0
    for row in rows:
        if not (isinstance(row, list) and len(row) == 6 and all(type(length) is int for length in row)):
            raise TwixtError(f"an image must be a list of six whole numbers, got {text_of(row)[:60]}")
        *rect, height, width = row
        end = start + height * width * CHANNELS
        if not (0 < height <= LARGEST_PX and 0 < width <= LARGEST_PX and end <= len(raw)):
            raise TwixtError(f"an image of {height} x {width} pixels came with {len(raw) - start} bytes")
        pixels = np.frombuffer(raw, np.uint8, end - start, start)
        found.append(OverlayImage(rect, pixels.reshape(height, width, CHANNELS)))
        start = end
    return tuple(found)
