"""Stage for tests: snapshots are added by hand, OpenGL draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from twixt.ipc.config.flags import Config
from twixt.ipc.plan import Plan
from twixt.ipc.ring.mapped_segment import SampledBodies
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.ipc.scene.mark_texts import split_texts
from twixt.ipc.snapshot import HAS_VELOCITY, NO_MARKS, VISIBLE, Head, Snapshot, new_bodies
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.scene.stage import Stage
from twixt.render.snapshots.intake import as_drawn

MS = 1_000_000
GAP_MS = 100
START_NS = 10**12
SIZE_PX = (320, 240)
ONE = Scene([Sphere(0.5)], ground_z=None, background=(0, 0, 0), look="unlit", camera=Camera((0, -10, 0), (0, 0, 0)))


class Show:
    """Stage with snapshots as the intake adds them: `GAP_MS` apart, each published `lead_ms` before it is due.

    bodies, columns, marks, part_columns: those of snapshot k. silent_until_ms: nothing is published before. follows:
    the camera may follow the newest bodies. before: the show that was drawn before, by the same renderer.
    """

    def __init__(
        self, window: OffscreenWindow, scene: Scene, bodies: Callable[[int], np.ndarray], lead_ms: float = GAP_MS,
        columns: Callable[[int], dict[str, np.ndarray]] = lambda _k: {}, clock: str = "ahead",
        marks: Callable[[int], np.ndarray] = lambda _k: NO_MARKS,
        part_columns: Callable[[int], dict[str, np.ndarray]] = lambda _k: {}, follows: bool = False,
        before: Show | None = None, **flags,
    ) -> None:  # fmt: skip
        self.window, self.lead_ms = window, lead_ms
        self.bodies, self.columns, self.marks, self.part_columns = bodies, columns, marks, part_columns
        self.silent_until_ms = 0.0
        self._is_watched = False
        self._world_epoch, self._began_ms = 0, 0.0
        flags.setdefault("interpolation", "linear")
        self.published, self._head = -1, Head()
        config = Config(clock=clock, **flags)
        newest = (lambda: self.bodies(max(self.published, 0))) if follows else (lambda: bodies(0))
        renderer = SceneRenderer(window.context, scene, 16) if before is None else before.stage.renderer
        stage, sample = before and before.stage, self._sample if follows else None
        self.stage = Stage(config, renderer, scene, newest, before=stage, sample=sample)
        self.draw_over = None
        self.flags = dict(
            interpolation=flags["interpolation"], clock=clock, prefer="latency", split=False, trails=False
        )
        self.stage.replan(Plan(1, 0, START_NS, 0, 1.0))

    def choose(self, **flags) -> None:
        self.flags |= flags
        self.stage.choose(**self.flags)

    def draw(self, at_ms: float):
        """Draws the frame presented `at_ms` after the start; returns its picture."""
        while (
            at_ms >= self.silent_until_ms
            and (self.published + 1) * GAP_MS < at_ms - self._began_ms + self.lead_ms + GAP_MS
        ):
            self.published += 1
            self._publish(self.published, at_ms)
        self.window.screen.use()
        return self.stage.draw(START_NS + round(at_ms * MS), SIZE_PX, self.draw_over)

    def reset(self, at_ms: float) -> None:
        """Begins a new world epoch at `at_ms`."""
        self.published, self._began_ms = -1, at_ms
        self._world_epoch += 1
        began_ns = START_NS + round(at_ms * MS)
        self.stage.replan(Plan(1 + self._world_epoch, self._world_epoch, began_ns, 0, 1.0))

    def pixels(self, at_ms: float) -> np.ndarray:
        self.draw(at_ms)
        self.stage.renderer.finish()
        return self.stage.renderer.read_pixels()

    def places(self, times_ms: Iterable[float]) -> np.ndarray:
        """Drawn positions in these frames, (frames, bodies, 3), metres."""
        if not self._is_watched:
            self.stage.main.watch("test", None)
            self._is_watched = True
        found = []
        for at_ms in times_ms:
            self.draw(at_ms)
            found.append(self.stage.main.watched("test").position)
        return np.array(found)

    def _sample(self, most: int) -> SampledBodies | None:
        """Some of the newest bodies, as a reader copies them."""
        if self.published < 0:
            return None
        bodies, scale3 = self.bodies(self.published), self.columns(self.published).get("scale3")
        stride = max(1, -(-len(bodies) // most))
        return SampledBodies(self._head, stride, bodies[::stride].copy(), None if scale3 is None else scale3[::stride])

    def _publish(self, k: int, at_ms: float) -> None:
        stage, columns, sim_ns = self.stage, self.columns(k), k * GAP_MS * MS
        snapshot = Snapshot(
            sim_ns, self.bodies(k), columns, tick=k, world_epoch=self._world_epoch, part_columns=self.part_columns(k)
        )
        snapshot = as_drawn(snapshot, stage.scene)
        bodies = snapshot.bodies
        published_ns = START_NS + round(at_ms * MS)
        head = Head(
            tick=k, sim_time_ns=sim_ns, due_ns=START_NS + round(self._began_ms * MS) + sim_ns,
            published_ns=published_ns, world_epoch=self._world_epoch, count=len(bodies),
        )  # fmt: skip
        self._head = head
        slot = stage.history.slot_for(head)
        assert slot is not None
        stage.renderer.upload_records(slot, bodies, snapshot.part_columns)
        if "scale3" in columns:
            stage.renderer.upload_scale3(slot, columns["scale3"])
        marks, texts = split_texts(self.marks(k))
        stage.history.commit(slot, head, marks, stage.add(snapshot), texts)
        stage.observe(head)


def along_x(count: int = 1, speed: float = 1.0, velocity: bool = False) -> Callable[[int], np.ndarray]:
    """Bodies in a row that move `speed` metres a snapshot along x."""

    def state(k: int) -> np.ndarray:
        bodies = new_bodies(count)
        bodies["position"][:, 0] = k * speed
        bodies["position"][:, 2] = np.arange(count)
        if velocity:
            bodies["flags"] = VISIBLE | HAS_VELOCITY
        return bodies

    return state


def middle_px(pixels: np.ndarray) -> float:
    lit = pixels.max(axis=2) > 127
    assert lit.any()
    return float(np.nonzero(lit)[1].mean())


def round_and_round(count: int = 1, turn: float = 0.5) -> Callable[[int], np.ndarray]:
    """Bodies on a circle of 1 m, `turn` radians a snapshot, with velocities."""

    def state(k: int) -> np.ndarray:
        bodies = new_bodies(count)
        angle = turn * k + np.arange(count)
        bodies["position"] = np.stack((np.cos(angle), np.zeros(count), np.sin(angle)), axis=1)
        bodies["velocity"] = np.stack((-np.sin(angle), np.zeros(count), np.cos(angle)), axis=1) * turn * 1000 / GAP_MS
        bodies["flags"] = VISIBLE | HAS_VELOCITY
        return bodies

    return state
