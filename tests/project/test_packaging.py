"""The product has one name: `twixt`, whatever the user's own modules are called, in a checkout and installed."""

from __future__ import annotations

import ast
import fcntl
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USERS_PROGRAM = Path(__file__).parent / "users_program.py"

WORLD = """
import numpy as np
from twixt import Bodies, Scene, Sphere, World


class MyWorld(World):
    dt = 1 / 60

    def __init__(self, count: int = 3, seed: int = 0):
        self.bodies = Bodies(count)
        self.scene = Scene([Sphere(radius=0.1)] * count)

    def step(self, dt: float) -> None:
        self.bodies.position[:, 0] += dt
"""

# No __main__ guard, on purpose: the viewer must not import the user's script.
SCRIPT = """
import numpy as np
import sim, render, ipc
assert sim.MyWorld and render.MINE and ipc.MINE
import twixt
view = twixt.show(twixt.Scene([twixt.Sphere(radius=0.1)] * 4), dt=0.01, viewer=False, name="own-modules")
for _ in range(5):
    view.publish(position=np.zeros((4, 3)))
view.close()
print("published")
"""


@pytest.fixture
def users_folder(tmp_path: Path) -> Path:
    (tmp_path / "sim.py").write_text(WORLD)
    (tmp_path / "render.py").write_text("MINE = True\n")
    (tmp_path / "ipc.py").write_text("MINE = True\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once in a run of the tests, whichever process asks first."""
    base = tmp_path_factory.getbasetemp()
    out = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "wheel"
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(out), str(ROOT)]
    with open(out.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(out.glob("*.whl")):
            subprocess.run(build, check=True, capture_output=True, timeout=120)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="session")
def installed_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the wheel installed beside the packages of the one that runs the tests."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False, symlinks=True)
    site = next((home / "lib").glob("python3*")) / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "libraries.pth").write_text(os.path.dirname(os.path.dirname(__import__("numpy").__file__)) + "\n")
    return home / "bin" / "python"


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where mypy keeps the types of libraries, which it need not read in each test anew."""
    return tmp_path_factory.mktemp("mypy")


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def ways_in(request: pytest.FixtureRequest, way: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs twixt's command line, and its environment."""
    if way == "installed":
        python = request.getfixturevalue("installed_python")
        return [str(python), "-P", "-c", "import sys, twixt; sys.exit(twixt.main())"], clean_environment()
    return [sys.executable, str(ROOT / "twixt.py")], clean_environment()


