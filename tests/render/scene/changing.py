"""A simulation whose scene changes, and what a viewer of it draws: real host, socket, intake and drawing.

Instants are chosen by the test: nothing waits but for the scene, which comes over the socket.
"""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass

import numpy as np

from tests.publishing import publish
from twixt.ipc.config.flags import Config
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.ipc.session import open_listener
from twixt.ipc.session.host import Host
from twixt.ipc.session.link import attach
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, Head, new_bodies
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.scene.stage import Stage
from twixt.render.snapshots.intake import Intake

PATIENCE_S = 60.0  # far longer than a scene takes over a socket
START_NS = 10**12
SIZE_PX, WIDE_PX = (48, 36), (240, 180)
RATES_HZ = (2, 20, 100)
CHANGED_AT = 3  # the first snapshot with the new parents
AHEAD = Camera((0, -20, 0), (0, 0, 0))
SNAPSHOTS, FRAMES = 7, 6  # of a run; frames an interval
# Bodies 0 and 2 have no parent, 1 is 0's child, 3 is 2's. The body at rest is 4, and 5 is its child, half a metre on.
FIXED = {1: 0, 3: 2, 5: 4}
BODY, CHILD = 4, 5
MOST_BODIES = 8  # without memory made anew


@dataclass(frozen=True)
class Situation:
    """How parents change. late: the scene comes after its snapshot."""

    rate_hz: int = 20
    is_cut: bool = False
    moves: bool = False
    is_chain: bool = False
    late: bool = False
    before: int | None = 0  # the body's parent; None: it has none
    after: int | None = 2
    x: float = 0.0  # where the body rests
    speed: float = 0.0  # metres a snapshot, of a body that does not
    others: bool = True  # other bodies have parents at any time
    camera: Camera = AHEAD

    def parents(self, k: int) -> dict[int, int]:
        parent = self.before if k < CHANGED_AT else self.after
        fixed = FIXED if self.others else {}
        return fixed if parent is None else fixed | {BODY: parent + self.is_chain}

    def scene(self, k: int) -> Scene:
        """The scene of snapshot k."""
        shapes = [*[Sphere(0.1, (0, 0, 1))] * 4, Sphere(0.2, (1, 0, 0)), Sphere(0.1, (0, 0, 1))]
        return Scene(shapes, parents=self.parents(k), camera=self.camera, ground_z=None, look="unlit")

    def columns(self, k: int) -> dict[str, np.ndarray]:
        """Columns of snapshot k: always the same ones."""
        return {}

    def bodies(self, k: int) -> np.ndarray:
        """Snapshot k. Parents turn, and move on a curve."""
        bodies, t = new_bodies(6), k / self.rate_hz
        bodies["flags"] = VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY
        for root, at in ((0, 2.0), (2, -3.0)):
            bodies["position"][root, 0] = at
            if self.moves:
                bodies["position"][root, 0] += 3.0 * t * self.rate_hz / 20 + 0.3 * k * k * (at > 0)
                bodies["velocity"][root, 0] = (3.0 / 20 + 0.6 * k * (at > 0)) * self.rate_hz
        bodies["position"][[1, 3], 0] = 0.25
        parent = self.parents(k).get(BODY)
        above = [] if parent is None else [parent, *([FIXED[parent]] if parent in FIXED else [])]
        bodies["position"][BODY, 0] = self.x + self.speed * k - bodies["position"][above, 0].sum()
        bodies["velocity"][BODY, 0] = self.speed * self.rate_hz - bodies["velocity"][above, 0].sum()
        bodies["position"][CHILD, 0] = 0.5
        if self.is_cut:
            bodies["epoch"][BODY] = k >= CHANGED_AT
        return bodies


class Rig:
    """A simulation, and what a viewer of it draws at chosen instants."""

    def __init__(self, window: OffscreenWindow, situation: Situation, method: str, host: Host | None = None) -> None:
        self.window, self.situation = window, situation
        self.gap_ns = round(1e9 / situation.rate_hz)
        if host is None:
            host = Host(open_listener(f"parents-{os.getpid()}"), situation.scene(0), MOST_BODIES)
            forms = {name: (values.dtype.str, values[0].size) for name, values in situation.columns(0).items()}
            if forms:
                host.ring.set_columns(forms)
            host.ring.write_plan(Plan(1, 0, START_NS, 0, 1.0))
        self.host = host
        self.link = attach(host.name)
        chosen = Config(clock="ahead", interpolation=method)
        self.settings = dict(interpolation=method, clock="ahead", prefer="latency", split=False, trails=False)
        received = self.link.received
        renderer = SceneRenderer(window.context, self.link.scene, 16)
        self.stage = Stage(chosen, renderer, self.link.scene, self.link.newest_bodies, received.parents)
        self.intake = Intake(self.link, self.stage)
        self.is_held = False  # nothing comes over the socket
        is_readable = self.link._connection.is_readable
        self.link._connection.is_readable = lambda: not self.is_held and is_readable()  # type: ignore[method-assign]
        self.published = 0

    def publish(self) -> None:
        k = self.published
        now_ns = START_NS + (k - 1) * self.gap_ns  # an interval before it is due
        self.host.ring.writer._now_ns = lambda: now_ns
        if k == CHANGED_AT:
            self.is_held = self.situation.late
            self.host.write_scene(self.situation.scene(k))
            if not self.is_held:
                self.await_scene()
        bodies = self.situation.bodies(k)
        publish(self.host.ring, self.head(k), bodies, self.situation.columns(k))
        self.published += 1

    def head(self, k: int) -> Head:
        return Head(
            tick=k, sim_time_ns=k * self.gap_ns, due_ns=START_NS + k * self.gap_ns, dt_ns=self.gap_ns,
            count=len(self.situation.bodies(k)), scene_version=self.host.scene.version, plan_number=1,
        )  # fmt: skip

    def await_scene(self) -> None:
        ends_s = time.monotonic() + PATIENCE_S
        while self.link.scene_version != self.host.scene.version:
            assert time.monotonic() < ends_s, "the scene did not come"
            select.select(self.link.wake_filenos, [], [], 0.01)
            self.intake.receive()
        self.intake.receive()

    def frame(self, snapshots: float, size_px: tuple[int, int] = SIZE_PX) -> None:
        """The frame that is presented so many intervals after the start."""
        while self.published < SNAPSHOTS and self.published <= snapshots + 1:
            self.publish()
        self.intake.receive()
        if self.is_held and snapshots >= CHANGED_AT - 0.5:  # in the middle of the interval
            self.is_held = False
            self.await_scene()
        self.window.screen.use()
        self.stage.draw(START_NS + round(snapshots * self.gap_ns), size_px)

    def close(self) -> None:
        self.link.close()
        self.host.end()
        self.stage.renderer.release()
