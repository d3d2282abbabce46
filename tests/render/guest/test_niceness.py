"""`--viewer-nice` in a real viewer, and how it stands beside physics in the kernel's eyes."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

import pytest

from twixt.ipc.scene import Scene, Sphere
from twixt.render.guest import niceness
from twixt.sim.show import show

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
        assert view._host.viewer_came.wait(PATIENCE_S)
        process = view._showing._process
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
        f"from twixt.render.guest import niceness; import os; niceness.give_way({wanted}); "
        f"niceness.give_way({before + 3}); niceness.give_way(0); print(os.nice(0), niceness.said())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert out == f"{wanted} ['the viewer ran at nice {wanted}: programs at lower values come before it']"


def test_no_wish_changes_nothing() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    niceness.give_way(0)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
