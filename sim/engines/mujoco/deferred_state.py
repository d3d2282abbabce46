"""The newest state of `data` that is not published yet: a copy of its poses, time, geoms and flexes.

`sync` checks drags, options and the model only when they may have changed. Until `until_ns` it only copies poses and
time, in half a microsecond; reading MuJoCo's attributes, a lock or numpy would take five. Whoever changes something
that `sync` must check calls `request_check`, on any thread.

Always: poses, time, geoms and flexes are of one state. `put` without geoms and flexes is inlined in `Handle.sync`,
since the call would cost a third more. `put_ns` is stored first: a reader on another thread that finds it unchanged has
read a complete state; a copy by `memoryview` is atomic for other threads.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.process.notices import print_notice
from twixt.sim.engines.mujoco.body_poses import BodyPoses, PoseArrays
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.visual.visual_marks import GeomBuffer
from twixt.sim.show.publishing import LONGEST_S

if TYPE_CHECKING:
    from mujoco import MjData

# Bytes of `mjData.time`, a double, which lies before `mjData.energy`.
TIME_BYTES = 8
# A value that no other field has.
PROBE_S = 1234.56789


Flexes = NDArray[np.float64] | None  # see `ModelSurfaces.copy_flexes`


class PoppedState(NamedTuple):
    """A deferred state without its poses. put_ns: its instant. geoms, flexes: source of its marks and surfaces; geoms
    must be released."""

    put_ns: int
    time_s: float
    geoms: GeomBuffer | None
    flexes: Flexes


class DeferredState:
    """Memory for one state.

    until_ns: until this instant `sync` may put states without any check; 0: it must check. put_ns: instant of the
    state, 0 before the first. done_ns: states up to this instant need no publish. is_model_fixed: from the last `sync`.
    poses, time: the copies; live_poses, live_time: MuJoCo's memory. is_usable: `sync` may copy it directly.
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
        self.last_time_s = 0.0  # the last one that a view can show
        self._poses, self._data, self._kept = poses, data, poses.empty()
        self._geoms: GeomBuffer | None = None
        self._flexes: Flexes = None
        # Held for a copy. Re-entrant: a signal handler may call `sync`. A `sync` that only copies does not take it.
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
        """Makes the next `sync` check everything."""
        self.until_ns = 0

    def defer_until(self, instant_ns: int) -> None:
        """Lets `sync` put states without any check until this instant, where `is_usable`."""
        if self.is_usable:
            self.until_ns = instant_ns

    def put(self, now_ns: int, geoms: GeomBuffer | None = None, flexes: Flexes = None) -> GeomBuffer | None:
        """Replaces the kept state by the present one; returns the geoms of the former."""
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
        """Drops the kept state if it is from `done_ns` or before; returns its geoms."""
        with self._lock:
            self.done_ns = done_ns
            before, self._geoms = self._geoms, None
        return before

    def pop(self, poses: PoseArrays) -> PoppedState | None:
        """Removes the state and copies its poses into `poses`. None if there is none, or if another replaced it
        meanwhile."""
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
        """The present time, seconds, as `shown_time`."""
        time_s: float = self._data.time
        if abs(time_s) < LONGEST_S:
            self.last_time_s = time_s
            return time_s
        return self.shown_time(time_s)

    def shown_time(self, time_s: float) -> float:
        """`time_s`, or, where a view cannot show it (NaN), the last valid time; reported once."""
        if abs(time_s) < LONGEST_S:
            self.last_time_s = time_s
        elif not self.is_time_reported:
            self.is_time_reported = True
            text = f"data.time is {time_s}, which is no time to be shown; the picture keeps the time {self.last_time_s:g} s"
            print_notice(text)
        return self.last_time_s


def time_memory(data: MjData) -> memoryview | None:
    """The bytes of `data.time`, valid as long as `data`; None in a version of MuJoCo where they are not found."""
    probe = mujoco.MjData(mujoco.MjModel.from_xml_string("<mujoco/>"))
    probe.time = PROBE_S
    if struct.unpack("d", _before_energy(probe))[0] != PROBE_S:
        return None
    return _before_energy(data)


def _before_energy(data: MjData) -> memoryview:
    start = data.energy.ctypes.data - TIME_BYTES
    return memoryview((ctypes.c_char * TIME_BYTES).from_address(start)).cast("B")
