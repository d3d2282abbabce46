"""Surfaces that a user's own loop publishes, as a reader receives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import twixt
from tests.sim.watched import Watched
from tests.sim.world.test_surfaces import SCENE, SHEET, TRIANGLE
from twixt.ipc.errors import TwixtError
from twixt.sim.world.marks import Marks
from twixt.sim.world.surfaces import Surfaces

ORIGINS = np.zeros((3, 3))


@pytest.fixture
def watched() -> Iterator[Watched]:
    both = Watched(SCENE)
    yield both
    both.link.close()
    both.view.close()


def test_vertices_stay_as_they_were_where_none_are_passed(watched: Watched) -> None:
    view = watched.view
    view.publish(position=ORIGINS)
    assert len(watched.newest().vertices) == 0
    view.publish(position=ORIGINS, surfaces={2: SHEET + 1})
    assert watched.newest().vertices.tolist() == [*TRIANGLE.tolist(), *(SHEET + 1).tolist()]
    view.publish(position=ORIGINS, surfaces={0: TRIANGLE - 5})
    assert watched.newest().vertices.tolist() == [*(TRIANGLE - 5).tolist(), *(SHEET + 1).tolist()]
    view.publish(position=ORIGINS)
    assert watched.newest().vertices.tolist() == [*(TRIANGLE - 5).tolist(), *(SHEET + 1).tolist()]
    whole = Surfaces(SCENE)
    whole.vertices[:] = 3
    view.publish(position=ORIGINS, surfaces=whole)  # type: ignore[arg-type]
    assert (watched.newest().vertices == 3).all()


def test_vertices_and_marks_of_one_publish_arrive_together(watched: Watched) -> None:
    marks = Marks()
    for count in (3, 0, 40, 1):
        marks.clear()
        marks.add("sphere", np.zeros((count, 3)), size=0.1)
        watched.view.publish(position=ORIGINS + count, marks=marks, surfaces={2: SHEET + count})
        seen = watched.newest()
        assert seen.marks.tobytes() == marks.records.tobytes()
        assert seen.vertices[3:].tolist() == (SHEET + count).tolist()
        assert (seen.bodies["position"] == count).all()


def test_bodies_written_in_place_have_surfaces_too(watched: Watched) -> None:
    for count in range(1, 40):
        with watched.view.slot(3, surfaces={0: TRIANGLE * count}) as records:
            records["position"][:, 0] = count
        seen = watched.newest()
        assert seen.vertices[:3].tolist() == (TRIANGLE * count).tolist()
        assert (seen.bodies["position"][:, 0] == count).all()
        assert (seen.bodies["scale"] == 1).all()


def test_one_deforming_body_may_be_passed_as_an_array() -> None:
    watched = Watched(twixt.Scene([twixt.Sphere(), SCENE.shapes[2]]))
    watched.view.publish(position=ORIGINS[:2], surfaces=SHEET + 4)
    assert watched.newest().vertices.tolist() == (SHEET + 4).tolist()
    watched.link.close()
    watched.view.close()


@pytest.mark.parametrize(
    ("surfaces", "words"),
    [
        (SHEET, r"must be \{body: vertices\} if several bodies deform; here 2 deform"),
        ({1: SHEET}, r"only the bodies that deform have surfaces, 0, 2; got 1"),
        ({0: SHEET}, r"publish\(surfaces\) of body 0 must be numbers of shape \(3, 3\), got float64 of shape \(4, 3\)"),
        ({0: "abc"}, r"publish\(surfaces\) of body 0 must be numbers of shape \(3, 3\), got <U3"),
    ],
)
def test_what_is_refused_changes_nothing(watched: Watched, surfaces: Any, words: str) -> None:
    for before in (None, {2: SHEET + 1}):
        if before is not None:
            watched.view.publish(position=ORIGINS, surfaces=before)
        wrong = {2: SHEET + 9} | surfaces if isinstance(surfaces, dict) else surfaces
        with pytest.raises(TwixtError, match=words):
            watched.view.publish(position=ORIGINS, surfaces=wrong)
        watched.view.publish(position=ORIGINS)
        seen = watched.newest().vertices
        assert len(seen) == 0 if before is None else (seen[3:] == SHEET + 1).all()
    watched.view.publish(position=ORIGINS, surfaces={0: TRIANGLE})
    assert (watched.newest().vertices[3:] == SHEET + 1).all()


def test_surfaces_need_a_body_that_deforms_and_no_ids(watched: Watched) -> None:
    with pytest.raises(TwixtError, match="surfaces cannot be combined with ids"):
        watched.view.publish(position=ORIGINS, ids=[7, 8, 9], surfaces={0: TRIANGLE})
    stiff = Watched(twixt.Scene([twixt.Sphere()]))
    with pytest.raises(TwixtError, match=r"publish\(surfaces\) needs a body that deforms; make its shape Mesh"):
        stiff.view.publish(position=ORIGINS[:1], surfaces=SHEET)
    stiff.link.close()
    stiff.view.close()


def test_another_scene_begins_with_its_own_rest_shapes(watched: Watched) -> None:
    watched.view.publish(position=ORIGINS, surfaces={0: TRIANGLE + 1, 2: SHEET + 1})
    watched.view.scene = twixt.Scene([SCENE.shapes[2], twixt.Sphere(), SCENE.shapes[2]])
    watched.view.publish(position=ORIGINS)
    assert watched.newest().vertices.tolist() == [*SHEET.tolist(), *(SHEET + 1).tolist()]
    watched.view.scene = twixt.Scene([twixt.Sphere()] * 3)
    watched.view.publish(position=ORIGINS)
    assert len(watched.newest().vertices) == 0


def test_a_vertex_that_cannot_be_drawn_is_reported_once(watched: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        watched.view.publish(position=ORIGINS, surfaces={0: TRIANGLE * np.nan})
    said = capsys.readouterr().err
    assert said.count("vertex 0 of the surface of body 0 is at [nan, nan, nan] after step 0") == 1
    assert "look in the loop for a division by zero" in said
