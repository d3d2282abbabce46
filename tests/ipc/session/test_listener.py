"""The names under which viewers find simulations."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType

import pytest

from twixt.ipc.session import listener


def leave_behind(name: str) -> Path:
    """The socket of a killed simulation: bound, and nobody listens."""
    path = Path(listener.runtime_folder(), name + listener.SUFFIX)
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
        killed.listen()
    return path


def test_the_folder_is_this_users_alone(names_folder: Path) -> None:
    assert listener.runtime_folder() == str(names_folder)
    assert stat.S_IMODE(names_folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o750, 0o701])
def test_a_folder_that_others_may_enter_is_refused_by_both_sides_and_left_as_it_is(
    names_folder: Path, mode: int
) -> None:
    names_folder.mkdir()
    names_folder.chmod(mode)
    for enter in (listener.runtime_folder, lambda: listener.open_listener("lab"), listener.running):
        with pytest.raises(
            listener.ListenerError, match=rf"closed to others, mode 700, it has mode {mode:o}; remove it"
        ):
            enter()
    assert stat.S_IMODE(names_folder.stat().st_mode) == mode
    assert list(names_folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_that_really_is_another_users_is_refused(names_folder: Path) -> None:
    names_folder.mkdir(0o700)
    os.chown(names_folder, 65534, 65534)
    with pytest.raises(listener.ListenerError, match="must be a folder of your own, it belongs to user 65534"):
        listener.open_listener("lab")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_the_folder_is_made_closed_whatever_the_users_mask(names_folder: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        listener.runtime_folder()
    finally:
        os.umask(before)
    assert stat.S_IMODE(names_folder.stat().st_mode) == 0o700


def test_without_a_runtime_folder_of_the_users_the_temporary_one_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    for given in ("", str(tmp_path / "missing")):
        monkeypatch.setenv("XDG_RUNTIME_DIR", given)
        assert listener.runtime_folder() == str(tmp_path / f"twixt-{os.geteuid()}")


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_is_no_folder_of_the_users_own_is_refused(names_folder: Path, tmp_path: Path, kind: str) -> None:
    if kind == "link":
        names_folder.symlink_to(tmp_path)
    else:
        names_folder.touch()
    with pytest.raises(listener.NoFolder, match=r"must be a folder, and no link to one; remove it, or set XDG_RUNTIME"):
        listener.runtime_folder()


def test_a_folder_of_another_user_is_refused(names_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listener.runtime_folder()
    uid = os.geteuid()
    # Asked three times: is XDG_RUNTIME_DIR ours, and then twice of the folder in it.
    answers = iter([uid, uid + 1, uid + 1])
    monkeypatch.setattr(listener.os, "geteuid", lambda: next(answers))
    with pytest.raises(listener.ListenerError, match="must be a folder of your own"):
        listener.runtime_folder()


@pytest.mark.parametrize("name", ["", "-", "a/b", "..", "a.b", "a b", "x" * 65, "ä", "a\0"])
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    with pytest.raises(listener.ListenerError, match="letters, digits, - and _"):
        listener.open_listener(name)


@pytest.mark.parametrize("name", ["a", "x" * 64, "Lab-2_b"])
def test_what_can_be_a_name_is_taken(name: str, nothing_left: None) -> None:
    with contextlib.closing(listener.open_listener(name)):
        assert listener.running() == [name]


def test_a_name_that_cannot_be_bound_is_refused_with_the_reason(
    name: str, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    path = leave_behind(name)
    monkeypatch.setattr(listener, "_unlink", lambda path: None)
    with pytest.raises(
        listener.ListenerError, match=f"^cannot open {path}: Address already in use; set XDG_RUNTIME_DIR to a"
    ):
        listener.open_listener(name)


def test_what_is_in_the_way_of_a_name_and_cannot_be_removed_is_told_of(name: str) -> None:
    (Path(listener.runtime_folder()) / f"{name}{listener.SUFFIX}").mkdir()
    with pytest.raises(listener.ListenerError, match=r"is in the way and cannot be removed: .*; remove it yourself"):
        listener.open_listener(name)


def test_a_folder_that_cannot_be_made_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "gone"))
    monkeypatch.setattr(listener, "SHARED_MEMORY", str(tmp_path / "gone"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    with pytest.raises(
        listener.ListenerError, match="^cannot use .*gone/twixt-.*: No such file or directory; set XDG_"
    ):
        listener.runtime_folder()


def test_the_next_folder_serves_where_the_first_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for each in ("runtime", "temporary", "shared"):
        (tmp_path / each).mkdir(0o700)
    own = f"twixt-{os.geteuid()}"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    monkeypatch.setattr(listener, "SHARED_MEMORY", str(tmp_path / "shared"))
    places = [tmp_path / "runtime" / "twixt", tmp_path / "temporary" / own, tmp_path / "shared" / own]
    read_only: list[str] = []
    monkeypatch.setattr(os, "access", lambda path, mode: path not in read_only)
    for place in places:
        assert listener.runtime_folder() == str(place)
        read_only.append(str(place))
    with pytest.raises(listener.NoFolder, match=f"^cannot use {places[0]} .*; set XDG_RUNTIME_DIR to a folder"):
        listener.runtime_folder()


def test_the_working_folder_comes_after_shared_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setattr(listener, "SHARED_MEMORY", str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    own = f"twixt-{os.geteuid()}"
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # the user's own choice
    assert listener.runtime_folder() == str(tmp_path / own)
    monkeypatch.delenv("TMPDIR")
    assert listener.runtime_folder() == str(tmp_path / "shared" / own)
    (tmp_path / "shared" / own).rmdir()
    (tmp_path / "shared").rmdir()
    assert listener.runtime_folder() == str(tmp_path / own)


def test_nobody_can_connect_to_a_listener_without_a_folder(name: str, nothing_left: None) -> None:
    with contextlib.closing(listener.unreachable_listener(name)) as made:
        poller = select.poll()
        poller.register(made.socket, select.POLLIN)
        assert poller.poll(0) == []
        assert not listener.is_running(name)


@pytest.mark.parametrize(("module", "missing"), [(socket, "AF_UNIX"), (select, "poll")])
def test_a_system_that_lacks_what_is_needed_is_told_so(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, missing: str
) -> None:
    monkeypatch.delattr(module, missing)
    for ask in (listener.check_system, lambda: listener.open_listener("lab")):
        with pytest.raises(
            listener.ListenerError, match=f"^twixt needs Unix sockets and poll, which {sys.platform} lacks; it"
        ):
            ask()
    assert listener.running() == []
    assert not listener.is_running("lab")


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
    assert "has replaced Python's threads and sockets, which twixt needs; patch without them: " in told
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


def test_a_name_with_more_callers_than_may_wait_is_alive(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "BACKLOG", 0)
    opened = listener.open_listener(name)
    with contextlib.ExitStack() as callers:
        for _ in range(4):
            caller = callers.enter_context(socket.socket(socket.AF_UNIX))
            caller.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                caller.connect(opened.path)
        assert listener.running() == [name]
        with pytest.raises(listener.ListenerError, match="already running"):
            listener.open_listener(name)
        late = callers.enter_context(socket.socket(socket.AF_UNIX))
        with pytest.raises(listener.ListenerError, match=f'^cannot reach the simulation "{name}": '):
            listener.connect(late, name, 0.01)
    opened.close()


def test_the_socket_of_a_killed_simulation_is_replaced(name: str) -> None:
    path = leave_behind(name)
    assert listener.running() == []
    opened = listener.open_listener(name)
    assert listener.running() == [name]
    opened.close()
    assert not path.exists()


def test_a_name_is_running_while_somebody_answers_there(name: str) -> None:
    assert not listener.is_running(name)
    leave_behind(name)
    assert not listener.is_running(name)
    with contextlib.closing(listener.open_listener(name)):
        assert listener.is_running(name)
        assert not listener.is_running("other")
    assert not listener.is_running(name)
    with pytest.raises(listener.ListenerError, match="letters, digits, - and _, at most 64, got 'a/b'"):
        listener.is_running("a/b")


def test_what_else_lies_in_the_folder_is_no_simulation(name: str) -> None:
    folder = Path(listener.runtime_folder())
    (folder / "notes.txt").touch()
    (folder / f"file{listener.SUFFIX}").touch()
    with socket.socket(socket.AF_UNIX) as other, contextlib.closing(listener.open_listener(name)):
        other.bind(str(folder / "other"))
        other.listen()
        assert listener.running() == [name]


def test_closing_leaves_the_socket_of_a_later_simulation_alone(name: str) -> None:
    first = listener.open_listener(name)
    Path(first.path).unlink()
    second = listener.open_listener(name)
    first.close()
    assert Path(second.path).exists()
    second.close()


def test_a_stale_socket_is_removed_only_while_nobody_answers(name: str) -> None:
    path = leave_behind(name)
    assert listener.remove_stale(name)
    assert not path.exists()
    with contextlib.closing(listener.open_listener(name)) as opened:
        assert not listener.remove_stale(name)
        assert Path(opened.path).exists()


def test_of_many_that_take_a_name_at_once_exactly_one_gets_it(name: str) -> None:
    for _ in range(20):
        leave_behind(name)
        start, taken = threading.Barrier(4), []

        def take(start: threading.Barrier = start, taken: list[listener.Listener] = taken) -> None:
            start.wait()
            with contextlib.suppress(listener.ListenerError):
                taken.append(listener.open_listener(name))

        takers = [threading.Thread(target=take) for _ in range(4)]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join()
        assert len(taken) == 1
        assert listener.running() == [name]
        taken[0].close()


def test_a_lock_that_is_never_released_is_an_error_and_no_hang(name: str) -> None:
    folder = os.open(listener.runtime_folder(), os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with pytest.raises(
        listener.ListenerError,
        match="twixt stays locked by another process; is a twixt stopped there[?] end it, or set XDG_",
    ):
        listener.remove_stale(name, patience_s=0.01)
    os.close(folder)


def test_a_folder_with_a_long_name_serves_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    opened = listener.open_listener(name)
    assert not opened.socket.getblocking()
    assert listener.running() == [name]
    with socket.socket(socket.AF_UNIX) as caller:
        listener.connect(caller, name, 20)
        assert not caller.getblocking()
    opened.close()
    assert not Path(opened.path).exists()


def test_a_forked_child_that_ends_takes_no_name_away(name: str) -> None:
    opened = listener.open_listener(name)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            opened.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert listener.running() == [name]
    opened.close()


def test_another_users_process_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    uid = os.geteuid()
    with ours, theirs:
        assert listener.peer_uid(ours) == uid
        listener.check_peer(ours, "viewer")
        monkeypatch.setattr(listener, "peer_uid", lambda connection: uid + 1)
        with pytest.raises(
            listener.ListenerError,
            match=rf"^the viewer belongs to user {uid + 1}, this process to user {uid}; both must be the same user's$",
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
