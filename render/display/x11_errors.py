"""Handlers for an X server that ends or refuses a request, in place of Xlib's own, which end the process.

When the server ends, the run's report is written and the end is sent to physics, within the call to the display that
detected it. That call never returns: its caller, above all Mesa, would use answers that never came, such as the
window's size, and write to memory that it does not own. A refused request is reported once, and frames go on.
"""

from __future__ import annotations

import ctypes
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from ctypes import CFUNCTYPE, c_int, c_ubyte, c_ulong, c_void_p

from twixt.ipc.errors import TwixtError

_IO_ERROR = CFUNCTYPE(c_int, c_void_p)
_ERROR = CFUNCTYPE(c_int, c_void_p, c_void_p)
_installed: list[object] = []  # Xlib keeps the addresses: these must not be collected
_has_said = False


class _XErrorEvent(ctypes.Structure):
    _fields_ = [
        ("type", c_int), ("display", c_void_p), ("resourceid", c_ulong), ("serial", c_ulong),
        ("error_code", c_ubyte), ("request_code", c_ubyte), ("minor_code", c_ubyte),
    ]  # fmt: skip


def end_with_the_server(gone: Callable[[], int]) -> None:
    """Installs the handlers. When the X server ends, calls `gone` within the call that detects it, then ends the
    process with the exit code that `gone` returns. `gone` must not call the display or OpenGL."""

    def last(_display: int) -> int:
        code = TwixtError.exit_code
        try:
            code = gone()
        except BaseException:
            traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # its reader has gone
                stream.flush()
        os._exit(code)

    handler, refusals = _IO_ERROR(last), _ERROR(_refused)
    _installed.extend((handler, refusals))
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XSetIOErrorHandler.argtypes, x11.XSetIOErrorHandler.restype = [_IO_ERROR], c_void_p
    x11.XSetIOErrorHandler(handler)
    x11.XSetErrorHandler.argtypes, x11.XSetErrorHandler.restype = [_ERROR], c_void_p
    x11.XSetErrorHandler(refusals)


def _refused(_display: int, address: int) -> int:
    global _has_said
    if not _has_said:
        _has_said = True
        error = ctypes.cast(address, ctypes.POINTER(_XErrorEvent)).contents
        request = f"{error.request_code}.{error.minor_code}"
        print(f"twixt: the X server refused request {request} (error {error.error_code}); going on", file=sys.stderr)
    return 0
