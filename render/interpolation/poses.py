"""What is drawn: the state of all bodies at one draw time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import VISIBLE

# A coordinate beyond this is a mistake of the world: its square is no longer a float32. Drawn as hidden, as NaN is.
FARTHEST = 1e30


@dataclass(frozen=True, eq=False)
class Poses:
    """n bodies at `draw_time_ns`, which lies within the snapshots held. Arrays are the caller's own.

    Row i is body i. A body that only the newer snapshot has is not there yet.
    """

    draw_time_ns: int
    position: NDArray[np.float32]  # (n, 3), metres
    orientation: NDArray[np.float32]  # (n, 4), unit quaternions xyzw
    scale: NDArray[np.float32]  # (n,)
    color: NDArray[np.uint8]  # (n, 4), rgba
    visible: NDArray[np.bool_]  # (n,)
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.position)


def finite(bodies: NDArray[np.void]) -> NDArray[np.bool_]:
    """(n,): which bodies have a pose that can be drawn."""
    with np.errstate(invalid="ignore"):
        return (
            (np.abs(bodies["position"]) < FARTHEST).all(axis=1)
            & (np.abs(bodies["orientation"]) < FARTHEST).all(axis=1)
            & np.isfinite(bodies["scale"])
        )


def poses_of(draw_time_ns: int, bodies: NDArray[np.void], columns: Mapping[str, NDArray[np.generic]]) -> Poses:
    """The state as published, copied."""
    return Poses(
        draw_time_ns,
        bodies["position"].copy(),
        bodies["orientation"].copy(),
        bodies["scale"].astype(np.float32),
        bodies["color"].copy(),
        ((bodies["flags"] & VISIBLE) != 0) & finite(bodies),
        {name: np.array(column) for name, column in columns.items()},
    )


def no_poses() -> Poses:
    """Nothing to draw yet."""
    return Poses(
        0,
        np.zeros((0, 3), np.float32),
        np.zeros((0, 4), np.float32),
        np.zeros(0, np.float32),
        np.zeros((0, 4), np.uint8),
        np.zeros(0, np.bool_),
    )
