"""Measures whole runs of twixt as a user starts them, from outside. It measures the start, a million bodies, and even
frames.

Start: twixt needs two processes, one with numpy and one with a window. So its time to the first picture is compared
with two bare processes that start at the same time. One of them imports numpy, and the other swaps a window one time.
All instants are read from the same clock. A start before the first round makes sure that all files are cached and
compiled.

A million bodies: the memory is compared with the smallest possible memory. This is the memory of the channel's slots,
of the viewer's ring on the GPU, and of one world. The kernel measures the memory of both processes, and counts shared
pages once.

Even frames: frames cannot be more even than the display. So a run with overlay and log takes turns with a bare loop
that only clears and swaps. The 99th percentiles of their frame intervals are compared. If swap does not wait for the
display, there is no interval to compare with. Then the row tells this and has no figure.
"""

from __future__ import annotations

import csv
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

from bench.lean import lean_window
from bench.processes import Process, process
from bench.rows import Row, in_turns, not_measured, row
from twixt.cli.progress import Say
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring.layout import Layout
from twixt.ipc.snapshot import BODY
from twixt.render.display import glfw_library
from twixt.render.draw.frame.snapshot_ring import gpu_slots
from twixt.sim.process.viewer_command import python_program, twixt_command

# START_WORLD is the world that is started. START_TARGET is the limit of the time to its first picture, in seconds.
# START_ROUNDS is the number of rounds. Each round takes about two seconds.
START_WORLD, START_TARGET, START_ROUNDS = "balls", "figure <= 0.5", 7
# Duration, in seconds, of a run whose start is measured. The run ends soon after its first picture.
START_SECONDS = 0.05
NUMPY = "import numpy, time; print(time.perf_counter_ns())"
BARE = "two bare processes"
REPORT = "report.json"

SWARM, MILLION, FEWER, PUBLISH_HZ = "swarm", 1_000_000, 20_000, 30
MILLION_SECONDS, MILLION_QUICK_SECONDS, MILLION_STARTS = 8.0, 0.5, 3
# Interval between two readings of the memory, in seconds. It is long, because the kernel needs milliseconds for each
# reading.
MEMORY_INTERVAL_S = 0.2
# MEMORY_TARGET is the limit of the memory above the smallest possible memory, in MB. FIRST_TARGET is the limit of the time
# to the first picture of a million bodies, in seconds.
MEMORY_TARGET, FIRST_TARGET = "over <= 500", "figure <= 2"
KIB, MB = 1024, 1e6

# VSYNC_COUNTS, VSYNC_TARGET and VSYNC_ROUNDS are numbers of bodies, required ratio and number of rounds of the runs for
# even frames. VSYNC_SECONDS is the length of these runs. They are so long that the 99th percentile at 60 Hz is not one
# of the three worst frames.
VSYNC_COUNTS, VSYNC_TARGET, VSYNC_ROUNDS = (1_000, 10_000), "ratio <= 1.1", 3
VSYNC_SECONDS, VSYNC_QUICK_SECONDS = 6.0, 0.2
BARE_LOOP = "a bare loop"


class WholeRun(NamedTuple):
    """A run that has ended. seconds: time from the command to its first picture. report: report of `twixt measure`, or
    empty."""

    seconds: float
    report: dict[str, Any]


def start_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Row of the time from the command to the first picture. Raises TwixtError."""
    if share >= 1:
        say("a first start, which does not count")
        _start(START_WORLD), _bare_start()
    ours, bare = _starts(START_WORLD, (), START_ROUNDS if share >= 1 else 1, say)
    usual = sorted(ours)[len(ours) // 2]  # the run with the median time
    parts = usual.report["latency"].get("first_frame_parts_ms") or {}
    text = ", ".join(f"{name.replace('_', ' ')} {ms:.0f}" for name, ms in parts.items() if ms is not None)
    yield _start_row("first picture", ours, bare, START_TARGET, f"times of the parts in ms: {text}" if text else "")


def million_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of failed reads, of memory and of the first picture, with a million bodies. share: share of a whole run's
    rounds. If it is below 1, there are fewer bodies. Raises TwixtError."""
    count, seconds = (MILLION, MILLION_SECONDS) if share >= 1 else (FEWER, MILLION_QUICK_SECONDS)
    flags = ("--set", f"count={count}", "--publish-hz", str(PUBLISH_HZ), "--no-overlay", "--pacing", "unlimited")
    say(f"{count:,} bodies, {seconds:g} s")
    yield from _watched(count, seconds, flags)
    ours, bare = _starts(SWARM, flags, MILLION_STARTS if share >= 1 else 1, say)
    yield _start_row(f"first picture of {count:,} bodies", ours, bare, FIRST_TARGET)


