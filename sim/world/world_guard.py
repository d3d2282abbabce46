"""Checks a world. All members are checked when the world is created; `bodies`, `dt` and `scene` are checked after
every step.

Every error names the value, the rule and what the user can do. If a world replaces its bodies or sets a scene that
cannot be drawn, it counts as crashed although it raised no exception. The reason is that the user's code made the
error during the run.

Always: a world that passes the checks can be published and drawn.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.controls import (
    Button,
    Control,
    ControlKey,
    checked_controls,
    control_key,
    set_value,
    to_status,
)
from twixt.ipc.interaction.events import Pull
from twixt.ipc.interaction.plots import PlotRecorder
from twixt.ipc.process.renamed import say_renamed
from twixt.ipc.process.user_code import UserCodeCrashed, UserCodeRefused, calling_user_code, user_crash
from twixt.ipc.ring.slot import OpenSlot
from twixt.ipc.scene import Scene
from twixt.ipc.scene.surfaces import NO_EXTRAS, Extras, surface_rows
from twixt.ipc.session.host import Host
from twixt.ipc.session.viewers import ReceivedActions
from twixt.ipc.snapshot import BODY
from twixt.sim.publish.event_buffer import EventBuffer
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.marks import Marks, extras_of, fault_text
from twixt.sim.world.state_checks import (
    LEAST_INTERVAL,
    LOOK_INTERVAL_S,
    FiniteCheck,
    LostMotion,
    small_shape,
    way_out_in,
)
from twixt.sim.world.surfaces import Surfaces
from twixt.sim.world.world import (
    LONGEST_DT,
    SHORTEST_DT,
    World,
    drawable_scene,
    filled_bodies,
    own_keys,
    pass_key,
    reset_world,
    takes_keys,
    write_bodies,
    write_surfaces,
    writes_in_place,
)

# Text of the error about a world that stores views of the records that it has written.
RECORDS_KEPT = (
    "do not store records that are written in place, or views of them, because viewers read this memory now; "
    "use the argument of each call, and copy the values that you need later"
)
# `write_bodies` is tested only in worlds with at most this many bodies. The test then takes some ten milliseconds.
MOST_BODIES_CHECKED = 100_000


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
    checked_marks(world)
    checked_controls(getattr(world, "controls", ()), f"{name}.controls")
    own_keys(world)
    shapes, count = len(world.scene.shapes), len(world.bodies)
    if shapes > max(1, count):  # one shape stands for all bodies, also before the first one is spawned
        raise TwixtError(
            f"{name}.scene has {shapes} shapes for {count} bodies; give one shape for all bodies, or one shape for each body, "
            f"or make Bodies({shapes}) and despawn the bodies that are not used yet"
        )
    world.scene.check_bodies(count)
    drawable_scene(world)
    columns = world.bodies.columns
    if not columns._is_for(world.scene):
        raise TwixtError(
            f"{name}.bodies has part columns of {columns._part_count(count)} rows, but the bodies of {name}.scene have "
            f"{len(world.scene.part_bodies(count))} parts; pass the scene that is drawn: "
            "Bodies(count, columns, scene=self.scene)"
        )
    surfaces = checked_surfaces(world)
    if surfaces is not None and not surfaces._is_for(world.scene, count):
        raise TwixtError(
            f"{name}.surfaces was made for the bodies {list(surfaces)}, but of its {count} bodies "
            f"{surface_rows(world.scene, count).bodies.tolist()} deform; set self.surfaces = Surfaces(self.scene, "
            "len(self.bodies)) after the scene"
        )


def checked_marks(world: World) -> Marks | None:
    """The world's marks, or None if the world has no marks. Raises TwixtError if `world.marks` is anything else."""
    marks = getattr(world, "marks", None)
    if not isinstance(marks, Marks | None):
        raise TwixtError(
            f"{type(world).__name__}.marks must be a Marks, got {type(marks).__name__}; set self.marks = Marks() in its "
            "__init__, or give your own attribute another name"
        )
    return marks


def checked_surfaces(world: World) -> Surfaces | None:
    """The world's surfaces, or None if the world has no surfaces. Raises TwixtError if `world.surfaces` is anything
    else."""
    surfaces = getattr(world, "surfaces", None)
    if not isinstance(surfaces, Surfaces | None):
        raise TwixtError(
            f"{type(world).__name__}.surfaces must be a Surfaces, got {type(surfaces).__name__}; set self.surfaces = "
            "Surfaces(self.scene) in its __init__, and write self.surfaces[body][:] = vertices in step"
        )
    return surfaces


