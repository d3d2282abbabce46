"""A network link with chosen faults: two network namespaces, and a forwarder between their TUN devices.

Each packet of each direction is delayed, may be lost, and waits for the bandwidth. Packets are never reordered, as in a
queue: with jitter, a packet that is held up holds up the packets behind it. Only root can make a link, on Linux.

Always: nothing of a link remains. A namespace lives as long as a process of this bench, which the system ends with the
bench, and the devices live as long as the forwarder.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import select
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.processes import function_call, process
from twixt.ipc.errors import TwixtError

# Addresses of the two ends. Each namespace has no other network, so they cannot collide with anything.
SERVER, CLIENT = "10.77.0.1", "10.77.0.2"
PROGRAMS = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux"}
TUN = "/dev/net/tun"
# Constants of linux/if_tun.h: a device for IP packets, without a head of its own.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
PACKET_BYTES = 65536
TCP = 6
# Size of the heads of an IPv4 packet with TCP, which are not counted as carried bytes.
LEAST_IP_HEAD_BYTES = 20


@dataclass(frozen=True)
class LinkShape:
    """Faults of each direction. delay_ms: one way. jitter_ms: the delay of a packet is in delay_ms +- jitter_ms, evenly
    distributed. loss: share of lost packets. mbit_s: bandwidth; 0 for no limit. queue_ms: packets that would wait
    longer for the bandwidth are lost, as in the buffer of a router."""

    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    mbit_s: float = 0.0
    queue_ms: float = 200.0


@dataclass
class Direction:
    """One direction of a link. Pure: instants are passed in, in ns. Counts what came and what was lost; carried_bytes:
    content of the TCP packets that were passed on."""

    shape: LinkShape
    chance: random.Random
    packets: int = 0
    lost: int = 0
    dropped: int = 0
    carried_bytes: int = 0
    _free_ns: float = field(default=0.0, repr=False)
    _last_ns: float = field(default=0.0, repr=False)

    def due_ns(self, now_ns: int, size_bytes: int) -> float | None:
        """Instant at which a packet that comes now reaches the other end; None if it is lost."""
        shape = self.shape
        self.packets += 1
        if self.chance.random() < shape.loss:
            self.lost += 1
            return None
        sent_ns = float(now_ns)
        if shape.mbit_s:
            begin_ns = max(sent_ns, self._free_ns)
            if begin_ns - now_ns > shape.queue_ms * 1e6:
                self.dropped += 1
                return None
            sent_ns = self._free_ns = begin_ns + size_bytes * 8e3 / shape.mbit_s
        delay_ms = shape.delay_ms + self.chance.uniform(-shape.jitter_ms, shape.jitter_ms)
        self._last_ns = max(self._last_ns, sent_ns + max(0.0, delay_ms) * 1e6)
        return self._last_ns

    def count(self, packet: bytes) -> None:
        """Counts the content of a packet that is passed on."""
        self.carried_bytes += content_bytes(packet)


def content_bytes(packet: bytes) -> int:
    """Number of bytes that an IPv4 packet carries by TCP, without the heads; 0 for other packets."""
    if len(packet) < LEAST_IP_HEAD_BYTES or packet[0] >> 4 != 4 or packet[9] != TCP:
        return 0
    head = (packet[0] & 15) * 4
    return max(0, len(packet) - head - (packet[head + 12] >> 4) * 4) if len(packet) > head + 12 else 0


@dataclass(frozen=True)
class Link:
    """A running link. server, client: prefixes of the commands that run at each end; they reach each other at `SERVER`
    and `CLIENT`."""

    server: tuple[str, ...]
    client: tuple[str, ...]
    _forwarder: subprocess.Popen[str]

    def counts(self) -> dict[str, dict[str, int]]:
        """Counts so far of the directions to_client and to_server: packets, lost, dropped, carried_bytes."""
        assert self._forwarder.stdin is not None
        assert self._forwarder.stdout is not None
        self._forwarder.stdin.write("\n")
        self._forwarder.stdin.flush()
        counts: dict[str, dict[str, int]] = json.loads(self._forwarder.stdout.readline())
        return counts


def why_no_link() -> str:
    """Why this process cannot make a link; "" if it can."""
    if sys.platform != "linux":
        return "links need the network namespaces of Linux"
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            return f"no {program} here; on Debian install it with: apt-get install {package}"
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    if not os.access(TUN, os.R_OK | os.W_OK):
        return f"{TUN} cannot be opened; a container gets it with: --device {TUN} --cap-add NET_ADMIN"
    tried = subprocess.run(["unshare", "-n", "true"], capture_output=True, text=True)
    return f"network namespaces cannot be made: {tried.stderr.strip()}" if tried.returncode else ""


@contextmanager
def link(shape: LinkShape, congestion: str = "cubic", seed: int = 0) -> Iterator[Link]:
    """Runs a link between two new network namespaces. congestion: TCP's congestion control at both ends. Raises
    TwixtError."""
    if why := why_no_link():
        raise TwixtError(why)
    with ExitStack() as ends:
        pids = [_namespace(ends) for _ in range(2)]
        command = function_call("bench.web.link:forward", shape=asdict(shape), seed=seed)
        forwarder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ends.callback(_end, forwarder)
        assert forwarder.stdout is not None
        devices = forwarder.stdout.readline().split()
        if len(devices) != 2:
            raise TwixtError("the forwarder of the link does not start")
        for pid, device, own, other in zip(pids, devices, (SERVER, CLIENT), (CLIENT, SERVER), strict=True):
            _run("ip", "link", "set", device, "netns", str(pid))
            _run(*_inside(pid), "ip", "link", "set", "lo", "up")
            _run(*_inside(pid), "ip", "addr", "add", own, "peer", other, "dev", device)
            _run(*_inside(pid), "ip", "link", "set", device, "up")
            _run(*_inside(pid), "ip", "route", "change", other, "dev", device, "src", own, "congctl", congestion)
        yield Link(_inside(pids[0]), _inside(pids[1]), forwarder)


def _namespace(ends: ExitStack) -> int:
    """Makes a network namespace. Returns the id of the process that keeps it."""
    keeper = ends.enter_context(process(["unshare", "-n", "sleep", "infinity"], is_apart=True))
    own = os.readlink("/proc/self/ns/net")
    keeper.until(lambda: os.readlink(f"/proc/{keeper.pid}/ns/net") != own, "its namespace was made", poll_s=0.002)
    return keeper.pid


def _inside(pid: int) -> tuple[str, ...]:
    return ("nsenter", f"--net=/proc/{pid}/ns/net", "--")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise TwixtError(f"{' '.join(command)}: {done.stderr.strip()}")


def _end(forwarder: subprocess.Popen[str]) -> None:
    forwarder.kill()
    forwarder.communicate()


def forward(shape: dict[str, Any], seed: int) -> None:
    """Passes packets between two new TUN devices until standard input ends. First prints the names of the devices, then
    the counts for each line of standard input."""
    import fcntl

    devices, names = [], []
    for _ in range(2):
        device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
        asked = struct.pack("16sH22x", b"twixt%d", IFF_TUN | IFF_NO_PI)
        names.append(fcntl.ioctl(device, TUNSETIFF, asked)[:16].split(b"\0")[0].decode())
        devices.append(device)
    print(*names, flush=True)
    server, client = devices
    chance = random.Random(seed)
    to_client, to_server = (Direction(LinkShape(**shape), random.Random(chance.random())) for _ in range(2))
    ways = {server: (to_client, client), client: (to_server, server)}
    waiting: list[tuple[float, int, bytes, Direction, int]] = []
    number = 0
    while True:
        now_ns = time.perf_counter_ns()
        while waiting and waiting[0][0] <= now_ns:
            _, _, packet, way, target = heapq.heappop(waiting)
            try:
                os.write(target, packet)
                way.count(packet)
            except OSError:
                way.dropped += 1  # the device is not up
        timeout_s = max(0.0, (waiting[0][0] - time.perf_counter_ns()) / 1e9) if waiting else None
        for ready in select.select([0, *devices], [], [], timeout_s)[0]:
            if ready == 0:
                if not os.read(0, 4096):
                    return
                print(json.dumps({"to_client": _counts(to_client), "to_server": _counts(to_server)}), flush=True)
                continue
            way, target = ways[ready]
            for packet in _packets(ready):
                due_ns = way.due_ns(time.perf_counter_ns(), len(packet))
                if due_ns is not None:
                    number += 1
                    heapq.heappush(waiting, (due_ns, number, packet, way, target))


def _packets(device: int) -> Iterator[bytes]:
    """Packets that wait at a device, at most 64, so that due packets of the other direction do not wait."""
    for _ in range(64):
        try:
            yield os.read(device, PACKET_BYTES)
        except OSError:  # none is left
            return


def _counts(way: Direction) -> dict[str, int]:
    return {name: getattr(way, name) for name in ("packets", "lost", "dropped", "carried_bytes")}
