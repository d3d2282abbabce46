"""Opens a view: `twixt.show` checks its arguments, reserves the shared memory and starts the viewer's process.

Always: arguments are checked before a viewer is started. A call that raises leaves no name in use and no process.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from twixt.ipc.config.rules import SplitSide
from twixt.ipc.errors import InvalidType, InvalidValue, refusal, text_of
from twixt.ipc.process import interrupts
from twixt.ipc.process.renamed import former_arguments
from twixt.ipc.process.user_code import CODE_FOLDERS, code_folders
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.scene.surfaces import surface_records
from twixt.ipc.session import Host, open_listener
from twixt.ipc.session.listener import unreachable_listener
from twixt.ipc.system.interface import NoFolder
from twixt.sim.show.options import FLAGS, ViewerChoice, ViewerKind, config_of, refusing_unknown_options, viewer_kind
from twixt.sim.show.publishing import LONGEST_S
from twixt.sim.show.session import ViewerSession
from twixt.sim.show.view import View
from twixt.sim.world.columns import Column, Columns, checked_columns, require_bodies, scene_with_columns

_numbers = itertools.count(1)


@former_arguments({"count": "capacity"})
@refusing_unknown_options
def show(
    scene: Scene,
    dt: float | None = None,
    capacity: int | None = None,
    *,
    rate_hz: float | None = None,
    columns: Mapping[str, Column] | None = None,
    name: str | None = None,
    viewer: ViewerChoice = True,
    # motion
    interpolation: str = "auto",
    chase_ms: float | None = None,
    clock: str = "auto",
    prefer: str = "latency",
    buffer_ms: float | None = None,
    split: tuple[SplitSide, SplitSide] | None = None,
    trails: bool | float | str | None = None,
    # the window
    pacing: str = "auto",
    fps: float | None = None,
    quality: str = "auto",
    size_px: tuple[int, int] = (800, 600),
    camera: str = "auto",
    overlay: bool = True,
    keys: bool = True,
    draw: str | None = None,
    events: bool = True,
    on_event: str | None = None,
    slow_render_ms: float = 0.0,
    viewer_nice: int = 0,
    offscreen: bool = False,
    # the end, and files that the viewer writes
    seconds: float | None = None,
    screenshot: str | os.PathLike[str] | None = None,
    at_s: float | None = None,
    log: str | os.PathLike[str] | None = None,
    profile: str | os.PathLike[str] | None = None,
) -> View:
    """Opens a window that shows `scene`, in a separate process. Returns before the window is open.

    Your loop then publishes states with `View.publish`. The guide docs/guides/own-loop.md has complete programs.

    The arguments from `interpolation` to `trails` are about motion. The arguments from `pacing` to `offscreen` are
    about the window. The arguments from `seconds` to `profile` are about the end of the run, and about files that the
    viewer writes.

    In four cases the loop continues without a window, and one line on standard error names the case: there is no
    display; no folder for the socket is writable (set XDG_RUNTIME_DIR); no program can be started as the viewer (see
    `twixt.freeze_support`); or the viewer crashed. See `View.is_open`, `View.close_reason` and `View.reopen`. Ctrl-C
    interrupts only the loop, not the viewer.

    Args:
        scene: Shapes of the bodies, camera, ground and light. Body i has the i-th shape.
        dt: Simulated seconds from one publish to the next, >= 1e-9. `publish` uses this interval if you do not pass
            `sim_time`. By default 1/60.
        capacity: Number of bodies for which memory is reserved. You may publish more bodies than this. By default one
            body for each shape.
        rate_hz: Number of publishes per simulated second, instead of `dt`: dt = 1 / rate_hz.
        columns: Your own values per body, per part or for the world, by name. See `Column`.
        name: Name by which other viewers attach (`twixt view NAME`). By default the name contains the process id.
        viewer: "window" or True for a window. "web" for a page in a browser, whose link is printed. "auto" for a window
            if there is a display, else the page. False to start no viewer. The environment variable TWIXT_VIEWER, if
            it is "window", "web", "auto" or "none", replaces this argument.
        interpolation: Method that draws bodies between two states: "auto", "hermite", "linear", "none", "latest",
            "catmull", "quadratic", "extrapolate", "kalman", "chase", or "module:Class" for your own method (see
            `InterpolationMethod`).
        chase_ms: Time in which "chase" reaches a new state, in ms. By default the usual interval between states.
        clock: Simulated time that a frame draws. "auto" draws the newest time for which the next state arrives in
            time. "ahead" draws the time that is due now. "newest-two" draws one interval behind the newest state.
            "buffered" draws with a fixed delay.
        prefer: What the picture does after a stall: "latency" catches up at once, "balanced" catches up gently,
            "smooth" stays behind.
        buffer_ms: Delay of the clock "buffered", in ms. By default, twixt computes this delay from the measured
            jitter.
        split: Draws two pictures side by side, each with its method and clock, such as (("none", ""), ("auto", "")).
            "" means the method or clock of the view.
        trails: Dots where frames drew each body: True for the last second, a number of seconds, or "all".
        pacing: What a frame waits for: "auto", "vsync", "timer" or "unlimited".
        fps: Largest number of frames per second. By default the refresh rate of the display.
        quality: "auto" reduces the quality if frames do not fit the display's interval. "low", "high" and "best" are
            fixed. With software rendering, use "best" only for single pictures, because it is slow.
        size_px: Width and height of the window, in pixels.
        camera: How the window shows a scene without a camera. "auto": the view follows the bodies until the user moves
            the view. "still": the first view stays.
        overlay: False to start without the overlay of figures and keys.
        keys: False to leave the keyboard to your program.
        draw: "module:function", your own function that draws into every frame (see `DrawFunction`).
        events: False to draw no rings for events (see `View.emit`).
        on_event: "module:function", your own function that the viewer's process calls with each event (see
            `EventFunction`).
        slow_render_ms: Shortest time that a frame takes, in ms, for tests of slow drawing. The viewer fills this time
            with work.
        viewer_nice: Nice value of the viewer's process, 0 to 19.
        offscreen: True to draw without a window.
        seconds: Time after which the view closes, in seconds. The time is counted from the end of the viewer's
            start-up. By default there is no limit.
        screenshot: File of a picture (PNG) that is saved at the instant `at_s`.
        at_s: Instant of the screenshot, in seconds after the first frame. By default 2.
        log: File of the frame log (CSV), one row per frame.
        profile: File of a trace of both processes, for Perfetto.

    Returns:
        The view. Keep it in a variable: a view is closed when the last reference to it is gone.

    Raises:
        TwixtError: An argument is invalid, the name is in use, or memory is insufficient. The error for an invalid
            argument is also a ValueError, or a TypeError if the type is wrong or the argument is unknown.

    Examples:
        ```python
        import numpy as np
        import twixt

        scene = twixt.Scene([twixt.Sphere(0.05)] * 100)
        phase = np.linspace(0, 2 * np.pi, 100)
        with twixt.show(scene, dt=1 / 60) as view:
            for t in view.real_time():
                view.publish(position=np.stack([np.cos(phase + t), np.sin(phase + t), np.ones(100)], axis=1))
        ```
    """
    flags = {option: value for option, value in locals().items() if option in FLAGS}
    if not isinstance(scene, Scene):
        raise InvalidType(f"show needs a Scene, got {type(scene).__name__}; such as show(Scene([Sphere()] * count))")
    dt_s = _seconds_per_publish(dt, rate_hz)
    if capacity is not None and not (isinstance(capacity, int | np.integer) and capacity >= 0):
        raise refusal(capacity, int, np.integer)(
            f"capacity must be a whole number of bodies >= 0, got {text_of(capacity)}"
        )
    if name is None or (isinstance(name, str) and not name):
        name = f"show-{os.getpid()}-{next(_numbers)}"
    return _opened(scene, dt_s, capacity, columns, flags, name, viewer_kind(viewer))


def _seconds_per_publish(dt: float | None, rate_hz: float | None) -> float:
    """Simulated seconds from one publish to the next. Raises TwixtError if both arguments are given, and for a value
    out of range."""
    if rate_hz is None:
        seconds = 1 / 60 if dt is None else dt
        if not (isinstance(seconds, int | float | np.number) and 1e-9 <= seconds < LONGEST_S):
            raise refusal(seconds, int, float, np.number)(
                f"dt must be seconds of simulated time per publish, >= 1e-9, got {text_of(seconds)}"
            )
        return float(seconds)
    if dt is not None:
        raise InvalidValue(
            f"show takes dt or rate_hz, got dt={text_of(dt)} and rate_hz={text_of(rate_hz)}; leave one out"
        )
    if not (isinstance(rate_hz, int | float | np.number) and 1 / LONGEST_S < rate_hz <= 1e9):
        raise refusal(rate_hz, int, float, np.number)(
            f"rate_hz must be publishes per simulated second, > 0 and <= 1e9, got {text_of(rate_hz)}"
        )
    return 1 / float(rate_hz)


@interrupts.delayed_ctrl_c()
def _opened(
    scene: Scene,
    dt_s: float,
    given_capacity: int | None,
    columns: Mapping[str, Column] | None,
    flags: Mapping[str, Any],
    name: str,
    viewer: ViewerKind,
) -> View:
    """Opens a view. flags: as for `config_of`. The other parameters are those of `show`."""
    config = config_of(name, flags, viewer == "web")
    if not len(scene.shapes):
        scene = dataclasses.replace(scene, shapes=[Sphere()])
    capacity = max(1, len(scene.shapes) if given_capacity is None else int(given_capacity))
    scene.check_bodies(max(capacity, len(scene.shapes)))
    declared = checked_columns(columns)
    require_bodies(capacity, declared)
    own = Columns(declared, capacity, scene)
    scene = scene_with_columns(scene, own.declared)
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
            max(capacity + surface_records(scene, capacity), own._part_count(capacity)),
            own._layout,
            describe=lambda: {**about, CODE_FOLDERS: code_folders()},
        )
    except BaseException:
        listener.close()
        raise
    session = None
    try:
        session = ViewerSession(host, config, viewer != "none", unreachable)
        view = View(session, len(scene.shapes), capacity, round(dt_s * 1e9), own)
        view._warnings.check_scene(scene)
        return view
    except BaseException:
        if session is not None:
            session.abandon()
        host.end()
        raise
