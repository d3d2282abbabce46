"""Events from a host to its viewers: attached early, late, in the midst of it, and by whoever answers in its place."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ipc.session.test_link import FakeHost
from twixt.ipc import session
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring import events, memory
from twixt.ipc.ring.events import EVENT, EventReader, EventWriter
from twixt.ipc.ring.memory import SharedMemoryError
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import host as host_module
from twixt.ipc.session import service, viewers, wire

Until = Callable[[Callable[[], Any]], Any]
BOUND_S = 60.0
NAMES = ["hit"]
ROOT = Path(__file__).parents[3]


def records_of(first: int, count: int) -> Any:
    made = np.zeros(count, EVENT)
    made["sim_time_ns"], made["name"] = np.arange(first, first + count), 1
    return made


def times_of(reader: EventReader) -> list[int]:
    return reader.unread().records["sim_time_ns"].tolist()


def test_events_reach_viewers_once_and_a_late_one_knows_which_are_from_before_it(channel: Any) -> None:
    host = channel.open()
    early = channel.attach()
    host.append_events(records_of(1, 3), NAMES)
    late = channel.attach()
    host.append_events(records_of(4, 2), NAMES)
    assert (early.events.attached_at, late.events.attached_at) == (0, 3)
    assert times_of(early.events) == [1, 2, 3, 4, 5] == times_of(late.events)
    assert early.events.names == {1: "hit"}
    assert times_of(early.events) == []
    early.close()
    with pytest.raises(TwixtError, match="not attached"):
        early.events  # noqa: B018


def test_as_many_viewers_as_there_may_be_have_all_events_each(channel: Any) -> None:
    host = channel.open()
    links = [channel.attach() for _ in range(service.VIEWERS_LIMIT)]
    host.append_events(records_of(1, 2), NAMES)
    assert all(times_of(link.events) == [1, 2] for link in links)


def test_a_viewer_that_attaches_while_events_are_appended_misses_none_from_then_on(channel: Any) -> None:
    host = channel.open()
    over, count = threading.Event(), 0

    def append() -> None:
        nonlocal count
        while not over.is_set():
            host.append_events(records_of(count + 1, 2), NAMES)
            count += 2

    thread = threading.Thread(target=append)
    thread.start()
    try:
        links = [channel.attach() for _ in range(5)]
    finally:
        over.set()
        thread.join()
    for link in links:
        reader = link.events
        times = times_of(reader)
        assert times == list(range(times[0], count + 1)), "without a gap to the last"
        assert times[0] <= reader.attached_at + 1 + reader.lost
        assert reader.names == {1: "hit"}


def test_events_after_the_end_are_dropped_and_those_before_it_stay_readable(channel: Any) -> None:
    host = channel.open()
    link = channel.attach()
    assert host.appended_events == 0
    host.append_events(records_of(1, 1), NAMES)
    assert host.appended_events == 1
    host.end()
    host.append_events(records_of(2, 1), [*NAMES, "late"])
    assert host.appended_events == 0
    assert link.wait(BOUND_S)
    assert times_of(link.events) == [1]


def test_a_host_that_ends_on_another_thread_disturbs_no_append(channel: Any) -> None:
    host = channel.open()
    faults: list[BaseException] = []
    begun = threading.Event()

    def append() -> None:
        try:
            count = 0
            while not host.is_ended or count % 1000:
                host.append_events(records_of(count, 5), NAMES)
                count += 1
                begun.set()
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=append)
    thread.start()
    assert begun.wait(BOUND_S)
    host.end()
    thread.join(BOUND_S)
    assert not thread.is_alive()
    assert faults == []


def test_a_host_that_a_signal_handler_ends_in_the_midst_of_an_append_goes_on(channel: Any) -> None:
    host = channel.open()
    before = signal.signal(signal.SIGUSR1, lambda *_: host.end())
    try:
        timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        while not host.is_ended:
            host.append_events(records_of(1, 5), NAMES)
        host.append_events(records_of(1, 5), NAMES)
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_forked_child_appends_nothing(channel: Any) -> None:
    host = channel.open()
    link = channel.attach()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            host.append_events(records_of(1, 5), NAMES)
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    host.append_events(records_of(7, 1), NAMES)
    assert times_of(link.events) == [7]


# A host that cannot be made.


# Makes hosts with 0, 1, 2 ... descriptors left, until one can be made. Prints how many it took.
SHORT_OF_DESCRIPTORS = """
import os, resource, sys
from tests.ipc.conftest import open_descriptors
from twixt.ipc import session
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene, Sphere

