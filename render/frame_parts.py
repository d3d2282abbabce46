"""Parts of a frame's time, by what took it.

The parts add up to the frame: from the moment it was to begin until it was handed over.

Pure: durations in ns.
"""

from __future__ import annotations

from typing import NamedTuple


class FrameParts(NamedTuple):
    """Durations in ns, in the order of `FrameRow`'s columns; all 0: not measured."""

    draw_ns: int = 0
    upload_ns: int = 0  # taking in snapshots included
    user_ns: int = 0  # the user's own drawing
    gc_ns: int = 0
    stolen_ns: int = 0  # the processor was given to others
    other_ns: int = 0


NO_PARTS = FrameParts()
