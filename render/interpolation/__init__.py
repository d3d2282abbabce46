"""Computes the pose of every body at a draw time, in numpy. Each interpolation method has its own file.

The interpolation methods can be used without the viewer. The shaders must give the same results as these methods.

    method = create("linear")
    method.add(snapshot)                  # ignores duplicates and old snapshots; a newer tick replaces
    poses = method.sample(draw_time_ns)

| method | between two snapshots | after the newest snapshot | needs | source |
|---|---|---|---|---|
| `auto` | for each body and interval: `hermite` if it can be trusted, else `linear` | holds | | hermite.py |
| `hermite` | cubic with both velocities, turns with both angular velocities | holds | velocities, else linear | Hermite 1878; Kim, Kim, Shin 1995 |
| `linear` | straight, shortest way round | holds | | slerp: Shoemake 1985 |
| `none` | the older snapshot | holds | | |
| `latest` | the newest snapshot of all, whatever the draw time is | holds | | |
| `catmull` | smooth through three or four snapshots | holds | | Catmull, Rom 1974; Barry, Goldman 1988 |
| `quadratic` | the parabola through three snapshots | holds | | Lagrange 1795 |
| `extrapolate` | straight; back to the truth without a jump | dead reckoning, 250 ms | | Murphy 2011 (in Lengyel) |
| `kalman` | straight between filtered states | predicts, 250 ms | noisy states | Kalman 1960 |
| `chase` | from the pose drawn last towards the newest snapshot | arrives there | | |
| `module:Class` | the user's own, see method.py | its `reach_ns` | | |

With every method, the user's columns are blended by their own rules: see blending.py. The module of a method is
imported when the method is created for the first time.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from twixt.ipc.errors import InvalidValue

if TYPE_CHECKING:
    from twixt.render.interpolation.blending import Rule
    from twixt.render.interpolation.method import Method
    from twixt.render.interpolation.poses import Poses, records_of

# For each name of an interpolation method: its module in this folder, and its class. The user is offered the names in
# this order.
METHODS: dict[str, tuple[str, str]] = {
    "auto": ("hermite", "Auto"),
    "hermite": ("hermite", "Hermite"),
    "linear": ("method", "Linear"),
    "none": ("method", "Nearest"),
    "latest": ("method", "Latest"),
    "catmull": ("catmull", "Catmull"),
    "quadratic": ("catmull", "Quadratic"),
    "extrapolate": ("extrapolate", "Extrapolate"),
    "kalman": ("kalman", "Kalman"),
    "chase": ("chase", "Chase"),
}

__all__ = ["METHODS", "Method", "Poses", "Rule", "create", "records_of"]
_HOMES = {"Method": "method", "Poses": "poses", "Rule": "blending", "records_of": "poses"}


def create(
    name: str, rules: Mapping[str, Rule] | None = None, chase_ms: float | None = None, named_by: str = "interpolation"
) -> Method:
    """Creates an interpolation method that has no snapshots yet.

    Args:
        name: One of `METHODS`, such as "auto" or "linear", or "module:Class" for your own method.
        rules: For each column name, the rule by which it is blended: "linear", "angle", "none", "latest", a function
            (old, new, alpha), or its name, module:function. A column of floats without a rule is blended linearly.
        chase_ms: Time in which the method "chase" reaches a new state, in ms. By default the usual interval between
            states.
        named_by: Name of the setting from which `name` comes. Error texts contain it.

    Returns:
        The method. `add` stores a `twixt.Snapshot`; duplicates and old snapshots are ignored. `sample` returns the
        poses at a draw time: `position` (n, 3), `orientation` (n, 4), `visible` (n,), `columns`. `reset` removes all
        snapshots.

    Raises:
        TwixtError: There is no method of this name, or a rule is unknown.

    Examples:
        ```python
        from twixt import Snapshot
        from twixt.ipc.snapshot import new_bodies
        from twixt.render.interpolation import create

        method = create("linear")
        for step in range(2):
            bodies = new_bodies(1)
            bodies["position"] = (step, 0, 0)
            method.add(Snapshot(sim_time_ns=step * 10_000_000, bodies=bodies))
        print(method.sample(5_000_000).position)  # [[0.5 0. 0.]]
        ```
    """
    method: Method
    if name in METHODS:
        module_name, class_name = METHODS[name]
        kind = getattr(importlib.import_module(f"{__name__}.{module_name}"), class_name)
        method = kind(chase_ms) if name == "chase" else kind()
    elif ":" in name:
        method = importlib.import_module(f"{__name__}.method").UserMethod(name, named_by)
    else:
        raise InvalidValue(f"{named_by} must be one of {', '.join(METHODS)} or module:Class, got {name!r}")
    method.rules = rules or {}
    return method


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
