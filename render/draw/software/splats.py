"""Clouds of small spheres drawn by array operations: the visible sphere of each pixel, and its light.

The one idea: in software drawing a point of any size costs 0.2 to 0.4 us: it is set up as a polygon, put into bins, and
fetched again. An array operation costs some tenths of a nanosecond a body. So all positions are projected together, an
integer picture keeps the minimum of (depth, body number) in each pixel, and only visible pixels are lit.

- Nearest first, in portions: of a later portion only spheres whose pixels are not all taken by nearer ones are laid.
- A pixel's integer has the depth in its upper bits: the minimum of two is the nearer sphere, and for equal depths the
  one with the lower body number.

Always: the same input gives the same picture. Pure: arrays in, arrays out; no OpenGL.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.glsl.light import BASE, LINEAR_LIGHT, LINEAR_UP, SQUARE
from twixt.render.draw.spheres.point_spheres import ACROSS, ALONG, DOT_OFFSET, HEIGHT, ONE_LIGHT, ONE_UP, SQUARES

# Share of the bodies in the first portion. Testing which pixels are taken costs as much as laying 10,000 bodies.
SHARES = (0.3,)
# Up to this many bodies are laid in one portion.
UNDIVIDED = 8192
# Bits of a pixel's integer, and the fewest of them for the depth. The body number takes as few bits as it needs.
WORD_BITS, DEPTH_BITS = 32, 12
# Largest number of bodies.
MOST = 1 << (WORD_BITS - DEPTH_BITS)
# Fewest bits of the body number: the depth then has at most 24 bits.
LEAST_BITS = 8
NOBODY = np.uint32(0xFFFFFFFF)
# Side of a block, px: within it the light on a sphere changes by less than one of 255 steps.
BLOCK_PX = 8

Floats = NDArray[np.float32]
Whole = NDArray[np.uint32]
Places = NDArray[np.intp]


class Discs(NamedTuple):
    """Discs of spheres in a picture, (n,) each. x, y: centre, px from the left and the bottom; depth: > 0, m."""

    x: Floats
    y: Floats
    depth: Floats
    reach: Floats  # radius of a disc, or half the side of a square


class SeenPixels(NamedTuple):
    """Pixels that show a sphere. at: y * width + x, ascending; bodies: index of the disc seen there."""

    at: Places
    bodies: Places


def seen_of(discs: Discs, size_px: tuple[int, int], squares: bool) -> SeenPixels:
    """Finds the visible sphere of each pixel: the nearest whose disc (or square) contains the pixel's middle."""
    width_px, height_px = size_px
    if not len(discs.x):
        return SeenPixels(np.zeros(0, np.intp), np.zeros(0, np.intp))
    # With a border around the picture, discs that reach into it are laid whole.
    border_px = int(2 * float(discs.reach.max())) + 2
    stride = width_px + 2 * border_px
    taken = np.full((height_px + 2 * border_px) * stride, NOBODY, np.uint32)
    low, high = _ends(discs, width_px, height_px)
    keys, bits = _near_first(discs, low & high)
    mask = np.uint32((1 << bits) - 1)
    ends = [0, *(round(share * len(keys)) for share in SHARES if len(keys) > UNDIVIDED), len(keys)]
    for begin, end in pairwise(ends):
        if begin < end:
            portion = keys[begin:end]
            _lay(portion, (portion & mask).astype(np.intp), discs, taken, stride, border_px, squares, bool(begin))
    inner = taken.reshape(-1, stride)[border_px : border_px + height_px, border_px : border_px + width_px].ravel()
    at = np.flatnonzero(inner != NOBODY)
    return SeenPixels(at, (inner.take(at) & mask).astype(np.intp))


