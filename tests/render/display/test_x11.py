"""What X11 says of presents: against made-up libraries, and Present's events on an Xvfb that is presented to by hand."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import time
from ctypes import c_int64, cast
from pathlib import Path
from typing import Any

import pytest

from tests.displays.rigs import xvfb
from twixt.render.display import x11
from twixt.render.display.present_times import MOST_OPEN
from twixt.render.display.x11 import MOST_SLOW, Libraries, SyncValues, X11Presentation

DISPLAY, WINDOW, DRAWABLE = 0x10, 0x20, 0x30
FLIP, SKIP = 1, 2
ROOT = Path(__file__).parents[3]


class X:
    """As much of xcb as is called. Events are handed out one by one."""

    def __init__(self, has_present: bool = True, refuses: bool = False) -> None:
        self.has_present, self.refuses = has_present, refuses
        self.events: list[x11._CompleteNotify] = []
        self.held: dict[int, Any] = {}
        self.selected: list[int] = []
        self.registered = 0
        self._extension = x11._ExtensionReply(present=has_present)

    def XGetXCBConnection(self, display: int) -> int:
        return display + 1

    def xcb_get_extension_data(self, _connection: int, _identity: Any) -> int:
        return ctypes.addressof(self._extension)

    def xcb_generate_id(self, _connection: int) -> int:
        return 0x77

    def xcb_register_for_special_xge(self, *_arguments: Any) -> int:
        self.registered += 1
        return 0x88

    def xcb_unregister_for_special_event(self, _connection: int, special: int) -> None:
        assert special == 0x88
        self.registered -= 1

    def xcb_poll_for_special_event(self, _connection: int, _special: int) -> int:
        return self._given(self.events.pop(0)) if self.events else 0

    def xcb_request_check(self, _connection: int, _cookie: int) -> int:
        return self._given(x11._CompleteNotify()) if self.refuses else 0

    def xcb_present_query_version(self, *_arguments: Any) -> int:
        return 1

    def xcb_present_query_version_reply(self, *_arguments: Any) -> int:
        return self._given(x11._CompleteNotify())

    def xcb_present_select_input(self, _connection: int, _event: int, _window: int, mask: int) -> int:
        self.selected.append(mask)
        return 1

    xcb_present_select_input_checked = xcb_present_select_input

    def free(self, address: int) -> None:
        del self.held[address]  # a KeyError: twice, or never given

    def _given(self, event: x11._CompleteNotify) -> int:
        self.held[ctypes.addressof(event)] = event
        return ctypes.addressof(event)

    def complete(self, serial: int, ust: int, msc: int = 0, mode: int = FLIP, kind: int = 0) -> None:
        self.events.append(x11._CompleteNotify(event_type=1, kind=kind, mode=mode, serial=serial, ust=ust, msc=msc))


class Glx:
    """A driver with OML_sync_control. `done`: swaps that are shown; `ust`, `msc`: when the last was."""

    def __init__(self, extensions: bytes = b"GLX_ARB_multisample GLX_OML_sync_control", works: bool = True) -> None:
        self.extensions, self.works = extensions, works
        self.done = self.ust = self.msc = self.waits = 0
        self.delay_s = 0.0
        values = [ctypes.POINTER(c_int64)] * 3
        self._get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, *values)(self._get_values)
        self._wait = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, c_int64, *values)(self._wait_for)

    def glXQueryExtensionsString(self, _display: int, _screen: int) -> bytes:
        return self.extensions

    def glXGetProcAddressARB(self, name: bytes) -> int:
        function = {b"glXGetSyncValuesOML": self._get, b"glXWaitForSbcOML": self._wait}[name]
        return cast(function, ctypes.c_void_p).value or 0

    def _get_values(self, _display: int, _drawable: int, ust: Any, msc: Any, sbc: Any) -> int:
        time.sleep(self.delay_s)
        ust[0], msc[0], sbc[0] = self.ust + 1, self.msc + 1, self.done
        return int(self.works)

    def _wait_for(self, _display: int, _drawable: int, target: int, ust: Any, msc: Any, sbc: Any) -> int:
        assert target <= self.done, "it would wait, perhaps for ever"
        self.waits += 1
        ust[0], msc[0], sbc[0] = self.ust, self.msc, self.done
        return 1


def libraries(x: X | None, gl: Glx | None = None) -> Libraries:
    return Libraries(x, x, x, gl, x.free if x is not None else lambda _: None)


@pytest.fixture(autouse=True)
def no_symbols(monkeypatch):
    monkeypatch.setattr(x11, "_symbol", lambda _library, _name: ctypes.c_void_p(0x55))


def now_us() -> int:
    return time.perf_counter_ns() // 1000 + 1


def test_presents_events_carry_instant_refresh_and_mode():
    x = X()
    presentation = X11Presentation(DISPLAY, WINDOW, DRAWABLE, libraries(x))
    assert (presentation.given_up, presentation.way, x.selected) == ("", "Present", [2])
    for number in (1, 2, 3):
        presentation.ask(number)
    at_us = now_us()
    x.complete(1, at_us, 100)
    x.complete(9, at_us + 1, 100)  # nobody asked
    x.complete(2, at_us + 2, 101, kind=1)  # of a refresh, not of a picture
    x.complete(2, at_us + 16_000, 101)
    x.complete(3, at_us + 48_000, 103, mode=SKIP)
    said = presentation.drain()
    assert [(word.swap_number, word.flags, word.was_shown) for word in said] == [
        (1, "flip", True), (2, "flip", True), (3, "discarded", False)
    ]  # fmt: skip
    assert [word.refresh_ns for word in said] == [None, 16_000_000, None]
    assert said[0].present_ns == at_us * 1000
    assert x.held == {}
    presentation.close()
    presentation.close()
    assert x.registered == 0
    assert x.selected == [2, 0]


@pytest.mark.parametrize("x", [X(has_present=False), X(refuses=True), None])
def test_where_there_is_no_present_glx_is_asked_and_where_that_is_not_either_nobody_is(x):
    presentation = X11Presentation(DISPLAY, WINDOW, DRAWABLE, libraries(x, Glx(b"GLX_ARB_multisample")))
    assert presentation.given_up
    presentation.ask(1)
    assert "no GLX_OML_sync_control" in presentation.given_up
    assert presentation.drain() == []
    presentation.ask(2)
    presentation.close()
    assert x is None or (x.held == {} and x.registered == 0)


def test_a_server_that_never_says_anything_is_asked_through_glx_which_answers():
    x, gl = X(), Glx()
    presentation = X11Presentation(DISPLAY, WINDOW, DRAWABLE, libraries(x, gl))
    for number in range(1, MOST_OPEN + 3):
        presentation.ask(number)
        assert presentation.drain() == []
    assert (presentation.way, presentation.given_up, x.registered) == ("GLX_OML_sync_control", "", 0)
    presentation.ask(60)
    presentation.ask(61)
    gl.done, gl.ust, gl.msc = 60, now_us(), 1000
    assert [word[:3] for word in presentation.drain()] == [(60, gl.ust * 1000, None)]
    assert presentation.drain() == []
    gl.done, gl.ust, gl.msc = 61, gl.ust + 30_000, 1002
    assert [word[:3] for word in presentation.drain()] == [(61, gl.ust * 1000, 15_000_000)]
    assert gl.waits == 2


def test_a_driver_that_has_no_values_for_a_window_is_given_up():
    values = SyncValues(DISPLAY, DRAWABLE, libraries(X(), Glx(works=False)))
    values.answers.asked(1, 0)
    values.read()
    assert "no values" in values.answers.given_up


def test_a_driver_that_takes_long_to_say_is_given_up():
    gl = Glx()
    values = SyncValues(DISPLAY, DRAWABLE, libraries(X(), gl))
    gl.delay_s = 0.003
    for _ in range(MOST_SLOW):
        assert not values.answers.given_up
        values.read()
    assert "longer than" in values.answers.given_up


def test_values_out_of_range_are_no_present():
    gl = Glx()
    values = SyncValues(DISPLAY, DRAWABLE, libraries(X(), gl))
    for number, ust in ((1, 0), (2, -(1 << 62)), (3, (1 << 62))):
        values.answers.asked(number, time.perf_counter_ns())
        gl.done, gl.ust, gl.msc = number, ust, -number
        values.read()
    assert values.answers.drain() == []


@pytest.mark.display
def test_an_xvfb_says_when_it_showed_a_picture_and_a_refused_request_ends_nothing() -> None:
    """Its own drawing does not go through Present, so pictures are presented by hand."""
    with xvfb() as display:
        program = Path(__file__).with_name("present_program.py")
        ended = subprocess.run(
            [sys.executable, str(program)], env=display.environ | {"PYTHONPATH": str(ROOT)}, cwd="/", text=True,
            capture_output=True, timeout=60,
        )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0] == "told 5 copy"
    assert lines[1] == "window unknown: the X server sends no events for this window"
    assert lines[2] == "still here"
    assert ended.stderr.count("the X server refused request") == 1
