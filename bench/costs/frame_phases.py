"""Cost of each phase of a drawn frame, compared with the whole frame, for three window sizes.

The phases take turns. Each phase is drawn alone, and timed until its drawing is complete. The costs of bodies and of
their shadows on the ground are differences between the times of two pictures. The default world advances by one step
per round.

"Recording" is the cost of a picture of TINY_PX. It consists of Python, OpenGL calls and vertices, which do not depend
on the window's size.

Times are processor time of this process, which other busy programs hardly change. With software OpenGL they are the
whole cost of a frame. The work of a GPU and of the window system is not measured.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.rows import Row, noise_of, rounds_of, turns, uncollected
from twixt.cli.progress import Say
from twixt.ipc.config.flags import Config
from twixt.ipc.plan import Plan
from twixt.ipc.snapshot import VISIBLE, Head
from twixt.render.display.display import open_display
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.quality import LEVELS
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.overlay.overlay import Overlay
from twixt.render.overlay.panel_state import OverlayState, PlotHistory
from twixt.render.scene.stage import Stage
from twixt.sim.world.world import World
from twixt.sim.worlds.balls import Balls

SIZES_PX = ((800, 600), (1280, 800), (1920, 1080))
# Number of rounds for one window size, and the time after which no new round begins, s.
ROUNDS, BUDGET_S = 150, 20.0
# Number of first rounds that are not measured. In these, programs are compiled, and the renderer finds out whether it
# is faster to copy the background or to draw it.
SETTLING = 12
# Number of pictures after a change of level or size that are not measured. In these, programs are chosen and the
# background is cached.
CHANGED = 3
# Number of steps of the world before the first round. After them the balls lie in a pile.
STEPS = 120
SLOTS, HELD = 16, 6
# Further slots, in which all bodies are hidden, so that a picture of them shows only the background.
HIDDEN = range(SLOTS + 1, SLOTS + 3)
# Size of a picture whose pixels take hardly any time.
TINY_PX = 64, 48
# Interval of the panels' regular redraws, ns. It is practically infinite, because the benchmark requests each redraw.
NEVER_NS = 10**18

FULL_FRAME = "frame, full"
PhaseTimes = dict[str, list[float]]


class WatchedWorld:
    """A stage that draws a world stepped in this process."""

    def __init__(self, window: Any, world: World, dt_s: float) -> None:
        self._world, self._dt_s, self._dt_ns, self._tick = world, dt_s, round(dt_s * 1e9), 0
        self._begin_ns = time.perf_counter_ns()
        renderer = SceneRenderer(window.context, world.scene, SLOTS)
        self.stage = Stage(Config(), renderer, world.scene, lambda: world.bodies.records)
        self.stage.replan(Plan(1, 0, self._begin_ns, 0, 1.0))
        for _ in range(HELD):
            self.step()

    def step(self) -> None:
        """Steps the world and publishes its state to the stage."""
        self._world.step(self._dt_s)
        tick, records = self._tick, self._world.bodies.records.copy()
        due_ns = self._begin_ns + tick * self._dt_ns
        head = Head(tick, tick * self._dt_ns, due_ns, due_ns - 2 * self._dt_ns, count=len(records))
        slot = self.stage.history.slot_for(head)
        assert slot is not None
        self.stage.renderer.upload(slot, records.view("u1").data, len(records))
        self.stage.history.commit(slot, head)
        self.stage.observe(head)
        self._tick += 1
        records["flags"] &= ~np.uint16(VISIBLE)
        for slot in HIDDEN:
            self.stage.renderer.upload(slot, records.view("u1").data, len(records))

    @property
    def hidden(self) -> Layer:
        """A layer of the same bodies, all hidden."""
        return Layer(HIDDEN.start, HIDDEN.start + 1, alpha=0.5, gap_s=self._dt_s)

    def draw(self, size_px: tuple[int, int], share: float) -> None:
        """Draws the picture of an instant shortly before the last step into the framebuffer in use. share: position of
        the instant between two steps, 0 to 1."""
        present_ns = self._begin_ns + (self._tick - 3) * self._dt_ns + round(share * self._dt_ns)
        self.stage.draw(present_ns, size_px)


def phase_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of each phase, for each window size. share: share of a whole run's rounds to measure; if below 1, only for
    the first size."""
    sizes_px = SIZES_PX if share >= 1 else SIZES_PX[:1]
    for size_px in sizes_px:
        window = open_display(Config(pacing="unlimited", size_px=size_px))
        try:
            for _ in range(SETTLING):  # until the display has set the window's size
                window.poll()
                window.swap()
            name = "{}x{}".format(*window.framebuffer_size)
            say(name)
            world = Balls()
            for _ in range(STEPS):
                world.step(world.dt)
            phases = measured(window, WatchedWorld(window, world, world.dt), rounds_of(ROUNDS, share))
        finally:
            window.close()
        frames_us = phases.pop(FULL_FRAME)
        for phase, elapsed_us in phases.items():
            figure, limit = statistics.median(elapsed_us), statistics.median(frames_us)
            yield Row(
                f"{phase}, {name}", "us", max(figure, 0.0), "a whole frame", limit, len(elapsed_us),
                noise=noise_of(elapsed_us, frames_us),
            )  # fmt: skip


