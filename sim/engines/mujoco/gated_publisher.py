"""Publishes the newest state of a simulation, at most so many times a second, and never waits.

The one idea: a state that no frame would show costs a copy of its poses (`state_aside`); where its marks or skins are
shown, a copy of what they are made of, too. If no other one follows, a thread publishes that copy within 50 ms: a
program that stops between two steps leaves its last state on the screen.

Always: a state is published once, and never after a newer one. The caller neither waits for this thread nor for a
viewer. The thread sleeps while nothing is put aside, and ends with the last reference to this publisher.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.config import Config
from twixt.ipc.quantiles import median
from twixt.sim.engines.mujoco.body_poses import BodyPoses, TakenPoses
from twixt.sim.engines.mujoco.model.model_surfaces import ModelSurfaces
from twixt.sim.engines.mujoco.state_aside import StateAside
from twixt.sim.engines.mujoco.visual.visual_marks import TakenGeoms, VisualMarks
from twixt.sim.show.view import View
from twixt.sim.world.marks import Marks

# Age at which a state that was put aside is published. With the thread's own wait for the processor it stays within
# 50 ms, and a loop that steps more often than 33 times a second is seldom woken for.
IDLE_NS = 30_000_000
# States a second, at most, where the user names no rate; then publishing takes at most SHARE of the wall clock, and there
# are LEAST_HZ states a second all the same: drawn between them, few look as even as many. The median of the last COSTS
# counts: the first publish after a step finds its memory cold, and costs ten times one right after another.
USUAL_HZ, LEAST_HZ, SHARE, COSTS = Config.publish_hz, 15.0, 0.01, 9
# Bodies up to which records are copied into the channel, and not written there: a copy of few costs less than to open
# a slot.
FEW = 2_000
# Wait for a publish that is under way on the other thread, seconds.
BUSY_S = 0.001

Flexes = NDArray[np.float64] | None  # see `ModelSurfaces.take`


class Shown(Protocol):
    """What of a view does not change with every step, such as its scene."""

    is_unfinished: bool  # True: something was not looked at, or has to wait

    def refresh(self, at_once: bool, is_model_fixed: bool) -> bool:
        """Replaces what has changed; True if anything was. at_once: nothing is left for later. is_model_fixed: the
        model's own changes are not looked for."""


class _Aside(NamedTuple):
    """A state put aside, with what its marks and skins are made of."""

    poses: TakenPoses
    geoms: TakenGeoms | None
    flexes: Flexes
    time_s: float
    put_ns: int
    is_published: bool  # True: only for `Shown.refresh`


def thrifty_period_ns(costs_ns: Sequence[int]) -> int:
    """Time between two states, ns, so that publishing takes `SHARE` of it; within `LEAST_HZ` and `USUAL_HZ`. Pure.

    costs_ns: durations of the last publishes.
    """
    wanted_ns = median(costs_ns) / SHARE if costs_ns else 0.0
    return round(min(max(wanted_ns, 1e9 / USUAL_HZ), 1e9 / LEAST_HZ))


