"""`twixt measure --web`: rows of the page as rows of the frame log, and one run in a real Chromium."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twixt.cli.chromium import find_chromium
from twixt.cli.web_measure import frame_row
from twixt.ipc.errors import TwixtError
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameTable
from twixt.render.measure.run_figures import measure

ROOT = Path(__file__).parents[2]
ORIGIN_NS = 1_000_000_000_000
REFRESH_MS = 1000 / 60


def page_row(frame: int, **changed: Any) -> dict[str, Any]:
    """A frame of even motion in real time, 20 ms behind, with a snapshot at each frame."""
    present_ns = (frame + 1) * REFRESH_MS * 1e6
    row = {
        "frame": frame, "rested": frame == 0, "timestampMs": 5e3 + frame * REFRESH_MS, "presentNs": present_ns,
        "drawNs": present_ns - 20e6, "share": 0.5, "rate": 1.0, "playRate": 1.0, "offsetNs": 20e6, "roomNs": 5e6,
        "drawDueNs": present_ns - 20e6, "usedPublishedNs": present_ns - 18e6, "newestTick": frame,
        "newestSimNs": present_ns, "newestDueNs": present_ns,
        "newestPublishedNs": present_ns - 18e6, "worldEpoch": 0, "planNumber": 1, "newestArrivalNs": present_ns - 17e6,
        "planRate": 1.0, "ageBoundMs": 0.2, "refreshMs": REFRESH_MS, "workMs": 1.5, "latenessMs": 0.8, "messages": 1,
        "bytes": 1000, "held": 0, "mode": "interpolated", "reason": "even", "clockMode": "auto", "method": "auto",
    }  # fmt: skip
    return row | changed


def table_of(rows: list[dict[str, Any]]) -> FrameTable:
    return FrameTable.of(frame_row(row, before, ORIGIN_NS) for row, before in zip(rows, [None, *rows], strict=False))


def test_even_frames_of_a_page_are_even_in_the_report() -> None:
    figures = measure(table_of([page_row(frame) for frame in range(300)]), 60.0, True).sections
    assert figures["frames"]["count"] == 300
    assert figures["frames"]["mean_fps"] == pytest.approx(60)
    assert figures["frames"]["missed_refreshes"] == 0
    assert figures["frames"]["cpu_ms"]["p50"] == pytest.approx(1.5)
    assert figures["motion"]["animation_error_ms"]["max"] < 0.01
    assert figures["motion"]["sample_age_ms"]["p50"] == pytest.approx(20, abs=0.01)
    assert figures["latency"]["sim_to_present_ms"]["p50"] == pytest.approx(18, abs=0.01)
    assert figures["pacer"]["wake_error_us"]["p50"] == pytest.approx(800, abs=1)


def test_a_missed_refresh_and_a_held_picture_are_counted() -> None:
    rows = [page_row(frame) for frame in range(300) if frame != 100]
    rows[200] |= {"mode": "held", "drawNs": rows[199]["drawNs"]}
    figures = measure(table_of(rows), 60.0, True).sections
    assert figures["frames"]["missed_refreshes"] == 1
    assert figures["motion"]["held_share"] == pytest.approx(1 / 298)
    assert figures["motion"]["animation_error_ms"]["max"] == pytest.approx(REFRESH_MS, abs=0.1)


def test_a_pause_of_the_page_counts_for_nothing() -> None:
    rows = [page_row(frame, rested=frame in (0, 100)) for frame in range(300) if not 60 <= frame < 100]
    figures = measure(table_of(rows), 60.0, True).sections
    assert figures["frames"]["missed_refreshes"] == 0
    assert figures["frames"]["mean_fps"] == pytest.approx(60)


def test_a_frame_without_a_picture_has_no_instants() -> None:
    row = frame_row(page_row(0, mode="none", drawDueNs=0, newestDueNs=0, usedPublishedNs=0), None, ORIGIN_NS)
    assert (row.draw_due_ns, row.newest_due_ns, row.used_published_ns, row.newest_tick) == (0, 0, 0, -1)


def test_a_run_in_a_browser_is_reported_with_what_a_page_knows(tmp_path: Path) -> None:
    try:
        find_chromium()
    except TwixtError as missing:
        pytest.skip(str(missing))
    report_file, log = tmp_path / "report.json", tmp_path / "frames.csv"
    words = ["measure", "metronome", "--web", "--offscreen", "--size", "320x240", "--seconds", "1.5"]
    words += [
        "--json",
        str(report_file),
        "--log",
        str(log),
        "--fail-if",
        "frames.count>100000",
        "--fail-if",
        "frames.count>2",
    ]
    done = subprocess.run(
        [sys.executable, "-P", str(ROOT / "twixt.py"), *words],
        env=os.environ, capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "limit broken: frames.count>2" in done.stderr
    assert "100000" not in done.stderr
    report = json.loads(report_file.read_text())
    assert report["frames"]["count"] == len(read_log(log)) > 2
    assert report["motion"]["distinct_share"] is not None
    assert report["motion"]["sample_age_ms"]["p50"] is not None
    assert report["latency"]["first_frame_ms"] > 0
    assert report["physics"]["steps"] > 0
    assert report["frames"]["gpu_ms"]["p50"] is None
    assert any("a page in a browser" in line for line in report["conditions"])
    assert np.all(np.diff(read_log(log)["draw_time_ns"]) >= 0)
