"""This module updates scene, camera and options of a view when the user's code changes MuJoCo's structs.

The user's code changes the structs (`cam`, `opt`, the model) in place, and twixt gets no notice. So before a publish
the structs are compared with the values that were shown last. Camera and options are compared each time, the model's
fields a few times a second (`WatchedModel`).

Always: the scene is replaced only if something differs, and no faster than a viewer can follow. Colours are part
columns (`model/geom_shapes.py`), so a change of colours does not replace the scene. If a changed field has no effect
on twixt's picture, this is reported one time on standard error.
"""

from __future__ import annotations

import ctypes
import dataclasses
import math
import time
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from twixt.ipc.process.notices import print_notice
from twixt.ipc.scene import Camera, Scene
from twixt.sim.engines.mujoco.model.geom_shapes import PartMaker, ShownColors, ShowOptions
from twixt.sim.engines.mujoco.model.model_camera import adopt_view, default_camera, scene_camera
from twixt.sim.engines.mujoco.model.model_scene import found_parts, lit_scene, scene_of
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.overlay_content import HasFlags, ShowSwitches
from twixt.sim.engines.mujoco.unsupported import Unsupported
from twixt.sim.engines.mujoco.visual.geom_memory import LabelTexts, camera_bytes, option_bytes

if TYPE_CHECKING:
    from mujoco import MjModel

    from twixt.sim.show.view import View


# The code below detects which fields of a model the program has changed since the last comparison, and what these
# changes affect.
#
# MuJoCo's arrays are adjacent in memory, so a few pieces of memory contain all of them. A piece is compared as a
# whole. The fields of a piece are compared one by one only if the piece differs. `EFFECTS` has the effect of each
# field on the picture.
#
# Always: a call compares a limited number of bytes, and the next call continues after these bytes. A change is
# recorded before the new content replaces the copy of the old content. So no change is lost if a call is interrupted.


# Effects of a changed field, as bits. UNSHOWN: the change affects MuJoCo's picture, but not the picture of twixt. The
# bits are plain integers, because each publish tests them.
SHAPES, COLORS, LIGHT, CAMERA, UNSHOWN = 1, 2, 4, 8, 16
ALL_BUT_COLORS = SHAPES | LIGHT | CAMERA | UNSHOWN


def _named(prefix: str, effect: int, names: str) -> dict[str, int]:
    return {prefix + name: effect for name in names.split()}


# Effects of a change, for each field of `mjModel`. Two groups of fields are not watched. The first group determines
# poses, marks, and vertices of skins and flexes: these fields are read for each state anyway. The second group has the
# data of meshes, height fields and textures: programs call `update_mesh` and so on after such a change.
EFFECTS: dict[str, int] = {
    **_named("geom_", SHAPES, "type dataid bodyid sameframe group matid size pos quat contype conaffinity"),
    **_named("site_", SHAPES, "type dataid bodyid sameframe group matid size pos quat"),
    **_named("body_", SHAPES, "sameframe ipos iquat weldid"),
    **_named("mat_", SHAPES, "texid texuniform texrepeat emission specular shininess"),
    **_named("skin_", SHAPES, "matid rgba"),
    **_named("flex_", SHAPES, "matid rgba flatskin"),
    **_named("", COLORS, "geom_rgba site_rgba mat_rgba"),
    **_named("light_", LIGHT, "mode bodyid targetbodyid type active pos dir poscom0 pos0 dir0 attenuation cutoff "
             "exponent ambient diffuse"),
    **_named("vis.headlight.", LIGHT, "ambient diffuse active"),
    **_named("cam_", CAMERA, "mode bodyid targetbodyid pos quat poscom0 pos0 mat0 projection orthographic fovy "
             "resolution sensorsize intrinsic"),
    "vis.global_.fovy": CAMERA,
    "vis.map.alpha": SHAPES,
    **_named("", UNSHOWN, "geom_castshadow mat_reflectance light_specular light_castshadow vis.headlight.specular "
             "vis.map.znear vis.map.zfar stat.extent"),
    # These fields are the layout of the model's arrays. A program should not change them.
    **_named("body_", UNSHOWN, "geomadr geomnum"),
    **_named("mesh_", UNSHOWN, "texcoordadr"),
    **_named("skin_", UNSHOWN, "vertadr vertnum face faceadr facenum texcoordadr"),
    **_named("flex_", UNSHOWN, "vertadr vertnum edge edgeadr edgenum elem elemadr elemnum elemdataadr shell shellnum "
             "shelldataadr"),
}  # fmt: skip
# INERTIA_FIELDS: fields that affect only geoms and sites in the inertia frame of their body. INERTIA_FRAMES: values of
# `mjtSameFrame` for the inertia frame.
INERTIA_FIELDS, INERTIA_FRAMES = ("body_sameframe", "body_ipos", "body_iquat"), (2, 4)
# PIECE: longest piece of memory that is compared as a whole, in bytes. GAP: longest gap between two fields of a piece,
# in bytes.
PIECE, GAP = 65_536, 256
# The other fields of `mjVisual` and `mjStatistic` are searched from BEFORE bytes before `vis.headlight.ambient` to
# AFTER bytes after it.
BEFORE, AFTER = 256, 1_024
# Value that is written for the search. No field has this value by default.
PROBE = 77
# Size of a number in `mjVisual`, and size of a number in `mjStatistic`, in bytes.
VISUAL_BYTES, STATISTIC_BYTES = 4, 8


