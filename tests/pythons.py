"""Tests that need no window, under every Python from 3.11 on that is installed: `make pythons`.

    python -m tests.pythons [--quick] [pytest's arguments]

Pythons are those of `pyenv versions` and of PATH (`python3`, `python3.12`, ...): of 3.11, of 3.12 and so on the newest.
Not CPython, free threaded, or a preview: left out, since the libraries have no wheels for them. Each gets an environment
of its own, build/pythons/VERSION, 510 MB, which `make setup` makes; for the version of `.venv` that one is used. Tests
run as by `make test`. --quick runs `QUICK` alone, and not for the version of `.venv`, whose tests `make test` has run.

Always: every Python is tried, also after one that failed; the exit code is 0 only if all passed. The last line says which.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
OLDEST = (3, 11)
# Tests whose outcome depends on the Python that runs them: what traces or counts operations, objects or references,
# looks for signals, forks, or passes numbers of other programs to the standard library.
QUICK = (
    "tests/sim/test_interrupts.py",
    "tests/sim/engines/mujoco/test_interruptions.py",
    "tests/render/viewer/test_idle_garbage.py",
    "tests/render/display",
    "tests/ipc/process",
    "tests/ipc/session/test_wire.py",
    "tests/sim/worlds/test_find.py",
)
# mypy, whose answer is that of the oldest Python whichever runs it.
TYPES = "tests/project/test_platform_types.py"
# A Python that does not answer: a script of that name that waits for something.
PATIENCE_S = 20
PROBE = """
import json, platform, sys, sysconfig
free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
print(json.dumps([platform.python_implementation(), list(sys.version_info), free]))
"""


Run = Callable[[list[str]], int]  # runs a command; returns its exit code


class Python(NamedTuple):
    """An interpreter and its version, such as (3, 12, 1)."""

    path: Path
    version: tuple[int, int, int]

    @property
    def name(self) -> str:
        return ".".join(map(str, self.version))

    @property
    def minor(self) -> tuple[int, int]:
        return self.version[:2]


def installed(environ: Mapping[str, str], own: Python | None) -> list[Python]:
    """Pythons to test with, oldest first. own: the Python of `.venv`, taken for its version in any case."""
    found: dict[tuple[int, int], Python] = {}
    for python in filter(None, map(probed, candidates(environ))):
        before = found.get(python.minor)
        if before is None or before.version < python.version:
            found[python.minor] = python
    if own is not None:
        found[own.minor] = own
    return [found[minor] for minor in sorted(found)]


def candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    """Files that may be a Python."""
    try:
        root, names = (
            subprocess.run(["pyenv", *words], env=dict(environ), capture_output=True, text=True, check=True).stdout
            for words in (["root"], ["versions", "--bare"])
        )
        yield from (Path(root.strip(), "versions", name, "bin", "python3") for name in names.split())
    except (OSError, subprocess.CalledProcessError):
        pass  # pyenv is not installed
    for folder in map(Path, environ.get("PATH", "").split(os.pathsep)):
        if folder.is_dir():
            yield from sorted(path for path in folder.iterdir() if re.fullmatch(r"python3(\.\d+)?", path.name))


def probed(path: Path) -> Python | None:
    """The Python at that path; None: not one to test with."""
    try:
        answer = subprocess.run([path, "-Ic", PROBE], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        implementation, (major, minor, micro, level, _), is_free = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None  # such as a shim of pyenv for a version that is not chosen
    if implementation != "CPython" or is_free or level != "final" or (major, minor) < OLDEST:
        return None
    return Python(path, (major, minor, micro))


def run_command(command: list[str]) -> int:
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def run_all(pythons: list[Python], own: Python | None, arguments: list[str], run: Run = run_command) -> int:
    """Makes the environments and runs the tests in each; returns the exit code."""
    words = []
    for python in pythons:
        print(f"pythons: {python.name}, {python.path}", flush=True)
        venv = ".venv" if python == own else f"build/pythons/{python.name}"
        setup = ["make", "--no-print-directory", "setup", f"PYTHON={python.path}", f"VENV={venv}"]
        tests = [f"{venv}/bin/python", "-m", "tests.suite", "-m", "not display", f"--deselect={TYPES}", *arguments]
        failed = "not set up" if run(setup) else "FAILED" if run(tests) else ""
        words.append(f"{python.name} {failed or 'passed'}")
    print(f"pythons: {', '.join(words) or 'no other one from 3.11 on is installed'}", flush=True)
    return 0 if all(each.endswith("passed") for each in words) else 1


def main(arguments: list[str]) -> int:
    own = probed(ROOT / ".venv/bin/python")
    pythons = installed(os.environ, own)
    if "--quick" in arguments:
        arguments = [*QUICK, *(each for each in arguments if each != "--quick")]
        pythons = [python for python in pythons if python != own]
    return run_all(pythons, own, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
