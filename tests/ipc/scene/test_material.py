"""Materials and textures: checked when they are made, read from files, and the same after the wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from twixt.ipc.scene import Box, Compound, Material, Mesh, Part, Plane, Scene, SceneError, Sphere, Texture, packing
from twixt.ipc.scene import material as module
from twixt.ipc.scene.scene import packed_scene, unpacked_scene

CORNERS, FACES, UV = [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)], [(0, 0), (1, 0), (0, 1)]
CHECKER = Texture.checker((1, 0, 0), (0, 0, 1), size_px=8)
CUBE = Texture(np.arange(6 * 4 * 4 * 3, dtype=np.uint8).reshape(6, 4, 4, 3))


# -- textures


def test_a_checker_has_its_first_colour_at_the_upper_left_and_the_lower_right() -> None:
    assert CHECKER.pixels.shape == (8, 8, 3)
    assert [CHECKER.pixels[at].tolist() for at in ((0, 0), (7, 7), (0, 7), (7, 0))] == [[255, 0, 0]] * 2 + [
        [0, 0, 255]
    ] * 2


def test_a_gradient_goes_from_the_top_to_the_bottom_with_alpha_if_a_colour_has_one() -> None:
    pixels = Texture.gradient((1, 1, 1), (0, 0, 0, 0), size_px=3).pixels
    assert pixels[:, 0].tolist() == [[255, 255, 255, 255], [128, 128, 128, 128], [0, 0, 0, 0]]


def test_textures_of_the_same_pixels_are_the_same_and_are_copies() -> None:
    pixels = CHECKER.pixels.copy()
    other = Texture(pixels)
    pixels[:] = 0
    assert other == CHECKER
    assert hash(other) == hash(CHECKER)
    assert other != Texture(pixels)
    assert Texture(np.zeros((2, 3, 3), np.uint8)) != Texture(np.zeros((3, 2, 3), np.uint8))
    assert not CHECKER.has_alpha
    assert CUBE.is_cube


@pytest.mark.parametrize(
    "wrong",
    [None, "red", 3, np.zeros((2, 2)), np.zeros((2, 2, 3)), np.zeros((2, 2, 2), np.uint8), np.zeros((0, 2, 3), np.uint8),
     np.zeros((5, 2, 2, 3), np.uint8), np.zeros((6, 2, 3, 3), np.uint8), [[1], [1, 2]]],
    ids=str,
)  # fmt: skip
def test_what_is_no_image_is_refused(wrong: Any) -> None:
    with pytest.raises(SceneError, match=r"^Texture.pixels must be u1 of shape"):
        Texture(wrong)


def test_an_image_with_too_long_a_side_is_refused() -> None:
    with pytest.raises(SceneError, match="at most 4096 px a side"):
        Texture(np.zeros((1, 4097, 3), np.uint8))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P"])
def test_a_file_has_its_top_row_first(mode: str, tmp_path: Path) -> None:
    image = np.zeros((3, 2, 3), np.uint8)
    image[0] = 255
    Image.fromarray(image).convert(mode).save(tmp_path / "image.png")
    texture = Texture.from_file(tmp_path / "image.png")
    assert texture.pixels.shape == (3, 2, 4 if mode == "RGBA" else 3)
    assert (texture.pixels[0, :, :3].min(), texture.pixels[1:, :, :3].max()) == (255, 0)


def test_a_large_file_is_made_smaller_which_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Image.new("RGB", (20_000, 100)).save(tmp_path / "wide.png")
    for _ in range(2):
        assert Texture.from_file(tmp_path / "wide.png").pixels.shape == (20, module.MOST_SIDE_PX, 3)
    said = f"{tmp_path / 'wide.png'} has 20000 x 100 px and is drawn as 4096 x 20 px; a side has at most 4096 px"
    assert capsys.readouterr().err == f"twixt: {said}\n"


def test_files_that_are_missing_broken_or_huge_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, short, huge = tmp_path / "broken.png", tmp_path / "short.png", tmp_path / "huge.png"
    broken.write_bytes(b"no image")
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)).save(huge)
    short.write_bytes(huge.read_bytes()[:200])
    for path, said in (
        (tmp_path / "none.png", "cannot be opened: No such file"), (broken, "cannot be read as an image"),
        (short, "cannot be read as an image"), (tmp_path, "must be a file on a disk"),
    ):  # fmt: skip
        with pytest.raises(SceneError, match=said) as refused:
            Texture.from_file(path)
        assert str(path) in str(refused.value)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)  # pillow's own bound
    with pytest.raises(SceneError, match=r"huge.png has more than 134,217,728 pixels; shrink it to 4096 px a side"):
        Texture.from_file(huge)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    monkeypatch.setattr(module, "MOST_FILE_PIXELS", 100)
    with pytest.raises(SceneError, match=r"huge.png has 64 x 64 pixels; shrink it"):
        Texture.from_file(huge)
    monkeypatch.setattr(module, "MOST_FILE_BYTES", 10)
    with pytest.raises(SceneError, match="an image file has at most"):
        Texture.from_file(huge)
    with pytest.raises(SceneError, match=r"takes the path of a file, got None"):
        Texture.from_file(None)  # type: ignore[arg-type]


# -- materials


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"texture": "wood.png"}, r"Material.texture must be a Texture, such as Texture.checker\(\), or None"),
        ({"repeat": 3}, "Material.repeat must be two finite numbers > 0, got 3"),
        ({"repeat": (1, 0)}, r"Material.repeat must be two finite numbers > 0, got \(1, 0\)"),
        ({"roughness": 0}, "Material.roughness must be from 0.05 to 1, got 0.0"),
        ({"specular": 1.5}, "Material.specular must be from 0 to 1, got 1.5"),
        ({"emission": float("nan")}, "Material.emission must be a finite number, got nan"),
    ],
)
def test_materials_that_cannot_be_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SceneError, match=f"^{said}"):
        Material(**wrong)


def test_what_is_no_material_is_refused_by_the_name_of_the_shape() -> None:
    with pytest.raises(SceneError, match=r"^Box.material must be a Material, or None, got 'wood'"):
        Box(material="wood")  # type: ignore[arg-type]
    with pytest.raises(SceneError, match=r"^Mesh.material must be a Material, or None"):
        Mesh(CORNERS, FACES, material=CHECKER)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "uv", [3, "uv", [(0, 0)], [(0, 0, 0)] * 3, [(0, 0), (1, 0), (0, np.nan)], [(0, 0), (1, 0), (0,)]]
)
def test_places_in_an_image_are_two_numbers_a_vertex(uv: Any) -> None:
    with pytest.raises(SceneError, match=r"^Mesh.uv must be two finite numbers a vertex, shape \(3, 2\)"):
        Mesh(CORNERS, FACES, uv=uv)


def test_meshes_with_other_places_in_an_image_are_others() -> None:
    assert Mesh(CORNERS, FACES, uv=UV) == Mesh(CORNERS, FACES, uv=UV)
    assert len({Mesh(CORNERS, FACES), Mesh(CORNERS, FACES, uv=UV), Mesh(CORNERS, FACES, uv=UV[::-1])}) == 3


# -- the wire


def rich_scene() -> Scene:
    shiny, checked = Material(roughness=0.1, emission=0.5), Material(CHECKER, (3, 2), per_metre=True)
    cubed = Material(CUBE, specular=0.0)
    return Scene([
        Plane(material=checked), Box(color=(1, 0, 0, 0.5), material=shiny), Sphere(),
        Mesh(CORNERS, FACES, "smooth", uv=UV, material=checked), Mesh(CORNERS, FACES, uv=UV),
        Compound([Part(Sphere(material=cubed)), Part(Mesh(CORNERS, FACES, material=shiny))]),
    ])  # fmt: skip


def test_materials_are_the_same_after_the_wire_and_each_texture_travels_once() -> None:
    scene = rich_scene()
    packed = packed_scene(scene).to_bytes()
    again = unpacked_scene(packed)
    assert again.shapes == scene.shapes
    assert packed_scene(again).to_bytes() == packed
    mesh = again.shapes[3]
    assert isinstance(mesh, Mesh)
    assert mesh.uv is not None
    assert mesh.uv.tolist() == np.array(UV, float).tolist()
    assert packed.count(CHECKER.pixels.tobytes()) == packed.count(CUBE.pixels.tobytes()) == 1


def test_textures_of_the_scene_before_are_used_again() -> None:
    before = unpacked_scene(packed_scene(rich_scene()).to_bytes())
    packed = packed_scene(Scene([Box(material=Material(CUBE))]))
    after = unpacked_scene(packed.to_bytes(known=packed_scene(before).contents), before)
    held = before.shapes[5].parts[0].shape.material  # type: ignore[union-attr]
    assert held is not None
    assert after.shapes[0].material.texture is held.texture  # type: ignore[union-attr]


def damaged(path: tuple[Any, ...], value: Any) -> bytes:
    head, _, rest = packed_scene(rich_scene()).to_bytes().partition(b"\n")
    said = json.loads(head)
    place = said
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(said).encode() + b"\n" + rest


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("textures", 0, "shape"), [1 << 40, 1 << 40, 3]), (("textures", 0, "shape"), [4096, 4096, 4]),
        (("textures", 0, "shape"), [-1, 8, 3]), (("textures", 0, "shape"), [8.0, 8, 3]), (("textures", 0, "shape"), [True, 8, 3]),
        (("textures", 0, "shape"), [8, 8]), (("textures", 0, "shape"), None), (("textures", 0, "shape"), [8, 8, 2]),
        (("textures", 1, "shape"), [5, 4, 4, 3]), (("textures", 0, "digest"), "00" * 16), (("textures", 0, "digest"), "x"),
        (("textures", 0), None), (("textures",), None), (("materials",), 3), (("materials", 0, "texture"), 9),
        (("materials", 0, "texture"), -1), (("materials", 0, "repeat"), [0, 0]), (("materials", 0, "roughness"), 1e999),
        (("materials", 0), {}), (("shapes", 0, "material"), 99), (("shapes", 0, "material"), -1),
        (("shapes", 0, "material"), "red"), (("meshes", 0, "lengths", 3), False), (("shapes", 4, "material"), 1.5),
    ],
)  # fmt: skip
def test_damaged_materials_are_refused(path: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(SceneError):
        unpacked_scene(damaged(path, value))


def test_a_scene_cut_off_in_its_pixels_is_refused() -> None:
    packed = packed_scene(Scene([Box(material=Material(CHECKER))])).to_bytes()
    for cut in (1, 100):
        with pytest.raises(SceneError):
            unpacked_scene(packed[:-cut])


def test_too_many_materials_are_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_MATERIALS", 3)
    boxes = [Box(material=Material(emission=share / 10)) for share in range(4)]
    assert len(unpacked_scene(packed_scene(Scene(boxes[:3])).to_bytes()).shapes) == 3
    with pytest.raises(SceneError, match=r"at most 3 distinct materials and 256 textures; share them"):
        packed_scene(Scene(boxes)).to_bytes()
