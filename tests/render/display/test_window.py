"""The window on real displays: an X server whose swaps never block, a Wayland compositor whose swaps do."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.displays.rigs import Display, set_density, sway, weston, xvfb
from tests.render.display.window_program import SWAPS
from twixt.ipc.errors import TwixtError
from twixt.render.display.offscreen import OffscreenWindow

PROGRAM = Path(__file__).with_name("window_program.py")
ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0

pytestmark = pytest.mark.display


class Client:
    """The program under test, its words as they come."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def hear(self, *wanted: str) -> dict[str, Any]:
        """The next line that has one of `wanted` (any line, without)."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said: dict[str, Any] = json.loads(line)
            if not wanted or said.keys() & set(wanted):
                return said
        raise AssertionError(f"the program ended without saying {wanted}")


@contextmanager
def client(
    environ: dict[str, str], *arguments: str, stderr: int | None = None, start: tuple[str, ...] = (), cwd: str = "/"
) -> Iterator[Client]:
    """start: words of the command before Python's."""
    # The path of imports is the test's own: the front door lies in the checkout.
    process = subprocess.Popen(
        [*start, sys.executable, str(PROGRAM), *arguments], env=environ | {"PYTHONPATH": str(ROOT)}, cwd=cwd, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
    )  # fmt: skip
    watchdog = threading.Timer(LIMIT_S, process.kill)
    watchdog.start()
    try:
        yield Client(process)
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def red_pixels(screen_file: Path) -> int:
    """Pixels of pure red on an Xvfb's mapped screen."""
    content = screen_file.read_bytes()
    header = np.frombuffer(content, ">u4", 25)
    start = int(header[0]) + int(header[19]) * 12
    pixels = np.frombuffer(content, "<u4", int(header[4]) * int(header[5]), start) & 0xFFFFFF
    return int((pixels == 0xFF0000).sum())


# ---- an X server


def test_a_window_shows_what_was_drawn(xvfb_screen: Display) -> None:
    with client(xvfb_screen.environ, "describe") as program:
        said = program.hear()
        assert xvfb_screen.screen_file is not None
        assert red_pixels(xvfb_screen.screen_file) == 640 * 480
    assert said["backend"] == "x11"
    assert said["gl"] >= 330
    assert said["size"] == [640, 480]
    assert said["reported_hz"] is None, "Xvfb reports 0, and 0 is no rate"
    assert not said["hidden"]
    assert not said["close"]


def test_a_window_opens_though_the_current_folder_was_removed(xvfb_screen: Display, tmp_path: Path) -> None:
    start = ("sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh")
    with client(xvfb_screen.environ, "describe", start=start, cwd=str(tmp_path)) as program:
        assert program.hear()["size"] == [640, 480]
    assert not tmp_path.exists()


def test_on_a_dense_display_the_window_grows_as_its_words_do(xvfb_screen: Display) -> None:
    set_density(xvfb_screen, 192)
    with client(xvfb_screen.environ, "describe") as program:
        said = program.hear()
    assert said["size"] == [1280, 960]
    assert said["scale"] == 2


@pytest.mark.starvable
def test_swap_on_xvfb_does_not_block_and_the_pacer_paces_at_60_hz(xvfb_display: dict[str, str]) -> None:
    with client(xvfb_display, "probe") as program:
        said = program.hear()
    assert said["blocks"] is False
    assert said["hz"] is None
    intervals_ms = [(b - a) / 1e6 for a, b in pairwise(said["presents_ns"][5:])]
    assert statistics.median(intervals_ms) == pytest.approx(1000 / 60, rel=0.01)


