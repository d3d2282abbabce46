"""What a frame costs the processor when no snapshot is new, drawing itself left out: the same for few and for many.

One idea: whatever is done once a body would show as the ratio of a thousand between the two counts that take turns here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from twixt.ipc.bench import Row, Say, rounds_of
from twixt.ipc.config import Config
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Scene
from twixt.ipc.shapes import Sphere
from twixt.ipc.snapshot import Head
from twixt.render.bench.cloud import CAMERA, radius_m, records
from twixt.render.bench.turns import row, taken_us
from twixt.render.display.opening import open_display
from twixt.render.picture.stage import Stage

MANY, FEW = 100_000, 100
BAR = "ratio <= 1.1"
ROUNDS = 600
SLOTS, SNAPSHOTS, INTERVAL_NS = 16, 12, 100_000_000
# A display at 1000 Hz: hundreds of frames between the snapshots that are there.
FRAME_NS = 1_000_000


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """One row: many bodies beside few. share: of a whole run's rounds. say: told what is measured next."""
    from twixt.render.bench.lean_gl import nothing_drawn

    say("frames without a new snapshot")
    window = open_display(Config(pacing="unlimited"))
    try:
        with nothing_drawn():
            many, few = (_frame(window, count) for count in (MANY, FEW))
            many(), few()
            taken, least = taken_us(rounds_of(ROUNDS, share), many, few)
        yield row(f"still frame, {MANY:,} bodies", "us", taken, f"{FEW} bodies", least, BAR)
    finally:
        window.close()


def _frame(window: object, count: int) -> Callable[[], None]:
    """Draws the next frame of a stage on which so many bodies are."""
    bodies = records(count, 0)
    scene = Scene([Sphere(radius_m(count))], ground=None, camera=CAMERA)
    stage = Stage(Config(), window.context, scene, SLOTS, lambda: bodies)  # type: ignore[attr-defined]  # see render.display
    begin_ns = time.perf_counter_ns()
    stage.replan(Plan(1, 0, begin_ns, 0, 1.0))
    for tick in range(SNAPSHOTS):
        due_ns = begin_ns + tick * INTERVAL_NS
        head = Head(tick, tick * INTERVAL_NS, due_ns, due_ns - 2 * INTERVAL_NS, count=count)
        slot = stage.history.slot_for(head)
        assert slot is not None
        stage.renderer.upload_records(slot, bodies)
        stage.history.commit(slot, head)
        stage.observe(head)
    present_ns = begin_ns + 3 * INTERVAL_NS

    def frame() -> None:
        nonlocal present_ns
        present_ns += FRAME_NS
        window.screen.use()  # type: ignore[attr-defined]
        stage.draw(present_ns, window.framebuffer_size)  # type: ignore[attr-defined]

    return frame
