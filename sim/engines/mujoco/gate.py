"""This module limits the rate at which a passive viewer publishes. Each new state is published or deferred, without
waiting.

To defer a state means to copy the state's poses. If marks or flexes are shown, the state's geoms or flexes are copied
as well. If no newer state follows, a thread publishes the copy within 50 ms. So when a program stops between two
steps, the screen shows the last state.

Always: a state is published at most one time, and never after a newer state. The caller does not wait for the thread
or for a viewer. The thread sleeps while no state is deferred. The thread ends when the publisher is garbage-collected.
"""

from __future__ import annotations

import ctypes
import struct
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.ipc.process.notices import print_notice
from twixt.sim.engines.mujoco.body_poses import BodyPoses, PoseArrays
from twixt.sim.engines.mujoco.model.model_surfaces import ModelSurfaces
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.visual.visual_marks import GeomBuffer, VisualMarks
from twixt.sim.publish.limits import PublishGate
from twixt.sim.show.publishing import LONGEST_S, SlotBlock
from twixt.sim.show.view import View
from twixt.sim.world.marks import Marks

if TYPE_CHECKING:
    from mujoco import MjData


# Age in ns at which a deferred state is published. Even if the thread has to wait for a processor, the state is
# published within 50 ms. In a loop with more than 33 steps a second, newer states usually come first, and the thread
# seldom publishes.
IDLE_NS = 30_000_000
# Pause in seconds before the next attempt to publish, if the other thread is publishing.
BUSY_S = 0.001


class Shown(Protocol):
    """Scene, camera and options of a view."""

    is_unfinished: bool  # True if `refresh` has postponed a check or a change

    def refresh(self, at_once: bool, is_model_fixed: bool) -> bool:
        """Publishes all changes. Returns True if there were changes. at_once: if True, no change is postponed.
        is_model_fixed: if True, the model's arrays are not checked for changes."""


