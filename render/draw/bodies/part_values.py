"""Part columns as drawing has them: each part's colour and visibility in its row's record, in place of the scene's.

The one idea: where a scene declares the part column `color`, its shapes are white on the GPU, and each record's colour
is its body's times its part's. So the blend between two snapshots, transparency and every program work unchanged, and a
colour that changes costs the bytes of the record alone. A snapshot without colours of parts has those of the scene.

Always: colours that are not finite are white. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.column_rules import COLOR, VISIBLE_PARTS
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import VISIBLE
from twixt.render.draw.bodies.shape_table import LEAST_TRANSPARENT, ShapeTable

OPAQUE = 255


def base_colors(scene: Scene, table: ShapeTable) -> NDArray[np.uint8] | None:
    """The scene's own colours of parts, (rows, 4); None if it has no part column `color`. Textures with holes count as
    opaque here, see `shape_rows`."""
    if COLOR not in scene.part_columns:
        return None
    colors = table.rows["color"].copy()
    colors[colors[:, 3] == LEAST_TRANSPARENT, 3] = OPAQUE
    return colors


def shape_rows(scene: Scene, table: ShapeTable) -> NDArray[np.void]:
    """Shapes as the GPU reads them: white where records have the colours. What has holes stays seen through."""
    if COLOR not in scene.part_columns:
        return table.rows
    rows = table.rows.copy()
    rows["color"] = OPAQUE
    rows["color"][table.rows["color"][:, 3] == LEAST_TRANSPARENT, 3] = LEAST_TRANSPARENT
    return rows


def apply(
    records: NDArray[np.void], part_columns: Mapping[str, NDArray[np.generic]], base: NDArray[np.uint8] | None
) -> None:
    """Writes colours and visibility of parts into the records of their rows, (n,) of dtype `BODY`, in place.

    part_columns: those with another number of rows are not used. base: see `base_colors`; None: the shapes have their
    colours.
    """
    count = len(records)
    if base is not None:
        own = part_columns.get(COLOR)
        colors = base[:count] if own is None or own.shape != (count, 4) else as_bytes(own)
        # Rounded; exact where the body is white.
        records["color"] = (records["color"].astype(np.uint16) * colors + OPAQUE // 2) // OPAQUE
    visible = part_columns.get(VISIBLE_PARTS)
    if visible is not None and visible.shape == (count,):
        records["flags"] &= np.where(visible, 0xFFFF, 0xFFFF ^ VISIBLE).astype(np.uint16)


def as_bytes(colors: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Colours, rgba (n, 4), from bytes or from floats of 0 to 1."""
    if colors.dtype == np.uint8:
        return colors.view(np.uint8)
    floats = colors.astype(np.float32)
    floats[~np.isfinite(floats).all(axis=1)] = 1.0
    return np.rint(np.clip(floats, 0.0, 1.0) * OPAQUE).astype(np.uint8)
