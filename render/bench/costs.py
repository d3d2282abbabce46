"""What a frame costs beside its drawing: waking, clock, log.

One idea: of what a frame does in Python the limit is Python's own: a call that does nothing. Waking is held
against the spin in its end alone: where whoever else runs here stops that, nobody wakes on time. It is on a thread of
its own, as the wait asks the system for sharper timers on its thread.

Does not measure drawing.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from twixt.ipc.bench import Row, Say, rounds_of
from twixt.ipc.figures import distribution
from twixt.ipc.plan import Plan
from twixt.render.bench.turns import row, taken_us
from twixt.render.measure.frames import FrameRow
from twixt.render.measure.log import FrameLog
from twixt.render.pacing.wait import HybridWait
from twixt.render.playback import PlaybackClock

# A wake is measured so often that the 99th percentile is not the single worst; each after a rest like a frame's.
WAKES, WAKE_NS = 400, 4_000_000
# What is wanted of waking, where a core is free (us).
WAKE_BARS = {"p50": "figure <= 5", "p99": "figure <= 50"}
# Rounds, and calls in a round: one call takes microseconds, and reading the clock a tenth of that.
CALL_ROUNDS, CALLS = 200, 20
# The traffic that the clock is measured with: a display and a simulation at 60 Hz, one frame ahead.
FRAME_NS = 16_666_667


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """The rows of the viewer's side. share: of a whole run's rounds. say: told what is measured next."""
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
    """How late waits end, in turns: the pacer's, the spin in its end alone, and sleeping alone."""
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
    """How late a spin of that length ends after a rest, wherever the rest ended."""
    time.sleep((WAKE_NS - margin_ns) / 1e9)
    end_ns = time.perf_counter_ns() + margin_ns
    while time.perf_counter_ns() < end_ns:
        pass
    return (time.perf_counter_ns() - end_ns) / 1e3


def _sleep_until(end_ns: int) -> None:
    time.sleep(max(0, end_ns - time.perf_counter_ns()) / 1e9)


def _call(name: str, work: Callable[[], object], rounds: int) -> Row:
    taken, nothing = taken_us(rounds, work, lambda: None, calls=CALLS)
    return row(name, "us", taken, "an empty call", nothing)


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


_ROW = FrameRow(mode="interpolated", clock_mode="ahead", pacer_reason="the display's own interval")
