"""Frames per second of the viewer's frame loop, compared with minimal drawing on the same window.

The viewer's own frame loop runs in this process without pacing; a physics process publishes 30 times a second. The
frame loop takes turns with two other loops. One draws a blend of two fixed snapshots of the same world with
`LeanSpheres`, and swaps. The other only clears and swaps. Each turn has several frames, as in real use.

Always: the first frames of each turn do not count, because they read the snapshots that were published during the
other turns. No garbage is collected during a turn. The limits (`BARS`) are for software OpenGL on one processor.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from bench.child_process import command, process
from bench.lean.lean_draws import LeanSpheres
from bench.rows import Row, rounds_of, row, turns, uncollected
from twixt.cli.progress import Say
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.session import running
from twixt.ipc.session.link import Link, attach
from twixt.ipc.snapshot import Snapshot
from twixt.render.display.display import open_display
from twixt.render.pacing.pacer import Pacer
from twixt.render.viewer.loop import FrameLoop

WORLD, PUBLISH_HZ = "swarm", 30
COUNTS = (1_000, 10_000, 100_000, 1_000_000)
BARS = {1_000: 0.80, 10_000: 0.95, 100_000: 1.0, 1_000_000: 0.85}
# Row with the overlay. The overlay's cost does not depend on the number of bodies, so its share is largest for the
# smallest number.
OVERLAY_COUNT, OVERLAY_BAR = 1_000, 0.45
# Number of turns of each kind. A turn has as many frames as lean drawing makes in STRETCH_S, but at least
# FEWEST_FRAMES. After BUDGET_S no new round of turns begins for the same number of bodies.
ROUNDS, STRETCH_S, FEWEST_FRAMES, BUDGET_S = 12, 0.25, 3, 14.0
# First frames of a turn, which do not count: FRAMES_BEFORE frames, or fewer if these take longer than BEFORE_S. They
# read the snapshots published during the other turns.
FRAMES_BEFORE, BEFORE_S = 5, 0.1
# Number of frames before the first turn, in which programs are compiled and the playback clock settles; longest time
# for these frames.
FRAMES_AT_FIRST, PATIENCE_NS = 40, 20_000_000_000
OURS, OVERLAY, LEAN, EMPTY = "ours", "with overlay", "lean draw", "clear + swap"

Frame = Callable[[], object]


class Stretches(NamedTuple):
    """Frames per second of each kind of frame, one value per turn."""

    fps: dict[str, list[float]]
    uploads: int  # number of frames that had a newer snapshot


def live_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of frames per second compared with lean drawing, for each number of bodies, and one with the overlay.
    share: share of a whole run to measure."""
    is_whole = share >= 1
    config = Config(pacing="unlimited")  # the overlay is available, but is not drawn without a panel
    window = open_display(config)
    try:
        for count in COUNTS if is_whole else COUNTS[:1]:
            say(f"{count:,} spheres, as a viewer draws them")
            with _simulation(WORLD, "--set", f"count={count}", "--publish-hz", str(PUBLISH_HZ)) as link:
                kinds = (OURS, LEAN, EMPTY, *([OVERLAY] if count == OVERLAY_COUNT else []))
                found = measure(config, window, link, kinds, rounds_of(ROUNDS, share), STRETCH_S * min(1.0, 4 * share))
            yield from _rows(count, found)
    finally:
        window.close()


def fps_name(shape: str, count: int) -> str:
    """Name of a row of frames per second, in the form that `fps_of` parses."""
    return f"{shape} fps, {count:,} bodies"


def fps_of(name: str) -> tuple[str, int] | None:
    """Shape and number of bodies in the name of a row of frames per second; None for other rows."""
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
    """Frames per second of each of `kinds`, in `rounds` turns of about `stretch_s` seconds each."""
    with _frame_loop(config, window, link) as loop:
        ticks: set[int] = set()
        frames = _frames(window, link, loop, ticks)
        lean_s = _seconds(frames[LEAN], FEWEST_FRAMES) / FEWEST_FRAMES
        length = max(FEWEST_FRAMES, round(stretch_s / lean_s))
        fps: dict[str, list[float]] = {kind: [] for kind in kinds}
        with uncollected():
            for _ in turns(rounds, BUDGET_S):
                for kind in kinds:
                    _settle(frames[kind])
                    fps[kind].append(length / _seconds(frames[kind], length))
        return Stretches(fps, len(ticks))


@contextmanager
def _simulation(*arguments: str) -> Iterator[Link]:
    """Runs `twixt sim ARGUMENTS...` in another process. Yields a link to it."""
    name = f"bench-{os.getpid()}"
    with process(command("sim", *arguments, "--name", name)) as physics:
        physics.until(lambda: name in running(), "it took its name")
        link = attach(name)
        try:
            yield link
        finally:
            link.close()


@contextmanager
def _frame_loop(config: Config, window: Any, link: Link) -> Iterator[FrameLoop]:
    """Makes a frame loop and draws its first frames."""
    loop = FrameLoop(config, window, link, Pacer("unlimited"))
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


def newest_two(link: Link) -> tuple[Snapshot, Snapshot]:
    """Returns the two newest snapshots, older first. Retries for 20 s if none can be read; then raises TwixtError."""
    ends_ns = time.perf_counter_ns() + PATIENCE_NS
    while time.perf_counter_ns() < ends_ns:
        link.poll()
        pair = link.latest_pair()
        if len(pair) == 2:
            return pair[0], pair[1]
        time.sleep(0.001)
    raise TwixtError("no two snapshots could be read within 20 s; measure again while no other program runs")


def _frames(window: Any, link: Link, loop: FrameLoop, ticks: set[int]) -> dict[str, Frame]:
    """Kind -> function that makes one frame of this kind. ticks: each frame of the viewer adds its newest tick."""
    older, newer = (snapshot.bodies["position"] for snapshot in newest_two(link))
    lean = LeanSpheres(window.context, older, newer, loop.stage.scene.distinct_shapes[0].radius)  # type: ignore[union-attr]
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
