"""The sentence and the short table of a report."""

from __future__ import annotations

from typing import Any

import pytest

from tests.render.measure.runs import MS, even
from tests.render.measure.test_report import PHYSICS, SPREAD, built
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.measure.summary import rows, sentence


def with_causes(**counts: Any) -> dict[str, Any]:
    """A report of 850 frames with these counts of bad frames."""
    report = built()
    parts = {name: counts.pop(name) for name in ("draw", "stolen", "user") if name in counts}
    report["frames"]["count"] = 850
    report["causes"] = {"physics_late": 0, "display_late": 0, "render_late": sum(parts.values()), **counts}
    report["causes"]["render_late_parts"] = parts
    return report


def test_even_motion_is_said_with_the_distance_that_99_percent_of_frames_keep() -> None:
    report = with_causes(draw=8)
    report["motion"]["animation_error_ms"]["p99"] = 1.2
    assert sentence(report) == "Even: 99 % of frames within 1.20 ms of smooth motion."


def test_uneven_motion_is_said_with_its_causes_and_with_what_to_do() -> None:
    assert sentence(with_causes(stolen=95, draw=20, physics_late=18)) == (
        "Uneven: 133 of 850 frames; other programs used the cores in 95 of them. "
        "Measure again when the machine is idle."
    )
    assert sentence(with_causes(physics_late=60, draw=40)) == (
        "Uneven: 100 of 850 frames; physics was late in 60 of them, drawing took too long in 40 of them."
    )


def test_the_advice_is_given_wherever_other_programs_are_named() -> None:
    assert sentence(with_causes(physics_late=50, stolen=49)).endswith(
        "in 49 of them. Measure again when the machine is idle."
    )
    assert sentence(with_causes(physics_late=90, stolen=9)).endswith("physics was late in 90 of them.")


def test_the_most_frequent_cause_is_named_however_many_there_are() -> None:
    report = with_causes(**{"physics_late": 20, "display_late": 19, "draw": 18, "user": 18, "stolen": 18})
    assert sentence(report).startswith("Uneven: 93 of 850 frames; physics was late in 20 of them.")


def test_the_limit_between_even_and_uneven_is_one_frame_in_a_hundred() -> None:
    assert sentence(with_causes(draw=8)).startswith("Even")
    assert sentence(with_causes(draw=9)).startswith("Uneven: 9 of 850")


@pytest.mark.parametrize(
    ("frames", "says"),
    [
        ([], "Nothing was measured: fewer than two frames were presented."),
        ([FrameRow(frame=i, present_ns=(i + 1) * MS) for i in range(3)], "Evenness was not measured: no snapshot was"),
        (even(5), "Evenness was not measured: the run is shorter than 0.25 s"),
    ],
)
def test_without_motion_the_reason_is_in_the_sentence(frames: list[FrameRow], says: str) -> None:
    assert sentence(built(frames)).startswith(says)


def test_the_table_is_short_and_has_units() -> None:
    table = dict(rows(built(first_frame_ms=240.0)))
    assert len(table) <= 12
    assert table["frames"] == "120 in 1.98 s, 60.0 fps"
    assert table["first picture"] == "after 240 ms"
    assert table["new pictures"] == "100 % of the frames"
    assert table["physics"] == "1.00 x real time"
    assert table["display"] == "x11, llvmpipe"


def test_what_was_not_measured_has_no_line() -> None:
    assert "animation error" not in dict(rows(built([])))
    assert "physics step" not in dict(rows(built(physics=None)))


def test_a_users_own_loop_has_the_interval_between_publishes_and_no_step() -> None:
    physics = {"physics": {"published": 9, "publish_interval_ms": dict.fromkeys(SPREAD, 2.0)}}
    table = dict(rows(built(physics=physics)))
    assert table["publish interval"] == "2.00 ms mean, 99 % within 2.00 ms, longest 2.00 ms"
    assert "physics step" not in table
    assert "publish interval" not in dict(rows(built(physics=PHYSICS)))


def test_bad_frames_of_an_older_log_without_parts_are_counted_all_the_same() -> None:
    report = with_causes(physics_late=1)
    report["causes"] |= {"render_late": 30, "render_late_parts": None}
    assert dict(rows(report))["bad frames"].startswith("31: unknown 30, physics late 1")
