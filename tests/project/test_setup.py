"""`make setup` and `make run` say what they do, and of what pip says only what concerns its user: the Makefile with pip
itself, in a checkout without git whose path has a space."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BACKEND = """
import zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "twixt_edited-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        info = "twixt_edited-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: twixt_edited\\nVersion: 1.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        program = zipfile.ZipInfo("twixt_edited-1.0.data/scripts/twixt")
        program.external_attr = 0o100755 << 16
        wheel.writestr("twixt/__init__.py", "")
        wheel.writestr("twixt_viewer.py", "")
        wheel.writestr(program, "#!/bin/sh\\necho twixt $*\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "twixt_edited"
version = "1.0"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout as far as setup looks at it, one package to install for running and one for the tests, and a virtual
    environment in which pip lies already."""
    folder = tmp_path / "my checkout"
    folder.mkdir()
    (tmp_path / "wheels").mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "backend.py").write_text(BACKEND)
    (folder / "requirements.txt").write_text("twixt_tried==1.0\n")
    (folder / "requirements-dev.txt").write_text("-r requirements.txt\ntests_tried==1.0\n")
    (folder / "twixt.py").write_text("")
    (folder / "twixt_viewer.py").write_text("")
    for part in ("cli", "ipc", "sim", "render", "relay", "bench"):
        (folder / part).mkdir()
        (folder / part / "__init__.py").write_text("")
    for name in ("twixt_tried", "tests_tried"):
        with zipfile.ZipFile(tmp_path / "wheels" / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            info = f"{name}-1.0.dist-info"
            wheel.writestr(f"{name}.py", "")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    venv.create(folder / ".venv", with_pip=False, symlinks=True)
    (site_of(folder) / "pip.pth").write_text(os.path.dirname(os.path.dirname(__import__("pip").__file__)) + "\n")
    return folder


def site_of(checkout: Path) -> Path:
    return next((checkout / ".venv" / "lib").glob("python3*")) / "site-packages"


def begin(checkout: Path, target: str = "setup", **more: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    places = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": (checkout / "no-index").as_uri(),
        "PIP_FIND_LINKS": (checkout.parent / "wheels").as_uri(),
    }
    return subprocess.Popen(
        ["make", target, "PACKAGES=", "RUN_PACKAGES=", f"PYTHON={sys.executable}"],
        cwd=checkout, env=environment | places | more, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def end(begun: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = begun.communicate(timeout=120)
    return subprocess.CompletedProcess(begun.args, begun.returncode, out, err)


def set_up(checkout: Path, target: str = "setup", **more: str) -> subprocess.CompletedProcess[str]:
    return end(begin(checkout, target, **more))


def test_setup_says_its_phases_and_nothing_of_places_that_hold_no_package(checkout: Path) -> None:
    done = set_up(checkout)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    phases = [line.partition(" in ")[0] for line in done.stdout.splitlines()]
    assert phases == [
        "setup: installing Python packages (1) into .venv, to run twixt: about half a minute, 290 MB",
        "setup: installing the packages",
        "setup: installing twixt",
        "setup: done",
        "setup: installing Python packages (2) into .venv, for tests and benches: about a minute, 220 MB more",
        "setup: installing the packages",
        "setup: done",
    ]
    assert list((checkout / "render" / "__pycache__").glob("*.pyc")), "the first start would compile it"
    assert set_up(checkout).stdout == "", "what is there is not installed again"


def test_setup_that_fails_shows_what_pip_said_and_is_not_ready(checkout: Path) -> None:
    (checkout / "requirements.txt").write_text("twixt_tried==1.0\nno_such_package==1.0\n")
    done = set_up(checkout)
    assert done.returncode != 0
    assert "No matching distribution found for no_such_package==1.0" in done.stderr
    assert "is ignored" not in done.stderr
    assert "PIP_FIND_LINKS" in done.stderr, "the way out"
    assert not (checkout / ".venv" / "ready").exists()


def test_a_warning_of_pips_is_said_once(checkout: Path) -> None:
    (checkout / "requirements.txt").write_text("no_such_package==1.0\n")
    done = set_up(checkout, PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1")
    assert done.stderr.count("WARNING: Retrying") == 1


def test_an_environment_that_was_interrupted_before_it_had_pip_is_made_again(checkout: Path) -> None:
    (site_of(checkout) / "pip.pth").unlink()
    done = set_up(checkout)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("setup: creating a virtual environment in .venv\n")


@pytest.mark.skipif(shutil.which("flock") is None, reason="no flock; on Debian: apt-get install util-linux")
def test_two_at_once_install_one_after_the_other(checkout: Path) -> None:
    both = [end(begun) for begun in [begin(checkout), begin(checkout)]]
    assert [done.returncode for done in both] == [0, 0], both
    assert sum(done.stdout.count("setup: done in ") for done in both) == 2
    assert sum(done.stdout.count("setup: installing twixt") for done in both) == 1


def test_run_installs_what_running_needs_and_a_later_setup_the_rest(checkout: Path) -> None:
    site = site_of(checkout)
    (site / "twixt-1.0.dist-info").mkdir()
    (site / "twixt-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: twixt\nVersion: 1.0\n")
    done = set_up(checkout, "run", ARGS="balls")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "twixt run balls"
    assert {path.name for path in site.glob("*_tried.py")} == {"twixt_tried.py"}
    # another twixt in the environment, and copies of this one, are removed
    assert not [name for name in ("twixt", "twixt-1.0.dist-info", "twixt_viewer.py") if (site / name).exists()]

    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "http_proxy": "http://127.0.0.1:9"}
    done = set_up(checkout, "run", **nowhere, https_proxy="http://127.0.0.1:9", ARGS="balls")
    assert (done.returncode, done.stdout, done.stderr) == (0, "twixt run balls\n", ""), "it needs no network"

    (checkout / "requirements-dev.txt").write_text("-r requirements.txt\nno_such_package==1.0\n")
    assert set_up(checkout).returncode != 0
    assert (checkout / ".venv" / "ready-to-run").exists()
    assert not (checkout / ".venv" / "ready").exists()

    (checkout / "requirements-dev.txt").write_text("-r requirements.txt\ntests_tried==1.0\n")
    done = set_up(checkout)
    assert done.returncode == 0, done.stderr
    assert "to run twixt" not in done.stdout, "what is there is not installed again"
    assert "setup: installing twixt" not in done.stdout
    assert {path.name for path in site.glob("*_tried.py")} == {"twixt_tried.py", "tests_tried.py"}
