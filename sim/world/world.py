"""Base class of worlds, and functions that call or read a world.

Always: an exception in the user's code becomes `UserCodeCrashed`, which has only the user's part of the traceback. The
state of a world should depend only on its seed and on the lengths of its steps. A repeated run then gives the same
bytes. `world_guard.py` checks the members of a world.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError, text_of
from twixt.ipc.interaction.controls import Control
from twixt.ipc.interaction.events import KEY, UserEvent
from twixt.ipc.interaction.keyboard import names_of
from twixt.ipc.interaction.plots import PlotRecorder
from twixt.ipc.process.user_code import calling_user_code
from twixt.ipc.scene import Scene, Sphere
from twixt.sim.publish.event_buffer import EventBuffer
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import scene_with_columns
from twixt.sim.world.marks import Marks
from twixt.sim.world.surfaces import Surfaces

# Largest number of diagnostics of a world that are sent to viewers. No overlay has room for more.
MOST_FIGURES = 64
# Shortest and longest step that is accepted, in s. A shorter step is below the resolution of the clock. A longer step
# makes instants overflow.
SHORTEST_DT, LONGEST_DT = 1e-6, 86_400.0


class World:
    """Base class of worlds. A subclass sets `self.bodies` and `self.scene` in `__init__` and defines `step`.

    All other members are optional. A world may also define `apply_force(i, force, point)`. twixt calls it before each
    step while a user drags body i with Ctrl held. `force` is (3,) in N. `point` is (3,) in metres, the point at which
    the force acts. Force and point are float64 arrays in world coordinates.

    Attributes:
        bodies: The bodies of the world.
        scene: Shapes of the bodies, camera, ground and light.
        dt: Seconds of simulated time per step, from 1e-6 to 86,400, by default 1/60. Set it in the class or in
            `__init__`; it must not change afterwards. With --physics-hz, `self.dt` is already set before `__init__`
            runs.
        marks: Optional. Arrows, lines, contact points and other marks. To use them, set `self.marks = Marks()` in
            `__init__`. A reset removes all marks.
        surfaces: Optional. Vertices of bodies that deform. To use them, set `self.surfaces = Surfaces(self.scene)` in
            `__init__`.
        controls: Optional. Sliders, switches and buttons in the overlay. `step` reads their values. See `Slider`.
        own_keys: Optional, beside `on_key`. Names of keys, such as "space" or "w", that belong to the world: the
            viewer does not act on them. Set it in the class or in `__init__`.

    Examples:
        Save this world as orbit.py, and show the world with `twixt run orbit:Orbit`.

        ```python
        import numpy as np
        from twixt import Bodies, Scene, Sphere, World

        class Orbit(World):
            def __init__(self, count: int = 100):
                self.bodies, self.scene = Bodies(count), Scene([Sphere(0.1)] * count)
                self.angle = np.linspace(0, 2 * np.pi, count, endpoint=False)

            def step(self, dt: float) -> None:
                self.angle += dt
                self.bodies.position[:, :2] = np.stack([np.cos(self.angle), np.sin(self.angle)], axis=1)

        world = Orbit()
        world.step(world.dt)
        ```
    """

    dt: float = 1 / 60
    bodies: Bodies
    scene: Scene
    marks: Marks = None  # type: ignore[assignment]  # a world that makes marks has them in all its methods
    surfaces: Surfaces = None  # type: ignore[assignment]  # as for marks
    controls: Sequence[Control] = ()
    own_keys: Sequence[str] = ()

    # For worlds of engines: advice if numbers are not finite, instead of "look in step for a division by zero".
    _way_out: str = ""
    # Recorder of live plots, and buffer of events, during a run; None for a world that is stepped without one.
    _plot_recorder: PlotRecorder | None = None
    _event_buffer: EventBuffer | None = None

    def step(self, dt: float) -> None:
        """Advances the world by `dt` seconds of simulated time.

        Args:
            dt: Seconds of simulated time: `self.dt`, or a multiple of `self.dt` with --when-slow widen.
        """
        raise NotImplementedError(f"{type(self).__name__} has no step(self, dt); write one that advances its bodies")

    def reset(self, *args: Any, **kwargs: Any) -> None:
        """Optional: returns the world to its initial state. Define it as `reset(self, seed)` or `reset(self)`.

        If the class has no `reset`, a reset constructs a new world.

        Args:
            *args: The seed, if your method accepts it by position.
            **kwargs: The seed, if your method has a parameter `seed`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no reset(self, seed); make another one instead")

    def on_key(self, event: UserEvent) -> None:
        """Optional: receives each key that a user presses, holds or releases in a viewer's window.

        The method is called before the next step, once for each event, in the order of the events. While the world is
        paused, events wait for the next step. Keys on which the viewer itself acts, such as Space and T, are left out.
        With `own_keys` or --no-keys, the world gets these keys. Held keys are released when the window loses the
        keyboard, and when the viewer ends.

        Args:
            event: The event, such as one with `event.key_name == "left"` and `event.action == "press"`.
        """

    def _is_outdated(self) -> bool:
        """For worlds of engines: returns True to request a reset, for example after a file changed. The method is
        called a few times a second."""
        return False

    def diagnostics(self) -> Mapping[str, float]:
        """Optional: returns numbers to show in the overlay. The method is called a few times a second.

        Returns:
            The numbers by name. The first 64 are shown.
        """
        return {}

    def plot(self, name: str, /, *values: float, **series: float) -> None:
        """Adds a point to the live plot `name` in the overlay. Call it in `step`.

        Examples of calls are `self.plot("error", error)`, with the simulated time after the step as x, and
        `self.plot("energy", t, kinetic=k, potential=p)`. For limits and costs see `View.plot`. Plots are not part of
        the state. Without a run, and in copies of a world, this method does nothing.

        Args:
            name: Title of the plot.
            *values: Pass y, or x and y. With `series`, pass x or nothing.
            **series: One value for each line, by the name of the line.

        Raises:
            TwixtError: An argument is invalid (see `View.plot`).
        """
        if self._plot_recorder is not None:
            self._plot_recorder.add(name, values, series)

    def emit(
        self,
        name: str,
        /,
        *,
        body: int | None = None,
        position: Sequence[float] | NDArray[Any] | None = None,
        strength: float = 1.0,
        values: Sequence[float] | NDArray[Any] = (),
        text: str = "",
        at: float | None = None,
    ) -> None:
        """Emits an event: something that happened in this step, such as a hit or a goal. Any thread may call it.

        For example `self.emit("hit", body=i, position=point, strength=speed, at=t)`. Every viewer delivers each event
        once, in the first frame whose draw time has reached the event's instant. The snapshot of the step need not be
        drawn. A fading ring is drawn at the position or the body, and the function of `on_event` is called. Events are
        not part of the state. An event that `step` or `on_key` emits belongs to that step. An event that `reset` emits
        belongs to the new state. Events that were not drawn before a reset are not delivered. In `__init__`, without a
        run, in copies of a world and in forked children, this method does nothing.

        A call takes about a microsecond and never waits. One step may emit 16,384 events, and a program may use 254
        names. Further events are dropped. Events with further names are called "other". An invalid value does not stop
        the world: it is corrected as described below, and the first value of each kind is reported.

        Args:
            name: Name of the event, 1 to 40 bytes in UTF-8, without control characters.
            body: Index of the body to which the event happened. If the body does not exist after the step, the event
                has no body.
            position: Point in the world, (3,), metres. If a number is not finite, the event has no position.
            strength: Strength of the event, >= 0, in a unit of your choice. A stronger event has a larger ring. A
                number that is negative or not finite becomes 0.
            values: Up to four numbers, stored as float32. A number that is not finite becomes NaN; NaN at the end is
                left out.
            text: Short text, up to 15 bytes in UTF-8. A longer text is cut at a character; control characters become
                spaces.
            at: Simulated time at which the event happened, in seconds. By default the end of the step. A time outside
                the step is moved into the step. NaN means the default.

        Raises:
            TwixtError: An argument has a wrong type or shape, `body` is negative, or `name` is empty, too long or has
                control characters.
        """
        if self._event_buffer is not None:
            self._event_buffer.emit(name, body, position, strength, values, text, at)

    def emit_many(
        self,
        name: str,
        /,
        *,
        body: ArrayLike | None = None,
        position: ArrayLike | None = None,
        strength: ArrayLike = 1.0,
        values: ArrayLike | None = None,
        at: ArrayLike | None = None,
        text: str = "",
    ) -> None:
        """Emits n events of one name. From about 20 events on, this is faster than n calls of `emit`.

        All arrays must have the same length n. An argument may also be one value for all events. If no argument is an
        array, one event is emitted. Events with the same time keep their order. Everything else is as for `emit`.

        Args:
            name: Name of the events.
            body: (n,), indices of bodies.
            position: (n, 3), points in the world, metres.
            strength: Strengths of the events, (n,), >= 0.
            values: (n, k), up to four numbers for each event.
            at: (n,), simulated times within the step, in seconds.
            text: Short text that all events have.

        Raises:
            TwixtError: An argument is invalid (see `emit`), or the arrays have different lengths.
        """
        if self._event_buffer is not None:
            self._event_buffer.emit_many(name, body, position, strength, values, at, text)

    def __getstate__(self) -> object:
        """State for copy and pickle. A copy plots and emits nothing."""
        state: Any = super().__getstate__()
        without = {"_plot_recorder": None, "_event_buffer": None}
        if isinstance(state, tuple):  # the class has slots
            return (state[0] or {}) | without, state[1]
        return (state or {}) | without

    def write_bodies(self, records: NDArray[np.void]) -> None:
        """Optional: writes the bodies after the last step directly into the shared memory that viewers read.

        Use this method if there are many bodies and each step rewrites all of them. The method avoids a copy from
        `self.bodies`. twixt calls it for each snapshot, and fills `self.bodies` only if the bodies are read for a
        different purpose. The method must change only `records`, and must not store `records` or views of `records`.

        Args:
            records: The records to write, dtype `twixt.ipc.snapshot.BODY`, shape (n,) with n = len(self.bodies).
                Before the call, `records` has undefined content. Write every field of every record, epochs included.
        """
        records[:] = self.bodies.records

    def write_surfaces(self) -> None:
        """Optional: writes `self.surfaces` for the state after the last step.

        Use this method if computing the vertices takes longer than a step. twixt calls it only for each snapshot, and
        if the surfaces are read for a different purpose.
        """


