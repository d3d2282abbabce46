"""README's measured figures are those of the pages that benches write.

A table of README with the header `| what | measured | source |` has one measured figure, or several, in each row. The
source is a link: its text is `ROW: COLUMN` or `ROW: COLUMN; COLUMN`, and it points to the section of the page that has
the table, such as `[default world: error p99, ms](docs/evenness.md#free-cores)`. The numbers in `measured`, in their
order, are those of the named cells. The numbers in the brackets of a cell, the worst run, may be left out. Digits that
follow a letter (p99) are no numbers.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from docs.reference import anchor

ROOT = Path(__file__).parents[2]
HEADER = ["what", "measured", "source"]
SOURCE = re.compile(r"\[(?P<row>[^\]]+?): (?P<columns>[^\]]+)\]\((?P<page>[\w/.-]+\.md)#(?P<anchor>[\w-]+)\)$")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?")
CELL = re.compile(r"(?<!\\)\|")

Table = list[list[str]]


class Found(NamedTuple):
    """Number of rows that were checked, and what is wrong with them."""

    checked: int
    wrong: list[str]


def tables_of(text: str) -> list[tuple[str, Table]]:
    """The tables of a page with the anchor of the section in which each is: cells by row, the header first."""
    found: list[tuple[str, Table]] = []
    section, is_table = "", False
    for line in text.splitlines():
        if line.startswith("#"):
            section = anchor(line.lstrip("#").strip())
        if line.startswith("|"):
            cells = [cell.strip() for cell in CELL.split(line.strip().strip("|"))]
            if not is_table:
                found.append((section, []))
            if not set("".join(cells)) <= set("-:"):
                found[-1][1].append(cells)
        is_table = line.startswith("|")
    return found


def numbers_of(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def cells_of(page: str, section: str, row: str, columns: list[str]) -> list[list[str]]:
    """The named cells of each row of this name in the section; a name may stand for several rows."""
    found = []
    for where, (header, *rows) in tables_of(page):
        if where == section and set(columns) <= set(header):
            found += [[cells[header.index(column)] for column in columns] for cells in rows if cells[0] == row]
    return found


def agrees(measured: str, cells: list[str]) -> bool:
    """True if the numbers are those of the cells, each cell with or without what is in its brackets."""
    choices = [(numbers_of(cell), numbers_of(cell.partition("(")[0])) for cell in cells]
    return any(numbers_of(measured) == list(itertools.chain(*choice)) for choice in itertools.product(*choices))


def checked(readme: str, folder: Path) -> Found:
    rows = [row for _, (header, *rows) in tables_of(readme) if header == HEADER for row in rows]
    wrong = []
    for what, measured, source in rows:
        named = SOURCE.match(source)
        if named is None:
            wrong.append(f"{what}: source must be [ROW: COLUMN](docs/PAGE.md#section), got {source}")
            continue
        page, columns = (folder / named["page"]).read_text(), named["columns"].split("; ")
        found = cells_of(page, named["anchor"], named["row"], columns)
        if not found:
            wrong.append(f"{what}: {named['page']}#{named['anchor']} has no row {named['row']!r} with {columns}")
        elif not numbers_of(measured) or not any(agrees(measured, cells) for cells in found):
            wrong.append(f"{what}: README has {measured!r}, {named['page']} has {found}")
    return Found(len(rows), wrong)


def test_figures_of_readme_are_those_of_the_pages() -> None:
    found = checked((ROOT / "README.md").read_text(), ROOT)
    assert found.wrong == []


def test_figures_of_the_first_sentences_are_in_the_table() -> None:
    readme = (ROOT / "README.md").read_text()
    first = readme.partition("\n\n")[2].partition("\n\n")[0]
    table = next(rows for _, (header, *rows) in tables_of(readme) if header == HEADER)
    assert len(numbers_of(first)) > 2
    assert set(numbers_of(first)) <= {number for row in table for cell in row[:2] for number in numbers_of(cell)}


PAGE = """# Runs
## Free cores
| run | fps | error p99, ms |
|---|---:|---:|
| default world | 60.0 (59.1) | 0.2 (1.6) |
| `--slow-physics 40` | 60.0 | 1.2 |
## Busy cores, all
| run | fps | error p99, ms |
|---|---:|---:|
| default world | 55.0 (50.0) | 9.9 |
"""


@pytest.mark.parametrize(
    ("measured", "source", "wrong"),
    [
        ("0.2 ms", "[default world: error p99, ms](page.md#free-cores)", ""),
        ("p99 of 0.2 ms (worst of 3 runs: 1.6 ms)", "[default world: error p99, ms](page.md#free-cores)", "README has"),
        ("p99 0.2 ms (worst run 1.6 ms)", "[default world: error p99, ms](page.md#free-cores)", ""),
        ("60.0 fps, 0.2 ms", "[default world: fps; error p99, ms](page.md#free-cores)", ""),
        ("1.2 ms", "[`--slow-physics 40`: error p99, ms](page.md#free-cores)", ""),
        ("55.0 fps", "[default world: fps](page.md#busy-cores-all)", ""),
        ("60 fps", "[default world: fps](page.md#busy-cores-all)", "README has"),
        ("fast", "[default world: fps](page.md#free-cores)", "README has"),
        ("60.0", "[other world: fps](page.md#free-cores)", "has no row"),
        ("60.0", "[default world: speed](page.md#free-cores)", "has no row"),
        ("60.0", "page.md", "source must be"),
    ],
)
def test_a_figure_that_is_not_on_its_page_is_found(tmp_path: Path, measured: str, source: str, wrong: str) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    readme = f"| what | measured | source |\n|---|---|---|\n| evenness | {measured} | {source} |\n"
    found = checked(readme, tmp_path)
    assert found.checked == 1
    assert [wrong in line for line in found.wrong] == ([True] if wrong else [])
