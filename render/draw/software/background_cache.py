"""Background, grid and floors that stand still as a cached picture, drawn again when the camera moves.

A copy of pixels in the same format (kept_pixels.py) takes a fifth of the time in which the CPU fills
them with one colour, and saves the time of the grid's lines. With its depth, a floor that fills the picture is copied
in 0.1 ms. Where the framebuffer has kept the last frame's pixels (stale_parts.py), only those parts are copied in
which that frame or this one draws more than the background.

Always: the copied pixels are those that drawing would give; the key holds everything that they depend on. One frame
after the first picture is kept, copying is timed against drawing (between different formats it is slower). If it is
not faster, nothing is kept from then on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial

import moderngl

from twixt.render.draw.context import read_pixels
from twixt.render.draw.frame.frame_block import Viewport
from twixt.render.draw.software.kept_pixels import DEPTH_BIT, STENCIL_BIT, Pixels, functions
from twixt.render.draw.software.stale_parts import KeepingTrial, apart, around, contains, grown

# Pictures kept: two halves of a split window and the whole one, or those of two framebuffers.
MOST_KEPT = 3
# Timings of each way; the shortest counts.
TRIES = 3

# Largest share of a picture that is copied in parts: a part takes twice as long as its share of a whole copy, since its
# rows are not contiguous in memory.
MOST_SHARE = 0.5
# Pixel that a window clears to wait until its next buffer is free.
FENCE_PIXEL: Viewport = (0, 0, 1, 1)

Place = tuple[int, Viewport]  # a framebuffer's name, and a part of it


class _Kept:
    """Cached picture of one part of one framebuffer: another framebuffer may store its rows in the opposite order.

    has_depth: its depth is not 1.0 all over. stale: parts in which `framebuffer`, that of the last frame, may differ from
    it, the part with bodies first; None: it may differ anywhere.
    """

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.has_depth = False
        self.pixels: Pixels | None = None
        self.is_filled = False
        self.stale: tuple[Viewport, ...] | None = None
        self.framebuffer: moderngl.Framebuffer | None = None


class BackgroundCache:
    """Cached pictures of the background, for contexts in which the CPU draws."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._gl = functions()
        self._is_faster: bool | None = None  # copying is faster than drawing; None: not measured yet
        self._copies_depth = True  # no copy of depth has failed
        self._kept: dict[Place, _Kept] = {}
        self._prepared: tuple[Place, Hashable, tuple[Viewport, ...]] | None = None  # place, key, parts
        self._drawn: _Kept | None = None  # the one drawn in this frame, if its bounds are known
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
        """Fills the part of `target` with the background.

        key: everything that its pixels depend on. draw: does the same by drawing. has_depth: its depth is kept and
        copied, too; else that is 1.0 (farthest) all over. bounds: part in which the frame draws bodies, if it has one
        picture only; None: not known. Returns the parts that were filled, the first contains `bounds`. Elsewhere the
        last frame's background is still there.
        """
        place, (prepared, self._prepared) = (target.glo, viewport), (self._prepared, None)
        kept = self._kept.get(place)
        parts: tuple[Viewport, ...] = (viewport,)
        stale = self._begin(kept, target, bounds)
        if (
            prepared is not None
            and prepared[:2] == (place, key)
            and (prepared[2] == parts or (bounds is not None and contains(prepared[2][0], bounds)))
        ):
            parts = prepared[2]
            self._restore(target, viewport)
        elif (
            stale is not None and bounds is not None and kept is not None and self._is_valid(kept, key)
            and (fewer := parts_of((around(bounds, stale[0]), *stale[1:]), viewport)) is not None
        ):  # fmt: skip
            parts = fewer
            self._copy_parts(target, viewport, kept, parts)
        elif not self.may_copy or (has_depth and not self._copies_depth):
            draw()
        elif kept is None or kept.key != key:
            self._forget_some(place)
            kept = self._kept.setdefault(place, _Kept(key))
            kept.key, kept.is_filled, kept.has_depth = key, False, has_depth
            draw()
        elif kept.is_filled:
            if self._is_faster is None:  # not in the frame that kept the first picture: both take long
                self._compare(target, viewport, kept, draw)
            else:
                self._copy(target, viewport, kept)
        else:
            draw()
            self._context.error  # noqa: B018  # clears an older error
            keeps_depth = has_depth or (bounds is not None and self._copies_depth)
            self._keep(target, viewport, kept, keeps_depth)
            # Some framebuffers cannot be copied from, such as those with several samples a pixel.
            if (self._is_faster is None or keeps_depth) and self._context.error != "GL_NO_ERROR":
                if keeps_depth:
                    self._copies_depth = False
                else:
                    self._is_faster = False
                self.release()
        kept = self._kept.get(place)
        if kept is not None and kept.is_filled and bounds is not None:
            kept.stale, self._drawn = (bounds,), kept
        return parts

    def prepare(self, target: moderngl.Framebuffer, viewport: Viewport, key: Hashable) -> bool:
        """Fills the part before the next `fill`, which then has nothing to copy. Returns False if nothing was done.

        Nothing may be drawn there between the two calls.
        """
        kept = self._kept.get((target.glo, viewport))
        if kept is None or not self._is_valid(kept, key):
            return False
        stale = self._begin(kept, target, viewport)
        parts = None if stale is None else parts_of((grown(stale[0], viewport), *stale[1:]), viewport)
        if parts is None:
            self._copy(target, viewport, kept)
        else:
            self._copy_parts(target, viewport, kept, parts)
        self._prepared = (target.glo, viewport), key, parts or (viewport,)
        return True

    def end_frame(self, over: Sequence[Viewport] | None) -> None:
        """Ends the frame. over: all parts in which it drew over the picture; None: not known."""
        self._prepared, kept, self._drawn = None, self._drawn, None
        if kept is None or kept.stale is None or over is None:
            self.invalidate()
            return
        if kept.framebuffer is not None and kept.pixels is not None and kept.stale[0][2] and kept.stale[0][3]:
            self._trial.frame_ended(kept.stale[0], over, partial(read_pixels, kept.framebuffer))
        kept.stale = (*kept.stale, *over, FENCE_PIXEL)

    @property
    def may_copy(self) -> bool:
        """False if copies of pixels are known to be slower than drawing."""
        return self._is_faster is not False and self._gl.are_there

    @property
    def is_copied(self) -> bool:
        """True if copies of pixels are known to be faster than drawing."""
        return self._is_faster is True

    def release(self) -> None:
        """Gives the pictures' memory back."""
        for kept in self._kept.values():
            self._give_back(kept)
        self._kept.clear()

    def invalidate(self) -> None:
        """Has the next frame fill the whole picture: other code has drawn into the framebuffer."""
        for kept in self._kept.values():
            kept.stale = None

    def _is_valid(self, kept: _Kept, key: Hashable) -> bool:
        return self.is_copied and kept.is_filled and kept.key == key

    def _begin(
        self, kept: _Kept | None, target: moderngl.Framebuffer, bounds: Viewport | None
    ) -> tuple[Viewport, ...] | None:
        """Begins a frame. Returns the stale parts; None: no part is known to still have the last frame's pixels."""
        stale = None
        if kept is not None and kept.framebuffer is target and kept.stale is not None and bounds is not None:
            self._trial.frame_begins(partial(read_pixels, target))
            if self._trial.keeps and kept.pixels is not None and kept.pixels.has_depth:
                stale = kept.stale
        self.invalidate()  # until the frame has ended
        if kept is not None:
            kept.framebuffer = target
        return stale

    def _copy_parts(
        self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept, parts: tuple[Viewport, ...]
    ) -> None:
        """Copies the background into these parts, with its depth into the first."""
        assert kept.pixels is not None
        kept.pixels.restore_parts(parts, viewport[:2], is_far=not kept.has_depth)
        self._restore(target, viewport)

    def _forget_some(self, place: Place) -> None:
        while len(self._kept) >= MOST_KEPT and place not in self._kept:
            self._give_back(self._kept.pop(next(iter(self._kept))))

    def _keep(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept, keeps_depth: bool) -> None:
        """Keeps the pixels that were just drawn."""
        if kept.pixels is not None and kept.pixels.has_depth != keeps_depth:
            self._give_back(kept)
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
        self._gl.glClearDepth(1.0)  # other code with this context may have set another value
        # If depth and stencil are in one word, clearing depth alone reads, masks and writes it: twice the time.
        self._gl.glClear(DEPTH_BIT | STENCIL_BIT)

    def _compare(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept, draw: Callable[[], None]) -> None:
        def duration_ns(work: Callable[[], None]) -> int:
            self._context.finish()
            begin_ns = time.perf_counter_ns()
            work()
            self._context.finish()
            return time.perf_counter_ns() - begin_ns

        drawn_ns = min(duration_ns(draw) for _ in range(TRIES))
        self._context.error  # noqa: B018  # clears an older error, which does not come from copying
        copied_ns = min(duration_ns(lambda: self._copy(target, viewport, kept)) for _ in range(TRIES))
        self._is_faster = copied_ns < drawn_ns and self._context.error == "GL_NO_ERROR"
        if not self._is_faster:
            self.release()
            draw()

    def _restore(self, target: moderngl.Framebuffer, viewport: Viewport) -> None:
        target.use()
        target.viewport = target.scissor = viewport

    def _give_back(self, kept: _Kept) -> None:
        if kept.pixels is not None:
            kept.pixels.release()
            kept.pixels = None


def parts_of(stale: Sequence[Viewport], viewport: Viewport) -> tuple[Viewport, ...] | None:
    """The same pixels as disjoint parts; None if copying the whole picture costs less."""
    parts = apart(stale)
    return parts if sum([part[2] * part[3] for part in parts]) <= MOST_SHARE * viewport[2] * viewport[3] else None
