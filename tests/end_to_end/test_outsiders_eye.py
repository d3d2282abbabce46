"""The frame log held against the pixels: a process that knows nothing of twixt watches the screen itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.displays.rigs import Display, xvfb
from twixt.render.measure.frame_log import read_log
from twixt.sim.worlds.metronome import position_at

ROOT = Path(__file__).parents[2]
SIZE_PX = (800, 600)
# Rows that hold the body, 24 px across in the middle of the picture.
BAND_PX = (SIZE_PX[1] // 2 - 20, SIZE_PX[1] // 2 + 20)
PX_PER_M = SIZE_PX[1] / 6  # as the metronome's docstring says
# How long a run is watched; a longer look by hand: TWIXT_WATCH_S=20.
WATCH_S = float(os.environ.get("TWIXT_WATCH_S", "4"))
DT_NS = 1e9 / 60


class Seen(NamedTuple):
    """Pictures that the observer told apart."""

    seen_ns: np.ndarray
    x_px: np.ndarray


class Logged(NamedTuple):
    """Frames as twixt logged them, and where that puts the body."""

    present_ns: np.ndarray
    x_px: np.ndarray


@pytest.fixture
def screen() -> Iterator[Display]:
    with xvfb(map_screen=True, size_px=SIZE_PX) as display:
        yield display


def watched_run(screen: Display, folder: Path, *flags: str) -> tuple[Seen, Logged]:
    """A metronome run on `screen`, seen from outside and logged from inside."""
    pictures, log = folder / "seen.npz", folder / "frames.csv"
    observer = subprocess.Popen(
        [sys.executable, str(ROOT / "tests/end_to_end/observer.py"), str(screen.screen_file), *map(str, BAND_PX), str(pictures)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=screen.environ,
    )  # fmt: skip
    try:
        assert observer.stdout is not None
        assert observer.stdout.readline() == b"ready\n"
        done = subprocess.run(
            [sys.executable, str(ROOT / "twixt.py"), "run", "metronome", "--no-overlay", "--fps", "60", "--size", "800x600",
             "--seconds", str(WATCH_S), "--log", str(log), *flags],
            env=screen.environ, capture_output=True, text=True, timeout=WATCH_S + 60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    finally:
        observer.communicate(timeout=30)
    with np.load(pictures) as arrays:
        seen = Seen(arrays["seen_ns"], arrays["centroid_x"])
    return seen, logged(log)


def logged(log: Path) -> Logged:
    """Where each frame's drawn time puts the body. Between the last step of a crossing and the first of the next
    the body is drawn at the older one's place until the newer one's instant: a teleport cuts, it does not slide."""
    rows = read_log(log)
    rows = rows.where(~rows["probe"])
    drawn_s = rows["draw_time_ns"] / 1e9
    x_m = np.array([position_at(t) for t in drawn_s])
    before_m, after_m = (
        np.array([position_at(tick / 60) for tick in rows[name]]) for name in ("previous_tick", "next_tick")
    )
    cut = (rows["next_tick"] >= 0) & (after_m < before_m)
    return Logged(rows["present_ns"], SIZE_PX[0] / 2 + np.where(cut, before_m, x_m) * PX_PER_M)


def in_step(seen: Seen, frames: Logged) -> tuple[Seen, np.ndarray]:
    """The pictures of the logged stretch but for its last frame (the window closes right behind it), and for each
    the frame that it is: the constant time between log and glass is fitted once, as the median distance to the
    frame swapped last before."""
    at = np.searchsorted(frames.present_ns, seen.seen_ns) - 1
    inside = (at >= 0) & (seen.seen_ns < frames.present_ns[-1])
    distance_ns = np.median(seen.seen_ns[inside] - frames.present_ns[at[inside]])
    swapped_ns = seen.seen_ns - distance_ns
    inside = (swapped_ns > frames.present_ns[0] - 8e6) & (swapped_ns < frames.present_ns[-1] - 8e6)
    nearest = np.abs(frames.present_ns[:, None] - swapped_ns[inside][None, :]).argmin(axis=0)
    return Seen(seen.seen_ns[inside], seen.x_px[inside]), nearest


@pytest.mark.display
@pytest.mark.starvable
@pytest.mark.parametrize("flags", [[], ["--slow-physics", "40"]], ids=["plain", "slow-physics"])
def test_an_outsider_sees_what_the_log_says(screen: Display, tmp_path: Path, flags: list[str]) -> None:
    seen, frames = watched_run(screen, tmp_path, *flags)
    pictures, frame_of = in_step(seen, frames)
    distinct = 1 + np.count_nonzero(np.diff(frames.x_px[:-1]))
    off_px = np.abs(pictures.x_px - frames.x_px[frame_of])
    steps_px = np.diff(pictures.x_px)
    crossings = steps_px < -SIZE_PX[0] / 4
    intervals_ms = np.diff(pictures.seen_ns) / 1e6, np.diff(frames.present_ns) / 1e6
    print(f"{len(pictures.x_px)} pictures seen, {distinct} logged in {len(frames.x_px)} frames; interval p50 "
          f"{np.median(intervals_ms[0]):.3f} ms seen, {np.median(intervals_ms[1]):.3f} ms logged; "
          f"off by p50 {np.median(off_px):.3f} px, p99 {np.percentile(off_px, 99):.3f} px")  # fmt: skip
    assert not np.isnan(pictures.x_px).any(), f"no body in picture(s) {np.flatnonzero(np.isnan(pictures.x_px))}"
    assert abs(len(pictures.x_px) - distinct) <= 2
    assert abs(np.median(intervals_ms[0]) - np.median(intervals_ms[1])) <= 0.5
    assert np.percentile(off_px, 99) <= 1.0
    assert (steps_px[~crossings] >= 0).all()
