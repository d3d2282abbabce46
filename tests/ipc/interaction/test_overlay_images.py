"""Images of a program over the picture: what is sent is received, and what cannot be shown is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.overlay import (
    LARGEST_PX,
    MOST_IMAGE_BYTES,
    MOST_IMAGES,
    OverlayImage,
    checked_images,
    images_as_message,
    images_from_message,
)

PIXELS = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
IMAGE = OverlayImage((0, 0, 2, 4), PIXELS)


def test_images_are_received_as_they_were_sent() -> None:
    images = [OverlayImage((-5, 7, 20, 40), PIXELS), OverlayImage(np.arange(1, 5), PIXELS[::2, ::-1])]
    fields, content = images_as_message(images)
    received = images_from_message(json.loads(json.dumps(fields)), content)
    assert [image.rect for image in received] == [(-5, 7, 20, 40), (1, 2, 3, 4)]
    assert [image.pixels.tolist() for image in received] == [image.pixels.tolist() for image in images]
    assert images_from_message(*images_as_message([])) == ()


@pytest.mark.parametrize(
    ("rect", "pixels", "said"),
    [
        ((0, 0, 2), PIXELS, "rect of an image must be left, bottom, width, height"),
        ((0, 0, 0, 4), PIXELS, "rect of an image must be left"),
        ((0, 0.5, 2, 4), PIXELS, "rect of an image must be left"),
        ((0, float("nan"), 2, 4), PIXELS, "rect of an image must be left"),
        ("rect", PIXELS, "rect of an image must be left"),
        ((0, LARGEST_PX + 1, 2, 4), PIXELS, "numbers up to"),
        ((0, 0, 2, 4), PIXELS / 255, "uint8 .* got float64"),
        ((0, 0, 2, 4), PIXELS[:, :, 0], r"got uint8 \(4, 2\)"),
        ((0, 0, 2, 4), PIXELS[:0], "uint8"),
        ((0, 0, 2, 4), np.zeros((2000, 2000, 3), np.uint8), "make it smaller"),
    ],
)
def test_what_is_no_image_is_refused(rect: Any, pixels: Any, said: str) -> None:
    with pytest.raises(TwixtError, match=said):
        OverlayImage(rect, pixels)


def test_too_many_images_are_refused() -> None:
    assert checked_images("View.set_images", iter([IMAGE])) == [IMAGE]
    for wrong in (5, "image", None, [PIXELS], [IMAGE, None]):
        with pytest.raises(TwixtError, match="View.set_images takes a list of OverlayImage, got "):
            checked_images("View.set_images", wrong)
    with pytest.raises(TwixtError, match=f"{MOST_IMAGES} images .* got 33 images"):
        checked_images("View.set_images", [IMAGE] * (MOST_IMAGES + 1))
    half = OverlayImage((0, 0, 2, 4), np.zeros((1, MOST_IMAGE_BYTES // 6 + 1, 3), np.uint8))
    with pytest.raises(TwixtError, match="bytes of pixels at most"):
        checked_images("View.set_images", [half, half])


@pytest.mark.parametrize(
    "rows",
    [
        None,
        [[0, 0, 2, 4, 4, 2]] * (MOST_IMAGES + 1),
        [[0, 0, 2, 4, 4]],
        [[0, 0, 2, 4, 4, True]],
        [[0, 0, 2, 4, -4, -2]],
        [[0, 0, 2, 4, 4, 3]],
        [[0, 0, 2, 4, 4, 2], [0, 0, 2, 4, 4, 2]],
        [[0, 0, 0, 4, 4, 2]],
        [[0, 0, 2, 4, 1 << 62, 1 << 62]],
        [5],
    ],
)
def test_a_message_that_is_damaged_is_refused(rows: Any) -> None:
    with pytest.raises(TwixtError):
        images_from_message({"images": rows}, PIXELS.tobytes())
