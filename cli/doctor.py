"""`twixt doctor` checks whether this machine can show a smooth picture, and prints a verdict for each check.

Each check is a function of its inputs and returns a `Verdict`, so that tests can pass the figures of any machine. All
checks together take about four seconds. For about two of these seconds a window is open.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from twixt.cli.cpu_time import usable_cores
from twixt.cli.presents import BAD, GOOD, USABLE, Verdict
from twixt.ipc.errors import TwixtError
from twixt.ipc.quantiles import distribution
from twixt.render.measure.evenness import fit_grid
from twixt.render.measure.report import standard_output
from twixt.sim.process.viewer_command import python_program

if TYPE_CHECKING:
    from twixt.render.pacing.refresh import Refresh

# SLEEPS: number of waits of each kind. SLEEP_NS: length of one wait, in ns.
SLEEPS = 100
SLEEP_NS = 4_000_000
# Lateness of a wake-up, in us, above which a frame is visibly uneven at 60 Hz.
LATE_WAKE_US = 1000.0
# Largest accepted relative error of the reported refresh rate. With a larger error, the display would miss a frame
# every few seconds.
REFRESH_TOLERANCE = 0.005
COPIED_BYTES = 16 << 20
LONGEST_CHILD_S = 20.0
SWAP_TIMES_NEEDED = 20
# Scheduling policies for real time (sched(7)); they differ from the default policy.
REAL_TIME = ("SCHED_FIFO", "SCHED_RR")
POLICIES = ("SCHED_BATCH", "SCHED_IDLE", *REAL_TIME)


def examine() -> int:
    """Prints each verdict as soon as its check has ended. Returns the exit code: 1 if a verdict is bad, else 0."""
    from rich.text import Text

    console = standard_output()
    colours = {GOOD: "green", USABLE: "yellow", BAD: "red"}
    bad = False
    for verdict in verdicts():
        bad |= verdict.grade == BAD
        console.print(
            Text.assemble(f"{verdict.point:14}", (f"{verdict.grade:8}", colours[verdict.grade]), verdict.says),
            soft_wrap=True,
        )
    return int(bad)


def verdicts() -> Iterator[Verdict]:
    """Verdicts of all checks, in order. Later checks use results of earlier checks."""
    window, display = _open_window()
    yield display
    if window is not None:
        try:
            yield graphics(window.renderer, str(window.context.info["GL_VERSION"]))
            if window.backend != "offscreen":
                yield from _swaps(window)
        except TwixtError as error:
            yield Verdict("vsync", BAD, str(error))
        finally:
            window.close()
    yield clock(_child_clock)
    yield sleeping(*_oversleeps_us())
    nice = os.getpriority(os.PRIO_PROCESS, 0) if hasattr(os, "getpriority") else 0
    yield priority(nice, _slice_ns(), _cores_to_choose(), _policy())
    yield shared_memory()


def graphics(renderer: str, version: str) -> Verdict:
    """Checks the renderer. A GPU is good; software rendering is usable."""
    from twixt.render.draw.frame.context import is_software

    if is_software(renderer):
        return Verdict(
            "OpenGL", USABLE, f"{version}, {renderer}: software rendering, at most about 10,000 bodies at 60 fps"
        )
    return Verdict("OpenGL", GOOD, f"{version}, {renderer}")


def vsync(found: Refresh) -> Verdict:
    """Checks vsync. The verdict is good if the swap waits for the display, and usable if a timer must pace the
    frames."""
    if found.blocks:
        return Verdict("vsync", GOOD, f"swap waits for the display ({found.reason})")
    return Verdict("vsync", USABLE, f"swap does not wait for the display; a timer paces the frames ({found.reason})")


def refresh(reported_hz: float | None, presents_ns: list[int], found: Refresh) -> Verdict:
    """Checks that the measured refresh rate agrees with the reported rate."""
    reported = f"{reported_hz:g} Hz reported" if reported_hz else "no rate reported"
    if not found.blocks or found.period_ns is None or len(presents_ns) < SWAP_TIMES_NEEDED:
        why = "because swap does not wait for the display"
        return Verdict("refresh", USABLE, f"the refresh rate is unknown, {why}; {reported}")
    period_ns = fit_grid(np.array(presents_ns, np.int64), found.period_ns).period_ns or found.period_ns
    measured_hz = 1e9 / period_ns
    if not reported_hz or abs(measured_hz / reported_hz - 1) > REFRESH_TOLERANCE:
        return Verdict("refresh", USABLE, f"{measured_hz:.2f} Hz measured, {reported}; frames follow the measured rate")
    return Verdict("refresh", GOOD, f"{measured_hz:.2f} Hz measured, {reported}")


def clock(child_clock_ns: Callable[[], int]) -> Verdict:
    """Checks that two processes read the same clock. With different clocks, the instants in a snapshot would be wrong
    for viewers.

    child_clock_ns: function that reads the clock in another process and returns the instant in ns.
    """
    info = time.get_clock_info("perf_counter")
    before_ns = time.perf_counter_ns()
    child_ns = child_clock_ns()
    after_ns = time.perf_counter_ns()
    if not before_ns <= child_ns <= after_ns:
        off_ms = (child_ns - before_ns) / 1e6
        return Verdict(
            "clock",
            BAD,
            f"the clock differs by {off_ms:.1f} ms in another process, so snapshots would be drawn at wrong instants",
        )
    return Verdict(
        "clock",
        GOOD,
        f"{info.implementation.split('(')[0]}, resolution {info.resolution * 1e9:.0f} ns, equal in another process",
    )


def sleeping(plain_us: list[float], hybrid_us: list[float]) -> Verdict:
    """Checks how late waits end. plain_us: lateness in us of each wait that only sleeps. hybrid_us: lateness in us of
    each wait that sleeps and then spins. The frame pacer waits in this second way."""
    plain, hybrid = distribution(plain_us), distribution(hybrid_us)
    says = (
        f"a sleep ends {plain['p50']:.0f} us late (p99 {plain['p99']:.0f} us); "
        f"a sleep with a spin ends {hybrid['p50']:.1f} us late (p99 {hybrid['p99']:.1f} us); {_cores()}"
    )
    late = (hybrid["p99"] or 0.0) > LATE_WAKE_US
    return Verdict(
        "sleep", USABLE if late else GOOD, says + ("; for even motion, end programs that use the cores" if late else "")
    )


def priority(nice: int, slice_ns: int | None, cores: int = 0, policy: str = "") -> Verdict:
    """Checks the viewer's priority. The priority matters when other programs use the cores as well.

    slice_ns: time slice that the system granted, in ns; None if it granted none. cores: number of cores from which the
    viewer may choose. The number is 0 if the system has no affinity masks, refuses to set them, or does not report
    which threads wait. policy: name of the scheduling policy; empty for the default policy.
    """
    sooner = (
        f"the viewer runs soon after it wakes (time slice {slice_ns / 1e6:.1f} ms)"
        if slice_ns
        else "on busy cores the viewer waits for other programs' time slices (Linux 6.12 and later avoids this)"
    )
    if cores > 1:
        sooner += "; it avoids the core of a loop that never sleeps"
    elif cores == 1:
        sooner += "; it shares its only core with a loop that never sleeps"
    if policy:
        effect = "runs before all normal programs" if policy in REAL_TIME else "gets little CPU time on busy cores"
        return Verdict("priority", USABLE, f"with {policy}, the viewer {effect}; start twixt without chrt")
    if nice > 0:
        effect = "the viewer gets little CPU time on busy cores; start twixt without nice"
        return Verdict("priority", USABLE, f"nice {nice}: {effect}; {sooner}")
    return Verdict("priority", GOOD if slice_ns else USABLE, f"nice {nice}; {sooner}")


def shared_memory() -> Verdict:
    """Checks that shared memory can be made, and that a reader can read this memory but not write it. Also measures
    the speed of a copy into shared memory."""
    from twixt.ipc.ring import memory

    try:
        made = memory.create(COPIED_BYTES)
        try:
            payload = np.full(COPIED_BYTES, 7, np.uint8)
            target = np.frombuffer(made.view, np.uint8)
            seconds = []
            for _ in range(5):
                start = time.perf_counter()
                target[:] = payload
                seconds.append(time.perf_counter() - start)
            reader = memory.map_read_only(made.read_only_fd(), COPIED_BYTES)
            seen = reader.view[0] == 7 and reader.view.readonly
            del target
            reader.close()
        finally:
            made.close()
    except (TwixtError, OSError) as error:
        return Verdict("shared memory", BAD, str(error))
    if not seen:
        return Verdict("shared memory", BAD, "viewers cannot read the memory, or can write to it")
    rate = COPIED_BYTES / min(seconds) / 1e9
    return Verdict("shared memory", GOOD, f"viewers can only read the memory; copies run at {rate:.1f} GB/s")


def _open_window() -> tuple[Any, Verdict]:
    try:
        from twixt.render.display.window import Window

        window = Window((400, 300), "twixt doctor")
        return window, Verdict("display", GOOD, f"{window.backend}, a window opens")
    except (TwixtError, ImportError) as error:
        says = str(error).split("; draw without")[0]
    try:
        from twixt.render.display.offscreen import OffscreenWindow

        return OffscreenWindow((400, 300)), Verdict("display", USABLE, f"{says}; drawing offscreen works")
    except TwixtError as error:
        return None, Verdict("display", BAD, f"{says}; drawing offscreen fails: {error}")


def _swaps(window: Any) -> Iterator[Verdict]:
    from twixt.cli import presents
    from twixt.render.pacing.refresh import SwapProbe

    probe = SwapProbe(window.refresh_reported_hz, window.is_called)
    while not probe.done:
        time.sleep(probe.pause_ns / 1e9)
        took_ns = presents.swap(window)
        end_ns = time.perf_counter_ns()
        probe.add(end_ns - took_ns, end_ns)
    found = probe.verdict()
    yield vsync(found)
    seen = presents.watch(window, found.blocks)
    yield refresh(window.refresh_reported_hz, seen.instants_ns, found)
    yield presents.presents(seen, found.blocks)
    yield presents.fence(seen, found.blocks)


def _child_clock() -> int:
    shown = subprocess.run(
        [python_program(), "-S", "-c", "import time; print(time.perf_counter_ns())"],
        capture_output=True,
        timeout=LONGEST_CHILD_S,
        check=True,
    )
    return int(shown.stdout)


def _slice_ns() -> int | None:
    """Returns the time slice in ns that the system grants on request. Returns None if the system grants no time
    slice."""
    from twixt.render.cores.priority import SLICE_NS, set_short_slices, slice_ns

    set_short_slices()
    granted = slice_ns()
    return granted if granted is not None and granted <= SLICE_NS else None


def _cores_to_choose() -> int:
    from twixt.render.cores.sharing import Affinity

    affinity = Affinity()
    affinity.use(frozenset(sorted(affinity.allowed)[:1]))
    affinity.restore()
    is_known = os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/schedstat")
    return len(affinity.allowed) if is_known and not affinity.is_refused else 0


def _policy() -> str:
    with contextlib.suppress(AttributeError, OSError):
        policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
        return next((name for name in POLICIES if getattr(os, name, None) == policy), "")
    return ""


def _oversleeps_us() -> tuple[list[float], list[float]]:
    """Returns how late waits of `SLEEP_NS` end, in us. The first list is for waits by `time.sleep`, with the precise
    timers that `HybridWait` requests. The second list is for waits by `HybridWait`. The two kinds of wait
    alternate, so that the machine's load affects both alike."""
    from twixt.render.pacing.wait import HybridWait

    wait = HybridWait()
    plain, hybrid = [], []
    for _ in range(SLEEPS):
        end_ns = time.perf_counter_ns() + SLEEP_NS
        time.sleep(SLEEP_NS / 1e9)
        plain.append((time.perf_counter_ns() - end_ns) / 1e3)
        end_ns = time.perf_counter_ns() + SLEEP_NS
        hybrid.append((wait.until(end_ns) - end_ns) / 1e3)
    return plain, hybrid


def _cores() -> str:
    cores = f"{usable_cores()} cores"
    return f"{cores}, load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else cores
