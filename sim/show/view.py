"""Contains the view that `twixt.show` returns. A view has a scene, a camera and a window.

    with twixt.show(scene, dt=0.002) as view:        # starts the viewer as its own process; returns at once
        while view.is_open:
            advance(state)
            view.publish(position=state.xyz, orientation=state.quat)

The module `show` opens a view. The module `publishing` publishes states. The module `viewer_input` receives the actions
of the viewers' users. The module `run_pictures` plots values and requests screenshots.

Always: after `close`, publishing or assigning a scene or camera has no effect. The viewer's keys for steps, pause and
reset do not affect the loop; the program receives them as events.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import NoReturn, Self

from twixt.ipc.errors import InvalidType
from twixt.ipc.process.renamed import closed_attributes
from twixt.ipc.ring.segments import HostEnded
from twixt.ipc.scene import Camera, Scene, check_camera
from twixt.ipc.scene.scene import with_camera
from twixt.sim.show.publishing import Publishing
from twixt.sim.show.real_time import checked_dt_s, paced
from twixt.sim.show.run_pictures import RunPictures
from twixt.sim.show.session import ViewerSession
from twixt.sim.show.viewer_input import ViewerInput
from twixt.sim.world.columns import Column, Columns, scene_with_columns

# Message of the error that `copy`, `deepcopy` and pickle raise.
NOT_COPIED = (
    "{} cannot be copied or pickled, because it belongs to one window; to leave it out of the copy, "
    "define __deepcopy__ or __getstate__ on the object that holds it"
)


@closed_attributes(
    {"closed_because": "close_reason", "users_camera": "user_camera", "actions": "_actions", "listen": "_listen"}
)
class View(Publishing, ViewerInput, RunPictures):
    """A window on a scene, to which your loop publishes states. `twixt.show` returns it.

    More viewers can attach to the same view by its name. Only one thread at a time may publish. Any thread may call
    `close`, `emit`, `emit_many` and `plot`. A view is closed at the end of its `with` block, or when the last
    reference to it is gone.

    Attributes:
        name: Name by which other viewers attach (`twixt view NAME`).

    Examples:
        ```python
        import math
        import twixt

        with twixt.show(twixt.Scene([twixt.Sphere(0.2)]), dt=1 / 60) as view:
            height = view.slider("height", 1.0, 0.0, 3.0)
            for t in view.real_time():
                view.publish(position=(math.cos(t), math.sin(t), height.value))
        ```
    """

    name: str

    def __init__(self, session: ViewerSession, shapes: int, capacity: int, dt_ns: int, columns: Columns) -> None:
        Publishing.__init__(self, session, shapes, capacity, dt_ns, columns)
        ViewerInput.__init__(self, session.host, session.status, max(shapes, capacity))
        RunPictures.__init__(self, session, self._now, self._events, dt_ns)
        self.name = self._host.name
        weakref.finalize(self, session.abandon).atexit = False

    @property
    def is_open(self) -> bool:
        """True while the loop should continue.

        `is_open` becomes False in three cases: the user closes the window that `show` opened, you call `close`, or the
        `seconds` of `show` have passed. `is_open` stays True if the viewer crashes or if there is no display.
        """
        return not self._session.is_over

    def real_time(self, dt: float | None = None) -> Iterator[float]:
        """Paces a loop to real time, while `is_open` is True.

        Iteration k is due at the instant start + k * dt. If an iteration is late, it begins at once. The next
        iterations also begin at once, until the loop is on time again. The largest lateness is the longer of 0.1 s and
        2 dt. If the loop is later than this, it does not catch up: the schedule continues from the current time.
        Ctrl-C ends the wait at once. The viewer's keys for pause and time scale have no effect on the loop.

        Args:
            dt: Seconds from one iteration to the next. By default the `dt` of the view, by which `publish` advances
                simulated time.

        Returns:
            An iterator over the times of the iterations in seconds: 0, dt, 2 dt and so on.

        Raises:
            TwixtError: `dt` is not a number, or not from 1e-9 to 1e9. The error is also a ValueError.

        Examples:
            ```python
            import math
            import twixt

            with twixt.show(twixt.Scene([twixt.Sphere()]), dt=0.01) as view:
                for t in view.real_time():
                    view.publish(position=(math.cos(t), math.sin(t), 1))
            ```
        """
        return paced(self._session, self._dt_ns / 1e9 if dt is None else checked_dt_s(dt))

    @property
    def close_reason(self) -> str | None:
        """Reason why the view has no window, as text. None while the view has a window or opens it."""
        return self._session.close_reason

    @property
    def scene(self) -> Scene:
        """The scene of the view.

        Assign another scene to replace the shapes, the camera, the light and all other parts of the scene from the
        next publish on. Windows keep the views that users have chosen, unless the new camera differs from the old
        camera. If the new scene gives the bodies different parts, the columns per part are reset to the colours and
        sizes of the new scene. After `close`, an assignment has no effect.

        Raises:
            TwixtError: The assigned scene cannot be drawn.
        """
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
        self._now.columns._set_scene(scene)
        self._now.shapes = len(scene.shapes)
        try:
            self._publisher.write_scene(scene)
        except HostEnded:
            if not self._session.is_closed:  # Another thread may have closed the view.
                raise

    def add_columns(self, columns: Mapping[str, Column]) -> Columns:
        """Declares more columns, as the argument `columns` of `twixt.show` does.

        The new columns are part of the states from the next publish on. To set a column, write into its array before a
        publish. The call reallocates the shared memory and sends the scene again.

        Args:
            columns: The declarations of the columns, by name.

        Returns:
            All columns of the view, by name. Each column is an array, (n,) or (n, width).

        Raises:
            TwixtError: A declaration is invalid (see `show`), or a column is already declared in a different way.
        """
        own = self._now.columns
        declared = own._with_more(columns)
        if self._session.is_closed or len(declared) == len(own.declared):
            return own
        scene_with_columns(self.scene, declared)
        own._declare(declared, self.scene)
        try:
            self._host.ring.set_columns(own._layout)
            self.scene = self.scene
        except HostEnded:
            if not self._session.is_closed:  # Another thread may have closed the view.
                raise
        return own

    @property
    def camera(self) -> Camera | None:
        """The camera of the scene. If it is None, viewers choose a camera that shows all bodies.

        Assign a camera to move the view of all viewers at once, even if their users have moved it themselves. An
        assignment sends only a few hundred bytes, even if the scene is large.

        Raises:
            TwixtError: The assigned value is not a camera or None, or the camera's body does not exist.
        """
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
        """Opens a window again after it was closed or its viewer crashed. Does nothing if the view has a window.

        `is_open` becomes True again, and `seconds` count from this call on. The new viewer writes no files (`log`,
        `screenshot`, `profile`). The files that the first viewer wrote stay.

        Raises:
            TwixtError: The view was closed with `close`, or this is a forked child.
        """
        self._session.reopen()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raises TypeError in `copy.copy`, `copy.deepcopy` and pickle, because a view owns a window and its memory."""
        raise TypeError(NOT_COPIED.format("a view of twixt.show"))

    def close(self) -> None:
        """Closes the window, ends all viewers and frees the memory.

        The call waits for requested screenshots for at most 5 s. Then the call waits at most 3 s for the viewer's
        process to end, and terminates the process if it still runs. Any thread may call this method. A second `close`
        does nothing.
        """
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
