"""The server as pages see it: what is published arrives complete, the newest first, and the rest is refused."""

from __future__ import annotations

import asyncio
import http.client
import json
import secrets
import socket
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from websockets.asyncio.client import connect as connect_in_loop
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.relay.page import Page, Received, closed_with, hello, opened
from tests.relay.serve.conftest import Served, served, until
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Camera, ColorBy, Mesh, Scene, Sphere
from twixt.ipc.scene.scene import packed_scene
from twixt.ipc.snapshot import HEAD, new_bodies
from twixt.relay.serve import access
from twixt.relay.serve.connection import MOST_OPENING, PageConnection
from twixt.relay.serve.controller import MOST_CONTROLLERS
from twixt.relay.serve.server import MOST_VIEWERS
from twixt.relay.serve.simulation import Simulation
from twixt.relay.serve.viewer import Viewer
from twixt.relay.stream.credit import Credit
from twixt.relay.stream.lean import LeanDecoder
from twixt.relay.stream.messages import (
    COLUMNS,
    CONTENT,
    CONTROL,
    INVALID,
    LEAN,
    OTHER_CLOSED,
    OTHER_PROTOCOL,
    PIECE_BYTES,
    SCENE,
    SNAPSHOT,
    STREAM,
    TOO_MANY,
    USED_NONCE,
    WRONG_TOKEN,
    Hello,
)  # fmt: skip
from twixt.relay.stream.presentation import Presentation

BALLS = Scene([Sphere(0.1)] * 3, camera=Camera((3, 0, 0)))

TOO_LARGE = 1009
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lab(runtime_folder: Path) -> Iterator[Served]:
    with served() as made:
        made.simulate(BALLS, columns={"scale3": ("<f4", 3), "heat": ("<f4", 1)})
        made.publish(columns=columns_of(3))
        made.serve()
        yield made


def columns_of(count: int) -> dict[str, np.ndarray]:
    return {"scale3": np.arange(3 * count, dtype="<f4").reshape(-1, 3), "heat": np.linspace(0, 1, count, dtype="<f4")}


def address(link: str) -> tuple[str, int]:
    parts = urlsplit(link)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def test_what_was_published_arrives_complete_after_its_scene_and_columns(lab: Served) -> None:
    with Page(lab.link) as page:
        first = [page.receive() for _ in range(3)]
        assert [one.kind for one in first] == [SCENE, COLUMNS, SNAPSHOT]
        assert [one.number for one in first] == [1, 2, 3]
        assert first[0].tables == packed_scene(BALLS).tables
        assert first[1].columns == [{"name": "scale3", "dtype": "<f4", "width": 3, "per": "body"}]
        for _ in range(5):
            bodies = lab.publish(columns=columns_of(3), due_ns=int(page.welcome["origin_ns"]) + 55)
            snapshot = page.snapshot()
            assert snapshot.bodies.tobytes() == bodies.tobytes()
            assert np.array_equal(snapshot.values(page.columns[snapshot.layout])["scale3"], columns_of(3)["scale3"])
            assert (int(snapshot.head["tick"]), int(snapshot.head["due_ns"])) == (lab.tick, 55)
            assert snapshot.head["published_ns"] > 0


def test_physics_gets_the_largest_lead_of_the_pages_until_they_leave(lab: Served) -> None:
    def reported(lead_ns: int) -> bool:
        lab.publish(columns=columns_of(3))  # the server reports it at its next wake
        return lab.host.lead_ns == lead_ns

    with Page(lab.link) as page:
        with Page(lab.link) as other:
            other.tell(kind="ping", id=1, lead_ns=30_000_000)
            page.tell(kind="ping", id=1, lead_ns=17_000_000)
            until(lambda: reported(30_000_000), "the larger lead")
        page.tell(kind="ping", id=2, lead_ns=17_000_000)
        until(lambda: reported(17_000_000), "the lead of the page that is left")
    until(lambda: reported(0), "no lead")


@pytest.mark.parametrize(("host", "lead_ns"), [("127.0.0.1", 5_000_000), ("::1", 5_000_000), ("192.0.2.1", 0)])
def test_only_the_lead_of_a_page_on_the_loopback_counts(host: str, lead_ns: int) -> None:
    class Control:
        remote_address = (host, 4711)
        texts = ('{"kind": "ping", "id": 1, "lead_ns": 5000000}',)

        async def __aiter__(self) -> AsyncIterator[str]:
            for text in self.texts:
                yield text

        async def send(self, _text: str) -> None:
            pass

    async def told() -> int:
        control: Any = Control()
        viewer = Viewer(
            Simulation("lab", 0), control, control, Hello(STREAM, "", "", frozenset()), None, Presentation(lambda: None)
        )
        await viewer._receive_control()
        return viewer.lead_ns

    assert asyncio.run(told()) == lead_ns


