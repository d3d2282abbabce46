"""Interpolation: where every body is at a draw time, in numpy. One file a method.

The methods here are usable alone and are the reference that the shaders are held against.

    method = create("linear")
    method.add(snapshot)                  # duplicates and old ones are ignored
    poses = method.sample(draw_time_ns)

A method's module is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from twixt.ipc.errors import TwixtError
from twixt.render.interpolation.columns import Rule
from twixt.render.interpolation.method import Method
from twixt.render.interpolation.poses import Poses, records_of

# Name -> module in this folder, class. In the order in which they are offered.
METHODS: dict[str, tuple[str, str]] = {
    "auto": ("auto", "Auto"),
    "hermite": ("hermite", "Hermite"),
    "linear": ("linear", "Linear"),
    "none": ("none", "Nearest"),
    "latest": ("latest", "Latest"),
    "catmull": ("catmull", "Catmull"),
    "quadratic": ("quadratic", "Quadratic"),
    "extrapolate": ("extrapolate", "Extrapolate"),
    "kalman": ("kalman", "Kalman"),
    "chase": ("chase", "Chase"),
}

__all__ = ["METHODS", "Method", "Poses", "Rule", "create", "records_of"]


def create(name: str, rules: Mapping[str, Rule] | None = None, chase_ms: float | None = None) -> Method:
    """A method with no snapshots yet: one of METHODS, or `module:Class` of the user's own.

    rules: how the user's columns are blended, by name, see columns.py. chase_ms: how long `chase` takes.
    """
    if name in METHODS:
        module_name, class_name = METHODS[name]
        module = importlib.import_module(f"{__name__}.{module_name}")
        method: Method = getattr(module, class_name)()
    elif ":" in name:
        own = importlib.import_module(f"{__name__}.own")
        method = own.Own(name)
    else:
        raise TwixtError(f"interpolation must be one of {', '.join(METHODS)} or module:Class, got {name!r}")
    method.rules = rules or {}
    if name == "chase":
        method.chase_ms = chase_ms
    return method
