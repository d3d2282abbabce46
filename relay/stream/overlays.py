"""Images, figures and plots of the program that one page does not have yet, in pieces.

A program may replace its images at 30 Hz, faster than a link carries them. So what was begun is sent to its end, and
then the newest is begun: nothing queues. The three sorts take turns.

Always: pieces of one sort follow each other in order. Pure: no socket, no clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from twixt.ipc.interaction.overlay import figures_as_message, images_as_message
from twixt.ipc.interaction.plots import OverlayPlot
from twixt.relay.stream.messages import Payload, overlay_payload

# A piece takes a full link about this long, so that the snapshot behind it is hardly late.
PIECE_NS = 10_000_000
LEAST_PIECE_BYTES, MOST_PIECE_BYTES = 16 << 10, 1 << 20
GROWTH = 1.5


def plots_as_message(plots: Sequence[OverlayPlot]) -> tuple[dict[str, Any], bytes]:
    """Fields and raw bytes of these plots, as `PlotRecorder.message` makes them."""
    fields = {"plots": [[plot.name, [[line.name, len(line.xs)] for line in plot.series]] for plot in plots]}
    return fields, b"".join(np.stack([line.xs, line.ys], 1).tobytes() for plot in plots for line in plot.series)


# For each sort, the function that encodes it.
SORTS: dict[str, Callable[[Any], tuple[dict[str, Any], bytes]]] = {
    "images": images_as_message,
    "figures": figures_as_message,
    "plots": plots_as_message,
}


def overlay_bytes(sort: str, shown: Sequence[Any]) -> bytes:
    """An overlay as the page gets it: its fields as JSON, a newline, its raw bytes."""
    fields, raw = SORTS[sort](shown)
    return json.dumps(fields, allow_nan=False).encode() + b"\n" + raw


def newest_of(received: object) -> dict[str, tuple[Any, ...]]:
    """A program's overlays by their sorts. received: `Link.received`."""
    return {sort: getattr(received, sort) for sort in SORTS}


class EncodedOverlays:
    """The newest overlays, each encoded once for all pages."""

    def __init__(self) -> None:
        self._encoded: dict[str, tuple[tuple[Any, ...], bytes]] = {}

    def content(self, sort: str, shown: tuple[Any, ...]) -> bytes:
        """Bytes of an overlay."""
        if sort not in self._encoded or self._encoded[sort][0] is not shown:
            self._encoded[sort] = shown, overlay_bytes(sort, shown)
        return self._encoded[sort][1]


class PieceSize:
    """Size of pieces. It grows until a piece waits in the link's queue for PIECE_NS."""

    def __init__(self) -> None:
        self.bytes = LEAST_PIECE_BYTES

    def acknowledged(self, queued_ns: float) -> None:
        """Takes the acknowledgement of a piece. queued_ns: `Credit.queued_ns`."""
        size = self.bytes * GROWTH if queued_ns < PIECE_NS else self.bytes / 2
        self.bytes = min(MOST_PIECE_BYTES, max(LEAST_PIECE_BYTES, int(size)))


class _Overlay:
    """One sort of overlays. shown: the tuple that the page has or is being sent. content: what is left to send."""

    def __init__(self) -> None:
        self.shown: tuple[Any, ...] = ()
        self.content, self.offset = b"", 0

    def is_needed(self, newest: tuple[Any, ...]) -> bool:
        return bool(self.content) or (newest is not self.shown and bool(newest or self.shown))


class MissingOverlays:
    """Overlays that one page still needs. At the begin it has none of any sort."""

    def __init__(self) -> None:
        self._overlays = {sort: _Overlay() for sort in SORTS}  # the one that had its turn last at the end

    def are_needed(self, newest: Mapping[str, tuple[Any, ...]]) -> bool:
        """True if there is a piece to send. newest: the program's overlays by their sorts."""
        return any(overlay.is_needed(newest[sort]) for sort, overlay in self._overlays.items())

    def next_piece(
        self, newest: Mapping[str, tuple[Any, ...]], encoded: Callable[[str, tuple[Any, ...]], bytes], most_bytes: int
    ) -> Payload | None:
        """The next piece of at most `most_bytes`, or None if the page has everything. encoded: returns the bytes of
        an overlay of a sort."""
        for sort, overlay in self._overlays.items():
            if overlay.is_needed(newest[sort]):
                break
        else:
            return None
        self._overlays[sort] = self._overlays.pop(sort)
        if not overlay.content:
            overlay.shown, overlay.content, overlay.offset = newest[sort], encoded(sort, newest[sort]), 0
        piece = overlay.content[overlay.offset : overlay.offset + most_bytes]
        payload = overlay_payload(list(SORTS).index(sort), overlay.offset, len(overlay.content), piece)
        overlay.offset += len(piece)
        if overlay.offset == len(overlay.content):
            overlay.content = b""
        return payload
