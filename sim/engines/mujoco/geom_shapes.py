"""Geoms and sites of a model as parts of twixt's bodies: shape, colour, pose in the frame of their body.

Always: they are shown or hidden as MuJoCo's `mjvOption` says (`geomgroup`, `sitegroup`), and coloured as MuJoCo's own
renderer colours them, except that a texture counts as its mean colour. What has no alpha is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Mesh, Part, Plane, Sphere, Vector
from twixt.ipc.shapes.shape import OneShape
from twixt.sim.engines.mujoco.model_meshes import Surface, hfield_surface, mesh_surface
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel

# MuJoCo's default colour. A geom that has it shows the colour of its material, if it has one.
DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)
# Edge of an infinite plane, as a multiple of the model's extent: as far as MuJoCo's default far plane.
INFINITE_EXTENTS = 100.0
# Pixels of a texture of which the mean colour is taken, at most.
MOST_PIXELS = 65_536


Rgba = tuple[float, float, float, float]


class ModelParts(NamedTuple):
    """Geoms, or sites: arrays of a model with one row each. dataid: -1 for those without an asset."""

    type: NDArray[np.int32]
    size: NDArray[np.float64]
    pos: NDArray[np.float64]
    quat: NDArray[np.float64]
    body: NDArray[np.int32]
    group: NDArray[np.int32]
    matid: NDArray[np.int32]
    rgba: NDArray[np.float32]
    dataid: NDArray[np.int32]

    @staticmethod
    def geoms(model: MjModel) -> ModelParts:
        """All geoms of the model."""
        return ModelParts(
            model.geom_type, model.geom_size, model.geom_pos, model.geom_quat, model.geom_bodyid, model.geom_group,
            model.geom_matid, model.geom_rgba, model.geom_dataid,
        )  # fmt: skip

    @staticmethod
    def sites(model: MjModel) -> ModelParts:
        """All sites of the model."""
        dataid = getattr(model, "site_dataid", None)  # since MuJoCo 4.0
        return ModelParts(
            model.site_type, model.site_size, model.site_pos, model.site_quat, model.site_bodyid, model.site_group,
            model.site_matid, model.site_rgba, np.full(model.nsite, -1, np.int32) if dataid is None else dataid,
        )  # fmt: skip


class PartMaker:
    """Makes parts of a model's geoms and sites; each mesh and height field is read once."""

    def __init__(self, model: MjModel) -> None:
        self._model = model
        self._surfaces: dict[tuple[str, int], Surface | None] = {}
        self._meshes: dict[tuple[str, int, Rgba], Mesh] = {}
        self.read_colors()
        kinds = mujoco.mjtGeom
        self._makers: dict[int, Callable[[NDArray[np.float64], int, Rgba], OneShape | None]] = {
            int(kinds.mjGEOM_PLANE): self._plane,
            int(kinds.mjGEOM_HFIELD): partial(self._mesh, "hfield"),
            int(kinds.mjGEOM_SPHERE): lambda size, _, color: Sphere(size[0], color),
            int(kinds.mjGEOM_CAPSULE): lambda size, _, color: Capsule(size[0], 2 * size[1], color),
            int(kinds.mjGEOM_ELLIPSOID): lambda size, _, color: Ellipsoid(_doubled(size), color),
            int(kinds.mjGEOM_CYLINDER): lambda size, _, color: Cylinder(size[0], 2 * size[1], color),
            int(kinds.mjGEOM_BOX): lambda size, _, color: Box(_doubled(size), color),
            int(kinds.mjGEOM_MESH): partial(self._mesh, "mesh"),
            int(kinds.mjGEOM_SDF): partial(self._mesh, "mesh"),
        }

    def parts(self, of: ModelParts, shown_groups: NDArray[np.uint8]) -> list[tuple[int, Part]]:
        """Bodies and their parts, those of groups that are shown. shown_groups: bool for each of MuJoCo's groups."""
        groups = np.clip(of.group, 0, len(shown_groups) - 1)
        found: list[tuple[int, Part]] = []
        for row in np.flatnonzero(np.asarray(shown_groups, bool)[groups]).tolist():
            color = self._color(of, row)
            maker = self._makers.get(int(of.type[row]))
            if color[3] <= 0 or maker is None:
                continue
            shape = maker(of.size[row], int(of.dataid[row]), color)
            if shape is not None:
                w, x, y, z = of.quat[row].tolist()
                found.append((int(of.body[row]), Part(shape, of.pos[row].tolist(), (x, y, z, w))))
        return found

    def read_colors(self) -> None:
        """Reads the colours of all materials anew."""
        self._material_colors = [_material_color(self._model, material) for material in range(self._model.nmat)]

    def forget(self, kind: str, asset: int) -> None:
        """Reads an asset anew next time. kind: "mesh" or "hfield"."""
        self._surfaces.pop((kind, asset), None)
        self._meshes = {key: mesh for key, mesh in self._meshes.items() if key[:2] != (kind, asset)}

    def _color(self, of: ModelParts, row: int) -> Rgba:
        rgba, material = of.rgba[row], int(of.matid[row])
        tint = self._material_colors[material][1] if material >= 0 else 1.0
        if material >= 0 and tuple(rgba.tolist()) == DEFAULT_RGBA:
            rgba = self._material_colors[material][0]
        red, green, blue = np.clip(rgba[:3] * tint, 0, 1).tolist()
        return red, green, blue, float(np.clip(rgba[3], 0, 1))

    def _plane(self, size: NDArray[np.float64], _: int, color: Rgba) -> OneShape:
        infinite = INFINITE_EXTENTS * self._model.stat.extent
        return Plane([2 * half if half > 0 else infinite for half in size[:2].tolist()], color)  # type: ignore[arg-type]

    def _mesh(self, kind: str, _: NDArray[np.float64], asset: int, color: Rgba) -> OneShape | None:
        if asset < 0:
            return None
        if (kind, asset) not in self._surfaces:
            read = mesh_surface if kind == "mesh" else hfield_surface
            self._surfaces[kind, asset] = read(self._model, asset)
        surface, key = self._surfaces[kind, asset], (kind, asset, color)
        if surface is not None and key not in self._meshes:
            self._meshes[key] = Mesh(*surface, color=color)
        return self._meshes.get(key)


def _doubled(size: NDArray[np.float64]) -> Vector:
    x, y, z = (2 * size).tolist()
    return x, y, z


def _material_color(model: MjModel, material: int) -> tuple[NDArray[np.float32], Any]:
    """Colour rgba of a material, and the mean colour of its texture, (3,), or 1.0."""
    rgba = np.array(model.mat_rgba[material])
    texture = int(model.mat_texid[material][int(mujoco.mjtTextureRole.mjTEXROLE_RGB)])
    if texture < 0:
        return rgba, 1.0
    channels = int(model.tex_nchannel[texture])
    start = int(model.tex_adr[texture])
    pixels = int(model.tex_height[texture]) * int(model.tex_width[texture])
    image = model.tex_data[start : start + pixels * channels].reshape(pixels, channels)
    mean = image[:: max(1, pixels // MOST_PIXELS)].mean(axis=0) / 255
    return rgba, mean[:3] if channels >= 3 else mean[:1].repeat(3)
