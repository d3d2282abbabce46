"""Counts the objects that a frame leaves allocated. Their number is the same on every machine.

Python reuses the memory of short-lived objects, so short-lived objects do not matter. Objects make frames uneven if
they accumulate, or if only the garbage collector frees them. So this benchmark counts the objects that are made in a
frame and are alive at its end, such as the frame's row in the log and the last value of each figure. It also measures
growth, the number of additional memory blocks after many frames.

Always: the real frame loop runs with overlay and frame log, and reads snapshots from a real channel. No figure is a
time.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from statistics import median
from typing import NamedTuple

import numpy as np

from bench.costs.channel import Channel
from bench.costs.live import running_loop
from bench.rows import Row, uncollected
from bench.screens import opened_window
from twixt.cli.progress import Say
from twixt.ipc.config.flags import Config
from twixt.ipc.plan import Plan
from twixt.ipc.session.link import Link, attach
from twixt.ipc.snapshot import Head
from twixt.render.measure.frame_log import FrameLog
from twixt.render.viewer.loop import FrameLoop

# Number of frames that fill all histories of a viewer. The longest history is that of the playback clock, with 1024
# snapshots.
FRAMES_AT_FIRST = 1100
# COUNTED_FRAMES is the number of frames whose objects are counted. GROWTH_FRAMES is the number of frames over which
# growth is measured. It is a multiple of 256, because the playback clock drops old snapshots every 256 frames.
COUNTED_FRAMES, GROWTH_FRAMES = 60, 2 * 256
# Largest number of objects that a frame may leave. A frame leaves its row, its plan, its times, its readings and the
# pacer's record, until the next frame replaces them.
TARGET = 100
BODIES, DT_NS, LEAD_NS = 300, 16_666_667, 50_000_000
SIZE_PX = (320, 240)  # small, to save time; drawing makes no objects


class Allocation(NamedTuple):
    """Objects that frames leave.

    objects: number of objects that a frame without a new snapshot makes and that are alive at its end. It is the
    median over frames. objects_with_snapshot: number of such objects in a frame with a new snapshot. growth: number of
    additional memory blocks per frame, as the mean over many frames. garbage: number of objects per frame in reference
    cycles, which only the garbage collector frees. where: for each source line that makes most objects, their number
    per frame.
    """

    objects: float
    objects_with_snapshot: float
    growth: float
    garbage: float
    where: dict[str, float]


def allocation_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    say("objects that frames leave behind")
    with frames() as made:
        found = measured(made)
    note = f"counted after the first {FRAMES_AT_FIRST} frames"
    name = "Python objects that a frame makes and that exist at its end"
    yield Row(name, "", found.objects, "the target of objects", TARGET, COUNTED_FRAMES, note)
    yield Row(f"{name}, with a snapshot", "", found.objects_with_snapshot, "", None, COUNTED_FRAMES, note)
    yield Row("Python memory blocks that each frame adds", "", found.growth, "", None, GROWTH_FRAMES, note)
    yield Row("Python objects in reference cycles, for each frame", "", found.garbage, "", None, GROWTH_FRAMES, note)


class Frames(NamedTuple):
    """Functions that make one frame each."""

    with_news: Callable[[], object]  # function that publishes a snapshot before it makes the frame
    without_news: Callable[[], object]


@contextmanager
def frames(overlay: bool = True, interpolation: str = "auto") -> Iterator[Frames]:
    """Draws `FRAMES_AT_FIRST` frames, then yields functions that draw one frame each. The frames are drawn offscreen,
    without pacing, and with a log."""
    config = Config(size_px=SIZE_PX, offscreen=True, pacing="unlimited", overlay=overlay, interpolation=interpolation)

    def settle(loop: FrameLoop) -> None:
        publish()
        loop.frame()
        loop.is_starting = False
        if overlay:
            loop.over.make_panels(window.framebuffer_size, window.content_scale)
        for _ in range(FRAMES_AT_FIRST):
            publish()
            loop.frame()
            log.write_some()

    with (
        opened_window(config) as window,
        tempfile.TemporaryDirectory() as folder,
        _physics() as (publish, link),
        closing(FrameLog(os.path.join(folder, "frames.csv"))) as log,
        running_loop(config, window, link, settle, log) as loop,
    ):

        def without_news() -> None:
            loop.frame()
            log.write_some()

        def with_news() -> None:
            publish()
            without_news()

        yield Frames(with_news, without_news)


@contextmanager
def _physics() -> Iterator[tuple[Callable[[], object], Link]]:
    """Starts a host in this process. Yields a function that publishes the next snapshot, and a link to the host."""
    ticks, began_ns = count(), time.perf_counter_ns()
    with Channel(BODIES, radius=0.1) as channel:
        bodies = channel.bodies
        bodies["position"] = np.random.default_rng(0).uniform(-1, 1, (BODIES, 3))
        channel.host.ring.write_plan(Plan(1, 0, began_ns, 0, 1.0))

        def publish() -> None:
            tick = next(ticks)
            now_ns = time.perf_counter_ns()
            # The bodies move up, then down, so that they stay in view.
            bodies["position"][:, 2] += 0.001 if tick % 512 < 256 else -0.001
            with channel.host.ring.begin(BODIES) as slot:
                slot.write(bodies)
                slot.head = Head(tick, now_ns - began_ns + LEAD_NS, now_ns + LEAD_NS, dt_ns=DT_NS, count=BODIES)

        publish()
        with closing(attach(channel.host.name)) as link:
            yield publish, link


def measured(made: Frames, growth_frames: int = GROWTH_FRAMES) -> Allocation:
    """Counts the objects that the frames of `made` leave. Automatic garbage collection is off during the count.

    Python holds up to a few thousand freed tuples and similar objects for reuse. A garbage collection frees their
    memory, so a collection is made before each count.
    """
    with uncollected():
        blocks = sys.getallocatedblocks()
        for _ in range(growth_frames):
            made.with_news()
        garbage = gc.collect() / growth_frames
        growth = (sys.getallocatedblocks() - blocks) / growth_frames
        with_snapshot, _ = _one_by_one(made.with_news)
        counts, places = _one_by_one(made.without_news)
    where = {place: count / COUNTED_FRAMES for place, count in places.most_common(20)}
    return Allocation(median(counts), median(with_snapshot), growth, garbage, where)


def _one_by_one(frame: Callable[[], object]) -> tuple[list[int], Counter[str]]:
    counts: list[int] = []
    places: Counter[str] = Counter()
    tracemalloc.start()
    try:
        for _ in range(COUNTED_FRAMES):
            tracemalloc.clear_traces()
            frame()
            gc.collect()
            traces = tracemalloc.take_snapshot().traces
            counts.append(len(traces))
            places.update(f"{trace.traceback[0].filename}:{trace.traceback[0].lineno}" for trace in traces)
    finally:
        tracemalloc.stop()
    return counts, places
