"""Imports between the modules of a tree, and the rooms that they join.

Rooms of a folder are what stands in it: modules and packages. A part (`sim`, `render` ...) is a folder. An arrow is a pair
of rooms of which one imports the other, however often and wherever in a file: a deferred import ties as firmly as one
at the top. Apart from arrows: imports that only type checkers see (`TYPE_CHECKING`), and modules named in a string
(`"twixt.sim.show.show"`, found by `import_module` when needed).

Always: reads files, imports none of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PRODUCT = "twixt"
PARTS = ("sim", "render", "relay", "ipc", "cli")  # of what is installed, beside the front door
BENCH = "bench"

# How a module is imported, as `Imports` keeps it apart.
KINDS = ("loaded", "typing_only", "named")
# Circles between files, and between what stands at the top of the tree.
FILES, TOP = "files", "top"

Arrows = Mapping[str, set[str]]


@dataclass(frozen=True)
class Imports:
    """The modules of the tree that one module imports, by how: no name stands in two of the sets."""

    loaded: set[str] = field(default_factory=set)
    typing_only: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)  # in a string


@dataclass(frozen=True)
class FloorPlan:
    """The rooms of one part and what joins them."""

    rooms: list[str]
    arrows: int
    typing_only: int  # pairs that no arrow joins already
    named: int  # likewise
    floors: int  # rooms of the longest chain of arrows; a circle counts as one
    circles: list[list[str]]  # rooms that import each other, directly or by way of others, strings counted


def modules_of(root: Path, parts: Iterable[str] = PARTS) -> dict[str, Path]:
    """Dotted names, without the product's, to files. A package is its `__init__.py`; the front door is `twixt`."""
    found = {}
    for part in parts:
        for path in sorted((root / part).rglob("*.py")):
            found[".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")] = path
    if (root / f"{PRODUCT}.py").exists():
        found[PRODUCT] = root / f"{PRODUCT}.py"
    return found


def imported_names(node: ast.AST) -> set[str]:
    """Full dotted names that one node imports: `a.b` of `from a import b`; none where it is no import."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"line {node.lineno}: write imports in full, from {PRODUCT}"
        return {f"{node.module}.{alias.name}" for alias in node.names}
    return set()


def import_graph(modules: Mapping[str, Path]) -> dict[str, Imports]:
    """The imports of each of the modules among them."""
    return {name: _imports_of(name, ast.parse(path.read_text()), modules) for name, path in modules.items()}


def floor_plan(graph: Mapping[str, Imports], part: str) -> FloorPlan:
    """The rooms of a part; what it imports from other parts is left out."""
    rooms = sorted({room for name in graph if (room := _room(name, part))})
    loaded = _between_rooms(graph, part, "loaded")
    typing_only, named = _between_rooms(graph, part, "typing_only"), _between_rooms(graph, part, "named")
    joined = {room: loaded[room] | named[room] for room in rooms}
    return FloorPlan(
        rooms=rooms,
        arrows=sum(map(len, loaded.values())),
        typing_only=sum(len(typing_only[room] - loaded[room]) for room in rooms),
        named=sum(len(named[room] - loaded[room]) for room in rooms),
        floors=_longest_chain(loaded),
        circles=_circles(joined),
    )


def circles(graph: Mapping[str, Imports], folder: str) -> list[list[str]]:
    """Rooms of a folder (`render.draw`; "": of the whole tree) that import each other, directly or by way of others.
    Imports for type checkers and names in strings count like all others."""
    joined: dict[str, set[str]] = {}
    for kind in KINDS:
        for room, others in _between_rooms(graph, folder, kind).items():
            joined.setdefault(room, set()).update(others)
    return _circles(joined)


def circles_of_files(graph: Mapping[str, Imports]) -> list[list[str]]:
    """Modules that import each other, directly or by way of others, counted like `circles`."""
    return _circles({name: set().union(*(getattr(imports, kind) for kind in KINDS)) for name, imports in graph.items()})


def all_circles(graph: Mapping[str, Imports]) -> dict[str, list[list[str]]]:
    """Circles of each folder that has some, by its dotted name, and of files under `FILES`."""
    folders = {name[:at] for name in graph for at in (0, *(at for at, letter in enumerate(name) if letter == "."))}
    found = {folder or TOP: circles(graph, folder) for folder in sorted(folders)} | {FILES: circles_of_files(graph)}
    return {folder: each for folder, each in found.items() if each}


def _imports_of(name: str, tree: ast.Module, modules: Mapping[str, Path]) -> Imports:
    found = Imports()
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        for imported in imported_names(node):
            (found.typing_only if node in for_types else found.loaded).update(_nearest(imported, modules))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            found.named.update(_nearest(node.value, {node.value.removeprefix(f"{PRODUCT}.")} & modules.keys()))
    found.loaded.discard(name)
    found.named.difference_update(found.loaded, {name})
    found.typing_only.difference_update(found.loaded, found.named, {name})
    return found


def _nearest(full_name: str, modules: Iterable[str]) -> set[str]:
    """The module that a name lies in: `twixt.a.b.C` in `a.b`, `twixt.a.b` in itself where that is a module."""
    head, _, inside = full_name.partition(".")
    if head == BENCH:
        inside = full_name
    elif head != PRODUCT:
        return set()
    while inside and inside not in modules:
        inside = inside.rpartition(".")[0]
    return {inside} if inside else set()


def _room(name: str, folder: str) -> str:
    """The room of a folder that a module is in; empty for the folder's own `__init__.py`, and outside of it."""
    inside = name.removeprefix(f"{folder}.") if folder else name
    return inside.partition(".")[0] if inside != name or not folder else ""


def _between_rooms(graph: Mapping[str, Imports], folder: str, kind: str) -> dict[str, set[str]]:
    between: dict[str, set[str]] = {}
    for name, imports in graph.items():
        if room := _room(name, folder):
            others = {other for imported in getattr(imports, kind) if (other := _room(imported, folder))}
            between.setdefault(room, set()).update(others - {room})
    return between


def _circles(arrows: Arrows) -> list[list[str]]:
    return [circle for circle in _strong_components(arrows) if len(circle) > 1]


def _strong_components(arrows: Arrows) -> list[list[str]]:
    """Tarjan 1972: each component once, those that others import before the others."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            cut = stack.index(node)
            components.append(sorted(stack[cut:]))
            del stack[cut:]

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return components


def _longest_chain(arrows: Arrows) -> int:
    home, height = {}, {}
    for number, component in enumerate(_strong_components(arrows)):
        home |= dict.fromkeys(component, number)
        below = {home[other] for room in component for other in arrows[room]} - {number}
        height[number] = 1 + max((height[other] for other in below), default=0)
    return max(height.values(), default=0)
