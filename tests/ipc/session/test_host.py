"""The simulation's side: what viewers do, well or badly, and that physics never notices."""

from __future__ import annotations

import gc
import os
import resource
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.newest import newest_two
from tests.publishing import publish, publish_in_place
from twixt.ipc import session
from twixt.ipc.errors import TwixtError
from twixt.ipc.plan import Plan
from twixt.ipc.ring.segments import HostEnded
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import listener, service, viewers, wire
from twixt.ipc.session.link import LOST
from twixt.ipc.snapshot import Head, new_bodies

Until = Callable[[Callable[[], Any]], Any]
BOUND_S = 60.0


class BareViewer:
    """A viewer without our side's manners: it says what it is told to."""

    def __init__(self, name: str) -> None:
        self.connection = socket.socket(socket.AF_UNIX)
        listener.connect(self.connection, name, BOUND_S)
        self.connection.settimeout(BOUND_S)
        self.inbox = wire.Inbox(wire.HOST_JSON_LIMIT, wire.HOST_RAW_LIMIT, 2)
        self.heard: list[wire.Message] = []
        self.wake_pipe = -1

    def say(self, kind: str, **fields: Any) -> None:
        self.connection.sendall(wire.encode(kind, fields))

    def hear(self, kind: str) -> wire.Message:
        """The next message of that kind, after whatever others."""
        while True:
            for index, message in enumerate(self.heard):
                if message.kind == kind:
                    for other in self.heard[:index]:
                        wire.close_all(other.descriptors)
                    self.heard = self.heard[index + 1 :]
                    return message
            assert select.select([self.connection], [], [], BOUND_S)[0], f"waited in vain for {kind}"
            messages = wire.receive(self.connection, self.inbox, 2)
            assert messages is not None, f"closed before {kind}"
            self.heard += messages

    def is_closed(self) -> bool:
        """Reads to the end of the stream; fails loudly if there is none within the bound."""
        try:
            while self.connection.recv(65536):
                pass
        except ConnectionError:
            pass
        return True

    def attach(self) -> None:
        self.say("attach")
        (self.wake_pipe,) = self.hear("welcome").descriptors
        wire.close_all(self.hear("segment").descriptors)
        self.hear("scene")

    def wakes(self) -> int:
        """How many came since the last call."""
        os.set_blocking(self.wake_pipe, False)
        try:
            return len(os.read(self.wake_pipe, 1000))
        except BlockingIOError:
            return 0

    def close(self) -> None:
        for message in self.heard:
            wire.close_all(message.descriptors)
        self.inbox.close()
        self.connection.close()
        if self.wake_pipe >= 0:
            os.close(self.wake_pipe)


@contextmanager
def bare_viewer(name: str) -> Iterator[BareViewer]:
    viewer = BareViewer(name)
    try:
        yield viewer
    finally:
        viewer.close()


def test_nothing_is_left_after_the_end_not_even_a_thread(channel: Any, nothing_left: None) -> None:
    host = channel.open(describe=lambda: {"dt": 0.5})
    with pytest.raises(ValueError, match="must be one of ended, crashed, interrupted, got 'exploded'"):
        host.end("exploded")
    assert (host.is_ended, host.name) == (False, channel.name)
    assert channel.attach().description == {"dt": 0.5}
    channel.publish(9)
    host.end("ended", "done")
    host.end("crashed", "again")
    assert session.running() == []
    with pytest.raises(HostEnded, match=r"publish before the end, in the process that made the simulation$"):
        channel.publish()
    assert host.commands.drain() == []
    assert host.commands.wait(BOUND_S)
    host.set_status({})


def test_the_world_is_told_how_many_look_and_how_far_ahead(channel: Any, until: Until) -> None:
    host = channel.open()
    assert (host.viewers, host.lead_ns, host.viewer_attached.is_set) == (0, 0, False)
    first, second = channel.attach(), channel.attach()
    assert host.viewer_attached.is_set
    assert (host.viewers, host.lead_ns) == (2, 0)
    first.report_lead(30_000_000)
    second.report_lead(50_000_000)
    until(lambda: host.lead_ns == 50_000_000)
    second.close()
    until(lambda: (host.viewers, host.lead_ns) == (1, 30_000_000))
    first.close()
    until(lambda: (host.viewers, host.lead_ns) == (0, 0))


