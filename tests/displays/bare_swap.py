"""A bare clear-and-swap loop on the display of the environment, to hold twixt's frame intervals against.

Imports nothing of twixt: glfw, vsync on, a clear, a swap.

    bare_swap.py SECONDS      prints {"count", "p50", "p99"}: frame intervals in ms, without the first half second
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time

import numpy as np

if "WAYLAND_DISPLAY" in os.environ:
    os.environ.setdefault("PYGLFW_LIBRARY_VARIANT", "wayland")
import glfw

WARM_UP_S = 0.5
GL_COLOR_BUFFER_BIT = 0x4000


def main() -> None:
    seconds = float(sys.argv[1])
    if not glfw.init():
        sys.exit("no display")
    for hint, value in ((glfw.CONTEXT_VERSION_MAJOR, 3), (glfw.CONTEXT_VERSION_MINOR, 3)):
        glfw.window_hint(hint, value)
    glfw.window_hint(glfw.OPENGL_PROFILE, glfw.OPENGL_CORE_PROFILE)
    window = glfw.create_window(800, 600, "bare", None, None)
    glfw.make_context_current(window)
    glfw.swap_interval(1)
    clear = ctypes.CFUNCTYPE(None, ctypes.c_uint)(glfw.get_proc_address("glClear"))
    started_s, shown_ns = time.perf_counter(), []
    while time.perf_counter() - started_s < WARM_UP_S + seconds:
        glfw.poll_events()
        clear(GL_COLOR_BUFFER_BIT)
        glfw.swap_buffers(window)
        if time.perf_counter() - started_s > WARM_UP_S:
            shown_ns.append(time.perf_counter_ns())
    intervals_ms = np.diff(shown_ns) / 1e6
    p50, p99 = np.percentile(intervals_ms, (50, 99))
    print(json.dumps({"count": len(intervals_ms), "p50": p50, "p99": p99}))
    glfw.terminate()


if __name__ == "__main__":
    main()
