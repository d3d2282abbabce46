"""Materials and sky of a model: its textures and how its surfaces shine, as twixt's.

The one idea: MuJoCo's renderer lays a texture along the object's x and y, or around it as a cube, and that is twixt's
rule too; what differs is the unit of its repetition. `texrepeat` counts over the whole object, or with `texuniform`
over two units of length, and always so along the sides of a plane that are infinite.

Always: each texture of a model is read once. A texture's own alpha is left out, as MuJoCo's renderer leaves it out where
a geom is opaque.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.shapes.material import CUBE_SIDES, MOST_SIDE_PX, SHARES, Material, Texture
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel

# MuJoCo's defaults. A material that has them shines as a surface without one.
DEFAULT_SPECULAR, DEFAULT_SHININESS = 0.5, 0.5
# Least repetition, for the zeros that a model may hold.
LEAST_REPEAT = 1e-6
# Longest side of a sky, px: every second pixel, or fewer, of a larger one. A scene carries six of them, once.
MOST_SKY_PX = 1024
# Arrays of a model that its materials are made of.
MATERIAL_ARRAYS = ("mat_rgba", "mat_texid", "mat_texrepeat", "mat_texuniform", "mat_specular", "mat_shininess",
                   "mat_emission")  # fmt: skip


class ModelMaterials:
    """Materials of one model, made when a geom first needs them."""

    def __init__(self, model: MjModel) -> None:
        self._model = model
        self._textures: dict[int, Texture] = {}

    def rgba(self, material: int) -> NDArray[np.float32]:
        """Colour of a material, a copy."""
        return np.array(self._model.mat_rgba[material])

    def of(self, material: int, plane_size: NDArray[np.float64] | None = None) -> Material | None:
        """Material number `material`; None for -1, and for one that looks as a surface without a material.

        plane_size: half the sides of a plane, metres, 0 where it is infinite; None for other geoms.
        """
        if material < 0:
            return None
        model, texture = self._model, self._texture(material)
        specular, shininess = float(model.mat_specular[material]), float(model.mat_shininess[material])
        emission = _share("emission", float(model.mat_emission[material]))
        is_plain = (specular, shininess, emission) == (DEFAULT_SPECULAR, DEFAULT_SHININESS, 0.0)
        if texture is None and is_plain:
            return None
        repeat = np.maximum(np.nan_to_num(model.mat_texrepeat[material].astype(np.float64)), LEAST_REPEAT)
        per_metre = bool(model.mat_texuniform[material])
        if plane_size is not None:
            has_ends = bool(((plane_size[:2] > 0) & (plane_size[:2] < np.inf)).all())
            if per_metre and has_ends:  # the texture begins at the plane's corner
                per_metre, repeat = False, repeat * plane_size[:2]
            elif not per_metre and not has_ends:
                per_metre, repeat = True, repeat / np.where(plane_size[:2] > 0, plane_size[:2], 1.0)
        x, y = (repeat / 2 if per_metre else repeat).tolist()
        roughness = _share("roughness", float(np.sqrt(0.25 * DEFAULT_SHININESS / max(shininess, 1e-3))))
        return Material(texture, (x, y), per_metre, roughness, _share("specular", specular), emission)

    @cached_property
    def sky(self) -> Texture | None:
        """What is behind everything; None without it."""
        skies = np.flatnonzero(self._model.tex_type == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX))
        return Texture(_z_up(_pixels(self._model, int(skies[0]), MOST_SKY_PX))) if len(skies) else None

    def _texture(self, material: int) -> Texture | None:
        number = int(self._model.mat_texid[material][int(mujoco.mjtTextureRole.mjTEXROLE_RGB)])
        if number < 0:
            return None
        if number not in self._textures:
            self._textures[number] = Texture(_pixels(self._model, number))
        return self._textures[number]


def _share(name: str, value: float) -> float:
    """A figure of a material, within twixt's bounds."""
    low, high = SHARES[name]
    return min(max(value, low), high) if value == value else low


def _pixels(model: MjModel, texture: int, most_px: int = MOST_SIDE_PX) -> NDArray[np.uint8]:
    """Pixels of a texture, (h, w, 3), or (6, h, h, 3) for a cube; every second one, or fewer, of one with longer sides."""
    height, width = int(model.tex_height[texture]), int(model.tex_width[texture])
    channels, start = int(model.tex_nchannel[texture]), int(model.tex_adr[texture])
    image: Any = model.tex_data[start : start + height * width * channels].reshape(height, width, channels)
    image = image[..., :3] if channels >= 3 else np.repeat(image[..., :1], 3, axis=2)
    if int(model.tex_type[texture]) != int(mujoco.mjtTexture.mjTEXTURE_2D):
        sides = CUBE_SIDES if height == CUBE_SIDES * width else 1
        image = np.broadcast_to(image.reshape(sides, width, width, 3), (CUBE_SIDES, width, width, 3))
    every = -(-max(image.shape[-3:-1]) // most_px)
    return np.asarray(image[..., ::every, ::every, :])


def _z_up(sides: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Sides of a cube, (6, h, h, 3), of which the third looks up, turned such that the fifth does."""
    right, left, up, down, near, far = sides
    turned = np.rot90(right), np.rot90(left, -1), np.rot90(far, 2), near, up, np.rot90(down, 2)
    return np.ascontiguousarray(turned)