def test_what_came_before_a_confirmed_piece_of_an_overlay_is_not_kept_for_repeats() -> None:
    control: Any = SimpleNamespace(remote_address=None)
    hello = Hello(STREAM, "", "", frozenset())
    viewer = Viewer(Simulation("lab", 0), control, control, hello, None, Presentation(lambda: None))
    for viewer._number in (1, 2, 3):
        viewer._repeats.sent(viewer._number, bytes([viewer._number]))
    viewer._confirm(2)
    assert viewer._repeats.take(1, 0) == [bytes([3])]


def test_a_page_that_asks_for_lean_snapshots_gets_them_with_all_rows_that_changed(runtime_folder: Path) -> None:
    decoder = LeanDecoder()
    with served() as made:
        made.simulate(Scene([Sphere(0.1)] * 300), 300)
        made.publish()
        made.serve()
        with Page(made.link, lean=True) as page, Page(made.link) as full:
            for step in range(10):
                bodies = new_bodies(300)
                bodies["color"][step % 3] = step
                bodies = made.publish(bodies)
                tick = 0
                while tick != made.tick:
                    snapshot = page.snapshot()
                    assert snapshot.codec == LEAN
                    decoded, tick = decoder.decode(snapshot.content[HEAD.itemsize :]), snapshot.head["tick"]
                assert np.array_equal(decoded["position"], bodies["position"])
                assert np.array_equal(decoded["color"], bodies["color"])
                exact = full.until(lambda one: one.kind == SNAPSHOT and one.head["tick"] == made.tick)
                assert exact.bodies.tobytes() == bodies.tobytes()


def test_bodies_that_are_too_far_apart_for_lean_positions_are_sent_in_full(runtime_folder: Path) -> None:
    with served() as made:
        made.simulate(Scene([Sphere(0.1)] * 300), 300)
        bodies = new_bodies(300)
        bodies["position"][:, 1] = np.arange(300) * 1e4
        made.publish(bodies)
        made.serve()
        with Page(made.link, lean=True) as page:
            assert page.snapshot().bodies.tobytes() == bodies.tobytes()


def test_a_page_that_stops_gets_at_most_its_credit_of_old_messages_and_then_the_newest(lab: Served) -> None:
    with Page(lab.link) as stopped, Page(lab.link) as page:
        last = stopped.snapshot().number
        page.snapshot()
        for _ in range(50):
            lab.publish(columns=columns_of(3))
            assert page.snapshot().head["tick"] == lab.tick
        old: list[Received] = []
        while (received := stopped.receive(acknowledge=False)).head["tick"] != lab.tick:
            old.append(received)
            stopped.acknowledge(received.number)
        assert len(old) <= Credit().window + 1
        assert received.number == last + len(old) + 1


def test_a_page_that_never_acknowledges_is_kept(lab: Served) -> None:
    with Page(lab.link) as silent, Page(lab.link) as page:
        for _ in range(5):
            lab.publish(columns=columns_of(3))
            page.snapshot()
        silent.tell(kind="ping", id=7)
        assert silent.heard("pong")["id"] == 7


def test_pongs_plans_cameras_and_the_status_come_on_the_control_connection(lab: Served) -> None:
    with Page(lab.link) as page:
        origin_ns = int(page.welcome["origin_ns"])
        lab.host.ring.write_plan(Plan(5, 0, origin_ns + 10, 77, 0.5))
        assert page.heard("plan", lambda plan: plan["number"] == 5) == {
            "kind": "plan", "number": 5, "world_epoch": 0, "wall_ns": 10, "sim_time_ns": "77", "rate": 0.5,
        }  # fmt: skip
        page.snapshot()
        lab.host.write_camera(Camera((5, 6, 7)))
        assert page.heard("camera")["camera"]["eye"] == [5, 6, 7]
        lab.host.write_camera(None)
        assert page.heard("camera")["camera"] is None
        lab.host.set_status({"world": "lab", "diagnostics": {"energy": float("inf")}})
        status = page.heard("status", lambda fields: "world" in fields["status"])["status"]
        assert (status["world"], status["diagnostics"]) == ("lab", {"energy": None})
        page.tell(kind="ping", id=1)
        before = page.heard("pong")["at_ns"]
        page.tell(kind="ping", id=2)
        assert page.heard("pong")["at_ns"] >= before > 0


