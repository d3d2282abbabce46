"""Pictures of the page beside the native viewer's, of the same scenes and cameras."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from tests.render.draw.conftest import Studio, studio
from tests.web.drawing_page import DrawingPage, drawing_page
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
from twixt.ipc.scene.scene import packed_scene
from twixt.ipc.snapshot import (
    HAS_ANGULAR_VELOCITY,
    HAS_VELOCITY,
    MARK,
    MARK_KINDS,
    NO_MARKS,
    NO_VERTICES,
    new_bodies,
    vertex_records,
)
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.interpolation.blending import blended, drawable, matched

__all__ = ["studio"]

SIZE_PX = (400, 300)
WHOLE = (0, 0, *SIZE_PX)
# Bars: share of the silhouettes' pixels that both pictures have; share of the pixels inside both silhouettes, 2 px from
# their borders, whose colours differ by at most MOST_OFF of 255.
LEAST_OVERLAP, LEAST_ALIKE, MOST_OFF = 0.99, 0.95, 8
SEEN = 12  # a pixel that differs from the empty scene by more than this, of 255, belongs to a silhouette

DRAW = """async ({read, write, values}) => {
    const {Renderer} = await import("/renderer.js"), {Scene} = await import("/scene.js");
    const {widthPx, heightPx} = values;
    globalThis.kept ??= new Renderer(document.createElement("canvas"));
    const renderer = globalThis.kept, {gl} = renderer;
    const message = {
        version: values.version, head: values.head,
        shapeIndex: new Uint16Array(await read("shapes")), indices: new Uint32Array(await read("indices")),
    };
    const {Contents} = await import("/contents.js"), contents = new Contents();
    contents.announce(values.head);
    for (const digest of values.digests) {
        const bytes = new Uint8Array(await read(digest));
        contents.add({digest, offset: 0, size: bytes.length, bytes});
    }
    renderer.setScene(new Scene(message, contents));
    const snapshot = async (name, simNs) => {
        const words = new Uint32Array(await read(name)), columns = new Map();
        if (values.hasScale3) columns.set("scale3", {per: "body", width: 3, values: new Float32Array(await read("scale3"))});
        for (const [column, width, kind] of values.partColumns) {
            columns.set(column, {per: "part", width, values: new globalThis[kind](await read(column))});
        }
        const markWords = new Uint32Array(await read(name + "_marks"));
        const made = {parts: values.parts, markWords, vertices: values.vertices, words, floats: new Float32Array(words.buffer), count: words.length / 16, simNs, columns};
        renderer.upload(made);
        return made;
    };
    const older = await snapshot("older", 0), newer = await snapshot("newer", 1e9);
    const camera = {...values.camera, view: new Float32Array(await read("view")), projection: new Float32Array(await read("projection"))};
    for (const picture of ["bodies", "empty"]) {
        const nothing = {words: new Uint32Array(), floats: new Float32Array(), count: 0, simNs: 0, columns: new Map()};
        const pair = picture === "bodies" ? {older, newer} : {older: nothing, newer: nothing};
        renderer.draw({before: null, ...pair, share: values.share, method: values.method, camera, widthPx, heightPx});
        const pixels = new Uint8Array(4 * widthPx * heightPx);
        gl.readPixels(0, 0, widthPx, heightPx, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
        await write(picture, pixels);
    }
    return gl.getError();
}"""


class Case(NamedTuple):
    """A scene between two snapshots."""

    scene: Scene
    older: np.ndarray
    newer: np.ndarray
    camera: OrbitCamera
    method: str = "linear"
    share: float = 0.4
    scale3: np.ndarray | None = None
    marks: tuple[np.ndarray, np.ndarray] = (NO_MARKS, NO_MARKS)
    vertices: tuple[np.ndarray, np.ndarray] = (NO_VERTICES, NO_VERTICES)
    part_columns: dict[str, np.ndarray] | None = None


def spread(count: int, seed: int = 1, width_m: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """Bodies in a box above the ground, that move and spin."""
    rng = np.random.default_rng(seed)
    older, newer = new_bodies(count), new_bodies(count)
    older["position"] = rng.uniform((-width_m, -width_m, 0.3), (width_m, width_m, 2.5), (count, 3))
    newer["position"] = older["position"] + rng.normal(0, 0.2, (count, 3))
    older["orientation"] = rng.normal(size=(count, 4))
    newer["orientation"] = older["orientation"] + rng.normal(0, 0.2, (count, 4))
    for bodies in (older, newer):
        bodies["orientation"] /= np.linalg.norm(bodies["orientation"], axis=1, keepdims=True)
        bodies["velocity"], bodies["angular_velocity"] = newer["position"] - older["position"], 0.3
        bodies["flags"] |= HAS_VELOCITY | HAS_ANGULAR_VELOCITY
    return older, newer


def case(shapes: Any, count: int = 24, camera: OrbitCamera | None = None, seed: int = 1, **more: Any) -> Case:
    of_case = {name: more.pop(name) for name in ("method", "share", "scale3", "marks", "vertices") if name in more}
    listed = [shapes[at % len(shapes)] for at in range(count)]
    older, newer = spread(count, seed)
    return Case(
        Scene(listed, **more), older, newer, camera or OrbitCamera(distance_m=9.0, elevation_rad=0.5), **of_case
    )


ALL_SHAPES = [
    Sphere(0.4), Box((0.8, 0.5, 0.4)), Capsule(0.25, 0.6), Cylinder(0.3, 0.7), Ellipsoid((1.0, 0.5, 0.7)), Plane((1.0, 0.8)),
]  # fmt: skip
FIGURE = Compound(
    [
        Part(Capsule(0.2, 0.5)), Part(Sphere(0.2), (0, 0, 0.6)), Part(Box((0.6, 0.2, 0.1)), (0, 0, 0.3), (0, 0, 0.383, 0.924)),
    ]
)  # fmt: skip


def level_floor() -> Case:
    made = case([Plane((8.0, 6.0), color=(0.8, 0.8, 0.75)), *ALL_SHAPES[:5]], 12, ground_z=None)
    for bodies in (made.older, made.newer):
        bodies["position"][[0, 6], :] = (0, 0, 0)
        bodies["orientation"][[0, 6], :] = (0, 0, 0, 1)
        bodies["position"][6, 2] = -5.0
        bodies["velocity"][[0, 6]] = bodies["angular_velocity"][[0, 6]] = 0
    return made


def see_through() -> Case:
    clear = [
        Box((0.8, 0.5, 0.4), (0.9, 0.3, 0.2, 0.5)),
        Sphere(0.4, (0.2, 0.5, 0.9, 0.4)),
        Plane((1.5, 1.5), (0.3, 0.8, 0.3, 0.5)),
    ]
    made = case([*ALL_SHAPES, *clear], 36)
    for bodies in (made.older, made.newer):
        bodies["color"][3, 3] = 120
    return made


def textured() -> list[Any]:
    rng = np.random.default_rng(5)
    image = Texture(np.kron(rng.integers(40, 255, (8, 8, 3)), np.ones((8, 8, 1))).astype(np.uint8))
    cube = Texture(np.kron(rng.integers(40, 255, (6, 4, 4, 3)), np.ones((1, 8, 8, 1))).astype(np.uint8))
    holes = np.full((32, 32, 4), 255, np.uint8)
    holes[8:24, 8:24, 3] = 60
    materials = [
        Material(image), Material(cube, roughness=0.3), Material(image, repeat=(2.0, 3.0), per_metre=True, emission=0.3),
        Material(roughness=0.2, specular=0.9), Material(Texture(holes)),
    ]  # fmt: skip
    return [
        *(replace(shape, material=materials[at % 5]) for at, shape in enumerate(ALL_SHAPES)),
        Plane((2.0, 2.0), material=Material(Texture.checker((0.9, 0.9, 0.9), (0.2, 0.3, 0.5)), repeat=(2.0, 2.0), per_metre=True)),
        Sphere(0.4, material=materials[3]), Sphere(0.4), Plane((1.0, 1.0), material=materials[2]),
        Plane((1.0, 1.0), material=materials[1]), Box((0.6, 0.6, 0.6), material=materials[4]),
    ]  # fmt: skip


def sky(shape: tuple[int, ...]) -> Texture:
    rng = np.random.default_rng(8)
    return Texture(np.kron(rng.integers(60, 250, (*(side // 8 if side > 6 else side for side in shape[:-1]), shape[-1])),
        np.ones((*(8 if side > 6 else 1 for side in shape[:-1]), 1))).astype(np.uint8))  # fmt: skip


def smooth() -> list[Any]:
    return [replace(shape, material=Material(roughness=0.25, specular=0.8)) for shape in ALL_SHAPES]


def meshes(alpha: float = 1.0) -> list[Any]:
    """Flat, smooth and open meshes, with and without materials."""
    corners = 0.5 * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32)
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]  # fmt: skip
    image = Texture(np.kron(np.random.default_rng(6).integers(40, 255, (8, 8, 3)), np.ones((8, 8, 1))).astype(np.uint8))
    uv = np.random.default_rng(7).uniform(0, 1, (8, 2))
    color = (0.8, 0.5, 0.3, alpha)
    return [
        Mesh(corners, faces, color=color), Mesh(corners * (1.0, 0.6, 0.4), faces, "smooth", color=color), Mesh(corners, faces[:7], color=color),
        Mesh(corners, faces, uv=uv, material=Material(image), color=color), Mesh(corners, faces, "smooth", material=Material(image), color=color),
        Mesh(corners, faces, material=Material(roughness=0.3), color=color), Sphere(0.3),
    ]  # fmt: skip


def marks() -> tuple[np.ndarray, np.ndarray]:
    """Marks of all kinds, in another order in the newer snapshot; some are transparent, some are gone or new."""
    rng = np.random.default_rng(9)
    count = 8 * len(MARK_KINDS)
    older, newer = np.zeros(count, MARK), np.zeros(count, MARK)
    older["key"] = rng.permutation(count) + (rng.integers(0, 2, count).astype(np.uint64) << np.uint64(40))
    older["kind"] = np.arange(count) % len(MARK_KINDS)
    older["position"] = rng.uniform((-3, -3, 0.2), (3, 3, 2.5), (count, 3))
    older["orientation"] = rng.normal(size=(count, 4))
    older["size"] = rng.uniform(0.1, 0.7, (count, 3))
    is_long = np.isin(older["kind"], [list(MARK_KINDS).index(kind) for kind in ("arrow", "line")])
    older["size"][is_long, 0] = rng.choice([0.0, 0.05], is_long.sum())
    older["size"][is_long, 2] = rng.choice([0.0, 0.2], is_long.sum())
    older["color"] = rng.integers(0, 256, (count, 4))
    older["color"][::2, 3] = 255
    newer[:] = older
    newer["position"] += rng.normal(0, 0.2, (count, 3))
    newer["orientation"] += rng.normal(0, 0.2, (count, 4))
    newer["color"][:, :3] = rng.integers(0, 256, (count, 3))
    return older, rng.permutation(newer)[3:]


def packed_vertices(vertices: np.ndarray) -> bytes:
    return vertices.tobytes().ljust(64 * vertex_records(len(vertices)), b"\0")


def surfaces() -> Case:
    """Sheets that bend, flat and smooth, among other shapes."""
    across, along = np.meshgrid(np.linspace(-0.6, 0.6, 9), np.linspace(-0.6, 0.6, 9))
    rest = np.stack([across, along, 0 * across], axis=-1).reshape(-1, 3).astype(np.float32)
    corner = (np.arange(8)[:, None] * 9 + np.arange(8)).ravel()
    faces = np.concatenate(
        [np.stack([corner, corner + 1, corner + 10], 1), np.stack([corner, corner + 10, corner + 9], 1)]
    )
    image = Texture(np.kron(np.random.default_rng(6).integers(40, 255, (8, 8, 3)), np.ones((8, 8, 1))).astype(np.uint8))
    listed = [
        Mesh(rest, faces, deforms=True), Mesh(rest, faces, "smooth", deforms=True), Sphere(0.3),
        Mesh(rest, faces, "smooth", deforms=True, uv=rest[:, :2] + 0.5, material=Material(image)), Box((0.5, 0.4, 0.3)),
    ]  # fmt: skip
    made = case(listed, 15)
    made.newer["epoch"][5] = 1
    vertices = []
    for height in (0.2, 0.5):
        bent = np.tile(rest, (9, 1, 1))
        bent[..., 2] = height * np.sin(5 * bent[..., 0] + np.arange(9)[:, None]) * np.cos(4 * bent[..., 1])
        vertices.append(bent.reshape(-1, 3).astype(np.float32))
    vertices[0][3 * 81] = np.nan
    return made._replace(vertices=tuple(vertices))


def colored_parts(columns: dict[str, str], seed: int = 11) -> Case:
    """Figures whose parts have colours, scales or visibility of their own."""
    rng, parts = np.random.default_rng(seed), 3 * 12 + 12
    values = {
        "color": rng.uniform(0, 1, (parts, 4)).astype(np.float32),
        "scale3": rng.uniform(0.5, 1.5, (parts, 3)).astype(np.float32),
        "visible": rng.integers(0, 2, parts).astype(np.uint8),
    }
    values["color"][:, 3] = 1.0
    chosen = {name: values[name] for name in columns}
    made = case([FIGURE, Box((0.4, 0.4, 0.4))], 24, columns=columns, part_columns=tuple(columns))
    return made._replace(part_columns=chosen)


CASES = {
    "balls": case([Sphere(0.2), Sphere(0.3)], 200, method="hermite"),
    "large balls": case([Sphere(0.9)], 6, OrbitCamera(distance_m=4.0, elevation_rad=0.2)),
    "boxes": case([Box((0.8, 0.5, 0.4))], 30),
    "capsules": case([Capsule(0.25, 0.6)], 30),
    "cylinders": case([Cylinder(0.3, 0.7)], 30),
    "ellipsoids": case([Ellipsoid((1.0, 0.5, 0.7))], 30),
    "planes": case([Plane((1.5, 1.0))], 20),
    "all shapes with an outline": case(ALL_SHAPES, 60, outline=((-3, -3, 0), (3, 3, 3))),
    "orthographic": case(ALL_SHAPES, 36, OrbitCamera(distance_m=8.0, elevation_rad=0.6, orthographic=True)),
    "flat look": case(ALL_SHAPES, 36, look="flat"),
    "unlit look": case(ALL_SHAPES, 36, look="unlit", ground_z=None, background=(0.9, 0.9, 0.95)),
    "no pattern, bright, light from the side": case(ALL_SHAPES, 36, pattern=False, brightness=1.2, light=(1.0, 0.5, 0.3)),
    "figures of parts": case([FIGURE], 16, method="hermite"),
    "spheres and boxes stretched along their axes": case(
        [*ALL_SHAPES[:5], FIGURE], 30, columns={"scale3": "linear"},
        scale3=np.random.default_rng(4).uniform(0.5, 1.5, (30, 3)).astype(np.float32),
    ),
    "a level floor that receives shadows": level_floor(),
    "transparent bodies": see_through(),
    "materials with images": case(textured(), 36),
    "meshes": case(meshes(), 28),
    "transparent meshes": case([*meshes(0.5), *ALL_SHAPES], 26),
    "a sky that is an image": case(ALL_SHAPES, 24, background=sky((64, 128, 3)), ground_z=-0.5),
    "a sky that is a cube": case(ALL_SHAPES, 24, background=sky((6, 32, 32, 4)), ground_z=-0.5),
    "marks among bodies": case(ALL_SHAPES, 12, marks=marks()),
    "surfaces that bend": surfaces(),
    "many spheres": case([Sphere(0.05)], 9000),
    "many spheres, some large": case([*[Sphere(0.05)] * 600, Sphere(0.7)], 6000, OrbitCamera(distance_m=6.0, elevation_rad=0.4)),
    "many spheres in a wide view": case([Sphere(0.08)], 3000, OrbitCamera(distance_m=6.0, elevation_rad=0.3, fov_y_deg=90)),
    "parts with colours of their own, some hidden": colored_parts({"color": "linear", "visible": "none"}),
    "parts with scales of their own": colored_parts({"scale3": "linear"}),
    "a smooth material, flat look": case(smooth(), 36, look="flat"),
}  # fmt: skip


@pytest.fixture(scope="module")
def page() -> Iterator[DrawingPage]:
    with drawing_page() as opened:
        yield opened


class Pictures(NamedTuple):
    """A picture and the same picture without bodies, (height, width, 3) u1."""

    bodies: np.ndarray
    empty: np.ndarray

    @property
    def silhouette(self) -> np.ndarray:
        return np.abs(self.bodies.astype(int) - self.empty).max(axis=2) > SEEN


def page_pictures(page: DrawingPage, drawn: Case) -> Pictures:
    packed = packed_scene(drawn.scene)
    head_bytes, _, indices = packed.tables.partition(b"\n")
    contents = {
        digest.hex(): np.concatenate([np.frombuffer(array.tobytes(), "u1") for array in arrays])
        for digest, arrays in packed.contents.items()
    }
    head = json.loads(head_bytes)
    matrices = drawn.camera.matrices(SIZE_PX)
    arrays = {
        "shapes": np.frombuffer(indices, "<u2", head["bodies"]),
        "indices": np.frombuffer(indices, "<u4", offset=2 * head["bodies"]),
        "older": drawn.older, "newer": drawn.newer, "view": matrices.view, "projection": matrices.projection,
    }  # fmt: skip
    if drawn.scale3 is not None:
        arrays["scale3"] = drawn.scale3
    columns = drawn.part_columns or {}
    kinds = {"float32": "Float32Array", "uint8": "Uint8Array", "bool": "Uint8Array"}
    listed = [(name, 1 if one.ndim == 1 else one.shape[1], kinds[one.dtype.name]) for name, one in columns.items()]
    arrays |= columns
    arrays |= contents
    for name, marks, vertices in zip(("older", "newer"), drawn.marks, drawn.vertices, strict=True):
        arrays[f"{name}_marks"] = np.frombuffer(marks.tobytes() + packed_vertices(vertices), "u1")
    camera = {"eye": matrices.eye, "target": matrices.target, "orthographic": matrices.orthographic}
    error = page.run(
        DRAW, arrays, head=head, version=1, camera=camera, share=drawn.share, method=drawn.method,
        widthPx=SIZE_PX[0], heightPx=SIZE_PX[1], hasScale3=drawn.scale3 is not None,
        partColumns=listed, parts=len(next(iter(columns.values()), ())), digests=list(contents), vertices=len(drawn.vertices[0]),
    )  # fmt: skip
    assert error == 0
    size = (*reversed(SIZE_PX), 4)
    return Pictures(*(np.flipud(page.written(name, "u1").reshape(size))[..., :3] for name in ("bodies", "empty")))


def native_pictures(studio: Studio, drawn: Case) -> Pictures:
    def picture(older: np.ndarray, newer: np.ndarray, scale3: np.ndarray | None) -> np.ndarray:
        renderer = studio.renderer(drawn.scene)
        for slot, bodies in enumerate((older, newer)):
            raw = memoryview(bodies).cast("B") if len(bodies) else b""
            renderer.upload(slot, raw, len(bodies), (drawn.part_columns or {}) if len(bodies) else {})
            if len(drawn.vertices[slot]) and len(bodies):
                renderer.upload_surfaces(slot, drawn.vertices[slot], bodies)
            if scale3 is not None:
                renderer.upload_scale3(slot, scale3)
        layer = Layer(0, 1, alpha=drawn.share, gap_s=1.0, method=drawn.method)
        marks = tuple(drawable(marks) for marks in drawn.marks) if len(older) else (NO_MARKS, NO_MARKS)
        shown = blended(*marks, matched(*(one["key"] for one in marks)), drawn.share)
        renderer.draw([layer], drawn.camera.matrices(SIZE_PX), WHOLE, shown)
        renderer.finish()
        pixels = renderer.read_pixels()
        renderer.release()
        return pixels

    return Pictures(picture(drawn.older, drawn.newer, drawn.scale3), picture(drawn.older[:0], drawn.newer[:0], None))


def shrunk(mask: np.ndarray, by_px: int = 2) -> np.ndarray:
    for _ in range(by_px):
        inner = mask.copy()
        for axis, step in ((0, 1), (0, -1), (1, 1), (1, -1)):
            inner &= np.roll(mask, step, axis)
        mask = inner
    return mask


def compared(mine: Pictures, native: Pictures) -> tuple[float, float, float]:
    """Overlap of the silhouettes; share of alike pixels inside them; share of alike pixels of the empty pictures."""
    one, other = mine.silhouette, native.silhouette
    off = np.abs(mine.bodies.astype(int) - native.bodies).max(axis=2)
    around = np.abs(mine.empty.astype(int) - native.empty).max(axis=2)
    inside = shrunk(one & other)
    return (one & other).sum() / (one | other).sum(), (off[inside] <= MOST_OFF).mean(), (around <= 1).mean()


@pytest.mark.parametrize("name", CASES)
def test_the_page_draws_what_the_native_viewer_draws(page, studio, name, tmp_path_factory):
    mine, native = page_pictures(page, CASES[name]), native_pictures(studio, CASES[name])
    overlap, alike, around = compared(mine, native)
    print(f"{name}: overlap {overlap:.4f}, {100 * alike:.1f} % of the colours alike, around {100 * around:.2f} %")
    both = np.hstack([mine.bodies, native.bodies])
    Image.fromarray(both).save(Path(tmp_path_factory.getbasetemp()) / f"{name}.png")
    assert overlap >= LEAST_OVERLAP
    assert alike >= LEAST_ALIKE
    assert around == pytest.approx(1.0)
