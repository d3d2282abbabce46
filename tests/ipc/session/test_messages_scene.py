"""Cameras that travel by themselves: the newest counts, a camera that is sent again is news, and meshes are used again."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Box, Camera, Compound, Material, Mesh, Part, Scene, Sphere, Texture
from twixt.ipc.scene.scene import packed_scene, unpacked_scene
from twixt.ipc.session.messages import ReceivedScene

ASIDE, ABOVE = Camera((5, 0, 0)), Camera((0, 0, 5), body=1, rotates_with_body=False, locked=True)
CORNERS = np.eye(4, 3)
FACES = [(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)]


def camera(version: int, camera: Camera | None) -> dict[str, Any]:
    return {"version": version, "camera": None if camera is None else asdict(camera)}


def scene_fields(version: int, camera_version: int, since: int = 0) -> dict[str, int]:
    return {"version": version, "camera_version": camera_version, "since": since}


@pytest.fixture
def received() -> ReceivedScene:
    taken = ReceivedScene()
    taken.apply_scene(scene_fields(1, 1), packed_scene(Scene([Sphere(), Box()], camera=ASIDE)).to_bytes())
    return taken


def test_a_camera_replaces_the_scenes_and_leaves_its_shapes(received: ReceivedScene) -> None:
    before = received.scene
    received.apply_camera(camera(2, ABOVE))
    assert (received.scene.camera, received.version, received.cameras) == (ABOVE, 1, 1)
    assert received.scene.shapes is before.shapes
    assert before.camera == ASIDE
    received.apply_camera(camera(3, None))
    assert received.scene.camera is None


def test_a_camera_that_is_sent_again_is_news_and_an_older_one_is_none(received: ReceivedScene) -> None:
    for version, count in ((2, 1), (3, 2), (3, 2), (1, 2)):
        received.apply_camera(camera(version, ABOVE))
        assert received.cameras == count
    received.apply_scene(scene_fields(2, 5), packed_scene(Scene([Sphere()], camera=ASIDE)).to_bytes())
    received.apply_camera(camera(4, ABOVE))
    assert (received.scene.camera, received.cameras) == (ASIDE, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"version": 2, "camera": {"eye": [1, 2, 3], "target": [1, 2, 3]}},
        {"version": 2, "camera": {"lens": 1}},
        {"version": 2, "camera": {"body": 1 << 40}},
        {"version": 2, "camera": [1, 2]},
        {"version": "new", "camera": None},
    ],
)
def test_a_camera_that_is_none_is_refused(received: ReceivedScene, fields: dict[str, Any]) -> None:
    with pytest.raises(TwixtError):
        received.apply_camera(fields)
    assert received.scene.camera == ASIDE


def test_a_camera_before_any_scene_is_refused() -> None:
    with pytest.raises(TwixtError, match="a camera before its scene"):
        ReceivedScene().apply_camera(camera(2, ASIDE))


def test_meshes_of_the_scene_before_are_used_again_also_as_parts_and_in_another_color() -> None:
    mesh, image = Mesh(CORNERS, FACES, "smooth", color=(1, 0, 0)), Texture.checker()
    before = unpacked_scene(packed_scene(Scene([mesh, Sphere(material=Material(image))])).to_bytes())
    known = before.shapes[0]
    assert isinstance(known, Mesh)
    green, other = mesh.recolored((0, 1, 0), Material(image)), Mesh(CORNERS * 2, FACES)
    packed = packed_scene(Scene([Sphere(), Compound([Part(green), Part(other)])]))
    changed = packed.to_bytes(known=packed_scene(before).contents)
    assert len(packed.to_bytes()) - len(changed) == image.pixels.nbytes + sum(array.nbytes for array in mesh.arrays)
    scene = unpacked_scene(changed, before)
    assert packed_scene(scene).to_bytes() == packed.to_bytes()
    compound = scene.shapes[1]
    assert isinstance(compound, Compound)
    again, new = (part.shape for part in compound.parts)
    assert isinstance(again, Mesh)
    assert again.vertices is known.vertices
    assert (again.color, known.color) == ((0, 1, 0), (1, 0, 0))
    assert new == other


def test_contents_that_were_left_out_and_are_not_known_are_refused(received: ReceivedScene) -> None:
    for shape in (Mesh(CORNERS, FACES), Sphere(material=Material(Texture.checker()))):
        packed = packed_scene(Scene([shape]))
        with pytest.raises(TwixtError):
            received.apply_scene(scene_fields(2, 2, since=1), packed.to_bytes(known=packed.contents))
        assert received.version == 1
        received.apply_scene(scene_fields(1, 1), packed.to_bytes())
        received.apply_scene(scene_fields(1, 1, since=1), packed.to_bytes(known=packed.contents))
        assert received.scene.shapes == [shape]
        received.apply_scene(scene_fields(1, 1), packed_scene(Scene([Sphere()])).to_bytes())


def test_a_scene_that_follows_one_that_did_not_come_is_refused(received: ReceivedScene) -> None:
    with pytest.raises(TwixtError, match="a scene that it did not send"):
        received.apply_scene(scene_fields(8, 8, since=7), packed_scene(Scene([Sphere()])).to_bytes())


def test_a_digest_of_other_arrays_is_refused_and_one_of_other_lengths_is_not_taken() -> None:
    small, large = Mesh(CORNERS, FACES), Mesh(CORNERS * 2, FACES[:2])
    forged = packed_scene(Scene([large])).to_bytes().replace(large.digest.hex().encode(), small.digest.hex().encode())
    for before in (None, Scene([small])):
        with pytest.raises(TwixtError, match=r"digest|damaged|bytes of indices"):
            unpacked_scene(forged, before)
    cut = packed_scene(Scene([small])).to_bytes()[:-1]
    with pytest.raises(TwixtError):
        unpacked_scene(cut, Scene([small]))