class FormulaWorld(World):
    """A world whose state is a function of simulated time.

    A subclass implements `write`, which writes all bodies for the simulated time `time_s`, and calls `reset` in its
    `__init__`. `time_ns` is the sum of the steps, each rounded to whole nanoseconds.
    """

    time_ns = 0

    @property
    def time_s(self) -> float:
        """Simulated time in seconds."""
        return self.time_ns / 1e9

    def reset(self, seed: int) -> None:
        """Returns to simulated time 0. Viewers do not blend the bodies with their earlier states."""
        self.time_ns = 0
        self.write()
        self.bodies.teleport(slice(None), self.bodies.position)

    def step(self, dt: float) -> None:
        """Advances simulated time by `dt` seconds and writes the bodies."""
        self.time_ns += round(dt * 1e9)
        self.write()

    def write(self) -> None:
        """Writes the state of all moving bodies at simulated time `time_s`."""
        raise NotImplementedError(f"{type(self).__name__} has no write(self)")


def reset_world(world: World, seed: Any) -> bool:
    """Calls the world's own `reset`, with the seed if the method accepts one. Returns False if the world has no
    `reset`. Raises UserCodeCrashed if that call raises.
    """
    reset = world.reset
    if not callable(reset) or _is_default(reset, World.reset):
        return False
    with calling_user_code(f"{type(world).__name__}.reset"):
        if _accepts(reset, seed=seed):
            reset(seed=seed)
        elif _accepts(reset, seed):
            reset(seed)
        else:
            reset()
    return True


