"""The whole test run, on small suites of a file or two: its turns, its exit code and its last line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.processes import until
from tests.starvation import family
from tests.suite import FAILED, LONGEST, PASSED, SKIPPED, exit_code, summary

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LIMIT_S = 120
# The worker in which this test may run is not theirs. Plugins that they do not need load longer than their tests run.
FEW_PLUGINS = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONPATH": str(ROOT),
}
INI = (
    "[pytest]\naddopts = --strict-markers\nmarkers =\n    stress: races\n    display: windows\n    starvable: clocks\n"
)
PLAIN = """
import os

import pytest

def test_plain(): assert "PYTEST_XDIST_WORKER" in os.environ
"""
WINDOW = """
import os

import pytest

@pytest.mark.display
def test_window(): assert "PYTEST_XDIST_WORKER" in os.environ
"""
MARKED = """
import os

import pytest

@pytest.mark.stress
def test_marked(): assert "PYTEST_XDIST_WORKER" not in os.environ
"""
ONCE = """
{mark}
def test_{name}():
    try:
        open(__file__ + ".{name}", "x").close()
    except FileExistsError:
        return
    assert False, "late by chance"
"""
TWICE = """
@pytest.mark.display
def test_wrong(): assert False
"""
SKIPPED_TEST = """
@pytest.mark.starvable
def test_not_here(): pytest.skip("no such display")
"""


@pytest.fixture(autouse=True)
def one_core() -> Iterator[None]:
    """Suites on one core: they start two workers and no more."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usable)})
    yield
    os.sched_setaffinity(0, usable)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text(INI)
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.suite", "-p", "xdist.plugin", *arguments]


