"""Shares the cores with the physics process. If the physics process never rests, the viewer avoids its core. If the
physics process still waits for a core, the viewer's frame rate is limited.

`CoreSharing` samples clocks and the kernel's counts. `CoreSharing` applies the decisions of `CoreChoice` and
`CoreShortage` to the affinity masks (`Affinity`), the pacer and the wait.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from twixt.ipc.process import fork
from twixt.ipc.quantiles import median
from twixt.render.cores.load import JUDGED, LEAST_FPS, CoreLoad, CoreSample, CoreShortage, CoreUse
from twixt.render.cores.thread_time import ThreadTimes, thread_ids

if TYPE_CHECKING:
    from twixt.ipc.session.link import Link
    from twixt.render.pacing.pacer import Pacer
    from twixt.render.pacing.wait import HybridWait


SAMPLE_NS = 100_000_000
# All cores are used again after this many samples in a row that gave no difference, for example when each frame takes
# a second. A single sample without a difference is normal after the viewer was stopped or made no frames.
MOST_UNKNOWN_SAMPLES = 2
NO_CORE_IS_LEFT = "no core is left for physics"


class CoreSharing:
    """Shares cores for one frame loop: limits the rate of the loop's pacer, and sets its wait and the affinity masks
    of the process.

    waited_ns: returns the total time in ns for which the drawing threads have waited for a core. is_cheapest: returns
    True if frames are drawn at the lowest quality level that may be used during a shortage of cores.
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
        """Restores the affinity masks. May be called more than once."""
        self._affinity.restore()

    def rest(self) -> None:
        """Uses all cores again. Call this when the viewer stops making frames, because then the viewer does not
        disturb physics."""
        if self._choice.avoided:
            self._use_all_cores()

    @property
    def is_held_back(self) -> bool:
        """True while the frame rate is limited because the physics process waits for a core."""
        return self.shortage.most_fps is not None

    @property
    def is_sparing(self) -> bool:
        """True if the overlay's panels should be redrawn less often."""
        return self.is_held_back or (self.shortage.is_short and bool(self._choice.avoided))

    @property
    def status(self) -> str:
        """Cores that the viewer avoids now, in words; "" if the viewer avoids none."""
        return words_of(self._choice.avoided)

    def conditions(self) -> list[str]:
        """Conditions for a report: for which share of the time the viewer avoided cores."""
        share = self._avoided_ns / self._known_ns if self._known_ns else 0.0
        if not share:
            return []
        return [f"physics never slept, so the viewer avoided the core of physics for {share:.0%} of the time"]

    def frame_done(self, now_ns: int) -> None:
        """Counts a frame that was shown, and takes a sample if one is due. now_ns: instant at which the frame's swap
        returned."""
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
    """Status line that names the avoided cores; "" if no cores are avoided."""
    if not avoided:
        return ""
    cores = ("core " if len(avoided) == 1 else "cores ") + ", ".join(map(str, sorted(avoided)))
    return f"avoiding {cores}, where physics never sleeps"


# Affinity masks of all threads of this process are set here (Linux). The masks are narrowed for a time and then
# restored.
#
# Each thread has its own mask, and a new thread inherits the mask of the thread that starts it. So each change is made
# in all threads of the process, including the threads of the OpenGL driver.
#
# A mask can change from outside in two ways. If another program sets the mask of a thread, this mask becomes the
# thread's own mask, and is restored later. If the cpuset of the process changes (the cpuset of a container or a
# slice), the kernel reduces the requested mask to the cpuset. When the cpuset grows again, the kernel applies the
# requested mask again. A mask that the kernel reduced must not be mistaken for a mask that another program set.
#
# Always: no thread gets a core outside its own mask. After `restore`, each thread has at least its own mask. A forked
# child has no narrowed mask. On systems without affinity masks this module does nothing. Limitation: if the user's
# drawing starts another program (subprocess) while masks are narrow, the masks of this program stay narrow.


# Mask that is requested for a thread that may use its whole cpuset. The kernel ignores cores that do not exist.
EVERY: Cores = frozenset(range(max(1024, 2 * (os.cpu_count() or 1))))


