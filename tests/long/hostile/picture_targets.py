"""Damaged scenes and snapshots as far as the GPU: bodies of any bytes, drawn by real OpenGL, without a window."""

from __future__ import annotations

import json
import warnings

import numpy as np

from tests.long.hostile.memory_targets import SCENES
from tests.long.hostile.mutate import FLOATS, WHOLE, Mutator
from tests.long.hostile.target import Target
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Scene
from twixt.ipc.scene.scene import packed_scene, unpacked_scene
from twixt.ipc.snapshot import BODY, Head, Snapshot, new_bodies
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.interpolation import METHODS
from twixt.render.scene.stage import Stage

SIZE_PX = (64, 48)
MS = 1_000_000
START_NS = 10**12
MOST_BODIES = 16
# A stage is used for so many inputs, each of which leaves something behind in it.
LIVES = 100


class PictureTarget(Target):
    """One viewer's stage that is told anything: its GPU reads numbers that nobody can draw."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        warnings.simplefilter("ignore")  # numpy's own, of NaN and infinity in bodies
        self._window = OffscreenWindow(SIZE_PX)
        self._scenes = [packed_scene(scene).to_bytes().replace(b"rules:ease", b"linear") for scene in SCENES]
        self._count = 0
        self._stage: Stage | None = None

    def feed(self) -> None:
        draw = self.mutator.random
        if self._count % LIVES == 0:
            self._begin()
        assert self._stage is not None
        self._count += 1
        stage, now_ns = self._stage, START_NS + self._count * 16 * MS
        bodies = np.frombuffer(self._spoilt_bodies(draw.randint(0, MOST_BODIES)), BODY)
        head = Head(
            tick=self._count, sim_time_ns=self._number(self._count * 16 * MS), due_ns=self._number(now_ns),
            published_ns=now_ns, rate=draw.choice((1.0, 1e300, -1.0)), world_epoch=self._number(1), count=len(bodies),
        )  # fmt: skip
        self.fed = head, bodies.tobytes()
        refused = None
        if draw.random() < 0.3:
            try:
                stage.set_scene(self._spoilt_scene())
            except TwixtError as error:
                refused = error
        if draw.random() < 0.1:
            stage.replan(
                Plan(self._count, 1, self._number(now_ns), self._number(0), draw.choice((0.0, 1.0, 1e-6, 1e6)))
            )
        if draw.random() < 0.1:
            stage.choose(
                draw.choice(list(METHODS)),
                draw.choice(("auto", "ahead", "buffered")),
                "latency",
                draw.random() < 0.3,
                draw.random() < 0.3,
            )
        slot = stage.history.slot_for(head)
        if slot is not None:
            stage.renderer.upload_records(slot, bodies)
            snapshot = Snapshot(head.sim_time_ns, bodies, {}, tick=head.tick, world_epoch=head.world_epoch)
            stage.history.commit(slot, head, copy=stage.add(snapshot))
        stage.observe(head)
        self._window.screen.use()
        stage.draw(now_ns, SIZE_PX)
        stage.renderer.finish()
        if refused is not None:
            raise refused

    def _begin(self) -> None:
        if self._stage is not None:
            self._window.close()
            self._window = OffscreenWindow(SIZE_PX)
        renderer = SceneRenderer(self._window.context, SCENES[0], 8)
        self._stage = Stage(Config(), renderer, SCENES[0], lambda: new_bodies(0))
        self._stage.replan(Plan(1, 1, START_NS, 0, 1.0))

    def _spoilt_scene(self) -> Scene:
        draw = self.mutator.random
        if draw.random() < 0.4:
            return unpacked_scene(draw.choice(self._scenes))
        head, _, indices = draw.choice(self._scenes).partition(b"\n")
        return unpacked_scene(json.dumps(self.mutator.json(json.loads(head))).encode() + b"\n" + indices)

    def _spoilt_bodies(self, count: int) -> bytes:
        draw, spoilt = self.mutator.random, new_bodies(count)
        spoilt["position"] = np.array([[draw.uniform(-5, 5) for _ in range(3)] for _ in range(count)]).reshape(count, 3)
        with np.errstate(all="ignore"):
            for name in draw.sample(
                ("position", "orientation", "velocity", "angular_velocity", "scale"), draw.randint(0, 2)
            ):
                if count:
                    spoilt[name].reshape(count, -1)[draw.randrange(count)] = draw.choice(FLOATS)
        whole = spoilt.tobytes()
        return self.mutator.bytes([whole], [(0, len(whole))]) if count and draw.random() < 0.3 else whole

    def _number(self, usual: int) -> int:
        draw = self.mutator.random
        return usual if draw.random() < 0.9 else max(-(1 << 63), min((1 << 63) - 1, draw.choice(WHOLE)))

    def __exit__(self, *_: object) -> None:
        self._window.close()
