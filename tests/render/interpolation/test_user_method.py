"""Methods of the user's own: found, called, checked, and blamed by name."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.interpolation.snapshots import MS, at
from twixt.ipc.errors import TwixtError
from twixt.render.interpolation import create

SOURCE = """
import numpy as np
from types import SimpleNamespace

class Shifted:
    reach_ns = 5
    def __init__(self): self.snapshots = []
    def add(self, snapshot): self.snapshots.append(snapshot)
    def reset(self): self.snapshots.clear()
    def sample(self, draw_time_ns):
        bodies = self.snapshots[-1].bodies
        return SimpleNamespace(position=bodies["position"] + 1.0, orientation=bodies["orientation"] * 2)

class Unfinished(Shifted):
    sample = None
    reset = None

class Raising(Shifted):
    def sample(self, draw_time_ns): return 1 / 0

class Leaving(Shifted):
    def sample(self, draw_time_ns): raise SystemExit("no more")

class Refusing(Shifted):
    def __init__(self): raise KeyError("colour")

class Flat(Shifted):
    def sample(self, draw_time_ns): return SimpleNamespace(position=np.zeros((2, 2)))

class Worded(Shifted):
    def sample(self, draw_time_ns): return SimpleNamespace(position=np.array([["a", "b", "c"]]))

class Silent(Shifted):
    def sample(self, draw_time_ns): return None

class Short(Shifted):
    def sample(self, draw_time_ns):
        return SimpleNamespace(position=np.zeros((2, 3)), orientation=np.zeros((1, 4)))

class Ragged(Shifted):
    def sample(self, draw_time_ns): return SimpleNamespace(position=[[1, 2, 3], [4]])

class Timeless(Shifted):
    def sample(self, draw_time_ns):
        poses = super().sample(draw_time_ns)
        poses.draw_time_ns = "now"
        return poses

class Listed(Timeless):
    def sample(self, draw_time_ns):
        poses = Shifted.sample(self, draw_time_ns)
        poses.columns = [1, 2]
        return poses

class OneNumber(Timeless):
    def sample(self, draw_time_ns):
        poses = Shifted.sample(self, draw_time_ns)
        poses.columns = {"heat": 1.0}
        return poses

class RaggedColumn(Timeless):
    def sample(self, draw_time_ns):
        poses = Shifted.sample(self, draw_time_ns)
        poses.columns = {"heat": [[1], [1, 2]]}
        return poses

class Lazy(Shifted):
    @property
    def position(self): return 1 / 0
    def sample(self, draw_time_ns): return self

class Broken(Shifted):
    def sample(self, draw_time_ns):
        position = np.zeros((3, 3)); position[0] = np.nan; position[1] = 1e300
        return SimpleNamespace(position=position, orientation=np.zeros((3, 4)), color=np.full((3, 4), 300))

from twixt.render.interpolation import Method
from twixt.render.interpolation.poses import poses_of

class Halfway(Method):
    def blend(self, previous, following, alpha, draw_time_ns):
        return poses_of(draw_time_ns, following.bodies)

