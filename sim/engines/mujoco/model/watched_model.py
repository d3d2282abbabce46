"""Detection of fields of a model that the program has changed since the last look, and of what they change.

MuJoCo's arrays are adjacent in memory, so a few pieces of memory contain them all. A piece is compared as a whole; only
if it differs are its fields compared one by one. `EFFECTS` has the effect of each field on the picture.

Always: a look compares a limited number of bytes, and the next one continues there. A change is noted before the copy
of the old content is replaced, so that an interrupted look loses none.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel


# Effects of a changed field, bits. UNSHOWN: on MuJoCo's picture, not on ours. Plain integers: each publish tests them.
SHAPES, COLORS, LIGHT, CAMERA, UNSHOWN = 1, 2, 4, 8, 16
ALL_BUT_COLORS = SHAPES | LIGHT | CAMERA | UNSHOWN


def _named(prefix: str, effect: int, names: str) -> dict[str, int]:
    return {prefix + name: effect for name in names.split()}


# By field of `mjModel`. Not watched: fields for poses, marks and vertices of skins and flexes, which are computed from
# the model for each state; and meshes, height fields and textures, for which programs call `update_mesh` and so on.
EFFECTS: dict[str, int] = {
    **_named("geom_", SHAPES, "type dataid bodyid sameframe group matid size pos quat contype conaffinity"),
    **_named("site_", SHAPES, "type dataid bodyid sameframe group matid size pos quat"),
    **_named("body_", SHAPES, "sameframe ipos iquat weldid"),
    **_named("mat_", SHAPES, "texid texuniform texrepeat emission specular shininess"),
    **_named("skin_", SHAPES, "matid rgba"),
    **_named("flex_", SHAPES, "matid rgba flatskin"),
    **_named("", COLORS, "geom_rgba site_rgba mat_rgba"),
    **_named("light_", LIGHT, "mode bodyid targetbodyid type active pos dir poscom0 pos0 dir0 attenuation cutoff "
             "exponent ambient diffuse"),
    **_named("vis.headlight.", LIGHT, "ambient diffuse active"),
    **_named("cam_", CAMERA, "mode bodyid targetbodyid pos quat poscom0 pos0 mat0 projection orthographic fovy "
             "resolution sensorsize intrinsic"),
    "vis.global_.fovy": CAMERA,
    "vis.map.alpha": SHAPES,
    **_named("", UNSHOWN, "geom_castshadow mat_reflectance light_specular light_castshadow vis.headlight.specular "
             "vis.map.znear vis.map.zfar stat.extent"),
    # Layout of the model's arrays.
    **_named("body_", UNSHOWN, "geomadr geomnum"),
    **_named("mesh_", UNSHOWN, "texcoordadr"),
    **_named("skin_", UNSHOWN, "vertadr vertnum face faceadr facenum texcoordadr"),
    **_named("flex_", UNSHOWN, "vertadr vertnum edge edgeadr edgenum elem elemadr elemnum elemdataadr shell shellnum "
             "shelldataadr"),
}  # fmt: skip
# Fields that matter only for geoms and sites in the frame of their body's inertia; those frames in `mjtSameFrame`.
INERTIA_FIELDS, INERTIA_FRAMES = ("body_sameframe", "body_ipos", "body_iquat"), (2, 4)
# Longest piece of memory that is compared as one, and longest gap within one, bytes.
PIECE, GAP = 65_536, 256
# Memory around `vis.headlight.ambient` in which the other fields of `mjVisual` and `mjStatistic` lie, bytes.
BEFORE, AFTER = 256, 1_024
# A value that none of these fields has by default.
PROBE = 77
# Bytes of a number of `mjVisual`, and of `mjStatistic`.
VISUAL_BYTES, STATISTIC_BYTES = 4, 8


class _Field(NamedTuple):
    """name: in `EFFECTS`. start: address. size: bytes."""

    name: str
    start: int
    size: int


class _Piece:
    """Memory that is compared as one. fields: names and places in it."""

    def __init__(self, start: int, size: int, fields: Iterable[tuple[str, slice]]) -> None:
        self.memory = _memory(start, size)
        self.fields, self.seen = list(fields), self.memory.tobytes()


class WatchedModel:
    """Fields of `model` that have one of `effects`, read from its memory; `model` has to live as long.

    changed: effects of fields that have changed. unshown: names of changed fields whose effect is UNSHOWN. The caller
    clears both.
    """

    def __init__(self, model: MjModel, effects: int) -> None:
        self.changed = 0
        self.unshown: list[str] = []
        names = [name for name, effect in EFFECTS.items() if effect & effects]
        frames = np.concatenate([model.geom_sameframe, model.site_sameframe])
        if not np.isin(frames, INERTIA_FRAMES).any():  # then inertia is not drawn; programs may change it often
            names = [name for name in names if name not in INERTIA_FIELDS]
        self._pieces = _pieces_of(_fields(model, names))
        self._next = 0

    def look(self, most_bytes: float) -> bool:
        """Compares further pieces, until `most_bytes` or more were; True if that was the last of them."""
        pieces, place = self._pieces, self._next
        while place < len(pieces):
            piece = pieces[place]
            now = piece.memory.tobytes()
            if now != piece.seen:
                self._note(piece, now)
                piece.seen = now
            place += 1
            most_bytes -= len(now)
            if most_bytes <= 0:
                break
        is_last = place >= len(pieces)
        self._next = 0 if is_last else place
        return is_last

    def _note(self, piece: _Piece, now: bytes) -> None:
        for name, place in piece.fields:
            if now[place] != piece.seen[place]:
                self.changed |= EFFECTS[name]
                if EFFECTS[name] == UNSHOWN and name not in self.unshown:
                    self.unshown.append(name)


def value_of(model: MjModel, name: str) -> Any:
    """Value of a field by its name, such as "vis.map.alpha"; None in a version of MuJoCo that lacks it."""
    found: Any = model
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _fields(model: MjModel, names: Iterable[str]) -> list[_Field]:
    found: list[_Field] = []
    for name in names:
        value = value_of(model, name)
        if value is None:
            continue
        if hasattr(value, "ctypes"):
            found.append(_Field(name, value.ctypes.data, value.nbytes))
        elif (offset := _offsets().get(name)) is not None:
            found.append(_Field(name, model.vis.headlight.ambient.ctypes.data + offset, _bytes_of(name)))
    return [field for field in found if field.size]


@cache
def _offsets() -> dict[str, int]:
    """Offsets of the scalar fields of `EFFECTS` from `vis.headlight.ambient`, bytes: found by changing each in a model
    of our own. Fields that are not found are left out."""
    probe, found = mujoco.MjModel.from_xml_string("<mujoco/>"), dict[str, int]()
    start = probe.vis.headlight.ambient.ctypes.data - BEFORE
    memory = np.frombuffer(_memory(start, BEFORE + AFTER), np.uint8)
    for name in EFFECTS:
        if not isinstance(value_of(probe, name), int | float):
            continue
        before, (path, _, last) = memory.copy(), name.rpartition(".")
        setattr(value_of(probe, path), last, PROBE)
        changed, size = np.flatnonzero(memory != before), _bytes_of(name)
        starts = set((changed - (start + changed) % size - BEFORE).tolist())
        if len(starts) == 1:
            found[name] = starts.pop()
    return found


def _memory(start: int, size: int) -> memoryview:
    return memoryview((ctypes.c_char * size).from_address(start)).cast("B")


def _bytes_of(name: str) -> int:
    return STATISTIC_BYTES if name.startswith("stat.") else VISUAL_BYTES


def _pieces_of(fields: list[_Field]) -> list[_Piece]:
    """Pieces of memory: one for fields that are close together, several for a long field."""
    pieces: list[_Piece] = []
    held: list[_Field] = []
    cut: list[_Field] = []
    for field in sorted(fields, key=lambda each: each.start):
        for begin in range(0, field.size, PIECE):
            cut.append(_Field(field.name, field.start + begin, min(PIECE, field.size - begin)))
    for number, field in enumerate(cut):
        held.append(field)
        following = cut[number + 1] if number + 1 < len(cut) else None
        end, first = field.start + field.size, held[0].start
        is_close = following is not None and following.start - end <= GAP
        if following is None or not is_close or following.start + following.size - first > PIECE:
            places = [(each.name, slice(each.start - first, each.start - first + each.size)) for each in held]
            pieces.append(_Piece(first, end - first, places))
            held = []
    return pieces
