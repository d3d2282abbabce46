"""A paused viewer rests: few frames in its log while nothing moves, none missing when it goes on."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.end_to_end.processes import Starter, focus, until, xdotool
from twixt.ipc.session import attach
from twixt.ipc.session.link import Link
from twixt.render.measure.frame_log import read_log
from twixt.render.viewer.idle import PAUSED_NS

pytestmark = [pytest.mark.display, pytest.mark.starvable]

# Physics speaks five times a second, paused as well.
STATUSES = 12
FRAME_NS = 16_666_667


def statuses(link: Link, count: int) -> None:
    for _ in range(count):
        last = link.status

        def spoken(last: object = last) -> bool:
            link.poll()
            return link.status is not last

        until(spoken, "physics speaks")


def has_started(log: Path) -> bool:
    """True once a frame after the start of the viewer stands in the file, to which rows go by some hundred."""
    with open(log, newline="") as file:
        return any(row["probe"] == "0" for row in csv.DictReader(file))


def test_a_paused_viewer_draws_few_frames_and_goes_on_where_it_stood(
    start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(start.runtime_folder))
    log = start.folder / "rest.csv"
    run = start("run", "metronome", "--name", "rest", "--size", "320x240", "--no-overlay", "--log", str(log))
    run.viewer()
    link = attach("rest")
    try:
        focus(run, start.display)
        until(lambda: log.exists() and has_started(log), "the viewer has started")

        def press(key: str, rate: float) -> None:
            def obeyed() -> bool:
                link.poll()
                return link.plan().rate == rate

            xdotool(start.display, "key", key)
            until(obeyed, f"physics plays at {rate}")

        press("space", 0)
        statuses(link, STATUSES)
        press("space", 1)
        statuses(link, 5)
        xdotool(start.display, "key", "Escape")
        assert run.end() == 0, run.err
    finally:
        link.close()

    rows = read_log(log)
    rows = rows.where(~rows["probe"])
    paused = rows["plan_rate"] == 0
    first, last = paused.nonzero()[0][[0, -1]]
    paused_ns = rows["present_ns"][last + 1] - rows["present_ns"][first - 1]
    rested_ns = rows["rested_ns"][first : last + 2].sum()
    assert paused_ns > 3 * PAUSED_NS
    assert rested_ns > paused_ns / 3
    assert paused.sum() < (paused_ns - rested_ns) / FRAME_NS + 10
    # It goes on from where it stood: no frame shows more simulated time than there was wall time since the one before.
    after = slice(last, last + 20)
    drawn_ns, present_ns = rows["draw_time_ns"][after], rows["present_ns"][after]
    assert (drawn_ns[1:] >= drawn_ns[:-1]).all()
    assert drawn_ns[1] - drawn_ns[0] <= present_ns[1] - present_ns[0] + FRAME_NS
    assert rows["draw_time_ns"][-1] > drawn_ns[0]
