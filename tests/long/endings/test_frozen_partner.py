"""A partner that is frozen and goes on: the picture stands meanwhile, and goes on without a step back or a rush."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.displays.rigs import Display
from tests.end_to_end.drawn import has_counted_frames
from tests.end_to_end.processes import Run, Starter, memories, starter, until
from tests.newest import newest as newest_snapshot
from twixt.ipc.session import attach
from twixt.ipc.session.link import Link
from twixt.ipc.snapshot import Head
from twixt.render.input.keys import ViewerSettings
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.overlay.panel_state import messages

# What is made good after less than a freeze; after one, nothing is.
DEBT_NS = 1_000_000_000
# Frozen for so many looks of 10 ms: longer than any debt that is made good, and than a silence that is no news.
FROZEN_LOOKS = 250

TINY = ("--size", "64x48", "--no-overlay")


@pytest.mark.parametrize(
    ("silent_ms", "said"), [(900, ()), (3_200, ("no snapshot from physics for 3 s",)), (300_000, ("for 300 s",))]
)
def test_a_picture_that_waits_for_physics_says_since_when(silent_ms: int, said: tuple[str, ...]) -> None:
    published_ns = 5_000_000_000
    link: Any = SimpleNamespace(ended=None, status={})
    row = FrameRow(present_ns=published_ns + silent_ms * 1_000_000)
    words = messages(link, row, Head(published_ns=published_ns), ViewerSettings("auto", "auto", True))
    assert len(words) == len(said)
    for word, part in zip(words, said, strict=True):
        assert part in word


@pytest.fixture
def start(xvfb_screen: Display, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Starter]:
    with starter(tmp_path, xvfb_screen.environ) as starts:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(starts.runtime_folder))
        yield starts


def newest(link: Link) -> int:
    """The newest step that it can see."""
    return newest_snapshot(link).tick


def steps(link: Link, count: int) -> int:
    """Waits for so many more steps; the newest."""
    wanted = newest(link) + count
    until(lambda: newest(link) >= wanted, f"{count} steps")
    return newest(link)


def stay_frozen(pids: list[int]) -> None:
    """Stops them all, for a while, which is what these tests are about, and lets them go on."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    idle = select.poll()
    idle.poll(FROZEN_LOOKS * 10)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def shown_by(run: Run, log: Path) -> dict[str, np.ndarray]:
    """Ends the viewer; what its frames showed, those of its start-up left out."""
    run.process.send_signal(signal.SIGINT)
    run.end()
    rows = read_log(log)
    rows = rows.where(~rows["probe"])
    return {name: rows[name] for name in ("present_ns", "draw_time_ns")} | {"held": rows.is_text("mode", "held")}


def assert_one_change(shown: dict[str, np.ndarray], frozen_ns: int) -> None:
    """Never back, one long stand, no rush after it."""
    drawn_ns, present_ns = shown["draw_time_ns"], shown["present_ns"]
    moved_ns, passed_ns = np.diff(drawn_ns), np.diff(present_ns)
    assert (moved_ns >= 0).all()
    still = np.concatenate(([0], np.cumsum(moved_ns > 0)))
    stands_ns = [np.ptp(present_ns[still == one]) for one in np.unique(still)]
    stands_ns += list(passed_ns[passed_ns > frozen_ns / 2])  # where the viewer was frozen itself there are no frames
    assert sum(stand > frozen_ns / 2 for stand in stands_ns) == 1
    assert drawn_ns[-1] - drawn_ns[0] <= present_ns[-1] - present_ns[0] - frozen_ns + DEBT_NS


@pytest.mark.display
@pytest.mark.stress
@pytest.mark.starvable
def test_of_frozen_physics_the_picture_stands_and_goes_on_without_a_step_back_or_a_rush(start: Starter) -> None:
    sim = start("sim", "metronome", "--name", "lab")
    until(lambda: memories({sim.process.pid}), "the simulation is there")
    log = start.folder / "frames.csv"
    view = start("view", "lab", *TINY, "--log", str(log))
    until(lambda: has_counted_frames(log), "its start is over")
    link = attach("lab")
    try:
        before = newest(link)
        stay_frozen([sim.process.pid])
        after = newest(link)
        assert after - before < 30, "it was not frozen"
        steps(link, 90)
    finally:
        link.close()
    shown = shown_by(view, log)
    assert_one_change(shown, FROZEN_LOOKS * 10_000_000)
    assert sim.process.poll() is None


@pytest.mark.display
@pytest.mark.stress
@pytest.mark.starvable
def test_a_suspended_machine_is_one_clean_cut_and_steps_are_not_made_up_for(start: Starter) -> None:
    log = start.folder / "frames.csv"
    run = start("run", "metronome", "--name", "lab", *TINY, "--log", str(log))
    viewer = run.viewer()
    until(lambda: has_counted_frames(log), "its start is over")
    link = attach("lab")
    try:
        before, plan = newest(link), link.plan()
        stay_frozen([run.process.pid, viewer])
        first = steps(link, 1)
        until(lambda: link.plan().number > plan.number, "a new plan")
        anew = link.plan()
        assert anew.number == plan.number + 1
        assert anew.rate == plan.rate
        assert first - before < 60, "two and a half seconds were made up for"
        steps(link, 90)
        assert link.plan() == anew
    finally:
        link.close()
    shown = shown_by(run, log)
    assert_one_change(shown, FROZEN_LOOKS * 10_000_000)
