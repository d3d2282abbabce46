"""Marks of a world, from its step to the snapshot that viewers read."""

from __future__ import annotations

import numpy as np
import pytest

from tests.newest import newest
from tests.sim.lab import Lab, MakeHost, ResettableWalk
from twixt.ipc.config.troubles import Troubles
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.user_code import UserCodeCrashed
from twixt.ipc.scene.mark_texts import text_of_label
from twixt.ipc.session import attach
from twixt.ipc.snapshot import Snapshot
from twixt.sim.world.marks import Marks
from twixt.sim.world.world import state_hash
from twixt.sim.world.world_guard import check_world


class Counted(ResettableWalk):
    """A walk with as many marks as steps were made, each labelled with the step."""

    def __init__(self) -> None:
        super().__init__()
        self.marks = Marks()
        self.steps = 0

    def step(self, dt: float) -> None:
        super().step(dt)
        self.steps += 1
        self.marks.clear()
        self.marks.add("axes", np.zeros((self.steps, 3)), size=0.1, label=f"step {self.steps}")


def newest_of_lab() -> Snapshot:
    link = attach("lab")
    snapshot = newest(link)
    link.close()
    return snapshot


@pytest.mark.parametrize("troubles", [Troubles(), Troubles(delay_ms=(30, 20)), Troubles(drop_percent=50)], ids=repr)
def test_every_snapshot_has_the_marks_of_its_step_through_delays_and_losses(
    make_host: MakeHost, troubles: Troubles
) -> None:
    lab = Lab(make_host(capacity=500), Counted(), troubles=troubles)
    seen = 0
    for _ in range(60):
        lab.run_ms(20)
        snapshot = newest_of_lab()
        assert len(snapshot.marks) == snapshot.tick
        texts = {text_of_label(int(label), snapshot.texts) for label in snapshot.marks["label"]}
        assert texts == ({f"step {snapshot.tick}"} if snapshot.tick else set())
        seen += snapshot.tick > 0
    assert seen > 30


def test_marks_are_no_part_of_the_state_that_is_hashed() -> None:
    world = Counted()
    world.step(0.01)
    before = state_hash(world)
    world.marks.clear()
    assert state_hash(world) == before


def test_a_reset_clears_the_marks(make_host: MakeHost) -> None:
    lab = Lab(make_host(capacity=100), Counted())
    lab.run_steps(3)
    lab.ask("reset")
    snapshot = newest_of_lab()
    assert (snapshot.tick, len(snapshot.marks)) == (0, 0)


def test_marks_of_another_type_are_refused_in_words(make_host: MakeHost) -> None:
    world = Counted()
    world.marks = [1, 2]  # type: ignore[assignment]
    with pytest.raises(TwixtError, match=r"Counted.marks must be a Marks, got list; set self.marks = Marks\(\) in"):
        check_world(world)
    lab = Lab(make_host(), Counted())
    lab.world.marks = (1, 2)  # type: ignore[assignment]
    with pytest.raises(UserCodeCrashed, match="Counted.marks must be a Marks, got tuple"):
        lab.physics._publish()


def test_a_mark_that_cannot_be_drawn_is_reported_once(make_host: MakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    class Faulty(Counted):
        def step(self, dt: float) -> None:
            super().step(dt)
            self.marks.add("sphere", (0, np.nan, 0), size=1)

    lab = Lab(make_host(capacity=100), Faulty())
    lab.run_steps(5)
    said = capsys.readouterr().err
    assert said.count("a mark of kind 'sphere' has the position") == 1
    assert "after step 1; it is not drawn; look in Faulty.step for a division by zero" in said


def test_a_mark_on_a_body_that_does_not_exist_is_reported_once(
    make_host: MakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    class Faulty(Counted):
        def step(self, dt: float) -> None:
            super().step(dt)
            self.marks.add("sphere", (0, 0, 0), size=1, body=90)

    lab = Lab(make_host(capacity=100), Faulty())
    lab.run_steps(5)
    said = capsys.readouterr().err
    assert said.count("a mark of kind 'sphere' is attached to body 90, but there are ") == 1