def _ends(discs: Discs, width_px: int, height_px: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    x, y, _, reach = discs
    return (x > -reach) & (x < width_px + reach), (y > -reach) & (y < height_px + reach)


def _near_first(discs: Discs, in_picture: NDArray[np.bool_]) -> tuple[Whole, int]:
    """Integers (depth, body number) of the discs in the picture, ascending, and the bits of the body number."""
    chosen = np.flatnonzero(in_picture)
    bits = max(LEAST_BITS, int(len(in_picture) - 1).bit_length())
    if not len(chosen):
        return np.zeros(0, np.uint32), bits
    # The bits of positive floats are in the order of the floats, and their steps grow with the depth: so a few spheres
    # far away do not make the steps of the others coarse, as even steps would be.
    depth = discs.depth.take(chosen).view(np.uint32)
    depth -= depth.min()
    steps = ((1 << (WORD_BITS - bits)) - 2) / max(int(depth.max()), 1)
    keys = (depth * steps).astype(np.uint32) << np.uint32(bits)
    keys |= chosen.astype(np.uint32)
    keys.sort()
    return keys, bits


def _lay(
    keys: Whole, bodies: Places, discs: Discs, taken: Whole, stride: int, border_px: int, squares: bool, looks: bool
) -> None:  # fmt: skip
    """Lays these discs into the picture. looks: first leaves out those hidden by discs laid before."""
    reach = discs.reach.take(bodies)
    across_px = int(2 * float(reach.max())) + 1  # largest width of a disc, in pixels
    x, y = discs.x.take(bodies), discs.y.take(bodies)
    first_x, first_y = np.ceil(x - reach - np.float32(0.5)), np.ceil(y - reach - np.float32(0.5))
    at = (first_y.astype(np.intp) + border_px) * stride + (first_x.astype(np.intp) + border_px)
    if looks:
        shown = np.flatnonzero(keys < _farthest(taken, stride, across_px).take(at))
        if not len(shown):
            return
        keys, at = keys.take(shown), at.take(shown)
        reach, x, y, first_x, first_y = (one.take(shown) for one in (reach, x, y, first_x, first_y))
    # From the disc's centre to the middle of its first pixel.
    off_x, off_y = first_x - x + np.float32(0.5), first_y - y + np.float32(0.5)
    limit = reach if squares else reach * reach
    columns = [_off(off_x, column, squares) for column in range(across_px)]
    for row in range(across_px):
        row_off = _off(off_y, row, squares)
        for column in range(across_px):
            off = np.maximum(columns[column], row_off) if squares else columns[column] + row_off
            inside = np.flatnonzero(off <= limit)
            if len(inside):
                np.minimum.at(taken, at.take(inside) + (row * stride + column), keys.take(inside))


def _off(first: Floats, pixels: int, squares: bool) -> Floats:
    """Distance along one axis from each disc's centre to a pixel's middle, px; for discs its square.

    first: offset of the disc's first pixel. pixels: how many pixels after the first.
    """
    off = first + np.float32(pixels)
    return np.abs(off) if squares else off * off


def _farthest(taken: Whole, stride: int, across_px: int) -> Whole:
    """Largest integer in the square of `across_px` pixels that begins at each pixel."""
    farthest, reached = taken, 1
    while reached < across_px:
        further = min(reached, across_px - reached)
        farthest = np.maximum(farthest[:-further], farthest[further:])
        reached += further
    reached = 1
    while reached < across_px:
        further = min(reached, across_px - reached) * stride
        farthest = np.maximum(farthest[:-further], farthest[further:])
        reached += further // stride
    return farthest


class Light(NamedTuple):
    """Light on spheres: brightness = factors . (1, x, y, x^2, y^2, x y), x and y in the disc from -1 to 1, y up.

    factors: (1 or 6, blocks); None: plain colours. blocks_across: blocks in one row of the picture.
    """

    factors: Floats | None
    blocks_across: int

    def on(self, at_x: NDArray[np.intp], at_y: NDArray[np.intp], x: Floats, y: Floats) -> Floats | float:
        """Brightness of pixels. at_x, at_y: px in the picture. x, y: place in the disc, -1..1."""
        if self.factors is None:
            return 1.0
        block = (at_y // BLOCK_PX) * self.blocks_across + at_x // BLOCK_PX
        if len(self.factors) == 1:
            return self.factors[0].take(block)
        one, by_x, by_y, by_x2, by_y2, by_xy = (factor.take(block) for factor in self.factors)
        by_x2 *= x
        by_x2 += by_x
        by_xy *= y
        by_x2 += by_xy
        by_x2 *= x
        by_y2 *= y
        by_y2 += by_y
        by_y2 *= y
        one += by_x2
        one += by_y2
        return one


def light_of(
    light_eye: Floats, up_eye: Floats, is_unlit: bool, pixel_m: float, size_px: tuple[int, int], squares: bool
) -> Light:  # fmt: skip
    """Light on spheres of a picture. light_eye, up_eye: unit vectors towards the light and the sky, eye space.

    pixel_m: span of a pixel at 1 m distance, metres. squares: one brightness for a whole sphere.
    """
    blocks_across, blocks_along = (-(-side // BLOCK_PX) for side in size_px)
    if is_unlit:
        return Light(None, blocks_across)
    middle = np.array(size_px, np.float32) / 2
    across = ((np.arange(blocks_across) + 0.5) * BLOCK_PX - middle[0]) * -pixel_m
    along = ((np.arange(blocks_along) + 0.5) * BLOCK_PX - middle[1]) * -pixel_m
    ways = np.empty((3, blocks_along, blocks_across), np.float32)
    ways[0], ways[1], ways[2] = across, along[:, None], 1.0
    to_eye: Floats = ways.reshape(3, -1)
    to_eye /= np.sqrt((to_eye * to_eye).sum(axis=0))
    if squares:
        light = _facing(light_eye, to_eye)
        linear = (LINEAR_LIGHT * light_eye + LINEAR_UP * up_eye) @ to_eye
        brightness = BASE + linear * (2 / 3) + SQUARE * (0.25 + 0.25 * light[2] ** 2) + DOT_OFFSET
        return Light(brightness[None].astype(np.float32), blocks_across)
    x, y, z = _facing(((ONE_LIGHT * light_eye + ONE_UP * up_eye) / ACROSS).astype(np.float32), to_eye)
    middle_of = 1 + HEIGHT[0] * z + SQUARES * z * z
    of_2 = HEIGHT[1] * z - SQUARES * z * z
    factors = np.stack(
        (
            middle_of, x + ALONG * 2 * SQUARES * x * z, y + ALONG * 2 * SQUARES * y * z,
            of_2 + SQUARES * x * x, of_2 + SQUARES * y * y, 2 * SQUARES * x * y,
        )
    )  # fmt: skip
    return Light((ACROSS * factors).astype(np.float32), blocks_across)


def _facing(direction: Floats, to_eye: Floats) -> Floats:
    """`facing` of sphere_common.py for one direction, with (3, n) directions to the eye. Returns (3, n)."""
    both = to_eye.copy()
    both[2] += 1
    turned: Floats = direction[:, None] - both * ((direction @ both) / both[2])
    turned[2] += 2 * (direction @ to_eye)
    return turned
