"""Rules and messages about the names under which viewers find simulations."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ipc.system.test_linux_names import leave_behind
from twixt.ipc import system
from twixt.ipc.session import listener


@pytest.mark.parametrize("name", ["", "-", "a/b", "..", "a.b", "a b", "x" * 65, "ä", "a\0"])
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    with pytest.raises(listener.ListenerError, match="letters, digits, - or _"):
        listener.open_listener(name)


@pytest.mark.parametrize("name", ["a", "x" * 64, "Lab-2_b"])
def test_what_can_be_a_name_is_taken(name: str, nothing_left: None) -> None:
    with contextlib.closing(listener.open_listener(name)):
        assert listener.running() == [name]


def test_nobody_can_connect_to_a_listener_without_a_folder(name: str, nothing_left: None) -> None:
    with contextlib.closing(listener.unreachable_listener(name)) as made:
        poller = select.poll()
        poller.register(made.socket, select.POLLIN)
        assert poller.poll(0) == []
        assert not listener.is_running(name)


@pytest.mark.parametrize(
    ("patch", "way_out"),
    [
        (
            "from gevent import monkey; monkey.patch_all({})",
            "thread=False, socket=False, select=False, os=False, subpro",
        ),
        ("import eventlet; eventlet.monkey_patch({})", "thread=False, socket=False, select=False, os=False)"),
    ],
)
def test_threads_and_sockets_that_were_replaced_are_refused_with_the_call_that_leaves_them(
    names_folder: Path, patch: str, way_out: str
) -> None:
    """A greenlet that waited for the viewer's end stopped the user's loop for ever."""
    opens = "from twixt.ipc.session import listener\ntry: listener.open_listener('lab').close(); print('opened')\n"
    opens += "except listener.ListenerError as error: print(error)\n"
    command = [sys.executable, "-W", "ignore", "-c"]

    def said(arguments: str) -> str:
        code = f"{patch.format(arguments)}\n{opens}"
        return subprocess.run([*command, code], capture_output=True, text=True, timeout=60, check=True).stdout

    told = said("")
    assert "has patched modules that twixt needs unpatched; use this call instead: " in told
    assert way_out in told
    advised = told.strip().partition("(")[2].removesuffix(")")
    assert said(advised) == "opened\n"


def test_a_live_name_is_refused_and_free_again_once_closed(name: str, nothing_left: None) -> None:
    opened = listener.open_listener(name)
    with pytest.raises(listener.ListenerError, match=f'"{name}" is already running; choose another --name'):
        listener.open_listener(name)
    opened.close()
    opened.close()
    assert not Path(opened.path).exists()
    listener.open_listener(name).close()


def test_a_name_is_running_while_somebody_answers_there(name: str) -> None:
    assert not listener.is_running(name)
    leave_behind(name)
    assert not listener.is_running(name)
    with contextlib.closing(listener.open_listener(name)):
        assert listener.is_running(name)
        assert not listener.is_running("other")
    assert not listener.is_running(name)
    with pytest.raises(listener.ListenerError, match="letters, digits, - or _, got 'a/b'"):
        listener.is_running("a/b")


def test_another_users_process_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    uid = os.geteuid()
    with ours, theirs:
        assert system.names.peer_user(ours) == uid
        listener.check_peer(ours, "viewer")
        monkeypatch.setattr(system.names, "peer_user", lambda connection: uid + 1)
        with pytest.raises(
            listener.ListenerError,
            match=rf"^the viewer belongs to user {uid + 1}, but must belong to the user of this process, {uid}; run both as the same user$",
        ):
            listener.check_peer(ours, "viewer")


def test_nobody_at_the_door_names_those_that_are_there(name: str) -> None:
    with (
        socket.socket(socket.AF_UNIX) as caller,
        contextlib.closing(listener.open_listener("other")),
        contextlib.closing(listener.open_listener("lab")),
        pytest.raises(
            listener.ListenerError,
            match=f'no simulation named "{name}" is running; running: lab, other; start one with: twixt sim --name {name}',
        ),
    ):
        listener.connect(caller, name, 20)