class _Field(NamedTuple):
    """A field in memory. name: key of the field in `EFFECTS`. start: address of the field. size: its size in bytes."""

    name: str
    start: int
    size: int


class _Piece:
    """Piece of memory that is compared as a whole. fields: name of each field, and its slice of the piece."""

    def __init__(self, start: int, size: int, fields: Iterable[tuple[str, slice]]) -> None:
        self.memory = _memory(start, size)
        self.fields, self.seen = list(fields), self.memory.tobytes()


class WatchedModel:
    """Watches the fields of `model` that have one of `effects`. Reads the memory of `model`, so `model` must exist as
    long as this object.

    changed: effects of all changed fields. unshown: names of changed fields with the effect UNSHOWN. The caller clears
    `changed` and `unshown`.
    """

    def __init__(self, model: MjModel, effects: int) -> None:
        self.changed = 0
        self.unshown: list[str] = []
        names = [name for name, effect in EFFECTS.items() if effect & effects]
        frames = np.concatenate([model.geom_sameframe, model.site_sameframe])
        # without an inertia frame these fields have no effect, and programs may change the fields often
        if not np.isin(frames, INERTIA_FRAMES).any():
            names = [name for name in names if name not in INERTIA_FIELDS]
        self._pieces = _pieces_of(_fields(model, names))
        self._next = 0

    def compare(self, most_bytes: float) -> bool:
        """Compares the next pieces, until at least `most_bytes` are compared. Returns True if the last piece was
        reached."""
        pieces, place = self._pieces, self._next
        while place < len(pieces):
            piece = pieces[place]
            now = piece.memory.tobytes()
            if now != piece.seen:
                self._note(piece, now)
                piece.seen = now
            place += 1
            most_bytes -= len(now)
            if most_bytes <= 0:
                break
        is_last = place >= len(pieces)
        self._next = 0 if is_last else place
        return is_last

    def _note(self, piece: _Piece, now: bytes) -> None:
        for name, place in piece.fields:
            if now[place] != piece.seen[place]:
                self.changed |= EFFECTS[name]
                if EFFECTS[name] == UNSHOWN and name not in self.unshown:
                    self.unshown.append(name)


def value_of(model: MjModel, name: str) -> Any:
    """Returns the value of the field with this name, such as "vis.map.alpha". None if this version of MuJoCo does not
    have the field."""
    found: Any = model
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _fields(model: MjModel, names: Iterable[str]) -> list[_Field]:
    found: list[_Field] = []
    for name in names:
        value = value_of(model, name)
        if value is None:
            continue
        if hasattr(value, "ctypes"):
            found.append(_Field(name, value.ctypes.data, value.nbytes))
        elif (offset := _offsets().get(name)) is not None:
            found.append(_Field(name, model.vis.headlight.ambient.ctypes.data + offset, _bytes_of(name)))
    return [field for field in found if field.size]


@cache
def _offsets() -> dict[str, int]:
    """Returns the offsets in bytes of the scalar fields of `EFFECTS` from `vis.headlight.ambient`. The offset of a
    field is found by changing the field in a test model. Fields that are not found are left out."""
    probe, found = mujoco.MjModel.from_xml_string("<mujoco/>"), dict[str, int]()
    start = probe.vis.headlight.ambient.ctypes.data - BEFORE
    memory = np.frombuffer(_memory(start, BEFORE + AFTER), np.uint8)
    for name in EFFECTS:
        if not isinstance(value_of(probe, name), int | float):
            continue
        before, (path, _, last) = memory.copy(), name.rpartition(".")
        setattr(value_of(probe, path), last, PROBE)
        changed, size = np.flatnonzero(memory != before), _bytes_of(name)
        starts = set((changed - (start + changed) % size - BEFORE).tolist())
        if len(starts) == 1:
            found[name] = starts.pop()
    return found


