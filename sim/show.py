"""The second way in: the user owns the loop, and publishes what it computed.

    with twixt.show(scene, dt=0.002) as view:        # starts the viewer as its own process; returns at once
        while view.is_open:
            advance(state)
            view.publish(position=state.xyz, orientation=state.quat)

One idea: each field passed is checked, and copied in one piece into records kept here, which then go out
whole through the one publisher. Always: `publish` never waits, and does not care whether anybody looks;
what it refuses, it refuses before anything is changed. A body keeps its record, and its epoch, while it is
there. The loop's pace is its own: what is published is due now.
Does not step, pause or reset anything: keys of the viewer that ask for it find nobody here.
"""

from __future__ import annotations

import atexit
import dataclasses
import difflib
import itertools
import os
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.config import BOTH, VIEW, Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.host import HostEnded
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import Host, open_door
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.sim import rows
from twixt.sim.columns import Column, Columns, checked_columns, scene_with_columns
from twixt.sim.matching import Match, RecordsById, RecordsByIndex
from twixt.sim.publisher import Publisher
from twixt.sim.records import Records
from twixt.sim.viewer_process import ViewerProcess, start_viewer

# A viewer that is told of the end closes its window and goes; longer than this, and it is made to (seconds).
VIEWER_PATIENCE_S = 3.0
# Longest simulated time there is: 2**63 ns, 292 years.
LONGEST_S = 9.2e9

_numbers = itertools.count(1)


def show(
    scene: Scene,
    dt: float = 1 / 60,
    count: int | None = None,
    *,
    columns: Mapping[str, Column] | None = None,
    name: str | None = None,
    viewer: bool = True,
    **options: Any,
) -> View:
    """Open a window on `scene`, in a process of its own, and return at once.

    dt: seconds of simulated time from one publish to the next, where none are given. count: bodies to make
    room for; more may come. columns: values of your own beside each body; see `Column`. name: under which other viewers find it (`twixt view NAME`). viewer: False starts
    none. options: any viewer's flag by its field in `Config`, such as `overlay=False`, `size_px=(400, 300)`.
    Raises TwixtError for what cannot be shown.
    """
    if not isinstance(scene, Scene):
        raise TwixtError(f"show needs a Scene, got {type(scene).__name__}; such as show(Scene([Sphere()] * count))")
    if not (isinstance(dt, int | float | np.number) and 1e-9 <= dt < LONGEST_S):
        raise TwixtError(f"dt must be seconds of simulated time per publish, >= 1e-9, got {dt!r}")
    if count is not None and not (isinstance(count, int | np.integer) and count >= 0):
        raise TwixtError(f"count must be a whole number of bodies >= 0, got {count!r}")
    if not len(scene.shapes):
        scene = dataclasses.replace(scene, shapes=[Sphere()])
    capacity = max(1, len(scene.shapes) if count is None else int(count))
    scene.check_bodies(max(capacity, len(scene.shapes)))
    own = Columns(checked_columns(columns), capacity)
    scene = scene_with_columns(scene, own.declared)
    name = name or f"show-{os.getpid()}-{next(_numbers)}"
    config = _config(name, options)

    door = open_door(name)
    process = None
    try:
        if viewer:
            process = start_viewer(name, config, _say_if_it_died)
        about = {"world": config.world, "loop": "user"}
        host = Host(door, scene, capacity, own.layout, describe=lambda: about)
    except BaseException:
        if process is not None:
            process.stop(VIEWER_PATIENCE_S)
        door.close()
        raise
    return View(host, len(scene.shapes), capacity, round(dt * 1e9), process, own)