def interpreter(request: pytest.FixtureRequest, way: str) -> tuple[str, dict[str, str]]:
    """A Python that finds twixt, and its environment."""
    if way == "installed":
        return str(request.getfixturevalue("installed_python")), clean_environment()
    return sys.executable, {**clean_environment(), "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("way", ["checkout", "installed"])
def test_a_world_in_the_users_own_sim_module_runs(request: pytest.FixtureRequest, users_folder: Path, way: str) -> None:
    command, environment = ways_in(request, way)
    done = subprocess.run(
        [*command, "sim", "sim:MyWorld", "--steps", "5", "--hash", "--set", "count=4", "--name", f"own-sim-{way}"],
        cwd=users_folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("way", ["checkout", "installed"])
def test_python_m_twixt_is_the_command_line(request: pytest.FixtureRequest, users_folder: Path, way: str) -> None:
    python, environment = interpreter(request, way)
    done = subprocess.run(
        [python, "-m", "twixt", "sim", "sim:MyWorld", "--steps", "5", "--hash", "--name", f"m-{way}"],
        cwd=users_folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.strip()) == 64


@pytest.mark.parametrize(
    ("way", "words"), [("checkout", "run all benches with: make bench"), ("installed", "with: make bench")]
)
def test_twixt_bench_says_where_the_benches_are_run(request: pytest.FixtureRequest, way: str, words: str) -> None:
    command, environment = ways_in(request, way)
    done = subprocess.run(
        [*command, "bench", "channel", "--quick"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("way", ["checkout", "installed"])
def test_a_script_beside_modules_of_our_names_shows(
    request: pytest.FixtureRequest, users_folder: Path, way: str
) -> None:
    python, environment = interpreter(request, way)
    done = subprocess.run(
        [python, "script.py"], cwd=users_folder, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "published" in done.stdout


MISUSE = """
import twixt
import twixt.render.playback
from my_orbit import Orbit
from twixt.sim.world.world import World

orbit: twixt.World = Orbit(count="many")
same: World = Orbit()
clock: int = twixt.render.playback.PlaybackClock()
twixt.Wrold
"""


@pytest.mark.parametrize("way", ["checkout", "installed"])
def test_the_readmes_world_passes_strict_type_checks_and_misuse_does_not(
    request: pytest.FixtureRequest, tmp_path: Path, mypy_cache: Path, way: str
) -> None:
    (tmp_path / "my_orbit.py").write_text(readmes_world())
    (tmp_path / "misuse.py").write_text(MISUSE)
    python, folder = sys.executable, ROOT
    if way == "installed":
        python, folder = str(request.getfixturevalue("installed_python")), tmp_path
    else:
        subprocess.run(["make", "-s", "types"], cwd=ROOT, check=True)

    files = [str(tmp_path / name) for name in ("my_orbit.py", "misuse.py")]
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, *files, "--no-error-summary",
         "--hide-error-context", "--cache-dir", str(mypy_cache)],
        cwd=folder, env=clean_environment() | {"MYPYPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert not said.stderr
    found = [line.split(":")[:2] for line in said.stdout.splitlines()]
    assert [(Path(file).name, line) for file, line in found] == [("misuse.py", line) for line in ("7", "9", "10")], (
        found
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", ["checkout", "installed"])
def test_users_programs_and_the_examples_pass_strict_type_checks(
    request: pytest.FixtureRequest, tmp_path: Path, mypy_cache: Path, way: str
) -> None:
    python, environment = sys.executable, clean_environment()
    if way == "installed":
        python = str(request.getfixturevalue("installed_python"))
    else:
        subprocess.run(["make", "-s", "types"], cwd=ROOT, check=True)
        environment["MYPYPATH"] = str(ROOT / "build" / "types")
    files = [str(USERS_PROGRAM), *map(str, sorted((ROOT / "examples").glob("*.py")))]
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, *files, "--config-file=",
         "--disable-error-code", "import-untyped",  # mujoco has no types
         "--cache-dir", str(mypy_cache)],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr


def test_the_users_program_uses_each_public_name_and_runs() -> None:
    import twixt

    used = {
        node.attr
        for node in ast.walk(ast.parse(USERS_PROGRAM.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "twixt"
    }
    assert used == {*twixt.__all__, *twixt._ENGINES}
    done = subprocess.run(
        [sys.executable, str(USERS_PROGRAM)], env={**clean_environment(), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("way", ["checkout", "installed"])
def test_the_viewer_of_an_engine_is_a_submodule(request: pytest.FixtureRequest, tmp_path: Path, way: str) -> None:
    pytest.importorskip("mujoco")
    python, environment = interpreter(request, way)
    shows = "import twixt.mujoco_viewer as v, twixt\nfrom twixt import mujoco_viewer\nassert v is mujoco_viewer"
    done = subprocess.run(
        [python, "-P", "-c", f"{shows} is twixt.mujoco_viewer; print(v.launch_passive.__name__)"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("launch_passive\n", "")


def readmes_world() -> str:
    text = (ROOT / "README.md").read_text()
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    return next(block for block in blocks if "(World)" in block)


def test_the_front_door_lists_what_it_resolves_and_what_type_checkers_read() -> None:
    import twixt

    assert set(twixt.__all__) == {"main", *twixt._HOMES}
    assert set(dir(twixt)) == {*twixt.__all__, *twixt._ENGINES, "__version__"}
    tree = ast.parse((ROOT / "twixt.py").read_text())
    imports = next(node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    read = {
        alias.name: node.module for node in imports.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert read == twixt._HOMES | dict.fromkeys(twixt._ENGINES, "twixt")
    assert all(getattr(twixt, name).__module__.startswith("twixt") for name in twixt._HOMES if name != "Shape")


def test_what_is_edited_here_is_what_make_setup_runs(tmp_path: Path) -> None:
    if not Path(sys.prefix).is_relative_to(ROOT):
        pytest.skip("these tests run in an environment that `make setup` did not make")
    said = subprocess.run(
        [sys.executable, "-P", "-c", "import twixt; print(twixt.__file__)"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert Path(said.stdout.strip()) == ROOT / "twixt.py"
