"""This module gives the colours of the parts of a scene's bodies, in the order of the rows of part columns.

A part column has one row for each part, in the order of the bodies. Both processes compute this order from the scene
and the number of bodies, so the order is not sent. A body with one shape has one part. A compound without parts counts
as one part that is not visible.

Always: the rows of the first n bodies are the same, however many bodies follow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.scene import Scene, part_bodies, shape_list
from twixt.ipc.scene.shapes import color_of, rgba_of, shapes_of

# The palette has the colours of bodies that have no colour, neither their shape nor the body itself. The body with
# index i has the colour with index i modulo the number of colours. The colours are distinct, equally light, and chosen
# for a dark background.
PALETTE = np.array(
    [
        (0xE8, 0x6A, 0x5C),
        (0x5B, 0x9B, 0xE6),
        (0xF2, 0xB5, 0x4A),
        (0x5C, 0xC3, 0xA0),
        (0xA7, 0x85, 0xE0),
        (0xEC, 0x8F, 0xB4),
        (0x8F, 0xC7, 0x5E),
        (0x55, 0xC1, 0xD6),
    ],
    np.uint8,
)


def part_colors(scene: Scene, count: int) -> NDArray[np.uint8]:
    """Returns the colour that the scene gives to each part of the first `count` bodies: rgba, an array of shape (p, 4)
    for p parts."""
    bodies, table, rows = part_bodies(scene, count), shape_list(scene).table, shape_list(scene).rows_for(count)
    colors = np.empty((len(bodies), 4), np.uint8)
    colors[:, :3], colors[:, 3] = PALETTE[bodies % len(PALETTE)], 255
    for number, shape in enumerate(table):
        own = shapes_of(shape)
        paints = [color_of(one) for one in own]
        if all(paint is None for paint in paints):
            continue
        at = np.flatnonzero(rows[bodies] == number)
        for place, paint in enumerate(paints):
            if paint is not None:
                colors[at[place :: len(own)]] = rgba_of(paint)
    return colors
