"""What a flood of commands costs physics: a viewer that sends as fast as it is let, and the world's steps meanwhile.

One daemon thread reads viewers, and shares the interpreter with the stepping thread; what it reads, steps wait for.
Rounds with and without the flood take turns in one run. The stepping thread is never paced, so all that it waits for
is the interpreter: its time neither on a core nor in the queue for one, which the kernel counts (schedstat), whatever
else the machine does.

    python -m tests.long.hostile.flood [--rounds 20] [--again]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple

from tests.publishing import publish
from twixt.ipc import session
from twixt.ipc.session import wire
from twixt.ipc.snapshot import Head
from twixt.ipc.system.linux_names import SUFFIX, runtime_folder
from twixt.sim.worlds.find import load_world

ROUND_S = 1.0
COMMAND = wire.encode("command", {"name": "time_scale", "value": 1.0, "acted_ns": 1, "draw_time_ns": 1})


class Round(NamedTuple):
    steps: int
    wall_s: float
    core_s: float  # on a core
    waited_s: float  # for the interpreter
    reader_s: float  # that the daemon thread was on a core


def flooder(name: str, again: bool) -> None:
    """A process that floods at a line, until the next one; says how many whole commands it got rid of."""
    path = os.path.join(runtime_folder(), name + SUFFIX)
    print("ready", flush=True)
    while sys.stdin.readline():
        stop = threading.Event()
        threading.Thread(target=lambda stop=stop: (sys.stdin.readline(), stop.set()), daemon=True).start()
        sent = _flood(path, stop, is_patient=not again)
        while not stop.is_set():
            sent += _flood(path, stop, is_patient=not again)
        print(sent // len(COMMAND), flush=True)


def _flood(path: str, stop: threading.Event, is_patient: bool = True) -> int:
    """One connection's flood, until it is told to stop or, without patience, until nobody takes more. Bytes taken."""
    block, sent = memoryview(COMMAND * 200), 0
    with socket.socket(socket.AF_UNIX) as viewer, contextlib.suppress(OSError):
        viewer.connect(path)
        viewer.sendall(wire.encode("attach"))
        viewer.settimeout(0.05 if is_patient else 0.001)
        rest = block
        while not stop.is_set():
            try:
                gone = viewer.send(rest)
                rest, sent = rest[gone:] or block, sent + gone
            except TimeoutError:
                if not is_patient:
                    break
    return sent


class Measured:
    """A world stepped as fast as it goes, on this thread, and published."""

    def __init__(self, name: str) -> None:
        self.world = load_world("spinners")  # each of its steps does the same
        self.host = session.Host(session.open_listener(name), self.world.scene, len(self.world.bodies))
        self._reader = next(thread for thread in threading.enumerate() if thread.name == f"twixt {name}")
        self._tick = 0

    def round(self, length_s: float) -> Round:
        begin_ns, before, reader = time.perf_counter_ns(), _schedstat(threading.get_native_id()), self._reader_s()
        steps, end_ns = 0, begin_ns + round(length_s * 1e9)
        while time.perf_counter_ns() < end_ns:
            self.world.step(self.world.dt)
            self._tick += 1
            publish(self.host.ring, Head(tick=self._tick), self.world.bodies.records)
            self.host.commands.drain()
            steps += 1
        wall_s = (time.perf_counter_ns() - begin_ns) / 1e9
        core_s, queued_s = (b - a for a, b in zip(before, _schedstat(threading.get_native_id()), strict=True))
        return Round(steps, wall_s, core_s, wall_s - core_s - queued_s, self._reader_s() - reader)

    def _reader_s(self) -> float:
        return _schedstat(self._reader.native_id or 0)[0]


def _schedstat(thread: int) -> tuple[float, float]:
    with open(f"/proc/self/task/{thread}/schedstat", encoding="ascii") as file:
        on_core_ns, queued_ns, _ = file.read().split()
    return int(on_core_ns) / 1e9, int(queued_ns) / 1e9


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="with the flood, and as many without")
    parser.add_argument("--flood", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--again", action="store_true", help="flood over connections that are made anew all the time")
    wanted = parser.parse_args(arguments)
    if wanted.flood:
        flooder(wanted.flood, wanted.again)
        return 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as leaving:
        os.environ["XDG_RUNTIME_DIR"] = folder
        measured = Measured("flooded")
        leaving.callback(measured.host.end)
        other = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.long.hostile.flood", "--flood", "flooded", *(["--again"] if wanted.again else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        leaving.callback(other.kill)
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        measured.round(ROUND_S)
        quiet, flooded, sent = [], [], 0
        for number in range(wanted.rounds):
            if number % 2:  # what drifts does so for both alike
                quiet.append(measured.round(ROUND_S))
            other.stdin.write("go\n")
            measured.host.viewer_attached.wait()
            flooded.append(measured.round(ROUND_S))
            other.stdin.write("stop\n")
            sent += int(other.stdout.readline())
            measured.host.viewer_attached.clear()
            while measured.host.viewers:
                time.sleep(0.01)
            if not number % 2:
                quiet.append(measured.round(ROUND_S))
        print(_told(quiet, flooded, sent, measured.host.commands.refused))
    return 0


def _told(quiet: list[Round], flooded: list[Round], sent: int, refused: int) -> str:
    def share(rounds: list[Round]) -> float:
        return statistics.median(each.waited_s / each.core_s for each in rounds) * 100

    def step_us(rounds: list[Round]) -> float:
        return statistics.median(each.core_s / each.steps for each in rounds) * 1e6

    reader = statistics.median(each.reader_s / each.wall_s for each in flooded) * 100
    per_s = sent / sum(each.wall_s for each in flooded)
    slower = statistics.median(
        (b.core_s + b.waited_s) / b.steps / ((a.core_s + a.waited_s) / a.steps)
        for a, b in zip(quiet, flooded, strict=True)
    )
    wall = statistics.median(b.wall_s / b.steps / (a.wall_s / a.steps) for a, b in zip(quiet, flooded, strict=True))
    return (
        f"{len(quiet)} rounds each, {ROUND_S:g} s; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n"
        f"commands taken {per_s:.0f} a second ({sent} in all, {refused} refused)\n"
        f"a step takes {step_us(quiet):.1f} us of a core, {step_us(flooded):.1f} us under the flood\n"
        f"steps wait for the interpreter {share(quiet):.2f} % of their time, {share(flooded):.2f} % under the flood\n"
        f"the reading thread is on a core for {reader:.2f} % of the time\n"
        f"physics is slower by {(slower - 1) * 100:.2f} %, by the wall clock of this machine {(wall - 1) * 100:.2f} %"
    )


if __name__ == "__main__":
    sys.exit(main())