def writes_in_place(world: World) -> bool:
    """True if the world defines `write_bodies`. False if the world keeps its state in `bodies`."""
    return not _is_default(world.write_bodies, World.write_bodies)


def write_bodies(world: World, records: NDArray[np.void]) -> None:
    """Calls the world's own `write_bodies`. Raises UserCodeCrashed if that call raises."""
    with calling_user_code(f"{type(world).__name__}.write_bodies"):
        world.write_bodies(records)


def write_surfaces(world: World) -> None:
    """Calls the world's own `write_surfaces`, if it defines one. Raises UserCodeCrashed if that call raises."""
    if not _is_default(world.write_surfaces, World.write_surfaces):
        with calling_user_code(f"{type(world).__name__}.write_surfaces"):
            world.write_surfaces()


def takes_keys(world: World) -> bool:
    """True if the world defines `on_key`."""
    on_key = getattr(world, "on_key", None)
    return callable(on_key) and not _is_default(on_key, World.on_key)


def pass_key(world: World, event: UserEvent) -> None:
    """Passes an event to the world's own `on_key` if it is a key on which the viewer has not acted. Raises
    UserCodeCrashed if that call raises."""
    if event.name == KEY and not event.is_viewers:
        with calling_user_code(f"{type(world).__name__}.on_key"):
            world.on_key(event)


