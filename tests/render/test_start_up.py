"""What a start makes ahead of time, and how long that may take: on a clock of the test's own."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from twixt.ipc.config import Config
from twixt.ipc.spans import NOT_RECORDED
from twixt.render import start_up
from twixt.render.measure.frames import FrameRow
from twixt.render.start_up import PREPARING_NS, SETTLING_NS, StartUp

MS = 1_000_000
PROGRAM_NS = 50 * MS


class Start:
    """A start-up whose frames take `work_ms`. programs: how many there are to make ahead."""

    def __init__(self, work_ms: int, programs: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ns = self.frames = self.anew = 0
        self.made: list[int] = []  # after which frame
        self._work_ns, self._programs = work_ms * MS, programs
        monkeypatch.setattr(start_up, "time", SimpleNamespace(perf_counter_ns=lambda: self.now_ns))
        renderer = SimpleNamespace(prepare=self._prepare, finish=lambda: None)
        self._loop: Any = SimpleNamespace(stage=SimpleNamespace(renderer=renderer), begin_anew=self._begin_anew)
        self._start_up = StartUp(Config(overlay=False), NOT_RECORDED)

    def run(self) -> None:
        """Frames until it is over; what is imported is there by the second one."""
        while not self._start_up.is_over(self._frame(), self._loop):
            self._start_up.close()
            assert self.frames < 1000

    def _frame(self) -> FrameRow:
        began_ns, self.now_ns = self.now_ns, self.now_ns + self._work_ns
        self.frames += 1
        return FrameRow(start_ns=began_ns, work_end_ns=self.now_ns, present_ns=self.now_ns, mode="interpolated")

    def _prepare(self) -> bool:
        if len(self.made) == self._programs:
            return False
        self.made.append(self.frames)
        self.now_ns += PROGRAM_NS
        return True

    def _begin_anew(self, *_: str) -> None:
        self.anew += 1


@pytest.fixture(autouse=True)
def thaw() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.parametrize("work_ms", [5, 100, 400, 1500])
def test_programs_are_made_ahead_for_half_a_second_and_a_frame_at_most(
    work_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Start(work_ms, 1000, monkeypatch)
    start.run()
    assert start.made
    # At most: the first frame, what is made ahead and the frames among it, and the frames in which all settles.
    longest_ns = max(PROGRAM_NS, work_ms * MS // 2)
    assert start.now_ns < PREPARING_NS + SETTLING_NS + 4 * work_ms * MS + longest_ns


def test_a_short_frame_is_given_one_program_and_a_long_one_several(monkeypatch: pytest.MonkeyPatch) -> None:
    for work_ms, frames in ((5, 4), (1000, 1)):
        start = Start(work_ms, 4, monkeypatch)
        start.run()
        assert (len(start.made), len(set(start.made))) == (4, frames)


def test_what_start_up_did_to_frames_is_forgotten_after_the_first_and_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = Start(16, 0, monkeypatch)
    start.run()
    assert start.anew == 2


@pytest.mark.parametrize("owned", [True, False])
def test_a_runs_own_viewer_waits_for_its_world_however_long_that_loads(
    owned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience_s: list[float] = []
    monkeypatch.setattr("twixt.ipc.link.attach", lambda _name, timeout_s, _owned: patience_s.append(timeout_s))
    assert start_up.Attaching("lab", owned).wait(60)
    assert (patience_s[0] > 3600) is owned


def test_turns_are_short_until_the_last_who_asked_for_them_is_done() -> None:
    usual_s = sys.getswitchinterval()
    first, second = start_up.ShortTurns(), start_up.ShortTurns()
    assert sys.getswitchinterval() == pytest.approx(start_up.TURN_S)
    first.close()
    first.close()
    assert sys.getswitchinterval() == pytest.approx(start_up.TURN_S)
    second.close()
    assert sys.getswitchinterval() == pytest.approx(usual_s)
