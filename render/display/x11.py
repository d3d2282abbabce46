"""Reads present times on X11, from events of the Present extension. If there are no such events, reads them from
GLX_OML_sync_control.

Neither source is tested on hardware. Both are tested with simulated libraries. The events of Present are also tested
with Xvfb, which does not use Present for its own drawing. A driver's report counts only if `present_times.Answers`
accepts it.

The driver presents each swap with a serial number that counts swaps. Every client that selects the window's events
receives one event per swap. The event contains the instant (microseconds of CLOCK_MONOTONIC) and the count of
refreshes. If a driver does not use Present, there are no events. Then GLX is asked how many swaps are complete, and
when the last complete swap was shown. The second question is asked only after a swap is complete, so the call does not
wait.

Always: no request is sent that could end the process if it fails. All calls come from the thread that owns the window.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_int,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_ulong,
    c_void_p,
)  # fmt: skip
from typing import Any, NamedTuple

from twixt.render.display.present_times import Answers, Presented

US_NS = 1000
# Values of the Present extension, in this order: an event, an event mask, and the kind of a swap that presents a
# pixmap.
_COMPLETE_NOTIFY, _COMPLETE_NOTIFY_MASK, _PIXMAP = 1, 2, 0
_MODES = {0: "copy", 1: "flip", 3: "copy suboptimal"}
_SKIPPED = 2
# A read from GLX is a round trip to the server. After MOST_SLOW reads that each took longer than SLOW_NS, GLX is no
# longer asked.
MOST_SLOW, SLOW_NS = 5, 2_000_000
GLX_EXTENSION = b"GLX_OML_sync_control"


class _CompleteNotify(Structure):
    """The structure xcb_present_complete_notify_event_t, with the library's packing."""

    _pack_ = 1
    _fields_ = [
        ("response_type", c_uint8), ("extension", c_uint8), ("sequence", c_uint16), ("length", c_uint32),
        ("event_type", c_uint16), ("kind", c_uint8), ("mode", c_uint8), ("event", c_uint32), ("window", c_uint32),
        ("serial", c_uint32), ("ust", c_uint64), ("full_sequence", c_uint32), ("msc", c_uint64),
    ]  # fmt: skip


class _ExtensionReply(Structure):
    _fields_ = [
        ("response_type", c_uint8), ("pad", c_uint8), ("sequence", c_uint16), ("length", c_uint32),
        ("present", c_uint8), ("major_opcode", c_uint8), ("first_event", c_uint8), ("first_error", c_uint8),
    ]  # fmt: skip


class Libraries(NamedTuple):
    """ctypes handles of libX11-xcb, libxcb, libxcb-present and libGL, and C's function `free`. The handle of a library
    that is not installed is None. Tests pass simulated libraries."""

    x11_xcb: Any
    xcb: Any
    xcb_present: Any
    gl: Any
    free: Callable[[Any], object]


class X11Presentation:
    """Asks an X server through Present when each swap of one window was shown. If Present does not report, asks
    GLX."""

    def __init__(self, display: int, window: int, drawable: int, libraries: Libraries | None = None) -> None:
        """display: address of the Display. window: id of the X window. drawable: id of the window's GLX window."""
        self._libraries = libraries = libraries or load()
        self._display, self._drawable = display, drawable
        self._way: PresentEvents | SyncValues = PresentEvents(display, window, libraries)

    @property
    def given_up(self) -> str:
        """Reason why the server is no longer asked, or "" while it is asked."""
        return self._way.answers.given_up

    @property
    def way(self) -> str:
        """Name of the extension in use."""
        return self._way.name

    @property
    def output(self) -> int:
        """Always 0, which means unknown, because Present's events do not name a monitor."""
        return 0

    def ask(self, swap_number: int) -> None:
        """Asks the server when the swap with this number is shown. Call this just before the swap."""
        if self._way.answers.given_up and isinstance(self._way, PresentEvents):
            self._way.close()
            self._way = SyncValues(self._display, self._drawable, self._libraries)
        if not self._way.answers.given_up:
            self._way.answers.asked(swap_number, time.perf_counter_ns())

    def swapped(self) -> None:
        """Does nothing."""

    def drain(self) -> list[Presented]:
        """Returns the reports received since the last call. Never waits."""
        if not self._way.answers.given_up:
            self._way.read()
        return self._way.answers.drain()

    def close(self) -> None:
        """Stops asking, and deselects the events of Present. This may be called more than once."""
        self._way.close()


