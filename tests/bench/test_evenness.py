"""`python -m bench evenness`: its figures of given frames, its turns, and that it runs and ends. No time is judged."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import bench.evenness
from bench.commands import main
from bench.evenness import (
    BEFORE,
    BUSY,
    COLUMNS,
    FREE,
    HEADINGS,
    HERE,
    METRONOME,
    RUNS,
    SWARM,
    SWAY,
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
from bench.screens import Screen, screen
from tests.cli.sessions import left_in_session
from tests.render.measure.runs import FRAME_NS, MS, START_NS, shown_at
from twixt.ipc.errors import TwixtError
from twixt.render.measure.frame_rows import FrameTable

ROOT = Path(__file__).parents[2]
GOOD = Evenness(600, 60.0, 100.0, 0.1, 0.5, 0.0, 3.0, 1.0, 0.0)
CALM = Case(SWAY, METRONOME, HERE)
TWO_TABLES = EvennessOptions(False, 1.0, 2, (BUSY, SWAY), False, None)


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
    runs = [
        replace(GOOD, fps=fps, error_p99_ms=error, missed_per_minute=None)
        for fps, error in ((60.0, 1.0), (40.0, 9.0), (58.0, 2.0))
    ]
    found = several(runs)
    assert (found["fps"].median, found["fps"].worst) == (58.0, 40.0)
    assert (found["error_p99_ms"].median, found["error_p99_ms"].worst) == (2.0, 9.0)
    assert (found["missed_per_minute"].median, found["missed_per_minute"].runs) == (None, 0)


def test_what_is_no_number_counts_in_no_median() -> None:
    found = several([GOOD, replace(GOOD, fps=math.nan, error_p50_ms=None, error_p99_ms=math.inf)])
    assert (found["fps"].median, found["fps"].runs) == (60.0, 1)
    assert (found["error_p99_ms"].worst, found["error_p99_ms"].runs) == (0.5, 1)


# -- turns


def test_every_case_is_measured_once_a_turn_and_versions_swap_places() -> None:
    order = list(in_order(TWO_TABLES, [HERE, BEFORE]))
    in_turn = 2 * (len(RUNS[BUSY]) + len(RUNS[SWAY]))
    assert len(order) == len(set(order)) == 2 * in_turn
    assert [case.version for _, case in order[:2]] == [HERE, BEFORE]
    assert [case.version for _, case in order[in_turn : in_turn + 2]] == [BEFORE, HERE]
    assert order[0][1].arguments == order[1][1].arguments
    quick = list(in_order(TWO_TABLES._replace(quick=True, turns=1), [HERE]))
    assert [case.table for _, case in quick] == [BUSY, SWAY]


def test_a_run_that_ended_badly_is_said_and_is_not_counted_as_zero(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [ran(GOOD), ran(None, failure="exit code 1: the display went"), ran(GOOD)]
    (found,) = by_case(runs)
    assert found.turns == 2
    assert "60.0 (60.0)" in cells(found)
    write_results(runs, TWO_TABLES, Results(), conditions(runs, TWO_TABLES, {}, interrupted=True))
    said = capsys.readouterr().out
    assert "the display went" in said
    assert "Ctrl-C" in said


def test_a_case_without_one_good_run_is_not_measured() -> None:
    (found,) = by_case([ran(None, failure="it hung")])
    assert cells(found).count("not measured") == len(COLUMNS)


def test_the_page_and_the_json_have_the_figures_and_no_path(tmp_path: Path) -> None:
    folder = str(tmp_path / "earlier")
    choice, display = TWO_TABLES._replace(before=folder), {BUSY: Screen("Xvfb", {})}
    results = Results(f"twixt --before {folder}", str(tmp_path / "a.json"), str(tmp_path / "a.md"))
    runs = [ran(GOOD), ran(GOOD, Case(BUSY, SWARM, BEFORE))]
    write_results(runs, choice, results, conditions(runs, choice, display, interrupted=False))
    page = (tmp_path / "a.md").read_text()
    assert f"## {HEADINGS[BUSY]}\n" in page
    assert "| swarm of 2,000 | before | 60.0 |" in page
    assert folder not in page
    made = json.loads((tmp_path / "a.json").read_text())
    assert made["rows"][0]["fps"] == {"median": 60.0, "worst": 60.0, "runs": 1}
    assert len(made["runs"]) == 2


def test_a_run_that_other_programs_disturbed_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    others = iter((1.0, 0.1, 1.0, 1.0, 1.0))
    monkeypatch.setattr(bench.evenness, "_measured", lambda case, *_: replace(ran(GOOD, case), others=next(others)))
    choice = TWO_TABLES._replace(turns=1, tables=(SWAY,))
    runs = list(bench.evenness._case_runs(choice, {HERE: []}, {SWAY: Screen("sway", {})}, str))
    assert [(run.repeated, run.is_disturbed) for run in runs] == [(1, False), (2, True)]
    where = conditions(runs, choice, {}, interrupted=False)
    assert (where["repeated"], where["disturbed"]) == (3, 1)


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
    with pytest.raises(TwixtError, match="leave out --here"), screen("here"):
        pass


@pytest.mark.parametrize(("kind", "package"), [("xvfb", "install xvfb"), ("sway", "install sway")])
def test_a_display_that_is_not_installed_is_named(kind: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TwixtError, match=package), screen(kind):
        pass


def test_bad_values_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, says in (
        ("--tables many", "one or more of free, busy, sway"), ("--turns 0", "--turns"),
        ("--json nowhere/a.json", "--json"),
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
def test_quick_measures_one_run_of_each_table_on_displays_of_its_own(
    xvfb_display: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    json_file, page = tmp_path / "a.json", tmp_path / "a.md"
    words = f"--tables free,busy --quick --before {ROOT} --json {json_file} --out {page}"
    assert main(["evenness", *words.split()]) == 0
    made = json.loads(json_file.read_text())
    assert [(row["table"], row["version"]) for row in made["rows"]] == [
        (FREE, HERE), (FREE, BEFORE), (BUSY, HERE), (BUSY, BEFORE)
    ]  # fmt: skip
    assert all(row["frames"] > 0 for row in made["rows"])
    assert made["conditions"]["renderer"]
    assert page.read_text().count("| default world | this version |") == 2
    assert HEADINGS[FREE] in capsys.readouterr().out


@pytest.mark.display
def test_ctrl_c_shows_what_is_there_and_leaves_nothing_running(xvfb_display: dict[str, str]) -> None:
    words = ["evenness", "--here", "--seconds", "0.5", "--turns", "30", "--tables", "busy"]
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
    assert "default world" in said
    assert "Ctrl-C" in said
    assert "Traceback" not in errors
    assert not left_in_session(child.pid)
