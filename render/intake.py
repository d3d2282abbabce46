"""The one place that fetches snapshots: from the channel into the GPU ring, the history and the clock.

Each unread snapshot is uploaded once, straight from the shared memory, and validated after: what the
writer tore meanwhile is discarded. Always: an entry of the history lies whole in its GPU slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from twixt.ipc.rules import SCALE3
from twixt.ipc.snapshot import BODY
from twixt.render.arrival import as_drawn, is_drawn_as_published

if TYPE_CHECKING:
    from twixt.ipc.link import Link
    from twixt.ipc.plan import Plan
    from twixt.ipc.segment import Claim
    from twixt.ipc.snapshot import Head
    from twixt.render.picture.stage import Stage

# Bytes uploaded in one frame at most; the newest snapshot always is. 64 MiB take about 5 ms on software GL.
BYTE_BUDGET = 64 << 20
# Snapshots on the GPU: a late clock draws five or six behind the newest, and a burst must not push those out.
MOST_SLOTS, LEAST_SLOTS = 64, 4
GPU_BYTES = 256 << 20
# Snapshots from this size on get their memory before they are read.
LARGE_BYTES = 4 << 20
# How long a status or the end of physics may wait to be noticed: under a frame, so that only a loop that makes many
# hundred frames a second is spared asking the kernel in each.
PATIENCE_NS = 4_000_000


class Taken(NamedTuple):
    """What one frame found new."""

    steps: int = 0  # ticks between the newest snapshot before and the newest now
    is_news: bool = False  # a snapshot, a plan or a scene: something that a picture shows


NOTHING = Taken()


class Intake:
    """Feeds what physics published to the stage."""

    def __init__(self, link: Link, stage: Stage) -> None:
        self._link, self._stage = link, stage
        self._scene_version = link.scene_version
        self._newest_tick = 0
        self._count = len(link.scene.shapes)  # bodies of the snapshot last seen
        self._roomy: dict[int, int] = {}  # slots that have memory, for so many bodies
        stage.history.limit(gpu_slots(self._count * BODY.itemsize))
        self.make_room()
        self._world_epoch: int | None = None
        self._worlds_before = 0  # in simulations that were followed before: worlds go on being counted
        self.plan: Plan = link.plan()
        self.newest: Head | None = None
        stage.replan(self.plan)

    def follow(self, link: Link) -> None:
        """Feeds from another simulation from now on: as after a reset, each world of its is newer than any before."""
        self._worlds_before = max(self._world_epoch or 0, self.plan.world_epoch) + 1
        self._link, self._scene_version, self._newest_tick = link, link.scene_version, 0
        self._stage.begin_anew(link.scene, link.newest_bodies)
        self._replan(link.plan())

    def make_room(self) -> bool:
        """For the time after a frame: the memory of a slot that large snapshots will need is got before one is read.

        Its first touch takes several times as long as the copy, and the writer may come round meanwhile.
        False: nothing had to be done.
        """
        count, slot = self._count, self._stage.history.spare
        if count * BODY.itemsize < LARGE_BYTES or slot is None or self._roomy.get(slot, 0) >= count:
            return False
        self._roomy[slot] = count
        # Fresh zeros are one page, read again and again.
        self._stage.renderer.upload(slot, np.zeros(count, BODY).view(np.uint8).data, count)
        return True

    def take(self) -> Taken:
        """Fetch everything that is new. Call once a frame, as late as the frame allows."""
        link, stage = self._link, self._stage
        link.poll(PATIENCE_NS)
        is_news = False
        if link.scene_version != self._scene_version:
            self._scene_version = link.scene_version
            stage.set_scene(link.scene)
            is_news = True
        plan = link.plan()
        if plan.number != self.plan.number:
            self._replan(plan)
            is_news = True
        if not link.has_unread:
            return Taken(0, True) if is_news else NOTHING
        steps = 0
        for claim in self._unread():
            head = claim.head
            if self._worlds_before:
                head = head._replace(world_epoch=head.world_epoch + self._worlds_before)
            if head.world_epoch != self._world_epoch:
                self._world_epoch = head.world_epoch
                self._newest_tick = head.tick
            slot = stage.history.slot_for(head)
            if slot is None:  # nobody will draw it, but it tells the clock about physics
                stage.observe(head)
                continue
            if not self._upload(claim, slot, head.world_epoch):
                stage.history.discard(slot)
                continue
            stage.history.commit(slot, head)
            stage.observe(head)
            steps += max(0, head.tick - self._newest_tick)
            self._newest_tick = head.tick
            self.newest = head
        return Taken(steps, True)

    def _replan(self, plan: Plan) -> None:
        self.plan = plan._replace(world_epoch=plan.world_epoch + self._worlds_before)
        self._stage.replan(self.plan)

    def _unread(self) -> Iterator[Claim]:
        """What is unread, oldest first. The first of a new size gives way to newer ones that came while memory for it
        was got: it is overwritten by then, or soon."""
        for claim in self._link.unread(BYTE_BUDGET):
            if claim.head.count != self._count:
                self._count = claim.head.count
                self._stage.history.limit(gpu_slots(self._count * BODY.itemsize))
                if self.make_room():
                    is_newer = False
                    for newer in self._unread():
                        is_newer = True
                        yield newer
                    if is_newer:
                        return
            yield claim

    def _upload(self, claim: Claim, slot: int, world_epoch: int) -> bool:
        """Into the slot, by the shortest way that serves all who want it. False: torn meanwhile."""
        stage, count = self._stage, claim.head.count
        if not stage.needs_copies and is_drawn_as_published(stage.scene, claim.columns):
            stage.renderer.upload(slot, claim.bodies, count)
            if SCALE3 in claim.columns:
                stage.renderer.upload_scale3(slot, np.frombuffer(claim.columns[SCALE3], "<f4").reshape(count, 3))
            return claim.is_valid()
        copied = claim.copy()
        if copied is None:
            return False
        snapshot = as_drawn(replace(copied, world_epoch=world_epoch), stage.scene)
        stage.renderer.upload(slot, snapshot.bodies.view("u1").data, count)
        if SCALE3 in snapshot.columns:
            stage.renderer.upload_scale3(slot, np.asarray(snapshot.columns[SCALE3], np.float32))
        stage.add(snapshot, slot)
        return True


def gpu_slots(snapshot_bytes: int) -> int:
    """How many snapshots of this size are kept on the GPU."""
    return min(MOST_SLOTS, max(LEAST_SLOTS, GPU_BYTES // max(1, snapshot_bytes)))
