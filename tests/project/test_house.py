"""The arrows of the house: sim -> ipc <- render, and each outside library in its own room."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.project.house_imports import PARTS, PRODUCT, imported_names, modules_of

ROOT = Path(__file__).parents[2]
ALLOWED_PARTS = {"cli": set(PARTS), "ipc": {"ipc"}, "sim": {"sim", "ipc"}, "render": {"render", "ipc"}}
# Who may import what; a folder stands for all modules in it.
ROOMS = {
    "glfw": ("render/display", "cli/bench/lean"),
    "moderngl": ("render/draw", "cli/bench/lean"),
    "imgui_bundle": ("render/overlay",),
    "matplotlib": ("render/measure", "cli/bench"),
    "click": ("cli",),
    "mujoco": ("sim/engines/mujoco", "cli/bench/peers", "cli/bench/stepping"),
    "trimesh": ("ipc/shapes/mesh_files",),
}


def modules() -> list[Path]:
    return [path for name, path in modules_of(ROOT).items() if name != PRODUCT]


@cache
def imports_of(path: Path) -> set[str]:
    return {name for node in ast.walk(ast.parse(path.read_text())) for name in imported_names(node)}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_parts_import_only_along_the_arrows(path: Path) -> None:
    part = path.relative_to(ROOT).parts[0]
    for name in imports_of(path):
        head, *rest = name.split(".")
        assert head not in PARTS, f"{path} imports {name} bare; write twixt.{name}"
        if head == "twixt" and rest:
            assert rest[0] in ALLOWED_PARTS[part] | {"TwixtError"}, f"{path} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_each_library_stays_in_its_room(path: Path) -> None:
    place = str(path.relative_to(ROOT))
    for name in imports_of(path):
        rooms = ROOMS.get(name.split(".")[0])
        assert rooms is None or place.startswith(rooms or ("nowhere",)), f"{place} imports {name}"


@pytest.mark.parametrize("path", sorted((ROOT / "ipc").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_ipc_needs_the_standard_library_and_numpy_alone(path: Path) -> None:
    for name in imports_of(path):
        head = name.split(".")[0]
        # trimesh and pillow: where a file is read, inside a function; `test_the_physics_process_loads_nothing_that_draws` holds that.
        assert head in sys.stdlib_module_names | {"numpy", "twixt", "trimesh", "PIL"}, f"{path} imports {name}"


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


@pytest.mark.parametrize("folder", [*PARTS, "tests"])
def test_nobody_takes_an_item_of_a_pair_that_may_be_empty(folder: str) -> None:
    """Before the first publish, and where the writer overtakes every attempt. Tests call `tests.newest`."""
    found = {str(path): opened_pairs(ast.parse(path.read_text())) for path in (ROOT / folder).rglob("*.py")}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_one_module_alone_decides_which_program_is_started() -> None:
    """`sys.executable` is the user's program where that is frozen or embeds Python. Errors name it in a message."""
    used = {
        str(path.relative_to(ROOT))
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
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
    loaded = loaded_by("import twixt.sim.process.physics_run, twixt.sim.show.show")
    assert not loaded & {"glfw", "moderngl", "imgui_bundle", "matplotlib", "click", "rich", "PIL", "mujoco", "trimesh"}