def function(): pass
"""


@pytest.fixture(autouse=True)
def methods_of_the_users(users_folder):
    (users_folder / "my_methods.py").write_text(SOURCE)
    (users_folder / "my_crash.py").write_text("import missing_thing_of_theirs\n")


def own(name):
    method = create(f"my_methods:{name}")
    method.add(at(0, [1, 2]))
    method.add(at(10 * MS, [3, 4]))
    return method


def test_class_is_found_and_drawn_with_what_it_left_out_taken_from_the_snapshots():
    method = own("Shifted")
    assert method.reach_ns == 5
    poses = method.sample(5 * MS)
    assert poses.position[:, 0].tolist() == [4, 5]
    assert poses.position.dtype == np.float64
    assert poses.orientation.tolist() == [[0, 0, 0, 1]] * 2
    assert poses.visible.all()
    assert poses.scale.tolist() == [1, 1]
    assert poses.draw_time_ns == 5 * MS
    newest_ns = method.snapshots[-1].sim_time_ns
    assert method.sample(newest_ns + 3).draw_time_ns == newest_ns + 3, "it reaches 5 ns further"
    assert method.sample(newest_ns + 9).draw_time_ns == newest_ns + 5


def test_subclass_of_a_method_blends_the_columns_by_their_rules():
    method = create("my_methods:Halfway", {"c": "latest"})
    for k in range(2):
        method.add(at(k * 10, [k], columns={"c": np.array([k * 4.0]), "d": np.array([k * 4.0])}))
    poses = method.sample(5)
    assert (poses.position[0, 0], poses.columns["c"][0], poses.columns["d"][0]) == (1, 4, 2)


def test_duplicates_and_old_worlds_do_not_reach_the_users_class_and_a_new_world_resets_it():
    method = own("Shifted")
    method.add(at(10 * MS, [9, 9]))
    assert method.sample(0).position[0, 0] == 4
    method.add(at(0, [7], world_epoch=1))
    assert method.sample(0).position[:, 0].tolist() == [8]
    method.reset()
    assert len(method.sample(0)) == 0


def test_what_is_not_finite_is_hidden_and_counted():
    poses = own("Broken").sample(0)
    assert poses.visible.tolist() == [False, False, True]
    assert poses.not_finite == 2
    assert poses.color.max() == 255


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("my_method:Shifted", r'interpolation: no module named "my_method" .*did you mean "my_methods"\?'),
        ("my_methods:Shiftet", r'has no "Shiftet"; did you mean "Shifted"\?'),
        ("my_methods:Zzz", r"has no \"Zzz\"; define it there: class Zzz with add, sample and reset"),
        ("my_methods:Unfinished", r"my_methods:Unfinished has no sample and no reset; a method needs add"),
        ("my_methods:function", r"my_methods:function must be a class with add, sample, reset"),
        ("my_methods:Refusing", r"my_methods:Refusing.__init__ raised KeyError: 'colour'"),
        ("my_crash:Any", r"importing my_crash raised ModuleNotFoundError"),
        ("my_methods.py:Shifted:", r"must be module:name"),
    ],
)
def test_what_cannot_be_used_is_refused(reference, said):
    with pytest.raises(TwixtError, match=said):
        create(reference)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Raising", r"my_methods:Raising.sample raised ZeroDivisionError: division by zero"),
        ("Leaving", r"my_methods:Leaving.sample raised SystemExit: no more"),
        ("Flat", r"my_methods:Flat.sample must return poses with position \(n, 3\), got \(2, 2\)"),
        ("Ragged", r"position \(n, 3\), of numbers, got a value that is not an array: ValueError"),
        ("Timeless", r"Timeless.sample must return poses with draw_time_ns in whole nanoseconds, got 'now'"),
        ("Listed", r"Listed.sample must return poses with columns as arrays by name, got list"),
        ("OneNumber", r"columns as arrays by name, a row for each body, got 1.0 for 'heat'"),
        ("RaggedColumn", r"columns as arrays by name; of 'heat', got a value that is not an array"),
        ("Lazy", r"my_methods:Lazy.sample's position raised ZeroDivisionError"),
        ("Worded", r"position \(n, 3\), of numbers, got <U1"),
        ("Silent", r"position \(n, 3\), got NoneType without it"),
        ("Short", r"orientation \(2, 4\), got \(1, 4\)"),
    ],
)
def test_faults_of_the_users_sample_are_told(name, said):
    with pytest.raises(TwixtError, match=said):
        own(name).sample(0)


def test_traceback_of_a_fault_is_the_users_alone():
    with pytest.raises(TwixtError) as caught:
        own("Raising").sample(0)
    assert "my_methods.py" in caught.value.traceback_text
    assert "own.py" not in caught.value.traceback_text
