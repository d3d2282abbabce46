"""Marks of the user's geoms: those of a fresh computation after any edit, though only what changed is computed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.test_interruptions import is_interrupted_at
from twixt.sim.engines.mujoco.visual import user_geoms
from twixt.sim.engines.mujoco.visual.geom_memory import LabelTexts, geom_records
from twixt.sim.engines.mujoco.visual.user_geoms import UserMarks
from twixt.sim.world.marks import Marks

mujoco = pytest.importorskip("mujoco")

OF_USER, OF_NAMED = 3 << 52, 4 << 52
GEOMS = 2_500
KINDS = mujoco.mjtGeom
ONE_EACH = (KINDS.mjGEOM_LINE, KINDS.mjGEOM_SPHERE, KINDS.mjGEOM_BOX, KINDS.mjGEOM_ARROW)
OTHERS = (KINDS.mjGEOM_ARROW2, KINDS.mjGEOM_LINEBOX, KINDS.mjGEOM_MESH)
EDITS = ("move", "recolour", "label", "kind", "compound", "grow", "shrink", "nothing", "break", "none")


class Geoms:
    """A scene of the user's, and the marks of its geoms."""

    def __init__(self) -> None:
        self.scene = mujoco.MjvScene(mujoco.MjModel.from_xml_string("<mujoco/>"), GEOMS)
        self.random = np.random.default_rng(7)
        for place in range(GEOMS):
            self.fill(place, ONE_EACH[place % len(ONE_EACH)])
        self.all = geom_records(self.scene)
        self.count = GEOMS - 400
        self.marks = Marks()
        self.made = UserMarks(self.marks, LabelTexts(), OF_USER, OF_NAMED)

    def fill(self, place: int, kind: Any) -> None:
        turn, numbers = np.zeros(9), self.random.normal(size=(3, 4))
        mujoco.mju_quat2Mat(turn, numbers[0] / np.linalg.norm(numbers[0]))
        color = self.random.random(4).astype(np.float32)
        mujoco.mjv_initGeom(self.scene.geoms[place], kind, np.abs(numbers[1, :3]), numbers[2, :3], turn, color)

    @property
    def now(self) -> np.ndarray:
        return self.all[: self.count]

    def expected(self) -> np.ndarray:
        """The marks of a fresh computation."""
        marks = Marks()
        UserMarks(marks, LabelTexts(), OF_USER, OF_NAMED).show(self.now)
        return marks.records.copy()

    def require_all(self) -> None:
        # Labels are numbered in the order in which they came.
        names = [name for name in self.marks.records.dtype.names or () if name != "label"]
        expected = self.expected()
        assert len(self.marks) == len(expected)
        for name in names:
            assert np.array_equal(self.marks.records[name], expected[name], equal_nan=name != "key"), name
        assert np.array_equal(self.marks.records["label"] > 0, expected["label"] > 0)

    def edit(self, kind: str) -> None:
        rows = np.sort(self.random.choice(self.count, min(self.count, 7), replace=False))
        if kind == "move":
            self.now["pos"][rows] += 1
        elif kind == "recolour":
            self.now["rgba"][rows, 1] = self.random.random()
        elif kind == "label":
            for row in rows.tolist():
                self.scene.geoms[row].label = f"label {row}"
        elif kind == "kind":
            self.now["type"][rows] = int(ONE_EACH[int(self.random.integers(len(ONE_EACH)))])
        elif kind == "compound":
            self.now["type"][rows] = int(OTHERS[int(self.random.integers(len(OTHERS)))])
        elif kind == "grow":
            self.count = min(GEOMS, self.count + 150)
        elif kind == "shrink":
            self.count = max(0, self.count - 250)
        elif kind == "break":
            self.now["pos"][rows, 0] = np.nan
        elif kind == "none":
            self.now["type"][:] = int(KINDS.mjGEOM_LINE)
            self.now["pos"][:] = 1
            self.count = 0


@pytest.fixture
def geoms() -> Geoms:
    return Geoms()


def test_after_any_edit_the_marks_are_those_of_a_fresh_computation(geoms: Geoms) -> None:
    kinds = [*EDITS, *geoms.random.choice(EDITS[:-2], 60).tolist(), "grow", "move"]
    for kind in kinds:
        geoms.edit(kind)
        geoms.made.show(geoms.now)
        geoms.require_all()
        assert bool(geoms.marks.fault) == bool(np.isnan(geoms.marks.records["position"]).any())


def test_marks_of_the_model_stand_behind_and_go_with_the_next_state(geoms: Geoms) -> None:
    geoms.made.show(geoms.now)
    geoms.marks.extend(geoms.expected()[:3])
    geoms.edit("move")
    geoms.made.show(geoms.now)
    geoms.require_all()
    geoms.marks.extend(geoms.expected()[:3])
    geoms.made.show(None)
    geoms.require_all()


def test_only_geoms_that_changed_are_computed(geoms: Geoms, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []
    original = user_geoms.mark_records

    def counted(records: Any, *arguments: Any) -> Any:
        computed.append(len(records))
        return original(records, *arguments)

    geoms.made.show(geoms.now)
    monkeypatch.setattr(user_geoms, "mark_records", counted)
    geoms.made.show(geoms.now)
    assert computed == []
    geoms.now["pos"][[3, 1500, 1501]] += 1
    geoms.made.show(geoms.now)
    assert sum(computed) == 3
    geoms.count += 5
    geoms.made.show(geoms.now)
    assert sum(computed) == 8


@pytest.mark.parametrize("kind", ["move", "compound"])
def test_an_interruption_anywhere_leaves_the_next_marks_whole(geoms: Geoms, kind: str) -> None:
    geoms.count = 60
    number, is_inside = 1, True
    while is_inside:
        geoms.edit(kind)
        geoms.count = 60 + number % 3
        is_inside = is_interrupted_at(number, partial(geoms.made.show, geoms.now))
        geoms.made.show(geoms.now)
        geoms.require_all()
        number += 1
    assert number > 5
