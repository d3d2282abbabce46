"""The pacer where displays, fences and machines do what they should not: seen by the eyes of the laboratory's displays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.pacing import works
from bench.pacing.cases import SHAPES
from bench.pacing.displays import (
    Blocking,
    DisplayReport,
    ModelDisplay,
    Queue,
    QueueOfThree,
    ReturnsAtOnce,
    Timer,
    changing,
    steady,
)
from bench.pacing.play import Figures, PlayedFrame, figures, play, twixt_pacer
from bench.pacing.works import Load, Steal, Work

MS, SECOND = 1_000_000, 1_000_000_000
KINDS = (Timer, Blocking, ReturnsAtOnce, Queue, QueueOfThree)


def run(
    display: ModelDisplay, work: Work, seconds: float, seed: int = 7000, from_s: float = 1
) -> tuple[list[PlayedFrame], Figures]:
    seen = play(twixt_pacer, display, work, seconds, seed)
    return seen, figures(seen, display, round(from_s * SECOND))


@pytest.mark.parametrize("seed", [7003, 7006])
@pytest.mark.parametrize(("hz", "then_hz"), [(144, 60), (165, 50)])
def test_a_slower_display_is_followed_where_drawing_waits_and_nobody_says_anything(
    hz: float, then_hz: float, seed: int
) -> None:
    display = ReturnsAtOnce(changing(hz, then_hz, 3 * SECOND + seed * 7919 % 90 * MS, 120 * MS), seed=seed)
    _, after = run(display, works.constant(4)(seed), 10, seed, from_s=7)
    assert after.fps == pytest.approx(then_hz, rel=0.005)
    assert after.off_share <= 0.01


@pytest.mark.parametrize("kind", [Queue, QueueOfThree])
@pytest.mark.parametrize("work_ms", [18, 25, 40])
def test_a_queue_that_is_drained_from_the_first_frame_on_is_no_timer(kind: type[ModelDisplay], work_ms: float) -> None:
    seen, all_of_it = run(kind(steady(60)), works.constant(work_ms)(7000), 8)
    assert not any("a timer paces the frames" in frame.reason for frame in seen)
    assert all_of_it.off_share <= 0.3, "of a timer's frames nearly all are off"


@pytest.mark.parametrize("hz", [90, 144])
def test_the_displays_word_tells_a_drained_queue_from_a_display_that_follows_the_frames(hz: float) -> None:
    work = works.constant(1.3 * 1000 / hz)(7000)
    _, queue = run(Queue(steady(hz), sends_reports=True), work, 8)
    assert queue.off_share <= 0.06
    for name in ("variable rate", "variable rate, reports"):
        _, varies = run(SHAPES[name].made(7000), works.constant(10)(7000), 6)
        assert varies.fps > 92
        assert varies.off_share <= 0.01


@pytest.mark.parametrize("kind", [Queue, QueueOfThree])
def test_frames_after_a_spike_that_a_queue_forgave_are_on_time(kind: type[ModelDisplay]) -> None:
    _, late = run(kind(steady(60)), works.spikes(8, 25, 30)(7001), 10, 7001, from_s=4)
    assert late.off_share <= 0.01
    assert late.fps == pytest.approx(60, rel=0.002)


@pytest.mark.parametrize("work_ms", [20, 25, 30])
def test_half_the_rate_is_even_where_drawing_waits(work_ms: float) -> None:
    _, later = run(ReturnsAtOnce(steady(60)), works.constant(work_ms)(7000), 8, from_s=3)
    assert later.fps == pytest.approx(30, rel=0.01)
    assert later.off_share <= 0.02


@pytest.mark.parametrize("kind", KINDS)
def test_ten_seconds_without_a_processor_widen_nothing(kind: type[ModelDisplay]) -> None:
    for seed in (7000, 7002):
        stolen = [Steal(3 * SECOND + (5 + seed % 7) * MS, 10 * SECOND)]
        seen, _ = run(kind(steady(60)), Work(works.constant(8)(seed).costs_ns, steals=stolen), 15, seed)
        assert {round(frame.interval_ns / MS) for frame in seen if frame.start_ns > 13 * SECOND} == {17}


def test_returns_that_the_machine_held_up_do_not_make_frames_of_a_refresh_too_long() -> None:
    begins = range(1100, 3000, 190)
    steals = [Steal(begin * MS + begin * 7919 % 5000 * 1000, 24 * MS) for begin in begins]
    work = Work(works.constant(9.5)(1).costs_ns, [Load(3 * SECOND, 5 * SECOND, round(13.5 * MS))], steals)
    seen, _ = run(Blocking(steady(60)), work, 5)
    assert {frame.refreshes for frame in seen} == {1}


WORDS: dict[str, Callable[[int, DisplayReport], DisplayReport]] = {
    "zero": lambda _n, _said: DisplayReport(0, 0),
    "the same instant": lambda _n, said: DisplayReport(1_500 * MS, said.refresh_ns),
    "going back": lambda n, said: DisplayReport(said.presented_ns - n % 5 * 33 * MS, said.refresh_ns),
    "whole refreshes late": lambda _n, said: DisplayReport(said.presented_ns + 3 * 16_666_667, said.refresh_ns),
    "another refresh": lambda _n, said: DisplayReport(said.presented_ns, 6_944_444),
}


@pytest.mark.parametrize("kind", [Blocking, ReturnsAtOnce, Queue])
@pytest.mark.parametrize("name", WORDS)
def test_a_word_that_cannot_be_true_does_no_harm(kind: type[ModelDisplay], name: str) -> None:
    class Wrong(kind):  # type: ignore[valid-type, misc]
        def reports(self) -> list[DisplayReport]:
            first = self._reported
            return [WORDS[name](first + n, said) for n, said in enumerate(super().reports())]

    work = works.spikes(8, 25, 60)(7000)
    _, silent = run(kind(steady(60)), work, 5)
    _, wrong = run(Wrong(steady(60), sends_reports=True), work, 5)
    assert wrong.cost <= silent.cost + 4
    assert wrong.off_share <= silent.off_share + 0.01
