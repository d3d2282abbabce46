"""The overlay's cause of the last late frame."""

import pytest

from tests.render.measure.runs import MS, even
from twixt.render.measure.report_keys import RENDER_COSTS
from twixt.render.overlay.panel_state import SHOWN_NS, LatenessCause


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
    assert cause.text == f"{part}, {30 if part == 'draw' else 33} ms more than usual"


def test_a_frame_handed_over_in_time_and_shown_late_is_the_displays() -> None:
    row = even(41)[-1]
    cause = after(present_ns=row.present_ns + 30 * MS, swap_end_ns=row.present_ns + 30 * MS)
    assert cause.text == "display, 30 ms after the plan"


def test_a_picture_that_held_is_physics() -> None:
    assert after(mode="held").text == "physics: nothing newer to draw"
    assert after(mode="held", plan_rate=0.0).text == "", "a pause"


def test_it_is_said_for_some_seconds() -> None:
    cause = after(mode="held")
    row = even(42)[-1]
    cause.add(row._replace(present_ns=row.present_ns + SHOWN_NS, predicted_present_ns=row.present_ns + SHOWN_NS))
    assert cause.text == ""
