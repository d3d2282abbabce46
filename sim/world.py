"""A world: what a user writes, and how it is found by name and made.

A world is a class with `bodies`, a `scene` and a `step(dt)` that advances it by `dt` seconds of simulated
time. `load_world` takes what was typed (`balls`, `my_module:MyWorld`, `count=500`) to a checked instance;
every refusal names the value, the rule and the way out.

Always: the same seed and the same number of steps give the same bytes. The user's folder is searched last,
after the standard library and installed packages, but before our own folder: their `sim.py` is found.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import numbers
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import BODY
from twixt.ipc.users_code import put_users_folder_on_path
from twixt.sim.bodies import Bodies
from twixt.sim.columns import scene_with_columns
from twixt.sim.crash import blamed_on_the_world
from twixt.sim.settings import read_settings
from twixt.sim.worlds import WORLDS

# A shorter step is lost in the clock and in Python itself; a longer one overflows the instants. In seconds.
SHORTEST_DT, LONGEST_DT = 1e-6, 86_400.0
# Whether `write_bodies` fills its records is tried out on so many at most: some ten milliseconds.
MOST_BODIES_CHECKED = 100_000


class World:
    """What a user subclasses. Sets `self.bodies` and `self.scene`, and advances them in `step`.

    Optional, where a subclass has them: `reset(seed)` or `reset()` (else a reset makes the world anew),
    `diagnostics() -> dict[str, float]` (shown in the overlay), and `write_bodies(records)`, for a world of many bodies that rewrites all of them anyway: it puts the bodies, as they are
    after the last step, into the shared memory that viewers read, without the copy out of `self.bodies`.

    records: dtype `twixt.ipc.snapshot.BODY`, shape (n,) with n = len(self.bodies), holding anything before; every
    field of every body is to be written. It is called for each snapshot that goes out, and whenever somebody asks for
    the bodies: so it changes nothing else, and keeps neither `records` nor a view of it. `self.bodies` then only holds
    what was asked for; the epochs of jumps are the world's to write.

    `apply_force(i, force, point)` is the name for forces from a viewer; nothing calls it yet.
    """

    # Seconds of simulated time per step: set in the class or in `__init__`, fixed once the world is made. --physics-hz
    # goes before both: `self.dt` is that from the first line of `__init__` on.
    dt: float = 1 / 60
    bodies: Bodies
    scene: Scene

    def step(self, dt: float) -> None:
        """Advances the world by `dt` seconds."""
        raise NotImplementedError(f"{type(self).__name__} has no step(self, dt); write one that advances its bodies")


def load_world(name: str, settings: Sequence[tuple[str, str]] = (), seed: int = 0) -> World:
    """The world called `name`, made with `settings` and, if its constructor takes one, the `seed`.

    Raises TwixtError for what the user can put right at the command line, WorldCrashed for what their code raised.
    """
    return make_world(find_world(name), settings, seed)


def find_world(name: str) -> type[World]:
    """The class behind a built-in world's name or `module:Class`."""
    module_name, colon, class_name = name.partition(":")
    if not colon:
        return _built_in(name)
    if not module_name or not class_name.isidentifier() or not all(p.isidentifier() for p in module_name.split(".")):
        raise TwixtError(f'a world is written module:Class, such as my_orbit:Orbit, without ".py"; got {name!r}')
    module = _import_users(module_name)
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        known = [key for key, value in vars(module).items() if _is_world(value) and value is not World]
        raise TwixtError(
            f'module "{module_name}" ({getattr(module, "__file__", "no file")}) has no class "{class_name}"; '
            + (_near(class_name, known) or f"it has {', '.join(known)}" if known else _shadowed(module_name, module))
        )
    if not _is_world(found):
        raise TwixtError(f"{name} is not a world; write it as class {class_name}(World), with World from twixt")
    return found