class GatedPublisher:
    """Publishes states on `view`. poses, marks, surfaces: objects that read a state. publish_hz: see `PublishGate`.
    shown: object that is refreshed before each publish. deferred: memory for a state that comes before the next
    publish is due.
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
        self._published_ns = 0  # `put_ns` of the last published state whose refresh was postponed
        self._popped_poses = poses.empty()
        self._is_publishing = threading.Lock()
        self._wake, self._ended = InterruptibleEvent(), InterruptibleEvent()
        self._has_thread = False
        weakref.finalize(self, _end, self._wake, self._ended).atexit = False

    def publish_or_defer(self, now_ns: int) -> None:
        """Publishes the current state, or defers it if the next publish is not due yet."""
        if now_ns < self._gate.next_ns or self._is_publishing.locked():
            return self._defer(now_ns, self._marks.copy_geoms())
        # A `with` block is used because Ctrl-C right after a call of `acquire` would leave the lock locked for ever.
        # The `with` block rarely waits, and at most for one publish.
        with self._is_publishing:
            self._gate.record(now_ns)
            # the current state is newer than the deferred state
            if (older := self._deferred.drop(now_ns)) is not None:
                self._marks.release_geoms(older)
            geoms = self._marks.copy_geoms(is_lasting=False)
            marks = None if geoms is None else self._marks.marks(geoms)
            # This call comes after the marks are made, because the marks may have new labels.
            self._shown.refresh(False, self._deferred.is_model_fixed)
            flexes = self._surfaces.copy_flexes() if self._surfaces.count else None
            self._publish(None, flexes, self._time_s(), marks)
        self._gate.record_cost(now_ns, time.perf_counter_ns())
        if self._shown.is_unfinished:
            self._published_ns = now_ns
            self._defer(now_ns, geoms)
        elif geoms is not None:
            self._marks.release_geoms(geoms)

    def defer_until_next(self) -> None:
        """Lets `sync` store states without any check until the next publish is due. This is done only if a state has
        nothing but poses and time. Call this method after `publish_or_defer`."""
        if self._marks.is_quiet and not self._surfaces.count:
            self._deferred.defer_until(self._gate.next_ns)
            if not self._wake.is_set:  # tested last, because the thread clears `_wake` before it requests a check
                self._start_wait()

    def end(self) -> None:
        """Ends the thread. A deferred state is dropped."""
        _end(self._wake, self._ended)

    def publish_idle(self) -> float:
        """Publishes the deferred state if it is old enough. Returns the time in seconds after which to call this
        method again. Returns 0 if no state is deferred."""
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
            if state is None:  # another thread is storing a newer state now
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
            if not poses.quaternion.item(0):  # the quaternion is 0 after `mj_resetData`
                poses = self._poses.present()
            self._publish(poses, state.flexes, state.time_s, marks)
        finally:
            self._marks.release_geoms(state.geoms)  # released last, because the marks were made from these geoms

    def _publish(self, poses: PoseArrays | None, flexes: Flexes, time_s: float, marks: Marks | None) -> None:
        """Publishes a state. poses: poses of the state. If `poses` is None, the current poses and velocities are
        used."""
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
        if not self._wake.is_set:
            self._start_wait()

    def _start_wait(self) -> None:
        """Wakes the thread, and starts it at the first call."""
        if not self._has_thread:
            arguments = weakref.ref(self), self._deferred, self._wake, self._ended
            threading.Thread(target=_publish_idle_states, args=arguments, name="twixt idle", daemon=True).start()
            self._has_thread = True
        self._wake.set()  # set last: after an interruption the next call repeats the whole block


def _end(wake: InterruptibleEvent, ended: InterruptibleEvent) -> None:
    ended.set()
    wake.set()


def _publish_idle_states(
    reference: weakref.ref[GatedPublisher], deferred: DeferredState, wake: InterruptibleEvent, ended: InterruptibleEvent
) -> None:
    published = -1
    while wake.wait() and not ended.is_set:
        publisher = reference()
        if publisher is None:
            return
        try:
            wait_s = publisher.publish_idle()
        except Exception as error:  # for example an invalid array in the model; the next `sync` may succeed
            print_notice(f"the last state cannot be shown: {type(error).__name__}: {error}")
            wait_s = 0.0
        # no state came for a while, so sleep until the next state comes
        if wait_s == 0 and publisher.published == published:
            wake.clear()
            deferred.request_check()  # after this call the next `sync` runs its checks and wakes this thread
            if deferred.has_pending:
                wake.set()
        published = publisher.published
        del publisher
        ended.wait(wait_s or IDLE_NS / 1e9)


# The deferred state is the newest state of `data` that is not published yet. It is a copy of the state's poses, time,
# geoms and flexes.
#
# `sync` checks drags, options and the model only when they may have changed. Until `until_ns`, `sync` only copies
# poses and time. The copy takes half a microsecond. If it used a lock, numpy or MuJoCo's attributes, the copy would
# take five microseconds. Code that changes something that `sync` must check calls `request_check`. Any thread may call
# it.
#
# Always: poses, time, geoms and flexes belong to the same state. The code of `put`, without geoms and flexes, is
# repeated in `Handle.sync`, because a call of `put` would cost a third more. `put_ns` is stored first, and a copy by
# `memoryview` is atomic for other threads. So if a reader on another thread finds `put_ns` unchanged after reading,
# the reader has read a complete state.


# Size of `mjData.time` in bytes. The field is a double, directly before `mjData.energy`.
TIME_BYTES = 8
# Simulated time in seconds that is written to be searched in memory. No other field contains this value by chance.
PROBE_S = 1234.56789


Flexes = NDArray[np.float64] | None  # vertices that `ModelSurfaces.copy_flexes` returns


class PoppedState(NamedTuple):
    """A deferred state without its poses. put_ns: instant at which the state was stored. geoms, flexes: copies for the
    marks and surfaces of the state. The caller must release the geoms."""

    put_ns: int
    time_s: float
    geoms: GeomBuffer | None
    flexes: Flexes


class DeferredState:
    """Memory for one deferred state.

    until_ns: instant until which `sync` may store states without any check; 0 if `sync` must check. put_ns: instant at
    which the state was stored; 0 before the first state. done_ns: states that were stored up to this instant need no
    publish. is_model_fixed: argument `state_only` of the last `sync`. poses, time: copies of poses and time.
    live_poses, live_time: MuJoCo's memory. is_usable: True if `sync` may copy from MuJoCo's memory directly.
    """

    __slots__ = (
        "_data",
        "_flexes",
        "_geoms",
        "_kept",
        "_lock",
        "_poses",
        "done_ns",
        "is_model_fixed",
        "is_time_reported",
        "is_usable",
        "last_time_s",
        "live_poses",
        "live_time",
        "poses",
        "put_ns",
        "time",
        "until_ns",
    )

    def __init__(self, poses: BodyPoses, data: MjData) -> None:
        self.until_ns = self.put_ns = self.done_ns = 0
        self.is_model_fixed = self.is_time_reported = False
        self.last_time_s = 0.0  # the last simulated time that a view could show
        self._poses, self._data, self._kept = poses, data, poses.empty()
        self._geoms: GeomBuffer | None = None
        self._flexes: Flexes = None
        # A thread holds the lock during a copy. The code of `put` that is repeated in `sync` does not hold it. The
        # lock is re-entrant, because a signal handler may call `sync`.
        self._lock = threading.RLock()
        live_time, live_poses = time_memory(data), poses.memory()
        self.is_usable = live_time is not None and live_poses is not None
        self.time = memoryview(bytearray(TIME_BYTES))
        self.live_time = self.time if live_time is None else live_time
        self.live_poses = memoryview(b"") if live_poses is None else live_poses
        self.poses = memoryview(bytearray()) if self._kept.memory is None else self._kept.memory

    @property
    def has_pending(self) -> bool:
        """True if a state may still have to be published."""
        return self.put_ns > self.done_ns

    def request_check(self) -> None:
        """Makes the next `sync` run all its checks."""
        self.until_ns = 0

    def defer_until(self, instant_ns: int) -> None:
        """Lets `sync` store states without any check until this instant. This has an effect only if `is_usable` is
        True."""
        if self.is_usable:
            self.until_ns = instant_ns

    def put(self, now_ns: int, geoms: GeomBuffer | None = None, flexes: Flexes = None) -> GeomBuffer | None:
        """Stores the current state in place of the stored state. Returns the geoms of the replaced state."""
        with self._lock:
            before, self._geoms, self._flexes = self._geoms, geoms, flexes
            self.done_ns = now_ns - 1
            self.put_ns = now_ns
            if self.is_usable:
                self.poses[:] = self.live_poses
                self.time[:] = self.live_time
            else:
                self._poses.copy_to(self._kept)
                struct.pack_into("d", self.time, 0, self._data.time)
        return before

    def drop(self, done_ns: int) -> GeomBuffer | None:
        """Drops the stored state if it was stored at `done_ns` or earlier. Returns the geoms of the dropped state."""
        with self._lock:
            self.done_ns = done_ns
            before, self._geoms = self._geoms, None
        return before

    def pop(self, poses: PoseArrays) -> PoppedState | None:
        """Removes the state and copies its poses into `poses`. Returns None if there is no state, or if another thread
        replaced the state meanwhile."""
        with self._lock:
            put_ns = self.put_ns
            if put_ns <= self.done_ns:
                return None
            self._kept.copy_to(poses)
            (time_s,) = struct.unpack("d", self.time)
            if self.put_ns != put_ns:
                return None
            self.done_ns = put_ns
            geoms, self._geoms = self._geoms, None
        return PoppedState(put_ns, self.shown_time(time_s), geoms, self._flexes)

    def present_time(self) -> float:
        """Returns the current `data.time` in seconds. If a view cannot show this time, returns the last valid time
        (see `shown_time`)."""
        time_s: float = self._data.time
        if abs(time_s) < LONGEST_S:
            self.last_time_s = time_s
            return time_s
        return self.shown_time(time_s)

    def shown_time(self, time_s: float) -> float:
        """Returns `time_s` if a view can show this time, else the last valid time. A time that cannot be shown (NaN,
        for example) is reported one time."""
        if abs(time_s) < LONGEST_S:
            self.last_time_s = time_s
        elif not self.is_time_reported:
            self.is_time_reported = True
            text = f"data.time is {time_s}, which cannot be shown; the picture keeps the time {self.last_time_s:g} s"
            print_notice(text)
        return self.last_time_s


def time_memory(data: MjData) -> memoryview | None:
    """Returns the bytes of `data.time`. They are valid as long as `data` exists. Returns None if these bytes are not
    found in this version of MuJoCo."""
    probe = mujoco.MjData(mujoco.MjModel.from_xml_string("<mujoco/>"))
    probe.time = PROBE_S
    if struct.unpack("d", _before_energy(probe))[0] != PROBE_S:
        return None
    return _before_energy(data)


def _before_energy(data: MjData) -> memoryview:
    start = data.energy.ctypes.data - TIME_BYTES
    return memoryview((ctypes.c_char * TIME_BYTES).from_address(start)).cast("B")
