"""From one interpolation method to another without a jump of the picture.

The one idea: for a short while every body is drawn between where the old method has it and where the new one
does. The change begins when the new method has seen enough to say where that is.

Pure: present instants in, a `Blend` out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

# How long a change takes: short enough to answer a key, long enough that nothing jumps.
CHANGE_NS = 200_000_000


class Blend(NamedTuple):
    """How bodies are drawn in one frame. mix: how much of `other`, 0 (none) to 1."""

    method: str
    other: str = ""
    mix: float = 0.0


class Change:
    """The method in use, and the one asked for."""

    def __init__(self, method: str) -> None:
        self.method = self._wanted = method
        self._leaving = ""
        self._began_ns = 0
        self._look()

    @property
    def is_under_way(self) -> bool:
        """Frames differ because one method gives way to another."""
        return bool(self._leaving)

    def ask(self, method: str) -> None:
        """Draw by `method` from now on, as soon as it can."""
        self._wanted = method
        self._look()

    def blend(self, present_ns: int, is_ready: Callable[[str], bool]) -> Blend:
        """What to draw at `present_ns`. is_ready: whether a method knows where the bodies are now."""
        if not self._leaving and self._wanted == self.method:
            return self._plain
        if self._leaving and present_ns - self._began_ns >= CHANGE_NS:
            self._leaving = ""
            self._look()
        if self._wanted != self.method and not self._leaving and is_ready(self._wanted):
            self._leaving, self.method, self._began_ns = self.method, self._wanted, present_ns
            self._look()
        if not self._leaving:
            return self._plain
        left = 1.0 - max(0, present_ns - self._began_ns) / CHANGE_NS
        return Blend(self.method, self._leaving, left * left * (3.0 - 2.0 * left))

    def _look(self) -> None:
        """Once a change, so that frames between have nothing to work out.

        methods: all that this frame or the next may need. in_use: what the frame drawn last was drawn by.
        """
        self.methods = frozenset(name for name in (self.method, self._wanted, self._leaving) if name)
        self.in_use = frozenset(name for name in (self.method, self._leaving) if name)
        self._plain = Blend(self.method)
