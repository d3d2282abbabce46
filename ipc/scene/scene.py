"""The scene of a world has everything that does not change with every step.

A scene has the shapes and the colours of the bodies, the camera, the ground, the light, the parents of bodies, and the
rules for drawing groups and columns. A scene is published at the start, and again with a new version after each
change. A viewer that attaches late receives the newest version. Parents and shapes apply only to snapshots that were
published with this scene. All other fields apply as soon as the scene arrives.
Shapes are stored as a table of the distinct shapes and one index per body.

Always: a `Scene` that exists is valid; an invalid scene raises SceneError. A scene does not know the number of bodies;
`check_bodies` checks indices against this number.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import named_arguments, text_of
from twixt.ipc.process.renamed import FormerArgument, FormerAttribute, former_arguments, former_attributes
from twixt.ipc.scene.camera import Camera, check_camera
from twixt.ipc.scene.checks import (
    COLOR_RANGE,
    LONGEST_LABEL,
    Color,
    SceneError,
    SceneTypeError,
    Vector,
    color_or_none,
    flag,
    items,
    number,
    set_field,
    vector,
)
from twixt.ipc.scene.groups import (
    ColorBy,
    Group,
    check_columns,
    check_groups,
    check_parents,
    rows_of_groups,
    rows_of_parents,
)
from twixt.ipc.scene.material import Texture
from twixt.ipc.scene.scene_message import PackedScene, packed_fields, unpacked_fields
from twixt.ipc.scene.shape_list import ShapeList
from twixt.ipc.scene.shapes import Shape, shapes_of

LOOKS = ("lit", "flat", "unlit")
# Largest brightness of a scene. With a larger brightness, everything would be white.
MOST_BRIGHTNESS = 4.0
# Default of parents, groups and columns. It is never changed.
NOTHING: Mapping[Any, Any] = MappingProxyType({})


def _look_of(unlit: Any, _others: Mapping[str, Any]) -> str:
    """The look that the former argument `unlit` stood for."""
    return "unlit" if flag("Scene(unlit)", unlit) else "lit"


FORMER_ATTRIBUTES: dict[str, str | FormerAttribute] = {
    "ground": "ground_z",
    "unlit": FormerAttribute('Scene.look == "unlit"', lambda scene: scene.look == "unlit"),
    "is_plain": FormerAttribute('Scene.look != "lit"', lambda scene: scene.look != "lit"),
    "is_outlined": FormerAttribute('Scene.look == "flat"', lambda scene: scene.look == "flat"),
    "packed": FormerAttribute("packed_scene(scene)", lambda scene: partial(packed_scene, scene)),
    "to_bytes": FormerAttribute("packed_scene(scene).to_bytes()", lambda scene: packed_scene(scene).to_bytes),
    "with_camera": FormerAttribute("with_camera(scene, camera)", lambda scene: partial(with_camera, scene)),
    "with_children": FormerAttribute("with_parents(scene, parents)", lambda scene: partial(with_parents, scene)),
    "with_shapes": FormerAttribute("with_shapes(scene, shapes)", lambda scene: partial(with_shapes, scene)),
    "distinct_shapes": FormerAttribute("shape_list(scene).table", lambda scene: shape_list(scene).table),
    "shape_index": FormerAttribute("shape_list(scene).rows", lambda scene: shape_list(scene).rows),
    "shape_rows": FormerAttribute("shape_list(scene).rows_for(count)", lambda scene: shape_list(scene).rows_for),
    "parent_rows": FormerAttribute(
        "rows_of_parents(scene.parents, count)", lambda scene: partial(rows_of_parents, scene.parents)
    ),
    "group_rows": FormerAttribute(
        "rows_of_groups(scene.groups, count)", lambda scene: partial(rows_of_groups, scene.groups)
    ),
}


@former_attributes(FORMER_ATTRIBUTES)
@former_arguments({"ground": "ground_z", "unlit": FormerArgument("look", 'look="unlit"', _look_of)})
@named_arguments
@dataclass(frozen=True, eq=False)
class Scene:
    """Everything about a world that does not change with every step: shapes, colours, camera, groups, columns.

    A colour is (red, green, blue), each from 0 to 1, or np.uint8 from 0 to 255.

    Args:
        shapes: One shape per body, in the order of the bodies. If there are more bodies than shapes, the other bodies
            have the last shape. At most 65,535 shapes may differ from each other.
        camera: A Camera. If `camera` is None, viewers choose a camera that shows all bodies.
        ground_z: Height in metres of a grid of lines. None for no grid.
        outline: Two opposite corners, in metres, of a box that is drawn as thin lines, for example the walls of a
            container. If `outline` is None, there is no box.
        background: A colour, or a Texture around everything. The texture has the six sides of a cube (towards +x, -x,
            +y, -y, +z, -z), or it has one image. The top row of this single image is straight up, and its bottom row
            is straight down. `Texture.gradient(top, bottom)` is a sky.
        light: Direction towards the light, a vector of any length except 0.
        brightness: Factor by which the brightness of lit surfaces is multiplied, from 0 to 4.
        parents: Maps the index of each child body to the index of its parent body. A child's record has the child's
            pose in the parent's frame. Parents apply to snapshots that were published with this scene. If a body's
            parent changes between two snapshots, the body is interpolated in the world's frame.
        groups: Groups of bodies, by name. A group is drawn with its own interpolation method or delay. A body may be
            in one group only.
        columns: For each column, the rule by which its values are blended. twixt sets this field from the columns that
            are declared to `Bodies` or `show`.
        color_by: The column that determines the colours of the bodies. If `color_by` is None, a body's colour is the
            colour of its shape times the body's own colour (`Bodies.color`). A shape without a colour has a colour of
            the palette, or white if the body's own colour is given.
        look: "lit", "flat" or "unlit". "flat" and "unlit" draw plain colours without light, pattern and shadows.
            "flat" also draws a thin dark outline around each body. Use "unlit" to measure pixels.
        pattern: True to draw round shapes in two tones of their colour, so that their rotation is visible.
        labels: Texts for the marks of an engine. The records of these marks contain the numbers of the texts. In your
            own program, give texts to `Marks.add(label=...)` and to shapes.
        part_columns: Names of the columns with a row for each part. twixt sets this field in the same way as
            `columns`.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError.

    Examples:
        ```python
        from twixt import Box, Camera, Capsule, Scene, Sphere

        scene = Scene(
            [Sphere(0.3), Box((1, 0.5, 0.2), color=(0.2, 0.6, 1.0)), Capsule(0.1, 0.6, label="arm")],
            camera=Camera(eye=(4, -6, 3), target=(0, 0, 0.5)),
            background=(1, 1, 1),
        )
        ```
    """

    shapes: Sequence[Shape] = ()
    camera: Camera | None = None
    ground_z: float | None = 0.0
    outline: tuple[Vector, Vector] | None = None
    background: Color | Texture = (0.17, 0.18, 0.20)
    light: Vector = (0.3, -0.6, 0.8)
    brightness: float = 1.0
    parents: Mapping[int, int] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    color_by: ColorBy | None = None
    look: str = LOOKS[0]
    pattern: bool = False
    labels: Sequence[str] = ()
    part_columns: Sequence[str] = ()

    def __init__(
        self,
        shapes: Sequence[Shape] = (),
        camera: Camera | None = None,
        ground_z: float | None = 0.0,
        outline: ArrayLike | Sequence[ArrayLike] | None = None,
        background: ArrayLike | Texture = (0.17, 0.18, 0.20),
        light: ArrayLike = (0.3, -0.6, 0.8),
        brightness: float = 1.0,
        parents: Mapping[int, int] = NOTHING,
        groups: Mapping[str, Group] = NOTHING,
        columns: Mapping[str, str] = NOTHING,
        color_by: ColorBy | None = None,
        look: str = LOOKS[0],
        pattern: bool = False,
        labels: Sequence[str] = (),
        part_columns: Sequence[str] = (),
    ) -> None:
        set_field(self, "shapes", ShapeList.of(shapes))
        check_camera("Scene.camera", camera)
        set_field(self, "camera", camera)
        set_field(self, "ground_z", None if ground_z is None else number("Scene.ground_z", ground_z))
        set_field(self, "outline", _corners(outline))
        set_field(self, "background", _background(background))
        set_field(self, "light", vector("Scene.light", light))
        if not any(self.light):
            raise SceneError("Scene.light must not be the zero vector; it points towards the light")
        set_field(self, "brightness", number("Scene.brightness", brightness))
        if not 0 <= self.brightness <= MOST_BRIGHTNESS:
            raise SceneError(f"Scene.brightness must be from 0 to {MOST_BRIGHTNESS:g}, got {text_of(brightness)}")
        if not isinstance(look, str) or look not in LOOKS:
            raise SceneError(f'Scene.look must be "lit", "flat" or "unlit", got {text_of(look)}')
        set_field(self, "look", look)
        set_field(self, "pattern", flag("Scene.pattern", pattern))
        if color_by is not None and not isinstance(color_by, ColorBy):
            raise SceneTypeError(f"Scene.color_by must be ColorBy(column, low, high), got {text_of(color_by)}")
        set_field(self, "color_by", color_by)
        set_field(self, "labels", _texts(labels))
        set_field(self, "parents", check_parents(parents))
        set_field(self, "groups", check_groups(groups))
        set_field(self, "columns", check_columns(columns))
        set_field(self, "part_columns", _names_of(part_columns, self.columns))

    def part_bodies(self, count: int | None = None) -> NDArray[np.intp]:
        """Returns, for each row of a part column, the index of the body to which the part belongs.

        `np.flatnonzero(scene.part_bodies() == 5)` gives the rows of the parts of body 5, in the order of its parts.

        Args:
            count: Number of bodies. By default the number of shapes.

        Returns:
            Array of shape (p,) for p parts, in ascending order.
        """
        return part_bodies(self, len(self.shapes) if count is None else count)

    def check_bodies(self, count: int) -> None:
        """Checks that all bodies exist that parents, groups and the camera name.

        Args:
            count: Number of bodies.

        Raises:
            TwixtError: A body has an index of `count` or more. The error is also a ValueError.
        """
        named = {
            "Scene.parents": max([*self.parents, *self.parents.values()], default=-1),
            **{f"group {name!r}": max(group.bodies, default=-1) for name, group in self.groups.items()},
        }
        if self.camera is not None and self.camera.body is not None:
            named["Camera.body"] = self.camera.body
        for name, body in named.items():
            if body >= count:
                raise SceneError(
                    f"{name} must name bodies that exist, 0 to {count - 1}, got {text_of(body)}; add that body, or name another"
                )


def shape_list(scene: Scene) -> ShapeList:
    """Returns the shapes of a scene as a table of distinct shapes and one index per body."""
    return ShapeList.of(scene.shapes)


def with_camera(scene: Scene, camera: Camera | None) -> Scene:
    """Returns a copy of a scene with another camera. The copy takes the same short time for any number of bodies."""
    return _with(scene, "camera", camera)


def with_parents(scene: Scene, parents: Mapping[int, int]) -> Scene:
    """Returns a copy of a scene with other parents. The parents are not checked, because the parents of several scenes
    together may form a cycle."""
    return _with(scene, "parents", parents)


def with_shapes(scene: Scene, shapes: ShapeList) -> Scene:
    """Returns a copy of a scene with other shapes; the scene itself if it already has them."""
    return scene if scene.shapes is shapes else _with(scene, "shapes", shapes)


def _with(scene: Scene, field_name: str, value: Any) -> Scene:
    other = copy.copy(scene)
    set_field(other, field_name, value)
    return other


def _corners(outline: Any) -> tuple[Vector, Vector] | None:
    if outline is None:
        return None
    corners = items(outline)
    if corners is None or len(corners) != 2:
        raise SceneError(f"Scene.outline must be two corners, ((x, y, z), (x, y, z)), or None, got {text_of(outline)}")
    low, high = (vector("a corner of Scene.outline", corner) for corner in corners)
    return low, high


def _names_of(part_columns: Any, columns: Mapping[str, str]) -> tuple[str, ...]:
    names = items(part_columns)
    if names is None:
        raise SceneTypeError(f"Scene.part_columns must be names of columns, got {text_of(part_columns)}")
    for name in names:
        if not isinstance(name, str) or name not in columns:
            raise SceneError(
                f"Scene.part_columns must be among Scene.columns ({', '.join(columns)}), got {text_of(name)}"
            )
    return names


def _background(background: Any) -> Color | Texture:
    if isinstance(background, Texture):
        return background
    if background is None:
        raise SceneError(f"Scene.background must be (red, green, blue), each {COLOR_RANGE}, or a Texture, got None")
    color = color_or_none("Scene.background", background)
    assert color is not None
    return color


def _texts(labels: Any) -> tuple[str, ...]:
    texts = items(labels)
    if texts is None:
        raise SceneTypeError(f'Scene.labels must be texts, such as ("left", "right"), got {text_of(labels)}')
    for text in texts:
        if not isinstance(text, str) or len(text) > LONGEST_LABEL:
            raise SceneTypeError(
                f"Scene.labels must be texts of up to {LONGEST_LABEL} characters, got {text_of(text)[:40]}"
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise SceneTypeError(f"Scene.labels must be texts that can be written in UTF-8: {error}") from None
    return texts


def packed_scene(scene: Scene) -> PackedScene:
    """Returns the scene, encoded for sending. The scene's contents are not copied. Raises SceneError if its meshes and
    textures are too large for a message."""
    return packed_fields(vars(scene))


def unpacked_scene(packed: bytes, before: Scene | None = None) -> Scene:
    """Returns the scene that `PackedScene.to_bytes` encoded. Raises SceneError for any other bytes.

    before: a scene whose meshes and textures the sender left out of `packed`. The new scene uses these same objects,
    without a check or a copy.
    """
    try:
        return Scene(**unpacked_fields(packed, None if before is None else vars(before)))
    except SceneError:  # it is a ValueError as well
        raise
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise SceneError(f"the scene received is damaged ({error}); restart the simulation") from error


def part_bodies(scene: Scene, count: int) -> NDArray[np.intp]:
    """Returns, for each part of the first `count` bodies, the index of the body to which the part belongs. The result
    is an array of shape (p,) for p parts, in ascending order. In a scene without shapes, each body counts as one
    part."""
    shapes = shape_list(scene)
    if not shapes.table:
        return np.arange(count)
    counts = np.array([len(shapes_of(shape)) for shape in shapes.table], np.intp)
    return np.repeat(np.arange(count), counts[shapes.rows_for(count)])