def test_keys_mouse_and_size_arrive(xvfb_display: dict[str, str]) -> None:
    xdotool = shutil.which("xdotool")
    if xdotool is None:
        pytest.skip("no xdotool; on Debian: apt-get install xdotool")

    def act(*command: str) -> None:
        subprocess.run([xdotool, *command], env=xvfb_display, check=True, capture_output=True, timeout=30)

    with client(xvfb_display, "events") as program:
        program.hear("ready")
        act("mousemove", "100", "50")
        moved = program.hear("event")
        assert (moved["event"], moved["x_px"], moved["y_px"]) == ("MouseMove", 100, 50)
        for key, name in (("i", "I"), ("space", "Space"), ("bracketleft", "["), ("period", "."), ("F12", "F12")):
            act("key", key)
            assert program.hear("event") == key_event(name)
        act("keydown", "shift", "key", "w", "keyup", "shift")
        while (heard := program.hear("key_action")["key_action"])[0] != 340:
            pass
        heard = [heard, *(program.hear("key_action")["key_action"] for _ in range(3))]
        assert heard == [[340, "press", 0], [87, "press", 1], [87, "release", 1], [340, "release", 1]]
        act("click", "1")
        assert program.hear("event") == {"event": "MouseButton", "button": "left", "pressed": True, "modifiers": []}
        assert program.hear("event") == {"event": "MouseButton", "button": "left", "pressed": False, "modifiers": []}
        act("click", "4")
        assert program.hear("event") == {"event": "Scroll", "dx": 0.0, "dy": 1.0}
        act("search", "--name", "twixt under test", "windowsize", "500", "300")
        assert program.hear("size")["size"] == [500, 300]


def test_a_window_that_another_client_destroys_is_closed_and_nothing_is_refused(xvfb_display: dict[str, str]) -> None:
    xdotool = shutil.which("xdotool")
    if xdotool is None:
        pytest.skip("no xdotool; on Debian: apt-get install xdotool")
    with client(xvfb_display, "events", stderr=subprocess.PIPE) as program:
        program.hear("ready")
        command = [xdotool, "search", "--name", "twixt under test", "windowclose"]
        subprocess.run(command, env=xvfb_display, check=True, capture_output=True, timeout=30)
        assert program.hear("closed")["closed"] is True
        assert program.process.wait(LIMIT_S) == 0
        assert program.process.stderr is not None
        assert program.process.stderr.read() == ""


def test_a_window_that_shrinks_and_grows_between_two_polls_leaves_no_hole_in_what_is_kept(
    xvfb_display: dict[str, str],
) -> None:
    with client(xvfb_display, "shrink_between") as program:
        said = program.hear()
    assert said["size"] == [640, 480]
    assert said["resizes"] == 2
    assert said["wrong"] == [0, 0, 0]


# By layout: what is pressed, as places of a keyboard (`PLACES`), and the keys that are meant by it.
LAYOUTS = {
    "us": {
        "R": "R",
        "Shift+R": "R",
        ".": ".",
        "Shift+.": ">",
        "Ctrl+R": "Ctrl+R",
        "Alt+R": "Alt+R",
        "Super+.": "Super+.",
    },
    "de": {"[": "Ü/[", "]": "+/]", "Y": "Z", "Z": "Y", "AltGr+8": "[", "AltGr+9": "]", "Ctrl+R": "Ctrl+R"},
    "fr": {"Q": "A", "R": "R", "Shift+,": ".", "AltGr+5": "[", "[": "^/["},
    "ru": {"R": "К/R", "I": "Ш/I", "/": ".", ".": "Ю", "[": "Х/[", "Ctrl+R": "Ctrl+К", "Shift+R": "К"},
    "us,ru": {"[": "[", "R": "R"},
    "us -variant dvorak": {"R": "P", "O": "R", "E": "."},
    "gr": {"R": "Ρ/R", ".": "."},
}
PLACES = {
    "R": 27, "I": 31, "[": 34, "]": 35, ".": 60, "/": 61, ",": 59, "8": 17, "9": 18, "5": 14, "Y": 29, "Z": 52, "Q": 24,
    "O": 32, "E": 26, "Shift": 50, "Ctrl": 37, "Alt": 64, "AltGr": 108, "Super": 133,
}  # fmt: skip


