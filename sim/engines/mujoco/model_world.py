"""This module makes a world from a model file. Examples are `twixt run humanoid.xml` and `twixt run
mujoco:humanoid.xml`.

Steps have the model's own timestep. At the start and after a reset, the model is in the same state as in MuJoCo's own
viewer. With `--set keyframe=home` the model starts at this keyframe instead. The overlay has a slider for each
actuator, a switch for each equality constraint, a button for each keyframe, switches of `mjvOption`, and the values of
the joints. When the file changes on disk, the file is loaded again.

Always: a state depends only on the file, the number of steps and the user's actions. When MuJoCo resets an unstable
model, all bodies are drawn with a cut. If a changed file cannot be loaded, the error is reported and the old model
stays in use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError, text_of
from twixt.ipc.interaction.controls import LONGEST_NAME, MOST_CONTROLS, Button, Control, Slider, Toggle
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.user_code import suggestion_for
from twixt.ipc.scene import Scene, SceneError
from twixt.ipc.scene.scene import packed_scene
from twixt.ipc.snapshot import CONTINUITY_MASK, RECORD, new_bodies
from twixt.sim.engines.mujoco.body_poses import BodyPoses
from twixt.sim.engines.mujoco.model.geom_shapes import PartMaker, ShowOptions
from twixt.sim.engines.mujoco.model.model_camera import opening_view
from twixt.sim.engines.mujoco.model.model_scene import shown_scene
from twixt.sim.engines.mujoco.model.model_surfaces import ModelSurfaces
from twixt.sim.engines.mujoco.mujoco_package import PREFIX, loaded_model, mujoco, required
from twixt.sim.engines.mujoco.overlay_content import ShowSwitches
from twixt.sim.engines.mujoco.visual.contact_events import CONTACTS, ContactEvents
from twixt.sim.engines.mujoco.visual.visual_marks import VisualMarks
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.marks import Marks
from twixt.sim.world.surfaces import Surfaces
from twixt.sim.world.world import LONGEST_DT, MOST_FIGURES, SHORTEST_DT, World

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


# Advice to the user for a model that has become unstable.
REMEDIES = "give its <option> a smaller timestep or the integrator implicitfast, or make joints and contacts less stiff"


def world_of_file(name: str) -> type[World]:
    """Returns the world of a model file. name: as for `is_model`. Raises TwixtError if MuJoCo or the file is
    missing."""
    path = name.removeprefix(PREFIX)
    required()
    if not os.path.isfile(path):
        raise TwixtError(f"no file {path!r}; give the path of a MuJoCo model, such as humanoid.xml")
    way_out = f"the model in {path} is unstable; {REMEDIES}"
    return type("MujocoModel", (ModelWorld,), {"path": path, "_way_out": way_out, "__module__": __name__})


class ModelWorld(World):
    """World of the model in the file `path`. keyframe: name or number of the keyframe at which to start. If `keyframe`
    is empty, the world begins at the model's own start. events: "contacts" to emit the contacts that begin."""

    path = ""
    dt = 0.0  # 0 stands for the model's own timestep, unless --physics-hz sets another timestep

    def __init__(self, keyframe: str = "", events: str = "") -> None:
        if events not in ("", CONTACTS):
            raise TwixtError(f"events must be {CONTACTS} or left out, got {text_of(events)}")
        self._has_contacts = bool(events)
        self._stamp = _stamp_of(self.path)
        model = loaded_model(self.path)
        self._keyframe = _number_of(model, keyframe)
        self._epoch, self._is_pulled, self._was_unstable = 0, False, False
        # model and scene from the file, loaded after the file has changed on disk
        self._fresh: tuple[MjModel, Scene] | None = None
        if self.dt:
            model.opt.timestep = self.dt
        self.dt = float(model.opt.timestep)
        if not SHORTEST_DT <= self.dt <= LONGEST_DT:
            raise TwixtError(
                f"the timestep of {self.path} must be from {SHORTEST_DT:g} to {LONGEST_DT:g} s, got {self.dt:g}; "
                "correct it in its <option>, or give --physics-hz"
            )
        switches = ShowSwitches(model, mujoco.MjvOption(), mujoco.MjvScene(model, 1))
        self._load(model, switches, _scene_of(model, switches.parts, self.path))
        self.reset()

    def reset(self) -> None:
        """Starts again, with the current content of the file."""
        if self._fresh is not None:
            model, shown = self._fresh
            switches = ShowSwitches(model, self._switches.opt, self._switches.rendering)
            self._load(model, switches, shown)
            self._fresh = None
        self._start_at(self._keyframe if self._keyframe is None or self._keyframe < self._model.nkey else None)

    def step(self, dt: float) -> None:
        """Makes as many steps of the model as fit into `dt` seconds. This is one step, or several steps with
        --when-slow widen."""
        keyframe = self._controls.pop_keyframe()
        if keyframe is not None:
            self._start_at(keyframe)
            self._cut()
        self._controls.apply()
        self._apply_switches()
        for _ in range(max(1, round(dt / self.dt))):
            before = self._data.time
            mujoco.mj_step(self._model, self._data)
            if self._data.time <= before:  # time has not increased, so MuJoCo has reset the model before this step
                self._cut()
                self._report_unstable(before)
            if self._contacts is not None:
                self._contacts.emit(self.emit_many)
        self._show_marks()
        if self._is_pulled:
            self._data.xfrc_applied[:] = 0
            self._is_pulled = False

    def apply_force(self, i: int, force: NDArray[np.float64], point: NDArray[np.float64]) -> None:
        """Applies a force (N) for the next step. The force acts at a point (metres, world frame) of body i. It has no
        effect on a skin or flex."""
        if i >= self._model.nbody:
            return
        applied = self._data.xfrc_applied[i]
        applied[:3] += force
        applied[3:] += np.cross(point - self._data.xipos[i], force)
        self._is_pulled = True

    def write_bodies(self, records: NDArray[np.void]) -> None:
        """Writes all bodies."""
        records.view(RECORD)[:] = new_bodies(1).view(RECORD)
        self._poses.write(records[: self._poses.count])
        self._skins.write_flags(records[self._poses.count :])
        records["epoch"] = self._epoch

    def write_surfaces(self) -> None:
        """Writes the vertices of skins and flexes."""
        if self.surfaces is not None:
            for body, vertices in self._skins.vertices(self._poses.present(), self._skins.copy_flexes()).items():
                self.surfaces[body] = vertices

    def _is_outdated(self) -> bool:
        """True if the file has changed on disk and the new content could be loaded."""
        stamp = _stamp_of(self.path)
        if stamp != self._stamp and stamp is not None:  # the stamp is None while an editor replaces the file
            self._stamp = stamp
            try:
                model = loaded_model(self.path)
                model.opt.timestep = self.dt
                self._fresh = model, _scene_of(model, self._switches.parts_of(model), self.path)
            except TwixtError as error:
                print_notice(f"{error}; the old model stays in use")
        return self._fresh is not None

    def diagnostics(self) -> dict[str, float]:
        """Returns the number of contacts, and the values of the first joints (radians, metres). Viewers accept a
        limited number of values, so other joints are left out."""
        joints = islice(joint_values(self._model, self._data), MOST_FIGURES - 1)
        return {"contacts": float(self._data.ncon), **dict(joints)}

    def _load(self, model: MjModel, switches: ShowSwitches, scene: Scene) -> None:
        opt = switches.opt
        self._model, self._data = model, mujoco.MjData(model)
        self._poses, self._visual = BodyPoses(model, self._data), VisualMarks(model, self._data, opt)
        self._controls, self._switches = ModelControls(model, self._data), switches
        self._contacts = ContactEvents(model, self._data) if self._has_contacts else None
        shown = switches.offered
        self.controls = [*self._controls.offered[: MOST_CONTROLS - len(shown)], *shown]
        self.scene = scene
        self._skins = ModelSurfaces(model, self._data, opt)
        self.bodies = Bodies(self._poses.count + self._skins.count)
        self.surfaces = Surfaces(self.scene) if self._skins.count else None  # type: ignore[assignment]

    def _start_at(self, keyframe: int | None) -> None:
        if keyframe is None:
            mujoco.mj_resetData(self._model, self._data)
        else:
            mujoco.mj_resetDataKeyframe(self._model, self._data, keyframe)
        mujoco.mj_forward(self._model, self._data)
        self._controls.reflect()
        self._show_marks()
        if self._contacts is not None:
            self._contacts.restart()
            self._contacts.look()

    def _apply_switches(self) -> None:
        """Applies the switches of the overlay to the scene."""
        before = self._switches.parts
        if self._switches.exchange() and self._switches.parts != before:
            self.scene = _scene_of(self._model, self._switches.parts, self.path)

    def _show_marks(self) -> None:
        """Updates the marks, which are MuJoCo's tendons and other visual geoms."""
        shown = self._visual.present()
        if self.marks is not None:
            self.marks.clear()
        elif shown is not None:
            self.marks = Marks()
        if shown is not None and self.marks is not None:
            self.marks.extend(shown.records)

    def _report_unstable(self, time_s: float) -> None:
        """Reports one time that MuJoCo has reset the model."""
        if not self._was_unstable:
            self._was_unstable = True
            text = f"the model in {self.path} became unstable after {time_s:g} s, and MuJoCo has reset it; {REMEDIES}"
            print_notice(text)

    def _cut(self) -> None:
        self._epoch = (self._epoch + 1) & CONTINUITY_MASK


