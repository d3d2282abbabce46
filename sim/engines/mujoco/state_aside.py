"""The newest state of `data`, put aside with as few instructions as there can be.

The one idea: between two publishes a `sync` has nothing to look at. Until `until_ns` it copies poses and time from one
place in memory to another, and returns: half a microsecond, where asking MuJoCo's attributes, a lock or numpy would
take five. Who has something for `sync` to look at, on whatever thread, calls `look`.

Always: poses and time of a copy are of one state. `put` is written out where it is called after each step (`Handle.sync`):
a call of it would cost a third more. `put_ns` is stored first, so that a reader on another thread that finds it
unchanged has read a whole state; a copy by `memoryview` is one operation to other threads.
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING

from twixt.ipc.process.notices import print_notice
from twixt.sim.engines.mujoco.body_poses import BodyPoses, TakenPoses
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.show.publishing import LONGEST_S

if TYPE_CHECKING:
    from mujoco import MjData

# Bytes of `mjData.time`, a double, which lies before `mjData.energy`.
TIME_BYTES = 8
# A time that no other field has.
PROBE_S = 1234.56789


class StateAside:
    """Memory for one state, and the state put aside last.

    until_ns: `sync` may put states aside without a look at anything until this instant; 0: it must look. put_ns: the
    instant of the state, 0 before the first. done_ns: states up to this instant need no publish. is_model_fixed: as
    the last `sync` said. poses, time: the copies; live_poses, live_time: MuJoCo's memory.
    """

    __slots__ = (
        "done_ns",
        "is_model_fixed",
        "is_time_said",
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
        self.is_model_fixed = self.is_time_said = False
        self.last_time_s = 0.0  # that a view could have
        live_time, live_poses = time_memory(data), poses.memory()
        self.is_usable = live_time is not None and live_poses is not None
        self.live_time = memoryview(bytes(TIME_BYTES)) if live_time is None else live_time
        self.live_poses = memoryview(b"") if live_poses is None else live_poses
        self.time, self.poses = memoryview(bytearray(TIME_BYTES)), memoryview(bytearray(len(self.live_poses)))

    @property
    def is_waiting(self) -> bool:
        """True if there is a state that may have to be published."""
        return self.put_ns > self.done_ns

    def look(self) -> None:
        """Has the next `sync` look at everything."""
        self.until_ns = 0

    def put(self, now_ns: int) -> None:
        """Puts the present state aside."""
        self.put_ns = now_ns
        self.poses[:] = self.live_poses
        self.time[:] = self.live_time

    def copy_to(self, poses: TakenPoses) -> float | None:
        """Copies the poses; returns the state's time, seconds. None where another state came between."""
        put_ns = self.put_ns
        assert poses.memory is not None  # as `is_usable`
        poses.memory[:] = self.poses
        (time_s,) = struct.unpack("d", self.time)
        return self.shown_time(time_s) if self.put_ns == put_ns else None

    def shown_time(self, time_s: float) -> float:
        """`time_s`, or where a view cannot have that time (NaN), the last one that it could; said once."""
        if abs(time_s) < LONGEST_S:
            self.last_time_s = time_s
        elif not self.is_time_said:
            self.is_time_said = True
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
