"""The scene of a world has everything that does not change with every step. This module also encodes the message by
which a scene is sent.

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
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import named_arguments, text_of
from twixt.ipc.renamed import FormerArgument, FormerAttribute, former_arguments, former_attributes
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
from twixt.ipc.scene.material import Material, Texture
from twixt.ipc.scene.packing import Contents, packed_shapes, unpacked_shapes
from twixt.ipc.scene.shapes import Shape, ShapeList, Sphere, shapes_of

LOOKS = ("lit", "flat", "unlit")
# Largest brightness of a scene. With a larger brightness, everything would be white.
MOST_BRIGHTNESS = 4.0


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

    shapes: one shape per body, in the order of the bodies. Bodies after the last shape have that last shape. camera: a
    Camera. If `camera` is None, the camera shows all bodies. ground_z: height in metres of a grid of lines;
    None for no grid. outline: two opposite corners of a box that is drawn as thin lines, for example
    the walls of a container. If `outline` is None, there is no box. background: a colour, or a Texture around
    everything. The texture has the six sides of a cube (towards +x, -x, +y, -y, +z, -z), or it has one image. The top
    row of this single image is straight up, and its bottom row is straight down. An example is the sky
    `Texture.gradient(top, bottom)`.
    brightness: factor by which the brightness of lit surfaces is multiplied, from 0 to MOST_BRIGHTNESS. parents: for
    each child, its parent; both are indices of bodies. A child's record has the child's pose in the parent's frame.
    Parents apply to snapshots that were published with this scene. If a body's parent changes between two snapshots,
    the body is interpolated in the world's frame. groups: groups of bodies, by name. A group is drawn with its own
    interpolation method or delay. A body may be in one group only. look: "lit", "flat" or "unlit". "flat" and "unlit"
    draw plain colours without light, pattern and shadows. "flat" also draws a thin dark outline around each body. Use
    "unlit" to measure pixels. pattern: True to draw round shapes in two tones of their colour, so that their rotation
    is visible. columns: for each column, the rule by which its values are blended. twixt sets this field from the
    columns that are declared to `Bodies` or `show`. part_columns: names of the columns with a row for each part.
    twixt sets this field in the same way as `columns`.
    color_by: the column that determines the colours of the bodies. If `color_by` is None, a body's colour is the colour
    of its shape times the body's own colour (`Bodies.color`). A shape without a colour has a colour of the palette, or
    white if the body's own colour is given. A colour is (red, green, blue), each from 0 to 1, or np.uint8 from 0 to
    255. labels: texts for the marks of an engine, whose records name them by number. In your own program, give texts to
    `Marks.add(label=...)` and to shapes.
    """

    shapes: Sequence[Shape] = ()
    camera: Camera | None = None
    ground_z: float | None = 0.0
    outline: tuple[Vector, Vector] | None = None
    background: Color | Texture = (0.17, 0.18, 0.20)
    light: Vector = (0.3, -0.6, 0.8)  # direction towards the light
    brightness: float = 1.0
    parents: Mapping[int, int] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    color_by: ColorBy | None = None
    look: str = LOOKS[0]
    pattern: bool = False
    labels: Sequence[str] = ()
    part_columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        set_field(self, "shapes", ShapeList.of(self.shapes))
        check_camera("Scene.camera", self.camera)
        if self.ground_z is not None:
            set_field(self, "ground_z", number("Scene.ground_z", self.ground_z))
        set_field(self, "outline", _corners(self.outline))
        set_field(self, "background", _background(self.background))
        set_field(self, "light", vector("Scene.light", self.light))
        if not any(self.light):
            raise SceneError("Scene.light must not be the zero vector; it points towards the light")
        set_field(self, "brightness", number("Scene.brightness", self.brightness))
        if not 0 <= self.brightness <= MOST_BRIGHTNESS:
            raise SceneError(f"Scene.brightness must be from 0 to {MOST_BRIGHTNESS:g}, got {text_of(self.brightness)}")
        if not isinstance(self.look, str) or self.look not in LOOKS:
            raise SceneError(f'Scene.look must be "lit", "flat" or "unlit", got {text_of(self.look)}')
        set_field(self, "pattern", flag("Scene.pattern", self.pattern))
        if self.color_by is not None and not isinstance(self.color_by, ColorBy):
            raise SceneTypeError(f"Scene.color_by must be ColorBy(column, low, high), got {text_of(self.color_by)}")
        set_field(self, "labels", _texts(self.labels))
        set_field(self, "parents", check_parents(self.parents))
        set_field(self, "groups", check_groups(self.groups))
        set_field(self, "columns", check_columns(self.columns))
        set_field(self, "part_columns", _names_of(self.part_columns, self.columns))

    def part_bodies(self, count: int | None = None) -> NDArray[np.intp]:
        """Returns, for each row of a part column, the index of the body to which the part belongs. The result is an
        array of shape (p,) for p parts, in ascending order. count: number of bodies; by default the number of
        shapes. For example, `np.flatnonzero(scene.part_bodies() == 5)` gives the rows of the parts of body 5, in
        the order of its parts."""
        return part_bodies(self, len(self.shapes) if count is None else count)

    def check_bodies(self, count: int) -> None:
        """Raises SceneError if parents, groups or the camera name a body with an index of `count` or more."""
        named = {
            "Scene.parents": max([*self.parents, *self.parents.values()], default=-1),
            **{f"group {name!r}": max(group.bodies, default=-1) for name, group in self.groups.items()},
        }
        if self.camera is not None and self.camera.body is not None:
            named["Camera.body"] = self.camera.body
        for name, body in named.items():
            if body >= count:
                raise SceneError(
                    f"{name} must name bodies that are there, 0 to {count - 1}, got {text_of(body)}; make room for it"
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


# The message of a scene has a line of JSON, u2 indices of shapes, u4 indices of bodies, and the contents.
#
# Shapes are sent as a table of the distinct shapes and one index per body, so that a scene of many equal bodies has a
# small message. Contents are the pixels of textures and the arrays of meshes. They are identified by digests. Contents
# that the receiver has already are left out. The texture of a background is sent as the texture of an additional
# shape, after the scene's shapes.
# Always: the unpacked fields are consistent with each other; `Scene` checks their values.

FORMAT = 12


class PackedScene(NamedTuple):
    """A scene that is encoded for sending. tables: everything except the contents. Equal scenes have equal tables."""

    tables: bytes
    contents: Contents

    def to_bytes(self, known: Collection[bytes] = ()) -> bytes:
        """Returns the message without the contents whose digests are in `known`. `unpacked_fields` reads the
        message."""
        arrays = [array for digest, content in self.contents.items() if digest not in known for array in content]
        return b"".join([self.tables, *map(np.ndarray.tobytes, arrays)])


def packed_scene(scene: Scene) -> PackedScene:
    """Returns the scene, encoded for sending. The scene's contents are not copied. Raises SceneError if its meshes and
    textures are too large for a message."""
    shapes, contents = packed_shapes(_table(scene))
    head = {
        "format": FORMAT,
        **shapes,
        "camera": None if scene.camera is None else asdict(scene.camera),
        "ground_z": scene.ground_z,
        "outline": scene.outline,
        "background": None if isinstance(scene.background, Texture) else scene.background,
        "light": scene.light,
        "brightness": scene.brightness,
        "look": scene.look,
        "pattern": scene.pattern,
        "labels": scene.labels,
        "columns": scene.columns,
        "part_columns": scene.part_columns,
        "color_by": None if scene.color_by is None else asdict(scene.color_by),
        "groups": [
            {"name": name, "interpolation": group.interpolation, "delay_ms": group.delay_ms}
            for name, group in scene.groups.items()
        ],
        "bodies": len(scene.shapes),
        "parents": len(scene.parents),
        "members": [len(group.bodies) for group in scene.groups.values()],
    }
    rows = [*scene.parents, *scene.parents.values()]
    for group in scene.groups.values():
        rows.extend(group.bodies)
    indices = shape_list(scene).rows.astype("<u2").tobytes() + np.array(rows, "<u4").tobytes()
    return PackedScene(json.dumps(head).encode() + b"\n" + indices, contents)


def unpacked_scene(packed: bytes, before: Scene | None = None) -> Scene:
    """Returns the scene that `PackedScene.to_bytes` encoded. Raises SceneError for any other bytes.

    before: a scene whose meshes and textures the sender left out of `packed`. The new scene uses these same objects,
    without a check or a copy.
    """
    try:
        return Scene(**unpacked_fields(packed, before))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise SceneError(f"the scene received is damaged ({error}); restart the simulation") from error


def unpacked_fields(packed: bytes, before: Scene | None) -> dict[str, Any]:
    """Returns the fields, by name, of the scene that `PackedScene.to_bytes` encoded. Raises SceneError for damaged
    values. A value of a wrong type may raise another exception.

    before: a scene whose meshes and textures the sender left out. `before` is None if nothing was left out.
    """
    head_bytes, _, index_bytes = packed.partition(b"\n")
    head = json.loads(head_bytes)
    if head["format"] != FORMAT:
        raise SceneError(f"this viewer reads scenes of format {FORMAT}, got format {head['format']!r}")
    bodies, children, members = head["bodies"], head["parents"], head["members"]
    lengths = [children, children, *members]
    known = () if before is None else _table(before)
    table, contents = unpacked_shapes(head, index_bytes, 2 * bodies + 4 * sum(lengths), known)
    if min(lengths) < 0 or len(index_bytes) != 2 * bodies + 4 * sum(lengths) + contents:
        raise SceneError(f"a scene of {bodies!r} bodies came with {len(index_bytes)} bytes of indices")
    background = head["background"]
    if background is None:
        table, last = table[:-1], table[-1]
        background = last.material.texture  # type: ignore[union-attr]  # raises if the scene is damaged
    index = np.frombuffer(index_bytes, "<u2", bodies).astype(np.uint16)
    if bodies and int(index.max()) >= len(table):
        raise SceneError(f"a scene of {len(table)} shapes came with the index {index.max()} of one")
    rows = np.frombuffer(index_bytes, "<u4", sum(lengths), offset=2 * bodies)
    child, parent, *member = np.split(rows, np.cumsum(lengths)[:-1])
    return dict(
        shapes=ShapeList(table, index),
        camera=None if head["camera"] is None else Camera(**head["camera"]),
        ground_z=head["ground_z"],
        outline=head["outline"],
        background=background,
        light=head["light"],
        brightness=head["brightness"],
        look=head["look"],
        pattern=head["pattern"],
        labels=head["labels"],
        parents=dict(zip(child.tolist(), parent.tolist(), strict=True)),
        groups={
            entry.pop("name"): Group(bodies=group.tolist(), **entry)
            for entry, group in zip(head["groups"], member, strict=True)
        },
        columns=head["columns"],
        part_columns=head["part_columns"],
        color_by=None if head["color_by"] is None else ColorBy(**head["color_by"]),
    )


def _table(scene: Scene) -> tuple[Shape, ...]:
    """Returns the distinct shapes. If the background is a texture, an additional shape with this texture comes
    last."""
    if not isinstance(scene.background, Texture):
        return shape_list(scene).table
    return (*shape_list(scene).table, Sphere(material=Material(scene.background)))


def part_bodies(scene: Scene, count: int) -> NDArray[np.intp]:
    """Returns, for each part of the first `count` bodies, the index of the body to which the part belongs. The result
    is an array of shape (p,) for p parts, in ascending order. In a scene without shapes, each body counts as one
    part."""
    shapes = shape_list(scene)
    if not shapes.table:
        return np.arange(count)
    counts = np.array([len(shapes_of(shape)) for shape in shapes.table], np.intp)
    return np.repeat(np.arange(count), counts[shapes.rows_for(count)])