def measured(window: Any, world: WatchedWorld, rounds: int) -> PhaseTimes:
    """Phase -> processor time in each round, us. FULL_FRAME is a frame with all phases."""
    renderer, size_px = world.stage.renderer, window.framebuffer_size
    overlay, state = Overlay(), _overlay_state()
    overlay.every_ns = NEVER_NS
    phases: PhaseTimes = {}

    def timed(phase: str, work: Callable[[], object]) -> float:
        window.context.finish()
        begin_ns = time.process_time_ns()
        work()
        window.context.finish()
        elapsed_us = (time.process_time_ns() - begin_ns) / 1e3
        phases.setdefault(phase, []).append(elapsed_us)
        return elapsed_us

    def end_bare() -> None:
        renderer.mark_covered(())
        renderer.finish()

    def picture(size_px: tuple[int, int] = size_px) -> None:
        window.screen.use()
        world.draw(size_px, next(shares))
        end_bare()

    def panels() -> None:
        overlay.draw(lambda: state, (), size_px, 1.0)
        renderer.mark_covered(overlay.covered)
        renderer.finish()

    def background() -> None:
        window.screen.use()
        camera = world.stage.view.matrices(world.stage.main, size_px, size_px)
        renderer.draw([world.hidden], camera, (0, 0, *size_px))
        end_bare()

    def unfinished() -> None:
        window.screen.use()
        world.draw(size_px, next(shares))

    def frame() -> None:
        unfinished()
        panels()
        window.swap()

    shares = itertools.cycle(np.linspace(0.05, 0.95, 11).tolist())
    picture()
    with uncollected():
        for number in turns(SETTLING + rounds, BUDGET_S):
            if number == SETTLING:
                phases.clear()
            world.step()
            timed("clear", renderer.clear)
            renderer.level = LEVELS[0]
            for _ in range(CHANGED):
                picture()
            behind_us = timed("background", background)
            for level in LEVELS:
                renderer.level = level
                for _ in range(CHANGED):
                    picture()
                timed(f"picture, {level.name}", picture)
            full_us, bare_us = (phases[f"picture, {level.name}"][-1] for level in LEVELS[:2])
            phases.setdefault("bodies", []).append(bare_us - behind_us)
            phases.setdefault("shadows on the ground", []).append(full_us - bare_us)
            renderer.level = LEVELS[0]
            for _ in range(CHANGED):
                picture()
            unfinished()
            timed("overlay at rest", panels)
            overlay.request_layout()
            unfinished()
            timed("overlay redrawn", panels)
            timed("swap", window.swap)
            timed(FULL_FRAME, frame)
            for level in LEVELS:
                renderer.level = level
                for _ in range(CHANGED):
                    picture(TINY_PX)
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
