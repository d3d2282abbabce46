"""The program that is started as a viewer: a Python, a frozen program that asked for it, never the user's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import twixt
from twixt.sim.process import viewer_command as commands
from twixt.sim.process.viewer_command import (
    OWNED_VARIABLE,
    PATH_VARIABLE,
    NoViewerProgram,
    freeze_support,
    is_python,
    python_flags,
    python_program,
    twixt_command,
    viewer_command,
)

ROOT = Path(__file__).parents[3]
FRONT_DOOR = str(ROOT / "twixt.py")
PATIENCE_S = 120.0
NO_FLAGS = SimpleNamespace(isolated=0, ignore_environment=0, no_user_site=0, no_site=0, utf8_mode=0)


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """This process is a frozen program: its path."""
    path = program(tmp_path / "simulator")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", path)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    monkeypatch.setattr(commands, "_is_freeze_supported", False)
    return path


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """This process is a program that embeds Python: its path."""
    path = program(tmp_path / "simulator")
    monkeypatch.setattr(sys, "executable", path)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    return path


@pytest.mark.parametrize(
    "name",
    ["python", "python3", "python3.12", "python3.13t", "python3.11d", "python3.11-dbg", "python.exe", "pythonw.exe",
     "Python", "pypy3", "pypy3.11", "python3-intel64", "python_d.exe"],
)  # fmt: skip
def test_the_name_of_a_python_is_known(tmp_path: Path, name: str) -> None:
    assert is_python(program(tmp_path / name))


@pytest.mark.parametrize("name", ["simulator", "blender", "python-app", "pythonista", "ipython", "mypython3", "py"])
def test_another_programs_name_is_no_pythons(tmp_path: Path, name: str) -> None:
    assert not is_python(program(tmp_path / name))


def test_a_python_that_is_not_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "python3").touch()  # not executable
    (tmp_path / "python").mkdir()
    assert not any(is_python(path) for path in ("", "/nowhere/python3", *map(str, tmp_path.iterdir())))


def test_a_python_starts_its_own_twixt_with_its_search_path() -> None:
    command = viewer_command()
    assert command.arguments == [sys.executable, *python_flags(), "-P", FRONT_DOOR, "_view"]
    environ = command.environ()
    assert environ[OWNED_VARIABLE] == "1"
    assert environ[PATH_VARIABLE].split("\n")[1:] == [os.path.abspath(entry) for entry in sys.path]


@pytest.mark.parametrize(
    ("set_flags", "passed"),
    [
        ({}, []),
        ({"ignore_environment": 1}, ["-E"]),
        ({"no_user_site": 1}, ["-s"]),
        ({"no_site": 1, "utf8_mode": 1}, ["-S", "-X", "utf8"]),
        ({"isolated": 1, "ignore_environment": 1, "no_user_site": 1}, ["-I"]),
    ],
)
def test_the_flags_that_choose_packages_and_encoding_are_passed_on(
    monkeypatch: pytest.MonkeyPatch, set_flags: dict[str, int], passed: list[str]
) -> None:
    monkeypatch.setattr(sys, "flags", SimpleNamespace(**{**vars(NO_FLAGS), **set_flags}))
    assert python_flags() == passed


def test_no_other_flag_is_passed_on() -> None:
    flags = ["-Werror", "-X", "importtime", "-O", "-B", "-E", "-s", "-S", "-X", "utf8"]
    code = f"import sys; sys.path.append({str(ROOT)!r}); from twixt.sim.process.viewer_command import python_flags as f"
    done = subprocess.run(
        [sys.executable, *flags, "-c", f"{code}; print(*f())"], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout.split() == ["-E", "-s", "-S", "-X", "utf8"]


def test_a_program_that_embeds_python_is_never_started(
    monkeypatch: pytest.MonkeyPatch, embedded: str, tmp_path: Path
) -> None:
    with pytest.raises(NoViewerProgram, match=rf"{embedded}.*TWIXT_PYTHON"):
        viewer_command()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    beside = program(tmp_path / "bin" / f"python{version}")
    assert viewer_command().arguments[0] == beside
    named = program(tmp_path / "other")
    monkeypatch.setenv("TWIXT_PYTHON", named)
    assert viewer_command().arguments[0] == named
    monkeypatch.setattr(sys, "flags", SimpleNamespace(**{**vars(NO_FLAGS), "no_site": 1, "ignore_environment": 1}))
    assert python_flags(named == sys.executable) == ["-E"]  # without its site, that Python would have no packages


def test_a_python_beside_it_that_is_a_link_to_the_program_is_not_started(embedded: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}").symlink_to(embedded)
    with pytest.raises(NoViewerProgram):
        python_program()


def test_a_python_that_was_started_through_a_link_of_another_name_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "simulate").symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "simulate"))
    assert python_program() == os.path.realpath(sys.executable)


@pytest.mark.parametrize("named", ["/nowhere/python3", "simulator"])
def test_a_twixt_python_that_cannot_be_run_or_is_the_program_is_refused(
    monkeypatch: pytest.MonkeyPatch, embedded: str, named: str
) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(embedded))
    monkeypatch.setenv("TWIXT_PYTHON", named)
    with pytest.raises(NoViewerProgram, match=rf"TWIXT_PYTHON is '{named}', which is .*; set it to the path"):
        python_program()


def test_a_python_is_started_though_twixt_python_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWIXT_PYTHON", "/nowhere/python3")
    assert python_program() == sys.executable


def test_a_frozen_program_is_started_only_after_it_called_freeze_support(frozen: str) -> None:
    with pytest.raises(NoViewerProgram, match=r"twixt\.freeze_support\(\) was not called"):
        viewer_command()
    freeze_support()
    command = viewer_command()
    assert command.arguments == [frozen, "_view"]
    assert command.environ()[OWNED_VARIABLE] == "1"
    assert PATH_VARIABLE not in command.environ()


def test_a_frozen_program_named_python_is_not_started_either(monkeypatch: pytest.MonkeyPatch, frozen: str) -> None:
    monkeypatch.setattr(sys, "executable", program(Path(frozen).parent / "python3"))
    with pytest.raises(NoViewerProgram):
        python_program()


def test_twixt_python_of_a_frozen_program_gets_the_library_path_from_before_it(
    monkeypatch: pytest.MonkeyPatch, frozen: str
) -> None:
    freeze_support()
    monkeypatch.setattr(sys, "_MEIPASS", "/unpacked", raising=False)
    monkeypatch.setattr(sys, "flags", SimpleNamespace(**{**vars(NO_FLAGS), "isolated": 1, "no_site": 1}))
    monkeypatch.setattr(twixt, "__file__", "/unpacked/twixt/__init__.pyc")
    monkeypatch.setenv("TWIXT_PYTHON", sys.base_exec_prefix + "/bin/python3")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/unpacked")
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/mine")
    command = viewer_command()
    assert command.arguments[1:] == ["-P", "-c", "import sys; import twixt; sys.exit(twixt.main())", "_view"]
    assert command.environ()["LD_LIBRARY_PATH"] == "/mine"
    monkeypatch.delenv("LD_LIBRARY_PATH_ORIG")
    assert "LD_LIBRARY_PATH" not in viewer_command().environ()


def test_twixt_in_an_archive_is_imported_from_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    archive = tmp_path / "app.pyz"
    archive.touch()
    monkeypatch.setattr(twixt, "__file__", str(archive / "twixt" / "__init__.py"))
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); import twixt; sys.exit(twixt.main())"
    assert twixt_command("doctor")[-3:] == ["-c", code, "doctor"]


def test_a_process_that_was_started_as_a_viewer_starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OWNED_VARIABLE, "1")
    with pytest.raises(NoViewerProgram, match="was itself started as a viewer"):
        viewer_command()


def test_freeze_support_does_nothing_in_a_program_that_is_not_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OWNED_VARIABLE, "1")
    monkeypatch.setattr(sys, "argv", ["program", "_view"])
    freeze_support()
    assert not commands._is_freeze_supported


def test_the_copy_of_a_frozen_program_becomes_the_viewer_and_ends_with_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, frozen: str
) -> None:
    monkeypatch.setattr(sys, "argv", [frozen, "_view"])
    monkeypatch.setattr(twixt, "main", lambda arguments: 3 if arguments == ["_view"] else 0)
    freeze_support()  # the program itself, called with that argument by its user
    monkeypatch.setenv(OWNED_VARIABLE, "1")
    with pytest.raises(SystemExit) as ended:
        freeze_support()
    assert ended.value.code == 3


# A program that embeds Python: whatever its arguments are, it runs its own loop.
HOST = """#!/bin/sh
echo started >> starts
[ "$(wc -l < starts)" -gt 4 ] && exit 9
exec {python} -c '
import sys, time
sys.executable, sys.base_prefix = "{host}", "{prefix}"
{frozen}
sys.path.append("{root}")
import twixt
view = twixt.show(twixt.Scene([twixt.Sphere()]), offscreen=True, seconds=20)
while view.is_open and view.close_reason is None and not view._host.viewer_attached.is_set:
    view.publish(position=[[0, 0, 0]]); time.sleep(0.01)
