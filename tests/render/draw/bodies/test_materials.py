"""Materials in the picture: images lie where they should on each shape, and what has none looks as before."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, Studio, upload
from twixt.ipc.scene import (
    Box,
    Capsule,
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
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer

# From straight above, without perspective: x to the right, y up, 400 x 300 px, 4 x 3 m.
ABOVE = OrbitCamera(
    distance_m=1.5 / np.tan(np.pi / 8), elevation_rad=np.pi / 2, azimuth_rad=-np.pi / 2, orthographic=True
)
RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)
# Upper left red, upper right green, lower left blue, lower right white.
FOUR = Texture(np.kron(np.array([[RED, GREEN], [BLUE, WHITE]], np.uint8), np.ones((16, 16, 1), np.uint8)))
SIDES = Texture(
    np.stack([np.full((4, 4, 3), color, np.uint8) for color in (RED, (9, 9, 9), GREEN, (9, 9, 9), BLUE, (9, 9, 9))])
)
SQUARE, TWO_FACES = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [(0, 1, 2), (0, 2, 3)]
UV = [(0, 0), (1, 0), (1, 1), (0, 1)]


def at(picture: np.ndarray, x_m: float, y_m: float) -> list[int]:
    """The pixel at a place seen from above."""
    return picture[round(SIZE_PX[1] / 2 - 100 * y_m), round(SIZE_PX[0] / 2 + 100 * x_m)].tolist()


def seen(studio: Studio, *shapes, bodies: np.ndarray | None = None, camera=ABOVE, **others) -> np.ndarray:
    scene = Scene(shapes, ground_z=None, **{"look": "unlit"} | others)
    return studio.picture(scene, new_bodies(len(shapes)) if bodies is None else bodies, camera=camera)


def flat(material: Material, kind: str):
    """A shape of 2 x 2 m seen from above."""
    return {
        "plane": Plane((2, 2), material=material), "box": Box((2, 2, 0.2), material=material),
        "ellipsoid": Ellipsoid((2, 2, 0.4), material=material), "cylinder": Cylinder(1, 0.2, material=material),
        "sphere": Sphere(1, material=material), "capsule": Capsule(1, 0.1, material=material),
        "mesh": Mesh(SQUARE, TWO_FACES, uv=UV, material=material),
        "smooth": Mesh(SQUARE, TWO_FACES, "smooth", uv=UV, material=material),
        "without uv": Mesh(SQUARE, TWO_FACES, material=material),
        "part": Compound([Part(Plane((2, 2), material=material)), Part(Sphere(0.01), (0, 0, -1))]),
    }[kind]  # fmt: skip


KINDS = ("plane", "box", "ellipsoid", "cylinder", "sphere", "capsule", "mesh", "smooth", "without uv", "part")


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_lies_upright_as_seen_from_above(studio: Studio, kind: str) -> None:
    picture = seen(studio, flat(Material(FOUR), kind))
    found = [at(picture, x, y) for x, y in ((-0.4, 0.4), (0.4, 0.4), (-0.4, -0.4), (0.4, -0.4))]
    np.testing.assert_allclose(found, [RED, GREEN, BLUE, WHITE], atol=3)


@pytest.mark.parametrize("kind", ["plane", "box", "without uv"])
def test_it_repeats_from_the_shapes_corner_or_by_the_metre_from_its_middle(studio: Studio, kind: str) -> None:
    checker = Texture.checker((1, 0, 0), (0, 0, 1))
    # Four squares along x, two along y.
    picture = seen(studio, flat(Material(checker, (2, 1)), kind))
    squares = [[at(picture, x, y) for x in (-0.75, -0.25, 0.25, 0.75)] for y in (0.5, -0.5)]
    row = [list(RED), list(BLUE)] * 2
    np.testing.assert_allclose(squares, [row, row[::-1]], atol=3)
    # By the metre: two squares a metre, both ways.
    picture = seen(studio, flat(Material(checker, (1, 1), per_metre=True), kind))
    squares = [[at(picture, x, y) for x in (-0.75, -0.25, 0.25, 0.75)] for y in (0.75, 0.25)]
    np.testing.assert_allclose(squares, [row, row[::-1]], atol=3)


@pytest.mark.parametrize("kind", ["box", "ellipsoid", "cylinder", "sphere", "capsule", "without uv"])
def test_a_cube_of_images_shows_the_side_towards_z_from_above(studio: Studio, kind: str) -> None:
    raised = new_bodies(1)
    shape = flat(Material(SIDES), kind)
    if kind == "without uv":
        shape = Mesh(np.add(SQUARE, (0, 0, 1.5)), TWO_FACES, material=Material(SIDES))
    np.testing.assert_allclose(at(seen(studio, shape, bodies=raised), 0.1, 0.1), BLUE, atol=3)
    raised["orientation"][0] = (0, -np.sqrt(0.5), 0, np.sqrt(0.5))  # x upwards
    if kind != "without uv":
        np.testing.assert_allclose(at(seen(studio, shape, bodies=raised), 0.0, 0.1), RED, atol=3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_colour_of_shape_and_record_times_the_image(studio: Studio, kind: str) -> None:
    bodies = new_bodies(1)
    bodies["color"][0] = (255, 128, 255, 255)
    picture = seen(studio, flat(Material(FOUR), kind), bodies=bodies)
    np.testing.assert_allclose(at(picture, 0.4, -0.4), (255, 128, 255), atol=3)


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_is_seen_through_where_the_body_or_its_own_alpha_says(studio: Studio, kind: str) -> None:
    bodies = new_bodies(1)
    bodies["color"][0, 3] = 128
    picture = seen(studio, flat(Material(FOUR), kind), bodies=bodies, background=(1, 1, 1))
    np.testing.assert_allclose(at(picture, -0.4, 0.4), (255, 127, 127), atol=4)
    half = np.dstack([FOUR.pixels, np.full((32, 32), 128, np.uint8)])
    picture = seen(studio, flat(Material(Texture(half)), kind), background=(1, 1, 1))
    np.testing.assert_allclose(at(picture, -0.4, 0.4), (255, 127, 127), atol=5)


def test_shapes_with_and_without_a_material_share_a_picture_and_a_new_scene_changes_them(studio: Studio) -> None:
    bodies = new_bodies(3)
    bodies["position"][:, 0] = -1.2, 0.0, 1.2
    plain, dotted = (
        Box((1, 1, 0.2), (1, 0, 0)),
        Box((1, 1, 0.2), material=Material(Texture.gradient((0, 1, 0), (0, 1, 0)))),
    )
    renderer = studio.renderer(Scene([plain] * 3, ground_z=None, look="unlit"))
    upload(renderer, 0, bodies)
    for shapes in ([plain, plain, plain], [plain, dotted, plain], [dotted, dotted, dotted], [dotted, plain, dotted]):
        renderer.set_scene(Scene(shapes, ground_z=None, look="unlit"))
        picture = studio.draw(renderer, Layer(0), camera=ABOVE)
        found = [at(picture, x, 0.0) for x in (-1.2, 0.0, 1.2)]
        np.testing.assert_allclose(found, [RED if shape is plain else GREEN for shape in shapes], atol=3)
    renderer.release()


LIT = {"look": "lit", "background": (0, 0, 0)}


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_a_material_of_the_usual_figures_is_lit_as_a_shape_without_one(studio: Studio, kind: str) -> None:
    def shape(material: Material | None):
        made = flat(Material(), kind)
        values = {"material": material, "color": (0.8, 0.5, 0.3)}
        return made.recolored(values["color"], material) if isinstance(made, Mesh) else type(made)(
            **{name: getattr(made, name) for name in ("radius", "length", "size") if hasattr(made, name)} | values
        )  # fmt: skip

    with_one, without = (seen(studio, shape(one), **LIT).astype(int) for one in (Material(), None))
    assert np.median(np.abs(with_one - without)[100:200, 150:250]) <= 3


def test_a_rough_surface_has_a_wide_highlight_and_emission_needs_no_light(studio: Studio) -> None:
    camera = OrbitCamera(distance_m=4.0)
    bright = []
    for roughness in (0.15, 0.5):
        picture = seen(
            studio, Sphere(1, (0.2, 0.2, 0.2), Material(roughness=roughness, specular=1.0)), camera=camera, **LIT
        )
        top = picture.max(axis=2).astype(int)
        bright.append(int((top > top.max() - 40).sum()))
    assert bright[0] * 3 < bright[1]
    light = {"light": (0.0, 0.0, -1.0), **LIT}
    dim, shining = (
        at(seen(studio, Box((2, 2, 0.2), (1, 0, 0), Material(emission=share)), **light), 0, 0) for share in (0, 1)
    )
    assert dim[0] < 200
    assert shining[0] == 255


def small(kind: str, material: Material | None):
    paint = (0.8, 0.5, 0.3)
    return {
        "sphere": Sphere(0.08, paint, material), "box": Box((0.15, 0.1, 0.1), paint, material),
        "capsule": Capsule(0.06, 0.1, paint, material), "cylinder": Cylinder(0.06, 0.15, paint, material),
        "ellipsoid": Ellipsoid((0.2, 0.1, 0.1), paint, material),
    }[kind]  # fmt: skip


def cloud(count: int) -> np.ndarray:
    bodies, random = new_bodies(count), np.random.default_rng(3)
    bodies["position"] = random.uniform(-2.0, 2.0, (count, 3))
    turns = random.normal(size=(count, 4))
    bodies["orientation"] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    return bodies


@pytest.mark.parametrize("count", [20, 400, 1600, 5000])
@pytest.mark.parametrize("kind", ["sphere", "box", "capsule", "cylinder", "ellipsoid"])
def test_bodies_of_a_smooth_material_look_as_those_without_one_however_many(
    studio: Studio, kind: str, count: int
) -> None:
    bodies, camera = cloud(count), OrbitCamera(distance_m=6.0)
    looks = {"ground_z": None, "background": (0, 0, 0), "pattern": False}

    def drawn(material: Material | None) -> np.ndarray:
        return studio.picture(Scene([small(kind, material)] * count, **looks), bodies, camera=camera).astype(int)

    without, usual, bright = drawn(None), drawn(Material()), drawn(Material(emission=0.5))
    covered = without.any(axis=2)
    assert covered.mean() > 0.002
    assert np.abs(usual - without)[covered].mean() < 6
    assert bright[covered].mean() > 1.1 * usual[covered].mean()


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid"])
def test_a_point_shines_as_its_material_says(studio: Studio, kind: str) -> None:
    bodies, camera = cloud(400), OrbitCamera(distance_m=6.0)

    def drawn(material: Material) -> np.ndarray:
        scene = Scene([small(kind, material)] * 400, ground_z=None, background=(0, 0, 0))
        return studio.picture(scene, bodies, camera=camera).astype(int)

    dull, usual, shining = (drawn(Material(specular=one)) for one in (0.0, 0.5, 1.0))
    assert (dull <= usual + 1).all()
    assert (usual <= shining + 1).all()
    assert (shining - dull).max() > 60