def _memory(start: int, size: int) -> memoryview:
    return memoryview((ctypes.c_char * size).from_address(start)).cast("B")


def _bytes_of(name: str) -> int:
    return STATISTIC_BYTES if name.startswith("stat.") else VISUAL_BYTES


def _pieces_of(fields: list[_Field]) -> list[_Piece]:
    """Divides fields into pieces of memory. Fields that are close together share a piece. A long field is divided into
    several pieces."""
    pieces: list[_Piece] = []
    held: list[_Field] = []
    cut: list[_Field] = []
    for field in sorted(fields, key=lambda each: each.start):
        for begin in range(0, field.size, PIECE):
            cut.append(_Field(field.name, field.start + begin, min(PIECE, field.size - begin)))
    for number, field in enumerate(cut):
        held.append(field)
        following = cut[number + 1] if number + 1 < len(cut) else None
        end, first = field.start + field.size, held[0].start
        is_close = following is not None and following.start - end <= GAP
        if following is None or not is_close or following.start + following.size - first > PIECE:
            places = [(each.name, slice(each.start - first, each.start - first + each.size)) for each in held]
            pieces.append(_Piece(first, end - first, places))
            held = []
    return pieces


# Shortest interval between two scenes, in ns. The interval limits the cost, because a scene is sent as a whole, with
# its meshes.
SCENE_NS = 33_000_000
# MODEL_NS: interval at which the model's fields are compared, in ns. MOST_BYTES: maximum number of bytes that are
# compared per publish. This comparison takes half as long as a publish of 10,000 bodies.
MODEL_NS, MOST_BYTES = 100_000_000, 262_144
# Effects that require a new scene.
SCENE_EFFECTS = SHAPES | LIGHT


