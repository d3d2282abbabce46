"""Handle of the passive viewer, with the names and the rules of MuJoCo's own; its key callback.

Always: `sync` never waits for a viewer, and has no effect after `close`; then `m`, `d` and `viewport` still answer. The
model and the data are the user's own objects; only forces of the mouse are written. Unsupported settings are accepted
and reported once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from operator import index
from time import perf_counter_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from twixt.ipc.errors import text_of
from twixt.ipc.interaction.events import KEY, PRESS
from twixt.ipc.process.notices import print_current_exception, print_notice
from twixt.ipc.session.viewers import ReceivedActions
from twixt.sim.engines.mujoco.body_poses import BodyPoses
from twixt.sim.engines.mujoco.gate import DeferredState, GatedPublisher
from twixt.sim.engines.mujoco.model.model_surfaces import ModelSurfaces
from twixt.sim.engines.mujoco.mouse_forces import MouseForces
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.overlay_content import overlay_figures_of, overlay_images, overlay_texts
from twixt.sim.engines.mujoco.shown_model import ShownModel
from twixt.sim.engines.mujoco.unsupported import Unsupported
from twixt.sim.engines.mujoco.visual.geom_memory import LabelTexts
from twixt.sim.engines.mujoco.visual.user_geoms import UserGeoms
from twixt.sim.engines.mujoco.visual.visual_marks import VisualMarks
from twixt.sim.show.view import NOT_COPIED, show

if TYPE_CHECKING:
    from mujoco import MjData, MjModel, MjrRect, MjvCamera, MjvOption, MjvPerturb, MjvScene


# Interval at which `is_running` polls the window, ns; loops call it in each step.
ASK_NS = 5_000_000
DEFAULT_SIZE_PX = (800, 600)


class Handle:
    """One passive viewer. Made by `launch_passive`."""

    def __init__(
        self,
        model: MjModel,
        data: MjData,
        publish_hz: float | None,
        key_callback: Callable[[int], None] | None = None,
        **options: Any,
    ) -> None:
        self._model, self._data = model, data
        poses = BodyPoses(model, data, watches_jumps=True)
        self._users = UserGeoms(model)
        self._unsupported = Unsupported(model, self._users)
        self._unsupported.note_model()
        texts = LabelTexts()
        self._shown = ShownModel(model, self._unsupported, texts, self._users)
        self._view = show(self._shown.scene, dt=model.opt.timestep, **options)
        self._shown.show_in(self._view)
        if key_callback is not None:
            self._view.listen()
            call_on_keys(key_callback, self._view.actions)
        marks = VisualMarks(
            model, data, self._shown.opt, self._unsupported.perturb, self._users, self._unsupported.note, texts
        )
        surfaces = ModelSurfaces(model, data, self._shown.opt)
        self._deferred = deferred = DeferredState(poses, data)
        self._publisher = GatedPublisher(
            self._view, poses, deferred.present_time, publish_hz, self._shown, marks, surfaces, deferred
        )
        self._mouse = MouseForces(model, data, self._unsupported.perturb, self._view.actions)
        self._view.actions.on_pulls = deferred.request_check
        self._lock = threading.RLock()
        self._is_watched = False  # True: the program has the lock or the options, and can change them at any time
        self._is_closed, self._asked_ns, self._was_running = False, 0, True
        self._size_px = options.get("size_px", DEFAULT_SIZE_PX)

    @property
    def cam(self) -> MjvCamera:
        """The camera. What the code has set since the last `sync` is shown; else what the user has moved arrives here,
        with `sync`."""
        return self._shown.camera

    @property
    def opt(self) -> MjvOption:
        """Visualization options: docs/engines.md lists those that have an effect."""
        self._watch()
        return self._shown.opt

    @property
    def perturb(self) -> MjvPerturb:
        """The body that the user has selected or drags; or that the code does."""
        self._deferred.request_check()
        return self._unsupported.perturb

    @property
    def user_scn(self) -> MjvScene:
        """A scene for geoms of the user's own, which are shown with the next `sync`. Of its flags that of the sky
        has an effect."""
        self._deferred.request_check()
        return self._users.scene

    @property
    def m(self) -> MjModel:
        """The model, the user's own object."""
        return self._model

    @property
    def d(self) -> MjData:
        """The data, the user's own object."""
        return self._data

    @property
    def viewport(self) -> MjrRect:
        """The rectangle of the window, pixels."""
        return mujoco.MjrRect(0, 0, *(self._view.size_px or self._size_px))

    def is_running(self) -> bool:
        """True until the window is closed, or `close` was called. Without a display it stays True."""
        if self._is_closed:
            return False
        now_ns = perf_counter_ns()
        if now_ns - self._asked_ns >= ASK_NS:
            self._asked_ns, self._was_running = now_ns, self._view.is_open
            if not self._was_running:
                self._deferred.request_check()
                self._mouse.end()  # also here: the loop may not call `sync` again
        return self._was_running

    def sync(self, state_only: bool = False) -> None:
        """Shows the present state of the data. One that no frame would show costs half a microsecond.

        state_only: changes of the model's own arrays (colours, sizes, poses of geoms) are not looked for.
        """
        deferred, now_ns = self._deferred, perf_counter_ns()
        if now_ns < deferred.until_ns:  # `DeferredState.put`, inlined
            deferred.put_ns, deferred.is_model_fixed = now_ns, state_only
            deferred.poses[:] = deferred.live_poses
            deferred.time[:] = deferred.live_time
            if deferred.until_ns:  # else another thread may have changed the data meanwhile
                return
        self._full_sync(state_only)

    def _full_sync(self, state_only: bool) -> None:
        """`sync` that checks everything that may have changed."""
        if self._is_closed or not self._was_running:
            return self._mouse.end()
        with self._lock:
            if self._mouse.is_needed:
                self._mouse.apply()
            self._deferred.is_model_fixed = state_only
            self._publisher.publish_or_defer(perf_counter_ns())  # lock waits do not count as publish cost
            if not self._needs_check:
                self._publisher.defer_until_next()
                if self._needs_check:  # changed meanwhile
                    self._deferred.request_check()

    @property
    def _needs_check(self) -> bool:
        """True if the next `sync` must check everything."""
        return self._is_closed or self._is_watched or self._mouse.is_needed

    def _watch(self) -> None:
        self._is_watched = True
        self._deferred.request_check()

    def lock(self) -> threading.RLock:  # type: ignore[valid-type]  # a class to type checkers alone since 3.14
        """Lock held by `sync`, as a context manager; re-entrant."""
        self._watch()
        return self._lock

    def close(self) -> None:
        """Closes the window. Idempotent, from any thread."""
        self._is_closed = True
        self._deferred.request_check()
        self._publisher.end()
        self._mouse.end()
        self._view.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raises TypeError in `copy.copy`, `copy.deepcopy` and pickle: a handle stands for one window."""
        raise TypeError(NOT_COPIED.format("a handle of launch_passive"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def update_mesh(self, meshid: int) -> None:
        """Shows the vertices of a mesh that the code has changed in the model, with the next `sync`."""
        self._update("mesh", meshid, self._model.nmesh)

    def update_hfield(self, hfieldid: int) -> None:
        """Shows the heights of a height field that the code has changed in the model, with the next `sync`."""
        self._update("hfield", hfieldid, self._model.nhfield)

    def update_texture(self, texid: int) -> None:
        """Shows the pixels of a texture that the code has changed in the model, with the next `sync`."""
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
        """Shows figures over the picture: one (viewport, figure), or a list of them."""
        shown, left_out = overlay_figures_of(viewports_figures)
        if left_out:
            self._unsupported.note(f"{left_out} of {left_out + len(shown)} figures of set_figures, too large together")
        self._view.set_figures(shown)

    def clear_figures(self) -> None:
        """Removes the figures."""
        self._view.set_figures(())

    def set_texts(self, texts: Any) -> None:
        """Shows texts over the picture: one (font, gridpos, text1, text2), or a list of them; None: MuJoCo's
        default."""
        self._view.set_texts(overlay_texts(texts))

    def clear_texts(self) -> None:
        """Removes the texts."""
        self._view.set_texts(())

    def set_images(self, viewports_images: Any) -> None:
        """Shows images over the picture: one (viewport, image), or a list of them. Raises ValueError for an image that
        its rectangle does not fit."""
        shown, left_out = overlay_images(viewports_images)
        if left_out:
            self._unsupported.note(f"{left_out} of {left_out + len(shown)} images of set_images, too large together")
        self._view.set_images(shown)

    def clear_images(self) -> None:
        """Removes the images."""
        self._view.set_images(())


# Calls the `key_callback` of a passive viewer with the codes of pressed keys, on a thread of its own.
#
# Always: all keys pressed in a window are passed, also those that the viewer uses, as MuJoCo's own viewer does. The
# callback is called without a lock, so that it may acquire the handle's. If it raises, its traceback is printed and
# later keys are passed. `sys.exit` cannot end the program from this thread; that is reported. The thread holds no
# reference to the view, and ends with it.


NO_EXIT = (
    "key_callback called sys.exit, which does not end the program from the callback's thread; call viewer.close() "
    "there, and let the loop go on while viewer.is_running()"
)


def call_on_keys(callback: Callable[[int], None], users: ReceivedActions) -> threading.Thread:
    """Starts the thread. callback: called with GLFW's code of each key that is pressed."""
    thread = threading.Thread(target=_pass_keys, args=(callback, users), name="twixt keys", daemon=True)
    thread.start()
    return thread


def pass_pending(callback: Callable[[int], None], users: ReceivedActions) -> None:
    """Passes the keys that were pressed since the last call."""
    while (event := users.next_event()) is not None:
        if event.name != KEY or event.action != PRESS:
            continue
        try:
            callback(event.key)
        except SystemExit:
            print_notice(NO_EXIT)
        except Exception:
            print_current_exception()


def _pass_keys(callback: Callable[[int], None], users: ReceivedActions) -> None:
    while users.wait():
        pass_pending(callback, users)
