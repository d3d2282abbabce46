"""This module converts MuJoCo's values to overlay content. The content is the texts, images and figures of a handle,
and the switches of an `mjvOption`.

Always: if all images or all figures together exceed a limit, only the first are shown, as many as the limit allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import InvalidType, InvalidValue, refusal, text_of
from twixt.ipc.interaction import overlay
from twixt.ipc.interaction.controls import Toggle
from twixt.ipc.interaction.overlay import (
    LARGEST_TEXT_SIZE,
    MOST_FIGURES,
    MOST_IMAGE_BYTES,
    MOST_IMAGES,
    PLACES,
    SMALLEST,
    FigureKind,
    OverlayFigure,
    OverlayImage,
    OverlayLine,
    OverlayText,
)
from twixt.ipc.scene.checks import items
from twixt.sim.array_arguments import array_of
from twixt.sim.engines.mujoco.model.geom_shapes import ShowOptions
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel, MjrRect, MjvFigure, MjvOption


# MuJoCo's font scale at which letters have the height of the overlay's letters.
OWN_FONT_PERCENT = 100
# Margins of an axis that is extended to its points. MARGIN_SHARE: margin of the y axis, as a fraction of the points'
# range. HALF_BAR: margin of the x axis, half the width of a bar.
MARGIN_SHARE, HALF_BAR = 0.05, 0.5


def overlay_texts(texts: Any) -> list[OverlayText]:
    """Converts the texts of `set_texts`. Each text has a font scale in percent, an mjtGridPos, and two columns of
    text. Raises TwixtError for invalid values."""
    found = []
    for font, grid, left, right in _tuples("set_texts", texts, "(font, gridpos, text1, text2)", 4):
        size = _whole("the font of a text", mujoco.mjtFontScale.mjFONTSCALE_150 if font is None else font)
        place = _whole("the gridpos of a text", 0 if grid is None else grid)
        if not 0 <= place < len(PLACES):
            raise InvalidValue(
                f"the gridpos of a text must be an mjtGridPos, 0 to {len(PLACES) - 1}, got {text_of(grid)}"
            )
        scale = min(max(size / OWN_FONT_PERCENT, SMALLEST), LARGEST_TEXT_SIZE)
        left, right = ("" if text is None else text for text in (left, right))
        found.append(OverlayText(PLACES[place], left, right, scale))
    return found


def overlay_images(images: Any) -> tuple[list[OverlayImage], int]:
    """Converts the images of `set_images`. Returns the converted images, and the number of omitted images. Raises
    ValueError, with MuJoCo's message, if the size of an image differs from the size of its rectangle. Raises
    TwixtError for invalid values."""
    given: list[tuple[MjrRect, NDArray[Any]]] = []
    for viewport, values in _tuples("set_images", images, "(viewport, image)", 2):
        _require_rect(viewport)
        image = array_of("the image of set_images", values)
        wanted, shape = (viewport.height, viewport.width), image.shape[:2]
        if shape != wanted:
            raise ValueError(f"Image shape {shape} does not match target shape {wanted}")
        if 0 not in wanted:
            given.append((viewport, image))
    found: list[OverlayImage] = []
    room = MOST_IMAGE_BYTES
    for viewport, pixels in given:
        if pixels.size > room or len(found) == MOST_IMAGES:
            break
        room -= pixels.size
        rect = viewport.left, viewport.bottom, viewport.width, viewport.height
        found.append(OverlayImage(rect, pixels.astype(np.uint8, copy=False)))
    return found, len(given) - len(found)


def overlay_figures_of(figures: Any) -> tuple[list[OverlayFigure], int]:
    """Converts the figures of `set_figures`. Returns the converted figures, and the number of omitted figures. Raises
    TwixtError for invalid values."""
    pairs = _tuples("set_figures", figures, "(viewport, figure)", 2)
    for viewport, figure in pairs:
        _require_rect(viewport)
        if not isinstance(figure, mujoco.MjvFigure):
            raise InvalidType(f"set_figures takes figures of the type mujoco.MjvFigure, got {text_of(figure)}")
    given = [(viewport, figure) for viewport, figure in pairs if viewport.width > 0 and viewport.height > 0]
    found: list[OverlayFigure] = []
    room = overlay.MOST_FIGURE_BYTES
    for viewport, figure in given:
        made = _figure_of(viewport, figure)
        room -= sum(line.points.nbytes for line in made.lines)
        if room < 0 or len(found) == MOST_FIGURES:
            break
        found.append(made)
    return found, len(given) - len(found)


def _tuples(call: str, given: Any, form: str, length: int) -> list[Any]:
    """Returns the argument `given` of the method `call` as a list. The argument is one tuple of the form `form`, or
    several such tuples."""
    rows = [given] if isinstance(given, tuple) else items(given)
    if rows is None or not all(isinstance(row, tuple | list) and len(row) == length for row in rows):
        raise InvalidType(f"{call} takes {form}, or a list of them, got {text_of(given)}")
    return list(rows)


def _whole(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        raise refusal(value, int, float)(f"{name} must be a whole number, got {text_of(value)}") from None


def _require_rect(viewport: Any) -> None:
    if not isinstance(viewport, mujoco.MjrRect):
        raise InvalidType(f"a viewport must be a mujoco.MjrRect, got {text_of(viewport)}")


def _figure_of(viewport: MjrRect, figure: MjvFigure) -> OverlayFigure:
    names, colors, numbers = figure.linename, np.clip(np.nan_to_num(figure.linergb), 0, 1).tolist(), figure.linedata
    lines = []
    for line, count in enumerate(figure.linepnt.tolist()):
        if count > 0:
            points = numbers[line, : 2 * min(count, len(numbers[line]) // 2)].reshape(-1, 2)
            lines.append(OverlayLine(points, names[line].decode(errors="replace"), tuple(colors[line])))
    all_points = np.concatenate([line.points for line in lines] or [np.zeros((0, 2))])
    x_range, y_range = (_range(figure, axis, all_points[:, axis]) for axis in (0, 1))
    rect = viewport.left, viewport.bottom, viewport.width, viewport.height
    kind: FigureKind = "bars" if figure.flg_barplot else "lines"
    return OverlayFigure(rect, lines, figure.title, figure.xlabel, x_range, y_range, kind, bool(figure.flg_legend))


def _range(figure: MjvFigure, axis: int, values: NDArray[Any]) -> tuple[float, float] | None:
    """Returns the range of an axis of a figure. `flg_extend` extends the range to the points. `flg_symmetric` centres
    the y axis at zero. Returns None if the figure has no range. The overlay then uses the range of the points."""
    low, high = figure.range[axis].tolist()
    if not low < high:
        return None
    if len(values) and figure.flg_extend:
        least, most = float(values.min()), float(values.max())
        more = MARGIN_SHARE * (most - least) if axis else HALF_BAR if figure.flg_barplot else 0.0
        low, high = min(low, least - more), max(high, most + more)
    if axis == 1 and figure.flg_symmetric:
        high = max(abs(low), abs(high))
        low = -high
    return low, high


# The overlay has switches for the flags of one `mjvOption`, for the groups of geoms and sites that the model uses, and
# for rendering flags of one `mjvScene`.
#
# Each flag or group has two copies of its value: the option, which the code may change, and the switch, which users
# may change. `exchange` compares both with their values at its last call. If the code has changed the option, the
# switch gets the option's value. Otherwise the option gets the switch's value.
#
# Always: a flag has a switch only if it has an effect in twixt and the model has objects of its kind.


# Name of the overlay's section that contains the switches.
SECTION = "show"
# Flags in the order of their switches. Each value is the name of the model's field that counts objects of the flag's
# kind. A value is None if every model has such objects.
FLAGS = {
    "CONTACTPOINT": None, "CONTACTFORCE": None, "CONTACTSPLIT": None, "TRANSPARENT": None, "JOINT": "njnt",
    "ACTUATOR": "nu", "ACTIVATION": "na", "TENDON": "ntendon", "CONSTRAINT": "neq", "INERTIA": None,
    "SCLINERTIA": None, "COM": None, "AUTOCONNECT": None, "CONVEXHULL": "nmesh", "TEXTURE": "ntex", "STATIC": None, "SKIN": "nskin",
    "FLEXSKIN": "nflex", "FLEXFACE": "nflex", "FLEXEDGE": "nflex", "CAMERA": "ncam", "LIGHT": "nlight", "RANGEFINDER": "nsensor",
    "PERTFORCE": None, "PERTOBJ": None, "SELECT": None, "ISLAND": None, "BODYBVH": None, "MESHBVH": "nmesh",
}  # fmt: skip
GROUPS = {"geomgroup": ("geoms", "geom_group"), "sitegroup": ("sites", "site_group")}


class HasFlags(Protocol):
    """An object with rendering flags (`mjtRndFlag`), such as an `mjvScene`."""

    flags: NDArray[np.uint8]


class ShowSwitches:
    """Switches for `opt` and `rendering`. offered: the switches, as controls of a view or a world. parts: current
    options for geoms and sites."""

    def __init__(self, model: MjModel, opt: MjvOption, rendering: HasFlags) -> None:
        self.opt, self.rendering, self._model = opt, rendering, model
        self.parts = self.parts_of(model)
        flags = [int(getattr(mujoco.mjtVisFlag, f"mjVIS_{flag}")) for flag in FLAGS if _has(model, flag)]
        found = [(_words(flag), flag) for flag in flags]
        start = len(opt.flags)
        for array, (things, groups) in GROUPS.items():
            used = np.unique(np.clip(getattr(model, groups), 0, len(getattr(opt, array)) - 1)).tolist()
            found += [(f"{things} of group {group}", start + group) for group in used]
            start += len(getattr(opt, array))
        if (model.tex_type == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX)).any():
            sky = int(mujoco.mjtRndFlag.mjRND_SKYBOX)
            found.append((str(mujoco.mjRNDSTRING[sky][0]).lower(), start + sky))
        self._places = [place for _, place in found]
        self._seen = self._values()
        self._offered_values = [
            self._seen[place] != 0 for place in self._places
        ]  # `_seen` stores these values, because each publish compares them with the current values
        self.offered = [
            Toggle(name, is_on, SECTION) for (name, _), is_on in zip(found, self._offered_values, strict=True)
        ]

    def exchange(self) -> bool:
        """Gives changed values of options to their switches, and changed values of switches to their options. Returns
        True if anything has changed since the last call."""
        now, seen = self._values(), self._seen
        if now == seen and [toggle.is_on for toggle in self.offered] == self._offered_values:
            return False
        for place, toggle in zip(self._places, self.offered, strict=True):
            if now[place] != seen[place]:
                toggle.value = now[place] != 0
            elif toggle.value != (seen[place] != 0):
                self._write(place, toggle.value)
        self._seen, self.parts = self._values(), self.parts_of(self._model)
        self._offered_values = [self._seen[place] != 0 for place in self._places]
        return True

    def parts_of(self, model: MjModel) -> ShowOptions:
        """Returns the `ShowOptions` of `model` with the current values."""
        return ShowOptions.of(self.opt, model, self.rendering.flags)

    def _values(self) -> bytes:
        opt = self.opt  # the values below are in the order of GROUPS
        groups = opt.geomgroup.tobytes() + opt.sitegroup.tobytes()
        return opt.flags.tobytes() + groups + self.rendering.flags.tobytes()  # type: ignore[no-any-return]

    def _write(self, place: int, is_on: bool) -> None:
        for array in (self.opt.flags, *(getattr(self.opt, name) for name in GROUPS), self.rendering.flags):
            if place < len(array):
                array[place] = is_on
                return
            place -= len(array)


def _has(model: MjModel, flag: str) -> bool:
    count = FLAGS[flag]
    return count is None or bool(getattr(model, count))


def _words(flag: int) -> str:
    """Returns the name of a flag. MuJoCo's own viewer has the same name."""
    return str(mujoco.mjVISSTRING[flag][0]).lower()
