"""Without a display a run says so, ends by itself, and leaves report, screenshot and plot."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.end_to_end.processes import Run, Starter, starter
from twixt.render.measure.report_keys import START_PHASES

pytestmark = pytest.mark.slow


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    environ = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    with starter(tmp_path, environ) as starts:
        yield starts


def shows_the_world(picture: Path, size_px: tuple[int, int]) -> bool:
    """Whether it has this size, and something else than a background on it."""
    with Image.open(picture) as image:
        assert image.size == size_px
        return len(np.unique(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0)) > 50


def ended_well(run: Run) -> None:
    assert run.end() == 0, run.err
    assert "Traceback" not in run.err
    assert run.pids() == {}


def test_a_run_says_that_there_is_no_display_and_leaves_what_can_be_looked_at_later(start: Starter) -> None:
    run = start("run", "balls", "--set", "count=20", "--size", "320x240", "--seconds", "2")
    run.hear("no display (DISPLAY and WAYLAND_DISPLAY are not set): drawing offscreen")
    run.hear("for 2 s, then the report")
    ended_well(run)
    assert shows_the_world(start.folder / "twixt-screenshot.png", (320, 240))
    assert shows_the_world(start.folder / "twixt-pacing.png", Image.open(start.folder / "twixt-pacing.png").size)
    assert re.match(r"Even: 99 % of frames within |Uneven: \d+ of \d+ frames; ", run.out)
    assert re.search(r"frames +\d+ in \d\.\d+ s", run.out)
    said = run.err.splitlines()
    assert len(said) == 3, run.err
    assert all(line.startswith("twixt: ") for line in said)
    assert sorted(os.listdir(start.folder)) == ["runtime", "twixt-pacing.png", "twixt-screenshot.png"]


def test_a_short_run_leaves_its_picture_too(start: Starter) -> None:
    run = start(
        "run", "balls", "--set", "count=20", "--size", "320x240", "--seconds", "0.3", "--screenshot", "short.png"
    )
    ended_well(run)
    assert shows_the_world(start.folder / "short.png", (320, 240))


def test_a_picture_of_an_instant_that_never_came_is_missed_in_words(start: Starter) -> None:
    run = start("run", "metronome", "--offscreen", "--seconds", "0.3", "--screenshot", "late.png", "--at", "100")
    ended_well(run)
    assert "no screenshot in late.png: the run ended before its time, 100 s after the first frame" in run.err
    assert not (start.folder / "late.png").exists()


def test_a_measurement_without_a_display_is_whole_and_says_so(start: Starter) -> None:
    run = start("measure", "metronome", "--size", "320x240", "--seconds", "1", "--json", "-")
    ended_well(run)
    report = json.loads(run.out)
    assert report["display"]["backend"] == "offscreen"
    assert report["frames"]["count"] > 3
    assert report["physics"]["steps"] > 3
    assert report["motion"]["reversals"] == 0
    assert report["channel"]["pairs_failed"] == 0
    # Its start is told in parts, of both processes: the viewer's make up the whole of it.
    first_frame_ms, parts_ms = report["latency"]["first_frame_ms"], report["latency"]["first_frame_parts_ms"]
    assert list(parts_ms) == list(START_PHASES)
    assert all(ms >= 0 for ms in parts_ms.values()), parts_ms
    viewers = [ms for part, ms in parts_ms.items() if part.startswith("viewer_")]
    assert sum(viewers) == pytest.approx(first_frame_ms)


def test_a_broken_limit_is_named_and_the_exit_code_1(start: Starter) -> None:
    run = start("measure", "metronome", "--offscreen", "--seconds", "0.5", "--fail-if", "frames.count>1")
    assert run.end() == 1
    assert "twixt: limit broken: frames.count" in run.err
    assert run.left() == []
