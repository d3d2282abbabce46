"""Worlds found by name, and the errors for names, settings and classes that are wrong."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import twixt
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.user_code import UserCodeCrashed, add_user_folders_to_path
from twixt.ipc.scene import Scene, Sphere
from twixt.sim.world.world import World, state_hash
from twixt.sim.worlds import WORLDS
from twixt.sim.worlds.find import load_world, make_world

ORBIT = '''
    import numpy as np
    from twixt import Bodies, Scene, Sphere, World

    class Orbit(World):
        """100 beads on a ring."""
        dt = 1 / 60                                        # seconds of simulated time per step

        def __init__(self, count: int = 100, seed: int = 0):
            self.bodies = Bodies(count)  # structured array views
            self.scene = Scene([Sphere(radius=0.1)] * count)   # shapes, one per body
            self.phase = np.linspace(0, 2 * np.pi, count, endpoint=False)

        def step(self, dt: float) -> None:
            self.phase += dt
            self.bodies.position[:, 0] = np.cos(self.phase)
            self.bodies.position[:, 1] = np.sin(self.phase)
'''


EVERY_TYPE = """
    from __future__ import annotations
    from twixt import Bodies, Scene, Sphere, World

    class Typed(World):
        def __init__(self, whole: int = 1, part: float = 0.5, yes: bool = False, word: str = "a",
                     maybe: int | None = None, plain=3, any=None, seed: int = 0):
            self.got = (whole, part, yes, word, maybe, plain, any, seed)
            self.bodies = Bodies(1)
            self.scene = Scene()
        def step(self, dt): pass

    class Open(World):
        def __init__(self, **settings):
            self.got = settings
            self.bodies = Bodies(0)
            self.scene = Scene()

    class Needs(Typed):
        def __init__(self, size: float):
            super().__init__()

    class Late(Typed):
        def __init__(self):
            import nowhere_to_be_found
