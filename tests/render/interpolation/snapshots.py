"""Snapshots for the tests of interpolation: bodies along x, other fields of the record by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from twixt.ipc.snapshot import Snapshot, new_bodies
from twixt.render.interpolation import create

MS = 1_000_000
FIELDS = ("position", "orientation", "scale", "color", "visible", "epoch")


def at(time_ns: int, x: Any, world_epoch: int = 0, columns: Mapping[str, Any] | None = None, **fields: Any) -> Snapshot:
    """A snapshot of as many bodies as x has numbers."""
    x = np.atleast_1d(np.asarray(x, np.float32))
    bodies = new_bodies(len(x))
    bodies["position"][:, 0] = x
    for name, value in fields.items():
        bodies[name] = value
    return Snapshot(int(time_ns), bodies, dict(columns or {}), world_epoch=world_epoch)


def method_of(name: str, *snapshots: Snapshot, **options: Any):
    """A method that was given these."""
    method = create(name, **options)
    for snapshot in snapshots:
        method.add(snapshot)
    return method


def bytes_of(poses) -> bytes:
    """All that is drawn."""
    columns = [poses.columns[name].tobytes() for name in sorted(poses.columns)]
    return b"".join([getattr(poses, field).tobytes() for field in FIELDS] + columns)
