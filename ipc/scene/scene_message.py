"""The message of a scene: all fields of a scene as bytes.

The message has a line of JSON, u2 indices of shapes, u4 indices of bodies, and the contents. Shapes are sent as a table
of the distinct shapes and one index per body, so that a scene of many equal bodies has a small message. Contents are
the pixels of textures and the arrays of meshes. They are identified by digests. Contents that the receiver has already
are left out. The texture of a background is sent as the texture of an additional shape, after the scene's shapes.

Always: the unpacked fields are consistent with each other; `Scene` checks their values.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from twixt.ipc.scene.camera import Camera
from twixt.ipc.scene.checks import SceneError
from twixt.ipc.scene.groups import ColorBy, Group
from twixt.ipc.scene.material import Material, Texture
from twixt.ipc.scene.packing import Contents, packed_shapes, unpacked_shapes
from twixt.ipc.scene.shape_list import ShapeList
from twixt.ipc.scene.shapes import Shape, Sphere

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


def packed_fields(fields: Mapping[str, Any]) -> PackedScene:
    """Returns the fields of a scene, by name, encoded for sending. The scene's contents are not copied. Raises
    SceneError if its meshes and textures are too large for a message."""
    shapes, contents = packed_shapes(_table(fields))
    head = {
        "format": FORMAT,
        **shapes,
        "camera": None if fields["camera"] is None else asdict(fields["camera"]),
        "ground_z": fields["ground_z"],
        "outline": fields["outline"],
        "background": None if isinstance(fields["background"], Texture) else fields["background"],
        "light": fields["light"],
        "brightness": fields["brightness"],
        "look": fields["look"],
        "pattern": fields["pattern"],
        "labels": fields["labels"],
        "columns": fields["columns"],
        "part_columns": fields["part_columns"],
        "color_by": None if fields["color_by"] is None else asdict(fields["color_by"]),
        "groups": [
            {"name": name, "interpolation": group.interpolation, "delay_ms": group.delay_ms}
            for name, group in fields["groups"].items()
        ],
        "bodies": len(fields["shapes"]),
        "parents": len(fields["parents"]),
        "members": [len(group.bodies) for group in fields["groups"].values()],
    }
    rows = [*fields["parents"], *fields["parents"].values()]
    for group in fields["groups"].values():
        rows.extend(group.bodies)
    indices = fields["shapes"].rows.astype("<u2").tobytes() + np.array(rows, "<u4").tobytes()
    return PackedScene(json.dumps(head).encode() + b"\n" + indices, contents)


def unpacked_fields(packed: bytes, before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the fields, by name, of the scene that `PackedScene.to_bytes` encoded. Raises SceneError for damaged
    values. A value of a wrong type may raise another exception.

    before: fields of a scene whose meshes and textures the sender left out. `before` is None if nothing was left out.
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
        raise SceneError(f"a scene of {len(table)} shapes came with the shape index {index.max()}")
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


def _table(fields: Mapping[str, Any]) -> tuple[Shape, ...]:
    """Returns the distinct shapes. If the background is a texture, an additional shape with this texture comes
    last."""
    table: tuple[Shape, ...] = fields["shapes"].table
    background = fields["background"]
    return (*table, Sphere(material=Material(background))) if isinstance(background, Texture) else table
