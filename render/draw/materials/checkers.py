"""Recognizes images of a checker, which programs of planes draw by arithmetic instead of reading the image.

The one idea: most floors are two squares each way, with or without a thin line along the image's border. A pixel's mean
of such a pattern is a product of one term along x and one along y. Where the CPU draws, that takes a twentieth of the
time of a lookup in the image and its smaller copies, and far squares stay apart where those copies are one grey.

Always: an image is a checker only if each of its pixels says so. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.shapes.material import Texture

# Fewer pixels a side: the larger of two squares of an odd number of pixels would be noticed.
LEAST_SIDE_PX = 32
Color = tuple[float, float, float]


class Checker(NamedTuple):
    """Two squares each way. first: colour at the upper left and the lower right, 0..1. second: the other two.

    line: colour of the border. reach: width of the border, a share of the image's side; 0 without one. pixel: width
    of a pixel, also such a share.
    """

    first: Color
    second: Color
    line: Color
    reach: float
    pixel: float


def checker_of(texture: Texture) -> Checker | None:
    """The checker that an image shows; None if it shows anything else, or is seen through."""
    pixels = texture.pixels
    if texture.is_cube or texture.has_alpha or pixels.shape[0] != pixels.shape[1] or len(pixels) < LEAST_SIDE_PX:
        return None
    colors = pixels[..., :3]
    quarter, half = len(colors) // 4, len(colors) // 2
    first, second, line = colors[quarter, quarter], colors[quarter, -quarter], colors[0, 0]
    expected = np.empty_like(colors)
    expected[:half, :half] = expected[half:, half:] = first
    expected[:half, half:] = expected[half:, :half] = second
    reach = 0.0
    if not np.array_equal(colors[0], expected[0]):
        expected[0] = expected[-1] = expected[:, 0] = expected[:, -1] = line
        reach = 1.0 / len(colors)
    if not np.array_equal(colors, expected):
        return None
    return Checker(_color(first), _color(second), _color(line), reach, 1.0 / len(colors))


def _color(pixel: NDArray[np.uint8]) -> Color:
    red, green, blue = (pixel / 255.0).tolist()
    return red, green, blue
