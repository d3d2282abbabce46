"""The message of a scene: a line of JSON, u2 indices of shapes, u4 indices of bodies, and the contents.

Shapes are a table of the distinct ones and one index per body, so that the message of a scene of many equal bodies is
small. Contents, the arrays of meshes and the pixels of textures, are known by digest; those that the receiver has are
left out. The texture of a background is that of one more shape, after the scene's.
Always: what is unpacked fits together; that its values are valid is checked where a `Scene` is made of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from twixt.ipc.scene.groups import ColorBy, Group
from twixt.ipc.scene.scene_camera import Camera
from twixt.ipc.shapes.material import Material, Texture
from twixt.ipc.shapes.packed_materials import Contents
from twixt.ipc.shapes.packed_shapes import packed_shapes, unpacked_shapes
from twixt.ipc.shapes.shape import Shape, ShapeList, Sphere
from twixt.ipc.shapes.shape_checks import SceneError

if TYPE_CHECKING:
    from twixt.ipc.scene.scene import Scene

FORMAT = 10


class PackedScene(NamedTuple):
    """A scene to be sent. tables: all but its contents, equal for equal scenes."""

    tables: bytes
    contents: Contents

    def to_bytes(self, known: Collection[bytes] = ()) -> bytes:
        """The message for `unpacked_fields`, without the contents of the digests `known`."""
        arrays = [array for digest, content in self.contents.items() if digest not in known for array in content]
        return b"".join([self.tables, *map(np.ndarray.tobytes, arrays)])


def packed_scene(scene: Scene) -> PackedScene:
    """The scene, ready to be sent. Its contents are not copied."""
    shapes, contents = packed_shapes(_table(scene))
    head = {
        "format": FORMAT,
        **shapes,
        "camera": None if scene.camera is None else asdict(scene.camera),
        "ground": scene.ground,
        "outline": scene.outline,
        "background": None if isinstance(scene.background, Texture) else scene.background,
        "light": scene.light,
        "brightness": scene.brightness,
        "unlit": scene.unlit,
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
        "bodies": len(scene.shape_index),
        "parents": len(scene.parents),
        "members": [len(group.bodies) for group in scene.groups.values()],
    }
    rows = [*scene.parents, *scene.parents.values()]
    for group in scene.groups.values():
        rows.extend(group.bodies)
    indices = scene.shape_index.astype("<u2").tobytes() + np.array(rows, "<u4").tobytes()
    return PackedScene(json.dumps(head).encode() + b"\n" + indices, contents)


def unpacked_fields(packed: bytes, before: Scene | None) -> dict[str, Any]:
    """Fields of the scene of `PackedScene.to_bytes`, by name. Raises SceneError, or the error of a value of another type.

    before: a scene whose meshes and textures were left out.
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
        table, behind = table[:-1], table[-1]
        background = behind.material.texture  # type: ignore[union-attr]  # else the scene is damaged
    index = np.frombuffer(index_bytes, "<u2", bodies).astype(np.uint16)
    if bodies and int(index.max()) >= len(table):
        raise SceneError(f"a scene of {len(table)} shapes came with the index {index.max()} of one")
    rows = np.frombuffer(index_bytes, "<u4", sum(lengths), offset=2 * bodies)
    child, parent, *member = np.split(rows, np.cumsum(lengths)[:-1])
    return dict(
        shapes=ShapeList(table, index),
        camera=None if head["camera"] is None else Camera(**head["camera"]),
        ground=head["ground"],
        outline=head["outline"],
        background=background,
        light=head["light"],
        brightness=head["brightness"],
        unlit=head["unlit"],
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
    """The distinct shapes, and one that has the background's texture, if it is one."""
    if not isinstance(scene.background, Texture):
        return scene.distinct_shapes
    return (*scene.distinct_shapes, Sphere(material=Material(scene.background)))
