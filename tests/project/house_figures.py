"""Figures of the house: how many rooms, how they hang together, and where the code is crowded.

    python -m tests.project.house_figures [--json] [ROOT]

Rooms, arrows, floors and circles are those of `house_imports`. Code is counted three ways, without docstrings, comments
and blank lines, so that packing lines gains nothing: lines of the file, lines as `ast.unparse` writes them, statements.
The benches (`bench/`) are counted apart from what is installed, and are in no other figure.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.project.house_imports import (
    BENCH,
    PARTS,
    PRODUCT,
    FloorPlan,
    all_circles,
    floor_plan,
    import_graph,
    modules_of,
)

SMALL_MODULE_LINES = 60
MOST_ATTRIBUTES = 15
MOST_PARAMETERS = 8
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class CodeSize:
    modules: int = 0  # files, those that are empty too
    lines: int = 0  # of the files, with a token that is code
    unparsed_lines: int = 0
    statements: int = 0

    def __add__(self, other: CodeSize) -> CodeSize:
        return CodeSize(*(mine + theirs for mine, theirs in zip(_values(self), _values(other), strict=True)))


@dataclass(frozen=True)
class Figures:
    """All of them. Lists name the places, `part/module.py:name figure`, the worst first where there is a figure."""

    plans: dict[str, FloorPlan]
    circles: dict[str, list[list[str]]]  # of all folders and of files, the benches' too; typing imports counted
    code: CodeSize
    file_lines: int  # of the same files, prose and blank lines too
    benches: CodeSize
    bench_file_lines: int
    small_modules: list[str]  # by lines of the file, prose and all; packages' own files left out
    fullest_folders: list[str]  # every folder by what stands in it
    crowded_classes: list[str]
    long_signatures: list[str]
    long_calls: list[str]
    fmt_skips: int
    classes_of_one_name: list[str]
    modules_of_one_name: list[str]


def figures_of(root: Path, parts: Sequence[str] = PARTS) -> Figures:
    modules = modules_of(root, parts)
    graph = import_graph(modules)
    sources = {str(path.relative_to(root)): path.read_text() for path in modules.values()}
    trees = {place: ast.parse(text) for place, text in sources.items()}
    sizes = {place: code_size(text) for place, text in sources.items()}
    own_files = {place for place in sources if not Path(place).stem.startswith("__")}
    benches = {place: path.read_text() for place, path in modules_of(root, (BENCH,)).items() if place != PRODUCT}
    classes = [(node.name, place) for place, tree in trees.items() for node in _classes(tree)]
    return Figures(
        plans={part: floor_plan(graph, part) for part in parts},
        circles=all_circles(import_graph(modules_of(root, (*parts, BENCH)))),
        code=sum(sizes.values(), CodeSize()),
        file_lines=sum(text.count("\n") for text in sources.values()),
        benches=sum(map(code_size, benches.values()), CodeSize()),
        bench_file_lines=sum(text.count("\n") for text in benches.values()),
        small_modules=_worst(
            [(lines, place) for place in own_files if (lines := sources[place].count("\n")) < SMALL_MODULE_LINES]
        ),
        fullest_folders=_worst([(count, folder) for folder, count in folder_entries(sources).items()]),
        crowded_classes=_worst(
            (count, f"{place}:{node.name}")
            for place, tree in trees.items()
            for node in _classes(tree)
            if (count := len(attributes_of(node))) > MOST_ATTRIBUTES
        ),
        long_signatures=_worst(
            (count, f"{place}:{name}")
            for place, tree in trees.items()
            for name, count in parameter_counts(tree)
            if count > MOST_PARAMETERS
        ),
        long_calls=_worst(
            (len(node.args), f"{place}:{node.lineno} {ast.unparse(node.func)}")
            for place, tree in trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and len(node.args) > MOST_PARAMETERS
        ),
        fmt_skips=sum(
            token.string.startswith("# fmt: skip")
            for text in sources.values()
            if "# fmt: skip" in text
            for token in _tokens(text)
        ),
        classes_of_one_name=_repeated(classes),
        modules_of_one_name=_repeated([(Path(place).stem, place) for place in own_files]),
    )


def code_size(text: str) -> CodeSize:
    """Of one module. Docstrings are no code; other strings that stand alone are."""
    tree = ast.parse(text)
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body.pop(0)
            prose.update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    code = {
        line
        for token in _tokens(text)
        if token.type not in NOT_CODE and token.string != ";"
        for line in range(token.start[0], token.end[0] + 1)
    }
    return CodeSize(
        modules=1,
        lines=len(code - prose),
        unparsed_lines=sum(1 for line in ast.unparse(tree).splitlines() if line.strip()),
        statements=sum(isinstance(node, ast.stmt) for node in ast.walk(tree)),
    )


def attributes_of(node: ast.ClassDef) -> set[str]:
    """What its methods assign on `self`, whichever of them; fields that a dataclass declares are left out."""
    found: set[str] = set()
    for method in node.body:
        if isinstance(method, Function) and (arguments := method.args.posonlyargs + method.args.args):
            found |= {
                inner.attr
                for inner in ast.walk(method)
                if isinstance(inner, ast.Attribute)
                and isinstance(inner.ctx, ast.Store)
                and isinstance(inner.value, ast.Name)
                and inner.value.id == arguments[0].arg
            }
    return found


def parameter_counts(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, int]]:
    """Each function's parameters, `*names` and `**names` as one each, without `self` and `cls`."""
    for node in ast.iter_child_nodes(tree):
        name = f"{inside}{node.name}" if isinstance(node, ast.ClassDef | Function) else ""
        if isinstance(node, Function):
            given = node.args
            names = [argument.arg for argument in given.posonlyargs + given.args + given.kwonlyargs]
            names += [extra.arg for extra in (given.vararg, given.kwarg) if extra]
            yield name, len(names) - (bool(inside) and names[:1] in (["self"], ["cls"]))
        yield from parameter_counts(node, f"{name}." if name else inside)


