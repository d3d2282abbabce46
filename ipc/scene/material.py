"""Materials of shapes: an image on the surface, and its highlights. Immutable, checked when they are made.

The colour stays with the shape: `Box(size, RED, material)`. The image is multiplied by it; a shape with an image and
without a colour is white.

Always: an image is identified by the digest of its pixels. It is sent and uploaded once, and comparing two images
compares 16 bytes. pillow reads files and is imported only then; a viewer never reads one.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import text_of
from twixt.ipc.process.notices import print_notice
from twixt.ipc.scene.checks import SceneError, flag, lengths, number, paint_or_none, set_field

# Largest side of an image, px. One of 4096 x 4096 px takes 48 MiB of a scene's message, and 64 MiB on the GPU with its
# smaller copies.
MOST_SIDE_PX = 4096
# Largest image file that is read, bytes, and pixels of one: a small file may hold a huge image.
MOST_FILE_BYTES, MOST_FILE_PIXELS = 256 << 20, 1 << 27
SHRINK = f"shrink it to {MOST_SIDE_PX} px a side"
CHECKER_PX = 256
CUBE_SIDES = 6
SHARES = {"roughness": (0.05, 1.0), "specular": (0.0, 1.0), "emission": (0.0, 1.0)}


@dataclass(frozen=True)
class Texture:
    """An image for surfaces. pixels: (h, w, 3 or 4) u1, red, green, blue and alpha, the top row first.

    Or six square sides of a cube around the shape, (6, h, h, 3 or 4), towards +x, -x, +y, -y, +z, -z, as OpenGL lays
    them. Raises SceneError.
    """

    pixels: NDArray[np.uint8] = field(compare=False, repr=False)
    digest: bytes = field(init=False, repr=False, default=b"")

    def __init__(self, pixels: ArrayLike) -> None:
        set_field(self, "pixels", _image(pixels))
        content = hashlib.blake2b(repr(self.pixels.shape).encode(), digest_size=16)
        content.update(self.pixels.tobytes())
        set_field(self, "digest", content.digest())

    @staticmethod
    def checker(first: Any = (0.2, 0.3, 0.4), second: Any = (0.1, 0.2, 0.3), size_px: int = CHECKER_PX) -> Texture:
        """Two squares each way: `first` at the upper left and the lower right. Raises SceneError."""
        half = _side("Texture.checker: size_px", size_px) // 2
        colors = _colors("Texture.checker", first, second)
        return Texture(colors[np.kron([[0, 1], [1, 0]], np.ones((max(half, 1),) * 2, int))])

    @staticmethod
    def gradient(top: Any, bottom: Any, size_px: int = CHECKER_PX) -> Texture:
        """From one colour at the top to another at the bottom. Raises SceneError."""
        side = _side("Texture.gradient: size_px", size_px)
        upper, lower = _colors("Texture.gradient", top, bottom).astype(float)
        column = np.rint(np.linspace(upper, lower, side)).astype(np.uint8)
        return Texture(np.repeat(column[:, None], side, axis=1))

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Texture:
        """The image of a PNG, JPEG or other file that pillow reads, shrunk to `MOST_SIDE_PX` a side where it is larger,
        with one notice. Raises SceneError with the file's name."""
        return Texture(_pixels_of_file(path))

    @property
    def is_cube(self) -> bool:
        """True for six sides of a cube."""
        return self.pixels.ndim == 4

    @cached_property
    def mean_color(self) -> tuple[float, float, float]:
        """Mean of its pixels, red, green, blue, 0..1."""
        red, green, blue = (self.pixels[..., :3].reshape(-1, 3).mean(axis=0) / 255).tolist()
        return red, green, blue

    @property
    def has_alpha(self) -> bool:
        """True if some pixel is transparent."""
        return self.pixels.shape[-1] == 4 and bool(self.pixels[..., 3].min() < 255)

    def __repr__(self) -> str:
        return f"Texture({' x '.join(map(str, self.pixels.shape))})"


@dataclass(frozen=True)
class Material:
    """How a surface looks, beside its colour.

    texture: an image, times the shape's colour. repeat: how often the image is seen along the shape's x and y; with
    per_metre=True how often a metre, whatever the shape's size. A plane shows it from above, x to the right; a mesh by
    its `uv`, without `repeat`; other shapes as a plane at right angles to their z, or, with a cube, from all sides.
    roughness: width of the highlight, 0.05 (a mirror's point) to 1. specular: its strength, 0..1. emission: share of
    the colour that shines without light, 0..1. Raises SceneError.
    """

    texture: Texture | None = None
    repeat: tuple[float, float] = (1.0, 1.0)
    per_metre: bool = False
    roughness: float = 0.5
    specular: float = 0.5
    emission: float = 0.0

    def __post_init__(self) -> None:
        if self.texture is not None and not isinstance(self.texture, Texture):
            raise SceneError(
                f"Material.texture must be a Texture, such as Texture.checker(), or None, got {text_of(self.texture)}"
            )
        try:
            set_field(self, "repeat", lengths("Material.repeat", self.repeat, 2))
        except SceneError:
            raise SceneError(f"Material.repeat must be two finite numbers > 0, got {text_of(self.repeat)}") from None
        set_field(self, "per_metre", flag("Material.per_metre", self.per_metre))
        for name, (low, high) in SHARES.items():
            value = number(f"Material.{name}", getattr(self, name))
            if not low <= value <= high:
                raise SceneError(f"Material.{name} must be from {low:g} to {high:g}, got {text_of(value)}")
            set_field(self, name, value)


