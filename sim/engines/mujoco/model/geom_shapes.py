"""This module converts geoms and sites of a model to parts of twixt's bodies. A part has a shape, a colour, and a pose
in the body's frame.

Always: the groups and flags of `mjvOption` determine which geoms and sites are visible. Colours and materials are the
same as in MuJoCo's renderer. A geom with an alpha of 0, or with a size or position that is not finite, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Mesh, Part, Plane, Scene, Sphere, Vector
from twixt.ipc.scene.checks import SceneError
from twixt.ipc.scene.material import Material, Texture
from twixt.ipc.scene.parts import part_colors
from twixt.ipc.scene.shapes import OneShape
from twixt.sim.engines.mujoco.model.model_assets import (
    ModelMaterials,
    Surface,
    hfield_surface,
    hull_surface,
    mesh_surface,
)
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.world.columns import Column, Columns

if TYPE_CHECKING:
    from mujoco import MjModel, MjvOption

    from twixt.sim.show.view import View


# MuJoCo's default colour. If a geom with this colour has a material, it is drawn in the colour of the material.
DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)
# Side of the square that stands for an infinite plane, as a multiple of the model's extent. MuJoCo's default far plane
# is at the same distance.
INFINITE_EXTENTS = 100.0


Rgba = tuple[float, float, float, float]


class Appearance(NamedTuple):
    """Colour and material. They are the last two arguments of a shape's constructor."""

    color: Rgba
    material: Material | None


# Function that makes a shape. Its arguments are a geom's size, asset number and appearance.
ShapeMaker = Callable[[NDArray[np.float64], int, Appearance], OneShape | None]


class ShowOptions(NamedTuple):
    """Settings of `mjvOption` for geoms and sites. geomgroup, sitegroup: True for each shown group. shows_static: True
    to show geoms and sites of bodies that never move. dynamic_alpha: factor by which the alpha of geoms and sites
    of moving bodies is multiplied. shows_hulls: True to show the convex hull in place of each mesh that may
    collide. shows_materials: True to show textures and highlights, False for plain colours. shows_sky: True to show
    the model's sky as background."""

    geomgroup: tuple[bool, ...]
    sitegroup: tuple[bool, ...]
    shows_static: bool = True
    dynamic_alpha: float = 1.0
    shows_hulls: bool = False
    shows_materials: bool = True
    shows_sky: bool = True

    @staticmethod
    def of(opt: MjvOption, model: MjModel, render_flags: NDArray[np.uint8] | None = None) -> ShowOptions:
        """Reads the settings of `opt` for `model`. render_flags: flags of an `mjvScene` (`mjtRndFlag`); if None, the
        default flags."""
        flags, names = opt.flags, mujoco.mjtVisFlag
        return ShowOptions(
            tuple(opt.geomgroup.astype(bool).tolist()),
            tuple(opt.sitegroup.astype(bool).tolist()),
            bool(flags[int(names.mjVIS_STATIC)]),
            float(model.vis.map.alpha) if flags[int(names.mjVIS_TRANSPARENT)] else 1.0,
            bool(flags[int(names.mjVIS_CONVEXHULL)]),
            bool(flags[int(names.mjVIS_TEXTURE)]),
            render_flags is None or bool(render_flags[int(mujoco.mjtRndFlag.mjRND_SKYBOX)]),
        )


class ModelParts(NamedTuple):
    """All geoms, or all sites, as arrays of the model with one row for each geom or site. dataid: number of the asset,
    or -1. collides: not 0 if the geom may collide."""

    type: NDArray[np.int32]
    size: NDArray[np.float64]
    pos: NDArray[np.float64]
    quat: NDArray[np.float64]
    body: NDArray[np.int32]
    group: NDArray[np.int32]
    matid: NDArray[np.int32]
    rgba: NDArray[np.float32]
    dataid: NDArray[np.int32]
    collides: NDArray[np.int32]

    @staticmethod
    def geoms(model: MjModel) -> ModelParts:
        """All geoms of the model."""
        return ModelParts(
            model.geom_type, model.geom_size, *_local_poses(model, "geom"), model.geom_bodyid, model.geom_group,
            model.geom_matid, model.geom_rgba, model.geom_dataid, model.geom_contype | model.geom_conaffinity,
        )  # fmt: skip

    @staticmethod
    def sites(model: MjModel) -> ModelParts:
        """All sites of the model."""
        dataid = getattr(model, "site_dataid", None)  # MuJoCo has this array since version 4.0
        return ModelParts(
            model.site_type, model.site_size, *_local_poses(model, "site"), model.site_bodyid, model.site_group,
            model.site_matid, model.site_rgba, np.full(model.nsite, -1, np.int32) if dataid is None else dataid,
            np.zeros(model.nsite, np.int32),
        )  # fmt: skip


