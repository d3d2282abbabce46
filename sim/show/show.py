"""`twixt.show`: opens a window in a process of its own, to which the user's own loop publishes its states.

    with twixt.show(scene, dt=0.002) as view:        # starts the viewer as its own process; returns at once
        while view.is_open:
            advance(state)
            view.publish(position=state.xyz, orientation=state.quat)

Always: arguments are checked before a viewer is started; a call that raises leaves neither a name nor a process behind.
Not here: the open view (`view`).
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from twixt.ipc.config.config import BOTH, VIEW, Config
from twixt.ipc.errors import TwixtError, text_of
from twixt.ipc.process import interrupts
from twixt.ipc.process.user_code import CODE_FOLDERS, code_folders, near_name
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.scene.surface_records import surface_records
from twixt.ipc.session import Host, open_listener
from twixt.ipc.session.listener import unreachable_listener
from twixt.ipc.system.interface import NoFolder
from twixt.sim.show.publishing import LONGEST_S
from twixt.sim.show.view import View
from twixt.sim.show.viewer_session import ViewerSession
from twixt.sim.world.columns import Column, Columns, checked_columns, require_bodies, scene_with_columns

__all__ = ["View", "show"]

_numbers = itertools.count(1)


@interrupts.held_back()
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

    dt: seconds of simulated time from one publish to the next, unless `sim_time` is given. count: bodies to make
    room for; more may follow. columns: values of your own for each body, part or the world; see `Column`. name: under which other
    viewers attach (`twixt view NAME`). viewer: False starts none. options: any viewer's flag by its field in
    `Config`, such as `overlay=False`, `size_px=(400, 300)`; `seconds` ends the view after that time.
    Raises TwixtError for invalid arguments, a name that is taken, and where memory is short.

    The loop continues without a display, if no folder for the socket is writable (set XDG_RUNTIME_DIR), if no program
    can be started as the viewer (see `twixt.freeze_support`), and after the viewer crashed; one line on standard error
    reports it. See `View.is_open`, `View.closed_because` and `View.reopen`. Ctrl-C reaches the loop alone, not its
    viewer.
    """
    if not isinstance(scene, Scene):
        raise TwixtError(f"show needs a Scene, got {type(scene).__name__}; such as show(Scene([Sphere()] * count))")
    if not (isinstance(dt, int | float | np.number) and 1e-9 <= dt < LONGEST_S):
        raise TwixtError(f"dt must be seconds of simulated time per publish, >= 1e-9, got {text_of(dt)}")
    if count is not None and not (isinstance(count, int | np.integer) and count >= 0):
        raise TwixtError(f"count must be a whole number of bodies >= 0, got {text_of(count)}")
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
    except NoFolder as error:  # such as in a read-only container
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
            session.leave()
        host.end()
        raise


def _config(name: str, options: dict[str, Any]) -> Config:
    known = [field.name for field in dataclasses.fields(Config) if field.metadata.get("side") in (VIEW, BOTH)]
    for option in sorted(options.keys() - known):
        hint = near_name(option, known) or f"there are {', '.join(known)}"
        raise TwixtError(f"show has no option {option!r}; {hint}")
    config = Config(**options, name=name, world="show", command=" ".join(["python", *sys.argv]), users_loop=True)
    config.check_files()
    return config
