"""What a forked child drops, whichever thread forked it, and at whatever instant."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ipc.forks import forks, kept
from tests.ipc.ring.test_memory import SIZE, descriptors_of, in_forked_child, inode_of
from twixt.ipc.process import fork
from twixt.ipc.process.interrupts import CtrlCRecorder
from twixt.ipc.ring import memory
from twixt.ipc.system import linux_memory, linux_names
from twixt.ipc.trace.spans import PHYSICS, STEP, SpanMemory

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
BOUND_S = 60


def in_thread(act: Callable[[], str]) -> str:
    """What `act` says in a thread of its own."""
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(act()))
    thread.start()
    thread.join(BOUND_S)
    return said[0]


class Owner:
    """Drops itself loudly."""

    def __init__(self, name: str, dropped: list[str]) -> None:
        self.name, self.dropped = name, dropped
        fork.guard(self)

    def close_in_child(self) -> None:
        self.dropped.append(self.name)
        if self.name == "faulty":
            raise ValueError("a fault of ours")


@pytest.mark.parametrize("forked_by", [lambda act: act(), in_thread], ids=["main thread", "another thread"])
def test_a_child_drops_all_the_newest_first_whichever_thread_forked_it(
    forked_by: Callable[[Callable[[], str]], str],
) -> None:
    dropped: list[str] = []
    owners = [Owner(name, dropped) for name in ("old", "faulty", "new")]
    assert forked_by(lambda: in_forked_child(lambda: f"{dropped} {fork.is_forking()}")) == (
        "['new', 'faulty', 'old'] False"
    )
    assert (dropped, len(owners), fork.is_forking()) == ([], 3, False)


def test_nobody_forks_while_something_is_made() -> None:
    dropped: list[str] = []
    owners: list[Owner] = []
    with fork.LOCK:
        with fork.LOCK:  # as a signal's handler would, in the middle
            said: list[str] = []
            thread = threading.Thread(target=lambda: said.append(in_forked_child(lambda: str(dropped))))
            thread.start()
            thread.join(0.05)
            owners.append(Owner("made meanwhile", dropped))
        assert said == []
    thread.join(BOUND_S)
    assert said == ["['made meanwhile']"]


@pytest.fixture
def heard() -> Iterator[socket.socket]:
    """Where the numbers of signals go that this process handles."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    before_fd = signal.set_wakeup_fd(theirs.fileno())
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    fork.block_during_fork([signal.SIGTERM])
    yield ours
    fork.block_during_fork([])
    signal.signal(signal.SIGTERM, before)
    signal.set_wakeup_fd(before_fd)
    ours.close()
    theirs.close()


def test_a_signal_to_a_child_that_has_not_dropped_our_handler_yet_is_the_childs_own(heard: socket.socket) -> None:
    class Handler:
        def close_in_child(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    handler = Handler()
    fork.guard(handler)
    assert in_forked_child(lambda: "lived on") == f" (child ended with status {signal.SIGTERM})"
    with pytest.raises(BlockingIOError):
        heard.recv(1)
    signal.raise_signal(signal.SIGTERM)  # and the parent's is heard as before
    assert heard.recv(1) == bytes([signal.SIGTERM])


def test_ctrl_c_that_comes_to_a_child_is_not_noted_by_its_parent() -> None:
    def verdict() -> str:
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.raise_signal(signal.SIGINT)
        return str(signal.set_wakeup_fd(-1))

    with CtrlCRecorder() as ctrl_c:
        assert in_forked_child(verdict) == "-1"
        assert not ctrl_c.was_received


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("where", "instant"), [(linux_memory, "new_memory"), (linux_memory, "map_shared"), (os, "posix_fallocate")]
)
def test_a_child_forked_while_memory_is_made_keeps_none_of_it(
    monkeypatch: pytest.MonkeyPatch, where: Any, instant: str
) -> None:
    do, others, said = getattr(where, instant), in_forked_child(lambda: str(kept())), []

    def and_then_somebody_forks(*arguments: object) -> object:
        made = do(*arguments)
        said.append(in_thread(lambda: in_forked_child(lambda: str(kept()))))
        return made

    monkeypatch.setattr(where, instant, and_then_somebody_forks)
    memory.create(SIZE).close()
    assert said == [others]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_descriptor_of_memory_that_is_on_its_way_is_not_kept() -> None:
    made = memory.create(SIZE)
    inode = inode_of(made.read_only_fd())
    received = os.dup(made.read_only_fd())
    assert in_forked_child(lambda: str(descriptors_of(inode))) == "[]"
    os.close(received)
    made.close()


def test_a_child_forked_while_the_folder_of_names_is_locked_does_not_keep_the_lock(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    child = 0
    try:
        with linux_names._locked(str(tmp_path)):
            child = os.fork()
            if child == 0:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            assert os.listdir(f"/proc/{child}/fd")
        with linux_names._locked(str(tmp_path), 1.0):
            pass
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)


def test_a_child_forked_while_a_long_address_is_in_use_does_not_keep_the_folder(tmp_path: Path) -> None:
    with linux_names._address(str(tmp_path / ("x" * 120))) as address:
        inode = inode_of(int(address.split("/")[4]))
        assert len(descriptors_of(inode)) == 1
        assert in_forked_child(lambda: str(descriptors_of(inode))) == "[]"
    assert descriptors_of(inode) == []


def test_the_lock_of_a_killed_process_is_free_though_its_child_lives_on(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        with linux_names._locked(str(tmp_path)):
            if os.fork() == 0:
                os.close(writing)
                os.read(reading, 1)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(parent, 0)
    try:
        with linux_names._locked(str(tmp_path), 30.0):
            pass
    finally:
        os.close(writing)
        os.close(reading)


def test_a_child_of_a_profiled_process_records_nothing_in_its_parents_ring() -> None:
    others = in_forked_child(lambda: str(kept()))
    spans = SpanMemory.create(0, 64)
    gc.disable()
    recorder = spans.recorder(PHYSICS)

    def verdict() -> str:
        gc.collect()
        recorder.add(STEP, 1, 2)
        recorder.lap(STEP)
        gc.collect()
        return f"{[one.spans for one in spans.recorded()]} {recorder._collected in gc.callbacks} {kept()}"

    try:
        assert in_forked_child(verdict) == f"[] False {others}"
        assert [one.spans for one in spans.recorded()] == [[]]
    finally:
        gc.enable()
        recorder.close()
        spans.close()


@pytest.mark.stress
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_whatever_a_simulation_does_while_threads_fork_their_children_keep_nothing_of_it(name: str) -> None:
    """`python -m tests.ipc.forks` is the same, of any length."""
    children, found = forks(60, name=name)
    print(f"{children} children")
    assert found == {}