def test_a_new_scene_comes_before_its_snapshots_and_its_contents_in_pieces_only_once(lab: Served) -> None:
    numbers = np.random.default_rng(1)
    corners = numbers.random((40_000, 3), np.float32)
    mesh = Mesh(corners, numbers.integers(0, len(corners), (20_000, 3)))
    have = {"have": [mesh.digest.hex()]}
    with Page(lab.link) as page, Page(lab.link, **have) as richer:
        page.snapshot(), richer.snapshot()
        lab.host.write_scene(Scene([mesh, Sphere(1), Sphere(1)]))
        lab.publish(columns=columns_of(3))
        received = [page.receive()]
        assert received[0].kind == SCENE
        size = sum(array.nbytes for array in mesh.arrays)
        while sum(len(one.piece[3]) for one in received if one.kind == CONTENT) < size:
            received.append(page.receive())
        pieces = [one.piece for one in received if one.kind == CONTENT]
        assert b"".join(piece for _, _, _, piece in pieces) == b"".join(array.tobytes() for array in mesh.arrays)
        assert max(len(piece) for _, _, _, piece in pieces) == PIECE_BYTES
        # A snapshot does not wait for all contents.
        version = received[0].versions[0]
        assert [one.head["scene_version"] for one in received[:4] if one.kind == SNAPSHOT] == [version]
        assert richer.receive().kind == SCENE
        assert richer.receive().kind == SNAPSHOT
        lab.host.write_scene(BALLS)
        lab.publish(columns=columns_of(3))
        assert page.receive().versions[0] == version + 1
        assert page.receive().kind == SNAPSHOT


def test_a_program_that_replaces_its_scene_at_each_step_is_seen(lab: Served) -> None:
    is_seen = threading.Event()

    def run() -> None:
        while not is_seen.wait(0.001):
            lab.host.write_scene(BALLS)
            lab.publish(columns=columns_of(3))

    program = threading.Thread(target=run)
    program.start()
    try:
        with Page(lab.link) as page:
            snapshots = scene = 0
            while snapshots < 10:
                received = page.receive()
                if received.kind == SCENE:
                    scene = received.versions[0]
                elif received.kind == SNAPSHOT:
                    assert received.head["scene_version"] <= scene
                    snapshots += 1
    finally:
        is_seen.set()
        program.join()


def test_while_a_simulation_that_runs_again_has_published_nothing_pages_are_answered(runtime_folder: Path) -> None:
    with served() as made:
        made.simulate(BALLS)
        made.publish()
        made.serve()
        with Page(made.link) as page:
            page.snapshot()
            made.host.end()
            page.heard("end")
            made.simulate(BALLS)
            page.until(lambda received: received.kind == SCENE)
            page.tell(kind="ping", id=3)
            assert page.heard("pong")["id"] == 3
            made.publish()
            assert page.snapshot().head["tick"] == made.tick


def test_more_bodies_than_fit_into_the_first_memory_arrive(runtime_folder: Path) -> None:
    with served() as made:
        made.simulate(BALLS, capacity=3)
        made.publish()
        with Page(made.serve()) as page:
            assert page.snapshot().head["count"] == 3

            def has_grown() -> bool:
                bodies = made.publish(new_bodies(5000))
                return page.snapshot().bodies.tobytes() == bodies.tobytes()

            until(has_grown, "all bodies")


def test_colours_of_a_column_are_in_the_records(runtime_folder: Path) -> None:
    with served() as made:
        made.simulate(
            Scene([Sphere(1)] * 3, color_by=ColorBy("heat", 0, 1, (0, 0, 0), (1, 1, 1))), columns={"heat": ("<f4", 1)}
        )
        made.publish(columns={"heat": columns_of(3)["heat"]})
        with Page(made.serve()) as page:
            assert page.snapshot().bodies["color"][:, 0].tolist() == [0, 128, 255]


def test_the_page_comes_by_http_and_foreign_hosts_and_methods_are_refused(lab: Served) -> None:
    def answer(method: str, path: str, **headers: str) -> http.client.HTTPResponse:
        with closing(http.client.HTTPConnection(*address(lab.link), timeout=30)) as connection:
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            response.read()
            return response

    page = answer("GET", "/")
    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "Server" not in page.headers
    assert answer("HEAD", "/prefix/index.html").status == 200
    assert answer("OPTIONS", "/").status == 405
    assert answer("GET", "/twixt.py").status == 404
    assert answer("GET", "/ws").status == 426
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example"):
        assert answer("GET", "/", Host=host).status == 403
        assert answer("GET", "/ws", Host=host).status == 403