class View:
    """What `show` returns. One thread at a time publishes; `close` may come from any."""

    def __init__(
        self, host: Host, shapes: int, capacity: int, dt_ns: int, process: ViewerProcess | None, columns: Columns
    ) -> None:
        self.name = host.name
        self._host, self._process, self._dt_ns = host, process, dt_ns
        self._shapes, self._columns = shapes, columns
        self._publisher = Publisher(host, Plan(1, 0, time.perf_counter_ns(), 0, 1.0), Config().publish_hz)
        self._tick = 0
        self._sim_time_ns: int | None = None
        self._matcher: RecordsByIndex | RecordsById | None = None
        self._records = Records(capacity)
        self._used = 0  # records that some body has or had
        self._count = 0  # bodies there now
        self._given = (False, False)
        self._some_hidden = False
        self._closing = threading.Lock()
        self._quit = self._is_closed = False
        atexit.register(self.close)

    @property
    def is_open(self) -> bool:
        """Whether there is a reason to go on: the viewer that `show` started is there, and nobody closed the view."""
        return not (self._is_closed or self._quit or (self._process is not None and self._process.poll() is not None))

    def publish(
        self,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        color: ArrayLike | None = None,
        visible: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        cut: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        sim_time: float | None = None,
    ) -> None:
        """Show the bodies as they are now. Fields not passed stay as they were, velocities count as not known.

        position (n, 3) m. orientation (n, 4) unit quaternions xyzw. velocity (n, 3) m/s. angular_velocity
        (n, 3) rad/s, world frame. scale (n,) or one for all. color (n, 3 or 4) or one for all, 0..255 or, as
        floats, 0..1. visible: bool (n,). ids: (n,) whole numbers or texts, in every publish or in none; the
        body `ids[i]` is the same one whatever its place i, a new id appears, a missing one disappears.
        cut: bool (n,) or places of bodies that jumped here and must not be seen sliding. columns: name -> (n,) or
        (n, width), or one row for all; those not passed stay as they were. sim_time: seconds;
        by default `dt` after the one before. Smaller than the one before: the world begins anew.

        An id below the number of shapes has the shape of that number, others the lowest that is free;
        without ids, the i-th body has the i-th shape. After `close` nothing is done. Corrections whose visual
        offset decays are made with `Bodies.correct`, in a world; here a body moves or is cut.
        """
        if self._is_closed:
            return
        fields = {
            "position": position,
            "orientation": orientation,
            "velocity": velocity,
            "angular_velocity": angular_velocity,
            "scale": scale,
            "color": color,
        }
        passed = {field: value for field, value in fields.items() if value is not None}
        count = self._count_of(passed, ids)
        with np.errstate(all="ignore"):  # whatever the loop has set: what is too large is refused in words
            checked = {field: rows.checked(field, value, count) for field, value in passed.items()}
            own = rows.checked_columns(columns or {}, self._columns.declared, count)
        shown = None if visible is None else rows.checked_mask("visible", visible, count)
        jumped = None if cut is None else rows.checked_places("cut", cut, count)
        sim_time_ns = self._time_of(sim_time)

        match = self._matched(count, ids)
        self._come_and_go(match)
        for field, values in checked.items():
            self._records.write(field, match.rows, values)
        for name, values in own.items():
            self._columns[name][match.rows] = values
        if jumped is not None:
            self._records.cut(np.arange(self._used)[match.rows][jumped])
        self._flag(match, shown, ("velocity" in passed, "angular_velocity" in passed))
        self._send(sim_time_ns)

    def close(self) -> None:
        """Tell the viewers, close the window, leave nothing behind. May be called again, and from any thread."""
        self._close("ended", "")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or kind is SystemExit:
            self.close()
        elif kind is KeyboardInterrupt:
            self._close("interrupted", "Ctrl-C")
        else:
            self._close("crashed", f"the loop raised {kind.__name__}: {error}")

    def _close(self, kind: str, message: str) -> None:
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        atexit.unregister(self.close)
        if self._process is not None:
            self._process.is_to_end = True
            if not self._host.viewer_came.is_set():
                self._process.terminate()  # before it finds a closed door and tells of that
        self._host.end(kind, message)
        if self._process is not None:
            self._process.stop(VIEWER_PATIENCE_S)

    def _count_of(self, passed: dict[str, ArrayLike], ids: ArrayLike | None) -> int:
        if (ids is not None) != isinstance(self._matcher, RecordsById) and self._matcher is not None:
            raise TwixtError("ids must be given in every publish or in none; bodies cannot be matched otherwise")
        if ids is not None:
            return rows.length("ids", ids)
        for field in ("position", "orientation", "velocity", "angular_velocity"):
            if field in passed:
                return rows.length(field, passed[field])
        return self._count

    def _time_of(self, sim_time: float | None) -> int:
        if sim_time is None:
            return 0 if self._sim_time_ns is None else self._sim_time_ns + self._dt_ns
        if not (isinstance(sim_time, int | float | np.number) and abs(sim_time) < LONGEST_S):
            raise TwixtError(f"sim_time must be seconds, a finite number, got {sim_time!r}")
        return round(sim_time * 1e9)

    def _matched(self, count: int, ids: ArrayLike | None) -> Match:
        matcher = self._matcher or (RecordsByIndex() if ids is None else RecordsById(self._shapes))
        match = matcher.match(count) if isinstance(matcher, RecordsByIndex) else matcher.match(ids)  # type: ignore[arg-type]
        self._matcher, self._count = matcher, count
        return match

    def _come_and_go(self, match: Match) -> None:
        if match.gone.size:
            self._records.cut(match.gone)
        if match.spawned.size:
            self._used = max(self._used, int(match.spawned.max()) + 1)
            have = len(self._records)
            if self._used > have:
                self._records = self._records.grown(max(self._used, have + have // 2))
                self._columns.make_room(len(self._records))
                self._columns.resize(len(self._records))
            self._records.begin(match.spawned)
            self._columns.begin(match.spawned)

    def _flag(self, match: Match, shown: NDArray[np.bool_] | None, given: tuple[bool, bool]) -> None:
        """Which bodies are there to be seen, and whether velocities are known; what appears or disappears is cut."""
        stays = not (match.spawned.size or match.gone.size or self._some_hidden)
        if shown is None and stays and given == self._given:
            return
        self._given, self._some_hidden = given, shown is not None
        flags = self._records.bodies["flags"]
        was_visible = flags & VISIBLE
        flags[:] = 0
        bits = (HAS_VELOCITY if given[0] else 0) | (HAS_ANGULAR_VELOCITY if given[1] else 0)
        flags[match.rows] = bits | VISIBLE if shown is None else bits + VISIBLE * shown
        self._records.cut((flags & VISIBLE) != was_visible)

    def _send(self, sim_time_ns: int) -> None:
        try:
            plan = self._publisher.plan
            if self._sim_time_ns is not None and sim_time_ns < self._sim_time_ns:
                anew = Plan(plan.number + 1, plan.world_epoch + 1, time.perf_counter_ns(), sim_time_ns, 1.0)
                self._publisher.write_plan(anew)
            self._sim_time_ns = sim_time_ns
            for command in self._host.drain_commands():
                self._quit = self._quit or command.name == "quit"
            bodies = self._records.bodies[: self._used]
            columns = {name: column[: self._used] for name, column in self._columns.items()}
            self._publisher.publish(
                bodies, tick=self._tick, sim_time_ns=sim_time_ns, dt_ns=self._dt_ns, columns=columns
            )
            self._tick += 1
        except HostEnded:
            if not self._is_closed:  # closed meanwhile by another thread is no error; published in a forked child is
                raise


def _config(name: str, options: dict[str, Any]) -> Config:
    known = [field.name for field in dataclasses.fields(Config) if field.metadata.get("side") in (VIEW, BOTH)]
    for option in sorted(options.keys() - known):
        near = difflib.get_close_matches(option, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise TwixtError(f"show has no option {option!r}; {hint}")
    config = Config(**options, name=name, world="show", command=" ".join(["python", *sys.argv]))
    config.check_files()
    return config


def _say_if_it_died(viewer: ViewerProcess) -> None:
    if viewer.poll() and not viewer.is_to_end:
        print(f"twixt: the viewer {viewer.ending}; the loop goes on without it", file=sys.stderr)
