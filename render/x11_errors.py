"""Outliving an X server: Xlib ends the whole process when the server goes, unless told not to.

The run's report, and the goodbye to physics, are worth more than that. Needs libX11 1.7; with an older one, Xlib
ends the process as it always did.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int, c_void_p

_IO_ERROR = CFUNCTYPE(c_int, c_void_p)
_EXIT = CFUNCTYPE(None, c_void_p, c_void_p)
_installed: list[object] = []  # Xlib keeps the addresses: these must not be collected


def round_trip(display: int) -> Callable[[], object]:
    """Waits until the server of `display` (a Display's address) has done all that it was asked.

    To be called before a frame is drawn: Mesa asks the server how large the window is, and in a server that goes in
    that moment it believes what was not answered, and writes where no memory is. Here nothing is harmed.
    """
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XSync.argtypes = [c_void_p, c_int]
    return lambda: x11.XSync(display, 0)


def outlive(display: int, gone: Callable[[], None]) -> None:
    """`gone` is called when the server of `display` (a Display's address) ends, within any call that talks to it."""
    x11 = ctypes.CDLL("libX11.so.6")
    if not hasattr(x11, "XSetIOErrorExitHandler"):
        return
    silent, instead_of_exit = _IO_ERROR(lambda _display: 0), _EXIT(lambda _display, _nothing: gone())
    _installed.extend((silent, instead_of_exit))
    x11.XSetIOErrorHandler.argtypes, x11.XSetIOErrorHandler.restype = [_IO_ERROR], c_void_p
    x11.XSetIOErrorHandler(silent)
    x11.XSetIOErrorExitHandler.argtypes, x11.XSetIOErrorExitHandler.restype = [c_void_p, _EXIT, c_void_p], None
    x11.XSetIOErrorExitHandler(c_void_p(display), instead_of_exit, None)
