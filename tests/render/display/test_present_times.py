"""By what presents are known: each way kept by its outcome."""

from __future__ import annotations

import pytest

from twixt.render.display import present_times
from twixt.render.display.present_times import (
    AT_ONCE_NS,
    FRAMES_UNTIL_AGAIN,
    LONGEST_FENCE_NS,
    MOST_UNTIL_AGAIN,
    WATCHED,
    FenceTrial,
    PresentTimes,
)
from twixt.render.display.presentation import Presented

MS = 1_000_000


class Clock:
    """Stands still unless told."""

    def __init__(self) -> None:
        self.now_ns = 10**12

    def perf_counter_ns(self) -> int:
        return self.now_ns


class Display:
    """Returns from swaps at once; the next use of its buffer waits until a refresh, if it does at all."""

    def __init__(self, clock: Clock, period_ns: int = 16 * MS, fences_wait: bool = True) -> None:
        self.clock, self.period_ns, self.fences_wait = clock, period_ns, fences_wait
        self.fences = 0

    def swap(self) -> None:
        self.clock.now_ns += AT_ONCE_NS // 4

    def fence(self, timeout_ns: int) -> None:
        assert timeout_ns == LONGEST_FENCE_NS
        self.fences += 1
        if self.fences_wait:
            self.clock.now_ns += self.period_ns - self.clock.now_ns % self.period_ns


class Asked:
    """A display that is asked, and says what a test puts there."""

    way, output = "made up", 0

    def __init__(self) -> None:
        self.given_up, self.asked, self.said, self.closed = "", [], [], 0

    def ask(self, swap_number: int) -> None:
        self.asked.append(swap_number)

    def swapped(self) -> None:
        pass

    def take(self) -> list[Presented]:
        said, self.said = self.said, []
        return said

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(present_times, "time", clock)
    return clock


def frames(times: PresentTimes, display: Display, count: int, work_ns: int = 5 * MS) -> list[int | None]:
    fenced = []
    for _ in range(count):
        display.clock.now_ns += work_ns
        times.before_swap()
        display.swap()
        times.after_swap()
        fenced.append(times.fence())
    return fenced


def test_a_fence_is_used_where_swaps_return_at_once_and_it_waits(clock):
    display = Display(clock)
    times = PresentTimes(lambda: None, display.fence)
    times.is_vsynced = True
    assert times.source == "swap"
    fenced = frames(times, display, 4 * WATCHED)
    assert times.source == "fence"
    assert fenced[0] is None
    later = [at for at in fenced[3 * WATCHED :] if at is not None]
    assert len(later) == WATCHED
    assert all(at % display.period_ns == 0 for at in later)


def test_a_fence_that_waits_for_nothing_is_no_present_and_is_given_up(clock):
    display = Display(clock, fences_wait=False)
    times = PresentTimes(lambda: None, display.fence)
    times.is_vsynced = True
    assert set(frames(times, display, 20 * WATCHED)) == {None}
    assert times.source == "swap"
    assert display.fences == WATCHED


def test_it_is_tried_again_ever_more_rarely(clock):
    display = Display(clock, fences_wait=False)
    times = PresentTimes(lambda: None, display.fence)
    times.is_vsynced = True
    frames(times, display, 40_000)
    assert 3 * WATCHED < display.fences < 12 * WATCHED
    display.fences_wait = True
    frames(times, display, MOST_UNTIL_AGAIN + 4 * WATCHED)
    assert times.source == "fence"


def test_no_fence_where_a_swap_waits_or_a_timer_paces(clock):
    display = Display(clock)
    times = PresentTimes(lambda: None, display.fence)
    frames(times, display, 4 * WATCHED)
    assert times.source == "timer"
    times.is_vsynced = True
    trial = times.trial
    for _ in range(200):
        trial.swapped(9 * MS, True)
    assert not trial.is_on
    assert display.fences == 0


def test_a_fence_ends_with_the_vsync_and_on_a_display_that_answers(clock):
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


def test_the_display_is_asked_from_begin_on_and_its_word_is_the_best(clock):
    display, asked = Display(clock), Asked()
    times = PresentTimes(lambda: asked, display.fence)
    times.is_vsynced = True
    frames(times, display, 2)
    assert asked.asked == []
    assert times.take() == []
    times.begin()
    times.begin()
    frames(times, display, 2)
    assert asked.asked == [3, 4]
    assert times.source == "swap"
    asked.said = [Presented(3, 0, None, "discarded")]
    assert len(times.take()) == 1
    assert times.source == "swap"
    asked.said = [Presented(4, clock.now_ns, None, "")]
    times.take()
    assert times.source == "display"
    frames(times, display, 5 * WATCHED)
    assert display.fences == 0
    asked.given_up = "gone"
    assert times.source != "display"
    times.close()
    assert asked.closed == 1


def test_a_library_that_is_missing_is_said_and_is_no_error(clock):
    def missing():
        raise OSError("libnothing.so: cannot open")

    times = PresentTimes(missing, Display(clock).fence)
    assert times.silence == "not asked"
    times.begin()
    assert "libnothing" in times.silence
    frames(times, Display(clock), 3)
    assert times.take() == []
    times.close()
