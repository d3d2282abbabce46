"""What a bad frame is put down to."""

from tests.render.measure.runs import FRAME_NS, MS, START_NS, even, shown_at
from twixt.render.measure.causes import causes
from twixt.render.measure.frames import FrameTable
from twixt.render.measure.intervals import intervals
from twixt.render.measure.motion import motion


def counted(rows) -> dict[str, list[int]]:
    timing = intervals(FrameTable.of(rows))
    return {name: mask.nonzero()[0].tolist() for name, mask in causes(timing, motion(timing))._asdict().items()}


def late_from(number, **other):
    """Every frame from `number` on is shown one interval later; that one has these fields."""
    rows = shown_at([START_NS + (i + (i >= number)) * FRAME_NS for i in range(90)])
    rows[number] = rows[number]._replace(**other)
    return rows


def test_an_even_run_has_no_bad_frame():
    assert counted(even(90)) == {"physics_late": [], "render_late": [], "display_late": []}


def test_a_frame_that_held_and_the_jump_after_it_are_physics_late():
    rows = even(90)
    rows[50] = rows[50]._replace(draw_time_ns=rows[49].draw_time_ns, mode="held")
    assert counted(rows) == {"physics_late": [50, 51], "render_late": [], "display_late": []}


def test_a_missed_refresh_after_work_that_outlasted_its_interval_is_render_late():
    start_ns = START_NS + 50 * FRAME_NS
    rows = late_from(50, start_ns=start_ns, work_end_ns=start_ns + 30 * MS)
    assert counted(rows) == {"physics_late": [], "render_late": [50], "display_late": []}


def test_a_missed_refresh_after_a_late_wake_is_render_late():
    assert counted(late_from(50, wake_error_ns=9 * MS))["render_late"] == [50]


def test_a_missed_refresh_though_the_work_was_in_time_is_display_late():
    assert counted(late_from(50)) == {"physics_late": [], "render_late": [], "display_late": [50]}


def test_an_error_because_the_present_was_not_where_predicted_is_display_late():
    rows = even(90)
    rows[50] = rows[50]._replace(present_ns=rows[50].present_ns + 5 * MS)
    assert counted(rows) == {"physics_late": [], "render_late": [], "display_late": [50, 51]}


def test_an_error_though_the_present_was_as_predicted_is_physics_late():
    rows = even(90)
    rows[50] = rows[50]._replace(draw_time_ns=rows[50].draw_time_ns - 5 * MS)
    assert counted(rows) == {"physics_late": [50, 51], "render_late": [], "display_late": []}


def test_a_bad_frame_has_always_one_cause():
    rows = late_from(50, wake_error_ns=9 * MS, mode="held", draw_time_ns=0)
    found = [number for numbers in counted(rows).values() for number in numbers]
    assert 50 in found
    assert len(found) == len(set(found))


def test_the_jump_after_a_hold_is_physics_late_though_its_own_wake_was_late_too():
    rows = even(90)
    rows[50] = rows[50]._replace(draw_time_ns=rows[49].draw_time_ns, mode="held")
    rows[51] = rows[51]._replace(wake_error_ns=9 * MS)
    assert counted(rows) == {"physics_late": [50, 51], "render_late": [], "display_late": []}
