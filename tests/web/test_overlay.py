"""What a program draws over the picture: decoding, ranges, ticks, places and labels as the window has them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from tests.web.in_node import run_in_node
from twixt.ipc.interaction.overlay import OverlayFigure, OverlayImage, OverlayLine, Range
from twixt.ipc.interaction.plots import OverlayPlot, PlotSeries
from twixt.ipc.scene.mark_texts import TEXT_LABEL, text_of_label, text_records, write_texts
from twixt.ipc.snapshot import MARK
from twixt.relay.stream.overlays import overlay_bytes
from twixt.render.draw.flat.rectangles import Rectangle
from twixt.render.overlay.program_pictures import clear_places

NUMBERS = np.random.default_rng(3)


def in_overlay(script: str, given: Any = None) -> Any:
    head = 'const {OverlayPieces, clearPlaces, placedLabels, textOfLabel} = await import(WEB + "overlay.js");'
    return run_in_node(head + 'const {rangesOf, ticksOf} = await import(WEB + "overlay.js");' + script, given)


def shown_ranges(figure: OverlayFigure) -> tuple[Range, Range]:
    pytest.importorskip("imgui_bundle")
    from twixt.render.overlay import imgui_context

    return imgui_context.shown_ranges(figure)


def test_images_figures_and_plots_are_joined_from_their_pieces() -> None:
    pixels = NUMBERS.integers(0, 255, (3, 5, 3), np.uint8)
    line = OverlayLine(np.array([[0.0, 1.0], [2.0, -3.0]]), "up", (1.0, 0.0, 0.5))
    overlays = [
        overlay_bytes("images", [OverlayImage((1, 2, 30, 40), pixels)]),
        overlay_bytes("figures", [OverlayFigure((0, 0, 300, 200), [line], "title", "s", y_range=(0, 5), kind="bars")]),
        overlay_bytes("plots", [OverlayPlot("energy", (PlotSeries("k", np.arange(2.0), np.array([np.nan, 7.0])),))]),
        overlay_bytes("images", []),
    ]
    found = in_overlay(
        """
        const pieces = new OverlayPieces(), found = [];
        for (const text of given) {
          const bytes = Uint8Array.from(Buffer.from(text, "base64"));
          for (let offset = 0; offset < bytes.length; offset += 7) {
            const overlay = pieces.add({offset, size: bytes.length, bytes: bytes.slice(offset, offset + 7)});
            if (overlay) found.push(overlay);
          }
        }
        const plain = (key, value) => (ArrayBuffer.isView(value) ? Array.from(value, String) : value);
        answer(JSON.parse(JSON.stringify(found, plain)));
        """,
        [base64.b64encode(one).decode() for one in overlays],
    )
    assert [one["sort"] for one in found] == ["images", "figures", "plots", "images"]
    (image,) = found[0]["shown"]
    assert (image["rect"], image["rows"], image["columns"]) == ([1, 2, 30, 40], 3, 5)
    assert [int(value) for value in image["pixels"]] == pixels.ravel().tolist()
    (figure,) = found[1]["shown"]
    assert (figure["title"], figure["xLabel"], figure["xRange"], figure["yRange"]) == ("title", "s", None, [0, 5])
    assert (figure["kind"], figure["hasLegend"]) == ("bars", True)
    assert figure["lines"] == [{"name": "up", "color": [1, 0, 0.5], "points": ["0", "1", "2", "-3"]}]
    assert found[2]["shown"] == [
        {"name": "energy", "lines": [{"name": "k", "color": None, "points": ["0", "NaN", "1", "7"]}]}
    ]
    assert found[3]["shown"] == []


def test_pieces_that_do_not_follow_each_other_are_refused() -> None:
    faults = in_overlay(
        """
        answer([[{offset: 4, size: 8}], [{offset: 0, size: 8}, {offset: 5, size: 8}], [{offset: 0, size: 2}],
                [{offset: 0, size: 1e9}]].map((pieces) => {
          const joined = new OverlayPieces();
          try {
            for (const piece of pieces) joined.add({...piece, bytes: new Uint8Array(4)});
          } catch (error) {
            return error.message.includes("overlay");
          }
        }));
        """
    )
    assert faults == [True] * 4


def test_axes_have_the_ranges_of_the_window() -> None:
    lines = [NUMBERS.normal(size=(20, 2)) * scale for scale in (1, 1e-9, 1e6)] + [
        np.full((3, 2), 4.0),
        np.zeros((0, 2)),
    ]
    figures = [
        OverlayFigure((0, 0, 9, 9), [OverlayLine(one)], kind=kind) for one in lines for kind in ("lines", "bars")
    ]
    given = [{"lines": [one.lines[0].points.ravel().tolist()], "kind": one.kind} for one in figures]
    found = in_overlay(
        "answer(given.map(({lines, kind}) => rangesOf({kind, lines: lines.map((points) => ("
        "{points: Float64Array.from(points)}))})));",
        given,
    )
    for ranges, figure in zip(found, figures, strict=True):
        assert ranges == [pytest.approx(one) for one in shown_ranges(figure)]


def test_ticks_are_round_numbers_within_the_range() -> None:
    found = in_overlay("answer(given.map((range) => ticksOf(range, 4)));", [[0, 1], [-3, 12], [1e-3, 1.7e-3], [0, 2e6]])
    texts = [[tick["text"] for tick in ticks] for ticks in found]
    assert texts[0] == ["0", "0.5", "1.0"]
    assert texts[1] == ["0", "5", "10"]
    assert texts[2] == ["0.0010", "0.0012", "0.0014", "0.0016"]
    assert texts[3] == ["0", "5.0e+5", "1.0e+6", "1.5e+6", "2.0e+6"]


def test_pictures_leave_the_panels_free_as_in_the_window() -> None:
    width, height = 640, 480
    cases = []
    for _ in range(200):
        rects = []
        for _ in range(NUMBERS.integers(1, 4)):
            w, h = NUMBERS.integers(20, 300, 2).tolist()
            rects.append([int(NUMBERS.integers(0, width - w)), int(NUMBERS.integers(0, height - h)), w, h])
        cases.append(rects)
    reserved = (Rectangle(0, 0, 200, 150), Rectangle(440, 0, 640, 150), Rectangle(0, 430, 640, 480))
    found = in_overlay(
        "answer(given.cases.map((rects) => clearPlaces(rects, given.reserved, 640, 480)));",
        {
            "cases": cases,
            "reserved": [{"left": a, "top": b, "right": c, "bottom": d} for a, b, c, d in reserved],
        },
    )
    for rects, places in zip(cases, found, strict=True):
        wanted = tuple(Rectangle(x, height - y - h, x + w, height - y) for x, y, w, h in rects)
        right = clear_places(wanted, reserved, (width, height))
        for one, place, want in zip(right, places, wanted, strict=True):
            here = Rectangle(*(place[name] for name in ("left", "top", "right", "bottom")))
            # Where two free places are equally near, the order of the search decides.
            assert sum(map(abs, np.subtract(here, want)[:2])) == sum(map(abs, np.subtract(one, want)[:2]))


def test_a_picture_that_is_larger_than_the_window_is_shrunk_into_it() -> None:
    (place,) = in_overlay("answer(clearPlaces([[700, 10, 780, 400]], [], 390, 844));")
    assert place == {"left": 0, "top": 634, "right": 390, "bottom": 834}
    one, other = in_overlay("answer(clearPlaces([[20, 10, 260, 200], [520, 10, 260, 200]], [], 390, 844));")
    assert one == {"left": 20, "top": 634, "right": 280, "bottom": 834}
    assert other["bottom"] <= one["top"]


def test_texts_of_marks_are_those_of_the_window() -> None:
    texts = b"".join(len(one.encode()).to_bytes(2, "little") + one.encode() for one in ("hello", "", "größer " * 20))
    records = np.zeros(2 + text_records(len(texts)), MARK)
    write_texts(records[2:], texts)
    labels = [0, 1, 2, 9, TEXT_LABEL, TEXT_LABEL + 7, TEXT_LABEL + 9, TEXT_LABEL + 5000]
    found = in_overlay(
        """
        const snapshot = {markWords: Uint32Array.from(given.words)};
        answer(given.labels.map((label) => textOfLabel(label, snapshot, ["a", "b"])));
        """,
        {"labels": labels, "words": records.view(np.uint32).tolist()},
    )
    assert found == [text_of_label(label, texts, ["a", "b"]) for label in labels]


def test_labels_are_beside_their_bodies_and_only_those_in_the_view_the_farthest_first() -> None:
    found = in_overlay(
        """
        const {OrbitCamera} = await import(WEB + "camera.js");
        const camera = new OrbitCamera({target: [0, 0, 0], distanceM: 10, azimuthRad: 0, elevationRad: 0});
        const {eye} = camera.matrices(400, 300);
        const label = (text, share, reachM = 0) => (
          {position: eye.map((value) => value * share), text, reachM, color: [1, 2, 3, 4], size: 1});
        answer(placedLabels([label("near", 0.5), label("far", -1), label("behind", 2), label("beside", 0, 1)],
                            camera.matrices(400, 300), 400, 300));
        """
    )
    assert [one["text"] for one in found] == ["far", "beside", "near"]
    assert [(one["xPx"], one["yPx"]) for one in (found[0], found[2])] == [pytest.approx((200, 150), abs=0.1)] * 2
    assert found[1]["xPx"] > 220
