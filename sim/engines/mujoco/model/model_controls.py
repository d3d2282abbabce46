"""Controls of a model: a slider for each actuator, a switch for each equality constraint, a button for each keyframe.

Always: what nobody touched keeps the model's own value, so that a run without a viewer is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from twixt.ipc.interaction.world_controls import LONGEST_NAME, MOST_CONTROLS, Button, Control, Slider, Toggle
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

# Range of an actuator that has none, as in MuJoCo's own viewer, or one beyond what a slider can show.
NO_RANGE = -1.0, 1.0
LARGEST = 1e9
# Joints of one number, whose value is shown.
ONE_NUMBER = "mjJNT_HINGE", "mjJNT_SLIDE"


class _Actuator(Slider):
    """Slider of an actuator. moved: gets its number when a viewer's value comes."""

    def __init__(self, number: int, moved: set[int], name: str, value: float, low: float, high: float) -> None:
        super().__init__(name, value, low, high)
        self._number, self._moved = number, moved

    def set(self, number: float) -> None:
        super().set(number)
        self._moved.add(self._number)


class _Equality(Toggle):
    """Switch of an equality constraint. moved: as of `_Actuator`."""

    def __init__(self, number: int, moved: set[int], name: str, value: bool) -> None:
        super().__init__(name, value)
        self._number, self._moved = number, moved

    def set(self, number: float) -> None:
        super().set(number)
        self._moved.add(self._number)


class ModelControls:
    """Controls of one model and its state. `offered`: in the order keyframes, actuators, equalities, as many as fit."""

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
        """For `World.controls`."""
        offered: list[Control] = [*self._keyframes, *self._actuators, *self._equalities]
        return offered[:MOST_CONTROLS]

    def taken_keyframe(self) -> int | None:
        """Number of the keyframe whose button was pressed since the last call; None without one."""
        pressed = [number for number, button in enumerate(self._keyframes) if button.taken()]
        return pressed[-1] if pressed else None

    def apply(self) -> None:
        """Writes what users set since the last call into the state, and leaves the rest."""
        while self._moved_actuators:
            number = self._moved_actuators.pop()
            self._data.ctrl[number] = self._actuators[number].value
        while self._moved_equalities:
            number = self._moved_equalities.pop()
            self._data.eq_active[number] = self._equalities[number].value

    def reflect(self) -> None:
        """Takes the values over from the state, as after a reset."""
        for slider, value in zip(self._actuators, self._data.ctrl, strict=True):
            slider.set(value)
        for toggle, value in zip(self._equalities, self._data.eq_active, strict=True):
            toggle.set(value)
        self._moved_actuators.clear()
        self._moved_equalities.clear()


def joint_values(model: MjModel, data: MjData) -> Iterator[tuple[str, float]]:
    """Names and values of hinges (radians) and slides (metres), in the model's order."""
    kinds = [int(getattr(mujoco.mjtJoint, kind)) for kind in ONE_NUMBER]
    for joint in range(model.njnt):
        if int(model.jnt_type[joint]) in kinds:
            yield _name(model, "joint", joint, "joint"), float(data.qpos[model.jnt_qposadr[joint]])


def _names(model: MjModel, kind: str, count: int, word: str) -> list[str]:
    """Names of the model's elements of a kind; those without one are numbered."""
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
