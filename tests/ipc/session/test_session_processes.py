"""Host and link in processes of their own: killed, stopped, forked, stuck, and of another user."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twixt
from twixt.ipc import session
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import service
from twixt.ipc.session.link import LOST

Start = Callable[..., "subprocess.Popen[bytes]"]
Until = Callable[[Callable[[], Any]], Any]
BOUND_S = 60.0
WHOLE = 1 << 40


def line(process: subprocess.Popen[bytes]) -> str:
    """The next line it says."""
    assert process.stdout is not None
    said = b""
    while not said.endswith(b"\n"):
        assert select.select([process.stdout], [], [], BOUND_S)[0], "waited in vain for a line"
        piece = process.stdout.read(1)
        assert piece, f"it ended, its last words {said!r}"
        said += piece
    return said.decode().strip()


def go_on(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")


def test_a_viewer_sees_the_end_and_its_reason(name: str, start: Start) -> None:
    host = start("host", name)
    assert line(host) == "ready"
    link = session.attach(name, BOUND_S)
    assert len(list(link.unread(WHOLE))) == 1
    go_on(host)
    assert link.wait(BOUND_S)
    assert link.ended == ("ended", "told to")
    link.close()
    assert host.wait(BOUND_S) == 0


@pytest.mark.parametrize("owned", [True, False])
def test_a_killed_simulation_is_noticed_and_its_own_viewer_removes_its_socket(
    name: str, start: Start, names_folder: Path, owned: bool, until: Until
) -> None:
    host = start("host", name)
    assert line(host) == "ready"
    link = session.attach(name, BOUND_S, owned=owned)
    host.kill()
    host.wait(BOUND_S)
    assert link.wait(BOUND_S)
    assert link.ended == LOST
    assert (names_folder / f"{name}.socket").exists() is not owned
    link.close()
    assert session.running() == []
    session.open_listener(name).close()


def test_an_own_viewer_leaves_the_socket_of_a_successor_alone(name: str, start: Start) -> None:
    host = start("host_that_leaves_its_name", name)
    assert line(host) == "ready"
    link = session.attach(name, BOUND_S, owned=True)
    go_on(host)
    host.wait(BOUND_S)
    with_successor = session.open_listener(name)
    assert link.wait(BOUND_S)
    link.close()
    assert session.running() == [name]
    with_successor.close()


def test_a_killed_viewer_is_noticed_and_physics_goes_on(channel: Any, start: Start, until: Until) -> None:
    host = channel.open()
    viewer = start("viewer", channel.name, "owned")
    assert line(viewer) == "attached"
    until(lambda: (host.viewers, host.lead_ns) == (1, 20_000_000))
    viewer.kill()
    until(lambda: (host.viewers, host.lead_ns) == (0, 0))
    channel.publish()


def test_a_stopped_viewer_harms_nobody_and_goes_on_where_physics_is(channel: Any, start: Start, until: Until) -> None:
    host = channel.open()
    viewer = start("viewer", channel.name)
    assert line(viewer) == "attached"
    link = channel.attach()
    viewer.send_signal(signal.SIGSTOP)
    for number in range(1, 201):
        link.wake_when_newer()
        channel.publish()
        assert link.wait(BOUND_S)
        link.plan()
        assert [view.head.tick for view in link.unread(WHOLE)] == [number]
        host.set_status({"text": "x" * 10_000})
        if number % 20 == 0:
            version = host.write_scene(Scene([Sphere(radius=number + body) for body in range(1000)]))
            until(lambda version=version: link.poll() or link.scene_version == version)
    assert host.viewers == 2
    viewer.send_signal(signal.SIGCONT)
    ticks = []
    while "200" not in ticks:
        ticks.append(line(viewer))
    # One wake for the one request: it looked when it went on, and saw what the ring still held.
    assert len(ticks) <= 16 + 1
    host.end("ended", "")
    assert line(viewer) == "ended"
    assert viewer.wait(BOUND_S) == 0


def test_a_world_that_never_returns_is_still_answered_and_can_be_ended(name: str, start: Start) -> None:
    host = start("host_stuck", name)
    assert line(host) == "ready"
    link = session.attach(name, BOUND_S, owned=True)
    assert link.request_report(BOUND_S) == {"physics": {"steps": 1}}
    assert link.request_report(BOUND_S) is None
    link.close()
    assert line(host) == "ended by hook"
    assert host.wait(BOUND_S) == 7
    assert session.running() == []


def test_a_forked_child_keeps_neither_connection_nor_name_nor_memory_alive(
    name: str, start: Start, names_folder: Path
) -> None:
    host = start("forking_host", name)
    assert line(host) == "ready"
    link = session.attach(name, BOUND_S)
    child, said = line(host).split()
    try:
        assert said == "r."  # publishing in the child was refused
        kept = [os.readlink(f"/proc/{child}/fd/{entry}") for entry in os.listdir(f"/proc/{child}/fd")]
        ours = ("memfd:twixt", "socket:", str(names_folder))
        assert not [what for what in kept if any(part in what for part in ours)]
        assert "memfd:twixt" not in Path(f"/proc/{child}/maps").read_text()
        assert [view.head.tick for view in link.unread(WHOLE)][-1] == 3
        host.kill()
        assert link.wait(BOUND_S)
        assert link.ended == LOST
        assert session.running() == []
        assert Path(f"/proc/{child}").exists()
    finally:
        os.kill(int(child), signal.SIGKILL)
        link.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_viewer_is_refused_by_the_kernels_word(
    channel: Any, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        host = channel.open()
        # Every check but the last passes.
        for path, mode in (
            (folder, 0o755),
            (f"{folder}/twixt", 0o755),
            (f"{folder}/twixt/{channel.name}.socket", 0o777),
        ):
            os.chmod(path, mode)
        stranger = start("viewer_of_another_user", channel.name)
        assert "belongs to user 65534, but must belong to the user of this process, 0" in line(stranger)
        assert host.viewers == 0
        host.end()


def test_of_two_processes_that_take_a_name_at_once_one_gets_it(name: str, start: Start) -> None:
    openers = [start("opener", name) for _ in range(3)]
    for opener in openers:
        assert line(opener) == "ready"
    for opener in openers:
        go_on(opener)
    assert sorted(line(opener) for opener in openers) == ["opened", "refused", "refused"]


def test_a_viewer_may_come_before_the_host_is_made(channel: Any, start: Start, until: Until) -> None:
    listener = session.open_listener(channel.name)
    viewer = start("viewer", channel.name)
    channel.host = session.Host(listener, Scene([Sphere()]), 1)
    assert channel.host.viewer_attached.wait(BOUND_S)
    assert line(viewer) == "attached"


def test_taking_a_name_needs_the_standard_library_alone() -> None:
    code = (
        "import sys; from twixt.ipc import session; session.open_listener('early').close(); "
        "print([name for name in ('numpy', 'asyncio', 'multiprocessing') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(twixt.__file__))}
    shown = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "[]"


def test_a_simulation_whose_process_just_exits_says_so(name: str) -> None:
    code = (
        "from twixt.ipc import session; from twixt.ipc.scene import Scene; import sys\n"
        f"host = session.Host(session.open_listener({name!r}), Scene(), 0)\n"
        "print('ready', flush=True); sys.stdin.readline()"
    )
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(twixt.__file__))}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert line(process) == "ready"
    link = session.attach(name, BOUND_S)
    process.communicate(b"\n")
    assert link.wait(BOUND_S)
    assert link.ended == ("ended", "the simulation's process has exited")
    assert session.running() == []
    link.close()


@pytest.mark.stress
def test_viewers_that_come_and_are_killed_at_any_moment_leave_nothing(channel: Any, start: Start, until: Until) -> None:
    host = channel.open()
    descriptors = len(os.listdir("/proc/self/fd"))
    print(f"conditions: {os.cpu_count()} cores, {service.VIEWERS_LIMIT} viewers at most, 12 killed while attaching")
    for number in range(12):
        viewer = start("viewer", channel.name)
        came = host.viewer_attached
        came.clear()
        # At a different moment each time: some before, some while, some after they attach.
        for _ in range(number * 400):
            channel.publish()
            if came.is_set:
                break
        viewer.kill()
        viewer.communicate()
    until(lambda: host.viewers == 0)
    until(lambda: len(os.listdir("/proc/self/fd")) == descriptors)
    assert channel.attach().ended is None
