"""The mark of an owned viewer, and the search path that it takes over from its program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from twixt.sim.process.viewer_command import OWNED_VARIABLE, PATH_VARIABLE, consume_variables, merged, path_text

LIBRARY = f"/lib/python{sys.version_info.major}.{sys.version_info.minor}"
ZIP = f"/lib/python{sys.version_info.major}{sys.version_info.minor}.zip"
STANDARD = [ZIP, LIBRARY, f"{LIBRARY}/lib-dynload"]


def test_the_standard_library_is_first_then_the_programs_packages_in_its_order_and_its_own_folders_are_last(
    tmp_path: Path,
) -> None:
    vendor, own = tmp_path / "vendor", tmp_path / "own"
    (vendor / "numpy").mkdir(parents=True)
    (vendor / "numpy" / "__init__.py").touch()
    own.mkdir()
    (own / "glfw.py").touch()
    program = [str(own), "/b/site-packages", str(vendor), *STANDARD, "/a/dist-packages"]
    found = merged(["/python-path", *STANDARD, "/a/dist-packages"], program, LIBRARY)
    assert found == [*STANDARD, "/b/site-packages", str(vendor), "/a/dist-packages", "/python-path", str(own)]


def test_a_folder_that_the_program_does_not_search_comes_after_its_packages() -> None:
    assert merged(["/ros/site-packages", *STANDARD], ["/mine/site-packages", *STANDARD], LIBRARY) == [
        *STANDARD, "/mine/site-packages", "/ros/site-packages",
    ]  # fmt: skip


def test_relative_entries_are_made_absolute_and_what_is_no_path_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    entries: list[object] = ["", "libs", tmp_path, "/with\nline", "/with\0zero", "/with\ud800half", b"/bytes", "/abs"]
    assert path_text(entries) == "\n".join(  # type: ignore[arg-type]
        [str(sys.implementation.cache_tag), str(tmp_path), str(tmp_path / "libs"), "/abs"]
    )


def test_a_program_whose_folder_is_gone_keeps_its_absolute_entries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert path_text(["", "/abs"]).split("\n")[1:] == ["/abs"]


def test_of_a_path_that_no_program_can_be_started_with_the_folders_with_packages_are_kept(tmp_path: Path) -> None:
    """Build systems such as Bazel give each package a folder of its own."""
    folders = [str(tmp_path / f"{number:04}" / "site-packages") for number in range(4_000)]
    package = Path(folders[-1]) / "numpy" / "__init__.py"
    package.parent.mkdir(parents=True)
    package.touch()
    text = path_text(folders)
    assert text.split("\n")[1:3] == folders[:2]
    assert text.split("\n")[-1] == folders[-1]
    subprocess.run([sys.executable, "-S", "-c", ""], env={PATH_VARIABLE: text}, check=True)


def test_both_variables_are_taken_out_and_the_path_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    environ = {OWNED_VARIABLE: "1", PATH_VARIABLE: path_text(["/mine/site-packages"]), "HOME": "/home/me"}
    assert consume_variables(environ)
    assert environ == {"HOME": "/home/me"}
    library = os.path.dirname(os.__file__)
    assert sys.path.index(library) < sys.path.index("/mine/site-packages")


def test_the_path_of_another_python_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.path)
    monkeypatch.setattr(sys, "path", list(before))
    assert not consume_variables({PATH_VARIABLE: "cpython-27\n/mine/site-packages"})
    assert not consume_variables({})
    assert sys.path == before
