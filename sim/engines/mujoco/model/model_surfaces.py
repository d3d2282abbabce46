"""Skins and flexes of a model are additional bodies of the scene. Each snapshot contains their vertices.

MuJoCo's visualizer computes a skin from the poses of its bones, in a scene that contains only skins. For 24,000
vertices (dm_control's dog) this takes 0.6 ms. So a deferred state needs no copy of the vertices of skins. The vertices
of flexes are in `flexvert_xpos`, so a deferred state has a copy of this array.

Always: vertices are in the world's frame, and the bodies of skins and flexes stay at the origin. The drawn surface of
a flex consists of its faces, at the middle of its thickness. A solid flex is drawn as its shell, and a one-dimensional
flex as a tube around each edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Compound, Mesh, Shape
from twixt.ipc.snapshot import VISIBLE
from twixt.sim.engines.mujoco.body_poses import PoseArrays
from twixt.sim.engines.mujoco.model.geom_shapes import ModelParts, PartMaker
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjData, MjModel, MjvOption

# SIDES: number of sides of the tube around an edge. The array below has the corners of the tube's cross section for a
# radius of 1; shape (SIDES, 2).
SIDES = 6
_AROUND = np.column_stack([f(np.arange(SIDES) * 2 * np.pi / SIDES) for f in (np.cos, np.sin)])
# Length by which a tube extends beyond its edge, as a fraction of the tube's radius. The extension closes gaps where a
# rope bends.
BEYOND = 0.4
# Direction from which the corners of tubes are computed. In usual models no edge is parallel to this direction.
_ASIDE = np.array([0.267, 0.535, 0.802])


class ModelSurfaces:
    """Vertices of the skins and flexes of `model` in `data`. opt: options that select the skins and flexes to show; by
    default MuJoCo's default options.

    count: number of bodies for skins and flexes. These bodies follow the model's own bodies, skins first.
    """

    def __init__(self, model: MjModel, data: MjData, opt: MjvOption | None = None) -> None:
        self._model, self._data = model, data
        self._opt = mujoco.MjvOption() if opt is None else opt
        self._flexes = drawn_flexes(model)
        self.count = int(model.nskin) + int(model.nflex)
        if not self.count:
            return
        self._scene, self._camera = mujoco.MjvScene(model, maxgeom=1), mujoco.MjvCamera()
        self._perturb, self._skins_alone = mujoco.MjvPerturb(), mujoco.MjvOption()
        self._skins_alone.flags[:] = 0
        self._skins_alone.flags[_flag("SKIN")] = 1
        self._scratch = mujoco.MjData(model)
        # These fields are read only one time. If the program changes the fields later, the change has no effect.
        self._skin_rows = [_vertex_slice(model.skin_vertadr, model.skin_vertnum, skin) for skin in range(model.nskin)]
        self._flex_rows = [_vertex_slice(model.flex_vertadr, model.flex_vertnum, flex) for flex in range(model.nflex)]
        self._edges = {flex: _edges(model, flex) for flex in self._flexes if model.flex_dim[flex] == 1}

    def copy_flexes(self) -> NDArray[np.float64] | None:
        """Returns a copy of the flex vertices, because the poses do not determine these vertices. Returns None if the
        model has no flexes."""
        return np.array(self._data.flexvert_xpos) if self._flexes else None

    def write_flags(self, records: NDArray[np.void]) -> None:
        """Writes the visibility of skins and flexes into records of dtype `BODY`, shape (count,)."""
        if self.count:
            records["flags"] = np.where(self._shown(), VISIBLE, 0)

    def vertices(self, poses: PoseArrays, flex_vertices: NDArray[np.float64] | None) -> dict[int, NDArray[Any]]:
        """Returns the vertices of all shown skins and flexes, by the index of the body. The vertices are an array of
        shape (v, 3), in metres. poses: poses of the model's bodies. flex_vertices: result of `copy_flexes`."""
        model, shown = self._model, self._shown()
        skins, found = int(model.nskin), dict[int, NDArray[Any]]()
        if shown[:skins].any():
            self._scratch.xpos[:], self._scratch.xquat[:] = poses.position, poses.quaternion
            mujoco.mjv_updateScene(model, self._scratch, self._skins_alone, self._perturb, self._camera, 0, self._scene)
            all_vertices = self._scene.skinvert.reshape(-1, 3)
            for skin in np.flatnonzero(shown[:skins]).tolist():
                found[int(model.nbody) + skin] = all_vertices[self._skin_rows[skin]]
        # after `mj_resetData` all values are 0 until the next step
        if flex_vertices is not None and not flex_vertices.any():
            flex_vertices = self._after_reset()
        for flex in self._flexes:
            if flex_vertices is not None and shown[skins + flex]:
                vertices = flex_vertices[self._flex_rows[flex]]
                if flex in self._edges:
                    vertices = tubes(vertices, self._edges[flex], float(model.flex_radius[flex]))
                found[int(model.nbody) + skins + flex] = vertices
        return found

    def _shown(self) -> NDArray[np.bool_]:
        opt, model = self._opt, self._model
        skins = _in_groups(model.skin_group, opt.skingroup) & bool(opt.flags[_flag("SKIN")])
        has_faces = bool(opt.flags[_flag("FLEXSKIN")] or opt.flags[_flag("FLEXFACE")])
        is_on = np.where(model.flex_dim == 1, bool(opt.flags[_flag("FLEXEDGE")]), has_faces)
        flexes = _in_groups(model.flex_group, opt.flexgroup) & is_on
        return np.concatenate([skins, flexes])

    def _after_reset(self) -> NDArray[np.float64]:
        scratch, data = self._scratch, self._data
        scratch.qpos[:], scratch.mocap_pos[:], scratch.mocap_quat[:] = data.qpos, data.mocap_pos, data.mocap_quat
        return _flex_vertices(self._model, scratch)


