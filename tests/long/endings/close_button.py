"""A window's close button, pressed as a window manager does it: a message to the window (ICCCM, WM_DELETE_WINDOW)."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_long, c_ulong, c_void_p

CLIENT_MESSAGE = 33


class _Message(Structure):
    """XClientMessageEvent, as large as any event."""

    _fields_ = [
        ("type", c_int), ("serial", c_ulong), ("send_event", c_int), ("display", c_void_p), ("window", c_ulong),
        ("message_type", c_ulong), ("format", c_int), ("words", c_long * 5), ("rest", c_long * 12),
    ]  # fmt: skip


def press(display: str, window: int) -> None:
    """display: such as ":1". A window that has gone meanwhile is none of our business."""
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.argtypes, x11.XOpenDisplay.restype = [c_char_p], c_void_p
    x11.XInternAtom.argtypes, x11.XInternAtom.restype = [c_void_p, c_char_p, c_int], c_ulong
    x11.XSendEvent.argtypes = [c_void_p, c_ulong, c_int, c_long, POINTER(_Message)]
    x11.XSync.argtypes, x11.XCloseDisplay.argtypes = [c_void_p, c_int], [c_void_p]
    ignored = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)(lambda _display, _error: 0)
    x11.XSetErrorHandler.argtypes, x11.XSetErrorHandler.restype = [c_void_p], c_void_p
    before = x11.XSetErrorHandler(ctypes.cast(ignored, c_void_p))
    server = x11.XOpenDisplay(display.encode())
    try:
        message = _Message(
            type=CLIENT_MESSAGE, window=window, message_type=x11.XInternAtom(server, b"WM_PROTOCOLS", 0), format=32
        )
        message.words[0] = x11.XInternAtom(server, b"WM_DELETE_WINDOW", 0)
        x11.XSendEvent(server, window, 0, 0, byref(message))
        x11.XSync(server, 0)
    finally:
        x11.XCloseDisplay(server)
        x11.XSetErrorHandler(before)
