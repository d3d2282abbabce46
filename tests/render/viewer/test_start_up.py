"""What a start makes ahead of time, and how long that may take: on a clock of the test's own."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from twixt.ipc.config.flags import Config
from twixt.ipc.trace.spans import NOT_RECORDED
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.viewer import start_up
from twixt.render.viewer.start_up import FIRST_FRAMES, PREPARING_NS, SETTLING_NS, StartUp

MS = 1_000_000
PROGRAM_NS = 50 * MS


class Start:
    """A start-up whose frames take `work_ms`. programs: how many there are to make ahead."""

    def __init__(self, work_ms: int, programs: int, monkeypatch: pytest.MonkeyPatch, fps: float | None = None) -> None:
        self.now_ns = self.frames = self.anew = 0
        self.made: list[int] = []  # after which frame
        self._work_ns, self._programs = work_ms * MS, programs
        monkeypatch.setattr(start_up, "time", SimpleNamespace(perf_counter_ns=lambda: self.now_ns))
        renderer = SimpleNamespace(prepare=self._prepare, finish=lambda: None)
        self._loop: Any = SimpleNamespace(stage=SimpleNamespace(renderer=renderer), begin_anew=self._begin_anew)
        self._start_up = StartUp(Config(overlay=False, fps=fps), NOT_RECORDED)

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
    # At most: the first frames, what is made ahead and the frames among it, and the frames in which all settles.
    longest_ns = max(PROGRAM_NS, work_ms * MS // 2)
    assert start.now_ns < PREPARING_NS + SETTLING_NS + (FIRST_FRAMES + 3) * work_ms * MS + longest_ns


def test_where_few_frames_were_asked_for_the_first_picture_ends_the_start_up(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Start(16, 10, monkeypatch, fps=1)
    start.run()
    assert start.frames == 1


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


@pytest.mark.parametrize(("work_ms", "frames"), [(16, FIRST_FRAMES), (60, FIRST_FRAMES), (150, 2)])
def test_imports_begin_after_the_first_frames_and_where_those_take_long_sooner(
    work_ms: int, frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    monkeypatch.setattr(StartUp, "_load", lambda _self: begun.append(start.frames))
    start = Start(work_ms, 0, monkeypatch)
    start.run()
    assert begun == [frames]


def test_a_percentile_in_a_frame_imports_nothing() -> None:
    """numpy imports its masked arrays when it first needs them."""
    code = (
        "import sys; from twixt.ipc.config.flags import Config; from twixt.ipc.trace.spans import NOT_RECORDED; "
        "from twixt.render.viewer.start_up import StartUp; import numpy as np; assert 'numpy.ma' not in sys.modules; "
        "StartUp(Config(overlay=False), NOT_RECORDED)._load(); known = set(sys.modules); "
        "np.percentile([1.0], 99); np.intersect1d([1], [1]); print(*(set(sys.modules) - known))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
