"""What a bad frame is put down to."""

import pytest

from tests.render.measure.runs import FRAME_NS, MS, START_NS, even, shown_at
from twixt.render.measure.evenness import intervals, motion
from twixt.render.measure.frame_rows import FrameTable
from twixt.render.measure.run_figures import COST_NAMES, causes, measure


def counted(rows) -> dict[str, list[int]]:
    timing = intervals(FrameTable.of(rows))
    found = causes(timing, motion(timing))._asdict()
    return {name: mask.nonzero()[0].tolist() for name, mask in found.items() if name != "cost"}


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


# Usual parts of the made-up frames: they add up to their 4 ms of work.
USUAL = {"draw_ns": 3 * MS, "upload_ns": MS // 2, "user_ns": MS // 4, "other_ns": MS // 4}


def with_parts(rows):
    return [row._replace(**USUAL) for row in rows]


def parts_counted(rows) -> dict[str, int]:
    return measure(FrameTable.of(rows)).sections["causes"]["render_late_parts"]


@pytest.mark.parametrize("name", COST_NAMES)
def test_a_frame_late_by_one_of_its_parts_is_render_late_with_that_part(name):
    rows = with_parts(late_from(50, start_ns=START_NS + 50 * FRAME_NS, work_end_ns=START_NS + 50 * FRAME_NS + 30 * MS))
    rows[50] = rows[50]._replace(**{f"{name}_ns": 26 * MS})
    assert counted(rows) == {"physics_late": [], "render_late": [50], "display_late": []}
    assert parts_counted(rows) == dict.fromkeys(COST_NAMES, 0) | {name: 1}


@pytest.mark.parametrize("name", COST_NAMES)
def test_what_came_before_a_late_start_counts_though_the_frames_own_work_was_short(name):
    rows = with_parts(late_from(50))
    rows[50] = rows[50]._replace(**{f"{name}_ns": 18 * MS})
    assert counted(rows)["render_late"] == [50]
    assert parts_counted(rows)[name] == 1


def test_the_frame_after_pays_for_the_part_of_the_one_before():
    rows = with_parts(late_from(51))
    rows[50] = rows[50]._replace(user_ns=20 * MS)
    assert counted(rows)["render_late"] == [51]
    assert parts_counted(rows)["user"] == 1


def test_where_every_frame_takes_too_long_the_largest_part_is_named():
    rows = with_parts(even(90))
    rows = [
        row._replace(upload_ns=9 * MS, draw_ns=12 * MS, present_ns=row.present_ns + row.frame % 2 * 5 * MS)
        for row in rows
    ]
    counts = parts_counted(rows)
    assert counts["draw"] == sum(counts.values()) > 80


def test_a_small_excess_does_not_excuse_a_display_that_was_much_later():
    rows = with_parts(even(90))
    rows[50] = rows[50]._replace(present_ns=rows[50].present_ns + 12 * MS, draw_ns=USUAL["draw_ns"] + 2 * MS)
    assert counted(rows)["display_late"] == [50, 51]
    assert parts_counted(rows) == dict.fromkeys(COST_NAMES, 0)


def test_a_frame_handed_over_later_than_good_ones_is_render_late_where_the_display_blocks():
    rows = [row._replace(planned_refreshes=1, swap_begin_ns=row.swap_begin_ns - 2 * MS) for row in late_from(50)]
    assert counted(rows)["display_late"] == [50], "handed over as early as others"
    rows[50] = rows[50]._replace(swap_begin_ns=rows[50].predicted_present_ns - MS // 2)
    assert counted(rows)["render_late"] == [50]


def test_bad_frames_are_judged_by_display_time():
    def off_by(error_ms, rate):
        rows = shown_at([START_NS + i * FRAME_NS for i in range(90)], rate)
        rows[50] = rows[50]._replace(draw_time_ns=rows[50].draw_time_ns + round(error_ms * MS * rate))
        return sum(len(frames) for frames in counted(rows).values())

    assert off_by(1.5, 100.0) == off_by(1.5, 1.0) == off_by(1.5, 0.1) == 0
    assert off_by(3.0, 100.0) == off_by(3.0, 1.0) == off_by(3.0, 0.1) == 2


def test_a_picture_that_holds_while_the_world_hardly_moves_is_not_bad():
    rows = shown_at([START_NS + i * FRAME_NS for i in range(90)], rate=0.001)
    rows = [row._replace(mode="held") if row.frame % 2 else row for row in rows]
    assert not any(counted(rows).values())


def test_an_older_log_has_causes_and_no_parts():
    section = measure(FrameTable.of(late_from(50, wake_error_ns=9 * MS))).sections["causes"]
    assert section["render_late"] == 1
    assert "render_late_parts" not in section


def test_a_frame_shown_when_it_was_to_be_is_not_render_late_whatever_took_time_in_it():
    rows = with_parts(even(90))
    rows[50] = rows[50]._replace(draw_time_ns=rows[50].draw_time_ns - 5 * MS, stolen_ns=4 * MS)
    assert counted(rows) == {"physics_late": [50, 51], "render_late": [], "display_late": []}


def test_a_frame_that_began_late_because_the_swap_before_it_came_back_late_is_display_late():
    rows = [row._replace(planned_refreshes=1, swap_end_ns=row.present_ns) for row in with_parts(even(90))]
    late = [
        row._replace(present_ns=row.present_ns + FRAME_NS, swap_end_ns=row.swap_end_ns + FRAME_NS) for row in rows[50:]
    ]
    rows[50:] = late
    # the swap of 50 came back late, though it was handed over as ever; 51 began when it did, later before its present
    rows[51] = rows[51]._replace(
        start_ns=rows[50].swap_end_ns, work_end_ns=rows[50].swap_end_ns + 4 * MS,
        swap_begin_ns=rows[51].predicted_present_ns + 3 * MS, draw_time_ns=rows[51].draw_time_ns + 6 * MS,
    )  # fmt: skip
    assert counted(rows)["render_late"] == []
    assert 50 in counted(rows)["display_late"]


def test_one_more_frame_pays_while_the_pacers_expectation_settles():
    rows = with_parts(even(90))
    rows[50] = rows[50]._replace(present_ns=rows[50].present_ns + 20 * MS, draw_ns=24 * MS)
    rows[52] = rows[52]._replace(present_ns=rows[52].present_ns + 3 * MS)
    assert counted(rows)["render_late"] == [50, 51, 52]
    assert parts_counted(rows)["draw"] == 3
    assert counted(rows)["display_late"] == [53], "the next is judged by itself"


def test_the_jump_after_a_late_frame_has_its_cause_though_the_work_was_two_frames_ago():
    # The display had a frame in hand: the one after the long one was shown late.
    rows = with_parts(even(90))
    rows[50] = rows[50]._replace(stolen_ns=20 * MS)
    rows[51] = rows[51]._replace(present_ns=rows[51].present_ns + 8 * MS)
    assert counted(rows) == {"physics_late": [], "render_late": [51, 52], "display_late": []}
    assert parts_counted(rows)["stolen"] == 2
