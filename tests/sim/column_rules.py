"""Rules of columns that a viewer can import, and some that it cannot."""

from __future__ import annotations

import functools


def eased(old: float, new: float, alpha: float) -> float:
    """Blends with a smoothstep weight."""
    return old + (new - old) * alpha * alpha * (3 - 2 * alpha)


def made_inside():
    def inside(old: float, new: float, alpha: float) -> float:
        return new

    return inside


class Rules:
    def method(self, old: float, new: float, alpha: float) -> float:
        return new

    def __call__(self, old: float, new: float, alpha: float) -> float:
        return new


shortened = functools.partial(eased, 0)