class Affinity:
    """Affinity masks of this process. allowed: cores that its main thread may use; empty if the system does not report
    them. is_refused: True if the system refuses to set masks, as in some containers."""

    def __init__(self) -> None:
        self.is_refused = False
        self._own: dict[int, Cores] = {}  # own masks of the threads with a narrowed mask, to be restored later
        self._asked: dict[int, Cores] = {}  # masks that were requested for these threads
        self._set: dict[int, Cores] = {}  # masks that the kernel then set for these threads
        self._main = os.getpid()
        self._cpuset = NO_CORES  # the cpuset that the process had when masks were narrowed
        self.allowed = mask_of(self._main)
        fork.guard(self)

    def refresh(self) -> Cores:
        """Reads the affinity mask of the main thread again. Returns the cores that are allowed now."""
        mask = mask_of(self._main)
        if mask != self._set.get(self._main, self.allowed) and not self._is_cut_by_cpuset(mask):
            self.allowed = mask
            self._forget(self._main)
        return self.allowed

    def use(self, cores: Cores) -> None:
        """Narrows the mask of each thread to the cores that are both in the thread's own mask and in `cores`. If no
        core is in both, the thread's mask is not changed."""
        if self.is_refused or cores >= self.allowed:
            self.restore()
            return
        threads, narrow = thread_ids(), set(self._set.values())
        if not self._own:
            self._cpuset = self._cpuset_now(self.allowed)
        for thread in threads:
            mask = mask_of(thread)
            if mask != self._set.get(thread):
                # This thread was started after masks were narrowed, so it inherited a narrow mask. The own mask of
                # such a thread is the mask of the process.
                is_new = thread not in self._own and mask in narrow
                self._own[thread] = self.allowed if is_new else mask
            self._narrow(thread, self._own[thread] & cores, mask)
            if self.is_refused:
                self.restore()
                return
        for thread in self._own.keys() - set(threads):
            self._forget(thread)

    def restore(self) -> None:
        """Restores the affinity masks of all threads. May be called more than once."""
        narrow = set(self._set.values())
        for thread in thread_ids() if self._own else []:
            mask = mask_of(thread)
            if mask == self._set.get(thread):
                self._widen(thread, self._own[thread])
            elif thread not in self._own and mask in narrow:
                self._widen(thread, self.allowed)
        self._own, self._asked, self._set = {}, {}, {}

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self.restore()
        self._main = os.getpid()

    def _narrow(self, thread: int, wanted: Cores, mask: Cores) -> None:
        if wanted and wanted != mask:
            failed = _set_mask(thread, wanted)
            self.is_refused = failed in (errno.EPERM, errno.EACCES, errno.ENOSYS)
            if failed:
                self._forget(thread)
                return
        self._asked[thread] = self._set[thread] = wanted or mask

    def _widen(self, thread: int, own: Cores) -> None:
        """Restores the affinity mask of a thread. If the thread's own mask was the whole cpuset, the thread gets all
        cores. Its mask then grows when the cpuset grows."""
        # the cpuset no longer has these cores
        if _set_mask(thread, EVERY if own == self._cpuset else own) == errno.EINVAL:
            _set_mask(thread, EVERY)

    def _forget(self, thread: int) -> None:
        for known in (self._own, self._asked, self._set):
            known.pop(thread, None)

    def _is_cut_by_cpuset(self, mask: Cores) -> bool:
        """Returns True if the main thread's `mask` is the requested mask after a changed cpuset has reduced it. If so,
        reduces all stored masks to the new cpuset."""
        asked = self._asked.get(self._main)
        if asked is None:
            return False
        cpuset = self._cpuset_now(mask)
        if mask != (asked & cpuset or cpuset) or cpuset == self._cpuset:
            return False
        _set_mask(self._main, asked)
        had_all = self._own[self._main] == self._cpuset
        self.allowed = cpuset if had_all else (self._own[self._main] & cpuset or cpuset)
        for thread, wanted in self._asked.items():
            self._set[thread] = wanted & cpuset or cpuset
            if self._own[thread] == self._cpuset:
                self._own[thread] = cpuset
        self._cpuset = cpuset
        return True

    def _cpuset_now(self, mask: Cores) -> Cores:
        """Cores of the process' cpuset. To find them, requests all cores for the main thread, because the kernel
        reduces this request to the cpuset. Then sets the main thread's mask to `mask` again."""
        if _set_mask(self._main, EVERY):
            return NO_CORES
        cpuset = mask_of(self._main)
        if cpuset != mask:
            _set_mask(self._main, mask)
        return cpuset


def mask_of(thread: int) -> Cores:
    """Cores that a thread may use; empty if the thread has ended or the system does not report them."""
    with contextlib.suppress(OSError, AttributeError):
        return frozenset(os.sched_getaffinity(thread))
    return NO_CORES


def _set_mask(thread: int, cores: Cores) -> int:
    """Sets the affinity mask of a thread. Returns 0 or an errno. The errno has one of three causes: the thread has
    ended, none of the cores is in the cpuset, or the call is not permitted."""
    try:
        os.sched_setaffinity(thread, cores)
    except OSError as error:
        return error.errno or errno.EINVAL
    return 0


