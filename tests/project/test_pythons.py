"""`make pythons`: which Pythons are found, and what is run under each."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from tests.pythons import OLDEST, QUICK, ROOT, TYPES, Python, installed, probed, run_all

FINAL = "final"


def answering(path: Path, *version: int, kind: str = "CPython", level: str = FINAL, is_free: bool = False) -> Path:
    """A program that answers as that Python does."""
    answer = json.dumps([kind, [*version, level, 0], is_free])
    return program(path, f"echo '{answer}'")


def program(path: Path, code: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return path


def test_pythons_of_pyenv_and_of_the_path_are_found_the_newest_of_each_version(tmp_path: Path) -> None:
    pyenv, first, second = tmp_path / "pyenv", tmp_path / "first", tmp_path / "second"
    names = ("3.12.1", "3.13.0", "pypy3.11", "gone")
    program(first / "pyenv", f"[ $1 = root ] && echo '{pyenv}' || printf '%s\\n' {' '.join(names)}")
    of_pyenv = answering(pyenv / "versions/3.12.1/bin/python3", 3, 12, 1)
    answering(pyenv / "versions/3.13.0/bin/python3", 3, 13, 0)
    answering(pyenv / "versions/pypy3.11/bin/python3", 3, 11, 9, kind="PyPy")
    program(first / "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    newer = answering(second / "python3.13", 3, 13, 2)
    answering(second / "python3.10", 3, 10, 14)
    answering(second / "python3.14", 3, 14, 0, is_free=True)
    answering(second / "python3.15", 3, 15, 0, level="alpha")
    answering(second / "python3.12-config", 3, 12, 9)
    environ = {"PATH": f"{first}:{tmp_path / 'no folder'}:{second}:/bin"}
    found = [python for python in installed(environ, None) if tmp_path in python.path.parents]
    assert found == [Python(of_pyenv, (3, 12, 1)), Python(newer, (3, 13, 2))]
    own = Python(tmp_path / ".venv/bin/python", (3, 12, 0))
    assert own in installed(environ, own)
    assert of_pyenv not in [python.path for python in installed(environ, own)]


def test_this_python_is_known_by_what_it_answers_itself() -> None:
    assert probed(Path(sys.executable)) == Python(Path(sys.executable), sys.version_info[:3])
    assert probed(Path("/gone")) is None
    assert probed(Path("/bin/true")) is None


def test_the_oldest_python_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={OLDEST[0]}.{OLDEST[1]}"


@pytest.mark.parametrize("broken", ["", "setup", "tests"])
def test_every_python_is_tried_and_one_that_fails_is_named(capsys: pytest.CaptureFixture[str], broken: str) -> None:
    own, other, last = (Python(Path(f"/python{minor}"), (3, minor, 0)) for minor in (11, 12, 13))
    ran: list[list[str]] = []

    def run(command: list[str]) -> int:
        ran.append(command)
        is_setup = command[0] == "make"
        return int("3.12.0" in " ".join(command) and broken == ("setup" if is_setup else "tests"))

    assert run_all([own, other, last], own, ["tests/ipc"], run) == bool(broken)
    said = {"": "passed", "setup": "not set up", "tests": "FAILED"}[broken]
    assert capsys.readouterr().out.splitlines()[-1] == f"pythons: 3.11.0 passed, 3.12.0 {said}, 3.13.0 passed"
    assert ran[:2] == [
        ["make", "--no-print-directory", "setup", "PYTHON=/python11", "VENV=.venv"],
        [".venv/bin/python", "-m", "tests.suite", "-m", "not display", f"--deselect={TYPES}", "tests/ipc"],
    ]
    assert ran[-1][0] == "build/pythons/3.13.0/bin/python"
    assert len(ran) == (5 if broken == "setup" else 6)


def test_without_another_python_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all([], None, []) == 0
    assert capsys.readouterr().out == "pythons: no other one from 3.11 on is installed\n"


def test_the_quick_tests_are_there() -> None:
    assert [path for path in QUICK if not (ROOT / path).exists()] == []
