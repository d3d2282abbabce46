"""The user's own drawing of the viewers that trouble is injected into; what fires in it is set from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

fire: Callable[[str], None] = str


def draw(frame: Any) -> None:
    """A point on the body."""
    frame.points(frame.poses.position, size_px=4)
    fire("user")
