"""Measures the cost of the parts of a frame: waking, playback clock, log, and each phase of drawing. Also measures a
frame without a new snapshot.

Work in Python is compared with an empty call. A wait is compared with the spin at its end, because no wait can end on
time if other programs interrupt the spin. The wait runs on a separate thread, because it asks the system for finer
timers on its own thread.

Frames without a new snapshot are measured with many and with few bodies, in turns. If such a frame did any work for
each body, it would take up to a thousand times longer with many bodies.

Phases take turns. Each phase is drawn alone, and timed until its drawing is complete. The costs of bodies and of their
shadows on the ground are differences between the times of two pictures. "Recording" is the cost of a picture of
TINY_PX. It consists of Python, OpenGL calls and vertices, which do not depend on the window's size. Times of phases
are processor time of this process, which other busy programs hardly change. With software OpenGL, these times are the
whole cost of a frame. The work of a GPU and of the window system is not measured.
"""

from __future__ import annotations

import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.costs.drawing import CAMERA, radius_m, records
from bench.lean.lean_draws import nothing_drawn
from bench.rows import Row, in_turns, noise_of, rounds_of, row, times_us, turns, uncollected
from bench.screens import opened_window
from twixt.cli.progress import Say
from twixt.ipc.config.flags import Config
from twixt.ipc.plan import Plan
from twixt.ipc.quantiles import distribution
from twixt.ipc.scene import Scene
from twixt.ipc.scene.shapes import Sphere
from twixt.ipc.snapshot import VISIBLE, Head
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.quality import LEVELS
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.measure.frame_log import FrameLog
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.overlay.overlay import Overlay
from twixt.render.overlay.panel_state import OverlayState, PlotHistory
from twixt.render.pacing.wait import HybridWait
from twixt.render.playback import PlaybackClock
from twixt.render.scene.stage import Stage
from twixt.sim.world.world import World
from twixt.sim.worlds.balls import Balls

# WAKES is the number of wake-ups. It is so large that the 99th percentile is not the single worst wake-up. WAKE_NS is
# the duration of each wait in ns, about as long as a frame waits.
WAKES, WAKE_NS = 400, 4_000_000
# Limits in us of the lateness of a wake-up. They apply only while a core is free.
WAKE_TARGETS = {"p50": "figure <= 5", "p99": "figure <= 50"}
# CALL_ROUNDS is the number of rounds, and CALLS is the number of calls per round. There are several calls per round,
# because one call takes only microseconds. A reading of the clock takes a tenth of that.
CALL_ROUNDS, CALLS = 200, 20
# Interval between two frames in ns, for 60 frames per second. The playback clock gets one snapshot per interval. Each
# snapshot arrives one interval before its due instant.
FRAME_NS = 16_666_667

# MANY and FEW are numbers of bodies in a frame without a new snapshot. STILL_TARGET is the limit of a ratio: the time of
# a frame with MANY bodies, divided by the time of a frame with FEW bodies.
MANY, FEW = 100_000, 100
STILL_TARGET, STILL_ROUNDS = "ratio <= 1.1", 600
SLOTS, SNAPSHOTS, INTERVAL_NS = 16, 12, 100_000_000
# Frame interval in ns of a display at 1000 Hz. At this interval, a hundred frames are drawn between two snapshots.
STILL_FRAME_NS = 1_000_000

SIZES_PX = ((800, 600), (1280, 800), (1920, 1080))
# ROUNDS is the number of rounds for one window size. BUDGET_S is the time in seconds after which no new round begins.
ROUNDS, BUDGET_S = 150, 20.0
# Number of first rounds that are not measured. In these rounds, programs are compiled. The renderer also finds out
# whether it is faster to copy the background or to draw it.
SETTLING = 12
# Number of pictures after a change of level or size that are not measured. In these pictures, programs are chosen and
# the background is cached.
CHANGED = 3
# Number of steps of the world before the first round. After these steps, the balls lie in a pile.
STEPS = 120
HELD = 6
# Further slots, in which all bodies are hidden. So a picture of these slots shows only the background.
HIDDEN = range(SLOTS + 1, SLOTS + 3)
# Size of a picture whose pixels take hardly any time.
TINY_PX = 64, 48
# Interval in ns of the regular redraws of the panels. It is practically infinite, because the benchmark requests each
# redraw.
NEVER_NS = 10**18

FULL_FRAME = "frame, full"
PhaseTimes = dict[str, list[float]]

_ROW = FrameRow(mode="interpolated", clock_mode="ahead", pacer_reason="the display's own interval")


