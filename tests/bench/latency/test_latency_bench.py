"""`python -m bench latency`: its figures of given frames, its table, and the table of docs/conventions.md."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.commands import main
from bench.latency.latency_bench import QUICK_CASES, TABLE, WAY_NAMES, cases, rows_of, write_results
from bench.latency.latency_runs import COLUMNS, RATES_HZ, RUN, SHOW, START_S, Case, CaseRun, Latency, latency
from bench.latency.publishing_loops import OWN_PACE
from bench.pages import BEGIN, END, Results, Table
from twixt.ipc.errors import TwixtError
from twixt.render.measure.frame_rows import FrameRow, FrameTable

PAGE = Path(__file__).parents[3] / "docs" / "conventions.md"
MS = 1_000_000
BEGIN_NS = 5_000 * MS
WHERE = {
    "processor": "a processor", "cores": 2, "system": "a system", "display": "Xvfb", "free_cores": [2.0, None],
    "is_real_time": True,
}  # fmt: skip
FIGURES = Latency(states=10, mean_ms=34.4, p99_ms=43.0, age_ms=25.0, held_percent=0.0)


def frames(behind_ms: float, count: int = 200, interval_ms: float = 20.0) -> FrameTable:
    """Frames that draw the instant `behind_ms` before they are presented; the first one draws nothing."""
    rows = [FrameRow()]
    for number in range(1, count):
        present_ns = BEGIN_NS + round(number * interval_ms * MS)
        draw_ns = present_ns - BEGIN_NS - round(behind_ms * MS)
        times = {"present_ns": present_ns, "draw_time_ns": draw_ns, "draw_due_ns": present_ns - round(behind_ms * MS)}
        rows.append(FrameRow(number, mode="interpolated", **times))
    return FrameTable.of(rows)


def states(offset_ms: float, interval_ms: float = 20.0) -> np.ndarray:
    """States that are published at their instants, `offset_ms` after those of the frames."""
    sim_ns = np.round((np.arange(150) * interval_ms + offset_ms) * MS).astype(np.int64)
    return np.column_stack([sim_ns, sim_ns + BEGIN_NS])


@pytest.mark.parametrize(
    ("behind_ms", "offset_ms", "wanted_ms"),
    [(0.0, 0.0, 0.0), (0.0, -5.0, 5.0), (0.0, 5.0, 15.0), (30.0, 0.0, 40.0), (-10.0, 0.0, 0.0), (-25.0, 0.0, -20.0)],
)
def test_a_state_is_seen_in_the_first_frame_that_has_reached_it(
    behind_ms: float, offset_ms: float, wanted_ms: float
) -> None:
    found = latency(states(offset_ms), frames(behind_ms))
    assert (found.mean_ms, found.p99_ms) == pytest.approx((wanted_ms, wanted_ms))
    assert found.age_ms == pytest.approx(behind_ms)
    assert found.held_percent == 0.0


def test_the_first_second_is_left_out_and_states_that_no_frame_reached() -> None:
    found = latency(states(0.0), frames(0.0, count=101))
    assert found.states == 100 - START_S * 1000 / 20


@pytest.mark.parametrize("count", [1, 30])
def test_a_run_that_shows_nothing_has_no_figures(count: int) -> None:
    with pytest.raises(TwixtError, match="no (frame was drawn|state was seen)"):
        latency(states(0.0), frames(0.0, count=count))


def test_the_table_has_a_row_for_each_way_and_rate() -> None:
    runs = [CaseRun(case, FIGURES) for case in cases()]
    rows = rows_of(runs)
    assert [(row.way, row.rate_hz) for row in rows] == [(way, rate) for way in WAY_NAMES for rate in RATES_HZ]
    for row in rows:
        assert [row.cell(column) is not None for column in COLUMNS] == [
            row.way != OWN_PACE or column == COLUMNS[0] for column in COLUMNS
        ]
    assert rows[0].cell("auto") == "34 / 43"


def test_a_failed_run_is_shown_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [CaseRun(Case(RUN, 60, "auto"), FIGURES), CaseRun(Case(RUN, 60, "ahead"), None, "exit code 1")]
    write_results(runs, Results("a command", str(tmp_path / "a.json"), str(tmp_path / "a.md")), WHERE)
    assert "| 60 | 34 / 43 | failed | - | - | - |" in (tmp_path / "a.md").read_text()
    said = " ".join(capsys.readouterr().out.split())
    assert "run, 60 Hz, ahead: no figures: exit code 1" in said
    assert "after the runs: unknown; all processes of the runs had real-time priority" in said
    first, second = json.loads((tmp_path / "a.json").read_text())["runs"]
    assert (first["mean_ms"], first["failure"], second["failure"]) == (34.4, None, "exit code 1")


def test_the_page_has_the_rows_that_the_bench_writes() -> None:
    figures = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    lines = [line for line in figures.splitlines() if line.startswith("|")]
    wanted = Table(TABLE, rows_of([CaseRun(case, FIGURES) for case in cases()])).markdown().splitlines()
    assert [forms_of(line) for line in lines] == [forms_of(line) for line in wanted]


def forms_of(line: str) -> list[str]:
    """Cells of a line, with `FIGURES` in place of each measured pair of numbers."""
    cells = [cell.strip() for cell in line.split("|")]
    return [
        "34 / 43" if all(_is_number(part) for part in cell.split(" / ")) and "/" in cell else cell for cell in cells
    ]


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdigit()


@pytest.mark.display
def test_a_short_run_measures_real_viewers(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert main(["latency", "--quick", "--json", str(path)]) == 0
    runs = json.loads(path.read_text())["runs"]
    assert [(run["way"], run["column"]) for run in runs] == [(case.way, case.column) for case in QUICK_CASES]
    assert [run["way"] for run in runs] == [RUN, SHOW]
    assert all(run["states"] > 0 for run in runs)