def _scene_of(model: MjModel, shown: ShowOptions, path: str) -> Scene:
    """Returns the scene of the model in a file, with its first camera. Raises SceneError, with the file's name, if a
    viewer cannot draw the scene, and TwixtError for a damaged file."""
    try:
        made = shown_scene(model, shown, PartMaker(model), opening_view(model))
        packed_scene(made)  # this call may raise SceneError as well
    except SceneError as error:
        raise SceneError(f"{os.path.basename(path)!r} cannot be shown: {error}") from None
    except (IndexError, ValueError) as error:  # one cause is that bytes are missing in a binary file
        text = f"the model is damaged, because its arrays do not fit together ({error}); save it again"
        raise TwixtError(text) from error
    return made


def _stamp_of(path: str) -> tuple[int, int] | None:
    """Returns the time of the file's last change in ns, and the size of the file in bytes. None if there is no
    file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _number_of(model: Any, keyframe: str) -> int | None:
    names = [model.key(number).name for number in range(model.nkey)]
    if not keyframe:
        return None
    if keyframe in names:
        return names.index(keyframe)
    if keyframe.isdecimal() and int(keyframe) < model.nkey:
        return int(keyframe)
    has = f"it has {', '.join(names) or model.nkey}" if model.nkey else "it has none"
    raise TwixtError(f"the model has no keyframe {keyframe!r}; {suggestion_for(keyframe, names) or has}")


# A model has controls in the overlay: a slider for each actuator, a switch for each equality constraint, and a button
# for each keyframe.
#
# Always: a control that no user moves does not change the model's values. So a run without a viewer gives the same
# states.


# NO_RANGE: range of the slider of an actuator that has no range, as in MuJoCo's own viewer. LARGEST: largest magnitude
# of an end of a slider's range.
NO_RANGE = -1.0, 1.0
LARGEST = 1e9
# Types of joints whose values are shown: the types with one coordinate.
ONE_NUMBER = "mjJNT_HINGE", "mjJNT_SLIDE"


class _Actuator(Slider):
    """Slider of an actuator. moved: a set of actuator numbers. When a viewer sets a value, the actuator's number is
    added to this set."""

    def __init__(self, number: int, moved: set[int], name: str, value: float, low: float, high: float) -> None:
        super().__init__(name, value, low, high)
        self._number, self._moved = number, moved

    def _set(self, number: float) -> None:
        super()._set(number)
        self._moved.add(self._number)


class _Equality(Toggle):
    """Switch of an equality constraint. moved: a set of constraint numbers. When a viewer sets the switch, the
    constraint's number is added to this set."""

    def __init__(self, number: int, moved: set[int], name: str, value: bool) -> None:
        super().__init__(name, value)
        self._number, self._moved = number, moved

    def _set(self, number: float) -> None:
        super()._set(number)
        self._moved.add(self._number)


