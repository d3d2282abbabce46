"""A simulation or a viewer in a process of its own, told what to do by its first argument.

Says a line when something happened; ends when told, when its standard input ends, or when killed.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from tests.publishing import publish
from twixt.ipc import session
from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import Head, new_bodies


def say(line: object) -> None:
    print(line, flush=True)


def host_of(name: str) -> session.Host:
    from twixt.ipc.scene import Scene, Sphere

    host = session.Host(session.open_listener(name), Scene([Sphere()]), 1)
    publish(host.ring, Head(tick=1), new_bodies(1))
    return host


def host(name: str) -> None:
    """A simulation that idles."""
    running = host_of(name)
    say("ready")
    sys.stdin.readline()
    running.end("ended", "told to")


def host_that_leaves_its_name(name: str) -> None:
    """Goes without a word, at a line."""
    host_of(name)
    say("ready")
    sys.stdin.readline()
    os._exit(0)


def host_stuck(name: str) -> None:
    """The user's step never returns; the service thread answers once, and ends the run when it is asked again."""
    running = host_of(name)

    def stop() -> dict[str, Any]:
        running.end("interrupted", "asked again")
        say("ended by hook")
        os._exit(7)

    def answer() -> dict[str, Any]:
        running.on_report = stop
        return {"physics": {"steps": 1}}

    running.on_report = answer
    say("ready")
    while True:
        pass


def forking_host(name: str) -> None:
    """A world that forks: the child sleeps, the parent goes at a line."""
    running = host_of(name)
    say("ready")
    running.viewer_attached.wait()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            publish(running.ring, Head(tick=2), new_bodies(1))
        except TwixtError:
            os.write(writing, b"r")
        running.set_status({"a": 1})
        running.end()
        os.write(writing, b".")
        os.close(writing)
        signal.pause()
    os.close(writing)
    said = b""
    while piece := os.read(reading, 1):
        said += piece
    publish(running.ring, Head(tick=3), new_bodies(1))
    say(f"{child} {said.decode()}")
    os.read(0, 1)
    os._exit(0)


def viewer(name: str, owned: str = "") -> None:
    """Attaches, tells its lead and idles."""
    link = session.attach(name, owned=bool(owned))
    link.report_lead(20_000_000)
    link.wake_when_newer()
    say("attached")
    while not link.ended:
        link.wait(60)
        link.wake_when_newer()
        link.plan()
        for view in link.unread(1 << 30):
            say(view.head.tick)
    say(link.ended.kind)
    link.close()


def viewer_of_another_user(name: str) -> None:
    """Attaches as nobody; the folder was opened for all."""
    from twixt.ipc import system
    from twixt.ipc.session import listener

    attach = session.attach  # loaded while the files can still be read
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    # What an outsider would do: go round the checks of its own side.
    system.names.runtime_folder = lambda: os.path.join(os.environ["XDG_RUNTIME_DIR"], "twixt")
    listener.check_peer = lambda connection, whom: None
    try:
        attach(name)
    except TwixtError as error:
        say(f"refused: {error}")


def opener(name: str) -> None:
    """Tries to take the name, at a line."""
    say("ready")
    sys.stdin.readline()
    try:
        listener = session.open_listener(name)
    except TwixtError:
        say("refused")
        return
    say("opened")
    sys.stdin.readline()
    listener.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
