"""Caches a picture of the background, the grid and the floors that stand still. When the camera moves, this picture is
drawn again.

Copying pixels (kept_pixels.py) is fast if the cached picture and the framebuffer have the same format. It then takes a
fifth of the time that the CPU needs to fill the same pixels with one colour. The lines of the grid do not have to be
drawn again. A floor that covers the whole picture is copied in 0.1 ms, with its depth. If the framebuffer still
contains the pixels of the last frame, only some areas are copied. These are the areas in which the last frame or this
frame draws more than the background.

A cached picture has a key that contains everything that determines its pixels. So copied pixels are identical to drawn
pixels. Copying is slow if the formats differ. So in the frame after the first picture was cached, both copying and
drawing are timed. If copying is not faster, no picture is cached from then on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial

import moderngl

from twixt.render.draw.frame.context import read_pixels
from twixt.render.draw.frame.frame_block import Viewport
from twixt.render.draw.software.kept_pixels import DEPTH_BIT, STENCIL_BIT, Pixels, functions

# Largest number of cached pictures. Three are enough for the two halves of a split window and the whole window, or for
# pictures of two framebuffers.
MOST_KEPT = 3
# Number of times that copying and drawing are timed. The shortest time of copying is compared with the shortest time of
# drawing.
TRIES = 3

# Largest share of a picture's pixels that are copied area by area. If the areas are larger, the whole picture is
# copied. In an area, copying takes twice as long for each pixel as in a whole picture, because the rows of an area are
# not contiguous in memory.
MOST_SHARE = 0.5
# When a window waits until its next buffer is free, it clears this pixel.
FENCE_PIXEL: Viewport = (0, 0, 1, 1)

Place = tuple[int, Viewport]  # OpenGL name of a framebuffer, and an area of this framebuffer


class _Kept:
    """Cached picture of one area of one framebuffer. Framebuffers are cached separately, because another framebuffer
    may store its rows in the opposite order.

    has_depth: True if the depth of the picture is not 1.0 everywhere. framebuffer: the framebuffer of the last frame.
    stale: areas in which `framebuffer` may differ from the picture, or None if it may differ anywhere. The first of
    these areas is the one that has bodies.
    """

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.has_depth = False
        self.pixels: Pixels | None = None
        self.is_filled = False
        self.stale: tuple[Viewport, ...] | None = None
        self.framebuffer: moderngl.Framebuffer | None = None


class BackgroundCache:
    """Caches pictures of the background, for software rendering."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._gl = functions()
        self._is_faster: bool | None = None  # True if copying is faster than drawing; None if this is not measured yet
        self._copies_depth = True  # False after a copy of depth has failed
        self._kept: dict[Place, _Kept] = {}
        # Place, key and areas of the background that `prepare` has filled in advance.
        self._prepared: tuple[Place, Hashable, tuple[Viewport, ...]] | None = None
        self._drawn: _Kept | None = None  # the cached picture that this frame uses, if the frame's bounds are known
        self._trial = KeepingTrial()

    def fill(
        self,
        target: moderngl.Framebuffer,
        viewport: Viewport,
        key: Hashable,
        draw: Callable[[], None],
        has_depth: bool = False,
        bounds: Viewport | None = None,
    ) -> tuple[Viewport, ...]:
        """Fills the area of `target` with the background.

        key: everything that determines the pixels. draw: function that draws the background. has_depth: True if the
        depth of the background is also cached and copied; otherwise the depth is 1.0 (farthest) everywhere. bounds:
        area in which the frame draws bodies, if the frame has only one picture; None if this area is unknown. Returns
        the areas that were filled. The first area contains `bounds`. Outside these areas, the framebuffer still
        contains the background of the last frame.
        """
        place, (prepared, self._prepared) = (target.glo, viewport), (self._prepared, None)
        kept = self._kept.get(place)
        areas: tuple[Viewport, ...] = (viewport,)
        stale = self._begin(kept, target, bounds)
        if (
            prepared is not None
            and prepared[:2] == (place, key)
            and (prepared[2] == areas or (bounds is not None and contains(prepared[2][0], bounds)))
        ):
            areas = prepared[2]
            self._restore(target, viewport)
        elif (
            stale is not None and bounds is not None and kept is not None and self._is_valid(kept, key)
            and (fewer := areas_of((around(bounds, stale[0]), *stale[1:]), viewport)) is not None
        ):  # fmt: skip
            areas = fewer
            self._copy_areas(target, viewport, kept, areas)
        elif not self.may_copy or (has_depth and not self._copies_depth):
            draw()
        elif kept is None or kept.key != key:
            self._evict(place)
            kept = self._kept.setdefault(place, _Kept(key))
            kept.key, kept.is_filled, kept.has_depth = key, False, has_depth
            draw()
        elif kept.is_filled:
            # This is a later frame than the one that cached the picture. To cache and to time in the same frame would
            # take too long.
            if self._is_faster is None:
                self._compare(target, viewport, kept, draw)
            else:
                self._copy(target, viewport, kept)
        else:
            draw()
            self._context.error  # noqa: B018  # clears an error that is set already
            keeps_depth = has_depth or (bounds is not None and self._copies_depth)
            self._keep(target, viewport, kept, keeps_depth)
            # Some framebuffers cannot be copied, for example multisampled framebuffers.
            if (self._is_faster is None or keeps_depth) and self._context.error != "GL_NO_ERROR":
                if keeps_depth:
                    self._copies_depth = False
                else:
                    self._is_faster = False
                self.release()
        kept = self._kept.get(place)
        if kept is not None and kept.is_filled and bounds is not None:
            kept.stale, self._drawn = (bounds,), kept
        return areas

    def prepare(self, target: moderngl.Framebuffer, viewport: Viewport, key: Hashable) -> bool:
        """Fills the area with the background in advance, so that the next `fill` has nothing to copy. Returns False if
        nothing was done.

        Draw nothing into the area between the calls of `prepare` and `fill`.
        """
        kept = self._kept.get((target.glo, viewport))
        if kept is None or not self._is_valid(kept, key):
            return False
        stale = self._begin(kept, target, viewport)
        areas = None if stale is None else areas_of((grown(stale[0], viewport), *stale[1:]), viewport)
        if areas is None:
            self._copy(target, viewport, kept)
        else:
            self._copy_areas(target, viewport, kept, areas)
        self._prepared = (target.glo, viewport), key, areas or (viewport,)
        return True

    def end_frame(self, over: Sequence[Viewport] | None) -> None:
        """Ends the frame. over: all areas in which the frame drew over the picture; None if they are unknown."""
        self._prepared, kept, self._drawn = None, self._drawn, None
        if kept is None or kept.stale is None or over is None:
            self.invalidate()
            return
        if kept.framebuffer is not None and kept.pixels is not None and kept.stale[0][2] and kept.stale[0][3]:
            self._trial.frame_ended(kept.stale[0], over, partial(read_pixels, kept.framebuffer))
        kept.stale = (*kept.stale, *over, FENCE_PIXEL)

    @property
    def may_copy(self) -> bool:
        """False if it is known that copying pixels is slower than drawing them."""
        return self._is_faster is not False and self._gl.are_there

    @property
    def is_copied(self) -> bool:
        """True if it is known that copying pixels is faster than drawing them."""
        return self._is_faster is True

    def release(self) -> None:
        """Releases the pictures' memory."""
        for kept in self._kept.values():
            self._release_picture(kept)
        self._kept.clear()

    def invalidate(self) -> None:
        """Makes the next frame fill the whole picture. Call this when other code has drawn into the framebuffer."""
        for kept in self._kept.values():
            kept.stale = None

    def _is_valid(self, kept: _Kept, key: Hashable) -> bool:
        return self.is_copied and kept.is_filled and kept.key == key

    def _begin(
        self, kept: _Kept | None, target: moderngl.Framebuffer, bounds: Viewport | None
    ) -> tuple[Viewport, ...] | None:
        """Begins a frame. Returns the areas whose pixels must be replaced, or None if the whole picture must be
        filled."""
        stale = None
        if kept is not None and kept.framebuffer is target and kept.stale is not None and bounds is not None:
            self._trial.frame_begins(partial(read_pixels, target))
            if self._trial.keeps and kept.pixels is not None and kept.pixels.has_depth:
                stale = kept.stale
        self.invalidate()  # `end_frame` makes the cache valid again
        if kept is not None:
            kept.framebuffer = target
        return stale

    def _copy_areas(
        self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept, areas: tuple[Viewport, ...]
    ) -> None:
        """Copies the background into these areas. Copies its depth only into the first area."""
        assert kept.pixels is not None
        kept.pixels.restore_areas(areas, viewport[:2], is_far=not kept.has_depth)
        self._restore(target, viewport)

    def _evict(self, place: Place) -> None:
        while len(self._kept) >= MOST_KEPT and place not in self._kept:
            self._release_picture(self._kept.pop(next(iter(self._kept))))

    def _keep(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept, keeps_depth: bool) -> None:
        if kept.pixels is not None and kept.pixels.has_depth != keeps_depth:
            self._release_picture(kept)
        if kept.pixels is None:
            kept.pixels = Pixels(viewport[2:], target.glo, keeps_depth)
        kept.pixels.store(viewport)
        self._restore(target, viewport)
        kept.is_filled = True

    def _copy(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept) -> None:
        assert kept.pixels is not None
        kept.pixels.restore(viewport, colors_alone=not kept.has_depth)
        self._restore(target, viewport)
        if kept.has_depth:
            return
        self._gl.glClearDepth(1.0)  # other code may have set another value in this context
        # Depth and stencil may share a word. To clear only depth would then mean to read, mask and write each word,
        # which takes twice as long.
        self._gl.glClear(DEPTH_BIT | STENCIL_BIT)

    def _compare(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept, draw: Callable[[], None]) -> None:
        def duration_ns(work: Callable[[], None]) -> int:
            self._context.finish()
            begin_ns = time.perf_counter_ns()
            work()
            self._context.finish()
            return time.perf_counter_ns() - begin_ns

        drawn_ns = min(duration_ns(draw) for _ in range(TRIES))
        self._context.error  # noqa: B018  # clears an error that does not come from copying
        copied_ns = min(duration_ns(lambda: self._copy(target, viewport, kept)) for _ in range(TRIES))
        self._is_faster = copied_ns < drawn_ns and self._context.error == "GL_NO_ERROR"
        if not self._is_faster:
            self.release()
            draw()

    def _restore(self, target: moderngl.Framebuffer, viewport: Viewport) -> None:
        target.use()
        target.viewport = target.scissor = viewport

    def _release_picture(self, kept: _Kept) -> None:
        if kept.pixels is not None:
            kept.pixels.release()
            kept.pixels = None


