"""`twixt serve` beside real simulations: it waits, attaches again, keeps its link, ends cleanly, and harms nobody."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from tests.end_to_end.processes import memories
from tests.forked import Forks
from tests.relay.page import Page, closed_with
from tests.relay.serve.conftest import PATIENCE_S, Served, served, start, stopped, until
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import attach

BALLS = Scene([Sphere(0.1)] * 3)
GOING_AWAY = 1001
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("runtime_folder")]


@contextmanager
def simulation(name: str) -> Iterator[subprocess.Popen[str]]:
    process = start("sim", "circles", "--name", name)
    try:
        yield process
    finally:
        stopped(process)


def end_of(process: subprocess.Popen[str], number: int = signal.SIGINT) -> int:
    """Exit code after a signal."""
    process.send_signal(number)
    return process.wait(PATIENCE_S)


def test_it_waits_for_a_simulation_shows_it_obeys_and_comes_back_with_it(runtime_folder: Path) -> None:
    with served("lab") as made:
        link = made.serve()
        with Page(link) as page:
            assert page.heard("end")["end"] == "waiting"
            with simulation("lab") as physics:
                first = page.snapshot().head
                page.tell(kind="command", name="pause")
                assert page.heard("plan", lambda plan: plan["rate"] == 0)["world_epoch"] == first["world_epoch"]
                page.tell(kind="command", name="resume")
                assert page.heard("plan", lambda plan: plan["rate"] > 0)
                assert end_of(physics) == 130
            assert page.heard("end")["end"] == "interrupted"
            with simulation("lab"):
                again = page.until(lambda received: received.kind == 4 and received.head["world_epoch"] > 0).head
                assert again["scene_version"] > first["scene_version"]
                assert page.heard("plan", lambda plan: plan["world_epoch"] > 0)
            assert page.heard("end")["end"] == "lost"
            until(lambda: not memories({made.process.pid}), "the killed simulation's memory is freed")
            assert end_of(made.process) == 130
            assert closed_with(page.control) == closed_with(page.stream) == GOING_AWAY
        said = stopped(made.process).splitlines()
    assert said[-4:] == [
        'twixt: waiting for the simulation "lab"; Ctrl-C ends the wait',
        'twixt: the simulation was interrupted (the simulation was ended with Ctrl-C); waiting until "lab" runs again',
        'twixt: "lab" runs again',
        'twixt: the simulation disconnected (physics ended unexpectedly); waiting until "lab" runs again',
    ]
    assert [file.name for file in (runtime_folder / "twixt").glob("lab.web*")] == ["lab.web"]


def test_after_a_restart_the_link_is_the_same_and_a_killed_server_harms_no_physics(runtime_folder: Path) -> None:
    with served() as made:
        made.simulate(BALLS)
        made.publish()
        first = made.serve()
        with Page(first) as page:
            page.snapshot()
            made.process.kill()
            made.process.wait(PATIENCE_S)
            with pytest.raises(ConnectionClosed):
                page.snapshot()
        made.publish()
        with closing(attach(made.name)) as link:
            assert len(link.newest_bodies()) == 3
        stopped(made.process)
        assert made.serve() == first
        assert made.process.stdout is not None
        assert made.process.stdout.readline().startswith("from another machine, type there: ssh -L ")
        with Page(first) as page:
            assert page.snapshot().head["tick"] == made.tick
        assert end_of(made.process, signal.SIGTERM) == 130


def test_a_port_in_use_is_said_and_another_is_taken(runtime_folder: Path) -> None:
    with served() as made:
        made.simulate(BALLS)
        first = made.serve()
        port = int(first.partition("#")[0].rstrip("/").rpartition(":")[2])
        with served(made.name) as second:
            link = second.serve()
            assert link.partition("#")[2] == first.partition("#")[2]
            assert link != first
            assert second.process.stderr is not None
            assert f"port {port} is in use" in second.process.stderr.readline()
        refused = start("serve", made.name, "--port", str(port))
        assert refused.wait(PATIENCE_S) == 2
        assert f"cannot listen on port {port}" in stopped(refused)


def test_without_a_name_it_shows_the_only_simulation_and_ends_after_its_seconds(
    forked: Forks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = Served("only")
    made.simulate(BALLS)
    made.publish()
    ended = forked(tmp_path, "serve", "--seconds", "0.3")
    assert (ended.returncode, ended.stderr) == (0, "")
    process = start("serve")
    assert process.stdout is not None
    link = process.stdout.readline()
    assert ended.stdout.startswith(link)
    with Page(link.strip()) as page:
        assert page.welcome["name"] == "only"
        page.snapshot()
    assert end_of(process) == 130
    stopped(process)
    made.end()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lab", "--host", "0.0.0.0"), "needs --cert FILE and --key FILE"),
        (("lab", "--host", "203.0.113.1", "--port", "8000"), "ssh -L 8000:127.0.0.1:8000 "),
        (("lab", "--cert", "none.pem"), "--cert FILE and --key FILE must be given together"),
        (
            ("lab", "--cert", "/dev/zero", "--key", "none.pem"),
            "--cert must be a file, and '/dev/zero' is a folder, a pipe",
        ),
        (("lab", "--seconds", "nan"), "--seconds must be a finite number > 0, got nan"),
        (("lab", "--seconds", "inf"), "--seconds must be a finite number > 0, got inf"),
        (("lab", "--seconds", "0"), "--seconds must be a finite number > 0, got 0"),
        (("no/name",), "a simulation's name must be"),
        (("lab", "--host", "not a host"), "--host not a host lets other machines"),
        (("lab", "--port", "0"), "--port"),
        (("lab", "--allow-origin", "lab.example"), "--allow-origin must be a scheme and a host"),
        (("lab", "--allow-origin", "https://lab.example/"), "--allow-origin must be"),
        (("lab", "--allow-origin", "https://lab.example;script-src *"), "--allow-origin must be"),
        (("lab", "--allow-host", "https://lab.example"), "--allow-host must be a host name"),
    ],
)
def test_what_cannot_be_served_is_refused(forked: Forks, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = forked(tmp_path, "serve", *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_view_in_a_browser_checks_its_options_and_names_those_of_a_window(forked: Forks, tmp_path: Path) -> None:
    ended = forked(tmp_path, "view", "lab", "--web", "--seconds", "nan")
    assert (ended.returncode, ended.stderr) == (2, "twixt: --seconds must be a finite number > 0, got nan\n")
    ended = forked(tmp_path, "view", "lab", "--web", "--seconds", "0.01", "--offscreen")
    assert ended.returncode == 0
    assert "the browser view ignores --offscreen" in ended.stderr


def test_several_simulations_need_a_name(forked: Forks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    hosts = [Served("one"), Served("two")]
    for made in hosts:
        made.simulate(BALLS)
    ended = forked(tmp_path, "serve")
    assert (ended.returncode, ended.stderr) == (
        2, "twixt: several simulations are running; name one of them: one, two\n",
    )  # fmt: skip
    for made in hosts:
        made.end()


def test_beyond_the_loopback_it_is_encrypted_and_pages_may_not_control(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
         str(key), "-out", str(certificate), "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    import ssl

    with served() as made:
        made.simulate(BALLS)
        made.publish()
        link = made.serve("--host", "0.0.0.0", "--cert", str(certificate), "--key", str(key))
        assert link.startswith("https://127.0.0.1:")
        with Page(link, {"ssl": ssl.create_default_context(cafile=str(certificate))}) as page:
            assert page.snapshot().head["tick"] == made.tick
            assert page.welcome["may_control"] is False
            page.tell(kind="command", name="pause")
            assert page.heard("refused")["name"] == "pause"


def test_in_a_container_it_may_be_plain_and_says_how_to_publish_the_port(runtime_folder: Path) -> None:
    process = start("serve", "lab", "--host", "0.0.0.0", "--plain", container="test")
    assert process.stdout is not None
    link, said = process.stdout.readline(), process.stdout.readline()
    port = link.partition("/#")[0].rpartition(":")[2]
    assert said.endswith(f": docker run -p 127.0.0.1:{port}:{port} ...\n")
    assert end_of(process) == 130
    stopped(process)


def test_ipv6_works(runtime_folder: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6: {error}")
    with served() as made:
        made.simulate(BALLS)
        made.publish()
        link = made.serve("--host", "::1")
        assert link.startswith("http://[::1]:")
        port = link.partition("/#")[0].rpartition(":")[2]
        assert made.process.stdout is not None
        assert f" -L {port}:[::1]:{port} " in made.process.stdout.readline()
        with Page(link, {"origin": link.partition("/#")[0]}) as page:
            page.snapshot()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_cannot_read_the_token(runtime_folder: Path) -> None:
    with served() as made:
        made.simulate(BALLS)
        made.serve()
        file = runtime_folder / "twixt" / f"{made.name}.web"
        tried = subprocess.run(["cat", str(file)], user=65534, group=65534, extra_groups=[], capture_output=True)
        assert tried.returncode != 0
        assert tried.stdout == b""
