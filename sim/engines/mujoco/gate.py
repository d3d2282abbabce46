"""Rate limit of a passive viewer: publishes the newest state or defers it, and never waits.

Deferring a state costs a copy of its poses (`deferred_state`), and of its geoms and flexes where marks or flexes are
shown. If no newer state follows, a thread publishes that copy within 50 ms: a program that stops between two steps
leaves its last state on the screen.

Always: a state is published once, and never after a newer one. The caller waits neither for this thread nor for a
viewer. The thread sleeps while no state is deferred, and ends with the last reference to this publisher.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

from twixt.ipc.process.notices import print_notice
from twixt.sim.engines.mujoco.body_poses import BodyPoses, PoseArrays
from twixt.sim.engines.mujoco.deferred_state import DeferredState, Flexes, PoppedState
from twixt.sim.engines.mujoco.model.model_surfaces import ModelSurfaces
from twixt.sim.engines.mujoco.visual.visual_marks import GeomBuffer, VisualMarks
from twixt.sim.publish.limits import PublishGate
from twixt.sim.show.publishing import SlotBlock
from twixt.sim.show.view import View
from twixt.sim.world.marks import Marks

# Age at which a deferred state is published. With the thread's own wait for the processor it stays within
# 50 ms, and it seldom runs beside a loop of more than 33 steps a second.
IDLE_NS = 30_000_000
# Wait for a publish that is under way on the other thread, seconds.
BUSY_S = 0.001


class Shown(Protocol):
    """Scene, camera and options of a view."""

    is_unfinished: bool  # True: a check or a change was postponed

    def refresh(self, at_once: bool, is_model_fixed: bool) -> bool:
        """Publishes what has changed; True if anything did. at_once: postpones nothing. is_model_fixed: does not check
        the model's arrays."""


