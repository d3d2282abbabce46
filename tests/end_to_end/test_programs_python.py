"""A viewer runs with its program's Python: flags, search path, packages; in a checkout and installed."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipapp
import zipfile
from pathlib import Path

import pytest

from tests.project.test_packaging import clean_environment, installed_python, wheel

__all__ = ["installed_python", "wheel"]

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
# Publishes until its viewer has attached and shown the picture, or is lost.
PROGRAM = """
import os, sys, time
{before}
import twixt
view = twixt.show(twixt.Scene([twixt.Sphere()]), dt=0.01, overlay=False, size_px=(64, 48), screenshot="shown.png", at_s=0)
ends = time.monotonic() + 100
while view.is_open and view.close_reason is None and not os.path.exists("shown.png"):
    assert time.monotonic() < ends, "no picture came"
    view.publish(position=[[0, 0, 0]])
    time.sleep(0.01)
print(view.close_reason)
view.close()
"""
# The viewer wrote its picture, and nothing else was reported.
SHOWN = ("None\n", "twixt: screenshot in shown.png\n")
BROKEN = "raise ImportError('numpy of another Python')\n"


def ran(command: list[str], folder: Path, environ: dict[str, str]) -> tuple[str, str]:
    """Standard output and error of a program, which must end with 0."""
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def python_of(request: pytest.FixtureRequest, way: str) -> str:
    return sys.executable if way == "checkout" else str(request.getfixturevalue("installed_python"))


def environ_of(display: dict[str, str], **more: str) -> dict[str, str]:
    return clean_environment() | display | more


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python without packages."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, with_pip=False, symlinks=True)
    return str(home / "bin" / "python")


def vendored(folder: Path, without: str = "") -> Path:
    """Folder of the packages that twixt needs, as a program brings them along."""
    folder.mkdir()
    for package in Path(__import__("numpy").__file__).parents[1].iterdir():
        # A .pth file counts in site-packages alone, and twixt comes from elsewhere.
        if package.suffix != ".pth" and not package.name.startswith(("twixt", "__", without or "__")):
            (folder / package.name).symlink_to(package)
    return folder


@pytest.mark.display
@pytest.mark.parametrize("flag", ["-E", "-I"])
@pytest.mark.parametrize("way", ["checkout", "installed"])
def test_a_program_that_ignores_the_python_path_has_a_viewer_that_ignores_it(
    request: pytest.FixtureRequest, tmp_path: Path, xvfb_display: dict[str, str], way: str, flag: str
) -> None:
    (tmp_path / "ros" / "numpy").mkdir(parents=True)
    (tmp_path / "ros" / "numpy" / "__init__.py").write_text(BROKEN)
    (tmp_path / "program.py").write_text(PROGRAM.format(before=""))
    environ = environ_of(xvfb_display, PYTHONPATH=str(tmp_path / "ros"))
    assert ran([python_of(request, way), flag, "program.py"], tmp_path, environ) == SHOWN


@pytest.mark.display
def test_a_folder_that_the_program_took_off_its_path_does_not_come_back(
    tmp_path: Path, xvfb_display: dict[str, str]
) -> None:
    (tmp_path / "ros" / "numpy").mkdir(parents=True)
    (tmp_path / "ros" / "numpy" / "__init__.py").write_text(BROKEN)
    (tmp_path / "program.py").write_text(PROGRAM.format(before=f"sys.path.remove({str(tmp_path / 'ros')!r})"))
    environ = environ_of(xvfb_display, PYTHONPATH=str(tmp_path / "ros"))
    assert ran([sys.executable, "program.py"], tmp_path, environ) == SHOWN


@pytest.mark.display
@pytest.mark.parametrize("way", ["checkout", "installed"])
def test_packages_that_lie_on_the_programs_search_path_alone_are_found_and_its_own_glfw_is_not(
    request: pytest.FixtureRequest, tmp_path: Path, xvfb_display: dict[str, str], bare_python: str, way: str
) -> None:
    packages = vendored(tmp_path / "vendor")
    ours = ROOT
    if way == "installed":
        ours = tmp_path / "ours"
        with zipfile.ZipFile(request.getfixturevalue("wheel")) as archive:
            archive.extractall(ours)
    (tmp_path / "glfw.py").write_text("raise SystemExit('a module of the program')\n")
    (tmp_path / "program.py").write_text(PROGRAM.format(before=f"sys.path += [{str(packages)!r}, {str(ours)!r}]"))
    assert ran([bare_python, "program.py"], tmp_path, environ_of(xvfb_display)) == SHOWN


@pytest.mark.display
def test_a_program_in_a_zip_archive_has_a_window(
    wheel: Path, tmp_path: Path, xvfb_display: dict[str, str], bare_python: str
) -> None:
    packages = vendored(tmp_path / "vendor")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "app")
    (tmp_path / "app" / "__main__.py").write_text(PROGRAM.format(before=f"sys.path.append({str(packages)!r})"))
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz")
    assert ran([bare_python, "app.pyz"], tmp_path, environ_of(xvfb_display)) == SHOWN


@pytest.mark.display
@pytest.mark.parametrize("package", ["moderngl", "glfw"])
def test_a_package_that_is_missing_is_named_in_one_line_and_the_loop_goes_on(
    tmp_path: Path, xvfb_display: dict[str, str], bare_python: str, package: str
) -> None:
    packages = vendored(tmp_path / "vendor", without=package)
    (tmp_path / "program.py").write_text(PROGRAM.format(before=f"sys.path += [{str(packages)!r}, {str(ROOT)!r}]"))
    out, err = ran([bare_python, "program.py"], tmp_path, environ_of(xvfb_display))
    assert out == "the viewer exited with code 2\n"
    named, goes_on = err.splitlines()
    assert named == (
        f"twixt: the package '{package}', which twixt needs, is missing; "
        f"install it for this Python: {os.path.abspath(bare_python)}"
    )
    assert goes_on.startswith("twixt: the viewer exited with code 2; the loop continues without it; open a window with")
