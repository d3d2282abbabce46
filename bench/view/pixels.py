"""Reads bodies and markers from the pixels of one picture.

A picture is an array of 32-bit pixels, (height, width), blue in the lowest byte, as an X server keeps its screen. The
colours are those of `codes`. Pixels at the edge of a body may be mixed with the background. They belong to no body, and
they are not compared as background.

Pure: takes and returns arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.view.codes import BODY_BITS, CODES, MARKER_BITS, codes_of, packed

# Edge of the square cells in which `BodyPixels.cells` counts, in px. It divides the width and the height of a picture.
CELL_PX = 8
# Background is compared only at pixels that are farther than this from bodies, in px.
NEAR_PX = 2
# Ground and sky have channels that differ by less than this share of the largest channel.
GREY_SHARE = 0.2
LOWEST_BITS = np.uint32(0x1F1F1F)
Pixels = NDArray[np.uint32]
Mask = NDArray[np.bool_]


class BodyPixels(NamedTuple):
    """Pixels of all bodies in one picture. pixels: number of pixels of each code, (512,).

    on_border: True for each code with a pixel in an outermost row or column, (512,). box: left, top, right and bottom
    of the box around all pixels of bodies, in px; all are 0 if there is no such pixel. cells: True for each cell that
    has such a pixel, (height / CELL_PX, width / CELL_PX). near: True for each pixel within NEAR_PX of a body.
    """

    pixels: NDArray[np.int64]
    on_border: Mask
    box: NDArray[np.int64]
    cells: Mask
    near: Mask


class MarkerPixels(NamedTuple):
    """Markers that are whole in one picture. place: mean of the centres of each marker's pixels, x and y in px from
    the top left corner, (m, 2)."""

    code: NDArray[np.int64]
    place: NDArray[np.float64]
    pixels: NDArray[np.int64]


def body_pixels(pixels: Pixels) -> BodyPixels:
    is_body = (pixels & LOWEST_BITS) == packed(BODY_BITS)
    count = np.bincount(codes_of(pixels[is_body]), minlength=CODES)
    on_border = np.zeros(CODES, bool)
    for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):
        on_border[codes_of(pixels[edge][is_body[edge]])] = True
    columns, rows = np.flatnonzero(is_body.any(axis=0)), np.flatnonzero(is_body.any(axis=1))
    ends = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1) if len(rows) else (0, 0, 0, 0)
    height, width = pixels.shape
    cells = is_body.reshape(height, width // CELL_PX, CELL_PX).any(axis=2)
    cells = cells.reshape(height // CELL_PX, CELL_PX, -1).any(axis=1)
    return BodyPixels(count, on_border, np.array(ends, np.int64), cells, _widened(is_body))


def marker_pixels(pixels: Pixels) -> MarkerPixels:
    height, width = pixels.shape
    at = np.flatnonzero((pixels & LOWEST_BITS) == packed(MARKER_BITS))
    y, x = np.divmod(at, width)
    codes = codes_of(pixels.ravel()[at])
    count = np.bincount(codes, minlength=CODES)
    cut = np.zeros(CODES, bool)
    cut[codes[(x == 0) | (y == 0) | (x == width - 1) | (y == height - 1)]] = True
    found = np.flatnonzero((count > 0) & ~cut)
    sums = [np.bincount(codes, weights=values + 0.5, minlength=CODES) for values in (x, y)]
    return MarkerPixels(found, np.stack(sums, axis=1)[found] / count[found, None], count[found])


def changed_background(before: Pixels, now: Pixels, near: Mask) -> int:
    """Number of pixels that differ between two pictures, and are background in both. Pixels in `near` are left out."""
    changed = (before != now) & ~near
    return int(np.count_nonzero(_is_background(before[changed]) & _is_background(now[changed])))


def _is_background(pixels: Pixels) -> Mask:
    """True for pixels of markers, and for grey ones. Of a body that is nearly hidden, only mixed pixels may be seen."""
    channels = np.stack([pixels >> shift & 0xFF for shift in (16, 8, 0)]).astype(np.int32)
    is_grey = np.ptp(channels, axis=0) <= GREY_SHARE * channels.max(axis=0)
    return np.asarray(is_grey | ((pixels & LOWEST_BITS) == packed(MARKER_BITS)))


def _widened(mask: Mask) -> Mask:
    """The mask, and all pixels within NEAR_PX rows and columns of it."""
    wide = mask.copy()
    for axis in (0, 1):
        grown = wide.copy()
        for px in range(1, NEAR_PX + 1):
            first, last = (np.s_[px:], np.s_[:-px]) if axis == 0 else (np.s_[:, px:], np.s_[:, :-px])
            grown[first] |= wide[last]
            grown[last] |= wide[first]
        wide = grown
    return wide
