"""A body whose parent changes is drawn where it is in the world, in every frame; real host, socket, intake and drawing.

`python -m tests.render.scene.test_changed_parents` prints the table of what is drawn.
"""

from __future__ import annotations

import itertools
import os
import select
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

from twixt.ipc.config.config import Config
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.ipc.session import open_listener
from twixt.ipc.session.client import attach
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, Head, new_bodies
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.scene.stage import Stage
from twixt.render.snapshots.intake import Intake

PATIENCE_S = 60.0  # far longer than a scene takes over a socket
START_NS = 10**12
SIZE_PX = (48, 36)
RATES_HZ = (2, 20, 100)
CHANGED_AT = 3  # the first snapshot with the new parents
SNAPSHOTS, FRAMES = 7, 6  # of a run; frames an interval
SHADED, BY_NUMPY = (
    ("none", "linear", "hermite", "auto"),
    ("catmull", "quadratic", "extrapolate", "kalman", "latest", "chase"),
)
# Bodies 0 and 2 have no parent, 1 is 0's child, 3 is 2's. The body at rest is 4, and 5 is its child, half a metre on.
FIXED = {1: 0, 3: 2, 5: 4}
BODY, CHILD = 4, 5


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

    def parents(self, k: int) -> dict[int, int]:
        parent = self.before if k < CHANGED_AT else self.after
        return FIXED if parent is None else FIXED | {BODY: parent + self.is_chain}

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
        bodies["position"][BODY, 0] = self.x - bodies["position"][above, 0].sum()
        bodies["velocity"][BODY, 0] = -bodies["velocity"][above, 0].sum()
        bodies["position"][CHILD, 0] = 0.5
        if self.is_cut:
            bodies["epoch"][BODY] = k >= CHANGED_AT
        return bodies


class Rig:
    """A simulation, and what a viewer of it draws at chosen instants."""

    def __init__(self, window: OffscreenWindow, situation: Situation, method: str, **config) -> None:
        self.window, self.situation = window, situation
        self.gap_ns = round(1e9 / situation.rate_hz)
        self._scene = Scene(
            [Sphere(0.1)] * 6,
            parents=situation.parents(0),
            camera=Camera((0, -20, 0), (0, 0, 0)),
            ground=None,
            unlit=True,
        )
        listener = open_listener(f"parents-{os.getpid()}")
        self.host = Host(listener, self._scene, 6)
        self.host.write_plan(Plan(1, 0, START_NS, 0, 1.0))
        self.link = attach(listener.name)
        chosen = Config(clock="ahead", interpolation=method, **config)
        self.settings = dict(interpolation=method, clock="ahead", prefer="latency", split=False, trails=False)
        received = self.link.received
        self.stage = Stage(chosen, window.context, self.link.scene, 16, self.link.newest_bodies, received.parents)
        self.intake = Intake(self.link, self.stage)
        self.is_held = False  # nothing comes over the socket
        is_readable = self.link._connection.is_readable
        self.link._connection.is_readable = lambda: not self.is_held and is_readable()  # type: ignore[method-assign]
        self.published = 0

    def publish(self) -> None:
        k = self.published
        now_ns = START_NS + (k - 1) * self.gap_ns  # an interval before it is due
        self.host._segments.writer._now_ns = lambda: now_ns
        if k and self.situation.parents(k) != self.situation.parents(k - 1):
            self.is_held = self.situation.late
            self.host.write_scene(replace(self._scene, parents=self.situation.parents(k)))
            if not self.is_held:
                self.await_scene()
        bodies = self.situation.bodies(k)
        head = Head(
            tick=k, sim_time_ns=k * self.gap_ns, due_ns=START_NS + k * self.gap_ns, dt_ns=self.gap_ns,
            count=len(bodies), scene_version=self.host.scene_version, plan_number=1,
        )  # fmt: skip
        self.host.publish(head, bodies)
        self.published += 1

    def await_scene(self) -> None:
        ends_s = time.monotonic() + PATIENCE_S
        while self.link.scene_version != self.host.scene_version:
            assert time.monotonic() < ends_s, "the scene did not come"
            select.select(self.link.wake_filenos, [], [], 0.01)
            self.intake.take()
        self.intake.take()

    def frame(self, snapshots: float) -> None:
        """The frame that is presented so many intervals after the start."""
        while self.published < SNAPSHOTS and self.published <= snapshots + 1:
            self.publish()
        self.intake.take()
        if self.is_held and snapshots >= CHANGED_AT - 0.5:  # in the middle of the interval
            self.is_held = False
            self.await_scene()
        self.window.screen.use()
        self.stage.draw(START_NS + round(snapshots * self.gap_ns), SIZE_PX)

    def close(self) -> None:
        self.link.close()
        self.host.end()
        self.stage.renderer.release()


@pytest.fixture(scope="module")
def small_window() -> OffscreenWindow:
    return OffscreenWindow(SIZE_PX)


def drawn_x(window: OffscreenWindow, situation: Situation, method: str, frames: int = FRAMES, **settings) -> np.ndarray:
    """Drawn x of the body and of its child, in every frame, (frames, 2)."""
    rig = Rig(window, situation, method)
    found = []
    try:
        rig.stage.choose(**rig.settings | settings)
        for frame in range(frames * (SNAPSHOTS - 2) + 1):
            rig.frame(frame / frames)
            if rig.published >= 2:
                found.append(posed(rig, rig.stage.main))
    finally:
        rig.close()
    return np.array(found)


def posed(rig: Rig, picture) -> list[float]:
    """Drawn x of the body and of its child, of what goes to the GPU."""
    ring = rig.stage.renderer._bodies.ring
    part = next(part for part in picture._parts if part.definition.group == "children")
    records = ring.few(part.pose_slot)
    return (records["position"] + records["velocity"])[[BODY, CHILD], 0].tolist()


@pytest.mark.parametrize("method", [*SHADED, *BY_NUMPY])
@pytest.mark.parametrize("late", [False, True], ids=["scene first", "snapshot first"])
@pytest.mark.parametrize("is_cut", [False, True], ids=["", "cut"])
def test_a_body_at_rest_whose_parent_changes_rests_in_every_frame(small_window, method, late, is_cut):
    for rate_hz in RATES_HZ if method in ("auto", "catmull") else RATES_HZ[:1]:
        x = drawn_x(small_window, Situation(rate_hz, is_cut, late=late), method)
        assert np.abs(x - (0, 0.5)).max() < 1e-5, x


if __name__ == "__main__":
    window = OffscreenWindow(SIZE_PX)
    for method, *situation in itertools.product((*SHADED, *BY_NUMPY), RATES_HZ, *[(False, True)] * 4):
        x = drawn_x(window, Situation(*situation), method)[:, 0]
        words = [word for word, on in zip(("cut", "moving", "chain", "late"), situation[1:], strict=True) if on]
        print(f"{method:8} {situation[0]:4} Hz {' '.join(words):22} {x.min():+.3f} .. {x.max():+.3f}")
