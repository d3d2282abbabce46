"""A program with a window, for the tests of `window`: does what its first argument names, prints JSON lines.

Runs as a process of its own, in the environment of the display under test.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from typing import Any

from twixt.ipc.errors import TwixtError

SIZE_PX = (640, 480)
SWAPS = 30
LONG_NS = 200_000_000  # many refreshes
# Waiting for what a test does to the window from outside; the test fails long before.
LIMIT_S = 60.0


def say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def show(window: Any, color: tuple[float, float, float], swaps: int = 3) -> None:
    for _ in range(swaps):
        window.context.clear(*color)
        window.swap()
        window.poll()


def describe(window: Any) -> None:
    """Opens, shows red, and stays until told to go on."""
    show(window, (1, 0, 0))
    say(
        backend=window.backend, renderer=window.renderer, size=window.framebuffer_size, gl=window.context.version_code,
        reported_hz=window.refresh_reported_hz, hidden=window.is_hidden, close=window.should_close,
        scale=window.content_scale,
    )  # fmt: skip
    sys.stdin.readline()


def probe(window: Any) -> None:
    """Whether swap blocks; then frames as the pacer plans them, beside bare swaps on the same display."""
    from twixt.render.pacing.pacer import Pacer
    from twixt.render.pacing.policy import FrameTimes
    from twixt.render.pacing.refresh import SwapProbe
    from twixt.render.pacing.wait import HybridWait

    wait, swaps = HybridWait(), SwapProbe(window.refresh_reported_hz, window.is_called)
    while not swaps.done:
        window.context.clear()
        wait.until(time.perf_counter_ns() + swaps.pause_ns)
        begin_ns = time.perf_counter_ns()
        window.swap()
        swaps.add(begin_ns, time.perf_counter_ns())
        window.poll()
    refresh = swaps.verdict()
    bare_ns = [_bare_swap_ns(window) for _ in range(90)]
    pacer = Pacer("auto", None, refresh)
    presents_ns = []
    for _ in range(180):
        window.poll()
        start_ns = wait.until(pacer.next_frame(time.perf_counter_ns()).start_ns)
        window.context.clear()
        window.context.finish()
        work_end_ns = time.perf_counter_ns()
        swap_at_ns = pacer.drawn(start_ns, work_end_ns)
        if swap_at_ns is not None:
            wait.until(swap_at_ns)
        begin_ns = time.perf_counter_ns()
        window.swap()
        times = FrameTimes(start_ns, start_ns, work_end_ns, begin_ns, time.perf_counter_ns())
        presents_ns.append(pacer.frame_done(times).present_ns)
    say(
        blocks=refresh.blocks, reason=refresh.reason, hz=pacer.refresh_measured_hz, bare_ns=bare_ns,
        presents_ns=presents_ns,
    )  # fmt: skip


def meanwhile(window: Any) -> None:
    """Swaps with work between the hand-over and the wait: a picture in the next buffer."""
    calls, seen = [], []

    def draw(await_call: Any) -> None:
        window.context.clear(0, 1, 0)
        window.context.finish()
        calls.append([await_call(0), await_call(LONG_NS)])

    for _ in range(SWAPS):
        window.context.clear(1, 0, 0)
        window.swap(draw)
        if len(seen) < len(calls):
            seen.append(list(window.screen.read((0, 0, 1, 1), components=3)))
        window.poll()
    say(calls=calls, seen=seen)


def _bare_swap_ns(window: Any) -> int:
    window.context.clear()
    window.swap()
    window.poll()
    return time.perf_counter_ns()


def events(window: Any) -> None:
    """Prints what happens to the window until Esc."""
    show(window, (0, 1, 0))
    say(ready=True)
    end_s, seen_size = time.monotonic() + LIMIT_S, window.framebuffer_size
    while time.monotonic() < end_s and not window.should_close:
        for event in window.wait_events(0.05):
            facts = event._asdict()
            assert facts.pop("acted_ns") <= time.perf_counter_ns()
            if "modifiers" in facts:
                facts["modifiers"] = sorted(facts["modifiers"])
            if "action" in facts:
                say(key_action=[facts["code"], facts["action"], facts["mods"]])
            else:
                say(event=type(event).__name__, **facts)
        if window.framebuffer_size != seen_size:
            seen_size = window.framebuffer_size
            say(size=seen_size)
        window.swap()
    say(closed=window.should_close)


def shrink_between(window: Any) -> None:
    """Keeps a picture's backdrop while the window is smaller than was said yet; how many pixels are wrong after it."""
    from twixt.ipc.scene import Scene
    from twixt.render.display.window import glfw
    from twixt.render.draw.frame.camera import OrbitCamera
    from twixt.render.draw.scene_renderer import SceneRenderer

    def frame(is_kept: bool = True) -> Any:
        window.screen.use()
        renderer._background.cache._is_faster = is_kept
        renderer.draw([], camera.matrices(SIZE_PX), (0, 0, *SIZE_PX))
        renderer.finish()
        return renderer.read_pixels()

    def resize(size_px: tuple[int, int]) -> None:
        glfw.set_window_size(window.handle, *size_px)
        glfw.get_window_size(window.handle)  # answered when that is done; events wait

    show(window, (0, 0, 0))
    renderer, camera = SceneRenderer(window.context, Scene([], ground_z=0.0)), OrbitCamera()
    before = window.resizes
    frame()
    resize((SIZE_PX[0] // 2, SIZE_PX[1] // 2))
    frame()  # in which it is kept
    resize(SIZE_PX)
    window.swap()
    window.poll()
    if window.resizes != before:
        renderer.forget_pixels()
    wrong = []
    for _ in range(3):
        one, plain = frame(), frame(is_kept=False)
        wrong.append(int((one != plain).any(axis=2).sum()))
        window.swap()
    say(size=window.framebuffer_size, resizes=window.resizes - before, wrong=wrong)


def hide(window: Any) -> None:
    """Swaps on and on; says when the window is hidden and when it is shown again."""
    show(window, (0, 0, 1), swaps=10)
    window.ask_for_presents()
    say(ready=True)
    hidden, end_s = False, time.monotonic() + LIMIT_S
    while time.monotonic() < end_s and not window.should_close:
        window.context.clear()
        window.swap()
        window.wait_events(0.02 if hidden else 0)
        window.drain_presents()
        if window.is_hidden != hidden:
            hidden = window.is_hidden
            say(hidden=hidden)


def share(window: Any) -> None:
    """Which libglfw are loaded once the overlay's library drew into this window."""
    from twixt.render.display import glfw_library

    with glfw_library.sharing():
        from imgui_bundle import imgui
    imgui.create_context()
    address = ctypes.cast(window.handle, ctypes.c_void_p).value
    began = imgui.backends.glfw_init_for_opengl(address, True) and imgui.backends.opengl3_init("#version 330")
    for _ in range(2):
        imgui.backends.opengl3_new_frame()
        imgui.backends.glfw_new_frame()
        imgui.new_frame()
        imgui.render()
        imgui.backends.opengl3_render_draw_data(imgui.get_draw_data())
        show(window, (0, 0, 0), 1)
    with open("/proc/self/maps") as maps:
        loaded = sorted({line.split()[-1] for line in maps if "libglfw" in line})
    say(began=began, loaded=loaded)


def outlive(window: Any) -> None:
    """Draws until the display is gone."""
    window.at_gone = lambda gone: say(gone=str(gone)) or 7  # type: ignore[func-returns-value]
    show(window, (1, 1, 1), 1)
    window.ask_for_presents()
    say(ready=True)
    while True:
        show(window, (1, 1, 1), 1)
        window.drain_changes()
        window.drain_presents()


def watch(window: Any) -> None:
    """Says what changes about the display."""
    show(window, (1, 1, 0), swaps=3)
    window.ask_for_presents()
    say(ready=True)
    end_s = time.monotonic() + LIMIT_S
    while time.monotonic() < end_s and not window.should_close:
        show(window, (1, 1, 0), swaps=1)
        window.drain_presents()
        for change in window.drain_changes():
            say(change=change)


def orphan_the_next_window() -> None:
    """Its display goes while it opens: told so on a line, and waited for."""
    from twixt.render.display import window

    of_window = window.context.of_window

    def meanwhile(functions: Any) -> Any:
        say(opening=True)
        sys.stdin.readline()
        window.glfw.get_clipboard_string(None)
        return of_window(functions)

    window.context.of_window = meanwhile


def main(job: str, vsync: bool) -> int:
    try:
        from twixt.render.display.window import Window

        if job == "orphaned":
            orphan_the_next_window()
        window = Window(SIZE_PX, "twixt under test", vsync)
        try:
            globals()[job](window)
        finally:
            window.close()
    except TwixtError as error:
        say(error=str(error), kind=type(error).__name__)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "no-vsync" not in sys.argv))
