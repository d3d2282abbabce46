"""The front door: what editors complete, and what `help`, `hasattr` and imports find, with and without an engine."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import twixt
from twixt.ipc.errors import install_command
from twixt.ipc.process.renamed import _FormerName
from twixt.sim.show.view import View

jedi = pytest.importorskip("jedi")

ROOT = Path(__file__).parents[2]
LINE = f"twixt's MuJoCo viewer needs the package mujoco; install it with: {install_command('mujoco')}"
# Subpackages of twixt. Programs use parts of some of them, such as `twixt.render.playback`.
PARTS = {"cli", "ipc", "relay", "render", "sim"}

LOOKS = """
import inspect, pydoc, rlcompleter, twixt
assert "show" in dict(inspect.getmembers(twixt))
assert "show(" in pydoc.plain(pydoc.render_doc(twixt))
assert not hasattr(twixt, "mujoco_viewer")
print(*rlcompleter.Completer({"twixt": twixt}).attr_matches("twixt."))
"""


def run(code: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    paths = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]\n"
    return subprocess.run([sys.executable, "-P", "-c", paths + code], capture_output=True, text=True, timeout=60)


def without_mujoco(code: str) -> subprocess.CompletedProcess[str]:
    return run("import sys; sys.modules['mujoco'] = None\n" + code)


def test_help_completion_and_hasattr_work_without_an_engine() -> None:
    done = without_mujoco(LOOKS)
    assert (done.returncode, done.stderr) == (0, "")
    completed = {word.removeprefix("twixt.").rstrip("()") for word in done.stdout.split()}
    assert {name for name in twixt.__all__ if name in completed} == set(twixt.__all__)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("twixt.mujoco_viewer", "AttributeError"),
        ("import twixt.mujoco_viewer", "ImportError"),
        ("import twixt.mujoco_viewer as v", "ImportError"),
        ("from twixt import mujoco_viewer", "ImportError"),
    ],
)
def test_without_mujoco_its_viewer_is_refused_in_one_line(statement: str, error: str) -> None:
    done = without_mujoco(f"import twixt\ntry:\n    {statement}\nexcept {error} as refused:\n    print(refused)\n")
    assert (done.stdout, done.stderr) == (LINE + "\n", "")
    (*_, last) = without_mujoco(f"import twixt\n{statement}").stderr.splitlines()
    assert last.endswith(": " + LINE)


def test_an_engine_that_cannot_be_loaded_is_no_attribute(tmp_path: Path) -> None:
    (tmp_path / "mujoco.py").write_text("raise RuntimeError('invalid value for MUJOCO_GL')\n")
    done = run("import twixt\nprint(hasattr(twixt, 'mujoco_viewer'))\nfrom twixt import mujoco_viewer", tmp_path)
    assert done.stdout == "False\n"
    assert done.stderr.endswith("RuntimeError: invalid value for MUJOCO_GL\n")


def test_the_viewer_of_an_engine_is_a_module_by_every_way_of_import() -> None:
    pytest.importorskip("mujoco")
    ways = [
        "import twixt\nfound = twixt.mujoco_viewer",
        "import twixt.mujoco_viewer\nfound = twixt.mujoco_viewer",
        "import twixt.mujoco_viewer as found",
        "from twixt import mujoco_viewer as found",
    ]
    shows = "\nimport twixt.sim.engines.mujoco.mujoco_viewer as home, types, sys"
    shows += "\nassert isinstance(found, types.ModuleType) and sys.modules[found.__name__] is found"
    shows += "\nassert all(getattr(found, name) is getattr(home, name) for name in home.__all__)"
    shows += "\nprint(found.__name__, *found.__all__ == home.__all__ and home.__all__)"
    for way in ways:
        done = run(way + shows)
        assert (done.stdout, done.stderr) == (
            "twixt.mujoco_viewer Handle launch launch_from_path launch_passive publish scene\n",
            "",
        )


def test_names_for_a_users_program_load_nothing_that_draws() -> None:
    names = ["View", "UserEvent", "Snapshot", "DrawFrame", "DrawFunction", "EventFunction", "Event"]
    names += ["InterpolationMethod", "ViewerOptions"]
    done = run(f"import sys, twixt\nfor name in {names}: getattr(twixt, name)\nprint(*sys.modules)")
    assert not {"moderngl", "glfw", "imgui_bundle", "PIL", "mujoco", "click"} & set(done.stdout.split()), done.stderr
    done = run("import sys, twixt\ntwixt.Snapshot\nprint(*sys.modules)")
    assert not [name for name in done.stdout.split() if name.startswith(("twixt.sim", "twixt.render"))]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> jedi.Project:
    """A user's folder, in an editor that knows twixt as `make setup` lays it out."""
    subprocess.run(["make", "-s", "types"], cwd=ROOT, check=True)
    jedi.settings.cache_directory = str(tmp_path_factory.mktemp("jedi"))
    folder = tmp_path_factory.mktemp("project")
    others = [entry for entry in sys.path if entry and Path(entry).resolve() != ROOT]
    return jedi.Project(folder, sys_path=[str(ROOT / "build" / "types"), *others], smart_sys_path=False)


