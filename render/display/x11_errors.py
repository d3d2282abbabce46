"""An X server that goes, or refuses a request: Xlib ends the whole process then, unless told otherwise.

The run's report, and the goodbye to physics, are worth more than that. They are had within the very call to the
display, which never comes back: whoever made it, Mesa above all, believes what was not answered (how large the window
is) and writes where no memory is. A refused request is no end: it is said once, and frames go on.
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
    """The process ends where an X server goes, within any call that talks to it: with the exit code that `gone` gives,
    which is called before. It must not call the display or OpenGL."""

    def last(_display: int) -> int:
        code = TwixtError.exit_code
        try:
            code = gone()
        except BaseException:
            traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # nobody reads it any more
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
