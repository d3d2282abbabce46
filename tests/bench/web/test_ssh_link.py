"""The bench's way through SSH: what it says where there is no SSH server. The bench itself runs one."""

from __future__ import annotations

import shutil

import pytest

from bench.web import ssh_link
from bench.web.link import SERVER


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None if program.endswith("sshd") else program)
    assert ssh_link.why_no_ssh() == "no /usr/sbin/sshd here; on Debian install it with: apt-get install openssh-server"


def test_the_server_lets_in_one_key_of_one_user_and_no_password() -> None:
    made = ssh_link.CONFIGURATION.format(port=ssh_link.PORT, address=SERVER, folder="/f", user="ann")
    assert {"AllowUsers ann", "PasswordAuthentication no", "AuthorizedKeysFile /f/user_key.pub"} < set(made.split("\n"))