def material_or_none(name: str, material: Any) -> Material | None:
    """None, or the material. Raises SceneError for anything else."""
    if material is not None and not isinstance(material, Material):
        raise SceneError(f"{name} must be a Material, or None, got {text_of(material)}")
    return material


def _image(values: Any) -> NDArray[np.uint8]:
    """A read-only copy of an image's pixels."""
    rule = "Texture.pixels must be u1 of shape (h, w, 3), (h, w, 4), or (6, h, h, 3 or 4) for a cube"
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise SceneError(f"{rule}, got {type(values).__name__} ({error})") from None
    shape = array.shape
    is_cube = len(shape) == 4 and shape[0] == CUBE_SIDES and shape[1] == shape[2]
    if array.dtype != np.uint8 or not (len(shape) == 3 or is_cube) or shape[-1] not in (3, 4) or 0 in shape:
        raise SceneError(f"{rule}, got an array of shape {shape} and type {array.dtype}")
    if max(shape[-3:-1]) > MOST_SIDE_PX:
        raise SceneError(f"a texture has at most {MOST_SIDE_PX} px a side, got {shape[-3:-1]}; shrink the image")
    copied = np.array(array, np.uint8, order="C")
    copied.setflags(write=False)
    return copied


def _side(name: str, value: Any) -> int:
    side = number(name, value)
    if side != int(side) or not 1 <= side <= MOST_SIDE_PX:
        raise SceneError(f"{name} must be a whole number from 1 to {MOST_SIDE_PX}, got {text_of(value)}")
    return int(side)


def _colors(name: str, first: Any, second: Any) -> NDArray[np.uint8]:
    """Two colours as bytes, with alpha if one of them has it: (2, 3 or 4)."""
    found = [paint_or_none(f"{name}: a colour", color) for color in (first, second)]
    if None in found:
        raise SceneError(f"{name} takes two colours, (red, green, blue), each from 0 to 1, got None")
    rows = np.array([(*color, 1.0)[:4] for color in found if color is not None])
    rows = rows if any(color is not None and len(color) == 4 for color in found) else rows[:, :3]
    return np.rint(255 * rows).astype(np.uint8)


@cache
def _say_shrunk(file: str, had: str, has: str) -> None:
    """Prints once for each file that its image was shrunk."""
    print_notice(f"{file} has {had} px and is drawn as {has} px; a side has at most {MOST_SIDE_PX} px")


def _pixels_of_file(path: Any) -> NDArray[np.uint8]:
    try:
        file = Path(path)
    except TypeError:
        raise SceneError(f"Texture.from_file takes the path of a file, got {text_of(path)}") from None
    try:
        status = file.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SceneError(f"the image {file} cannot be opened: {reason}; check its name and folder") from None
    if not stat.S_ISREG(status.st_mode):
        raise SceneError(f"an image must be a file on a disk, got {file}; name a PNG or JPEG file")
    size = status.st_size
    if size > MOST_FILE_BYTES:
        raise SceneError(f"an image file has at most {MOST_FILE_BYTES >> 20} MiB, {file} has {size >> 20} MiB")
    try:
        from PIL import Image
    except ImportError:
        raise SceneError(f"{file} needs pillow to be read; install it with: pip install pillow") from None
    try:
        with Image.open(file) as image:
            width, height = image.size
            if width * height > MOST_FILE_PIXELS:
                raise SceneError(f"{file} has {width} x {height} pixels; {SHRINK}")
            has_alpha = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
            if max(image.size) > MOST_SIDE_PX:
                image.thumbnail((MOST_SIDE_PX, MOST_SIDE_PX))
                _say_shrunk(str(file), f"{width} x {height}", f"{image.width} x {image.height}")
            return np.asarray(image.convert("RGBA" if has_alpha else "RGB"), np.uint8)
    except SceneError:
        raise
    except MemoryError:
        raise SceneError(f"{file} does not fit into memory; shrink the image") from None
    except Image.DecompressionBombError:  # pillow's own limit, beyond which it reports no size
        raise SceneError(f"{file} has more than {MOST_FILE_PIXELS:,} pixels; {SHRINK}") from None
    except Exception as error:  # decoders raise any exception for a damaged file
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise SceneError(f"{file} cannot be read as an image ({reason}); save it again as PNG") from error