def own_keys(world: World) -> list[str]:
    """Names of the keys that belong to the world; empty if it does not define `on_key`. Raises TwixtError if `own_keys`
    is anything but a sequence of names of keys."""
    if not takes_keys(world):
        return []
    names = world.own_keys
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TwixtError(
            f"{type(world).__name__}.own_keys must be a list of names of keys, got {text_of(names)}; "
            'such as own_keys = ("space", "left")'
        )
    try:
        return sorted({name for key in names for name in names_of(key)})
    except TwixtError as error:
        raise TwixtError(f"{type(world).__name__}.own_keys: {error}") from None


def filled_bodies(world: World) -> Bodies:
    """The world's current bodies. If the world writes them in place, this function lets it fill them first."""
    if writes_in_place(world):
        write_bodies(world, world.bodies.records)
    return world.bodies


def drawable_scene(world: World) -> Scene:
    """The world's scene with the blending rules of the world's columns. A scene without shapes gets one sphere.
    (Bodies beyond the last shape have the last shape.) Raises TwixtError if the scene uses columns that were not
    declared."""
    scene = scene_with_columns(world.scene, world.bodies.columns.declared)
    return scene if len(scene.shapes) else replace(scene, shapes=[Sphere()])


def state_hash(world: World) -> str:
    """SHA-256 of the bytes of all bodies, of the world's own columns and of its surfaces, as hexadecimal digits. Marks
    are not included: they only show a state, so another arrow must not change the hash.
    """
    import hashlib

    digest = hashlib.sha256(filled_bodies(world).records.tobytes())
    for column in world.bodies.columns.values():
        digest.update(column.tobytes())
    if world.surfaces is not None:
        write_surfaces(world)
        digest.update(world.surfaces.vertices.tobytes())
    return digest.hexdigest()


def _is_default(method: Callable[..., object], default: Callable[..., object]) -> bool:
    return getattr(method, "__func__", method) is default


def _accepts(function: Callable[..., object], *arguments: Any, **named: Any) -> bool:
    try:
        inspect.signature(function).bind(*arguments, **named)
    except TypeError:
        return False
    except ValueError:  # Python does not know the parameters of some C functions.
        return True
    return True
