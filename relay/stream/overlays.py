"""Images, figures and plots of the program that one page does not have yet, in pieces.

A program may replace its images at 30 Hz, faster than a link carries them. So what was begun is sent to its end, and
then the newest is begun: nothing queues. The three sorts take turns.

Always: pieces of one overlay follow each other in order. Pure: no socket, no clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from twixt.ipc.interaction.overlay import figures_as_message, images_as_message
from twixt.ipc.interaction.plots import OverlayPlot
from twixt.relay.stream.messages import PIECE_BYTES, Payload, overlay_payload

# A piece takes a full link about this long, so that the snapshot behind it is hardly late. In s.
PIECE_S = 0.01
LEAST_PIECE_BYTES = 16 << 10


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


def piece_bytes(bytes_per_second: float) -> int:
    """Size of the next piece. bytes_per_second: what the page acknowledged in the last second."""
    return min(PIECE_BYTES, max(LEAST_PIECE_BYTES, int(bytes_per_second * PIECE_S)))


class MissingOverlays:
    """Overlays that one page still needs. At the begin it has none of any sort."""

    def __init__(self) -> None:
        # The tuple of each sort that the page has or is being sent, the sort that was begun last at the end.
        self._sent: dict[str, tuple[Any, ...]] = dict.fromkeys(SORTS, ())
        self._content, self._offset = b"", 0

    def are_needed(self, newest: Mapping[str, tuple[Any, ...]]) -> bool:
        """True if there is a piece to send. newest: the program's overlays by their sorts."""
        return bool(self._content) or self._changed(newest) is not None

    def next_piece(
        self, newest: Mapping[str, tuple[Any, ...]], encoded: Callable[[str], bytes], most_bytes: int
    ) -> Payload | None:
        """The next piece of at most `most_bytes`, or None if the page has everything. encoded: returns the bytes of
        the newest overlay of a sort."""
        if not self._content:
            sort = self._changed(newest)
            if sort is None:
                return None
            del self._sent[sort]
            self._sent[sort], self._content, self._offset = newest[sort], encoded(sort), 0
        piece = self._content[self._offset : self._offset + most_bytes]
        payload = overlay_payload(self._offset, len(self._content), piece)
        self._offset += len(piece)
        if self._offset == len(self._content):
            self._content = b""
        return payload

    def _changed(self, newest: Mapping[str, tuple[Any, ...]]) -> str | None:
        for sort, sent in self._sent.items():
            if newest[sort] is not sent and (newest[sort] or sent):
                return sort
        return None
