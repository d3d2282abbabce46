"""A newer state of a simulated time that is known already, by every method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.render.interpolation.snapshots import MS, at, bytes_of, method_of
from twixt.ipc.snapshot import HAS_VELOCITY, VISIBLE
from twixt.render.interpolation import METHODS, create


def stated(time_ms: int, x, tick: int, **fields):
    return replace(at(time_ms * MS, x, **fields), tick=tick)


def moving(name: str):
    """Two bodies on their way in steps of 10 ms; drawn, as a viewer does, up to the newest and a little beyond it."""
    method = create(name)
    for k in range(5):
        fields = {"velocity": (100, 0, 0), "flags": VISIBLE | HAS_VELOCITY}
        method.add(stated(10 * k, [k, k], k, columns={"heat": np.full(2, k, np.float32)}, **fields))
        method.sample(10 * k * MS)
    method.sample(42 * MS)
    return method


@pytest.mark.parametrize("drawn_ms", [40, 42, 50])
@pytest.mark.parametrize("name", METHODS)
def test_a_newer_state_of_the_newest_instant_takes_its_place_at_once_and_as_it_is(name, drawn_ms):
    method = moving(name)
    for tick, x in ((5, 9.0), (6, -7.0)):
        heat = np.array([x, x], np.float32)
        method.add(stated(40, [x, x], tick, columns={"heat": heat}))
        poses = method.sample(drawn_ms * MS)
        np.testing.assert_array_equal(poses.position[:, 0], [x, x])
        np.testing.assert_array_equal(poses.columns["heat"], heat)
    assert len(method.snapshots) == 5
    method.add(stated(50, [-6, -6], 7))
    assert method.sample(drawn_ms * MS).position[0, 0] < -5, "not back to what was replaced"


@pytest.mark.parametrize("name", METHODS)
def test_duplicates_and_older_states_of_an_instant_are_ignored(name):
    method = method_of(name, stated(0, 0, 3), stated(10, 1, 4))
    before = bytes_of(method.sample(10 * MS))
    for late in (stated(10, 50, 4), stated(10, 50, 2), stated(0, 50, 3)):
        method.add(late)
        assert bytes_of(method.sample(10 * MS)) == before
    assert len(method.snapshots) == 2


@pytest.mark.parametrize("name", ["linear", "hermite", "auto", "catmull", "quadratic"])
def test_what_leads_to_an_instant_leads_to_its_newest_state(name):
    method = method_of(name, stated(0, 0, 0), stated(10, 1, 1), stated(10, 5, 2))
    assert method.sample(5 * MS).position[0, 0] == pytest.approx(2.5)


def test_a_body_that_was_not_edited_keeps_its_filter_and_an_edited_one_begins_anew():
    edited, plain = moving("kalman"), moving("kalman")
    state = plain.snapshots[-1].bodies
    edit = replace(edited.snapshots[-1], tick=9, bodies=edited._published.copy())
    edit.bodies["position"][1, 0] = 50
    edited.add(edit)
    assert edited.snapshots[-1].bodies[0] == state[0]
    assert edited.snapshots[-1].bodies["position"][1, 0] == 50


def test_a_method_of_the_users_own_is_given_the_newer_state(monkeypatch, tmp_path):
    source = """
class Newest:
    def __init__(self): self.snapshots = []
    def add(self, snapshot): self.snapshots.append(snapshot)
    def reset(self): self.snapshots.clear()
    def sample(self, draw_time_ns): return self.snapshots[-1].bodies.view(__import__("numpy").recarray)
"""
    (tmp_path / "standing_methods.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    method = method_of("standing_methods:Newest", stated(0, 1, 0), stated(0, 2, 0), stated(0, 3, 1))
    assert method.sample(0).position[0, 0] == 3
    assert len(method._users.snapshots) == 2