def test_a_lead_is_told_when_it_changed_by_a_millisecond_and_never_drives_physics_far_ahead(
    channel: Any, until: Until
) -> None:
    host = channel.open()
    link = channel.attach()
    link.report_lead(900_000)
    link.report_lead(20_000_000)
    until(lambda: host.lead_ns == 20_000_000)
    link.report_lead(20_900_000)
    assert link.request_report(BOUND_S) is None
    assert host.lead_ns == 20_000_000
    link.report_lead(3_600_000_000_000)
    until(lambda: host.lead_ns == service.LEAD_LIMIT_NS)
    link.report_lead(-5_000_000)
    until(lambda: host.lead_ns == 0)
    link.report_lead(1_000_000)
    link.report_lead(2_000_000)
    until(lambda: host.lead_ns == 2_000_000)


def test_commands_reach_the_loop_and_wake_it(channel: Any) -> None:
    host = channel.open()
    link = channel.attach()
    command = session.Command("slow_physics", [20, 40.5], acted_ns=7, draw_time_ns=8)
    assert not host.commands.wait(0)
    assert link.send(command)
    assert host.commands.wait(BOUND_S)
    assert host.commands.drain() == [command]
    assert not host.commands.wait(0)


def test_a_probe_for_the_name_is_no_viewer(channel: Any) -> None:
    host = channel.open()
    for _ in range(3):
        assert session.running() == [channel.name]
    channel.attach()
    assert host.viewers == 1


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "the other side is not twixt"),
        (wire.HEADER.pack(wire.MAGIC, wire.FORMAT, 0, wire.VIEWER_JSON_LIMIT + 1, 0), "a message of 4097 + 0 bytes"),
        (wire.HEADER.pack(wire.MAGIC, wire.FORMAT, 0, 2, 1) + b"{}x", "a message of 2 + 1 bytes"),
        (wire.HEADER.pack(wire.MAGIC, wire.FORMAT, 1, 2, 0) + b"{}", "a message of 2 + 0 bytes with 1 descriptors"),
        (wire.encode("attach") + wire.encode("attach"), "a viewer must send attach once"),
        (wire.encode("lead", {"lead_ns": 5}), "a viewer must send attach once, as its first message; got 'lead'"),
        (wire.encode("attach", {"pictures": "none"}), "pictures must be a whole number"),
        (wire.encode("attach") + wire.encode("lead", {"lead_ns": "far"}), "lead_ns must be a whole number"),
        (wire.encode("attach") + wire.encode("wake", {"plan_number": 5}), "number must be a whole number"),
        (wire.encode("attach") + wire.encode("wake", {"number": 5}), "plan_number must be a whole number"),
        (wire.encode("attach") + wire.encode("dance"), "unexpected message 'dance'"),
        (wire.encode("attach") + wire.encode("command", {"name": "explode"}), "a command must be one of"),
        (wire.encode("attach") + wire.encode("report", {"number": None}), "number must be a whole number"),
    ],
    ids=range(13),
)
def test_a_viewer_that_talks_nonsense_is_told_why_and_closed_alone(
    channel: Any, said: bytes, answer: str, until: Until
) -> None:
    host = channel.open()
    link = channel.attach()
    with bare_viewer(channel.name) as viewer:
        viewer.connection.sendall(said)
        assert viewer.hear("refused").fields["message"].startswith(answer)
        assert viewer.is_closed()
    until(lambda: host.viewers == 1)
    channel.publish()
    link.send(session.Command("pause"))
    assert host.commands.wait(BOUND_S)
    assert len(list(link.unread(1 << 30))) == 1
    assert link.ended is None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.binary(max_size=60)
        | st.sampled_from(
            [
                wire.encode("attach"),
                wire.encode("segment"),
                wire.encode("attach")[:20],
                wire.encode("wake", {"number": -5, "plan_number": 1 << 40}),
                wire.encode("command", {"name": "step"}),
            ]
        ),
        max_size=6,
    )
)
def test_whatever_a_viewer_says_the_host_goes_on(channel: Any, pieces: list[bytes]) -> None:
    host = channel.host if hasattr(channel, "host") else channel.open()
    with bare_viewer(channel.name) as viewer:
        try:
            viewer.connection.sendall(b"".join(pieces))
        except OSError:
            pass
    link = channel.attach()
    assert link.request_report(BOUND_S) is None
    assert link.ended is None
    link.close()
    host.commands.drain()