class GatedPublisher:
    """Publishes states on `view`. poses, marks, surfaces: readers of the state. publish_hz: see `PublishGate`. shown:
    is refreshed before each publish. deferred: memory of a state that comes too early.
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
        deferred: DeferredState,
    ) -> None:
        self.published = 0
        self._deferred = deferred
        self._marks, self._surfaces = marks, surfaces
        self._view, self._poses, self._time_s, self._shown = view, poses, time_s, shown
        self._gate = PublishGate(publish_hz, time.perf_counter_ns())
        self._published_ns = 0  # instant of a state that is published, except for a postponed `Shown.refresh`
        self._popped_poses = poses.empty()
        self._is_publishing = threading.Lock()
        self._wake, self._ended = threading.Event(), threading.Event()
        self._has_thread = False
        weakref.finalize(self, _end, self._wake, self._ended).atexit = False

    def publish_or_defer(self, now_ns: int) -> None:
        """Publishes the present state, or defers it where it comes too early."""
        if now_ns < self._gate.next_ns or self._is_publishing.locked():
            return self._defer(now_ns, self._marks.copy_geoms())
        # `with`: Ctrl-C after a call of `acquire` would leave it locked for ever. It rarely waits, for one publish at
        # most.
        with self._is_publishing:
            self._gate.record(now_ns)
            if (older := self._deferred.drop(now_ns)) is not None:  # this state is newer
                self._marks.release_geoms(older)
            geoms = self._marks.copy_geoms(is_lasting=False)
            marks = None if geoms is None else self._marks.marks(geoms)
            self._shown.refresh(False, self._deferred.is_model_fixed)  # after the marks, whose labels may be new
            flexes = self._surfaces.copy_flexes() if self._surfaces.count else None
            self._publish(None, flexes, self._time_s(), marks)
        self._gate.record_cost(now_ns, time.perf_counter_ns())
        if self._shown.is_unfinished:
            self._published_ns = now_ns
            self._defer(now_ns, geoms)
        elif geoms is not None:
            self._marks.release_geoms(geoms)

    def defer_until_next(self) -> None:
        """Lets `sync` put states without any check until the next publish is due, if they need only poses and time.
        Call it after `publish_or_defer`."""
        if self._marks.is_quiet and not self._surfaces.count:
            self._deferred.defer_until(self._gate.next_ns)
            if not self._wake.is_set():  # order: a thread that goes to sleep clears `_wake` before it requests a check
                self._start_wait()

    def end(self) -> None:
        """Ends the thread. A deferred state is dropped."""
        _end(self._wake, self._ended)

    def publish_idle(self) -> float:
        """Publishes the deferred state if it is old enough; returns the seconds until the next call, 0 if there is
        none."""
        deferred = self._deferred
        if not deferred.has_pending:
            return 0.0
        age_ns = time.perf_counter_ns() - deferred.put_ns
        if age_ns < IDLE_NS:
            return (IDLE_NS - age_ns) / 1e9
        if not self._is_publishing.acquire(blocking=False):
            return BUSY_S
        try:
            state = deferred.pop(self._popped_poses)
            if state is None:  # a newer state is being put right now
                return BUSY_S
            self._publish_deferred(state)
        finally:
            self._is_publishing.release()
        return IDLE_NS / 1e9

    def _publish_deferred(self, state: PoppedState) -> None:
        try:
            marks = None if state.geoms is None else self._marks.marks(state.geoms)
            is_changed = self._shown.refresh(True, self._deferred.is_model_fixed)
            if not is_changed and state.put_ns == self._published_ns:
                return
            self._gate.restart(time.perf_counter_ns())
            poses = self._popped_poses
            if not poses.quaternion.item(0):  # after `mj_resetData`
                poses = self._poses.present()
            self._publish(poses, state.flexes, state.time_s, marks)
        finally:
            self._marks.release_geoms(state.geoms)  # last: the marks were made from them

    def _publish(self, poses: PoseArrays | None, flexes: Flexes, time_s: float, marks: Marks | None) -> None:
        """Publishes a state with these poses; None: the present ones, with velocities."""
        surfaces, bodies = self._surfaces, self._poses.count
        vertices = None
        if surfaces.count:
            vertices = surfaces.vertices(self._poses.present() if poses is None else poses, flexes) or None
        with SlotBlock(self._view, bodies + surfaces.count, None, marks, vertices, time_s) as slot:
            if slot is None:
                return
            if poses is not None:
                self._poses.write_poses(slot.records[:bodies], poses)
            elif surfaces.count:
                self._poses.write(slot.records[:bodies])
            else:
                self._poses.write_into(slot)
            if surfaces.count:
                surfaces.write_flags(slot.records[bodies:])
                self._poses.write_surface_epochs(slot.records[bodies:])
        self.published += 1

    def _defer(self, now_ns: int, geoms: GeomBuffer | None) -> None:
        flexes = self._surfaces.copy_flexes() if self._surfaces.count else None
        if (older := self._deferred.put(now_ns, geoms, flexes)) is not None:
            self._marks.release_geoms(older)
        if not self._wake.is_set():
            self._start_wait()

    def _start_wait(self) -> None:
        """Wakes the thread, which sleeps while no state is deferred."""
        if not self._has_thread:
            arguments = weakref.ref(self), self._deferred, self._wake, self._ended
            threading.Thread(target=_publish_idle_states, args=arguments, name="twixt idle", daemon=True).start()
            self._has_thread = True
        self._wake.set()  # last: after an interruption the next call repeats this


def _end(wake: threading.Event, ended: threading.Event) -> None:
    ended.set()
    wake.set()


def _publish_idle_states(
    reference: weakref.ref[GatedPublisher], deferred: DeferredState, wake: threading.Event, ended: threading.Event
) -> None:
    published = -1
    while wake.wait() and not ended.is_set():
        publisher = reference()
        if publisher is None:
            return
        try:
            wait_s = publisher.publish_idle()
        except Exception as error:  # for example invalid arrays of a model; the next `sync` may succeed
            print_notice(f"the last state cannot be shown: {type(error).__name__}: {error}")
            wait_s = 0.0
        if wait_s == 0 and publisher.published == published:  # no state for a while: sleep until the next one
            wake.clear()
            deferred.request_check()  # so that the next `sync` wakes this thread
            if deferred.has_pending:
                wake.set()
        published = publisher.published
        del publisher
        ended.wait(wait_s or IDLE_NS / 1e9)