def surface_shapes(model: MjModel, maker: PartMaker, shows_materials: bool = True) -> list[Shape]:
    """Returns the shapes of the bodies of `ModelSurfaces`, in the same order. The shapes are rest shapes and have
    MuJoCo's colours."""
    found: list[Shape] = []
    geoms = ModelParts.geoms(model)  # `color_of` reads only the columns that are replaced in the next lines
    looks = geoms._replace(rgba=model.skin_rgba, matid=model.skin_matid)
    for skin in range(model.nskin):
        vertices = _rows(model.skin_vert, model.skin_vertadr, model.skin_vertnum, skin)
        faces = _rows(model.skin_face, model.skin_faceadr, model.skin_facenum, skin)
        color, material = maker.color_of(looks, skin), maker.material_of(looks, skin) if shows_materials else None
        start = int(model.skin_texcoordadr[skin])
        # In twixt, the v coordinate counts from the lower edge of the image. MuJoCo's compiler converts v in this way
        # for meshes, but not for skins.
        uv = None if start < 0 else (0, 1) + model.skin_texcoord[start : start + len(vertices)] * (1, -1)
        found.append(Mesh(vertices, faces, "smooth", color, uv=uv, material=material, deforms=True))
    if model.nflex:
        drawn = drawn_flexes(model)
        places = _flex_vertices(model, mujoco.MjData(model))
        looks = geoms._replace(rgba=model.flex_rgba, matid=model.flex_matid)
        for flex in range(model.nflex):
            if flex not in drawn:
                found.append(Compound(()))
                continue
            vertices = _shown_vertices(model, flex, _rows(places, model.flex_vertadr, model.flex_vertnum, flex))
            normals = None if model.flex_flatskin[flex] else "smooth"
            found.append(Mesh(vertices, _flex_faces(model, flex), normals, maker.color_of(looks, flex), deforms=True))
    return found


def drawn_flexes(model: MjModel) -> list[int]:
    """Returns the numbers of the flexes that have faces or edges."""
    return [flex for flex in np.flatnonzero(model.flex_vertnum > 0).tolist() if len(_flex_faces(model, flex))]


def tubes(places: NDArray[np.float64], edges: NDArray[np.int32], radius: float) -> NDArray[np.float64]:
    """Returns the corners of a tube around each edge, an array of shape (e x 2 x SIDES, 3). Each edge has two ends,
    and each end has SIDES corners. places: positions of the vertices, shape (v, 3). edges: pairs of vertex numbers,
    shape (e, 2)."""
    ends = places[edges]
    along = ends[:, 1] - ends[:, 0]
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), mujoco.mjMINVAL)
    across = np.cross(along, _ASIDE)
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), mujoco.mjMINVAL)
    around = radius * np.einsum("si,eij->esj", _AROUND, np.stack([across, np.cross(along, across)], axis=1))
    ends = ends + (BEYOND * radius * along)[:, None] * np.array([-1, 1])[:, None]
    corners = ends[:, :, None] + around[:, None]
    return corners.reshape(-1, 3)


def _tube_faces(count: int) -> NDArray[np.int32]:
    side = np.arange(SIDES)
    following = (side + 1) % SIDES
    lower = np.column_stack([side, following, following + SIDES])
    upper = np.column_stack([side, following + SIDES, side + SIDES])
    one = np.concatenate([lower, upper])
    return np.asarray((one + 2 * SIDES * np.arange(count)[:, None, None]).reshape(-1, 3), np.int32)


def _edges(model: MjModel, flex: int) -> NDArray[np.int32]:
    start, count = int(model.flex_edgeadr[flex]), int(model.flex_edgenum[flex])
    return np.array(model.flex_edge).reshape(-1, 2)[start : start + count]


def _shown_vertices(model: MjModel, flex: int, vertices: NDArray[np.float64]) -> NDArray[np.float64]:
    if model.flex_dim[flex] == 1:
        return tubes(vertices, _edges(model, flex), float(model.flex_radius[flex]))
    return vertices


def _flex_faces(model: MjModel, flex: int) -> NDArray[np.int32]:
    if model.flex_dim[flex] == 1:
        return _tube_faces(int(model.flex_edgenum[flex]))
    solid = int(model.flex_dim[flex]) == 3
    of = "shell" if solid else "elem"
    start, count = int(getattr(model, f"flex_{of}dataadr")[flex]), int(getattr(model, f"flex_{of}num")[flex])
    return np.array(getattr(model, f"flex_{of}")[start : start + 3 * count]).reshape(count, 3)


def _flex_vertices(model: MjModel, data: MjData) -> NDArray[np.float64]:
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_flex(model, data)
    return np.array(data.flexvert_xpos)


def _in_groups(group: NDArray[np.int32], shown_groups: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.asarray(shown_groups, bool)[np.clip(group, 0, len(shown_groups) - 1)]


def _rows(array: Any, starts: Any, counts: Any, number: int) -> NDArray[Any]:
    found: NDArray[Any] = array.reshape(-1, 3)[_vertex_slice(starts, counts, number)]
    return found


def _vertex_slice(starts: Any, counts: Any, number: int) -> slice:
    return slice(int(starts[number]), int(starts[number]) + int(counts[number]))


def _flag(name: str) -> int:
    return int(getattr(mujoco.mjtVisFlag, f"mjVIS_{name}"))
