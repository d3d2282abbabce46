"""A view and the viewer that it opened: when the loop is to end, what is said of it, and what is left of either."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import twixt
from tests.sim.watched import BALLS, Watched
from twixt.ipc.commands import Command
from twixt.ipc.errors import NO_DISPLAY, TwixtError
from twixt.ipc.session import attach, running
from twixt.ipc.session.host import Host
from twixt.ipc.session.service import ServiceThread
from twixt.ipc.system.interface import Listener
from twixt.sim.process.viewer_process import ViewerProcess
from twixt.sim.show import session
from twixt.sim.show.show import show
from twixt.sim.show.view import View

PATIENCE_S = 30.0
LOOK_S = 0.01

# What a viewer does that was started under these words.
VIEWERS = {
    "dies": "os.kill(os.getpid(), 9)",
    "crashes": "sys.exit(2)",
    "finds no display": "sys.exit(3)",
    "is closed": "sys.exit(0)",
    "asks for the end": "link.send(Command('quit', acted_ns=time.perf_counter_ns())); stay()",
    "asks for the end and dies": "link.send(Command('quit', acted_ns=1 << 62)); await_file(); os.kill(os.getpid(), 9)",
    "stays": "stay()",
    "hangs": "time.sleep(600)",
    "shows the crash": "stay(); time.sleep(600)",
}
VIEWER = """
import json, os, sys, time
sys.path.append({checkout!r})
from twixt.ipc.session import Command, attach
link = attach(json.loads(sys.stdin.readline())["name"], owned=True)
def stay():
    while link.ended is None:
        link.wait(0.1); link.poll()
def await_file():
    while not os.path.exists(__file__ + ".go"):
        time.sleep(0.01)
{does}
"""


@pytest.fixture
def viewers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Chooses what the viewers do that are started from now on."""
    front_door = tmp_path / "front_door.py"
    checkout = str(Path(twixt.__file__).parent)

    def choose(what: str) -> None:
        front_door.write_text(VIEWER.format(checkout=checkout, does=VIEWERS[what]))

    monkeypatch.setattr(twixt, "__file__", str(front_door))
    return choose


@pytest.fixture
def opened() -> Iterator[Callable[..., View]]:
    views: list[View] = []

    def open_view(**options: object) -> View:
        views.append(show(BALLS, **options))  # type: ignore[arg-type]
        return views[-1]

    yield open_view
    for view in views:
        view.close()


def until(condition: Callable[[], object], what: str) -> None:
    for _ in range(round(PATIENCE_S / LOOK_S)):
        if condition():
            return
        threading.Event().wait(LOOK_S)
    raise AssertionError(f"waited {PATIENCE_S:g} s in vain: {what}")


def publish(view: View) -> None:
    view.publish(position=[[0, 0, 0]])


