"""Limits that a run must keep."""

import pytest

from twixt.ipc.errors import TwixtError
from twixt.render.measure.report_keys import SECTIONS, check, figure_paths, read_limits, section

REPORT = {name: section(name) for name in SECTIONS}
REPORT["frames"]["mean_fps"] = 59.5
REPORT["frames"]["missed_refreshes"] = 2
REPORT["motion"]["animation_error_ms"] |= {"p99": 2.0}
REPORT["display"] |= {"swap_blocks": False, "backend": "x11"}


@pytest.mark.parametrize(
    ("limit", "broken"),
    [
        ("motion.animation_error_ms.p99>2", False),
        ("motion.animation_error_ms.p99>=2", True),
        ("frames.mean_fps<60", True),
        (" frames.mean_fps <= 59 ", False),
        ("frames.missed_refreshes!=0", True),
        ("frames.missed_refreshes==2", True),
        ("frames.mean_fps<-1e3", False),
        ("display.swap_blocks==false", True),
        ("display.swap_blocks==true", False),
        ("display.backend!=wayland", True),
    ],
)
def test_a_limit_is_broken_when_its_condition_holds(limit, broken):
    assert bool(check(REPORT, [limit])) == broken


def test_a_broken_limit_says_what_was_asked_and_what_was_measured():
    assert check(REPORT, ["frames.mean_fps<60"]) == ["frames.mean_fps<60: frames.mean_fps is 59.5"]


def test_a_figure_that_was_not_measured_breaks_its_limit():
    (line,) = check(REPORT, ["frames.gpu_ms.p99>5"])
    assert "was not measured" in line


def test_every_figure_of_the_report_can_be_limited():
    assert len(read_limits(f"{path}>1" for path in figure_paths())) == len(figure_paths())


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("motion.animation_eror_ms.p99>2", "similar names: motion.animation_error_ms.p99"),
        ("motion.animation_error_ms>2", "name one of its figures: motion.animation_error_ms.mean"),
        ("frames.low_1_percent_fps<50", "similar names: frames.low_1_percent_fps.percentile"),
        ("mean_fps<50", "similar names: frames.mean_fps"),
        ("nonsense>1", "the sections are display, frames"),
        ("frames.mean_fps", "must be FIGURE OPERATOR NUMBER"),
        ("frames.mean_fps=60", "must be FIGURE OPERATOR NUMBER"),
        ("frames.mean_fps<fast", "must compare with a number, got 'fast'"),
        ("frames.mean_fps<nan", "must compare with a finite number, got 'nan'"),
        ("", "must be FIGURE OPERATOR NUMBER"),
    ],
)
def test_a_limit_that_cannot_be_meant_is_refused_with_the_way_out(limit, says):
    with pytest.raises(TwixtError, match=says):
        read_limits([limit])