class ModelControls:
    """Controls of one model and its state. `offered` contains as many controls as a world may have: first keyframes,
    then actuators, then equality constraints."""

    def __init__(self, model: MjModel, data: MjData) -> None:
        self._data = data
        self._keyframes = [Button(name) for name in _names(model, "key", model.nkey, "keyframe")]
        low, high = _ranges(model)
        self._moved_actuators: set[int] = set()
        self._moved_equalities: set[int] = set()
        self._actuators = [
            _Actuator(i, self._moved_actuators, name, min(max(data.ctrl[i], low[i]), high[i]), low[i], high[i])
            for i, name in enumerate(_names(model, "actuator", model.nu, "actuator"))
        ]
        self._equalities = [
            _Equality(i, self._moved_equalities, name, bool(data.eq_active[i]))
            for i, name in enumerate(_names(model, "equality", model.neq, "equality"))
        ]

    @property
    def offered(self) -> list[Control]:
        """The controls for `World.controls`."""
        offered: list[Control] = [*self._keyframes, *self._actuators, *self._equalities]
        return offered[:MOST_CONTROLS]

    def pop_keyframe(self) -> int | None:
        """Returns the number of the keyframe whose button was pressed since the last call. None if no button was
        pressed."""
        pressed = [number for number, button in enumerate(self._keyframes) if button.pressed()]
        return pressed[-1] if pressed else None

    def apply(self) -> None:
        """Copies the values that users have set since the last call into the state."""
        while self._moved_actuators:
            number = self._moved_actuators.pop()
            self._data.ctrl[number] = self._actuators[number].value
        while self._moved_equalities:
            number = self._moved_equalities.pop()
            self._data.eq_active[number] = self._equalities[number].value

    def reflect(self) -> None:
        """Sets all controls to the values of the state. Call this method after a reset."""
        for slider, value in zip(self._actuators, self._data.ctrl, strict=True):
            slider._set(value)
        for toggle, value in zip(self._equalities, self._data.eq_active, strict=True):
            toggle._set(value)
        self._moved_actuators.clear()
        self._moved_equalities.clear()


def joint_values(model: MjModel, data: MjData) -> Iterator[tuple[str, float]]:
    """Names and values of hinges (radians) and slides (metres), in the model's order."""
    kinds = [int(getattr(mujoco.mjtJoint, kind)) for kind in ONE_NUMBER]
    for joint in range(model.njnt):
        if int(model.jnt_type[joint]) in kinds:
            yield _name(model, "joint", joint, "joint"), float(data.qpos[model.jnt_qposadr[joint]])


def _names(model: MjModel, kind: str, count: int, word: str) -> list[str]:
    """Names of all elements of a kind in the model. An element without a name is called `word` and its number."""
    return [_name(model, kind, number, word) for number in range(count)]


def _name(model: MjModel, kind: str, number: int, word: str) -> str:
    access: Any = getattr(model, kind)
    return str(access(number).name or f"{word} {number}")[:LONGEST_NAME]


def _ranges(model: MjModel) -> tuple[list[float], list[float]]:
    pairs = [
        (float(low), float(high)) if limited and -LARGEST < low < high < LARGEST else NO_RANGE
        for (low, high), limited in zip(model.actuator_ctrlrange, model.actuator_ctrllimited, strict=True)
    ]
    return [low for low, _ in pairs], [high for _, high in pairs]
