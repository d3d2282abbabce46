"""Scenes and snapshots as the pages get them, encoded once for all pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.packing import Contents
from twixt.relay.stream.messages import FULL, Payload


class EncodedScene(NamedTuple):
    """A scene as the pages get it."""

    version: int
    camera_version: int
    payload: Payload
    contents: Contents


@dataclass(frozen=True, eq=False)
class EncodedSnapshot:
    """A snapshot as the pages get it. number: counts all snapshots of all simulations. columns: payload of the
    columns of its layout. encode: makes its payload from the bytes of its bodies and their codec."""

    number: int
    columns: Payload
    bodies: NDArray[np.void]
    encode: Callable[[bytes | memoryview, int], Payload]

    @cached_property
    def full(self) -> Payload:
        """Its payload with full records, made at the first use: pages that take lean snapshots need none."""
        return self.encode(self.bodies.view(np.uint8).data, FULL)
