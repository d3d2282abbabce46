"""The overlay's figures, and its cause of the last late frame."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.render.measure.runs import MS, even
from twixt.render.input.keys import ViewerSettings
from twixt.render.measure.evenness import intervals
from twixt.render.measure.frame_rows import FrameTable
from twixt.render.measure.report_keys import RENDER_COSTS
from twixt.render.overlay.panel_state import SHOWN_NS, LatenessCause, PanelFacts, PanelFigures
from twixt.render.playback import ClockState


def after(**late: int | str) -> LatenessCause:
    """Cause after 40 frames in time and a last one with the values `late`."""
    cause = LatenessCause()
    for row in even(40):
        cause.add(row._replace(swap_end_ns=row.present_ns, draw_ns=3 * MS))
    assert cause.text == ""
    cause.add(even(41)[-1]._replace(swap_end_ns=even(41)[-1].present_ns, draw_ns=3 * MS)._replace(**late))
    return cause


@pytest.mark.parametrize("part", RENDER_COSTS)
def test_the_part_that_took_more_than_usual_is_named(part: str) -> None:
    row = even(41)[-1]
    late = {"present_ns": row.present_ns + 30 * MS, "swap_end_ns": row.present_ns + 30 * MS}
    cause = after(**late, **{f"{part}_ns": 33 * MS})
    assert cause.text == f"{part}, {30 if part == 'draw' else 33}.0 ms more than usual"


def test_a_frame_handed_over_in_time_and_shown_late_is_the_displays() -> None:
    row = even(41)[-1]
    cause = after(present_ns=row.present_ns + 30 * MS, swap_end_ns=row.present_ns + 30 * MS)
    assert cause.text == "display, 30.0 ms later than planned"


def test_a_picture_that_held_is_physics() -> None:
    assert after(mode="held").text == "physics: no newer snapshot"
    assert after(mode="held", plan_rate=0.0).text == "", "a pause"


def test_it_is_said_for_some_seconds() -> None:
    cause = after(mode="held")
    row = even(42)[-1]
    cause.add(row._replace(present_ns=row.present_ns + SHOWN_NS, predicted_present_ns=row.present_ns + SHOWN_NS))
    assert cause.text == ""


def test_the_frames_of_the_start_are_left_out_as_in_the_report() -> None:
    figures, rows = PanelFigures("auto"), even(60)
    for row in rows[:20]:
        figures.add(row._replace(probe=True, present_ns=10 * row.present_ns, draw_due_ns=1, mode="held"), None)
    for row in rows[20:]:
        figures.add(row, None)
    table = FrameTable.of([row._replace(probe=row.frame < 20) for row in rows])
    assert len(figures.frames.figures_ms) == len(intervals(table).interval_ms) - 1 == 39
    assert figures.frames.percentile_ms(100) == pytest.approx(1000 / 60, abs=0.01)
    state = figures.state(facts(), "", 0)
    assert (state.age_ms, state.late_by) == (0.0, "")


def facts(own_loop: bool = False, *intervals_ms: float) -> PanelFacts:
    link: Any = SimpleNamespace(received=SimpleNamespace(plots=()), status={}, ended=None)
    settings = ViewerSettings("auto", "auto", overlay=True, own_loop=own_loop)
    return PanelFacts(link, settings, ClockState("ahead", 0, 0, 1.0, False, ""), publish_intervals_ms=intervals_ms)


def test_the_hint_about_bodies_outside_is_passed_on() -> None:
    figures, hint = PanelFigures("auto"), "3 of 5 bodies are outside the picture"
    assert figures.state(facts(), "", 0).outside == ""
    assert figures.state(facts()._replace(outside=hint), "", 0).outside == hint


def test_a_loop_of_ones_own_has_publish_intervals_and_a_run_its_steps() -> None:
    figures = PanelFigures("auto")
    state = figures.state(facts(True, 2.0, 4.0), "", 0)
    assert state.publishes_ms is not None
    assert state.publishes_ms.tolist() == [2.0, 4.0]
    assert figures.state(facts(False, 2.0, 4.0), "", 0).publishes_ms is None


def test_frames_with_events_are_marked_in_order():
    figures = PanelFigures("vsync")
    for frame in range(300):
        row = figures._row._replace(present_ns=(frame + 1) * 16 * MS, events=3 * (frame % 7 == 0))
        figures.add(row, None)
    marked = figures.frames.events
    assert len(marked) == len(figures.frames.modes)
    assert np.flatnonzero(marked[::-1])[:3].tolist() == [5, 12, 19]