def check_writes_all(world: World) -> None:
    """Raises TwixtError for a world whose `write_bodies` does not write every byte of every record."""
    if not writes_in_place(world) or len(world.bodies) > MOST_BODIES_CHECKED:
        return
    records, others = world.bodies.records, np.zeros(len(world.bodies), BODY)
    for array, byte in ((others, 0), (records, 0xFF)):
        array.view(np.uint8)[:] = byte
        with np.errstate(all="ignore"):  # Bytes that were not written may form numbers that are not finite.
            write_bodies(world, array)
    left = np.flatnonzero(records.view(np.uint8) != others.view(np.uint8))
    if len(left):
        body, byte = divmod(int(left[0]), BODY.itemsize)
        field = [name for name, (_, offset, *_) in (BODY.fields or {}).items() if offset <= byte][-1]
        raise TwixtError(
            f"{type(world).__name__}.write_bodies must write every field of every body, but it did not write {field} of "
            f'body {body}; write records["{field}"][:] even if it never changes'
        )


def _way_out_of(world: World) -> str:
    """The world's own advice about numbers that are not finite; empty if it has none."""
    former: Any = getattr(world, "way_out", None)
    if isinstance(former, str):
        say_renamed("World.way_out", "World._way_out")
        return former
    return getattr(world, "_way_out", "")


