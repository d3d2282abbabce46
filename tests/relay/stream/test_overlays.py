"""Overlays in pieces: each complete and in order, the newest of each sort, and none that the page has."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from tests.relay.page import OverlayReader, decoded
from twixt.ipc.interaction.overlay import OverlayFigure, OverlayImage, OverlayLine
from twixt.ipc.interaction.plots import OverlayPlot, PlotSeries
from twixt.relay.stream.overlays import (
    LEAST_PIECE_BYTES,
    MOST_PIECE_BYTES,
    PIECE_NS,
    SORTS,
    MissingOverlays,
    PieceSize,
    overlay_bytes,
)

NOTHING: dict[str, tuple[Any, ...]] = dict.fromkeys(SORTS, ())


def image(value: int, rows: int = 200, columns: int = 300) -> OverlayImage:
    return OverlayImage((10, 20, 160, 120), np.full((rows, columns, 3), value, np.uint8))


def plot(*ys: float) -> OverlayPlot:
    return OverlayPlot("energy", (PlotSeries("", np.arange(len(ys), dtype=float), np.array(ys)),))


def sent(overlays: MissingOverlays, newest: dict[str, tuple[Any, ...]], reader: OverlayReader) -> list[str]:
    """Sends all that follows; returns the sorts in their order."""
    sorts = []
    while overlays.are_needed(newest):
        payload = overlays.next_piece(newest, overlay_bytes, LEAST_PIECE_BYTES)
        assert payload is not None
        assert len(payload.content) <= 8 + LEAST_PIECE_BYTES
        if (sort := reader.add(decoded(payload.numbered(1)))) is not None:
            sorts.append(sort)
    assert overlays.next_piece(newest, overlay_bytes, LEAST_PIECE_BYTES) is None
    return sorts


def test_each_overlay_arrives_complete_and_only_once() -> None:
    line = OverlayLine(np.array([[0.0, 1.0], [2.0, 3.0]]), "up", (1.0, 0.0, 0.0))
    newest = {
        "images": (image(7), image(9)),
        "figures": (OverlayFigure((0, 0, 300, 200), [line], "title", x_range=(0, 5)),),
        "plots": (plot(1.0, float("nan"), 3.0),),
    }
    overlays, reader = MissingOverlays(), OverlayReader()
    assert sorted(sent(overlays, newest, reader)) == sorted(SORTS)
    assert sent(overlays, newest, reader) == []
    assert [one.pixels.tobytes() for one in reader.images] == [one.pixels.tobytes() for one in newest["images"]]
    assert [one.rect for one in reader.images] == [(10, 20, 160, 120)] * 2
    (figure,) = reader.figures
    assert (figure.title, figure.x_range, figure.lines[0].name) == ("title", (0.0, 5.0), "up")
    assert np.array_equal(figure.lines[0].points, line.points)
    assert np.array_equal(reader.plots[0].series[0].ys, [1.0, np.nan, 3.0], equal_nan=True)


def test_a_page_that_has_nothing_is_sent_nothing_and_one_that_had_images_is_told_that_there_are_none() -> None:
    overlays, reader = MissingOverlays(), OverlayReader()
    assert sent(overlays, NOTHING, reader) == []
    assert sent(overlays, NOTHING | {"images": (image(1),)}, reader) == ["images"]
    assert sent(overlays, NOTHING, reader) == ["images"]
    assert reader.images == ()


def test_what_was_begun_is_finished_and_the_newest_follows_whatever_came_between() -> None:
    overlays, reader, seen = MissingOverlays(), OverlayReader(), []
    for value in range(60):
        newest = NOTHING | {"images": (image(value),)}
        payload = overlays.next_piece(newest, overlay_bytes, LEAST_PIECE_BYTES)
        assert payload is not None
        if reader.add(decoded(payload.numbered(1))) is not None:
            seen.append(int(reader.images[0].pixels[0, 0, 0]))
    pieces = -(-len(overlay_bytes("images", (image(0),))) // LEAST_PIECE_BYTES)
    assert seen == list(range(0, 60 - pieces + 1, pieces))


def test_a_stream_of_images_does_not_hold_up_plots() -> None:
    overlays, reader, sorts = MissingOverlays(), OverlayReader(), Counter[str | None]()
    pieces = -(-len(overlay_bytes("images", (image(0),))) // LEAST_PIECE_BYTES)
    for step in range(20 * pieces):
        newest = {"images": (image(step % 256),), "figures": (), "plots": (plot(step),)}
        payload = overlays.next_piece(newest, overlay_bytes, LEAST_PIECE_BYTES)
        assert payload is not None
        sorts[reader.add(decoded(payload.numbered(1)))] += 1
    assert sorts["plots"] == 10 * pieces
    assert sorts["images"] == 10


def test_pieces_grow_until_they_wait_in_the_links_queue() -> None:
    size, bytes_per_ns = PieceSize(), 2.5e-3
    sizes = []
    for _ in range(100):
        size.acknowledged(size.bytes / bytes_per_ns)
        sizes.append(size.bytes)
    assert min(sizes) == LEAST_PIECE_BYTES
    assert max(sizes) <= 1.5 * max(LEAST_PIECE_BYTES, PIECE_NS * bytes_per_ns)
    for _ in range(12):
        size.acknowledged(0)
    assert size.bytes == MOST_PIECE_BYTES
