"""The picture of a trace: spans at their depths, arrows, and what is no trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from bench.trace_plot import arrows, trace_plot, trace_spans
from twixt.ipc.errors import TwixtError
from twixt.ipc.trace import spans
from twixt.ipc.trace.spans import PHYSICS, VIEWER, Recorded, Span
from twixt.ipc.trace.trace_file import write_trace

MS = 1_000_000


def trace_in(folder: Path) -> str:
    path = str(folder / "trace.json")
    physics = [Span(0, 5 * MS, 1, 1, spans.STEP), Span(5 * MS, 6 * MS, 1, 0, spans.PUBLISH)]
    viewer = [
        Span(10 * MS, 12 * MS, 0, 0, spans.EVENTS), Span(25 * MS, 26 * MS, 0, 0, spans.SWAP),
        Span(10 * MS, 26 * MS, 0, 1, spans.FRAME), Span(3 * MS, 20 * MS, 0, 0, spans.LOAD),
    ]  # fmt: skip
    write_trace(path, [Recorded(PHYSICS, 1, physics, 0), Recorded(VIEWER, 2, viewer, 0)], 0, "")
    return path


def test_a_span_lies_as_deep_as_the_spans_around_it(tmp_path: Path) -> None:
    import json

    document = json.loads(Path(trace_in(tmp_path)).read_text())
    assert [(span.process, span.name, span.begin_ms, span.end_ms, span.depth) for span in trace_spans(document)] == [
        ("physics", "step", 0, 5, 0), ("physics", "publish", 5, 6, 0),
        ("viewer", "frame", 10, 26, 0), ("viewer", "events", 10, 12, 1), ("viewer", "swap", 25, 26, 1),
    ]  # fmt: skip
    assert arrows(document) == [(5, 10)]


def test_a_stretch_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "trace.png"
    trace_plot(trace_in(tmp_path), str(out), 0.0, 30.0)
    with Image.open(out) as image:
        colors = {color for _, color in image.convert("RGB").getcolors(1 << 20) or []}
    assert {(0x3B, 0x7D, 0xD8), (0xCF, 0xD8, 0xE3), (0xF2, 0xA5, 0x41)} - colors == {(0xF2, 0xA5, 0x41)}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"traceEvents": [{"ph": "M"}]}', '{"traceEvents": []}'])
def test_what_is_no_trace_is_refused_in_words(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(TwixtError, match="make one with: twixt run --profile FILE"):
        trace_plot(str(path), str(tmp_path / "out.png"))
