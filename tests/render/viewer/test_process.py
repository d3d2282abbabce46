"""How frames end: what goes wrong in one of them is an end like any other, so that log and report are left."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import moderngl
import pytest

from tests.ipc.ring.test_memory import in_forked_child
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.interrupts import CtrlCRecorder
from twixt.ipc.trace.spans import NOT_RECORDED
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.viewer import process
from twixt.render.viewer.process import _Run, _StopSignals


def run_whose_frames(raise_: BaseException) -> _Run:
    def frame() -> Any:
        raise raise_

    return run_of(frame)


def run_of(frame: Callable[[], Any], **config: Any) -> _Run:
    user = SimpleNamespace(settings=SimpleNamespace(quit=False))
    loop: Any = SimpleNamespace(frame=frame, is_idle=False, input=user, is_starting=True)
    loop.end_start = lambda: setattr(loop, "is_starting", False)
    viewer: Any = SimpleNamespace(
        config=Config(**config),
        display=SimpleNamespace(is_hidden=False, should_close=False, backend="x11"),
        link=SimpleNamespace(ended=None),
        owned=False,
        stop=SimpleNamespace(asked=False),
        spans=NOT_RECORDED,
        reconnection=None,
    )
    return _Run(viewer, loop)


@pytest.mark.parametrize(
    "fault", [moderngl.Error("context lost"), MemoryError("no room for a frame"), OSError(5, "lost")]
)
def test_a_frame_that_cannot_be_drawn_ends_the_viewer_with_the_reason_and_where(fault: Exception) -> None:
    outcome = run_whose_frames(fault).frames()
    assert outcome.exit_code == 1
    assert outcome.message == f"the viewer ends, because drawing failed: {type(fault).__name__}: {fault}"
    assert "in frame" in outcome.traceback_text


def test_what_has_words_of_its_own_needs_no_traceback() -> None:
    outcome = run_whose_frames(TwixtError("the display (x11) closed the connection")).frames()
    assert outcome == (2, "the display (x11) closed the connection", "")


@pytest.fixture
def signals_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_ctrl_c_that_python_dropped_while_a_viewer_was_imported_ends_it(signals_as_before: None) -> None:
    with CtrlCRecorder():
        assert not _StopSignals().asked
        with pytest.raises(KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.raise_signal(signal.SIGINT)
            threading.Event().wait(30)
        assert _StopSignals().asked


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_a_viewer_forks_has_the_signals_as_they_were(signals_as_before: None) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    stop = _StopSignals()

    def are_as_before() -> str:
        return str([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before)

    assert are_as_before() == "False"
    assert in_forked_child(are_as_before) == "True"
    assert not stop.asked


FRAME_NS = 10_000_000
S = 10**9


class Clock:
    """Clock that only frames move. pictured: first frame that shows something. started: frame that ends start-up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pictured: float, started: float) -> None:
        self.now_ns, self.frames, self._pictured, self._started = 5 * S, 0, pictured, started
        monkeypatch.setattr(process.time, "perf_counter_ns", lambda: self.now_ns)
        monkeypatch.setattr(process.StartUp, "is_over", lambda _start, _row, _loop: self.frames >= self._started)

    def frame(self) -> FrameRow:
        self.frames += 1
        self.now_ns += FRAME_NS
        return FrameRow(present_ns=self.now_ns, mode="interpolated" if self.frames >= self._pictured else "none")


def test_a_viewer_ends_after_its_seconds_though_nothing_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, pictured=math.inf, started=math.inf)
    outcome = run_of(clock.frame, seconds=2.0).frames()
    assert outcome == (0, "nothing was published within 2 s, so the viewer drew no picture", "")
    assert clock.frames == 2 * S // FRAME_NS


def test_the_seconds_count_from_the_end_of_start_up_where_there_is_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, pictured=150, started=190)
    assert run_of(clock.frame, seconds=2.0).frames() == (0, "", "")
    assert clock.frames == 190 + 2 * S // FRAME_NS


def test_a_window_that_is_hidden_from_its_first_frame_on_ends_after_its_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch, pictured=math.inf, started=math.inf)
    run = run_of(clock.frame, seconds=2.0)
    run._viewer.display.is_hidden = True
    run._loop.sleep_while_hidden = clock.frame  # type: ignore[method-assign, assignment]
    assert run.frames().exit_code == 0
    assert clock.frames == 2 * S // FRAME_NS