listener = session.open_listener(sys.argv[1])
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
for left in range(64):
    before, taken = open_descriptors(), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(int(one.split()[0]) for one in before) + 64, limits[1]))
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        for descriptor in taken[len(taken) - left :]:
            os.close(descriptor)
    try:
        made = session.Host(listener, Scene([Sphere()]), 1)
    except (TwixtError, OSError):
        made = None
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    for descriptor in taken[: len(taken) - left]:
        os.close(descriptor)
    if made is not None:
        break
    assert open_descriptors() == before, f"with {left} descriptors"
made.end()
print(left)
"""


def test_a_host_for_which_descriptors_are_short_leaves_none_of_those_it_made(name: str) -> None:
    command = [sys.executable, "-c", SHORT_OF_DESCRIPTORS, name]
    ran = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOUND_S)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) >= 6, "two memories and a pair of sockets"


@pytest.mark.parametrize("short", ["memory for events", "thread", "ring"])
def test_what_is_short_when_a_host_is_made_leaves_nothing_of_it(
    name: str, short: str, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    sizes: list[weakref.ref[memory.Memory]] = []
    real = memory.create

    def create(size: int) -> memory.Memory:
        if short == "memory for events" and size == events.memory_bytes():
            raise SharedMemoryError("memory is short")
        made = real(size)
        sizes.append(weakref.ref(made))
        return made

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(host_module.memory, "create", create)
    if short == "thread":
        monkeypatch.setattr(threading.Thread, "start", fail)
    elif short == "ring":
        monkeypatch.setattr(host_module, "HostRing", fail)
    listener = session.open_listener(name)
    with pytest.raises((SharedMemoryError, RuntimeError)):
        session.Host(listener, Scene([Sphere()]), 1)
    assert all((made := one()) is None or made.closed for one in sizes)
    assert len(sizes) == (1 if short == "memory for events" else 2)
    listener.close()


# Whoever answers in the simulation's place.


def _ring() -> memory.Memory:
    made = memory.create(events.memory_bytes(8))
    EventWriter(made, 8)
    return made


@pytest.mark.parametrize(
    ("sizes", "answer"),
    [
        ([None], "unexpected message 'events' with 0 descriptors"),
        ([events.memory_bytes(8)] * 2, "unexpected message 'events' with 1 descriptors"),
        ([events.memory_bytes(8) + 1], "memory"),
        ([events.memory_bytes(8) - 4096], "memory"),
        ([0], "memory"),
        ([-1], "memory"),
        ([1 << 70], "size must be a whole number"),
        (["many"], "size"),
    ],
    ids=["no descriptor", "twice", "too large", "too small", "nothing", "negative", "huge", "text"],
)
def test_a_message_of_events_that_means_nothing_is_refused(
    name: str, sizes: list[Any], answer: str, nothing_left: None
) -> None:
    made = _ring()

    def say(connection: socket.socket) -> None:
        for size in sizes:
            if size is None:
                connection.sendall(wire.encode("events", {"size": made.size}))
            else:
                message = wire.encode("events", {"size": size}, descriptors=1)
                socket.send_fds(connection, [message], [made.read_only_fd()])

    with FakeHost(name) as fake, fake.answering(say), pytest.raises(TwixtError, match=answer):
        session.attach(name, BOUND_S)
    made.close()


@pytest.mark.parametrize("content", ["device", "socket", "segment", "a ring that could shrink"])
def test_a_descriptor_that_is_no_ring_of_events_is_refused(name: str, content: str, nothing_left: None) -> None:
    size = events.memory_bytes(8)

    def say(connection: socket.socket) -> None:
        if content == "device":
            descriptor = os.open(os.devnull, os.O_RDONLY)
        elif content == "socket":
            descriptor = os.dup(connection.fileno())
        elif content == "segment":
            made = memory.create(size)
            descriptor = os.dup(made.read_only_fd())
            made.close()
        else:
            descriptor = os.memfd_create("unsealed")
            os.ftruncate(descriptor, size)
        socket.send_fds(connection, [wire.encode("events", {"size": size}, descriptors=1)], [descriptor])
        os.close(descriptor)

    with FakeHost(name) as fake, fake.answering(say), pytest.raises(TwixtError, match="memory|ring buffer of events"):
        session.attach(name, BOUND_S)


def test_a_simulation_that_says_nothing_of_events_is_not_attached_to(
    channel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel.open()
    real = viewers.AttachedViewer.post

    def post(viewer: Any, kind: str, content: bytes, descriptors: Any = ()) -> None:
        if kind == "events":
            wire.close_all(descriptors)
        else:
            real(viewer, kind, content, descriptors)

    monkeypatch.setattr(viewers.AttachedViewer, "post", post)
    with pytest.raises(TwixtError, match="has not answered"):
        session.attach(channel.name, 0.2)