class GuardedWorld:
    """Wrapper of a world for the physics process. It turns exceptions into `UserCodeCrashed` and checks the world's
    members. After every step it compares the bodies, the scene and dt with their last checked values.

    remake, seed: see `reset`. warn: function that is called with the text of each warning.
    """

    def __init__(self, world: World, remake: Callable[[], World], seed: Any, warn: Callable[[str], object]) -> None:
        self.world, self.name = world, type(world).__name__
        self.writes_in_place = writes_in_place(world)
        self._takes_keys = takes_keys(world)
        self._remake, self._seed, self._warn = remake, seed, warn
        self._way_out = _way_out_of(world) or way_out_in(f"{self.name}.step")
        self._dt, self._has_kept_dt = world.dt, True
        self._scene, self._bodies, self._count = world.scene, world.bodies, len(world.bodies)
        self._declared = world.bodies.columns.declared
        self._finite = FiniteCheck(self._way_out)
        self._next_check_tick, self._has_fault, self._has_said_body = 1, False, False
        self._motion, self._next_motion_tick = LostMotion(lambda: self.world.scene), float(LEAST_INTERVAL)
        self._users_values: dict[ControlKey, float] = {}  # values of controls that users have set
        if small := small_shape(world.scene):
            warn(small)

    def record(self, plots: PlotRecorder, events: EventBuffer) -> None:
        """Passes the points of `World.plot` to `plots`, and the events of `World.emit` to `events`."""
        self.world._plot_recorder, self.world._event_buffer = plots, events

    def step(self, dt_s: float) -> None:
        """Advances the world by one step of `dt_s` seconds. Raises UserCodeCrashed."""
        with calling_user_code(f"{self.name}.step"):
            returned: Any = self.world.step(dt_s)  # type: ignore[func-returns-value]
        if returned is not None and isinstance(returned, Generator | Coroutine):
            kind = "a generator, as it contains yield" if isinstance(returned, Generator) else "async"
            raise UserCodeCrashed(f"{self.name}.step is {kind}: calling it runs nothing; make it a plain method")

    def reset(self) -> Scene | None:
        """Clears the marks, then calls the world's `reset` with `seed`. If the world has no `reset`, creates a new
        world with `remake`. Controls that are made anew get the values that users have set. Returns the scene if it
        changed, else None."""
        controls = self.controls()
        if isinstance(marks := getattr(self.world, "marks", None), Marks):
            marks.clear()
        if not reset_world(self.world, self._seed):
            before, self.world = self.world, self._remake()
            self.world._plot_recorder, self.world._event_buffer = before._plot_recorder, before._event_buffer
            self.writes_in_place, self._takes_keys = writes_in_place(self.world), takes_keys(self.world)
        self._restore_values(controls)
        self._next_check_tick, self._motion = 1, LostMotion(lambda: self.world.scene)
        self._next_motion_tick = math.inf if self._next_motion_tick == math.inf else LEAST_INTERVAL
        scene = self._changed_scene(is_reset=True)
        if self._has_kept_dt and self.world.dt != self._dt:
            self._warn_of_dt("a reset")
        return scene

    def write_snapshot(self, slot: OpenSlot, marks: NDArray[np.void]) -> None:
        """Writes `marks` and the world's current bodies into the slot. The number of bodies is that for which the slot
        was opened. The world's own `write_bodies` is used if the slot holds all bodies. Raises UserCodeCrashed."""
        if not (self.writes_in_place and slot.count == len(self.world.bodies)):
            return slot.write(self.filled_records()[: slot.count], marks)
        slot.tag = None
        write_bodies(self.world, slot.records)
        if slot.is_kept:
            raise UserCodeCrashed(f"{self.name}.write_bodies stores its argument: {RECORDS_KEPT}")
        if slot.mark_count:
            slot.write_marks(marks)

    def filled_records(self) -> NDArray[np.void]:
        """The current records of all bodies. A world that writes its bodies in place writes them in this call."""
        return filled_bodies(self.world).records

    def extras(self, tick: int) -> Extras:
        """The marks and surfaces after step number `tick`. Warns about the first mark or vertex that cannot be drawn,
        at most once in a run. Raises UserCodeRefused if the world's `marks` or `surfaces` have another type."""
        try:
            marks, surfaces = checked_marks(self.world), checked_surfaces(self.world)
        except TwixtError as error:
            raise UserCodeRefused(str(error)) from error
        if marks is None and surfaces is None:
            return NO_EXTRAS
        if marks is not None:
            if marks.fault and not self._has_fault:
                self._warn_of(fault_text(marks.fault, tick, self._way_out))
            if not self._has_said_body and (text := marks._missing_body(len(self.world.bodies), tick)):
                self._has_said_body = True
                self._warn(text)
        if surfaces is not None:
            write_surfaces(self.world)
            if not self._has_fault:
                self._warn_of(surfaces._fault(tick, self._way_out))
        return extras_of(marks, surfaces)

    def controls(self) -> tuple[Control, ...]:
        """The world's controls. Raises UserCodeRefused if `controls` holds other objects."""
        try:
            return checked_controls(getattr(self.world, "controls", ()), f"{self.name}.controls")
        except TwixtError as error:
            raise UserCodeRefused(str(error)) from error

    def offers(self) -> dict[str, Any]:
        """Controls and keys that the world offers to users of viewers, as fields of a status message. Raises
        UserCodeRefused if `controls` or `own_keys` holds other objects."""
        offered: dict[str, Any] = {"controls": to_status(self.controls())}
        if not self._takes_keys:
            return offered
        try:
            return offered | {"listens": True, "own_keys": own_keys(self.world)}
        except TwixtError as error:
            raise UserCodeRefused(str(error)) from error

    def set_control(self, index: int, value: float) -> None:
        """Sets a control to a value from a viewer. Does nothing if the control no longer exists."""
        controls = self.controls()
        if index < len(controls):
            set_value(controls[index], value)
            if not isinstance(controls[index], Button):
                self._users_values[control_key(controls[index])] = value

    def _restore_values(self, before: tuple[Control, ...]) -> None:
        for control in self.controls() if self._users_values else ():
            value = self._users_values.get(control_key(control))
            if value is not None and not any(control is old for old in before):
                set_value(control, value)

    def apply_actions(self, actions: ReceivedActions) -> None:
        """Passes the users' keys to `on_key`, and their pulls to `apply_force`. Raises UserCodeCrashed."""
        if self._takes_keys:
            while (event := actions.next_event()) is not None:
                pass_key(self.world, event)
        if pulls := actions.pulls:
            self._apply_pulls(pulls)

    def _apply_pulls(self, pulls: Sequence[Pull]) -> None:
        """Passes users' pulls to the world's `apply_force`, if it has one. Raises UserCodeCrashed."""
        apply: Any = getattr(self.world, "apply_force", None)
        for pull in pulls if apply is not None else ():
            if pull.is_held and not pull.is_turn and pull.body is not None and pull.body < len(self.world.bodies):
                with calling_user_code(f"{self.name}.apply_force"):
                    apply(pull.body, np.array(pull.force), np.array(pull.at))

    def is_outdated(self) -> bool:
        """True if the world requests a reset. Raises UserCodeCrashed."""
        asks = getattr(self.world, "_is_outdated", None)
        former = getattr(self.world, "is_outdated", None)
        if callable(former):
            say_renamed("World.is_outdated", "World._is_outdated")
            asks = former
        with calling_user_code(f"{self.name}._is_outdated"):
            return bool(asks and asks())

    def check_step(self, step: int) -> Scene | None:
        """Returns the new scene to publish, or None if step number `step` left it unchanged. Raises UserCodeCrashed
        for invalid bodies or an invalid scene."""
        world = self.world
        try:
            bodies, scene = getattr(world, "bodies", None), getattr(world, "scene", None)
            is_new_dt = bool(self._has_kept_dt and world.dt != self._dt)
        except Exception as error:  # `bodies`, `scene` and `dt` may be properties, which run the user's code.
            raise user_crash(f"{self.name}.bodies, .scene or .dt", error) from error
        if is_new_dt:
            self._warn_of_dt(f"step {step}")
        if bodies is self._bodies and scene is self._scene and len(self._bodies) == self._count:
            return None
        if bodies is not self._bodies and not (isinstance(bodies, Bodies) and len(bodies) == self._count):
            found = f"Bodies({len(bodies)})" if isinstance(bodies, Bodies) else type(bodies).__name__
            raise UserCodeCrashed(
                f"{self.name}.bodies was Bodies({self._count}) and is {found} after step {step}; "
                "keep the Bodies that __init__ made; spawn and despawn change how many bodies are visible"
            )
        return self._changed_scene()

    def _warn_of_dt(self, when: str) -> None:
        self._has_kept_dt = False
        self._warn(
            f"{self.name}.dt was {self._dt:g} and is {self.world.dt!r} after {when}, but steps are still {self._dt:g} s "
            "long; set dt in the class or in __init__, or give --physics-hz"
        )

    def _changed_scene(self, is_reset: bool = False) -> Scene | None:
        """The scene to publish, or None if the scene is unchanged. A reset may replace the bodies and change their
        number."""
        world, scene = self.world, getattr(self.world, "scene", None)
        if is_reset or scene is not self._scene or world.bodies is not self._bodies:
            try:
                check_world(world)
            except TwixtError as error:
                raise UserCodeCrashed(str(error)) from error
        declared = world.bodies.columns.declared
        has_changed = scene is not self._scene or declared != self._declared
        self._scene, self._declared = world.scene, declared
        self._bodies, self._count = world.bodies, len(world.bodies)
        return drawable_scene(world) if has_changed else None

    def check_some_bodies(self, tick: int, dt_s: float, host: Host) -> None:
        """Runs the checks of bodies that are due. Warns about the first body that cannot be drawn, and about the first
        body that loses its motion. Each warning appears at most once in a run.

        tick: number of the last step. dt_s: length of that step, in seconds. If the world writes its bodies in place,
        the checks read the snapshot that was last published on `host`.
        """
        if tick >= self._next_motion_tick:
            self._check_motion(tick, dt_s, host)
        if tick + 1 >= self._next_motion_tick and not self.writes_in_place:
            # The additions of the next step are recorded, because the motion check runs after that step.
            self.world.bodies._note_lost_sums()
        if tick < self._next_check_tick:
            return
        self._next_check_tick = tick + self._finite.steps_until_next(len(self.world.bodies), dt_s)
        if self._has_fault:
            return
        if not self.writes_in_place:
            self._warn_of(self._finite.check_next(self.world.bodies.records, tick))
        elif (newest := host.ring.newest()) is not None:
            self._warn_of(self._finite.check_next(newest.bodies, newest.head.tick))

    def _check_motion(self, tick: int, dt_s: float, host: Host) -> None:
        fault = ""
        if not self.writes_in_place:
            bodies = self.world.bodies
            fault = self._motion.check(bodies.records, tick, tick * dt_s, added=bodies._lost_sums())
        elif (newest := host.ring.newest()) is not None:
            fault = self._motion.check(newest.bodies, newest.head.tick, newest.head.sim_time_ns / 1e9)
        self._next_motion_tick = tick + max(LEAST_INTERVAL, math.ceil(LOOK_INTERVAL_S / dt_s))
        if fault:
            self._next_motion_tick = math.inf
            self._warn(fault)

    def check_all_bodies(self, tick: int) -> None:
        """Checks all bodies at once for values that cannot be drawn. Warns as `check_some_bodies` does."""
        if not self._has_fault:
            self._warn_of(self._finite.check_all(self.filled_records(), tick))

    def _warn_of(self, fault: str) -> None:
        if fault:
            self._has_fault = True
            self._warn(fault)
