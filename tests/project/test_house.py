"""The arrows of the house: sim -> ipc <- render, and each outside library in its own room."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.project.house_imports import BENCH, PARTS, PRODUCT, imported_names, modules_of

ROOT = Path(__file__).parents[2]
ALLOWED_PARTS = {
    "cli": set(PARTS),
    "ipc": {"ipc"},
    "sim": {"sim", "ipc"},
    "render": {"render", "ipc"},
    "relay": {"relay", "ipc"},
    BENCH: {*PARTS, BENCH},
}
# Who may import what; a folder stands for all modules in it.
ROOMS = {
    "glfw": ("render/display", "bench/lean"),
    "moderngl": ("render/draw", "bench/lean"),
    "imgui_bundle": ("render/overlay",),
    "matplotlib": ("render/measure", "bench"),
    "click": ("cli", "bench/commands.py", "bench/command_options.py"),
    "mujoco": ("sim/engines/mujoco", "bench/peers", "bench/loops", "bench/latency"),
    "trimesh": ("ipc/scene/mesh_files",),
    "websockets": ("relay/serve", "cli/chromium.py"),
}


def modules() -> dict[str, Path]:
    """Of the product without its front door, and of the benches, by their places in the tree."""
    found = modules_of(ROOT, (*PARTS, BENCH))
    return {str(path.relative_to(ROOT)): path for name, path in found.items() if name != PRODUCT}


@cache
def imports_of(path: Path) -> set[str]:
    return {name for node in ast.walk(ast.parse(path.read_text())) for name in imported_names(node)}


def breaking(is_broken: Callable[[str, str], bool], part: str = "") -> list[str]:
    """Each import that breaks a rule of a place in the tree and an imported name."""
    found = [
        f"{place} imports {name}"
        for place, path in modules().items()
        if place.startswith(part)
        for name in sorted(imports_of(path))
        if is_broken(place, name)
    ]
    assert len(modules()) > 200
    return found


def test_parts_import_only_along_the_arrows() -> None:
    def is_broken(place: str, name: str) -> bool:
        head, *rest = name.split(".")
        allowed = ALLOWED_PARTS[Path(place).parts[0]]
        if head == BENCH:
            return BENCH not in allowed
        return head == PRODUCT and bool(rest) and rest[0] not in {*allowed, "TwixtError"}

    assert breaking(is_broken) == []


def test_nobody_imports_a_part_under_its_bare_name() -> None:
    """A user's own `sim.py` would be found instead: it is `twixt.sim`. (`bench` is no part of what is installed.)"""
    assert breaking(lambda _place, name: name.split(".")[0] in PARTS) == []


def test_each_library_stays_in_its_room() -> None:
    def is_broken(place: str, name: str) -> bool:
        rooms = ROOMS.get(name.split(".")[0])
        return rooms is not None and not place.startswith(rooms)

    assert breaking(is_broken) == []


def test_ipc_needs_the_standard_library_and_numpy_alone() -> None:
    # trimesh and pillow: where a file is read, inside a function; `test_the_physics_process_loads_nothing_that_draws` holds that.
    known = sys.stdlib_module_names | {"numpy", "twixt", "trimesh", "PIL"}
    assert breaking(lambda _place, name: name.split(".")[0] not in known, "ipc/") == []


PAIRS = ("latest_pair",)


def opened_pairs(tree: ast.AST) -> list[int]:
    """Lines that take items of a pair as it comes, although it may be empty or of one."""
    lines = []
    for node in ast.walk(tree):
        taken: ast.AST | None = None
        if isinstance(node, ast.Subscript):
            taken = node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            taken = node.value.generators[0].iter if isinstance(node.value, ast.GeneratorExp) else node.value
        if isinstance(taken, ast.Call) and isinstance(taken.func, ast.Attribute) and taken.func.attr in PAIRS:
            lines.append(node.lineno)
    return lines


def test_items_of_a_pair_that_may_be_empty_are_found() -> None:
    lines = ["link.latest_pair()[-1]", "a, b = link.latest_pair()", "a, b = (f(one) for one in link.latest_pair())"]
    assert opened_pairs(ast.parse("\n".join(lines))) == [2, 3, 1]
    assert opened_pairs(ast.parse("for one in link.latest_pair(): pass")) == []


def test_nobody_takes_an_item_of_a_pair_that_may_be_empty() -> None:
    """Before the first publish, and where the writer overtakes every attempt. Tests call `tests.newest`."""
    paths = [path for folder in (*PARTS, BENCH, "tests") for path in (ROOT / folder).rglob("*.py")]
    texts = {str(path): path.read_text() for path in paths}
    found = {path: opened_pairs(ast.parse(text)) for path, text in texts.items() if any(pair in text for pair in PAIRS)}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_one_module_alone_decides_which_program_is_started() -> None:
    """`sys.executable` is the user's program where that is frozen or embeds Python. Errors name it in a message."""
    used = {
        place
        for place, path in modules().items()
        if "executable" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable"
    }
    assert used == {"sim/process/viewer_command.py", "ipc/errors.py"}


def loaded_by(code: str) -> set[str]:
    listed = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.append({str(ROOT)!r})\n{code}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(listed.stdout.split("\n")[-2].split())


def test_importing_twixt_loads_no_library() -> None:
    assert not loaded_by("import twixt") & {"numpy", "glfw", "moderngl", "click", "rich", "imgui_bundle", "matplotlib"}


def test_the_physics_process_loads_nothing_that_draws() -> None:
    loaded = loaded_by("import twixt.sim.process.run, twixt.sim.show.show")
    assert not loaded & {"glfw", "moderngl", "imgui_bundle", "matplotlib", "click", "rich", "PIL", "mujoco", "trimesh"}
