"""The governor and the pacer together, in virtual time: a step of quality asks for no other interval by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.render.virtual_display import BlockingDisplay, FreeDisplay, Shown, between, fps, play
from twixt.render.draw.quality import LEVELS, Governor
from twixt.render.pacing import FrameResult, FrameTimes, Pacer, Refresh

SIXTY_HZ = 1e9 / 60
DISPLAYS: dict[str, Callable[[], FreeDisplay | BlockingDisplay]] = {
    "timer": FreeDisplay, "blocking": lambda: BlockingDisplay(SIXTY_HZ),
}  # fmt: skip


class Governed(Pacer):
    """With the calls of the frame loop."""

    def __init__(self, refresh: Refresh) -> None:
        super().__init__("auto", None, refresh)
        self.governor = Governor()
        self.steps = 0

    def frame_done(self, times: FrameTimes) -> FrameResult:
        result = super().frame_done(times)
        self.governor.frame(times.work_end_ns - times.start_ns, self.own_interval_ns)
        if self.governor.change_reason:
            self.steps += 1
            self.work_changed(self.governor.change_reason)
        return result


def governed(display: FreeDisplay | BlockingDisplay, work_ms: Callable[[int, float], float], seconds: float):
    """work_ms: by level and time. The pacer and its frames."""
    pacer = Governed(display.refresh)
    frames = play(pacer, display, lambda t: work_ms(LEVELS.index(pacer.governor.level), t), seconds)
    return pacer, frames


def _narrow(frames: list[Shown]) -> int:
    return sum(frame.plan.interval_ns < 49_000_000 for frame in frames)


@pytest.mark.parametrize("name", DISPLAYS)
def test_work_that_no_level_makes_cheaper_keeps_its_interval_while_levels_are_tried(name: str) -> None:
    pacer, frames = governed(DISPLAYS[name](), lambda _level, _t: 50, 60)
    later = between(frames, 2, 60)
    assert pacer.steps == 3  # cheaper, as cheap as it gets, and back
    assert _narrow(later) == 0
    assert sum(frame.result.missed_refreshes for frame in later) == 0


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_cheaper_level_that_fits_brings_the_displays_own_interval_back_within_a_second(name: str) -> None:
    pacer, frames = governed(DISPLAYS[name](), lambda level, t: (6 if t < 2 else 24) * 0.6**level, 8)
    assert pacer.governor.level != LEVELS[0]
    assert fps(between(frames, 3.2, 8)) == pytest.approx(60, rel=0.01)


def test_what_the_frames_before_took_is_no_load_for_a_cheaper_level() -> None:
    pacer = Pacer("auto", None, FreeDisplay.refresh)
    play(pacer, FreeDisplay(), lambda _t: 30, 1)
    wide_ns = pacer.interval_ns
    pacer.work_changed("cheaper")
    assert pacer.interval_ns == wide_ns >= 30_000_000
    again = play(pacer, FreeDisplay(), lambda _t: 5, 1.5)
    assert pacer.interval_ns == pacer.own_interval_ns
    assert "cheaper" in again[0].plan.reason