class ShownModel:
    """Scene and camera of one model in one view. camera, opt: MuJoCo's structs, which the user's code may change.

    unsupported: object that reports settings without an effect. texts: texts of labels for the scene. rendering:
    object with the rendering flags.
    """

    def __init__(self, model: MjModel, unsupported: Unsupported, texts: LabelTexts, rendering: HasFlags) -> None:
        self._texts, self._rendering = texts, rendering
        self.camera, self.opt = default_camera(model), mujoco.MjvOption()
        self._switches = ShowSwitches(model, self.opt, rendering)
        self.view: View | None = None  # `show_in` sets this view
        self._model, self._unsupported = model, unsupported
        self._maker = PartMaker(model)
        self._fields = WatchedModel(model, ALL_BUT_COLORS)
        self._color_fields = WatchedModel(model, COLORS)
        self._is_comparing = False
        self._pending = 0  # effects of changes that the view does not show yet
        self._has_wrong_index = False  # True after an invalid index was reported
        self._shown = self._shown_parts()
        found = found_parts(model, self._maker, self._shown)
        self._scene = scene_of(model, found, self._maker, scene_camera(model, self.camera), (), self._shown)
        self._colors = ShownColors(model)
        self._colors.set_scene(self._scene, found, self._maker, self.opt)
        self._options, self._camera = option_bytes(self.opt), camera_bytes(self.camera)
        self._seen_options, self._seen_camera = self._all_options(), self._camera.tobytes()
        self._checked_options = b""
        self._adopted_camera: Camera | None = None  # the user's view that was last copied into `camera`
        self.is_unfinished = False
        self._scene_ns = self._model_ns = time.perf_counter_ns()

    @property
    def scene(self) -> Scene:
        """Returns the scene that is shown now."""
        return self._scene

    def show_in(self, view: View) -> None:
        """Sets the view, and adds the switches of the options to the view's controls."""
        self.view = view
        view.controls = self._switches.offered

    def refresh(self, at_once: bool, is_model_fixed: bool = False) -> bool:
        """Updates scene or colours of the view if anything has changed. Returns True if something has changed.
        at_once: True if the other thread calls. The shortest interval between two scenes is then ignored.
        is_model_fixed: if True, the model's fields are not compared, as for `sync(state_only=True)`."""
        if not at_once:
            self._switches.exchange()
        options = self._all_options()
        if not at_once:  # the other thread must not print, and must not change the user's structs
            if options != self._checked_options:
                self._checked_options = options
                self._unsupported.check(self.opt)
            while self._fields.unshown:
                self._unsupported.note(f"model.{self._fields.unshown.pop()}")
        now_ns = time.perf_counter_ns()
        self.is_unfinished = not (is_model_fixed or self._compare_fields(now_ns, at_once))
        self._compare_camera(at_once)
        if options != self._seen_options or self._pending & SHAPES:
            self._seen_options, shown = options, self._shown_parts()
            if shown != self._shown:
                self._pending |= SHAPES
            self._shown = shown
        are_labels_old = self._scene.labels != self._texts.texts
        if not (self._pending & SCENE_EFFECTS or are_labels_old):
            if not self._pending & COLORS or self.view is None:
                return False
            self._pending &= ~COLORS
            if self._colors.show(self.view):
                return True
            self._pending |= SHAPES
        if not at_once and now_ns - self._scene_ns < SCENE_NS:
            self.is_unfinished = True
            return False
        self._scene_ns, old = now_ns, self._pending
        self._pending &= ~(SCENE_EFFECTS | COLORS)
        try:
            return self._replace_light() if old == LIGHT and not are_labels_old else self._replace_scene()
        except IndexError as error:  # the program has written an invalid index of a material, mesh or body
            if not self._has_wrong_index:
                print_notice(f"an index in the model's arrays is out of range ({error}); the picture is not updated")
            self._has_wrong_index = True
            return False

    def _replace_scene(self) -> bool:
        """Replaces the scene; returns True."""
        found = found_parts(self._model, self._maker, self._shown)
        camera = scene_camera(self._model, self.camera)
        self._scene = scene_of(self._model, found, self._maker, camera, self._texts.texts, self._shown)
        if self.view is not None:
            self.view.scene = self._scene
        self._colors.set_scene(self._scene, found, self._maker, self.opt)
        self._has_wrong_index = False
        return True

    def _replace_light(self) -> bool:
        """Replaces the light of the scene. Returns True if the new light differs from the old light."""
        lit = lit_scene(self._scene, self._model)
        if lit == self._scene:
            return False
        self._scene = dataclasses.replace(lit, camera=scene_camera(self._model, self.camera))
        if self.view is not None:
            self.view.scene = self._scene
        return True

    def _compare_fields(self, now_ns: int, at_once: bool) -> bool:
        """Compares the model's fields, a few times a second. A call compares at most MOST_BYTES. If `at_once` is True,
        it compares all fields. Returns True if all fields have now been compared."""
        is_due = at_once or self._is_comparing or now_ns - self._model_ns >= MODEL_NS
        if is_due:
            if not self._is_comparing:
                self._model_ns = now_ns
            self._is_comparing = not self._fields.compare(math.inf if at_once else MOST_BYTES)
            self._note_changes(self._fields)
        if is_due or self._colors.are_declared:
            self._color_fields.compare(math.inf)
            self._note_changes(self._color_fields)
        return is_due and not self._is_comparing

    def _note_changes(self, fields: WatchedModel) -> None:
        self._pending |= fields.changed
        fields.changed = 0

    def update_asset(self, kind: str, number: int) -> None:
        """Shows a mesh ("mesh"), height field ("hfield") or texture ("texture") that the program has changed."""
        if kind == "texture":
            self._maker = PartMaker(self._model)
        else:
            self._maker.discard(kind, number)
        self._pending |= SHAPES

    def _compare_camera(self, is_other_thread: bool) -> None:
        """If the code has set the camera since the last call, the view shows this camera. Otherwise sets the camera to
        the view that the user has chosen in the window."""
        view, now = self.view, self._camera.tobytes()
        if view is None:
            return
        if now == self._seen_camera and (seen := view.user_camera) is not None and seen is not self._adopted_camera:
            if is_other_thread:
                return
            self._adopted_camera = seen
            adopt_view(self.camera, seen)
            now = self._seen_camera = self._camera.tobytes()
        if now != self._seen_camera or self._pending & CAMERA:
            self._seen_camera = now
            self._pending &= ~CAMERA
            view.camera = scene_camera(self._model, self.camera)

    def _all_options(self) -> bytes:
        return self._options.tobytes() + self._rendering.flags.tobytes()

    def _shown_parts(self) -> ShowOptions:
        return ShowOptions.of(self.opt, self._model, self._rendering.flags)