def make_world(kind: type[World], settings: Sequence[tuple[str, str]], seed: int, dt: float | None = None) -> World:
    """An instance of `kind`, checked. dt: seconds, its own where none is given."""
    arguments = read_settings(kind, settings, seed)
    with blamed_on_the_world(f"{kind.__name__}.__init__", refusals=True):
        with contextlib.nullcontext() if dt is None else _given_dt(kind, dt):
            world = kind(**arguments)
        if dt is not None:
            _set_dt(world, dt)
    with blamed_on_the_world(f"{kind.__name__}, looked at after its __init__,", refusals=True):
        check_world(world)
    check_writes_all(world)
    return world


def seed_of(kind: type[World], settings: Sequence[tuple[str, str]], seed: int) -> Any:
    """The seed that `make_world` makes it with: that of the settings, where they have one."""
    return read_settings(kind, settings, seed).get("seed", seed)


def reset_world(world: World, seed: Any) -> bool:
    """Calls the world's own `reset`, with the seed if it takes one; False where it has none."""
    reset = getattr(world, "reset", None)
    if not callable(reset):
        return False
    with blamed_on_the_world(f"{type(world).__name__}.reset"):
        if _takes(reset, seed=seed):
            reset(seed=seed)
        elif _takes(reset, seed):
            reset(seed)
        else:
            reset()
    return True


def check_world(world: World) -> None:
    """Raises TwixtError unless the world can be stepped and drawn."""
    name = type(world).__name__
    if not isinstance(getattr(world, "bodies", None), Bodies):
        raise TwixtError(f"{name}.bodies must be a Bodies; set self.bodies = Bodies(count) in its __init__")
    if not isinstance(getattr(world, "scene", None), Scene):
        raise TwixtError(f"{name}.scene must be a Scene; set self.scene = Scene([Sphere()] * count) in its __init__")
    if not (isinstance(world.dt, numbers.Real) and SHORTEST_DT <= world.dt <= LONGEST_DT):
        rule = f"seconds of simulated time per step, from {SHORTEST_DT:g} to {LONGEST_DT:g}"
        raise TwixtError(f"{name}.dt must be {rule}, got {world.dt!r}; set dt = 1 / 60 in the class")
    shapes, count = len(world.scene.shapes), len(world.bodies)
    if shapes > count:
        raise TwixtError(
            f"{name}.scene has {shapes} shapes for {count} bodies; give one shape per body, "
            f"Scene([...] * {count}), or make Bodies({shapes}) and despawn those not used yet"
        )
    world.scene.check_bodies(count)
    drawable_scene(world)


def drawable_scene(world: World) -> Scene:
    """The world's scene, with the rules of its columns; with a ball as its shape if it names none, as bodies
    beyond the last shape use that. Raises TwixtError for columns that are not there."""
    scene = scene_with_columns(world.scene, world.bodies.columns.declared)
    return scene if len(scene.shapes) else replace(scene, shapes=[Sphere()])


def filled_bodies(world: World) -> Bodies:
    """The world's bodies as they are now: a world that writes them in place does it here, too."""
    if writes_in_place(world):
        write_bodies(world, world.bodies.records)
    return world.bodies


def writes_in_place(world: World) -> bool:
    """Whether the world writes its bodies where they are to go, instead of keeping them in `bodies`."""
    return hasattr(world, "write_bodies")


def write_bodies(world: World, records: NDArray[np.void]) -> None:
    """Has a world that writes in place do so. Raises WorldCrashed for what it raises."""
    with blamed_on_the_world(f"{type(world).__name__}.write_bodies"):
        world.write_bodies(records)  # type: ignore[attr-defined]  # optional