def test_a_message_that_never_ends_harms_nobody(channel: Any, until: Until) -> None:
    host = channel.open()
    with bare_viewer(channel.name) as viewer:
        viewer.attach()
        viewer.connection.sendall(wire.encode("command", {"name": "quit"})[:-3])
        assert channel.attach().request_report(BOUND_S) is None
        assert host.viewers == 2
    until(lambda: host.viewers == 1)
    assert host.commands.drain() == []


def test_a_viewer_of_another_format_is_answered_in_ours(channel: Any) -> None:
    channel.open()
    with bare_viewer(channel.name) as viewer:
        viewer.connection.sendall(
            wire.MAGIC + (wire.FORMAT + 1).to_bytes(2, "little") + b"whatever comes in that format"
        )
        refused = viewer.hear("refused").fields["message"]
        assert f"uses channel format {wire.FORMAT + 1}, this side format {wire.FORMAT}" in refused
        assert viewer.is_closed()


def test_a_connection_that_says_nothing_is_let_go(channel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "ATTACH_PATIENCE_NS", 10_000_000)
    channel.open()
    with bare_viewer(channel.name) as viewer:
        assert "no attach message" in viewer.hear("refused").fields["message"]


def test_one_viewer_too_many_is_told_so(channel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "VIEWERS_LIMIT", 1)
    channel.open()
    channel.attach()
    with pytest.raises(TwixtError, match="at most 1 viewers can be attached"):
        channel.attach()


def test_descriptors_that_a_viewer_sends_are_not_kept(channel: Any) -> None:
    channel.open()
    with bare_viewer(channel.name) as viewer:
        viewer.attach()
        gc.collect()
        before = len(os.listdir("/proc/self/fd"))
        for number in range(50):
            socket.send_fds(viewer.connection, [wire.encode("report", {"number": number})], [0, 1])
        while viewer.hear("report").fields["number"] != 49:
            pass
        assert len(os.listdir("/proc/self/fd")) == before


def test_a_flood_of_commands_is_bounded_and_its_quit_is_heard(channel: Any, until: Until) -> None:
    host = channel.open()
    with bare_viewer(channel.name) as flood:
        flood.attach()
        flood.connection.setblocking(False)
        step, sent = wire.encode("command", {"name": "step"}), 0
        try:
            while sent < 100_000:
                flood.connection.send(step)
                sent += 1
        except BlockingIOError:
            pass  # it is not heard for the rest of this second
        link = channel.attach()
        link.send(session.Command("pause"))
        commands: list[str] = []
        until(lambda: commands.extend(command.name for command in host.commands.drain()) or "pause" in commands)
    assert sent < 100_000
    assert host.commands.refused > 0
    assert commands.count("step") < sent