def test_a_connection_stays_for_further_requests_but_not_for_other_kinds_of_them(lab: Served) -> None:
    host, port = address(lab.link)
    client = http.client.HTTPConnection(host, port, timeout=30)
    with closing(client):
        for path, status in (("/main.js", 200), ("/none.js", 404), ("/", 200)):
            client.request("GET", path)
            kept, answer = client.sock, client.getresponse()
            assert (answer.status, len(answer.read()) > 0, client.sock) == (status, True, kept)
        client.request("GET", "/", headers={"Connection": "close"})
        assert client.getresponse().getheader("Connection") == "close"
    asked = f"GET /main.js HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
    with closing(socket.create_connection((host, port), timeout=30)) as client:
        client.sendall(asked[:9])
        client.sendall(asked[9:] + asked + asked.replace(b"GET", b"HEAD"))
        with client.makefile("rb") as answers:
            assert answers.read().count(b"HTTP/1.1 200 OK") == 3  # the last one closed the connection
    # it ends while thousands of answers wait for a client that does not read
    with closing(socket.create_connection((host, port), timeout=30)) as client, suppress(OSError):
        while True:
            client.sendall(asked * 100)


def test_a_foreign_origin_opens_no_websocket(lab: Served) -> None:
    host, port = address(lab.link)
    with opened(lab.link, origin=f"http://{host}:{port}"):
        pass
    for origin in ("http://evil.example", f"http://{host}:{port + 1}", f"https://{host}:{port}", "null"):
        with pytest.raises(InvalidStatus) as error:
            opened(lab.link, origin=origin)
        assert error.value.response.status_code == 403


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (hello(STREAM, "wrong", "0" * 32), WRONG_TOKEN),
        (hello(STREAM, "", "0" * 32), WRONG_TOKEN),
        ("\u00e9", WRONG_TOKEN),
        (b"\0" * 1000, WRONG_TOKEN),
        ("[" * 4000, WRONG_TOKEN),
        ('{"kind": "hello", "token": "\\ud800"}', WRONG_TOKEN),
        ("x" * 5000, TOO_LARGE),
        (b"x" * 3_000_000, TOO_LARGE),
    ],
)  # fmt: skip
def test_who_does_not_know_the_token_is_closed(lab: Served, first: str | bytes, code: int) -> None:
    with opened(lab.link) as connection:
        connection.send(first)
        assert closed_with(connection) == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"protocol": 2}, OTHER_PROTOCOL), ({"role": "spy"}, INVALID), ({"nonce": "short"}, INVALID)],
)
def test_a_wrong_hello_is_closed_with_its_code(lab: Served, changes: dict[str, Any], code: int) -> None:
    with opened(lab.link) as connection:
        connection.send(hello(STREAM, lab.link.partition("#")[2], **{"nonce": secrets.token_hex(16)} | changes))
        assert closed_with(connection) == code


def test_a_replayed_hello_is_refused(lab: Served) -> None:
    token = lab.link.partition("#")[2]
    with Page(lab.link) as page:
        page.snapshot()
        for role in (STREAM, CONTROL):
            with opened(lab.link) as replay:
                replay.send(hello(role, token, page.nonce))
                assert closed_with(replay) == USED_NONCE
    with opened(lab.link) as replay:
        replay.send(hello(STREAM, token, page.nonce))
        assert closed_with(replay) == USED_NONCE


@pytest.mark.parametrize(
    "text",
    ["garbage", '{"kind": "ack", "number": 1000}', '{"kind": "ack", "number": 0}', '{"kind": "nothing"}',
     '{"kind": "command", "name": "quit"}', "[1]"],
)  # fmt: skip
def test_a_page_that_sends_nonsense_is_closed_on_both_connections(lab: Served, text: str) -> None:
    with Page(lab.link) as page:
        page.snapshot()
        page.control.send(text)
        assert closed_with(page.control) == closed_with(page.stream) == INVALID


def test_a_page_that_speaks_on_the_stream_or_sends_megabytes_is_closed(lab: Served) -> None:
    with Page(lab.link) as page:
        page.stream.send("hello again")
        assert closed_with(page.stream) == INVALID
    with Page(lab.link) as page:
        page.control.send(json.dumps({"kind": "ping", "id": 1, "more": "x" * 3_000_000}))
        assert closed_with(page.control) == TOO_LARGE
        assert closed_with(page.stream) == OTHER_CLOSED


