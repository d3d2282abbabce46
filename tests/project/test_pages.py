"""The pages that show the way: the files they name are there, and a module's first sentence says what it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.project.house_imports import BENCH, PARTS, modules_of

ROOT = Path(__file__).parents[2]
# A path in backquotes; a folder ends with a slash.
NAMED = re.compile(r"`((?:ipc|sim|render|cli|bench|tests|docs)/(?:[\w/.-]*(?:\.py|\.md|/))?)`")
# A module of twixt or of its tests in any text, with the name in it that may follow: an import in a program that a test
# starts, the target of a patch, a command that a page shows.
DOTTED = re.compile(
    r"(?<![\w./-])(?:twixt\.(?:cli|ipc|sim|render)|bench(?!\.(?:png|json|md)\b)|tests)(?:\.[A-Za-z_]\w*)+"
)
# Trees that a test makes up, and this file's own examples, name what is not there.
MADE_UP = {"tests/project/test_house_figures.py", "tests/project/test_pages.py"}
TEXTS = [path for pattern in ("*.py", "*.md", "*.toml", "Makefile") for path in ROOT.glob(pattern)] + [
    path
    for part in (*PARTS, BENCH, "tests", "docs", "examples")
    for path in (ROOT / part).rglob("*")
    if path.suffix in (".py", ".md") and str(path.relative_to(ROOT)) not in MADE_UP
]
# The table of `docs/architecture.md`: a row's last cell has modules and folders, and names in the module before them.
WHERE = "## Where is ...?"
QUOTED = re.compile(r"`([^`]+)`")
# A sentence that begins so asks for what it should name.
ASKS = re.compile(r"(What|Whether|Who|Whoever|How|When|Where|Which|Why)\b")


def test_files_and_modules_that_a_text_names_are_there() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in TEXTS}
    assert len(texts) > 400
    files = {place: [n for n in NAMED.findall(text) if not (ROOT / n).exists()] for place, text in texts.items()}
    modules = {place: [n for n in DOTTED.findall(text) if not is_there(n)] for place, text in texts.items()}
    assert {place: names for place, names in files.items() if names} == {}
    assert {place: names for place, names in modules.items() if names} == {}


def test_names_of_modules_are_found_and_held_to_the_files() -> None:
    text = 'patch("twixt.ipc.snapshot.bytes_of"), python -m tests.mutants.py, twixt.render.gone, tests.ipc.nowhere.X'
    names = DOTTED.findall(text)
    assert names == ["twixt.ipc.snapshot.bytes_of", "tests.mutants.py", "twixt.render.gone", "tests.ipc.nowhere.X"]
    assert [name for name in names if is_there(name)] == []
    for name in ("twixt.ipc.snapshot", "tests.project.test_pages.is_there", "twixt.cli"):
        assert is_there(name)
    assert NAMED.findall("see `ipc/ring/sequence.py` and `tests/`, not `out/x.py`") == [
        "ipc/ring/sequence.py",
        "tests/",
    ]


def test_the_table_names_modules_and_what_is_in_them() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = [line for line in page.partition(WHERE)[2].partition("\n## ")[0].splitlines() if line.startswith("| ")]
    assert len(rows) > 60
    named = [pair for row in rows for pair in names_in_last_cell(row)]
    assert len(named) > 150
    assert [pair for pair in named if not is_in_module(*pair)] == []


def test_names_of_the_table_are_found_and_held_to_the_files() -> None:
    row = "| `--profile` | `twixt.py`: `main`, `World`; `sim/gone.py`: `x`; `render/draw/`; in `ipc/plan.py`: `Plan.due_ns` |"
    pairs = names_in_last_cell(row)
    assert [place for place, _ in pairs] == ["twixt.py"] * 3 + ["sim/gone.py"] * 2 + ["render/draw/"] + [
        "ipc/plan.py"
    ] * 2
    assert [name for _, name in pairs] == ["", "main", "World", "", "x", "", "", "Plan.due_ns"]
    assert [pair for pair in pairs if not is_in_module(*pair)] == [
        ("twixt.py", "World"),
        ("sim/gone.py", ""),
        ("sim/gone.py", "x"),
    ]
    assert not is_in_module("ipc/plan.py", "due_ns")
    assert not is_in_module("render/draw/", "Plan")


def names_in_last_cell(row: str) -> list[tuple[str, str]]:
    """Pairs of a place and a name in it, "" for the place itself."""
    pairs: list[tuple[str, str]] = []
    for quoted in QUOTED.findall(row.rstrip(" |").rpartition(" | ")[2]):
        is_place = quoted.endswith((".py", "/"))
        pairs.append((quoted, "") if is_place else (pairs[-1][0] if pairs else "", quoted))
    return pairs


def is_in_module(place: str, name: str) -> bool:
    """True if the place exists and defines the name: of its top level, or `Class.method`."""
    path = ROOT / place
    if not name or not path.is_file():
        return bool(place) and not name and path.exists()
    defined = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            defined.update(f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef))
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            defined.update(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))
    return name in defined


@cache
def is_there(dotted: str) -> bool:
    """Whether a folder, a module, or a module's own name is called so (a name within a name is not looked for)."""
    place = ROOT
    parts = dotted.split(".")[dotted.startswith("twixt.") :]
    for number, part in enumerate(parts):
        place = place / part
        if place.is_dir():
            continue
        module = place.with_suffix(".py")
        if module.exists():
            return len(parts) == number + 1 or parts[number + 1] in names_of(module)
        package = place.parent / "__init__.py"
        return package.exists() and part in names_of(package)
    return True


@cache
def names_of(module: Path) -> set[str]:
    """What can be taken from it: what it defines at its top level, and what it imports."""
    return set(_names_in(module))


def _names_in(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]


def test_a_module_begins_with_what_it_is() -> None:
    openings = {
        str(path.relative_to(ROOT)): ast.get_docstring(ast.parse(path.read_text()))
        for path in modules_of(ROOT, (*PARTS, BENCH)).values()
    }
    assert [place for place, opening in openings.items() if not opening] == []
    asking = {place: opening.splitlines()[0] for place, opening in openings.items() if ASKS.match(opening or "")}
    assert asking == {}


def test_no_text_has_the_marks_of_a_merge_that_was_not_finished() -> None:
    marks = re.compile(r"^(?:<{7}|={7}|>{7})(?: |$)", re.M)
    texts = [*TEXTS, *(ROOT / "web").iterdir()]
    assert [str(path.relative_to(ROOT)) for path in texts if marks.search(path.read_text())] == []
