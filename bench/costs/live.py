"""Measures the frames per second of the viewer's frame loop. They are compared with minimal drawing on the same
window.

The viewer's own frame loop runs in this process without pacing. A physics process publishes 30 times a second. The
frame loop takes turns with two other loops. The first of them draws a blend of two fixed snapshots of the same world
with `LeanSpheres`, and swaps. The second only clears and swaps. Each turn has several frames, as in real use.

Always: the first frames of each turn do not count, because they read the snapshots that were published during the
other turns. No garbage is collected during a turn. The limits (`TARGETS`) are for software OpenGL on one processor.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from bench.cost_suite import EMPTY, fps_name
from bench.lean.lean_draws import LeanSpheres
from bench.processes import process
from bench.rows import Row, in_turns, rounds_of, row, uncollected
from bench.screens import opened_window
from twixt.cli.progress import Say
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.session import running
from twixt.ipc.session.link import Link, attach
from twixt.ipc.snapshot import Snapshot
from twixt.render.measure.frame_log import FrameLog
from twixt.render.pacing.pacer import Pacer
from twixt.render.viewer.loop import FrameLoop
from twixt.sim.process.viewer_command import twixt_command

WORLD, PUBLISH_HZ = "swarm", 30
COUNTS = (1_000, 10_000, 100_000, 1_000_000)
TARGETS = {1_000: 0.80, 10_000: 0.95, 100_000: 1.0, 1_000_000: 0.85}
# Number of bodies, and required ratio, of the row with the overlay. The overlay's cost does not depend on the number
# of bodies, so its share of the frame is largest for the smallest number.
OVERLAY_COUNT, OVERLAY_TARGET = 1_000, 0.45
# ROUNDS is the number of turns of each kind. A turn has as many frames as lean drawing makes in STRETCH_S seconds, but
# at least FEWEST_FRAMES. After BUDGET_S seconds, no new round of turns begins for the same number of bodies.
ROUNDS, STRETCH_S, FEWEST_FRAMES, BUDGET_S = 12, 0.25, 3, 14.0
# Limits for the first frames of a turn, which do not count. They are FRAMES_BEFORE frames, or fewer if these take
# longer than BEFORE_S seconds. These frames read the snapshots that were published during the other turns.
FRAMES_BEFORE, BEFORE_S = 5, 0.1
# FRAMES_AT_FIRST is the number of frames before the first turn. In these frames, programs are compiled and the
# playback clock settles. PATIENCE_NS is the longest time for these frames, in ns.
FRAMES_AT_FIRST, PATIENCE_NS = 40, 20_000_000_000
OURS, OVERLAY, LEAN = "ours", "with overlay", "lean draw"

Frame = Callable[[], object]


def live_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of the frames per second compared with lean drawing. There is one row for each number of bodies, and one
    row with the overlay."""
    config = Config(pacing="unlimited")  # the overlay is available, but is not drawn without a panel
    rounds, stretch_s = rounds_of(ROUNDS, share), STRETCH_S * min(1.0, 4 * share)
    with opened_window(config) as window:
        for count in COUNTS if share >= 1 else COUNTS[:1]:
            say(f"{count:,} spheres, as a viewer draws them")
            kinds = (OURS, LEAN, EMPTY, *([OVERLAY] if count == OVERLAY_COUNT else []))
            ticks = set[int]()
            with _simulation(count) as link, running_loop(config, window, link, _settle) as loop:
                frames = _frames(window, link, loop, ticks)
                length = max(FEWEST_FRAMES, round(stretch_s / _seconds(frames[LEAN], FEWEST_FRAMES) * FEWEST_FRAMES))
                with uncollected():
                    fps = in_turns({kind: partial(_fps, frames[kind], length) for kind in kinds}, rounds, BUDGET_S)
                loop.stage.renderer.release()
            name, note = fps_name("sphere", count), f"the viewer read {len(ticks)} new snapshots during the measurement"
            yield row(name, "fps", fps[OURS], LEAN, fps[LEAN], f"ratio >= {TARGETS[count]:g}", note)
            yield row(name, "fps", fps[OURS], EMPTY, fps[EMPTY])
            if OVERLAY in fps:
                yield row(f"{name}, overlay", "fps", fps[OVERLAY], LEAN, fps[LEAN], f"ratio >= {OVERLAY_TARGET:g}")


