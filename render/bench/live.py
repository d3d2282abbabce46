"""Frames a second of the viewer as it is, against the least that could be drawn on the same window.

One idea: the frame loop itself runs here, on a physics process of its own that publishes 30 times a second, with
nothing to wait for; it takes turns with a loop that draws two fixed snapshots of the same world the lean way and
swaps, and with one that only clears and swaps. Each turn is some frames long, so that both are drawn as in use.

Always: the first frames of each turn do not count (what was published meanwhile is taken in then), and no garbage is
collected in anybody's turn. Bars are of software OpenGL, where drawing and the least of it meet the same limits.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from twixt.ipc.bench import Row, Say, rounds_of
from twixt.ipc.config import Config
from twixt.ipc.link import Link
from twixt.render.bench.lean_spheres import LeanSpheres
from twixt.render.bench.processes import simulation
from twixt.render.bench.turns import row, turns, uncollected
from twixt.render.display.opening import open_display
from twixt.render.frame_loop import FrameLoop
from twixt.render.measure.log import FrameLog
from twixt.render.pacing.pacer import Pacer
from twixt.render.shots import Shots

WORLD, PUBLISH_HZ = "swarm", 30
COUNTS = (1_000, 10_000, 100_000, 1_000_000)
BARS = {1_000: 0.80, 10_000: 0.95, 100_000: 1.0, 1_000_000: 0.85}
# The overlay costs the same whatever is drawn below it: where least is, it shows most.
OVERLAY_COUNT, OVERLAY_BAR = 1_000, 0.45
# Turns of each; each as many frames as are lean drawn in so long, but not fewer than so many. All turns of one number of
# bodies take no longer than the budget.
ROUNDS, STRETCH_S, FEWEST_FRAMES, BUDGET_S = 12, 0.25, 3, 14.0
# Before a turn counts: so many frames, or as many as take so long. What was published meanwhile is taken in by then.
FRAMES_BEFORE, BEFORE_S = 5, 0.1
# Frames before the first turn: programs are made, the clock finds its pace.
FRAMES_AT_FIRST, PATIENCE_NS = 40, 20_000_000_000
OURS, OVERLAY, LEAN, EMPTY = "ours", "with overlay", "lean draw", "clear + swap"

Frame = Callable[[], object]


class Stretches(NamedTuple):
    """Frames a second of each kind of frame, turn by turn."""

    fps: dict[str, list[float]]
    uploads: int  # frames that took in a newer snapshot


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Frames a second against the lean draw, for each number of bodies, and with the overlay."""
    is_whole = share >= 1
    config = Config(pacing="unlimited")  # with the overlay to be had: where there is no panel, none is drawn
    window = open_display(config)
    try:
        for count in COUNTS if is_whole else COUNTS[:1]:
            say(f"{count:,} spheres, as a viewer draws them")
            with simulation(WORLD, "--set", f"count={count}", "--publish-hz", str(PUBLISH_HZ)) as link:
                kinds = (OURS, LEAN, EMPTY, *([OVERLAY] if count == OVERLAY_COUNT else []))
                found = measure(config, window, link, kinds, rounds_of(ROUNDS, share), STRETCH_S * min(1.0, 4 * share))
            yield from _rows(count, found)
    finally:
        window.close()


def fps_name(shape: str, count: int) -> str:
    """How a row of frames a second is called; `fps_of` reads it."""
    return f"{shape} fps, {count:,} bodies"


def fps_of(name: str) -> tuple[str, int] | None:
    """Shape and count of a row of frames a second; None for others."""
    shape, found, rest = name.partition(" fps, ")
    words = rest.split()
    return (shape, int(words[0].replace(",", ""))) if found and words[1:] == ["bodies"] else None


def _rows(count: int, found: Stretches) -> Iterator[Row]:
    ours, lean, empty = (found.fps[kind] for kind in (OURS, LEAN, EMPTY))
    name = fps_name("sphere", count)
    yield row(
        name, "fps", ours, LEAN, lean, f"ratio >= {BARS[count]:g}", f"{found.uploads} frames took in a newer snapshot"
    )
    yield row(name, "fps", ours, EMPTY, empty)
    if OVERLAY in found.fps:
        yield row(f"{name}, overlay", "fps", found.fps[OVERLAY], LEAN, lean, f"ratio >= {OVERLAY_BAR:g}")


def measure(
    config: Config, window: Any, link: Link, kinds: tuple[str, ...], rounds: int, stretch_s: float
) -> Stretches:
    """Turns of frames of those kinds, on that window."""
    with _frame_loop(config, window, link) as loop:
        seen: set[int] = set()
        frames = _frames(config, window, link, loop, seen)
        lean_s = _seconds(frames[LEAN], FEWEST_FRAMES) / FEWEST_FRAMES
        length = max(FEWEST_FRAMES, round(stretch_s / lean_s))
        fps: dict[str, list[float]] = {kind: [] for kind in kinds}
        with uncollected():
            for _ in turns(rounds, BUDGET_S):
                for kind in kinds:
                    _settle(frames[kind])
                    fps[kind].append(length / _seconds(frames[kind], length))
        return Stretches(fps, len(seen))


@contextmanager
def _frame_loop(config: Config, window: Any, link: Link) -> Iterator[FrameLoop]:
    """A frame loop that has come into its stride."""
    loop = FrameLoop(config, window, link, Pacer("unlimited"), FrameLog(), Shots(None, None), [])
    try:
        ends_ns, count = time.perf_counter_ns() + PATIENCE_NS, 0
        while count < FRAMES_AT_FIRST and time.perf_counter_ns() < ends_ns:
            count += loop.frame().mode not in ("none", "held")
        loop.is_starting = False
        loop.begin_anew()
        gc.collect()
        gc.freeze()
        yield loop
    finally:
        gc.unfreeze()
        loop.close()
        loop.release()
        loop.stage.renderer.release()


def _frames(config: Config, window: Any, link: Link, loop: FrameLoop, seen: set[int]) -> dict[str, Frame]:
    """What makes one frame of each kind. seen: the newest tick of each of the viewer's own frames is added."""
    from twixt.render.overlay.panel import Panel

    older, newer = (snapshot.bodies["position"] for snapshot in link.latest_pair())
    lean = LeanSpheres(window.context, older, newer, loop.stage.scene.distinct_shapes[0].radius)  # type: ignore[union-attr]
    size_px = window.framebuffer_size
    camera = loop.stage.camera.matrices(size_px, size_px)  # type: ignore[union-attr]  # frames were drawn
    panel = Panel(link, config.pacing)
    count = 0

    def ours(with_panel: Panel | None) -> Frame:
        def frame() -> None:
            loop.over.panel = with_panel
            seen.add(loop.frame().newest_tick)

        return frame

    def lean_frame() -> None:
        nonlocal count
        count += 1
        window.screen.use()
        lean.draw(camera, (0, 0, *size_px), count % 10 / 10)
        window.swap()

    def empty_frame() -> None:
        window.screen.use()
        window.context.clear()
        window.swap()

    return {OURS: ours(None), OVERLAY: ours(panel), LEAN: lean_frame, EMPTY: empty_frame}


def _settle(frame: Frame) -> None:
    ends_s = time.perf_counter() + BEFORE_S
    for _ in range(FRAMES_BEFORE):
        frame()
        if time.perf_counter() > ends_s:
            return


def _seconds(frame: Frame, count: int) -> float:
    begin_ns = time.perf_counter_ns()
    for _ in range(count):
        frame()
    return (time.perf_counter_ns() - begin_ns) / 1e9
