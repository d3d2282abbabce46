"""Interpolation: where every body is at a draw time, in numpy. One file a method.

The methods here are usable alone and are the reference that the shaders are held against.

    method = create("linear")
    method.add(snapshot)                  # duplicates and old ones are ignored
    poses = method.sample(draw_time_ns)
"""

from __future__ import annotations

from twixt.ipc.errors import TwixtError
from twixt.render.interpolation.linear import Linear
from twixt.render.interpolation.method import Method
from twixt.render.interpolation.none import Nearest
from twixt.render.interpolation.poses import Poses

METHODS: dict[str, type[Method]] = {"none": Nearest, "linear": Linear}

__all__ = ["METHODS", "Method", "Poses", "create"]


def create(name: str) -> Method:
    """A method with no snapshots yet."""
    if name not in METHODS:
        raise TwixtError(f"interpolation must be one of {', '.join(METHODS)}, got {name!r}")
    return METHODS[name]()