Rows = NDArray[np.float64]


def _local_poses(model: MjModel, kind: str) -> tuple[Rows, Rows]:
    """Returns positions and quaternions of all geoms ("geom") or sites ("site") in the frames of their bodies. If
    `sameframe` names a frame of the body, this frame replaces the pose of the geom or site, as in MuJoCo's
    kinematics."""
    position, quaternion, frame = (getattr(model, f"{kind}_{name}") for name in ("pos", "quat", "sameframe"))
    if not frame.any():
        return position, quaternion
    body, names = getattr(model, f"{kind}_bodyid"), mujoco.mjtSameFrame
    has_place = frame == int(names.mjSAMEFRAME_INERTIA)
    has_turn = has_place | (frame == int(names.mjSAMEFRAME_INERTIAROT))
    if has_turn.any():
        of_inertia = _in_own_frame(model.body_sameframe, model.body_ipos, model.body_iquat)
        position = np.where(has_place[:, None], of_inertia[0][body], position)
        quaternion = np.where(has_turn[:, None], of_inertia[1][body], quaternion)
    return _in_own_frame(frame, position, quaternion)


def _in_own_frame(frame: NDArray[np.uint8], position: Rows, quaternion: Rows) -> tuple[Rows, Rows]:
    """Returns the poses in the frames of their bodies. `frame` tells for each pose whether the whole pose equals the
    body's frame, or only its rotation. The equal values are replaced by the identity."""
    names = mujoco.mjtSameFrame
    is_there = frame == int(names.mjSAMEFRAME_BODY)
    is_turned = is_there | (frame == int(names.mjSAMEFRAME_BODYROT))
    return (
        np.where(is_there[:, None], 0.0, position),
        np.where(is_turned[:, None], (1.0, 0.0, 0.0, 0.0), quaternion),
    )


# For each kind of asset, the function that makes its surface.
READERS: dict[str, Callable[[Any, int], Surface | None]] = {
    "mesh": mesh_surface,
    "hull": hull_surface,
    "hfield": hfield_surface,
}


class ColorInputs(NamedTuple):
    """Inputs for the colours of geoms or sites, in addition to the model's arrays of colours. Each array has the shape
    (n,). material: number of the material, or -1. alpha: factor for the alpha. is_blended_twice: see
    `_blended_twice`."""

    material: NDArray[np.int32]
    alpha: NDArray[np.float64]
    is_blended_twice: NDArray[np.bool_]

    def colors(self, rgba: NDArray[np.float32], of_materials: NDArray[np.float32]) -> NDArray[np.float64]:
        """Returns the shown colours, an array of shape (n, 4) with numbers from 0 to 1. rgba: colours of the geoms or
        sites. of_materials: colours of all materials."""
        own = rgba.astype(np.float64)
        is_default = (self.material >= 0) & (own == DEFAULT_RGBA).all(axis=1)
        if is_default.any():
            own[is_default] = of_materials[self.material[is_default]]
        if not (own.min(initial=0.0) >= 0 and own.max(initial=0.0) <= 1):
            own = np.clip(np.nan_to_num(own), 0, 1)
        alpha = own[:, 3] * self.alpha
        own[:, 3] = np.where(self.is_blended_twice, _blended_twice(alpha), alpha)
        return own


class FoundParts(NamedTuple):
    """Parts that were made from geoms or sites. parts: for each part its body, its row and the part itself. clear:
    rows that were left out because their alpha is 0."""

    parts: list[tuple[int, int, Part]]
    clear: NDArray[np.intp]


