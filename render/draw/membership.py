"""Who is drawn by which program in which layer, as the GPU reads it: the shapes' rows and lists of bodies.

Made once a scene (and again when there are more bodies than before); a frame only looks things up.
"""

from __future__ import annotations

from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.draw.cast_drawing import CAST_KINDS, STRETCHED
from twixt.render.draw.layers import layer_bodies
from twixt.render.draw.shape_table import KIND_NAMES, shape_table

# Which bodies a program draws.
KIND_OF = {
    "planes": "planes",
    **{
        f"{quality}{name}": "spheres" if name == STRETCHED else name
        for name in CAST_KINDS
        for quality in ("", "plain ", "beyond ", "large ")
    },
    "beyond": "spheres",
    "dots": "spheres",
    "beads": "spheres",
    "discs": "spheres",
    "pearls": "spheres",
    "balls": "spheres",
    "points": "spheres",
    "apart": "spheres",
    "quads": "spheres",
    "shadows": "all",
}


class Members(NamedTuple):
    """The bodies that one program draws of one layer. indices: None where it is the first bodies without a gap."""

    bodies: NDArray[np.uint32]
    end: int  # one more than the last of them
    indices: moderngl.Buffer | None

    def drawn(self, count: int) -> int:
        """How many of them are there when the snapshot holds `count` bodies."""
        if self.indices is None:
            return min(self.end, count)
        # Asked for with another type, numpy would copy all of them to that type first.
        return len(self.bodies) if self.end <= count else int(np.searchsorted(self.bodies, np.uint32(count)))


NONE = Members(np.zeros(0, np.uint32), 0, None)


class Membership:
    """Of `count` bodies of one scene."""

    def __init__(self, context: moderngl.Context, scene: Scene, count: int) -> None:
        table = shape_table(scene, count)
        self.count = count
        self.shape_rows = context.buffer(table.rows)
        self._context = context
        by_layer = layer_bodies(scene, count)
        self.layers = frozenset(by_layer)
        self.are_spheres = table.present == ("spheres",)  # all of them
        self._members: dict[tuple[str | None, str], Members] = {}
        for layer, bodies in by_layer.items():
            kinds = table.kinds if len(bodies) == count else table.kinds[bodies]
            self._members[layer, "all"] = self._members_of(bodies)
            for kind in table.present:
                is_all = len(table.present) == 1
                chosen = bodies if is_all else bodies[kinds == KIND_NAMES.index(kind)]
                self._members[layer, kind] = self._members[layer, "all"] if is_all else self._members_of(chosen)

    def of(self, layer: str | None, program: str) -> Members:
        """The bodies that this program draws of this layer."""
        return self._members.get((layer, KIND_OF[program]), NONE)

    def release(self) -> None:
        """Gives the GPU memory back."""
        self.shape_rows.release()
        for members in self._members.values():
            if members.indices is not None:
                members.indices.release()

    def _members_of(self, bodies: NDArray[np.uint32]) -> Members:
        end = int(bodies[-1]) + 1 if len(bodies) else 0
        return Members(bodies, end, None if end == len(bodies) else self._context.buffer(bodies))
