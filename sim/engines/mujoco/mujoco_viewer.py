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
from twixt.sim.show.options import ViewerOptions
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
    """Shows the current state of `data` on `view`, which `twixt.show(scene(model))` returned. This function never
    waits.

    A state has the poses and velocities of the bodies, the tendons, and the simulated time (`data.time`). If
    `data.time` decreases, all bodies are drawn with a cut. Call `publish` at most one time in each step of the loop.
    Every state is sent. In contrast, `launch_passive` sends no more states than frames can show.
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
    **options: Unpack[ViewerOptions],
) -> Handle:
    """Opens a window that shows `data`, and returns immediately. The user's own loop shows its states by the returned
    handle.

    show_left_ui, show_right_ui: if both are False, there is no overlay. key_callback: function that is called on a
    separate thread with the GLFW code of each pressed key. publish_hz: maximum number of shown states per second. The
    default is 120, or fewer if 120 would take more than 1 % of the loop's time. options: the options of `twixt.show`.
    Raises ValueError in the same cases as MuJoCo's own viewer.
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
    **options: Unpack[ViewerOptions],
) -> None:
    """Steps the model in real time and shows it until the window is closed. data: an `MjData` of the model; by default
    a new `MjData`.

    loader: function that returns model and data. Its results replace the arguments `model` and `data`. options: as for
    `launch_passive`. Raises ValueError in the same cases as MuJoCo's own viewer, and TwixtError if there is no model.
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


def launch_from_path(path: str | os.PathLike[str], **options: Unpack[ViewerOptions]) -> None:
    """Calls `launch` with the model in an MJCF, URDF or MJB file. Raises TwixtError for a file that cannot be
    loaded."""
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
                if data.time < before or time.perf_counter() - turn_s > LONGEST_TURN_S:
                    break
        viewer.sync()
        ahead_s = data.time - begin_time - (time.perf_counter() - begin_s)
        if abs(ahead_s) > MOST_DEBT_S:
            begin_s, begin_time = time.perf_counter(), data.time
        elif ahead_s > 0:
            time.sleep(ahead_s)