class GatedPublisher:
    """Publishes states on `view`. poses, marks, surfaces: read them. time_s: returns the present simulated time,
    seconds. publish_hz: states a second at most; None: `thrifty_period_ns`. shown: is refreshed before each publish.
    aside: the memory of states without marks and skins.
    """

    def __init__(
        self,
        view: View,
        poses: BodyPoses,
        time_s: Callable[[], float],
        publish_hz: float | None,
        shown: Shown,
        marks: VisualMarks,
        surfaces: ModelSurfaces,
        aside: StateAside,
    ) -> None:
        self.published = 0
        self._plain = aside
        self._marks, self._surfaces = marks, surfaces
        self._view, self._poses, self._time_s, self._shown = view, poses, time_s, shown
        self._period_ns = round(1e9 / (publish_hz or USUAL_HZ))
        self._costs_ns: deque[int] | None = None if publish_hz else deque(maxlen=COSTS)
        self._next_ns, self._published_ns = time.perf_counter_ns(), 0
        # The state put aside with marks or skins, and spare buffers, as lists: another thread cannot come between within
        # `pop` and `append`, so that the caller needs no lock. At most one of it and of `_plain` is waiting.
        self._aside: list[_Aside] = []
        self._spare: list[TakenPoses] = []
        self._is_publishing = threading.Lock()
        self._wake, self._ended = threading.Event(), threading.Event()
        self._has_thread = False
        weakref.finalize(self, _end, self._wake, self._ended).atexit = False

    def offer(self, now_ns: int) -> None:
        """Publishes the present state, or puts it aside where it comes too early."""
        if now_ns < self._next_ns or self._is_publishing.locked():
            return self._put_aside(now_ns, self._marks.take(), is_published=False)
        # `with`, as Ctrl-C after a call of `acquire` would leave it locked for ever. It hardly ever waits, for one publish.
        with self._is_publishing:
            # On a grid, so that the mean rate is publish_hz; at most one period is made up for.
            self._next_ns = max(self._next_ns, now_ns - self._period_ns) + self._period_ns
            self._drop_aside(now_ns)  # this state is newer
            geoms = self._marks.take(is_lasting=False)
            marks = None if geoms is None else self._marks.marks(geoms)
            self._shown.refresh(False, self._plain.is_model_fixed)  # after the marks, whose labels may be new
            if self._surfaces.count:
                self._publish_surfaces(None, self._surfaces.take(), self._time_s(), marks)
            elif marks is None and self._poses.count <= FEW:
                self._view.publish_whole(self._poses.written(), self._time_s())
            else:
                with self._view.slot(self._poses.count, marks=marks, sim_time=self._time_s()) as records:
                    self._poses.write(records)
            self.published += 1
        if self._costs_ns is not None:
            self._costs_ns.append(time.perf_counter_ns() - now_ns)
            self._period_ns = thrifty_period_ns(self._costs_ns)
        if self._shown.is_unfinished:
            self._put_aside(now_ns, geoms, is_published=True)
        else:
            self._marks.give_back(geoms)

    def pass_until_next(self) -> None:
        """Has `sync` put states aside without a look until the next one is due, where that is all they need. To be
        called after `offer`."""
        if self._plain.is_usable and self._marks.is_quiet and not self._surfaces.count:
            self._plain.until_ns = self._next_ns
            self._start_wait()  # after `until_ns`: a thread that goes to sleep resets that first

    def end(self) -> None:
        """Ends the thread. Nothing that was put aside is published any more."""
        _end(self._wake, self._ended)

    @property
    def is_waiting(self) -> bool:
        """True if a state is put aside."""
        return bool(self._aside) or self._plain.is_waiting

    def publish_idle(self) -> float:
        """Publishes the state that was put aside if it is old enough; returns the seconds until the next call, 0 if
        nothing is put aside."""
        try:
            put_ns = self._plain.put_ns if self._plain.is_waiting else self._aside[-1].put_ns
        except IndexError:
            return 0.0
        age_ns = time.perf_counter_ns() - put_ns
        if age_ns < IDLE_NS:
            return (IDLE_NS - age_ns) / 1e9
        if not self._is_publishing.acquire(blocking=False):
            return BUSY_S
        try:
            aside = self._taken()
            if aside is None:  # a newer state is being put aside right now
                return BUSY_S
            self._publish_aside(aside)
        finally:
            self._is_publishing.release()
        return IDLE_NS / 1e9

    def _taken(self) -> _Aside | None:
        """Takes the state that was put aside."""
        plain, put_ns = self._plain, self._plain.put_ns
        if put_ns <= plain.done_ns:
            return self._aside.pop() if self._aside else None
        poses = self._spare.pop() if self._spare else self._poses.empty()
        time_s = plain.copy_to(poses)
        if time_s is None or plain.put_ns != put_ns:
            self._spare.append(poses)
            return None
        plain.done_ns = put_ns
        return _Aside(poses, None, None, time_s, put_ns, put_ns == self._published_ns)

    def _publish_aside(self, aside: _Aside) -> None:
        try:
            marks = None if aside.geoms is None else self._marks.marks(aside.geoms)
            if not self._shown.refresh(True, self._plain.is_model_fixed) and aside.is_published:
                return
            self._next_ns = time.perf_counter_ns() + self._period_ns
            poses = aside.poses if aside.poses.quaternion.item(0) else self._poses.present()  # after `mj_resetData`
            if self._surfaces.count:
                self._publish_surfaces(poses, aside.flexes, aside.time_s, marks)
            else:
                with self._view.slot(self._poses.count, marks=marks, sim_time=aside.time_s) as records:
                    self._poses.write_poses(records, poses)
            self.published += 1
        finally:
            self._spare.append(aside.poses)  # only now: until here it was read
            self._marks.give_back(aside.geoms)

    def _publish_surfaces(self, aside: TakenPoses | None, flexes: Flexes, time_s: float, marks: Marks | None) -> None:
        """Publishes a state of a model with skins or flexes. aside: its poses; None: the present state."""
        surfaces, bodies = self._surfaces, self._poses.count
        vertices = surfaces.vertices(self._poses.present() if aside is None else aside, flexes)
        count = bodies + surfaces.count
        with self._view.slot(count, marks=marks, surfaces=vertices or None, sim_time=time_s) as records:
            if aside is None:
                self._poses.write(records[:bodies])
            else:
                self._poses.write_poses(records[:bodies], aside)
            surfaces.write_flags(records[bodies:])
            self._poses.write_surface_epochs(records[bodies:])

    def _put_aside(self, now_ns: int, geoms: TakenGeoms | None, is_published: bool) -> None:
        if is_published:
            self._published_ns = now_ns
        if geoms is None and not self._surfaces.count and self._plain.is_usable:
            self._drop_aside(now_ns - 1)
            self._plain.put(now_ns)
        else:
            self._drop_aside(now_ns)
            poses = self._spare.pop() if self._spare else self._poses.empty()
            self._poses.copy_to(poses)
            self._aside.append(_Aside(poses, geoms, self._surfaces.take(), self._time_s(), now_ns, is_published))
        self._start_wait()

    def _drop_aside(self, done_ns: int) -> None:
        """Drops the state put aside. done_ns: as of `StateAside`."""
        self._plain.done_ns = done_ns
        try:
            older = self._aside.pop()
        except IndexError:
            return
        self._spare.append(older.poses)
        self._marks.give_back(older.geoms)

    def _start_wait(self) -> None:
        """Wakes the thread, which sleeps while nothing is put aside."""
        if not self._wake.is_set():
            if not self._has_thread:
                arguments = weakref.ref(self), self._plain, self._wake, self._ended
                threading.Thread(target=_publish_idle_states, args=arguments, name="twixt idle", daemon=True).start()
                self._has_thread = True
            self._wake.set()  # last: after an interruption before it the next call does all this


def _end(wake: threading.Event, ended: threading.Event) -> None:
    ended.set()
    wake.set()


def _publish_idle_states(
    reference: weakref.ref[GatedPublisher], plain: StateAside, wake: threading.Event, ended: threading.Event
) -> None:
    published = -1
    while wake.wait() and not ended.is_set():
        publisher = reference()
        if publisher is None:
            return
        try:
            wait_s = publisher.publish_idle()
        except Exception as error:  # such as for a model whose arrays were broken; the next `sync` may be fine
            print(
                f"twixt: the last state cannot be shown: {type(error).__name__}: {error}", file=sys.stderr, flush=True
            )
            wait_s = 0.0
        if wait_s == 0 and publisher.published == published:  # nothing came for a while: sleep until it does
            wake.clear()
            plain.look()  # so that the next `sync` wakes this thread
            if publisher.is_waiting:
                wake.set()
        published = publisher.published
        del publisher
        ended.wait(wait_s or IDLE_NS / 1e9)
