"""This module replaces MuJoCo's viewer. Write `from twixt import mujoco_viewer` instead of `import mujoco.viewer`.

    with mujoco_viewer.launch_passive(model, data) as viewer:
        while viewer.is_running():
            mujoco.mj_step(model, data)
            viewer.sync()

`launch_passive`, `launch` and `launch_from_path` accept the same arguments as in MuJoCo. A loop that already has a
view of twixt uses `scene(model)` and `publish(view, data)`. docs/engines.md lists for every name of MuJoCo's viewer
whether it works, differs or has no effect.

Always: model and data are the user's own objects, not copies. Publishing never waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack
from weakref import WeakKeyDictionary

from twixt.ipc.config.flags import Config
from twixt.ipc.errors import InvalidType, InvalidValue, text_of
from twixt.sim.engines.mujoco.body_poses import BodyPoses
from twixt.sim.engines.mujoco.handle import Handle
from twixt.sim.engines.mujoco.model.model_scene import scene
from twixt.sim.engines.mujoco.model.model_surfaces import ModelSurfaces
from twixt.sim.engines.mujoco.mujoco_package import loaded_model, mujoco
from twixt.sim.engines.mujoco.visual.visual_marks import VisualMarks
from twixt.sim.show.options import PassiveOptions
from twixt.sim.show.view import View

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

__all__ = ["Handle", "launch", "launch_from_path", "launch_passive", "publish", "scene"]

KeyCallback = Callable[[int], None]
# Longest time for which `launch` steps without a publish, in seconds of the wall clock.
LONGEST_TURN_S = 1 / 60
# If simulated time is late by more than this time, in seconds, `launch` does not try to catch up. MuJoCo's own viewer
# does the same.
MOST_DEBT_S = 0.1

_states_of: WeakKeyDictionary[View, tuple[MjData, BodyPoses, VisualMarks, ModelSurfaces]] = WeakKeyDictionary()


def publish(view: View, data: MjData) -> None:
    """Publishes the current state of `data` on a view of `twixt.show`. It never waits.

    A state has the poses and velocities of the bodies, the tendons, and the simulated time (`data.time`). If
    `data.time` decreases, all bodies are drawn with a cut. Call `publish` at most once in each step of the loop.
    `publish` sends every state. (`launch_passive` sends no more states than frames can show.)

    Args:
        view: The view that `twixt.show(scene(model))` returned.
        data: Data of the model.

    Raises:
        TwixtError: An argument has a wrong type. The error is also a TypeError.

    Examples:
        ```python
        import mujoco
        import twixt
        from twixt import mujoco_viewer

        xml = (
            '<mujoco><worldbody><geom type="plane" size="2 2 .1"/>'
            '<body pos="0 0 2"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
        )
        model = mujoco.MjModel.from_xml_string(xml)
        data = mujoco.MjData(model)
        with twixt.show(mujoco_viewer.scene(model), dt=model.opt.timestep) as view:
            for t in view.real_time():
                mujoco.mj_step(model, data)
                mujoco_viewer.publish(view, data)
        ```
    """
    if not isinstance(view, View) or not isinstance(data, mujoco.MjData):
        raise InvalidType(
            f"publish(view, data) takes a view of twixt.show and a mujoco.MjData, got {text_of(view)} and {text_of(data)}"
        )
    known = _states_of.get(view)
    if known is None or known[0] is not data:
        model = data.model
        known = _states_of[view] = data, BodyPoses(model, data), VisualMarks(model, data), ModelSurfaces(model, data)
    _, poses, marks, surfaces = known
    vertices = surfaces.vertices(poses.present(), surfaces.copy_flexes()) if surfaces.count else None
    count = poses.count + surfaces.count
    with view.slot(count, marks=marks.present(), surfaces=vertices, sim_time=data.time) as records:
        poses.write(records[: poses.count])
        surfaces.write_flags(records[poses.count :])


def launch_passive(
    model: MjModel,
    data: MjData,
    *,
    key_callback: KeyCallback | None = None,
    show_left_ui: bool = True,
    show_right_ui: bool = True,
    publish_hz: float | None = None,
    **options: Unpack[PassiveOptions],
) -> Handle:
    """Opens a window that shows `data`, and returns before the window is open.

    Call `viewer.sync()` after each step. The window is in another process, so a slow window does not delay the loop.

    Args:
        model: The model.
        data: Data of the model.
        key_callback: Function that is called on a separate thread with the GLFW code of each pressed key.
        show_left_ui: If `show_left_ui` and `show_right_ui` are both False, there is no overlay.
        show_right_ui: As for `show_left_ui`.
        publish_hz: Largest number of shown states per second. By default 120. If publishing 120 states takes more than
            1 % of the loop's time, fewer states are shown.
        **options: The options of `twixt.show`; see `ViewerOptions`. `events` may also be "contacts": `sync` then emits
            an event for each contact that begins (docs/engines.md).

    Returns:
        The handle, with the names of MuJoCo's own handle. Keep it in a variable: the window is closed when the last
        reference to it is gone.

    Raises:
        ValueError: An argument is invalid for MuJoCo's own viewer as well.
        TwixtError: `publish_hz` or an option is invalid, the name is in use, or memory is insufficient.

    Examples:
        ```python
        import mujoco
        from twixt import mujoco_viewer

        xml = (
            '<mujoco><worldbody><geom type="plane" size="2 2 .1"/>'
            '<body pos="0 0 2"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
        )
        model = mujoco.MjModel.from_xml_string(xml)
        data = mujoco.MjData(model)
        with mujoco_viewer.launch_passive(model, data) as viewer:
            while viewer.is_running():
                mujoco.mj_step(model, data)
                viewer.sync()
        ```
    """
    if not isinstance(model, mujoco.MjModel):
        raise ValueError(f"`model` is not a mujoco.MjModel: got {model!r}")
    if not isinstance(data, mujoco.MjData):
        raise ValueError(f"`data` is not a mujoco.MjData: got {data!r}")
    if key_callback is not None and not callable(key_callback):
        raise ValueError(f"`key_callback` is not callable: got {key_callback!r}")
    if publish_hz is not None:
        Config(publish_hz=publish_hz)  # this call raises an error for an invalid rate
    mujoco.mj_forward(model, data)
    options.setdefault("overlay", show_left_ui or show_right_ui)
    handle = Handle(model, data, publish_hz, key_callback, **options)
    handle.sync()
    return handle


def launch(
    model: MjModel | None = None,
    data: MjData | None = None,
    *,
    loader: Callable[[], tuple[MjModel, MjData]] | None = None,
    show_left_ui: bool = True,
    show_right_ui: bool = True,
    **options: Unpack[PassiveOptions],
) -> None:
    """Steps the model in real time and shows it until the window is closed.

    Args:
        model: The model.
        data: Data of the model. By default a new `MjData`.
        loader: Function that returns model and data. `loader` cannot be combined with `model`.
        show_left_ui: As in `launch_passive`.
        show_right_ui: As in `launch_passive`.
        **options: As in `launch_passive`.

    Raises:
        ValueError: An argument is invalid for MuJoCo's own viewer as well.
        TwixtError: There is no model, or an option is invalid.

    Examples:
        ```python
        import mujoco
        from twixt import mujoco_viewer

        xml = (
            '<mujoco><worldbody><geom type="plane" size="2 2 .1"/>'
            '<body pos="0 0 2"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
        )
        mujoco_viewer.launch(mujoco.MjModel.from_xml_string(xml), seconds=1)
        ```
    """
    if model is None and data is not None:
        raise ValueError("mjData is specified but mjModel is not")
    if loader is not None and model is not None:
        raise ValueError("model and loader are both specified")
    if loader is not None:
        model, data = loader()[:2]
    if model is None:
        raise InvalidValue("launch needs a model; twixt's viewer does not load one by itself: launch(model)")
    data = mujoco.MjData(model) if data is None else data
    with launch_passive(model, data, show_left_ui=show_left_ui, show_right_ui=show_right_ui, **options) as viewer:
        _step_in_real_time(viewer)


def launch_from_path(path: str | os.PathLike[str], **options: Unpack[PassiveOptions]) -> None:
    """Calls `launch` with the model in a file.

    Args:
        path: Path of an MJCF, URDF or MJB file.
        **options: As in `launch_passive`.

    Raises:
        TwixtError: The file cannot be loaded, or an option is invalid.
    """
    launch(loaded_model(path), **options)


def _step_in_real_time(viewer: Handle) -> None:
    model, data = viewer.m, viewer.d
    begin_s, begin_time = time.perf_counter(), data.time
    while viewer.is_running():
        turn_s = time.perf_counter()
        with viewer.lock():
            while begin_time + time.perf_counter() - begin_s > data.time:
                before = data.time
                mujoco.mj_step(model, data)
                if viewer._contacts is not None:
                    viewer._contacts.emit(viewer.emit_many)
                if data.time < before or time.perf_counter() - turn_s > LONGEST_TURN_S:
                    break
        viewer.sync()
        ahead_s = data.time - begin_time - (time.perf_counter() - begin_s)
        if abs(ahead_s) > MOST_DEBT_S:
            begin_s, begin_time = time.perf_counter(), data.time
        elif ahead_s > 0:
            time.sleep(ahead_s)
