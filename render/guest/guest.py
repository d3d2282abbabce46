"""The viewer as physics' guest: looks now and then who waits for a core, stays off physics' own where physics never
rests, and draws fewer frames where physics waits all the same.

Reads clocks and the kernel's counts; what follows from them is `CoreChoice`'s and `Shortage`'s.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from twixt.render.guest.affinity import Affinity
from twixt.render.guest.cores import CoreChoice, Cores
from twixt.render.guest.shortage import Look, Shortage
from twixt.render.guest.threads import ThreadTimes

if TYPE_CHECKING:
    from twixt.ipc.link import Link
    from twixt.render.pacing.pacer import Pacer
    from twixt.render.pacing.wait import HybridWait

LOOK_NS = 100_000_000


class Guest:
    """Of one frame loop, whose pacer and wait it tells.

    waited_ns: for how long the threads that draw have waited for a core, all in all. is_cheapest: whether frames are
    drawn as cheaply as short cores ask for.
    """

    def __init__(
        self, link: Link, pacer: Pacer, wait: HybridWait, waited_ns: Callable[[], int], is_cheapest: Callable[[], bool]
    ) -> None:
        self.shortage = Shortage()
        self._pacer, self._wait, self._waited_ns, self._is_cheapest = pacer, wait, waited_ns, is_cheapest
        self._frames = self._looked_ns = 0
        self._affinity = Affinity()
        self._choice = CoreChoice(self._affinity.allowed)
        self._left_ns = self._known_ns = 0
        self.follow(link)

    def follow(self, link: Link) -> None:
        """Goes on as the guest of another simulation."""
        self.close()
        self._choice = CoreChoice(self._affinity.allowed)
        self._physics = ThreadTimes(link.physics_pid)

    def close(self) -> None:
        """Gives the cores back that were left to physics. Harmless twice."""
        self._affinity.give_back()

    @property
    def is_taking(self) -> bool:
        """Whether physics waits for the core that this viewer draws on, so that frames are held back."""
        return self.shortage.most_fps is not None

    @property
    def is_sparing(self) -> bool:
        """Whether what need not be drawn in each frame is drawn more seldom."""
        return self.is_taking or (self.shortage.is_short and bool(self._choice.left))

    @property
    def said(self) -> str:
        """What is done for physics now, in words; empty: nothing is."""
        return words_of(self._choice.left)

    def summary(self) -> list[str]:
        """Of the conditions of a report: for which share of the time cores were left to physics."""
        share = self._left_ns / self._known_ns if self._known_ns else 0.0
        if not share:
            return []
        return [f"physics never rested: for {share:.0%} of the time the viewer stayed off the core that physics ran on"]

    def frame_done(self, now_ns: int) -> None:
        """A frame was shown."""
        self._frames += 1
        if now_ns - self._looked_ns < LOOK_NS:
            return
        passed_ns, self._looked_ns = now_ns - self._looked_ns if self._looked_ns else 0, now_ns
        self._known_ns += passed_ns
        self._left_ns += passed_ns * bool(self._choice.left)
        look = Look(
            now_ns, self._frames, time.process_time_ns(), self._waited_ns(), self._physics.take(),
            self._physics.cores(), self._is_cheapest(),
        )  # fmt: skip
        self._bound(look)
        self._stay_off(look)

    def _bound(self, look: Look) -> None:
        shortage, before = self.shortage, self.shortage.most_fps
        shortage.observe(look)
        if shortage.most_fps != before:
            self._pacer.at_most(shortage.most_fps)
            self._wait.spins = not self.is_taking

    def _stay_off(self, look: Look) -> None:
        choice, before = self._choice, self._choice.left
        choice.allow(self._affinity.look())
        cores = choice.observe(look)
        if choice.left or before:
            self._affinity.use(cores)
        if bool(choice.left) != bool(before):
            self._pacer.forget_work(self.said or "no core is left to physics any more")


def words_of(left: Cores) -> str:
    """Of the cores that are left to physics."""
    if not left:
        return ""
    cores = ("core " if len(left) == 1 else "cores ") + ", ".join(map(str, sorted(left)))
    return f"staying off {cores}: physics never rests there"
