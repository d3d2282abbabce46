"""A Chromium that shows an empty page, a page of twixt, and the empty page again, in this process's network namespace.

It prints a line of JSON at each begin and end of a measured stretch, with the instant, and at last the figures.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.processes import json_writer
from bench.web.publish_delay import COLUMNS, publish_delays
from twixt.cli.chromium import WITHOUT_COMPOSITING, Chromium, Page
from twixt.cli.web_measure import HAS_PICTURE, LogReader
from twixt.render.measure.frame_log import FrameLog
from twixt.render.measure.run_figures import measure

# Longest wait for the first picture, in seconds: over a link with loss, it is retransmissions.
PICTURE_LIMIT_S = 60.0
# Number and bytes of the messages of the stream so far.
RECEIVED = "[twixt.connection.messages, twixt.connection.bytes]"
# Size and speed of the bar of the empty page. A slow bar would be shifted by its rounding to whole pixels.
BAR_PX, BAR_PX_S = 24, 1200.0
# An empty page that does nothing but read the timestamps of its frames, and moves a bar by them if asked to.
EMPTY = f"""(isBarShown, seconds) => new Promise((resolve) => {{
    document.body.style = "margin: 0; background: #000; overflow: hidden";
    const bar = document.createElement("div");
    bar.style = "position: absolute; top: 0; left: 0; width: {BAR_PX}px; height: 100vh; background: #fff";
    if (isBarShown) document.body.append(bar);
    const timestampsMs = [];
    const frame = (timestampMs) => {{
        timestampsMs.push(timestampMs);
        if (timestampMs - timestampsMs[0] > seconds * 1e3) return resolve(timestampsMs);
        const wayPx = innerWidth - {BAR_PX};
        bar.style.transform = `translateX(${{Math.round((timestampMs * {BAR_PX_S / 1e3}) % wayPx)}}px)`;
        requestAnimationFrame(frame);
    }};
    requestAnimationFrame(frame);
}})"""


def run(
    url: str, seconds: float, empty_s: float, start_up_s: float, prefer: str, display: str | None,
    size_px: Sequence[int], is_watched: bool,
) -> None:  # fmt: skip
    """Measures the page at `url` for `seconds`, and before and after it an empty page for `empty_s`. prefer: preference
    of the page's clock. is_watched: True if the observer reads the display: then the empty page moves a bar, and the
    page of twixt shows nothing over its picture."""
    say = json_writer()
    # without a secure context, the clock of a page would have steps of 0.1 ms
    origin, host = "/".join(url.split("/")[:3]), url.split("/")[2].rpartition(":")[0]
    flags = (WITHOUT_COMPOSITING, f"--unsafely-treat-insecure-origin-as-secure={origin}")
    width_px, height_px = size_px
    with Chromium(display, (width_px, height_px), flags=flags, hosts=(host,), is_kiosk=is_watched) as chromium:
        page = chromium.page
        empty_ms: list[float] = []

        def show_empty() -> None:
            page.open("about:blank")
            say({"empty": "begin", "at_ns": time.perf_counter_ns()})
            stamps_ms = page.evaluate(f"({EMPTY})({str(is_watched).lower()}, {empty_s})", empty_s + PICTURE_LIMIT_S)
            say({"empty": "end", "at_ns": time.perf_counter_ns()})
            empty_ms.extend(np.diff(stamps_ms).tolist())

        show_empty()
        opened_s = time.perf_counter()
        page.open(url)
        page.wait_for(HAS_PICTURE, PICTURE_LIMIT_S)
        picture_s = time.perf_counter() - opened_s
        page.evaluate(f"twixt.clock.prefer = {prefer!r}")
        if is_watched:
            page.send_key("h")
            page.evaluate("document.getElementById('note').remove()")
        time.sleep(start_up_s)
        log = FrameLog()
        reader = LogReader(page, log)
        reader.skip()
        received = page.evaluate(RECEIVED)
        say({"page": "begin", "at_ns": time.perf_counter_ns()})
        time.sleep(seconds)
        say({"page": "end", "at_ns": time.perf_counter_ns()})
        received = np.subtract(page.evaluate(RECEIVED), received).tolist()
        reader.read()
        found = figures(page, log, seconds, received, picture_s)
        show_empty()
        say(found | {"empty_error_ms": frame_errors_ms(np.array(empty_ms))})


def figures(page: Page, log: FrameLog, seconds: float, received: Sequence[int], picture_s: float) -> dict[str, Any]:
    """Figures of a run. seconds: length of the measured stretch. received: number and bytes of the messages of the
    stream in it. picture_s: time from opening the page to its picture."""
    table, (messages, received_bytes) = log.rows, received
    measured = measure(table, 1e3 / page.evaluate("twixt.state.refreshMs"), True).sections
    motion, frames = measured["motion"], measured["frames"]
    return {
        "frames": frames.get("count"),
        "fps": frames.get("mean_fps"),
        "distinct": motion.get("distinct_share"),
        "held": motion.get("held_share"),
        "reversals": motion.get("reversals"),
        "error_ms": motion.get("animation_error_ms"),
        "age_ms": motion.get("sample_age_ms"),
        "age_bound_ms": page.evaluate("twixt.clockMap.boundMs"),
        "snapshots_per_s": len(np.unique(table["newest_tick"])) / seconds,
        "stream_bytes_per_s": received_bytes / seconds,
        "message_bytes": received_bytes / max(1, messages),
        "refresh_ms": page.evaluate("twixt.state.refreshMs"),
        "first_picture_s": picture_s,
        "publish_ms": publish_delays(page.evaluate(COLUMNS % seconds)),
        "errors": page.errors,
    }


def frame_errors_ms(intervals_ms: NDArray[np.float64]) -> dict[str, float]:
    """By how much the intervals between the frames of an empty page differ from their median, in ms."""
    off_ms = np.abs(intervals_ms - np.median(intervals_ms))
    return {"p50": float(np.median(off_ms)), "p99": float(np.percentile(off_ms, 99)), "max": float(off_ms.max())}
