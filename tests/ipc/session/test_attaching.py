"""Who waits for a simulation gets it with something to draw, is told what stands in the way, and is never kept waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests import publishing
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import open_listener
from twixt.ipc.session.attaching import Reconnection, attach_now, attach_when_running, wait_until_running
from twixt.ipc.session.host import Host
from twixt.ipc.session.link import Ended
from twixt.ipc.snapshot import Head, new_bodies

PATIENCE_S = 30


@pytest.fixture(autouse=True)
def runtime_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def make_host() -> Iterator[Callable[[str], Host]]:
    hosts: list[Host] = []

    def make(name: str) -> Host:
        hosts.append(Host(open_listener(name), Scene([Sphere()]), 1))
        return hosts[-1]

    yield make
    for host in hosts:
        host.end()


def publish(host: Host) -> None:
    publishing.publish(host.ring, Head(count=1), new_bodies(1))


@pytest.mark.parametrize("name", ["lab", None])
def test_there_is_an_answer_once_there_is_something_to_draw(make_host: Callable[[str], Host], name: str | None) -> None:
    attaching = attach_when_running(name)
    assert not attaching.wait(0)
    host = make_host("lab")
    assert host.viewer_attached.wait(PATIENCE_S)
    assert not attaching.wait(0.3), "there is no snapshot yet"
    publish(host)
    assert attaching.wait(PATIENCE_S)
    with closing(attaching.link) as link:
        assert link.name == "lab"
        assert link.has_unread


def test_of_several_none_is_guessed(make_host: Callable[[str], Host]) -> None:
    for name in ("one", "two"):
        publish(make_host(name))
    attaching = attach_when_running(None)
    assert attaching.wait(PATIENCE_S)
    with pytest.raises(TwixtError, match="several simulations are running; name one of them: one, two"):
        attaching.link  # noqa: B018


def test_one_that_ends_before_there_was_anything_is_told_of_and_the_next_awaited(
    make_host: Callable[[str], Host], capsys: pytest.CaptureFixture[str]
) -> None:
    attaching = attach_when_running("lab")
    first = make_host("lab")
    assert first.viewer_attached.wait(PATIENCE_S)
    first.end("crashed", "it never began")
    publish(make_host("lab"))
    assert attaching.wait(PATIENCE_S)
    attaching.link.close()
    assert '"lab" ended before it published a snapshot; still waiting' in capsys.readouterr().err


def test_who_is_asked_to_stop_waits_no_longer(capsys: pytest.CaptureFixture[str]) -> None:
    assert wait_until_running("lab", lambda: True) is None
    assert capsys.readouterr().err == 'twixt: waiting for the simulation "lab"; Ctrl-C ends the wait\n'


def test_one_that_refused_this_viewer_is_not_awaited(capsys: pytest.CaptureFixture[str]) -> None:
    assert not Reconnection("lab").begin(Ended("refused", "32 viewers are attached"))
    assert capsys.readouterr().err == ""


def test_a_return_is_told_once_and_ends_the_notice(
    make_host: Callable[[str], Host], capsys: pytest.CaptureFixture[str]
) -> None:
    back = Reconnection("lab")
    for _ in range(3):
        assert back.begin(Ended("lost", "killed?"))
    assert back.notice == 'waiting until "lab" runs again'
    assert back.link() is None
    publish(make_host("lab"))
    link = None
    for _ in range(PATIENCE_S * 100):
        link = back.link()
        if link is not None:
            break
        threading.Event().wait(0.01)
    assert link is not None
    link.close()
    assert back.notice == ""
    said = capsys.readouterr().err.splitlines()
    assert said == [
        'twixt: the simulation disconnected (killed?); waiting until "lab" runs again',
        'twixt: "lab" runs again',
    ]


@pytest.mark.parametrize("owned", [True, False])
def test_a_runs_own_viewer_waits_for_its_world_however_long_that_loads(
    owned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience_s: list[float] = []
    monkeypatch.setattr("twixt.ipc.session.link.attach", lambda _name, timeout_s, _owned: patience_s.append(timeout_s))
    assert attach_now("lab", owned).wait(60)
    assert (patience_s[0] > 3600) is owned


def test_the_function_attach_keeps_its_name_beside_the_module_that_attaches() -> None:
    from twixt.ipc import session
    from twixt.ipc.session import attaching, link

    assert attaching.attach_now is attach_now
    assert session.attach is link.attach
