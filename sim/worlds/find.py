"""Loads a world by its name, such as `balls` or `my_module:MyWorld`. Gives it settings such as `count=500`, and checks
it.

If the command line is wrong, the error message has the value, the rule and a remedy. An exception in the user's code
is raised as UserCodeCrashed.

Always: the user's folder is searched after the standard library and installed packages, but before twixt's own folder.
So a user's module `sim.py` is found instead of twixt's own `sim`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.user_code import calling_user_code, import_user_module, suggestion_for
from twixt.sim.world.settings import read_settings
from twixt.sim.world.world import World
from twixt.sim.world.world_guard import check_world, check_writes_all
from twixt.sim.worlds import WORLDS


def load_world(name: str, settings: Sequence[tuple[str, str]] = (), seed: int = 0) -> World:
    """Makes the world called `name` with `settings`. The world's constructor also gets the `seed`, if it has such a
    parameter.

    Raises TwixtError for errors that the user can correct at the command line. Raises UserCodeCrashed for exceptions
    in the user's code.
    """
    return make_world(find_world(name), settings, seed)


def find_world(name: str) -> type[World]:
    """Returns the class of a world. name: name of a built-in world, or `module:Class`. Raises the same errors as
    `load_world`."""
    module_name, colon, class_name = name.partition(":")
    if not colon:
        return _built_in(name)
    if not module_name or not class_name.isidentifier() or not all(p.isidentifier() for p in module_name.split(".")):
        raise TwixtError(f'a world must be module:Class, such as my_orbit:Orbit, without ".py", got {name!r}')
    module = import_user_module(module_name)
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        known = [key for key, value in vars(module).items() if _is_world(value) and value is not World]
        raise TwixtError(
            f'module "{module_name}" ({getattr(module, "__file__", "no file")}) has no class "{class_name}"; '
            + (
                suggestion_for(class_name, known) or f"it has {', '.join(known)}"
                if known
                else _shadowed(module_name, module)
            )
        )
    if not _is_world(found):
        raise TwixtError(
            f"{name} must be a subclass of World; define it as class {class_name}(World), with World from twixt"
        )
    return found


def make_world(kind: type[World], settings: Sequence[tuple[str, str]], seed: int, dt: float | None = None) -> World:
    """Makes and checks an instance of `kind`. dt: simulated seconds per step; None for the world's own dt. Raises the
    same errors as `load_world`."""
    arguments = read_settings(kind, settings, seed)
    with calling_user_code(f"{kind.__name__}.__init__", refusals=True):
        with contextlib.nullcontext() if dt is None else _given_dt(kind, dt):
            world = kind(**arguments)
        if dt is not None:
            _set_dt(world, dt)
    with calling_user_code(f"{kind.__name__}, checked after its __init__,", refusals=True):
        check_world(world)
    check_writes_all(world)
    return world


def seed_of(kind: type[World], settings: Sequence[tuple[str, str]], seed: int) -> Any:
    """Returns the seed that `make_world` uses. This is the seed in `settings` if there is one, and `seed` otherwise."""
    return read_settings(kind, settings, seed).get("seed", seed)


def _built_in(name: str) -> type[World]:
    if name not in WORLDS:
        hint = suggestion_for(name, list(WORLDS)) or f"the built-in worlds are {', '.join(WORLDS)}"
        raise TwixtError(f'no world named "{name}"; {hint}; write your own world as module:Class')
    entry = WORLDS[name]
    found: type[World] = getattr(importlib.import_module(entry.module), entry.class_name)
    return found


def _set_dt(world: World, dt: float) -> None:
    try:
        world.dt = dt
    except AttributeError as error:  # In this case `dt` is a property without a setter.
        name = type(world).__name__
        raise TwixtError(
            f"{name}.dt cannot be set to {dt:g}; make it a plain attribute, or leave out the rate"
        ) from error


@contextlib.contextmanager
def _given_dt(kind: type[World], dt: float) -> Iterator[None]:
    """In the `with` block, `self.dt` of every instance of `kind` is `dt`, even if `__init__` assigns another value."""
    own = {name: value for name, value in vars(kind).items() if name == "dt"}
    kind.dt = property(lambda world: dt, lambda world, value: None)  # type: ignore[assignment]
    try:
        yield
    finally:
        del kind.dt
        for name, value in own.items():
            setattr(kind, name, value)


def _is_world(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, World)


def _shadowed(module_name: str, module: ModuleType) -> str:
    beside = os.path.abspath(module_name.replace(".", os.sep) + ".py")
    found = os.path.abspath(getattr(module, "__file__", None) or "")
    if os.path.exists(beside) and beside != found:
        return f"another module of this name is found before your {beside}; rename your module"
    return "define one there: class YourWorld(World)"
