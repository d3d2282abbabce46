"""The one place that fetches snapshots: from the channel into the GPU ring, the history and the clock.

Each unread snapshot is uploaded once, straight from the shared memory, and validated after: what the
writer tore meanwhile is discarded. Always: an entry of the history lies whole in its GPU slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twixt.render.history import History

if TYPE_CHECKING:
    from twixt.ipc.link import Link
    from twixt.ipc.plan import Plan
    from twixt.ipc.snapshot import Head
    from twixt.render.draw.scene_renderer import SceneRenderer
    from twixt.render.playback import PlaybackClock

# Bytes uploaded in one frame at most; the newest snapshot always is. 64 MiB take about 5 ms on software GL.
BYTE_BUDGET = 64 << 20


@dataclass
class Taken:
    """What one frame found new."""

    steps: int = 0  # ticks between the newest snapshot before and the newest now


class Intake:
    """Feeds what physics published to those who draw it."""

    def __init__(self, link: Link, renderer: SceneRenderer, history: History, clock: PlaybackClock) -> None:
        self._link, self._renderer, self._history, self.clock = link, renderer, history, clock
        self._scene_version = link.scene_version
        self._newest_tick = 0
        self._world_epoch: int | None = None
        self.plan: Plan = link.plan()
        self.newest: Head | None = None
        clock.replan(self.plan)

    def take(self) -> Taken:
        """Fetch everything that is new. Call once a frame, as late as the frame allows."""
        self._link.poll()
        if self._link.scene_version != self._scene_version:
            self._scene_version = self._link.scene_version
            self._renderer.set_scene(self._link.scene)
        plan = self._link.plan()
        if plan.number != self.plan.number:
            self.plan = plan
            self.clock.replan(plan)
        taken = Taken()
        for claim in self._link.unread(BYTE_BUDGET):
            head = claim.head
            if head.world_epoch != self._world_epoch:
                self._world_epoch = head.world_epoch
                self._newest_tick = head.tick
            slot = self._history.slot_for(head)
            if slot is None:  # nobody will draw it, but it tells the clock about physics
                self._observe(head)
                continue
            self._renderer.upload(slot, claim.bodies, head.count)
            if not claim.is_valid():
                self._history.discard(slot)
                continue
            self._history.commit(slot, head)
            self._observe(head)
            taken.steps += max(0, head.tick - self._newest_tick)
            self._newest_tick = head.tick
            self.newest = head
        return taken

    def _observe(self, head: Head) -> None:
        # It could be drawn from then on; when this viewer looked says more of the viewer than of physics.
        self.clock.observe(head.sim_time_ns, head.due_ns, head.published_ns, head.world_epoch, head.plan_number)
