"""The distribution twixt-viewer: its wheel and sdist, its extras, and another package `twixt` in the same environment.

Environments are real. They contain links to the packages of this Python that the wheel requires, and nothing else. pip
itself installs the wheel there, without an index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project.test_packaging import clean_environment, wheel
from twixt.ipc.errors import install_command

__all__ = ["wheel"]

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {extra: PROJECT["optional-dependencies"][extra] for extra in ("plot", "mesh", "mujoco", "remote")}
OFFSCREEN = ("metronome", "--offscreen", "--size", "64x48", "--seconds", "0.3")
MODEL = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
# What needs each extra, by the program or in Python.
USES = {
    "plot": ("twixt", "measure", *OFFSCREEN, "--plot", "plot.png"),
    "mesh": ("python", "-c", f"import twixt; twixt.Mesh.from_file({str(ROOT / 'examples' / 'gear.stl')!r})"),
    "mujoco": ("twixt", "sim", "model.xml", "--steps", "5", "--hash"),
    "remote": ("twixt", "serve", "nobody", "--seconds", "0.1"),
}
NEEDED_BY = {"plot": "matplotlib", "mesh": "trimesh", "mujoco": "mujoco", "remote": "websockets"}
# The other package tells that it was imported.
OTHER = "print('the other package')\n"
REMOVED_BY = "-m pip uninstall twixt"


def needed(requirements: Iterable[str]) -> dict[str, Distribution]:
    """Installed distributions by their names: those required, and those that they require."""
    found: dict[str, Distribution] = {}
    left = list(map(Requirement, requirements))
    while left:
        required = left.pop()
        name = canonicalize_name(required.name)
        if name not in found and (required.marker is None or required.marker.evaluate({"extra": ""})):
            found[name] = distribution(name)
            left += map(Requirement, found[name].requires or ())
    return found


def environment(home: Path, requirements: Iterable[str]) -> Path:
    """Folder of the programs of a new environment with the required distributions."""
    venv.create(home, with_pip=False, symlinks=True)
    site = next((home / "lib").glob("python3*")) / "site-packages"
    for found in needed(requirements).values():
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(found.locate_file(top))
    return home / "bin"


def run(programs: Path, *command: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A program of an environment, started beside its folder."""
    return subprocess.run(
        [programs / command[0], *command[1:]], cwd=programs.parent, env=clean_environment() | (environ or {}),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def pip(programs: Path, *arguments: str) -> None:
    """pip in an environment, without an index. It compiles nothing: programs compile what they import."""
    environ = {name: value for name, value in clean_environment().items() if not name.startswith("PIP_")}
    command = [sys.executable, "-m", "pip", "--python", programs / "python", "--disable-pip-version-check", *arguments]
    done = subprocess.run(
        command, env=environ | {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_NO_COMPILE": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel of another package `twixt`."""
    path = tmp_path_factory.mktemp("other") / "twixt-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("twixt/__init__.py", OTHER)
        archive.writestr("twixt/track.py", "")
        archive.writestr("twixt-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: twixt\nVersion: 1.0\n")
        archive.writestr("twixt-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(
            "twixt-1.0.dist-info/RECORD",
            "".join(f"{name},,\n" for name in [*archive.namelist(), "twixt-1.0.dist-info/RECORD"]),
        )
    return path


@pytest.fixture(scope="module")
def without_extras(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the programs of an environment with the wheel and what it requires."""
    programs = environment(tmp_path_factory.mktemp("without") / "new", PROJECT["dependencies"])
    pip(programs, "install", str(wheel))
    return programs


def files_of(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_is_twixt_viewers_and_contains_twixt_and_its_program_alone(wheel: Path) -> None:
    files = files_of(wheel)
    info = next(name for name in files if name.endswith("/METADATA"))
    assert message_from_bytes(files[info])["Name"] == "twixt-viewer"
    assert {name.split("/")[0] for name in files} == {"twixt", "twixt_viewer.py", info.split("/")[0]}
    tops = {name.split("/")[1] for name in files if name.startswith("twixt/")}
    assert tops == {
        "__init__.py",
        "__main__.py",
        "py.typed",
        "cli",
        "ipc",
        "sim",
        "render",
        "relay",
        "web",
        "mujoco_viewer.py",
    }


def test_the_sdist_builds_the_same_wheel_and_contains_no_tests(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert tops == {
        "twixt_viewer.py", "twixt.py", "cli", "ipc", "sim", "render", "relay", "web", "py.typed", "CHANGELOG.md",
        "README.md", "LICENSE", "pyproject.toml", ".gitignore", "PKG-INFO",
    }  # fmt: skip
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    subprocess.run([*build, str(sdist)], check=True, capture_output=True, timeout=120)
    assert files_of(next(tmp_path.glob("*.whl"))) == files_of(wheel)


def test_the_wheel_alone_draws_and_names_what_each_extra_would_install(without_extras: Path) -> None:
    done = run(without_extras, "twixt", "run", *OFFSCREEN, "--screenshot", "shown.png")
    assert (done.returncode, done.stderr) == (0, "twixt: screenshot in shown.png\n")
    (without_extras.parent / "model.xml").write_text(MODEL)
    for extra, command in USES.items():
        done = run(without_extras, *command, environ={"TWIXT_CACHE": "off"})
        assert done.returncode != 0
        assert done.stderr.splitlines()[-1].endswith(f"install it with: {install_command(NEEDED_BY[extra])}"), extra


def test_without_matplotlib_a_run_without_a_display_leaves_its_report_and_says_why_there_is_no_plot(
    without_extras: Path,
) -> None:
    done = run(without_extras, "twixt", "run", "metronome", "--size", "64x48", "--seconds", "0.3")
    assert done.returncode == 0, done.stderr
    assert "For all figures and conditions use --full" in done.stdout
    assert (
        f"no plot, because matplotlib is not installed; install it with: {install_command('matplotlib')}" in done.stderr
    )
    assert (without_extras.parent / "twixt-screenshot.png").exists()


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_brings_what_its_feature_needs(wheel: Path, tmp_path: Path, extra: str) -> None:
    programs = environment(tmp_path / "new", [*PROJECT["dependencies"], *EXTRAS[extra]])
    pip(programs, "install", f"{wheel}[{extra}]")
    (programs.parent / "model.xml").write_text(MODEL)
    done = run(programs, *USES[extra])
    assert done.returncode == 0, done.stderr


def test_the_program_says_that_another_twixt_was_installed_over_ours(wheel: Path, other: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "new", PROJECT["dependencies"])
    pip(programs, "install", str(wheel))
    assert run(programs, "twixt", "worlds").returncode == 0
    pip(programs, "install", str(other))
    done = run(programs, "twixt", "worlds")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("twixt: another package named 'twixt' has replaced or removed files of twixt-viewer in ")
    assert f"{REMOVED_BY} twixt-viewer; then install twixt-viewer again" in line
    assert run(programs, "python", "-m", "twixt", "worlds").stderr == done.stderr

    pip(programs, "uninstall", "-y", "twixt")
    assert run(programs, "twixt", "worlds").stderr == done.stderr

    pip(programs, "uninstall", "-y", "twixt", "twixt-viewer")
    pip(programs, "install", str(wheel))
    done = run(programs, "twixt", "worlds")
    assert (done.returncode, done.stderr) == (0, "")


def test_installed_over_another_twixt_the_program_and_the_import_say_so_once(
    wheel: Path, other: Path, tmp_path: Path
) -> None:
    programs = environment(tmp_path / "new", PROJECT["dependencies"])
    pip(programs, "install", str(other))
    pip(programs, "install", str(wheel))
    (line,) = run(programs, "python", "-c", "import twixt").stderr.splitlines()
    assert line.startswith("twixt: another package named 'twixt' is installed over the same files (")
    assert "twixt-1.0.dist-info" in line
    assert f"{REMOVED_BY} twixt-viewer; then install twixt-viewer again" in line
    done = run(programs, "twixt", "run", *OFFSCREEN, "--screenshot", "shown.png")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [line, "twixt: screenshot in shown.png"]


def test_the_program_of_a_checkout_names_another_twixt_that_python_finds_first(other: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "my environment", [*PROJECT["dependencies"], "hatchling"])
    pip(programs, "install", "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    site = next(programs.parent.glob("lib/python3*/site-packages"))
    shutil.rmtree(site / "twixt")  # copies, which `make setup` removes too
    (site / "twixt_viewer.py").unlink()
    done = run(programs, "twixt", "worlds")
    assert (done.returncode, done.stderr) == (0, "")
    pip(programs, "install", str(other))
    done = run(programs, "twixt", "worlds")
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.startswith("twixt: Python imports another package named 'twixt', ")
    assert line.endswith(REMOVED_BY)
    pip(programs, "uninstall", "-y", "twixt")
    assert run(programs, "twixt", "worlds").stderr == ""

    (tmp_path / "twixt.py").write_text(OTHER)
    done = run(programs, "twixt", "worlds", environ={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert f"named 'twixt', {tmp_path / 'twixt.py'}; remove that one" in done.stderr
