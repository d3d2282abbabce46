"""An X server that goes: Xlib ends the whole process then, unless told otherwise.

The run's report, and the goodbye to physics, are worth more than that. They are had within the very call to the
display, which never comes back: whoever made it, Mesa above all, believes what was not answered (how large the window
is) and writes where no memory is.
"""

from __future__ import annotations

import ctypes
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from ctypes import CFUNCTYPE, c_int, c_void_p

from twixt.ipc.errors import TwixtError

_IO_ERROR = CFUNCTYPE(c_int, c_void_p)
_installed: list[object] = []  # Xlib keeps the address: this must not be collected


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

    handler = _IO_ERROR(last)
    _installed.append(handler)
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XSetIOErrorHandler.argtypes, x11.XSetIOErrorHandler.restype = [_IO_ERROR], c_void_p
    x11.XSetIOErrorHandler(handler)