def areas_of(stale: Sequence[Viewport], viewport: Viewport) -> tuple[Viewport, ...] | None:
    """Divides the stale areas into areas that do not overlap. Returns None if it is cheaper to copy the whole
    picture."""
    areas = apart(stale)
    return areas if sum([area[2] * area[3] for area in areas]) <= MOST_SHARE * viewport[2] * viewport[3] else None


# This section computes the areas of a framebuffer that no longer show the cached background. It also tests whether the
# pixels of a window survive a swap of its buffers.
#
# If the framebuffer still contains the pixels of the last frame, the background has to be copied only where the last
# frame drew something else. OpenGL does not guarantee that pixels survive a swap. But Mesa's software drivers draw all
# frames of a window into the same memory. `KeepingTrial` tests this. It reads a few pixels before a swap and again
# after the swap.
#
# An area is (left, bottom, width, height) in px. This code does not access OpenGL. The caller passes a function `read`,
# which returns pixels.


# Number of samples that must be equal before and after a swap. After this number, the code assumes that pixels survive
# swaps. Only samples that differ from the frame before count.
TRIED = 8
# Width and height of the sampled area in px.
SAMPLE_PX = 16
# Margin in px that is added on each side of an area, if the area is filled before the next positions of bodies are
# known.
ROOM_PX = 24


