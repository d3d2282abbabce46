"""OpenGL's drawing left out, for measuring what is done around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import moderngl


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """Draw calls return at once while inside; all else is done."""
    with patch.object(moderngl.VertexArray, "render", lambda *_, **__: None):
        yield