class PresentEvents:
    """Events of the Present extension for the swaps that the OpenGL library presents to one window."""

    name = "Present"

    def __init__(self, display: int, window: int, libraries: Libraries) -> None:
        self.answers, self._clock = Answers(), RefreshClock()
        self._xcb, self._present, self._free = libraries.xcb, libraries.xcb_present, libraries.free
        self._window = window
        self._special = 0
        if libraries.x11_xcb is None or libraries.xcb is None or libraries.xcb_present is None:
            self.answers.give_up("libxcb-present is not installed")
            return
        self._connection = libraries.x11_xcb.XGetXCBConnection(display)
        why = self._listen(window)
        if why:
            self.answers.give_up(why)

    def read(self) -> None:
        """Reads the events that have arrived. Never waits."""
        while address := self._xcb.xcb_poll_for_special_event(self._connection, self._special):
            event = ctypes.cast(address, POINTER(_CompleteNotify)).contents
            if event.event_type == _COMPLETE_NOTIFY and event.kind == _PIXMAP:
                self._note(event.serial, event.mode, event.ust, event.msc)
            self._free(address)

    def close(self) -> None:
        """Deselects the events of Present. This may be called more than once."""
        self.answers.give_up("closed")
        if self._special:
            self._present.xcb_present_select_input(self._connection, self._event, self._window, 0)
            self._xcb.xcb_unregister_for_special_event(self._connection, self._special)
            self._special = 0

    def _listen(self, window: int) -> str:
        """Selects the events of Present. Returns the reason for a failure, or "" if there was no failure."""
        xcb, present = self._xcb, self._present
        identity = byref(self._identity())
        extension = xcb.xcb_get_extension_data(self._connection, identity)
        if not extension or not ctypes.cast(extension, POINTER(_ExtensionReply)).contents.present:
            return "the X server has no Present extension"
        version = present.xcb_present_query_version_reply(
            self._connection, present.xcb_present_query_version(self._connection, 1, 0), None
        )
        if not version:
            return "the X server refuses the Present extension"
        self._free(version)
        self._event = xcb.xcb_generate_id(self._connection)
        self._special = xcb.xcb_register_for_special_xge(self._connection, identity, self._event, None) or 0
        asked = present.xcb_present_select_input_checked(self._connection, self._event, window, _COMPLETE_NOTIFY_MASK)
        error = xcb.xcb_request_check(self._connection, asked)
        if not error:
            return "" if self._special else "the X library stores no events for it"
        self._free(error)
        if self._special:
            xcb.xcb_unregister_for_special_event(self._connection, self._special)
            self._special = 0
        return "the X server sends no events for this window"

    def _identity(self) -> Any:
        return _symbol(self._present, "xcb_present_id")

    def _note(self, serial: int, mode: int, ust: int, msc: int) -> None:
        now_ns = time.perf_counter_ns()
        if mode == _SKIPPED:
            self.answers.was_discarded(serial, now_ns)
        else:
            refresh_ns = self._clock.refresh_ns(ust, msc)
            self.answers.presented(serial, ust * US_NS, refresh_ns, _MODES.get(mode, ""), now_ns)