@contextmanager
def _simulation(count: int) -> Iterator[Link]:
    """Runs `twixt sim` with this number of bodies. Yields a link to this simulation."""
    name = f"bench-{os.getpid()}"
    flags = ("--set", f"count={count}", "--publish-hz", str(PUBLISH_HZ), "--name", name)
    with process(twixt_command("sim", WORLD, *flags)) as physics:
        physics.until(lambda: name in running(), "it took its name")
        with closing(attach(name)) as link:
            yield link


@contextmanager
def running_loop(
    config: Config, window: Any, link: Link, settle: Callable[[FrameLoop], object], log: FrameLog | None = None
) -> Iterator[FrameLoop]:
    """Makes a frame loop without pacing. settle: function that draws its first frames. The objects that exist after
    these frames are never collected as garbage."""
    loop = FrameLoop(config, window, link, Pacer("unlimited"), log)
    try:
        settle(loop)
        gc.collect()
        gc.freeze()
        yield loop
    finally:
        gc.unfreeze()
        loop.close()
        loop.release()


def _settle(loop: FrameLoop) -> None:
    ends_ns, count = time.perf_counter_ns() + PATIENCE_NS, 0
    while count < FRAMES_AT_FIRST and time.perf_counter_ns() < ends_ns:
        count += loop.frame().mode not in ("none", "held")
    loop.is_starting = False
    loop.begin_anew()


def newest_two(link: Link) -> tuple[Snapshot, Snapshot]:
    """Returns the two newest snapshots, the older one first. Retries for 20 s if they cannot be read. After that,
    raises TwixtError."""
    ends_ns = time.perf_counter_ns() + PATIENCE_NS
    while time.perf_counter_ns() < ends_ns:
        link.poll()
        pair = link.latest_pair()
        if len(pair) == 2:
            return pair[0], pair[1]
        time.sleep(0.001)
    raise TwixtError("no two snapshots could be read within 20 s; measure again while no other program runs")


def _frames(window: Any, link: Link, loop: FrameLoop, ticks: set[int]) -> dict[str, Frame]:
    """For each kind of frame, a function that makes one frame of this kind. ticks: set to which each frame of the
    viewer adds its newest tick."""
    older, newer = (snapshot.bodies["position"] for snapshot in newest_two(link))
    lean = LeanSpheres(window.context, older, newer, shape_list(loop.stage.scene).table[0].radius)  # type: ignore[union-attr]
    size_px = window.framebuffer_size
    camera = loop.stage.view.orbit.matrices(size_px, size_px)  # type: ignore[union-attr]  # not None after a frame
    loop.over.make_panels(size_px, window.content_scale)
    while loop.over.make_some():
        pass
    count = 0

    def ours(overlay: bool) -> Frame:
        settings = replace(loop.input.settings, overlay=overlay)

        def frame() -> None:
            loop.input.settings = settings
            ticks.add(loop.frame().newest_tick)

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

    return {OURS: ours(False), OVERLAY: ours(True), LEAN: lean_frame, EMPTY: empty_frame}


def _fps(frame: Frame, count: int) -> float:
    """Frames per second over `count` frames, after a few frames that do not count."""
    ends_s = time.perf_counter() + BEFORE_S
    for _ in range(FRAMES_BEFORE):
        frame()
        if time.perf_counter() > ends_s:
            break
    return count / _seconds(frame, count)


def _seconds(frame: Frame, count: int) -> float:
    begin_ns = time.perf_counter_ns()
    for _ in range(count):
        frame()
    return (time.perf_counter_ns() - begin_ns) / 1e9
