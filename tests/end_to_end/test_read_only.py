"""A container whose file system is read-only, without XDG_RUNTIME_DIR: mounts of a namespace of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.processes import FRONT_DOOR, PATIENCE_S

pytestmark = pytest.mark.slow

# The folder of this checkout stays to be read; none of these can be written.
READ_ONLY = """
for folder in $FOLDERS; do mount --bind $folder $folder && mount -o remount,ro,bind $folder || exit 99; done
mount -o remount,ro,bind / || exit 99
test -z "$FRESH" || mount -t tmpfs none $FRESH || exit 99
cd "$HERE" && exec "$@"
"""
SHARED_MEMORY = "/dev/shm"
FOLDERS = ["/tmp", "/var/tmp", SHARED_MEMORY]
RUN = ("run", "metronome", "--offscreen", "--seconds", "0.3", "--size", "64x48")
SHOW = """
import twixt
view = twixt.show(twixt.Scene([twixt.Sphere()]), offscreen=True, size_px=(64, 48))
for step in range(20):
    view.publish(position=[(0, 0, step / 10)])
print("open", view.is_open, "because", view.close_reason)
view.reopen()
view.close()
"""
SHOWN = """
import twixt
view = twixt.show(twixt.Scene([twixt.Sphere()]), offscreen=True, size_px=(64, 48), seconds=0.3)
while view.is_open:
    view.publish(position=[(0, 0, 0)])
print(view.close_reason)
"""


def read_only(
    command: list[str], folder: Path, folders: list[str], fresh: str = "", **environ: str
) -> subprocess.CompletedProcess[str]:
    """Runs a command where `folders` and the root can only be read; `fresh` is empty and can be written."""
    kept = {name: value for name, value in os.environ.items() if name not in ("XDG_RUNTIME_DIR", "TMPDIR")}
    found = {"PYTHONPATH": str(Path(FRONT_DOOR).parent), "PYTHONDONTWRITEBYTECODE": "1"}
    how = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    return subprocess.run(
        [*how, "sh", "-c", READ_ONLY, "sh", sys.executable, *command], cwd=folder, stdin=subprocess.DEVNULL,
        env={**kept, **found, "FOLDERS": " ".join(folders), "HERE": str(folder), "FRESH": fresh, **environ},
        capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [RUN, ("sim", "metronome", "--steps", "3"), ("view", "nobody")])
def test_without_any_folder_a_command_is_refused_in_one_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = read_only([FRONT_DOOR, *arguments], tmp_path, FOLDERS)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("twixt: cannot use the folder /tmp/twixt-")
    assert line.endswith("; set XDG_RUNTIME_DIR to a folder that you own")


def test_without_any_folder_a_loop_goes_on_and_is_told_so(tmp_path: Path) -> None:
    done = read_only(["-c", SHOW], tmp_path, FOLDERS)
    reason = done.stdout.removeprefix("open True because ").rstrip("\n")
    assert reason.endswith("set XDG_RUNTIME_DIR to a folder that you own")
    line = f"twixt: {reason}; the loop continues without a viewer\n"
    assert (done.returncode, done.stderr) == (0, line + line)  # by `show` and by `reopen`


def test_shared_memory_serves_where_nothing_else_can_be_written(tmp_path: Path) -> None:
    without = [folder for folder in FOLDERS if folder != SHARED_MEMORY]
    for command in ([FRONT_DOOR, *RUN], ["-c", SHOWN]):
        done = read_only(command, tmp_path, without, fresh=SHARED_MEMORY)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


def test_a_runtime_folder_that_cannot_be_written_is_passed_over(tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    (runtime / "twixt").mkdir(0o700, parents=True)
    runtime.chmod(0o700)
    done = read_only(
        [FRONT_DOOR, *RUN], tmp_path, ["/tmp", "/var/tmp"], fresh=SHARED_MEMORY, XDG_RUNTIME_DIR=str(runtime)
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_where_a_command_needs_temporary_files_it_names_the_variable(tmp_path: Path) -> None:
    words = ["measure", "metronome", "--offscreen", "--seconds", "0.3", "--against", "--clock ahead", "--repeat", "5"]
    done = read_only([FRONT_DOOR, *words], tmp_path, FOLDERS)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last == "twixt: no folder for temporary files is writable; set TMPDIR to one that is"
    assert "Traceback" not in done.stderr


def test_a_plot_without_a_folder_for_matplotlib_names_the_variable_and_the_report_is_printed(tmp_path: Path) -> None:
    runtime = f"{SHARED_MEMORY}/own"
    script = f"import os, sys; os.mkdir({runtime!r}, 0o700); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    measure = [FRONT_DOOR, "measure", *RUN[1:], "--plot", f"{runtime}/plot.png"]
    home = {"HOME": "/nowhere", "XDG_CONFIG_HOME": "", "MPLCONFIGDIR": ""}
    done = read_only(["-c", script, *measure], tmp_path, FOLDERS, fresh=SHARED_MEMORY, XDG_RUNTIME_DIR=runtime, **home)
    assert done.returncode == 2, done.stderr
    assert "set MPLCONFIGDIR to a writable folder" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "For all figures and conditions use --full" in done.stdout
