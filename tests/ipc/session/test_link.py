"""A viewer's side: whatever the simulation does, or whoever answers in its place."""

from __future__ import annotations

import math
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.newest import newest_two
from twixt.ipc import session, system
from twixt.ipc.errors import TwixtError
from twixt.ipc.plan import Plan
from twixt.ipc.ring import memory, reader
from twixt.ipc.ring.layout import Layout
from twixt.ipc.ring.writer import RingWriter
from twixt.ipc.scene import Box, Camera, Scene, Sphere
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.session import listener, wire
from twixt.ipc.session.link import LOST

Until = Callable[[Callable[[], Any]], Any]
BOUND_S = 60.0
WHOLE = 1 << 40


class FakeHost:
    """A listener that sends what it is given."""

    def __init__(self, name: str) -> None:
        self.listener = listener.open_listener(name)
        self.listener.socket.settimeout(BOUND_S)

    @contextmanager
    def answering(self, answer: Callable[[socket.socket], None]) -> Iterator[None]:
        def serve() -> None:
            connection, _ = self.listener.socket.accept()
            with connection:
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def __enter__(self) -> FakeHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()


def test_nobody_there_is_said_with_the_way_out(name: str, nothing_left: None) -> None:
    with pytest.raises(
        TwixtError, match=f'no simulation named "{name}" is running; start one with: twixt sim --name {name}'
    ):
        session.attach(name)
    with pytest.raises(TwixtError, match="^no simulation is running; start one with: twixt sim$"):
        session.attach()


def test_without_a_name_the_only_simulation_is_meant(channel: Any) -> None:
    channel.open()
    link = session.attach()
    assert link.name == channel.name
    link.close()
    other = listener.open_listener("other")
    with pytest.raises(TwixtError, match=f"^several simulations are running; name one of them: other, {channel.name}$"):
        session.attach()
    other.close()


def test_a_late_viewer_finds_scene_plan_and_the_newest_snapshots(channel: Any) -> None:
    host = channel.open(columns={"heat": ("<f4", 1)}, capacity=0)
    assert host.write_scene(Scene([Box(), Sphere()])) == 2
    host.ring.write_plan(Plan(3, 1, 10, 20, 0.5))
    link = channel.attach()
    assert link.scene_version == 2
    assert link.scene.shapes == [Box(), Sphere()]
    assert link.plan() == Plan(3, 1, 10, 20, 0.5)
    assert link.latest_pair() == ()
    assert len(link.newest_bodies()) == 0
    assert list(link.unread(WHOLE)) == []


def test_a_camera_reaches_present_and_late_viewers_without_a_scene(channel: Any, until: Any) -> None:
    host = channel.open()
    early = channel.attach()
    camera = Camera((3, 2, 1), body=2)
    for count in (1, 2):
        host.write_camera(camera)
        until(lambda count=count: early.poll() or early.received.cameras == count)
    late = channel.attach()
    until(lambda: late.poll() or late.received.cameras == 1)
    assert early.scene.camera == late.scene.camera == camera
    assert (early.scene_version, late.scene_version, host.scene.version) == (1, 1, 1)
    host.write_scene(Scene([Box()]))
    until(lambda: late.poll() or late.scene_version == 2)
    assert (late.scene.camera, late.received.cameras) == (None, 1)


def test_every_snapshot_is_delivered_once_and_in_order(channel: Any) -> None:
    channel.open()
    link = channel.attach()
    for ticks in ([1], [2, 3], [], [4, 5, 6, 7]):
        published = [channel.publish() for _ in ticks]
        views = list(link.unread(WHOLE))
        assert [view.head.tick for view in views] == ticks
        assert [view.head.published_ns for view in views] == published
        assert all(view.is_valid() for view in views)
    assert link.counters["skipped"] == 0
    older, newest = newest_two(link)
    assert (older.tick, newest.tick) == (6, 7)
    assert (link.newest_bodies() == newest.bodies).all()
    assert len(newest.bodies)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=12))
