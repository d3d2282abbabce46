"""Materials of a scene in its message: a table of the distinct ones, and the pixels of their textures.

A shape's entry names a row of the table. A texture's entry has its shape and digest. A viewer that has a texture of that
digest from the scene before uses it again, and its pixels do not come. Others' come in the order of the textures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.shapes.material import CUBE_SIDES, MOST_SIDE_PX, Material, Texture
from twixt.ipc.shapes.shape_checks import SceneError

# Distinct materials of a scene, and distinct textures: each is a draw call of each kind of shape that has it.
MOST_MATERIALS, MOST_TEXTURES = 1024, 256
# Arrays of meshes and pixels of textures, by digest.
Contents = dict[bytes, list[NDArray[Any]]]
FIGURES = ("repeat", "per_metre", "roughness", "specular", "emission")


class PackedMaterials:
    """Gathers the materials of shapes."""

    def __init__(self) -> None:
        self._materials: dict[Material, int] = {}
        self._textures: dict[Texture, int] = {}

    def row(self, material: Material | None) -> int | None:
        """Row of a material in the table. Raises SceneError for too many."""
        if material is None:
            return None
        row = self._materials.setdefault(material, len(self._materials))
        if material.texture is not None:
            self._textures.setdefault(material.texture, len(self._textures))
        if row >= MOST_MATERIALS or len(self._textures) > MOST_TEXTURES:
            raise SceneError(
                f"a scene holds at most {MOST_MATERIALS:,} distinct materials and {MOST_TEXTURES} textures; "
                "share them between shapes, and vary the shapes' `color`"
            )
        return row

    def head(self) -> dict[str, Any]:
        """Entries of the scene's JSON head."""
        textures = [{"shape": one.pixels.shape, "digest": one.digest.hex()} for one in self._textures]
        materials = [
            {name: getattr(one, name) for name in FIGURES}
            | {"texture": None if one.texture is None else self._textures[one.texture]}
            for one in self._materials
        ]
        return {"materials": materials, "textures": textures}

    @property
    def contents(self) -> Contents:
        """Pixels of the textures."""
        return {texture.digest: [texture.pixels] for texture in self._textures}


def unpacked_materials(
    head: Mapping[str, Any], packed: bytes, offset: int, known: Iterable[Material]
) -> tuple[list[Material], int]:
    """The table of materials, and where their pixels end in `packed`.

    known: materials whose textures are not in `packed`. Raises what reading damaged entries raises, as `unpacked_shapes`.
    """
    if len(head["materials"]) > MOST_MATERIALS or len(head["textures"]) > MOST_TEXTURES:
        raise SceneError(f"a scene came with {len(head['materials'])} materials and {len(head['textures'])} textures")
    by_digest = {one.texture.digest: one.texture for one in known if one.texture is not None}
    textures: list[Texture] = []
    for entry in head["textures"]:
        shape, digest = _checked_shape(entry["shape"]), bytes.fromhex(entry["digest"])
        texture = by_digest.get(digest)
        if texture is None:
            size = math.prod(shape)
            if offset + size > len(packed):
                raise SceneError("a scene came without all pixels of its textures")
            texture = Texture(np.frombuffer(packed, np.uint8, size, offset).reshape(shape))
            offset += size
        if texture.digest != digest or texture.pixels.shape != shape:
            raise SceneError("a scene came with a texture whose digest is another's")
        textures.append(texture)
    materials = []
    for entry in head["materials"]:
        row = entry["texture"]
        if row is not None and not 0 <= row < len(textures):
            raise SceneError(f"a scene of {len(textures)} textures came with a material of another")
        materials.append(Material(None if row is None else textures[row], **{name: entry[name] for name in FIGURES}))
    return materials, offset


def _checked_shape(shape: Any) -> tuple[int, ...]:
    """The shape of a texture's pixels, checked before anything is read. Raises SceneError."""
    is_whole = isinstance(shape, list) and all(type(side) is int and 1 <= side <= MOST_SIDE_PX for side in shape)
    if not is_whole or not (len(shape) == 3 or (len(shape) == 4 and shape[0] == CUBE_SIDES)):
        raise SceneError("a scene came with a texture of a shape that is none")
    return tuple(shape)
