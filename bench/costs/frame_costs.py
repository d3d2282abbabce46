"""Cost of wake-up, playback clock and log in a frame, and of a frame without a new snapshot.

Work in Python is compared with an empty call. A wait is compared with only the spin at its end, because no wait can
end on time if other programs interrupt the spin. The wait runs on a separate thread, because it asks the system for
finer timers on its thread.

Frames without a new snapshot are measured with many and with few bodies, in turns. If such a frame did any work for
each body, it would take up to a thousand times longer with many bodies.

Not here: drawing.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from bench.costs.cloud import CAMERA, radius_m, records
from bench.rows import Row, rounds_of, row, times_us
from twixt.cli.progress import Say
from twixt.ipc.config.flags import Config
from twixt.ipc.plan import Plan
from twixt.ipc.quantiles import distribution
from twixt.ipc.scene import Scene
from twixt.ipc.scene.shapes import Sphere
from twixt.ipc.snapshot import Head
from twixt.render.display.display import open_display
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.measure.frame_log import FrameLog
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.pacing.wait import HybridWait
from twixt.render.playback import PlaybackClock
from twixt.render.scene.stage import Stage

# Number of wake-ups, large enough that the 99th percentile is not the single worst one. Duration of each wait, ns,
# about as long as a frame waits.
WAKES, WAKE_NS = 400, 4_000_000
# Limits of the lateness of a wake-up, us. They apply only while a core is free.
WAKE_BARS = {"p50": "figure <= 5", "p99": "figure <= 50"}
# Number of rounds, and of calls per round. There are several calls per round, because one call takes only
# microseconds, and reading the clock a tenth of that.
CALL_ROUNDS, CALLS = 200, 20
# Interval of frames, and of snapshots for the playback clock: 60 Hz. Each snapshot arrives one frame ahead.
FRAME_NS = 16_666_667

# Numbers of bodies in a frame without a new snapshot, and limit of the ratio of the two frame times.
MANY, FEW = 100_000, 100
STILL_BAR = "ratio <= 1.1"
STILL_ROUNDS = 600
SLOTS, SNAPSHOTS, INTERVAL_NS = 16, 12, 100_000_000
# Frame interval of a display at 1000 Hz, so that a hundred frames are drawn between two snapshots.
STILL_FRAME_NS = 1_000_000

_ROW = FrameRow(mode="interpolated", clock_mode="ahead", pacer_reason="the display's own interval")


def frame_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of wake-up, playback clock and frame log. share: share of a whole run's rounds to measure."""
    say("waking")
    yield from _wakes(rounds_of(WAKES, share))
    rounds = rounds_of(CALL_ROUNDS, share)
    say("playback clock")
    yield _call("playback clock, a frame", _clock_frame(), rounds)
    say("frame log")
    log = FrameLog()
    yield _call("frame log, row kept", lambda: log.add(_ROW), rounds)
    with tempfile.TemporaryDirectory() as folder:
        file_log = FrameLog(os.path.join(folder, "log.csv"))

        def write_row() -> None:
            file_log.add(_ROW)
            file_log.write_some(1)

        yield _call("frame log, row written", write_row, rounds)
        file_log.close()


def _wakes(rounds: int) -> Iterator[Row]:
    """Rows of the lateness of three waits in turns: the pacer's wait, only the spin at its end, and only a sleep."""
    hybrid_us, spun_us, slept_us = [], [], []
    with ThreadPoolExecutor(1) as thread:
        wait = thread.submit(HybridWait).result()
        for _ in range(rounds):
            hybrid_us.append(thread.submit(_late_us, wait.until).result())
            spun_us.append(thread.submit(_spin_late_us, wait.margin.margin_ns).result())
            slept_us.append(_late_us(_sleep_until))
    hybrid, spun, slept = (distribution(late_us) for late_us in (hybrid_us, spun_us, slept_us))
    for name, bar in WAKE_BARS.items():
        note = f"time.sleep alone {slept[name]:.0f} us; the margin came to {wait.margin.margin_ns / 1e3:.0f} us"
        yield Row(f"wake late, {name}", "us", hybrid[name], "its spin alone", spun[name], rounds, note, bar=bar)


def _late_us(wait_until: Callable[[int], object]) -> float:
    end_ns = time.perf_counter_ns() + WAKE_NS
    wait_until(end_ns)
    return (time.perf_counter_ns() - end_ns) / 1e3


def _spin_late_us(margin_ns: int) -> float:
    """Lateness (us) of a spin of this length after a sleep, without the lateness of the sleep itself."""
    time.sleep((WAKE_NS - margin_ns) / 1e9)
    end_ns = time.perf_counter_ns() + margin_ns
    while time.perf_counter_ns() < end_ns:
        pass
    return (time.perf_counter_ns() - end_ns) / 1e3


def _sleep_until(end_ns: int) -> None:
    time.sleep(max(0, end_ns - time.perf_counter_ns()) / 1e9)


def _call(name: str, work: Callable[[], object], rounds: int) -> Row:
    times, nothing = times_us(rounds, work, lambda: None, calls=CALLS)
    return row(name, "us", times, "an empty call", nothing)


def _clock_frame() -> Callable[[], object]:
    clock = PlaybackClock()
    clock.observe(0, 0, 0)
    clock.replan(Plan(1, 0, 0, 0, 1.0))
    frame = 0

    def one_frame() -> None:
        nonlocal frame
        frame += 1
        now_ns = frame * FRAME_NS
        clock.observe(now_ns + FRAME_NS, now_ns + FRAME_NS, now_ns, 0, 1)
        clock.draw_time_ns(now_ns)

    return one_frame


def still_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Row of a frame with many bodies, compared with a frame with few bodies."""
    from bench.lean.lean_draws import nothing_drawn

    say("frames without a new snapshot")
    window = open_display(Config(pacing="unlimited"))
    try:
        with nothing_drawn():
            many, few = (_still_frame(window, count) for count in (MANY, FEW))
            many(), few()
            times, least = times_us(rounds_of(STILL_ROUNDS, share), many, few)
        yield row(f"still frame, {MANY:,} bodies", "us", times, f"{FEW} bodies", least, STILL_BAR)
    finally:
        window.close()


def _still_frame(window: object, count: int) -> Callable[[], None]:
    """Makes a stage with `count` bodies. Returns a function that draws its next frame."""
    bodies = records(count, 0)
    scene = Scene([Sphere(radius_m(count))], ground=None, camera=CAMERA)
    renderer = SceneRenderer(window.context, scene, SLOTS)  # type: ignore[attr-defined]
    stage = Stage(Config(), renderer, scene, lambda: bodies)
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
        present_ns += STILL_FRAME_NS
        window.screen.use()  # type: ignore[attr-defined]
        stage.draw(present_ns, window.framebuffer_size)  # type: ignore[attr-defined]

    return frame
