"""What is done to a snapshot once, on arrival, so that no frame has to: corrections' offsets, colours by a column.

Colours and `scale3` are blended as the rules of their columns say: `linear` and `none` by the shaders, between what was
made here; by any other rule the column itself is blended in numpy, and colours are made of that in each frame.

Works on private copies; a snapshot that needs neither goes to the GPU straight from shared memory.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.corrections import CORRECTION, visual
from twixt.ipc.groups import ColorBy
from twixt.ipc.rules import SCALE3
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import Snapshot


def rules_of_drawn(scene: Scene) -> tuple[str, str]:
    """The rules of what colours the bodies, and of `scale3`; `linear` where nothing does."""
    by = scene.color_by
    return "linear" if by is None else scene.columns.get(by.column, "linear"), scene.columns.get(SCALE3, "linear")


def is_drawn_as_published(scene: Scene, columns: Container[str]) -> bool:
    """Whether records may go to the GPU as they are."""
    return CORRECTION not in columns and (scene.color_by is None or scene.color_by.column not in columns)


def as_drawn(snapshot: Snapshot, scene: Scene) -> Snapshot:
    """The snapshot as the eye is to see it. Its bodies are changed in place: they must be the caller's own."""
    if CORRECTION in snapshot.columns:
        rows, records = visual(snapshot.bodies, snapshot.columns, snapshot.sim_time_ns)
        snapshot.bodies[rows] = records
    if scene.color_by is not None and scene.color_by.column in snapshot.columns:
        snapshot.bodies["color"][:, :3] = colors(snapshot.columns[scene.color_by.column], scene.color_by)
    return snapshot


def colors(values: NDArray[np.generic], by: ColorBy) -> NDArray[np.uint8]:
    """A colour for each value, (n, 3); what is not finite gets the low one."""
    firsts = values if values.ndim == 1 else values[:, 0]
    numbers = np.nan_to_num(firsts.astype(np.float32), nan=by.low)
    share = np.clip((numbers - by.low) / (by.high - by.low), 0.0, 1.0)[:, None]
    low, high = np.array(by.low_color), np.array(by.high_color)
    return np.rint(255 * (low + (high - low) * share)).astype(np.uint8)
