"""Texts and tables on standard output, for people, in any encoding and width.

Always: characters that the encoding lacks are written as escapes, and no word of a table is cut: in a terminal that is
too narrow, lines wrap.
"""

from __future__ import annotations

import contextlib
import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Wider than any table, characters.
WIDEST = 100_000


def standard_output() -> Console:
    """Console of standard output. Texts are printed as they are: without markup, highlighting or emoji. Printing raises
    OSError on a full disk, BrokenPipeError where nobody reads it any more."""
    from rich.console import Console

    if isinstance(sys.stdout, io.TextIOWrapper):
        with contextlib.suppress(ValueError):  # closed
            sys.stdout.reconfigure(errors="backslashreplace")

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich would end the process with code 1

    return Output(highlight=False, markup=False, emoji=False)


def print_table(console: Console, table: Table) -> None:
    """Prints the table at the console's width, or wider where words would not fit."""
    from rich.cells import cell_len
    from rich.measure import Measurement

    unlimited = console.options.update(width=WIDEST)
    for column in table.columns:
        if column.no_wrap:  # all of it is one word
            cells = [str(cell) for cell in (column.header, *column.cells)]
            column.min_width = max(cell_len(line) for cell in cells for line in cell.split("\n"))
    before = console.width
    console.width = max(before, Measurement.get(console, unlimited, table).minimum)
    try:
        console.print(table)
    finally:
        console.width = before
