"""The drawn colour is the colour that was given, by its pixels; the palette is for bodies whose colour nobody gave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, WHOLE, Studio, matrices, upload
from tests.render.draw.meshes.solids import cube
from tests.render.draw.test_looks import PROGRAMS, QUALITIES, drawn_as
from tests.render.draw.test_scene_renderer import dark
from twixt.ipc.scene import (
    Box,
    Capsule,
    ColorBy,
    Compound,
    Cylinder,
    Ellipsoid,
    Material,
    Mesh,
    Part,
    Plane,
    Scene,
    Sphere,
    Texture,
)
from twixt.ipc.scene.parts import PALETTE
from twixt.ipc.snapshot import HAS_COLOR, NO_MARKS, Snapshot, new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.quality import LEVELS, LIT_LEVELS
from twixt.render.snapshots.intake import as_drawn
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import Column
from twixt.sim.world.marks import Marks

ABOVE = OrbitCamera(distance_m=10.0, elevation_rad=1.5)
COLOR, SEEN = (0.2, 0.4, 0.6), (51, 102, 153)
SHAPES = [
    Sphere(1.0), Box((2, 2, 2)), Plane((2, 2)), Capsule(0.8, 0.5), Cylinder(1.0, 1.0), Ellipsoid((2, 2, 1.5)),
    Mesh(*cube()), Mesh(*cube(), normals="smooth"), Compound([Part(Box((2, 2, 2)))]),
]  # fmt: skip
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)


def middle(
    studio: Studio, scene: Scene, records: np.ndarray, columns: dict[str, Any] | None = None, level=LEVELS[0],
    marks: np.ndarray = NO_MARKS,
) -> np.ndarray:  # fmt: skip
    """Colour of the pixel in the middle of a picture."""
    renderer = studio.renderer(scene)
    if columns is None:
        upload(renderer, 0, records)
    else:
        renderer.upload_records(0, records, columns)
    renderer.level = level
    studio.framebuffer.use()
    renderer.draw([Layer(0)], matrices(ABOVE), WHOLE, marks)
    renderer.finish()
    pixels = renderer.read_pixels()
    renderer.release()
    return pixels[SIZE_PX[1] // 2, SIZE_PX[0] // 2].astype(int)


def painted(color: Any) -> np.ndarray:
    bodies = Bodies(1)
    bodies.color = color
    return bodies.records


@by_shape
@pytest.mark.parametrize("level", [*LEVELS, *LIT_LEVELS], ids=lambda level: level.name)
def test_a_shape_without_a_colour_has_the_colour_of_its_body(studio: Studio, shape: Any, level: Any) -> None:
    np.testing.assert_allclose(middle(studio, dark([shape]), painted(COLOR), level=level), SEEN, atol=2)
    np.testing.assert_allclose(middle(studio, dark([shape]), painted((1, 1, 1)), level=level), (255,) * 3, atol=2)
    np.testing.assert_allclose(middle(studio, dark([shape]), new_bodies(1), level=level), PALETTE[0], atol=2)


@pytest.mark.parametrize(
    ("shape", "way"),
    [(Sphere(0.5), way) for way in PROGRAMS]
    + [
        (shape, way) for shape in SHAPES if isinstance(shape, Box | Capsule | Cylinder | Ellipsoid) for way in QUALITIES
    ],
)
def test_every_program_draws_it(studio: Studio, monkeypatch: pytest.MonkeyPatch, shape: Any, way: str) -> None:
    drawn_as(monkeypatch, way)
    for records, seen in ((painted(COLOR), SEEN), (new_bodies(1), PALETTE[0])):
        np.testing.assert_allclose(middle(studio, dark([shape]), records), seen, atol=2)
        flat = Scene([shape], ground_z=None, background=(0, 0, 0), look="flat")
        np.testing.assert_allclose(middle(studio, flat, records), seen, atol=2)


@pytest.mark.parametrize(
    "color",
    [COLOR, list(COLOR), np.float32(COLOR), np.float16(COLOR), np.uint8(SEEN), [np.uint8(one) for one in SEEN],
     (*COLOR, 1), np.uint8([*SEEN, 255])],
    ids=repr,
)  # fmt: skip
def test_a_colour_in_any_form_is_drawn(studio: Studio, color: Any) -> None:
    assigned, spawned, marks = Bodies(1), Bodies(0), Marks()
    assigned.color[0] = color
    spawned.spawn(color=color)
    marks.add("sphere", (0, 0, 0), size=1, color=color)
    for bodies in (painted(color), assigned.records, spawned.records):
        np.testing.assert_allclose(middle(studio, dark([Sphere(1.0)]), bodies), SEEN, atol=2)
    of_shape = color if len(color) == 3 or color[3] == 1 else color[:3]
    np.testing.assert_allclose(middle(studio, dark([Sphere(1.0, of_shape)]), new_bodies(1)), SEEN, atol=2)
    np.testing.assert_allclose(middle(studio, dark([]), new_bodies(0), marks=marks.records), SEEN, atol=2)


@pytest.mark.parametrize("color", [(1, 0, 0), (0, 1, 1), (1, 1, 1), (0, 0, 0)])
def test_whole_numbers_are_drawn_from_0_to_1(studio: Studio, color: Any) -> None:
    np.testing.assert_allclose(middle(studio, dark([Sphere(1.0)]), painted(color)), np.multiply(color, 255), atol=2)


def test_the_colours_of_shape_and_body_are_multiplied(studio: Studio) -> None:
    red = middle(studio, dark([Sphere(1.0, (1.0, 0.5, 0.0))]), painted((1.0, 0.5, 1.0)))
    np.testing.assert_allclose(red, (255, 64, 0), atol=2)
    np.testing.assert_allclose(middle(studio, dark([Sphere(1.0, COLOR)]), painted((1, 1, 1))), SEEN, atol=2)
    np.testing.assert_allclose(middle(studio, dark([Sphere(1.0, COLOR)]), new_bodies(1)), SEEN, atol=2)


def test_white_balls_are_white_and_those_without_a_colour_differ(studio: Studio) -> None:
    bodies = Bodies(16)
    bodies.position[:, 0] = np.arange(16) - 7.5
    bodies.position *= 0.5
    scene = dark([Sphere(0.2)] * 16)
    camera = OrbitCamera(distance_m=10.0, azimuth_rad=-np.pi / 2, elevation_rad=0.0)

    def colors() -> set[tuple[int, ...]]:
        pixels = studio.picture(scene, bodies.records, camera=camera)
        found, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
        return {tuple(color) for color in found[counts > 30].tolist()} - {(0, 0, 0)}

    assert colors() == {tuple(color) for color in PALETTE.tolist()}
    bodies.color = (1, 1, 1)
    assert colors() == {(255, 255, 255)}
    bodies.color = np.uint8([0, 0, 255])
    assert colors() == {(0, 0, 255)}


def test_a_record_has_a_colour_by_its_flag_or_its_red_green_and_blue(studio: Studio) -> None:
    flagged, colored, faint = new_bodies(1), new_bodies(1), new_bodies(1)
    flagged["flags"] |= HAS_COLOR
    colored["color"] = (*SEEN, 255)
    faint["color"][:, 3] = 128
    scene = dark([Box((2, 2, 2))])
    np.testing.assert_allclose(middle(studio, scene, flagged), (255,) * 3, atol=2)
    np.testing.assert_allclose(middle(studio, scene, colored), SEEN, atol=2)
    np.testing.assert_allclose(middle(studio, scene, faint), PALETTE[0] / 2, atol=2)


def test_each_part_without_a_colour_has_its_bodys(studio: Studio) -> None:
    left, right = Part(Box((2, 2, 2)), (0, 0, 0)), Part(Box((1, 1, 1), (1, 0, 0)), (0, 0, 1))
    for parts, given, plain in (([left], SEEN, PALETTE[0]), ([left, right], (51, 0, 0), (255, 0, 0))):
        scene = dark([Compound(parts)])
        np.testing.assert_allclose(middle(studio, scene, painted(COLOR)), given, atol=2)
        np.testing.assert_allclose(middle(studio, scene, new_bodies(1)), plain, atol=2)


@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_a_column_of_parts_begins_as_the_scene_is_drawn_and_multiplies_the_bodys_colour(
    studio: Studio, dtype: str
) -> None:
    parts = Scene([Compound([Part(Box((2, 2, 2))), Part(Sphere(0.1, (1, 0, 0)), (3, 0, 0))])])
    bodies = Bodies(1, {"color": Column(dtype, 4, per="part")}, scene=parts)
    scene = replace(dark(parts.shapes), columns={"color": "linear"}, part_columns=("color",))

    def seen() -> np.ndarray:
        return middle(studio, scene, bodies.records.copy(), {"color": bodies.columns["color"]})

    np.testing.assert_allclose(seen(), PALETTE[0], atol=2)
    bodies.color = (1, 1, 1)
    np.testing.assert_allclose(seen(), (255,) * 3, atol=2)
    bodies.color = COLOR
    np.testing.assert_allclose(seen(), SEEN, atol=2)
    bodies.columns["color"][0] = (0, 1, 0)
    np.testing.assert_allclose(seen(), (0, 102, 0), atol=2)
    bodies.columns["color"][0] = np.uint8([255, 255, 0])
    np.testing.assert_allclose(seen(), (51, 102, 0), atol=2)


IMAGE = Material(Texture(np.full((4, 4, 3), 255, np.uint8)))


@pytest.mark.parametrize(
    "shape",
    [Sphere(1.0), Sphere(1.0, (1, 0, 0)), Box((2, 2, 2), (0, 0, 0)), Compound([Part(Box((2, 2, 2), (0, 1, 0)))]),
     Mesh(*cube(), color=(0.5, 0.5, 0.5)), Plane((2, 2), material=IMAGE)],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("color", [None, (1, 0, 0), (1, 1, 1)])
def test_colour_by_a_column_shows_its_map_whatever_colours_shape_and_body_have(
    studio: Studio, shape: Any, color: Any
) -> None:
    by = ColorBy("heat", low_color=np.uint8([0, 0, 0]), high_color=(0.4, 0.8, 1.0))  # type: ignore[arg-type]
    scene = replace(dark([shape]), columns={"heat": "linear"}, color_by=by)
    bodies = new_bodies(1) if color is None else painted(color)
    snapshot = as_drawn(Snapshot(0, bodies.copy(), {"heat": np.float32([0.5])}), scene)
    np.testing.assert_allclose(middle(studio, scene, snapshot.bodies), (51, 102, 128), atol=2)


def test_colour_by_a_column_keeps_the_alphas_of_shape_and_body(studio: Studio) -> None:
    by = ColorBy("heat", high_color=(1, 1, 1))
    scene = replace(dark([Box((2, 2, 2), (1, 0, 0, 0.5))]), columns={"heat": "linear"}, color_by=by)
    bodies = painted((0, 1, 0, 0.5))
    snapshot = as_drawn(Snapshot(0, bodies, {"heat": np.float32([1.0])}), scene)
    np.testing.assert_allclose(middle(studio, scene, snapshot.bodies), (64,) * 3, atol=2)


@pytest.mark.parametrize("kind", ["sphere", "box", "capsule", "cylinder", "ellipsoid"])
def test_marks_have_their_colour_and_are_white_without_one(studio: Studio, kind: str) -> None:
    sizes = {"sphere": 1, "capsule": (1, 1), "cylinder": (1, 1)}
    for color, seen in ((COLOR, SEEN), (np.uint8(SEEN), SEEN), ((1, 0, 0), (255, 0, 0)), (None, (255,) * 3)):
        marks = Marks()
        marks.add(kind, (0, 0, 0), size=sizes.get(kind, (2, 2, 2)), **({} if color is None else {"color": color}))
        np.testing.assert_allclose(middle(studio, dark([]), new_bodies(0), marks=marks.records), seen, atol=2)
