"""The page's rows of parts and balls of bodies, against those of the native viewer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.web.in_node import run_in_node
from twixt import (
    Box,
    Capsule,
    ColorBy,
    Compound,
    Cylinder,
    Ellipsoid,
    Group,
    Material,
    Mesh,
    Part,
    Plane,
    Scene,
    Sphere,
    Texture,
)
from twixt.ipc.scene.groups import rows_of_parents
from twixt.ipc.scene.scene import packed_scene, shape_list
from twixt.ipc.snapshot import HAS_COLOR, VISIBLE, new_bodies
from twixt.render.draw.bodies.shape_rows import (
    KIND_NAMES,
    PartRows,
    apply,
    base_colors,
    part_rows,
    shape_rows,
    shape_table,
)
from twixt.render.draw.frame.framing import bounds_of, framed_balls, seen_balls, small_size_of

SCRIPT = """
const {Scene, boundsOf, paintParts} = await import(WEB + "scene.js");
const contentsOf = ({meshes, textures}) => ({
  mesh: (digest) => meshes[digest] ?? null,
  texture: (digest) => textures[digest] ?? null,
});
const balls = ({place, radius}) => ({place: [...place], radius: [...radius]});
answer(given.map(({head, shapeIndex, indices, count, contents, words, colors, visible}) => {
  const message = {version: 1, head, shapeIndex: Uint16Array.from(shapeIndex), indices: Uint32Array.from(indices)};
  const scene = new Scene(message, contentsOf(contents));
  const rows = scene.rowsFor(count);
  const found = {
    groups: rows.groups, isPlaced: rows.isPlaced, labels: scene.labels(count), parents: [...scene.parentRows(count)],
    members: scene.groups.map((group) => [...group.bodies]), shapes: scene.shapeCount,
    isSame: scene.rowsFor(count) === rows, layers: scene.layers, ranges: rows.layers,
    layerOf: Array.from({length: count}, (_, body) => scene.layerOf(body)),
  };
  for (const name of ["body", "part", "form", "color", "local"]) found[name] = [...rows[name]];
  if (words) {
    const records = Uint32Array.from(words), floats = new Float32Array(records.buffer);
    const snapshot = {count, words: records, floats};
    found.seen = balls(scene.seenBalls(snapshot));
    found.framed = balls(scene.framedBalls(snapshot));
    found.bounds = boundsOf(scene.seenBalls(snapshot));
    found.smallSizeM = scene.smallSizeM(snapshot);
    const gathered = new Uint32Array(16 * rows.count);
    rows.body.forEach((body, row) => gathered.set(records.subarray(16 * body, 16 * body + 16), 16 * row));
    const columns = new Map();
    if (colors) columns.set("color", {per: "part", width: 4, values: Float32Array.from(colors)});
    if (visible) columns.set("visible", {per: "part", width: 1, values: Uint8Array.from(visible)});
    paintParts(gathered, rows, columns, visible ? visible.length : 0);
    found.painted = [...gathered];
  }
  return found;
}));
"""
RNG = np.random.default_rng(7)


def given(scene: Scene, count: int, bodies: Any = None, colors: Any = None, visible: Any = None) -> dict[str, Any]:
    """What the script gets for one scene. All contents are complete."""
    tables = packed_scene(scene).tables
    head_bytes, _, indices = tables.partition(b"\n")
    head = json.loads(head_bytes)
    singles = [part for shape in shape_list(scene).table for part in parts_of(shape)]
    meshes = {one.digest.hex(): {"reach": one.reach} for one in singles if isinstance(one, Mesh)}
    textures = {
        one.material.texture.digest.hex(): {"hasAlpha": one.material.texture.has_alpha}
        for one in singles
        if one.material is not None and one.material.texture is not None
    }
    return {
        "head": head,
        "shapeIndex": np.frombuffer(indices, "<u2", head["bodies"]).tolist(),
        "indices": np.frombuffer(indices, "<u4", offset=2 * head["bodies"]).tolist(),
        "count": count,
        "contents": {"meshes": meshes, "textures": textures},
        "words": None if bodies is None else bodies.view("<u4").tolist(),
        "colors": None if colors is None else colors.ravel().tolist(),
        "visible": None if visible is None else visible.tolist(),
    }


def parts_of(shape: Any) -> list[Any]:
    return [part.shape for part in shape.parts] if isinstance(shape, Compound) else [shape]


def expected_rows(scene: Scene, count: int) -> tuple[Scene, Any, PartRows | None]:
    """The scene of one shape a part, its table of rows, and the parts."""
    parts = part_rows(scene, count)
    if parts is None:
        return scene, shape_table(scene, count), None
    return parts.scene, shape_table(parts.scene, len(parts.bodies), parts.bodies), parts


TRIANGLE = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0)], np.float32)
MESH = Mesh(TRIANGLE, [(0, 1, 2)])
OTHER_MESH = Mesh(TRIANGLE * 2, [(0, 1, 2)], color=(0.2, 0.3, 0.4))
HOLES = np.full((4, 4, 4), 255, np.uint8)
HOLES[0, 0, 3] = 0
MATERIALS = [
    Material(Texture.checker()),
    Material(roughness=0.2),
    Material(Texture(HOLES), per_metre=True),
]
SHAPES = [
    Sphere(0.1), Sphere(0.2, color=(0.1, 0.3, 0.5)), Box((1, 2, 3), color=(0.5, 0.5, 0.5, 0.5)), Plane((3, 4)),
    Capsule(0.1, 0.7), Cylinder(0.3, 0.9, color=(1, 0, 0)), Ellipsoid((1, 2, 3), label="egg"), MESH, OTHER_MESH,
    MESH.recolored((0.9, 0.1, 0.1), MATERIALS[1], "blade"), Box((1, 1, 1), material=MATERIALS[0]),
    Sphere(material=MATERIALS[1]), Plane((1, 1), material=MATERIALS[2]), Box((1, 1, 0.01), material=MATERIALS[2]),
]  # fmt: skip
COMPOUND = Compound(
    [Part(Sphere(0.1), (0, 0, 1)), Part(Capsule(0.1, 0.5, color=(0, 1, 0)), (1, 2, 3), (0.5, 0.5, 0.5, 0.5)),
     Part(Box((1, 1, 1), material=MATERIALS[0]), (0.1, 0, 0)), Part(MESH)], label="hand",
)  # fmt: skip
EMPTY = Compound([])


def humanoids() -> Scene:
    """The scene of a MuJoCo model of capsules, spheres and a ground."""
    mujoco = pytest.importorskip("mujoco")
    from twixt import mujoco_viewer

    limb = (
        '<body pos="0 0 {z}"><joint type="ball"/><geom type="capsule" size=".05" fromto="0 0 0 0 .1 .3"/>{inner}</body>'
    )
    inner = ""
    for level in range(5):
        inner = limb.format(z=0.3 + level / 10, inner=inner + '<geom type="sphere" size=".07" rgba="1 .5 .2 .4"/>')
    text = f"""<mujoco><asset><texture name="t" type="2d" builtin="checker" width="8" height="8" rgb1="1 0 0"/>
        <material name="m" texture="t"/></asset><worldbody><geom type="plane" size="5 5 .1" material="m"/>
        <body pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3"/><geom type="ellipsoid" size=".1 .2 .3"
        pos="1 0 0" euler="30 40 50"/>{inner}</body></worldbody></mujoco>"""
    scene: Scene = mujoco_viewer.scene(mujoco.MjModel.from_xml_string(text))
    return scene


def many() -> Scene:
    """10,000 bodies of all shapes in a random order."""
    table = [*SHAPES, COMPOUND, EMPTY]
    return Scene([table[index] for index in RNG.integers(0, len(table), 10_000)])


SCENES: dict[str, tuple[Scene, int]] = {
    "every shape": (Scene(SHAPES), len(SHAPES)),
    "more bodies than shapes": (Scene(SHAPES), 40),
    "fewer bodies than shapes": (Scene(SHAPES), 5),
    "no shapes": (Scene(), 12),
    "no bodies": (Scene(SHAPES), 0),
    "compounds": (Scene([COMPOUND, Sphere(0.4), EMPTY, COMPOUND, *SHAPES, COMPOUND]), 22),
    "colours by a column": (Scene([*SHAPES, COMPOUND], color_by=ColorBy("heat")), 20),
    "part colours": (Scene([*SHAPES, COMPOUND, EMPTY], columns={"color": "linear"}, part_columns=("color",)), 18),
    "ten thousand": (many(), 10_000),
}


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    scenes = SCENES | {"humanoid": (model := humanoids(), len(model.shapes))}
    found = run_in_node(SCRIPT, [given(scene, count) for scene, count in scenes.values()])
    return {name: (*scenes[name], answer) for name, answer in zip(scenes, found, strict=True)}


@pytest.mark.parametrize("name", [*SCENES, "humanoid"])
def test_rows_are_those_of_the_native_viewer(answers: dict[str, Any], name: str) -> None:
    scene, count, found = answers[name]
    _, table, parts = expected_rows(scene, count)
    drawn = np.flatnonzero(table.kinds != KIND_NAMES.index("nothing"))
    part = np.array(found["part"], int)
    assert sorted(found["part"]) == drawn.tolist()
    rows = shape_rows(scene, table)[part]
    bodies = part if parts is None else parts.bodies[part]
    assert found["body"] == bodies.tolist()
    form = np.array(found["form"], np.float32).reshape(-1, 4)
    assert np.array_equal(form[:, :3], rows["half_size"])
    assert np.array_equal(form[:, 3], rows["in_palette"])
    assert np.array_equal(np.array(found["color"], np.uint8).reshape(-1, 4), rows["color"])
    local = np.array(found["local"], np.float32).reshape(-1, 7)
    poses = np.tile(np.array([0, 0, 0, 0, 0, 0, 1], np.float32), (len(part), 1)) if parts is None else parts.poses[part]
    assert np.array_equal(local, poses)
    shapes = shape_list(scene).rows_for(count)
    has_parts = [isinstance(shape, Compound) and len(shape.parts) > 0 for shape in shape_list(scene).table]
    assert found["isPlaced"] == any(has_parts[shape] for shape in shapes if has_parts)
    assert found["isSame"]


@pytest.mark.parametrize("name", [*SCENES, "humanoid"])
def test_groups_are_contiguous_sorted_and_have_the_material_and_the_mesh_of_their_rows(
    answers: dict[str, Any], name: str
) -> None:
    scene, count, found = answers[name]
    head = given(scene, count)["head"]
    rows_scene, table, _ = expected_rows(scene, count)
    shapes, of_row = shape_list(rows_scene).table or (Sphere(),), shape_list(rows_scene).rows_for(len(table.rows))
    next_row, keys = 0, []
    for group in found["groups"]:
        assert group["first"] == next_row
        assert group["count"] > 0
        next_row += group["count"]
        kinds = [kind for kind in KIND_NAMES if kind != "nothing"]
        keys.append(
            (kinds.index(group["kind"]), *(-1 if group[at] is None else group[at] for at in ("material", "mesh")))
        )
        own = found["part"][group["first"] : next_row]
        assert own == sorted(own)
        for row in {of_row[part]: part for part in own}.values():
            shape = shapes[of_row[row]]
            assert KIND_NAMES[table.kinds[row]] == group["kind"]
            if isinstance(shape, Mesh):
                assert head["meshes"][group["mesh"]]["digest"] == shape.digest.hex()
            assert (group["material"] is None) == (shape.material is None)
            if shape.material is not None:
                material = head["materials"][group["material"]]
                assert material["roughness"] == shape.material.roughness
                texture = shape.material.texture
                assert (material["texture"] is None) == (texture is None)
                if texture is not None:
                    assert head["textures"][material["texture"]]["digest"] == texture.digest.hex()
    assert next_row == len(found["part"])
    assert keys == sorted(set(keys))


def random_bodies(count: int, far_m: float = 5.0) -> Any:
    """Records with positions, scales, flags, epochs and colours at random; some are not finite."""
    bodies = new_bodies(count)
    bodies["position"] = RNG.normal(0, far_m, (count, 3))
    bodies["scale"] = RNG.uniform(-1, 3, count)
    bodies["flags"] = RNG.integers(0, 16, count)
    bodies["color"] = np.where(RNG.random((count, 1)) < 0.3, 255, RNG.integers(0, 256, (count, 4)))
    bodies["position"][:: max(count // 3, 1)] = np.nan
    bodies["scale"][1 :: max(count // 3, 1)] = np.inf
    return bodies


BODIES: dict[str, tuple[Scene, Any]] = {
    "every shape": (Scene(SHAPES), random_bodies(30)),
    "an outline": (Scene([Sphere()], outline=((-9, -8, -7), (1, 2, 3))), random_bodies(5)),
    "a floor": (Scene([Plane((50, 50)), *[Sphere(0.2)] * 9]), random_bodies(10, 0.1)),
    "many rectangles": (Scene([Plane((50, 50)), Plane((1, 1)), Sphere(0.2)]), random_bodies(3)),
    "flown off": (Scene([Sphere()] * 40), random_bodies(40)),
    "subnormal scales": (Scene([Sphere()] * 4), random_bodies(4)),
    "no bodies": (Scene([Sphere()]), new_bodies(0)),
}
BODIES["a floor"][1]["flags"] = VISIBLE
BODIES["flown off"][1]["position"][7] = (3e8, 0, 0)
BODIES["subnormal scales"][1]["scale"] = (1e-6, -3e-7, 0, 65504)


@pytest.fixture(scope="module")
def balls() -> dict[str, Any]:
    found = run_in_node(SCRIPT, [given(scene, len(bodies), bodies) for scene, bodies in BODIES.values()])
    return dict(zip(BODIES, found, strict=True))


@pytest.mark.parametrize("name", BODIES)
def test_balls_around_bodies_are_those_of_the_native_viewer(balls: dict[str, Any], name: str) -> None:
    scene, bodies = BODIES[name]
    found = balls[name]
    for key, expected in (("seen", seen_balls(scene, bodies)), ("framed", framed_balls(scene, bodies))):
        assert np.array_equal(np.array(found[key]["place"]).reshape(-1, 3).T, expected.place)
        assert np.array_equal(found[key]["radius"], expected.radius)
    bounds = bounds_of(scene, bodies)
    assert (found["bounds"]["low"], found["bounds"]["high"]) == (list(bounds.low), list(bounds.high))
    assert found["bounds"]["radiusM"] == pytest.approx(bounds.radius_m, rel=1e-15)
    assert found["smallSizeM"] == small_size_of(scene, bodies)


def test_part_columns_paint_the_records_of_their_rows() -> None:
    scene = Scene([*SHAPES, COMPOUND, EMPTY], columns={"color": "linear", "visible": "none"},
                  part_columns=("color", "visible"))  # fmt: skip
    count = 20
    parts = part_rows(scene, count)
    assert parts is not None
    table = shape_table(parts.scene, len(parts.bodies), parts.bodies)
    base = base_colors(scene, table)
    assert base is not None
    bodies = random_bodies(count)
    colors = np.where(
        RNG.random((len(parts.bodies), 1)) < 0.5, base.colors / np.float32(255), RNG.random((len(parts.bodies), 4))
    )
    colors = colors.astype(np.float32)
    visible = RNG.random(len(parts.bodies)) < 0.5
    cases = [(None, None), (None, visible), (colors, visible)]
    found = run_in_node(SCRIPT, [given(scene, count, bodies, *case) for case in cases])
    for (own, seen), answer in zip(cases, found, strict=True):
        records = bodies[parts.bodies]
        columns = {"color": own, "visible": seen}
        apply(records, {name: values for name, values in columns.items() if values is not None}, base)
        painted = np.array(answer["painted"], np.uint32).reshape(-1, 16)
        assert np.array_equal(painted, records.view("<u4").reshape(-1, 16)[answer["part"]])
        assert (painted[:, 11] & HAS_COLOR).all()


def test_parents_groups_and_labels_are_those_of_the_scene() -> None:
    scene = Scene(
        [Sphere(label="a"), *SHAPES, COMPOUND], parents={1: 0, 4: 2, 5: 99},
        groups={"hand": Group([3, 1], "linear", delay_ms=20), "ghost": Group([7])},
    )  # fmt: skip
    (found,) = run_in_node(SCRIPT, [given(scene, 20)])
    assert found["parents"] == rows_of_parents(scene.parents, 20).tolist()
    assert found["members"] == [[3, 1], [7]]
    assert found["shapes"] == len(scene.shapes)
    labels = [(body, scene.shapes[min(body, len(scene.shapes) - 1)]) for body in range(20)]
    assert found["labels"] == [
        {"body": body, "text": shape.label, "reachM": pytest.approx(shape.reach, rel=1e-15)}
        for body, shape in labels
        if shape.label is not None
    ]


def test_bodies_of_groups_with_a_method_or_a_delay_of_their_own_are_layers_with_contiguous_rows() -> None:
    shapes = [*SHAPES, COMPOUND] * 3
    groups = {
        "late": Group([0, 5, len(SHAPES)], delay_ms=20), "straight": Group([2, 7], "linear"), "same": Group([9], "linear"),
        "in python": Group([3], "kalman"), "named": Group([4]),
    }  # fmt: skip
    layered, plain = run_in_node(
        SCRIPT, [given(Scene(shapes, parents={7: 0}, groups=own), len(shapes)) for own in (groups, {})]
    )
    assert layered["layers"] == [
        {"method": None, "delayNs": 0}, {"method": None, "delayNs": 20_000_000}, {"method": "linear", "delayNs": 0},
    ]  # fmt: skip
    of = np.zeros(len(shapes), int)
    of[[0, 5, len(SHAPES)]], of[[2, 9]] = 1, 2
    assert layered["layerOf"] == of.tolist()
    rows = len(layered["body"])
    ranges = [[*range(first, first + count)] for own in layered["ranges"] for first, count in own]
    assert sorted(row for own in ranges for row in own) == [*range(rows)]
    for layer, own in enumerate(layered["ranges"]):
        assert {of[layered["body"][row]] for first, count in own for row in range(first, first + count)} == {layer}
    assert plain["ranges"] == [[[0, rows]]]
    assert layered["groups"] == plain["groups"]
    kinds = np.repeat(np.arange(len(plain["groups"])), [group["count"] for group in plain["groups"]])
    fields = [
        np.column_stack(
            [
                kinds,
                found["part"],
                *(np.reshape(found[name], (rows, -1)) for name in ("body", "form", "color", "local")),
            ]
        )
        for found in (layered, plain)
    ]
    assert sorted(fields[0].tolist()) == sorted(fields[1].tolist())
