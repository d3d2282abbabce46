"""The part of a viewer that does not change with every step: scene and camera, kept as the user's code sets them.

The one idea: MuJoCo's structs (`cam`, `opt`, the model itself) are changed in place and tell nobody. So they are
compared with what was shown last, before a publish: camera and options each time, the model's own arrays some times a
second.

Always: a scene is replaced only if something differs, and seldom enough that a viewer keeps up with it. Colours alone
replace none: they are columns of the parts (`model/shown_colors.py`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.sim.engines.mujoco.model.geom_shapes import PartMaker, ShownParts
from twixt.sim.engines.mujoco.model.model_camera import default_camera, scene_camera, take_over
from twixt.sim.engines.mujoco.model.model_materials import MATERIAL_ARRAYS
from twixt.sim.engines.mujoco.model.model_scene import found_parts, scene_of
from twixt.sim.engines.mujoco.model.shown_colors import COLOR_ARRAYS, ShownColors
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.unsupported import Unsupported
from twixt.sim.engines.mujoco.visual.geom_memory import camera_bytes, option_bytes
from twixt.sim.engines.mujoco.visual.label_texts import LabelTexts
from twixt.sim.engines.mujoco.visual.show_switches import HasFlags, ShowSwitches

if TYPE_CHECKING:
    from mujoco import MjModel

    from twixt.ipc.scene import Camera
    from twixt.sim.show.view import View

# Shortest interval between two scenes, ns: each travels whole, meshes and all.
SCENE_NS = 33_000_000
# Interval at which the model's arrays are compared, ns.
MODEL_NS = 100_000_000
# Arrays of a model that its scene is made of. Meshes, height fields and textures are told by `update_mesh` and so on.
WATCHED = ("geom_size", "geom_pos", "geom_quat", "geom_group", "geom_matid", "site_size", "site_pos", "site_quat",
           "site_group", *(name for name in MATERIAL_ARRAYS if name not in COLOR_ARRAYS))  # fmt: skip


class ShownModel:
    """Scene and camera of one model in one view. camera, opt: MuJoCo's structs, which the user's code may change.

    unsupported: told of what has no effect. texts: of labels, for the scene. rendering: has the rendering flags.
    """

    def __init__(self, model: MjModel, unsupported: Unsupported, texts: LabelTexts, rendering: HasFlags) -> None:
        self._texts, self._rendering = texts, rendering
        self.camera, self.opt = default_camera(model), mujoco.MjvOption()
        self._switches = ShowSwitches(model, self.opt, rendering)
        self.view: View | None = None  # to be set by `show_in` once there is one
        self._model, self._unsupported = model, unsupported
        self._maker = PartMaker(model)
        self._changes = _Changes(model)
        self._shown = self._shown_parts()
        found = found_parts(model, self._maker, self._shown)
        self._scene = scene_of(model, found, self._maker, scene_camera(model, self.camera), (), self._shown)
        self._colors = ShownColors(model)
        self._colors.take_scene(self._scene, found, self._maker, self.opt)
        self._options, self._camera = option_bytes(self.opt), camera_bytes(self.camera)
        self._seen_options, self._seen_camera = self._all_options(), self._camera.tobytes()
        self._taken_camera: Camera | None = None  # the user's view that `camera` has
        self.is_unfinished = False
        self._scene_ns = self._model_ns = time.perf_counter_ns()

    @property
    def scene(self) -> Scene:
        """The scene shown now."""
        return self._scene

    def show_in(self, view: View) -> None:
        """Shows them in `view` from now on, and offers its users the switches of the options."""
        self.view = view
        view.controls = self._switches.offered

    def refresh(self, at_once: bool, is_model_fixed: bool = False) -> bool:
        """Replaces the view's scene if something of it has changed; True if it did. at_once: a change need not wait,
        though the last scene may be only a moment old. is_model_fixed: the model's own changes are not looked for, as
        `sync(state_only=True)` says."""
        if not at_once:
            self._switches.exchange()
        options = self._all_options()
        if not at_once:  # else another thread may call, which prints nothing and changes nothing of the code's
            self._unsupported.check(self.opt, options)
        now_ns = time.perf_counter_ns()
        self._compare_camera(at_once)
        if options != self._seen_options:
            self._seen_options, shown = options, self._shown_parts()
            self._changes.are_shapes_old |= shown != self._shown
            self._shown = shown
        is_model_due = at_once or now_ns - self._model_ns >= MODEL_NS
        self.is_unfinished = not (is_model_due or is_model_fixed)
        if is_model_due and not is_model_fixed:
            self._model_ns = now_ns
            self._changes.look_at_shapes()
        if not is_model_fixed and (is_model_due or self._colors.are_declared):
            self._changes.look_at_colors()
        are_labels_old = self._scene.labels != self._texts.texts
        changes = self._changes
        if not (changes.are_shapes_old or are_labels_old):
            if not changes.are_colors_old or self.view is None:
                return False
            changes.are_colors_old = False
            if self._colors.show(self.view):
                return True
            changes.are_shapes_old = True
        if not at_once and now_ns - self._scene_ns < SCENE_NS:
            self.is_unfinished = True
            return False
        self._scene_ns, changes.are_shapes_old, changes.are_colors_old = now_ns, False, False
        found = found_parts(self._model, self._maker, self._shown)
        camera = scene_camera(self._model, self.camera)
        self._scene = scene_of(self._model, found, self._maker, camera, self._texts.texts, self._shown)
        if self.view is not None:
            self.view.scene = self._scene
        self._colors.take_scene(self._scene, found, self._maker, self.opt)
        return True

    def update_asset(self, kind: str, number: int) -> None:
        """Shows a mesh ("mesh"), height field ("hfield") or texture ("texture") that was changed in the model."""
        if kind == "texture":
            self._maker = PartMaker(self._model)
        else:
            self._maker.forget(kind, number)
        self._changes.are_shapes_old = True

    def _compare_camera(self, is_other_thread: bool) -> None:
        """Shows the camera if the code has moved it since the last call; else takes over what the user has moved."""
        view, now = self.view, self._camera.tobytes()
        if view is None:
            return
        if now != self._seen_camera:
            self._seen_camera = now
            view.camera = scene_camera(self._model, self.camera)
        elif not is_other_thread and (seen := view.users_camera) is not None and seen is not self._taken_camera:
            self._taken_camera = seen
            take_over(self.camera, seen)
            self._seen_camera = self._camera.tobytes()

    def _all_options(self) -> bytes:
        return self._options.tobytes() + self._rendering.flags.tobytes()

    def _shown_parts(self) -> ShownParts:
        return ShownParts.of(self.opt, self._model, self._rendering.flags)


class _Changes:
    """Arrays of a model, compared with what they held at the last look. are_shapes_old, are_colors_old: some have
    changed, until their user sets it False."""

    def __init__(self, model: MjModel) -> None:
        self.are_shapes_old = self.are_colors_old = False
        self._shapes, self._colors = (
            [_bytes_of(getattr(model, name)) for name in names] for names in (WATCHED, COLOR_ARRAYS)
        )
        self._seen_shapes, self._seen_colors = _copies(self._shapes), _copies(self._colors)

    def look_at_shapes(self) -> None:
        """Compares all but the colours."""
        now = _copies(self._shapes)
        self.are_shapes_old |= now != self._seen_shapes
        self._seen_shapes = now

    def look_at_colors(self) -> None:
        """Compares the colours."""
        now = _copies(self._colors)
        self.are_colors_old |= now != self._seen_colors
        self._seen_colors = now


def _copies(memory: Iterable[memoryview]) -> list[bytes]:
    return [each.tobytes() for each in memory]


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """The memory of an array of the model's, which keeps it as long as the model."""
    return array.reshape(-1).data.cast("B") if array.size else memoryview(b"")
