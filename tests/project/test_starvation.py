"""A test that load can starve measures its own starvation, and is skipped for nothing else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.starvation import LEAST_S, Starvation, family, skipped_where_starved, threads_of

# Says that it is there, then wants a core for so many seconds of it.
BUSY = """
import sys, time
print(flush=True)
sys.stdin.readline()
while time.thread_time() < {core_s}:
    pass
"""


def busy(count: int, core_s: float) -> list[subprocess.Popen[str]]:
    """Processes on one core that wait for a line to begin."""
    one_core = min(os.sched_getaffinity(0))
    made = [
        subprocess.Popen(
            [sys.executable, "-S", "-c", BUSY.format(core_s=core_s)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(count)
    ]  # fmt: skip
    for process in made:
        os.sched_setaffinity(process.pid, {one_core})
        assert process.stdout is not None
        process.stdout.readline()
    return made


def test_a_failure_of_processes_that_shared_a_core_is_a_skip_with_the_figures() -> None:
    processes = busy(3, core_s=LEAST_S)
    figures = r"waited \d+\.\d s for a core and ran \d+\.\d s: \d\d%; 3 frames late"
    with pytest.raises(pytest.skip.Exception, match=figures), skipped_where_starved():
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in processes:
            assert process.wait(60) == 0
        raise AssertionError("3 frames late")


def test_a_failure_of_who_wanted_no_core_stays_a_failure() -> None:
    with pytest.raises(AssertionError, match="3 frames late"), skipped_where_starved():
        raise AssertionError("3 frames late")


@pytest.mark.parametrize(
    ("ran_s", "waited_s", "is_starved"),
    [(10.0, 1.0, False), (1.0, 2.0, True), (LEAST_S / 4, LEAST_S / 4, False), (0.0, 0.0, False), (0.0, 5.0, True)],
)
def test_who_waited_for_a_good_part_of_what_it_wanted_was_starved(
    ran_s: float, waited_s: float, is_starved: bool
) -> None:
    assert Starvation(ran_s, waited_s).is_starved is is_starved


def test_the_family_of_a_process_are_its_children_and_theirs() -> None:
    said = "import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', 'print(1, flush=True); input()'])"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", said], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        [grandchild] = family(parent.pid) - {parent.pid}
        assert family(os.getpid()) >= {os.getpid(), parent.pid, grandchild}
        assert all(ran_ns > 0 for ran_ns, _ in threads_of(grandchild).values())
        parent.communicate("\n", timeout=30)
