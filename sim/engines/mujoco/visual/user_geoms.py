"""`user_scn`: a scene of MuJoCo's for geoms of the user's own, which become marks at the next `sync`.

Users set `ngeom` to 0, and fill geom after geom with `mjv_initGeom` and `mjv_connector`. A geom is known by its label if
it has one, else by its place.

Always: the scene is made when first asked for, since its 100,000 geoms take 26 MB and half a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.visual.geom_marks import NO_KIND, kinds_of
from twixt.sim.engines.mujoco.visual.geom_memory import geom_records

if TYPE_CHECKING:
    from mujoco import MjModel, MjvScene

# Geoms that MuJoCo's own viewer makes room for.
MOST_USER_GEOMS = 100_000
# Odd numbers with which the words of a label are multiplied; the sum's upper bits are its key.
_WEIGHTS = np.random.default_rng(4).integers(1 << 62, 1 << 63, 25).astype(np.uint64) | np.uint64(1)
LABEL_KEY_BITS = 48


class UserGeoms:
    """The user's scene of one model, its geoms and its rendering flags."""

    def __init__(self, model: MjModel) -> None:
        self._model = model
        self._scene: MjvScene | None = None
        self._records: NDArray[np.void] | None = None
        self.flags: NDArray[np.uint8] = mujoco.MjvScene(model, 1).flags.copy()  # `mjtRndFlag`; the scene's from then on

    @property
    def scene(self) -> MjvScene:
        """MuJoCo's struct, the user's own from now on."""
        if self._scene is None:
            self._scene = mujoco.MjvScene(self._model, MOST_USER_GEOMS)
            self._scene.flags[:] = self.flags
            self.flags = self._scene.flags
            self._records = geom_records(self._scene)
        return self._scene

    @property
    def is_made(self) -> bool:
        """True once the scene was asked for."""
        return self._scene is not None

    @property
    def count(self) -> int:
        """Number of geoms, 0 before the scene was asked for."""
        scene = self._scene
        return 0 if scene is None else min(max(scene.ngeom, 0), MOST_USER_GEOMS)

    def records(self) -> NDArray[np.void]:
        """The geoms, shape (count,), as of `geom_records`: the user's own memory."""
        assert self._records is not None
        return self._records[: self.count]


def user_keys(geoms: NDArray[np.void], places: NDArray[np.intp], named_bit: int) -> NDArray[np.uint64]:
    """Keys of the user's geoms at these places, (n,): the place, or `named_bit` and 48 bits made of the label."""
    keys = places.astype(np.uint64)
    named = np.flatnonzero(geoms["label"][:, 0])
    if len(named):
        letters = geoms["label"][named]
        letters = letters * np.logical_and.accumulate(letters != 0, axis=1)
        words = np.ascontiguousarray(letters).view("<u4").astype(np.uint64)
        sums = (words * _WEIGHTS).sum(axis=1)
        keys[named] = np.uint64(named_bit) | (sums >> np.uint64(64 - LABEL_KEY_BITS))
    return keys


def not_drawn(geoms: NDArray[np.void]) -> list[str]:
    """Texts about geoms that are not drawn, one for each kind, with the number of them."""
    types = geoms["type"]
    types = types[kinds_of(types) == NO_KIND]
    texts = []
    if len(types):
        for name, kind in mujoco.mjtGeom.__members__.items():
            if count := int(np.count_nonzero(types == int(kind))):
                texts.append(f"{name} in user_scn, {count} of {len(geoms)} geoms")
    return texts
