"""MuJoCo's viewer has features that twixt does not have. If a program uses such a feature, there is no effect, and the
feature is reported one time.

Always: the program continues. The report is a line on standard error with the feature's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twixt.ipc.process.notices import print_notice
from twixt.sim.engines.mujoco.model.model_surfaces import drawn_flexes
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.visual.geom_memory import is_shown
from twixt.sim.engines.mujoco.visual.user_geoms import UserGeoms

if TYPE_CHECKING:
    from mujoco import MjModel, MjvOption, MjvPerturb

# Fields of `mjvOption` that are numbers and have no effect.
NUMBERS = ("flex_layer",)
# Flags of `mjvOption` that have no effect.
FLAGS = ("FLEXVERT",)
# Flags of `mjvScene` that have an effect. All other flags of `mjvScene` have no effect.
RENDER_FLAGS = ("mjRND_SKYBOX",)


class Unsupported:
    """Reports settings of a handle that have no effect. perturb: the handle's `MjvPerturb`."""

    def __init__(self, model: MjModel, users: UserGeoms) -> None:
        self.perturb: MjvPerturb = mujoco.MjvPerturb()
        self._model, self._users = model, users
        self._default, self._default_render_flags = mujoco.MjvOption(), users.flags.copy()
        self._reported: set[str] = set()

    def note(self, what: str) -> None:
        """Reports that `what` has no effect. Each text is reported only one time."""
        if what not in self._reported:
            self._reported.add(what)
            print_notice(f"{what}: no effect yet in twixt's viewer, see docs/engines.md")

    def note_model(self) -> None:
        """Reports the kinds of objects in the model that are not drawn."""
        if left_out := int(self._model.nflex) - len(drawn_flexes(self._model)):
            self.note(f"{left_out} of {self._model.nflex} flexes of the model, which have neither faces nor edges")

    def check(self, opt: MjvOption) -> None:
        """Reports settings without an effect in `opt` and in the rendering flags."""
        self._check_options(opt)
        self._check_render_flags()

    def _check_options(self, opt: MjvOption) -> None:
        for name in FLAGS:
            number = int(getattr(mujoco.mjtVisFlag, f"mjVIS_{name}"))
            if opt.flags[number] != self._default.flags[number]:
                self.note(f"opt.flags[mjVIS_{name}]")
        for name in NUMBERS:
            if getattr(opt, name) != getattr(self._default, name):
                self.note(f"opt.{name}")
        if opt.label and not is_shown(int(opt.label)):
            self.note(f"opt.label={int(opt.label)}")

    def _check_render_flags(self) -> None:
        for place in np.flatnonzero(self._users.flags != self._default_render_flags).tolist():
            name = mujoco.mjtRndFlag(place).name
            if name not in RENDER_FLAGS:
                self.note(f"user_scn.flags[{name}]")
