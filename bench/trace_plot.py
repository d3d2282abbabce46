"""Draws a picture (PNG) of a section of a `--profile` trace, for a page: `python -m bench trace`.

The layout is like that of a trace viewer. Time runs to the right. Each process has one row per depth of its spans. An
arrow leads from each publish of a snapshot to the first frame that draws this snapshot.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from bench.pages import Results
from twixt.ipc.errors import TwixtError
from twixt.render.measure.plots import FONT_PT, INK, new_figure, save

LENGTH_MS = 100.0
WIDTH_IN, ROW_IN = 9.0, 0.4
# Shortest length of a span in the picture, in ms. A shorter span is drawn with this length, so that it is visible. If
# the plot covers 100 ms, this length is half a pixel.
SHORTEST_MS = 0.04
# Colours of spans, by name. Other spans are grey. Waits are pale.
COLORS = {
    "step": "#3b7dd8", "publish": "#12355b", "injected work": "#d1495b", "injected stall": "#d1495b", "wait": "#e6e9ee",
    "wait for the swap": "#d5dde0", "frame": "#cfd8e3", "read and upload": "#f2a541", "clock and draw": "#3c9d6b",
    "overlay": "#8e6bbf", "finish (GPU)": "#1f6b45", "swap": "#222222", "write the log": "#9aa5b1",
}  # fmt: skip
OTHER = "#9aa5b1"


class TraceSpan(NamedTuple):
    """One span. depth: number of spans of the same thread that enclose it."""

    process: str
    name: str
    begin_ms: float
    end_ms: float
    depth: int


def trace_spans(document: dict[str, Any]) -> list[TraceSpan]:
    names = {e["pid"]: e["args"]["name"] for e in document["traceEvents"] if e["name"] == "process_name"}
    spans = [event for event in document["traceEvents"] if event["ph"] == "X" and event["tid"] == 1]
    found: list[TraceSpan] = []
    for process_id, name in names.items():
        around: list[float] = []
        own = [span for span in spans if span["pid"] == process_id]
        for span in sorted(own, key=lambda span: (span["ts"], -span["dur"])):
            begin_ms, end_ms = span["ts"] / 1e3, (span["ts"] + span["dur"]) / 1e3
            while around and around[-1] <= begin_ms + 1e-6:
                around.pop()
            found.append(TraceSpan(name, span["name"], begin_ms, end_ms, len(around)))
            around.append(end_ms)
    return found


def arrows(document: dict[str, Any]) -> list[tuple[float, float]]:
    """For each snapshot that was drawn, the instant of its publish and the instant of its first frame, in ms."""
    begins = {event["id"]: event["ts"] / 1e3 for event in document["traceEvents"] if event["ph"] == "s"}
    return [(begins[event["id"]], event["ts"] / 1e3) for event in document["traceEvents"] if event["ph"] == "f"]


def run(_results: Results, trace: str, picture: str, from_ms: float | None, length_ms: float) -> int:
    trace_plot(trace, picture, from_ms, length_ms)
    return 0


def trace_plot(trace: str, out: str, from_ms: float | None = None, length_ms: float = LENGTH_MS) -> None:
    """Draws a section of the trace, and saves it as `out`. trace: file of the trace. from_ms: time in ms from the
    command's start to the beginning of the section. If it is None, the section begins in the middle of the trace.
    length_ms: length of the section in ms."""
    try:
        with open(trace, encoding="utf-8") as file:
            document = json.load(file)
        found = trace_spans(document)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TwixtError(f"cannot read the trace {trace!r}: {error}; make one with: twixt run --profile FILE") from None
    if not found:
        raise TwixtError(f"the trace {trace!r} has no spans; make one with: twixt run --profile FILE")
    begin_ms = from_ms if from_ms is not None else (found[0].begin_ms + max(span.end_ms for span in found)) / 2
    end_ms = begin_ms + length_ms
    shown = [span for span in found if span.end_ms > begin_ms and span.begin_ms < end_ms]
    rows = sorted({(span.process, span.depth) for span in shown})
    place = {row: -number for number, row in enumerate(rows)}
    figure, (axes,) = new_figure(WIDTH_IN, 1.0 + ROW_IN * len(rows))
    for span in shown:
        width_ms = max(span.end_ms - span.begin_ms, SHORTEST_MS)
        left_ms = span.begin_ms - begin_ms
        axes.barh(place[span.process, span.depth], width_ms, 0.8, left_ms, color=COLORS.get(span.name, OTHER))
    publish_row = max((place[span.process, span.depth] for span in shown if span.name == "publish"), default=None)
    frame_row = max((place[span.process, span.depth] for span in shown if span.name == "frame"), default=None)
    if publish_row is not None and frame_row is not None:
        for sent_ms, drawn_ms in arrows(document):
            if begin_ms <= sent_ms and drawn_ms <= end_ms:
                ends = (sent_ms - begin_ms, publish_row - 0.4), (drawn_ms - begin_ms, frame_row + 0.4)
                axes.annotate("", ends[1], ends[0], arrowprops={"arrowstyle": "->", "color": INK, "lw": 0.7})
    axes.set(xlim=(0, length_ms), yticks=list(place.values()))
    axes.set_yticklabels([process if depth == 0 else "" for process, depth in rows])
    axes.set_xlabel("ms", fontsize=FONT_PT, color=INK)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    present = {span.name for span in shown}
    for name, color in COLORS.items():
        if name in present:
            axes.barh(0, 0, color=color, label=name)
    figure.legend(loc="outside upper center", ncols=6, frameon=False, fontsize=FONT_PT - 1)
    save(figure, out)