def around(one: Viewport, other: Viewport) -> Viewport:
    """Smallest area that contains both areas. An area without pixels is ignored."""
    if not (one[2] and one[3]) or not (other[2] and other[3]):
        return one if one[2] and one[3] else other
    left, bottom = min(one[0], other[0]), min(one[1], other[1])
    right, top = max(one[0] + one[2], other[0] + other[2]), max(one[1] + one[3], other[1] + other[3])
    return left, bottom, right - left, top - bottom


def grown(area: Viewport, within: Viewport) -> Viewport:
    """The area with ROOM_PX added on each side, clipped to `within`."""
    left, bottom = max(area[0] - ROOM_PX, within[0]), max(area[1] - ROOM_PX, within[1])
    right = min(area[0] + area[2] + ROOM_PX, within[0] + within[2])
    top = min(area[1] + area[3] + ROOM_PX, within[1] + within[3])
    return left, bottom, right - left, top - bottom


def contains(one: Viewport, other: Viewport) -> bool:
    """True if no pixel of `other` is outside `one`."""
    return around(one, other) == one


def meet(one: Viewport, other: Viewport) -> bool:
    """True if the two areas share a pixel."""
    return (
        one[0] < other[0] + other[2] and other[0] < one[0] + one[2]
        and one[1] < other[1] + other[3] and other[1] < one[1] + one[3]
    )  # fmt: skip


