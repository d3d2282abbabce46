"""Reports and tables in terminals of any encoding and width: nothing is cut, and nothing raises."""

from __future__ import annotations

import io
import sys

import pytest

from bench.pages import Notes, Table, TableColumn
from bench.pages import show as show_parts
from tests.render.measure.test_report import built
from twixt.cli import compare
from twixt.render.measure.report import show, standard_output

WIDTHS = ["0", "1", "20", "79", "200"]
ENCODINGS = ["ascii", "latin-1", "utf-8"]
WIDE = "█▁ é → │ 時間 \udcff"


class Terminal(io.TextIOWrapper):
    def __init__(self, encoding: str) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding=encoding, errors="strict", write_through=True)

    def isatty(self) -> bool:
        return True

    def words(self) -> list[str]:
        return self.bytes.getvalue().decode(self.encoding).split()


def terminal_of(encoding: str, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """The standard output, without colours, whose escape sequences would be words."""
    made = Terminal(encoding)
    monkeypatch.setattr(sys, "stdout", made)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    return made


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_report_has_the_same_words_in_every_terminal(
    encoding: str, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = terminal_of(encoding, monkeypatch)
    report = built()
    monkeypatch.setenv("COLUMNS", "500")
    show(report)
    show(report, full=True)
    wide = terminal.words()
    assert {"figure", "frames.interval_ms", "motion.animation_error_ms", "pictures"} <= set(wide)
    monkeypatch.setenv("COLUMNS", width)
    show(report)
    show(report, full=True)
    assert sorted(terminal.words()) == sorted([*wide, *wide])


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("width", WIDTHS)
def test_two_reports_have_the_same_words_in_every_terminal(
    encoding: str, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = terminal_of(encoding, monkeypatch)
    report = built()
    for columns in ("500", width):
        monkeypatch.setenv("COLUMNS", columns)
        compare._show(report, report, ("first", "second"))
    words = terminal.words()
    assert sorted(words) == sorted([*words[: len(words) // 2]] * 2)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("width", WIDTHS)
def test_any_text_is_printed_and_a_value_of_several_words_is_on_one_line(
    encoding: str, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = terminal_of(encoding, monkeypatch)
    monkeypatch.setenv("COLUMNS", width)
    columns = (TableColumn("world", lambda row: row), TableColumn("in words", lambda row: WIDE, wraps=True))
    show_parts(WIDE, Table(columns, ["1.5 .. 2.5"], title=WIDE), Notes([WIDE]))
    lines = terminal.bytes.getvalue().decode(terminal.encoding)
    assert "1.5 .. 2.5" in lines
    kept = WIDE.encode(terminal.encoding, "backslashreplace").decode(terminal.encoding)
    assert f"- {kept}" in lines


def test_a_closed_output_and_none_do_not_raise_before_something_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = Terminal("ascii")
    closed.close()
    for stream in (closed, None, io.StringIO()):
        monkeypatch.setattr(sys, "stdout", stream)
        standard_output()
