"""Parts of MuJoCo's viewer that twixt's lacks: taken, without an effect, and reported once each.

Always: a program that uses it runs on; one line on standard error names it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel, MjvOption, MjvPerturb, MjvScene

# Geoms that MuJoCo's own viewer makes room for in `user_scn`.
MOST_USER_GEOMS = 100_000
# Kinds of objects that a model may have and that are not drawn: the number of them in the model, and their name.
NOT_DRAWN = {"nskin": "skins", "nflex": "flexes", "ntendon": "tendons"}
# Numbers of `mjvOption` that have no effect. Its groups of joints, tendons and so on have none either, and matter only
# with flags that are reported.
NUMBERS = ("label", "frame", "bvh_depth", "flex_layer")


class Unsupported:
    """Structs of a handle that have no effect, and what is said about them. perturb: MuJoCo's struct."""

    def __init__(self, model: MjModel) -> None:
        self.perturb: MjvPerturb = mujoco.MjvPerturb()
        self._model = model
        self._user_scene: MjvScene | None = None
        self._flags, self._render_flags = mujoco.MjvOption().flags.tobytes(), b""
        self._default = mujoco.MjvOption()
        self._said: set[str] = set()

    @property
    def user_scene(self) -> MjvScene:
        """MuJoCo's struct, made when first asked for: it takes 40 MB."""
        if self._user_scene is None:
            self._user_scene = mujoco.MjvScene(self._model, MOST_USER_GEOMS)
            self._render_flags = self._user_scene.flags.tobytes()
        return self._user_scene

    def note(self, what: str) -> None:
        """Says once that `what` has no effect."""
        if what not in self._said:
            self._said.add(what)
            print(f"twixt: {what}: no effect yet in twixt's viewer, see docs/engines.md", file=sys.stderr, flush=True)

    def note_model(self) -> None:
        """Notes kinds of objects in the model that are not drawn."""
        for count, name in NOT_DRAWN.items():
            if getattr(self._model, count):
                self.note(f"{name} of the model")

    def check(self, opt: MjvOption) -> None:
        """Notes what the user's code has set without an effect."""
        if opt.flags.tobytes() != self._flags:
            self._check_flags(opt)
        for name in NUMBERS:
            if getattr(opt, name) != getattr(self._default, name):
                self.note(f"opt.{name}")
        if self.perturb.active or self.perturb.select > 0:
            self.note("perturb")
        if (scene := self._user_scene) is not None:
            if scene.ngeom:
                self.note("geoms of user_scn")
            if scene.flags.tobytes() != self._render_flags:
                self.note("user_scn.flags")

    def _check_flags(self, opt: MjvOption) -> None:
        self._flags = opt.flags.tobytes()
        for number, (flag, default) in enumerate(zip(opt.flags, self._default.flags, strict=True)):
            if flag != default:
                self.note(f"opt.flags[{mujoco.mjtVisFlag(number).name}]")
