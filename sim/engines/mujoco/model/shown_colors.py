"""Colours of a model's parts while it runs: as a part column, so that one that changes publishes no scene.

The one idea: a program that draws other colours at each step (domain randomization) writes `model.geom_rgba`. The first
change declares the column `color`; from then on a change is a few array operations, and its bytes in the snapshot.

Always: the colours are those that the scene would have. A change that is more than one of colours is told: a geom that
was left out for its alpha of 0 is to be seen, or skins and flexes may have the colour of a material.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.scene.scene_parts import part_colors
from twixt.sim.engines.mujoco.model.geom_shapes import FoundParts, ModelParts, Paints, PartMaker, ShownParts
from twixt.sim.world.columns import Column, Columns

if TYPE_CHECKING:
    from mujoco import MjModel, MjvOption

    from twixt.sim.show.view import View

# Arrays of a model that colours of parts are made of.
COLOR_ARRAYS = ("geom_rgba", "site_rgba", "mat_rgba")
DECLARED = {"color": Column("u1", 4, per="part")}


class ShownColors:
    """Colours of the parts of the scene that `take_scene` took last. found: its geoms and its sites."""

    def __init__(self, model: MjModel) -> None:
        self._model = model
        self._columns: Columns | None = None
        self.are_declared = False  # True once a colour has changed
        self._kinds: list[_Kind] = []

    def take_scene(self, scene: Scene, found: Sequence[FoundParts], maker: PartMaker, opt: MjvOption) -> None:
        """Takes a scene that was published anew: its colours are those of the column, if there is one."""
        model = self._model
        self._colors = part_colors(scene, len(scene.shapes))
        self._can_show = len(scene.shapes) == model.nbody
        shown, places = ShownParts.of(opt, model), _places(scene, found)
        arrays = (("geom_rgba", ModelParts.geoms(model)), ("site_rgba", ModelParts.sites(model)))
        self._kinds = []
        for (name, of), of_a_kind, own_places in zip(arrays, found, places, strict=True):
            rows = np.array([row for _, row, _ in of_a_kind.parts], np.intp)
            for each, at in ((rows, own_places), (of_a_kind.clear, None)):
                if len(each):
                    self._kinds.append(_Kind(name, each, at, maker.paints(of, each, shown)))
        if self._columns is not None:
            self._columns["color"][: len(self._colors)] = self._colors

    def show(self, view: View) -> bool:
        """Has the view's next state show the model's colours; False if that takes another scene."""
        if not self._can_show:
            return False
        of_materials = self._model.mat_rgba
        for name, rows, places, paints in self._kinds:
            colors = paints.colors(getattr(self._model, name)[rows], of_materials)
            if places is not None:
                self._colors[places] = np.rint(255 * colors)
            elif (colors[:, 3] > 0).any():
                return False
        if self._columns is None:
            self._columns = view.add_columns(DECLARED)
            self.are_declared = True
        self._columns["color"][: len(self._colors)] = self._colors
        return True


class _Kind(NamedTuple):
    """Geoms or sites. name: of the model's array of their colours. rows: of that array. places: rows of the column; None
    for those left out of the scene."""

    name: str
    rows: NDArray[np.intp]
    places: NDArray[np.intp] | None
    paints: Paints


def _places(scene: Scene, found: Sequence[FoundParts]) -> list[NDArray[np.intp]]:
    """Of each part of geoms, and of sites: its place among the scene's parts. A body without parts has one, too."""
    bodies = np.array([body for of_a_kind in found for body, _, _ in of_a_kind.parts], np.intp)
    order = np.argsort(bodies, kind="stable")  # geoms before sites
    number = np.arange(len(order)) - np.searchsorted(bodies[order], bodies[order])
    places = np.empty(len(order), np.intp)
    places[order] = np.searchsorted(scene.part_bodies(), bodies[order]) + number
    return np.split(places, [len(found[0].parts)])
