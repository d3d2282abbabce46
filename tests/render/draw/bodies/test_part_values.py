"""Part columns: the picture is that of a scene whose parts have these colours and sizes, whatever draws them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.render.draw.parts_apart import TOY, TWO, WEDGE, apart, assert_alike, tumbling
from twixt.ipc.scene import Box, Capsule, Compound, Cylinder, Ellipsoid, Material, Part, Scene, Shape, Sphere, Texture
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.bodies.shape_rows import as_bytes
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.interpolation.quaternion import normalized

CAMERA = OrbitCamera(distance_m=11.0)
TOYS = Scene([TOY, Sphere(0.4), TWO, TOY, Box((0.5, 0.5, 0.5))], look="lit")
COUNT = 6


def declared(scene: Scene, *names: str) -> Scene:
    return replace(scene, columns=dict.fromkeys(names, "linear"), part_columns=names)


def bodies_of(count: int = COUNT, k: int = 0) -> np.ndarray:
    bodies = tumbling(count, k)
    bodies["orientation"] = normalized(bodies["orientation"])
    return bodies


def colors_of(count: int, alpha: int = 255) -> np.ndarray:
    colors = np.random.default_rng(5).integers(20, 256, (count, 4)).astype(np.uint8)
    colors[:, 3] = alpha
    return colors


def painted(scene: Scene, bodies: np.ndarray, colors: np.ndarray) -> tuple[Scene, np.ndarray]:
    """The same picture, of bodies of one shape each that have these colours."""
    scene, records = apart(scene, bodies)
    shapes = [replace(shape, color=tuple(color / 255)) for shape, color in zip(scene.shapes, colors, strict=True)]
    return replace(scene, shapes=shapes), records


def drawn(studio: Any, scene: Scene, bodies: np.ndarray, columns: dict[str, Any], camera: OrbitCamera = CAMERA) -> Any:
    renderer = studio.renderer(scene)
    renderer.upload_records(0, bodies, columns)
    pixels = studio.draw(renderer, Layer(0), camera=camera)
    renderer.release()
    return pixels


@pytest.mark.parametrize("alpha", [255, 128], ids=["opaque", "seen through"])
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_parts_of_every_shape_have_the_colours_of_the_column(studio: Any, kind: Any, alpha: int) -> None:
    bodies = bodies_of()
    colors = colors_of(len(TOYS.part_bodies(COUNT)), alpha)
    given = colors if kind is np.uint8 else (colors / 255).astype(np.float32)
    picture = drawn(studio, declared(TOYS, "color"), bodies, {"color": given})
    plain = studio.picture(TOYS, bodies, camera=CAMERA)
    assert np.abs(picture.astype(int) - plain).max() > 50
    assert_alike(picture, studio.picture(*painted(TOYS, bodies, colors), camera=CAMERA), edges=0.004)


@pytest.mark.parametrize("columns", [{}, {"color": colors_of(3)}], ids=["none", "of another scene"])
def test_a_snapshot_without_a_colour_for_each_part_has_the_scenes(studio: Any, columns: dict[str, Any]) -> None:
    bodies = bodies_of()
    assert_alike(drawn(studio, declared(TOYS, "color"), bodies, columns), studio.picture(TOYS, bodies, camera=CAMERA))


def test_many_small_bodies_of_one_part_have_the_colours_of_the_column(studio: Any) -> None:
    bodies = new_bodies(2000)
    bodies["position"] = np.random.default_rng(2).uniform(-3, 3, (2000, 3))
    scene, colors = Scene([Sphere(0.05)]), colors_of(2000)
    picture = drawn(studio, declared(scene, "color"), bodies, {"color": colors})
    shapes = [Sphere(0.05, color=tuple(color / 255)) for color in colors]
    assert_alike(picture, studio.picture(Scene(shapes), bodies, camera=CAMERA))


def test_a_texture_is_tinted_by_the_column_and_keeps_its_holes(studio: Any) -> None:
    image = np.full((8, 8, 4), 255, np.uint8)
    image[2:6, 2:6, 3] = 0
    shape, bodies = Box((3, 3, 3), material=Material(texture=Texture(image))), new_bodies(1)
    colors = np.array([[200, 40, 40, 255]], np.uint8)
    picture = drawn(studio, declared(Scene([shape]), "color"), bodies, {"color": colors})
    assert_alike(
        picture, studio.picture(Scene([replace(shape, color=(200 / 255, 40 / 255, 40 / 255))]), bodies, camera=CAMERA)
    )


def test_hidden_parts_are_not_drawn_and_the_others_of_their_body_are(studio: Any) -> None:
    bodies = bodies_of()
    seen = np.arange(len(TOYS.part_bodies(COUNT))) % 3 != 1
    scene, records = apart(TOYS, bodies)
    wanted = studio.picture(
        replace(scene, shapes=[s for s, is_seen in zip(scene.shapes, seen, strict=True) if is_seen]),
        records[seen],
        camera=CAMERA,
    )
    for kind in (bool, np.uint8):
        assert_alike(drawn(studio, declared(TOYS, "visible"), bodies, {"visible": seen.astype(kind)}), wanted, 0.004)


def scaled(shape: Shape, x: float, y: float, z: float) -> Shape:
    match shape:
        case Box():
            return replace(shape, size=(shape.size[0] * x, shape.size[1] * y, shape.size[2] * z))
        case Capsule() | Cylinder():
            return replace(shape, radius=shape.radius * (x + y) / 2, length=shape.length * z)
        case Sphere():
            diameter = 2 * shape.radius
            return Ellipsoid((diameter * x, diameter * y, diameter * z), shape.color)
    raise AssertionError(shape)


def test_a_part_is_scaled_along_its_own_axes_and_stays_in_its_place(studio: Any) -> None:
    turn = (0.2, -0.4, 0.1, 0.9)
    parts = [
        Part(Box((0.5, 0.8, 0.4), (1, 0, 0)), (1.5, 0.2, 0.0), turn),
        Part(Capsule(0.2, 0.9, (0, 1, 0)), (0.0, 1.0, 1.0), turn),
        Part(Cylinder(0.3, 0.5, (0, 0, 1)), (-1.2, 0.0, -1.0), (0.7, 0, 0, 0.7)),
        Part(Sphere(0.4, (1, 1, 0)), (0.0, -1.0, 0.5)),
    ]
    factors = np.array([[2.0, 0.5, 1.5], [1.5, 1.5, 0.5], [0.5, 0.5, 3.0], [1.7, 1.7, 1.7]], np.float32)
    bodies = bodies_of(1)
    bodies["scale"] = 1.25
    picture = drawn(studio, declared(Scene([Compound(parts)], ground_z=None), "scale3"), bodies, {"scale3": factors})
    sized = [replace(part, shape=scaled(part.shape, *factors[i].tolist())) for i, part in enumerate(parts)]
    assert_alike(picture, studio.picture(Scene([Compound(sized)], ground_z=None), bodies, camera=CAMERA), edges=0.004)


def test_a_mesh_is_scaled_along_its_own_axes(studio: Any) -> None:
    scene, bodies = (
        Scene([Compound([Part(WEDGE, (0.5, 0, 0), (0.2, -0.4, 0.1, 0.9)), Part(Sphere(0.2))])]),
        new_bodies(1),
    )
    picture = drawn(studio, declared(scene, "scale3"), bodies, {"scale3": np.array([[3, 1, 2], [1, 1, 1]], np.float32)})
    longer = replace(WEDGE, vertices=np.asarray(WEDGE.vertices) * (3, 1, 2))
    wanted = Scene([Compound([Part(longer, (0.5, 0, 0), (0.2, -0.4, 0.1, 0.9)), Part(Sphere(0.2))])])
    assert_alike(picture, studio.picture(wanted, bodies, camera=CAMERA), edges=0.004)


def test_snapshots_held_keep_their_look_when_the_column_is_declared_while_running(studio: Any) -> None:
    bodies = bodies_of()
    renderer = studio.renderer(TOYS)
    renderer.upload_records(0, bodies)
    before = studio.draw(renderer, Layer(0), camera=CAMERA)
    renderer.set_scene(declared(TOYS, "color"))
    assert_alike(studio.draw(renderer, Layer(0), camera=CAMERA), before, 0)
    renderer.upload_records(1, bodies, {"color": np.full((len(TOYS.part_bodies(COUNT)), 4), 255, np.uint8)})
    assert np.abs(studio.draw(renderer, Layer(1), camera=CAMERA).astype(int) - before).max() > 50
    renderer.release()


def test_colours_that_are_not_finite_are_white() -> None:
    given = np.array([[0.5, 0, 2, 1], [np.nan, 0, 0, 1], [-1, 0, 0, np.inf]], np.float32)
    assert as_bytes(given).tolist() == [[128, 0, 255, 255], [255] * 4, [255] * 4]
