"""The certificate of the server: files that cannot be used are refused, and what browsers will say is said before."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from twixt.relay.serve.access import AccessError
from twixt.relay.serve.certificate import MOST_FILE_BYTES, Certificate

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates for 127.0.0.1 (`own`), for lab.example (`lab`), and of the past; their keys; and useless files."""
    folder = tmp_path_factory.mktemp("certificates")
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl")

    def make(*words: str) -> None:
        subprocess.run([openssl, *words], check=True, capture_output=True, cwd=folder)

    for name, subject in (("own", "IP:127.0.0.1"), ("lab", "DNS:lab.example,DNS:*.farm.example")):
        named = ("-addext", f"subjectAltName={subject}")
        make("req", "-x509", *NEW_KEY, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", "/CN=twixt", *named)
    make("req", "-new", "-key", "own.key", "-out", "request", "-subj", "/CN=twixt")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    make(
        "x509", "-req", "-in", "request", "-signkey", "own.key", "-days", "-1", "-extfile", "names", "-out", "past.pem"
    )
    make("pkey", "-in", "own.key", "-aes256", "-passout", "pass:secret", "-out", "own.locked")
    make("x509", "-in", "own.pem", "-outform", "der", "-out", "own.der")
    os.mkfifo(folder / "pipe")
    (folder / "empty").write_bytes(b"")
    (folder / "large").write_bytes(bytes(MOST_FILE_BYTES + 1))
    (folder / "forbidden").write_bytes((folder / "own.pem").read_bytes())
    (folder / "forbidden").chmod(0)
    return folder


@pytest.mark.parametrize(
    ("certificate", "key", "said"),
    [
        ("pipe", "own.key", "--cert must be a file, and .*pipe' is a folder, a pipe or a device"),
        ("own.pem", "pipe", "--key must be a file, and .*pipe' is a folder"),
        (".", "own.key", "--cert must be a file"),
        ("/dev/zero", "own.key", "--cert must be a file, and '/dev/zero' is a"),
        ("none", "own.key", "--cert .*none' cannot be read: No such file"),
        ("own.pem", "none", "--key .*none' cannot be read: No such file"),
        ("a\0b", "own.key", "--cert .* cannot be read: embedded null byte"),
        ("empty", "own.key", "--cert must be a PEM file of 1 to 1048576 bytes, and .*empty' is not one"),
        ("own.pem", "large", "--key must be a PEM file of 1 to"),
        ("own.der", "own.key", "--cert and --key must be a certificate and its key, as PEM files"),
        ("own.pem", "own.pem", "--cert and --key must be a certificate and its key"),
        ("own.pem", "lab.key", "--key must be the key of --cert, and .*lab.key' is for another one"),
        ("own.pem", "own.locked", "without a password, .*: openssl pkey -in .*own.locked -out plain.pem"),
    ],
)
def test_files_that_cannot_be_used_are_refused_without_a_question(
    folder: Path, certificate: str, key: str, said: str
) -> None:
    with pytest.raises(AccessError, match=said):
        Certificate(str(folder / certificate), str(folder / key))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_the_user_may_not_read_is_refused(folder: Path) -> None:
    with pytest.raises(AccessError, match="--cert .*forbidden' cannot be read: Permission denied"):
        Certificate(str(folder / "forbidden"), str(folder / "own.key"))


@pytest.fixture
def made(folder: Path) -> Callable[[str], Certificate]:
    return lambda name: Certificate(
        str(folder / f"{name}.pem"), str(folder / f"{'lab' if name == 'lab' else 'own'}.key")
    )


@pytest.mark.parametrize(
    ("name", "host", "said"),
    [
        ("own", "127.0.0.1", ""),
        ("own", "localhost", "it is not for localhost"),
        ("own", "127.0.0.2", "it is not for 127.0.0.2"),
        ("own", "::1", "it is not for ::1"),
        ("past", "127.0.0.1", "certificate has expired"),
        ("lab", "lab.example", ""),
        ("lab", "LAB.example", ""),
        ("lab", "a.farm.example", ""),
        ("lab", "a.b.farm.example", "it is not for a.b.farm.example"),
    ],
)
def test_what_browsers_will_say_about_dates_and_names_is_known(
    made: Callable[[str], Certificate], name: str, host: str, said: str
) -> None:
    assert made(name).complaint(host) == said


def test_the_link_has_a_host_of_the_certificate_or_the_complaint_is_printed(
    made: Callable[[str], Certificate], capsys: pytest.CaptureFixture[str]
) -> None:
    assert made("own").first_without_complaint(["127.0.0.1", "lab.example"]) == "127.0.0.1"
    assert made("lab").first_without_complaint(["127.0.0.1", "lab.example"]) == "lab.example"
    assert capsys.readouterr().err == ""
    assert made("lab").first_without_complaint(["127.0.0.1"]) == "127.0.0.1"
    assert capsys.readouterr().err.endswith("lab.pem: it is not for 127.0.0.1\n")
