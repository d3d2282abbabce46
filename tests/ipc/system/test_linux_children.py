"""Child processes, and the ends of processes that are none of ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from twixt.ipc.system import linux_children
from twixt.ipc.system.linux_children import LinuxChild as Child


def python(code: str, reads_order: bool = False) -> Child:
    return linux_children.start([sys.executable, "-c", code], dict(os.environ), reads_order, False)


@pytest.fixture
def sleeper() -> Iterator[Child]:
    child = python("import time; time.sleep(600)")
    yield child
    child.kill()
    child.wait()


def test_one_that_has_just_died_and_is_not_reaped_yet_is_not_frozen() -> None:
    child = python("pass")
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not child.is_stopped()
    assert child.wait() == 0
    assert not child.is_stopped()


def test_one_that_is_stopped_is_known_until_it_goes_on(sleeper: Child) -> None:
    assert not sleeper.is_stopped()
    os.kill(sleeper.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)
    assert sleeper.is_stopped()


def test_what_it_is_sent_is_all_that_it_reads() -> None:
    child = python("import sys; sys.exit(len(sys.stdin.read()))", reads_order=True)
    child.send(b"seventeen letters")
    assert child.wait() == 17
    child.send(b"")  # it has ended: harmless


def test_one_without_an_order_has_nothing_to_read() -> None:
    assert python("import sys; sys.exit(len(sys.stdin.read()))").wait() == 0


def test_a_process_is_seen_to_run_and_to_have_ended_before_its_parent_asks(sleeper: Child) -> None:
    assert not linux_children.wait_for_end(sleeper.pid, 0.01)
    sleeper.terminate()
    assert linux_children.wait_for_end(sleeper.pid)
    sleeper.wait()
    assert linux_children.wait_for_end(sleeper.pid)


def test_what_cannot_be_waited_for_is_an_error() -> None:
    with pytest.raises((OSError, OverflowError)):
        linux_children.wait_for_end(-1)
    with pytest.raises(OverflowError):
        linux_children.wait_for_end(1 << 70)
    with subprocess.Popen([sys.executable, "-c", "pass"]) as other:
        pass
    assert linux_children.wait_for_end(other.pid)


def test_a_python_without_pidfd_starts_children_and_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert python("pass").wait() == 0
    child = python("import time; time.sleep(600)")
    child.kill()
    assert child.wait() == -signal.SIGKILL
    with pytest.raises(OSError, match="pidfd_open"):
        linux_children.wait_for_end(os.getpid())