def script(project: jedi.Project, code: str) -> jedi.Script:
    return jedi.Script(code, project=project, environment=jedi.InterpreterEnvironment())


def completed(project: jedi.Project, code: str) -> set[str]:
    """Public names that an editor offers at the end of `code`."""
    return {found.name for found in script(project, code).complete() if not found.name.startswith("_")}


def public(kind: type) -> set[str]:
    former = {name for each in kind.__mro__ for name, value in vars(each).items() if isinstance(value, _FormerName)}
    return {name for name in dir(kind) if not name.startswith("_")} - former


def test_an_editor_completes_the_front_door(project: jedi.Project) -> None:
    assert completed(project, "import twixt\ntwixt.") == {*twixt.__all__, *twixt._ENGINES, *PARTS}


@pytest.mark.parametrize(
    "opened",
    [
        "view = twixt.show(twixt.Scene())\nview.",
        "with twixt.show(twixt.Scene(), dt=0.01) as view:\n    view.",
        "def loop(view: twixt.View):\n    view.",
    ],
)
def test_an_editor_completes_a_view(project: jedi.Project, opened: str) -> None:
    assert completed(project, f"import twixt\n{opened}") == {*public(View), "name"}


def test_an_editor_completes_the_keywords_of_show(project: jedi.Project) -> None:
    (signature,) = script(project, "import twixt\ntwixt.show(").get_signatures()
    assert [parameter.name for parameter in signature.params] == list(inspect.signature(twixt.show).parameters)
    assert completed(project, "import twixt\ntwixt.show(overl") == {"overlay="}


@pytest.mark.parametrize("name", ["Box", "Camera", "ColorBy", "Group", "Part", "Scene", "Sphere"])
def test_an_editor_completes_the_arguments_and_the_fields_of_a_value(project: jedi.Project, name: str) -> None:
    (signature,) = script(project, f"import twixt\ntwixt.{name}(").get_signatures()
    parameters = list(inspect.signature(getattr(twixt, name)).parameters)
    assert [parameter.name for parameter in signature.params] == parameters
    assert completed(project, f"import twixt\ntwixt.{name}({parameters[0]}") == {f"{parameters[0]}="}
    assert set(parameters) <= completed(project, f"import twixt\ntwixt.{name}().")


def test_the_fields_of_values_have_the_defaults_of_their_constructors() -> None:
    kinds = [kind for name in twixt.__all__ if dataclasses.is_dataclass(kind := getattr(twixt, name))]
    assert {twixt.Camera, twixt.Scene, twixt.Part, twixt.Mesh} <= set(kinds)
    for kind in kinds:
        parameters = inspect.signature(kind).parameters
        for field in dataclasses.fields(kind):
            if field.default is not dataclasses.MISSING and field.init:
                assert parameters[field.name].default == field.default, (kind, field.name)
            if field.default_factory is dict and kind is twixt.Scene:
                assert parameters[field.name].default == {}, field.name


@pytest.mark.parametrize("imported", ["from twixt import mujoco_viewer", "import twixt.mujoco_viewer as mujoco_viewer"])
def test_an_editor_completes_the_viewer_of_an_engine(project: jedi.Project, imported: str) -> None:
    from twixt.sim.engines.mujoco import mujoco_viewer

    assert completed(project, f"{imported}\nmujoco_viewer.") >= set(mujoco_viewer.__all__)


def test_a_view_and_bodies_list_names_with_an_explanation() -> None:
    with twixt.show(twixt.Scene(), viewer=False) as view:
        for shown in (view, twixt.Bodies(1)):
            kind = type(shown)
            names = [name for name in dir(shown) if not name.startswith("_")]
            assert names
            for name in names:
                explained = inspect.getdoc(getattr(kind, name)) if hasattr(kind, name) else inspect.getdoc(kind)
                assert explained, name
                assert hasattr(kind, name) or f"{name}:" in explained, name
