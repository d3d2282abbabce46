"""The part of a viewer that does not change with every step: scene and camera, kept as the user's code sets them.

MuJoCo's structs (`cam`, `opt`, the model itself) are changed in place and tell nobody. So they are compared with what
was shown last, before a publish: camera and options each time, the model's own fields some times a second
(`model/watched_model.py`).

Always: a scene is replaced only if something differs, and seldom enough that a viewer keeps up with it. Colours alone
replace none: they are columns of the parts (`model/shown_colors.py`). A changed field that the picture does not show is
reported once on standard error.
"""

from __future__ import annotations

import dataclasses
import math
import time
from typing import TYPE_CHECKING

from twixt.ipc.process.notices import print_notice
from twixt.ipc.scene import Scene
from twixt.sim.engines.mujoco.model.geom_shapes import PartMaker, ShownParts
from twixt.sim.engines.mujoco.model.model_camera import default_camera, scene_camera, take_over
from twixt.sim.engines.mujoco.model.model_scene import found_parts, lit_scene, scene_of
from twixt.sim.engines.mujoco.model.shown_colors import ShownColors
from twixt.sim.engines.mujoco.model.watched_model import (
    ALL_BUT_COLORS,
    CAMERA,
    COLORS,
    LIGHT,
    SHAPES,
    WatchedModel,
)
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
# Interval at which the model's fields are compared, ns, and most bytes that one publish compares: it takes half of the
# time of a publish of 10,000 bodies.
MODEL_NS, MOST_BYTES = 100_000_000, 262_144
# Effects for which the scene is replaced.
SCENE_EFFECTS = SHAPES | LIGHT


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
        self._fields = WatchedModel(model, ALL_BUT_COLORS)
        self._color_fields = WatchedModel(model, COLORS)
        self._is_look_begun = False
        self._old = 0  # effects of changes that are not shown yet
        self._has_wrong_index = False  # True: reported
        self._shown = self._shown_parts()
        found = found_parts(model, self._maker, self._shown)
        self._scene = scene_of(model, found, self._maker, scene_camera(model, self.camera), (), self._shown)
        self._colors = ShownColors(model)
        self._colors.take_scene(self._scene, found, self._maker, self.opt)
        self._options, self._camera = option_bytes(self.opt), camera_bytes(self.camera)
        self._seen_options, self._seen_camera = self._all_options(), self._camera.tobytes()
        self._checked_options = b""
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
            if options != self._checked_options:
                self._checked_options = options
                self._unsupported.check(self.opt)
            while self._fields.unshown:
                self._unsupported.note(f"model.{self._fields.unshown.pop()}")
        now_ns = time.perf_counter_ns()
        self.is_unfinished = not (is_model_fixed or self._look_at_fields(now_ns, at_once))
        self._compare_camera(at_once)
        if options != self._seen_options or self._old & SHAPES:
            self._seen_options, shown = options, self._shown_parts()
            if shown != self._shown:
                self._old |= SHAPES
            self._shown = shown
        are_labels_old = self._scene.labels != self._texts.texts
        if not (self._old & SCENE_EFFECTS or are_labels_old):
            if not self._old & COLORS or self.view is None:
                return False
            self._old &= ~COLORS
            if self._colors.show(self.view):
                return True
            self._old |= SHAPES
        if not at_once and now_ns - self._scene_ns < SCENE_NS:
            self.is_unfinished = True
            return False
        self._scene_ns, old = now_ns, self._old
        self._old &= ~(SCENE_EFFECTS | COLORS)
        try:
            return self._replace_light() if old == LIGHT and not are_labels_old else self._replace_scene()
        except IndexError as error:  # a program has written the number of a material, mesh or body that there is not
            if not self._has_wrong_index:
                print_notice(f"an index in the model's arrays is out of range ({error}); the picture stays as it was")
            self._has_wrong_index = True
            return False

    def _replace_scene(self) -> bool:
        """Replaces the scene; returns True."""
        found = found_parts(self._model, self._maker, self._shown)
        camera = scene_camera(self._model, self.camera)
        self._scene = scene_of(self._model, found, self._maker, camera, self._texts.texts, self._shown)
        if self.view is not None:
            self.view.scene = self._scene
        self._colors.take_scene(self._scene, found, self._maker, self.opt)
        self._has_wrong_index = False
        return True

    def _replace_light(self) -> bool:
        """Replaces the light of the scene; True if it differs."""
        lit = lit_scene(self._scene, self._model)
        if lit == self._scene:
            return False
        self._scene = dataclasses.replace(lit, camera=scene_camera(self._model, self.camera))
        if self.view is not None:
            self.view.scene = self._scene
        return True

    def _look_at_fields(self, now_ns: int, at_once: bool) -> bool:
        """Compares the model's fields: MOST_BYTES of them some times a second, all of them `at_once`. True if no more
        of them are to be compared now."""
        is_due = at_once or self._is_look_begun or now_ns - self._model_ns >= MODEL_NS
        if is_due:
            if not self._is_look_begun:
                self._model_ns = now_ns
            self._is_look_begun = not self._fields.look(math.inf if at_once else MOST_BYTES)
            self._take(self._fields)
        if is_due or self._colors.are_declared:
            self._color_fields.look(math.inf)
            self._take(self._color_fields)
        return is_due and not self._is_look_begun

    def _take(self, fields: WatchedModel) -> None:
        self._old |= fields.changed
        fields.changed = 0

    def update_asset(self, kind: str, number: int) -> None:
        """Shows a mesh ("mesh"), height field ("hfield") or texture ("texture") that was changed in the model."""
        if kind == "texture":
            self._maker = PartMaker(self._model)
        else:
            self._maker.forget(kind, number)
        self._old |= SHAPES

    def _compare_camera(self, is_other_thread: bool) -> None:
        """Shows the camera if the code has moved it since the last call; else takes over what the user has moved."""
        view, now = self.view, self._camera.tobytes()
        if view is None:
            return
        if now == self._seen_camera and (seen := view.users_camera) is not None and seen is not self._taken_camera:
            if is_other_thread:
                return
            self._taken_camera = seen
            take_over(self.camera, seen)
            now = self._seen_camera = self._camera.tobytes()
        if now != self._seen_camera or self._old & CAMERA:
            self._seen_camera = now
            self._old &= ~CAMERA
            view.camera = scene_camera(self._model, self.camera)

    def _all_options(self) -> bytes:
        return self._options.tobytes() + self._rendering.flags.tobytes()

    def _shown_parts(self) -> ShownParts:
        return ShownParts.of(self.opt, self._model, self._rendering.flags)
