"""Tables described once: the same figures in a terminal and on a page, and every file written that can be."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.pages import BEGIN, END, PAGE, TERMINAL, Notes, Results, Table, TableColumn, filled, show
from twixt.cli.progress import write_each
from twixt.ipc.errors import TwixtError


class Measured(NamedTuple):
    name: str
    error_ms: float | None


COLUMNS = (
    TableColumn("world", lambda row: row.name),
    TableColumn("error p99, ms", lambda row: row.error_ms, ".1f", in_terminal="p99\nms"),
    TableColumn("in words", lambda row: "small", where=PAGE),
    TableColumn("short", lambda row: "s", where=TERMINAL),
)
TABLE = Table(COLUMNS, [Measured("balls [b]", 1.26), Measured("swarm", None)])


def test_a_page_has_titles_aligned_figures_and_what_is_for_pages_alone() -> None:
    assert TABLE.markdown().splitlines() == [
        "| world | error p99, ms | in words |",
        "|---|---:|---|",
        "| balls [b] | 1.3 | small |",
        "| swarm | - | small |",
    ]


def test_a_terminal_has_its_own_titles_and_columns_and_no_text_is_taken_for_markup(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(TABLE, Notes(["one [red] line " + "of many words " * 30]))
    *table, note = capsys.readouterr().out.splitlines()
    assert [line.split() for line in table] == [
        ["p99"], ["world", "ms", "short"], ["balls", "[b]", "1.3", "s"], ["swarm", "-", "s"]
    ]  # fmt: skip
    assert note.startswith("- one [red] line of")


@pytest.mark.parametrize("missing", [None, math.nan])
def test_what_is_missing_is_a_dash(missing: float | None) -> None:
    assert TableColumn("error", lambda row: missing, ".1f").text_of(TABLE) == "-"


def test_figures_of_a_page_are_made_anew_and_its_prose_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{BEGIN}\n\n- old\n\n{END}\n\nThe end.\n")
    for _ in range(2):
        Results(out=str(page)).write({}, page=["## Figures\n", Notes(["a", "b"]), ""])
        assert page.read_text() == f"# Title\n\n{BEGIN}\n\n## Figures\n\n- a\n- b\n\n{END}\n\nThe end.\n"


def test_a_page_that_is_not_there_or_has_no_place_for_figures_is_the_figures_alone(tmp_path: Path) -> None:
    assert filled(f"{BEGIN} and no end", "- a\n") == "- a\n"
    Results(out=str(tmp_path / "new.md")).write({}, page=[Notes(["a"])])
    assert (tmp_path / "new.md").read_text() == "- a\n"


def test_a_file_that_cannot_be_written_keeps_no_other_from_being_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "figures.json"
    results = Results("python -m bench", str(made), str(tmp_path / "no" / "page.md"), None)
    with pytest.raises(TwixtError, match="cannot write .*no/page.md"):
        results.write({"rows": [1]}, page=["# Title"], shown=[TABLE])
    assert json.loads(made.read_text()) == {"rows": [1]}
    assert "swarm" in capsys.readouterr().out


def test_standard_output_is_for_json_alone_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    Results(json_file="-").write({"rows": []}, shown=[TABLE])
    assert json.loads(capsys.readouterr().out) == {"rows": []}


def test_a_file_without_a_folder_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(TwixtError, match="--out"):
        Results(out=str(tmp_path / "no" / "page.md")).check_files()


def test_what_was_measured_is_left_in_all_ways_that_are_open(capsys: pytest.CaptureFixture[str]) -> None:
    left: list[str] = []

    def refuse(what: str) -> None:
        raise TwixtError(f"cannot write {what}")

    with pytest.raises(TwixtError, match="cannot write a"):
        write_each(lambda: refuse("a"), lambda: left.append("b"), lambda: refuse("c"), lambda: left.append("d"))
    assert left == ["b", "d"]
    assert capsys.readouterr().err == "twixt: cannot write c\n"