def test_growing_always_delivers_every_snapshot_once_in_order_and_whole(
    channel: Any, steps: list[tuple[int, bool, bool]]
) -> None:
    channel.tick = 0
    channel.open(capacity=1)
    link = channel.attach()
    delivered: list[tuple[int, int]] = []
    sent: list[tuple[int, int]] = []
    count = 1
    try:
        for published, grows, reads in steps:
            count += 3 * count * grows
            for _ in range(published):
                channel.publish(count)
                sent.append((channel.tick, count))
            if reads or len(sent) - len(delivered) > 3:
                settle(link)
                delivered += [(view.head.tick, view.head.count) for view in link.unread(WHOLE) if view.is_valid()]
        settle(link)
        delivered += [(view.head.tick, view.head.count) for view in link.unread(WHOLE) if view.is_valid()]
    finally:
        link.close()
        channel.host.end()
    # Growing twice within one look leaves out what lay in the segment between; nothing else is left out.
    assert delivered == sorted(set(delivered))
    assert set(delivered) <= set(sent)
    assert delivered[-1:] == sent[-1:]
    assert len(sent) - len(delivered) == link.counters["skipped"]


def settle(link: session.Link) -> None:
    """Until a larger segment, if there is one, has been taken over."""
    link.poll()
    deadline = time.monotonic() + BOUND_S
    while link._is_segment_requested:
        link.wait(0.001)
        assert time.monotonic() < deadline, "no larger segment came"


def test_one_growth_loses_nothing(channel: Any) -> None:
    host = channel.open(capacity=2)
    link = channel.attach()
    for count in (1, 2, 2, 50, 50, 3):
        channel.publish(count)
    settle(link)
    assert host.ring.capacity == 50
    views = list(link.unread(WHOLE))
    assert [view.head.tick for view in views] == [1, 2, 3, 4, 5, 6]
    assert [view.head.count for view in views] == [1, 2, 2, 50, 50, 3]
    assert link.counters["skipped"] == 0
    assert newest_two(channel.attach())[1].bodies.shape == (3,)


def test_a_new_scene_ends_waiting_and_reaches_late_viewers_too(channel: Any) -> None:
    host = channel.open()
    link = channel.attach()
    version = host.write_scene(Scene([Sphere(radius=2)] * 300_000))
    assert link.wait(BOUND_S)
    assert (link.scene_version, len(link.scene.shapes), shape_list(link.scene).table) == (
        version,
        300_000,
        (Sphere(radius=2),),
    )
    assert channel.attach().scene_version == version == host.scene.version


def test_waiting_for_nothing_ends_when_the_time_is_over(channel: Any) -> None:
    host = channel.open()
    link = channel.attach()
    link.plan()
    link.wake_when_newer()
    host.set_status({"a": 1})
    assert not link.wait(0.05)
    assert not link.wait(0)


@pytest.mark.parametrize("timeout_s", [1e7, 1e12, 1e300, math.inf, math.nan])
def test_a_wait_without_an_end_is_no_error(channel: Any, timeout_s: float) -> None:
    host = channel.open()
    link = session.attach(channel.name, timeout_s)
    channel.links.append(link)
    publish = threading.Timer(0.05, channel.publish)  # while it waits, or before; it wakes in both cases
    link.wake_when_newer()
    publish.start()
    assert link.wait(timeout_s)
    publish.join()
    assert link.request_report(0) is None
    assert not host.is_ended


@pytest.mark.parametrize("kind", ["ended", "crashed", "interrupted"])
def test_the_end_is_told_with_its_kind_and_what_was_drawn_stays_readable(channel: Any, kind: str) -> None:
    host = channel.open()
    link = channel.attach()
    channel.publish()
    host.end(kind, "because")
    assert link.wait(BOUND_S)
    assert link.ended == (kind, "because")
    assert len(list(link.unread(WHOLE))) == 1
    assert not link.send(session.Command("step"))
    assert link.request_report(BOUND_S) is None
    link.poll()


def test_nonsense_that_comes_later_ends_the_link_with_the_reason(channel: Any) -> None:
    host = channel.open()
    link = channel.attach()
    host._service._connected[0].connection.send(b"nonsense")
    assert link.wait(BOUND_S)
    assert link.ended is not None
    assert link.ended.kind == "refused"
    assert "the other side is not twixt" in link.ended.message


def test_counters_outlive_the_link(channel: Any) -> None:
    channel.open()
    link = channel.attach()
    channel.publish()
    channel.publish()
    for view in link.unread(WHOLE):
        view.is_valid()
    link.close()
    assert link.ended == ("ended", "this viewer was closed")
    link.close()
    link.poll()
    assert link.counters["pairs_read"] == 1
    assert link.counters["bytes_per_snapshot"] == 128 + 4 * 64
    with pytest.raises(TwixtError, match="not attached"):
        link.plan()


