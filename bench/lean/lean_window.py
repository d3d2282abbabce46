"""Clears and swaps a window, as a program without twixt.

    lean_window.py            swaps once; prints the instant at which the swap returned, of time.perf_counter_ns
    lean_window.py SECONDS    swaps for SECONDS, and waits for the display each time; prints {"count", "p50", "p99"}:
                              number of intervals and their quantiles in ms, without the first half second

Without a display it draws into memory, through EGL.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np

WARM_UP_S = 0.5
GL_COLOR_BUFFER_BIT = 0x4000

Call = Callable[[], object]


def main() -> None:
    shown = _window() if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") else _picture()
    shown()
    if len(sys.argv) == 1:
        print(time.perf_counter_ns(), flush=True)
        return
    started_s, shown_ns = time.perf_counter(), []
    while (passed_s := time.perf_counter() - started_s) < WARM_UP_S + float(sys.argv[1]):
        shown()
        if passed_s > WARM_UP_S:
            shown_ns.append(time.perf_counter_ns())
    intervals_ms = np.diff(shown_ns) / 1e6
    p50, p99 = np.percentile(intervals_ms, (50, 99))
    print(json.dumps({"count": len(intervals_ms), "p50": p50, "p99": p99}), flush=True)


def _window() -> Call:
    """Opens a window. Returns a function that shows one empty frame in the window."""
    import glfw

    if not glfw.init():
        sys.exit("no display")
    for hint, value in ((glfw.CONTEXT_VERSION_MAJOR, 3), (glfw.CONTEXT_VERSION_MINOR, 3)):
        glfw.window_hint(hint, value)
    glfw.window_hint(glfw.OPENGL_PROFILE, glfw.OPENGL_CORE_PROFILE)
    window = glfw.create_window(800, 600, "bare", None, None)
    glfw.make_context_current(window)
    glfw.swap_interval(1)
    address = ctypes.cast(glfw.get_proc_address("glClear"), ctypes.c_void_p).value or 0
    clear = ctypes.CFUNCTYPE(None, ctypes.c_uint)(address)

    def frame() -> None:
        glfw.poll_events()
        clear(GL_COLOR_BUFFER_BIT)
        glfw.swap_buffers(window)

    return frame


def _picture() -> Call:
    """Makes a framebuffer in memory. Returns a function that draws one empty picture into the framebuffer."""
    import moderngl

    context = moderngl.create_standalone_context(require=330, backend="egl")  # type: ignore[arg-type]  # stubs
    target = context.simple_framebuffer((800, 600))

    def frame() -> None:
        target.clear()
        context.finish()

    return frame


if __name__ == "__main__":
    main()
