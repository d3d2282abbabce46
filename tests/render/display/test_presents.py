"""Whole runs on compositors: the presents that are logged are those that the compositor told of."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.displays.rigs import kwin, sway, weston
from twixt.render.display.present_times import offset_ns
from twixt.render.measure.evenness import intervals
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameTable

LIMIT_S = 60.0
# The compositor's clock may be another than ours: what it is ahead is measured after the run, and drifts by so much in
# one at most (500 parts in a million). A twentieth of a refresh.
CLOCKS_DRIFT_NS = 1_000_000
SECONDS = "1"
# A timer of 60 Hz on a machine that runs it a whole refresh and a half late.
LEAST_CALLED_HZ = 24

pytestmark = pytest.mark.display

# As libwayland prints what a compositor said.
PRESENTED = re.compile(r"wp_presentation_feedback@\d+\.presented\((\d+), (\d+), (\d+), (\d+), (\d+), (\d+), (\d+)\)")
ASKED = re.compile(r"-> wp_presentation@\d+\.feedback\(")


def run(environ: dict[str, str], folder: Path, *flags: str) -> tuple[FrameTable, list[str]]:
    """A short run there: its log, and what libwayland said of its talk with the compositor."""
    log = folder / "frames.csv"
    command = [sys.executable, "-m", "twixt", "run", "metronome", "--seconds", SECONDS, "--log", str(log), *flags]
    ended = subprocess.run(
        command, env=environ | {"WAYLAND_DEBUG": "client"}, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return read_log(log), ended.stderr.splitlines()


def test_the_presents_in_the_log_are_those_that_the_compositor_told_of(tmp_path: Path) -> None:
    with weston() as display:
        table, talk = run(display.environ, tmp_path)
    said = "\n".join(talk)
    clock_id = int(re.findall(r"wp_presentation@\d+\.clock_id\((\d+)\)", said)[0])
    clock_offset_ns = offset_ns(clock_id)
    assert clock_offset_ns is not None
    told_ns = {}
    for high, low, ns, refresh_ns, _, _, flags in (map(int, match) for match in PRESENTED.findall(said)):
        told_ns[((high << 32) + low) * 1_000_000_000 + ns + clock_offset_ns] = (refresh_ns, flags)
    frames = table.where(~table["probe"])
    spoken = frames.where(frames["display_present_ns"] > 0)
    assert len(spoken) > 0.8 * len(frames) > 5
    told = np.array(sorted(told_ns))
    nearest = [int(np.abs(told - present_ns).argmin()) for present_ns in spoken["display_present_ns"]]
    assert len(set(nearest)) == len(spoken)
    assert np.abs(told[nearest] - spoken["display_present_ns"]).max() < CLOCKS_DRIFT_NS
    assert (spoken["present_ns"] == spoken["display_present_ns"]).all()
    assert spoken.is_text("present_source", "display").all()
    assert spoken.is_text("present_flags", "").all(), "weston stamps by software there"
    assert {flags for _, flags in told_ns.values()} == {0}
    assert (spoken["display_present_ns"] > spoken["swap_begin_ns"]).all()


def test_a_compositor_that_never_answers_is_asked_no_more_than_a_second_and_frames_go_on(tmp_path: Path) -> None:
    with sway(60) as display:
        table, talk = run(display.environ, tmp_path)
    asked = sum(bool(ASKED.search(line)) for line in talk)
    assert 0 < asked < 50 < len(table)
    assert not (table["display_present_ns"] > 0).any()
    assert table.where(~table["probe"]).is_text("present_source", "swap").all()


@pytest.mark.starvable
def test_a_desktops_compositor_that_calls_unevenly_is_taken_for_the_display_that_it_is(tmp_path: Path) -> None:
    with kwin() as display:
        table, _ = run(display.environ, tmp_path, "--seconds", "3")
    frames = table.where(~table["probe"])
    assert (frames["planned_refreshes"] > 0).all()
    assert not frames.is_text("present_source", "timer").any()
    # Without a screen this compositor calls by a timer of 60 Hz. A busy machine runs that timer late, so that the calls
    # come at fewer hertz, never at more.
    refresh_hz = intervals(table).refresh_hz
    assert refresh_hz is not None
    assert LEAST_CALLED_HZ < refresh_hz < 1.05 * 60
