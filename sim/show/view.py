"""Contains `twixt.show` and the view that it returns. A view has a scene, a camera and a window.

    with twixt.show(scene, dt=0.002) as view:        # starts the viewer as its own process; returns at once
        while view.is_open:
            advance(state)
            view.publish(position=state.xyz, orientation=state.quat)

The module `publishing` publishes states. The module `viewer_input` receives the actions of the viewers' users.

Always: arguments are checked before a viewer is started. A call that raises leaves no name in use and no process.
After `close`, publishing or assigning a scene or camera has no effect. On a view, the viewer's keys
for steps, pause and reset have no effect.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import sys
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from twixt.ipc.config.flags import BOTH, VIEW, Config
from twixt.ipc.errors import InvalidType, InvalidValue, refusal, text_of
from twixt.ipc.process import interrupts
from twixt.ipc.process.user_code import CODE_FOLDERS, code_folders, suggestion_for
from twixt.ipc.ring.segments import HostEnded
from twixt.ipc.scene import Camera, Scene, Sphere, check_camera
from twixt.ipc.scene.surfaces import surface_records
from twixt.ipc.session import Host, open_listener
from twixt.ipc.session.listener import unreachable_listener
from twixt.ipc.system.interface import NoFolder
from twixt.sim.show.publishing import LONGEST_S, Publishing
from twixt.sim.show.session import ViewerSession
from twixt.sim.show.viewer_input import ViewerInput
from twixt.sim.world.columns import Column, Columns, checked_columns, require_bodies, scene_with_columns

__all__ = ["View", "show"]

_numbers = itertools.count(1)


@interrupts.delayed_ctrl_c()
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
    """Open a window that shows `scene`, in a separate process, and return at once.

    - dt: simulated seconds from one publish to the next; used if `sim_time` is not given.
    - count: number of bodies for which memory is reserved; you may publish more.
    - columns: your own values per body, per part or for the world; see `Column`.
    - name: the name that other viewers attach to (`twixt view NAME`).
    - viewer: False to start no viewer.
    - options: any flags of the viewer, named as their fields in `Config`, such as `overlay=False`, `size_px=(400,
      300)`. The option `seconds` ends the view after that time.

    Raises TwixtError for invalid arguments, for a name that is in use, and if memory is short.

    The loop goes on in each of these cases: there is no display; no folder for the socket is writable (set
    XDG_RUNTIME_DIR); no program can be started as the viewer (see `twixt.freeze_support`); the viewer crashed. One
    line on standard error then says which case it is. See `View.is_open`, `View.closed_because` and `View.reopen`.
    Ctrl-C interrupts only the loop, not the viewer.
    """
    if not isinstance(scene, Scene):
        raise InvalidType(f"show needs a Scene, got {type(scene).__name__}; such as show(Scene([Sphere()] * count))")
    if not (isinstance(dt, int | float | np.number) and 1e-9 <= dt < LONGEST_S):
        raise InvalidValue(f"dt must be seconds of simulated time per publish, >= 1e-9, got {text_of(dt)}")
    if count is not None and not (isinstance(count, int | np.integer) and count >= 0):
        raise refusal(count, int, np.integer)(f"count must be a whole number of bodies >= 0, got {text_of(count)}")
    if not len(scene.shapes):
        scene = dataclasses.replace(scene, shapes=[Sphere()])
    capacity = max(1, len(scene.shapes) if count is None else int(count))
    scene.check_bodies(max(capacity, len(scene.shapes)))
    declared = checked_columns(columns)
    require_bodies(capacity, declared)
    own = Columns(declared, capacity, scene)
    scene = scene_with_columns(scene, own.declared)
    if name is None or (isinstance(name, str) and not name):
        name = f"show-{os.getpid()}-{next(_numbers)}"
    config = _config(name, options)

    about = {"world": config.world, "loop": "user"}
    unreachable = ""
    try:
        listener = open_listener(name)
    except NoFolder as error:  # No folder is writable, for example in a read-only container.
        listener, unreachable = unreachable_listener(name), str(error)
    try:
        host = Host(
            listener,
            scene,
            max(capacity + surface_records(scene, capacity), own.part_count(capacity)),
            own.layout,
            describe=lambda: {**about, CODE_FOLDERS: code_folders()},
        )
    except BaseException:
        listener.close()
        raise
    session = None
    try:
        session = ViewerSession(host, config, viewer, unreachable)
        view = View(session, len(scene.shapes), capacity, round(dt * 1e9), own)
        view._warnings.check_scene(scene)
        return view
    except BaseException:
        if session is not None:
            session.abandon()
        host.end()
        raise


def _config(name: str, options: dict[str, Any]) -> Config:
    known = [field.name for field in dataclasses.fields(Config) if field.metadata.get("side") in (VIEW, BOTH)]
    for option in sorted(options.keys() - known):
        hint = suggestion_for(option, known) or f"there are {', '.join(known)}"
        raise InvalidType(f"show has no option {option!r}; {hint}")
    config = Config(**options, name=name, world="show", command=" ".join(["python", *sys.argv]), users_loop=True)
    config.check_files()
    return config


# Message of the error that `copy`, `deepcopy` and pickle raise.
NOT_COPIED = (
    "{} cannot be copied or pickled: it stands for one window; leave it out of the copy: "
    "define __deepcopy__ or __getstate__ on the object that holds it"
)


class View(Publishing, ViewerInput):
    """A view: one or several windows to which a loop publishes. Returned by `show`. Only one thread at a time may
    publish; any thread may call `close`.

    A view is closed when the last reference to it is gone.
    """

    def __init__(self, session: ViewerSession, shapes: int, capacity: int, dt_ns: int, columns: Columns) -> None:
        Publishing.__init__(self, session, shapes, capacity, dt_ns, columns)
        ViewerInput.__init__(self, session.host, session.status)
        self.name = self._host.name
        weakref.finalize(self, session.abandon).atexit = False

    @property
    def is_open(self) -> bool:
        """True while the loop should go on. False after the user has closed the window that `show` opened, after
        `close`, and after `seconds`, if they are given. It stays True if the viewer crashes or has no display."""
        return not self._session.is_over

    @property
    def closed_because(self) -> str | None:
        """Text that says why the view has no window. None while it has a window or opens one."""
        return self._session.closed_because

    @property
    def scene(self) -> Scene:
        """The scene of the view. Assign another scene to replace everything in it, the camera included, from the next
        publish on. What users see in their windows stays in the same place unless the new camera differs from the old
        one. If the bodies of the new scene have other parts, the columns per part are reset to the colours and sizes
        of the new scene. Raises TwixtError for a scene that cannot be drawn."""
        return self._host.scene.unpacked().with_camera(self._host.camera.camera)

    @scene.setter
    def scene(self, scene: Scene) -> None:
        if not isinstance(scene, Scene):
            raise InvalidType(
                f"View.scene must be a Scene, got {type(scene).__name__}; such as Scene([Sphere()] * count)"
            )
        if self._session.is_closed:
            return
        scene = scene_with_columns(scene, self._now.columns.declared)
        scene.check_bodies(max(len(scene.shapes), self._capacity))
        self._warnings.check_scene(scene)
        self._now.columns.set_scene(scene)
        self._now.shapes = len(scene.shapes)
        try:
            self._publisher.write_scene(scene)
        except HostEnded:
            if not self._session.is_closed:  # Another thread may have closed the view.
                raise

    def add_columns(self, columns: Mapping[str, Column]) -> Columns:
        """Declare more columns, as with `twixt.show(columns=)`. They are published from the next publish on. Returns
        all columns of the view. Each is an array. A state is published with the values that these arrays have at that
        time. The call reallocates the shared memory and sends the scene again. Raises TwixtError as `show` does, and
        for a column that is already declared differently."""
        own = self._now.columns
        declared = own.with_more(columns)
        if self._session.is_closed or len(declared) == len(own.declared):
            return own
        scene_with_columns(self.scene, declared)
        own.declare(declared, self.scene)
        try:
            self._host.ring.set_columns(own.layout)
            self.scene = self.scene
        except HostEnded:
            if not self._session.is_closed:  # Another thread may have closed the view.
                raise
        return own

    @property
    def camera(self) -> Camera | None:
        """The scene's camera. If it is None, viewers choose a camera that shows all bodies. Assign a camera to move
        the view of all viewers at once, even if their users have moved it themselves. Only some hundred bytes are
        sent, whatever the scene. Raises TwixtError for other types, and for a camera on a body that does not exist."""
        return self._host.camera.camera

    @camera.setter
    def camera(self, camera: Camera | None) -> None:
        check_camera("View.camera", camera)
        if self._session.is_closed:
            return
        Scene(camera=camera).check_bodies(max(self._now.shapes, self._capacity))
        try:
            self._publisher.write_camera(camera)
        except HostEnded:
            if not self._session.is_closed:  # Another thread may have closed the view.
                raise

    def reopen(self) -> None:
        """Open a window again after it was closed or its viewer crashed. Does nothing if there is a window.

        `is_open` becomes True again, and `seconds` are counted from this call on. The new viewer writes no files
        (`log`, `screenshot`, `profile`). The files of the first viewer stay. Raises TwixtError after `close`.
        """
        self._session.reopen()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raises TypeError in `copy.copy`, `copy.deepcopy` and pickle, because a view owns a window and its memory."""
        raise TypeError(NOT_COPIED.format("a view of twixt.show"))

    def close(self) -> None:
        """Send the end message to all viewers, close the window and free everything. Any thread may call this method.
        Further calls do nothing."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is KeyboardInterrupt:
            self._session.close("interrupted", "Ctrl-C")
        elif kind is None or not issubclass(kind, Exception):
            # SystemExit, GeneratorExit and a cancelled task are no errors of the loop.
            self.close()
        else:
            self._session.crash(f"the loop raised {kind.__name__}: {error}")
