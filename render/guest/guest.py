"""The viewer as physics' guest: looks now and then who waits for a core, and draws fewer frames where physics does.

Reads clocks and the kernel's counts; what follows from them is `Shortage`'s.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from twixt.render.guest.shortage import Look, Shortage
from twixt.render.guest.threads import ThreadTimes

if TYPE_CHECKING:
    from twixt.ipc.link import Link
    from twixt.render.pacing.pacer import Pacer
    from twixt.render.pacing.wait import HybridWait

LOOK_NS = 100_000_000


class Guest:
    """Of one frame loop, whose pacer and wait it tells.

    waited_ns: for how long the threads that draw have waited for a core, all in all.
    """

    def __init__(self, link: Link, pacer: Pacer, wait: HybridWait, waited_ns: Callable[[], int]) -> None:
        self.shortage = Shortage()
        self._pacer, self._wait, self._waited_ns = pacer, wait, waited_ns
        self._frames = self._looked_ns = 0
        self.follow(link)

    def follow(self, link: Link) -> None:
        """Goes on as the guest of another simulation."""
        self._physics = ThreadTimes(link.physics_pid)

    @property
    def is_taking(self) -> bool:
        """Whether physics waits for the core that this viewer draws on, so that frames are held back."""
        return self.shortage.most_fps is not None

    def frame_done(self, now_ns: int) -> None:
        """A frame was shown."""
        self._frames += 1
        if now_ns - self._looked_ns < LOOK_NS:
            return
        self._looked_ns = now_ns
        shortage, before = self.shortage, self.shortage.most_fps
        shortage.observe(Look(now_ns, self._frames, time.process_time_ns(), self._waited_ns(), self._physics.take()))
        if shortage.most_fps != before:
            self._pacer.at_most(shortage.most_fps)
            self._wait.spins = not self.is_taking
