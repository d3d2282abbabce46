"""Names of simulations as sockets in a folder: the folder, its lock, what a killed simulation leaves."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import tempfile
import threading
from pathlib import Path

import pytest

from twixt.ipc.session import listener
from twixt.ipc.system import linux_names


def leave_behind(name: str) -> Path:
    """The socket of a killed simulation: bound, and nobody listens."""
    path = Path(linux_names.runtime_folder(), name + linux_names.SUFFIX)
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
        killed.listen()
    return path


def test_the_folder_is_this_users_alone(names_folder: Path) -> None:
    assert linux_names.runtime_folder() == str(names_folder)
    assert stat.S_IMODE(names_folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o750, 0o701])
def test_a_folder_that_others_may_enter_is_refused_by_both_sides_and_left_as_it_is(
    names_folder: Path, mode: int
) -> None:
    names_folder.mkdir()
    names_folder.chmod(mode)
    for enter in (linux_names.runtime_folder, lambda: listener.open_listener("lab"), listener.running):
        with pytest.raises(
            listener.ListenerError, match=rf"closed to other users .mode 700., but it has mode {mode:o}; remove it"
        ):
            enter()
    assert stat.S_IMODE(names_folder.stat().st_mode) == mode
    assert list(names_folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_that_really_is_another_users_is_refused(names_folder: Path) -> None:
    names_folder.mkdir(0o700)
    os.chown(names_folder, 65534, 65534)
    with pytest.raises(listener.ListenerError, match="must be a folder that you own, but it belongs to user 65534"):
        listener.open_listener("lab")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_the_folder_is_made_closed_whatever_the_users_mask(names_folder: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        linux_names.runtime_folder()
    finally:
        os.umask(before)
    assert stat.S_IMODE(names_folder.stat().st_mode) == 0o700


def test_without_a_runtime_folder_of_the_users_the_temporary_one_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    for given in ("", str(tmp_path / "missing")):
        monkeypatch.setenv("XDG_RUNTIME_DIR", given)
        assert linux_names.runtime_folder() == str(tmp_path / f"twixt-{os.geteuid()}")


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_is_no_folder_of_the_users_own_is_refused(names_folder: Path, tmp_path: Path, kind: str) -> None:
    if kind == "link":
        names_folder.symlink_to(tmp_path)
    else:
        names_folder.touch()
    with pytest.raises(
        linux_names.NoFolder, match=r"must be a folder, not a link or a file; remove it, or set XDG_RUNTIME"
    ):
        linux_names.runtime_folder()


def test_a_folder_of_another_user_is_refused(names_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linux_names.runtime_folder()
    uid = os.geteuid()
    # Asked three times: is XDG_RUNTIME_DIR ours, and then twice of the folder in it.
    answers = iter([uid, uid + 1, uid + 1])
    monkeypatch.setattr(linux_names.os, "geteuid", lambda: next(answers))
    with pytest.raises(listener.ListenerError, match="must be a folder that you own"):
        linux_names.runtime_folder()


def test_a_name_that_cannot_be_bound_is_refused_with_the_reason(
    name: str, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    path = leave_behind(name)
    monkeypatch.setattr(linux_names, "_unlink", lambda path: None)
    with pytest.raises(
        listener.ListenerError, match=f"^cannot open {path}: Address already in use; set XDG_RUNTIME_DIR to a"
    ):
        listener.open_listener(name)


def test_what_is_in_the_way_of_a_name_and_cannot_be_removed_is_told_of(name: str) -> None:
    (Path(linux_names.runtime_folder()) / f"{name}{linux_names.SUFFIX}").mkdir()
    with pytest.raises(
        listener.ListenerError, match=r"cannot remove .* in the place of a socket: .*; remove it yourself"
    ):
        listener.open_listener(name)


def test_a_folder_that_cannot_be_made_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "gone"))
    monkeypatch.setattr(linux_names, "SHARED_MEMORY", str(tmp_path / "gone"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    with pytest.raises(
        listener.ListenerError, match="^cannot use .*gone/twixt-.*: No such file or directory; set XDG_"
    ):
        linux_names.runtime_folder()


def test_the_next_folder_serves_where_the_first_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for each in ("runtime", "temporary", "shared"):
        (tmp_path / each).mkdir(0o700)
    own = f"twixt-{os.geteuid()}"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    monkeypatch.setattr(linux_names, "SHARED_MEMORY", str(tmp_path / "shared"))
    places = [tmp_path / "runtime" / "twixt", tmp_path / "temporary" / own, tmp_path / "shared" / own]
    read_only: list[str] = []
    monkeypatch.setattr(os, "access", lambda path, mode: path not in read_only)
    for place in places:
        assert linux_names.runtime_folder() == str(place)
        read_only.append(str(place))
    with pytest.raises(
        linux_names.NoFolder, match=f"^cannot use the folder {places[0]} .*; set XDG_RUNTIME_DIR to a folder"
    ):
        linux_names.runtime_folder()


def test_the_working_folder_comes_after_shared_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setattr(linux_names, "SHARED_MEMORY", str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    own = f"twixt-{os.geteuid()}"
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # the user's own choice
    assert linux_names.runtime_folder() == str(tmp_path / own)
    monkeypatch.delenv("TMPDIR")
    assert linux_names.runtime_folder() == str(tmp_path / "shared" / own)
    (tmp_path / "shared" / own).rmdir()
    (tmp_path / "shared").rmdir()
    assert linux_names.runtime_folder() == str(tmp_path / own)


def test_a_name_with_more_callers_than_may_wait_is_alive(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux_names, "BACKLOG", 0)
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


def test_what_else_lies_in_the_folder_is_no_simulation(name: str) -> None:
    folder = Path(linux_names.runtime_folder())
    (folder / "notes.txt").touch()
    (folder / f"file{linux_names.SUFFIX}").touch()
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
    assert linux_names.remove_stale(name, 5.0)
    assert not path.exists()
    with contextlib.closing(listener.open_listener(name)) as opened:
        assert not linux_names.remove_stale(name, 5.0)
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
    folder = os.open(linux_names.runtime_folder(), os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with pytest.raises(
        listener.ListenerError,
        match="twixt locked, probably a stopped twixt; end it, or set XDG_",
    ):
        linux_names.remove_stale(name, patience_s=0.01)
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
