"""A material of a shape defines the image on the surface, and the surface's highlights. A material is immutable, and
is checked when it is made.

A material has no colour. The colour is a field of the shape: `Box(size, RED, material)`. The image is multiplied by
the shape's colour. A shape with an image and without a colour is white.

Always: an image is identified by the digest of its pixels (16 bytes). So images are compared by their digests, and
each image is sent and uploaded only one time. The library pillow reads image files. It is imported only when a file is
read. A viewer never reads image files.
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

from twixt.ipc.errors import install_command, named_arguments, text_of
from twixt.ipc.process.notices import print_notice
from twixt.ipc.scene.checks import (
    COLOR_RANGE,
    SceneError,
    SceneTypeError,
    flag,
    lengths,
    number,
    paint_or_none,
    set_field,
)

# Largest width and height of an image, in px. An image of 4096 x 4096 px takes 48 MiB in a scene's message. Together
# with its smaller copies (mipmaps), the image takes 64 MiB on the GPU.
MOST_SIDE_PX = 4096
# Size of the largest image file that is read, in bytes, and largest number of pixels in its image. The number of
# pixels has its own limit, because a small file may contain a huge image.
MOST_FILE_BYTES, MOST_FILE_PIXELS = 256 << 20, 1 << 27
SHRINK = f"shrink it to {MOST_SIDE_PX} px a side"
CHECKER_PX = 256
CUBE_SIDES = 6
SHARES = {"roughness": (0.05, 1.0), "specular": (0.0, 1.0), "emission": (0.0, 1.0)}


@named_arguments
@dataclass(frozen=True)
class Texture:
    """An image for surfaces.

    A cube texture has six square images. The images are the sides of a cube around the shape, towards +x, -x, +y, -y,
    +z, -z. Each image is oriented as in OpenGL's cube maps. For an example see `Material`.

    Args:
        pixels: Array of shape (h, w, 3 or 4) and dtype uint8, the top row first. Each pixel has red, green, blue and
            possibly alpha. For a cube texture, the array has the shape (6, h, h, 3 or 4). Width and height are at most
            4096 px. The array is copied.

    Raises:
        TwixtError: The array is invalid. The error is also a ValueError.
    """

    pixels: NDArray[np.uint8] = field(compare=False, repr=False)
    digest: bytes = field(init=False, repr=False, default=b"")

    def __init__(self, pixels: ArrayLike) -> None:
        set_field(self, "pixels", _image(pixels))
        content = hashlib.blake2b(repr(self.pixels.shape).encode(), digest_size=16)
        content.update(self.pixels.tobytes())
        set_field(self, "digest", content.digest())

    @staticmethod
    @named_arguments
    def checker(
        first: ArrayLike = (0.2, 0.3, 0.4), second: ArrayLike = (0.1, 0.2, 0.3), size_px: int = CHECKER_PX
    ) -> Texture:
        """Returns a checkerboard of two by two squares.

        Args:
            first: Colour of the upper left and the lower right square: red, green, blue and possibly alpha, each from
                0 to 1, or np.uint8 from 0 to 255.
            second: Colour of the other two squares, as for `first`.
            size_px: Width and height of the image, in px, from 1 to 4096. `size_px` is rounded to an even number.

        Returns:
            The texture.

        Raises:
            TwixtError: An argument is invalid. The error is also a ValueError.
        """
        half = _side("Texture.checker: size_px", size_px) // 2
        colors = _colors("Texture.checker", first, second)
        return Texture(colors[np.kron([[0, 1], [1, 0]], np.ones((max(half, 1),) * 2, int))])

    @staticmethod
    @named_arguments
    def gradient(top: ArrayLike, bottom: ArrayLike, size_px: int = CHECKER_PX) -> Texture:
        """Returns an image whose colour changes from `top` to `bottom`.

        Args:
            top: Colour of the top row: red, green, blue and possibly alpha, each from 0 to 1, or np.uint8 from 0 to
                255.
            bottom: Colour of the bottom row, as for `top`.
            size_px: Width and height of the image, in px, from 1 to 4096.

        Returns:
            The texture.

        Raises:
            TwixtError: An argument is invalid. The error is also a ValueError.
        """
        side = _side("Texture.gradient: size_px", size_px)
        upper, lower = _colors("Texture.gradient", top, bottom).astype(float)
        column = np.rint(np.linspace(upper, lower, side)).astype(np.uint8)
        return Texture(np.repeat(column[:, None], side, axis=1))

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Texture:
        """Returns the image of a PNG file, a JPEG file, or another file that pillow can read.

        Args:
            path: The file. If the width or the height of its image is larger than 4096 px, the image is shrunk and a
                notice is printed.

        Returns:
            The texture.

        Raises:
            TwixtError: The file cannot be read, or pillow is not installed. The error is also a ValueError.
        """
        return Texture(_pixels_of_file(path))

    @property
    def is_cube(self) -> bool:
        """True if the texture has the six sides of a cube."""
        return self.pixels.ndim == 4

    @cached_property
    def mean_color(self) -> tuple[float, float, float]:
        """Mean colour of the pixels as red, green and blue, each from 0 to 1."""
        red, green, blue = (self.pixels[..., :3].reshape(-1, 3).mean(axis=0) / 255).tolist()
        return red, green, blue

    @property
    def has_alpha(self) -> bool:
        """True if at least one pixel is not opaque."""
        return self.pixels.shape[-1] == 4 and bool(self.pixels[..., 3].min() < 255)

    def __repr__(self) -> str:
        return f"Texture({' x '.join(map(str, self.pixels.shape))})"


@named_arguments
@dataclass(frozen=True)
class Material:
    """Appearance of a surface, except its colour.

    Args:
        texture: An image. The image's colours are multiplied by the shape's colour. On a plane, the image is upright
            if you look at the front with x to the right. On a mesh, `uv` places the image. On other shapes, the image
            is projected along the shape's z axis. A cube texture surrounds these other shapes on all sides.
        repeat: Number of times that the image is repeated along the shape's x and y axes, > 0. `repeat` has no effect
            on a mesh.
        per_metre: If True, `repeat` is the number of times per metre, whatever the shape's size.
        roughness: Width of the highlight, from 0.05 (a point, as on a mirror) to 1.
        specular: Strength of the highlight, from 0 to 1.
        emission: Fraction of the colour that is visible without light, from 0 to 1.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError.

    Examples:
        ```python
        from twixt import Box, Material, Plane, Scene, Texture

        tiles = Material(Texture.checker(), repeat=(10, 10))
        scene = Scene([Plane((10, 10), material=tiles), Box(color=(1, 0.4, 0.1), material=Material(roughness=0.1))])
        ```
    """

    texture: Texture | None = None
    repeat: tuple[float, float] = (1.0, 1.0)
    per_metre: bool = False
    roughness: float = 0.5
    specular: float = 0.5
    emission: float = 0.0

    def __init__(
        self,
        texture: Texture | None = None,
        repeat: ArrayLike = (1.0, 1.0),
        per_metre: bool = False,
        roughness: float = 0.5,
        specular: float = 0.5,
        emission: float = 0.0,
    ) -> None:
        if texture is not None and not isinstance(texture, Texture):
            raise SceneTypeError(
                f"Material.texture must be a Texture, such as Texture.checker(), or None, got {text_of(texture)}"
            )
        set_field(self, "texture", texture)
        try:
            set_field(self, "repeat", lengths("Material.repeat", repeat, 2))
        except SceneError:
            raise SceneError(f"Material.repeat must be two finite numbers > 0, got {text_of(repeat)}") from None
        set_field(self, "per_metre", flag("Material.per_metre", per_metre))
        for name, given in (("roughness", roughness), ("specular", specular), ("emission", emission)):
            low, high = SHARES[name]
            value = number(f"Material.{name}", given)
            if not low <= value <= high:
                raise SceneError(f"Material.{name} must be from {low:g} to {high:g}, got {text_of(value)}")
            set_field(self, name, value)


def material_or_none(name: str, material: Any) -> Material | None:
    """Returns `material`, which is a Material or None. Raises SceneError for anything else."""
    if material is not None and not isinstance(material, Material):
        raise SceneTypeError(f"{name} must be a Material, or None, got {text_of(material)}")
    return material


def _image(values: Any) -> NDArray[np.uint8]:
    """Returns a read-only copy of an image's pixels."""
    rule = "Texture.pixels must be u1 of shape (h, w, 3), (h, w, 4), or (6, h, h, 3 or 4) for a cube"
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise SceneTypeError(f"{rule}, got {type(values).__name__} ({error})") from None
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
    """Returns two colours as bytes, in an array of shape (2, 3). If one of the colours has an alpha, the shape is (2,
    4)."""
    found = [paint_or_none(f"{name}: a colour", color) for color in (first, second)]
    if None in found:
        raise SceneError(f"{name} takes two colours, (red, green, blue), each {COLOR_RANGE}, got None")
    rows = np.array([(*color, 1.0)[:4] for color in found if color is not None])
    rows = rows if any(color is not None and len(color) == 4 for color in found) else rows[:, :3]
    return np.rint(255 * rows).astype(np.uint8)


@cache
def _say_shrunk(file: str, had: str, has: str) -> None:
    """Prints that the image of a file was shrunk. This is printed only one time for each file."""
    print_notice(f"{file} has {had} px and is drawn as {has} px; a side has at most {MOST_SIDE_PX} px")


def _pixels_of_file(path: Any) -> NDArray[np.uint8]:
    try:
        file = Path(path)
    except TypeError:
        raise SceneTypeError(f"Texture.from_file takes the path of a file, got {text_of(path)}") from None
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
        raise SceneError(f"{file} needs pillow to be read; install it with: {install_command('PIL')}") from None
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
    except Image.DecompressionBombError:  # the image exceeds pillow's own limit, so pillow does not report its size
        raise SceneError(f"{file} has more than {MOST_FILE_PIXELS:,} pixels; {SHRINK}") from None
    except Exception as error:  # decoders raise any exception for a damaged file
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise SceneError(f"{file} cannot be read as an image ({reason}); save it again as PNG") from error