def frame_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of wake-up, playback clock and frame log."""
    say("waking")
    yield from _wakes(rounds_of(WAKES, share))
    rounds = rounds_of(CALL_ROUNDS, share)
    say("playback clock")
    yield _call("playback clock, work for a frame", _clock_frame(), rounds)
    say("frame log")
    log = FrameLog()
    yield _call("frame log, storing a row", lambda: log.add(_ROW), rounds)
    with tempfile.TemporaryDirectory() as folder:
        file_log = FrameLog(os.path.join(folder, "log.csv"))

        def write_row() -> None:
            file_log.add(_ROW)
            file_log.write_some(1)

        yield _call("frame log, writing a row", write_row, rounds)
        file_log.close()


def _wakes(rounds: int) -> Iterator[Row]:
    """Rows of the lateness of three waits that take turns: the pacer's wait, only the spin at its end, and only a
    sleep."""
    with ThreadPoolExecutor(1) as thread:
        wait = thread.submit(HybridWait).result()
        waits: dict[str, Callable[[], float]] = {
            "hybrid": lambda: thread.submit(_late_us, wait.until).result(),
            "spun": lambda: thread.submit(_spin_late_us, wait.margin.margin_ns).result(),
            "slept": lambda: _late_us(_sleep_until),
        }
        late = {name: distribution(late_us) for name, late_us in in_turns(waits, rounds).items()}
    for name, target in WAKE_TARGETS.items():
        margin_us = wait.margin.margin_ns / 1e3
        note = (
            f"a wait by time.sleep alone is {late['slept'][name]:.0f} us late; "
            f"the spin began {margin_us:.0f} us before the planned instant"
        )
        figure, limit = late["hybrid"][name], late["spun"][name]
        yield Row(
            f"lateness of a wake, {name}",
            "us",
            figure,
            "the spin of this wait alone",
            limit,
            rounds,
            note,
            target=target,
        )


def _late_us(wait_until: Callable[[int], object]) -> float:
    end_ns = time.perf_counter_ns() + WAKE_NS
    wait_until(end_ns)
    return (time.perf_counter_ns() - end_ns) / 1e3


def _spin_late_us(margin_ns: int) -> float:
    """Lateness, in us, of a spin after a sleep, without the lateness of the sleep itself. margin_ns: length of the
    spin in ns."""
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
    clock, instants_ns = PlaybackClock(), itertools.count(FRAME_NS, FRAME_NS)
    clock.observe(0, 0, 0)
    clock.replan(Plan(1, 0, 0, 0, 1.0))

    def one_frame() -> None:
        now_ns = next(instants_ns)
        clock.observe(now_ns + FRAME_NS, now_ns + FRAME_NS, now_ns, 0, 1)
        clock.draw_time_ns(now_ns)

    return one_frame


class DrawnStage:
    """A stage that gets its snapshots in this process, one snapshot per `interval_ns`. bodies: function that returns
    the current records of the bodies."""

    def __init__(self, window: Any, scene: Scene, bodies: Callable[[], NDArray[np.void]], interval_ns: int) -> None:
        self._interval_ns, self._bodies, self._tick = interval_ns, bodies, 0
        self.begin_ns = time.perf_counter_ns()
        renderer = SceneRenderer(window.context, scene, SLOTS)
        self.stage = Stage(Config(), renderer, scene, bodies)
        self.stage.replan(Plan(1, 0, self.begin_ns, 0, 1.0))

    def publish(self) -> NDArray[np.void]:
        """Gives the bodies to the stage as its next snapshot, and returns a copy of them."""
        records, sim_ns = self._bodies().copy(), self._tick * self._interval_ns
        due_ns = self.begin_ns + sim_ns
        head = Head(self._tick, sim_ns, due_ns, due_ns - 2 * self._interval_ns, count=len(records))
        slot = self.stage.history.slot_for(head)
        assert slot is not None
        self.upload(slot, records)
        self.stage.history.commit(slot, head)
        self.stage.observe(head)
        self._tick += 1
        return records

    def upload(self, slot: int, records: NDArray[np.void]) -> None:
        self.stage.renderer.upload(slot, records.view("u1").data, len(records))

    def draw(self, size_px: tuple[int, int], share: float) -> None:
        """Draws a picture into the framebuffer in use. It shows an instant shortly before the last snapshot. share:
        position of the instant between two snapshots, 0 to 1."""
        self.stage.draw(self.begin_ns + round((self._tick - 3 + share) * self._interval_ns), size_px)


def still_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Row of a frame with many bodies. It is compared with a frame with few bodies."""
    say("frames without a new snapshot")
    with opened_window() as window:
        with nothing_drawn():
            many, few = (_still_frame(window, count) for count in (MANY, FEW))
            many(), few()
            times, least = times_us(rounds_of(STILL_ROUNDS, share), many, few)
        yield row(
            f"frame without a new snapshot, {MANY:,} bodies",
            "us",
            times,
            f"the same frame with {FEW} bodies",
            least,
            STILL_TARGET,
        )


def _still_frame(window: Any, count: int) -> Callable[[], None]:
    """Makes a stage with `count` bodies. Returns a function that draws its next frame."""
    bodies = records(count, 0)
    scene = Scene([Sphere(radius_m(count))], ground_z=None, camera=CAMERA)
    drawn = DrawnStage(window, scene, lambda: bodies, INTERVAL_NS)
    for _ in range(SNAPSHOTS):
        drawn.publish()
    presents_ns = itertools.count(drawn.begin_ns + 3 * INTERVAL_NS + STILL_FRAME_NS, STILL_FRAME_NS)

    def frame() -> None:
        window.screen.use()
        drawn.stage.draw(next(presents_ns), window.framebuffer_size)

    return frame