# The viewer's threads use the cores of the viewer's affinity mask, except the cores that the physics process keeps
# busy.
#
# A thread that never rests stays on its core until the scheduler puts another thread there. If the viewer avoids this
# core, the viewer runs on idle cores or takes time from another busy program, and the physics process keeps its core.
#
# - A core of the physics process is avoided if physics never rested in 3 of the last 5 differences between samples. If
#   physics moves to another core, the viewer avoids the new core instead.
# - All cores are used again in three cases: physics rests, no core would be left, or so many threads of physics never
#   rest that some of them may be unknown.
# - If frames starve on the cores that are left, all cores are used for 5 s. After each further failure, all cores are
#   used for twice as long, up to 60 s. Frames starve if two conditions hold: there are fewer than 12.8 frames per
#   second at the lowest quality level allowed, and the viewer runs or waits for a core more than half of the time.
#
# Always: `cores` is a subset of `allowed`. It is empty only if `allowed` is empty. Pure.


# In some of the last JUDGED differences between samples, physics never rested. If this number of differences is LEAVES
# or more, the viewer avoids the cores of physics. If the number is RETURNS or less, the viewer uses these cores again.
LEAVES, RETURNS = 3, 1
# Cores are avoided if at most this many threads of the physics process never rest. With more threads, some may be
# unknown, because each sample reads only `thread_time.WATCHED` threads.
MOST_THREADS = 3
# Frames starve if two conditions hold: there are fewer than RARE * LEAST_FPS per second, and the viewer runs or waits
# for a core for more than the share AT_WORK of the time. Frames that `CoreShortage` limits come at LEAST_FPS or more,
# so they do not count as starved.
RARE, AT_WORK = 0.8, 0.5
# Frames count as starved only after cores have been avoided for this long (ns), because at first the quality level
# falls.
PATIENCE_NS = 4_000_000_000
# Time (ns) for which all cores are used after frames starved: its first value and its largest value.
FIRST_PAUSE_NS, LONGEST_PAUSE_NS = 5_000_000_000, 60_000_000_000

Cores = frozenset[int]
NO_CORES: Cores = frozenset()


class CoreChoice:
    """Chooses cores for one viewer. allowed: cores of the viewer's affinity mask. cores: the cores to use."""

    def __init__(self, allowed: Cores) -> None:
        self.allowed = self.cores = allowed
        self._avoided_since_ns = 0
        self._pause_ends_ns: int | None = None
        self._pause_ns = FIRST_PAUSE_NS

    @property
    def avoided(self) -> Cores:
        """Cores of `allowed` that are not used."""
        return self.allowed - self.cores

    def allow(self, allowed: Cores) -> None:
        """Sets `allowed`. If it has changed, all allowed cores are used."""
        if allowed != self.allowed:
            self.allowed = self.cores = allowed

    def observe(self, uses: Sequence[CoreUse], busy: Sequence[int]) -> Cores:
        """Returns the cores to use. uses: the last differences between samples, at least one. busy: cores of the
        threads of physics that never rested in the last difference. Threads whose core is unknown are left out."""
        now_ns = uses[-1].now_ns
        had_avoided = bool(self.avoided)
        wanted = self._wanted(uses, busy)
        if had_avoided and uses[-1].is_cheapest and self._starves(uses):
            self._pause_ends_ns = now_ns + self._pause_ns
            self._pause_ns = min(2 * self._pause_ns, LONGEST_PAUSE_NS)
            wanted = self.allowed
        if self.allowed - wanted and not had_avoided:
            self._avoided_since_ns = now_ns
        self.cores = wanted
        return wanted

    def _wanted(self, uses: Sequence[CoreUse], busy: Sequence[int]) -> Cores:
        if self._pause_ends_ns is not None:
            if uses[-1].now_ns < self._pause_ends_ns:
                return self.allowed
            self._pause_ends_ns = None
        never_rested = sum(bool(use.never_rested) for use in uses)
        if never_rested < (LEAVES if not self.avoided else RETURNS + 1):
            return self.allowed
        if not busy:
            return self.cores
        if len(busy) > MOST_THREADS or len(busy) >= len(self.allowed):
            return self.allowed
        return self.allowed - set(busy) or self.allowed

    def _starves(self, uses: Sequence[CoreUse]) -> bool:
        if uses[-1].now_ns - self._avoided_since_ns < PATIENCE_NS or len(uses) < JUDGED:
            return False
        if median(use.fps for use in uses) >= RARE * LEAST_FPS:
            return False
        return median(use.share / max(1e-9, 1 - use.starved) for use in uses) > AT_WORK
