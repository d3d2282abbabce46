"""Sharing of cores with physics: keeps the viewer off physics' core where physics never rests, and bounds the frame
rate where physics waits for a core nevertheless.

Samples clocks and the kernel's counts, once for `CoreChoice` and `CoreShortage` together. They decide; this module
applies their decisions to affinity masks, pacer and wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from twixt.render.cores.affinity import Affinity
from twixt.render.cores.core_choice import CoreChoice, Cores
from twixt.render.cores.core_load import CoreLoad, CoreSample, CoreUse
from twixt.render.cores.core_shortage import CoreShortage
from twixt.render.cores.thread_time import ThreadTimes

if TYPE_CHECKING:
    from twixt.ipc.session.client import Link
    from twixt.render.pacing.pacer import Pacer
    from twixt.render.pacing.wait import HybridWait

SAMPLE_NS = 100_000_000
# After this many samples in a row without a difference, as with frames that take a second each, no core is avoided any
# more: it is not known whether that still helps. A single one comes of a viewer that was stopped or made no frames.
MOST_UNKNOWN_SAMPLES = 2
NO_CORE_IS_LEFT = "no core is left to physics any more"


class CoreSharing:
    """Sharing by one frame loop: bounds its pacer, sets its wait and the process' affinity masks.

    waited_ns: returns the total time for which the threads that draw have waited for a core. is_cheapest: returns True
    if frames are drawn at the cheapest level that a shortage of cores leads to.
    """

    def __init__(
        self, link: Link, pacer: Pacer, wait: HybridWait, waited_ns: Callable[[], int], is_cheapest: Callable[[], bool]
    ) -> None:
        self.shortage = CoreShortage()
        self._pacer, self._wait, self._waited_ns, self._is_cheapest = pacer, wait, waited_ns, is_cheapest
        self._frames = self._sampled_ns = 0
        self._affinity = Affinity()
        self._avoided_ns = self._known_ns = self._unknown_samples = 0
        self.follow(link)

    def follow(self, link: Link) -> None:
        """Shares cores with another simulation from now on."""
        self.close()
        self._choice, self._load = CoreChoice(self._affinity.allowed), CoreLoad()
        self._physics = ThreadTimes(link.physics_pid)

    def close(self) -> None:
        """Restores the affinity masks. May be called again."""
        self._affinity.give_back()

    def rest(self) -> None:
        """Uses all cores again: frames have stopped, so there is nothing to keep off physics' core."""
        if self._choice.avoided:
            self._use_all_cores()

    @property
    def is_held_back(self) -> bool:
        """True while the frame rate is bounded because physics waits for a core."""
        return self.shortage.most_fps is not None

    @property
    def is_sparing(self) -> bool:
        """True if the overlay's panels are to be redrawn less often."""
        return self.is_held_back or (self.shortage.is_short and bool(self._choice.avoided))

    @property
    def status(self) -> str:
        """Cores that the viewer avoids now, in words; "" where it avoids none."""
        return words_of(self._choice.avoided)

    def conditions(self) -> list[str]:
        """Conditions for a report: the share of the time in which cores were avoided."""
        share = self._avoided_ns / self._known_ns if self._known_ns else 0.0
        if not share:
            return []
        return [f"physics never rested: for {share:.0%} of the time the viewer stayed off the core that physics ran on"]

    def frame_done(self, now_ns: int) -> None:
        """Counts a frame that was shown, and takes a sample where one is due. now_ns: instant of the swap's return."""
        self._frames += 1
        if now_ns - self._sampled_ns < SAMPLE_NS:
            return
        passed_ns, self._sampled_ns = now_ns - self._sampled_ns, now_ns
        sample = CoreSample(
            now_ns, self._frames, time.process_time_ns(), self._waited_ns(), self._physics.read(), self._is_cheapest()
        )
        use = self._load.add(sample)
        if use is None:
            self._unknown_samples += 1
            if self._unknown_samples == MOST_UNKNOWN_SAMPLES and self._choice.avoided:
                self._use_all_cores()
            return
        self._unknown_samples = 0
        self._known_ns += passed_ns
        self._avoided_ns += passed_ns * bool(self._choice.avoided)
        self._bound()
        self._avoid_busy_cores(use)

    def _bound(self) -> None:
        shortage, before = self.shortage, self.shortage.most_fps
        shortage.observe(self._load.uses)
        if shortage.most_fps != before:
            self._pacer.at_most(shortage.most_fps)
            self._wait.spins = not self.is_held_back

    def _avoid_busy_cores(self, use: CoreUse) -> None:
        choice, before = self._choice, self._choice.avoided
        if self._affinity.is_refused:
            return
        choice.allow(self._affinity.refresh())
        cores = choice.observe(self._load.uses, self._physics.cores(use.never_rested))
        if choice.avoided or before:
            self._affinity.use(cores)
            if self._affinity.is_refused:
                self._choice = CoreChoice(self._affinity.allowed)
        if bool(self._choice.avoided) != bool(before):
            self._pacer.forget_work(self.status or NO_CORE_IS_LEFT)

    def _use_all_cores(self) -> None:
        self.close()
        self._choice = CoreChoice(self._affinity.refresh())
        self._pacer.forget_work(NO_CORE_IS_LEFT)


def words_of(avoided: Cores) -> str:
    """Status line for these avoided cores; "" for none."""
    if not avoided:
        return ""
    cores = ("core " if len(avoided) == 1 else "cores ") + ", ".join(map(str, sorted(avoided)))
    return f"staying off {cores}: physics never rests there"
