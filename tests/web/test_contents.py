"""The page's meshes and textures, collected from pieces."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from tests.web.in_node import run_in_node
from twixt import Box, Material, Mesh, Scene, Sphere, Texture
from twixt.ipc.scene.scene import packed_scene

SCRIPT = """
const {Contents} = await import(WEB + "contents.js");
const contents = new Contents(given.mostBytes);
const listed = (value) => ArrayBuffer.isView(value) ? [...value] : value;
const plain = (one) => one && Object.fromEntries(Object.entries(one).map(([key, value]) => [key, listed(value)]));
answer(given.acts.map(([act, value]) => {
  const found = {};
  if (act === "begin") found.have = contents.begin();
  if (act === "scene") contents.announce(value);
  if (act === "piece") found.added = contents.add({...value, bytes: Buffer.from(value.bytes, "base64")});
  if (act === "mesh") found.mesh = plain(contents.mesh(value));
  if (act === "texture") found.texture = plain(contents.texture(value));
  const {isComplete, isLost, trouble, bytes, progress} = contents;
  return {...found, isComplete, isLost, trouble, bytes, progress};
}));
"""
RNG = np.random.default_rng(3)
MESH = Mesh(RNG.normal(0, 1, (5, 3)), RNG.integers(0, 5, (7, 3)), RNG.normal(0, 1, (5, 3)))
PLAIN_MESH = Mesh(RNG.normal(0, 1, (4, 3)), [(0, 1, 2), (1, 2, 3)], uv=RNG.random((4, 2)))
OPAQUE = Texture(RNG.integers(0, 255, (4, 6, 3), np.uint8))
HOLES = Texture(RNG.integers(0, 255, (3, 3, 4), np.uint8))
SCENE = Scene([MESH, PLAIN_MESH, Box(material=Material(OPAQUE)), Sphere(material=Material(HOLES))])


def pieces(scene: Scene, length: int = 50) -> list[list[Any]]:
    """Acts that bring all contents of a scene, in pieces of at most `length` bytes."""
    acts = []
    for digest, arrays in packed_scene(scene).contents.items():
        content = b"".join(array.tobytes() for array in arrays)
        for offset in range(0, len(content), length):
            part = base64.b64encode(content[offset : offset + length]).decode()
            acts.append(["piece", {"digest": digest.hex(), "offset": offset, "size": len(content), "bytes": part}])
    return acts


def head(scene: Scene) -> Any:
    return json.loads(packed_scene(scene).tables.partition(b"\n")[0])


def size_of(scene: Scene) -> int:
    return sum(array.nbytes for arrays in packed_scene(scene).contents.values() for array in arrays)


def run(*acts: list[Any], most_bytes: int = 1 << 20) -> list[Any]:
    answers: list[Any] = run_in_node(SCRIPT, {"mostBytes": most_bytes, "acts": list(acts)})
    return answers


def test_pieces_become_the_meshes_and_textures_of_the_scene() -> None:
    acts = [["scene", head(SCENE)], *pieces(SCENE)]
    looks = [["mesh", MESH.digest.hex()], ["mesh", PLAIN_MESH.digest.hex()]]
    looks += [["texture", OPAQUE.digest.hex()], ["texture", HOLES.digest.hex()], ["begin", None]]
    answers = run(*acts, *looks)
    assert [answer["isComplete"] for answer in answers[: len(acts)]] == [False] * (len(acts) - 1) + [True]
    assert sum(answer.get("added", False) for answer in answers) == 4
    assert answers[-1]["progress"] == {"received": size_of(SCENE), "size": size_of(SCENE)}
    for mesh, answer in ((MESH, answers[-5]), (PLAIN_MESH, answers[-4])):
        found = answer["mesh"]
        assert found["vertices"] == mesh.vertices.ravel().tolist()
        assert found["faces"] == mesh.faces.ravel().tolist()
        assert found["normals"] == (None if mesh.normals is None else mesh.normals.ravel().tolist())
        assert found["uv"] == (None if mesh.uv is None else mesh.uv.ravel().tolist())
        assert found["reach"] == pytest.approx(mesh.reach, rel=1e-15)
    for texture, answer in ((OPAQUE, answers[-3]), (HOLES, answers[-2])):
        assert answer["texture"] == {
            "pixels": texture.pixels.ravel().tolist(), "shape": list(texture.pixels.shape), "hasAlpha": texture.has_alpha,
        }  # fmt: skip
    assert sorted(answers[-1]["have"]) == sorted(digest.hex() for digest in packed_scene(SCENE).contents)


def test_a_new_connection_begins_incomplete_contents_again() -> None:
    acts = pieces(SCENE, 30)
    answers = run(["scene", head(SCENE)], *acts[:9], ["begin", None], ["scene", head(SCENE)], *acts)
    begun = answers[10]
    assert len(begun["have"]) < 4
    assert answers[-1]["isComplete"]
    assert answers[-1]["trouble"] == ""


def test_a_scene_that_is_too_large_keeps_what_fits_and_says_so() -> None:
    most_bytes = size_of(SCENE) - 1
    answers = run(["scene", head(SCENE)], *pieces(SCENE), ["texture", HOLES.digest.hex()], most_bytes=most_bytes)
    assert answers[0]["trouble"].startswith("1 meshes or textures (1 MiB) are left out")
    assert answers[-1]["isComplete"]
    assert answers[-1]["texture"] is None
    assert all(answer["bytes"] <= most_bytes for answer in answers)


def test_contents_stay_for_a_later_scene_until_they_do_not_fit() -> None:
    other, small = Scene([PLAIN_MESH]), Scene([MESH])
    roomy = run(["scene", head(other)], *pieces(other), ["scene", head(small)], *pieces(small), ["scene", head(other)])
    assert roomy[-1]["isComplete"]
    tight = run(
        ["scene", head(other)], *pieces(other), ["scene", head(small)], *pieces(small), ["scene", head(other)],
        ["begin", None], most_bytes=max(size_of(other), size_of(small)),
    )  # fmt: skip
    assert not tight[-2]["isComplete"]
    assert tight[-2]["isLost"]  # the server has sent it already: only a new connection brings it again
    assert not tight[-1]["isLost"]


def test_damaged_pieces_are_ignored() -> None:
    acts = pieces(SCENE, 20)
    wrong = [
        ["piece", acts[0][1] | {"size": 5}], ["piece", acts[0][1] | {"digest": "00"}], acts[1],
        ["piece", acts[0][1] | {"bytes": base64.b64encode(bytes(5000)).decode()}],
    ]  # fmt: skip
    answers = run(["begin", None], *wrong, ["scene", head(SCENE)], *wrong, *acts)
    assert answers[-1]["isComplete"]
    assert answers[9]["progress"]["received"] == 0
