"""Affinity masks of real threads, and of a real viewer beside a loop that never rests."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from twixt.ipc.scene import Scene, Sphere
from twixt.render.cores.sharing import Affinity, mask_of
from twixt.render.measure.frame_log import read_log
from twixt.sim.show.show import show

OWN = mask_of(os.getpid())
pytestmark = pytest.mark.skipif(
    len(OWN) < 2 or not os.path.exists("/proc/self/schedstat"), reason="skipped: no masks, or a single core"
)
# For what the viewer is expected to do some time (seconds).
PATIENCE_S = 60.0
IN_A_PROCESS = """
import os, threading
from twixt.render.cores.sharing import Affinity, mask_of
own = sorted(mask_of(os.getpid()))
first, last = own[0], own[-1]
end = threading.Event()
def thread():
    ready = threading.Event()
    made = threading.Thread(target=lambda: (ready.set(), end.wait()), daemon=True)
    made.start(); ready.wait()
    return made.native_id
def masks(*threads): return [sorted(mask_of(one)) for one in (os.getpid(), *threads)]
before = thread()
affinity = Affinity()
"""


def in_a_process(code: str) -> list[str]:
    """What the code prints, in a process whose masks are its own."""
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS + code + "\nend.set()"], capture_output=True, text=True, check=True
    )
    return done.stdout.split("\n")[:-1]


def test_all_threads_are_narrowed_later_ones_as_well_and_get_their_own_masks_back() -> None:
    out = in_a_process(
        "affinity.use(frozenset({first})); print(masks(before) == [[first]] * 2)\n"
        "later = thread(); affinity.use(frozenset({last})); print(masks(before, later) == [[last]] * 3)\n"
        "newest = thread(); affinity.restore(); print(masks(before, later, newest) == [own] * 4)\n"
        "affinity.restore(); print(masks(before, later, newest) == [own] * 4)"
    )
    assert out == ["True"] * 4


def test_no_mask_is_widened() -> None:
    out = in_a_process(
        "os.sched_setaffinity(before, {first}); affinity.use(frozenset({last})); print(masks(before) == [[last], [first]])\n"
        "affinity.restore(); print(masks(before) == [own, [first]])\n"
        "os.sched_setaffinity(0, {first}); print(sorted(affinity.refresh()) == [first])\n"
        "affinity.use(frozenset({first, last})); print(masks() == [[first]])"
    )
    assert out == ["True"] * 4


def test_a_mask_set_from_outside_meanwhile_stays() -> None:
    out = in_a_process(
        "affinity.use(frozenset({first})); os.sched_setaffinity(0, {last})\n"
        "print(sorted(affinity.refresh()) == [last]); affinity.restore(); print(masks(before) == [[last], own])"
    )
    assert out == ["True"] * 2


def test_a_forked_child_has_no_narrowed_mask() -> None:
    out = in_a_process(
        "affinity.use(frozenset({first}))\n"
        "pid = os.fork()\n"
        "if not pid: os._exit(masks() != [own])\n"
        "print(os.waitpid(pid, 0)[1] == 0, masks(before) == [[first]] * 2)"
    )
    assert out == ["True True"]


CPUSETS = Path("/sys/fs/cgroup/cpuset")


@pytest.fixture
def cpuset() -> Iterator[Path]:
    """One of all cores, for processes to be put into."""
    made = CPUSETS / f"twixt-test-{os.getpid()}"
    try:
        made.mkdir()
        for name in ("cpuset.cpus", "cpuset.mems"):
            (made / name).write_text((CPUSETS / name).read_text())
    except OSError as error:
        pytest.skip(f"skipped: no cpuset can be made ({error.strerror})")
    yield made
    made.rmdir()


@pytest.mark.parametrize("kept", ["first", "last"])
def test_a_cpuset_that_shrinks_and_grows_is_nobodys_wish(cpuset: Path, kept: str) -> None:
    """Whether it keeps the core that threads were narrowed to, or another."""
    out = in_a_process(
        f"from pathlib import Path; cpuset = Path({str(cpuset)!r}); (cpuset / 'cgroup.procs').write_text(str(os.getpid()))\n"
        "def allow(*cores): (cpuset / 'cpuset.cpus').write_text(','.join(map(str, cores)))\n"
        "affinity.use(frozenset({first})); print(masks(before) == [[first]] * 2)\n"
        f"allow({kept}); print(sorted(affinity.refresh() & {{{kept}}}) == [{kept}]); affinity.use(affinity.allowed)\n"
        f"print(masks(before) == [[{kept}]] * 2)\n"
        "allow(*own); print(sorted(affinity.refresh()) == own); affinity.use(frozenset({last}))\n"
        "print(masks(before) == [[last]] * 2); affinity.restore(); print(masks(before) == [own] * 2)\n"
        "(cpuset.parent / 'cgroup.procs').write_text(str(os.getpid()))"
    )
    assert out == ["True"] * 6


def test_all_of_a_cpuset_given_back_grows_with_it(cpuset: Path) -> None:
    out = in_a_process(
        f"from pathlib import Path; cpuset = Path({str(cpuset)!r}); (cpuset / 'cpuset.cpus').write_text(str(own)[1:-1])\n"
        "(cpuset / 'cgroup.procs').write_text(str(os.getpid()))\n"
        "def allow(*cores): (cpuset / 'cpuset.cpus').write_text(','.join(map(str, cores)))\n"
        "affinity.use(frozenset({first})); allow(first); affinity.refresh(); affinity.restore()\n"
        "print(masks(before) == [[first]] * 2); allow(*own); print(masks(before) == [own] * 2)\n"
        "(cpuset.parent / 'cgroup.procs').write_text(str(os.getpid()))"
    )
    assert out == ["True"] * 2


REFUSED = """
import ctypes, struct
def word(code, where, other, value): return struct.pack("HBBI", code, where, other, value)
program = b"".join((
    word(0x20, 0, 0, 0), word(0x15, 0, 1, 203), word(0x06, 0, 0, 0x00050001), word(0x06, 0, 0, 0x7FFF0000)
))  # sched_setaffinity of x86-64: EPERM; all else: as ever
kept = ctypes.create_string_buffer(program)
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("words", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
print(libc.prctl(22, 2, ctypes.byref(Program(len(program) // 8, ctypes.addressof(kept))), 0, 0) == 0)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="skipped: the number of a system call is of x86-64")
def test_a_system_that_lets_nobody_narrow_masks_is_known() -> None:
    out = in_a_process(
        REFUSED
        + "affinity.use(frozenset({first})); print(affinity.is_refused, masks() == [own], affinity.refresh() == set(own))"
    )
    if out[0] != "True":
        pytest.skip("skipped: no filter of system calls can be set here")
    assert out[1] == "True True True"


def test_without_masks_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "sched_setaffinity")
    affinity = Affinity()
    assert affinity.refresh() == frozenset()
    affinity.use(frozenset({0}))
    affinity.restore()


def masks_of(pid: int) -> set[frozenset[int]]:
    """Of all threads that are still there."""
    threads: list[int] = []
    with contextlib.suppress(OSError):
        threads = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    return {mask for thread in threads if (mask := mask_of(thread))}


def test_a_viewer_stays_off_the_core_of_a_loop_that_never_rests_until_it_rests(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    position = np.random.default_rng(0).random((500, 3)) * 8
    with show(Scene([Sphere(radius=0.3)]), capacity=500, dt=1e-3, offscreen=True, log=log) as view:
        process = view._session._process
        assert process is not None

        def until(is_so: Callable[[set[frozenset[int]]], bool], rests_s: float) -> bool:
            ends_s = time.monotonic() + PATIENCE_S
            while view.is_open and time.monotonic() < ends_s:
                position[:, 0] += 1e-4
                view.publish(position=position)
                if rests_s:
                    time.sleep(rests_s)
                if is_so(masks_of(process.pid)):
                    return True
            return False

        assert until(lambda masks: len(masks) == 1 and len(min(masks)) == len(OWN) - 1, 0.0)
        assert until(lambda masks: masks == {OWN}, 0.05)
    reasons = [row.pacer_reason for row in read_log(log)]
    stays = [number for number, reason in enumerate(reasons) if "avoiding core" in reason]
    assert stays
    assert any("no core is left for physics" in reason for reason in reasons[stays[0] :])
