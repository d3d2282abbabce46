"""The names under which viewers find simulations."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import stat
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType

import pytest

from twixt.ipc import door as doors


def leave_behind(name: str) -> Path:
    """The socket of a killed simulation: bound, and nobody listens."""
    path = Path(doors.runtime_folder(), name + doors.SUFFIX)
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
        killed.listen()
    return path


def test_the_folder_is_this_users_alone(names_folder: Path) -> None:
    assert doors.runtime_folder() == str(names_folder)
    assert stat.S_IMODE(names_folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o750, 0o701])
def test_a_folder_that_others_may_enter_is_refused_by_both_sides_and_left_as_it_is(
    names_folder: Path, mode: int
) -> None:
    names_folder.mkdir()
    names_folder.chmod(mode)
    for enter in (doors.runtime_folder, lambda: doors.open_door("lab"), doors.running):
        with pytest.raises(doors.DoorError, match=rf"closed to others, mode 700, it has mode {mode:o}; remove it"):
            enter()
    assert stat.S_IMODE(names_folder.stat().st_mode) == mode
    assert list(names_folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_that_really_is_another_users_is_refused(names_folder: Path) -> None:
    names_folder.mkdir(0o700)
    os.chown(names_folder, 65534, 65534)
    with pytest.raises(doors.DoorError, match="must be a folder of your own, it belongs to user 65534"):
        doors.open_door("lab")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_the_folder_is_made_closed_whatever_the_users_mask(names_folder: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        doors.runtime_folder()
    finally:
        os.umask(before)
    assert stat.S_IMODE(names_folder.stat().st_mode) == 0o700


def test_without_a_runtime_folder_of_the_users_the_temporary_one_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    for given in ("", str(tmp_path / "missing")):
        monkeypatch.setenv("XDG_RUNTIME_DIR", given)
        assert doors.runtime_folder() == str(tmp_path / f"twixt-{os.geteuid()}")


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_is_no_folder_of_the_users_own_is_refused(names_folder: Path, tmp_path: Path, kind: str) -> None:
    if kind == "link":
        names_folder.symlink_to(tmp_path)
    else:
        names_folder.touch()
    with pytest.raises(doors.DoorError, match=r"must be a folder of your own.*set XDG_RUNTIME_DIR"):
        doors.runtime_folder()


def test_a_folder_of_another_user_is_refused(names_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    doors.runtime_folder()
    uid = os.geteuid()
    # Asked three times: is XDG_RUNTIME_DIR ours, and then twice of the folder in it.
    answers = iter([uid, uid + 1, uid + 1])
    monkeypatch.setattr(doors.os, "geteuid", lambda: next(answers))
    with pytest.raises(doors.DoorError, match="must be a folder of your own"):
        doors.runtime_folder()


@pytest.mark.parametrize("name", ["", "-", "a/b", "..", "a.b", "a b", "x" * 65, "ä", "a\0"])
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    with pytest.raises(doors.DoorError, match="letters, digits, - and _"):
        doors.open_door(name)


@pytest.mark.parametrize("name", ["a", "x" * 64, "Lab-2_b"])
def test_what_can_be_a_name_is_taken(name: str, nothing_left: None) -> None:
    with contextlib.closing(doors.open_door(name)):
        assert doors.running() == [name]


def test_a_name_that_cannot_be_bound_is_refused_with_the_reason(
    name: str, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    path = leave_behind(name)
    monkeypatch.setattr(doors, "_unlink", lambda path: None)
    with pytest.raises(doors.DoorError, match=f"^cannot open {path}: Address already in use; set XDG_RUNTIME_DIR to a"):
        doors.open_door(name)


def test_what_is_in_the_way_of_a_name_and_cannot_be_removed_is_told_of(name: str) -> None:
    (Path(doors.runtime_folder()) / f"{name}{doors.SUFFIX}").mkdir()
    with pytest.raises(doors.DoorError, match=r"is in the way and cannot be removed: .*; remove it yourself"):
        doors.open_door(name)


def test_a_folder_that_cannot_be_made_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "gone"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    with pytest.raises(doors.DoorError, match="^cannot use .*gone/twixt-.*: No such file or directory; set XDG_"):
        doors.runtime_folder()


@pytest.mark.parametrize(("module", "missing"), [(socket, "AF_UNIX"), (select, "poll")])
def test_a_system_that_lacks_what_is_needed_is_told_so(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, missing: str
) -> None:
    monkeypatch.delattr(module, missing)
    for ask in (doors.check_system, lambda: doors.open_door("lab")):
        with pytest.raises(
            doors.DoorError, match=f"^twixt needs Unix sockets and poll, which {sys.platform} lacks; it"
        ):
            ask()
    assert doors.running() == []
    assert not doors.is_running("lab")


def test_a_live_name_is_refused_and_free_again_once_closed(name: str, nothing_left: None) -> None:
    door = doors.open_door(name)
    with pytest.raises(doors.DoorError, match=f'"{name}" is already running; choose another --name'):
        doors.open_door(name)
    door.close()
    door.close()
    assert not Path(door.path).exists()
    doors.open_door(name).close()


def test_a_name_with_more_callers_than_may_wait_is_alive(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "BACKLOG", 0)
    door = doors.open_door(name)
    with contextlib.ExitStack() as callers:
        for _ in range(4):
            caller = callers.enter_context(socket.socket(socket.AF_UNIX))
            caller.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                caller.connect(door.path)
        assert doors.running() == [name]
        with pytest.raises(doors.DoorError, match="already running"):
            doors.open_door(name)
        late = callers.enter_context(socket.socket(socket.AF_UNIX))
        with pytest.raises(doors.DoorError, match=f'^cannot reach the simulation "{name}": '):
            doors.connect(late, name, 0.01)
    door.close()


def test_the_socket_of_a_killed_simulation_is_replaced(name: str) -> None:
    path = leave_behind(name)
    assert doors.running() == []
    door = doors.open_door(name)
    assert doors.running() == [name]
    door.close()
    assert not path.exists()


def test_a_name_is_running_while_somebody_answers_there(name: str) -> None:
    assert not doors.is_running(name)
    leave_behind(name)
    assert not doors.is_running(name)
    with contextlib.closing(doors.open_door(name)):
        assert doors.is_running(name)
        assert not doors.is_running("other")
    assert not doors.is_running(name)
    with pytest.raises(doors.DoorError, match="letters, digits, - and _, at most 64, got 'a/b'"):
        doors.is_running("a/b")


def test_what_else_lies_in_the_folder_is_no_simulation(name: str) -> None:
    folder = Path(doors.runtime_folder())
    (folder / "notes.txt").touch()
    (folder / f"file{doors.SUFFIX}").touch()
    with socket.socket(socket.AF_UNIX) as other, contextlib.closing(doors.open_door(name)):
        other.bind(str(folder / "other"))
        other.listen()
        assert doors.running() == [name]


def test_closing_leaves_the_socket_of_a_later_simulation_alone(name: str) -> None:
    first = doors.open_door(name)
    Path(first.path).unlink()
    second = doors.open_door(name)
    first.close()
    assert Path(second.path).exists()
    second.close()


def test_a_stale_socket_is_removed_only_while_nobody_answers(name: str) -> None:
    path = leave_behind(name)
    assert doors.remove_stale(name)
    assert not path.exists()
    with contextlib.closing(doors.open_door(name)) as door:
        assert not doors.remove_stale(name)
        assert Path(door.path).exists()


def test_of_many_that_take_a_name_at_once_exactly_one_gets_it(name: str) -> None:
    for _ in range(20):
        leave_behind(name)
        start, taken = threading.Barrier(4), []

        def take(start: threading.Barrier = start, taken: list[doors.Door] = taken) -> None:
            start.wait()
            with contextlib.suppress(doors.DoorError):
                taken.append(doors.open_door(name))

        takers = [threading.Thread(target=take) for _ in range(4)]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join()
        assert len(taken) == 1
        assert doors.running() == [name]
        taken[0].close()


def test_a_lock_that_is_never_released_is_an_error_and_no_hang(name: str) -> None:
    folder = os.open(doors.runtime_folder(), os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with pytest.raises(
        doors.DoorError, match="twixt stays locked by another process; is a twixt stopped there[?] end it, or set XDG_"
    ):
        doors.remove_stale(name, patience_s=0.01)
    os.close(folder)


def test_a_folder_with_a_long_name_serves_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    door = doors.open_door(name)
    assert not door.listener.getblocking()
    assert doors.running() == [name]
    with socket.socket(socket.AF_UNIX) as caller:
        doors.connect(caller, name, 20)
        assert not caller.getblocking()
    door.close()
    assert not Path(door.path).exists()


def test_a_forked_child_that_ends_takes_no_name_away(name: str) -> None:
    door = doors.open_door(name)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            door.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert doors.running() == [name]
    door.close()


def test_another_users_process_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    uid = os.geteuid()
    with ours, theirs:
        assert doors.peer_uid(ours) == uid
        doors.check_peer(ours, "viewer")
        monkeypatch.setattr(doors, "peer_uid", lambda connection: uid + 1)
        with pytest.raises(
            doors.DoorError,
            match=rf"^the viewer belongs to user {uid + 1}, this process to user {uid}; both must be the same user's$",
        ):
            doors.check_peer(ours, "viewer")


def test_nobody_at_the_door_names_those_that_are_there(name: str) -> None:
    with (
        socket.socket(socket.AF_UNIX) as caller,
        contextlib.closing(doors.open_door("other")),
        contextlib.closing(doors.open_door("lab")),
        pytest.raises(
            doors.DoorError,
            match=f'no simulation named "{name}" is running; running: lab, other; start one with: twixt sim --name {name}',
        ),
    ):
        doors.connect(caller, name, 20)