def test_a_claim_outlives_the_link_it_came_from(channel: Any) -> None:
    channel.open()
    link = channel.attach()
    channel.publish()
    (view,) = link.unread(WHOLE)
    link.close()
    assert bytes(view.bodies[:12]) == bytes(12)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "the other side is not twixt"),
        (
            wire.MAGIC + (9).to_bytes(2, "little") + bytes(50),
            rf"uses channel format 9, this side format {wire.FORMAT}",
        ),
        (wire.encode("refused", {"message": "not you"}), "not you"),
        (wire.encode("ended", {"ending": "crashed", "message": "the world raised"}), "the world raised"),
        (wire.encode("welcome", {}), "unexpected message 'welcome' with 0 descriptors from the simulation; restart it"),
        (wire.encode("segment", {"size": 4096}, descriptors=1), "message must have 1 descriptors, got 0"),
        (
            wire.encode("scene", {"version": 1, "camera_version": 1, "since": 0}, b"no scene"),
            "the scene received is damaged",
        ),
        (wire.encode("scene")[:9], "ended unexpectedly"),
        (b"", "ended unexpectedly"),
    ],
    ids=range(9),
)
def test_who_answers_otherwise_than_a_simulation_is_understood_or_refused(
    name: str, said: bytes, answer: str, nothing_left: None
) -> None:
    with (
        FakeHost(name) as fake,
        fake.answering(lambda connection: connection.sendall(said)),
        pytest.raises(TwixtError, match=answer),
    ):
        session.attach(name, BOUND_S)


def test_a_descriptor_whose_message_never_ended_is_closed(name: str, nothing_left: None) -> None:
    def answer(connection: socket.socket) -> None:
        socket.send_fds(connection, [wire.encode("segment", {"size": 4096}, descriptors=1)[:-1]], [0])

    with FakeHost(name) as fake, fake.answering(answer), pytest.raises(TwixtError, match="ended unexpectedly"):
        session.attach(name, BOUND_S)


def test_descriptors_that_come_before_damage_are_closed(name: str, nothing_left: None) -> None:
    def answer(connection: socket.socket) -> None:
        whole = wire.encode("welcome", {}, descriptors=1)
        socket.send_fds(connection, [whole + b"and then something else"], [0])

    with FakeHost(name) as fake, fake.answering(answer), pytest.raises(TwixtError, match="is not twixt"):
        session.attach(name, BOUND_S)


def test_a_simulation_that_never_stops_talking_stops_no_viewer(channel: Any, until: Until) -> None:
    channel.open()
    link = channel.attach()
    ours, theirs = socket.socketpair()
    real, link._connection._socket = link._connection._socket, ours
    link._connection._poller.register(ours)
    ours.setblocking(False)
    over = threading.Event()
    talking = wire.encode("status", {"status": {"tick": 1}}) * 1000

    def talk() -> None:
        while not over.is_set():
            theirs.sendall(talking)

    thread = threading.Thread(target=talk)
    thread.start()
    polled = 0
    while polled < 5:
        link.poll()  # each comes back, though there is always more
        polled += bool(link.status)
    over.set()
    until(lambda: link.poll() or not thread.is_alive())
    theirs.close()
    real.close()
    assert link.ended is None


def test_a_viewer_that_does_not_read_maps_no_more_than_a_few_segments(channel: Any, until: Until) -> None:
    host = channel.open(1)
    channel.publish(1)
    link = channel.attach()
    for _ in range(3 * reader.MOST_SEGMENTS):
        host.ring.set_columns({} if host.ring.columns else {"heat": ("<f4", 1)})
        link.poll()
        until(lambda: link.poll() or not link._is_segment_requested)
    assert len(link._ring._segments) == reader.MOST_SEGMENTS
    host.ring.set_columns({})
    channel.publish(1)
    ticks: list[int] = []
    until(lambda: link.poll() or ticks.extend(view.head.tick for view in link.unread(WHOLE)) or 2 in ticks)
    assert len(link._ring._segments) == 1


@pytest.mark.parametrize("again", [False, True])
def test_a_wake_is_one_pipe_and_nothing_else(name: str, again: bool, nothing_left: None) -> None:
    def answer(connection: socket.socket) -> None:
        reads, writes = os.pipe()
        with open(os.devnull) as device:
            for descriptor in [reads, writes] if again else [device.fileno()]:
                socket.send_fds(connection, [wire.encode("welcome", {}, descriptors=1)], [descriptor])
        os.close(reads)
        os.close(writes)

    with FakeHost(name) as fake, fake.answering(answer), pytest.raises(TwixtError, match="one pipe that wakes"):
        session.attach(name, BOUND_S)


