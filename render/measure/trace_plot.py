"""A stretch of a `--profile` trace as a picture (PNG), for a page: `python -m twixt.render.measure.trace_plot`.

The one idea: what a trace viewer shows, without one: time to the right, a row for each process and each depth of
spans in it, an arrow from each publish to the first frame that draws its snapshot. Whoever looks for a fault opens the
trace itself.
"""

from __future__ import annotations

import argparse
import json
from typing import Any, NamedTuple

from twixt.ipc.errors import TwixtError

LENGTH_MS = 100.0
WIDTH_IN, ROW_IN = 9.0, 0.4
# What is longer than nothing is seen: at 100 ms, half a pixel.
SHORTEST_MS = 0.04
# Colours of spans, by name; others are grey. Waiting is pale.
COLORS = {
    "step": "#3b7dd8", "publish": "#12355b", "injected work": "#d1495b", "injected stall": "#d1495b", "wait": "#e6e9ee",
    "wait for the swap": "#d5dde0", "frame": "#cfd8e3", "read and upload": "#f2a541", "clock and draw": "#3c9d6b",
    "overlay": "#8e6bbf", "finish (GPU)": "#1f6b45", "swap": "#222222", "write the log": "#9aa5b1",
}  # fmt: skip
OTHER = "#9aa5b1"


class Bar(NamedTuple):
    """One span. depth: how many others of its thread it lies in."""

    process: str
    name: str
    begin_ms: float
    end_ms: float
    depth: int


def bars(document: dict[str, Any]) -> list[Bar]:
    """The spans of a trace that processes recorded of their own thread, with their depths."""
    names = {e["pid"]: e["args"]["name"] for e in document["traceEvents"] if e["name"] == "process_name"}
    spans = [event for event in document["traceEvents"] if event["ph"] == "X" and event["tid"] == 1]
    found: list[Bar] = []
    for process_id, name in names.items():
        around: list[float] = []
        own = [span for span in spans if span["pid"] == process_id]
        for span in sorted(own, key=lambda span: (span["ts"], -span["dur"])):
            begin_ms, end_ms = span["ts"] / 1e3, (span["ts"] + span["dur"]) / 1e3
            while around and around[-1] <= begin_ms + 1e-6:
                around.pop()
            found.append(Bar(name, span["name"], begin_ms, end_ms, len(around)))
            around.append(end_ms)
    return found


def arrows(document: dict[str, Any]) -> list[tuple[float, float]]:
    """From when to when a snapshot was on its way to its first frame, ms."""
    begins = {event["id"]: event["ts"] / 1e3 for event in document["traceEvents"] if event["ph"] == "s"}
    return [(begins[event["id"]], event["ts"] / 1e3) for event in document["traceEvents"] if event["ph"] == "f"]


def trace_plot(trace: str, out: str, from_ms: float | None = None, length_ms: float = LENGTH_MS) -> None:
    """Draws `length_ms` of the trace from `from_ms` after the command's start; None: from its middle."""
    try:
        with open(trace, encoding="utf-8") as file:
            document = json.load(file)
        found = bars(document)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TwixtError(f"cannot read the trace {trace!r}: {error}; make one with: twixt run --profile FILE") from None
    if not found:
        raise TwixtError(f"the trace {trace!r} has no spans; make one with: twixt run --profile FILE")
    from twixt.render.measure.figure import FONT_PT, INK, new_figure, save

    begin_ms = from_ms if from_ms is not None else (found[0].begin_ms + max(bar.end_ms for bar in found)) / 2
    end_ms = begin_ms + length_ms
    seen = [bar for bar in found if bar.end_ms > begin_ms and bar.begin_ms < end_ms]
    rows = sorted({(bar.process, bar.depth) for bar in seen})
    place = {row: -number for number, row in enumerate(rows)}
    figure, (axes,) = new_figure(WIDTH_IN, 1.0 + ROW_IN * len(rows))
    for bar in seen:
        width_ms = max(bar.end_ms - bar.begin_ms, SHORTEST_MS)
        left_ms = bar.begin_ms - begin_ms
        axes.barh(place[bar.process, bar.depth], width_ms, 0.8, left_ms, color=COLORS.get(bar.name, OTHER))
    publish_row = max((place[bar.process, bar.depth] for bar in seen if bar.name == "publish"), default=None)
    frame_row = max((place[bar.process, bar.depth] for bar in seen if bar.name == "frame"), default=None)
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
    present = {bar.name for bar in seen}
    for name, color in COLORS.items():
        if name in present:
            axes.barh(0, 0, color=color, label=name)
    figure.legend(loc="outside upper center", ncols=6, frameon=False, fontsize=FONT_PT - 1)
    save(figure, out)


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw a stretch of a --profile trace.")
    parser.add_argument("trace")
    parser.add_argument("out", help="a PNG file")
    parser.add_argument("--from-ms", type=float, help="after the command's start [the middle]")
    parser.add_argument("--length-ms", type=float, default=LENGTH_MS)
    asked = parser.parse_args()
    trace_plot(asked.trace, asked.out, asked.from_ms, asked.length_ms)


if __name__ == "__main__":
    main()