class WatchedWorld(DrawnStage):
    def __init__(self, window: Any, world: World, dt_s: float) -> None:
        super().__init__(window, world.scene, lambda: world.bodies.records, round(dt_s * 1e9))
        self._world, self._dt_s = world, dt_s
        for _ in range(HELD):
            self.step()

    def step(self) -> None:
        """Steps the world, and publishes its state to the stage. Publishes the same bodies, hidden, to further
        slots."""
        self._world.step(self._dt_s)
        records = self.publish()
        records["flags"] &= ~np.uint16(VISIBLE)
        for slot in HIDDEN:
            self.upload(slot, records)

    @property
    def hidden(self) -> Layer:
        return Layer(HIDDEN.start, HIDDEN.start + 1, alpha=0.5, gap_s=self._dt_s)


def phase_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of each phase, for each window size. In a quick run, only the first window size is measured."""
    for size_px in SIZES_PX if share >= 1 else SIZES_PX[:1]:
        with opened_window(Config(pacing="unlimited", size_px=size_px)) as window:
            for _ in range(SETTLING):  # so many that the display has set the window's size
                window.poll()
                window.swap()
            name = "{}x{}".format(*window.framebuffer_size)
            say(name)
            world = Balls()
            for _ in range(STEPS):
                world.step(world.dt)
            phases = measured(window, WatchedWorld(window, world, world.dt), rounds_of(ROUNDS, share))
        frames_us = phases.pop(FULL_FRAME)
        for phase, elapsed_us in phases.items():
            figure, limit, noise = (*map(statistics.median, (elapsed_us, frames_us)), noise_of(elapsed_us, frames_us))
            yield Row(
                f"{phase}, {name}", "us", max(figure, 0.0), "a whole frame", limit, len(elapsed_us), noise=noise
            )  # fmt: skip


def measured(window: Any, world: WatchedWorld, rounds: int) -> PhaseTimes:
    """For each phase, the processor time in each round, in us. FULL_FRAME is a frame with all phases."""
    renderer, size_px = world.stage.renderer, window.framebuffer_size
    overlay, state = Overlay(), _overlay_state()
    overlay.every_ns = NEVER_NS
    phases: PhaseTimes = {}
    shares = itertools.cycle(np.linspace(0.05, 0.95, 11).tolist())

    def timed(phase: str, work: Callable[[], object]) -> float:
        window.context.finish()
        begin_ns = time.process_time_ns()
        work()
        window.context.finish()
        elapsed_us = (time.process_time_ns() - begin_ns) / 1e3
        phases.setdefault(phase, []).append(elapsed_us)
        return elapsed_us

    def finish(covered: Any = ()) -> None:
        renderer.mark_covered(covered)
        renderer.finish()

    def unfinished(size_px: tuple[int, int] = size_px) -> None:
        window.screen.use()
        world.draw(size_px, next(shares))

    def picture(size_px: tuple[int, int] = size_px) -> None:
        unfinished(size_px)
        finish()

    def panels() -> None:
        overlay.draw(lambda: state, (), size_px, 1.0)
        finish(overlay.covered)

    def background() -> None:
        window.screen.use()
        camera = world.stage.view.matrices(world.stage.main, size_px, size_px)
        renderer.draw([world.hidden], camera, (0, 0, *size_px))
        finish()

    def frame() -> None:
        unfinished()
        panels()
        window.swap()

    def set_level(level: Any, size_px: tuple[int, int] = size_px) -> None:
        renderer.level = level
        for _ in range(CHANGED):
            picture(size_px)

    picture()
    with uncollected():
        for number in turns(SETTLING + rounds, BUDGET_S):
            if number == SETTLING:
                phases.clear()
            world.step()
            timed("clear", renderer.clear)
            set_level(LEVELS[0])
            behind_us, pictures_us = timed("background", background), list[float]()
            for level in LEVELS:
                set_level(level)
                pictures_us.append(timed(f"picture, {level.name}", picture))
            full_us, bare_us = pictures_us[:2]
            phases.setdefault("bodies", []).append(bare_us - behind_us)
            phases.setdefault("shadows on the ground", []).append(full_us - bare_us)
            set_level(LEVELS[0])
            unfinished()
            timed("overlay at rest", panels)
            overlay.request_layout()
            unfinished()
            timed("overlay redrawn", panels)
            timed("swap", window.swap)
            timed(FULL_FRAME, frame)
            for level in LEVELS:
                set_level(level, TINY_PX)
                timed(f"recording, {level.name}", lambda: picture(TINY_PX))
            window.poll()
    overlay.close()
    return phases


def _overlay_state() -> OverlayState:
    frames, steps = PlotHistory(), PlotHistory()
    for number in range(240):
        frames.add(16.0 + number % 5 / 5, "interpolated")
        steps.add(2.0 + number % 3 / 3)
    return OverlayState(
        frames=frames, steps=steps, target_ms=16.7, step_budget_ms=16.7, rate=1.0, time_scale=1.0
    )  # fmt: skip
