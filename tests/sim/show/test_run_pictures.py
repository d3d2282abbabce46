"""Live plots and screenshots of a user's own loop."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sim.watched import Watched
from twixt.ipc.errors import TwixtError


@pytest.fixture
def watched() -> Iterator[Watched]:
    made = Watched()
    yield made
    made.link.close()
    made.view.close()


def points(watched: Watched, count: int) -> list[tuple[float, float]]:
    """The points of the only series that a viewer gets, as soon as there are `count`."""
    found: list[tuple[float, float]] = []
    while len(found) < count:
        watched.link.wait(0.02)
        watched.link.poll()
        for plot in watched.link.received.plots:
            (series,) = plot.series
            found = list(zip(series.xs.tolist(), series.ys.tolist(), strict=True))
    return found


def test_a_value_alone_is_plotted_at_the_time_of_the_next_publish(watched: Watched) -> None:
    view = watched.view
    view.plot("e", 1.0)
    view.publish(position=[[0, 0, 0]])
    view.plot("e", 2.0)
    view.publish(position=[[0, 0, 0]], sim_time=5.0)
    view.plot("e", 3.0)
    assert points(watched, 3) == [(0.0, 1.0), (0.002, 2.0), (5.002, 3.0)]


def test_a_plot_keeps_no_view_alive(watched: Watched) -> None:
    watched.view.plot("e", 1.0)
    gone = weakref.ref(watched.view)
    view, watched.view = watched.view, Watched().view
    del view
    gc.collect()
    assert gone() is None


def test_a_wrong_value_is_an_error_in_the_users_line_and_after_close_nothing_is(watched: Watched) -> None:
    with pytest.raises(TwixtError, match="must be one number, got 'high'"):
        watched.view.plot("e", "high")  # type: ignore[arg-type]
    watched.view.close()
    watched.view.plot("e", "high")  # type: ignore[arg-type]


def test_a_screenshot_of_the_state_published_last_is_requested_of_the_viewer(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shots = [watched.view.screenshot("before.png")]
    watched.publish(position=[[0, 0, 0]])
    watched.publish(position=[[0, 0, 0]])
    shots.append(watched.view.screenshot(Path("after.png"), overlay=True))
    received = watched.link.received.screenshots
    while len(received) < 2:
        watched.link.wait(0.02)
        watched.link.poll()
    assert [(os.path.basename(one.path), one.tick, one.has_panels) for one in received] == [
        ("before.png", -1, False),
        ("after.png", 1, True),
    ]
    for one in received:
        assert one.path.startswith(str(tmp_path))
        watched.link.answer_screenshot(one.number, one.tick, None)
    assert all(shot.wait(60) for shot in shots)


def test_without_a_viewer_it_fails_at_once_and_is_said_once(
    watched: Watched, capfd: pytest.CaptureFixture[str]
) -> None:
    watched.link.close()
    while watched.view._host.viewers:
        watched.link.wait(0.01)
    shots = [watched.view.screenshot("ep.png") for _ in range(5)]
    watched.view.close()
    shots.append(watched.view.screenshot("ep.png"))
    assert all(shot.is_done and not shot.wait() for shot in shots)
    said = [line for line in capfd.readouterr().err.splitlines() if "no screenshot" in line]
    assert [line.partition(": there is ")[2] for line in said] == [
        "no viewer: no viewer was requested (viewer=False)",
        "no viewer: the view was closed with close()",
    ]


def test_a_name_that_is_no_picture_is_refused(watched: Watched) -> None:
    with pytest.raises(TwixtError, match="writes a PNG file, got 'ep.jpg'"):
        watched.view.screenshot("ep.jpg")