def key_event(said: str) -> dict[str, Any]:
    """`Ctrl+Ü/[`: the key Ü with Ctrl, which a US keyboard has as [."""
    *modifiers, name = said.split("+") if len(said) > 2 and "+" in said[1:] else [said]
    name, _, place = name.partition("/")
    return {"event": "Key", "name": name, "modifiers": modifiers, "place": place}


def test_keys_are_the_characters_of_the_users_layout_and_else_places(xvfb_display: dict[str, str]) -> None:
    setxkbmap, xdotool = shutil.which("setxkbmap"), shutil.which("xdotool")
    if setxkbmap is None or xdotool is None:
        pytest.skip("no setxkbmap or no xdotool; on Debian: apt-get install x11-xkb-utils xdotool")

    def act(*command: str) -> None:
        subprocess.run(command, env=xvfb_display, check=True, capture_output=True, timeout=30)

    with client(xvfb_display, "events") as program:
        program.hear("ready")
        for layout, presses in LAYOUTS.items():
            act(setxkbmap, *layout.split())
            for pressed, meant in presses.items():
                *held, place = pressed.split("+")
                codes = [str(PLACES[name]) for name in held]
                down, up = [("keydown", code) for code in codes], [("keyup", code) for code in codes]
                act(xdotool, *(word for step in (*down, ("key", str(PLACES[place])), *up) for word in step))
                assert program.hear("event") == key_event(meant), (layout, pressed)


# ---- a Wayland compositor


@pytest.mark.starvable
def test_swap_on_sway_blocks_and_its_refresh_is_measured(sway_display: Callable[[float], dict[str, str]]) -> None:
    with client(sway_display(90), "probe") as program:  # no rate that could be taken for granted
        said = program.hear()
    assert said["blocks"] is True
    bare_ms = statistics.median((b - a) / 1e6 for a, b in pairwise(said["bare_ns"]))
    paced_ms = statistics.median((b - a) / 1e6 for a, b in pairwise(said["presents_ns"]))
    assert 1000 / said["hz"] == pytest.approx(bare_ms, rel=0.05)
    assert paced_ms == pytest.approx(bare_ms, rel=0.05)


def test_work_is_done_after_the_hand_over_and_before_the_compositors_call(
    sway_display: Callable[[float], dict[str, str]],
) -> None:
    with client(sway_display(60), "meanwhile", "vsync") as program:
        said = program.hear()
    calls = said["calls"]
    assert [False, True] in calls, "it was still to come, and waiting for it ends when it comes"
    assert len(calls) <= SWAPS
    assert said["seen"] == [[0, 255, 0]] * len(calls), "what was drawn then is in the buffer of the next frame"


def test_where_a_swap_does_not_wait_for_a_call_there_is_no_time_for_work(
    sway_display: Callable[[float], dict[str, str]], xvfb_display: dict[str, str]
) -> None:
    for environ, vsync in ((sway_display(60), "no-vsync"), (xvfb_display, "vsync")):
        with client(environ, "meanwhile", vsync) as program:
            assert program.hear()["calls"] == []


@pytest.mark.parametrize("vsync", ["vsync", "no-vsync"])
def test_a_hidden_window_is_told_and_its_swap_comes_back(sway_rig: Callable[[float], Display], vsync: str) -> None:
    rig = sway_rig(60)
    with client(rig.environ, "hide", vsync) as program:
        program.hear("ready")
        rig.tell_sway("workspace", "2")
        assert program.hear("hidden")["hidden"] is True
        rig.tell_sway("workspace", "1")
        assert program.hear("hidden")["hidden"] is False


def test_another_mode_of_the_monitor_is_noticed_while_frames_are_made(sway_rig: Callable[[float], Display]) -> None:
    rig = sway_rig(60)
    with client(rig.environ, "watch") as program:
        program.hear("ready")
        rig.tell_sway("output", "HEADLESS-1", "mode", "1280x800@90Hz")
        assert program.hear("change") == {"change": "the monitor's mode changed to 1280x800, 90 Hz"}