class PartMaker:
    """Makes parts from a model's geoms and sites. Each mesh and height field is read only one time."""

    def __init__(self, model: MjModel) -> None:
        self._model = model
        self._surfaces: dict[tuple[str, int], Surface | None] = {}
        self._meshes: dict[tuple[str, int], Mesh] = {}
        self._materials = ModelMaterials(model)
        self._mesh_maker = partial(self._mesh, "mesh")
        kinds = mujoco.mjtGeom
        self._two_sided = {int(kind) for kind in (kinds.mjGEOM_MESH, kinds.mjGEOM_SDF, kinds.mjGEOM_HFIELD)}
        self._makers: dict[int, ShapeMaker] = {
            int(kinds.mjGEOM_PLANE): self._plane,
            int(kinds.mjGEOM_HFIELD): partial(self._mesh, "hfield"),
            int(kinds.mjGEOM_SPHERE): lambda size, _, looks: Sphere(size[0], *looks),
            int(kinds.mjGEOM_CAPSULE): lambda size, _, looks: Capsule(size[0], 2 * size[1], *looks),
            int(kinds.mjGEOM_ELLIPSOID): lambda size, _, looks: Ellipsoid(_doubled(size), *looks),
            int(kinds.mjGEOM_CYLINDER): lambda size, _, looks: Cylinder(size[0], 2 * size[1], *looks),
            int(kinds.mjGEOM_BOX): lambda size, _, looks: Box(_doubled(size), *looks),
            int(kinds.mjGEOM_MESH): self._mesh_maker,
            int(kinds.mjGEOM_SDF): self._mesh_maker,
        }

    def parts(self, of: ModelParts, groups: tuple[bool, ...], shown: ShowOptions) -> FoundParts:
        """Makes the parts of all shown rows. groups: the shown groups of geoms, or of sites."""
        found: list[tuple[int, int, Part]] = []
        clear: list[int] = []
        moves = self._model.body_weldid[of.body] != 0
        is_shown = np.array(groups)[np.clip(of.group, 0, len(groups) - 1)] & (moves | shown.shows_static)
        rows = np.flatnonzero(is_shown)
        colors = self.paints(of, rows, shown).colors(of.rgba[rows], self._model.mat_rgba)
        for row, color in zip(rows.tolist(), map(tuple, colors.tolist()), strict=True):
            maker = self._makers.get(int(of.type[row]))
            if shown.shows_hulls and of.collides[row] and maker is self._mesh_maker and self._has_hull(of, row):
                maker = partial(self._mesh, "hull")
            if not color[3] > 0:
                clear.append(row)
                continue
            if maker is None:
                continue
            is_plane = int(of.type[row]) == int(mujoco.mjtGeom.mjGEOM_PLANE)
            number = int(of.matid[row]) if shown.shows_materials else -1
            material = self._materials.of(number, of.size[row] if is_plane else None)
            part = _part(of, row, maker, Appearance(color, material))
            if part is not None:
                found.append((int(of.body[row]), row, part))
        return FoundParts(found, np.array(clear, np.intp))

    def paints(self, of: ModelParts, rows: NDArray[np.intp], shown: ShowOptions) -> ColorInputs:
        """Returns the `ColorInputs` of these rows."""
        moves = self._model.body_weldid[of.body[rows]] != 0
        return ColorInputs(
            of.matid[rows],
            np.where(moves, shown.dynamic_alpha, 1.0),
            ~np.isin(of.type[rows], list(self._two_sided)),
        )

    def discard(self, kind: str, asset: int) -> None:
        """Discards the cached surface of an asset. kind: "mesh" or "hfield"."""
        for each in (kind, "hull") if kind == "mesh" else (kind,):
            self._surfaces.pop((each, asset), None)
            self._meshes.pop((each, asset), None)

    @property
    def sky(self) -> Texture | None:
        """Texture of the model's sky; None if the model has no sky."""
        return self._materials.sky

    def color_of(self, of: ModelParts, row: int) -> Rgba:
        """Returns the colour of a row. If this is MuJoCo's default colour, returns the colour of the row's
        material."""
        return self._color(of, row)

    def material_of(self, of: ModelParts, row: int) -> Material | None:
        """Returns the material of a row; None if the row has no material."""
        return self._materials.of(int(of.matid[row]), None)

    def _color(self, of: ModelParts, row: int) -> Rgba:
        rgba, material = of.rgba[row], int(of.matid[row])
        if material >= 0 and tuple(rgba.tolist()) == DEFAULT_RGBA:
            rgba = self._materials.rgba(material)
        red, green, blue, alpha = np.clip(np.nan_to_num(rgba), 0, 1).tolist()
        return red, green, blue, alpha

    def _plane(self, size: NDArray[np.float64], _: int, looks: Appearance) -> OneShape:
        infinite = INFINITE_EXTENTS * self._model.stat.extent
        return Plane([2 * half if half > 0 else infinite for half in size[:2].tolist()], *looks)  # type: ignore[arg-type]

    def _has_hull(self, of: ModelParts, row: int) -> bool:
        asset = int(of.dataid[row])
        return asset >= 0 and int(self._model.mesh_graphadr[asset]) >= 0

    def _mesh(self, kind: str, _: NDArray[np.float64], asset: int, looks: Appearance) -> OneShape | None:
        if asset < 0:
            return None
        if (kind, asset) not in self._surfaces:
            self._surfaces[kind, asset] = READERS[kind](self._model, asset)
        surface = self._surfaces[kind, asset]
        if surface is not None and (kind, asset) not in self._meshes:
            self._meshes[kind, asset] = Mesh(surface.vertices, surface.faces, surface.normals, uv=surface.uv)
        mesh = self._meshes.get((kind, asset))
        return None if mesh is None else mesh.recolored(*looks)


