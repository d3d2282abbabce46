"""A program can show texts, images and figures over the picture in its viewers.

Texts are sent in the program's status messages, at most five times a second. Images and figures are sent in separate
messages. A viewer that attaches late receives the latest texts, images and figures.

Always: values are checked when they are made. A text is cut after `LONGEST_TEXT` characters. Only the first
`MOST_TEXTS` texts are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidType, InvalidValue, TwixtError, named_arguments, refusal, text_of
from twixt.ipc.process.renamed import FormerArgument, FormerAttribute, former_arguments, former_attributes
from twixt.ipc.scene.checks import Color, color_or_none, items, set_field

# Places of a text. The order is that of MuJoCo's mjtGridPos.
PLACES = ("top left", "top right", "bottom left", "bottom right", "top", "bottom", "left", "right")
LONGEST_TEXT, MOST_TEXTS = 1000, 32
SMALLEST, LARGEST_TEXT_SIZE = 0.25, 8.0


# Former names of the columns of an OverlayText.
FORMER_COLUMNS = {"left": "text", "right": "value"}


@former_attributes(FORMER_COLUMNS)
@former_arguments(FORMER_COLUMNS)
@named_arguments
@dataclass(frozen=True)
class OverlayText:
    r"""Text over the picture, for `View.set_texts`.

    A text is cut after 1000 characters.

    Args:
        place: "top left", "top right", "bottom left", "bottom right", "top", "bottom", "left" or "right".
        text: Text of the left column, with newlines between lines. It may be empty.
        value: Text of the right column, with newlines between lines. It may be empty.
        size: Size of the letters as a multiple of the overlay's usual size, from 0.25 to 8.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError or a TypeError.

    Examples:
        ```python
        from twixt import OverlayText

        score = OverlayText("top right", "level\nscore", "3\n1200", size=2)
        ```
    """

    place: str = PLACES[0]
    text: str = ""
    value: str = ""
    size: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.place, str) or self.place not in PLACES:
            raise refusal(self.place, str)(
                f"the place of a text must be one of {', '.join(PLACES)}, got {text_of(self.place)[:40]}"
            )
        for name in ("text", "value"):
            text = getattr(self, name)
            if not isinstance(text, str):
                raise InvalidType(f"OverlayText.{name} must be text, got {text_of(text)[:40]}")
            set_field(self, name, text[:LONGEST_TEXT])
        is_number = isinstance(self.size, int | float) and not isinstance(self.size, bool)
        if not is_number or not SMALLEST <= self.size <= LARGEST_TEXT_SIZE:
            raise refusal(self.size, int, float)(
                f"size of a text must be from {SMALLEST:g} to {LARGEST_TEXT_SIZE:g}, got {text_of(self.size)[:40]}"
            )


def checked_texts(name: str, texts: Any) -> list[OverlayText]:
    """Returns the given texts as a list. A single text is accepted. name: the function that the user called; the error
    message names it. Raises TwixtError if `texts` is anything else."""
    found = items(texts)
    for text in (texts,) if found is None else found:
        if not isinstance(text, OverlayText):
            raise InvalidType(f"{name} takes a list of OverlayText, got {text_of(text)[:40]}")
    return [texts] if found is None else list(found)


def texts_as_message(texts: Iterable[OverlayText]) -> list[list[Any]]:
    """Returns the first `MOST_TEXTS` texts as values that JSON can encode. `texts_from_message` reads these values."""
    return [[text.place, text.text, text.value, text.size] for text in texts][:MOST_TEXTS]


def texts_from_message(values: Any) -> tuple[OverlayText, ...]:
    """Returns the texts that `texts_as_message` encoded. Raises TwixtError for any other values."""
    if not isinstance(values, list) or len(values) > MOST_TEXTS:
        raise TwixtError(f"texts must be a list of at most {MOST_TEXTS}, got {type(values).__name__}")
    try:
        return tuple(OverlayText(*value) for value in values)
    except TypeError as error:
        raise TwixtError(f"a text must be a list of place, two texts and a size ({error})") from error


# Each image fills a rectangle of the window. Always: the pixels of all images together have at most
# `MOST_IMAGE_BYTES`, so that a viewer receives all images within a second.

# Largest number of images at one time, and largest number of bytes of all their pixels together. A viewer reads 256
# KiB in each frame.
MOST_IMAGES, MOST_IMAGE_BYTES = 32, 8 << 20
# Largest magnitude of a number in a rectangle, in pixels.
LARGEST_PX = 1 << 20
CHANNELS = 3

# left edge, bottom edge, width and height in pixels; edges are measured from the window's lower left corner
Rect = tuple[int, int, int, int]


@named_arguments
@dataclass(frozen=True, eq=False)
class OverlayImage:
    """An image over the picture, for `View.set_images`.

    Args:
        rect: Left edge, bottom edge, width and height in pixels of the window. The edges are measured from the
            window's lower left corner. The image is stretched to this rectangle.
        pixels: Array of shape (rows, columns, 3) and dtype uint8, the top row first, at most 8 MiB. The array is not
            copied.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError.

    Examples:
        ```python
        import numpy as np
        from twixt import OverlayImage

        camera_picture = OverlayImage((10, 10, 160, 120), np.zeros((60, 80, 3), np.uint8))
        ```
    """

    rect: Rect
    pixels: NDArray[np.uint8]

    def __init__(self, rect: Iterable[int], pixels: ArrayLike) -> None:
        set_field(self, "rect", checked_rect("rect of an image", rect))
        found = np.asarray(pixels)
        if found.dtype != np.uint8 or found.ndim != 3 or found.shape[2] != CHANNELS or 0 in found.shape:
            raise InvalidValue(
                f"pixels of an image must be uint8 (rows, columns, 3), got {found.dtype} {found.shape}; "
                "for numbers from 0 to 1: (255 * pixels).astype('uint8')"
            )
        if found.nbytes > MOST_IMAGE_BYTES:
            raise InvalidValue(
                f"an image may have {MOST_IMAGE_BYTES:,} bytes of pixels, got {found.nbytes:,}; make it smaller"
            )
        set_field(self, "pixels", found)


def checked_rect(name: str, rect: Any) -> Rect:
    """Returns `rect` as four whole numbers of pixels. Raises TwixtError for any other value, and if the width or the
    height is not > 0."""
    try:
        left, bottom, width, height = (int(length) if length == int(length) else None for length in rect)
    except (TypeError, ValueError, OverflowError):
        left = bottom = width = height = None
    if left is None or bottom is None or width is None or height is None or width <= 0 or height <= 0:
        raise InvalidValue(f"{name} must be left, bottom, width, height in whole pixels, got {text_of(rect)[:60]}")
    if max(abs(left), abs(bottom), width, height) > LARGEST_PX:
        raise InvalidValue(f"{name} must have numbers up to {LARGEST_PX}, got {text_of(rect)[:60]}")
    return left, bottom, width, height


def checked_images(name: str, images: Any) -> list[OverlayImage]:
    """Returns the given images as a list. A single image is accepted. name: the function that the user called; the
    error message names it. Raises TwixtError if `images` is anything else, and for too many images or bytes."""
    found = list(images) if isinstance(images, Iterable) else [images]
    for image in found:
        if not isinstance(image, OverlayImage):
            raise InvalidType(f"{name} takes a list of OverlayImage, got {text_of(image)[:40]}")
    if len(found) > MOST_IMAGES or (size := sum(image.pixels.nbytes for image in found)) > MOST_IMAGE_BYTES:
        got = f"{len(found)} images" if len(found) > MOST_IMAGES else f"{size:,} bytes"
        raise InvalidValue(
            f"{name} takes {MOST_IMAGES} images and {MOST_IMAGE_BYTES:,} bytes of pixels at most, got {got}"
        )
    return found


def images_as_message(images: Iterable[OverlayImage]) -> tuple[dict[str, Any], bytes]:
    """Returns the fields and the raw bytes of a message with these images. `images_from_message` reads both."""
    shown = list(images)
    fields = {"images": [[*image.rect, *image.pixels.shape[:2]] for image in shown]}
    return fields, b"".join(image.pixels.tobytes() for image in shown)


def images_from_message(fields: dict[str, Any], raw: bytes) -> tuple[OverlayImage, ...]:
    """Returns the images that `images_as_message` encoded. Their pixel arrays are views of `raw`. Raises TwixtError
    for any other message."""
    rows = fields.get("images")
    if not isinstance(rows, list) or len(rows) > MOST_IMAGES:
        raise TwixtError(f"images must be a list of at most {MOST_IMAGES}, got {type(rows).__name__}")
    found, start = [], 0
    for row in rows:
        if not (isinstance(row, list) and len(row) == 6 and all(type(length) is int for length in row)):
            raise TwixtError(f"an image must be a list of six whole numbers, got {text_of(row)[:60]}")
        *rect, height, width = row
        end = start + height * width * CHANNELS
        if not (0 < height <= LARGEST_PX and 0 < width <= LARGEST_PX and end <= len(raw)):
            raise TwixtError(f"an image of {height} x {width} pixels came with {len(raw) - start} bytes")
        pixels = np.frombuffer(raw, np.uint8, end - start, start)
        found.append(OverlayImage(rect, pixels.reshape(height, width, CHANNELS)))
        start = end
    return tuple(found)


# A figure shows lines or bars with axes. Each figure fills a rectangle of the window. Always: points that are not
# finite are left out. All points together take at most `MOST_FIGURE_BYTES`. Texts are cut after `LONGEST_FIGURE_TEXT`
# characters.

# Largest number of figures at one time, of lines in one figure, and of bytes for the points of all figures together.
MOST_FIGURES, MOST_LINES, MOST_FIGURE_BYTES = 16, 100, 4 << 20
LONGEST_FIGURE_TEXT = 100
# Largest magnitude of a coordinate. For larger coordinates a figure could not label its axes readably.
LARGEST = 1e30

Range = tuple[float, float]
FigureKind = Literal["lines", "bars"]
KINDS: tuple[FigureKind, ...] = get_args(FigureKind)


@named_arguments
@dataclass(frozen=True, eq=False)
class OverlayLine:
    """A line of an `OverlayFigure`.

    Args:
        points: Array of shape (n, 2) with x and y of each point. Points that are not finite are left out.
        name: The line's name in the legend. If the name is empty, the legend has no entry for the line.
        color: (red, green, blue), each from 0 to 1, or np.uint8 from 0 to 255. If `color` is None, the line has a
            colour that differs from the colours of the neighbouring lines.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError.
    """

    points: NDArray[np.float64]
    name: str = ""
    color: Color | None = None

    def __init__(self, points: ArrayLike, name: str = "", color: ArrayLike | None = None) -> None:
        try:
            found = np.array(points, np.float64)
        except (TypeError, ValueError):
            found = np.zeros(0)
        if found.ndim != 2 or found.shape[1] != 2:
            raise InvalidValue(f"points of a line must be numbers (n, 2), got shape {np.shape(found)}")
        set_field(self, "points", found[(np.abs(found) <= LARGEST).all(axis=1)])
        set_field(self, "name", _checked_text("name of a line", name))
        set_field(self, "color", color_or_none("color of a line", color))


def _kind_of(are_bars: Any, _others: Mapping[str, Any]) -> FigureKind:
    """The kind that the former argument `are_bars` stood for."""
    return "bars" if are_bars else "lines"


@former_attributes({"are_bars": FormerAttribute('OverlayFigure.kind == "bars"', lambda figure: figure.kind == "bars")})
@former_arguments({"are_bars": FormerArgument("kind", 'kind="bars"', _kind_of)})
@named_arguments
@dataclass(frozen=True, eq=False)
class OverlayFigure:
    """A figure over the picture: lines or bars with axes, for `View.set_figures`.

    For values that change over time, `View.plot` is simpler.

    Args:
        rect: Left edge, bottom edge, width and height in pixels of the window. The edges are measured from the
            window's lower left corner.
        lines: The lines, at most 100.
        title: Text above the figure. It may be empty.
        x_label: Text below the x axis. It may be empty.
        x_range: Range of the x axis, (low, high). If it is None, the axis covers the range of the points.
        y_range: Range of the y axis, as for `x_range`.
        kind: "lines" to join the points by lines, "bars" to draw each point as a bar.
        has_legend: True to show the names of the lines.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError or a TypeError.

    Examples:
        ```python
        import numpy as np
        from twixt import OverlayFigure, OverlayLine

        x = np.linspace(0, 6, 100)
        sine = OverlayLine(np.stack([x, np.sin(x)], axis=1), "sine")
        figure = OverlayFigure((10, 10, 300, 200), [sine], title="waves")
        ```
    """

    rect: Rect
    lines: Sequence[OverlayLine]
    title: str = ""
    x_label: str = ""
    x_range: Range | None = None
    y_range: Range | None = None
    kind: FigureKind = "lines"
    has_legend: bool = True

    def __post_init__(self) -> None:
        set_field(self, "rect", checked_rect("rect of a figure", self.rect))
        lines = tuple(self.lines) if isinstance(self.lines, Iterable) else (self.lines,)
        if len(lines) > MOST_LINES or not all(isinstance(line, OverlayLine) for line in lines):
            raise InvalidType(
                f"lines of a figure must be at most {MOST_LINES} OverlayLine, got {text_of(self.lines)[:40]}"
            )
        set_field(self, "lines", lines)
        for name in ("title", "x_label"):
            set_field(self, name, _checked_text(f"{name} of a figure", getattr(self, name)))
        for name in ("x_range", "y_range"):
            set_field(self, name, _checked_range(f"{name} of a figure", getattr(self, name)))
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise InvalidValue(f'kind of a figure must be "lines" or "bars", got {text_of(self.kind)[:40]}')
        set_field(self, "has_legend", bool(self.has_legend))


def checked_figures(name: str, figures: Any) -> list[OverlayFigure]:
    """Returns the given figures as a list. A single figure is accepted. name: the function that the user called; the
    error message names it. Raises TwixtError if `figures` is anything else, and for too many figures or points."""
    found = list(figures) if isinstance(figures, Iterable) else [figures]
    for figure in found:
        if not isinstance(figure, OverlayFigure):
            raise InvalidType(f"{name} takes a list of OverlayFigure, got {text_of(figure)[:40]}")
    size = sum(line.points.nbytes for figure in found for line in figure.lines)
    if len(found) > MOST_FIGURES or size > MOST_FIGURE_BYTES:
        most = f"{MOST_FIGURES} figures and {MOST_FIGURE_BYTES // 16:,} points"
        raise InvalidValue(f"{name} takes {most} at most, got {len(found)} and {size // 16:,}")
    return found


def figures_as_message(figures: Iterable[OverlayFigure]) -> tuple[dict[str, Any], bytes]:
    """Returns the fields and the raw bytes of a message with these figures. `figures_from_message` reads both."""
    shown = list(figures)
    fields = {
        "figures": [
            [
                figure.rect, figure.title, figure.x_label, figure.x_range, figure.y_range, figure.kind,
                figure.has_legend, [[line.name, line.color, len(line.points)] for line in figure.lines],
            ]
            for figure in shown
        ]
    }  # fmt: skip
    return fields, b"".join(line.points.tobytes() for figure in shown for line in figure.lines)


def figures_from_message(fields: dict[str, Any], raw: bytes) -> tuple[OverlayFigure, ...]:
    """Returns the figures that `figures_as_message` encoded. Raises TwixtError for any other message."""
    rows = fields.get("figures")
    if not isinstance(rows, list) or len(rows) > MOST_FIGURES or len(raw) % 16:
        raise TwixtError(f"figures must be a list of at most {MOST_FIGURES}, got {type(rows).__name__}")
    points, start, found = np.frombuffer(raw).reshape(-1, 2), 0, []
    for row in rows:
        try:
            *values, given = row
            lines = []
            for name, color, count in given:
                if type(count) is not int or not 0 <= count <= len(points) - start:
                    raise TwixtError(f"a line of {text_of(count)[:20]} points came with {len(points) - start}")
                lines.append(OverlayLine(points[start : start + count], name, color))
                start += count
            rect, title, x_label, x_range, y_range, kind, has_legend = values
            found.append(OverlayFigure(rect, lines, title, x_label, x_range, y_range, kind, has_legend))
        except (TypeError, ValueError) as error:
            raise TwixtError(f"a figure came that is damaged ({str(error)[:100]})") from error
    return tuple(found)


def _checked_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be text, got {text_of(value)[:40]}")
    return value[:LONGEST_FIGURE_TEXT]


def _checked_range(name: str, value: Any) -> Range | None:
    if value is None:
        return None
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if not -LARGEST <= low < high <= LARGEST:
        raise InvalidValue(f"{name} must be two numbers, the lower one first, got {text_of(value)[:40]}")
    return low, high
