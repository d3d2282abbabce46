"""Who may see the page: Host, Origin, token, and the addresses to which the server may be bound."""

from __future__ import annotations

import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from twixt.relay.serve import access
from twixt.relay.serve.access import Access, AccessError, Kept

RULES = Access("secret", hosts=("lab.example", "gate.example:8443"), origins=("https://lab.example",))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "twixt"


@pytest.mark.parametrize(
    "host",
    ["localhost", "LocalHost:1", "127.0.0.1:8000", "127.8.9.10", "[::1]", "[::1]:8000", "lab.example:9", "LAB.example",
     "gate.example:8443"],
)  # fmt: skip
def test_loopback_names_with_any_port_and_allowed_hosts_are_answered(host: str) -> None:
    assert RULES.is_host(host)


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "128.0.0.1", "10.0.0.1:8000",
     "[::2]", "::1", "[::1", "localhost:x", "localhost:1:2", "localhost/", "user@localhost", "gate.example",
     "gate.example:8444", "0.0.0.0", "2130706433", "localhost\r\n", " localhost"],
)  # fmt: skip
def test_other_hosts_are_refused(host: str | None) -> None:
    assert not RULES.is_host(host)


@pytest.mark.parametrize(
    ("origin", "host", "is_allowed"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("http://LOCALHOST:8000", "localhost:8000", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("https://lab.example", "127.0.0.1:8000", True),
        (None, "127.0.0.1:8000", True),
        ("http://127.0.0.1:8001", "127.0.0.1:8000", False),
        ("http://localhost:8000", "127.0.0.1:8000", False),
        ("https://127.0.0.1:8000", "127.0.0.1:8000", False),
        ("null", "127.0.0.1:8000", False),
        ("", "127.0.0.1:8000", False),
        ("http://lab.example", "127.0.0.1:8000", False),
        ("https://lab.example.evil.example", "127.0.0.1:8000", False),
        ("file://", "127.0.0.1:8000", False),
    ],
)
def test_the_origin_must_be_the_page_itself_or_allowed(origin: str | None, host: str, is_allowed: bool) -> None:
    assert RULES.is_origin(origin, host) is is_allowed


def test_only_the_whole_token_is_the_token() -> None:
    assert RULES.is_token("secret")
    for wrong in ("", "secre", "secrets", "SECRET", "sécret", "\ud800"):
        assert not RULES.is_token(wrong)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_the_loopback_needs_nothing(host: str) -> None:
    access.check_binding(host, 8000, has_certificate=False, is_plain=False)


def test_beyond_the_loopback_a_certificate_is_needed_or_the_way_by_ssh_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    access.check_binding("0.0.0.0", 8000, has_certificate=True, is_plain=False)
    with pytest.raises(
        AccessError, match=r"needs --cert FILE and --key FILE.*: ssh -L 8000:127\.0\.0\.1:8000 \S+@\S+$"
    ):
        access.check_binding("0.0.0.0", 8000, has_certificate=False, is_plain=False)
    monkeypatch.setattr(access, "is_in_container", lambda: False)
    with pytest.raises(AccessError, match=r"only for containers.*ssh -L 8000"):
        access.check_binding("::", 8000, has_certificate=False, is_plain=True)
    monkeypatch.setattr(access, "is_in_container", lambda: True)
    access.check_binding("0.0.0.0", 8000, has_certificate=False, is_plain=True)
    with pytest.raises(AccessError):
        access.check_binding("0.0.0.0", 8000, has_certificate=False, is_plain=False)


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "[::1]"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "[::1]"),
        ("localhost", "localhost"),
    ],
)
def test_the_link_is_one_that_a_browser_can_open(host: str, shown: str) -> None:
    assert access.link("http", host, 8000, "secret") == f"http://{shown}:8000/#secret"


def test_port_and_token_are_kept_for_each_name_and_only_the_user_can_read_them(folder: Path) -> None:
    first = access.kept("balls")
    assert first.port == 0
    assert len(first.token) == 22
    access.keep("balls", 8000, first.token)
    assert access.kept("balls") == Kept(8000, first.token)
    assert access.kept("other").token != first.token
    assert (folder / "balls.web").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in folder.iterdir()] == ["balls.web"]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"port": 8000}', '{"port": 8000, "token": "short"}', '{"port": 8000, "token": 5}',
     f'{{"port": "8000", "token": "{"a" * 22}"}}', f'{{"port": 70000, "token": "{"a" * 22}"}}', "x" * 5000, "\0\xff",
     "[" * 999],
)  # fmt: skip
def test_a_damaged_file_is_replaced(folder: Path, content: str) -> None:
    access.keep("balls", 8000, "a" * 22)
    (folder / "balls.web").write_text(content, "latin-1")
    found = access.kept("balls")
    assert found.port == 0
    access.keep("balls", 8001, found.token)
    assert access.kept("balls") == Kept(8001, found.token)


def test_a_fifo_in_the_place_of_the_file_holds_up_nothing(folder: Path) -> None:
    access.keep("balls", 8000, "a" * 22)
    (folder / "balls.web").unlink()
    os.mkfifo(folder / "balls.web")
    assert access.kept("balls").port == 0


def test_what_cannot_be_kept_leaves_nothing(folder: Path) -> None:
    access.keep("other", 8000, "a" * 22)
    (folder / "balls.web").mkdir()
    with pytest.raises(OSError, match=r"balls\.web"):
        access.keep("balls", 8000, "a" * 22)
    assert {file.name for file in folder.iterdir()} == {"other.web", "balls.web"}


def test_a_port_in_use_is_refused_if_it_was_asked_for_and_else_another_is_taken() -> None:
    with closing(access.bound("127.0.0.1", None, 0, "balls")) as first:
        port = first.getsockname()[1]
        assert first.getsockname()[0] == "127.0.0.1"
        with closing(access.bound("127.0.0.1", None, port, "balls")) as second:
            assert second.getsockname()[1] != port
        with pytest.raises(AccessError, match=f"cannot listen on port {port} of 127.0.0.1"):
            access.bound("127.0.0.1", port, 0, "balls")


def test_ipv6_can_be_listened_on() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    try:
        listening = access.bound("::1", None, 0, "balls")
    except AccessError as error:
        pytest.skip(f"no IPv6: {error}")
    with closing(listening):
        assert listening.family == socket.AF_INET6


def test_a_host_that_this_machine_does_not_have_is_refused() -> None:
    with pytest.raises(AccessError, match="--host must be"):
        access.bound("no host", None, 0, "balls")
    with pytest.raises(AccessError, match="cannot listen"):
        access.bound("203.0.113.1", None, 0, "balls")


def test_a_port_for_the_administrator_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_arguments: object, **_more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "create_server", forbidden)
    with pytest.raises(
        AccessError, match="port 80 of 127.0.0.1: Permission denied; .* above 1023, such as --port 8080"
    ):
        access.bound("127.0.0.1", 80, 0, "balls")