def check_writes_all(world: World) -> None:
    """Raises TwixtError for a world whose `write_bodies` leaves a byte of a record as it was before."""
    if not writes_in_place(world) or len(world.bodies) > MOST_BODIES_CHECKED:
        return
    records, others = world.bodies.records, np.zeros(len(world.bodies), BODY)
    for array, byte in ((others, 0), (records, 0xFF)):
        array.view(np.uint8)[:] = byte
        with np.errstate(all="ignore"):  # what is left of these bytes may be no numbers
            write_bodies(world, array)
    left = np.flatnonzero(records.view(np.uint8) != others.view(np.uint8))
    if len(left):
        body, byte = divmod(int(left[0]), BODY.itemsize)
        field = [name for name, (_, offset, *_) in (BODY.fields or {}).items() if offset <= byte][-1]
        raise TwixtError(
            f"{type(world).__name__}.write_bodies must write every field of every body, got {field} of body {body} as it "
            f'was before; write records["{field}"][:] too, even where it never changes'
        )


def state_hash(world: World) -> str:
    """SHA-256 of the bytes of all bodies and of the world's own columns, as hexadecimal digits."""
    import hashlib

    digest = hashlib.sha256(filled_bodies(world).records.tobytes())
    for column in world.bodies.columns.values():
        digest.update(column.tobytes())
    return digest.hexdigest()


def _built_in(name: str) -> type[World]:
    if name not in WORLDS:
        hint = _near(name, list(WORLDS)) or f"built in: {', '.join(WORLDS)}"
        raise TwixtError(f'no world named "{name}"; {hint}; a world of your own is written module:Class')
    entry = WORLDS[name]
    found: type[World] = getattr(importlib.import_module(entry.module), entry.class_name)
    return found


def _set_dt(world: World, dt: float) -> None:
    try:
        world.dt = dt
    except AttributeError as error:  # a property of theirs
        name = type(world).__name__
        raise TwixtError(
            f"{name}.dt cannot be set to {dt:g}; make it a plain attribute, or leave the rate out"
        ) from error


@contextlib.contextmanager
def _given_dt(kind: type[World], dt: float) -> Iterator[None]:
    """While one of `kind` is made, `self.dt` is this one, whatever `__init__` assigns to it."""
    own = {name: value for name, value in vars(kind).items() if name == "dt"}
    kind.dt = property(lambda world: dt, lambda world, value: None)  # type: ignore[assignment]
    try:
        yield
    finally:
        del kind.dt
        for name, value in own.items():
            setattr(kind, name, value)


def _takes(function: Callable[..., object], *arguments: Any, **named: Any) -> bool:
    try:
        inspect.signature(function).bind(*arguments, **named)
    except TypeError:
        return False
    except ValueError:  # made in C: nobody knows
        return True
    return True


def _is_world(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, World)


def _import_users(module_name: str) -> ModuleType:
    try:
        os.getcwd()
    except OSError as error:
        raise TwixtError(
            f'"{module_name}" is looked for in the current folder, which is gone ({error.strerror}); cd to one that is there'
        ) from None
    put_users_folder_on_path()
    importlib.invalidate_caches()
    try:
        with blamed_on_the_world(f"importing {module_name}", exits=True):
            return importlib.import_module(module_name)
    except TwixtError as error:
        cause = error.__cause__
        # The module itself, or a package it lies in, is not there; a missing import inside it is the user's crash.
        if isinstance(cause, ModuleNotFoundError) and f"{module_name}.".startswith(f"{cause.name}."):
            here = sorted(entry[:-3] for entry in os.listdir() if entry.endswith(".py"))
            hint = _near(module_name, here) or "go to the folder it lies in, or set PYTHONPATH"
            where = f"in {os.getcwd()} or on the Python path"
            raise TwixtError(f'no module named "{module_name}" {where}; {hint}') from None
        raise


def _near(word: str, known: Sequence[str]) -> str:
    import difflib  # for a refusal alone

    near = difflib.get_close_matches(word, known, n=1)
    return f'did you mean "{near[0]}"?' if near else ""


def _shadowed(module_name: str, module: ModuleType) -> str:
    beside = os.path.abspath(module_name.replace(".", os.sep) + ".py")
    found = os.path.abspath(getattr(module, "__file__", None) or "")
    if os.path.exists(beside) and beside != found:
        return f"a module of that name comes before your {beside}; rename yours"
    return "write one there: class YourWorld(World)"
