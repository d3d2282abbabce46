"""Tables, pages and files of measurements: described once, shown in a terminal and written as Markdown.

One idea: a column states once its title, how its value is read from a row and how it is written. A page and the output
in a terminal are lists of the same parts: texts, `Table`, `Notes`, `PagePicture`.

    COLUMNS = (
        TableColumn("world", lambda found: found.case.world),
        TableColumn("error p99, ms", lambda found: found.error_p99_ms, ".1f", in_terminal="p99\nms"),
        TableColumn("age p99, ms", lambda found: found.age_p99_ms, ".1f", where=PAGE),
    )
    results = Results(command, json_file, out, plot)
    results.check_files()                      # before anything is measured
    with progress() as say:                    # on standard error
        found = [measured(case, say) for case in cases]
    table, notes = Table(COLUMNS, found), Notes(lines)
    results.leave(
        {"schema": SCHEMA, "command": command, "rows": [asdict(one) for one in found]},
        page=["# Title", ABOUT, PagePicture("what it shows", results.plot), "## Figures", table, notes],
        shown=[table, notes],
        draw=lambda path: plot.draw(found, path),
    )

`leave` writes the files that were asked for and prints `shown`. A file that fails (a full disk) stops none of the
others. A bench that prints its rows one by one calls `show` itself and leaves `shown` out.

Always: a missing value (None, not a number) is "-"; a string is written as it is; no text is read as markup. rich is
imported when something is printed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from twixt.ipc.config.output_files import check_file, write_json, write_text
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import is_terminal, print_notice
from twixt.render.measure.report.text_output import print_table, standard_output

if TYPE_CHECKING:
    from rich.table import Table as Grid

# Places where a column appears.
BOTH, TERMINAL, PAGE = "both", "terminal", "page"
# Width of a table that is printed into a file or a pipe (characters); a terminal has its own.
FILE_WIDTH = 150
WIDTH_VARIABLE = "COLUMNS"

Say = Callable[[str], object]


@dataclass(frozen=True)
class TableColumn:
    """A column: its title, how its value is read off a row, and how that value is written.

    form: a format specification, or a function from the value to its text; unused for strings. in_terminal: its title
    in a terminal, where it differs; may have several lines. where: BOTH, TERMINAL or PAGE. right: aligned to the right;
    None: if it has a form. wraps: its texts may be folded in a narrow terminal.
    """

    title: str
    read: Callable[[Any], object]
    form: str | Callable[[Any], str] = ""
    in_terminal: str | None = None
    where: str = BOTH
    right: bool | None = None
    wraps: bool = False

    def text_of(self, row: Any) -> str:
        """Text of the cell in this row."""
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
    """Rows of any type, and the columns that read them. title: above it in a terminal; a page has headings."""

    columns: Sequence[TableColumn]
    rows: Sequence[Any]
    title: str = ""

    def markdown(self) -> str:
        """The table as Markdown, without its title."""
        columns = [column for column in self.columns if column.where != TERMINAL]
        marks = ["---:" if column.is_right else "---" for column in columns]
        lines = [
            [column.title for column in columns],
            *([column.text_of(row) for column in columns] for row in self.rows),
        ]
        head, *body = [f"| {' | '.join(cells)} |" for cells in lines]
        return "\n".join([head, f"|{'|'.join(marks)}|", *body])

    def grid(self) -> Grid:
        """The table for a terminal."""
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
    """Remarks and conditions, one a line."""

    lines: Sequence[str]

    def markdown(self) -> str:
        return "\n".join(f"- {line}" for line in self.lines)


@dataclass(frozen=True)
class PagePicture:
    """A picture beside a page, with its description; left out where the path is None."""

    about: str
    path: str | None


Part = str | Table | Notes | PagePicture


@dataclass(frozen=True)
class Results:
    """Files for the figures of a command; None: not asked for. command: the command line that makes them again."""

    command: str = ""
    json_file: str | None = None
    out: str | None = None
    plot: str | None = None

    def check_files(self) -> None:
        """Raises TwixtError where one of them cannot be written."""
        for flag, path in (("--json", self.json_file), ("--out", self.out), ("--plot", self.plot)):
            if path is not None:
                check_file(flag, path, is_picture=flag == "--plot")

    @property
    def is_shown(self) -> bool:
        """True where standard output is free for tables."""
        return self.json_file != "-"

    def leave(
        self,
        document: dict[str, Any],
        page: Iterable[Part] = (),
        shown: Sequence[Part] = (),
        draw: Callable[[str], None] | None = None,
    ) -> None:
        """Writes the files and prints `shown`. document: for --json. page: parts of the Markdown page. draw: makes the
        picture at a path. Raises the first TwixtError, after all are tried."""
        ways: list[Callable[[], None]] = []
        if (json_file := self.json_file) is not None:
            ways.append(lambda: write_json(document, json_file))
        if (plot := self.plot) is not None and draw is not None:
            ways.append(lambda: draw(plot))
        if (out := self.out) is not None:
            ways.append(lambda: write_text(out, markdown(page, out)))
        if shown and self.is_shown:
            ways.append(lambda: show(*shown))
        leave_each(*ways)


def markdown(page: Iterable[Part], path: str = "") -> str:
    """Markdown of a page at `path`: a blank line between parts, links relative to its folder."""
    texts = [_markdown_of(part, path) for part in page]
    return "\n\n".join(text for text in texts if text) + "\n"


def _markdown_of(part: Part, path: str) -> str:
    if isinstance(part, str):
        return part.strip("\n")
    if not isinstance(part, PagePicture):
        return part.markdown()
    if part.path is None:
        return ""
    beside = os.path.relpath(part.path, os.path.dirname(path) or ".").replace(os.sep, "/")
    return f"![{part.about}]({beside})"


def show(*parts: Part) -> None:
    """Prints these parts, each note on one line; pictures are left out."""
    from rich.text import Text

    console = standard_output()
    if not console.is_terminal and WIDTH_VARIABLE not in os.environ:
        console.width = max(console.width, FILE_WIDTH)
    for part in parts:
        if isinstance(part, Table):
            print_table(console, part.grid())
        elif isinstance(part, Notes):
            for line in part.lines:
                console.print(Text(f"- {line}"), soft_wrap=True)
        elif isinstance(part, str):
            console.print(Text(part), soft_wrap=True)


def leave_each(*ways: Callable[[], None]) -> None:
    """Calls all functions, also after one that fails: a full disk must not cost the results of minutes of measuring.

    Raises the first TwixtError at the end; prints the others.
    """
    failed: list[TwixtError] = []
    for way in ways:
        try:
            way()
        except TwixtError as error:
            failed.append(error)
    for other in failed[1:]:
        print_notice(str(other))
    if failed:
        raise failed[0]


@contextmanager
def progress(is_logged: bool = False) -> Iterator[Say]:
    """Shows the current step on standard error. is_logged: without a terminal, steps are printed as lines."""
    if not is_terminal():
        yield print_notice if is_logged else _ignore
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("", spinner="line" if console.options.ascii_only else "dots") as status:
        yield status.update


def _ignore(text: str) -> None:
    pass
