"""Threads that fork while a simulation opens, grows, publishes, lets a viewer in and ends: what their children keep.

    python -m tests.ipc.forks [FORKS [THREADS]]       prints what was kept, of how many children

The one idea: a child looks at itself in its first instant, in the kernel's own lists, and says what of its parent's it
finds there: shared memory (mapped, or by a descriptor), sockets, locks on the folder of names, handles of processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections import Counter

from tests.publishing import publish
from twixt.ipc import session
from twixt.ipc.process import fork
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import Head, new_bodies
from twixt.sim.process.watchdog import Watchdog

# A child that has said nothing for so long never will.
PATIENCE_S = 60
KINDS = {"/memfd:": "memory", "socket:": "socket", "anon_inode:[pidfd]": "process", "/twixt": "folder of names"}


def kept() -> list[str]:
    """What this process has of a simulation's."""
    found = []
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing itself
            name = os.readlink(f"/proc/self/fd/{entry}")
            found += [what for sign, what in KINDS.items() if name.startswith(sign) or name.endswith(sign)]
    with open("/proc/self/maps") as maps:
        found += ["mapped memory"] * ("/memfd:twixt" in maps.read())
    if signal.set_wakeup_fd(-1) != -1:
        found.append("wake-up of signals")
    found += [number.name for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_DFL]
    return found


def child_keeps() -> list[str]:
    """Forks, in this thread; what the child has kept."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(PATIENCE_S)
            os.write(writing, ",".join(kept()).encode() + b".")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        said = answers.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return [what for what in said.rstrip(".").split(",") if what] if said else [f"ended with {code} without a word"]


def live_once(name: str) -> None:
    """A simulation's life, and a viewer's."""
    watch = Watchdog(None, lambda: None)
    watch.begin()
    host = session.Host(session.open_listener(name), Scene([Sphere()]), 1)
    with contextlib.closing(session.attach(name, PATIENCE_S)) as link:
        for count in (1, 3, 10, 30, 100, 300, 1000, 3000):
            publish(host.ring, Head(tick=count), new_bodies(count))
            link.poll()
            list(link.unread(1 << 26))
        session.running()
    host.end()
    watch.end()


def forks(count: int, threads: int = 3, name: str = "forks") -> tuple[int, Counter[str]]:
    """So many lives' forks, by threads beside each other: how many children, and what they kept."""
    found: Counter[str] = Counter()
    others = Counter(child_keeps())  # what is none of a simulation's
    children, is_over = [0], threading.Event()

    def forker() -> None:
        while not is_over.is_set():
            found.update(Counter(child_keeps()) - others)
            children[0] += 1
            if children[0] >= count:
                is_over.set()

    forkers = [threading.Thread(target=forker) for _ in range(threads)]
    for thread in forkers:
        thread.start()
    try:
        while not is_over.is_set():
            live_once(name)
    finally:
        is_over.set()
        for thread in forkers:
            thread.join()
    with fork.LOCK:  # nobody holds it
        return children[0], found


def main(count: int = 600, threads: int = 3) -> int:
    children, found = forks(count, threads)
    print(f"{children} children of {threads} threads kept {dict(found) or 'nothing'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
