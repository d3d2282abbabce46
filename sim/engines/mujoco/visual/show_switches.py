"""Switches of the overlay for one `mjvOption`: its flags, and the groups of geoms and sites that the model uses; and for
the rendering flags of one `mjvScene`.

The overlay has a copy of each value. `exchange` compares both with what they were: where the code has changed the
option, the switch follows, else the option follows the switch.

Always: only flags that have an effect in twixt, and for which the model has something, have a switch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.interaction.world_controls import Toggle
from twixt.sim.engines.mujoco.model.geom_shapes import ShownParts
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel, MjvOption

# Fold of the overlay in which they stand.
FOLD = "show"
# Flags in the order of their switches, each with the count of a model that has anything for it; None: every model has.
FLAGS = {
    "CONTACTPOINT": None, "CONTACTFORCE": None, "CONTACTSPLIT": None, "TRANSPARENT": None, "JOINT": "njnt",
    "ACTUATOR": "nu", "ACTIVATION": "na", "TENDON": "ntendon", "CONSTRAINT": "neq", "INERTIA": None,
    "SCLINERTIA": None, "COM": None, "AUTOCONNECT": None, "CONVEXHULL": "nmesh", "TEXTURE": "ntex", "STATIC": None, "SKIN": "nskin",
    "FLEXSKIN": "nflex", "FLEXFACE": "nflex", "FLEXEDGE": "nflex", "CAMERA": "ncam", "LIGHT": "nlight", "RANGEFINDER": "nsensor",
    "PERTFORCE": None, "PERTOBJ": None, "SELECT": None, "ISLAND": None, "BODYBVH": None, "MESHBVH": "nmesh",
}  # fmt: skip
GROUPS = {"geomgroup": ("geoms", "geom_group"), "sitegroup": ("sites", "site_group")}


class HasFlags(Protocol):
    """Has the rendering flags (`mjtRndFlag`) of an `mjvScene`, as that has them itself."""

    flags: NDArray[np.uint8]


class ShowSwitches:
    """Switches for `opt` and `rendering`. offered: for the controls of a view or world. parts: what is shown of geoms and
    sites, and how."""

    def __init__(self, model: MjModel, opt: MjvOption, rendering: HasFlags) -> None:
        self.opt, self.rendering, self._model = opt, rendering, model
        self.parts = self.parts_of(model)
        flags = [int(getattr(mujoco.mjtVisFlag, f"mjVIS_{flag}")) for flag in FLAGS if _has(model, flag)]
        found = [(_words(flag), flag) for flag in flags]
        start = len(opt.flags)
        for array, (things, groups) in GROUPS.items():
            used = np.unique(np.clip(getattr(model, groups), 0, len(getattr(opt, array)) - 1)).tolist()
            found += [(f"{things} of group {group}", start + group) for group in used]
            start += len(getattr(opt, array))
        if (model.tex_type == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX)).any():
            sky = int(mujoco.mjtRndFlag.mjRND_SKYBOX)
            found.append((str(mujoco.mjRNDSTRING[sky][0]).lower(), start + sky))
        self._places = [place for _, place in found]
        self._seen = self._values()
        self._offered_values = [
            self._seen[place] != 0 for place in self._places
        ]  # of `_seen`: compared in each publish
        self.offered = [Toggle(name, is_on, FOLD) for (name, _), is_on in zip(found, self._offered_values, strict=True)]

    def exchange(self) -> bool:
        """Takes over what the code has changed in the options since the last call; else writes there what users have
        switched. True if anything has changed."""
        now, seen = self._values(), self._seen
        if now == seen and [toggle.is_on for toggle in self.offered] == self._offered_values:
            return False
        for place, toggle in zip(self._places, self.offered, strict=True):
            if now[place] != seen[place]:
                toggle.value = now[place] != 0
            elif toggle.value != (seen[place] != 0):
                self._write(place, toggle.value)
        self._seen, self.parts = self._values(), self.parts_of(self._model)
        self._offered_values = [self._seen[place] != 0 for place in self._places]
        return True

    def parts_of(self, model: MjModel) -> ShownParts:
        """What is shown of another model's geoms and sites with these values."""
        return ShownParts.of(self.opt, model, self.rendering.flags)

    def _values(self) -> bytes:
        opt = self.opt  # in the order of GROUPS
        groups = opt.geomgroup.tobytes() + opt.sitegroup.tobytes()
        return opt.flags.tobytes() + groups + self.rendering.flags.tobytes()  # type: ignore[no-any-return]

    def _write(self, place: int, is_on: bool) -> None:
        for array in (self.opt.flags, *(getattr(self.opt, name) for name in GROUPS), self.rendering.flags):
            if place < len(array):
                array[place] = is_on
                return
            place -= len(array)


def _has(model: MjModel, flag: str) -> bool:
    count = FLAGS[flag]
    return count is None or bool(getattr(model, count))


def _words(flag: int) -> str:
    """MuJoCo's own words for a flag, as in its viewer."""
    return str(mujoco.mjVISSTRING[flag][0]).lower()
