"""Whether a fence serves: tried, kept, given up; told of by the window and by the pacer."""

from __future__ import annotations

import pytest

from bench.pacing import works
from bench.pacing.displays import Fenced, ReturnsAtOnce, steady
from bench.pacing.play import drive, probed
from twixt.render.pacing import Pacer
from twixt.render.pacing.refresh import FRAMES_UNTIL_AGAIN, LONGEST_FENCE_NS, WATCHED, FenceTrial

MS = 1_000_000


def serving() -> FenceTrial:
    trial = FenceTrial()
    for _ in range(WATCHED):
        trial.swapped(1000, True)
    for _ in range(WATCHED):
        trial.fenced(9 * MS)
    assert trial.is_on
    assert trial.serves
    return trial


def test_a_fence_ends_with_the_vsync_and_on_a_display_that_answers():
    trial = FenceTrial()
    for _ in range(WATCHED):
        trial.swapped(1000, True)
    assert trial.is_on
    trial.swapped(1000, False)
    assert not trial.is_on
    for _ in range(FRAMES_UNTIL_AGAIN):
        trial.swapped(1000, True)
        assert not trial.is_on


def test_a_fence_that_ran_into_its_end_is_no_present():
    assert not FenceTrial().fenced(LONGEST_FENCE_NS + 1)


def test_one_that_outcomes_disproved_is_made_no_more_and_believed_no_more_until_it_is_tried_again():
    trial = serving()
    trial.disproved()
    assert not trial.is_on
    assert not trial.serves
    for _ in range(FRAMES_UNTIL_AGAIN):
        assert not trial.is_believed
        trial.swapped(1000, True)
    assert trial.is_believed
    for _ in range(WATCHED):
        trial.swapped(1000, True)
    assert trial.is_on


def test_one_that_merely_never_waited_is_believed_where_it_does():
    trial = FenceTrial()
    for _ in range(WATCHED):
        trial.swapped(1000, True)
    for _ in range(WATCHED):
        trial.fenced(1000)
    assert not trial.is_on
    assert trial.is_believed


class _Hasty(ReturnsAtOnce):
    """Its fence is there long before the frame is seen, and is made whoever wants it."""

    def fence(self, at_ns: int) -> Fenced:
        return Fenced(at_ns + MS // 2, at_ns + MS // 2)


@pytest.mark.parametrize("is_shared", [True, False])
def test_the_pacer_ends_the_windows_fences_by_what_becomes_of_frames(is_shared: bool) -> None:
    display, trial = _Hasty(steady(60)), serving()
    refresh, now_ns = probed(display)
    pacer = Pacer("auto", None, refresh, trial if is_shared else None)
    seen = drive(pacer, display, works.constant(12)(1), now_ns, now_ns + 2 * 10**9)
    disproved = next(i for i, frame in enumerate(seen) if "the display sets the pace" in frame.reason)
    assert trial.serves != is_shared
    assert len(seen) - disproved < FRAMES_UNTIL_AGAIN
    assert pacer.last_source != "fence"