"""


@pytest.fixture(autouse=True)
def stands_in_the_users_folder(users_folder: Path) -> None:
    """Sets the current folder of every test here."""


def write(folder: Path, name: str, source: str) -> None:
    (folder / f"{name}.py").write_text(textwrap.dedent(source))


def refused(name: str, *settings: tuple[str, str]) -> str:
    with pytest.raises(TwixtError) as caught:
        load_world(name, settings)
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_built_in_worlds_load_and_give_the_same_bytes_for_the_same_seed(name: str) -> None:
    hashes = []
    for seed in (5, 5):
        world = load_world(name, (), seed)
        for _ in range(20):
            world.step(world.dt)
        hashes.append(state_hash(world))
    assert hashes[0] == hashes[1]


def test_the_first_example_loads_exactly_as_it_is_written(users_folder: Path) -> None:
    write(users_folder, "my_orbit", ORBIT)
    world = load_world("my_orbit:Orbit", (("count", "500"),), seed=3)
    world.step(world.dt)
    assert len(world.bodies) == 500
    assert np.allclose(np.hypot(*world.bodies.position[:, :2].T), 1)


@pytest.mark.parametrize("name", ["sim", "render", "ipc"])
def test_users_modules_may_bear_the_names_of_our_folders(
    users_folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As when twixt.py is run as a file: its folder is the first in sys.path.
    monkeypatch.setattr(sys, "path", [twixt.__path__[0], *sys.path])
    monkeypatch.delitem(sys.modules, name, raising=False)
    write(users_folder, name, ORBIT)
    assert load_world(f"{name}:Orbit").bodies.position.shape == (100, 3)
    assert sys.modules.pop(name).__file__ == str(users_folder / f"{name}.py")


def test_the_users_folder_comes_after_the_library_and_before_ours(
    users_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = twixt.__path__[0]
    monkeypatch.setattr(sys, "path", [house, "/library", house])
    for _ in range(2):
        add_user_folders_to_path()
        assert sys.path == ["/library", str(users_folder), house]


def test_settings_are_read_as_the_constructor_wants_them(users_folder: Path) -> None:
    write(users_folder, "typed", EVERY_TYPE)
    texts = {"whole": "7", "part": "2", "yes": "yes", "word": "12", "maybe": "4", "plain": "5", "any": "x=y"}
    assert load_world("typed:Typed", tuple(texts.items()), seed=9).got == (7, 2.0, True, "12", 4, 5, "x=y", 9)
    assert load_world("typed:Typed", (("yes", "off"), ("seed", "1")), seed=9).got[2:] == (False, "a", None, 3, None, 1)
    assert load_world("typed:Open", (("free", "1"),)).got == {"free": "1"}


@pytest.mark.parametrize(("text", "meant"), [("1e6", 1_000_000), ("10_000", 10_000), ("2.0", 2), ("-1E1", -10)])
def test_a_whole_number_may_be_written_as_people_write_it(users_folder: Path, text: str, meant: int) -> None:
    write(users_folder, "typed", EVERY_TYPE)
    got = load_world("typed:Typed", (("whole", text),)).got[0]
    assert (got, type(got)) == (meant, int)


@pytest.mark.parametrize(
    ("key", "text", "rule"),
    [
        ("whole", "inf", "a whole number"),
        ("whole", "nan", "a whole number"),
        ("whole", "2.5", "a whole number"),
        ("part", "nan", "a finite number"),
        ("yes", "maybe", "true or false"),
        ("plain", "x", "a whole number"),
    ],
)
def test_a_setting_of_the_wrong_type_is_refused_with_its_rule(
    users_folder: Path, key: str, text: str, rule: str
) -> None:
    write(users_folder, "typed", EVERY_TYPE)
    assert refused("typed:Typed", (key, text)) == f"--set {key} of Typed must be {rule}, got '{text}'"


def test_what_is_not_there_is_refused_with_what_is_near(users_folder: Path) -> None:
    write(users_folder, "my_orbit", ORBIT)
    write(users_folder, "typed", EVERY_TYPE)
    assert 'no world named "bals"; did you mean "balls"?' in refused("bals")
    assert "balls, metronome" in refused("something_else")
    assert 'no module named "my_orbi"' in refused("my_orbi:Orbit")
    assert 'did you mean "my_orbit"?' in refused("my_orbi:Orbit")
    assert 'has no class "Orbt"; did you mean "Orbit"?' in refused("my_orbit:Orbt")
    assert 'has no class "np"; it has Orbit' in refused("my_orbit:np")
    assert 'has no setting "cuont"; did you mean "count"?' in refused("my_orbit:Orbit", ("cuont", "3"))
    assert "metronome" in refused("metronom")
    assert "needs a value for size; give it with --set size=VALUE" in refused("typed:Needs")
    assert "Bodies(count) must be a whole number >= 0, got -1" in refused("my_orbit:Orbit", ("count", "-1"))
    assert "got 1,000,000,000, which would need 305,175 MiB" in refused("my_orbit:Orbit", ("count", "1e9"))


@pytest.mark.parametrize("name", [":", "a:", ":A", "a b:C", "a..b:C", "my_orbit.py:", "a:B:C", "../x:Y"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    assert "module:Class" in refused(name)


def test_the_file_instead_of_the_module_is_understood(users_folder: Path) -> None:
    write(users_folder, "my_orbit", ORBIT)
    assert 'did you mean "my_orbit"?' in refused("my_orbit.py:Orbit")


def test_a_module_hidden_behind_one_of_the_library_is_said(users_folder: Path) -> None:
    write(users_folder, "colorsys", ORBIT)
    assert "another module of this name is found before your" in refused("colorsys:Orbit")


def test_a_class_that_is_no_world_is_refused_with_the_way_to_write_it(users_folder: Path) -> None:
    write(users_folder, "other", "class Thing: pass")
    assert "define it as class Thing(World)" in refused("other:Thing")


def test_an_error_in_the_users_module_is_their_crash_with_their_frames_alone(users_folder: Path) -> None:
    write(users_folder, "broken", "def half(x):\n    return x / 0\n\nhalf(1)\n")
    write(users_folder, "typed", EVERY_TYPE)
    write(users_folder, "unreadable", "def half(x:\n")
    for name, said, line in (
        ("broken:World", "importing broken raised ZeroDivisionError: division by zero", "return x / 0"),
        ("typed:Late", "Late.__init__ raised ModuleNotFoundError", "import nowhere_to_be_found"),
        ("unreadable:World", "importing unreadable raised SyntaxError", "def half(x:"),
    ):
        with pytest.raises(UserCodeCrashed, match=said) as caught:
            load_world(name)
        assert line in caught.value.traceback_text
        assert "twixt" not in caught.value.traceback_text.replace(str(users_folder), "")
        assert "importlib" not in caught.value.traceback_text


class Bare(World):
    def step(self, dt: float) -> None: ...


class Sees(Bare):
    """World that records the dt it reads after each line of `__init__`."""

    def __init__(self) -> None:
        self.seen = [self.dt]
        self.dt = 1 / 30
        self.seen.append(self.dt)
        self.bodies, self.scene = twixt.Bodies(2), Scene([Sphere()] * 2)


def test_a_world_sees_the_dt_that_is_asked_for_from_its_first_line_on() -> None:
    world = make_world(Sees, (), 0, dt=0.05)
    assert world.seen == [0.05, 0.05]  # type: ignore[attr-defined]
    assert (type(world), world.dt) == (Sees, 0.05)
    alone = make_world(Sees, (), 0)
    assert alone.seen == [1 / 60, 1 / 30]  # type: ignore[attr-defined]
    assert alone.dt == 1 / 30


def test_the_class_keeps_its_own_dt_whatever_one_of_its_worlds_was_given() -> None:
    class Breaks(Sees):
        dt = 0.25

        def __init__(self) -> None:
            raise ValueError(f"made with {self.dt}")

    with pytest.raises(UserCodeCrashed, match=r"made with 0\.05"):
        make_world(Breaks, (), 0, dt=0.05)
    make_world(Sees, (), 0, dt=0.05)
    assert (Breaks.dt, Sees.dt, World.dt) == (0.25, 1 / 60, 1 / 60)


def test_a_dt_that_cannot_be_set_is_refused_with_the_way_out() -> None:
    class Fixed(Sees):
        @property
        def dt(self) -> float:  # type: ignore[override]
            return 0.25

    with pytest.raises(TwixtError, match=r"Fixed\.dt cannot be set to 0\.05; make it a plain attribute, or leave"):
        make_world(Fixed, (), 0, dt=0.05)


def test_a_dt_beyond_all_bounds_is_refused() -> None:
    with pytest.raises(TwixtError, match=r"Sees\.dt must be seconds .*, got 1000000000"):
        make_world(Sees, (), 0, dt=1e9)


def test_a_folder_that_was_deleted_under_the_user_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "does not exist (No such file or directory); cd to an existing folder" in refused("my_orbit:Orbit")
    assert load_world("metronome").bodies.position.shape == (1, 3)
