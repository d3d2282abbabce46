"""Contains `twixt.show` and the view that it returns. A view has a scene, a camera and a window.

    with twixt.show(scene, dt=0.002) as view:        # starts the viewer as its own process; returns at once
        while view.is_open:
            advance(state)
            view.publish(position=state.xyz, orientation=state.quat)

The module `publishing` publishes states. The module `viewer_input` receives the actions of the viewers' users. The
module `run_pictures` plots values and requests screenshots.

Always: arguments are checked before a viewer is started. A call that raises leaves no name in use and no process.
After `close`, publishing or assigning a scene or camera has no effect. On a view, the viewer's keys
for steps, pause and reset have no effect.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import weakref
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from twixt.ipc.config.rules import SplitSide
from twixt.ipc.errors import InvalidType, InvalidValue, refusal, text_of
from twixt.ipc.process import interrupts
from twixt.ipc.process.renamed import closed_attributes, former_arguments
from twixt.ipc.process.user_code import CODE_FOLDERS, code_folders
from twixt.ipc.ring.segments import HostEnded
from twixt.ipc.scene import Camera, Scene, Sphere, check_camera
from twixt.ipc.scene.scene import with_camera
from twixt.ipc.scene.surfaces import surface_records
from twixt.ipc.session import Host, open_listener
from twixt.ipc.session.listener import unreachable_listener
from twixt.ipc.system.interface import NoFolder
from twixt.sim.show.options import FLAGS, config_of, refusing_unknown_options
from twixt.sim.show.publishing import LONGEST_S, Publishing
from twixt.sim.show.real_time import checked_dt_s, paced
from twixt.sim.show.run_pictures import RunPictures
from twixt.sim.show.session import ViewerSession
from twixt.sim.show.viewer_input import ViewerInput
from twixt.sim.world.columns import Column, Columns, checked_columns, require_bodies, scene_with_columns

__all__ = ["View", "show"]

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
    viewer: bool = True,
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
    overlay: bool = True,
    keys: bool = True,
    draw: str | None = None,
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
    """Open a window that shows `scene`, in a separate process, and return at once.

    - dt: simulated seconds from one publish to the next; used if `sim_time` is not given. By default 1/60.
    - rate_hz: publishes per simulated second, instead of dt: dt = 1 / rate_hz.
    - capacity: number of bodies for which memory is reserved; you may publish more.
    - columns: your own values per body, per part or for the world; see `Column`.
    - name: the name that other viewers attach to (`twixt view NAME`).
    - viewer: False to start no viewer.

    Motion:
    - interpolation: how bodies are drawn between two states: "auto", "hermite", "linear", "none", "latest", "catmull",
      "quadratic", "extrapolate", "kalman", "chase", or "module:Class" for your own (see `InterpolationMethod`).
    - chase_ms: how long "chase" takes to reach a new state, in ms; by default the usual gap between two states.
    - clock: which simulated time a frame draws: "auto", as early as the next state is there in time; "ahead", what is
      due now; "newest-two", an interval behind; "buffered", a fixed time behind.
    - prefer: after a stall: "latency", catch up at once; "balanced", gently; "smooth", stay behind.
    - buffer_ms: how far behind "buffered" stays, in ms; by default taken from the measured jitter.
    - split: two pictures side by side, a method and a clock each: (("none", ""), ("auto", "")); "" is the view's own.
    - trails: dots where frames drew each body: True for the last second, a number of seconds, or "all".

    The window:
    - pacing: what a frame waits for: "auto", "vsync", "timer" or "unlimited".
    - fps: frames per second, at most; by default the rate of the display.
    - quality: "auto", "low", "high" or "best".
    - size_px: width and height of the window, in pixels.
    - overlay: False to start without the overlay of figures and keys.
    - keys: False to leave the keyboard to your program.
    - draw: "module:function", your own function that draws into every frame (see `DrawFunction`).
    - slow_render_ms: real work that makes every frame take at least so many ms.
    - viewer_nice: nice value of the viewer's process, 0 to 19.
    - offscreen: True to draw without a window.

    The end, and files that the viewer writes:
    - seconds: the view ends after so many seconds.
    - screenshot: file of a picture (PNG) that is saved at the instant `at_s`.
    - at_s: when to take the screenshot, in seconds after the first frame; by default 2.
    - log: file of the frame log (CSV), one row per frame.
    - profile: file of a trace of both processes, for Perfetto.

    Raises TwixtError for invalid arguments, for a name that is in use, and if memory is short. The error for an invalid
    argument is also a ValueError, or a TypeError if its type is wrong or it is unknown.

    The loop goes on in each of these cases: there is no display; no folder for the socket is writable (set
    XDG_RUNTIME_DIR); no program can be started as the viewer (see `twixt.freeze_support`); the viewer crashed. One
    line on standard error then says which case it is. See `View.is_open`, `View.close_reason` and `View.reopen`.
    Ctrl-C interrupts only the loop, not the viewer.
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
    return _opened(scene, dt_s, capacity, columns, flags, name, viewer)


