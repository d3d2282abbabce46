"""Writes the tables and files of benches. A table is described once, for both the terminal and Markdown.

A column has a title, a function that reads its value from a row, and a format. Terminal output and pages are lists of
blocks. A block is a text, a `Table` or `Notes`. The prose of the pages in docs/ is written by hand. A bench replaces
only the figures between two marker lines.

    results.check_files()                      # before anything is measured
    found, is_cut_short = collected(rows)      # with progress on standard error
    table, notes = Table(COLUMNS, found), Notes(lines)
    results.write({"rows": ...}, page=[table, notes], shown=[table, notes], draw=lambda path: plot(found, path))

Always: a missing value (None, not a number) is shown as "-". Strings are unchanged, and no text is parsed as markup.
The package rich is imported only for output. If one file cannot be written (for example on a full disk), the other
files are still written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import twixt
from twixt.cli.progress import Say, progress, write_each
from twixt.ipc.config.files import check_file, write_json, write_text
from twixt.render.measure.report import print_table, standard_output

if TYPE_CHECKING:
    from rich.table import Table as Grid

# Places where a column of a table appears.
BOTH, TERMINAL, PAGE = "both", "terminal", "page"
# Width, in characters, of a table that is printed into a file or a pipe. A terminal uses its own width.
FILE_WIDTH = 150
# Marker lines before and after the figures in a page of docs/.
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
# Condition that is shown for an interrupted measurement.
CUT_SHORT = {"cut_short": "ended with Ctrl-C: what was not measured by then is missing"}
Found = TypeVar("Found")


@dataclass(frozen=True)
class TableColumn:
    """A column of a table. read: function that returns the column's value from a row.

    form: format specification, or function that makes a text from the value. It is not used for strings. in_terminal:
    title in a terminal, if this title differs. This title may have several lines. where: BOTH, TERMINAL or PAGE.
    right: True if the column is aligned right. If it is None, the column is aligned right if `form` is set. wraps:
    True if texts may be folded in a narrow terminal.
    """

    title: str
    read: Callable[[Any], object]
    form: str | Callable[[Any], str] = ""
    in_terminal: str | None = None
    where: str = BOTH
    right: bool | None = None
    wraps: bool = False

    def text_of(self, row: Any) -> str:
        value = self.read(row)
        if isinstance(value, str):
            return value
        if value is None or value != value:
            return "-"
        return self.form(value) if callable(self.form) else format(value, self.form)

    @property
    def is_right(self) -> bool:
        return bool(self.form) if self.right is None else self.right


@dataclass(frozen=True)
class Table:
    """Rows of any type, and the columns that read their values from these rows. title: heading, which is shown only in
    a terminal."""

    columns: Sequence[TableColumn]
    rows: Sequence[Any]
    title: str = ""

    def markdown(self) -> str:
        """The table as Markdown, without its title."""
        columns = [column for column in self.columns if column.where != TERMINAL]
        marks = ["---:" if column.is_right else "---" for column in columns]
        lines = [[column.title for column in columns]]
        lines += ([column.text_of(row) for column in columns] for row in self.rows)
        head, *body = [f"| {' | '.join(cells)} |" for cells in lines]
        return "\n".join([head, f"|{'|'.join(marks)}|", *body])

    def grid(self) -> Grid:
        from rich.table import Table as Grid
        from rich.text import Text

        columns = [column for column in self.columns if column.where != PAGE]
        grid = Grid(box=None, padding=(0, 1, 0, 0))
        if self.title:
            grid.title, grid.title_justify = Text(self.title, "bold"), "left"
        for column in columns:
            title = column.title if column.in_terminal is None else column.in_terminal
            fold: dict[str, Any] = {"overflow": "fold"} if column.wraps else {"no_wrap": True}
            grid.add_column(Text(title), justify="right" if column.is_right else "left", **fold)
        for row in self.rows:
            grid.add_row(*(Text(column.text_of(row)) for column in columns))
        return grid


@dataclass(frozen=True)
class Notes:
    lines: Sequence[str]

    def markdown(self) -> str:
        return "\n".join(f"- {line}" for line in self.lines)


Block = str | Table | Notes


@dataclass(frozen=True)
class Results:
    """Files for the figures of a command. A file that was not requested is None. command: command line that reproduces
    the figures."""

    command: str = ""
    json_file: str | None = None
    out: str | None = None
    plot: str | None = None

    def check_files(self) -> None:
        """Raises TwixtError if one of the files cannot be written."""
        for flag, path in (("--json", self.json_file), ("--out", self.out), ("--plot", self.plot)):
            if path is not None:
                check_file(flag, path, is_picture=flag == "--plot")

    @property
    def is_shown(self) -> bool:
        """True if tables may be printed, because standard output is not used for JSON."""
        return self.json_file != "-"

    def write(
        self,
        document: dict[str, Any],
        page: Iterable[Block] = (),
        shown: Sequence[Block] = (),
        draw: Callable[[str], None] | None = None,
    ) -> None:
        """Writes the files and prints the blocks `shown`. document: content for --json. page: figures of the Markdown
        page. draw: function that saves the picture at a path. Tries all outputs, then raises the first TwixtError."""
        ways: list[Callable[[], None]] = []
        if (json_file := self.json_file) is not None:
            ways.append(lambda: write_json(document, json_file))
        if (plot := self.plot) is not None and draw is not None:
            ways.append(lambda: draw(plot))
        if (out := self.out) is not None:
            ways.append(lambda: _write_page(out, page))
        if shown and self.is_shown:
            ways.append(lambda: show(*shown))
        write_each(*ways)


def document_of(
    schema: str, command: str, where: dict[str, Any], cases: Iterable[Any], runs: Iterable[Any]
) -> dict[str, Any]:
    """Content for --json of a bench that has several runs of each case. where: conditions. cases, runs: objects with a
    method `to_json`."""
    return {
        "schema": schema,
        "version": twixt.__version__,
        "command": command,
        "conditions": where,
        "rows": [one.to_json() for one in cases],
        "runs": [one.to_json() for one in runs],
    }


def collected(rows: Callable[[Say], Iterable[Found]], is_logged: bool = False) -> tuple[list[Found], bool]:
    """All that `rows` yields until its end or Ctrl-C, and True if Ctrl-C ended it. is_logged: see `progress`."""
    found: list[Found] = []
    try:
        with progress(is_logged) as say:
            for row in rows(say):
                found.append(row)  # one by one, so that rows measured before Ctrl-C remain
    except KeyboardInterrupt:
        return found, True
    return found, False


def markdown(page: Iterable[Block]) -> str:
    """Markdown of these blocks, with blank lines between them."""
    texts = [block.strip("\n") if isinstance(block, str) else block.markdown() for block in page]
    return "\n\n".join(text for text in texts if text) + "\n"


def filled(page: str, figures: str) -> str:
    """The page with `figures` between its marker lines. If the page has no marker lines, only `figures`."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{figures}\n{END}{after}" if begin and end else figures


def _write_page(path: str, blocks: Iterable[Block]) -> None:
    page = ""
    with suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
        page = file.read()
    write_text(path, filled(page, markdown(blocks)))


def show(*blocks: Block) -> None:
    """Prints these blocks. Each note is one line."""
    from rich.text import Text

    console = standard_output()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = max(console.width, FILE_WIDTH)
    for block in blocks:
        if isinstance(block, Table):
            print_table(console, block.grid())
            continue
        for line in [block] if isinstance(block, str) else [f"- {line}" for line in block.lines]:
            console.print(Text(line), soft_wrap=True)
