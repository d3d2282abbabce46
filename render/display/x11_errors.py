"""Handlers for an X server that ends or refuses a request, in place of Xlib's own, which end the process, and for a
window that another client destroys, which GLFW does not report.

When the server ends, the run's report is written and the end is sent to physics, within the call to the display that
detected it. That call never returns: its caller, above all Mesa, would use answers that never came, such as the
window's size, and write to memory that it does not own. A refused request is reported once, and frames go on; requests
to a destroyed window are refused without a message.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from ctypes import CFUNCTYPE, c_int, c_ubyte, c_ulong, c_void_p

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_current_exception, print_notice

_IO_ERROR = CFUNCTYPE(c_int, c_void_p)
_ERROR = CFUNCTYPE(c_int, c_void_p, c_void_p)
_WIRE_TO_EVENT = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
_DESTROY_NOTIFY, _BAD_WINDOW, _BAD_DRAWABLE = 17, 3, 9
_installed: list[object] = []  # Xlib keeps the addresses: these must not be collected
_watched: set[int] = set()  # ids of windows
_destroyed: set[int] = set()  # those of them that are destroyed
_has_said = False


class _XErrorEvent(ctypes.Structure):
    _fields_ = [
        ("type", c_int), ("display", c_void_p), ("resourceid", c_ulong), ("serial", c_ulong),
        ("error_code", c_ubyte), ("request_code", c_ubyte), ("minor_code", c_ubyte),
    ]  # fmt: skip


class _XDestroyWindowEvent(ctypes.Structure):
    _fields_ = [
        ("type", c_int), ("serial", c_ulong), ("send_event", c_int), ("display", c_void_p), ("event", c_ulong),
        ("window", c_ulong),
    ]  # fmt: skip


def end_with_the_server(gone: Callable[[], int]) -> None:
    """Installs the handlers. When the X server ends, calls `gone` within the call that detects it, then ends the
    process with the exit code that `gone` returns. `gone` must not call the display or OpenGL."""

    def last(_display: int) -> int:
        code = TwixtError.exit_code
        try:
            code = gone()
        except BaseException:
            print_current_exception()
        with suppress(Exception):  # its reader has gone
            sys.stdout.flush()
        os._exit(code)

    handler, refusals = _IO_ERROR(last), _ERROR(_refused)
    _installed.extend((handler, refusals))
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XSetIOErrorHandler.argtypes, x11.XSetIOErrorHandler.restype = [_IO_ERROR], c_void_p
    x11.XSetIOErrorHandler(handler)
    x11.XSetErrorHandler.argtypes, x11.XSetErrorHandler.restype = [_ERROR], c_void_p
    x11.XSetErrorHandler(refusals)


def watch(display: int, window: int) -> None:
    """Watches a window, for `is_destroyed`. display: address of its Display."""
    _destroyed.discard(window)  # another connection may use an id again
    _watched.add(window)
    convert = ctypes.CDLL("libX11.so.6").XESetWireToEvent
    convert.argtypes, convert.restype = [c_void_p, c_int, _WIRE_TO_EVENT], _WIRE_TO_EVENT

    # Xlib converts each event that it reads with this function, whoever takes the event from the queue.
    def note(display: int, event: int, wire: int) -> int:
        is_queued = before(display, event, wire)
        number = int(_XDestroyWindowEvent.from_address(event).window)
        if number in _watched:
            _destroyed.add(number)
        return int(is_queued)

    noting = _WIRE_TO_EVENT(note)
    before = convert(display, _DESTROY_NOTIFY, noting)
    _installed.extend((noting, before))


def is_destroyed(window: int) -> bool:
    """True if another client has destroyed this watched window."""
    return window in _destroyed


def _refused(_display: int, address: int) -> int:
    global _has_said
    error = _XErrorEvent.from_address(address)
    if error.error_code in (_BAD_WINDOW, _BAD_DRAWABLE) and error.resourceid in _watched:
        _destroyed.add(int(error.resourceid))  # the event may still be on its way
    if not _has_said and not _destroyed:
        _has_said = True
        request = f"{error.request_code}.{error.minor_code}"
        print_notice(f"the X server refused request {request} (error {error.error_code}); going on")
    return 0
