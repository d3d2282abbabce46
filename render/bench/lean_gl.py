"""OpenGL's drawing left out, for measuring what is done around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import moderngl

from twixt.render.draw import portions


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """Draw calls, clears and flushes return at once while inside; all else is done, and finds nothing to wait for.

    Flushes are left out of renderers that are made inside.
    """
    with (
        # With the parameters by name: a stub that takes whatever comes takes three times as long.
        patch.object(moderngl.VertexArray, "render", lambda _, mode=0, vertices=-1, *, first=0, instances=-1: None),
        patch.object(moderngl.Framebuffer, "clear", lambda *_, **__: None),
        patch.object(portions, "function", lambda *_: lambda: None),
    ):
        yield