print(view._host.viewer_attached.is_set, view.is_open, view.close_reason)
view.close()
'
"""


def run_host(folder: Path, prefix: str, frozen: str = "") -> tuple[str, list[str], int]:
    """Output, lines on standard error and number of starts of a host program that shows a scene."""
    host = folder / "simulator"
    host.write_text(HOST.format(python=sys.executable, host=host, prefix=prefix, root=ROOT, frozen=frozen))
    host.chmod(0o755)
    done = subprocess.run([host], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines(), (folder / "starts").read_text().count("started")


def test_a_host_program_that_shows_is_started_once_and_its_loop_goes_on(tmp_path: Path) -> None:
    out, errors, starts = run_host(tmp_path, str(tmp_path))
    assert (out.split()[:2], starts) == (["False", "True"], 1)
    assert len(errors) == 1
    assert errors[0].startswith(f"twixt: no Python to start a viewer with: sys.executable is '{tmp_path}/simulator'")
    assert "; the loop continues without a viewer; open a window in a terminal: twixt view show-" in errors[0]


def test_a_host_program_with_a_python_of_its_version_has_a_viewer(tmp_path: Path) -> None:
    assert run_host(tmp_path, sys.base_prefix) == ("True True None\n", [], 1)


def test_a_frozen_program_that_shows_is_started_once_and_its_loop_goes_on(tmp_path: Path) -> None:
    out, errors, starts = run_host(tmp_path, str(tmp_path), "sys.frozen = True")
    assert (out.split()[:2], starts) == (["False", "True"], 1)
    assert [line.partition(":")[2][:49] for line in errors] == [" this frozen program cannot start a viewer: twixt"]


def test_a_copy_of_a_frozen_program_that_comes_to_show_starts_no_further_one(tmp_path: Path) -> None:
    """It calls `freeze_support` too late to see its arguments, or on one way through the program alone."""
    asks = (
        f"sys.frozen = True; sys.path.append('{ROOT}'); import twixt; sys.argv.append('late'); twixt.freeze_support()"
    )
    out, errors, starts = run_host(tmp_path, str(tmp_path), asks.replace("'", '"'))
    assert starts == 2
    assert any("was itself started as a viewer" in line for line in errors)
    assert "False True" in out