def table(figures: Figures) -> str:
    """For people: the parts, the code, then one line a figure with its worst places."""
    lines = [f"{'':10}{'rooms':>8}{'arrows':>8}{'typing':>8}{'named':>8}{'floors':>8}{'circles':>9}"]
    for part, plan in figures.plans.items():
        counted = (len(plan.rooms), plan.arrows, plan.typing_only, plan.named, plan.floors)
        lines.append(f"{part:10}" + "".join(f"{count:8}" for count in counted) + f"{len(plan.circles):9}")
    lines += [f"  circle in {part}: {' '.join(c)}" for part, plan in figures.plans.items() for c in plan.circles]
    lines.append(f"circles, typing imports counted: {sum(map(len, figures.circles.values()))}")
    lines += [f"  {len(c):3} in {folder}: {' '.join(c)}" for folder, found in figures.circles.items() for c in found]
    lines += ["", f"{'':10}{'modules':>8}{'lines':>8}{'unparsed':>10}{'statements':>12}{'with prose':>12}"]
    for name, size, whole in (
        ("product", figures.code, figures.file_lines),
        ("bench", figures.benches, figures.bench_file_lines),
    ):
        lines.append(f"{name:10}{size.modules:8}{size.lines:8}{size.unparsed_lines:10}{size.statements:12}{whole:12}")
    lines.append("")
    for words, places in (
        (f"modules under {SMALL_MODULE_LINES} lines", figures.small_modules[::-1]),
        (f"classes with more than {MOST_ATTRIBUTES} attributes", figures.crowded_classes),
        (f"functions with more than {MOST_PARAMETERS} parameters", figures.long_signatures),
        (f"calls with more than {MOST_PARAMETERS} positional arguments", figures.long_calls),
        ("class names with several classes", figures.classes_of_one_name),
        ("module names with several modules", figures.modules_of_one_name),
    ):
        lines.append(f"{len(places):4}  {words}" + (f": {'; '.join(places[:3])}" if places else ""))
    return "\n".join(
        [*lines, f"{figures.fmt_skips:4}  # fmt: skip", f"fullest: {'; '.join(figures.fullest_folders[:6])}"]
    )


def folder_entries(places: Iterable[str]) -> dict[str, int]:
    """Number of modules and folders in each folder that holds some of the files `places`; `__init__.py` is not counted."""
    inside: dict[str, set[str]] = {}
    for place in places:
        parts = Path(place).parts
        for depth in range(1, len(parts)):
            if parts[depth] != "__init__.py":
                inside.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
    return {folder: len(entries) for folder, entries in inside.items()}


def _values(size: CodeSize) -> tuple[int, ...]:
    return size.modules, size.lines, size.unparsed_lines, size.statements


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)


def _classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def _worst(places: Iterator[tuple[int, str]] | list[tuple[int, str]]) -> list[str]:
    return [f"{place} {figure}" for figure, place in sorted(places, key=lambda pair: (-pair[0], pair[1]))]


def _repeated(pairs: list[tuple[str, str]]) -> list[str]:
    where: dict[str, list[str]] = {}
    for name, place in sorted(pairs):
        where.setdefault(name, []).append(place)
    return [f"{name} ({', '.join(places)})" for name, places in where.items() if len(places) > 1]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.project.house_figures", description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--json", action="store_true", help="everything, with all places, as JSON")
    given = parser.parse_args(arguments)
    if not modules_of(given.root):
        parser.error(f"{given.root} holds no part of twixt ({', '.join(PARTS)}); give the folder of a checkout")
    figures = figures_of(given.root)
    sys.stdout.write((json.dumps(asdict(figures), indent=1) if given.json else table(figures)) + "\n")


if __name__ == "__main__":
    main()
