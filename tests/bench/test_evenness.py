"""`python -m bench evenness`: its figures of given frames, its turns, and that it runs and ends. No time is judged."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.commands import main
from bench.evenness import (
    BEFORE,
    COLUMNS,
    HERE,
    LOOPS,
    NONE,
    Case,
    CaseFigures,
    CaseRun,
    Evenness,
    EvennessOptions,
    by_case,
    conditions,
    evenness,
    in_order,
    several,
    write_results,
)
from bench.pages import Results
from bench.processes import version_command
from bench.screens import screen
from tests.cli.sessions import left_in_session
from tests.render.measure.runs import FRAME_NS, MS, START_NS, shown_at
from twixt.ipc.errors import TwixtError
from twixt.render.measure.frame_rows import FrameTable

ROOT = Path(__file__).parents[2]
GOOD = Evenness(600, 60.0, 0.1, 0.5, 0.0, 0.0)
CALM = Case(NONE, "metronome", HERE)
TWO_WORLDS = EvennessOptions("here", 1.0, 2, (NONE, LOOPS), ("metronome", "swarm"), None)


def ran(figures: Evenness | None, case: Case = CALM, failure: str = "") -> CaseRun:
    return CaseRun(case, 0, figures, 2.0, 0.1, 0.0, failure)


def cells(found: CaseFigures) -> list[str]:
    return [column.text_of(found) for column in COLUMNS]


# -- figures


def test_even_frames_have_no_error_and_their_rate() -> None:
    found = evenness(FrameTable.of(shown_at([START_NS + i * FRAME_NS for i in range(300)])))
    assert found.frames == 300
    assert found.fps == pytest.approx(60.0)
    assert found.error_p99_ms == pytest.approx(0.0, abs=0.05)
    assert (found.off_percent, found.missed_per_minute) == (0.0, 0.0)


def test_one_frame_in_twenty_that_stays_longer_than_it_was_drawn_for_is_off() -> None:
    presents = [START_NS + i * FRAME_NS for i in range(300)]
    rows = shown_at(presents)
    late = [row._replace(present_ns=row.present_ns + 6 * MS) if i % 20 == 10 else row for i, row in enumerate(rows)]
    found = evenness(FrameTable.of(late))
    assert found.off_percent == pytest.approx(10.0, abs=1.0)  # it, and the one after it
    assert found.error_p99_ms == pytest.approx(6.0, abs=0.2)


@pytest.mark.parametrize("count", [0, 1])
def test_a_run_without_frames_has_no_figures(count: int) -> None:
    found = evenness(FrameTable.of(shown_at([START_NS] * count)))
    assert found.frames == count
    assert found.fps is found.error_p99_ms is found.off_percent is found.missed_per_minute is None


def test_several_runs_give_their_median_and_the_worst_each_in_its_own_sense() -> None:
    runs = [Evenness(1, fps, 0.1, error, 0.0, None) for fps, error in ((60.0, 1.0), (40.0, 9.0), (58.0, 2.0))]
    found = several(runs)
    assert (found["fps"].median, found["fps"].worst) == (58.0, 40.0)
    assert (found["error_p99_ms"].median, found["error_p99_ms"].worst) == (2.0, 9.0)
    assert (found["missed_per_minute"].median, found["missed_per_minute"].runs) == (None, 0)


def test_what_is_no_number_counts_in_no_median() -> None:
    found = several([GOOD, Evenness(1, math.nan, None, math.inf, 0.0, 0.0)])
    assert (found["fps"].median, found["fps"].runs) == (60.0, 1)
    assert (found["error_p99_ms"].worst, found["error_p99_ms"].runs) == (0.5, 1)


# -- turns


def test_every_case_is_measured_once_a_turn_and_versions_swap_places() -> None:
    order = list(in_order(TWO_WORLDS, [HERE, BEFORE]))
    assert len(order) == len(set(order)) == 2 * 2 * 2 * 2
    assert [case.version for _, case in order[:2]] == [HERE, BEFORE]
    assert [case.version for _, case in order[8:10]] == [BEFORE, HERE]
    assert order[0][1].world == order[1][1].world


def test_a_run_that_ended_badly_is_said_and_is_not_counted_as_zero(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [ran(GOOD), ran(None, failure="exit code 1: the display went"), ran(GOOD)]
    (found,) = by_case(runs)
    assert found.turns == 2
    assert "60.0 (60.0)" in cells(found)
    write_results(runs, TWO_WORLDS, Results(), conditions(runs, TWO_WORLDS, "no display", interrupted=True))
    said = capsys.readouterr().out
    assert "the display went" in said
    assert "Ctrl-C" in said


def test_a_case_without_one_good_run_is_not_measured() -> None:
    (found,) = by_case([ran(None, failure="it hung")])
    assert cells(found).count("not measured") == 5


def test_the_page_and_the_json_have_the_figures_and_no_path(tmp_path: Path) -> None:
    folder = str(tmp_path / "earlier")
    choice = TWO_WORLDS._replace(before=folder)
    results = Results(f"twixt --before {folder}", str(tmp_path / "a.json"), str(tmp_path / "a.md"))
    runs = [ran(GOOD), ran(GOOD, Case(LOOPS, "swarm", BEFORE))]
    write_results(runs, choice, results, conditions(runs, choice, "Xvfb", interrupted=False))
    page = (tmp_path / "a.md").read_text()
    assert "| swarm, 2,000 |" in page
    assert folder not in page
    made = json.loads((tmp_path / "a.json").read_text())
    assert made["rows"][0]["fps"] == {"median": 60.0, "worst": 60.0, "runs": 1}
    assert len(made["runs"]) == 2


# -- real processes


def test_a_folder_without_twixt_is_refused_and_one_with_it_is_run_by_its_own_python(tmp_path: Path) -> None:
    with pytest.raises(TwixtError, match="is no checkout of twixt"):
        version_command(str(tmp_path))
    (tmp_path / "twixt.py").touch()
    assert version_command(str(tmp_path))[0] == sys.executable
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").touch()
    assert version_command(str(tmp_path))[0].startswith(str(tmp_path))


def test_without_a_display_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(TwixtError, match="add --xvfb"), screen("here"):
        pass


@pytest.mark.parametrize(("kind", "package"), [("xvfb", "install xvfb"), ("sway", "install sway")])
def test_a_display_that_is_not_installed_is_named(kind: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TwixtError, match=package), screen(kind):
        pass


def test_bad_values_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, says in (
        ("--load many", "one or more of none, loops"), ("--worlds earth", "balls, metronome, swarm"),
        ("--turns 0", "--turns"), ("--xvfb --json nowhere/a.json", "--json"),
    ):  # fmt: skip
        assert main(["evenness", *words.split()]) == 2
        assert says in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "name"), [("xvfb", "Xvfb"), ("sway", "sway")])
def test_a_display_that_is_no_program_is_said(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("no program")
    (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TwixtError, match=f"cannot start .*{name}"), screen(kind):
        pass


@pytest.mark.parametrize(
    ("words", "got"),
    [("guest --seconds nan", "nan"), ("evenness --seconds nan", "nan"), ("channel --fail-over inf", "inf")],
)
def test_numbers_that_are_not_finite_are_refused(words: str, got: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert f"must be a finite number, got {got}" in capsys.readouterr().err


@pytest.mark.display
def test_it_measures_on_a_display_of_its_own(
    xvfb_display: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    words = f"--xvfb --seconds 0.5 --turns 1 --worlds metronome --load loops --before {ROOT} --json {path}"
    assert main(["evenness", *words.split()]) == 0
    assert "2 loops" in capsys.readouterr().out or os.cpu_count() != 2
    made = json.loads(path.read_text())
    assert [row["version"] for row in made["rows"]] == [HERE, BEFORE]
    assert all(row["frames"] > 0 for row in made["rows"])


@pytest.mark.display
def test_ctrl_c_shows_what_is_there_and_leaves_nothing_running(xvfb_display: dict[str, str]) -> None:
    words = ["evenness", "--seconds", "0.5", "--turns", "90", "--worlds", "metronome", "--load", "loops"]
    child = subprocess.Popen(
        [sys.executable, "-m", "bench", *words], cwd=ROOT, env=xvfb_display, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert child.stderr is not None
    while "run 2 of 90" not in (line := child.stderr.readline()):
        assert line, "it ended before its second run"
    os.killpg(child.pid, signal.SIGINT)
    said, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "metronome" in said
    assert "Ctrl-C" in said
    assert "Traceback" not in errors
    assert not left_in_session(child.pid)
