"""The link of the bench: its decisions in virtual time, and a real one where namespaces and TUN are available."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.processes import HERE, function_call, process
from bench.web.link import SERVER, Direction, LinkShape, content_bytes, link, why_no_link
from bench.web.web_bench import NAME
from twixt.sim.process.viewer_command import twixt_command

PACKET = 1500


def passed(shape: LinkShape, times_ns: list[int], size: int = PACKET) -> list[float | None]:
    way = Direction(shape, random.Random(1))
    return [way.due_ns(now_ns, size) for now_ns in times_ns]


def test_an_empty_link_holds_nothing_up() -> None:
    assert passed(LinkShape(), [0, 5, 10]) == [0, 5, 10]


def test_packets_are_delayed_within_the_jitter_and_keep_their_order() -> None:
    sent_ns = [i * 100_000_000 for i in range(400)]
    due_ns = [due or 0.0 for due in passed(LinkShape(delay_ms=80, jitter_ms=20), sent_ns)]
    delays_ms = [(due - sent) / 1e6 for due, sent in zip(due_ns, sent_ns, strict=True)]
    assert 60 <= min(delays_ms) < 62
    assert 98 < max(delays_ms) <= 100
    assert statistics.mean(delays_ms) == pytest.approx(80, abs=2)
    close = passed(LinkShape(delay_ms=80, jitter_ms=20), [i * 1000 for i in range(400)])
    assert close == sorted(close, key=lambda due: due or 0.0)


def test_a_share_of_the_packets_is_lost() -> None:
    due = passed(LinkShape(loss=0.05), list(range(10_000)))
    assert sum(each is None for each in due) == pytest.approx(500, abs=60)


def test_bandwidth_spaces_packets_and_a_full_queue_drops() -> None:
    due = passed(LinkShape(mbit_s=12, queue_ms=10), [0] * 20)
    kept = [each for each in due if each is not None]
    assert kept == [(i + 1) * 1e6 for i in range(len(kept))]  # 12,000 bits at 12 Mbit/s
    assert len(kept) == 11
    assert passed(LinkShape(mbit_s=12), [0, 10_000_000]) == [1e6, 11e6]


def test_only_the_content_of_tcp_packets_is_counted() -> None:
    tcp = bytearray(20 + 32 + 7)
    tcp[0], tcp[9], tcp[32] = 0x45, 6, 0x80
    assert content_bytes(bytes(tcp)) == 7
    tcp[9] = 17
    assert content_bytes(bytes(tcp)) == 0
    assert content_bytes(b"") == 0
    assert content_bytes(bytes([0x60, *[0] * 60])) == 0


# Sends numbered packets, each with its instant, to the other end; receives TCP from it for half a second.
AT_SERVER = f"""
import json, select, socket, sys, time
packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
packets.bind(({SERVER!r}, 5000))
listening = socket.create_server(({SERVER!r}, 5001))
print("ready", flush=True)
stream = listening.accept()[0]
_, client = packets.recvfrom(100)
for number in range(400):
    packets.sendto(b"%d %d" % (number, time.perf_counter_ns()), client)
    time.sleep(0.0005)
received, ends = 0, None
while data := stream.recv(1 << 16):
    received += len(data)
    ends = ends or time.perf_counter() + 0.5
    begin = ends - 0.5
    if time.perf_counter() > ends:
        break
print(json.dumps(received / (time.perf_counter() - begin)), flush=True)
"""
AT_CLIENT = f"""
import json, select, socket, time
packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
packets.settimeout(60)  # the handshake may lose a packet
stream = socket.create_connection(({SERVER!r}, 5001))
for _ in range(5):
    packets.sendto(b"begin", ({SERVER!r}, 5000))
delays = []
try:
    while len(delays) < 400:
        number, sent = packets.recv(100).split()
        delays.append(time.perf_counter_ns() - int(sent))
        packets.settimeout(1)
        if int(number) == 399:
            break
except TimeoutError:
    pass
print(json.dumps(delays), flush=True)
try:
    while True:
        stream.send(bytes(1 << 14))
except OSError:
    pass
"""


def test_a_real_link_delays_loses_and_limits_and_leaves_nothing() -> None:
    """Kernel's packets and TCP. Delays are only compared with what they must be at least."""
    if why := why_no_link():
        pytest.skip(why)
    before = set(Path("/sys/class/net").iterdir())
    python = [sys.executable, "-I", "-S", "-c"]
    with link(LinkShape(delay_ms=30, jitter_ms=5, loss=0.1, mbit_s=8)) as made:
        server = subprocess.Popen([*made.server, *python, AT_SERVER], stdout=subprocess.PIPE, text=True)
        client = None
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            client = subprocess.Popen([*made.client, *python, AT_CLIENT], stdout=subprocess.PIPE, text=True)
            assert client.stdout is not None
            delays_ms = [each / 1e6 for each in json.loads(client.stdout.readline())]
            rate = json.loads(server.stdout.readline())
            counts = made.counts()
        finally:
            for child in (server, client):
                if child is not None:
                    child.kill()
                    child.communicate()
    print(
        f"delay p50 {statistics.median(delays_ms):.1f} ms, {len(delays_ms)} of 400 packets, TCP {rate / 1e3:.0f} kB/s; {counts}"
    )
    assert min(delays_ms) >= 25
    assert 300 <= len(delays_ms) < 400
    assert 0 < rate <= 1.1e6  # 8 Mbit/s
    assert counts["to_client"]["lost"] > 0
    assert counts["to_server"]["carried_bytes"] > 0
    assert set(Path("/sys/class/net").iterdir()) == before


def test_a_link_is_gone_after_a_failure() -> None:
    if why := why_no_link():
        pytest.skip(why)
    with pytest.raises(ZeroDivisionError), link(LinkShape()) as made:
        namespace = made.server[1].removeprefix("--net=")
        assert os.path.exists(namespace)
        _ = 1 // 0
    assert not os.path.exists(namespace)


# A page at the other end, until a message of the stream came on its control connection.
PAGE = """
import sys
from tests.relay.page import Page, decoded
with Page(sys.argv[1]) as page:
    numbers = [page.snapshot().number]
    while isinstance(message := page.control.recv(60), str):
        numbers.append(page.receive().number)
    print(decoded(message).number <= max(numbers) + 10, numbers == sorted(numbers))
"""


def test_on_a_link_that_loses_packets_snapshots_are_repeated_on_the_control_connection(tmp_path: Path) -> None:
    if why := why_no_link():
        pytest.skip(why)
    environ = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path), "PYTHONPATH": HERE}
    with ExitStack() as ends:
        made = ends.enter_context(link(LinkShape(delay_ms=2, loss=0.1)))
        sim = twixt_command("sim", "metronome", "--name", NAME)
        ends.enter_context(process(sim, environ, is_apart=True))
        serve = function_call("bench.web.web_bench:serve_at", host=SERVER, is_full=False)
        serving = ends.enter_context(process([*made.server, *serve], environ, is_read=True, is_apart=True))
        url = next(serving.lines()).strip()
        command = [*made.client, sys.executable, "-c", PAGE, url]
        page = subprocess.run(command, env=environ, cwd=HERE, capture_output=True, text=True, timeout=90)
    assert page.stdout == "True True\n", page.stderr
