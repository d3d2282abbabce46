"""How frames end: what goes wrong in one of them is an end like any other, so that log and report are left."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import moderngl
import pytest

from tests.ipc.ring.test_memory import in_forked_child
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.interrupts import CtrlCRecorder
from twixt.ipc.trace.spans import NOT_RECORDED
from twixt.render.viewer.process import _Run, _StopSignals


def run_whose_frames(raise_: BaseException) -> _Run:
    def frame() -> Any:
        raise raise_

    user = SimpleNamespace(settings=SimpleNamespace(quit=False))
    loop: Any = SimpleNamespace(frame=frame, is_idle=False, input=user, is_starting=True)
    viewer: Any = SimpleNamespace(
        config=Config(),
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
    assert outcome.message == f"the viewer ends, because it could not draw on: {type(fault).__name__}: {fault}"
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