def test_a_viewer_that_talks_too_much_is_not_heard_for_a_while_but_its_end_is(
    channel: Any, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    monkeypatch.setattr(viewers, "MESSAGES_PER_S", 10)
    monkeypatch.setattr(viewers, "SECOND_NS", 3_600_000_000_000)
    host = channel.open()
    link = channel.attach()
    with bare_viewer(channel.name) as talker:
        talker.attach()
        # One by one: what comes in one piece is heard as one.
        for number in range(11 - 1):
            talker.say("report", number=number)
            talker.hear("report")
        for _ in range(12):
            talker.say("lead", lead_ns=7_000_000)
        for _ in range(3):
            link.request_report(BOUND_S)
        assert (host.viewers, host.lead_ns) == (2, 0)
    until(lambda: host.viewers == 1)


def test_a_viewer_that_asked_gets_one_wake_however_much_is_published(channel: Any, until: Until) -> None:
    host = channel.open()
    with bare_viewer(channel.name) as viewer:
        viewer.attach()
        for _ in range(3):
            viewer.say("wake", number=channel.tick, plan_number=0)
            until(lambda: len(host._service.wakes))
            for _ in range(5):
                channel.publish()
            assert viewer.wakes() == 1


def test_asking_twice_is_one_request(channel: Any) -> None:
    channel.open()
    with bare_viewer(channel.name) as viewer:
        viewer.attach()
        viewer.say("wake", number=0, plan_number=0)
        viewer.say("wake", number=0, plan_number=0)
        viewer.say("report", number=1)
        viewer.hear("report")
        channel.publish()
        assert viewer.wakes() == 1


def test_a_viewer_that_never_asks_is_never_woken(channel: Any) -> None:
    channel.open()
    with bare_viewer(channel.name) as viewer:
        viewer.attach()
        for _ in range(5):
            channel.publish()
        assert viewer.wakes() == 0


def test_a_viewer_that_asks_too_late_is_woken_at_once(channel: Any) -> None:
    channel.open()
    link = channel.attach()
    channel.publish()
    link.wake_when_newer()
    assert link.wait(BOUND_S)


def test_a_new_plan_wakes(channel: Any) -> None:
    host = channel.open()
    link = channel.attach()
    link.wake_when_newer()
    assert not link.wait(0.01)
    host.ring.write_plan(Plan(1, 0, 5, 6, 0.0))
    assert link.wait(BOUND_S)
    assert link.plan() == Plan(1, 0, 5, 6, 0.0)


def test_a_viewer_that_has_not_seen_the_plan_is_woken_at_once(channel: Any) -> None:
    host = channel.open()
    host.ring.write_plan(Plan(1, 0, 5, 6, 0.0))
    link = channel.attach()
    link.wake_when_newer()
    assert link.wait(BOUND_S)
    assert link.ended is None
    assert link.plan().number == 1
    link.wake_when_newer()
    assert not link.wait(0.01)


def test_a_viewer_that_reads_nothing_costs_physics_nothing_and_the_others_neither(channel: Any, until: Until) -> None:
    host = channel.open()
    with bare_viewer(channel.name) as deaf:
        deaf.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.say("attach")
        link = channel.attach()
        for version in range(2, 40):
            host.write_scene(Scene([Sphere(radius=1 + body / 1000) for body in range(200)]))
            channel.publish()
            until(lambda version=version: link.poll() or link.scene_version == version)
        host.set_status({"text": "x" * 100_000})
        until(lambda: link.poll() or link.status)
        (kept,) = [each for each in host._service._connected if each.has_more]
        assert len(kept._unsent) <= 3
        assert link.ended is None


def test_status_reaches_viewers_latest_first_and_not_more_than_five_times_a_second(channel: Any) -> None:
    host = channel.open()
    link = channel.attach()
    seen: list[int] = []
    began_ns = time.perf_counter_ns()
    number = 0
    while len(seen) < 4:
        number += 1
        host.set_status({"number": number})
        link.wait(0.001)
        if link.status and link.status["number"] not in seen:
            seen.append(link.status["number"])
        assert time.perf_counter_ns() - began_ns < BOUND_S * 1e9
    assert len(seen) <= 1 + (time.perf_counter_ns() - began_ns) / service.STATUS_INTERVAL_NS
    assert seen == sorted(seen)


def test_the_last_status_arrives_though_nothing_follows_it_and_late_viewers_get_it(channel: Any, until: Until) -> None:
    host = channel.open()
    link = channel.attach()
    for number in range(100):
        host.set_status({"number": number})
    until(lambda: link.poll() or link.status == {"number": 99})
    late = channel.attach()
    until(lambda: late.poll() or late.status == {"number": 99})


def test_what_no_message_can_carry_is_shown_and_harms_no_viewer(
    channel: Any, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: shown.append(str(error)))
    host = channel.open()
    link = channel.attach()
    host.set_status({("no", "key"): 1})
    until(lambda: shown)
    host._describe = lambda: {("no", "key"): 1}
    assert channel.attach().description == {}
    host.on_report = lambda: {("no", "key"): 1}
    assert link.request_report(BOUND_S) is None
    host.set_status({"fine": 1})
    until(lambda: link.poll() or link.status == {"fine": 1})
    assert link.ended is None
    assert "only JSON values" in shown[0]


def test_the_report_is_asked_of_the_simulation(channel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: shown.append(str(error)))
    host = channel.open()
    link = channel.attach()
    host.on_report = lambda: {"physics": {"steps": 3}, "channel": {}}
    assert link.request_report(BOUND_S) == {"physics": {"steps": 3}, "channel": {}}
    host.on_report = lambda: {}["missing"]
    assert link.request_report(BOUND_S) is None
    assert shown == ["'missing'"]
    assert link.ended is None


def test_the_report_may_end_the_host(channel: Any) -> None:
    host = channel.open()
    host.on_report = lambda: host.end("interrupted", "asked for a report")
    watcher = channel.attach()
    assert watcher.request_report(BOUND_S) is None
    assert watcher.wait(BOUND_S)
    assert watcher.ended == ("interrupted", "asked for a report")
    assert host.is_ended


def test_a_description_that_fails_is_shown_and_viewers_are_served_on(
    channel: Any, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: shown.append(str(error)))
    channel.open(describe=lambda: 1 / 0)
    channel.attach().close()
    until(lambda: shown == ["division by zero"])
    assert channel.attach().ended is None


def test_a_fault_of_ours_is_shown_and_costs_one_viewer_alone(
    channel: Any, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: shown.append(str(error)))
    host = channel.open()
    link, other = channel.attach(), channel.attach()
    monkeypatch.setattr(host.ring, "has_newer", lambda number, plan_number: 1 / 0)
    link.wake_when_newer()
    assert link.wait(BOUND_S)
    assert link.ended == LOST
    until(lambda: host.viewers == 1)
    assert shown == ["division by zero"]
    assert len(host._service.wakes) == 0
    assert other.request_report(BOUND_S) is None
    assert other.ended is None


def test_a_caller_for_whom_there_is_no_descriptor_waits_and_is_let_in_when_there_is_one(
    channel: Any, until: Until
) -> None:
    host = channel.open()
    with socket.socket(socket.AF_UNIX) as caller:
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))  # those that are open stay so
        try:
            listener.connect(caller, channel.name, BOUND_S)
            until(lambda: host._service._accept_after_ns)
            assert not host._service._connected
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        caller.sendall(wire.encode("attach"))
        until(lambda: host.viewers == 1)