@pytest.mark.parametrize("frame", [b"\x89\xfd" + bytes(129), b"\x00\x80" + bytes(4)], ids=["pings", "fragments"])
@pytest.mark.parametrize("is_page", [False, True])
def test_floods_that_are_no_messages_end_their_connection(lab: Served, frame: bytes, is_page: bool) -> None:
    with ExitStack() as opened_by_test:
        if is_page:
            page = opened_by_test.enter_context(Page(lab.link))
            page.snapshot()
            flooder = page.control
        else:
            flooder = opened_by_test.enter_context(opened(lab.link))
        begin = b"" if frame[0] & 0x80 else b"\x01\x80" + bytes(4)
        with suppress(OSError):
            for block in [begin, *[frame * 2000] * 1000]:
                flooder.socket.sendall(block)
        closed_with(flooder)
    with Page(lab.link) as page:
        page.snapshot()


def test_the_end_of_one_connection_ends_the_other(lab: Served) -> None:
    with Page(lab.link) as page:
        page.stream.close()
        assert closed_with(page.control) == OTHER_CLOSED
    with Page(lab.link) as page:
        page.control.close()
        assert closed_with(page.stream) == OTHER_CLOSED


def test_commands_reach_the_simulation_through_eight_pages_at_most(lab: Served) -> None:
    with ExitStack() as pages:
        opened_pages = [pages.enter_context(Page(lab.link)) for _ in range(MOST_CONTROLLERS + 1)]
        for page in opened_pages[:-1]:
            page.tell(kind="command", name="pause")
        got = list[str]()

        def has_all() -> bool:
            got.extend(command.name for command in lab.host.commands.drain())
            return len(got) >= MOST_CONTROLLERS

        until(has_all, "every page's command")
        assert got == ["pause"] * MOST_CONTROLLERS
        opened_pages[-1].tell(kind="command", name="resume")
        assert opened_pages[-1].heard("refused")["name"] == "resume"
        for value in range(1000):
            opened_pages[0].tell(kind="command", name="control", value=[3, value])
        got.clear()
        until(lambda: any(one.value == [3, 999] for one in lab.host.commands.drain()), "the newest value")


def test_there_are_at_most_32_viewers(runtime_folder: Path) -> None:
    with served() as made:
        made.simulate(BALLS)
        made.publish()
        link = made.serve()
        with ExitStack() as pages:
            for _ in range(MOST_VIEWERS):
                pages.enter_context(Page(link)).snapshot()
            with opened(link) as connection:
                connection.send(hello(STREAM, link.partition("#")[2], secrets.token_hex(16)))
                assert closed_with(connection) == TOO_MANY

        def has_room() -> bool:
            with suppress(ConnectionClosed), Page(link) as page:
                return bool(page.snapshot())
            return False

        until(has_room, "the server has noticed that the pages are closed")


def test_a_thousand_silent_clients_keep_nobody_out(lab: Served) -> None:
    with ExitStack() as silent:
        for number in range(1000 if MOST_OPENING < 500 else 0):
            client = silent.enter_context(socket.create_connection(address(lab.link), timeout=30))
            if number % 2:
                client.send(b"GET / HTTP/1.1\r\n")
            if number % 250 == 0:
                with Page(lab.link) as page:
                    page.snapshot()
        with Page(lab.link) as page:
            page.snapshot()


def test_the_page_may_be_asked_for_by_many_who_do_not_read(lab: Served) -> None:
    with ExitStack() as silent:
        for _ in range(100):
            client = silent.enter_context(socket.create_connection(address(lab.link), timeout=30))
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with Page(lab.link) as page:
            page.snapshot()


def test_nothing_of_a_request_is_logged(lab: Served) -> None:
    """The last test of this server: it reads all that the process has printed."""
    secret = "cookie=do-not-log"
    with closing(socket.create_connection(address(lab.link), timeout=30)) as client:
        client.sendall(f"NONSENSE {secret} HTTP/1.1\r\n{secret}\r\n\r\n".encode())
        assert client.recv(100) is not None
    lab.process.terminate()
    out, err = lab.process.communicate(timeout=60)
    assert lab.process.returncode == 130
    assert out + err == ""


def test_a_small_message_does_not_wait_for_the_acknowledgement_of_the_one_before() -> None:
    """The server's sockets have TCP_NODELAY. asyncio sets it only for sockets whose protocol is known."""

    async def has_no_delay() -> bool:
        answers: list[int] = []

        async def handle(connection: ServerConnection) -> None:
            taken = connection.transport.get_extra_info("socket")
            answers.append(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

        class Connection(PageConnection):
            OPENING = OrderedDict()

        with closing(access.bound("127.0.0.1", None, 0, "no-delay")) as listening:
            async with serve(handle, sock=listening, create_connection=Connection):
                address = f"ws://127.0.0.1:{listening.getsockname()[1]}"
                async with connect_in_loop(address) as page:
                    await page.wait_closed()
        return answers == [1]

    assert asyncio.run(has_no_delay())
