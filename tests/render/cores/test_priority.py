"""Scheduling of a viewer's threads as the kernel and Python have it: nice values, slices, turns."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

import pytest

from twixt.ipc.scene import Scene, Sphere
from twixt.render.cores import priority
from twixt.render.cores.priority import SLICE_NS, SWITCH_S, ShortSwitchInterval, slice_ns
from twixt.sim.show.show import show

PATIENCE_S = 30.0

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="skipped: no /proc")


def nice_of_threads(pid: int) -> list[int]:
    """Of each, as the kernel has it (proc(5), field 19)."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii") as file:  # it may have ended
            found.append(int(file.read().rpartition(")")[2].split()[16]))
    return found


@needs_proc
def test_every_thread_of_a_viewer_gives_way_and_physics_none() -> None:
    if os.getpriority(os.PRIO_PROCESS, 0) >= 7:
        pytest.skip("the tests themselves run at a nice value of 7 or more")
    with show(Scene([Sphere()]), offscreen=True, viewer_nice=7) as view:
        assert view._host.viewer_attached.wait(PATIENCE_S)
        process = view._session._process
        assert process is not None
        assert min(nice_of_threads(process.pid)) == 7  # some of the driver's own give way to everything
        assert 7 not in nice_of_threads(os.getpid())
        # A session of its own would be scheduled as a group of its own, whatever its nice value.
        assert os.getsid(process.pid) == os.getsid(0)
        assert os.getpgid(process.pid) == process.pid != os.getpgid(0)


@needs_proc
def test_a_nice_value_is_only_ever_raised_and_is_said() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    if before > 14:
        pytest.skip("the tests themselves run at a nice value above 14")
    wanted = before + 5
    code = (
        f"from twixt.render.cores import priority; import os; priority.raise_nice({wanted}); "
        f"priority.raise_nice({before + 3}); priority.raise_nice(0); print(os.nice(0), priority.conditions())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert out == f"{wanted} ['the viewer ran at nice {wanted}: programs with a lower nice value run first']"


def test_no_wish_changes_nothing() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    priority.raise_nice(0)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


SLICES = """
import os, threading
from twixt.render.cores.priority import set_short_slices, slice_ns
os.nice(3)
set_short_slices()
found = [slice_ns()]
thread = threading.Thread(target=lambda: found.append(slice_ns()))
thread.start(); thread.join()
print(*found, os.nice(0))
"""


def test_a_slice_is_granted_and_inherited_and_the_nice_value_stays() -> None:
    if slice_ns() is None:
        pytest.skip("skipped: no slices of a thread's own (Linux 6.12 and later)")
    out = subprocess.run([sys.executable, "-c", SLICES], capture_output=True, text=True, check=True).stdout
    assert out.split() == [str(SLICE_NS), str(SLICE_NS), str(min(19, os.nice(0) + 3))]


def test_a_system_that_knows_no_slices_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority.platform, "machine", lambda: "some other")
    priority.set_short_slices()
    assert priority.slice_ns() is None


def test_turns_are_short_until_the_last_who_asked_for_them_is_done() -> None:
    usual_s = sys.getswitchinterval()
    first, second = ShortSwitchInterval(), ShortSwitchInterval()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_S)
    first.close()
    first.close()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_S)
    second.close()
    assert sys.getswitchinterval() == pytest.approx(usual_s)