def _seconds_per_publish(dt: float | None, rate_hz: float | None) -> float:
    """Simulated seconds from one publish to the next. Raises TwixtError if both arguments are given, and for a value out
    of range."""
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
    viewer: bool,
) -> View:
    """Opens a view. flags: as for `config_of`. The other parameters are those of `show`."""
    config = config_of(name, flags)
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
        view = View(session, len(scene.shapes), capacity, round(dt_s * 1e9), own)
        view._warnings.check_scene(scene)
        return view
    except BaseException:
        if session is not None:
            session.abandon()
        host.end()
        raise


# Message of the error that `copy`, `deepcopy` and pickle raise.
NOT_COPIED = (
    "{} cannot be copied or pickled: it stands for one window; leave it out of the copy: "
    "define __deepcopy__ or __getstate__ on the object that holds it"
)


@closed_attributes(
    {"closed_because": "close_reason", "users_camera": "user_camera", "actions": "_actions", "listen": "_listen"}
)
class View(Publishing, ViewerInput, RunPictures):
    """A view: one or several windows to which a loop publishes. Returned by `show`. Only one thread at a time may
    publish; any thread may call `close`.

    name: the name that other viewers attach to (`twixt view NAME`). A view is closed when the last reference to it is
    gone.
    """

    name: str

    def __init__(self, session: ViewerSession, shapes: int, capacity: int, dt_ns: int, columns: Columns) -> None:
        Publishing.__init__(self, session, shapes, capacity, dt_ns, columns)
        ViewerInput.__init__(self, session.host, session.status, max(shapes, capacity))
        RunPictures.__init__(self, session, self._now, dt_ns)
        self.name = self._host.name
        weakref.finalize(self, session.abandon).atexit = False

    @property
    def is_open(self) -> bool:
        """True while the loop should go on. False after the user has closed the window that `show` opened, after
        `close`, and after `seconds`, if they are given. It stays True if the viewer crashes or has no display."""
        return not self._session.is_over

    def real_time(self, dt: float | None = None) -> Iterator[float]:
        """Pace a loop to real time, while `is_open`:

            for t in view.real_time():
                view.publish(position=orbit(t))

        Yields the time of each iteration in seconds: 0, dt, 2 dt and so on. Iteration k begins at the instant
        start + k * dt, or as soon as the iteration before it has ended. An iteration that is late begins at once, and so
        do the next ones until the lateness is made good: at most 0.1 s / dt of them, or 2. After a longer stall the loop
        goes on from now, at the same pace. Ctrl-C ends the wait at once. The viewer's keys for pause and time scale have
        no effect here.

        - dt: seconds from one iteration to the next; by default the `dt` of the view, which `publish` adds as well.

        Raises TwixtError for a `dt` below 1e-9 and for anything but a number.
        """
        return paced(self._session, self._dt_ns / 1e9 if dt is None else checked_dt_s(dt))

    @property
    def close_reason(self) -> str | None:
        """Text that says why the view has no window. None while it has a window or opens one."""
        return self._session.close_reason

    @property
    def scene(self) -> Scene:
        """The scene of the view. Assign another scene to replace everything in it, the camera included, from the next
        publish on. What users see in their windows stays in the same place unless the new camera differs from the old
        one. If the bodies of the new scene have other parts, the columns per part are reset to the colours and sizes
        of the new scene. Raises TwixtError for a scene that cannot be drawn."""
        return with_camera(self._host.scene.unpacked(), self._host.camera.camera)

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