def viewer_processes() -> list[psutil.Process]:
    """Viewers that this process started. It may have other children, which other tests share."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.status() == psutil.STATUS_ZOMBIE or child.cmdline()[-1:] == ["_view"]:
                found.append(child)
    return found


def own_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize(
    ("what", "because"),
    [
        ("dies", "the viewer was killed by SIGKILL"),
        ("crashes", "the viewer exited with code 2"),
        ("finds no display", NO_DISPLAY),
    ],
)
def test_a_viewer_that_is_lost_leaves_the_view_open_and_is_told_of_once_with_what_to_type(
    viewers: Callable[[str], None], opened: Callable[..., View], capfd: pytest.CaptureFixture[str], what: str,
    because: str,
) -> None:  # fmt: skip
    viewers(what)
    view, said = opened(name="lab"), ""

    def is_told() -> bool:
        nonlocal said
        said += capfd.readouterr().err
        publish(view)
        return "\n" in said

    until(is_told, "words of the viewer's end")
    assert view.is_open
    assert view.close_reason == because
    assert said.startswith(f"twixt: {because}; the loop continues without")
    assert said.endswith("; open a window with view.reopen(), or in a terminal: twixt view lab\n")
    publish(view)
    view.close()
    assert (view.is_open, view.close_reason) == (False, "the view was closed with close()")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("what", ["is closed", "asks for the end"])
def test_a_window_that_the_user_closed_ends_the_loop_without_a_word_and_may_be_opened_again(
    viewers: Callable[[str], None], opened: Callable[..., View], capfd: pytest.CaptureFixture[str], what: str
) -> None:
    viewers(what)
    view = opened()
    until(lambda: publish(view) or not view.is_open, "the window is closed")
    assert view.close_reason == "the window was closed"
    viewers("stays")
    view.reopen()
    assert (view.is_open, view.close_reason) == (True, None)
    process = view._session._process
    view.reopen()  # there is one already
    assert view._session._process is process
    until(lambda: publish(view) or view._host.viewer_attached.is_set, "the other viewer attaches")
    assert view.is_open
    view.close()
    assert process is not None
    assert process.poll() == 0
    assert capfd.readouterr().err == ""


def test_a_window_that_was_closed_and_whose_viewer_then_crashed_was_closed(
    viewers: Callable[[str], None], opened: Callable[..., View], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    viewers("asks for the end and dies")
    view = opened()
    until(lambda: not view.is_open, "the end is asked for, though nothing is published")
    (tmp_path / "front_door.py.go").touch()
    process = view._session._process
    assert process is not None
    assert process.wait(PATIENCE_S) == -9
    until(lambda: not [t for t in threading.enumerate() if t.name == "twixt viewer"], "the end was told of")
    assert (view.is_open, view.close_reason) == (False, "the window was closed")
    assert capfd.readouterr().err == ""


def test_an_end_that_the_user_asked_of_the_window_before_does_not_close_the_next_one(
    viewers: Callable[[str], None], opened: Callable[..., View]
) -> None:
    viewers("stays")
    view = opened(viewer=False)
    link = attach(view.name)
    before_ns = view._session._opened_ns
    view.reopen()
    link.send(Command("quit", acted_ns=before_ns))
    link.send(Command("quit", acted_ns=before_ns))
    until(lambda: view._host.commands.wait(0), "the command arrives")
    publish(view)
    assert view.is_open
    link.close()


def test_a_view_without_a_viewer_says_where_to_see_it_and_ends_after_its_seconds(
    opened: Callable[..., View], capfd: pytest.CaptureFixture[str]
) -> None:
    view = opened(name="lab", viewer=False, seconds=0.01)
    assert capfd.readouterr().err.endswith("; open a window with view.reopen(), or in a terminal: twixt view lab\n")
    until(lambda: not view.is_open, "its seconds are over")
    assert view.close_reason == "the 0.01 s of the view are over"
    lasting = opened(viewer=False)
    assert (lasting.is_open, lasting.close_reason) == (True, "no viewer was requested (viewer=False)")


@pytest.mark.parametrize("what", ["stays", "hangs"])
def test_a_view_to_which_nothing_is_published_ends_after_its_seconds_and_may_be_opened_again(
    viewers: Callable[[str], None], opened: Callable[..., View], what: str
) -> None:
    viewers(what)
    view = opened(seconds=0.01)
    until(lambda: not view.is_open, "its seconds are over")
    assert view.closed_because == "the 0.01 s of the view are over"
    before = view._session._process
    assert before is not None
    view._session._config = replace(view._session._config, seconds=1000.0)
    view.reopen()
    assert (view.is_open, view.closed_because) == (True, None)
    assert view._session._process is not before
    until(lambda: before.poll() is not None, "the viewer before is ended")


def test_a_viewer_that_shows_something_is_given_time_beyond_the_seconds_but_not_for_ever(
    viewers: Callable[[str], None], opened: Callable[..., View], monkeypatch: pytest.MonkeyPatch
) -> None:
    viewers("stays")
    view = opened(seconds=0.01)
    publish(view)
    until(lambda: view._session._are_seconds_over, "its seconds are over")
    assert (view.is_open, view.closed_because) == (True, None)
    monkeypatch.setattr(session, "START_LIMIT_S", 0.0)
    assert (view.is_open, view.closed_because) == (False, "the 0.01 s of the view are over")


def test_a_closed_view_is_not_reopened_and_keeps_its_reason(opened: Callable[..., View]) -> None:
    view = opened(viewer=False)
    with pytest.raises(ValueError, match="oh"), view:
        raise ValueError("oh")
    assert view.close_reason == "the loop raised ValueError: oh"
    with pytest.raises(TwixtError, match=r"closed.*open another with twixt\.show"):
        view.reopen()


def test_an_error_of_the_loop_shows_at_once_while_the_window_still_shows_it(
    viewers: Callable[[str], None], opened: Callable[..., View], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("twixt.sim.show.session.VIEWER_TIMEOUT_S", PATIENCE_S)
    viewers("shows the crash")
    view = opened()
    until(lambda: view._host.viewer_attached.is_set, "the viewer attaches")
    process = view._session._process
    assert process is not None
    with pytest.raises(ValueError, match="oh"), view:
        raise ValueError("oh")
    assert process.poll() is None
    assert running() == []
    process.kill()
    for thread in threading.enumerate():
        if thread.name == "twixt close":
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


def _show_and_forget(has_viewer: bool, is_published: bool) -> None:
    view = show(BALLS, viewer=has_viewer)
    if has_viewer:
        until(lambda: view._host.viewer_attached.is_set, "the viewer attaches")
    if is_published:
        publish(view)


def test_a_view_that_nobody_has_any_more_leaves_nothing_behind(viewers: Callable[[str], None]) -> None:
    viewers("stays")
    publish_once = Watched()  # what the first view of a process keeps for all
    publish_once.link.close()
    publish_once.view.close()
    gc.collect()
    descriptors, threads = own_descriptors(), set(threading.enumerate())
    for has_viewer in (False, True):
        for is_published in (False, True):
            _show_and_forget(has_viewer, is_published)
            until(lambda: running() == [], "its name is free")
    until(lambda: set(threading.enumerate()) <= threads, "no thread is left")
    assert not [viewer for viewer in viewer_processes() if viewer.status() != psutil.STATUS_ZOMBIE]
    assert own_descriptors() <= descriptors


def test_a_closed_window_keeps_nothing_of_its_viewer(
    viewers: Callable[[str], None], opened: Callable[..., View]
) -> None:
    view = opened(viewer=False)
    publish(view)
    descriptors, threads = own_descriptors(), set(threading.enumerate())
    viewers("is closed")
    view.reopen()
    until(lambda: not view.is_open, "the window is closed")
    until(lambda: own_descriptors() <= descriptors and set(threading.enumerate()) <= threads, "nothing is kept")


def test_a_show_that_fails_for_want_of_memory_starts_no_viewer(
    viewers: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    viewers("stays")
    started: list[object] = []
    monkeypatch.setattr("twixt.sim.show.session.start_viewer", lambda *about: started.append(about))
    descriptors, limits = own_descriptors(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises((TwixtError, OSError)):
            show(BALLS, capacity=500_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert started == running() == []
    gc.collect()
    assert own_descriptors() <= descriptors


def test_a_loop_whose_viewer_cannot_be_started_goes_on_and_is_told_why_in_one_line(
    opened: Callable[..., View], viewers: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    viewers("stays")
    with monkeypatch.context() as patched:
        patched.setattr("sys.executable", "/opt/simulator")
        patched.setattr("sys.base_prefix", str(tmp_path))
        view = opened(name="lab")
        publish(view)
        assert view.is_open
        assert str(view.close_reason).startswith("no Python to start a viewer with: sys.executable is '/opt/simulator'")
        goes_on = f"twixt: {view.close_reason}; the loop continues without a viewer; open a window in a terminal: twixt view lab\n"
        assert capfd.readouterr().err == goes_on
        view.reopen()
        assert capfd.readouterr().err == goes_on
    view.reopen()
    until(lambda: publish(view) or view._host.viewer_attached.is_set, "the viewer attaches")
    assert view.close_reason is None


def test_a_forked_child_neither_ends_nor_waits_for_its_parents_viewer(
    viewers: Callable[[str], None], opened: Callable[..., View]
) -> None:
    viewers("stays")
    view = opened()
    until(lambda: view._host.viewers, "the viewer attaches")
    child = os.fork()
    if child == 0:
        verdict = 1
        try:
            assert not view.is_open
            assert "forked child" in str(view.close_reason)
            view.close()
            verdict = 0 if not view.is_open else 2
        finally:
            os._exit(verdict)
    assert os.waitpid(child, 0)[1] == 0
    publish(view)
    assert view.is_open


def test_a_signal_handler_may_close_the_view_in_the_midst_of_anything(opened: Callable[..., View]) -> None:
    view = opened(viewer=False)
    before = signal.signal(signal.SIGUSR1, lambda *_: view.close())
    try:
        with view._session._closing:
            signal.raise_signal(signal.SIGUSR1)
        assert not view.is_open
    finally:
        signal.signal(signal.SIGUSR1, before)


def left(name: str) -> list[object]:
    """What is there of a view of that name."""
    threads = [thread for thread in threading.enumerate() if name in thread.name]
    return [*threads, *viewer_processes(), *(one for one in map(str, running()) if name in one)]


def interrupting(method: Callable[..., object]) -> Callable[..., object]:
    """Ctrl-C comes at its end."""

    def called(*arguments: object, **named: object) -> object:
        made = method(*arguments, **named)
        signal.raise_signal(signal.SIGINT)
        return made

    return called


@pytest.mark.parametrize(
    "method", [Host.__init__, ServiceThread.start, ViewerProcess.__init__, ViewerProcess.send_order]
)
def test_ctrl_c_while_a_view_opens_leaves_nothing_of_it(
    viewers: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, method: Callable[..., object]
) -> None:
    viewers("stays")
    kind = {"Host": Host, "ServiceThread": ServiceThread}.get(method.__qualname__.partition(".")[0], ViewerProcess)
    monkeypatch.setattr(kind, method.__name__, interrupting(method))
    with pytest.raises(KeyboardInterrupt):
        show(BALLS, name="interrupted")
    until(lambda: not left("interrupted"), "nothing is left")


def test_ctrl_c_while_a_view_closes_is_heard_and_it_is_closed_whole(
    viewers: Callable[[str], None], opened: Callable[..., View], monkeypatch: pytest.MonkeyPatch
) -> None:
    viewers("stays")
    view = opened(name="interrupted")
    monkeypatch.setattr(Listener, "free_name", interrupting(Listener.free_name))
    with pytest.raises(KeyboardInterrupt):
        view.close()
    monkeypatch.undo()
    assert view.close_reason == "the view was closed with close()"
    until(lambda: not left("interrupted"), "nothing is left")


def test_ctrl_c_while_another_viewer_starts_leaves_that_one_alone(
    viewers: Callable[[str], None], opened: Callable[..., View], monkeypatch: pytest.MonkeyPatch
) -> None:
    view = opened(viewer=False)
    viewers("stays")
    monkeypatch.setattr(ViewerProcess, "send_order", interrupting(ViewerProcess.send_order))
    with pytest.raises(KeyboardInterrupt):
        view.reopen()
    view.reopen()
    assert (view.close_reason, len(viewer_processes())) == (None, 1)
    view.close()
    until(lambda: not left(view.name), "nothing is left")
