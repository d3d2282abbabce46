"""A loop of the user's own and its viewer: what ends both, what ends one alone, and what is said of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.processes import Starter, focus, gone_within_a_second, memories, one_line, starter, until, xdotool

pytestmark = pytest.mark.display

SHOW = """
from time import sleep
import twixt
view = twixt.show(twixt.Scene([twixt.Sphere()]), size_px=(320, 240))
n = 0
while view.is_open:
    try:
        view.publish(position=[(0, 0, 0)])
        n += 1
        if n == 1:
            print("published", flush=True)
        if "killed" in (because := view.close_reason or ""):
            print("without a window because", because, flush=True)
            view.reopen()
        sleep(0.005)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
for _ in range(20):
    view.publish(position=[(0, 0, 0)])
print("over because", view.close_reason, flush=True)
"""

WITHOUT_DISPLAY = """
import os
from time import sleep
import twixt
view = twixt.show(twixt.Scene([twixt.Sphere()]), name="lab")
while view.close_reason is None:
    view.publish(position=[(0, 0, 0)])
    sleep(0.005)
view.publish(position=[(0, 0, 0)])
print("open", view.is_open, "because", view.close_reason, os.listdir("."), flush=True)
"""

WITHOUT_CLOSE = """
import multiprocessing
import twixt

kept = []

def work():
    view = twixt.show(twixt.Scene([twixt.Sphere()]), size_px=(64, 48), screenshot="shown.png", at_s=0)
    kept.append(view)
    while b"IEND" not in shown():
        view.publish(position=[(0, 0, 0)])

def shown():
    try:
        return open("shown.png", "rb").read()[-16:]
    except OSError:
        return b""

if __name__ == "__main__":
    way = "WAY"
    if way == "main":
        work()
    else:
        worker = multiprocessing.get_context(way).Process(target=work)
        worker.start()
        worker.join()
        print("worker", worker.exitcode)
"""

# A terminal that stops whoever writes to it from the background, as after `stty tostop`.
IN_THE_BACKGROUND = """
import fcntl, os, pty, sys, termios, threading
from time import sleep
terminal, stderr = pty.openpty()
fcntl.ioctl(stderr, termios.TIOCSCTTY, 0)
attributes = termios.tcgetattr(stderr)
attributes[3] |= termios.TOSTOP
termios.tcsetattr(stderr, termios.TCSANOW, attributes)
os.dup2(stderr, 2)

def repeat():
    for line in os.fdopen(terminal, errors="replace"):
        print("on the terminal:", line.strip(), flush=True)

threading.Thread(target=repeat, daemon=True).start()
import twixt
with twixt.show(twixt.Scene([twixt.Sphere()]), log="frames.csv", size_px=(64, 48), name="lab") as view:
    while view.is_open and (not os.path.exists("frames.csv") or len(open("frames.csv").readlines()) < 20):
        view.publish(position=[(0, 0, 0)])
        sleep(0.005)
    print("open", view.is_open, flush=True)
"""


@pytest.fixture
def start_without_display(tmp_path: Path) -> Iterator[Starter]:
    environ = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    with starter(tmp_path, environ) as starts:
        yield starts


@pytest.mark.parametrize("how", ["Esc", "kill -9", "destroyed by another client"])
def test_a_loop_of_the_users_own_goes_on_without_its_viewer(start: Starter, how: str) -> None:
    script = start.script(SHOW)
    script.hear("published")
    if how == "kill -9":
        os.kill(script.viewer(), signal.SIGKILL)
        script.hear("without a window because the viewer was killed by SIGKILL")
        script.hear("open a window with view.reopen(), or in a terminal: twixt view show-")
    script.viewer()
    window = focus(script, start.display)
    if how == "destroyed by another client":
        xdotool(start.display, "windowclose", window)
    else:
        xdotool(start.display, "key", "Escape")
    script.hear("over because the window was closed")
    assert script.end() == 0
    assert script.left() == []
    assert len(script.err.splitlines()) == (how == "kill -9"), script.err


def test_an_interrupt_of_the_loop_leaves_its_window_open(start: Starter) -> None:
    script = start.script(SHOW)
    viewer = script.viewer()
    script.hear("published")
    script.interrupt()
    script.hear("interrupted")
    focus(script, start.display)
    assert script.viewer() == viewer
    xdotool(start.display, "key", "Escape")
    script.hear("over because the window was closed")
    assert (script.end(), script.err) == (0, "")


@pytest.mark.stress
def test_a_killed_script_leaves_nothing_of_its_viewer(start: Starter) -> None:
    script = start.script(SHOW)
    script.viewer()
    memory = memories(set(script.pids()))
    script.process.kill()
    gone_within_a_second(script, memory)
    one_line(script, "physics ended unexpectedly")


@pytest.mark.parametrize("way", ["main", "fork", "spawn", "forkserver"])
def test_a_process_that_exits_without_close_ends_its_viewer_in_order(start: Starter, way: str) -> None:
    script = start.script(WITHOUT_CLOSE.replace("WAY", way))
    assert script.end() == 0
    assert script.out == ("" if way == "main" else "worker 0\n")
    until(lambda: not script.left(), "the end of its viewer")
    one_line(script, "screenshot in shown.png")


def test_a_loop_without_a_display_goes_on_and_is_told_so_once(start_without_display: Starter) -> None:
    script = start_without_display.script(WITHOUT_DISPLAY)
    because = "no display (DISPLAY and WAYLAND_DISPLAY are not set)"
    script.hear(f"open True because {because} ['runtime', 'script.py']")
    assert script.end() == 0
    one_line(script, because, "the loop continues without a viewer; open a window with", "twixt view lab")
    assert script.left() == []


def test_a_viewer_draws_on_without_a_display_where_it_keeps_a_log_and_writes_from_the_background(
    start_without_display: Starter,
) -> None:
    script = start_without_display.script(IN_THE_BACKGROUND)
    script.hear("on the terminal: twixt: no display")
    script.hear("open True")
    assert script.end() == 0
    assert "drawing offscreen" in script.out
    assert "the loop continues; open a window with: twixt view lab" in script.out
    assert "Traceback" not in script.out
    assert script.left() == []