def vsync_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of the 99th percentile of the frame interval, for several numbers of bodies. share: share of a whole run's
    rounds. If it is below 1, there is one short round."""
    rounds, seconds = (VSYNC_ROUNDS, VSYNC_SECONDS) if share >= 1 else (1, VSYNC_QUICK_SECONDS)
    for count in VSYNC_COUNTS if share >= 1 else VSYNC_COUNTS[:1]:
        name = f"frame interval p99, {count:,} bodies"
        works: dict[str, Callable[[], float]] = {
            "twixt": partial(_p99_ms, count, seconds), BARE_LOOP: partial(_bare_p99_ms, seconds)
        }  # fmt: skip
        try:
            ours, bare = in_turns(works, rounds, say=say).values()
        except TwixtError as error:
            yield not_measured(name, BARE_LOOP, str(error))
            return
        yield row(name, "ms", ours, BARE_LOOP, bare, VSYNC_TARGET)


def _starts(world: str, flags: tuple[str, ...], rounds: int, say: Say) -> Iterable[list[WholeRun]]:
    works: dict[str, Callable[[], WholeRun]] = {"twixt": partial(_start, world, *flags), BARE: _bare_start}
    return in_turns(works, rounds, say=say).values()


def _start_row(name: str, ours: list[WholeRun], bare: list[WholeRun], target: str, note: str = "") -> Row:
    seconds, least = ([start.seconds for start in starts] for starts in (ours, bare))
    return row(name, "s", seconds, BARE, least, target, note)


def _start(world: str, *flags: str) -> WholeRun:
    """Runs twixt with this world until it has shown a snapshot. Raises TwixtError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.csv")
        with _run(folder, world, START_SECONDS, "--log", log, *flags) as run:
            run.wait()
        with open(log, newline="", encoding="utf-8") as file:
            shown = (int(row["present_ns"]) for row in csv.DictReader(file) if row["mode"] != "none")
            if (shown_ns := next(shown, None)) is None:
                raise TwixtError("the run showed no snapshot")
        return WholeRun((shown_ns - run.begin_ns) / 1e9, _report(folder))


def _bare_start() -> WholeRun:
    """Runs two processes that start at once. One swaps a bare window, and the other imports numpy. The end of the
    later process counts."""
    environ = dict(os.environ)
    glfw_library.choose(environ)  # so that the bare window, like twixt's window, need not search for its library
    with (
        process([python_program(), "-P", "-c", NUMPY]) as numpy,
        process([python_program(), "-P", lean_window.__file__], environ) as window,
    ):
        for each in (window, numpy):
            each.wait()
        return WholeRun((max(int(window.out), int(numpy.out)) - min(window.begin_ns, numpy.begin_ns)) / 1e9, {})


def _p99_ms(count: int, seconds: float) -> float:
    """99th percentile of the frame interval, in ms, with the default pacing, the overlay and a log. Raises TwixtError
    if swap does not wait for the display."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.csv")
        with _run(folder, SWARM, seconds, "--set", f"count={count}", "--log", log) as run:
            run.wait()
        report = _report(folder)
    if not report["display"]["swap_blocks"]:
        raise TwixtError(f"no display that waits for vsync ({report['conditions'][0]})")
    return float(report["frames"]["interval_ms"]["p99"])


def _bare_p99_ms(seconds: float) -> float:
    variant = {"PYGLFW_LIBRARY_VARIANT": "wayland"} if "WAYLAND_DISPLAY" in os.environ else {}
    command = [python_program(), "-P", lean_window.__file__, str(seconds)]
    with process(command, {**os.environ, **variant}) as bare:
        bare.wait()
        return float(json.loads(bare.out)["p99"])


def _run(folder: str, world: str, seconds: float, *flags: str) -> AbstractContextManager[Process]:
    """Starts `twixt measure`, which writes its report into `folder`."""
    report = os.path.join(folder, REPORT)
    return process(twixt_command("measure", world, "--seconds", f"{seconds:g}", "--json", report, *flags))


def _report(folder: str) -> dict[str, Any]:
    with open(os.path.join(folder, REPORT), encoding="utf-8") as file:
        return json.load(file)


def _watched(count: int, seconds: float, flags: tuple[str, ...]) -> Iterator[Row]:
    held = 0
    with tempfile.TemporaryDirectory() as folder:
        with _run(folder, SWARM, seconds, *flags) as run:
            while run.is_alive:
                held = max(held, _held(run.pid))
                time.sleep(MEMORY_INTERVAL_S)
            run.wait()
        report = _report(folder)
    channel, frames = report["channel"], report["frames"]
    read, failed = report["physics"]["published"] - channel["skipped"], channel["retries"] + channel["pairs_failed"]
    text = (
        f"{channel['skipped']} snapshots were skipped because newer snapshots replaced them; "
        f"{frames['mean_fps']:.1f} fps; physics ran at {report['physics']['rate']['p50']:.2f} times real time"
    )
    yield Row(f"failed reads, {count:,} bodies", "reads", failed, "snapshots read", read, 1, text, target="figure <= 0")
    snapshot = count * BODY.itemsize
    slots, ring = Layout.for_bodies(count).slots, gpu_slots(snapshot)
    least = (slots + ring + 1) * snapshot
    yield Row(
        f"memory of physics and viewer, {count:,} bodies", "MB", held / MB if held else None,
        f"({slots} slots + {ring} on the GPU + 1) x {snapshot / MB:.0f} MB", least / MB, 1,
        "" if held else "this system does not report the memory of processes", target=MEMORY_TARGET,
    )  # fmt: skip


def _held(pid: int) -> int:
    """Memory of the process and its children, in bytes. Shared pages are counted once (Linux, proc(5): Pss). It is 0
    if the system does not report it, or if the process has just ended."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            pids = [pid, *map(int, file.read().split())]
        return sum(map(_pss_bytes, pids))
    except (OSError, StopIteration):
        return 0


def _pss_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) * KIB
