"""Surfaces of a world, from its step to the snapshot that viewers read."""

from __future__ import annotations

import numpy as np
import pytest

from tests.newest import newest
from tests.sim.lab import Lab, MakeHost
from tests.sim.world.test_surfaces import SCENE, SHEET, Flag
from twixt.ipc.config.troubles import Troubles
from twixt.ipc.process.user_code import UserCodeCrashed
from twixt.ipc.session import attach
from twixt.ipc.snapshot import Snapshot
from twixt.sim.world.marks import Marks, first_capacity
from twixt.sim.world.surfaces import Surfaces


class Marked(Flag):
    """A flag with as many marks as steps were made."""

    def __init__(self) -> None:
        super().__init__()
        self.marks = Marks()
        self.steps = 0

    def step(self, dt: float) -> None:
        super().step(dt)
        self.steps += 1
        assert self.marks is not None
        self.marks.clear()
        self.marks.add("axes", np.zeros((self.steps, 3)), size=0.1)


def newest_of_lab() -> Snapshot:
    link = attach("lab")
    snapshot = newest(link)
    link.close()
    return snapshot


@pytest.mark.parametrize("world", [Flag, Marked])
@pytest.mark.parametrize("troubles", [Troubles(), Troubles(delay_ms=(30, 20)), Troubles(drop_percent=50)], ids=repr)
def test_every_snapshot_has_the_vertices_of_its_step_through_delays_and_losses(
    make_host: MakeHost, troubles: Troubles, world: type[Flag]
) -> None:
    lab = Lab(make_host(capacity=500), world(), troubles=troubles)
    seen = 0
    for _ in range(40):
        lab.run_ms(20)
        snapshot = newest_of_lab()
        assert snapshot.vertices.shape == (7, 3)
        assert (snapshot.vertices[3:, 2] == snapshot.tick).all()
        assert (snapshot.vertices[3:, :2] == SHEET[:, :2]).all()
        assert len(snapshot.marks) == (snapshot.tick if world is Marked else 0)
        seen += snapshot.tick > 0
    assert seen > 20


def test_there_is_room_for_surfaces_from_the_start() -> None:
    surfaces = Surfaces(SCENE)
    assert first_capacity(3, None, surfaces) == 3 + len(surfaces.records)
    assert first_capacity(3, Marks(), surfaces) * 3 // 4 >= 3 + len(surfaces.records) + 256


def test_a_vertex_that_cannot_be_drawn_is_reported_once(
    make_host: MakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    class Faulty(Flag):
        def step(self, dt: float) -> None:
            super().step(dt)
            self.surfaces[0][1] = np.nan  # type: ignore[index]

    lab = Lab(make_host(capacity=100), Faulty())
    lab.run_steps(5)
    said = capsys.readouterr().err
    assert (
        said.count("vertex 1 of the surface of body 0 is at [nan, nan, nan] after step 1; that body is not drawn") == 1
    )


def test_surfaces_replaced_by_something_else_end_the_run_in_words(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Flag())
    lab.world.surfaces = SHEET
    with pytest.raises(UserCodeCrashed, match="Flag.surfaces must be a Surfaces, got ndarray"):
        lab.physics._publish()
