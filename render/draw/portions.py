"""Large draws in portions, where the CPU draws.

The one idea: llvmpipe takes in all points of a draw before it works out the first pixel, and then reads them back
tile by tile: of 100,000 points each is fetched from memory again. A flush after some thousand keeps them in the
cache: 100,000 points 1.2 times, a million 1.45 times as fast. (Both threads at work at once it does not bring:
Mesa 22 waits in a flush until all pixels are done.) A graphics card gains nothing by it, and draws all at once.
"""

from __future__ import annotations

from collections.abc import Callable

import moderngl

from twixt.render.draw.software.gl import function

POINTS = moderngl.POINTS

# Bodies between two flushes. A flush costs about 0.03 ms, which is felt below 1,000; above 4,000 the cache is too small.
PORTION = 2048
# Up to so many all that they take lies in the cache at once.
UNDIVIDED = 16_384


class Portions:
    """How bodies are drawn: all at once, or with flushes in between."""

    def __init__(self, is_software: bool) -> None:
        self._flush: Callable[[], object] | None = function("glFlush") if is_software else None

    def render(self, array: moderngl.VertexArray, count: int) -> None:
        """Draws the first `count` of the array's points."""
        draw, flush, last = array.render, self._flush, 0
        if flush is not None and count > UNDIVIDED:
            # All that Python does for bodies: this little for some thousand of them.
            last = (count - 1) // PORTION * PORTION
            for first in range(0, last, PORTION):
                draw(POINTS, PORTION, first=first)
                flush()
        draw(POINTS, count - last, first=last)

    def flush(self) -> None:
        """Lets the pixels begin of what was drawn so far."""
        if self._flush is not None:
            self._flush()
