"""Events through real processes: each viewer delivers each event once, in order, in the frame that reaches it."""

from __future__ import annotations

import shutil

import pytest

from bench.events.event_runs import EXACT, Action, Case, CaseRun, Viewer, ViewerRun, measured
from bench.screens import Screen
from tests.displays.rigs import Display

pytestmark = pytest.mark.display

SPLIT = (("split", "none,auto"),)


def run_of(case: Case, screen: Display) -> CaseRun:
    if case.actions and shutil.which("xdotool") is None:
        pytest.skip("no xdotool; on Debian: apt-get install xdotool")
    run = measured(case, Screen("Xvfb", dict(screen.environ)))
    assert run.failure == ""
    assert [viewer.failure for viewer in run.viewers] == [""] * len(case.viewers)
    assert (run.emitted, run.dropped) == (run.made, 0)
    return run


def delivers_exactly(viewer: ViewerRun) -> None:
    figures = viewer.figures
    assert figures is not None
    assert figures.expected > 0
    assert figures.is_exact, figures
    assert figures.is_in_time, figures
    assert (viewer.lost, viewer.notices) == (0, ())


def test_three_viewers_deliver_each_event_once_in_order_through_trouble_pauses_steps_and_speeds(
    shared_screen: Display,
) -> None:
    case = Case(
        "trouble",
        6.0,
        (Viewer("keys"), Viewer("split", options=SPLIT), Viewer("late", 0.4)),
        burst_s=2.0,
        trouble=("--drop", "20", "--delay", "80+-20", "--stall", "300@2"),
        actions=(
            Action(0.1, 0, "space period period period space"),
            Action(0.2, 0, "i i i i i i i i"),  # extrapolate
            Action(0.3, 1, "bracketleft bracketleft bracketright bracketright"),
            Action(0.5, 0, "c c"),
            Action(0.6, 1, "space period space"),
            Action(0.7, 0, "bracketright bracketleft"),
        ),
        promise=EXACT,
    )  # fmt: skip
    run = run_of(case, shared_screen)
    assert run.made == 12_000
    for viewer in run.viewers:
        delivers_exactly(viewer)
    keys, split, late = (viewer.figures for viewer in run.viewers)
    assert keys is not None
    assert split is not None
    assert late is not None
    assert keys.delivered == split.delivered == run.made
    assert 0 < late.delivered < run.made


def test_a_stopped_viewer_catches_up_and_loses_none(shared_screen: Display) -> None:
    case = Case("stop", 5.0, (Viewer("stopped"),), burst=0, actions=(Action(0.2, 0, "stop"),), stop_s=2.0)
    (viewer,) = run_of(case, shared_screen).viewers
    delivers_exactly(viewer)


def test_a_reset_drops_and_counts_what_was_not_drawn(shared_screen: Display) -> None:
    trouble = ("--delay", "200")
    case = Case("reset", 3.0, (Viewer("plain"),), burst=0, actions=(Action(0.5, 0, "r"),), trouble=trouble)
    (viewer,) = run_of(case, shared_screen).viewers
    figures = viewer.figures
    assert figures is not None
    assert not figures.is_disordered
    assert figures.missing > 0
    assert (viewer.lost, viewer.reset) == (0, figures.missing)
