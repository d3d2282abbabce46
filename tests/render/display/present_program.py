"""Presents pictures to a window of an X server by hand, and says what the server told of them; then makes a mistake."""

from __future__ import annotations

import ctypes
import time
from ctypes import c_char_p, c_int, c_int16, c_uint, c_uint32, c_uint64, c_ulong, c_void_p

from twixt.render.display import glfw_library
from twixt.render.display.x11 import PresentEvents, load

LIMIT_S = 20.0


def main() -> None:
    x, present = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libxcb-present.so.0")
    x.XOpenDisplay.argtypes, x.XOpenDisplay.restype = [c_char_p], c_void_p
    x.XDefaultRootWindow.argtypes, x.XDefaultRootWindow.restype = [c_void_p], c_ulong
    x.XCreateSimpleWindow.argtypes = [c_void_p, c_ulong, c_int, c_int, *[c_uint] * 3, c_ulong, c_ulong]
    x.XCreatePixmap.argtypes = [c_void_p, c_ulong, c_uint, c_uint, c_uint]
    x.XCreateSimpleWindow.restype = x.XCreatePixmap.restype = c_ulong
    x.XMapWindow.argtypes = x.XUnmapWindow.argtypes = [c_void_p, c_ulong]
    x.XSync.argtypes = [c_void_p, c_int]
    u = c_uint32
    present.xcb_present_pixmap.argtypes = [
        c_void_p, u, u, u, u, u, c_int16, c_int16, u, u, u, u, c_uint64, c_uint64, c_uint64, u, c_void_p
    ]  # fmt: skip
    glfw_library.end_with_the_server(lambda: 3)
    display = x.XOpenDisplay(None)
    window = x.XCreateSimpleWindow(display, x.XDefaultRootWindow(display), 0, 0, 64, 64, 0, 0, 0)
    x.XMapWindow(display, window)
    pixmap = x.XCreatePixmap(display, window, 64, 64, 24)
    libraries = load()
    connection = libraries.x11_xcb.XGetXCBConnection(display)
    x.XSync(display, 0)
    events = PresentEvents(display, window, libraries)
    said = []
    for number in range(1, 6):
        events.answers.asked(number, time.perf_counter_ns())
        present.xcb_present_pixmap(connection, window, pixmap, number, *[0] * 7, 0, 0, 0, 0, 0, None)
        x.XSync(display, 0)
        end_s = time.monotonic() + LIMIT_S
        while len(said) < number and time.monotonic() < end_s:
            events.read()
            said += events.answers.drain()
            time.sleep(0.002)
    print("told", len(said), said[-1].flags if said else events.answers.given_up)
    print("window unknown:", PresentEvents(display, 0x7FFFFF, libraries).answers.given_up)
    for _ in range(2):
        x.XMapWindow(display, 0x7FFFFF)  # there is no such window
        x.XSync(display, 0)
    print("still here")
    events.close()


if __name__ == "__main__":
    main()