def test_at_the_end_who_reads_nothing_keeps_nobody_waiting_and_who_reads_late_is_told(
    channel: Any, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    monkeypatch.setattr(service, "END_PATIENCE_NS", int(BOUND_S * 1e9))
    host = channel.open()
    with bare_viewer(channel.name) as late, bare_viewer(channel.name) as gone:
        for viewer in (late, gone):
            viewer.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            viewer.attach()
        link = channel.attach()
        host.write_scene(Scene([Sphere(radius=1 + body / 1e6) for body in range(20_000)]))
        until(lambda: link.poll() or link.scene_version == 2)
        assert sum(viewer.has_more for viewer in host._service._connected) == 2
        ending = threading.Thread(target=host.end, args=("ended", "done"))
        ending.start()
        assert link.wait(BOUND_S)
        until(lambda: link.poll() or link.ended == ("ended", "done"))
        gone.connection.close()
        assert late.hear("ended").fields == {"ending": "ended", "message": "done"}
        ending.join()


def test_an_end_from_another_thread_ends_a_publishing_loop(channel: Any) -> None:
    host = channel.open()
    channel.publish()
    ending = threading.Thread(target=host.end, args=("interrupted", "stop"))
    ending.start()

    def publish_on() -> None:
        for number in range(10_000_000):
            channel.publish(4 + number % 3)

    with pytest.raises(HostEnded):
        publish_on()
    ending.join()


def test_a_growth_that_fails_leaves_the_host_as_it_was(channel: Any) -> None:
    host = channel.open()
    channel.publish()
    with pytest.raises(TwixtError, match="bodies"):
        host.ring.reserve(1 << 30)
    channel.publish()
    assert [view.head.tick for view in channel.attach().unread(1 << 30)] == [1, 2]
    assert host.ring.capacity == 4


def test_columns_that_come_later_reach_the_viewer_with_the_next_snapshot(channel: Any, until: Until) -> None:
    host = channel.open(columns={"heat": ("<f4", 1)})
    link = channel.attach()
    publish(host.ring, Head(tick=1), new_bodies(2), {"heat": np.ones(2, "f4")})
    host.ring.set_columns({"heat": ("<f4", 1), "offset": ("<f4", 7)})
    publish(host.ring, Head(tick=2), new_bodies(2), {"heat": np.ones(2, "f4"), "offset": np.full((2, 7), 3, "f4")})
    before, newest = newest_two(link, lambda snapshot: snapshot.tick == 2)
    assert newest.columns["offset"].tolist() == [[3] * 7] * 2
    assert before.columns["offset"].tolist() == [[0] * 7] * 2
    assert before.columns["heat"].tolist() == [1, 1]


def test_columns_that_cannot_be_leave_the_host_as_it_was(channel: Any) -> None:
    host = channel.open(columns={"heat": ("<f4", 1)})
    with pytest.raises(TwixtError, match="dtypes"):
        host.ring.set_columns({"heat": ("text", 1)})
    assert host.ring.columns == {"heat": ("<f4", 1)}
    publish(host.ring, Head(tick=1), new_bodies(2), {"heat": np.ones(2, "f4")})


def test_columns_go_with_what_is_written_in_place(channel: Any) -> None:
    host = channel.open(columns={"heat": ("<f4", 1)})
    heat = {"heat": np.array([1.0, 2.0], "f4")}
    publish_in_place(host.ring, Head(tick=1, count=2), lambda records: np.copyto(records, new_bodies(2)), heat)
    newest = host.ring.newest()
    assert newest is not None
    assert newest.head.tick == 1
    assert newest.columns["heat"].ravel().tolist() == [1, 2]


def test_what_does_not_fit_gets_room_for_twice_as_much_and_what_fits_stays_where_it_is(channel: Any) -> None:
    host = channel.open(capacity=4)
    memory = host.ring.writer.memory
    channel.publish(4)
    host.ring.reserve(4)
    assert host.ring.writer.memory is memory
    channel.publish(5)
    assert host.ring.await_room(BOUND_S)
    assert host.ring.capacity == 8
    channel.publish(100)
    assert host.ring.await_room(BOUND_S)
    assert host.ring.capacity == 100


def test_a_forked_child_cannot_publish_nor_end_what_is_its_parents(channel: Any) -> None:
    host = channel.open()
    link = channel.attach()
    child = os.fork()
    if child == 0:
        verdict = 1
        try:
            channel.publish()
        except HostEnded:
            host.set_status({"a": 1})
            host.end()
            link.close()
            verdict = 0 if not host.commands.wait(0) or host.commands.drain() == [] else 2
        os._exit(verdict)
    assert os.waitpid(child, 0)[1] == 0
    channel.publish()
    assert link.wait(0) is False
    assert len(list(link.unread(1 << 30))) == 1
    assert session.running() == [channel.name]