def apart(areas: Iterable[Viewport]) -> tuple[Viewport, ...]:
    """Divides areas into areas that do not overlap and cover the same pixels. The first area is not divided."""
    found: list[Viewport] = []
    for area in areas:
        rest = [area]
        for other in tuple(found):
            rest = [piece for one in rest for piece in _without(one, other)]
        found += rest
    return tuple(found)


def _without(area: Viewport, other: Viewport) -> list[Viewport]:
    """The parts of `area` that are outside `other`: up to four areas."""
    if not meet(area, other):
        return [area]
    left, bottom, right, top = area[0], area[1], area[0] + area[2], area[1] + area[3]
    low, high = max(bottom, other[1]), min(top, other[1] + other[3])
    pieces = [
        (left, bottom, right - left, low - bottom),
        (left, high, right - left, top - high),
        (left, low, other[0] - left, high - low),
        (other[0] + other[2], low, right - other[0] - other[2], high - low),
    ]
    return [piece for piece in pieces if piece[2] > 0 and piece[3] > 0]


class KeepingTrial:
    """Tests whether a swap leaves a framebuffer's pixels unchanged."""

    def __init__(self) -> None:
        self.keeps: bool | None = None  # True if pixels survive a swap; None if this is not known yet
        self._sampled: Viewport | None = None
        self._before = b""  # pixels of the sampled area at the end of the last frame
        self._older = b""  # pixels of the same area at the end of the frame before the last one
        self._found = 0

    def frame_ended(self, area: Viewport, over: Sequence[Viewport], read: Callable[[Viewport], bytes]) -> None:
        """Samples the pixels in the middle of `area`, an area in which bodies move. read: function that returns the
        pixels of an area of the framebuffer. over: areas that may still change before the swap, such as panels. If one
        of these areas overlaps the middle, no sample is taken."""
        if self.keeps is not None:
            return
        left, bottom, width, height = area
        side = min(SAMPLE_PX, width, height)
        sampled = left + (width - side) // 2, bottom + (height - side) // 2, side, side
        if any(meet(sampled, one) for one in over):
            return
        self._sampled = sampled
        self._older, self._before = self._before, read(sampled)

    def frame_begins(self, read: Callable[[Viewport], bytes]) -> None:
        """Compares the sample with the current pixels. Call this before the next frame draws anything."""
        if self.keeps is not None or self._sampled is None:
            return
        if read(self._sampled) != self._before:
            self.keeps = False
        elif self._before != self._older:  # the sample shows which frame the buffer has
            self._found += 1
            self.keeps = True if self._found >= TRIED else None
        self._sampled = None