def test_memory_that_nobody_asked_for_is_not_mapped(name: str, nothing_left: None) -> None:
    made = memory.create(Layout.for_bodies(1).segment_bytes)
    RingWriter(made, Layout.for_bodies(1))

    def answer(connection: socket.socket) -> None:
        for _ in range(2):
            segment = wire.encode("segment", {"size": made.size}, descriptors=1)
            socket.send_fds(connection, [segment], [made.read_only_fd()])

    with FakeHost(name) as fake, fake.answering(answer), pytest.raises(TwixtError, match="did not request"):
        session.attach(name, BOUND_S)
    made.close()


@pytest.mark.parametrize("content", ["file", "unsealed", "wrong size"])
def test_memory_that_could_crash_its_reader_is_refused(
    name: str, content: str, tmp_path: Any, nothing_left: None
) -> None:
    def answer(connection: socket.socket) -> None:
        if content == "file":
            descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
        elif content == "unsealed":
            descriptor = os.memfd_create("unsealed")
        else:
            descriptor = os.dup((made := memory.create(8192)).read_only_fd())
            made.close()
        if content != "wrong size":
            os.ftruncate(descriptor, 4096)
        socket.send_fds(connection, [wire.encode("segment", {"size": 4096}, descriptors=1)], [descriptor])
        os.close(descriptor)

    with FakeHost(name) as fake, fake.answering(answer), pytest.raises(TwixtError, match="memory"):
        session.attach(name, BOUND_S)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.binary(max_size=60)
        | st.sampled_from(
            [
                wire.encode("status", {"status": 5}),
                wire.encode("report", {"number": "x"}),
                wire.encode("scene", {}, b"{}\n"),
                wire.encode("ended"),
                wire.encode("segment", {"size": -1}),
            ]
        ),
        max_size=5,
    )
)
def test_whatever_a_simulation_says_the_answer_is_a_twixt_error(name: str, pieces: list[bytes]) -> None:
    with (
        FakeHost(name) as fake,
        fake.answering(lambda connection: connection.sendall(b"".join(pieces))),
        pytest.raises(TwixtError),
    ):
        session.attach(name, BOUND_S)


def test_a_simulation_that_does_not_answer_is_given_up(name: str, nothing_left: None) -> None:
    with (
        FakeHost(name),
        pytest.raises(TwixtError, match=r"has not answered for 0\.01 s, because it is stopped or still loads"),
    ):
        session.attach(name, 0.01)


def test_a_simulation_of_another_user_is_refused(
    channel: Any, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    channel.open()
    monkeypatch.setattr(system.names, "peer_user", lambda connection: os.geteuid() + 1)
    with pytest.raises(TwixtError, match="run both as the same user"):
        session.attach(channel.name)


def test_a_simulation_that_does_not_listen_never_makes_its_viewer_wait(name: str, nothing_left: None) -> None:
    # What is said before the answer is heard: far more than a socket holds.
    with FakeHost(name):
        waiting = wire.Connection()
        waiting.connect(name, BOUND_S)
        said = 0
        while waiting.send("command", session.Command("step").to_fields()):
            said += 1
        assert wire.UNSENT_LIMIT < said < 100_000
        waiting.close()


def test_a_viewer_that_finds_its_wake_by_itself_may_ask_again(channel: Any) -> None:
    channel.open()
    link = channel.attach()
    for _ in range(3):
        link.wake_when_newer()
        channel.publish()
        assert select.select([link.wake_filenos[1]], [], [], BOUND_S)[0]
        assert len(list(link.unread(WHOLE))) == 1


@pytest.mark.parametrize("error", [listener.ListenerError("locked"), PermissionError("not yours")])
def test_a_socket_that_cannot_be_removed_harms_no_viewer(
    channel: Any, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    asked: list[str] = []

    def remove_stale(name: str, patience_s: float) -> bool:
        asked.append(name)
        raise error

    channel.open()
    link = channel.attach(owned=True)
    link.ended = LOST
    monkeypatch.setattr(system.names, "remove_stale", remove_stale)
    link.close()
    assert asked == [channel.name]


def test_an_owned_viewer_leaves_a_living_name_alone(channel: Any, until: Until) -> None:
    host = channel.open()
    link = channel.attach(owned=True)
    host._service._connected[0].connection.shutdown(socket.SHUT_RDWR)
    until(lambda: link.poll() or link.ended == LOST)
    link.close()
    assert session.running() == [channel.name]
