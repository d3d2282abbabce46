"""This module defines the handle of the passive viewer. The handle has the same names and rules as MuJoCo's own handle.

Always: `sync` never waits for a viewer. After `close`, `sync` has no effect, but `m`, `d` and `viewport` still work.
Model and data are the user's own objects; only mouse drags write into them. Unsupported settings are accepted, and
each is reported one time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from operator import index
from time import perf_counter_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidValue, text_of
from twixt.sim.engines.mujoco.body_poses import BodyPoses
from twixt.sim.engines.mujoco.gate import DeferredState, GatedPublisher
from twixt.sim.engines.mujoco.model.model_surfaces import ModelSurfaces
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.overlay_content import overlay_figures_of, overlay_images, overlay_texts
from twixt.sim.engines.mujoco.shown_model import ShownModel
from twixt.sim.engines.mujoco.unsupported import Unsupported
from twixt.sim.engines.mujoco.user_input.key_callback import call_on_keys
from twixt.sim.engines.mujoco.user_input.mouse_forces import MouseForces
from twixt.sim.engines.mujoco.visual.contact_events import CONTACTS, ContactEvents
from twixt.sim.engines.mujoco.visual.geom_memory import LabelTexts
from twixt.sim.engines.mujoco.visual.user_geoms import UserGeoms
from twixt.sim.engines.mujoco.visual.visual_marks import VisualMarks
from twixt.sim.show.options import PassiveOptions
from twixt.sim.show.show import show
from twixt.sim.show.view import NOT_COPIED, View

if TYPE_CHECKING:
    from mujoco import MjData, MjModel, MjrRect, MjvCamera, MjvOption, MjvPerturb, MjvScene


# Interval at which `is_running` polls the window, in ns. Most calls do not poll, because loops call `is_running` in
# each step.
ASK_NS = 5_000_000
DEFAULT_SIZE_PX = (800, 600)


class Handle:
    """Handle of one passive viewer, as `launch_passive` returns it, with the names of MuJoCo's own handle."""

    def __init__(
        self,
        model: MjModel,
        data: MjData,
        publish_hz: float | None,
        key_callback: Callable[[int], None] | None = None,
        **options: Unpack[PassiveOptions],
    ) -> None:
        events = options.get("events", True)
        if isinstance(events, str):
            if events != CONTACTS:
                raise InvalidValue(f"events must be True, False or {CONTACTS!r}, got {text_of(events)}")
            options["events"] = True
        self._model, self._data = model, data
        poses = BodyPoses(model, data, watches_jumps=True)
        self._users = UserGeoms(model)
        self._unsupported = Unsupported(model, self._users)
        self._unsupported.note_model()
        texts = LabelTexts()
        self._shown = ShownModel(model, self._unsupported, texts, self._users)
        self._view = show(self._shown.scene, dt=model.opt.timestep, **options)  # type: ignore[arg-type]  # events: bool
        self._view._events.holds_later = True
        self._contacts = ContactEvents(model, data) if events == CONTACTS else None
        self._events_s = data.time  # simulated time of the last event, or of the last state that was checked
        self._shown.show_in(self._view)
        if key_callback is not None:
            self._view._listen()
            call_on_keys(key_callback, self._view._actions)
        marks = VisualMarks(
            model, data, self._shown.opt, self._unsupported.perturb, self._users, self._unsupported.note, texts
        )
        surfaces = ModelSurfaces(model, data, self._shown.opt)
        self._deferred = deferred = DeferredState(poses, data)
        self._publisher = GatedPublisher(
            self._view, poses, deferred.present_time, publish_hz, self._shown, marks, surfaces, deferred
        )
        self._mouse = MouseForces(model, data, self._unsupported.perturb, self._view._actions)
        self._view._actions.on_pulls = deferred.request_check
        self._lock = threading.RLock()
        # True after the program has got the lock or the options; `sync` then always runs its checks
        self._is_watched = False
        self._is_closed, self._asked_ns, self._was_running = False, 0, True
        self._size_px = options.get("size_px", DEFAULT_SIZE_PX)

    @property
    def cam(self) -> MjvCamera:
        """The camera of the window, an `MjvCamera`.

        If your code has changed the camera since the last `sync`, the next `sync` shows this view in the window. If
        your code has not changed the camera, `sync` sets the camera to the view that the user has chosen in the
        window.
        """
        return self._shown.camera

    @property
    def opt(self) -> MjvOption:
        """Visualization options, an `MjvOption`. docs/engines.md lists the options that have an effect."""
        self._watch()
        return self._shown.opt

    @property
    def perturb(self) -> MjvPerturb:
        """The selected or dragged body, an `MjvPerturb`. The user or your code selects it."""
        self._deferred.request_check()
        return self._unsupported.perturb

    @property
    def user_scn(self) -> MjvScene:
        """An `MjvScene` to which your code adds geoms. The next `sync` shows these geoms.

        Of the scene's flags, only the flag for the sky has an effect.
        """
        self._deferred.request_check()
        return self._users.scene

    @property
    def m(self) -> MjModel:
        """The model: the same object that was passed to `launch_passive`."""
        return self._model

    @property
    def d(self) -> MjData:
        """The data: the same object that was passed to `launch_passive`."""
        return self._data

    @property
    def view(self) -> View:
        """The view of twixt, for `slider`, `toggle`, `button`, `plot`, `keys`, `screenshot` and so on.

        Do not call its `publish` and `slot`, and do not assign its `scene`: `sync` does this.
        """
        return self._view

    @property
    def viewport(self) -> MjrRect:
        """The rectangle of the window, in pixels."""
        return mujoco.MjrRect(0, 0, *(self._view.size_px or self._size_px))

    def is_running(self) -> bool:
        """True while the loop should continue.

        Returns:
            True until the window is closed or `close` is called. Without a display, True until `close` is called.
        """
        if self._is_closed:
            return False
        now_ns = perf_counter_ns()
        if now_ns - self._asked_ns >= ASK_NS:
            self._asked_ns, self._was_running = now_ns, self._view.is_open
            if not self._was_running:
                self._deferred.request_check()
                self._mouse.end()  # This ends the drag here as well, because the loop may not call `sync` again.
        return self._was_running

    def sync(self, state_only: bool = False) -> None:
        """Shows the current state of the data. If frames do not need this state, the call takes half a microsecond.

        Args:
            state_only: True to skip the check whether the model's own arrays (colours, sizes, poses of geoms) have
                changed.
        """
        if self._contacts is not None:
            with self._lock:  # another thread may step under this lock
                self._time_of_events()
                self._contacts.emit(self.emit_many)
        deferred, now_ns = self._deferred, perf_counter_ns()
        if now_ns < deferred.until_ns:  # the next lines repeat the code of `DeferredState.put`
            deferred.put_ns, deferred.is_model_fixed = now_ns, state_only
            deferred.poses[:] = deferred.live_poses
            deferred.time[:] = deferred.live_time
            if deferred.until_ns:  # the value is 0 if another thread has requested a check meanwhile
                return
        self._full_sync(state_only)

    def _full_sync(self, state_only: bool) -> None:
        """The part of `sync` that checks everything that may have changed."""
        if self._is_closed or not self._was_running:
            return self._mouse.end()
        with self._lock:
            self._time_of_events()
            if self._mouse.is_needed:
                self._mouse.apply()
            self._deferred.is_model_fixed = state_only
            # The clock is read here, because the wait for a lock does not count as a cost of the publish.
            self._publisher.publish_or_defer(perf_counter_ns())
            if not self._needs_check:
                self._publisher.defer_until_next()
                if self._needs_check:  # something has changed meanwhile
                    self._deferred.request_check()

    @property
    def _needs_check(self) -> bool:
        """True if the next `sync` must run all its checks."""
        return self._is_closed or self._is_watched or self._mouse.is_needed

    def _watch(self) -> None:
        self._is_watched = True
        self._deferred.request_check()

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
        """Emits an event: something that happened in the current state of `data`. Call `sync` after `emit`.

        Viewers deliver the event in the first frame whose draw time has reached the event's instant. Viewers deliver
        the event even if `sync` does not publish this state. For limits and corrections see `World.emit`. After
        `close`, this method does nothing.

        Args:
            name: Name of the event, 1 to 40 bytes in UTF-8, without control characters.
            body: Id of the body in the model, such as `model.body("ball").id`.
            position: Point in the world, (3,), metres.
            strength: Strength of the event, >= 0, in a unit of your choice.
            values: Up to four numbers.
            text: Short text, up to 15 bytes in UTF-8.
            at: Simulated time at which the event happened, in seconds, by default `data.time`. If this time is later
                than the next published state, the event waits until a state has reached this time.

        Raises:
            TwixtError: An argument is invalid (see `World.emit`).
        """
        time_s = self._time_of_events()
        at = time_s if at is None else at
        self._view.emit(name, body=body, position=position, strength=strength, values=values, text=text, at=at)

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

        The arguments have the same shapes as in `World.emit_many`. Bodies and times mean the same as in `emit`.

        Args:
            name: Name of the events.
            body: (n,), ids of bodies in the model. `body` and the next arguments may also be one value for all events.
            position: (n, 3), points in the world, metres.
            strength: Strengths of the events, (n,), >= 0.
            values: (n, k), up to four numbers for each event.
            at: Simulated times of the events, (n,), in seconds. By default `data.time`.
            text: Short text that all events have.

        Raises:
            TwixtError: An argument is invalid (see `World.emit_many`).
        """
        time_s = self._time_of_events()
        at = time_s if at is None else at
        self._view.emit_many(name, body=body, position=position, strength=strength, values=values, at=at, text=text)

    def _time_of_events(self) -> float:
        """Simulated time of the state, in seconds. If it went back, events from before do not wait for their time."""
        time_s = self._data.time
        if time_s < self._events_s:
            self._view._events.world += 1
        self._events_s = time_s
        return time_s

    def lock(self) -> threading.RLock:  # type: ignore[valid-type]  # a class to type checkers alone since 3.14
        """The lock that `sync` holds. The lock is re-entrant.

        Returns:
            The lock, as a context manager.
        """
        self._watch()
        return self._lock

    def close(self) -> None:
        """Closes the window. Any thread may call this method, also several times."""
        self._is_closed = True
        self._deferred.request_check()
        self._publisher.end()
        self._mouse.end()
        self._view.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raises TypeError: a handle belongs to one window, so it cannot be copied or pickled."""
        raise TypeError(NOT_COPIED.format("a handle of launch_passive"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def update_mesh(self, meshid: int) -> None:
        """Shows the changed vertices of a mesh of the model with the next `sync`.

        Args:
            meshid: Number of the mesh.

        Raises:
            ValueError: The model has no mesh with this number.
        """
        self._update("mesh", meshid, self._model.nmesh)

    def update_hfield(self, hfieldid: int) -> None:
        """Shows the changed heights of a height field of the model with the next `sync`.

        Args:
            hfieldid: Number of the height field.

        Raises:
            ValueError: The model has no height field with this number.
        """
        self._update("hfield", hfieldid, self._model.nhfield)

    def update_texture(self, texid: int) -> None:
        """Shows the changed pixels of a texture of the model with the next `sync`.

        Args:
            texid: Number of the texture.

        Raises:
            ValueError: The model has no texture with this number.
        """
        self._update("texture", texid, self._model.ntex)

    def _update(self, kind: str, number: int, count: int) -> None:
        try:
            is_there = 0 <= index(number) < count
        except TypeError:
            is_there = False
        if not is_there:
            raise ValueError(f"{kind} must be a number from 0 to {count - 1}, got {text_of(number)}")
        with self._lock:
            self._shown.update_asset(kind, number)

    def set_figures(self, viewports_figures: Any) -> None:
        """Shows figures over the picture.

        Args:
            viewports_figures: One pair (viewport, figure), or a list of such pairs.
        """
        shown, left_out = overlay_figures_of(viewports_figures)
        if left_out:
            self._unsupported.note(f"{left_out} of {left_out + len(shown)} figures of set_figures, too large together")
        self._view.set_figures(shown)

    def clear_figures(self) -> None:
        """Removes the figures."""
        self._view.set_figures(())

    def set_texts(self, texts: Any) -> None:
        """Shows texts over the picture.

        Args:
            texts: One tuple (font, gridpos, text1, text2), or a list of such tuples. If font or gridpos is None,
                MuJoCo's default is used.
        """
        self._view.set_texts(overlay_texts(texts))

    def clear_texts(self) -> None:
        """Removes the texts."""
        self._view.set_texts(())

    def set_images(self, viewports_images: Any) -> None:
        """Shows images over the picture.

        Args:
            viewports_images: One pair (viewport, image), or a list of such pairs.

        Raises:
            ValueError: The size of an image differs from the size of its rectangle.
        """
        shown, left_out = overlay_images(viewports_images)
        if left_out:
            self._unsupported.note(f"{left_out} of {left_out + len(shown)} images of set_images, too large together")
        self._view.set_images(shown)

    def clear_images(self) -> None:
        """Removes the images."""
        self._view.set_images(())