class SyncValues:
    """Instants at which frames were shown, from the GLX extension GLX_OML_sync_control."""

    name = "GLX_OML_sync_control"

    def __init__(self, display: int, drawable: int, libraries: Libraries) -> None:
        self.answers, self._clock = Answers(), RefreshClock()
        self._display, self._drawable = display, drawable
        # Instant in us, count of refreshes, count of swaps (named ust, msc, sbc by the extension).
        self._values = c_int64(), c_int64(), c_int64()
        self._last_sbc = self._slow = 0
        gl = libraries.gl
        if gl is None:
            self.answers.give_up("libGL is not installed")
            return
        screen_names = gl.glXQueryExtensionsString(display, 0) or b""
        found = [gl.glXGetProcAddressARB(name) for name in (b"glXGetSyncValuesOML", b"glXWaitForSbcOML")]
        if GLX_EXTENSION not in screen_names.split() or not all(found):
            self.answers.give_up(f"the driver has no {self.name}")
            return
        values = [POINTER(c_int64)] * 3
        kind = ctypes.CFUNCTYPE(c_int, c_void_p, c_ulong, *values)
        waiting_kind = ctypes.CFUNCTYPE(c_int, c_void_p, c_ulong, c_int64, *values)
        self._get, self._wait = kind(found[0]), waiting_kind(found[1])

    def read(self) -> None:
        """Asks whether another swap is complete, and at which instant it was completed. Does not wait for a swap."""
        ust, msc, sbc = self._values
        begin_ns = time.perf_counter_ns()
        if not self._get(self._display, self._drawable, byref(ust), byref(msc), byref(sbc)):
            self.answers.give_up("the driver returns no values for this window")
            return
        done = sbc.value
        if done > self._last_sbc:
            self._last_sbc = done  # this swap is complete, so a request for its instant does not wait
            if self._wait(self._display, self._drawable, done, byref(ust), byref(msc), byref(sbc)):
                refresh_ns = self._clock.refresh_ns(ust.value, msc.value)
                self.answers.presented(sbc.value, ust.value * US_NS, refresh_ns, "", time.perf_counter_ns())
        self._slow += time.perf_counter_ns() - begin_ns > SLOW_NS
        if self._slow >= MOST_SLOW:
            self.answers.give_up(f"a request takes longer than {SLOW_NS / 1e6:g} ms")

    def close(self) -> None:
        """Stops asking. There is no memory to free."""
        self.answers.give_up("closed")


class RefreshClock:
    """Calculates the refresh period from instants and counts of refreshes."""

    def __init__(self) -> None:
        self._ust = self._msc = 0

    def refresh_ns(self, ust: int, msc: int) -> int:
        """Mean refresh period since the last call, in ns, or 0 if it is unknown. ust: instant in us. msc: count of
        refreshes at that instant."""
        refreshes, us = msc - self._msc, ust - self._ust
        known = self._msc > 0 and refreshes > 0 and us > 0
        if refreshes:
            self._ust, self._msc = ust, msc
        return us * US_NS // refreshes if known else 0


def load() -> Libraries:
    """Loads the system's libraries and declares their functions. The handle of a library that is missing is None."""
    u = c_uint32
    x11_xcb = _library("libX11-xcb.so.1", ("XGetXCBConnection", c_void_p, [c_void_p]))
    xcb = _library(
        "libxcb.so.1",
        ("xcb_get_extension_data", c_void_p, [c_void_p, c_void_p]),
        ("xcb_generate_id", u, [c_void_p]),
        ("xcb_register_for_special_xge", c_void_p, [c_void_p, c_void_p, u, c_void_p]),
        ("xcb_unregister_for_special_event", None, [c_void_p, c_void_p]),
        ("xcb_poll_for_special_event", c_void_p, [c_void_p, c_void_p]),
        ("xcb_request_check", c_void_p, [c_void_p, u]),
    )
    present = _library(
        "libxcb-present.so.0",
        ("xcb_present_query_version", u, [c_void_p, u, u]),
        ("xcb_present_query_version_reply", c_void_p, [c_void_p, u, c_void_p]),
        ("xcb_present_select_input", u, [c_void_p, u, u, u]),
        ("xcb_present_select_input_checked", u, [c_void_p, u, u, u]),
    )
    gl = _library(
        "libGL.so.1",
        ("glXQueryExtensionsString", c_char_p, [c_void_p, c_int]),
        ("glXGetProcAddressARB", c_void_p, [c_char_p]),
    )
    free = ctypes.CDLL(None).free
    free.restype, free.argtypes = None, [c_void_p]
    return Libraries(x11_xcb, xcb, present, gl, free)


def _symbol(library: Any, name: str) -> c_void_p:
    return c_void_p.in_dll(library, name)


def _library(file: str, *functions: tuple[str, Any, list[Any]]) -> Any:
    try:
        library = ctypes.CDLL(file)
        for name, result, arguments in functions:
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):
        return None
    return library
