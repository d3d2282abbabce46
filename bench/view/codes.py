"""Colours that identify bodies and markers in the pixels of a picture.

A colour has one of eight values in each channel, so it has a code from 0 to 511. Only colours with a clear hue are
used, because the ground and the background are grey. The lowest five bits of each channel tell a body from a marker,
and both from all other pixels. `look="unlit"` draws these bytes exactly as given.

Always: two bodies, or two markers, with different numbers below `COUNT` have different colours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CODES = 512
# Lowest five bits of the channels red, green and blue.
BODY_BITS, MARKER_BITS = (16, 16, 16), (16, 16, 8)
# A colour is used if its largest and its smallest channel differ by at least this many of the eight values, and if its
# largest channel has at least this value.
LEAST_HUE, LEAST_BRIGHTNESS = 2, 4
# Step through the used codes. Neighbouring numbers get very different colours. It has no common factor with `COUNT`.
STRIDE = 151


def _used() -> NDArray[np.int64]:
    codes = np.arange(CODES)
    channels = np.stack([codes >> 6, (codes >> 3) & 7, codes & 7])
    hue, brightness = np.ptp(channels, axis=0), channels.max(axis=0)
    found = codes[(hue >= LEAST_HUE) & (brightness >= LEAST_BRIGHTNESS)]
    return found[np.arange(len(found)) * STRIDE % len(found)]


CODE_OF = _used()  # code of the body or marker with each number
COUNT = len(CODE_OF)


def colors_of(numbers: NDArray[np.int64], bits: tuple[int, int, int] = BODY_BITS) -> NDArray[np.uint8]:
    """Colours of the bodies with these numbers, (n, 3), red, green, blue."""
    codes = CODE_OF[numbers]
    return np.stack([(codes >> shift & 7) * 32 + low for shift, low in zip((6, 3, 0), bits, strict=True)], 1).astype(
        np.uint8
    )


def packed(bits: tuple[int, int, int]) -> np.uint32:
    """The lowest bits of the channels, in the order of a screen's 32-bit pixels (blue in the lowest byte)."""
    red, green, blue = bits
    return np.uint32(red << 16 | green << 8 | blue)


def codes_of(pixels: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Codes of 32-bit pixels, whatever their lowest bits are."""
    return np.asarray((pixels >> 15 & 0o700) | (pixels >> 10 & 0o70) | (pixels >> 5 & 7), np.uint32)