def test_the_close_button_is_heard(sway_rig: Callable[[float], Display]) -> None:
    rig = sway_rig(60)
    with client(rig.environ, "events") as program:
        program.hear("ready")
        rig.tell_sway("kill")
        assert program.hear("closed")["closed"] is True
        assert program.process.wait(LIMIT_S) == 0


def test_a_window_on_sway_keeps_its_size(sway_display: Callable[[float], dict[str, str]]) -> None:
    with client(sway_display(60), "describe") as program:
        said = program.hear()
    assert said["backend"] == "wayland"
    assert said["size"] == [640, 480]


# ---- both


@pytest.mark.parametrize("display", [xvfb, lambda: sway(60)], ids=["x11", "wayland"])
def test_one_libglfw_serves_the_window_and_the_overlay(display: Any) -> None:
    pytest.importorskip("imgui_bundle")
    with display() as rig, client(rig.environ, "share") as program:
        said = program.hear()
    assert said["began"]
    assert len(said["loaded"]) == 1


@pytest.mark.parametrize("display", [lambda: sway(60), weston], ids=["never answers", "answers"])
def test_a_compositor_that_goes_is_an_error_not_the_end_of_the_process(display: Any) -> None:
    with display() as rig, client(rig.environ, "outlive") as program:
        program.hear("ready")
        rig.process.kill()
        assert program.hear("error")["kind"] == "DisplayGone"
        assert program.process.wait(LIMIT_S) == TwixtError.exit_code


def test_an_x_server_that_goes_ends_the_process_within_the_call_once_that_is_said() -> None:
    with xvfb() as rig, client(rig.environ, "outlive") as program:
        program.hear("ready")
        rig.process.kill()
        assert program.hear("gone") == {
            "gone": "the display (x11) closed the connection; start again on a running display"
        }
        assert program.process.wait(LIMIT_S) == 7


def test_a_display_that_goes_while_the_window_opens_is_said_and_ends_with_2() -> None:
    with xvfb() as rig, client(rig.environ, "orphaned", stderr=subprocess.PIPE) as program:
        program.hear("opening")
        rig.process.kill()
        rig.process.wait()
        _, said = program.process.communicate("\n", timeout=LIMIT_S)
    assert said == "twixt: the display (x11) closed the connection; start again on a running display\n"
    assert program.process.returncode == TwixtError.exit_code


def test_no_display_names_the_way_out(xvfb_display: dict[str, str]) -> None:
    environ = {name: value for name, value in xvfb_display.items() if name != "DISPLAY"}
    with client(environ, "describe") as program:
        assert "--offscreen" in program.hear("error")["error"]


def test_no_opengl_3_3_names_the_way_out(xvfb_display: dict[str, str]) -> None:
    with client(xvfb_display | {"MESA_GL_VERSION_OVERRIDE": "2.1"}, "describe") as program:
        error = program.hear("error")["error"]
    assert "OpenGL 3.3" in error
    assert "LIBGL_ALWAYS_SOFTWARE" in error


# ---- no display


def test_offscreen_draws_without_a_display() -> None:
    window = OffscreenWindow((64, 48))
    try:
        window.screen.use()
        window.context.clear(0, 1, 0)
        window.swap()
        assert window.screen.read(components=3) == b"\x00\xff\x00" * (64 * 48)
        assert window.poll() == []
        assert (window.backend, window.is_hidden, window.should_close) == ("offscreen", False, False)
    finally:
        window.close()


def test_offscreen_offers_all_that_a_window_does() -> None:
    window_module = pytest.importorskip("twixt.render.display.window")
    offered = {name for name in vars(window_module.Window) if not name.startswith("_")}
    window = OffscreenWindow((16, 16))
    try:
        assert [name for name in offered if not hasattr(window, name)] == []
    finally:
        window.close()
