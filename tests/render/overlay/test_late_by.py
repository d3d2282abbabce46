"""What the overlay says of the last late frame."""

import pytest

from tests.render.measure.runs import MS, even
from twixt.render.measure.keys import RENDER_PARTS
from twixt.render.overlay.late_by import SHOWN_NS, LateBy


def after(**late: int | str) -> LateBy:
    """Of frames in time, and one that was not."""
    told = LateBy()
    for row in even(40):
        told.note(row._replace(swap_end_ns=row.present_ns, draw_ns=3 * MS))
    assert told.said == ""
    told.note(even(41)[-1]._replace(swap_end_ns=even(41)[-1].present_ns, draw_ns=3 * MS)._replace(**late))
    return told


@pytest.mark.parametrize("part", RENDER_PARTS)
def test_the_part_that_took_more_than_usual_is_named(part: str) -> None:
    row = even(41)[-1]
    late = {"present_ns": row.present_ns + 30 * MS, "swap_end_ns": row.present_ns + 30 * MS}
    told = after(**late, **{f"{part}_ns": 33 * MS})
    assert told.said == f"{part}, {30 if part == 'draw' else 33} ms more than usual"


def test_a_frame_handed_over_in_time_and_shown_late_is_the_displays() -> None:
    row = even(41)[-1]
    told = after(present_ns=row.present_ns + 30 * MS, swap_end_ns=row.present_ns + 30 * MS)
    assert told.said == "display, 30 ms after the plan"


def test_a_picture_that_held_is_physics() -> None:
    assert after(mode="held").said == "physics: nothing newer to draw"
    assert after(mode="held", plan_rate=0.0).said == "", "a pause"


def test_it_is_said_for_some_seconds() -> None:
    told = after(mode="held")
    row = even(42)[-1]
    told.note(row._replace(present_ns=row.present_ns + SHOWN_NS, predicted_present_ns=row.present_ns + SHOWN_NS))
    assert told.said == ""
