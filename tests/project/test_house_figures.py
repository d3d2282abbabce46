"""The figures of the house: right on a small tree that is counted by hand, and no circle in the real one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.project.house_figures import (
    CodeSize,
    Figures,
    attributes_of,
    code_size,
    figures_of,
    folder_entries,
    main,
    parameter_counts,
)
from tests.project.house_imports import (
    BENCH,
    PARTS,
    all_circles,
    circles,
    circles_of_files,
    floor_plan,
    import_graph,
    modules_of,
)

ROOT = Path(__file__).resolve().parents[2]

# Modules and folders in a folder of the product, at most.
MOST_ENTRIES = 14
# Lines of a module, at most, and the modules with more: each has one idea that needs them.
MOST_LINES = 400
LONGER_MODULES = {"render/draw/scene_renderer.py"}

# ipc: words <- ring.writer, ring.writer -> ring.words (one room); sim: loop -> world <-> worlds (named), loop -> ipc.
TREE = {
    "twixt.py": 'HOMES = {"World": "twixt.sim.world"}\n',
    "ipc/words.py": "class Word:\n    pass\n",
    "ipc/ring/__init__.py": "",
    "ipc/ring/words.py": "class Word:\n    pass\n",
    "ipc/ring/writer.py": "from twixt.ipc.ring.words import Word\nfrom twixt.ipc import words\nimport twixt.ipc.words\n",
    "bench/rows.py": "from twixt.ipc.ring import words\n\nROUNDS = 3\n",
    "sim/worlds/__init__.py": 'BUILT_IN = "twixt.sim.world"\n',
    "sim/worlds/balls.py": 'ONE, TWO = 1, "# fmt: skip"\n',
    "sim/world.py": "def find():\n    from twixt.sim.worlds import BUILT_IN\n    return BUILT_IN\n",
    "sim/loop.py": (
        "from typing import TYPE_CHECKING\n\nfrom twixt.ipc.words import Word\nfrom twixt.sim.world import find\n\n"
        "if TYPE_CHECKING:\n    from twixt.sim.pace import Pace\n"
    ),
    "sim/pace.py": '"""Prose."""\n\n\nclass Pace:  # prose\n    """Prose."""\n\n    step = 1; stop = 2  # fmt: skip\n'
    + "\n" * 60,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for place, text in TREE.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    return tmp_path


@pytest.fixture
def figures(tree: Path) -> Figures:
    return figures_of(tree)


def test_rooms_are_what_stands_at_the_top_of_a_part(figures: Figures) -> None:
    assert figures.plans["ipc"].rooms == ["ring", "words"]
    assert figures.plans["sim"].rooms == ["loop", "pace", "world", "worlds"]
    assert figures.plans["render"].rooms == []


def test_each_pair_of_rooms_is_one_arrow(figures: Figures) -> None:
    assert figures.plans["ipc"].arrows == 1  # ring -> words, imported twice
    assert figures.plans["sim"].arrows == 2  # loop -> world, world -> worlds in a function


def test_imports_for_type_checkers_and_names_in_strings_are_counted_apart(figures: Figures) -> None:
    assert figures.plans["sim"].typing_only == 1  # loop -> pace
    assert figures.plans["sim"].named == 1  # worlds -> world
    assert figures.plans["ipc"].typing_only == figures.plans["ipc"].named == 0


def test_floors_are_the_longest_chain(figures: Figures) -> None:
    assert figures.plans["ipc"].floors == 2  # ring, words
    assert figures.plans["sim"].floors == 3  # loop, world, worlds
    assert figures.plans["render"].floors == 0


def test_a_circle_is_found_though_one_of_its_arrows_is_a_string(figures: Figures) -> None:
    assert figures.plans["sim"].circles == [["world", "worlds"]]
    assert figures.plans["ipc"].circles == []


def test_a_circle_of_imports_counts_as_one_floor(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    for name, other in (("top", "a"), ("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / "sim" / f"{name}.py").write_text(f"import twixt.sim.{other}\n")
    plan = floor_plan(import_graph(modules_of(tmp_path)), "sim")
    assert (plan.arrows, plan.floors, plan.circles) == (4, 2, [["a", "b", "c"]])


# Files: a.one <-> a.two (one of them typing), a.deep.x -> b -> a.deep.y -> a.deep.x. Rooms of the top: a -> b -> a. Rooms of
# a: deep stands alone, one <-> two. Rooms of a.deep: y -> x alone; what goes by way of b is no arrow within a.deep.
CIRCLES = {
    "a/__init__.py": "from twixt.a.one import ONE\n",
    "a/one.py": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from twixt.a.two import Two\n\nONE = 1\n",
    "a/two.py": "from twixt.a import one\n\n\nclass Two:\n    pass\n",
    "a/deep/__init__.py": "",
    "a/deep/x.py": "import twixt.b\n",
    "a/deep/y.py": "import twixt.a.deep.x\n",
    "b/__init__.py": 'HOME = "twixt.a.deep.y"\n',
}


def test_circles_are_found_between_files_and_between_the_rooms_of_each_folder(tmp_path: Path) -> None:
    for place, text in CIRCLES.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    graph = import_graph(modules_of(tmp_path, ("a", "b")))
    assert sorted(circles_of_files(graph)) == [["a.deep.x", "a.deep.y", "b"], ["a.one", "a.two"]]
    assert circles(graph, "") == [["a", "b"]]
    assert circles(graph, "a") == [["one", "two"]]
    assert circles(graph, "a.deep") == circles(graph, "b") == []
    assert all_circles(graph) == {
        "top": circles(graph, ""),
        "a": circles(graph, "a"),
        "files": circles_of_files(graph),
    }
    assert floor_plan(graph, "a").circles == []  # without typing imports


def test_an_import_reaches_the_nearest_module(tree: Path) -> None:
    graph = import_graph(modules_of(tree))
    assert graph["ipc.ring.writer"].loaded == {"ipc.ring.words", "ipc.words"}
    assert graph["sim.world"].loaded == {"sim.worlds"}
    assert graph["twixt"].named == {"sim.world"}


def test_a_relative_import_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "ipc").mkdir()
    (tmp_path / "ipc" / "words.py").write_text("from . import plan\n")
    with pytest.raises(AssertionError, match="line 1: write imports in full, from twixt"):
        import_graph(modules_of(tmp_path))


def test_benches_are_counted_apart_from_the_product(figures: Figures) -> None:
    assert figures.code.modules == len(TREE) - 1
    assert figures.benches == CodeSize(modules=1, lines=2, unparsed_lines=2, statements=2)
    assert figures.bench_file_lines == 3
    assert figures.file_lines == sum(text.count("\n") for text in TREE.values()) - 3


def test_prose_and_blank_lines_are_no_code_and_packing_lines_gains_nothing() -> None:
    packed = code_size(TREE["sim/pace.py"])
    assert packed == CodeSize(modules=1, lines=2, unparsed_lines=3, statements=3)
    assert code_size("class Pace:\n    step = 1\n    stop = 2\n") == CodeSize(1, 3, 3, 3)


def test_a_text_over_several_lines_is_code_and_its_lines_count() -> None:
    assert code_size('PAGE = """one\n\nthree"""\n').lines == 3


def test_small_modules_and_full_folders_are_named_with_their_figure(figures: Figures) -> None:
    assert "sim/worlds/balls.py 1" in figures.small_modules
    assert not any(place.startswith(("sim/pace.py", "sim/worlds/__init__.py")) for place in figures.small_modules)
    assert figures.fullest_folders == ["sim 4", "ipc 2", "ipc/ring 2", "sim/worlds 1"]


def test_one_name_for_two_things_is_found(figures: Figures) -> None:
    assert figures.classes_of_one_name == ["Word (ipc/ring/words.py, ipc/words.py)"]
    assert figures.modules_of_one_name == ["words (ipc/ring/words.py, ipc/words.py)"]


def test_fmt_skips_are_counted_in_comments_alone(figures: Figures) -> None:
    assert figures.fmt_skips == 1  # one more stands in a text


def crowded(count: int) -> str:
    return "class Loop:\n    def run(self):\n" + "".join(f"        self.a{n}, b = 1, 2\n" for n in range(count))


def test_attributes_are_what_methods_assign_on_self(tmp_path: Path) -> None:
    import ast

    text = "class A:\n    x = 1\n    def f(me, o):\n        me.a = o.b = 1\n        for me.c in o: me.d += me.e\n"
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.ClassDef)
    assert attributes_of(node) == {"a", "c", "d"}
    (tmp_path / "sim").mkdir()
    (tmp_path / "sim" / "loop.py").write_text(crowded(16))
    assert figures_of(tmp_path).crowded_classes == ["sim/loop.py:Loop 16"]
    (tmp_path / "sim" / "loop.py").write_text(crowded(15))
    assert figures_of(tmp_path).crowded_classes == []


def test_parameters_are_counted_without_self() -> None:
    import ast

    text = "def f(a, /, b, *c, d, **e): ...\nclass K:\n    def g(self, a):\n        def h(b): ...\n"
    assert dict(parameter_counts(ast.parse(text))) == {"f": 5, "K.g": 1, "K.g.h": 1}


def test_long_signatures_and_calls_begin_at_nine(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    for count, found in ((8, False), (9, True)):
        names = ", ".join(f"a{n}" for n in range(count))
        (tmp_path / "sim" / "loop.py").write_text(f"def f({names}):\n    f({names})\n")
        figures = figures_of(tmp_path)
        assert figures.long_signatures == ["sim/loop.py:f 9"] * found
        assert figures.long_calls == ["sim/loop.py:2 f 9"] * found


def test_the_program_prints_a_table_and_json(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tree)])
    shown = capsys.readouterr().out
    assert "  circle in sim: world worlds" in shown
    assert "    2 in files: sim.world sim.worlds" in shown
    main([str(tree), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["plans"]["sim"]["circles"] == [["world", "worlds"]]
    assert document["code"]["modules"] == len(TREE) - 1
    assert document["circles"]["files"] == [["sim.world", "sim.worlds"]]


def test_a_folder_without_the_product_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path)])
    assert "no part of twixt (sim, render, relay, ipc, cli)" in capsys.readouterr().err


def test_neither_files_nor_rooms_import_each_other_in_a_circle() -> None:
    """In no folder of the product and of the benches; imports for type checkers and names in strings count."""
    graph = import_graph(modules_of(ROOT, (*PARTS, BENCH)))
    plans = {part: floor_plan(graph, part) for part in PARTS}
    assert all(plan.rooms and plan.arrows for plan in plans.values())
    assert all_circles(graph) == {}


def test_a_folder_has_few_entries() -> None:
    places = [str(path.relative_to(ROOT)) for path in modules_of(ROOT).values()]
    fuller = {folder for folder, count in folder_entries(places).items() if count > MOST_ENTRIES}
    assert fuller == set()


def test_a_module_has_at_most_400_lines() -> None:
    modules = modules_of(ROOT, (*PARTS, BENCH)).values()
    lengths = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in modules}
    assert {place for place, lines in lengths.items() if lines > MOST_LINES} == LONGER_MODULES