def ran(folder: Path, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The run of a suite of one file."""
    (folder / "test_it.py").write_text(source)
    return subprocess.run(
        command(*arguments), cwd=folder, env=FEW_PLUGINS, capture_output=True, text=True, timeout=LIMIT_S
    )


def last_line(ended: subprocess.CompletedProcess[str]) -> str:
    assert "configfile: pytest.ini" in ended.stdout, ended.stdout
    return ended.stdout.splitlines()[-1].rpartition(";")[0]


def test_tests_that_need_quiet_run_alone_the_others_in_workers_and_what_fails_once_has_passed(folder: Path) -> None:
    ended = ran(folder, PLAIN + WINDOW + MARKED + SKIPPED_TEST + ONCE.format(mark="", name="late"))
    assert last_line(ended) == (
        "suite: 3 passed, 1 skipped, 1 passed at the second try: test_it.py::test_late, 0 failed"
    ), ended.stdout
    assert ended.returncode == 0
    assert "late by chance" in ended.stdout, "its first failure is shown"


def test_files_that_take_longest_come_first_and_are_there(folder: Path) -> None:
    for file in LONGEST:
        assert (ROOT / file).is_file(), "tests.suite.LONGEST names it"
    for file in ("tests/a/test_a.py", *reversed(LONGEST)):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("def test_one(): pass\ndef test_two(): pass\n")
    turn = ["--turn=parallel", f"--outcomes={folder / 'outcomes'}"]
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.suite", *turn, "--collect-only", "-q", "--import-mode=importlib"],
        cwd=folder, env=FEW_PLUGINS, capture_output=True, text=True, timeout=LIMIT_S,
    ).stdout.splitlines()  # fmt: skip
    found = [line.partition("::")[0] for line in listed if "::" in line]
    assert found == [file for file in (*LONGEST, "tests/a/test_a.py") for _ in range(2)]


def test_what_fails_twice_has_failed_and_what_fails_once_has_not(folder: Path) -> None:
    ended = ran(folder, MARKED + ONCE.format(mark="@pytest.mark.display", name="later") + TWICE)
    assert last_line(ended) == (
        "suite: 1 passed, 0 skipped, 1 passed at the second try: test_it.py::test_later, "
        "1 FAILED: test_it.py::test_wrong"
    ), ended.stdout
    assert ended.returncode == 1


def test_a_worker_that_dies_fails_its_test_and_no_other(folder: Path) -> None:
    ended = ran(folder, PLAIN + f"def test_dies():\n    if os.getpid() != {os.getpid()}: os._exit(3)\n")
    assert "'test_it.py::test_dies'" in ended.stdout
    assert ended.returncode != 0


def test_a_file_that_cannot_be_read_is_no_test_that_failed_by_chance(folder: Path) -> None:
    ended = ran(folder, "import no_such_module\n")
    assert ended.returncode not in (0, 5)
    assert "no_such_module" in ended.stdout


def test_what_is_chosen_by_name_and_mark_is_all_that_runs(folder: Path) -> None:
    ended = ran(folder, PLAIN + MARKED + TWICE, "-k", "not wrong", "-m", "stress or display")
    assert last_line(ended) == "suite: 1 passed, 0 skipped, 0 failed", ended.stdout
    assert ran(folder, PLAIN, "-k", "nothing_of_this_name").returncode == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize("flags", [("-sx",), ("--collect-only",), ("--trace", "--maxfail=1")])
def test_what_concerns_a_single_run_is_pytests_own(folder: Path, flags: tuple[str, ...]) -> None:
    (folder / "test_it.py").write_text("def test_here(): pass\n")
    ended = subprocess.run(
        command(*flags), cwd=folder, env=FEW_PLUGINS, input="continue\n", capture_output=True, text=True,
        timeout=LIMIT_S,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout
    assert "suite:" not in ended.stdout


def test_ctrl_c_ends_every_process_that_a_test_started(folder: Path) -> None:
    started = """
import pathlib, subprocess
def test_waits():
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    pathlib.Path(__file__).with_name("started").touch()
    child.wait()
"""
    (folder / "test_it.py").write_text(started)
    run = subprocess.Popen(
        command(), cwd=folder, env=FEW_PLUGINS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    until((folder / "started").exists, "a test that waits", LIMIT_S)
    below = family(run.pid) - {run.pid}
    assert len(below) >= 2
    os.kill(run.pid, signal.SIGINT)
    said, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == pytest.ExitCode.INTERRUPTED, said
    assert "suite: not finished (exit code 2): 0 passed" in said
    assert [pid for pid in below if Path(f"/proc/{pid}").exists()] == []


def test_the_summary_names_what_passed_late_and_what_failed() -> None:
    first = {"a": PASSED, "b": SKIPPED, "c": FAILED, "d": FAILED, "e": FAILED, "f": FAILED}
    assert summary(first, {"c": PASSED, "d": FAILED, "e": SKIPPED}) == (
        "1 passed, 1 skipped, 1 passed at the second try: c, 1 failed, then skipped at the second try: e, "
        "2 FAILED: d, f"
    )
    assert summary({"a": FAILED}, {}) == "0 passed, 0 skipped, 1 FAILED (no second try): a"


@pytest.mark.parametrize(
    ("codes", "failed", "again", "expected"),
    [
        ({0}, set(), {}, 0),
        ({0, 5}, set(), {}, 0),
        ({5}, set(), {}, 5),
        ({1, 0}, {"a"}, {"a": PASSED}, 0),
        ({1, 0}, {"a"}, {"a": SKIPPED}, 0),
        ({1}, {"a", "b"}, {"a": PASSED, "b": FAILED}, 1),
        ({1, 5}, {"a"}, {}, 1),  # not found again
        ({1}, set(), {}, 1),
        ({0, 2}, set(), {}, 2),
        ({1, 3}, {"a"}, {"a": PASSED}, 3),
    ],
)
def test_the_exit_code_is_0_only_where_nothing_failed_in_the_end(
    codes: set[int], failed: set[str], again: dict[str, int], expected: int
) -> None:
    assert exit_code(codes, failed, again) == expected