def _part(of: ModelParts, row: int, maker: ShapeMaker, looks: Appearance) -> Part | None:
    """Makes the part of a geom or site. Returns None if there is no shape for it, or if its size or position is
    invalid."""
    w, x, y, z = of.quat[row].tolist()
    try:
        shape = maker(of.size[row], int(of.dataid[row]), looks)
        return None if shape is None else Part(shape, of.pos[row].tolist(), (x, y, z, w))
    except SceneError:
        return None


def _blended_twice(alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the opacity that an alpha gives in MuJoCo's renderer. MuJoCo blends transparent geoms twice. This
    function is not used for transparent meshes, because twixt itself blends both their back and their front."""
    return 1 - (1 - alpha) ** 2


def _doubled(size: NDArray[np.float64]) -> Vector:
    x, y, z = (2 * size).tolist()
    return x, y, z


# The colours of a model's parts may change while the model runs. They are a part column, so a change of colours does
# not require a new scene.
#
# A program that uses other colours in each step (domain randomization) writes `model.geom_rgba`. The first change
# declares the column `color`. After that, a change costs a few array operations, and the column's bytes in each
# snapshot.
#
# Always: the colours are equal to the colours that a new scene would have. `show` returns False for a change that
# needs a new scene. A geom with an alpha of 0 is left out of the scene; if it becomes visible, a new scene is needed.
# In a model with skins or flexes, each change needs a new scene.


DECLARED = {"color": Column("u1", 4, per="part")}


class ShownColors:
    """Colours of the parts of the scene that was last passed to `set_scene`."""

    def __init__(self, model: MjModel) -> None:
        self._model = model
        self._columns: Columns | None = None
        self.are_declared = False  # True after the first change of a colour, which declares the column
        self._kinds: list[_Kind] = []

    def set_scene(self, scene: Scene, found: Sequence[FoundParts], maker: PartMaker, opt: MjvOption) -> None:
        """Call this method for each published scene. If the column `color` is declared, writes the scene's colours
        into this column. found: the scene's geoms and sites."""
        model = self._model
        self._colors = part_colors(scene, len(scene.shapes))
        self._can_show = len(scene.shapes) == model.nbody
        shown, places = ShowOptions.of(opt, model), _places(scene, found)
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
        """Writes the model's current colours, for the next state of the view. Returns False if a new scene is needed
        instead."""
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
    """All geoms or all sites. name: name of the model's array with their colours. rows: rows in this array. places:
    rows in the column; None for rows that were left out of the scene."""

    name: str
    rows: NDArray[np.intp]
    places: NDArray[np.intp] | None
    paints: ColorInputs


def _places(scene: Scene, found: Sequence[FoundParts]) -> list[NDArray[np.intp]]:
    """Returns the index of each geom's part in the scene, and of each site's part. A body without parts counts as one
    part in a scene."""
    bodies = np.array([body for of_a_kind in found for body, _, _ in of_a_kind.parts], np.intp)
    order = np.argsort(bodies, kind="stable")  # within each body, geoms come before sites
    number = np.arange(len(order)) - np.searchsorted(bodies[order], bodies[order])
    places = np.empty(len(order), np.intp)
    places[order] = np.searchsorted(scene.part_bodies(), bodies[order]) + number
    return np.split(places, [len(found[0].parts)])
